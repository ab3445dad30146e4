import { Buffer } from "node:buffer";
import * as media from "mediabunny";
import type { Page, Request, Route } from "playwright-core";
import { expect, inject, test } from "vitest";
import { type KeyframeClient, mustSucceed } from "../../client/index.ts";
import { createMp4Reader } from "../../shared/media/mp4-reader.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { expectGoodLooks, primaries, visitDashboard } from "../support/dashboard/browser.ts";
import {
  choose,
  createShot,
  filmOf,
  newFilm,
  photoFile,
  runStep,
  shotTitles,
  stepCard,
  untilFocused,
  untilLoaded,
  untilPlays,
  untilShows,
} from "../support/dashboard/film.ts";
import { fillCredentials, newPerson } from "../support/dashboard/person.ts";
import { readClip } from "../support/media/clips.ts";
import { until } from "../support/until.ts";

const visit = visitDashboard();

test("sign up, project, reference image, three steps → the video plays; another user sees none of it", async () => {
  const { page } = await visit({ at: "/#/sign-up" });
  const email = `film-${crypto.randomUUID()}@keyframe.local`;
  await fillCredentials(page, { email, password: "a long enough password" }, "Create account");

  await page.getByRole("button", { name: "New project" }).click();
  const form = page.getByRole("dialog", { name: "New project" });
  await form.getByLabel("Title").fill("Harbour");
  await form.getByLabel("Prompt").fill("A harbour at dawn, fog, one red boat");
  await form.getByRole("button", { name: "Create project" }).click();
  await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();

  const video = stepCard(page, "Video");
  await video.getByText("Generate the first frame first.").waitFor();
  await page.locator("input[type=file]").setInputFiles(photoFile(email));
  await page.getByRole("button", { name: "Replace" }).waitFor();

  await runStep(page, "First frame");
  await runStep(page, "Last frame");
  await runStep(page, "Video");
  const player = video.locator("video");
  await player.evaluate(async (element: HTMLVideoElement) => {
    element.muted = true;
    await element.play();
  });
  await untilPlays(player);

  const downloading = page.waitForEvent("download");
  await video.getByRole("button", { name: "Download the video" }).click();
  expect((await downloading).suggestedFilename()).toMatch(/\.mp4$/);

  await page.getByRole("link", { name: "Projects", exact: true }).first().click();
  const card = page.getByRole("article").filter({ hasText: "Harbour" });
  await untilLoaded(card.locator("img").first());
  await card.getByRole("link", { name: "Harbour" }).click();
  await page.getByRole("heading", { level: 1, name: "Harbour" }).waitFor();

  const { session } = await newPerson();
  const { page: other } = await visit({ session, allow: /status of 404/, at: page.url() });
  await other.getByRole("heading", { name: "Project not found" }).waitFor();
  await other.getByRole("link", { name: "Go to projects", exact: true }).click();
  await other.getByRole("heading", { name: "No projects yet" }).waitFor();
});

