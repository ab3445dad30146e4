import { Buffer } from "node:buffer";
import { imageDimensionsFromData } from "image-dimensions";
import { readAvifSize } from "./avif-reader.ts";
import { findJpegExif, readOrientation } from "./exif.ts";
import {
  detectMedia,
  type ImageType,
  type MediaReader,
  SIGNATURE_BYTES,
  signatureText,
  type Size,
  UNKNOWN,
  UnusableMedia,
} from "./media.ts";

/** An uploaded image, of a type that models accept. */
export type Image = Size & { contentType: "image/png" | "image/jpeg" | "image/webp" };

/** The major brands of photos (ISO/IEC 23008-12). */
const HEIC_BRANDS = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"];

/** The name of an image type that is refused, by its first bytes; null for others. */
export function nameOtherImage(head: Uint8Array): string | null {
  const text = signatureText(head);
  if (text.startsWith("GIF8")) return "GIF";
  if (text.startsWith("BM")) return "BMP";
  if (text.startsWith("II*\0") || text.startsWith("MM\0*")) return "TIFF";
  if (text.startsWith("\xff\x0a") || text.startsWith("JXL \r\n\x87\n", 4)) return "JPEG XL";
  const brand = text.slice(4, 8) === "ftyp" ? text.slice(8, 12) : "";
  return HEIC_BRANDS.includes(brand) ? "HEIC" : brand === "avif" || brand === "avis" ? "AVIF" : null;
}

const MAX_PIXELS_PER_SIDE = 16_384;
const MAX_PIXELS = 100_000_000;
/** The size is nearly always within these bytes. image-dimensions copies its input, so it gets all of a large file only when needed. */
const FIRST_LOOK_BYTES = 64 * 1024;

/**
 * Recognises PNG, JPEG and WebP and reads their size from IHDR, SOFn or the first WebP chunk. Null for anything else, and for a size that is
 * too large to decode. It does not decode: a file that is cut off later passes.
 */
export function sniffImage(bytes: Uint8Array): Image | null {
  const contentType = detectMedia(bytes);
  if (contentType !== "image/png" && contentType !== "image/jpeg" && contentType !== "image/webp") return null;
  const size = readSize(contentType, bytes.subarray(0, FIRST_LOOK_BYTES)) ?? readSize(contentType, bytes);
  if (size === null || Math.max(size.width, size.height) > MAX_PIXELS_PER_SIDE) return null;
  return size.width * size.height <= MAX_PIXELS ? { contentType, ...size } : null;
}

/** The C of CgBI, the first chunk of Apple's PNG for iOS, in place of IHDR. image-dimensions reads it, decoders do not. */
const CGBI_C = 0x43;

/**
 * Reads the size from the first bytes of an image; null if they state no size of at least 1 × 1.
 * The package image-size is not used: it takes up to 1.3 s for a hostile JPEG of 10 MiB, image-dimensions 0.02 s.
 */
function readSize(type: ImageType, bytes: Uint8Array): Size | null {
  if (type === "image/png" && bytes[12] === CGBI_C) return null;
  const read = OWN_READERS[type] ?? imageDimensionsFromData;
  const { width, height } = read(bytes) ?? { width: 0, height: 0 };
  return Math.min(width, height) >= 1 ? { width, height } : null;
}

/** The formats that image-dimensions does not read, or whose size it reads differently from browsers. */
const OWN_READERS: Partial<Record<ImageType, (bytes: Uint8Array) => Size | null>> = {
  "image/gif": readGif,
  "image/bmp": readBmp,
  "image/avif": readAvifSize,
};

const [EXTENSION_INTRODUCER, IMAGE_SEPARATOR, TRAILER] = [0x21, 0x2c, 0x3b];

