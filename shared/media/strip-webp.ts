import { chunkName } from "./chunk-name.ts";
import { KeptParts } from "./kept-parts.ts";
import { readOrientation, writeOrientation } from "./orientation.ts";

const EXIF = chunkName("EXIF");

/** The picture or its frames, its transparency and its colour profile. */
const NEEDED = new Set(["VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"].map(chunkName));

const ORIENTATION_HEADER = [...new TextEncoder().encode("EXIF"), 26, 0, 0, 0];
/** Of the flags in VP8X, the byte after its name and length. */
const HAS_EXIF = 0b1000;
const HAS_XMP = 0b0100;

/** https://developers.google.com/speed/webp/docs/riff_container: RIFF of chunks of a name, a length and a content. */
export function stripWebp(bytes: Uint8Array): Uint8Array | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const riffEnd = 8 + view.getUint32(4, true);
  if (riffEnd > bytes.length) return null;
  const isExtended = view.getUint32(12) === chunkName("VP8X");
  const kept = new KeptParts(bytes);
  kept.keep(0, 12);
  let start = 12;
  let exifFlag: number | undefined;
  while (start + 8 <= riffEnd) {
    const name = view.getUint32(start);
    const end = start + 8 + view.getUint32(start + 4, true);
    if (end > riffEnd) return null;
    const next = Math.min(end + (end & 1), riffEnd); // chunks have an even length
    if (NEEDED.has(name)) kept.keep(start, next);
    else if (name === EXIF && isExtended && exifFlag === undefined) {
      const orientation = readOrientation(bytes.subarray(start + 8, end)); // the first one counts
      exifFlag = orientation > 1 ? HAS_EXIF : 0;
      if (exifFlag > 0) kept.put(ORIENTATION_HEADER, writeOrientation(orientation));
    }
    start = next;
  }
  const { all } = kept;
  view.setUint32(4, all.length - 8, true);
  if (isExtended) view.setUint8(20, (view.getUint8(20) & ~(HAS_EXIF | HAS_XMP)) | (exifFlag ?? 0));
  return all;
}
