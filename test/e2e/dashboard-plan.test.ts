import { expect, test } from "vitest";
import { mustSucceed } from "../../client/index.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { stepCard } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

/** A film of three shots whose first one has a first frame. */
async function filmOfThree() {
  const { session, keyframe } = await newPerson();
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const ids: string[] = [];
  for (const title of ["The boat leaves", "Open sea", "The island"]) {
    ids.push((await keyframe.createProject({ title, textPrompt: title, filmId })).projectId);
  }
  const [first = "", second = "", third = ""] = ids;
  mustSucceed(await keyframe.waitFor(await keyframe.generate("first-frame", { projectId: first })));
  return { session, keyframe, filmId, first, second, third };
}

test("how a shot is made is set in one browser → another one shows it, and a start by anybody uses it", async () => {
  const { session, keyframe, second } = await filmOfThree();
  const { page } = await visit({ session });
  await page.goto(`/#/projects/${second}`);
  const video = stepCard(page, "Video");
  await video.getByRole("button", { name: "Settings" }).click();
  await video.getByLabel("Continue the previous shot").check();
  await video.getByLabel("Prompt for this step").fill("The boat on the open sea");
  await video.getByText("Generate the previous shot's video first.").waitFor();
  await expectGoodLooks(page);
  await until("the plan is saved", async () => {
    const { plan } = await keyframe.readProject(second);
    return plan.video?.continuesPreviousShot === true && plan.video.prompt === "The boat on the open sea";
  });
  const { page: other } = await visit({ session });
  await other.goto(`/#/projects/${second}`);
  const there = stepCard(other, "Video");
  await there.getByRole("button", { name: "Settings, custom prompt" }).click();
  expect(await there.getByLabel("Continue the previous shot").isChecked()).toBe(true);
  await there.getByLabel("Continue the previous shot").uncheck();
  await until(
    "the other browser's change",
    async () => !(await video.getByLabel("Continue the previous shot").isChecked()),
  );
});

test("three shots, each continues the one before → one press makes the film for the price that it says", async () => {
  const { session, keyframe, filmId, second, third } = await filmOfThree();
  const plan = { video: { continuesPreviousShot: true } };
  for (const projectId of [second, third]) await keyframe.changeProject(projectId, { plan });
  const { page } = await visit({ session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const form = page.getByRole("dialog", { name: "Generate what is missing" });
  await form.getByText("It starts where shot 2 ends, once that is made.").waitFor();
  await expectGoodLooks(page);
  const { atMostMicros } = await keyframe.films.estimate(filmId, "video");
  await form.getByRole("button", { name: "Generate 3 videos" }).click();
  await form.getByText("3 videos started.").waitFor();
  const read = async () => (await keyframe.films.read(filmId)).shots.map(({ predictions }) => predictions.video);
  const held = (await read()).reduce((sum, one) => sum + (one?.cost?.atMostMicros ?? 0), 0);
  expect(held).toBe(atMostMicros);
  await page.keyboard.press("Escape");
  await page.getByText("Waiting for the previous shot").first().waitFor();
  await until("all are made", async () => (await read()).every((one) => one?.status === "succeeded"));
  const [one, two, three] = await read();
  expect([two?.input, three?.input]).toMatchObject([
    { continuesPredictionId: one?.predictionId, firstFrameImagePath: one?.endImagePath },
    { continuesPredictionId: two?.predictionId, firstFrameImagePath: two?.endImagePath },
  ]);
});

test("somebody makes a shot dearer while the price of a film is shown → nothing is started at another price", async () => {
  const { session, keyframe, filmId, first } = await filmOfThree();
  const { page } = await visit({ session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const form = page.getByRole("dialog", { name: "Generate what is missing" });
  await form.getByText("Video", { exact: true }).click();
  await form.getByText(/^About \$/).waitFor();
  const { shots } = await keyframe.films.estimate(filmId, "video");
  const dearer = { video: { durationSeconds: 10 } };
  await keyframe.changeProject(first, { plan: dearer });
  await form.getByRole("button", { name: "Generate 1 video" }).click();
  await form.getByText("The price has changed. Close this window and open it again.").waitFor();
  await expectGoodLooks(page);
  expect(shots[0]?.atMostMicros).not.toBe((await keyframe.films.estimate(filmId, "video")).shots[0]?.atMostMicros);
  expect((await keyframe.readProject(first)).predictions.video).toBeNull();
});