/** Reads GIF89a: the union of the logical screen and of the first image, which may extend beyond the screen. */
function readGif(bytes: Uint8Array): Size | null {
  const flags = bytes[10] ?? 0; // Global Color Table Flag, Size of Global Color Table
  let at = 13 + (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  while (bytes[at] === EXTENSION_INTRODUCER) {
    at += 2; // to the first data sub-block
    for (let blockSize = bytes[at] ?? 0; blockSize > 0; blockSize = bytes[at] ?? 0) at += 1 + blockSize;
    at += 1; // the block terminator
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (bytes[at] === TRAILER) return { width: view.getUint16(6, true), height: view.getUint16(8, true) }; // no image
  if (bytes[at] !== IMAGE_SEPARATOR || at + 9 > bytes.byteLength) return null;
  const side = (screenAt: number, positionAt: number, imageAt: number) =>
    Math.max(view.getUint16(screenAt, true), view.getUint16(positionAt, true) + view.getUint16(imageAt, true));
  return { width: side(6, at + 1, at + 5), height: side(8, at + 3, at + 7) };
}

/** The size of a BITMAPCOREHEADER, whose width and height have 16 bits. */
const CORE_HEADER_SIZE = 12;

/** A BMP's height is negative if the rows go from top to bottom. */
function readBmp(bytes: Uint8Array): Size | null {
  if (bytes.byteLength < 26) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (bytes[14] === CORE_HEADER_SIZE) return { width: view.getUint16(18, true), height: view.getUint16(20, true) };
  return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) };
}

/** In a JPEG, the size (SOFn) follows the metadata, which can have some megabytes. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;
/** In an AVIF, the size is in `meta` or `moov`, and Exif and XMP are items elsewhere. */
const MAX_AVIF_HEAD_BYTES = 512 * 1024;
/** Browsers show no image with more pixels. */
const MAX_SHOWN_PIXELS = 2 ** 29;

/**
 * Whether browsers rotate an image by 90° or 270° because of its Exif. They ignore the Exif of a WebP, and an `eXIf` after a PNG's IDAT.
 */
function isQuarterTurn(type: ImageType, head: Uint8Array): boolean {
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

/** Reads the size of an image. Keeps the first part of the file (`head`) until the size is read. */
export function createImageReader(contentType: ImageType): MediaReader {
  const maxBytes = contentType === "image/avif" ? MAX_AVIF_HEAD_BYTES : MAX_HEAD_BYTES;
  const buffer = new ArrayBuffer(0, { maxByteLength: maxBytes });
  const head = new Uint8Array(buffer); // grows with the buffer
  let size: Size | null = null;
  /** The length of `head` at which it is parsed again. The length doubles each time, because each time all of `head` is parsed. */
  let nextParseBytes = SIGNATURE_BYTES;
  let tail: Uint8Array = new Uint8Array(0);
  let bytes = 0;

  /** In a PNG, `eXIf` is between IHDR and the first IDAT. */
  const hasImageData = () => contentType !== "image/png" || Buffer.from(buffer).includes("IDAT");

  function extendHead(chunk: Uint8Array): void {
    const kept = head.byteLength;
    const part = chunk.subarray(0, maxBytes - kept);
    buffer.resize(kept + part.byteLength);
    head.set(part, kept);
    if (head.byteLength < nextParseBytes) return;
    nextParseBytes = 2 * head.byteLength;
    if (hasImageData()) size = readSize(contentType, head);
  }

  return {
    push(chunk) {
      bytes += chunk.byteLength;
      if (size === null && head.byteLength < maxBytes) extendHead(chunk);
      tail = Buffer.concat([tail, chunk.subarray(-IEND.length)]).subarray(-IEND.length); // a copy: the chunk is passed on
    },
    end() {
      size ??= readSize(contentType, head);
      if (size !== null && !hasImageData() && bytes <= maxBytes) throw new UnusableMedia("The image is cut off.");
      if (size === null && bytes > maxBytes) return { ...UNKNOWN, note: "header_too_large" };
      if (size === null) throw new UnusableMedia("The image's header is broken.");
      if (size.width * size.height > MAX_SHOWN_PIXELS) throw new UnusableMedia("The image is too large to be shown.");
      const shown = isQuarterTurn(contentType, head) ? { width: size.height, height: size.width } : size;
      const note = endsOddly(contentType, head, bytes, tail) ? { note: "odd_end" } : {};
      return { ...UNKNOWN, ...shown, ...note };
    },
  };
}

/** The type and CRC of a PNG's last chunk, which is empty. */
const IEND = "IEND\xae\x42\x60\x82";

/** Whether a PNG or WebP is cut off, or continues after its end. Browsers show it in both cases. Other formats do not state their end. */
function endsOddly(contentType: ImageType, head: Uint8Array, bytes: number, tail: Uint8Array): boolean {
  if (contentType === "image/png") return Buffer.from(tail).toString("latin1") !== IEND;
  return contentType === "image/webp" && new DataView(head.buffer).getUint32(4, true) + 8 !== bytes;
}
