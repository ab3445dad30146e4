import { Buffer } from "node:buffer";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Prediction, Step } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp } from "../support/api/user.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { photoFile, stepCard, takeAt } from "../support/dashboard/film.ts";
import { newPerson, type Person } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

const openStudio = async (page: Page, projectId: string) => {
  await page.goto(`/#/projects/${projectId}`);
  await stepCard(page, "Video").waitFor();
};
const prompt = (page: Page) => page.getByLabel("Prompt", { exact: true });

/** Waits until a picture shows the file of this prediction, whose id is in its address. */
const untilShows = (image: Locator, { predictionId }: Prediction) =>
  until("the picture of the prediction", () =>
    image.evaluate((one: HTMLImageElement, id) => one.src.includes(id) && one.naturalWidth > 0, predictionId),
  );

const untilHasFocus = (within: Locator) =>
  until("the focus", () => within.evaluate((one) => one.contains(document.activeElement)));

/** Also while a description is open or a conflict shows. */
const untilGenerateIsInWindow = (page: Page) =>
  until("every Generate button is in the window", async () => {
    const boxes = (["First frame", "Video", "Last frame"] as const).map((name) =>
      stepCard(page, name)
        .getByRole("button", { name: /enerate/ })
        .boundingBox(),
    );
    return (await Promise.all(boxes)).every((box) => box !== null && box.y + box.height <= 800);
  });

const become = (page: Page, state: "hidden" | "visible") =>
  page.evaluate((visibilityState) => {
    Object.defineProperty(document, "visibilityState", { value: visibilityState, configurable: true });
    dispatchEvent(new Event("visibilitychange"));
  }, state);

/** What of a card is not in it. */
const cutOff = (card: Locator) =>
  card.evaluate((within) =>
    [...within.querySelectorAll("*")]
      .filter((one) => one.getBoundingClientRect().right > within.getBoundingClientRect().right)
      .map((one) => one.outerHTML),
  );

/** What a take says under a name. */
const inputOf = (within: Locator, name: string) =>
  within.locator("dt").getByText(name, { exact: true }).locator("xpath=following-sibling::dd[1]");

const newFilm = async () => await newFilmOf(await newPerson());

async function newFilmOf(person: Person) {
  const { keyframe } = person;
  const { projectId } = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const make = async (step: Step, more = {}) =>
    await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more }));
  return { person, projectId, make };
}

async function startStuckBy({ keyframe }: Person, step: Step, projectId: string): Promise<void> {
  const read = (_step: Step, _projectId: string, predictionId?: string) =>
    keyframe.readPrediction({ projectId, step, predictionId });
  const start = (_step: Step, body: object) => keyframe.generate(step, { projectId, ...body });
  await startStuck(openDatabase(), { start, read }, step, projectId);
}

/** A person's project with a first frame, a video made of it, and a newer first frame. Two tests look at it. */
let film: { person: Person; projectId: string; older: Prediction; video: Prediction; newer: Prediction };
beforeAll(async () => {
  const { person, projectId, make } = await newFilm();
  const older = await make("first-frame", { prompt: "A harbour at night" });
  const video = await make("video", { durationSeconds: 5 });
  film = { person, projectId, older, video, newer: await make("first-frame") };
});

test("an earlier first frame is selected → it shows as used everywhere, also after a reload; the newer one is a press away", async () => {
  const { person, projectId, older, newer } = film;
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const [frame, video] = [stepCard(page, "First frame"), stepCard(page, "Video")];
  const madeFrom = video.getByRole("img", { name: "First frame of this video" });
  await untilShows(madeFrom, older);
  await untilShows(video.getByRole("img", { name: "Latest first frame" }), newer);
  expect(await video.locator("video").getAttribute("poster")).toContain(older.predictionId);

  await frame.getByRole("button", { name: "History of the first frame" }).click();
  const sheet = await Promise.all([0, 1].map((at) => takeAt(page.getByRole("dialog"), at).boundingBox()));
  expect(sheet[0]?.y).toBe(sheet[1]?.y); // beside each other
  await takeAt(page.getByRole("dialog"), 1).click();
  await page.getByRole("button", { name: "Use for the next video" }).click();
  await page.getByRole("button", { name: "Used for the next video", pressed: true }).waitFor();
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  const elsewhere = (await visit({ session: person.session })).page;
  await openStudio(elsewhere, projectId);
  await page.reload();
  for (const one of [page, elsewhere]) {
    await untilShows(stepCard(one, "First frame").getByRole("img").first(), older);
    await stepCard(one, "First frame").getByText("Used for the next video").waitFor();
    await stepCard(one, "First frame").getByText("Done, newest not used").waitFor();
    await untilShows(stepCard(one, "First frame").getByRole("img", { name: "New first frame" }), newer);
    await stepCard(one, "Video").getByText("Next video from the same.").waitFor();
    expect(await stepCard(one, "Video").getByRole("img").count()).toBe(1); // the frame that the video is from, once
  }
  await elsewhere.getByRole("link", { name: "Projects", exact: true }).first().click();
  const listed = elsewhere.getByRole("article").filter({ hasText: "Harbour" });
  await untilShows(listed.locator("img"), older);
  await listed.getByText("First frame: Done, newest not used").waitFor();

  await frame.getByRole("button", { name: "Use the new one" }).click();
  await untilShows(frame.getByRole("img").first(), newer);
  await frame.getByText("Done", { exact: true }).waitFor();
  expect(await page.getByText("Used for the next video").count()).toBe(0);
  await untilShows(madeFrom, older);
  await video.getByText("Made with a first frame that is not the selected one.").waitFor();
  await expectGoodLooks(page);
});

