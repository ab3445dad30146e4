import { Buffer } from "node:buffer";
import { deflateSync, inflateSync } from "node:zlib";
import { blankProfileNames } from "./color-profile.ts";
import type { Image } from "./image-reader.ts";
import { readOrientation } from "./orientation.ts";

/** `isLossless`: a JPEG of a kind that browsers and models do not decode. */
type Stripped = { bytes: Uint8Array; orientation: number; isLossless?: boolean };

const STRIP = { "image/jpeg": stripJpeg, "image/png": stripPng, "image/webp": stripWebp };

/**
 * Removes everything that does not change how an image looks: Exif with its location, XMP, IPTC, comments, previews, later frames of a PNG,
 * and data after its end, such as the video of a motion photo. The compressed picture does not change, and the colour profile loses its names
 * only.
 *
 * Takes bytes that sniffImage has recognised, works in place and returns their beginning, and the orientation of 1 to 8 that its Exif had.
 * Null when the lengths of the parts are wrong, when there is no picture, or when it is cut off.
 */
export function stripMetadata(bytes: Uint8Array, contentType: Image["contentType"]): Stripped | null {
  return STRIP[contentType](bytes);
}

const [SOI, EOI, SOS, APP0, APP1, APP2, APP14] = [0xd8, 0xd9, 0xda, 0xe0, 0xe1, 0xe2, 0xee];

/** DHT, JPG and DAC: between the markers of frame headers, which tell the size. */
const NO_FRAME_HEADERS = [0xc4, 0xc8, 0xcc];
/** Frame headers of lossless and hierarchical JPEGs. */
const UNUSUAL_FRAMES = [0xc3, 0xc5, 0xc6, 0xc7, 0xcb, 0xcd, 0xce, 0xcf];

/** The application segments that change how the picture looks. */
const JPEG_NEEDED: Record<number, string> = { [APP0]: "JFIF\0", [APP2]: "ICC_PROFILE\0", [APP14]: "Adobe" };

/** "ICC_PROFILE\0", which part of the profile this is, and how many there are. */
const PROFILE_HEADER_BYTES = 14;

/** ITU-T T.81: segments, scans followed by compressed data, and the end. Data after the end is removed. */
function stripJpeg(bytes: Uint8Array): Stripped | null {
  const kept = new KeptParts(bytes);
  kept.keep(0, 2);
  let at = 2;
  let isScan = false;
  let hasSize = false;
  let hasPicture = false;
  let orientation: number | undefined;
  let isLossless = false;
  const profile: [start: number, end: number][] = [];
  for (;;) {
    const marker = findMarker(bytes, at);
    // Decoders read data only after a scan.
    if (isScan) kept.keep(at, marker);
    const kind = bytes[marker + 1];
    if (kind === undefined) return null;
    if (kind === EOI) {
      kept.keep(marker, marker + 2);
      kept.blankProfile(profile);
      return hasPicture ? { bytes: kept.all, orientation: orientation ?? 1, isLossless } : null;
    }
    const length = ((bytes[marker + 2] ?? 0) << 8) | (bytes[marker + 3] ?? 0);
    at = marker + 2 + length;
    if (kind < 0xc0 || kind === SOI || length < 2 || at > bytes.length) return null;
    isScan = kind === SOS;
    hasSize ||= kind >= 0xc0 && kind <= 0xcf && !NO_FRAME_HEADERS.includes(kind) && length >= 11;
    isLossless ||= UNUSUAL_FRAMES.includes(kind);
    hasPicture ||= isScan && hasSize; // sniffImage may have read the size from bytes that are not kept
    if (kind < APP0 || beginsWith(bytes, marker + 4, JPEG_NEEDED[kind])) {
      const end = kept.keep(marker, at);
      if (kind === APP2) profile.push([Math.min(end, end - length + 2 + PROFILE_HEADER_BYTES), end]);
    } else if (kind === APP1 && beginsWith(bytes, marker + 4, "Exif\0")) {
      orientation ??= readOrientation(bytes.subarray(marker + 4, at)); // the first one counts
    }
  }
}

/** The position of the next marker outside a scan: 0xFF 0x00 is a byte of the picture, 0xD0 to 0xD7 are restart markers. */
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

const [PNG_EXIF, PNG_PICTURE, PNG_END] = [chunkName("eXIf"), chunkName("IDAT"), chunkName("IEND")];
const PNG_PROFILE = chunkName("iCCP");

/** The picture and the chunks for its colours and size. The frames of an animation are others than the picture. */
const PNG_NEEDED = new Set(
  [
    ...["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "sBIT", "sRGB", "cICP", "mDCV", "cLLI"],
    ...["bKGD", "hIST", "pHYs", "sPLT"],
  ].map(chunkName),
);

/** https://www.w3.org/TR/png-3/: a signature, then chunks of a length, a name, a content and a checksum, IEND the last. */
function stripPng(bytes: Uint8Array): Stripped | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kept = new KeptParts(bytes);
  kept.keep(0, 8);
  let start = 8;
  let hasPicture = false;
  let orientation: number | undefined;
  while (start + 12 <= bytes.length) {
    const end = start + 12 + view.getUint32(start);
    const name = view.getUint32(start + 4);
    if (end > bytes.length) return null;
    if (name === PNG_PROFILE) {
      const chunk = profileChunk(bytes.subarray(start + 8, end - 4));
      if (chunk !== null && chunk.length <= end - start) kept.put(chunk);
    } else if (PNG_NEEDED.has(name)) kept.keep(start, end);
    if (name === PNG_END) return hasPicture ? { bytes: kept.all, orientation: orientation ?? 1 } : null;
    hasPicture ||= name === PNG_PICTURE;
    if (name === PNG_EXIF) orientation ??= readOrientation(bytes.subarray(start + 8, end - 4)); // the first one counts
    start = end;
  }
  return null;
}

