import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

const FOLDER = `${PROJECT_ROOT}test/support/media/clips/`;

/** A file of test/support/media/clips. */
export const readClip = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(Deno.readFileSync(FOLDER + name));

export const CLIPS: string[] = [...Deno.readDirSync(FOLDER)]
  .flatMap(({ name }) => (/\.(mp4|mov)$/.test(name) ? name : []))
  .sort();

/** The clip with other bytes where these letters stand first. `at` counts from the letters. */
export function patched(
  clip: Uint8Array<ArrayBuffer>,
  letters: string,
  at: number,
  bytes: number[],
): Uint8Array<ArrayBuffer> {
  const place = String.fromCharCode(...clip).indexOf(letters);
  if (place < 0) throw new Error(`There is no ${letters}.`);
  const copy = clip.slice();
  copy.set(bytes, place + at);
  return copy;
}