test("a picture is enlarged, two are compared by keyboard → inputs, and what differs; Escape returns the focus", async () => {
  const { person, projectId, older, newer } = film;
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const untilFocused = (button: Locator) =>
    until("the focus", () => button.evaluate((one) => one === document.activeElement));
  const enlarge = page.getByRole("button", { name: "Enlarge the first frame" });
  await enlarge.press("Enter");
  const one = page.getByRole("dialog", { name: "First frame", exact: true });
  await untilShows(one.getByRole("img", { name: "First frame: A harbour at dawn" }), newer);
  expect(await inputOf(one, "Prompt").textContent()).toBe("A harbour at dawn");
  expect((await one.boundingBox())?.width).toBeGreaterThan(1200);
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await one.waitFor({ state: "detached" });
  await untilFocused(enlarge);

  const history = page.getByRole("dialog", { name: "History of the first frame" });
  await page.getByRole("button", { name: "History of the first frame" }).press("Enter");
  await history.getByRole("button", { name: "Enlarge" }).first().press("Enter");
  await one.getByRole("button", { name: "Close" }).click(); // it is above the history
  await page.getByRole("button", { name: "Compare" }).press("Enter");
  await page.getByText("Press the other take.").waitFor();
  await expectGoodLooks(page);
  await takeAt(history, 1).press("Enter");
  const two = page.getByRole("dialog", { name: "Compare: First frame" });
  await two.waitFor();
  await page.reload();
  await untilShows(two.getByRole("img", { name: "First frame: A harbour at dawn" }), newer);
  await untilShows(two.getByRole("img", { name: "First frame: A harbour at night" }), older);
  const different = two.locator("mark");
  expect(await different.allTextContents()).toEqual(["Different: A harbour at dawn", "Different: A harbour at night"]);
  const boxes = await Promise.all(
    (await two.getByRole("img", { name: "First frame:" }).all()).map((img) => img.boundingBox()),
  );
  expect(boxes[0]?.y).toBe(boxes[1]?.y);
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await two.waitFor({ state: "detached" });
  await untilHasFocus(history);
});

test("a phone → first frame, last frame, video; the step that was used is shown again after a reload", async () => {
  const { person, projectId } = film;
  const { page } = await visit({ session: person.session, isPhone: true });
  await openStudio(page, projectId);
  const names = page.getByRole("region", { name: "Steps" }).getByRole("heading", { level: 2 });
  expect(await names.allTextContents()).toEqual(["First frame", "Last frame", "Video"]);
  await page.setViewportSize({ width: 360, height: 844 });
  await stepCard(page, "Video").getByRole("img").last().waitFor();
  expect(await cutOff(stepCard(page, "Video"))).toEqual([]);
  await stepCard(page, "Video").getByRole("button", { name: "Settings" }).tap();
  await page.evaluate(() => scrollTo(0, 0));
  await page.reload();
  await until("the video is in sight", async () => {
    const top = (await stepCard(page, "Video").boundingBox())?.y;
    return top !== undefined && top < 844 / 2;
  });
});

