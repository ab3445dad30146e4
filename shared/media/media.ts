/** The types of generated files. */
export type MediaType = "image/png" | "image/jpeg" | "image/webp" | "video/mp4";

export const MEDIA_EXTENSIONS: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
};

/** Pixels. The duration in seconds and whether there is a sound track: of a video, null for an image. */
export type MediaFacts = { width: number; height: number; durationSeconds: number | null; hasAudio: boolean | null };

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
