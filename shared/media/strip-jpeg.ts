import { KeptParts } from "./kept-parts.ts";
import { readOrientation, writeOrientation } from "./orientation.ts";

const [SOI, EOI, SOS, APP0, APP1, APP2, APP14] = [0xd8, 0xd9, 0xda, 0xe0, 0xe1, 0xe2, 0xee];

/** Of the segments that applications define, those without which the picture looks different. */
const NEEDED: Record<number, string> = { [APP0]: "JFIF\0", [APP2]: "ICC_PROFILE\0", [APP14]: "Adobe" };

const ORIENTATION_HEADER = [0xff, APP1, 0, 34, ...new TextEncoder().encode("Exif\0\0")];

/** ITU-T T.81: segments, each scan with its compressed picture behind it, and the end. What stands behind the end goes. */
export function stripJpeg(bytes: Uint8Array): Uint8Array | null {
  const kept = new KeptParts(bytes);
  kept.keep(0, 2);
  let at = 2;
  let isScan = false;
  let hasExif = false;
  for (;;) {
    const marker = findMarker(bytes, at);
    // What is behind another segment than a scan no decoder reads.
    if (isScan) kept.keep(at, marker);
    if (marker === bytes.length) return kept.all; // cut off: a decoder shows what there is
    const kind = bytes[marker + 1] ?? 0;
    if (kind === EOI) {
      kept.keep(marker, marker + 2);
      return kept.all;
    }
    const length = ((bytes[marker + 2] ?? 0) << 8) | (bytes[marker + 3] ?? 0);
    at = marker + 2 + length;
    if (kind < 0xc0 || kind === SOI || length < 2 || at > bytes.length) return null;
    isScan = kind === SOS;
    if (kind < APP0 || beginsWith(bytes, marker + 4, NEEDED[kind])) kept.keep(marker, at);
    else if (kind === APP1 && !hasExif && beginsWith(bytes, marker + 4, "Exif\0")) {
      hasExif = true; // the first one counts
      const orientation = readOrientation(bytes.subarray(marker + 4, at));
      if (orientation > 1) kept.put(ORIENTATION_HEADER, writeOrientation(orientation));
    }
  }
}

/** Where the next marker is that is not a part of a scan: 0xFF 0x00 is a byte of the picture, 0xD0 to 0xD7 divide it. */
function findMarker(bytes: Uint8Array, from: number): number {
  for (let at = from; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const kind = bytes[at + 1] ?? 0;
    const isOfScan = kind === 0 || (kind >= 0xd0 && kind <= 0xd7);
    if (!isOfScan && kind !== 0xff) return at; // 0xFF before 0xFF fills
  }
  return bytes.length;
}

function beginsWith(bytes: Uint8Array, at: number, words = ""): boolean {
  for (let index = 0; index < words.length; index++) {
    if (bytes[at + index] !== words.charCodeAt(index)) return false;
  }
  return words !== "";
}