test("a film → the next shot from the last frame, plays; shots are moved, dragged, removed, added; film deleted, shots stay", async () => {
  const { session, keyframe } = await newPerson();
  const { page, watch } = await visit({ session, at: "/#/films" });
  await page.getByRole("button", { name: "New film" }).click();
  await page.getByRole("dialog", { name: "New film" }).getByLabel("Title").fill("The pier");
  await page.getByRole("button", { name: "Create film" }).click();
  await page.getByRole("heading", { level: 1, name: "The pier" }).waitFor();

  await page.getByRole("button", { name: "New shot" }).click();
  await createShot(page, "The boat leaves");
  await page.getByRole("link", { name: "The boat leaves" }).click();
  await runStep(page, "First frame");
  await runStep(page, "Last frame");
  const next = page.getByRole("button", { name: "New shot after this" });
  await next.press("Enter");
  const shot = page.getByRole("dialog", { name: "New shot" });
  await shot.getByLabel("Title").fill("Not wanted");
  await page.keyboard.press("Escape");
  await untilFocused(next);
  await next.click();
  expect(await shot.getByLabel("Title").inputValue()).toBe("Not wanted");
  await shot.getByRole("button", { name: "Cancel" }).click();
  await next.click();
  expect(await shot.getByLabel("Title").inputValue()).toBe("");
  await createShot(page, "Open sea");
  await page.getByRole("heading", { level: 1, name: "Open sea" }).waitFor();
  await stepCard(page, "Video").getByAltText("Chosen first frame").waitFor();
  expect(await primaries(page)).toEqual(["Generate"]); // the video's: it needs no first frame of its own
  expect(await stepCard(page, "Video").locator("button[data-variant=filled]").count()).toBe(1);
  await runStep(page, "Video");

  const [film] = (await keyframe.films.list()).films;
  const { shots } = await keyframe.films.read(film?.filmId ?? "");
  expect(shots.map(({ title }) => title)).toEqual(["The boat leaves", "Open sea"]);
  expect(shots[1]?.takes.video?.input.firstFramePredictionId).toBe(shots[0]?.takes["last-frame"]?.predictionId);

  await page.getByRole("link", { name: "The pier", exact: true }).click();
  const savedTitles = async () => {
    const { shots: saved } = await keyframe.films.read(film?.filmId ?? "");
    return saved.map(({ title }) => title).join();
  };
  const row = (title: string) => page.getByRole("listitem").filter({ hasText: title });
  await row("The boat leaves").getByText("No video yet").waitFor();
  await row("Open sea").getByAltText("First frame of Open sea").waitFor();
  await page.getByLabel("Shot 2: Open sea").waitFor();
  await page.getByRole("button", { name: "Actions for the film" }).press("Enter");
  await page.getByRole("menuitem", { name: "Add an existing shot" }).waitFor();
  await expectGoodLooks(page);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Download" }).press("Enter");
  const missing = "This is a rough cut. Left out, because they have no video yet: shot 1, “The boat leaves”.";
  await page.getByRole("dialog", { name: "Download film" }).getByText(missing).waitFor();
  await expectGoodLooks(page);
  await page.getByRole("button", { name: "Cancel" }).press("Enter");

  const up = page.getByRole("button", { name: "Move Open sea up" });
  await up.focus();
  await page.keyboard.press("Enter");
  await until("the order is shown", async () => (await shotTitles(page)).join() === "Open sea,The boat leaves");
  await page.getByRole("status").getByText("Open sea is shot 1 of 2.").waitFor({ state: "attached" });
  expect(await savedTitles()).toBe("Open sea,The boat leaves");
  expect(await up.evaluate((it) => it === document.activeElement)).toBe(true);

  const drag = async (from: string, to: string) => {
    const handle = row(from).getByTitle("Drag to move");
    await handle.hover();
    await page.mouse.down();
    const { y = 0, height = 0 } = (await row(to).boundingBox()) ?? {};
    await page.mouse.move(640, y + height / 2, { steps: 4 });
    await page.mouse.up();
  };
  await drag("Open sea", "The boat leaves");
  await until("the order is saved", async () => (await savedTitles()) === "The boat leaves,Open sea");
  expect((await shotTitles(page)).join()).toBe("The boat leaves,Open sea");
  await page.getByRole("status").getByText("Open sea is shot 2 of 2.").waitFor({ state: "attached" });
  const changedElsewhere = async (route: Route) => {
    if (route.request().method() !== "PATCH") return route.fallback();
    await keyframe.films.change(film?.filmId ?? "", { title: "The long pier" });
    await route.continue();
    await page.unroute("**/films/*", changedElsewhere);
  };
  await page.route("**/films/*", changedElsewhere);
  watch.allow(/status of 412/);
  await drag("Open sea", "The boat leaves");
  await page.getByRole("alert").getByText("It was changed elsewhere.").waitFor();
  await page.getByRole("heading", { level: 1, name: "The long pier" }).waitFor();
  expect((await shotTitles(page)).join()).toBe("The boat leaves,Open sea");

  await choose(page, "Actions for the film", "Rename");
  await page.getByRole("dialog", { name: "Rename film" }).getByLabel("Title").fill("The sea");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "The sea" }).waitFor();

  const setFilm = async (title: string, action: string, choice: string) => {
    await choose(page, `Actions for ${title}`, action);
    const choosing = page.getByRole("dialog", { name: /^Film of this (shot|project)$/ });
    await choosing.getByRole("option", { name: "The sea" }).waitFor({ state: "attached" }); // the films are read
    await choosing.getByLabel("Film").selectOption(choice);
    await expectGoodLooks(page);
    await choosing.getByRole("button", { name: "Save" }).press("Enter");
    await choosing.waitFor({ state: "detached" });
  };
  await setFilm("Open sea", "Move or remove from film", "None");
  await row("Open sea").waitFor({ state: "detached" });
  expect(await savedTitles()).toBe("The boat leaves");
  await page.goto("/#/projects");
  await setFilm("Open sea", "Add to a film", "The sea");
  expect(await savedTitles()).toBe("The boat leaves,Open sea");

  await page.goto(`/#/films/${film?.filmId}`);
  await choose(page, "Actions for the film", "Delete");
  await page.getByText("Keep film").waitFor();
  await expectGoodLooks(page);
  await page.getByRole("dialog").getByText("You can undo it for ten seconds.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Delete film" }).click();
  await page.getByRole("heading", { name: "No films yet" }).waitFor();
  await page.goto("about:blank"); // it is deleted then
  await until("its shots are in no film", async () =>
    (await keyframe.projects.list()).projects.every(({ filmId }) => filmId === null),
  );
  expect((await keyframe.projects.list()).projects.length).toBe(2);
});

