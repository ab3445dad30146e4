import type { Locator, Page, Route } from "playwright-core";
import { beforeAll, expect, inject, test } from "vitest";
import type { Prediction } from "../../client/index.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { expectGoodLooks, visitDashboard } from "../support/dashboard/browser.ts";
import {
  become,
  choose,
  cutOff,
  hold,
  inputOf,
  newFilm,
  newFilmOf,
  newFilmOfTwoFrames,
  openNewProject,
  openProject,
  photoFile,
  runStep,
  startStuckBy,
  stepCard,
  takeAt,
  untilFocused,
  untilLoaded,
  untilShows,
} from "../support/dashboard/film.ts";
import { newPerson, type Person } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

// A first frame by the default model costs $0.067 in 1K and $0.101 in 2K.
const visit = visitDashboard();
const sql = openDatabase();

/** Tests only look at it. */
let film: Awaited<ReturnType<typeof newFilmOfTwoFrames>>;
beforeAll(async () => {
  film = await newFilmOfTwoFrames();
});

/** The buttons of the takes that a card shows. */
const cardTakes = (page: Page, name: Parameters<typeof stepCard>[1]) =>
  stepCard(page, name).getByRole("list", { name: "Takes of the" }).getByRole("button");

const untilSecondVideo = ({ keyframe }: Person, projectId: string) =>
  until("the second video", async () => {
    const { predictions } = await keyframe.predictions.list(projectId, { step: "video" });
    return predictions.length === 2 ? predictions[0] : undefined;
  });

const chooseResolution = (page: Page, value: string) =>
  stepCard(page, "First frame")
    .getByRole("radiogroup", { name: "Resolution" })
    .getByText(value, { exact: true })
    .click();

test("three takes are chosen → the price is for all, one click starts them, and the card shows three with their prices", async () => {
  const { person, projectId, page } = await openNewProject(visit);
  const card = stepCard(page, "First frame");
  await card.getByLabel("Takes: first frame").selectOption("3 takes");
  await card.getByText("about $0.20").waitFor();
  await runStep(page, "First frame");
  await until("all takes", async () => {
    const { predictions } = await person.keyframe.predictions.list(projectId, { status: "succeeded" });
    return predictions.length === 3;
  });
  const takes = cardTakes(page, "First frame");
  await until(
    "three with a price",
    async () => (await takes.allTextContents()).filter((one) => one === "$0.07").length === 3,
  );
  await expectGoodLooks(page);
  await takes.nth(2).click();
  await until("the first take is selected", async () => {
    const [, , first] = (await person.keyframe.predictions.list(projectId)).predictions;
    return (await person.keyframe.projects.read(projectId)).selected["first-frame"] === first?.predictionId;
  });
  await until("it is shown as used", async () => (await takes.nth(2).getAttribute("aria-pressed")) === "true");
  await card.getByRole("button", { name: "All takes: first frame" }).press("Enter");
  await takeAt(page.getByRole("dialog"), 2).waitFor();
});

