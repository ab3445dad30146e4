import { createImageReader } from "./image-reader.ts";
import type { MediaReader, MediaType } from "./media.ts";
import { createMp4Reader } from "./mp4-reader.ts";

/** The reader for a kind of file. */
export function createMediaReader(type: MediaType): MediaReader {
  return type === "video/mp4" ? createMp4Reader() : createImageReader(type);
}
