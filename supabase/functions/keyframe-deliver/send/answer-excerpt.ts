const encoder = new TextEncoder();
const room = new Uint8Array(1024);

/**
 * The beginning of an answer, given in pieces, as text that a row can hold: valid UTF-8 of at most 1 KiB, whole characters, and
 * no NUL, which Postgres refuses. Bytes that are not UTF-8 become U+FFFD.
 */
export function answerExcerpt(pieces: Uint8Array[]): string {
  if (pieces.length === 0) return "";
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // Decoded as a stream, a character cut in two at the end is left out and not replaced.
  const text = pieces
    .map((piece) => decoder.decode(piece, { stream: true }))
    .join("")
    .replaceAll("\0", "");
  const { read } = encoder.encodeInto(text, room);
  return text.slice(0, read);
}
