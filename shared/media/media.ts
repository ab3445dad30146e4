import { Buffer } from "node:buffer";
import { imageDimensionsFromData } from "image-dimensions";

/** The types of generated files. */
export type MediaType = "image/png" | "image/jpeg" | "image/webp" | "video/mp4";

export const MEDIA_EXTENSIONS: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
};

/**
 * Pixels, as the file is shown. The duration in seconds and whether there is a sound track: of a video, null for an image. `note` says
 * what is odd about a file that plays.
 */
export type MediaFacts = {
  width: number;
  height: number;
  durationSeconds: number | null;
  hasAudio: boolean | null;
  note?: string;
};

/** The bytes are not a complete, readable file. The message says why. */
export class UnusableMedia extends Error {}

/** Reads a file chunk by chunk and keeps only its headers. Both methods throw UnusableMedia. */
export type MediaReader = { push(chunk: Uint8Array): void; end(): MediaFacts };

/** The number of bytes that detectMedia needs. */
export const SIGNATURE_BYTES = 12;

/** The type of a file by its first bytes; null for other types. */
export function detectMedia(head: Uint8Array): MediaType | null {
  const text = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return "image/webp";
  return text.slice(4, 8) === "ftyp" ? "video/mp4" : null;
}

/** The facts about an image in its bytes. */
export type Image = { contentType: Exclude<MediaType, "video/mp4">; width: number; height: number };

/** The first brands of ISO/IEC 23008-12 that photos have. */
const HEIC = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"];

/** The name of a kind of image that is not taken, by its first bytes; null for others. */
export function nameOtherImage(head: Uint8Array): string | null {
  const text = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  if (text.startsWith("GIF8")) return "GIF";
  if (text.startsWith("BM")) return "BMP";
  if (text.startsWith("II*\0") || text.startsWith("MM\0*")) return "TIFF";
  if (text.startsWith("\xff\x0a") || text.slice(4) === "JXL \r\n\x87\n") return "JPEG XL";
  const brand = text.slice(4, 8) === "ftyp" ? text.slice(8) : "";
  return HEIC.includes(brand) ? "HEIC" : brand === "avif" || brand === "avis" ? "AVIF" : null;
}

const MAX_PIXELS_A_SIDE = 16_384;
const MAX_PIXELS = 100_000_000;
/** The size is nearly always within these. image-dimensions copies what it is given, so it gets all of a large file only when needed. */
const FIRST_LOOK_BYTES = 64 * 1024;

/**
 * Recognises PNG, JPEG and WebP and reads their size from the headers. Null for anything else, and for a size that is too large to decode.
 * It does not decode: a file that is cut off later passes.
 * The package image-size is not used: it takes up to 1.3 s for a hostile JPEG of 10 MiB, this one 0.02 s.
 */
export function sniffImage(bytes: Uint8Array): Image | null {
  const contentType = detectMedia(bytes);
  if (contentType === null || contentType === "video/mp4") return null;
  if (contentType === "image/png" && bytes[12] === IOS_PNG) return null;
  const { width, height } =
    imageDimensionsFromData(bytes.subarray(0, FIRST_LOOK_BYTES)) ?? imageDimensionsFromData(bytes) ?? NO_SIZE;
  const fits = Math.max(width, height) <= MAX_PIXELS_A_SIDE && width * height <= MAX_PIXELS;
  return Math.min(width, height) >= 1 && fits ? { contentType, width, height } : null;
}

/** The C of CgBI, the first chunk of Apple's PNG for iOS, where others have IHDR. image-dimensions takes it, decoders do not. */
const IOS_PNG = 0x43;

const NO_SIZE = { width: 0, height: 0 };

/** The size of a JPEG follows its colour profile and metadata, which fit into a megabyte. */
const JPEG_HEAD_BYTES = 1024 * 1024;
/** The size of a PNG or WebP is in the first 33 bytes. */
const HEAD_BYTES = 64;

/** Reads the size of a PNG, JPEG or WebP, and checks that a PNG or WebP is complete. */
export function createImageReader(contentType: string): MediaReader {
  const maxByteLength = contentType === "image/jpeg" ? JPEG_HEAD_BYTES : HEAD_BYTES;
  const buffer = new ArrayBuffer(0, { maxByteLength });
  const head = new Uint8Array(buffer); // as long as the buffer is
  let tail: Uint8Array = new Uint8Array(0);
  let bytes = 0;
  /** Where a PNG ends, once that is known. */
  let pngEnd: number | undefined;

  return {
    push(chunk) {
      bytes += chunk.byteLength;
      const kept = head.byteLength;
      const part = chunk.subarray(0, maxByteLength - kept);
      buffer.resize(kept + part.byteLength);
      head.set(part, kept);
      if (contentType !== "image/png" || pngEnd !== undefined) return;
      const latest = Buffer.concat([tail, chunk]); // a copy, because the chunk is passed on
      const at = latest.indexOf(IEND, "latin1");
      if (at >= 0) pngEnd = bytes - latest.length + at + IEND.length;
      tail = latest.subarray(-IEND.length);
    },
    end() {
      const image = sniffImage(head);
      if (image === null || image.contentType !== contentType) throw new UnusableMedia("The image's header is broken.");
      const isWhole = contentType === "image/png" ? pngEnd !== undefined : isNotCutOff(contentType, head, bytes);
      if (!isWhole) throw new UnusableMedia("The image is cut off.");
      const facts = { width: image.width, height: image.height, durationSeconds: null, hasAudio: null };
      return pngEnd !== undefined && pngEnd < bytes ? { ...facts, note: "bytes_after_end" } : facts;
    },
  };
}

/** The last chunk of a PNG, always the same. Some programs write after it, which decoders do not read. */
const IEND = "IEND\xae\x42\x60\x82";

/** Of a WebP. Any JPEG: some encoders write after its end. */
function isNotCutOff(contentType: string, head: Uint8Array, bytes: number): boolean {
  if (contentType !== "image/webp") return true;
  const view = new DataView(head.buffer);
  const end = view.getUint32(4, true) + 8;
  return end <= bytes && view.getUint32(16, true) + 20 <= end; // of the first chunk, usually the picture
}
