import { expect, test } from "vitest";
import { mustSucceed } from "../../client/index.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { newFilm, runStep, stepCard } from "../support/dashboard/film.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

test("a film is shared → plays on a phone without an account; revoked, the link shows nothing any more", async () => {
  const { person, projectId, make } = await newFilm();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const later = await keyframe.createProject({ title: "Open sea", textPrompt: "A secret prompt" });
  await keyframe.films.change(filmId, { projectIds: [projectId, later.projectId] });
  await make("first-frame");
  await make("video");
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Actions for the film" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  const window = page.getByRole("dialog", { name: "Share film" });
  await window.getByLabel("Link expires").selectOption({ label: "After a week" });
  await expectGoodLooks(page);
  await window.getByRole("button", { name: "Create link" }).click();
  const link = (await window.locator("pre").textContent()) ?? "";
  expect(link).toMatch(/#\/shared\/[\w-]{43}$/);
  await window.getByRole("button", { name: "Copy link" }).waitFor();
  await expectGoodLooks(page);
  await window.getByRole("button", { name: "Done" }).click();

  const { page: phone, watch } = await visit({ isPhone: true });
  await phone.goto(link);
  await phone.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await phone.getByText("2. Open sea · No video yet").waitFor();
  await expectGoodLooks(phone);
  await phone.getByRole("button", { name: "1. Harbour" }).tap();
  const player = phone.getByLabel("Shot 1: Harbour");
  await until("it plays", () => player.evaluate((video: HTMLVideoElement) => video.currentTime > 0));
  expect(await phone.locator("body").textContent()).not.toMatch(/secret prompt|Sign in/);

  await page.getByRole("button", { name: "Actions for the film" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  await window.getByText(/^Made .*, ends in/).waitFor();
  await window.getByRole("button", { name: "Revoke" }).click();
  await window.getByRole("listitem").waitFor({ state: "detached" });
  watch.allow(/status of 404/);
  await phone.reload();
  await phone.getByRole("heading", { name: "This link does not work" }).waitFor();
  await expectGoodLooks(phone);
});

test("the next shot from the real last frame of a video of a text → its video starts on that picture, which is uploaded", async () => {
  const { person, projectId, make } = await newFilm();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  await keyframe.changeProject(projectId, { filmId });
  await make("last-frame");
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/projects/${projectId}`);
  const video = stepCard(page, "Video");
  await video.getByRole("button", { name: "Settings" }).click();
  await video.getByLabel("Start at the first frame").uncheck();
  await runStep(page, "Video");
  const { takes } = await keyframe.readProject(projectId);
  const { width, height } = mustSucceed(takes.video ?? expect.fail("There is no take.")).output;
  await page.getByRole("button", { name: "Next shot" }).click();
  const form = page.getByRole("dialog", { name: "New shot" });
  await form.getByLabel("Title").fill("Open sea");
  await form.getByLabel("Prompt").fill("The boat on the open sea");
  await form.getByLabel("At the previous shot's last frame").waitFor();
  expect(await form.getByLabel("Where the previous shot's video ends").isChecked()).toBe(true);
  await expectGoodLooks(page);
  await form.getByRole("button", { name: "Create shot" }).click();
  await page.getByRole("heading", { level: 1, name: "Open sea" }).waitFor();
  const start = video.getByRole("img", { name: "End of the previous shot" });
  await until("the picture of the size of the video", () =>
    start.evaluate(
      (image: HTMLImageElement, size) => String([image.naturalWidth, image.naturalHeight]) === size,
      `${width},${height}`,
    ),
  );
  expect(await page.getByText("From the shot before").count()).toBe(0);

  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const missing = page.getByRole("dialog", { name: "Generate what is missing" });
  await missing.getByText("It starts where shot 1 ends.").waitFor();
  await missing.getByText("First frame", { exact: true }).click();
  await missing.getByText("Each shot has a first frame, needs none, or it is being made.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Open sea" }).click();
  await video.getByRole("button", { name: /^Generate/ }).click();
  await video.getByText("Done").waitFor();
  const { shots } = await keyframe.films.read(filmId);
  expect(shots.map(({ title }) => title)).toEqual(["Harbour", "Open sea"]);
  expect(shots[1]?.takes.video?.input).toMatchObject({
    firstFramePredictionId: null,
    firstFrameImagePath: expect.stringMatching(/^projects\//),
  });
});
