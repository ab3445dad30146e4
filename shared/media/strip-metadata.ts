import { Buffer } from "node:buffer";
import { deflateSync, inflateSync } from "node:zlib";
import { blankProfileNames } from "./color-profile.ts";
import type { Image } from "./image-reader.ts";
import { readOrientation } from "./orientation.ts";
import { findSourceType, isPlainManifest, MIN_SOURCE_TYPE_BYTES, sourceTypeXmp } from "./origin.ts";

/** `isLossless`: a JPEG of a kind that browsers and models do not decode. */
type Stripped = { bytes: Uint8Array; orientation: number; isLossless?: boolean };
type Read = Omit<Stripped, "bytes">;

const STRIP = { "image/jpeg": stripJpeg, "image/png": stripPng, "image/webp": stripWebp };
const INSERT_XMP = { "image/jpeg": insertJpegXmp, "image/png": insertPngXmp, "image/webp": insertWebpXmp };

/**
 * Removes everything that does not change how an image looks: Exif with its location, XMP, IPTC, comments, previews, later frames of a PNG,
 * and data after its end, such as the video of a motion photo. The compressed picture does not change, and the colour profile loses its names
 * only. What says that AI made the image stays: its C2PA manifest where nothing else is removed, so that its signature still fits, and
 * otherwise only the DigitalSourceType.
 *
 * Takes bytes that sniffImage has recognised, works in place and returns their beginning, and the orientation of 1 to 8 that its Exif had.
 * Null when the lengths of the parts are wrong, when there is no picture, or when it is cut off.
 */
export function stripMetadata(bytes: Uint8Array, contentType: Image["contentType"]): Stripped | null {
  const whole = new KeptParts(bytes, true);
  const read = STRIP[contentType](whole);
  if (read === null) return null;
  const manifest = Buffer.concat(whole.manifest);
  if (whole.isWhole && isPlainManifest(manifest)) return { ...read, bytes };
  let all = whole.takeAll();
  if (whole.hasManifest) {
    const without = new KeptParts(all, false);
    STRIP[contentType](without);
    all = without.takeAll();
  }
  const sourceType = findSourceType(manifest) ?? whole.sourceType;
  if (sourceType !== null) all = INSERT_XMP[contentType](all, sourceTypeXmp(sourceType), bytes);
  return { ...read, bytes: all };
}

/** In the buffer, which is used again, if there is room. */
function insert(all: Uint8Array, at: number, part: Uint8Array, buffer: Uint8Array): Uint8Array {
  const length = all.length + part.length;
  const target = length <= buffer.length ? buffer : new Uint8Array(length);
  if (target !== buffer) target.set(all);
  target.copyWithin(at + part.length, at, all.length);
  target.set(part, at);
  return target.subarray(0, length);
}

const [SOI, EOI, SOS, APP0, APP1, APP2, APP11, APP14] = [0xd8, 0xd9, 0xda, 0xe0, 0xe1, 0xe2, 0xeb, 0xee];

/** DHT, JPG and DAC: between the markers of frame headers, which tell the size. */
const NO_FRAME_HEADERS = [0xc4, 0xc8, 0xcc];
/** Frame headers of lossless and hierarchical JPEGs. */
const UNUSUAL_FRAMES = [0xc3, 0xc5, 0xc6, 0xc7, 0xcb, 0xcd, 0xce, 0xcf];

/** The application segments that change how the picture looks, and the length of what does: in JFIF a thumbnail may follow. */
const JPEG_NEEDED: Record<number, [words: string, length?: number]> = {
  [APP0]: ["JFIF\0", 16],
  [APP2]: ["ICC_PROFILE\0"],
  [APP14]: ["Adobe", 14],
};

/** "ICC_PROFILE\0", which part of the profile this is, and how many there are. */
const PROFILE_HEADER_BYTES = 14;

/** ITU-T T.81: segments, scans followed by compressed data, and the end. Data after the end is removed. */
function stripJpeg(kept: KeptParts): Read | null {
  const { bytes } = kept;
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
      return hasPicture ? { orientation: orientation ?? 1, isLossless } : null;
    }
    const length = ((bytes[marker + 2] ?? 0) << 8) | (bytes[marker + 3] ?? 0);
    at = marker + 2 + length;
    if (kind < 0xc0 || kind === SOI || length < 2 || at > bytes.length) return null;
    isScan = kind === SOS;
    hasSize ||= kind >= 0xc0 && kind <= 0xcf && !NO_FRAME_HEADERS.includes(kind) && length >= 11;
    isLossless ||= UNUSUAL_FRAMES.includes(kind);
    hasPicture ||= isScan && hasSize; // sniffImage may have read the size from bytes that are not kept
    const [words, needed = length] = JPEG_NEEDED[kind] ?? [];
    if (kind < APP0 || beginsWith(bytes, marker + 4, words)) {
      if (length > needed) {
        bytes.set([0, needed], marker + 2); // its length
        if (kind === APP0) bytes.fill(0, marker + 16, marker + 18); // the thumbnail's size
      }
      const end = kept.keep(marker, marker + 2 + Math.min(length, needed));
      if (kind === APP2) profile.push([Math.min(end, end - length + 2 + PROFILE_HEADER_BYTES), end]);
    } else if (kind === APP11 && beginsWith(bytes, marker + 4, "JP")) {
      // The header of the box is repeated in each part of it but the first.
      kept.keepManifest(marker, at, marker + JUMBF_HEADER_BYTES + (bytes[marker + 11] === 1 ? 0 : 8));
    } else {
      kept.remove(marker + 4, at);
      if (kind === APP1 && beginsWith(bytes, marker + 4, "Exif\0"))
        orientation ??= readOrientation(bytes.subarray(marker + 4, at)); // the first one counts
    }
  }
}

