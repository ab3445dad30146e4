import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import { photoFile, stepCard, untilShows } from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

/** A film whose second shot has no frame of its own: it starts on the last frame of the first. */
async function chainOfTwo() {
  const person = await newPerson();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const shot = (title: string) => keyframe.createProject({ title, textPrompt: title, filmId });
  const [boat, sea] = [await shot("The boat leaves"), await shot("Open sea")];
  const make = async (step: Parameters<typeof keyframe.generate>[0], { projectId }: { projectId: string }, more = {}) =>
    await keyframe.waitFor(await keyframe.generate(step, { projectId, ...more }));
  return { person, filmId, boat, sea, make };
}

/** The buttons of a page that stand out. */
const primaries = (page: Page) => page.locator("main button[data-variant=filled]").allTextContents();

test("a shot whose video begins on the last frame of the previous shot → its main action is the video, and the film shows it", async () => {
  const { person, filmId, boat, sea, make } = await chainOfTwo();
  await make("first-frame", boat);
  const last = await make("last-frame", boat);
  await person.keyframe.changeProject(sea.projectId, {
    plan: { video: { firstFramePredictionId: last.predictionId } },
  });
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/films/${filmId}`);
  await untilShows(page.getByRole("img", { name: "First frame of Open sea" }), last);
  await page.goto(`/#/projects/${sea.projectId}`);
  await untilShows(stepCard(page, "Video").getByRole("img", { name: "Chosen first frame" }), last);
  expect(await primaries(page)).toEqual(["Generate"]);
  expect(await stepCard(page, "Video").locator("button[data-variant=filled]").count()).toBe(1);
  await expectGoodLooks(page);
  await stepCard(page, "Video").getByRole("button", { name: "Generate" }).click();
  await stepCard(page, "Video").getByText("Done").waitFor();
  const { takes } = await person.keyframe.readProject(sea.projectId);
  expect(takes.video?.input.firstFramePredictionId).toBe(last.predictionId);
});

test("a film whose frames were made again → each row shows what its video was made from, and a join that no longer fits", async () => {
  const { person, filmId, boat, sea, make } = await chainOfTwo();
  const first = await make("first-frame", boat);
  const last = await make("last-frame", boat);
  await make("video", boat);
  await make("video", sea, { firstFramePredictionId: last.predictionId });
  const { page } = await visit({ session: person.session });
  const row = (title: string) => page.getByRole("listitem").filter({ hasText: title });
  const starts = (title: string) => row(title).getByRole("img", { name: `First frame of ${title}` });
  const noJoin = row("Open sea").getByText("It does not start where shot 1 ends.");
  await page.goto(`/#/films/${filmId}`);
  await untilShows(starts("The boat leaves"), first);
  await untilShows(row("The boat leaves").getByRole("img", { name: "Last frame of The boat leaves" }), last);
  await untilShows(starts("Open sea"), last);
  expect(await noJoin.count()).toBe(0);

  const otherFirst = await make("first-frame", boat, { prompt: "At night" });
  await make("last-frame", boat, { prompt: "At night" });
  await page.reload();
  await untilShows(starts("The boat leaves"), first);
  await untilShows(starts("Open sea"), last);
  expect(await noJoin.count()).toBe(0); // both videos are as they were
  await make("video", boat);
  await page.reload();
  await untilShows(starts("The boat leaves"), otherFirst);
  await untilShows(starts("Open sea"), last);
  await noJoin.waitFor();
  await expectGoodLooks(page);

  await page.getByRole("button", { name: "Move Open sea up" }).click();
  await page.getByRole("status").getByText("Open sea is shot 1 of 2.").waitFor({ state: "attached" });
  await untilShows(starts("Open sea"), last);
  await untilShows(starts("The boat leaves"), otherFirst);
  expect(await page.getByText("It does not start where").count()).toBe(0); // nothing is before it
});