test("a shot is clicked → the film plays from there; a complete film offers its download first; the list has thumbnails", async () => {
  const {
    session,
    filmId,
    shots: [boat, sea],
    make,
  } = await filmOf("The boat leaves", "Open sea");
  const first = await make("first-frame", boat);
  await make("last-frame", boat);
  const one = await make("video", boat);
  const { page } = await visit({ session, at: `/#/films/${filmId}` });
  await page.getByText("Shot 1 of 2: The boat leaves").waitFor();
  expect(await page.getByLabel("Shot 1: The boat leaves").getAttribute("poster")).toContain(first.predictionId);
  expect(await primaries(page)).toEqual(["New shot"]);
  const other = await make("video", sea, { firstFramePredictionId: first.predictionId });
  await page.reload();
  await page.getByRole("button", { name: "Play from Open sea" }).click();
  const player = page.getByLabel("Shot 2: Open sea");
  await untilPlays(player);
  const [before = 0, after = 0] = [one.output.durationSeconds, other.output.durationSeconds];
  await page.getByText(new RegExp(`^0:0[${Math.floor(before)}-9] / 0:${Math.floor(before + after)}$`)).waitFor();
  await player.evaluate((video: HTMLVideoElement) => video.pause());
  expect(await primaries(page)).toEqual(["Download"]);
  await expectGoodLooks(page);

  await page.getByRole("link", { name: "Films", exact: true }).first().click();
  const listed = page.getByRole("article").filter({ hasText: "The pier" });
  await untilShows(listed.locator("img").first(), first);
  expect(await listed.locator("img, video").count()).toBe(2);
  await expectGoodLooks(page);
});

/** Adds a shot with its video to a film. */
async function addShot(keyframe: KeyframeClient, filmId: string, title: string, audio: boolean, look: object = {}) {
  const { projectId } = await keyframe.projects.create({ title, textPrompt: title, filmId, ...look });
  await keyframe.waitFor(await keyframe.generate("first-frame", { projectId }));
  const { output } = await keyframe.waitFor(await keyframe.generate("video", { projectId, audio }));
  expect(output?.hasAudio).toBe(audio);
  return { output, file: Buffer.from(await (await fetch(output?.url ?? "")).arrayBuffer()) };
}

/** The encoded pictures of a video. */
async function* pictures(file: Buffer) {
  const input = new media.Input({ formats: [media.MP4], source: new media.BufferSource(new Uint8Array(file)) });
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw new Error("The file has no video.");
  yield* new media.EncodedPacketSink(track).packets();
}