test("an earlier first frame is selected → it is used everywhere, also after a reload; the newer one is a click away", async () => {
  const { person, projectId, older, newer } = film;
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const [frame, video] = [stepCard(page, "First frame"), stepCard(page, "Video")];
  const madeFrom = video.getByRole("img", { name: "First frame of this video" });
  await untilShows(madeFrom, older);
  await untilShows(video.getByRole("img", { name: "Latest first frame" }), newer);
  expect(await video.locator("video").getAttribute("poster")).toContain(older.predictionId);

  await frame.getByRole("button", { name: "All takes: first frame" }).click();
  const sheet = await Promise.all([0, 1].map((at) => takeAt(page.getByRole("dialog"), at).boundingBox()));
  expect(sheet[0]?.y).toBe(sheet[1]?.y); // beside each other
  expect(await page.getByRole("dialog").locator("time").count()).toBe(2); // one for each take
  await takeAt(page.getByRole("dialog"), 1).click();
  await page.getByRole("button", { name: "Use for the next video" }).click();
  await page.getByRole("button", { name: "Used for the next video", pressed: true }).waitFor();
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  const { page: elsewhere } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  await page.reload();
  for (const one of [page, elsewhere]) {
    await untilShows(stepCard(one, "First frame").getByRole("img").first(), older);
    await stepCard(one, "First frame").getByText("Used for the next video").waitFor();
    await stepCard(one, "First frame").getByText("Ready, but the latest take is not used").waitFor();
    await untilShows(stepCard(one, "First frame").locator("ol img").first(), newer);
    expect(await cardTakes(one, "First frame").allTextContents()).toEqual(["$0.07", "$0.07"]);
    await cardTakes(one, "First frame").and(one.locator("[aria-pressed=true]")).waitFor();
    expect(await cardTakes(one, "First frame").nth(1).getAttribute("aria-pressed")).toBe("true");
    await stepCard(one, "Video").getByText("The next video starts from the same frame.").waitFor();
    expect(await stepCard(one, "Video").getByRole("img").count()).toBe(1); // the frame that the video is from, once
  }
  await elsewhere.getByRole("link", { name: "Projects", exact: true }).first().click();
  const listed = elsewhere.getByRole("article").filter({ hasText: "Harbour" });
  await untilShows(listed.locator("img"), older);
  await listed.getByText("First frame: Ready, but the latest take is not used").waitFor();

  await cardTakes(page, "First frame").first().press("Enter");
  await untilShows(frame.getByRole("img").first(), newer);
  await frame.getByText("Done", { exact: true }).waitFor();
  expect(await page.getByText("Used for the next video").count()).toBe(0);
  await untilShows(madeFrom, older);
  await video.getByText("Made with a first frame that is not selected.").waitFor();
  await expectGoodLooks(page);
});

test("an image is enlarged, and two are compared by keyboard → inputs, and what differs; Escape returns the focus", async () => {
  const { person, projectId, older, newer } = film;
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
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

  const list = page.getByRole("dialog", { name: "Takes of the first frame" });
  await page.getByRole("button", { name: "All takes: first frame" }).press("Enter");
  await list.getByRole("button", { name: "Enlarge" }).first().press("Enter");
  await one.getByRole("button", { name: "Close" }).click(); // it is above the takes
  await page.getByRole("button", { name: "Compare" }).press("Enter");
  await page.getByText("Choose a second take to compare.").waitFor();
  await expectGoodLooks(page);
  await takeAt(list, 1).press("Enter");
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
  await untilFocused(list);
});

test("the inputs of an earlier video are used again → prompt, frame and length are set and sent; the newer frame shows", async () => {
  const { person, projectId, older, video, newer } = film;
  const prompt = uniquePrompt(`[[fault:failed]] ${"fog, ".repeat(200)}`);
  await person.keyframe.waitFor(await person.keyframe.generate("first-frame", { projectId, prompt }));
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "Video");
  await card.getByRole("button", { name: "All takes: video" }).click();
  const list = page.getByRole("dialog", { name: "Takes of the video" });
  await list.getByText("A harbour at dawn", { exact: true }).waitFor();
  await list.getByText("5 s").waitFor();
  await list.getByRole("button", { name: "Use these inputs" }).click();
  await page.getByText("The inputs are set, with the first frame of that video.").waitFor();
  await untilShows(card.getByRole("img", { name: "First frame of this video" }), older);
  await card.getByText("The next video starts from the same frame.").waitFor();
  await untilShows(stepCard(page, "First frame").locator("ol img").first(), newer);

  const frame = stepCard(page, "First frame");
  await frame.getByRole("button", { name: "All takes: first frame" }).click();
  const frames = page.getByRole("dialog", { name: "Takes of the first frame" });
  const cutPrompt = inputOf(frames, "Prompt");
  expect((await cutPrompt.boundingBox())?.height).toBeLessThan(90);
  await takeAt(frames, 2).click();
  await frames.getByText("A harbour at night", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  await frame.getByRole("button", { name: "Settings, custom prompt" }).waitFor();
  expect(await cutOff(frame)).toEqual([]);
  await card.getByRole("button", { name: "Generate again" }).click();
  expect((await untilSecondVideo(person, projectId)).input).toEqual(video.input);
});

