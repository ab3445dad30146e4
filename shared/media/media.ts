/** What a generated file may be. */
export type MediaType = "image/png" | "image/jpeg" | "image/webp" | "video/mp4";

export const MEDIA_EXTENSIONS: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
};

/** Pixels; seconds for a video, null for an image. */
export type MediaFacts = { width: number; height: number; durationSeconds: number | null };

/** The bytes are not the whole, readable file that they should be. The message says what is wrong with them. */
export class UnusableMedia extends Error {}

/** Reads a file as its chunks pass, and holds no more of it than its headers. Both methods throw UnusableMedia. */
export type MediaReader = { push(chunk: Uint8Array): void; end(): MediaFacts };
