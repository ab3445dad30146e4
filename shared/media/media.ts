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

/** So many bytes are enough for {@link detectMedia}. */
export const SIGNATURE_BYTES = 12;

/** The kind of a file by its first bytes, never by what its sender calls it; null for all that is not ours. */
export function detectMedia(head: Uint8Array): MediaType | null {
  const text = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("RIFF") && text.slice(8) === "WEBP") return "image/webp";
  return text.slice(4, 8) === "ftyp" ? "video/mp4" : null;
}
