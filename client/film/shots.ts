import type { FilmWithShots, Output } from "../types.ts";

/**
 * - `video_missing`: a shot has no video yet, and the message names each; or the film has no shots.
 * - `download_failed`: a video did not arrive. Try again.
 * - `cannot_join`: this browser cannot read or encode the shots. Make a zip of them instead.
 * - `too_large`: larger than memory. Pass a file.
 * - `cannot_read`: there is no decoder for this video.
 */
export type FilmErrorCode = "video_missing" | "download_failed" | "cannot_join" | "too_large" | "cannot_read";

/** A film that cannot be made. `message` is a sentence for people. */
export class FilmError extends Error {
  readonly code: FilmErrorCode;

  constructor(code: FilmErrorCode, message: string) {
    super(message);
    this.name = "FilmError";
    this.code = code;
  }
}

/** A shot with a video. `number`: its place in the film, from 1. */
type MadeShot = { title: string; number: number; output: Output };
export type ShotFile = MadeShot & { file: Blob };

/** Where a film is written. `position` is in bytes. */
export type Sink = {
  write: (chunk: { type: "write"; data: Uint8Array<ArrayBuffer>; position: number }) => unknown;
  onShot: (at: number) => void;
  signal: AbortSignal | undefined;
};

/** A shot in a message. */
export const nameShot = ({ number, title }: Pick<MadeShot, "number" | "title">): string => `shot ${number}, “${title}”`;

export const madeShots = ({ shots }: FilmWithShots): MadeShot[] =>
  shots.flatMap(({ title, takes: { video } }, at) =>
    video?.output ? [{ title, number: at + 1, output: video.output }] : [],
  );

/** The shots that have no video yet, as “shot 2, “Open sea””. A rough cut leaves them out. */
export const missingShots = ({ shots }: FilmWithShots): string[] =>
  shots.flatMap(({ title, takes }, at) => (takes.video?.output ? [] : [nameShot({ number: at + 1, title })]));

/** A sentence that names the shots without a video, or says that the film has none; null when the film can be made. */
export function missingVideos(film: FilmWithShots): string | null {
  if (film.shots.length === 0) return "This film has no shots yet.";
  const missing = missingShots(film);
  if (missing.length === 0) return null;
  return `No video yet: ${missing.join("; ")}. Generate it, or remove the shot from the film.`;
}

/** Each download uses a connection, and browsers have six per server. */
const DOWNLOADS_AT_ONCE = 4;

/**
 * Downloads the videos of a film, in order; for a rough cut only the existing ones. `kept` has those already downloaded, and collects the
 * others. `onShot` gets the number of shots that are done.
 */
export async function downloadShots(
  film: FilmWithShots,
  isRoughCut: boolean,
  kept: Map<string, Blob>,
  onShot: (done: number) => void,
  signal: AbortSignal | undefined,
): Promise<ShotFile[]> {
  const missing = missingVideos(film);
  const shots = madeShots(film);
  if (missing !== null && !(isRoughCut && shots.length > 0)) throw new FilmError("video_missing", missing);
  const files: ShotFile[] = [];
  const waiting = shots.entries();
  let done = 0;
  onShot(done);
  const work = async () => {
    for (const [at, shot] of waiting) {
      const { path, url } = shot.output;
      const file = kept.get(path) ?? (await download(url, nameShot(shot), signal));
      kept.set(path, file);
      files[at] = { ...shot, file };
      done += 1;
      if (done < shots.length) onShot(done);
    }
  };
  try {
    await Promise.all(Array.from({ length: DOWNLOADS_AT_ONCE }, work));
  } finally {
    for (const _ of waiting); // after a failure none starts; those in progress are kept
  }
  return files;
}

async function download(url: string, shot: string, signal: AbortSignal | undefined): Promise<Blob> {
  let reason = "Storage did not answer";
  try {
    const response = await fetch(url, { signal: signal ?? null });
    if (response.ok) return await response.blob();
    reason = `Storage answered with status ${response.status}`;
  } catch {
    signal?.throwIfAborted();
  }
  throw new FilmError("download_failed", `Could not download ${shot}: ${reason}. Try again: the others are kept.`);
}

/** A title as a file name, without special characters of a file system or a shell. A long one ends with a whole word. */
export function safeFileName(title: string): string {
  const whole = title.replace(/[\p{Cc}\\/:*?"'<>|$%!`\s]+/gu, " ");
  const cut = whole.slice(0, 80);
  const safe = whole.charAt(80).trim() === "" ? cut : cut.replace(/(?<=.) [^ ]*$/, "");
  return safe.replace(/^[. ]+|[. \p{Cs}]+$/gu, "") || "Untitled"; // Cs: half of a character that was cut
}