/** Most have some kilobytes; printers' profiles have two megabytes. */
const MAX_PROFILE_BYTES = 4 * 1024 * 1024;
const PROFILE_NAME = new TextEncoder().encode("icc\0\0");

/** A chunk with the profile of this one, which has a name, a zero, the method 0, and the compressed profile. Null: it has none. */
function profileChunk(content: Uint8Array): Uint8Array | null {
  try {
    const profile = inflateSync(content.subarray(content.indexOf(0) + 2), { maxOutputLength: MAX_PROFILE_BYTES });
    blankProfileNames(profile);
    return pngChunk(PNG_PROFILE, Buffer.concat([PROFILE_NAME, deflateSync(profile, { level: 9 })]));
  } catch {
    return null;
  }
}

function pngChunk(name: number, content: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(12 + content.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, content.length);
  view.setUint32(4, name);
  chunk.set(content, 8);
  view.setUint32(8 + content.length, crc32(chunk.subarray(4, 8 + content.length)));
  return chunk;
}

/** That of node:zlib throws on the hosted platform's Deno 2.1. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

const [WEBP_EXIF, WEBP_PROFILE] = [chunkName("EXIF"), chunkName("ICCP")];

/** The picture or its frames. */
const WEBP_PICTURE = new Set(["VP8 ", "VP8L", "ANMF"].map(chunkName));
/** Its size, transparency and colour profile too. */
const WEBP_NEEDED = new Set([...WEBP_PICTURE, ...["VP8X", "ALPH", "ANIM", "ICCP"].map(chunkName)]);

/** Bits of the flags in VP8X, the byte after its name and length. */
const HAS_EXIF = 0b1000;
const HAS_XMP = 0b0100;

/** https://developers.google.com/speed/webp/docs/riff_container: RIFF of chunks of a name, a length and a content. */
function stripWebp(bytes: Uint8Array): Stripped | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const riffEnd = 8 + view.getUint32(4, true);
  if (riffEnd > bytes.length) return null;
  const isExtended = view.getUint32(12) === chunkName("VP8X");
  const kept = new KeptParts(bytes);
  kept.keep(0, 12);
  let start = 12;
  let hasPicture = false;
  let orientation: number | undefined;
  while (start + 8 <= riffEnd) {
    const name = view.getUint32(start);
    const end = start + 8 + view.getUint32(start + 4, true);
    if (end > riffEnd) return null;
    const next = Math.min(end + (end & 1), riffEnd); // chunks have an even length
    hasPicture ||= WEBP_PICTURE.has(name);
    if (name === WEBP_PROFILE) blankProfileNames(bytes.subarray(start + 8, end));
    if (WEBP_NEEDED.has(name)) kept.keep(start, next);
    else if (name === WEBP_EXIF && isExtended) orientation ??= readOrientation(bytes.subarray(start + 8, end));
    start = next;
  }
  if (!hasPicture) return null;
  const { all } = kept;
  view.setUint32(4, all.length - 8, true);
  if (isExtended) view.setUint8(20, view.getUint8(20) & ~(HAS_EXIF | HAS_XMP));
  return { bytes: all, orientation: orientation ?? 1 };
}

/** Moves the kept parts of a buffer to its front, so that 10 MiB are not in memory twice. */
class KeptParts {
  readonly #bytes: Uint8Array;
  #length = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** `start` must not be before the `end` of the previous call. Returns where the part now ends. */
  keep(start: number, end: number): number {
    if (start !== this.#length) this.#bytes.copyWithin(this.#length, start, end);
    this.#length += end - start;
    return this.#length;
  }

  /** Writes over a part that is not kept and is at least as long. */
  put(part: Uint8Array): void {
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
  }

  /** Cleans a colour profile in these kept parts; the part's number is two bytes before each. */
  blankProfile(parts: [start: number, end: number][]): void {
    const numberOf = ([start]: [number, number]) => this.#bytes[start - 2] ?? 0;
    const pieces = parts
      .toSorted((one, other) => numberOf(one) - numberOf(other))
      .map(([start, end]) => this.#bytes.subarray(start, end));
    const profile = Buffer.concat(pieces);
    blankProfileNames(profile);
    let at = 0;
    for (const piece of pieces) {
      piece.set(profile.subarray(at, at + piece.length));
      at += piece.length;
    }
  }

  get all(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** The name of a PNG or WebP chunk (four letters) as a 32-bit number. */
function chunkName(letters: string): number {
  return [...letters].reduce((name, letter) => name * 256 + letter.charCodeAt(0), 0);
}
