import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { mustSucceed } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import {
  become,
  choose,
  createShot,
  filmOf,
  hold,
  loseAnswers,
  newFilm,
  openSettings,
  photoFile,
  runStep,
  shotTitles,
  startStuckBy,
  stepCard,
  untilShows,
} from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
const sql = openDatabase();

/** The page that the menu marks. */
const marked = (page: Page) => page.locator("header nav [aria-current=page]").allTextContents();

async function deleteShot(page: Page, title: string): Promise<void> {
  await choose(page, `Actions for ${title}`, "Delete");
  await page.getByRole("dialog", { name: "Delete shot?" }).getByText("You can undo it for ten seconds.").waitFor();
  await page.getByRole("button", { name: "Delete shot" }).press("Enter");
  await page.getByRole("alert").getByText(`“${title}” is deleted.`).waitFor();
}

test("a shot of a film → its position, neighbours and way back; deleted → back to the film; a shot just made → stays", async () => {
  const { session, filmId, shots, saved, keyframe } = await filmOf("Day", "Noon", "Night");
  const { page } = await visit({ session, allow: /status of 404/ }); // the deleted shot
  await page.clock.install();
  await page.goto(`/#/projects/${shots[0].projectId}`);
  const place = page.getByRole("navigation", { name: "Shots" });
  await place.getByText("Shot 1 of 3").waitFor();
  expect(await marked(page)).toEqual(["Films"]);
  expect(await place.getByRole("link", { name: "Previous shot" }).count()).toBe(0);
  await place.getByRole("link", { name: "Next shot: Noon" }).press("Enter");
  await page.getByRole("heading", { level: 1, name: "Noon" }).waitFor();
  await place.getByText("Shot 2 of 3").waitFor();
  await expectGoodLooks(page);
  await place.getByRole("link", { name: "Previous shot: Day" }).waitFor();
  await deleteShot(page, "Noon");
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await until("it is gone", async () => (await shotTitles(page)).join() === "Day,Night");

  await page.getByRole("button", { name: "New shot" }).click();
  await createShot(page, "Dusk");
  await page.getByText("“Dusk” is the last shot.").waitFor();
  await until("it is there", async () => (await shotTitles(page)).join() === "Day,Night,Dusk");
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await page.getByRole("button", { name: "Move Dusk up" }).press("Enter");
  await page.getByRole("status").getByText("Dusk is shot 2 of 3.").waitFor({ state: "attached" });

  await page.clock.fastForward(10_000);
  await until("it is deleted after ten seconds", async () => (await saved()).join() === "Day,Dusk,Night");
  await page.getByText("“Noon” is deleted.").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const card = page.getByRole("article").filter({ hasText: "Dusk" });
  await card.waitFor();
  expect(await marked(page)).toEqual(["Projects"]);
  await card.getByRole("link", { name: "The pier" }).click();
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  expect((await keyframe.projects.list()).projects.map((one) => one.filmId)).toEqual([filmId, filmId, filmId]);
});

test("a shot is deleted → undo restores its position; leaving the page deletes it; a refused deletion brings it back", async () => {
  const { session, filmId, saved } = await filmOf("Day", "Noon", "Night");
  const { page, watch } = await visit({ session, at: `/#/films/${filmId}` });
  await deleteShot(page, "Noon");
  await until("it is hidden", async () => (await shotTitles(page)).join() === "Day,Night");
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Move Night up" }).press("Enter");
  await page.getByRole("status").getByText("Night is shot 1 of 2.").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Undo: delete Noon" }).press("Enter");
  await until("it is shown again", async () => (await shotTitles(page)).join() === "Night,Noon,Day");
  expect(await saved()).toEqual(["Night", "Noon", "Day"]);

  await deleteShot(page, "Noon");
  await page.keyboard.press("Control+z");
  await until("it is back by keys", async () => (await shotTitles(page)).join() === "Night,Noon,Day");
  await deleteShot(page, "Noon");
  expect(await saved()).toEqual(["Night", "Noon", "Day"]);
  await page.goto("about:blank");
  await until("it is deleted", async () => (await saved()).join() === "Night,Day", 5_000);

  await page.clock.install();
  await page.goto(`/#/films/${filmId}`);
  await page.route("**/api/projects/*", (route) =>
    route.request().method() === "DELETE" ? route.fulfill({ status: 500, body: "" }) : route.fallback(),
  );
  watch.allow(/status of 500/);
  await deleteShot(page, "Day");
  await page.clock.fastForward(10_000);
  await page.getByText("Could not delete “Day”").waitFor();
  await until("it is back", async () => (await shotTitles(page)).join() === "Night,Day");
});

