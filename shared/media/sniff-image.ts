import { imageDimensionsFromData } from "image-dimensions";
import { detectMedia, type MediaType } from "./media.ts";

/** The facts about an image in its bytes. */
export type Image = { contentType: Exclude<MediaType, "video/mp4">; width: number; height: number };

const MAX_PIXELS_A_SIDE = 16_384;
const MAX_PIXELS = 100_000_000;
/** The size is nearly always within these. image-dimensions copies what it is given, so it gets all of a large file only when needed. */
const HEAD_BYTES = 64 * 1024;

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
    imageDimensionsFromData(bytes.subarray(0, HEAD_BYTES)) ?? imageDimensionsFromData(bytes) ?? NO_SIZE;
  const fits = Math.max(width, height) <= MAX_PIXELS_A_SIDE && width * height <= MAX_PIXELS;
  return Math.min(width, height) >= 1 && fits ? { contentType, width, height } : null;
}

/** The C of CgBI, the first chunk of Apple's PNG for iOS, where others have IHDR. image-dimensions takes it, decoders do not. */
const IOS_PNG = 0x43;

const NO_SIZE = { width: 0, height: 0 };