test("the inputs of an earlier video are used again → prompt, frame and length are set and sent; a newer frame shows", async () => {
  const { person, projectId, older, video, newer } = film;
  const prompt = uniquePrompt(`[[fault:failed]] ${"fog, ".repeat(200)}`);
  await person.keyframe.waitFor(await person.keyframe.generate("first-frame", { projectId, prompt }));
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  await card.getByRole("button", { name: "History of the video" }).click();
  const history = page.getByRole("dialog", { name: "History of the video" });
  await history.getByText("A harbour at dawn", { exact: true }).waitFor();
  await history.getByText("5 s").waitFor();
  await history.getByRole("button", { name: "Use these inputs" }).click();
  await page.getByText("The inputs are set, with the first frame of that video.").waitFor();
  await untilShows(card.getByRole("img", { name: "First frame of this video" }), older);
  await card.getByText("Next video from the same.").waitFor();
  await untilShows(stepCard(page, "First frame").getByRole("img", { name: "New first frame" }), newer);

  const frame = stepCard(page, "First frame");
  await frame.getByRole("button", { name: "History of the first frame" }).click();
  const frames = page.getByRole("dialog", { name: "History of the first frame" });
  const cutPrompt = inputOf(frames, "Prompt");
  expect((await cutPrompt.boundingBox())?.height).toBeLessThan(90);
  await takeAt(frames, 2).click();
  await frames.getByText("A harbour at night", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  await frame.getByRole("button", { name: "Settings, custom prompt" }).waitFor();
  expect(await cutOff(frame)).toEqual([]);
  await card.getByRole("button", { name: "Generate again" }).click();
  const again = await until("the second video", async () => {
    const { predictions } = await person.keyframe.listPredictions(projectId, { step: "video" });
    return predictions.length === 2 ? predictions[0] : undefined;
  });
  expect(again.input).toEqual(video.input);
});

test("a frame fails again and a video is canceled → both earlier takes stay, said to be earlier, and the list shows the same", async () => {
  const { person, projectId, make } = await newFilm();
  const frame = await make("first-frame");
  await make("video");
  await make("first-frame", { prompt: uniquePrompt("[[fault:failed]]") });
  await startStuckBy(person, "video", projectId);
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByText("Done, last run failed").waitFor();
  await card.getByText("Earlier picture").waitFor();
  await untilShows(card.getByRole("img").first(), frame);
  await card.getByRole("alert").getByText("Try again.", { exact: true }).waitFor();
  const video = stepCard(page, "Video");
  await video.getByText("Next: Starting").waitFor();
  await video.getByRole("button", { name: "Cancel" }).click();
  await video.getByText("Done, last run canceled").waitFor();
  await video.getByText("Earlier video").waitFor();
  await untilShows(video.getByRole("img", { name: "First frame of this video" }), frame);
  await video.getByText("Shown video made from").waitFor();
  expect(await video.getByText("Made from", { exact: true }).count()).toBe(0);

  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const listed = page.getByRole("article").filter({ hasText: "Harbour" });
  await listed.getByText("First frame: Done, last run failed").waitFor();
  await listed.getByText("Video: Done, last run canceled").waitFor();
  await untilShows(listed.locator("img"), frame);
});

test("a reference image is chosen in one browser → it is the project's in another; removed there, it is gone here", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.createProject({ title: "Harbour", textPrompt: "A harbour" });
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const upload = (file: object) =>
    page.locator("input[type=file]").setInputFiles({ ...photoFile(person.email), ...file });
  await upload({ mimeType: "text/plain" });
  await page.getByText("Not a PNG, JPEG or WebP image.").waitFor();
  await upload({ buffer: Buffer.alloc(10 * 1024 * 1024 + 1) });
  await page.getByText("The image is larger than 10 MiB. Choose a smaller one.").waitFor();
  await upload({});
  await page.getByRole("button", { name: "Replace" }).waitFor();
  const { page: other, watch } = await visit({ session: person.session });
  watch.allow(/ERR_FAILED/);
  await other.route("**/object/sign/**", (route) => route.abort(), { times: 1 }); // away for a moment
  await openStudio(other, projectId);
  const image = other.getByRole("region", { name: "Reference image" }).getByRole("img", { name: "Reference" });
  await until("the image", () => image.evaluate((one: HTMLImageElement) => one.naturalWidth > 0));
  const address = await image.getAttribute("src");
  await stepCard(other, "First frame").getByRole("button", { name: "Generate" }).click();
  const frame = await until("a first frame", async () => {
    const { predictions, referenceImagePath } = await person.keyframe.readProject(projectId);
    const started = predictions["first-frame"];
    return started === null ? undefined : { referenceImagePath, used: started.input.referenceImagePath };
  });
  expect(frame.used).toBe(frame.referenceImagePath);
  expect(frame.used).not.toBeNull();
  await stepCard(other, "First frame").getByText("Done").waitFor();
  expect(await image.getAttribute("src")).toBe(address); // it is not loaded again
  await other.getByRole("button", { name: "Remove" }).click();
  await other.getByRole("button", { name: "Choose image" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Choose image" }).waitFor();
});

test("another model, its values and two images → made so, also after a reload; its images and frame can be references", async () => {
  const { person, projectId } = await newFilm();
  const { steps } = await person.keyframe.models();
  const models = steps.find(({ step }) => step === "first-frame")?.models ?? [];
  const model = models.find(
    ({ controls }) => controls.seed && controls.resolution && (controls.referenceImages?.max ?? 0) > 1,
  );
  const resolution = model?.controls.resolution?.values?.find((one) => one !== model.controls.resolution?.default);
  const { page, newTab, watch } = await visit({ session: person.session });
  watch.allow(/status of 422 .*estimate/s); // while there are more images than the model takes
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("Model").selectOption(model?.model ?? "none");
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText(String(resolution), { exact: true }).click();
  await card.getByLabel("Seed").fill("7");
  await card.getByText("No earlier pictures yet.").waitFor();
  await card.locator("input[type=file]").setInputFiles(["one", "two"].map((seed) => photoFile(person.email + seed)));
  for (const at of [1, 2]) {
    const remove = card.getByRole("button", { name: `Remove reference image ${at}` });
    expect(await remove.boundingBox()).toMatchObject({ width: 24, height: 24 });
  }
  await page.reload();
  const words = `${model?.label} · ${resolution} · seed 7`;
  await card.getByText(words).waitFor();
  const second = await newTab();
  await openStudio(second, projectId);
  await stepCard(second, "First frame").getByText(words).waitFor();
  await stepCard(second, "First frame").getByRole("button", { name: "Generate" }).click();
  await card.getByText("Done").waitFor();
  await second.close();
  const inputsOf = () =>
    until("a first frame that ended", async () => {
      const { predictions } = await person.keyframe.listPredictions(projectId, { step: "first-frame" });
      return predictions.every(({ completedAt }) => completedAt !== null) && predictions.length > 0
        ? predictions
        : undefined;
    });
  const [first] = await inputsOf();
  expect(first).toMatchObject({ status: "succeeded", model: model?.model, input: { resolution, seed: 7 } });
  expect(first?.input.referenceImagePaths).toHaveLength(2);

  await card.getByRole("button", { name: "Settings" }).click();
  const earlier = card.getByRole("group", { name: "Earlier pictures" });
  const uploads = earlier.getByRole("button", { name: "Uploaded image" });
  const frame = earlier.getByRole("button", { name: "First frame: A harbour at dawn" });
  await frame.waitFor();
  const ofOne = models.find(({ controls }) => controls.referenceImages?.max === 1);
  await card.getByLabel("Model").selectOption(ofOne?.model ?? "none");
  await card.getByText("2 of 1").waitFor();
  expect([await frame.isDisabled(), await uploads.first().isDisabled()]).toEqual([true, false]);
  await expectGoodLooks(page);
  await card.getByLabel("Model").selectOption(models[0]?.model ?? "none");
  await uploads.first().press("Enter");
  await card.getByRole("button", { name: "Remove reference image 2" }).waitFor({ state: "detached" });
  const [left] = first?.input.referenceImagePaths.slice(1) ?? [];
  const accepted = page.waitForResponse((answer) => {
    const { referenceImagePaths: [one, copy] = [] } = answer.request().postDataJSON() ?? {};
    return answer.url().endsWith("/estimate") && answer.ok() && one === left && copy?.startsWith("projects/");
  });
  await frame.press("Enter");
  await accepted;
  expect(await frame.getAttribute("aria-pressed")).toBe("true");
  await card.getByRole("button", { name: "History of the first frame" }).click();
  const history = page.getByRole("dialog");
  const shown = ["Model", "Ratio", "Resolution", "Seed", "Prompt"].map((name) => inputOf(history, name).textContent());
  expect(await Promise.all(shown)).toEqual([model?.label, "16:9", resolution, "7", "A harbour at dawn"]);
  expect(await inputOf(history, "References").getByRole("img").count()).toBe(2);
  await history.getByText("$").waitFor();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  await card.getByText(words).waitFor();
  await card.getByRole("button", { name: "Generate again" }).click();
  const [again] = await until("a second one", async () => {
    const predictions = await inputsOf();
    return predictions.length === 2 ? predictions : undefined;
  });
  expect([again?.model, again?.input]).toEqual([first?.model, first?.input]);
});

/** The settings of the first frame, with the earlier frames that can be references. An upload waits for `isUploaded`. */
async function openEarlierFrames() {
  const { page, context, watch } = await visit({ session: film.person.session });
  const isUploaded = Promise.withResolvers<void>();
  const uploads: string[] = [];
  await context.route("**/projects/reference-images", async (route) => {
    uploads.push(route.request().url());
    await isUploaded.promise;
    await route.continue();
  });
  await openStudio(page, film.projectId);
  const card = stepCard(page, "First frame");
  const settings = card.getByRole("button", { name: "Settings" });
  const frames = card.getByRole("group", { name: "Earlier pictures" }).getByRole("button");
  await settings.click();
  return { page, context, watch, card, settings, frames, uploads, isUploaded };
}

test("an earlier frame is pressed twice, and other settings change during its upload → one copy, and all changes stay", async () => {
  const { page, card, settings, frames, uploads, isUploaded } = await openEarlierFrames();
  await frames.first().dblclick();
  const [, model = ""] = await card
    .getByLabel("Model")
    .locator("option")
    .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  await card.getByLabel("Model").selectOption(model);
  await settings.click();
  await stepCard(page, "Last frame").getByRole("button", { name: "Settings" }).click();
  await stepCard(page, "Last frame").getByLabel("Prompt for this step").fill("At night");
  isUploaded.resolve();
  await page.waitForFunction(() => Object.values(localStorage).some((kept) => kept.includes('"references":["')));
  await page.reload();
  await settings.click();
  await card.getByRole("button", { name: "Remove reference image 1" }).waitFor();
  await card.locator("[aria-pressed=true]").waitFor();
  expect([uploads.length, await card.getByLabel("Model").inputValue()]).toEqual([1, model]);
  await card.getByRole("button", { name: "Remove reference image" }).click();
  await stepCard(page, "Last frame").getByRole("button", { name: "Settings, custom prompt" }).waitFor();
});

test("an earlier frame that cannot be read → said", async () => {
  const { context, watch, card, frames } = await openEarlierFrames();
  watch.allow(/Failed to load resource/);
  await context.route("**/keyframe-outputs/**", (route) =>
    route.request().resourceType() === "fetch" ? route.abort() : route.continue(),
  );
  await frames.last().press("Enter");
  await card.getByText("Could not read the picture. Check your connection, then try again.").waitFor();
});

test("signed out while an earlier frame is uploaded → nothing is kept", async () => {
  const { page, frames, uploads, isUploaded } = await openEarlierFrames();
  await frames.last().press("Enter");
  await until("the upload", () => uploads.length === 1);
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("Email").waitFor();
  const answered = page.waitForResponse("**/projects/reference-images");
  isUploaded.resolve();
  await (await answered).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await page.evaluate(() => Object.keys(localStorage))).not.toContainEqual(expect.stringContaining("draft"));
});

test("“End at the last frame” is taken back → the next video has none; the aspect ratio is chosen → the next frame has it", async () => {
  const { person, projectId, make } = await newFilm();
  await make("first-frame");
  await make("last-frame");
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 422 .*video\/estimate/s); // until there is a portrait frame, a portrait video is refused
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  await card.getByRole("img", { name: "Latest last frame" }).waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("End at the last frame").uncheck();
  await card.getByRole("img", { name: "Latest last frame" }).waitFor({ state: "detached" });
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText("Done").waitFor();
  await page.getByLabel("Aspect ratio").selectOption("9:16");
  await until("the project has it", async () => (await person.keyframe.readProject(projectId)).aspectRatio === "9:16");
  const frame = stepCard(page, "First frame");
  await frame.getByRole("button", { name: "Generate again" }).click();
  const { video, "first-frame": portrait } = await until("a portrait", async () => {
    const { predictions } = await person.keyframe.readProject(projectId);
    return predictions["first-frame"]?.input.aspectRatio === "9:16" ? predictions : undefined;
  });
  expect([video?.status, video?.input.lastFramePredictionId, video?.input.aspectRatio]).toEqual([
    "succeeded",
    null,
    "16:9",
  ]);
  expect(portrait?.predictionId).toBeDefined();
});