test("a shot or its film is duplicated → texts, ratio, image, cast and settings, the copy behind the shot; no takes", async () => {
  const { session, filmId, shots, saved, keyframe, make } = await filmOf("Day", "Night");
  const [{ projectId }] = shots;
  const { referenceImagePath } = await keyframe.uploadReferenceImage(photoFile("a").buffer);
  await keyframe.projects.change(projectId, { aspectRatio: "9:16", referenceImagePath, elementIds: [] });
  await make("first-frame", shots[0]);
  const { page } = await visit({ session, at: `/#/projects/${projectId}` });
  const card = await openSettings(page, "First frame");
  const saving = await hold(page, `**/api/projects/${projectId}`);
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText("2K").click();
  await choose(page, "Actions for Day", "Duplicate");
  saving.release();
  await page.getByRole("heading", { level: 1, name: "Day (copy)" }).waitFor();
  await card.getByText(/· 2K/).waitFor();
  await card.getByText("Not generated yet").waitFor();
  expect(await saved()).toEqual(["Day", "Day (copy)", "Night"]);
  expect((await keyframe.films.read(filmId)).shots[1]).toMatchObject({
    ...{ textPrompt: "Day", aspectRatio: "9:16", referenceImagePath, elementIds: [] },
  });
  await page.goto(`/#/films/${filmId}`);
  await choose(page, "Actions for Night", "Duplicate");
  await page.getByText("“Night (copy)” was created.").waitFor();
  await page.getByRole("link", { name: "Night (copy)" }).waitFor();

  await choose(page, "Actions for the film", "Duplicate");
  await page.getByRole("heading", { level: 1, name: "The pier (copy)" }).waitFor();
  await until("all are there", async () => (await shotTitles(page)).join() === "Day,Day (copy),Night,Night (copy)");
  const [copy] = (await keyframe.films.list()).films;
  const [first, ...others] = (await keyframe.films.read(copy?.filmId ?? "")).shots;
  expect(first).toMatchObject({
    ...{ textPrompt: "Day", aspectRatio: "9:16", referenceImagePath, elementIds: [], takes: { "first-frame": null } },
    plan: { "first-frame": { resolution: "2K" } },
  });
  expect(others).toHaveLength(3);
});

test("settings cannot be saved → says so, and nothing is copied or started without them, also after a reload", async () => {
  const { session, filmId, shots, saved, keyframe } = await filmOf("Day");
  const [{ projectId }] = shots;
  const { page } = await visit({ session, allow: /Failed to load resource/ });
  let saves = 0;
  await page.route("**/api/projects/*", (route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    saves += 1;
    return route.abort();
  });
  await page.goto(`/#/projects/${projectId}`);
  const card = await openSettings(page, "First frame");
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText("2K").click();
  await page.getByText("Could not save the settings").waitFor();
  await choose(page, "Actions for Day", "Duplicate");
  const refused = page.getByText("Could not duplicate “Day”");
  await refused.waitFor();
  await become(page, "visible"); // what is shown is read again
  await page.goto(`/#/films/${filmId}`);
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  expect(saves).toBe(4); // the change and the copy, each sent twice: a read saves nothing
  await page.reload();
  await choose(page, "Actions for Day", "Duplicate");
  await refused.waitFor();
  await choose(page, "Actions for the film", "Duplicate");
  await page.getByText("Could not duplicate “The pier”").waitFor();
  await page.getByRole("button", { name: "New shot" }).click();
  await createShot(page, "Dusk");
  await page.getByText("Could not create the shot").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  await page.getByText("Could not save the settings of a shot").waitFor();
  expect([await saved(), (await keyframe.films.list()).films.length]).toEqual([["Day"], 1]);

  await page.unroute("**/api/projects/*");
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  await page.getByRole("button", { name: "Generate 1 first frame" }).click();
  await page.getByText("Started 1 first frame.").waitFor();
  expect((await keyframe.projects.read(projectId)).predictions["first-frame"]?.input.resolution).toBe("2K");
});

