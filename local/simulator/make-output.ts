import { type Image, loadImage } from "@napi-rs/canvas";
import { isFilled } from "./check-input.ts";
import type { Drawer } from "./draw/drawer.ts";
import type { FilmPlan } from "./draw/worker.ts";
import type { Model } from "./models.ts";
import type { Prediction } from "./prediction.ts";
import type { OutputBytes, StoredFiles } from "./stored-files.ts";

export type Studio = { pictures: Drawer; films: Drawer; source: InputSource; imageWidth: number };
type InputImages = { first: InputImage | null; last: InputImage | null; references: InputImage[] };

/** Loads every image of the input. A field that the model ignores together with another one is not loaded. */
export async function loadInputs(model: Model, prediction: Prediction, studio: Studio): Promise<InputImages> {
  const { input } = prediction;
  const ignored = (model.rules ?? []).flatMap((rule) => {
    return rule.rule === "ignores" && isFilled(input[rule.when]) ? [rule.field] : [];
  });
  const urls = (field: string | undefined) => {
    if (field === undefined || ignored.includes(field)) return [];
    return [input[field]].flat().filter((value) => typeof value === "string" && value !== "");
  };
  const read = (field: string | undefined) =>
    Promise.all(
      urls(field).map((url) => {
        if (prediction.faults.has("input_unreachable")) throw refused(502, "Bad Gateway", String(url));
        return readInputImage(String(url), studio.source, prediction.stop.signal);
      }),
    );
  const [first, last, references] = await Promise.all([
    read(model.firstFrame),
    read(model.lastFrame),
    read(model.references ?? (model.input.fields.reference_images ? "reference_images" : undefined)),
  ]);
  return { first: first[0] ?? null, last: last[0] ?? null, references };
}

/**
 * Draws the image or images of a prediction, as PNG unless the input asks for another format. Calls `onBegin` when drawing begins.
 */
export async function makeImages(
  model: Model,
  prediction: Prediction,
  images: InputImages,
  studio: Studio,
  onBegin: () => void,
): Promise<OutputBytes[]> {
  const { input } = prediction;
  const references = images.references.map(({ bytes }) => bytes);
  const size = pictureSize(input.aspect_ratio, studio.imageWidth, images.references[0]?.image);
  const count = countImages(model, prediction);
  const made: OutputBytes[] = [];
  for (let i = 0; i < count; i++) {
    const prompt = i === 0 ? promptOf(prediction) : `${promptOf(prediction)} (${i + 1})`;
    const picture = { prompt, ...size, references, format: input.output_format };
    made.push(await studio.pictures.draw(picture, onBegin, prediction.stop.signal));
  }
  return made;
}

/** How many images a prediction makes. */
export function countImages(model: Model, { input }: Prediction): number {
  const several = model.output === "images" && input.sequential_image_generation === "auto";
  return several ? Number(input.max_images ?? 1) : 1;
}

/** The video has the requested length, the aspect ratio of its first frame, and sound when it was asked for or is the model's default. */
export function planVideo(
  model: Model,
  { input }: Prediction,
  { first }: InputImages,
  { imageWidth }: Studio,
): FilmPlan {
  const ratio = first ? "match_input_image" : input.aspect_ratio;
  const size = pictureSize(ratio, imageWidth, first?.image);
  const plan = planFilm(typeof input.duration === "number" ? input.duration : null, size);
  return { ...plan, sound: soundFields.some((name) => (input[name] ?? model.input.fields[name]?.default) === true) };
}

/** Makes the video of a prediction. Without a first frame it begins with a picture of the prompt. */
export async function makeVideo(
  prediction: Prediction,
  images: InputImages,
  plan: FilmPlan,
  studio: Studio,
  onProgress: (frame: number) => void,
): Promise<OutputBytes> {
  const { signal } = prediction.stop;
  const { width, height } = plan;
  const references = images.references.map(({ bytes }) => bytes);
  const picture = { prompt: promptOf(prediction), width, height, references, format: "png" };
  const first = images.first?.bytes ?? (await studio.pictures.draw(picture, () => {}, signal)).bytes;
  return studio.films.draw({ plan, first, last: images.last?.bytes ?? null }, onProgress, signal);
}

