import { Buffer } from "node:buffer";
import { imageDimensionsFromData } from "image-dimensions";
import { readOrientation } from "./orientation.ts";

/** The types of generated files: what browsers show, but for SVG, which runs scripts. */
export type ImageType = "image/png" | "image/jpeg" | "image/webp" | "image/gif" | "image/avif" | "image/bmp";
export type VideoType = "video/mp4" | "video/webm" | "video/x-matroska";
export type MediaType = ImageType | VideoType;

export const MEDIA_EXTENSIONS: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "video/x-matroska": "mkv",
};

export type Size = { width: number; height: number };

/**
 * Pixels, as the file is shown. For a video also its duration in seconds (null when the file does not state it) and whether it has sound;
 * both are null for an image. `note` says what is odd about a file that plays.
 */
export type MediaFacts = Size & {
  durationSeconds: number | null;
  hasAudio: boolean | null;
  note?: string;
};

/** The bytes are not a complete, readable file. The message says why. */
export class UnusableMedia extends Error {}

/** Reads a file chunk by chunk and keeps only its headers. Both methods throw UnusableMedia. */
export type MediaReader = { push(chunk: Uint8Array): void; end(): MediaFacts };

/** The number of bytes that detectMedia needs: the names of an AVIF or WebM are within them. */
export const SIGNATURE_BYTES = 64;

/** An MP4 begins with `ftyp`; a QuickTime file from before 2001 may begin with any of the others. */
const FIRST_BOXES = ["ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"];

/** The type of a file by its first bytes; null for other types. */
export function detectMedia(head: Uint8Array): MediaType | null {
  const text = latin1(head);
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("RIFF") && text.startsWith("WEBP", 8)) return "image/webp";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (/^BM.{4}\0{4}.{4}[\x28-\x7c]\0{3}/s.test(text)) return "image/bmp";
  if (text.startsWith("\x1aE\xdf\xa3")) {
    if (text.includes("matroska")) return "video/x-matroska";
    return text.includes("webm") ? "video/webm" : null;
  }
  const box = text.slice(4, 8);
  if (box === "ftyp" && /avi[fs]/.test(text.slice(8, text.charCodeAt(2) * 256 + text.charCodeAt(3))))
    return "image/avif";
  return FIRST_BOXES.includes(box) ? "video/mp4" : null;
}

const latin1 = (head: Uint8Array): string => String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));

export const isVideo = (type: MediaType): type is VideoType => type.startsWith("video/");

/** An uploaded image, of a type that models accept. */
export type Image = Size & { contentType: "image/png" | "image/jpeg" | "image/webp" };

/** The first brands of ISO/IEC 23008-12 that photos have. */
const HEIC = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"];

/** The name of an image type that is refused, by its first bytes; null for others. */
export function nameOtherImage(head: Uint8Array): string | null {
  const text = latin1(head);
  if (text.startsWith("GIF8")) return "GIF";
  if (text.startsWith("BM")) return "BMP";
  if (text.startsWith("II*\0") || text.startsWith("MM\0*")) return "TIFF";
  if (text.startsWith("\xff\x0a") || text.startsWith("JXL \r\n\x87\n", 4)) return "JPEG XL";
  const brand = text.slice(4, 8) === "ftyp" ? text.slice(8, 12) : "";
  return HEIC.includes(brand) ? "HEIC" : brand === "avif" || brand === "avis" ? "AVIF" : null;
}

const MAX_PIXELS_A_SIDE = 16_384;
const MAX_PIXELS = 100_000_000;
/** The size is nearly always within these. image-dimensions copies what it is given, so it gets all of a large file only when needed. */
const FIRST_LOOK_BYTES = 64 * 1024;

/**
 * Recognises PNG, JPEG and WebP and reads their size from the headers. Null for anything else, and for a size that is too large to decode.
 * It does not decode: a file that is cut off later passes.
 */
