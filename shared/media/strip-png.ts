import { chunkName } from "./chunk-name.ts";
import { KeptParts } from "./kept-parts.ts";
import { readOrientation, writeOrientation } from "./orientation.ts";

const [EXIF, END] = [chunkName("eXIf"), chunkName("IEND")];

/** The picture and how its colours, size and frames are meant. */
const NEEDED = new Set(
  [
    ...["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI"],
    ...["bKGD", "hIST", "pHYs", "sPLT", "acTL", "fcTL", "fdAT"],
  ].map(chunkName),
);

/** https://www.w3.org/TR/png-3/: a signature, then chunks of a length, a name, a content and a checksum, IEND the last. */
export function stripPng(bytes: Uint8Array): Uint8Array | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kept = new KeptParts(bytes);
  kept.keep(0, 8);
  let start = 8;
  let hasExif = false;
  while (start + 12 <= bytes.length) {
    const end = start + 12 + view.getUint32(start);
    const name = view.getUint32(start + 4);
    if (end > bytes.length) return null;
    if (NEEDED.has(name)) kept.keep(start, end);
    if (name === END) return kept.all;
    if (name === EXIF && !hasExif) {
      hasExif = true; // the first one counts
      const orientation = readOrientation(bytes.subarray(start + 8, end - 4));
      if (orientation > 1) kept.put(exifChunk(writeOrientation(orientation)));
    }
    start = end;
  }
  return null;
}

function exifChunk(exif: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(12 + exif.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, exif.length);
  view.setUint32(4, EXIF);
  chunk.set(exif, 8);
  view.setUint32(8 + exif.length, crc32(chunk.subarray(4, 8 + exif.length)));
  return chunk;
}

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
