import type { MediaType, VideoReader } from "./media.ts";
import { createMp4Reader } from "./mp4-reader.ts";
import { createWebmReader } from "./webm-reader.ts";

/** The reader for MP4, WebM and Matroska; null for any other type. */
export function createVideoReader(type: MediaType | null): VideoReader | null {
  if (type === "video/mp4") return createMp4Reader();
  return type === "video/webm" || type === "video/x-matroska" ? createWebmReader() : null;
}