/** What a browser and our own reader find in an MP4. */
async function readFilm(page: Page, file: Buffer) {
  const reader = createMp4Reader();
  reader.push(new Uint8Array(file));
  const { width, height, hasAudio } = reader.end();
  const lengths = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const video = document.createElement("video");
    const at = (event: string) => new Promise<unknown>((found) => video.addEventListener(event, found, { once: true }));
    const loaded = at("loadeddata");
    video.src = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
    await loaded;
    const { duration } = video;
    const sought = at("seeked");
    video.currentTime = duration - 0.1;
    await sought;
    const sound = await new OfflineAudioContext(2, 1, 48_000).decodeAudioData(bytes.buffer);
    return { duration, sound: sound.duration };
  }, file.toString("base64"));
  return { width, height, hasAudio, ...lengths };
}

test("a film of videos → plays in order and downloads as one MP4 in sync; canceled → nothing is left; a gap is named", async () => {
  const { session, keyframe } = await newPerson();
  const { filmId } = await keyframe.films.create({ title: "Day & night" });
  const day = await addShot(keyframe, filmId, "Day", false);
  const night = await addShot(keyframe, filmId, "Night", true);
  const noon = await addShot(keyframe, filmId, "Noon", false);
  const { page, watch } = await visit({ session });
  // The browser's own window, which no test can answer: a file of the page takes the place of the chosen one.
  await page.addInitScript(`let chosen = 0;
    showSaveFilePicker = async ({ suggestedName }) =>
      (await navigator.storage.getDirectory()).getFileHandle(++chosen + suggestedName, { create: true });`);
  const fetched: string[] = [];
  const finished: string[] = [];
  const note = (list: string[]) => (request: Request) => {
    if (request.resourceType() === "fetch" && request.url().includes(".mp4")) list.push(request.url());
  };
  page.on("request", note(fetched));
  page.on("requestfinished", note(finished));
  await page.goto(`/#/films/${filmId}`);
  await page.getByText("Shot 1 of 3: Day").waitFor();
  await page.getByLabel("Shot 1: Day").evaluate(async (element: HTMLVideoElement) => {
    element.muted = true;
    element.focus();
    await element.requestFullscreen();
    await element.play();
    element.currentTime = element.duration - 0.2;
  });
  await page.getByText("Shot 2 of 3: Night").waitFor();
  const second = page.getByLabel("Shot 2: Night");
  await untilPlays(second);
  expect(await second.evaluate((one) => [document.fullscreenElement === one, document.activeElement === one])).toEqual([
    true,
    true,
  ]);
  await page.evaluate(() => document.exitFullscreen());

  const form = page.getByRole("dialog", { name: "Download film" });
  const open = () => page.getByRole("button", { name: "Download" }).click();
  await open();
  const start = () => form.getByRole("button", { name: "Download" }).click();
  const files = () => page.evaluate(async () => await Array.fromAsync((await navigator.storage.getDirectory()).keys()));
  const nightPath = new URL(night.output?.url ?? "").pathname;
  const nightAddress = `**${nightPath}*`;
  watch.allow(/status of 404/);
  await page.route(nightAddress, (route) => route.fulfill({ status: 404 }), { times: 1 });
  await start();
  const refused =
    "Could not download shot 2, “Night”: Storage answered with status 404. Try again: the others are kept.";
  await form.getByRole("alert").getByText(refused, { exact: true }).waitFor();
  await expectGoodLooks(page);
  expect(await form.getByRole("alert").evaluate((alert) => alert.scrollWidth - alert.clientWidth)).toBe(0);
  await until("the other two are there", () => finished.filter((one) => !one.includes(nightPath)).length === 2);
  const held = Promise.withResolvers<Route>();
  await page.route(nightAddress, held.resolve, { times: 1 });
  await start();
  await held.promise;
  await form.getByText("Downloading shot 3 of 3").waitFor();
  await form.getByRole("progressbar", { name: "Progress of the film" }).waitFor();
  expect(fetched.length).toBe(4); // the other two are kept
  await form.getByRole("button", { name: "Cancel" }).click();
  await until("nothing is left", async () => (await files()).length === 0);

  await open();
  await start();
  await form.getByText("“Day & night.mp4” is saved.").waitFor();
  const [name = ""] = await files();
  const letters = await page.evaluate(async (of) => {
    const file = await (await navigator.storage.getDirectory()).getFileHandle(of);
    const bytes = new Uint8Array(await (await file.getFile()).arrayBuffer());
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  }, name);
  const film = Buffer.from(letters, "latin1");
  const seconds = [day, night, noon].reduce((sum, { output }) => sum + (output?.durationSeconds ?? 0), 0);
  const { width, height } = Object(day.output);
  const near = expect.closeTo(seconds, 1);
  expect(await readFilm(page, film)).toEqual({ width, height, hasAudio: true, duration: near, sound: near });
  // Copied picture by picture; where silence stands between two of them depends on the browser's time.
  for await (const { data } of pictures(noon.file)) expect(film.includes(data)).toBe(true);

  await page.route(`**${new URL(day.output?.url ?? "").pathname}*`, (route) => route.fulfill({ status: 404 }));
  await page.clock.install();
  await page.reload();
  await page.getByText("Could not load the file.").waitFor();
  const { projectIds } = await keyframe.films.read(filmId);
  await keyframe.films.change(filmId, { projectIds: projectIds.slice(1) });
  await page.clock.fastForward(10_000); // the page reads the film again
  await page.getByLabel("Shot 1: Night").waitFor();
});

