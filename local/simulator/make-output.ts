import { type Image, loadImage } from "@napi-rs/canvas";
import { Buffer } from "node:buffer";
import { isFilled } from "./check-input.ts";
import type { FilmPlan } from "./draw/film.ts";
import { drawPicture } from "./draw/picture.ts";
import type { Model } from "./models.ts";
import type { Prediction } from "./prediction.ts";
import { hashText } from "./random.ts";
import type { SimulatorSettings } from "./settings.ts";
import type { OutputBytes, StoredFiles } from "./stored-files.ts";

export type InputSource = { files: StoredFiles; settings: SimulatorSettings };
type InputImages = { first: Image | undefined; last: Image | undefined; references: Image[] };

/** Loads every image of the input. A field that the model ignores together with another one is not loaded. */
export async function loadInputs(model: Model, prediction: Prediction, source: InputSource): Promise<InputImages> {
  const { input, faults, stop } = prediction;
  const ignored = (model.rules ?? []).flatMap((rule) => {
    return rule.rule === "ignores" && isFilled(input[rule.when]) ? [rule.field] : [];
  });
  const read = (field: string | undefined) => {
    const values = field === undefined || ignored.includes(field) ? [] : [input[field]].flat();
    const urls = values.filter((value) => typeof value === "string" && value !== "").map(String);
    return Promise.all(
      urls.map((url) => {
        if (faults.has("input_unreachable")) throw refused(502, "Bad Gateway", url);
        return readInputImage(url, source, stop.signal);
      }),
    );
  };
  const [[first], [last], references] = await Promise.all([
    read(model.firstFrame),
    read(model.lastFrame),
    read(model.references ?? (model.input.fields.reference_images ? "reference_images" : undefined)),
  ]);
  return { first, last, references };
}

/** Draws the image or images of a prediction, as PNG unless the input asks for another format. */
export async function makeImages(model: Model, prediction: Prediction, images: InputImages, imageWidth: number) {
  const { references } = images;
  const size = pictureSize(prediction.input.aspect_ratio, imageWidth, references[0]);
  const made: OutputBytes[] = [];
  for (let i = 0; i < countImages(model, prediction); i++) {
    const prompt = i === 0 ? promptOf(prediction) : `${promptOf(prediction)} (${i + 1})`;
    const canvas = drawPicture(prompt, seedOf(prediction), size, references);
    const requested = prediction.input.output_format;
    const extension = requested === "jpg" || requested === "webp" ? requested : "png";
    const format = extension === "jpg" ? "jpeg" : extension;
    const bytes = new Uint8Array(format === "png" ? await canvas.encode(format) : await canvas.encode(format, 90));
    made.push({ bytes, contentType: `image/${format}`, extension });
  }
  return made;
}

/** How many images a prediction makes. */
export function countImages(model: Model, { input }: Prediction): number {
  const several = model.output === "images" && input.sequential_image_generation === "auto";
  return several ? Number(input.max_images ?? 1) : 1;
}

/** The models' names of the field that switches sound on. */
const SOUND_FIELDS = ["generate_audio", "generate_audio_switch", "save_audio", "with_audio"];
const FRAME_BUDGET = 60;

/**
 * A video has the requested length, 2 s by default, the aspect ratio of its first frame, and sound when it was requested or is the
 * model's default. Each frame takes the same time to encode, so a longer video has fewer of them per second: 24 up to 2.5 s, 12 at 5 s, 2
 * at 30 s.
 */
export function planVideo(
  model: Model,
  prediction: Prediction,
  first: Image | undefined,
  imageWidth: number,
): FilmPlan {
  const { input } = prediction;
  const size = pictureSize(first ? "match_input_image" : input.aspect_ratio, imageWidth, first);
  const seconds = Math.min(30, Number(input.duration) > 0 ? Number(input.duration) : 2);
  const fps = Math.max(1, Math.min(24, Math.floor(FRAME_BUDGET / seconds)));
  const sound = SOUND_FIELDS.some((name) => (input[name] ?? model.input.fields[name]?.default) === true);
  return { ...size, fps, frames: Math.round(fps * seconds), sound, seed: seedOf(prediction) };
}

