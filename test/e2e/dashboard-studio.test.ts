import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp } from "../support/api/user.ts";
import { visitDashboard } from "../support/dashboard/browser.ts";
import { photoFile, stepCard } from "../support/dashboard/film.ts";
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

/** A person's project with a first frame, a video made of it, and a newer first frame. Two tests look at it. */
let film: { person: Person; projectId: string; older: Prediction; video: Prediction; newer: Prediction };
beforeAll(async () => {
  const person = await newPerson();
  const { keyframe } = person;
  const { projectId } = await keyframe.createProject({ title: "Harbour", textPrompt: "A harbour at dawn" });
  const make = async (step: "first-frame" | "video", more = {}) =>
    await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more }));
  const older = await make("first-frame", { prompt: "A harbour at night" });
  const video = await make("video", { durationSeconds: 5 });
  film = { person, projectId, older, video, newer: await make("first-frame") };
});

test("an earlier first frame is selected → it shows, also after a reload and elsewhere; the video keeps saying what it was made from", async () => {
  const { person, projectId, older, newer } = film;
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const [frame, video] = [stepCard(page, "First frame"), stepCard(page, "Video")];
  const madeFrom = video.getByRole("img", { name: "First frame of this video" });
  await untilShows(madeFrom, older);
  await untilShows(video.getByRole("img", { name: "Latest first frame" }), newer);
  expect(await video.locator("video").getAttribute("poster")).toContain(older.predictionId);

  await frame.getByRole("button", { name: "History of the first frame" }).click();
  await page.getByRole("button", { name: "Use for next video" }).last().click();
  await page.getByRole("button", { name: "Selected for next video" }).waitFor();
  await page.keyboard.press("Escape");
  const elsewhere = (await visit({ session: person.session })).page;
  await openStudio(elsewhere, projectId);
  const read = Promise.withResolvers<void>();
  const selected = new RegExp(`generate/first-frame.*predictionId=${older.predictionId}`);
  await page.route(selected, (route) => read.promise.then(() => route.continue()));
  await page.reload();
  await frame.getByText("Done").waitFor();
  expect(await frame.getByText("The file has been removed").count()).toBe(0); // it is still read
  read.resolve();
  for (const one of [page, elsewhere]) {
    await untilShows(stepCard(one, "First frame").getByRole("img").first(), older);
    await untilShows(stepCard(one, "Video").getByRole("img", { name: "Selected first frame" }), older);
  }
  await frame.getByRole("button", { name: "Use the latest" }).click();
  await untilShows(frame.getByRole("img").first(), newer);
  await untilShows(madeFrom, older);
});

test("the inputs of an earlier prediction are used again → its prompt, its frame and its length are set and sent", async () => {
  const { person, projectId, older, video } = film;
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  const card = stepCard(page, "Video");
  await card.getByRole("button", { name: "History of the video" }).click();
  const history = page.getByRole("dialog", { name: "History of the video" });
  await history.getByText("A harbour at dawn", { exact: true }).waitFor();
  await history.getByText("5 s", { exact: true }).waitFor();
  await history.getByRole("button", { name: "Use these inputs" }).click();
  await page.getByText("The inputs are set.").waitFor();
  await untilShows(card.getByRole("img", { name: "Selected first frame" }), older);

  const frame = stepCard(page, "First frame");
  await frame.getByRole("button", { name: "History of the first frame" }).click();
  await page.getByRole("button", { name: "Use these inputs" }).last().click();
  await frame.getByRole("button", { name: "Settings: custom prompt" }).waitFor();
  await card.getByRole("button", { name: "Generate again" }).click();
  const again = await until("the second video", async () => {
    const { predictions } = await person.keyframe.listPredictions(projectId, { step: "video" });
    return predictions.length === 2 ? predictions[0] : undefined;
  });
  expect(again.input).toEqual(video.input);
});