/** Compares the two videos of a history, 5 and 3 s long. */
async function playTwo(page: Page, history: Locator): Promise<void> {
  await takeAt(history, 0).click();
  await history.getByRole("button", { name: "Compare" }).click();
  await takeAt(history, 1).click();
  const window = page.getByRole("dialog", { name: "Compare: Video" });
  const times = () =>
    window.locator("video").evaluateAll((all: HTMLVideoElement[]) => all.map((one) => one.currentTime));
  await until("the lengths", async () => (await window.locator("mark").count()) === 2);
  expect(await window.locator("mark").allTextContents()).toEqual(["Different: 5 s", "Different: 3 s"]);
  await window.getByRole("button", { name: "Play" }).press("Enter");
  await until("both play", async () => (await times()).every((at) => at > 0.2));
  await window.getByRole("button", { name: "Pause" }).press("Enter");
  const [long = 0, short = 0] = await times();
  expect(Math.abs(long - short)).toBeLessThan(0.5);
  await window.getByLabel("Position of both videos").fill("4");
  await until("both are there, or at their end", async () => {
    const [one = 0, other = 0] = await times();
    return Math.abs(one - 4) < 0.1 && Math.abs(other - 3) < 0.2;
  });
  await page.keyboard.press("Escape");
  await window.waitFor({ state: "detached" });
}

