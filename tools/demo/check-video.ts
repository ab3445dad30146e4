import type { Prediction } from "../../shared/contract/predictions.ts";
import { launchBrowser } from "./browser.ts";

/** Two pictures of one scene differ by less than this (H.264 is lossy), those of two scenes by more. */
const SAME = 0.06;

/**
 * Decodes the video in a browser: size and duration as in the API, first picture = first frame, last picture = last
 * frame.
 */
export async function checkVideo(
  file: Uint8Array,
  first: Uint8Array,
  last: Uint8Array,
  { output }: Prediction,
  signal?: AbortSignal,
): Promise<string> {
  const seen = await compareVideo(file, first, last, signal);
  if (seen.width !== output?.width || seen.height !== output.height) {
    throw new Error(`The video is ${seen.width} × ${seen.height}, not ${output?.width} × ${output?.height}.`);
  }
  if (Math.abs(seen.durationSeconds - (output.durationSeconds ?? 0)) > 0.1) {
    throw new Error(`The video takes ${seen.durationSeconds} s, not ${output.durationSeconds} s.`);
  }
  if (seen.startToFirst > SAME || seen.startToFirst >= seen.startToLast) {
    throw new Error(`The video does not begin with the first frame (difference ${seen.startToFirst.toFixed(3)}).`);
  }
  if (seen.endToLast > SAME || seen.endToLast >= seen.endToFirst) {
    throw new Error(`The video does not end with the last frame (difference ${seen.endToLast.toFixed(3)}).`);
  }
  return `${seen.durationSeconds.toFixed(1)} s, begins with its first frame, ends with its last`;
}

/**
 * A video as a browser decodes it: size, duration, and the difference of its ends from two images (0 same, 1
 * opposite).
 */
type VideoLook = {
  width: number;
  height: number;
  durationSeconds: number;
  startToFirst: number;
  startToLast: number;
  endToFirst: number;
  endToLast: number;
};

/**
 * Decodes a video in a browser and compares its first and last picture with the two frames, on a 64 × 36 grid of colours.
 * Rejects when `signal` is aborted; the browser is closed either way.
 */
async function compareVideo(
  video: Uint8Array,
  first: Uint8Array,
  last: Uint8Array,
  signal?: AbortSignal,
): Promise<VideoLook> {
  const browser = await launchBrowser();
  let closed: Promise<void> | undefined;
  // A second close() would not wait until the browser's files are removed.
  const close = () => (closed ??= browser.close());
  try {
    signal?.throwIfAborted();
    signal?.addEventListener("abort", close);
    const page = await browser.newPage();
    return await page.evaluate(look, { video: video.toBase64(), first: first.toBase64(), last: last.toBase64() });
  } finally {
    signal?.removeEventListener("abort", close);
    await close();
  }
}

/** Runs inside the page, so it must not use anything outside itself. */
async function look(files: { video: string; first: string; last: string }): Promise<VideoLook> {
  const address = async (data: string, type: string) =>
    URL.createObjectURL(await (await fetch(`data:${type};base64,${data}`)).blob());
  const picture = (source: CanvasImageSource): Uint8ClampedArray => {
    const canvas = document.createElement("canvas");
    canvas.width = 64;
    canvas.height = 36;
    const context = canvas.getContext("2d");
    if (!context) throw new Error("no canvas");
    context.imageSmoothingQuality = "high";
    context.drawImage(source, 0, 0, 64, 36);
    return context.getImageData(0, 0, 64, 36).data;
  };
  const distance = (one: Uint8ClampedArray, other: Uint8ClampedArray) =>
    one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0) / one.length / 255;
  const image = async (data: string) => {
    const element = new Image();
    element.src = await address(data, "image/png");
    await element.decode();
    return picture(element);
  };
  const video = document.createElement("video");
  video.muted = true;
  video.preload = "auto";
  document.body.append(video);
  const event = (name: string) =>
    new Promise<void>((resolve, reject) => {
      video.addEventListener(name, () => resolve(), { once: true });
      video.addEventListener("error", () => reject(new Error(`The video does not decode: ${video.error?.message}`)), {
        once: true,
      });
    });
  const loaded = event("loadeddata");
  video.src = await address(files.video, "video/mp4");
  await loaded;
  const [first, last] = [await image(files.first), await image(files.last)];
  const start = picture(video);
  // Played to its end, because a headless browser draws no new picture for a seek.
  const ended = event("ended");
  video.playbackRate = 8;
  await video.play();
  await ended;
  const end = picture(video);
  return {
    width: video.videoWidth,
    height: video.videoHeight,
    durationSeconds: video.duration,
    startToFirst: distance(start, first),
    startToLast: distance(start, last),
    endToFirst: distance(end, first),
    endToLast: distance(end, last),
  };
}