test("a reference image is chosen in one browser → it is the project's in another; removed there, it is gone here", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.createProject({ title: "Harbour", textPrompt: "A harbour" });
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  await page.locator("input[type=file]").setInputFiles(photoFile(person.email));
  await page.getByRole("button", { name: "Replace" }).waitFor();
  const other = (await visit({ session: person.session })).page;
  await openStudio(other, projectId);
  const image = other.getByRole("region", { name: "Reference image" }).getByRole("img", { name: "Reference" });
  await until("the image", () => image.evaluate((one: HTMLImageElement) => one.naturalWidth > 0));
  await stepCard(other, "First frame").getByRole("button", { name: "Generate" }).click();
  const frame = await until("a first frame", async () => {
    const { predictions, referenceImagePath } = await person.keyframe.readProject(projectId);
    const started = predictions["first-frame"];
    return started === null ? undefined : { referenceImagePath, used: started.input.referenceImagePath };
  });
  expect(frame.used).toBe(frame.referenceImagePath);
  expect(frame.used).not.toBeNull();
  await other.getByRole("button", { name: "Remove" }).click();
  await other.getByRole("button", { name: "Choose image" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Choose image" }).waitFor();
});

test("the prompt is changed and not saved, and a step is generated → it is saved first, and the step uses it", async () => {
  const person = await newPerson();
  const { projectId } = await person.keyframe.createProject({ title: "Harbour", textPrompt: "Old" });
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  await prompt(page).fill("A new harbour");
  await page.getByText("Not saved").waitFor();
  await stepCard(page, "First frame").getByRole("button", { name: "Save and generate" }).click();
  await stepCard(page, "First frame").getByText("Done").waitFor();
  await page.getByText("Saved", { exact: true }).waitFor();
  const { textPrompt, predictions } = await person.keyframe.readProject(projectId);
  expect([textPrompt, predictions["first-frame"]?.input.prompt]).toEqual(["A new harbour", "A new harbour"]);
});

test("two tabs edit one project → the second save and its Generate change nothing; the person keeps their text or takes the other", async () => {
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
  await untilGenerateIsInWindow(page);
  expect(await saved()).toBe("Theirs");
  expect((await person.keyframe.readProject(projectId)).predictions["first-frame"]).toBeNull();
  await page.getByRole("button", { name: "Keep my text" }).click();
  await warning.waitFor({ state: "detached" });
  await until("my text", async () => (await saved()) === "Mine");
  await person.keyframe.changeProject(projectId, { textPrompt: "Theirs, later" });
  await page.reload(); // reads it at once
  await until("what I saved gives way", async () => (await prompt(page).inputValue()) === "Theirs, later");

  await prompt(page).fill("Mine again");
  await person.keyframe.changeProject(projectId, { textPrompt: "Theirs again" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await warning.waitFor();
  await page.getByRole("button", { name: "Use the saved text" }).click();
  await warning.waitFor({ state: "detached" });
  expect(await prompt(page).inputValue()).toBe("Theirs again");

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
  await dialog.getByRole("button", { name: "Cancel and delete" }).click();
  await page.getByRole("heading", { name: "No projects yet" }).waitFor();
  expect((await user.call(`/api/projects/${projectId}`)).status).toBe(404);
});

test("1280 × 800, the longest title and prompt, and the description open → every Generate button is in the window, and the title is cut", async () => {
  const person = await newPerson();
  const title = "A harbour at dawn, take one, ".repeat(7).slice(0, 200);
  const texts = { title, textPrompt: "A harbour at dawn, fog. ".repeat(160) };
  const { projectId } = await person.keyframe.createProject(texts);
  const { page } = await visit({ session: person.session });
  await openStudio(page, projectId);
  await page.locator(".mantine-Skeleton-root").first().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Description" }).click();
  await page.getByLabel("Description", { exact: true }).waitFor();
  await untilGenerateIsInWindow(page);
  expect((await page.getByRole("heading", { level: 1 }).boundingBox())?.height).toBeLessThan(50);
});

test("30 projects → searched by title, also after the way back; renamed from the card's menu and from the studio's", async () => {
  const person = await newPerson();
  for (let at = 1; at <= 30; at++)
    await person.keyframe.createProject({ title: `Shot ${at}`, textPrompt: "A harbour" });
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
  const held = Promise.withResolvers<void>();
  await page.route("**/projects?*search=Shot*", (route) => held.promise.then(() => route.continue()));
  const asked = page.waitForRequest("**/projects?*search=Shot*");
  await search.fill("Shot");
  await asked;
  expect(await page.getByText("No project found").count()).toBe(0); // nobody knows yet
  held.resolve();
  await card("Shot 30").waitFor();
});
