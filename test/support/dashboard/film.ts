import { Buffer } from "node:buffer";
import type { Locator, Page } from "playwright-core";
import type { Prediction, Step } from "../../../client/index.ts";
import { drawReferencePhoto } from "../../../local/simulator/draw/picture.ts";
import { until } from "../until.ts";
import { newPerson, type Person } from "./person.ts";

/** An image as a person's file chooser would hand it over. */
export function photoFile(seed: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name: "harbour.png", mimeType: "image/png", buffer: Buffer.from(drawReferencePhoto(seed)) };
}

/** The card of a step in the studio. */
export const stepCard = (page: Page, name: "First frame" | "Video" | "Last frame") =>
  page.getByRole("article", { name, exact: true });

/** A take on the contact sheet of all takes of a step, from the newest. */
export const takeAt = (sheet: Locator, at: number) =>
  sheet.getByRole("list", { name: "Takes" }).locator("> li > button[aria-pressed]").nth(at);

/** Starts a step and waits until its card says that it is done. */
export async function runStep(page: Page, name: "First frame" | "Video" | "Last frame"): Promise<void> {
  const card = stepCard(page, name);
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await card.getByText("Done").waitFor();
}

export const openStudio = async (page: Page, projectId: string): Promise<void> => {
  await page.goto(`/#/projects/${projectId}`);
  await stepCard(page, "Video").waitFor();
};

/** Waits until a picture shows the file of this prediction, whose id is in its address. */
export const untilShows = (image: Locator, { predictionId }: Prediction) =>
  until("the picture of the prediction", () =>
    image.evaluate((one: HTMLImageElement, id) => one.src.includes(id) && one.naturalWidth > 0, predictionId),
  );

/** What a take says under a name. */
export const inputOf = (within: Locator, name: string) =>
  within.locator("dt").getByText(name, { exact: true }).locator("xpath=following-sibling::dd[1]");

/** What of a card is not in it. */
export const cutOff = (card: Locator) =>
  card.evaluate((within) =>
    [...within.querySelectorAll("*")]
      .filter((one) => one.getBoundingClientRect().right > within.getBoundingClientRect().right)
      .map((one) => one.outerHTML),
  );

export const become = (page: Page, state: "hidden" | "visible") =>
  page.evaluate((visibilityState) => {
    Object.defineProperty(document, "visibilityState", { value: visibilityState, configurable: true });
    dispatchEvent(new Event("visibilitychange"));
  }, state);

export const newFilm = async () => await newFilmOf(await newPerson());

export async function newFilmOf(person: Person) {
  const { keyframe } = person;
  const { projectId } = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const make = async (step: Step, more = {}) =>
    await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more }));
  return { person, projectId, make };
}

/** A person's project with a first frame, a video made of it, and a newer first frame. */
export async function newFilmOfTwoFrames() {
  const { person, projectId, make } = await newFilm();
  const older = await make("first-frame", { prompt: "A harbour at night" });
  const video = await make("video", { durationSeconds: 5 });
  return { person, projectId, older, video, newer: await make("first-frame") };
}
