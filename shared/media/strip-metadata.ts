import { Buffer } from "node:buffer";
import { deflateSync, inflateSync } from "node:zlib";
import { readOrientation } from "./exif.ts";
import { blankIccNames } from "./icc-profile.ts";
import type { Image } from "./image-reader.ts";
import { findSourceType, isPlainManifest, MIN_SOURCE_TYPE_BYTES, sourceTypeXmp } from "./provenance.ts";

/** `isLossless`: a lossless or hierarchical JPEG, which browsers and models do not decode. */
type Stripped = { bytes: Uint8Array; orientation: number; isLossless?: boolean };
type Read = Omit<Stripped, "bytes">;

const STRIP = { "image/jpeg": stripJpeg, "image/png": stripPng, "image/webp": stripWebp };
const INSERT_XMP = { "image/jpeg": insertJpegXmp, "image/png": insertPngXmp, "image/webp": insertWebpXmp };

/**
 * Removes everything that does not change how an image looks: Exif with its location, XMP, IPTC, comments, thumbnails, the frames of an
 * animated PNG, and data after the end, such as the video of a motion photo. The compressed image data does not change, and the ICC profile
 * loses only its names. A statement that AI made the image stays: the C2PA manifest if nothing else is removed, so that its hashes still
 * match, and otherwise only the DigitalSourceType.
 *
 * Takes bytes that sniffImage has recognised, works in place, and returns a part of them, with the Exif orientation, 1 to 8.
 * Null if the length of a segment or chunk is wrong, or if the image data is missing or cut off.
 */
export function stripMetadata(bytes: Uint8Array, contentType: Image["contentType"]): Stripped | null {
  const whole = new KeptParts(bytes, true);
  const read = STRIP[contentType](whole);
  if (read === null) return null;
  const manifest = Buffer.concat(whole.manifest);
  if (whole.isWhole && isPlainManifest(manifest)) return { ...read, bytes };
  let all = whole.finish();
  if (whole.hasManifest) {
    const without = new KeptParts(all, false);
    STRIP[contentType](without);
    all = without.finish();
  }
  const sourceType = findSourceType(manifest) ?? whole.sourceType;
  if (sourceType !== null) all = INSERT_XMP[contentType](all, sourceTypeXmp(sourceType), bytes);
  return { ...read, bytes: all };
}

/** Inserts in `buffer`, which starts with `all`, if there is space; else in a new buffer. */
function insert(all: Uint8Array, at: number, part: Uint8Array, buffer: Uint8Array): Uint8Array {
  const length = all.length + part.length;
  const target = length <= buffer.length ? buffer : new Uint8Array(length);
  if (target !== buffer) target.set(all);
  target.copyWithin(at + part.length, at, all.length);
  target.set(part, at);
  return target.subarray(0, length);
}

const [SOI, EOI, SOS, APP0, APP1, APP2, APP11, APP14] = [0xd8, 0xd9, 0xda, 0xe0, 0xe1, 0xe2, 0xeb, 0xee];

/** DHT, JPG and DAC, whose markers are between those of frame headers (SOF0 to SOF15), which have the size. */
const NOT_SOF = [0xc4, 0xc8, 0xcc];
/** Frame headers of lossless and hierarchical JPEGs (ITU-T T.81, table B.1). */
const LOSSLESS_SOF = [0xc3, 0xc5, 0xc6, 0xc7, 0xcb, 0xcd, 0xce, 0xcf];

/** The APPn segments that change how the image looks, by identifier. The length is what is kept, because in JFIF a thumbnail may follow. */
const KEPT_APP_SEGMENTS: Record<number, [identifier: string, length?: number]> = {
  [APP0]: ["JFIF\0", 16],
  [APP2]: ["ICC_PROFILE\0"],
  [APP14]: ["Adobe", 14],
};

/** The header of a profile's chunk: "ICC_PROFILE\0", its sequence number, the number of chunks. */
const ICC_CHUNK_HEADER_BYTES = 14;

