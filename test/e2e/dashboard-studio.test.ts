import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import {
  become,
  cutOff,
  newFilm,
  newFilmOfTwoFrames,
  openStudio,
  photoFile,
  stepCard,
} from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

const prompt = (page: Page) => page.getByLabel("Prompt", { exact: true });

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

test("a phone → first frame, last frame, video; the step that was used is shown again after a reload", async () => {
  const { person, projectId } = await newFilmOfTwoFrames();
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