test("a shot is pressed → the film plays from there; a complete film is a download first; the list has its pictures", async () => {
  const { person, filmId, boat, sea, make } = await chainOfTwo();
  const first = await make("first-frame", boat);
  await make("last-frame", boat);
  const one = await make("video", boat);
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/films/${filmId}`);
  await page.getByText("Shot 1 of 2: The boat leaves").waitFor();
  expect(await page.getByLabel("Shot 1: The boat leaves").getAttribute("poster")).toContain(first.predictionId);
  expect(await primaries(page)).toEqual(["New shot"]);
  const other = await make("video", sea, { firstFramePredictionId: first.predictionId });
  await page.reload();
  await page.getByRole("button", { name: "Play from Open sea" }).click();
  const player = page.getByLabel("Shot 2: Open sea");
  await until("it plays", () => player.evaluate((video: HTMLVideoElement) => video.currentTime > 0));
  const seconds = (one.output?.durationSeconds ?? 0) + (other.output?.durationSeconds ?? 0);
  await page
    .getByText(new RegExp(`^0:0[${Math.floor(one.output?.durationSeconds ?? 0)}-9] / 0:${Math.floor(seconds)}$`))
    .waitFor();
  await player.evaluate((video: HTMLVideoElement) => video.pause());
  expect(await primaries(page)).toEqual(["Download"]);
  await expectGoodLooks(page);

  await page.getByRole("link", { name: "Films", exact: true }).first().click();
  const listed = page.getByRole("article").filter({ hasText: "The pier" });
  await untilShows(listed.locator("img").first(), first);
  expect(await listed.locator("img, video").count()).toBe(2);
  await expectGoodLooks(page);
});

test("a new shot → has the ratio, reference and settings of the previous shot, not its prompts; a project joins by title", async () => {
  const { person, filmId, sea } = await chainOfTwo();
  const { keyframe } = person;
  const { referenceImagePath } = await keyframe.uploadReferenceImage(photoFile(person.email).buffer);
  await keyframe.changeProject(sea.projectId, { aspectRatio: "9:16", referenceImagePath });
  await keyframe.createProject({ title: "Lighthouse", textPrompt: "A lighthouse" });
  await keyframe.createProject({ title: "Buoy", textPrompt: "A buoy" });
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/projects/${sea.projectId}`);
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("Prompt for this step").fill("At night");
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText("2K").click();
  await card.getByText("2K", { exact: true }).first().waitFor();
  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await page.getByRole("button", { name: "New shot" }).click();
  await page.getByLabel("Title").fill("The storm");
  expect(await page.getByLabel("Where the previous shot's video ends").isChecked()).toBe(true);
  await page.getByLabel("At a new first frame").check();
  await page.getByLabel("Prompt").fill("A storm");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("link", { name: "The storm" }).click();
  await card.getByRole("button", { name: "Settings:" }).waitFor();
  await card.getByText(/· 2K/).waitFor();
  const { shots } = await keyframe.films.read(filmId);
  expect(shots.at(-1)).toMatchObject({ title: "The storm", aspectRatio: "9:16", referenceImagePath });

  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await page.getByRole("button", { name: "Actions for the film" }).click();
  await page.getByRole("menuitem", { name: "Add a project" }).click();
  const form = page.getByRole("dialog", { name: "Add a project" });
  await form.getByLabel("Buoy").waitFor();
  expect(await form.getByLabel("Open sea").count()).toBe(0); // it is a shot of this film
  await form.getByLabel("Search by title").fill("light");
  await form.getByLabel("Buoy").waitFor({ state: "detached" });
  await form.getByLabel("Lighthouse").check();
  await expectGoodLooks(page);
  await form.getByRole("button", { name: "Add as last shot" }).click();
  await page.getByRole("link", { name: "Lighthouse" }).waitFor();
  expect((await keyframe.films.read(filmId)).shots.at(-1)?.title).toBe("Lighthouse");
});

test("Ctrl+Enter → in the project's prompt it generates what is next, in a step's settings that step", async () => {
  const { person, boat } = await chainOfTwo();
  const { page } = await visit({ session: person.session });
  await page.goto(`/#/projects/${boat.projectId}`);
  await stepCard(page, "First frame").getByText("about $").waitFor();
  await page.getByLabel("Prompt", { exact: true }).fill("A harbour in fog");
  await page.keyboard.press("Control+Enter");
  await stepCard(page, "First frame").getByText("Done").waitFor();
  const card = stepCard(page, "Last frame");
  await card.getByRole("button", { name: "Settings" }).click();
  await card.getByLabel("Prompt for this step").fill("At night");
  await page.keyboard.press("Control+Enter");
  await card.getByText("Done").waitFor();
  const { predictions } = await person.keyframe.readProject(boat.projectId);
  const prompts = [predictions["first-frame"], predictions["last-frame"], predictions.video].map(
    (one) => one?.input.prompt,
  );
  expect(prompts).toEqual(["A harbour in fog", "At night", undefined]);
});