test("a frame fails and a video is canceled → both earlier takes stay, marked as earlier, and the list shows the same", async () => {
  const { person, projectId, make } = await newFilm();
  const frame = await make("first-frame");
  await make("video");
  await make("first-frame", { prompt: uniquePrompt("[[fault:failed]]") });
  await startStuckBy(person, "video", projectId);
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "First frame");
  await card.getByText("Ready, but the latest attempt failed").waitFor();
  await card.getByText("Earlier picture").waitFor();
  await untilShows(card.getByRole("img").first(), frame);
  await card.getByRole("alert").getByText("Try again.", { exact: true }).waitFor();
  const video = stepCard(page, "Video");
  await video.getByText("Next: Starting").waitFor();
  await video.getByRole("button", { name: "Cancel" }).click();
  await video.getByText("Ready, but the latest attempt was canceled").waitFor();
  await video.getByText("Earlier video").waitFor();
  await untilShows(video.getByRole("img", { name: "First frame of this video" }), frame);
  await video.getByText("The video shown was made from").waitFor();
  expect(await video.getByText("Made from", { exact: true }).count()).toBe(0);

  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const listed = page.getByRole("article").filter({ hasText: "Harbour" });
  await listed.getByText("First frame: Ready, but the latest attempt failed").waitFor();
  await listed.getByText("Video: Ready, but the latest attempt was canceled").waitFor();
  await untilShows(listed.locator("img"), frame);
});

