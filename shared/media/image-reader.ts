import { Buffer } from "node:buffer";
import { imageDimensionsFromData } from "image-dimensions";
import { readAvifSize } from "./avif-reader.ts";
import {
  detectMedia,
  firstLetters,
  type ImageType,
  type MediaReader,
  SIGNATURE_BYTES,
  type Size,
  UNKNOWN,
  UnusableMedia,
} from "./media.ts";
import { findJpegExif, readOrientation } from "./orientation.ts";

/** An uploaded image, of a type that models accept. */
export type Image = Size & { contentType: "image/png" | "image/jpeg" | "image/webp" };

/** The first brands of ISO/IEC 23008-12 that photos have. */
const HEIC = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"];

/** The name of an image type that is refused, by its first bytes; null for others. */
export function nameOtherImage(head: Uint8Array): string | null {
  const text = firstLetters(head);
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

/**
 * Null when these bytes, the first of an image, have no size that is at least 1 × 1.
 * The package image-size is not used: it takes up to 1.3 s for a hostile JPEG of 10 MiB, this one 0.02 s.
 */
function readSize(type: ImageType, bytes: Uint8Array): Size | null {
  if (type === "image/png" && bytes[12] === IOS_PNG) return null;
  const read = OWN_READERS[type] ?? imageDimensionsFromData;
  const { width, height } = read(bytes) ?? { width: 0, height: 0 };
  return Math.min(width, height) >= 1 ? { width, height } : null;
}

/** What image-dimensions does not read, or other than browsers show it. */
const OWN_READERS: Partial<Record<ImageType, (bytes: Uint8Array) => Size | null>> = {
  "image/gif": readGif,
  "image/bmp": readBmp,
  "image/avif": readAvifSize,
};

/** A GIF is as large as its screen and its first picture together: that may stand out of it. */
function readGif(bytes: Uint8Array): Size | null {
  const colors = bytes[10] ?? 0; // a table of them follows when its first bit is set
  let at = 13 + (colors & 0x80 ? 3 * 2 ** ((colors & 7) + 1) : 0);
  while (bytes[at] === 0x21) {
    at += 2; // an extension, and its kind
    for (let length = bytes[at] ?? 0; length > 0; length = bytes[at] ?? 0) at += 1 + length;
    at += 1;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (bytes[at] === 0x3b) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }; // its end: no picture
  if (bytes[at] !== 0x2c || at + 9 > bytes.byteLength) return null;
  const side = (screen: number, offset: number, picture: number) =>
    Math.max(view.getUint16(screen, true), view.getUint16(offset, true) + view.getUint16(picture, true));
  return { width: side(6, at + 1, at + 5), height: side(8, at + 3, at + 7) };
}

const OS2_HEADER_BYTES = 12;

/** The height is negative when the rows go from top to bottom. */
function readBmp(bytes: Uint8Array): Size | null {
  if (bytes.byteLength < 26) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (bytes[14] === OS2_HEADER_BYTES) return { width: view.getUint16(18, true), height: view.getUint16(20, true) };
  return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) };
}

/** The size of an image follows metadata, which can have some megabytes. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;
/** An AVIF has its metadata elsewhere. */
const MAX_AVIF_HEAD_BYTES = 512 * 1024;
/** Browsers show no image with more pixels. */
const MAX_SHOWN_PIXELS = 2 ** 29;

/**
 * Whether Exif turns an image by a quarter, by its head up to the picture. Browsers do not turn a WebP, nor a PNG by Exif behind its picture.
 */
function isTurned(type: ImageType, head: Uint8Array): boolean {
  const exif = type === "image/jpeg" ? findJpegExif(head) : type === "image/png" ? findPngExif(head) : null;
  return exif !== null && readOrientation(exif) >= 5;
}

function findPngExif(head: Uint8Array): Uint8Array | null {
  const view = new DataView(head.buffer);
  for (let at = 8; at + 12 <= view.byteLength; at += 12 + view.getUint32(at)) {
    if (view.getUint32(at + 4) === 0x65584966) return head.subarray(at + 8, at + 8 + view.getUint32(at)); // "eXIf"
  }
  return null;
}

/** Reads the size of an image. Keeps the file's head until the size is read. */
export function createImageReader(contentType: ImageType): MediaReader {
  const maxBytes = contentType === "image/avif" ? MAX_AVIF_HEAD_BYTES : MAX_HEAD_BYTES;
  const buffer = new ArrayBuffer(0, { maxByteLength: maxBytes });
  const head = new Uint8Array(buffer); // the capacity of the buffer
  let size: Size | null = null;
  /** How long the head is when it is looked at next: twice as long each time, because each look reads all of it. */
  let nextLook = SIGNATURE_BYTES;
  let tail: Uint8Array = new Uint8Array(0);
  let bytes = 0;

  /** Exif of a PNG stands between its size and its picture. */
  const hasPicture = () => contentType !== "image/png" || Buffer.from(buffer).includes("IDAT");

  function look(chunk: Uint8Array): void {
    const kept = head.byteLength;
    const part = chunk.subarray(0, maxBytes - kept);
    buffer.resize(kept + part.byteLength);
    head.set(part, kept);
    if (head.byteLength < nextLook) return;
    nextLook = 2 * head.byteLength;
    if (hasPicture()) size = readSize(contentType, head);
  }

  return {
    push(chunk) {
      bytes += chunk.byteLength;
      if (size === null && head.byteLength < maxBytes) look(chunk);
      tail = Buffer.concat([tail, chunk.subarray(-IEND.length)]).subarray(-IEND.length); // a copy: the chunk is passed on
    },
    end() {
      size ??= readSize(contentType, head);
      if (size !== null && !hasPicture() && bytes <= maxBytes) throw new UnusableMedia("The image is cut off.");
      if (size === null && bytes > maxBytes) return { ...UNKNOWN, note: "header_too_large" };
      if (size === null) throw new UnusableMedia("The image's header is broken.");
      if (size.width * size.height > MAX_SHOWN_PIXELS) throw new UnusableMedia("The image is too large to be shown.");
      const shown = isTurned(contentType, head) ? { width: size.height, height: size.width } : size;
      const note = endsOddly(contentType, head, bytes, tail) ? { note: "odd_end" } : {};
      return { ...UNKNOWN, ...shown, ...note };
    },
  };
}

/** The last chunk of a PNG, always the same. */
const IEND = "IEND\xae\x42\x60\x82";

/** Whether a PNG or WebP is cut off or goes on behind its end. Browsers show it in both cases; others do not tell their end. */
function endsOddly(contentType: ImageType, head: Uint8Array, bytes: number, tail: Uint8Array): boolean {
  if (contentType === "image/png") return Buffer.from(tail).toString("latin1") !== IEND;
  return contentType === "image/webp" && new DataView(head.buffer).getUint32(4, true) + 8 !== bytes;
}
