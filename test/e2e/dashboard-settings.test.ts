import { beforeAll, expect, test } from "vitest";
import { mustSucceed } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import {
  choose,
  hold,
  inputOf,
  newFilm,
  newFilmOfTwoFrames,
  openNewProject,
  openProject,
  openSettings,
  photoFile,
  runStep,
  signOut,
  stepCard,
  untilLoaded,
} from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

/** Tests only look at it. */
let film: Awaited<ReturnType<typeof newFilmOfTwoFrames>>;
beforeAll(async () => {
  film = await newFilmOfTwoFrames();
});

test("a reference image is chosen in one browser → it shows in another; removed there → it is no longer here", async () => {
  const { person, projectId, page } = await openNewProject(visit);
  const upload = (file: object) =>
    page.locator("input[type=file]").setInputFiles({ ...photoFile(person.email), ...file });
  await upload({ mimeType: "text/plain" });
  await page.getByText("Not a PNG, JPEG or WebP image.").waitFor();
  await page.locator("input[type=file]").evaluate(
    (input: HTMLInputElement, bytes) => {
      const given = new DataTransfer(); // made there: Playwright takes seconds to send so much
      given.items.add(new File([new Uint8Array(bytes)], "large.png", { type: "image/png" }));
      input.files = given.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    },
    10 * 1024 * 1024 + 1,
  );
  await page.getByText("The image is larger than 10 MiB. Choose a smaller one.").waitFor();
  await upload({});
  await page.getByRole("button", { name: "Replace" }).waitFor();
  const { page: other } = await visit({ session: person.session, allow: /ERR_FAILED/ });
  await other.route("**/object/sign/**", (route) => route.abort(), { times: 1 }); // away for a moment
  await openProject(other, projectId);
  const image = other.getByRole("region", { name: "Reference image" }).getByRole("img", { name: "Reference" });
  await untilLoaded(image);
  const address = await image.getAttribute("src");
  await stepCard(other, "First frame").getByRole("button", { name: "Generate" }).click();
  const frame = await until("a first frame", async () => {
    const { predictions, referenceImagePath } = await person.keyframe.projects.read(projectId);
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

test("another model, its values and two images → used for the frame, also after a reload; its files can be references", async () => {
  const { person, projectId, page, newTab, watch } = await openNewProject(visit);
  const { steps } = await person.keyframe.models();
  const models = steps.find(({ step }) => step === "first-frame")?.models ?? [];
  const model = models.find(
    ({ controls }) => controls.seed && controls.resolution && (controls.referenceImages?.max ?? 0) > 1,
  );
  const resolution = model?.controls.resolution?.values?.find((one) => one !== model.controls.resolution?.default);
  watch.allow(/status of 422 .*estimate/s); // while there are more images than the model takes
  const card = await openSettings(page, "First frame");
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
  await openProject(second, projectId);
  await stepCard(second, "First frame").getByText(words).waitFor();
  await stepCard(second, "First frame").getByRole("button", { name: "Generate" }).click();
  await card.getByText("Done").waitFor();
  await second.close();
  const inputsOf = () =>
    until("a first frame that ended", async () => {
      const { predictions } = await person.keyframe.predictions.list(projectId, { step: "first-frame" });
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
    const { plan } = answer.request().postDataJSON() ?? {};
    const [one, copy] = plan?.["first-frame"]?.referenceImagePaths ?? [];
    return answer.ok() && one === left && copy?.startsWith("projects/");
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

/** The settings of the first frame, with the earlier frames that can be references. An upload waits for `release`. */
async function openEarlierFrames() {
  const { page, watch } = await visit({ session: film.person.session });
  const uploads: string[] = [];
  page.on("request", (request) => void (request.url().endsWith("/reference-images") && uploads.push(request.url())));
  const { release } = await hold(page, "**/projects/reference-images");
  await openProject(page, film.projectId);
  const card = stepCard(page, "First frame");
  const settings = card.getByRole("button", { name: "Settings" });
  const frames = card.getByRole("group", { name: "Earlier pictures" }).getByRole("button");
  await settings.click();
  return { page, watch, card, settings, frames, uploads, release };
}

test("an earlier frame cannot be read → says so; clicked twice while other settings change → one copy, and all settings", async () => {
  const { page, watch, card, settings, frames, uploads, release } = await openEarlierFrames();
  watch.allow(/Failed to load resource/);
  await page.route("**/keyframe-outputs/**", (route) =>
    route.request().resourceType() === "fetch" ? route.abort() : route.continue(),
  );
  await frames.last().press("Enter");
  await card.getByText("Could not read the file. Check your connection, then try again.").waitFor();
  await page.unroute("**/keyframe-outputs/**");
  await frames.first().dblclick();
  const [, model = ""] = await card
    .getByLabel("Model")
    .locator("option")
    .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  await card.getByLabel("Model").selectOption(model);
  await settings.click();
  await openSettings(page, "Last frame");
  await stepCard(page, "Last frame").getByLabel("Prompt for this step").fill("At night");
  release();
  await until("it is saved", async () => {
    const { plan } = await film.person.keyframe.projects.read(film.projectId);
    return plan["first-frame"]?.referenceImagePaths?.length === 1;
  });
  await page.reload();
  await settings.click();
  await card.getByRole("button", { name: "Remove reference image 1" }).waitFor();
  await card.getByRole("group", { name: "Earlier pictures" }).locator("[aria-pressed=true]").waitFor();
  expect([uploads.length, await card.getByLabel("Model").inputValue()]).toEqual([1, model]);
  await card.getByRole("button", { name: "Remove reference image" }).click();
  await stepCard(page, "Last frame").getByRole("button", { name: "Settings, custom prompt" }).waitFor();
});

test("the user signs out while an earlier frame is uploaded → nothing is kept", async () => {
  const { page, frames, uploads, release } = await openEarlierFrames();
  await frames.last().press("Enter");
  await until("the upload", () => uploads.length === 1);
  await signOut(page);
  await page.getByLabel("Email").waitFor();
  const answered = page.waitForResponse("**/projects/reference-images");
  release();
  await (await answered).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await page.evaluate(() => Object.keys(localStorage))).not.toContainEqual(expect.stringContaining("draft"));
});

test("“End at the last frame” is removed → the next video has none; another aspect ratio → the next frame has it", async () => {
  const { person, projectId, make } = await newFilm();
  await make("first-frame");
  await make("last-frame");
  const allow = /status of 422 .*video\/estimate/s; // until there is a portrait frame, a portrait video is refused
  const { page } = await visit({ session: person.session, allow, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "Video");
  await card.getByRole("img", { name: "Latest last frame" }).waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("End at the last frame").uncheck();
  await card.getByRole("img", { name: "Latest last frame" }).waitFor({ state: "detached" });
  await runStep(page, "Video");
  await page.getByLabel("Aspect ratio").selectOption("9:16");
  await until(
    "the project has it",
    async () => (await person.keyframe.projects.read(projectId)).aspectRatio === "9:16",
  );
  const frame = stepCard(page, "First frame");
  await frame.getByRole("button", { name: "Generate again" }).click();
  const { video, "first-frame": portrait } = await until("a portrait", async () => {
    const { predictions } = await person.keyframe.projects.read(projectId);
    return predictions["first-frame"]?.input.aspectRatio === "9:16" ? predictions : undefined;
  });
  expect(video).toMatchObject({ status: "succeeded", input: { lastFramePredictionId: null, aspectRatio: "16:9" } });
  expect(portrait?.predictionId).toBeDefined();
});

test("“Start at the first frame” is removed → references replace frames, and a video is made from them only", async () => {
  const { person, projectId, page, watch } = await openNewProject(visit);
  watch.allow(/status of 422 .*video\/estimate/s); // of a model that takes no references
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
  await card.getByText("PixVerse V6 accepts no reference images.").waitFor();
  await expectGoodLooks(page);
  await card.getByLabel("Model").selectOption("bytedance/seedance-2.0");
  await runStep(page, "Video");
  const { video } = (await person.keyframe.projects.read(projectId)).predictions;
  expect(video?.input).toMatchObject({ firstFramePredictionId: null, firstFrameImagePath: null, aspectRatio: "16:9" });
  expect(video?.input.referenceImagePaths).toHaveLength(1);
});

test("an uploaded image as first frame → the video starts; of another ratio, or with rejected content → an error in words", async () => {
  const { person, projectId, page, watch } = await openNewProject(visit);
  watch.allow(/status of 422/);
  const card = stepCard(page, "Video");
  await card.getByText("Generate the first frame first.").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await card.locator("input[type=file]").first().setInputFiles(photoFile(person.email));
  await card.getByRole("button", { name: "Remove first frame" }).waitFor();
  await runStep(page, "Video");
  const { predictions } = await person.keyframe.projects.read(projectId);
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
  await until(
    "the project has it",
    async () => (await person.keyframe.projects.read(projectId)).aspectRatio === "9:16",
  );
  await card.getByRole("button", { name: "Generate again" }).click();
  await alert.getByText(/^The frame .+ has 1024 × 576 pixels, and the aspect ratio is 9:16\./).waitFor();
  await card.getByRole("button", { name: "Remove first frame" }).click();
  await card.getByText("Generate the first frame first.").waitFor();
  await card.getByText("Could not start").waitFor({ state: "detached" });
});

test("the chosen model no longer exists at the provider → says so, uses the default; inputs of that run omit the model", async () => {
  const { person, projectId } = await newFilm();
  const { steps } = await person.keyframe.models();
  const model = `gone/${crypto.randomUUID()}`;
  const sql = openDatabase();
  await sql`
    insert into keyframe.models (step, model, label, vendor, position, controls)
    values ('first-frame', ${model}, 'Gone', 'Test', 100000, '{"prompt": {"field": "prompt"}}')`;
  const { page } = await visit({ session: person.session, allow: /status of 409/, at: `/#/projects/${projectId}` });
  const card = await openSettings(page, "First frame");
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
  await person.keyframe.projects.delete(projectId);
  await sql`delete from keyframe.models where model = ${model}`;
});

test("a character and a place in the cast → a frame has them; one of them changes → outdated, and can be made again", async () => {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const shot = { title: "The boat", textPrompt: "@Anna waits on @the pier", filmId };
  const { projectId } = await keyframe.projects.create(shot);
  await keyframe.elements.create({ kind: "place", name: "The pier", text: "Wooden, in fog" });

  const { page, watch } = await visit({ session: person.session, at: `/#/films/${filmId}` });
  await page.getByLabel("Add to the cast").selectOption({ label: "The pier (place)" });
  const cast = page.getByRole("list", { name: "Cast" });
  await cast.getByText("The pier").waitFor();
  await page.getByRole("button", { name: "New element" }).click();
  const form = page.getByRole("dialog", { name: "New element" });
  await form.getByLabel("Name").fill("the PIER");
  await form.getByText("Another element has this name.").waitFor();
  await form.getByLabel("Name").fill("Anna");
  await form.getByLabel("Text").fill("A red coat");
  await form.locator("input[type=file]").setInputFiles(photoFile(person.email));
  await form.getByRole("img", { name: "Image 1" }).waitFor();
  await form.getByRole("button", { name: "Create element" }).click();
  await cast.getByRole("img", { name: "Anna" }).waitFor();
  await expectGoodLooks(page);

  await openProject(page, projectId);
  await runStep(page, "First frame");
  const { takes } = await keyframe.projects.read(projectId);
  const take = mustSucceed(takes["first-frame"] ?? expect.fail("There is no take."));
  const prompt = "Anna waits on The pier\n\nAnna: A red coat\nThe pier: Wooden, in fog";
  expect(take.input).toMatchObject({ prompt, referenceImagePaths: [expect.any(String)] });

  await page.goto(`/#/films/${filmId}`);
  await choose(page, "Actions for Anna", "Edit");
  const edit = page.getByRole("dialog", { name: "Edit element" });
  await edit.getByLabel("Text").fill("A yellow coat");
  await edit.getByRole("button", { name: "Save" }).click();
  await cast.getByText("A yellow coat").waitFor();

  await openProject(page, projectId);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Enlarge the first frame" }).click();
  const about = page.getByRole("dialog");
  await about.getByText("Anna has changed.").waitFor();
  await inputOf(about, "Elements").getByText("Anna, The pier").waitFor();
  await about.getByRole("button", { name: "Use these inputs" }).click();
  await card.getByRole("button", { name: /^Settings/ }).click();
  await card.getByText("Elements of the reused take: Anna, The pier.").waitFor();
  const again = async () => {
    const before = (await keyframe.projects.read(projectId)).predictions["first-frame"]?.predictionId;
    await card.getByRole("button", { name: /^Generate again:/ }).click();
    return await until("the next run", async () => {
      const { predictions } = await keyframe.projects.read(projectId);
      const latest = predictions["first-frame"];
      return latest?.predictionId === before || latest?.completedAt === null ? undefined : latest?.input;
    });
  };
  expect(await again()).toEqual(take.input);
  await card.getByRole("button", { name: "Use the current cast" }).click();
  const now = "Anna waits on The pier\n\nThe pier: Wooden, in fog\nAnna: A yellow coat"; // in the order of the cast
  expect((await again())?.prompt).toBe(now);

  await card.getByText("With The pier, Anna").waitFor();
  await page.getByLabel("Cast").selectOption("Only @mentioned");
  await until("the choice", async () => (await keyframe.projects.read(projectId)).elementIds?.length === 0);
  watch.allow(/status of 400/);
  await card.getByLabel("Prompt for this step").fill("@Bob waits");
  await card.getByText("“@Bob” isn't in the cast (The pier, Anna).").waitFor();
  await card.getByText("“@Bob” isn't in the cast (Anna, The pier).").waitFor(); // the price's refusal, by name
  await card.getByLabel("Prompt for this step").fill("Nobody waits");
  await card
    .getByText(/isn't in the cast/)
    .first()
    .waitFor({ state: "hidden" });
  await card.getByText("Without elements").waitFor();
});

test("@ is typed in a prompt → names are offered, by keyboard and pointer; the shot says whom it uses before it is paid", async () => {
  const { keyframe, session } = await newPerson();
  const cast = ["Anna", "Jon", "The pier"].map((name) => keyframe.elements.create({ name }));
  const elementIds = (await Promise.all(cast)).map(({ elementId }) => elementId);
  const { filmId } = await keyframe.films.create({ title: "The pier", elementIds });
  const { projectId } = await keyframe.projects.create({ title: "The boat", textPrompt: "no people", filmId });
  const { page } = await visit({ session, allow: /status of 400/, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "First frame");
  await card.getByText("With Anna, Jon, The pier").waitFor();
  const prompt = page.getByLabel("Prompt", { exact: true });
  await prompt.fill("");
  await prompt.pressSequentially("@");
  const options = page.getByRole("listbox", { name: "Elements" }).getByRole("option");
  expect((await options.allTextContents()).map((one) => one.split(" ·")[0])).toEqual(["Anna", "Jon", "The pier"]);
  await prompt.press("ArrowDown");
  const active = await prompt.getAttribute("aria-activedescendant");
  expect(await page.locator(`[id="${active}"][aria-selected=true]`).textContent()).toContain("Jon");
  await expectGoodLooks(page);
  await prompt.press("Escape");
  await options.first().waitFor({ state: "detached" });
  await prompt.pressSequentially("j");
  await prompt.press("Enter");
  await prompt.pressSequentially("waits on @the");
  await options.first().click();
  expect(await prompt.inputValue()).toBe("@Jon waits on @The pier ");
  await prompt.pressSequentially("with @Bo ");
  await page
    .getByText("“@Bo” isn't in the cast (Anna, Jon, The pier). Fix the name, or put a space after the @.")
    .first()
    .waitFor();
  await card.getByText(/isn't in the cast/).waitFor(); // the price is asked for what would be saved
  await expectGoodLooks(page);
  await prompt.fill("@Jon waits on @The pier");
  await page.getByText("isn't in the cast").first().waitFor({ state: "detached" });
  await card.getByText("isn't in the cast").waitFor({ state: "hidden" });
  await card.getByText("With Jon, The pier").waitFor();
  await card.getByRole("button", { name: /^Save and generate:/ }).click();
  const made = await until("the first frame", async () => {
    const { predictions } = await keyframe.projects.read(projectId);
    return predictions["first-frame"];
  });
  expect(made.input.elements.map(({ name }) => name)).toEqual(["Jon", "The pier"]);

  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "New shot" }).click();
  const form = page.getByRole("dialog", { name: "New shot" });
  await form.getByLabel("Prompt").pressSequentially("@an");
  await options.first().waitFor();
  await form.getByLabel("Prompt").press("Escape");
  await options.first().waitFor({ state: "detached" });
  await form.waitFor(); // Escape closes the list alone
});

test("the page of elements → creates, changes and deletes them, and says where each is used", async () => {
  const { keyframe, session } = await newPerson();
  const { page } = await visit({ session, at: "/#/elements" });
  await page.getByRole("button", { name: "New element" }).click();
  await page.getByLabel("Name").fill("Anna");
  await page.getByRole("button", { name: "Create element" }).click();
  const list = page.getByRole("list", { name: "Elements" });
  await list.getByText("Not used yet").waitFor();
  const [anna] = (await keyframe.elements.list()).elements;
  const elementIds = [anna?.elementId ?? ""];
  await keyframe.films.create({ title: "The pier", elementIds });
  await keyframe.projects.create({ title: "The boat", textPrompt: "A boat", elementIds });
  await page.reload();
  await list.getByText("Used in The pier, The boat").waitFor();
  await expectGoodLooks(page);
  await choose(page, "Actions for Anna", "Edit");
  await page.getByLabel("Text").fill("A red coat");
  await page.getByRole("button", { name: "Save" }).click();
  await list.getByText("A red coat").waitFor();
  await choose(page, "Actions for Anna", "Delete");
  await page.getByRole("dialog", { name: "Delete element?" }).getByRole("button", { name: "Delete element" }).click();
  await page.getByRole("heading", { name: "No elements yet" }).waitFor();
  await page.goto("about:blank"); // it is deleted then
  await until("it is gone", async () => (await keyframe.elements.list()).elements.length === 0);
});