function promptOf({ input }: Prediction): string {
  return String(input.prompt ?? "");
}

type Size = { width: number; height: number };

/**
 * The size in pixels for an aspect ratio ("16:9", "1:1", "match_input_image"…; anything else means 16:9). It has as many
 * pixels as a 16:9 picture of the width `base`, and even sides, which video needs.
 */
function pictureSize(aspectRatio: unknown, base: number, reference: Size | undefined): Size {
  const ratio = parseRatio(aspectRatio, reference);
  const pixels = (base * base * 9) / 16;
  const even = (value: number) => Math.max(16, Math.round(value / 2) * 2);
  return { width: even(Math.sqrt(pixels * ratio)), height: even(Math.sqrt(pixels / ratio)) };
}

function parseRatio(aspectRatio: unknown, reference: Size | undefined): number {
  if (aspectRatio === "match_input_image" && reference) {
    return Math.max(0.4, Math.min(2.5, reference.width / reference.height));
  }
  const [, wide, tall] = /^(\d+):(\d+)$/.exec(String(aspectRatio)) ?? [];
  return wide && tall ? Number(wide) / Number(tall) : 16 / 9;
}

/** What models call the field that switches their sound on. */
const soundFields = ["generate_audio", "generate_audio_switch", "save_audio", "with_audio"];
const frameBudget = 60;

/**
 * Plans a video of `seconds`, 2 by default. Each frame takes the same time to encode, so a longer video has fewer frames per
 * second: 24 up to 2.5 s, 12 at 5 s, 2 at 30 s.
 */
function planFilm(seconds: number | null, size: { width: number; height: number }): Omit<FilmPlan, "sound"> {
  const length = seconds === null || seconds <= 0 ? 2 : Math.min(seconds, 30);
  const fps = Math.max(1, Math.min(24, Math.floor(frameBudget / length)));
  return { ...size, fps, frames: Math.round(fps * length) };
}

const maxBytes = 30 * 1024 * 1024;
const timeoutMs = 15_000;

type InputImage = { bytes: Uint8Array; image: Image };
type InputSource = { files: StoredFiles; fetch: typeof fetch; baseUrl: string };

/**
 * Reads an input file from an http(s) URL, a data URL, or the URL of a file uploaded here. The message of its error becomes the
 * prediction's error, as when a real model cannot load its input.
 */
async function readInputImage(url: string, source: InputSource, signal: AbortSignal): Promise<InputImage> {
  const bytes = readUpload(url, source) ?? (await download(url, source, signal));
  try {
    return { bytes, image: await loadImage(bytes) };
  } catch {
    throw new Error(`Prediction failed: cannot identify image file ${shorten(url)}`);
  }
}

function readUpload(url: string, { files, baseUrl }: InputSource): Uint8Array | null {
  const prefix = `${baseUrl}/v1/files/`;
  if (!url.startsWith(prefix)) return null;
  const file = files.get(url.slice(prefix.length));
  if (!file) throw refused(404, "Not Found", url);
  return file.bytes;
}

async function download(url: string, source: InputSource, signal: AbortSignal): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await source.fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    const { protocol, hostname, port, pathname, search } = new URL(url);
    const pool = `${protocol === "https:" ? "HTTPS" : "HTTP"}ConnectionPool(host='${hostname}', port=${port || 443})`;
    throw new Error(`${pool}: Max retries exceeded with url: ${pathname}${search} (Caused by ${reason})`);
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw refused(response.status, response.statusText, url);
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length > maxBytes) throw new Error(`Prediction failed: ${shorten(url)} is larger than ${maxBytes} bytes`);
  return bytes;
}

/** In the words of Python's requests, with which Replicate's models load their inputs (replicate/cog, issue 932). */
function refused(status: number, reason: string, url: string): Error {
  return new Error(`${status} ${status < 500 ? "Client" : "Server"} Error: ${reason} for url: ${url}`);
}

function shorten(url: string): string {
  return url.length > 120 ? `${url.slice(0, 120)}…` : url;
}