export function sniffImage(bytes: Uint8Array): Image | null {
  const contentType = detectMedia(bytes);
  if (contentType !== "image/png" && contentType !== "image/jpeg" && contentType !== "image/webp") return null;
  const size = readSize(contentType, bytes.subarray(0, FIRST_LOOK_BYTES)) ?? readSize(contentType, bytes);
  if (size === null || Math.max(size.width, size.height) > MAX_PIXELS_A_SIDE) return null;
  return size.width * size.height <= MAX_PIXELS ? { contentType, ...size } : null;
}

/** The C of CgBI, the first chunk of Apple's PNG for iOS, where others have IHDR. image-dimensions takes it, decoders do not. */
const IOS_PNG = 0x43;
/** Begins an extension or a picture of a GIF. */
const GIF_BLOCKS = [0x21, 0x2c];

/**
 * Null when these bytes, the first of an image, have no size that is at least 1 × 1.
 * The package image-size is not used: it takes up to 1.3 s for a hostile JPEG of 10 MiB, this one 0.02 s.
 */
function readSize(type: ImageType, bytes: Uint8Array): Size | null {
  if (type === "image/png" && bytes[12] === IOS_PNG) return null;
  if (type === "image/gif") {
    const colors = bytes[10] ?? 0; // a table of them follows when its first bit is set
    const first = bytes[13 + (colors & 0x80 ? 3 * 2 ** ((colors & 7) + 1) : 0)] ?? 0;
    if (!GIF_BLOCKS.includes(first)) return null;
  }
  const { width, height } = (type === "image/bmp" ? readBmp(bytes) : readByLibrary(bytes)) ?? { width: 0, height: 0 };
  return Math.min(width, height) >= 1 ? { width, height } : null;
}

function readByLibrary(bytes: Uint8Array): Size | undefined {
  try {
    return imageDimensionsFromData(bytes);
  } catch {
    return undefined; // an AVIF with a very long list
  }
}

/** The height is negative when the rows go from top to bottom. image-dimensions does not read this type. */
function readBmp(bytes: Uint8Array): Size | undefined {
  if (bytes.byteLength < 26) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) };
}

/** The size of an image follows metadata, which can have some megabytes. */
const MAX_HEAD_BYTES = 16 * 1024 * 1024;
/** Browsers show no image with more pixels. */
const MAX_SHOWN_PIXELS = 2 ** 29;

/**
 * Whether browsers show an image turned by a quarter, by its head up to the picture. They do not turn a WebP, nor a PNG by Exif behind
 * its picture.
 */
function isTurned(type: ImageType, head: Uint8Array): boolean {
  if (type === "image/avif") {
    const turn = /\0{3}.irot(.)/s.exec(Buffer.from(head.buffer).toString("latin1"))?.[1];
    return turn !== undefined && turn.charCodeAt(0) % 2 === 1;
  }
  const exif = type === "image/jpeg" ? findJpegExif(head) : type === "image/png" ? findPngExif(head) : null;
  return exif !== null && readOrientation(exif) >= 5;
}

function findJpegExif(head: Uint8Array): Uint8Array | null {
  const view = new DataView(head.buffer);
  for (let at = 2; at + 10 <= view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    while (at + 10 < view.byteLength && view.getUint8(at + 1) === 0xff) at++; // fills
    if (view.getUint8(at + 1) === 0xda) return null;
    const isExif = view.getUint8(at + 1) === 0xe1 && view.getUint32(at + 4) === 0x45786966; // "Exif"
    if (isExif) return head.subarray(at + 4, at + 2 + view.getUint16(at + 2));
  }
  return null;
}

function findPngExif(head: Uint8Array): Uint8Array | null {
  const view = new DataView(head.buffer);
  for (let at = 8; at + 12 <= view.byteLength; at += 12 + view.getUint32(at)) {
    if (view.getUint32(at + 4) === 0x65584966) return head.subarray(at + 8, at + 8 + view.getUint32(at)); // "eXIf"
  }
  return null;
}