test("an earlier video is used, hidden, shown again → card and project follow; a frame in use is not deleted", async () => {
  const { person, projectId, make } = await newFilm();
  const frame = await make("first-frame");
  const older = await make("video", { durationSeconds: 3 });
  const newer = await make("video", { durationSeconds: 5 });
  const { page, watch, newTab } = await visit({ session: person.session });
  watch.allow(/status of 409/);
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  const shows = ({ predictionId }: Prediction) =>
    until("the video", async () => (await card.locator("video[controls]").getAttribute("src"))?.includes(predictionId));
  await shows(newer);
  const historyOf = async (name: string) => {
    await page.getByRole("button", { name: `History of the ${name}` }).click();
    return page.getByRole("dialog", { name: `History of the ${name}` });
  };
  const more = async (history: Locator, action: string) => {
    await history.getByRole("button", { name: "More actions" }).first().click();
    await page.getByRole("menuitem", { name: action }).click();
  };

  const videos = await historyOf("video");
  await takeAt(videos, 1).click();
  await videos.getByRole("button", { name: "Use as the shot" }).click();
  await shows(older);
  await until("the picture of the new one", () =>
    card.getByLabel("New video").evaluate((it) => it instanceof HTMLVideoElement && it.readyState > 1),
  );
  const elsewhere = await newTab();
  await elsewhere.goto(page.url()); // the history is open there too
  const others = elsewhere.getByRole("dialog", { name: "History of the video" });
  await until("both", async () => (await others.locator("video").count()) === 2);
  await card.getByText("Used as the shot").waitFor();
  expect((await person.keyframe.readProject(projectId)).selected.video).toBe(older.predictionId);
  await takeAt(videos, 0).click();
  await more(videos, "Hide");
  await until("one is left", async () => (await videos.locator("video").count()) === 1);
  await become(elsewhere, "visible");
  await until("one is left there", async () => (await others.locator("video").count()) === 1);
  await elsewhere.close();
  await videos.getByLabel("Show hidden").check();
  await videos.getByText("Hidden", { exact: true }).waitFor();
  await videos.getByRole("button", { name: "Use as the shot" }).first().click();
  await shows(newer);
  expect(await card.getByLabel("New video").count()).toBe(0); // the other one is older
  await more(videos, "Show again");
  await videos.getByText("Hidden", { exact: true }).waitFor({ state: "detached" });
  await playTwo(page, videos);
  await page.keyboard.press("Escape");

  await startStuckBy(person, "video", projectId);
  const frames = await historyOf("first frame");
  await more(frames, "Delete");
  const dialog = page.getByRole("dialog", { name: "Delete picture?" });
  await dialog.getByText("It and its file will be deleted. This cannot be undone. Videos made from it stay.").waitFor();
  await dialog.getByRole("button", { name: "Delete picture" }).click();
  await dialog.getByText("A generation that uses this frame is still running.").waitFor();
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await frames.getByRole("button", { name: "More actions" }).first().waitFor(); // Escape closes one window
  await page.keyboard.press("Escape");
  await card.getByRole("button", { name: "Cancel" }).click();
  await card.getByText("Done, last run canceled").waitFor();
  await (await historyOf("first frame")).getByRole("button", { name: "Enlarge" }).click();
  const large = page.getByRole("dialog", { name: /^(First frame|Take)$/ });
  await more(large, "Delete");
  await dialog.getByRole("button", { name: "Delete picture" }).click();
  await large.getByText("The take was deleted.").waitFor();
  await frames.getByText("Nothing here").waitFor();
  await untilHasFocus(large);
  await page.keyboard.press("Escape");
  await untilHasFocus(frames);
  await page.keyboard.press("Escape");
  await stepCard(page, "First frame").getByText("Not generated yet").waitFor();
  await card.getByText("First frame of this video was deleted").waitFor();
  await card.getByText("Outdated. Its first frame was deleted.").waitFor();
  const { predictions } = await person.keyframe.listPredictions(projectId, { step: "first-frame", hidden: "true" });
  expect([predictions, newer.input.firstFramePredictionId]).toEqual([[], frame.predictionId]);
});

