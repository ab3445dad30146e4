const MOST_OCTETS = 1024;

/**
 * The beginning of an answer as text that a row can hold: valid UTF-8 of at most 1 KiB, whole characters, and no NUL, which
 * Postgres refuses. Bytes that are not UTF-8 become U+FFFD.
 */
export function answerExcerpt(bytes: Uint8Array): string {
  // Decoded as a stream, a character cut in two at the end is left out and not replaced.
  const text = new TextDecoder("utf-8", { ignoreBOM: true })
    .decode(bytes.subarray(0, MOST_OCTETS), { stream: true })
    .replaceAll("\0", "");
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MOST_OCTETS));
  return text.slice(0, read);
}