test("a film whose frames were made again → each row shows what its video was made from, and a join that no longer fits", async () => {
  const {
    session,
    filmId,
    shots: [boat, sea],
    make,
  } = await filmOf("The boat leaves", "Open sea");
  const first = await make("first-frame", boat);
  const last = await make("last-frame", boat);
  await make("video", boat);
  await make("video", sea, { firstFramePredictionId: last.predictionId });
  const { page } = await visit({ session });
  const row = (title: string) => page.getByRole("listitem").filter({ hasText: title });
  const starts = (title: string) => row(title).getByRole("img", { name: `First frame of ${title}` });
  const noJoin = row("Open sea").getByText("The video does not start where shot 1 ends.");
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
  expect(await page.getByText("The video does not start where").count()).toBe(0); // nothing is before it

  await page.goto("/#/projects");
  const card = (title: string) => page.getByRole("article").filter({ hasText: title });
  await card("Open sea").getByText("First frame: From another shot").waitFor();
  await card("The boat leaves").getByText("First frame: Done").waitFor();
});

test("a new shot → has the previous shot's ratio, reference and settings, not its prompts; a project joins by its title", async () => {
  const { session, keyframe, email, filmId, shots: all } = await filmOf("The boat leaves", "Open sea");
  const [, { projectId }] = all;
  const { referenceImagePath } = await keyframe.uploadReferenceImage(photoFile(email).buffer);
  await keyframe.projects.change(projectId, { aspectRatio: "9:16", referenceImagePath });
  await keyframe.projects.create({ title: "Lighthouse", textPrompt: "A lighthouse" });
  await keyframe.projects.create({ title: "Buoy", textPrompt: "A buoy" });
  const { page } = await visit({ session, at: `/#/projects/${projectId}` });
  const card = await openSettings(page, "First frame");
  await card.getByLabel("Prompt for this step").fill("At night");
  await card.getByRole("radiogroup", { name: "Resolution" }).getByText("2K").click();
  await card.getByText("2K", { exact: true }).first().waitFor();
  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await page.getByRole("button", { name: "New shot" }).click();
  await page.getByLabel("Title").fill("The storm");
  expect(await page.getByLabel("The end of the previous video").isChecked()).toBe(true);
  await page.getByLabel("A new first frame").check();
  await page.getByLabel("Prompt").fill("A storm");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("link", { name: "The storm" }).click();
  await card.getByRole("button", { name: "Settings:" }).waitFor();
  await card.getByText(/· 2K/).waitFor();
  const { shots } = await keyframe.films.read(filmId);
  expect(shots.at(-1)).toMatchObject({ title: "The storm", aspectRatio: "9:16", referenceImagePath });

  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await choose(page, "Actions for the film", "Add an existing shot");
  const form = page.getByRole("dialog", { name: "Add an existing shot" });
  await form.getByLabel("Buoy").waitFor();
  expect(await form.getByLabel("Open sea").count()).toBe(0); // it is in this film already
  await form.getByLabel("Search by title").fill("light");
  await form.getByLabel("Buoy").waitFor({ state: "detached" });
  await form.getByLabel("Lighthouse").check();
  await expectGoodLooks(page);
  await form.getByRole("button", { name: "Add as last shot" }).click();
  await page.getByRole("link", { name: "Lighthouse" }).waitFor();
  expect((await keyframe.films.read(filmId)).shots.at(-1)?.title).toBe("Lighthouse");
});

