/// <reference lib="webworker" />
import { createCanvas, loadImage } from "@napi-rs/canvas";
import h264 from "h264-mp4-encoder";
import type { OutputBytes } from "../stored-files.ts";
import { addSilence } from "./add-silence.ts";
import { encodePng } from "./png.ts";
import { drawFrame, drawScene } from "./scene.ts";

/** How a film is cut, and whether it has a sound track. */
export type FilmPlan = { width: number; height: number; frames: number; fps: number; sound: boolean };
/** References are image files (PNG, JPEG, WebP); `format` is the input's own word, PNG for any other than jpg and webp. */
type Picture = { prompt: string; width: number; height: number; references: Uint8Array[]; format: unknown };
type Film = { plan: FilmPlan; first: Uint8Array; last: Uint8Array | null };
export type Job = Picture | Film;

/** A job, or null to cancel it. */
export type ToWorker = { id: number; job: Job | null };
/** Progress after some frames, then the file or an error; nothing more after a cancel. */
export type FromWorker = { id: number } & ({ frame: number } | { output: OutputBytes } | { error: string });

/** Frames between two looks at the message queue: few enough to cancel soon, enough not to slow the encoder. */
const framesPerTurn = 4;
const canceled = new Set<number>();
// The DOM's `self` is a Window; here it is a worker's scope, of which only these two are needed.
const scope = self as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};

scope.onmessage = ({ data: { id, job } }) => {
  if (job === null) {
    canceled.add(id);
    return;
  }
  const drawn = "plan" in job ? drawFilm(id, job) : drawPicture(job);
  drawn
    .then((output) => output && scope.postMessage({ id, output }, [output.bytes.buffer as ArrayBuffer]))
    .catch((error: unknown) => scope.postMessage({ id, error: String(error) }))
    .finally(() => canceled.delete(id));
};

/** The bytes are in a buffer of their own, which can be handed over. */
async function drawPicture({ references, format, ...scene }: Picture): Promise<OutputBytes> {
  const canvas = drawScene({ ...scene, references: await Promise.all(references.map((bytes) => loadImage(bytes))) });
  if (format === "jpg") {
    return { bytes: new Uint8Array(await canvas.encode("jpeg", 90)), contentType: "image/jpeg", extension: "jpg" };
  }
  if (format === "webp") {
    return { bytes: new Uint8Array(await canvas.encode("webp", 90)), contentType: "image/webp", extension: "webp" };
  }
  return { bytes: encodePng(canvas), contentType: "image/png", extension: "png" };
}

/** Draws and encodes an MP4 (H.264; its sound is silence); null when it was canceled meanwhile. */
async function drawFilm(id: number, { plan, first, last }: Film): Promise<OutputBytes | null> {
  const firstImage = await loadImage(first);
  const lastImage = last ? await loadImage(last) : null;
  const canvas = createCanvas(plan.width, plan.height);
  const ctx = canvas.getContext("2d");
  const encoder = await h264.createH264MP4Encoder();
  const { FS } = encoder;
  // All encoders share one in-memory file system; the name keeps them apart.
  const file = `${id}.mp4`;
  encoder.outputFilename = file;
  try {
    Object.assign(encoder, { width: plan.width, height: plan.height, frameRate: plan.fps });
    Object.assign(encoder, { speed: 7, quantizationParameter: 24, groupOfPictures: 12 });
    encoder.initialize();
    for (let frame = 1; frame <= plan.frames && !canceled.has(id); frame++) {
      drawFrame(ctx, plan, firstImage, lastImage, (frame - 1) / (plan.frames - 1));
      encoder.addFrameRgba(canvas.data());
      if (frame % framesPerTurn !== 0) continue;
      scope.postMessage({ id, frame });
      await new Promise((resolve) => setTimeout(resolve));
    }
    // Also for a canceled film: the encoder must not be deleted while it is at work.
    encoder.finalize();
    if (canceled.has(id)) return null;
    // Copied, because the file system frees its own array.
    const made = new Uint8Array(FS.readFile(file));
    const bytes = plan.sound ? await addSilence(made) : made;
    return { bytes, contentType: "video/mp4", extension: "mp4" };
  } finally {
    encoder.delete();
    try {
      FS.unlink(file);
    } catch {
      // An encoder that failed to start has written no file.
    }
  }
}
