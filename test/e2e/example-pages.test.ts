import { Buffer } from "node:buffer";
import { createClient } from "@supabase/supabase-js";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freePort } from "../../local/network.ts";
import { PROJECT_ROOT as ROOT } from "../../local/stack/project-root.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { promptWith } from "../support/film/film-maker.ts";
import { drawImage } from "../support/media/images.ts";
import { runProgram } from "../support/tools/run-command.ts";
import { until } from "../support/until.ts";

// examples/vite-react in a real browser, served as its README says, against the running stack.

const VITE = [Deno.execPath(), "run", "-A", `${ROOT}node_modules/vite/bin/vite.js`];
const { dataDir } = inject("stack");
const ends: (() => Promise<unknown>)[] = [];
const faults: string[] = [];
let page: Page;
beforeAll(async () => {
  const browser = await launchBrowser();
  ends.push(() => browser.close());
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", ({ message }) => faults.push(message));
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  expect(faults).toEqual([]);
});

/** Runs a server until the tests end, and opens the page that it serves on a free port. */
async function openServed(...args: string[]): Promise<void> {
  const port = String(freePort());
  const server = runProgram(Deno.execPath(), [...args, "--port", port]);
  ends.push(async () => {
    server.kill("SIGTERM");
    await server.ended;
  });
  const address = `http://127.0.0.1:${port}/`;
  await until("the page is served", async () => {
    const response = await fetch(address).catch(() => null);
    await response?.body?.cancel();
    return response?.ok;
  }); // the starter packs the client first
  await page.goto(address);
}

/** What a program says and complains of. */
async function run(folder: string, [program = "", ...args]: string[], env: Record<string, string> = {}) {
  const { stdout, stderr } = await new Deno.Command(program, { args, cwd: ROOT + folder, env }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** Builds an example, and returns the folder. */
async function build(folder: string, env: Record<string, string> = {}): Promise<string> {
  const out = await Deno.makeTempDir({ prefix: "kf-example-" });
  ends.push(() => Deno.remove(out, { recursive: true }));
  expect(await run(folder, [...VITE, "build", "--outDir", out, "--logLevel", "error"], env)).toBe("");
  return out;
}

const click = (name: string | RegExp) => page.getByRole("button", { name }).click();
const says = (words: string | RegExp) => page.getByRole("status").filter({ hasText: words }).waitFor();

async function fill(fields: Record<string, string>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
}

/** Asks for a film, with a reference image. */
async function makeFilm(fields: Record<string, string>): Promise<void> {
  await fill(fields);
  const file = { name: "look.png", mimeType: "image/png", buffer: Buffer.from(await drawImage()) };
  await page.getByLabel("Reference image").setInputFiles(file);
  await click("Make the film");
}

/** Both frames show, one after the other, and Chromium plays the video: it has moved on from its start. */
async function expectFilm(...frames: string[]): Promise<void> {
  for (const name of frames) await page.getByAltText(name).waitFor();
  const video = page.locator("video");
  await video.waitFor();
  await video.evaluate((element: HTMLVideoElement) => element.play());
  const seconds = () => video.evaluate(({ currentTime, duration }: HTMLVideoElement) => ({ currentTime, duration }));
  const plays = { currentTime: expect.toSatisfy((at) => at > 0), duration: expect.closeTo(5, 0) };
  await expect.poll(seconds).toEqual(plays);
  for (const name of frames) {
    const width = () => page.getByAltText(name).evaluate((image) => "naturalWidth" in image && image.naturalWidth);
    await expect.poll(width).toBe(160);
  }
}

describe("examples/vite-react, the starter, on the packed client", () => {
  const FOLDER = "examples/vite-react";
  const credentials = { Email: `starter-${crypto.randomUUID()}@keyframe.local`, Password: crypto.randomUUID() };

  test("the starter: a wrong password → its message; a new account and a film → both frames and a video that plays", async () => {
    await openServed("run", "-A", "tools/starter.ts", "--data", dataDir);
    await fill(credentials);
    await click("Sign in");
    await page.getByText("Invalid login credentials").waitFor();
    await click("Create account");
    await makeFilm({ "The scene": promptWith(), "How it ends": "the same harbour at night" });
    await expectFilm("First frame", "Last frame");
  });

  test("the starter: a reload → still signed in, with the latest film; signed out → the form; a step that fails → its sentence", async () => {
    await page.reload();
    await expectFilm("First frame", "Last frame");
    const { url, publishableKey } = inject("stack");
    const { auth } = createClient(url, publishableKey, { auth: { persistSession: false, autoRefreshToken: false } });
    await auth.signInWithPassword({ email: credentials.Email, password: credentials.Password });
    await click(/^Sign out/);
    await fill(credentials);
    await click("Sign in");
    expect((await auth.refreshSession()).error).toBeNull(); // as would an agent's of this user
    await fill({ "The scene": promptWith("failed") });
    await click("Make the film");
    await says(/provider|failed/i);
    await page.getByRole("button", { name: "Make the film", disabled: false }).waitFor();
  });

  test("the starter's own type check and build, on the installed package → files without a server's address", async () => {
    expect(await run(FOLDER, [`${ROOT}node_modules/.bin/tsc`])).toBe("");
    const env = { VITE_SUPABASE_URL: "https://abc.supabase.co", VITE_SUPABASE_PUBLISHABLE_KEY: "sb_publishable_a" };
    const html = await Deno.readTextFile(`${await build(FOLDER, env)}/index.html`);
    expect(html).toMatch(/src="\.\/assets\/[^"]+\.js"/);
    expect(html).not.toContain("127.0.0.1");
  });
});