test("the answer to a new shot is lost, and the project is put into another film → the shot is created in that film", async () => {
  const { session, keyframe } = await newPerson();
  const [before, after] = [
    await keyframe.films.create({ title: "Old" }),
    await keyframe.films.create({ title: "New" }),
  ];
  const { projectId } = await keyframe.projects.create({ title: "Day", textPrompt: "Day", filmId: before.filmId });
  await keyframe.waitFor(await keyframe.generate("last-frame", { projectId }));
  const { page } = await visit({ session, allow: /Failed to load resource/ });
  await loseAnswers(page, "**/api/projects", "POST");
  await page.goto(`/#/projects/${projectId}`);
  const form = page.getByRole("dialog", { name: "New shot" });
  await page.getByRole("button", { name: "New shot after this" }).click();
  await createShot(page, "Night");
  await form.getByText("Could not create the shot").waitFor();
  expect(await form.getByLabel("Title").inputValue()).toBe("Night");
  await page.keyboard.press("Escape");
  await page.unroute("**/api/projects");

  await keyframe.projects.change(projectId, { filmId: after.filmId });
  await page.locator(`a[href$="${after.filmId}"]`).waitFor();
  await page.getByRole("button", { name: "New shot after this" }).click();
  await form.getByRole("button", { name: "Create shot" }).click();
  await page.getByRole("heading", { level: 1, name: "Night" }).waitFor();
  expect((await keyframe.films.read(after.filmId)).shots.map(({ title }) => title)).toEqual(["Day", "Night"]);
});

test("the next shot from the actual last frame of a text-only video → its video starts on that image, which is uploaded", async () => {
  const { person, projectId, make } = await newFilm();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  await keyframe.projects.change(projectId, { filmId });
  await make("last-frame");
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const video = await openSettings(page, "Video");
  await video.getByLabel("Start at the first frame").uncheck();
  await runStep(page, "Video");
  const { takes } = await keyframe.projects.read(projectId);
  const { width, height } = mustSucceed(takes.video ?? expect.fail("There is no take.")).output;
  await page.getByRole("button", { name: "New shot after this" }).click();
  const form = page.getByRole("dialog", { name: "New shot" });
  await form.getByLabel("The previous shot's last frame").waitFor();
  await form.getByLabel("A new first frame").waitFor();
  expect(await form.getByLabel("The end of the previous video").isChecked()).toBe(true);
  await expectGoodLooks(page);
  await createShot(page, "Open sea");
  await page.getByRole("heading", { level: 1, name: "Open sea" }).waitFor();
  const start = video.getByRole("img", { name: "End of the previous shot" });
  await until("the picture of the size of the video", () =>
    start.evaluate(
      (image: HTMLImageElement, size) => String([image.naturalWidth, image.naturalHeight]) === size,
      `${width},${height}`,
    ),
  );

  await page.getByRole("link", { name: "The pier", exact: true }).click();
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const missing = page.getByRole("dialog", { name: "Generate what is missing" });
  await missing.getByText("It starts where shot 1 ends.").waitFor();
  await missing.getByText("First frame", { exact: true }).click();
  await missing.getByText("Each shot has a first frame, needs none, or is generating one.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Open sea" }).click();
  await runStep(page, "Video");
  const { shots } = await keyframe.films.read(filmId);
  expect(shots.map(({ title }) => title)).toEqual(["Harbour", "Open sea"]);
  expect(shots[1]?.takes.video?.input).toMatchObject({
    firstFramePredictionId: null,
    firstFrameImagePath: expect.stringMatching(/^projects\//),
  });
});

/** A film of three shots whose first one has a first frame. */
async function filmOfThree() {
  const film = await filmOf("The boat leaves", "Open sea", "The island");
  const [first, second, third] = film.shots;
  await film.make("first-frame", first);
  return { ...film, first: first.projectId, second: second.projectId, third: third.projectId };
}

