import { Buffer } from "node:buffer";
import type { Locator, Page } from "playwright-core";
import { mustSucceed, type Prediction, type Project, type Step } from "../../../client/index.ts";
import { drawReferencePhoto } from "../../../local/simulator/draw/picture.ts";
import { openDatabase } from "../api/database.ts";
import { startStuck } from "../api/stuck.ts";
import { until } from "../until.ts";
import type { Visit } from "./browser.ts";
import { newPerson, type Person } from "./person.ts";

/** An image as a person's file chooser would hand it over. */
export function photoFile(seed: string): { name: string; mimeType: string; buffer: Buffer } {
  return { name: "harbour.png", mimeType: "image/png", buffer: Buffer.from(drawReferencePhoto(seed)) };
}

/** The card of a step on the page of a project. */
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

/** Opens the settings of a step, and returns its card. */
export async function openSettings(page: Page, name: Parameters<typeof stepCard>[1]): Promise<Locator> {
  const card = stepCard(page, name);
  await card.getByRole("button", { name: "Settings" }).click();
  return card;
}

export const openProject = async (page: Page, projectId: string): Promise<void> => {
  await page.goto(`/#/projects/${projectId}`);
  // Asks in each frame: a locator that waits asks every half second.
  await page.waitForFunction(() => document.querySelector("article[data-step=video]") !== null);
};

export const untilLoaded = (image: Locator) =>
  until("the picture", () => image.evaluate((one: HTMLImageElement) => one.naturalWidth > 0));

export const untilPlays = (video: Locator) =>
  until("the video plays", () => video.evaluate((one: HTMLVideoElement) => !one.paused && one.currentTime > 0));

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
  const { projectId } = await keyframe.projects.create({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const make = async (step: Step, more = {}) =>
    await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more }));
  return { person, projectId, make };
}

/** Somebody on the page of a new project. */
export async function openNewProject(visit: (options: { session: unknown }) => Promise<Visit>) {
  const film = await newFilm();
  const visited = await visit({ session: film.person.session });
  await openProject(visited.page, film.projectId);
  return { ...film, ...visited };
}

/** Starts a step that stays in `starting`. */
export async function startStuckBy({ keyframe }: Person, step: Step, projectId: string): Promise<Prediction> {
  const read = (_step: Step, _projectId: string, predictionId?: string) =>
    keyframe.predictions.read({ projectId, step, predictionId });
  const start = (_step: Step, body: object) => keyframe.generate(step, { projectId, ...body });
  return await startStuck(openDatabase(), { start, read }, step, projectId);
}

/** A person's project with a first frame, a video made of it, and a newer first frame. */
export async function newFilmOfTwoFrames() {
  const { person, projectId, make } = await newFilm();
  const older = await make("first-frame", { prompt: "A harbour at night" });
  const video = await make("video", { durationSeconds: 5 });
  return { person, projectId, older, video, newer: await make("first-frame") };
}

/** Chooses an action of a menu, such as that of “Actions for Harbour”. Not by a key: a menu that opens takes the focus to its first item. */
export async function choose(page: Page | Locator, menu: string, action: string): Promise<void> {
  await page.getByRole("button", { name: menu, exact: true }).first().click();
  await page.getByRole("menuitem", { name: action }).click();
}

/** Waits until this, or something in it, has the focus. */
export const untilFocused = (within: Locator) =>
  until("the focus", () => within.evaluate((one) => one.contains(document.activeElement)));

export const signOut = async (page: Page): Promise<void> => {
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
};

/** Holds what a page asks for until `release`. `count`: how often it has asked. */
export async function hold(page: Page, url: string) {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let times = 0;
  await page.route(url, async (route) => {
    times += 1;
    asked.resolve();
    await answer.promise;
    await route.continue();
  });
  return { asked: asked.promise, release: answer.resolve, count: () => times };
}

/** Carries out changes and loses their answers: of all, or of those with these numbers. Returns how many there were. */
export async function loseAnswers(
  page: Page,
  url: string,
  method: "PATCH" | "POST",
  lost?: number[],
): Promise<() => number> {
  let count = 0;
  await page.route(url, async (route) => {
    if (route.request().method() !== method) return await route.fallback();
    count += 1;
    if (lost?.includes(count) === false) return await route.fallback();
    await route.fetch();
    await route.abort();
  });
  return () => count;
}

/** Somebody with a film of these shots. */
export async function filmOf<const Titles extends string[]>(...titles: Titles) {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const made: Project[] = [];
  for (const title of titles) made.push(await keyframe.projects.create({ title, textPrompt: title, filmId }));
  const shots = made as { [At in keyof Titles]: Project }; // one for each title
  const make = async (step: Step, { projectId }: Project, more = {}) =>
    mustSucceed(await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more })));
  const saved = async () => (await keyframe.films.read(filmId)).shots.map(({ title }) => title);
  return { ...person, person, filmId, shots, make, saved };
}

/** The titles of the shots that a film's page shows. */
export const shotTitles = (page: Page) => page.getByRole("list", { name: "Shots" }).getByRole("link").allTextContents();

/** Fills in the window for a new shot, and sends it. */
export async function createShot(page: Page, title: string): Promise<void> {
  const form = page.getByRole("dialog", { name: "New shot" });
  await form.getByLabel("Title").fill(title);
  await form.getByLabel("Prompt").fill(`${title}, a harbour at dawn`);
  await form.getByRole("button", { name: "Create shot" }).click();
}

/** Also while a description is open or a conflict shows. */
export const untilGenerateIsInWindow = (page: Page) =>
  until("every Generate button is in the window", async () => {
    const boxes = (["First frame", "Video", "Last frame"] as const).map((name) =>
      stepCard(page, name)
        .getByRole("button", { name: /enerate/ })
        .boundingBox(),
    );
    return (await Promise.all(boxes)).every((box) => box !== null && box.y + box.height <= 800);
  });