/** ITU-T T.81, annex B: marker segments, entropy-coded segments after each SOS, and EOI. Data after EOI is removed. */
function stripJpeg(kept: KeptParts): Read | null {
  const { bytes } = kept;
  kept.keep(0, 2);
  let at = 2;
  let isScan = false;
  let hasFrameHeader = false;
  let hasScan = false;
  let orientation: number | undefined;
  let isLossless = false;
  const iccChunks: [start: number, end: number][] = [];
  for (;;) {
    const marker = findMarker(bytes, at);
    // Decoders read entropy-coded data only after a scan header.
    if (isScan) kept.keep(at, marker);
    const code = bytes[marker + 1];
    if (code === undefined) return null;
    if (code === EOI) {
      kept.keep(marker, marker + 2);
      kept.blankProfile(iccChunks);
      return hasScan ? { orientation: orientation ?? 1, isLossless } : null;
    }
    const length = ((bytes[marker + 2] ?? 0) << 8) | (bytes[marker + 3] ?? 0);
    at = marker + 2 + length;
    if (code < 0xc0 || code === SOI || length < 2 || at > bytes.length) return null;
    isScan = code === SOS;
    hasFrameHeader ||= code >= 0xc0 && code <= 0xcf && !NOT_SOF.includes(code) && length >= 11;
    isLossless ||= LOSSLESS_SOF.includes(code);
    hasScan ||= isScan && hasFrameHeader; // sniffImage may have read the size from bytes that are not kept
    const [identifier, keptLength = length] = KEPT_APP_SEGMENTS[code] ?? [];
    if (code < APP0 || beginsWith(bytes, marker + 4, identifier)) {
      if (length > keptLength) {
        bytes.set([0, keptLength], marker + 2); // the segment's new length
        if (code === APP0) bytes.fill(0, marker + 16, marker + 18); // Xthumbnail, Ythumbnail
      }
      const end = kept.keep(marker, marker + 2 + Math.min(length, keptLength));
      if (code === APP2) iccChunks.push([Math.min(end, end - length + 2 + ICC_CHUNK_HEADER_BYTES), end]);
    } else if (code === APP11 && beginsWith(bytes, marker + 4, "JP")) {
      // Each packet after the first repeats the header of the box, LBox and TBox.
      kept.keepManifest(marker, at, marker + JUMBF_HEADER_BYTES + (bytes[marker + 11] === 1 ? 0 : 8));
    } else {
      kept.remove(marker + 4, at);
      if (code === APP1 && beginsWith(bytes, marker + 4, "Exif\0"))
        orientation ??= readOrientation(bytes.subarray(marker + 4, at)); // the first one counts
    }
  }
}

/** Marker, length, "JP", box instance number (2 bytes), packet sequence number (4 bytes): JPEG XT, ISO/IEC 18477-3. */
const JUMBF_HEADER_BYTES = 12;

function insertJpegXmp(all: Uint8Array, xmp: string, buffer: Uint8Array): Uint8Array {
  const content = Buffer.from(`http://ns.adobe.com/xap/1.0/\0${xmp}`);
  const jfif = all[3] === APP0 ? 2 + (((all[4] ?? 0) << 8) | (all[5] ?? 0)) : 0; // JFIF is the first segment
  const length = content.length + 2;
  return insert(all, 2 + jfif, Buffer.concat([Uint8Array.of(0xff, APP1, length >> 8, length & 255), content]), buffer);
}

/** The position of the next marker that ends entropy-coded data: 0xFF 0x00 is a stuffed byte, 0xD0 to 0xD7 are restart markers (RSTm). */
function findMarker(bytes: Uint8Array, from: number): number {
  for (let at = from; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const code = bytes[at + 1] ?? 0;
    const isInScan = code === 0 || (code >= 0xd0 && code <= 0xd7);
    if (!isInScan && code !== 0xff) return at; // 0xFF before 0xFF is a fill byte
  }
  return bytes.length;
}

function beginsWith(bytes: Uint8Array, at: number, identifier = ""): boolean {
  for (let index = 0; index < identifier.length; index++) {
    if (bytes[at + index] !== identifier.charCodeAt(index)) return false;
  }
  return identifier !== "";
}

const [PNG_EXIF, IDAT, IEND] = [chunkType("eXIf"), chunkType("IDAT"), chunkType("IEND")];
const [PNG_ICC_PROFILE, PNG_MANIFEST, ITXT] = [chunkType("iCCP"), chunkType("caBX"), chunkType("iTXt")];