/** Reads the size of an image, and checks that a PNG or WebP is complete. Keeps the file's head until the size is read. */
export function createImageReader(contentType: ImageType): MediaReader {
  const buffer = new ArrayBuffer(0, { maxByteLength: MAX_HEAD_BYTES });
  const head = new Uint8Array(buffer); // the capacity of the buffer
  let size: Size | null = null;
  /** How long the head is when it is looked at next: twice as long each time, because each look reads all of it. */
  let nextLook = SIGNATURE_BYTES;
  let tail: Uint8Array = new Uint8Array(0);
  let bytes = 0;
  /** Where a PNG ends, once that is known. */
  let pngEnd: number | undefined;

  function look(chunk: Uint8Array): void {
    const kept = head.byteLength;
    const part = chunk.subarray(0, MAX_HEAD_BYTES - kept);
    buffer.resize(kept + part.byteLength);
    head.set(part, kept);
    if (head.byteLength < nextLook) return;
    nextLook = 2 * head.byteLength;
    // Exif of a PNG stands between its size and its picture.
    if (contentType === "image/png" && Buffer.from(buffer).indexOf("IDAT") < 0) return;
    size = readSize(contentType, head);
  }

  return {
    push(chunk) {
      bytes += chunk.byteLength;
      if (size === null) look(chunk);
      if (contentType !== "image/png" || pngEnd !== undefined) return;
      const latest = Buffer.concat([tail, chunk]); // a copy: the chunk is passed on
      const at = latest.indexOf(IEND, "latin1");
      if (at >= 0) pngEnd = bytes - latest.length + at + IEND.length;
      tail = latest.subarray(-IEND.length);
    },
    end() {
      size ??= readSize(contentType, head);
      if (size === null) throw new UnusableMedia("The image's header is broken.");
      if (size.width * size.height > MAX_SHOWN_PIXELS) throw new UnusableMedia("The image is too large to be shown.");
      const isWhole = contentType === "image/png" ? pngEnd !== undefined : isNotCutOff(contentType, head, bytes);
      if (!isWhole) throw new UnusableMedia("The image is cut off.");
      const shown = isTurned(contentType, head) ? { width: size.height, height: size.width } : size;
      const facts = { ...shown, durationSeconds: null, hasAudio: null };
      return pngEnd !== undefined && pngEnd < bytes ? { ...facts, note: "bytes_after_end" } : facts;
    },
  };
}

/** The last chunk of a PNG, always the same. Some programs write after it, which decoders do not read. */
const IEND = "IEND\xae\x42\x60\x82";

/** Only a WebP is checked. Browsers show other types even when cut off, and some encoders write after the end. */
function isNotCutOff(contentType: string, head: Uint8Array, bytes: number): boolean {
  if (contentType !== "image/webp") return true;
  const view = new DataView(head.buffer);
  const end = view.getUint32(4, true) + 8;
  return end <= bytes && view.getUint32(16, true) + 20 <= end; // of the first chunk, usually the picture
}

/** Longer than any model's video. A file that states more is damaged, and would be billed by the second. */
const MAX_SECONDS = 24 * 3600;

/** The first plausible length of a video; null with a note when there is none. */
export function chooseDuration(...said: number[]): Pick<MediaFacts, "durationSeconds" | "note"> {
  const durationSeconds = said.find((seconds) => seconds > 0 && seconds <= MAX_SECONDS) ?? null;
  const isOdd = durationSeconds === null || said.some((seconds) => seconds > MAX_SECONDS);
  return { durationSeconds, ...(isOdd && { note: "odd_duration" }) };
}

/** The largest side that a track's header can state. */
const MAX_SIDE = 65_535;

/** The size as it is shown: pixels whose width is `ratio` times their height are widened or heightened, as players do. Null: none. */
export function shownSize(coded: Size, ratio: number): Size | null {
  const longest = Math.max(coded.width * ratio, coded.height / ratio);
  const fitting = longest <= MAX_SIDE ? ratio : 1; // NaN too
  const width = Math.round(coded.width * Math.max(1, fitting));
  const height = Math.round(coded.height / Math.min(1, fitting));
  return width > 0 && height > 0 ? { width, height } : null;
}
