import { launchBrowser } from "./browser.ts";

/** What a real browser sees in a video: its size, its duration, and how far its ends are from two images (0 same, 1 opposite). */
export type VideoLook = {
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
export async function compareVideo(
  video: Uint8Array,
  first: Uint8Array,
  last: Uint8Array,
  signal?: AbortSignal,
): Promise<VideoLook> {
  const browser = await launchBrowser();
  let closed: Promise<void> | undefined;
  // Asked a second time, it would not wait until the browser's files are gone.
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

/** Runs inside the page, so everything it needs is inside it. */
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