/** The chunks of the static image, its size and its colours; not those of an animation (acTL, fcTL, fdAT). */
const KEPT_PNG_CHUNKS = new Set(
  [
    ...["IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "sBIT", "sRGB", "cICP", "mDCV", "cLLI"],
    ...["bKGD", "hIST", "pHYs", "sPLT"],
  ].map(chunkType),
);

/** PNG (https://www.w3.org/TR/png-3/, 5.2 and 5.3): the signature, then chunks of length, type, data and CRC; IEND is the last. */
function stripPng(kept: KeptParts): Read | null {
  const { bytes } = kept;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  kept.keep(0, 8);
  let start = 8;
  let hasImageData = false;
  let orientation: number | undefined;
  while (start + 12 <= bytes.length) {
    const end = start + 12 + view.getUint32(start);
    const type = view.getUint32(start + 4);
    if (end > bytes.length) return null;
    if (type === PNG_ICC_PROFILE) {
      kept.isChanged = true;
      const chunk = blankedIccChunk(bytes.subarray(start + 8, end - 4));
      if (chunk !== null) kept.put(chunk, end);
    } else if (KEPT_PNG_CHUNKS.has(type)) kept.keep(start, end);
    else if (type === PNG_MANIFEST) kept.keepManifest(start, end, start + 8, end - 4);
    else kept.remove(start + 8, end - 4);
    if (type === IEND) return hasImageData ? { orientation: orientation ?? 1 } : null;
    hasImageData ||= type === IDAT;
    if (type === PNG_EXIF) orientation ??= readOrientation(bytes.subarray(start + 8, end - 4)); // the first one counts
    start = end;
  }
  return null;
}

/** Inserts after the signature and IHDR, which have 33 bytes. */
function insertPngXmp(all: Uint8Array, xmp: string, buffer: Uint8Array): Uint8Array {
  return insert(all, 33, pngChunk(ITXT, Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`)), buffer);
}

/** Most profiles have some kilobytes; those of printers have two megabytes. */
const MAX_ICC_PROFILE_BYTES = 4 * 1024 * 1024;
/** The start of `iCCP`: profile name, null separator, compression method 0. */
const ICCP_HEADER = new TextEncoder().encode("icc\0\0");

/** The `iCCP` chunk with the names blanked; null if its profile cannot be decompressed. */
function blankedIccChunk(data: Uint8Array): Uint8Array | null {
  try {
    const profile = inflateSync(data.subarray(data.indexOf(0) + 2), { maxOutputLength: MAX_ICC_PROFILE_BYTES });
    blankIccNames(profile);
    return pngChunk(PNG_ICC_PROFILE, Buffer.concat([ICCP_HEADER, deflateSync(profile, { level: 9 })]));
  } catch {
    return null;
  }
}

function pngChunk(type: number, data: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(12 + data.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length);
  view.setUint32(4, type);
  chunk.set(data, 8);
  view.setUint32(8 + data.length, crc32(chunk.subarray(4, 8 + data.length)));
  return chunk;
}

/** node:zlib has crc32 too, but it throws on the hosted platform's Deno 2.1. */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

const [WEBP_EXIF, WEBP_ICC_PROFILE, WEBP_MANIFEST] = [chunkType("EXIF"), chunkType("ICCP"), chunkType("C2PA")];

/** Lossy and lossless image data, and the frames of an animation. */
const WEBP_IMAGE_DATA = new Set(["VP8 ", "VP8L", "ANMF"].map(chunkType));
/** The image data, the size, the alpha channel, the parameters of an animation and the ICC profile. */
const KEPT_WEBP_CHUNKS = new Set([...WEBP_IMAGE_DATA, ...["VP8X", "ALPH", "ANIM", "ICCP"].map(chunkType)]);

/** Flags of VP8X, in the first byte after the chunk header. */
const HAS_EXIF = 0b1000;
const HAS_XMP = 0b0100;

/** WebP (RFC 9649, section 2): RIFF chunks of FourCC, size and payload. */
function stripWebp(kept: KeptParts): Read | null {
  const { bytes } = kept;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const riffEnd = 8 + view.getUint32(4, true);
  if (riffEnd > bytes.length) return null;
  const isExtended = isExtendedWebp(view);
  kept.keep(0, 12);
  let start = 12;
  let hasImageData = false;
  let orientation: number | undefined;
  while (start + 8 <= riffEnd) {
    const fourCc = view.getUint32(start);
    const end = start + 8 + view.getUint32(start + 4, true);
    if (end > riffEnd) return null;
    const next = Math.min(end + (end & 1), riffEnd); // chunks are padded to an even length
    hasImageData ||= WEBP_IMAGE_DATA.has(fourCc);
    if (fourCc === WEBP_ICC_PROFILE) {
      kept.isChanged = true;
      blankIccNames(bytes.subarray(start + 8, end));
    }
    if (KEPT_WEBP_CHUNKS.has(fourCc)) kept.keep(start, next);
    else if (fourCc === WEBP_MANIFEST) kept.keepManifest(start, next, start + 8, end);
    else {
      kept.remove(start + 8, end);
      if (fourCc === WEBP_EXIF && isExtended) orientation ??= readOrientation(bytes.subarray(start + 8, end));
    }
    start = next;
  }
  if (!hasImageData) return null;
  view.setUint32(4, kept.length - 8, true);
  if (isExtended) view.setUint8(20, view.getUint8(20) & ~(HAS_EXIF | HAS_XMP));
  return { orientation: orientation ?? 1 };
}

const isExtendedWebp = (view: DataView): boolean => view.getUint32(12) === chunkType("VP8X");

/** Only the extended format may have XMP. */
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
  /** Copies of the parts of the C2PA manifest store. */
  readonly manifest: Uint8Array[] = [];
  /** The first DigitalSourceType of a removed part. */
  sourceType: string | null = null;
  /** True if a kept part was changed, or the manifest is too large to be checked. */
  isChanged = false;
  readonly #keepsManifest: boolean;
  #manifestBytesLeft = 1024 * 1024; // without thumbnails, one has some kilobytes
  length = 0;
  /** The first part that did not fit in place. */
  #late: { at: number; part: Uint8Array } | undefined;

  constructor(bytes: Uint8Array, keepsManifest: boolean) {
    this.bytes = bytes;
    this.#keepsManifest = keepsManifest;
  }

  /** Keeps a part whose content, from `from` to `until`, belongs to the manifest store. */
  keepManifest(start: number, end: number, from: number, until = end): void {
    if (!this.#keepsManifest) return;
    this.#manifestBytesLeft -= end - start;
    if (this.#manifestBytesLeft < 0) this.isChanged = true;
    else this.manifest.push(this.bytes.slice(from, until));
    this.keep(start, end);
  }

  /** Reads the DigitalSourceType of a part that is not kept. */
  remove(start: number, end: number): void {
    if (end - start < MIN_SOURCE_TYPE_BYTES) return; // 10 MiB can be 2.6 million parts
    this.sourceType ??= findSourceType(this.bytes.subarray(start, end));
  }

  /** `start` must not be before the `end` of the previous call. Returns the new end of the part. */
  keep(start: number, end: number): number {
    if (start !== this.length) this.bytes.copyWithin(this.length, start, end);
    this.length += end - start;
    return this.length;
  }

  /** Replaces what precedes `until` and is not kept. A longer part, which zlib compressed less than the original, is inserted at the end. */
  put(part: Uint8Array, until: number): void {
    if (part.length > until - this.length) {
      this.#late ??= { at: this.length, part };
      return;
    }
    this.bytes.set(part, this.length);
    this.length += part.length;
  }

  /** Blanks the names of the ICC profile in these kept chunks. The sequence number is two bytes before each chunk. */
  blankProfile(chunks: [start: number, end: number][]): void {
    this.isChanged ||= chunks.length > 0;
    const sequenceNumber = ([start]: [number, number]) => this.bytes[start - 2] ?? 0;
    const pieces = chunks
      .toSorted((one, other) => sequenceNumber(one) - sequenceNumber(other))
      .map(([start, end]) => this.bytes.subarray(start, end));
    const profile = Buffer.concat(pieces);
    blankIccNames(profile);
    let at = 0;
    for (const piece of pieces) {
      piece.set(profile.subarray(at, at + piece.length));
      at += piece.length;
    }
  }

  get hasManifest(): boolean {
    return this.manifest.length > 0 || this.#manifestBytesLeft < 0;
  }

  /** True if nothing was removed or changed. */
  get isWhole(): boolean {
    return this.length === this.bytes.length && !this.isChanged;
  }

  /** Call this once: it inserts the part that did not fit. */
  finish(): Uint8Array {
    const all = this.bytes.subarray(0, this.length);
    return this.#late === undefined ? all : insert(all, this.#late.at, this.#late.part, this.bytes);
  }
}

/** The chunk type of PNG, or the FourCC of WebP, as a big-endian 32-bit number. */
function chunkType(letters: string): number {
  return [...letters].reduce((type, letter) => type * 256 + letter.charCodeAt(0), 0);
}
