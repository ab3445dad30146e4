import { Buffer } from "node:buffer";
import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { inputOf, newFilm, newFilmOfTwoFrames, openStudio, photoFile, stepCard } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

/** Tests only look at it. */
let film: Awaited<ReturnType<typeof newFilmOfTwoFrames>>;
beforeAll(async () => {
  film = await newFilmOfTwoFrames();
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
  await card.getByRole("button", { name: "All takes: first frame" }).click();
  const about = page.getByRole("dialog");
  const shown = ["Model", "Ratio", "Resolution", "Seed", "Prompt"].map((name) => inputOf(about, name).textContent());
  expect(await Promise.all(shown)).toEqual([model?.label, "16:9", resolution, "7", "A harbour at dawn"]);
  expect(await inputOf(about, "References").getByRole("img").count()).toBe(2);
  await about.getByText("$").waitFor();
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
  await card.getByRole("group", { name: "Earlier pictures" }).locator("[aria-pressed=true]").waitFor();
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
  await card.getByText("Could not read the file. Check your connection, then try again.").waitFor();
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
  expect(video).toMatchObject({ status: "succeeded", input: { lastFramePredictionId: null, aspectRatio: "16:9" } });
  expect(portrait?.predictionId).toBeDefined();
});

test("“Start at the first frame” is taken back → references instead of frames, and a video from them alone", async () => {
  const { person, projectId } = await newFilm();
  const { page, watch } = await visit({ session: person.session });
  watch.allow(/status of 422 .*video\/estimate/s); // of a model that takes no references
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  await card.getByText("Generate the first frame first.").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("Model").selectOption("bytedance/seedance-2.0");
  await card.getByText("Seedance 2.0 accepts either frames or reference images.").waitFor();
  expect(await card.getByRole("button", { name: "Add image" }).count()).toBe(0);
  await card.getByLabel("Start at the first frame").uncheck();
  await card.getByRole("button", { name: "Use an image" }).waitFor({ state: "detached" });
  await card.locator("input[type=file]").setInputFiles(photoFile(person.email));
  await card.getByRole("button", { name: "Remove reference image" }).waitFor();
  await card.getByLabel("Model").selectOption("pixverse/pixverse-v6");
  await card
    .getByText(
      /^PixVerse V6 takes no reference images\. Models that take what is here: Kling 3\.0 Omni, Veo 3\.1, Seed/,
    )
    .waitFor();
  await expectGoodLooks(page);
  await card.getByLabel("Model").selectOption("bytedance/seedance-2.0");
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText("Done").waitFor();
  const { video } = (await person.keyframe.readProject(projectId)).predictions;
  expect(video?.input).toMatchObject({ firstFramePredictionId: null, firstFrameImagePath: null, aspectRatio: "16:9" });
  expect(video?.input.referenceImagePaths).toHaveLength(1);
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
  await alert
    .getByText("The model's safety filter rejected the prompt or an image. Try different wording or images.")
    .waitFor();

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
  await card.getByRole("button", { name: "All takes: first frame" }).click();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  const words = "The inputs of that picture are set, except those that can no longer be used:";
  await page.getByText(`${words} the model Gone.`).waitFor();
  await page.close(); // it would ask for the price in a project that is gone
  await person.keyframe.deleteProject(projectId);
  await sql`delete from keyframe.models where model = ${model}`;
});
