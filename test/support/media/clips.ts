import { Buffer } from "node:buffer";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

const FOLDER = `${PROJECT_ROOT}test/support/media/clips/`;

export const readClip = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(Deno.readFileSync(FOLDER + name));

export const CLIPS: string[] = [...Deno.readDirSync(FOLDER)]
  .flatMap(({ name }) => (/\.(mp4|mov|webm|mkv)$/.test(name) ? name : []))
  .sort();

/** The clip with other bytes where these letters stand first. `at` counts from the letters. */
export function patched(
  clip: Uint8Array<ArrayBuffer>,
  letters: string,
  at: number,
  bytes: number[],
): Uint8Array<ArrayBuffer> {
  const place = Buffer.from(clip).indexOf(letters, "latin1");
  if (place < 0) throw new Error(`There is no ${letters}.`);
  const copy = clip.slice();
  copy.set(bytes, place + at);
  return copy;
}

/** The WebM as a recorder writes it that cannot go back: without its length, and with a segment of unknown size. */
export function recorded(webm: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const withoutLength = patched(webm, "\x44\x89\x88", 0, [0xec, 0x89]); // an element that says nothing
  return patched(withoutLength, "\x18\x53\x80\x67\x01", 4, [0x01, ...Array(7).fill(0xff)]);
}

export const placesOf = (clip: Uint8Array, letters: string): number[] =>
  [...Buffer.from(clip).toString("latin1").matchAll(new RegExp(letters, "g"))].map(({ index }) => index);