/** A segment's marker and length, "JP", the number of the box, and that of its part in four bytes. */
const JUMBF_HEADER_BYTES = 12;

function insertJpegXmp(all: Uint8Array, xmp: string, buffer: Uint8Array): Uint8Array {
  const content = Buffer.from(`http://ns.adobe.com/xap/1.0/\0${xmp}`);
  const jfif = all[3] === APP0 ? 2 + (((all[4] ?? 0) << 8) | (all[5] ?? 0)) : 0; // is the first
  const length = content.length + 2;
  return insert(all, 2 + jfif, Buffer.concat([Uint8Array.of(0xff, APP1, length >> 8, length & 255), content]), buffer);
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
const [PNG_PROFILE, PNG_MANIFEST, PNG_TEXT] = [chunkName("iCCP"), chunkName("caBX"), chunkName("iTXt")];

/** The picture and the chunks for its colours and size. The frames of an animation are others than the picture. */
const PNG_NEEDED = new Set(
  [
    ...["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "sBIT", "sRGB", "cICP", "mDCV", "cLLI"],
    ...["bKGD", "hIST", "pHYs", "sPLT"],
  ].map(chunkName),
);

/** https://www.w3.org/TR/png-3/: a signature, then chunks of a length, a name, a content and a checksum, IEND the last. */
function stripPng(kept: KeptParts): Read | null {
  const { bytes } = kept;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  kept.keep(0, 8);
  let start = 8;
  let hasPicture = false;
  let orientation: number | undefined;
  while (start + 12 <= bytes.length) {
    const end = start + 12 + view.getUint32(start);
    const name = view.getUint32(start + 4);
    if (end > bytes.length) return null;
    if (name === PNG_PROFILE) {
      kept.isChanged = true;
      const chunk = profileChunk(bytes.subarray(start + 8, end - 4));
      if (chunk !== null) kept.put(chunk, end);
    } else if (PNG_NEEDED.has(name)) kept.keep(start, end);
    else if (name === PNG_MANIFEST) kept.keepManifest(start, end, start + 8, end - 4);
    else kept.remove(start + 8, end - 4);
    if (name === PNG_END) return hasPicture ? { orientation: orientation ?? 1 } : null;
    hasPicture ||= name === PNG_PICTURE;
    if (name === PNG_EXIF) orientation ??= readOrientation(bytes.subarray(start + 8, end - 4)); // the first one counts
    start = end;
  }
  return null;
}

/** Behind the header of the image. */
function insertPngXmp(all: Uint8Array, xmp: string, buffer: Uint8Array): Uint8Array {
  return insert(all, 33, pngChunk(PNG_TEXT, Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`)), buffer);
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

const [WEBP_EXIF, WEBP_PROFILE, WEBP_MANIFEST] = [chunkName("EXIF"), chunkName("ICCP"), chunkName("C2PA")];

/** The picture or its frames. */
const WEBP_PICTURE = new Set(["VP8 ", "VP8L", "ANMF"].map(chunkName));
/** Its size, transparency and colour profile too. */
const WEBP_NEEDED = new Set([...WEBP_PICTURE, ...["VP8X", "ALPH", "ANIM", "ICCP"].map(chunkName)]);

/** Bits of the flags in VP8X, the byte after its name and length. */
const HAS_EXIF = 0b1000;
const HAS_XMP = 0b0100;

/** https://developers.google.com/speed/webp/docs/riff_container: RIFF of chunks of a name, a length and a content. */
function stripWebp(kept: KeptParts): Read | null {
  const { bytes } = kept;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const riffEnd = 8 + view.getUint32(4, true);
  if (riffEnd > bytes.length) return null;
  const isExtended = isExtendedWebp(view);
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
    if (name === WEBP_PROFILE) {
      kept.isChanged = true;
      blankProfileNames(bytes.subarray(start + 8, end));
    }
    if (WEBP_NEEDED.has(name)) kept.keep(start, next);
    else if (name === WEBP_MANIFEST) kept.keepManifest(start, next, start + 8, end);
    else {
      kept.remove(start + 8, end);
      if (name === WEBP_EXIF && isExtended) orientation ??= readOrientation(bytes.subarray(start + 8, end));
    }
    start = next;
  }
  if (!hasPicture) return null;
  view.setUint32(4, kept.length - 8, true);
  if (isExtended) view.setUint8(20, view.getUint8(20) & ~(HAS_EXIF | HAS_XMP));
  return { orientation: orientation ?? 1 };
}

const isExtendedWebp = (view: DataView): boolean => view.getUint32(12) === chunkName("VP8X");

/** Only an extended file may have it. */
function insertWebpXmp(all: Uint8Array, xmp: string, buffer: Uint8Array): Uint8Array {
  if (!isExtendedWebp(new DataView(all.buffer, all.byteOffset, all.byteLength))) return all;
  const chunk = Buffer.from(`XMP \0\0\0\0${xmp}${xmp.length % 2 ? "\0" : ""}`);
  chunk.writeUInt32LE(xmp.length, 4);
  const whole = insert(all, all.length, chunk, buffer);
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  view.setUint32(4, whole.length - 8, true);
  view.setUint8(20, view.getUint8(20) | HAS_XMP);
  return whole;
}

/** Moves the kept parts of a buffer to its front, so that 10 MiB are not in memory twice. */
class KeptParts {
  readonly bytes: Uint8Array;
  /** Copies of the parts of its C2PA manifest. */
  readonly manifest: Uint8Array[] = [];
  /** The first that a removed part says. */
  sourceType: string | null = null;
  /** A kept part is not as it was, or cannot be judged. */
  isChanged = false;
  readonly #keepsManifest: boolean;
  #manifestRoom = 1024 * 1024; // without thumbnails, one has some kilobytes
  length = 0;
  /** The first part that had no room. */
  #late: { at: number; part: Uint8Array } | undefined;

  constructor(bytes: Uint8Array, keepsManifest: boolean) {
    this.bytes = bytes;
    this.#keepsManifest = keepsManifest;
  }

  /** Its content is in a part from `from` to `until`. */
  keepManifest(start: number, end: number, from: number, until = end): void {
    if (!this.#keepsManifest) return;
    this.#manifestRoom -= end - start;
    if (this.#manifestRoom < 0) this.isChanged = true;
    else this.manifest.push(this.bytes.slice(from, until));
    this.keep(start, end);
  }

  /** Looks at the content of a part that is not kept. */
  remove(start: number, end: number): void {
    if (end - start < MIN_SOURCE_TYPE_BYTES) return; // 10 MiB can be 2.6 million parts
    this.sourceType ??= findSourceType(this.bytes.subarray(start, end));
  }

  /** `start` must not be before the `end` of the previous call. Returns where the part now ends. */
  keep(start: number, end: number): number {
    if (start !== this.length) this.bytes.copyWithin(this.length, start, end);
    this.length += end - start;
    return this.length;
  }

  /** Writes over what came before `until` and is not kept. A longer part is inserted at the end: it may be compressed worse than it was. */
  put(part: Uint8Array, until: number): void {
    if (part.length > until - this.length) {
      this.#late ??= { at: this.length, part };
      return;
    }
    this.bytes.set(part, this.length);
    this.length += part.length;
  }

  /** Cleans a colour profile in these kept parts; the part's number is two bytes before each. */
  blankProfile(parts: [start: number, end: number][]): void {
    this.isChanged ||= parts.length > 0;
    const numberOf = ([start]: [number, number]) => this.bytes[start - 2] ?? 0;
    const pieces = parts
      .toSorted((one, other) => numberOf(one) - numberOf(other))
      .map(([start, end]) => this.bytes.subarray(start, end));
    const profile = Buffer.concat(pieces);
    blankProfileNames(profile);
    let at = 0;
    for (const piece of pieces) {
      piece.set(profile.subarray(at, at + piece.length));
      at += piece.length;
    }
  }

  get hasManifest(): boolean {
    return this.manifest.length > 0 || this.#manifestRoom < 0;
  }

  /** Nothing was removed or changed. */
  get isWhole(): boolean {
    return this.length === this.bytes.length && !this.isChanged;
  }

  /** To be read once: what had no room is inserted now. */
  takeAll(): Uint8Array {
    const all = this.bytes.subarray(0, this.length);
    return this.#late === undefined ? all : insert(all, this.#late.at, this.#late.part, this.bytes);
  }
}

/** The name of a PNG or WebP chunk (four letters) as a 32-bit number. */
function chunkName(letters: string): number {
  return [...letters].reduce((name, letter) => name * 256 + letter.charCodeAt(0), 0);
}
