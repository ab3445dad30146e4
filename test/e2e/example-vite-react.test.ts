import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { freePort } from "../../local/network.ts";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { drawImage } from "../support/media/images.ts";
import { promptWith } from "../support/film/film-maker.ts";
import { until } from "../support/until.ts";

// The starter in a real browser, served by npm run starter, on the packed client and against the running stack.

const ROOT = new URL("../../", import.meta.url).pathname;
const APP = `${ROOT}examples/vite-react`;
const { dataDir } = inject("stack");
const credentials = { email: `starter-${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
const ends: (() => Promise<unknown>)[] = [];
const faults: string[] = [];
let page: Page;

beforeAll(async () => {
  const port = freePort();
  const args = ["run", "-A", "tools/starter.ts", "--data", dataDir, "--port", String(port)];
  const command = { args, cwd: ROOT, stdin: "null", stdout: "null" } as const;
  const starter = new Deno.Command(Deno.execPath(), command).spawn();
  ends.push(async () => {
    starter.kill("SIGTERM");
    await starter.status;
  });
  const url = `http://127.0.0.1:${port}/`;
  await until("the starter serves its page", async () => {
    const response = await fetch(url).catch(() => null);
    await response?.body?.cancel();
    return response?.ok;
  });
  const browser = await launchBrowser();
  ends.push(() => browser.close());
  page = await browser.newPage();
  page.setDefaultTimeout(25_000);
  page.on("pageerror", ({ message }) => faults.push(message));
  await page.goto(url);
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  expect(faults).toEqual([]);
});

const click = (name: string | RegExp) => page.getByRole("button", { name }).click();
const width = (name: string) =>
  page.getByAltText(name).evaluate((image) => "naturalWidth" in image && image.naturalWidth);

/** Chromium plays it, so it has moved on from its start. */
async function expectFilm(): Promise<void> {
  const video = page.locator("video");
  await video.waitFor();
  const seconds = () => video.evaluate(({ currentTime, duration }: HTMLVideoElement) => ({ currentTime, duration }));
  const patience = { timeout: 20_000 };
  await expect
    .poll(seconds, patience)
    .toEqual({ currentTime: expect.toSatisfy((at) => at > 0), duration: expect.closeTo(5, 0) });
  for (const name of ["First frame", "Last frame"]) await expect.poll(() => width(name), patience).toBe(640);
}

test("a wrong password → its message; a new account and a film → both frames and a video that plays", {
  timeout: 90_000,
}, async () => {
  await page.getByLabel("Email").fill(credentials.email);
  await page.getByLabel("Password").fill(credentials.password);
  await click("Sign in");
  await page.getByText("Invalid login credentials").waitFor();
  await click("Create account");

  await page.getByLabel("The scene").fill(promptWith());
  await page.getByLabel("How it ends").fill("the same harbour at night");
  const file = { name: "look.png", mimeType: "image/png", buffer: Buffer.from(await drawImage()) };
  await page.getByLabel("Reference image").setInputFiles(file);
  await click("Make the film");
  await expectFilm();
});

test("a reload → still signed in, the latest film is there; signed out → the form", { timeout: 60_000 }, async () => {
  await page.reload();
  await expectFilm();
  await click(/^Sign out/);
  await page.getByLabel("Password").waitFor();
});

test("a step that fails → its sentence, and the form can be sent again", { timeout: 60_000 }, async () => {
  await page.getByLabel("Email").fill(credentials.email);
  await page.getByLabel("Password").fill(credentials.password);
  await click("Sign in");
  await page.getByLabel("The scene").fill(promptWith("failed"));
  await click("Make the film");
  await page
    .getByRole("status")
    .filter({ hasText: /provider|failed/i })
    .waitFor();
  await page.getByRole("button", { name: "Make the film", disabled: false }).waitFor();
});

test("its own type check and build, on the installed package → files that name no server", {
  timeout: 90_000,
}, async () => {
  const run = async (program: string, ...args: string[]) => {
    const env = { VITE_SUPABASE_URL: "https://abc.supabase.co", VITE_SUPABASE_PUBLISHABLE_KEY: "sb_publishable_a" };
    const { stdout, stderr } = await new Deno.Command(program, { args, cwd: APP, env }).output();
    return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  };
  expect(await run(`${ROOT}node_modules/.bin/tsc`)).toBe("");
  const folder = await Deno.makeTempDir({ prefix: "kf-starter-" });
  ends.push(() => Deno.remove(folder, { recursive: true }));
  const args = ["build", "--outDir", folder, "--logLevel", "error"];
  expect(await run(Deno.execPath(), "run", "-A", `${ROOT}node_modules/vite/bin/vite.js`, ...args)).toBe("");
  const html = await Deno.readTextFile(`${folder}/index.html`);
  expect(html).toMatch(/src="\.\/assets\/[^"]+\.js"/);
  expect(html).not.toContain("127.0.0.1");
});

test("its package.json → every version is exact and the one of this project", async () => {
  const read = async (path: string) => JSON.parse(await Deno.readTextFile(path));
  const starter = await read(`${APP}/package.json`);
  const project = await read(`${ROOT}package.json`);
  const ours = { ...project.devDependencies, ...project.dependencies, "keyframe-client": project.version };
  const all: [string, string][] = Object.entries({ ...starter.dependencies, ...starter.devDependencies });
  expect(all.filter(([name, version]) => ours[name] !== version)).toEqual([]);
});

test("the starter → is under 280 lines of code and styles together", async () => {
  const sources = [...Deno.readDirSync(`${APP}/src`)].map(({ name }) => `src/${name}`);
  const texts = await Promise.all(
    [...sources, "index.html", "vite.config.js"].map((name) => Deno.readTextFile(`${APP}/${name}`)),
  );
  expect(texts.join("").split("\n").length).toBeLessThan(280);
});