test("the way a shot is made is set in one browser → another browser shows it, and every start uses it", async () => {
  const { session, keyframe, second } = await filmOfThree();
  const at = `/#/projects/${second}`;
  const allow = /status of 412/; // of two changes at once, one is made again
  const { page } = await visit({ session, allow, at });
  const video = await openSettings(page, "Video");
  await video.getByLabel("Continue the previous shot").check();
  await video.getByLabel("Prompt for this step").fill("The boat on the open sea");
  await video.getByText("Generate the previous shot's video first.").waitFor();
  expect(await stepCard(page, "First frame").count()).toBe(0); // it would be paid for and not used
  await expectGoodLooks(page);
  await until("the plan is saved", async () => {
    const { plan } = await keyframe.projects.read(second);
    return plan.video?.continuesPreviousShot === true && plan.video.prompt === "The boat on the open sea";
  });
  const { page: other } = await visit({ session, allow, at });
  const there = stepCard(other, "Video");
  await there.getByRole("button", { name: "Settings, custom prompt" }).click();
  expect(await there.getByLabel("Continue the previous shot").isChecked()).toBe(true);
  await Promise.all([
    there.getByLabel("Continue the previous shot").uncheck(),
    video.getByLabel("Prompt for this step").fill("Nothing but sea"),
  ]);
  await until("both changes", async () => {
    const { video: saved = {} } = (await keyframe.projects.read(second)).plan;
    return saved.prompt === "Nothing but sea" && !saved.continuesPreviousShot;
  });
  await until("each shows the other's", async () => {
    const prompt = await there.getByLabel("Prompt for this step").inputValue();
    return prompt === "Nothing but sea" && !(await video.getByLabel("Continue the previous shot").isChecked());
  });
});

test("three shots that continue each other, and the start's answer is lost → pressed again, one start at the price shown", async () => {
  const { session, keyframe, filmId, second, third } = await filmOfThree();
  const plan = { video: { continuesPreviousShot: true } };
  for (const projectId of [second, third]) await keyframe.projects.change(projectId, { plan });
  const { page, watch } = await visit({ session });
  watch.allow(/Failed to load resource/);
  const untilCardsSaySo = async () => {
    await page.goto("/#/projects");
    await page.getByText("First frame: From the previous shot").nth(1).waitFor();
    expect(await page.getByText("First frame: From the previous shot").count()).toBe(2);
  };
  await untilCardsSaySo();
  await page.goto(`/#/films/${filmId}`);
  await page.getByText(/^No video yet · starts where shot 2 ends · .+ · 5 s$/).waitFor();
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const form = page.getByRole("dialog", { name: "Generate what is missing" });
  await form.getByText("It starts where shot 2 ends, once that is generated.").waitFor();
  await form.getByLabel("2. Open sea").uncheck();
  await form.getByText("It continues shot 2, which is left out.").waitFor();
  await form.getByRole("button", { name: "Generate 1 video" }).waitFor();
  await form.getByLabel("2. Open sea").check();
  await expectGoodLooks(page);
  const { atMostMicros } = await keyframe.films.estimate(filmId, "video");
  await loseAnswers(page, "**/projects/generate/quote", "POST");
  await form.getByRole("button", { name: "Generate 3 videos" }).click();
  await form.getByText("Could not start").waitFor();
  await page.unroute("**/projects/generate/quote");
  await form.getByRole("button", { name: "Generate 3 videos" }).click();
  await form.getByText("Started 3 videos.").waitFor();
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
  await untilCardsSaySo();
});