test("a video of an uploaded image and of another project's frame → both show; its inputs are used again, alike", async () => {
  const { person, projectId, make } = await newFilm();
  const before = await newFilmOf(person);
  const shot = await before.make("first-frame");
  const { referenceImagePath: image } = await person.keyframe.uploadReferenceImage(photoFile(person.email).buffer);
  const video = await make("video", { firstFrameImagePath: image, lastFramePredictionId: shot.predictionId });
  expect(video.status).toBe("succeeded");
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  const loaded = (name: string) =>
    until(name, () => card.getByRole("img", { name }).evaluate((one: HTMLImageElement) => one.naturalWidth > 0));
  await loaded("First frame of this video");
  await untilShows(card.getByRole("img", { name: "Last frame of this video" }), shot);
  await until("the poster", async () => (await card.locator("video").getAttribute("poster"))?.includes("projects/"));
  await card.getByText("Generate the first frame first.").waitFor();

  await card.getByRole("button", { name: "History of the video" }).click();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  await page.getByText("The inputs are set, with the first frame and the last frame of that video.").waitFor();
  await card.getByText("Next video from the same.").waitFor();
  await card.getByRole("button", { name: "Generate again" }).click();
  const again = await until("the second video", async () => {
    const { predictions } = await person.keyframe.listPredictions(projectId, { step: "video" });
    return predictions.length === 2 ? predictions[0] : undefined;
  });
  expect(again.input).toEqual(video.input);
});

test("an uploaded image is chosen as first frame → the video starts; of another ratio, or its content rejected → said in words", async () => {
  const { person, projectId } = await newFilm();
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 422/);
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  await card.getByText("Generate the first frame first.").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await card.locator("input[type=file]").first().setInputFiles(photoFile(person.email));
  await card.getByRole("button", { name: "Remove first frame" }).waitFor();
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText("Done").waitFor();
  const { predictions } = await person.keyframe.readProject(projectId);
  expect(predictions.video?.input.firstFrameImagePath).toMatch(/^projects\//);

  await card.getByLabel("Prompt for this step").fill(uniquePrompt("[[fault:content_rejected=input]]"));
  await card.getByRole("button", { name: "Generate again" }).click();
  await expectGoodLooks(page); // with the settings of a video
  const alert = card.getByRole("alert");
  await alert.getByText("Prompt or image rejected").waitFor();
  await alert.getByText("The provider rejected the content of the input. Change the prompt or the images.").waitFor();

  await page.getByLabel("Aspect ratio").selectOption("9:16");
  await until("the project has it", async () => (await person.keyframe.readProject(projectId)).aspectRatio === "9:16");
  await card.getByRole("button", { name: "Generate again" }).click();
  await alert.getByText(/^The frame .+ has 1024 × 576 pixels, and the aspect ratio is 9:16\./).waitFor();
  await card.getByRole("button", { name: "Remove first frame" }).click();
  await card.getByText("Generate the first frame first.").waitFor();
  await card.getByText("Could not start").waitFor({ state: "detached" });
});

test("the chosen model is gone at the provider → said, the default is set; that run's inputs come without the model", async () => {
  const { person, projectId } = await newFilm();
  const { steps } = await person.keyframe.models();
  const model = `gone/${crypto.randomUUID()}`;
  const sql = openDatabase();
  await sql`
    insert into keyframe.models (step, model, label, vendor, position, controls)
    values ('first-frame', ${model}, 'Gone', 'Test', 100000, '{"prompt": {"field": "prompt"}}')`;
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 409/);
  await openStudio(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("Model").selectOption(model);
  await card.getByLabel("Prompt for this step").fill(uniquePrompt(`[[fault:model_gone=${model}]]`));
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText("Model not available").waitFor();
  const byDefault = steps.find(({ step }) => step === "first-frame")?.models.find(({ isDefault }) => isDefault);
  await card.getByTitle(`${byDefault?.label} · `).waitFor();
  await card.getByRole("button", { name: "History of the first frame" }).click();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  const words = "The inputs of that picture are set, without what can no longer be used:";
  await page.getByText(`${words} the model Gone.`).waitFor();
  await person.keyframe.deleteProject(projectId);
  await sql`delete from keyframe.models where model = ${model}`;
});