/** Compares the two videos of a list of takes, 5 and 3 s long. */
async function playTwo(page: Page, list: Locator): Promise<void> {
  await takeAt(list, 0).click();
  await list.getByRole("button", { name: "Compare" }).click();
  await takeAt(list, 1).click();
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

test("an earlier video is used, hidden, shown again → card and project follow; a frame in use cannot be deleted", async () => {
  const { person, projectId, make } = await newFilm();
  const frame = await make("first-frame");
  const older = await make("video", { durationSeconds: 3 });
  const newer = await make("video", { durationSeconds: 5 });
  const { page, newTab } = await visit({ session: person.session, allow: /status of 409/ });
  await page.clock.install();
  await openProject(page, projectId);
  const card = stepCard(page, "Video");
  const shows = ({ predictionId }: Prediction) =>
    until("the video", async () => (await card.locator("video[controls]").getAttribute("src"))?.includes(predictionId));
  await shows(newer);
  const takesOf = async (name: string) => {
    await page.getByRole("button", { name: `All takes: ${name}` }).click();
    return page.getByRole("dialog", { name: `Takes of the ${name}` });
  };
  const more = (list: Locator, action: string) => choose(list, "More actions", action);

  const videos = await takesOf("video");
  await takeAt(videos, 1).click();
  await videos.getByRole("button", { name: "Use as the final video" }).click();
  await shows(older);
  await until("the picture of the new one", () =>
    card
      .locator("ol video")
      .first()
      .evaluate((it) => it instanceof HTMLVideoElement && it.readyState > 1),
  );
  const elsewhere = await newTab();
  await elsewhere.goto(page.url()); // the list is open there too
  const others = elsewhere.getByRole("dialog", { name: "Takes of the video" });
  await until("both", async () => (await others.locator("video").count()) === 2);
  await card.getByText("Used as the final video").waitFor();
  expect((await person.keyframe.projects.read(projectId)).selected.video).toBe(older.predictionId);
  await takeAt(videos, 0).click();
  await more(videos, "Hide");
  await until("one is left", async () => (await videos.locator("video").count()) === 1);
  await become(elsewhere, "visible");
  await until("one is left there", async () => (await others.locator("video").count()) === 1);
  await elsewhere.close();
  await videos.getByLabel("Show hidden takes").check();
  await videos.getByText("Hidden", { exact: true }).waitFor();
  await videos.getByRole("button", { name: "Use as the final video" }).first().click();
  await shows(newer);
  await more(videos, "Unhide");
  await videos.getByText("Hidden", { exact: true }).waitFor({ state: "detached" });
  await playTwo(page, videos);
  await page.keyboard.press("Escape");

  await startStuckBy(person, "video", projectId);
  const frames = await takesOf("first frame");
  await more(frames, "Delete");
  const dialog = page.getByRole("dialog", { name: "Delete take?" });
  const undo = "You can undo it for ten seconds.";
  await dialog.getByText(`It and its file will be deleted. ${undo} Videos made from it are kept.`).waitFor();
  await dialog.getByRole("button", { name: "Delete take" }).click();
  await frames.getByText("No takes.").waitFor();
  await expectGoodLooks(page);
  await page.keyboard.press("Control+z");
  await more(frames, "Delete");
  await dialog.getByRole("button", { name: "Delete take" }).click();
  await frames.getByText("No takes.").waitFor();
  await page.clock.fastForward(10_000);
  await page.getByText("A generation that uses this frame is still running.").waitFor();
  await frames.getByRole("button", { name: "More actions" }).first().waitFor();
  await page.keyboard.press("Escape");
  await card.getByRole("button", { name: "Cancel" }).click();
  await card.getByText("Ready, but the latest attempt was canceled").waitFor();
  await (await takesOf("first frame")).getByRole("button", { name: "Enlarge" }).click();
  const large = page.getByRole("dialog", { name: /^(First frame|Take)$/ });
  await more(large, "Delete");
  await dialog.getByRole("button", { name: "Delete take" }).click();
  await large.getByText("The take was deleted.").waitFor();
  await frames.getByText("No takes.").waitFor();
  await untilFocused(large);
  await page.keyboard.press("Escape");
  await untilFocused(frames);
  await page.keyboard.press("Escape");
  await card.getByText("First frame of this video was deleted").waitFor();
  await page.clock.fastForward(10_000);
  await stepCard(page, "First frame").getByText("Not generated yet").waitFor();
  await until("it is deleted after ten seconds", async () => {
    const { predictions } = await person.keyframe.predictions.list(projectId, { step: "first-frame", hidden: "true" });
    return predictions.length === 0;
  });
  expect(newer.input.firstFramePredictionId).toBe(frame.predictionId);
  await card.getByText("Outdated. Its first frame was deleted.").waitFor();
});

test("a video from an uploaded image and another project's frame → both show; using its inputs again gives the same", async () => {
  const { person, projectId, make } = await newFilm();
  const before = await newFilmOf(person);
  const shot = await before.make("first-frame");
  const { referenceImagePath: image } = await person.keyframe.uploadReferenceImage(photoFile(person.email).buffer);
  const video = await make("video", { firstFrameImagePath: image, lastFramePredictionId: shot.predictionId });
  expect(video.status).toBe("succeeded");
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "Video");
  await untilLoaded(card.getByRole("img", { name: "First frame of this video" }));
  await untilShows(card.getByRole("img", { name: "Last frame of this video" }), shot);
  await until("the poster", async () => (await card.locator("video").getAttribute("poster"))?.includes("projects/"));
  await card.getByText("Generate the first frame first.").waitFor();

  await card.getByRole("button", { name: "All takes: video" }).click();
  await page.getByRole("button", { name: "Use these inputs" }).click();
  await page.getByText("The inputs are set, with the first frame and the last frame of that video.").waitFor();
  await card.getByText("The next video starts from the same frame.").waitFor();
  await card.getByRole("button", { name: "Generate again" }).click();
  expect((await untilSecondVideo(person, projectId)).input).toEqual(video.input);
  await page.goto("/#/projects");
  await page.getByText("First frame: An uploaded image").waitFor();
});

