import type { MediaType } from "./media.ts";

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