test("a shot whose model made a GIF → shown in order but not joined: a message names it, and the zip has it", async () => {
  const { session, keyframe } = await newPerson();
  const { filmId } = await keyframe.films.create({ title: "Birds" });
  const bytes = Buffer.from(readClip("moving.gif"));
  await fetch(`${inject("stack").simulatorUrl}/control/files/moving.gif`, { method: "PUT", body: bytes });
  const { projectId } = await keyframe.projects.create({ title: "Gull", textPrompt: "A gull", filmId });
  mustSucceed(await keyframe.waitFor(await keyframe.generate("first-frame", { projectId })));
  const prompt = uniquePrompt("[[fault:output_file=moving.gif]]");
  mustSucceed(await keyframe.waitFor(await keyframe.generate("video", { projectId, prompt })));
  await addShot(keyframe, filmId, "Tern", false);
  const { page } = await visit({ session });
  await page.addInitScript("showSaveFilePicker = undefined;");
  await page.clock.install();
  await page.goto(`/#/films/${filmId}`);
  const gull = page.getByRole("img", { name: "Shot 1: Gull" });
  await until("the GIF is shown", () => gull.evaluate((image: HTMLImageElement) => image.naturalWidth === 320));
  await page.getByRole("button", { name: "Play from Gull" }).click();
  const tern = page.getByLabel("Shot 2: Tern");
  await until("four seconds have passed", async () => {
    await page.clock.fastForward(1_000);
    return (await tern.count()) === 1;
  });
  await until("the next shot plays", () => tern.evaluate((video: HTMLVideoElement) => !video.paused));

  const form = page.getByRole("dialog", { name: "Download film" });
  await page.getByRole("button", { name: "Download" }).click();
  await form.getByRole("button", { name: "Download" }).click();
  await form.getByText("shot 1, “Gull”, is not a video that it can read").waitFor();
  await form.getByLabel("A zip of the shots").check();
  const downloading = page.waitForEvent("download");
  await form.getByRole("button", { name: "Download" }).click();
  expect(Buffer.from(await Deno.readFile(await (await downloading).path())).includes(bytes)).toBe(true);
});