test("a run is canceled and the next fails → each has a card with what to do and whether it was charged; both are listed", async () => {
  const { person, projectId } = await newFilm();
  await startStuckBy(person, "first-frame", projectId);
  const { page } = await visit({ session: person.session, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "First frame");
  const runAgain = card.getByRole("button", { name: "Generate again" });

  await card.getByText("Starting").first().waitFor();
  expect(await runAgain.getAttribute("aria-disabled")).toBe("true");
  // The project as it was before the run is canceled arrives after that.
  const [asked, canceled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holdProject = async (route: Route) => {
    const response = await route.fetch();
    asked.resolve();
    await canceled.promise;
    await route.fulfill({ response }).catch(() => undefined); // nobody waits for it any more
  };
  await page.route(`**/projects/${projectId}`, holdProject, { times: 1 });
  await asked.promise;
  await card.getByRole("button", { name: "Cancel" }).click();
  await card.getByText("Canceled").first().waitFor();
  canceled.resolve();
  await untilFocused(runAgain); // what can be done now

  await card.getByRole("button", { name: "Settings" }).click();
  const prompt = card.getByLabel("Prompt for this step");
  await prompt.fill(uniquePrompt("[[fault:failed=The sea was too rough.]]"));
  await runAgain.click();
  await card.getByText("Failed").first().waitFor();
  const charged = /The sea was too rough\.Try again\.Charge not known yet, at most \$0\.07\.provider_failed/;
  await card.getByRole("alert").filter({ hasText: charged }).waitFor();
  await expectGoodLooks(page);
  await card.getByRole("button", { name: "All takes: first frame" }).click();
  const all = page.getByRole("dialog", { name: "Takes of the first frame" });
  for (const status of ["canceled", "failed"]) await all.locator(`li[data-status=${status}]`).waitFor();
});

test("a run that has just ended is canceled → its end shows, and no error", async () => {
  const { person, projectId } = await newFilm();
  const { predictionId } = await startStuckBy(person, "first-frame", projectId);
  const { page } = await visit({ session: person.session, allow: /status of 409/, at: `/#/projects/${projectId}` });
  const card = stepCard(page, "First frame");
  await page.route("**/generate/cancel", async (route) => {
    await sql`select keyframe_private.mark_failed(${predictionId}, 'failed_by_administrator', 'Ended.', false)`;
    await route.continue();
  });
  const refused = page.waitForResponse("**/generate/cancel");
  await card.getByRole("button", { name: "Cancel" }).click();
  expect((await refused).status()).toBe(409);
  await page.waitForRequest((request) => request.url().endsWith(`/projects/${projectId}`));
  await card.getByText("Ended.").waitFor();
  expect(await page.getByText("Could not cancel").count()).toBe(0);
});

test("another resolution is chosen → the old price is dimmed until the new one is read; take and usage have the cost", async () => {
  const { page } = await openNewProject(visit);
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  const { release } = await hold(page, "**/estimate");
  await chooseResolution(page, "2K");
  await card.locator("[data-old]", { hasText: "about $0.07" }).waitFor();
  release();
  await card.getByText("about $0.10").waitFor();
  expect(await card.locator("[data-old]").count()).toBe(0);
  await page.setViewportSize({ width: 1280, height: 480 });
  await card.getByText("No earlier pictures yet.").scrollIntoViewIfNeeded();
  for (const shown of [card.getByText("about $0.10"), card.getByRole("button", { name: "Generate" })]) {
    const { y = -1, height = 0 } = (await shown.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(60); // below the header
    expect(y + height).toBeLessThan(480);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  const button = card.getByRole("button", { name: "Generate" });
  const described = await button.evaluate((one) =>
    (one.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent),
  );
  expect(described).toEqual(["about $0.10", ""]);
  await button.click();
  await card.getByText(/took .* · \$0\.10$/).waitFor();
  await card.getByRole("button", { name: "All takes: first frame" }).click();
  await page
    .getByRole("dialog")
    .getByText(/took .* · \$0\.10$/)
    .waitFor();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "This month $0.10" }).waitFor();
  await expectGoodLooks(page);
  await page.getByRole("menuitem", { name: "This month $0.10" }).click();
  await page.getByRole("heading", { name: "This month $0.10" }).waitFor();
  await page.getByText("You have no personal budget.").waitFor();
  const row = (name: string) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
  const today = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" }).format(new Date());
  for (const [group, name] of [
    ["Day", today],
    ["Step", "First frame"],
    ["Model", "Nano Banana 2"],
    ["Project", "Harbour"],
  ] as const) {
    await page.getByRole("radiogroup", { name: "Group by" }).getByText(group, { exact: true }).click();
    await row(name).waitFor();
    expect(await row(name).getByRole("cell").allTextContents()).toEqual([name, "1", "$0.10", "$0.00"]);
    expect(await row("Total").getByRole("columnheader").allTextContents()).toEqual(["Total", "1", "$0.10", "$0.00"]);
  }
  await page.getByLabel("Month", { exact: true }).selectOption({ index: 1 });
  await page.getByText("No takes in this month.").waitFor();
  await page.getByRole("heading", { name: /\d{4} \$0\.00$/ }).waitFor();
  expect(await page.getByText("You have no personal budget.").count()).toBe(0); // a budget is of now
  await expectGoodLooks(page);
});

test("a start over the budget → announced before, refused with what is left; a cheaper one → made and counted", async () => {
  const person = await newPerson();
  await sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${person.session.user.id}, 100000)`;
  const { page } = await visit({
    session: person.session,
    allow: /status of 402/,
    at: `/#/projects/${(await newFilmOf(person)).projectId}`,
  });
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByRole("button", { name: "Settings" }).click();
  await chooseResolution(page, "2K");
  await card
    .getByText(
      "This take can cost $0.101, and your budget has $0.10 left. Choose a cheaper model, resolution or length.",
    )
    .waitFor();
  await card.getByRole("button", { name: "Generate" }).click();
  const refusal = card.getByRole("alert").filter({ hasText: "Could not start" });
  await refusal.getByText("Your budget for this month has $0.10 of $0.10 left; this start can cost $0.101.").waitFor();
  expect(
    await card
      .getByText(/your budget/i)
      .and(page.locator(":visible"))
      .count(),
  ).toBe(1); // not said twice
  await expectGoodLooks(page);
  await chooseResolution(page, "1K");
  await refusal.waitFor({ state: "detached" });
  await card.getByText("and your budget has").waitFor({ state: "hidden" });
  await card.getByRole("button", { name: "Generate" }).click();
  await card.getByText(/took .* · \$0\.07$/).waitFor();
  await card.getByText("This take can cost $0.07, and your budget has $0.03 left.").waitFor();
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("heading", { name: "This month $0.07 of $0.10" }).waitFor();
  await page.getByText("Your budget for this month has $0.03 of $0.10 left.").waitFor();
  expect(await page.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("67");
  await expectGoodLooks(page);
});

