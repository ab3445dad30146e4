/// <reference lib="webworker" />
import { createCanvas, loadImage } from "@napi-rs/canvas";
import h264 from "h264-mp4-encoder";
import { drawFrame } from "./draw-frame.ts";
import type { FilmJob, FromWorker, ToWorker } from "./messages.ts";

/** Frames between two looks at the message queue: often enough to cancel soon, seldom enough not to slow the encoder. */
const breath = 4;

const canceled = new Set<number>();
// The DOM's `self` is a Window; here it is a worker's scope, of which only these two are needed.
const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};

scope.onmessage = ({ data }) => {
  if (data.type === "cancel") {
    canceled.add(data.job);
    return;
  }
  const { job } = data.film;
  encode(data.film)
    .then((mp4) => mp4 && scope.postMessage({ type: "done", job, mp4 }, [mp4.buffer]))
    .catch((error: unknown) => scope.postMessage({ type: "failed", job, error: String(error) }))
    .finally(() => canceled.delete(job));
};

/** Draws and encodes a film; null when it was canceled meanwhile. */
async function encode({ job, plan, first, last }: FilmJob): Promise<Uint8Array<ArrayBuffer> | null> {
  const firstImage = await loadImage(first);
  const lastImage = last ? await loadImage(last) : null;
  const canvas = createCanvas(plan.width, plan.height);
  const ctx = canvas.getContext("2d");
  const encoder = await h264.createH264MP4Encoder();
  // All encoders share one in-memory file system; the name keeps them apart.
  encoder.outputFilename = `${job}.mp4`;
  try {
    encoder.width = plan.width;
    encoder.height = plan.height;
    encoder.frameRate = plan.fps;
    encoder.speed = 7;
    encoder.quantizationParameter = 24;
    encoder.groupOfPictures = 12;
    encoder.initialize();
    for (let frame = 0; frame < plan.frames; frame++) {
      drawFrame(ctx, plan, firstImage, lastImage, frame / (plan.frames - 1));
      encoder.addFrameRgba(canvas.data());
      if (frame % breath !== breath - 1) continue;
      scope.postMessage({ type: "progress", job, frame: frame + 1 });
      await new Promise((resolve) => setTimeout(resolve));
      if (canceled.has(job)) break;
    }
    // Also for a canceled film: the encoder must not be deleted while it is at work.
    encoder.finalize();
    if (canceled.has(job)) return null;
    // Copied: the file system's own array lies in a buffer that may be larger and is freed below.
    return new Uint8Array(encoder.FS.readFile(encoder.outputFilename));
  } finally {
    forget(encoder);
  }
}

function forget(encoder: Awaited<ReturnType<typeof h264.createH264MP4Encoder>>): void {
  const { FS, outputFilename } = encoder;
  encoder.delete();
  try {
    FS.unlink(outputFilename);
  } catch {
    // An encoder that failed to begin has written nothing.
  }
}
