import { Buffer } from "node:buffer";
import { createClient } from "@supabase/supabase-js";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { drawImage } from "../support/media/images.ts";
import { runVite, servePage } from "../support/examples/browser-page.ts";
import { promptWith } from "../support/film/film-maker.ts";

// examples/browser-page in a real browser, served as its README says, against the running stack.

const { url, publishableKey } = inject("stack");
const credentials = { email: `page-${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
const ends: (() => Promise<unknown>)[] = [];
const faults: string[] = [];
let page: Page;
let address: string;
beforeAll(async () => {
  const { error } = await createClient(url, publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
  }).auth.signUp(credentials);
  if (error) throw error;
  const served = await servePage();
  ends.push(served.stop);
  address = served.url;
  const browser = await launchBrowser();
  ends.push(() => browser.close());
  page = await browser.newPage();
  page.setDefaultTimeout(25_000);
  page.on("pageerror", ({ message }) => faults.push(message));
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  expect(faults).toEqual([]);
});

const says = (words: string | RegExp) => page.getByRole("status").filter({ hasText: words }).waitFor();

async function signIn(password: string): Promise<void> {
  await page.getByLabel("Supabase URL").fill(url);
  await page.getByLabel("Publishable key").fill(publishableKey);
  await page.getByLabel("E-mail").fill(credentials.email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a wrong password, then the right one → a message, then signed in; a film → both pictures and a video that plays", {
  timeout: 90_000,
}, async () => {
  await page.goto(address);
  await signIn("wrong password");
  await says("Invalid login credentials");
  await signIn(credentials.password);
  await says(`Signed in as ${credentials.email}.`);

  await page.getByLabel("Title").fill("Harbour");
  await page.getByLabel("What the scene looks like").fill(promptWith());
  await page.getByLabel("How it ends").fill("the same harbour at night");
  const file = { name: "look.png", mimeType: "image/png", buffer: Buffer.from(await drawImage()) };
  await page.getByLabel("Reference image").setInputFiles(file);
  await page.getByRole("button", { name: "Make the film" }).click();
  await says("Done.");
  for (const name of ["The first frame", "The last frame"]) {
    const width = () => page.getByAltText(name).evaluate((image) => "naturalWidth" in image && image.naturalWidth);
    await expect.poll(width).toBe(640);
  }
  const video = await page.locator("video").evaluate(async (element: HTMLVideoElement) => {
    await element.play();
    return { duration: element.duration, width: element.videoWidth, paused: element.paused };
  });
  expect(video).toEqual({ duration: expect.closeTo(5, 0), width: 640, paused: false });
});

test("a step that fails → its sentence, no picture, and the form can be sent again", async () => {
  await page.getByLabel("What the scene looks like").fill(promptWith("failed"));
  await page.getByRole("button", { name: "Make the film" }).click();
  await says(/provider|failed/i);
  expect(await page.locator("#results > *").count()).toBe(0);
  await expect.poll(() => page.getByRole("button", { name: "Make the film" }).isEnabled()).toBe(true);
});

test("vite build → plain files with relative addresses, which name no server", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kf-page-" });
  await runVite("build", "examples/browser-page", "--outDir", folder, "--logLevel", "error");
  const html = await Deno.readTextFile(`${folder}/index.html`);
  const [, script = ""] = /<script type="module" crossorigin src="\.\/(assets\/[^"]+\.js)">/.exec(html) ?? [];
  expect((await Deno.stat(`${folder}/${script}`)).size).toBeGreaterThan(50_000);
  await Deno.remove(folder, { recursive: true });
});

test("the page → is under 150 lines together", async () => {
  const read = (name: string) => Deno.readTextFile(new URL(`../../examples/browser-page/${name}`, import.meta.url));
  const lines = (await Promise.all(["index.html", "main.js"].map(read))).join("").split("\n");
  expect(lines.length).toBeLessThan(150);
});
