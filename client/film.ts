import { downloadShots, FilmError, madeShots, type ShotFile, type Sink } from "./film/shots.ts";
import type { FilmWithShots } from "./types.ts";

export { FilmError, type FilmErrorCode, missingShots, missingVideos, safeFileName } from "./film/shots.ts";

export type FilmProgress = {
  /** The part of the whole that is done, from 0 to 1. */
  share: number;
  doing: "downloading" | "joining" | "packing";
  /** The shot's number, from 1. */
  shot: number;
  shots: number;
};

export type FilmOptions = {
  /**
   * Where the film is written, such as a file of `showSaveFilePicker()`. A failure leaves it as it was. Without it the film is
   * made in memory, with at most 1 GB of shots.
   */
  file?: FileSystemFileHandle | undefined;
  onProgress?: ((progress: FilmProgress) => void) | undefined;
  /** Aborts the work: the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Leaves out the shots that have no video yet (`missingShots`). Without it they are an error. */
  isRoughCut?: boolean | undefined;
  /** The downloaded shots, by `output.path`. With the same map, a second attempt downloads only the missing ones. */
  downloads?: Map<string, Blob> | undefined;
};

/**
 * Makes one MP4 of a film that was just read (`keyframe.films.read`: its URLs expire). Tracks with equal formats are copied; others are
 * encoded again, in the size of the first shot. A shot is as long as its pictures. The file says in XMP that AI made it, and has the SHA-256
 * of each shot. Needs a browser, and the package mediabunny. Rejects with a FilmError, with the file's error, or with the signal's reason.
 */
export const joinFilm = (film: FilmWithShots, options: FilmOptions = {}): Promise<Blob> =>
  makeFilm(film, options, "joining", async (...given) => await (await import("./film/mp4.ts")).writeMp4(...given));

/**
 * Makes a zip of the shots, with the command by which ffmpeg joins them, for when joinFilm rejects with `cannot_join`. Needs client-zip and
 * mediabunny. Rejects as joinFilm does.
 */
export const zipFilm = (film: FilmWithShots, options: FilmOptions = {}): Promise<Blob> =>
  makeFilm(film, options, "packing", async (...given) => await (await import("./film/zip.ts")).writeZip(...given));

/**
 * The last picture of a video, upright, as an image to upload: the `firstFrameImagePath` of a shot that continues from there. A video does
 * not end exactly on its requested last frame. Needs the package mediabunny and WebCodecs, which browsers have and Deno gets from a
 * package. Rejects with a FilmError.
 */
export const lastFrameOf = async (video: Blob): Promise<Blob> =>
  await (await import("./film/last-frame.ts")).readLastFrame(video);

const TYPES = { joining: "video/mp4", packing: "application/zip" };
const MAX_BYTES_IN_MEMORY = 1_000_000_000; // two copies of more may be too much for a tab

type MakeFilm = [film: FilmWithShots, options: FilmOptions, doing: "joining" | "packing", write: WriteFilm];
type WriteFilm = (shots: ShotFile[], sink: Sink) => Promise<void>;

/** Rejects at once when the signal aborts. */
async function makeFilm(...given: MakeFilm): Promise<Blob> {
  const [, { signal }] = given;
  signal?.throwIfAborted();
  let abort = () => {};
  const isAborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal?.reason);
  });
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([writeFilm(...given), isAborted]);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

async function writeFilm(...[film, options, doing, write]: MakeFilm): Promise<Blob> {
  const { file, onProgress, signal, isRoughCut = false, downloads = new Map() } = options;
  const { length } = madeShots(film);
  const half = (what: FilmProgress["doing"], from: number) => (at: number) =>
    onProgress?.({ share: from + at / length / 2, doing: what, shot: at + 1, shots: length });
  const onShot = half(doing, 0.5);
  const shots = await downloadShots(film, isRoughCut, downloads, half("downloading", 0), signal);
  if (file === undefined) {
    if (shots.reduce((sum, shot) => sum + shot.file.size, 0) > MAX_BYTES_IN_MEMORY) {
      const message =
        "A film in memory can have at most 1 GB, and this one is larger. Choose a file for it, in Chrome or Edge.";
      throw new FilmError("too_large", message);
    }
    const parts: Blob[] = [];
    let length = 0;
    const writeChunk: Sink["write"] = (chunk) => {
      if (chunk.position === length) parts.push(new Blob([chunk.data]));
      else overwrite(parts, chunk);
      length = Math.max(length, chunk.position + chunk.data.length);
    };
    await write(shots, { write: writeChunk, onShot, signal });
    return new Blob(parts, { type: TYPES[doing] });
  }
  const opened = await file.createWritable();
  try {
    await write(shots, { write: (chunk) => opened.write(chunk), onShot, signal });
    signal?.throwIfAborted();
    await opened.close();
  } catch (error) {
    await opened.abort();
    throw error;
  }
  return await file.getFile();
}

/** Overwrites bytes that exist, all in one part. The parts are Blobs, because a browser keeps many Blobs on its disk. */
function overwrite(parts: Blob[], { data, position }: Parameters<Sink["write"]>[0]): void {
  let [at, begin] = [0, 0];
  for (let part = parts[at]; part && begin + part.size <= position; part = parts[at]) {
    begin += part.size;
    at += 1;
  }
  const part = parts[at];
  const from = position - begin;
  if (part === undefined) throw new RangeError("There is nothing to write over.");
  parts[at] = new Blob([part.slice(0, from), data, part.slice(from + data.length)]);
}
