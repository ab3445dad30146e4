export const EXCERPT_BYTES = 1024;

/**
 * The beginning of a response as text that a row can store: valid UTF-8 of at most 1 KiB, whole characters, without NUL, which Postgres
 * refuses. Bytes that are not UTF-8 become U+FFFD.
 */
export function answerExcerpt(bytes: Uint8Array): string {
  // In stream mode a character that is cut at the end is omitted, not replaced.
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
  const text = decoded.replaceAll("\0", "");
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(EXCERPT_BYTES));
  return text.slice(0, read);
}

const REPEATS_SIGNATURE = "Not kept: the answer repeats the signature of the request.";

/** This many equal characters in a row are not a coincidence; fewer are useless to an attacker. */
const REPEATED = 8;

const lettersAndDigits = (text: string) => text.replaceAll(/[^A-Za-z0-9]/g, "");

/**
 * Drops the excerpt if it repeats a signature, as when a receiver echoes the request. The owner's session can read the row, so the row must
 * hold no valid signature. Escapes and line breaks in it are ignored. A signature encoded again, in hex or base64, is not found.
 */
export function keptExcerpt(excerpt: string | null, header: string): string | null {
  const text = lettersAndDigits(excerpt ?? "");
  const repeats = header.split(" ").some((versioned) => {
    const signature = lettersAndDigits(versioned.slice("v1,".length));
    for (let at = 0; at + REPEATED <= signature.length; at++)
      if (text.includes(signature.slice(at, at + REPEATED))) return true;
    return false;
  });
  return repeats ? REPEATS_SIGNATURE : excerpt;
}
