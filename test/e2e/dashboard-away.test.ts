import type { Locator, Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { expectGoodLooks, type Visit, visitDashboard } from "../support/dashboard/browser.ts";
import {
  become,
  choose,
  filmOf,
  hold,
  loseAnswers,
  newFilm,
  openNewProject,
  openProject,
  shotTitles,
  stepCard,
  untilGenerateIsInWindow,
  untilLoaded,
} from "../support/dashboard/film.ts";
import { newPerson } from "../support/dashboard/person.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();
const API = "**/functions/v1/api/**";

/** In the words of the banner. */
const UNREACHABLE = "Cannot reach the service. Retrying; this page may be out of date.";
const OFFLINE = "You are offline.";

/** Somebody on the page of their projects, of which there is one. */
async function atProjects(): Promise<Visit> {
  const { session, keyframe } = await newPerson();
  await keyframe.projects.create({ title: "Harbour", textPrompt: "A harbour at dawn", description: "" });
  const allow = /Failed to load resource|ERR_FAILED|ERR_INTERNET_DISCONNECTED/;
  const visited = await visit({ session, allow, at: "/#/projects" });
  await visited.page.getByRole("article").getByText("Harbour").first().waitFor();
  return visited;
}

const follow = (page: Page, name: string) => page.getByRole("banner").getByRole("link", { name, exact: true }).click();
const gone = (page: Page, text: string) => page.getByText(text).waitFor({ state: "hidden" });

// test/unit/dashboard/session.test.ts has the failures that count as away.

/**
 * Lets the seconds pass for which a change waits to be read, and reads to be repeated, until this shows. Five times as fast as real ones:
 * a request of the page is given up after thirty.
 */
const untilChangeEnds = (page: Page, shown: Locator) => {
  const passSecond = async () => {
    await page.clock.runFor(1_000);
    return (await shown.count()) > 0;
  };
  return until("the change ends", passSecond, 60_000, 200);
};

const prompt = (page: Page) => page.getByLabel("Prompt", { exact: true });

test("the service does not answer → a banner, and the page's data stay; when it is back, everything goes on by itself", async () => {
  const { page } = await atProjects();
  await page.clock.install();
  await page.route(API, (route) => route.abort());
  await follow(page, "Webhooks");
  await page.getByText(UNREACHABLE).waitFor();
  await follow(page, "Projects");
  await page.getByRole("article").getByText("Harbour").first().waitFor();
  await follow(page, "Webhooks");
  await page.unroute(API);
  await untilChangeEnds(page, page.getByRole("heading", { name: "No endpoints yet" })); // reads are repeated after at most 15 s
  await gone(page, UNREACHABLE);
});

test.each([
  ["projects", "New project", "**/api/projects?*"],
  ["films", "New film", "**/api/films?*"],
])(
  "the list of %s is still loading → no button %s, which an empty list would move from under the pointer",
  async (name, button, path) => {
    const { session } = await newPerson();
    const { page } = await visit({ session });
    const { asked, release } = await hold(page, path);
    await page.goto(`/#/${name}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await asked;
    expect(await page.getByRole("button", { name: button }).count()).toBe(0);
    release();
    await page.getByRole("button", { name: button }).click();
    await page.getByRole("dialog", { name: button }).waitFor();
  },
);

test("a start was carried out but answered 500 → Generate again makes one run before that run's end is shown, and one after", async () => {
  const { person, projectId } = await newFilm();
  const { session, keyframe } = person;
  const { page } = await visit({ session, allow: /Failed to load resource/ });
  await page.clock.install();
  await page.goto(`/#/projects/${projectId}`);
  const card = stepCard(page, "First frame");
  const START = "**/functions/v1/api/projects/generate/first-frame";
  const answer500 = async (route: Route) => {
    expect((await route.fetch()).status()).toBe(202);
    const error = { code: "internal", message: "Something failed here.", requestId: "r" };
    await route.fulfill({ status: 500, json: { success: false, data: null, error } });
  };
  await page.route(START, answer500, { times: 1 });
  await card.getByRole("button", { name: /^Generate:/ }).click();
  await untilChangeEnds(page, card.getByText("Done"));
  const again = card.getByRole("button", { name: "Generate again" });
  await again.click();
  const runs = async () => (await keyframe.predictions.list(projectId, { step: "first-frame" })).predictions.length;
  await until("it runs again", async () => (await runs()) === 2);
  await page.locator("[aria-busy=true]").waitFor({ state: "hidden" });
  await untilChangeEnds(page, card.getByText("Done"));

  await page.route(START, answer500, { times: 1 });
  const read = Promise.withResolvers<void>();
  await page.route(`**/projects/${projectId}`, (route) => read.promise.then(() => route.continue()));
  await again.click();
  await card.getByRole("alert").waitFor();
  await follow(page, "Projects");
  await page.getByRole("article").getByText("Harbour").first().click();
  const started = page.waitForResponse(START);
  await again.click();
  await started;
  read.resolve();
  expect(await runs()).toBe(3);
});

test("the answers to a shot's new position and new titles are lost → the changes are made, and nothing else", async () => {
  const { session, keyframe, filmId, shots } = await filmOf("Day", "Night");
  const { page } = await visit({ session, allow: /Failed to load resource|ERR_FAILED/ });
  const lose = (path: string) => loseAnswers(page, path, "PATCH", [1]);
  const rename = async (name: string, title: string) => {
    await choose(page, name, "Rename");
    await page.getByRole("dialog").getByLabel("Title").fill(title);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await page.goto(`/#/films/${filmId}`);
  await lose("**/films/*");
  await page.getByRole("button", { name: "Move Night up" }).click();
  await page.getByRole("status").getByText("Night is shot 1 of 2.").waitFor({ state: "attached" });
  await lose("**/films/*");
  await rename("Actions for the film", "The sea");
  await page.goto(`/#/projects/${shots[0].projectId}`);
  await lose("**/projects/*");
  await rename("Actions for Day", "Noon");
  const saved = await keyframe.films.read(filmId);
  expect([saved.title, ...saved.shots.map((shot) => shot.title)]).toEqual(["The sea", "Night", "Noon"]);
});

test("a shot's new position has no answer yet → the film shows it; a change that fails is taken back", async () => {
  const { session, filmId } = await filmOf("Day", "Night");
  const { page } = await visit({ session, allow: /status of 500/ });
  await page.clock.install();
  await page.goto(`/#/films/${filmId}`);
  const up = page.getByRole("button", { name: "Move Night up" });
  await up.waitFor();
  const asBefore = Promise.withResolvers<void>();
  await page.route(`**/films/${filmId}`, async (route) => {
    if (route.request().method() === "PATCH") {
      await asBefore.promise;
      await page.getByRole("listitem").first().getByText("Day").waitFor();
      await page.route(`**/films/${filmId}`, (read) =>
        read.request().method() === "GET" ? undefined : read.fallback(),
      );
    }
    await route.fulfill({ response: await route.fetch() });
    asBefore.resolve();
  });
  await up.click();
  await untilChangeEnds(page, page.getByRole("status").getByText("Night is shot 1 of 2."));
  expect(await shotTitles(page)).toEqual(["Night", "Day"]);
  await page.route(`**/films/${filmId}`, (route) => route.fulfill({ status: 500 }), { times: 1 });
  await page.getByRole("button", { name: "Move Day up" }).click();
  await page.getByRole("alert").waitFor();
  expect(await shotTitles(page)).toEqual(["Night", "Day"]);
});

test("an image's URL has expired while the service is away → the image shows when the service is back", async () => {
  const { person, projectId, make } = await newFilm();
  await make("first-frame");
  const { page } = await visit({ session: person.session, allow: /Failed to load resource/ });
  await page.clock.install();
  const held = Promise.withResolvers<Awaited<ReturnType<typeof hold>>>();
  await page.route("**/keyframe-outputs/**", async (route) => {
    held.resolve(await hold(page, `**/projects/${projectId}`));
    await route.fulfill({ status: 400 });
  });
  await page.goto(`/#/projects/${projectId}`);
  const { asked, release } = await held.promise;
  await asked;
  await page.clock.runFor(15_000);
  await page.waitForTimeout(500); // a second failure would be final
  await page.unroute("**/keyframe-outputs/**");
  release();
  await untilLoaded(stepCard(page, "First frame").getByRole("img").first());
});

test("no answer after a text is saved and a step started → text and run show, and nobody starts the step twice", async () => {
  const { person, projectId } = await newFilm();
  const { page } = await visit({ session: person.session, allow: /Failed to load resource|ERR_FAILED/ });
  await page.clock.install();
  await page.goto(`/#/projects/${projectId}`);
  let isAway = false;
  await page.route(API, async (route) => {
    if (isAway) return await route.abort();
    if (!route.request().url().endsWith("/generate/first-frame")) return await route.fallback();
    isAway = true;
    await route.fulfill({ response: await route.fetch() });
  });
  await prompt(page).fill("A harbour at noon");
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Save and generate" }).click();
  await untilChangeEnds(page, page.getByText(UNREACHABLE));
  await untilChangeEnds(page, card.getByRole("button", { name: /^Cancel:/ }));
  const again = card.getByRole("button", { name: "Generate again" });
  await untilChangeEnds(page, again.and(page.locator(":not([aria-busy])")));
  expect(await again.getAttribute("aria-disabled")).toBe("true");
  await gone(page, "Not saved");
  expect(await prompt(page).inputValue()).toBe("A harbour at noon");
  expect(await page.getByRole("alert").allTextContents()).toEqual([UNREACHABLE]);
});

test("offline → a banner, and the page's data stay; online again → no banner, and a page not loaded before opens", async () => {
  const { page, context, watch } = await atProjects();
  watch.allow(/Unable to preload|dynamically imported module/);
  await follow(page, "Webhooks");
  await page.getByRole("heading", { name: "No endpoints yet" }).waitFor();
  await follow(page, "Projects");
  await context.setOffline(true);
  await page.getByText(OFFLINE).waitFor();
  await page.getByRole("article").getByText("Harbour").first().click();
  await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
  await page.getByText(OFFLINE).waitFor();
  await context.setOffline(false);
  await gone(page, OFFLINE);
  await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();
});

test("a database that lacks migrations → a banner that says what to do, without blaming the connection", async () => {
  const message = "The database lacks migrations that this version of the functions needs. Apply them.";
  const { page } = await visit({ session: (await newPerson()).session, allow: /Failed to load resource/ });
  await page.route(API, (route) => {
    const error = { code: "schema_outdated", message, requestId: "r" };
    return route.fulfill({ status: 503, json: { success: false, data: null, error } });
  });
  await page.goto("/#/projects");
  await page.getByRole("status").getByText(message).waitFor();
  expect(await page.getByText("Cannot reach the service").count()).toBe(0);
});

test("two tabs edit one project → the second save and Generate change nothing; the user chooses one text", async () => {
  const { person, projectId, page, watch } = await openNewProject(visit);
  watch.allow(/status of 412/);
  const saved = async () => (await person.keyframe.projects.read(projectId)).textPrompt;
  const warning = page.getByLabel("Changed elsewhere");

  await prompt(page).fill("Mine");
  await person.keyframe.projects.change(projectId, { textPrompt: "Theirs" });
  await stepCard(page, "First frame").getByRole("button", { name: "Save and generate" }).click();
  await warning.waitFor();
  expect(await warning.inputValue()).toBe("Theirs");
  await expectGoodLooks(page);
  await untilGenerateIsInWindow(page);
  expect(await saved()).toBe("Theirs");
  expect((await person.keyframe.projects.read(projectId)).predictions["first-frame"]).toBeNull();
  let saves = 0;
  page.on("request", (request) => {
    if (request.method() === "PATCH") saves++;
  });
  await page.getByRole("button", { name: "Keep my text" }).click();
  await warning.waitFor({ state: "detached" });
  await until("my text", async () => (await saved()) === "Mine");
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(saves).toBe(1);
  await person.keyframe.projects.change(projectId, { textPrompt: "Theirs, later" });
  await page.reload(); // reads it at once
  await until("what I saved gives way", async () => (await prompt(page).inputValue()) === "Theirs, later");

  const description = page.getByLabel("Description", { exact: true });
  await page.getByRole("button", { name: "Description" }).click();
  await description.fill("Mine too");
  await prompt(page).fill("Mine again");
  await person.keyframe.projects.change(projectId, { textPrompt: "Theirs again" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await warning.waitFor();
  await page.getByRole("button", { name: "Use the saved text" }).click();
  await warning.waitFor({ state: "detached" });
  expect([await prompt(page).inputValue(), await description.inputValue()]).toEqual(["Theirs again", "Mine too"]);
  await page.getByRole("button", { name: "Discard" }).click();

  await prompt(page).fill("Mine, and another description");
  await person.keyframe.projects.change(projectId, { title: "Quay", description: "Theirs" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const both = await person.keyframe.projects.read(projectId);
  expect([both.textPrompt, both.description]).toEqual(["Mine, and another description", "Theirs"]);
});

test("a video is started elsewhere → the open page polls and shows it; while it is hidden it does not poll", async () => {
  const { person, projectId, make } = await newFilm();
  await make("first-frame");
  const { page } = await visit({ session: person.session });
  await page.clock.install();
  await openProject(page, projectId);
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

test("a step is generated with an unsaved prompt → saved first and used; a save whose answers are lost → no warning", async () => {
  const { person, projectId, page, watch } = await openNewProject(visit);
  watch.allow(/status of 412|ERR_FAILED/);
  const saves = await loseAnswers(page, `**/projects/${projectId}`, "PATCH", [1, 3, 4]);
  await prompt(page).fill("A new harbour");
  await page.getByText("Not saved").waitFor();
  const card = stepCard(page, "First frame");
  await card.getByRole("button", { name: "Save and generate" }).click();
  await card.getByText("Done").waitFor();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect(saves()).toBe(2);
  const { textPrompt, predictions } = await person.keyframe.projects.read(projectId);
  expect([textPrompt, predictions["first-frame"]?.input.prompt]).toEqual(["A new harbour", "A new harbour"]);
  expect(await page.getByRole("alert").count()).toBe(0);

  await prompt(page).fill("A newer");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await prompt(page).fill("A newer harbour");
  await page.getByText("Could not save").waitFor();
  await page.waitForResponse(`**/projects/${projectId}`); // it is read
  await card.getByRole("button", { name: "Save and generate" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  expect([saves(), (await person.keyframe.projects.read(projectId)).textPrompt]).toEqual([5, "A newer harbour"]);
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("the page is left while a start has no answer, and opened again → still starting, and a click starts nothing more", async () => {
  const { page } = await openNewProject(visit);
  const starts = await hold(page, "**/generate/first-frame");
  const card = stepCard(page, "First frame");
  const generate = card.getByRole("button", { name: /^Generate:/ });
  await generate.click();
  await follow(page, "Projects");
  await page.getByRole("article").getByText("Harbour").first().click();
  await generate.waitFor();
  expect(await generate.getAttribute("aria-busy")).toBe("true");
  await generate.click({ force: true });
  starts.release();
  await card.getByText("Done").waitFor();
  expect(starts.count()).toBe(1);
});
