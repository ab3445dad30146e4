import { Buffer } from "node:buffer";
import { createCanvas, GifEncoder, type Image, loadImage } from "@napi-rs/canvas";
import type { Session } from "@supabase/supabase-js";
import type { Browser, Page } from "playwright-core";
import { keptSession } from "../demo/browser.ts";
import { pause } from "../../shared/platform/retry.ts";

type Options = { browser: Browser; url: string; session: Session; path: string };

const WIDTH = 640;
const FRAME_MS = 250;
/** The most frames of one step. */
const MAX_FRAMES = 120;
/** How long the finished film plays, and how long the last frame stays. */
const PLAYED_FRAMES = 12;
const LAST_FRAME_MS = 2500;

/** Makes a film in the studio as a person does, until it plays. Returns a GIF: GitHub shows no video in a README. */
export async function animate({ browser, url, session, path }: Options): Promise<Uint8Array> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    storageState: keptSession(url, session),
    locale: "en-GB",
  });
  try {
    const page = await context.newPage();
    await page.goto(`${url}/#${path}`);
    await page.locator("[aria-label=Steps]").waitFor();
    const frames: Buffer[] = [];
    for (const name of ["First frame", "Last frame", "Video"]) {
      const card = page.getByRole("article", { name, exact: true });
      await card.getByRole("button", { name: /^Generate:/ }).click();
      const isDone = () => card.getByText("Done").isVisible();
      for (let left = MAX_FRAMES; !(await isDone()); left--) {
        if (left === 0) throw new Error(`${name} did not succeed in time.`);
        await shoot(page, frames);
      }
    }
    await page.locator("video").evaluate(async (video: HTMLVideoElement) => {
      video.muted = true;
      await video.play();
    });
    for (let left = PLAYED_FRAMES; left > 0; left--) await shoot(page, frames);
    return await encode(frames);
  } finally {
    await context.close();
  }
}

/** Takes one frame, and waits until the next one is due. */
async function shoot(page: Page, frames: Buffer[]): Promise<void> {
  const [frame] = await Promise.all([page.locator("[aria-label=Steps]").screenshot(), pause(FRAME_MS)]);
  frames.push(frame);
}

/** A frame that equals the previous one prolongs it. */
async function encode(frames: Buffer[]): Promise<Uint8Array> {
  const kept: { frame: Buffer; ms: number }[] = [];
  for (const frame of frames) {
    const last = kept.at(-1);
    if (last && Buffer.compare(last.frame, frame) === 0) last.ms += FRAME_MS;
    else kept.push({ frame, ms: FRAME_MS });
  }
  const images = await Promise.all(kept.map(({ frame }) => loadImage(frame)));
  const height = Math.round(Math.max(...images.map((image) => (image.height * WIDTH) / image.width)));
  using encoder = new GifEncoder(WIDTH, height, { repeat: 0 });
  for (const [index, image] of images.entries()) {
    const delay = index === images.length - 1 ? LAST_FRAME_MS : (kept[index]?.ms ?? FRAME_MS);
    encoder.addFrame(pixelsOf(image, height), WIDTH, height, { delay });
  }
  return encoder.finish();
}

function pixelsOf(image: Image, height: number): Uint8Array {
  const canvas = createCanvas(WIDTH, height);
  const ctx = canvas.getContext("2d");
  ctx.fillStyle = "white";
  ctx.fillRect(0, 0, WIDTH, height);
  ctx.drawImage(image, 0, 0, WIDTH, (image.height * WIDTH) / image.width);
  return new Uint8Array(ctx.getImageData(0, 0, WIDTH, height).data);
}
