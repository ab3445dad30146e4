import { createImageReader } from "./image-reader.ts";
import { isImageType, type MediaReader, type MediaType, UNKNOWN } from "./media.ts";
import { createVideoReader } from "./video-reader.ts";

/** The reader for a kind of file. Icons, Ogg and audio files are stored without reading their metadata. */
export function createMediaReader(type: MediaType): MediaReader {
  if (isImageType(type)) return createImageReader(type);
  const facts = { ...UNKNOWN, hasAudio: type.startsWith("audio/") ? true : null };
  return createVideoReader(type) ?? { push() {}, end: () => facts };
}