test("a shot becomes dearer while a film's price is shown → nothing is started at another price", async () => {
  const { session, keyframe, filmId, first } = await filmOfThree();
  const { page } = await visit({ session, at: `/#/films/${filmId}` });
  await page.getByRole("button", { name: "Generate what is missing" }).click();
  const form = page.getByRole("dialog", { name: "Generate what is missing" });
  await form.getByText("Video", { exact: true }).click();
  await form.getByText(/^About \$/).waitFor();
  const { shots } = await keyframe.films.estimate(filmId, "video");
  const dearer = { video: { durationSeconds: 10 } };
  await keyframe.projects.change(first, { plan: dearer });
  await form.getByRole("button", { name: "Generate 1 video" }).click();
  await form.getByText("The price has changed. Close this dialog and open it again.").waitFor();
  await expectGoodLooks(page);
  expect(shots[0]?.atMostMicros).not.toBe((await keyframe.films.estimate(filmId, "video")).shots[0]?.atMostMicros);
  expect((await keyframe.projects.read(first)).predictions.video).toBeNull();
});

test("a film generates what is missing → shows the price and what the budget lacks; each shot, what runs or why it failed", async () => {
  const { person, keyframe, session, filmId } = await filmOf();
  const addShot = async (title: string, textPrompt = "A pier") =>
    (await keyframe.projects.create({ title, textPrompt, filmId })).projectId;
  await startStuckBy(person, "first-frame", await addShot("One"));
  const { page } = await visit({ session, at: `/#/films/${filmId}` });
  const steps = (title: string) => page.getByRole("list", { name: `Steps of ${title}` });
  const missing = page.getByRole("button", { name: "Generate what is missing" });
  await steps("One").getByText("First frame: Starting").waitFor();
  await page.getByText("Generating: 1 first frame.").waitFor();
  expect(await missing.getAttribute("aria-busy")).toBe("true"); // there is nothing else to make

  await addShot("Two");
  const three = await addShot("Three", uniquePrompt("A pier [[fault:failed=The sea was too rough.]]"));
  await addShot("Four");
  await until("it can be pressed", async () => (await missing.getAttribute("aria-busy")) === null);
  await expectGoodLooks(page);
  await sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${session.user.id}, 217000)`;
  await missing.click();
  const window = page.getByRole("dialog", { name: "Generate what is missing" });
  // Without the first frame that is being made, but with its video.
  await window
    .getByText(/^About \$0\.20\. Generate the videos next, .+: about \$(.+)\. Together about \$.+\.$/)
    .waitFor();
  const problem = "3 first frames can cost $0.20, and your budget has $0.15 left. Choose fewer shots, a cheaper model,";
  await window.getByText(problem).waitFor();
  await expectGoodLooks(page);
  await window.getByText("Video", { exact: true }).click();
  await window.getByText("It has no first frame yet.").nth(3).waitFor();
  expect(await window.getByRole("button", { name: "Generate", exact: true }).getAttribute("aria-disabled")).toBe(
    "true",
  );
  await window.getByText("First frame", { exact: true }).click();
  await window.getByLabel("4. Four").uncheck();
  await window.getByText("About $0.13").waitFor();
  await window.getByText("your budget").waitFor({ state: "detached" });
  await window.getByRole("button", { name: "Generate 2 first frames" }).click();
  await window.getByText("Started 2 first frames.").waitFor();
  await window.getByRole("button", { name: "Done" }).click();

  await page.getByRole("img", { name: "First frame of Two" }).waitFor();
  await steps("Three").getByText("First frame: Failed").waitFor();
  await steps("Three").getByText("The sea was too rough.").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  const canceling = page.getByRole("dialog", { name: "Cancel what is running?" });
  await canceling
    .getByText(/^If you cancel, the provider may still charge for what has begun, up to \$0\.07\.$/)
    .waitFor();
  await expectGoodLooks(page);
  await canceling.getByRole("button", { name: "Cancel 1 first frame" }).click();
  await page.getByText("Generating:").waitFor({ state: "detached" });

  await sql`delete from keyframe_private.owner_budgets where owner_id = ${session.user.id}`;
  await keyframe.projects.change(three, { textPrompt: "A pier" });
  await missing.click();
  await window.getByRole("button", { name: "Generate 3 first frames" }).click();
  for (const title of ["One", "Three", "Four"]) await page.getByAltText(`First frame of ${title}`).waitFor();
  await window.getByText("Started 3 first frames.").waitFor();
});