/** Makes the video of a prediction. Without a first frame it begins with a picture of the prompt. */
export async function makeVideo(
  prediction: Prediction,
  images: InputImages,
  plan: FilmPlan,
  onProgress: (frame: number) => void,
): Promise<OutputBytes[]> {
  const picture = () => drawPicture(promptOf(prediction), plan.seed, plan, images.references);
  const frames = [images.first ?? picture(), images.last] as const;
  // Loaded with the first film, so that the stack starts sooner.
  const { drawFilm } = await import("./draw/film.ts");
  const bytes = await drawFilm(plan, frames, onProgress, prediction.stop.signal);
  return [{ bytes, contentType: "video/mp4", extension: "mp4" }];
}

/** A run without a seed in its input has a seed of its own, as with real models. */
const seedOf = ({ input, id }: Prediction): number =>
  Number.isInteger(input.seed) ? Number(input.seed) : hashText(id) % 1_000_000;

const promptOf = ({ input }: Prediction): string => String(input.prompt ?? "");

type Size = { width: number; height: number };

/**
 * The size in pixels for an aspect ratio ("16:9", "1:1", "match_input_image"…; anything else means 16:9). It has as many
 * pixels as a 16:9 picture of the width `base`, and even sides, which video needs.
 */
function pictureSize(aspectRatio: unknown, base: number, reference: Size | undefined): Size {
  const [, wide, tall] = /^(\d+):(\d+)$/.exec(String(aspectRatio)) ?? [16, 16, 9];
  const isMatched = aspectRatio === "match_input_image" && reference;
  const ratio = isMatched
    ? Math.max(0.4, Math.min(2.5, reference.width / reference.height))
    : Number(wide) / Number(tall);
  const pixels = (base * base * 9) / 16;
  const even = (value: number) => Math.max(16, Math.round(value / 2) * 2);
  return { width: even(Math.sqrt(pixels * ratio)), height: even(Math.sqrt(pixels / ratio)) };
}

const MAX_BYTES = 30 * 1024 * 1024;
const TIMEOUT_MS = 15_000;

/**
 * Reads an input file from an http(s) URL, a data URL, or the URL of a file uploaded here. The message of its error becomes the
 * prediction's error, as when a real model cannot load its input.
 */
async function readInputImage(url: string, { files, settings }: InputSource, signal: AbortSignal): Promise<Image> {
  const uploads = `${settings.baseUrl()}/v1/files/`;
  const bytes = url.startsWith(uploads)
    ? files.get(url.slice(uploads.length))?.bytes
    : await download(url, settings.fetch, signal);
  if (!bytes) throw refused(404, "Not Found", url);
  if (bytes.length > MAX_BYTES) throw new Error(`Prediction failed: ${shorten(url)} is larger than ${MAX_BYTES} bytes`);
  try {
    return await loadImage(bytes);
  } catch {
    throw new Error(`Prediction failed: cannot identify image file ${shorten(url)}`);
  }
}

async function download(url: string, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<Buffer> {
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
  } catch (error) {
    signal.throwIfAborted();
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const pool = `${protocol === "https:" ? "HTTPS" : "HTTP"}ConnectionPool(host='${hostname}', port=${port || 443})`;
    throw new Error(`${pool}: Max retries exceeded with url: ${pathname}${search} (Caused by ${error})`);
  }
  if (response.ok) return Buffer.from(await response.arrayBuffer());
  await response.body?.cancel();
  throw refused(response.status, response.statusText, url);
}

/** The messages of Python's requests, with which Replicate's models load their inputs (replicate/cog, issue 932). */
function refused(status: number, reason: string, url: string): Error {
  return new Error(`${status} ${status < 500 ? "Client" : "Server"} Error: ${reason} for url: ${url}`);
}

const shorten = (url: string): string => (url.length > 120 ? `${url.slice(0, 120)}…` : url);