test("two tabs edit one project → the second save and Generate change nothing; the person chooses one text", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.createProject({ title: "Harbour", textPrompt: "Old" });
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 412/);
  await openStudio(page, projectId);
  const saved = async () => (await person.keyframe.readProject(projectId)).textPrompt;
  const warning = page.getByLabel("Changed elsewhere");

  await prompt(page).fill("Mine");
  await person.keyframe.changeProject(projectId, { textPrompt: "Theirs" });
  await stepCard(page, "First frame").getByRole("button", { name: "Save and generate" }).click();
  await warning.waitFor();
  expect(await warning.inputValue()).toBe("Theirs");
  await expectGoodLooks(page);
  await untilGenerateIsInWindow(page);
  expect(await saved()).toBe("Theirs");
  expect((await person.keyframe.readProject(projectId)).predictions["first-frame"]).toBeNull();
  let saves = 0;
  page.on("request", (request) => {
    if (request.method() === "PATCH") saves++;
  });
  await page.getByRole("button", { name: "Keep my text" }).click();
  await warning.waitFor({ state: "detached" });
  await until("my text", async () => (await saved()) === "Mine");
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(saves).toBe(1);
  await person.keyframe.changeProject(projectId, { textPrompt: "Theirs, later" });
  await page.reload(); // reads it at once
  await until("what I saved gives way", async () => (await prompt(page).inputValue()) === "Theirs, later");

  const description = page.getByLabel("Description", { exact: true });
  await page.getByRole("button", { name: "Description" }).click();
  await description.fill("Mine too");
  await prompt(page).fill("Mine again");
  await person.keyframe.changeProject(projectId, { textPrompt: "Theirs again" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await warning.waitFor();
  await page.getByRole("button", { name: "Use the saved text" }).click();
  await warning.waitFor({ state: "detached" });
  expect([await prompt(page).inputValue(), await description.inputValue()]).toEqual(["Theirs again", "Mine too"]);
  await page.getByRole("button", { name: "Discard" }).click();

  await prompt(page).fill("Mine, and another description");
  await person.keyframe.changeProject(projectId, { title: "Quay", description: "Theirs" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const both = await person.keyframe.readProject(projectId);
  expect([both.textPrompt, both.description]).toEqual(["Mine, and another description", "Theirs"]);
});

test("a project with something running is deleted → “Cancel and delete” does both", async () => {
  const user = await signUp();
  const projectId = await user.createProject({ title: "Harbour" });
  await startStuck(openDatabase(), user, "first-frame", projectId);
  const { data } = await user.supabase.auth.getSession();
  const { page, watch } = await visit({ session: data.session });
  watch.allow(/status of 404/); // the prediction may be read once more after it is gone
  await openStudio(page, projectId);
  await page.getByRole("button", { name: "Actions for Harbour" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete project?" });
  await dialog.getByText("A step is still running").waitFor();
  await dialog.getByText("It will be canceled. The provider may charge for what it has done so far.").waitFor();
  await dialog.getByRole("button", { name: "Cancel and delete" }).click();
  await page.getByRole("heading", { name: "No projects yet" }).waitFor();
  expect((await user.call(`/api/projects/${projectId}`)).status).toBe(404);
});

test("a video is started elsewhere → the open page asks again by itself and shows it; while it is hidden it does not ask", async () => {
  const { person, projectId, make } = await newFilm();
  await make("first-frame");
  const { page } = await visit({ session: person.session });
  await page.clock.install();
  await openStudio(page, projectId);
  await page.clock.pauseAt(new Date(Date.now() + 1_000)); // from here on its time is what runFor gives
  let asked = 0;
  await page.route(`**/projects/${projectId}`, (route) => {
    asked += 1;
    return route.continue();
  });
  await become(page, "hidden");
  await page.clock.runFor(60_000);
  await become(page, "visible");
  await page.clock.runFor(1_000);
  await until("it has asked, visible again", () => asked > 0);
  expect(asked).toBe(1);

  await person.keyframe.generate("video", { projectId });
  await until("it has asked", async () => {
    await page.clock.runFor(6_000); // again where the answer before was still on its way
    return asked > 1;
  });
  await page.clock.resume();
  await stepCard(page, "Video").getByText("Done").waitFor();
});

test("1280 × 800, the longest texts, a reference image → every Generate button is in the window, the title is cut", async () => {
  const person = await newPerson();
  const title = "A harbour at dawn, take one, ".repeat(7).slice(0, 200);
  const { referenceImagePath } = await person.keyframe.uploadReferenceImage(photoFile(person.email).buffer);
  const texts = { title, textPrompt: "A harbour at dawn, fog. ".repeat(160) };
  const { projectId } = await person.keyframe.createProject(texts);
  await person.keyframe.changeProject(projectId, { referenceImagePath });
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  await page.getByRole("img", { name: "Reference image" }).waitFor();
  await page.getByRole("button", { name: "Description" }).click();
  await page.getByLabel("Description", { exact: true }).waitFor();
  await untilGenerateIsInWindow(page);
  expect((await page.getByRole("heading", { level: 1 }).boundingBox())?.height).toBeLessThan(50);
  await expectGoodLooks(page);
});

test("a step is generated with an unsaved prompt → saved first and used; lost answers to a save → no warning", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.createProject({ title: "Harbour", textPrompt: "Old" });
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 412|ERR_FAILED/);
  await openStudio(page, projectId);
  let saves = 0;
  const lost = [1, 3, 4];
  await page.route(`**/projects/${projectId}`, async (route) => {
    if (route.request().method() !== "PATCH" || !lost.includes(++saves)) return await route.continue();
    await route.fetch();
    await route.abort();
  });
  await prompt(page).fill("A new harbour");
  await page.getByText("Not saved").waitFor();
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Save and generate" }).click();
  await card.getByText("Done").waitFor();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(saves).toBe(2);
  const { textPrompt, predictions } = await person.keyframe.readProject(projectId);
  expect([textPrompt, predictions["first-frame"]?.input.prompt]).toEqual(["A new harbour", "A new harbour"]);
  expect(await page.getByRole("alert").count()).toBe(0);

  await prompt(page).fill("A newer");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await prompt(page).fill("A newer harbour");
  await page.getByText("Could not save").waitFor();
  await page.waitForResponse(`**/projects/${projectId}`); // it is read
  await card.getByRole("button", { name: "Save and generate" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect([saves, (await person.keyframe.readProject(projectId)).textPrompt]).toEqual([5, "A newer harbour"]);
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("the page is left while a start has no answer, and opened again → it is still starting, and a press starts nothing more", async () => {
  const { session, keyframe } = await newPerson();
  const { projectId } = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour" });
  const { page } = await visit({ session });
  await openStudio(page, projectId);
  const answer = Promise.withResolvers<void>();
  let starts = 0;
  await page.route("**/generate/first-frame", async (route) => {
    starts++;
    await answer.promise;
    await route.continue();
  });
  const card = stepCard(page, "First frame");
  const generate = card.getByRole("button", { name: /^Generate:/ });
  await generate.click();
  await page.getByRole("banner").getByRole("link", { name: "Projects", exact: true }).click();
  await page.getByRole("article").getByText("Harbour").first().click();
  await generate.waitFor();
  expect(await generate.getAttribute("aria-busy")).toBe("true");
  await generate.click({ force: true });
  answer.resolve();
  await card.getByText("Done").waitFor();
  expect(starts).toBe(1);
});

test("a search among more projects than one answer covers → goes on by itself; among very many → when told to", async () => {
  const person = await newPerson();
  await person.keyframe.createProject({ title: "Lighthouse", textPrompt: "A lighthouse" });
  await openDatabase().begin(async (seeding) => {
    await seeding`set local session_replication_role = replica`;
    await seeding`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      select ${person.session.user.id}, case i when 8000 then 'Buoy' else 'Harbour' end, 'p', now() + i * interval '1 millisecond'
      from generate_series(1, 20000) i`;
  });
  const { page } = await visit({ session: person.session });
  await page.goto("/#/projects");
  const search = page.getByLabel("Search projects");
  await search.fill("buoy");
  await page.getByRole("link", { name: "Buoy", exact: true }).waitFor();
  await search.fill("lighthouse");
  await page.getByText("No title of your newest projects contains “lighthouse”.").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Search on" }).click();
  await page.getByRole("link", { name: "Lighthouse", exact: true }).waitFor();
  expect(await page.getByText("No project found").count()).toBe(0);
});

test("30 projects → searched by title, also after the way back; renamed from the card's menu and from the studio's", async () => {
  const person = await newPerson();
  await openDatabase()`
    insert into keyframe.projects (owner_id, title, text_prompt, created_at)
    select ${person.session.user.id}, 'Shot ' || i, 'A harbour', now() + i * interval '1 millisecond' from generate_series(1, 30) i`;
  const { page } = await visit({ session: person.session });
  await page.goto("/#/projects");
  const card = (title: string) =>
    page.getByRole("article").filter({ has: page.getByRole("link", { name: title, exact: true }) });
  await card("Shot 30").waitFor();
  expect(await card("Shot 1").count()).toBe(0);
  const search = page.getByLabel("Search projects");
  await search.fill("shot 1");
  await card("Shot 1").waitFor();
  expect(await page.getByRole("article").count()).toBe(11);

  const rename = async (from: string, to: string) => {
    await page.getByRole("button", { name: `Actions for ${from}`, exact: true }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByLabel("Title", { exact: true }).fill(to);
    await expectGoodLooks(page);
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await rename("Shot 1", "Opening shot 1");
  await card("Opening shot 1").getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Opening shot 1" }).waitFor();
  await page.goBack();
  await card("Opening shot 1").waitFor();
  expect([await search.inputValue(), await page.getByRole("article").count()]).toEqual(["shot 1", 11]);
  await card("Opening shot 1").getByRole("link").click();
  await rename("Opening shot 1", "Opening");
  await page.getByRole("heading", { level: 1, name: "Opening", exact: true }).waitFor();

  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  await search.fill("nowhere");
  await page.getByText("No title contains “nowhere”.").waitFor();
  await expectGoodLooks(page);
  const held = Promise.withResolvers<void>();
  await page.route("**/projects?*search=Shot*", (route) => held.promise.then(() => route.continue()));
  const asked = page.waitForRequest("**/projects?*search=Shot*");
  await search.fill("Shot");
  await asked;
  expect(await page.getByText("No project found").count()).toBe(0); // nobody knows yet
  held.resolve();
  await card("Shot 30").waitFor();
});