test("a balance below the cost of 8 takes → stated next to their button, with the app's link, in the menu and in the usage", async () => {
  const person = await newPerson();
  await sql`select keyframe_private.add_credit(${person.session.user.id}, 500000, 'grant', 'welcome', 'fifty cents')`;
  const { page } = await visit({ session: person.session, allow: /status of 402/ });
  const { publishableKey } = inject("stack");
  const json = { publishableKey, creditUrl: "https://app.example/credit" };
  await page.route("**/config.json", (route) => route.fulfill({ json }));
  await openProject(page, (await newFilmOf(person)).projectId);
  const card = stepCard(page, "First frame");
  await card.getByText("about $0.07").waitFor();
  await card.getByLabel("Takes: first frame").selectOption("8 takes");
  await card
    .getByText("8 takes can cost $0.54, and your balance is $0.50. Add credit, or choose fewer takes,")
    .waitFor();
  expect(await card.getByRole("link", { name: "Add credit" }).getAttribute("href")).toBe("https://app.example/credit");
  await expectGoodLooks(page);
  await card.getByRole("button", { name: /^Generate:/ }).click();
  const refusal = card.getByRole("alert").filter({ hasText: "Could not start 8 takes" });
  await refusal.getByText("This start can cost $0.54, and your balance is $0.50. Add credit,").waitFor();
  await refusal.getByRole("link", { name: "Add credit" }).waitFor();
  await page.getByRole("button", { name: "Account and theme" }).click();
  await page.getByRole("menuitem", { name: "This month $0.00, balance $0.50" }).waitFor();
  await expectGoodLooks(page);
  await page.getByRole("menuitem", { name: "This month" }).click();
  await page.getByText("Your balance is $0.50.").waitFor();
});