test("shots of different sizes → one MP4 in the first one's size, or a zip with ffmpeg's list; touch drags a shot", async () => {
  const { session, keyframe } = await newPerson();
  const { filmId } = await keyframe.films.create({ title: "Sizes" });
  const wide = await addShot(keyframe, filmId, "It's wide: 16/9", true);
  const tall = await addShot(keyframe, filmId, "Tall", false, { aspectRatio: "9:16" });
  const { page, context } = await visit({ session, isPhone: true });
  await page.addInitScript("showSaveFilePicker = undefined;");
  await page.goto(`/#/films/${filmId}`);
  const form = page.getByRole("dialog", { name: "Download film" });
  const download = async (format: string) => {
    await page.getByRole("button", { name: "Download" }).click();
    await form.getByLabel(format).check();
    const downloading = page.waitForEvent("download");
    await form.getByRole("button", { name: "Download" }).click();
    const { suggestedFilename, path } = await downloading.then((one) => ({
      suggestedFilename: one.suggestedFilename(),
      path: one.path(),
    }));
    await form.getByRole("button", { name: "Done" }).click();
    await form.waitFor({ state: "detached" });
    return { name: suggestedFilename, bytes: Buffer.from(await Deno.readFile(await path)) };
  };
  const joined = await download("One MP4");
  expect(joined.name).toBe("Sizes.mp4");
  const near = expect.closeTo((wide.output?.durationSeconds ?? 0) + (tall.output?.durationSeconds ?? 0), 1);
  const { width, height } = Object(wide.output);
  expect(await readFilm(page, joined.bytes)).toEqual({ width, height, hasAudio: true, duration: near, sound: near });

  const zip = await download("A zip of the shots");
  expect(zip.name).toBe("Sizes.zip");
  expect([wide, tall].map(({ file }) => zip.bytes.includes(file))).toEqual([true, true]);
  expect(zip.bytes.includes("file '01-It s wide 16 9.mp4'\nfile '02-Tall.mp4'\n")).toBe(true);
  expect(zip.bytes.includes('ffmpeg -i "01-It s wide 16 9.mp4" -i "02-Tall.mp4" -filter_complex')).toBe(true);

  const handle = page.getByTitle("Drag to move").last();
  await handle.scrollIntoViewIfNeeded();
  const { x = 0, y = 0 } = (await handle.boundingBox()) ?? {};
  const touch = await context.newCDPSession(page);
  const finger = (type: "touchStart" | "touchMove" | "touchEnd", ...touchPoints: { x: number; y: number }[]) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints });
  await finger("touchStart", { x: x + 9, y: y + 9 });
  for (const by of [20, 60, 120]) await finger("touchMove", { x: x + 9, y: y + 9 - by });
  await finger("touchEnd");
  await until("the order is saved", async () => {
    const { shots } = await keyframe.films.read(filmId);
    return shots[0]?.title === "Tall";
  });
});

test("a film is shared → plays on a phone without an account; revoked → the link no longer shows anything", async () => {
  const { person, projectId, make } = await newFilm();
  const { keyframe } = person;
  const { filmId } = await keyframe.films.create({ title: "The pier" });
  const later = await keyframe.projects.create({ title: "Open sea", textPrompt: "A secret prompt" });
  await keyframe.films.change(filmId, { projectIds: [projectId, later.projectId] });
  await make("first-frame");
  await make("video");
  const { page } = await visit({ session: person.session, at: `/#/films/${filmId}` });
  await choose(page, "Actions for the film", "Share");
  const window = page.getByRole("dialog", { name: "Share film" });
  await window.getByLabel("Link expires").selectOption({ label: "After 7 days" });
  await expectGoodLooks(page);
  await window.getByRole("button", { name: "Create link" }).click();
  const link = (await window.locator("pre").textContent()) ?? "";
  expect(link).toMatch(/#\/shared\/[\w-]{43}$/);
  await window.getByRole("button", { name: "Copy link" }).waitFor();
  await expectGoodLooks(page);
  await window.getByRole("button", { name: "Done" }).click();

  const { page: phone, watch } = await visit({ isPhone: true, at: link });
  await phone.getByRole("heading", { level: 1, name: "The pier" }).waitFor();
  await phone.getByText("2. Open sea · No video yet").waitFor();
  await expectGoodLooks(phone);
  await phone.getByRole("button", { name: "1. Harbour" }).tap();
  const player = phone.getByLabel("Shot 1: Harbour");
  await untilPlays(player);
  expect(await phone.locator("body").textContent()).not.toMatch(/secret prompt|Sign in/);

  await choose(page, "Actions for the film", "Share");
  await window.getByText(/^Created .*, expires in/).waitFor();
  await window.getByRole("button", { name: "Revoke" }).click();
  await window.getByRole("listitem").waitFor({ state: "detached" });
  watch.allow(/status of 404/);
  await phone.reload();
  await phone.getByRole("heading", { name: "This link does not work" }).waitFor();
  await expectGoodLooks(phone);
});
