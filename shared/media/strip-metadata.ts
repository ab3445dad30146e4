import type { Image } from "./sniff-image.ts";
import { stripJpeg } from "./strip-jpeg.ts";
import { stripPng } from "./strip-png.ts";
import { stripWebp } from "./strip-webp.ts";

const STRIP = { "image/jpeg": stripJpeg, "image/png": stripPng, "image/webp": stripWebp };

/**
 * Removes from an image everything that does not change how it looks: Exif with its location, XMP, IPTC, comments, previews, and
 * what is behind its end, such as the film of a moving photo. Exif that turns the image is replaced by one that does only that. The
 * compressed picture and the colour profile are not changed.
 *
 * Takes bytes that sniffImage has recognised, works in them and returns their beginning. Null when the parts do not fit their lengths.
 */
export function stripMetadata(bytes: Uint8Array, contentType: Image["contentType"]): Uint8Array | null {
  return STRIP[contentType](bytes);
}
