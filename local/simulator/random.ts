const bytes = (size: number) => crypto.getRandomValues(new Uint8Array(size));

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** An id in the provider's form: 26 characters of lower-case base32. */
export function randomId(): string {
  return Array.from(bytes(26), (byte) => ALPHABET[byte % 32]).join("");
}

/** A webhook signing secret: `whsec_` and 32 bytes in base64. */
export function randomWebhookSecret(): string {
  return `whsec_${bytes(32).toBase64()}`;
}

/** A 32-bit hash of `text` (FNV-1a with a final mix). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** A generator of numbers in [0, 1), the same sequence for the same seed. */
export function seededRandom(seed: string | number): () => number {
  let state = typeof seed === "string" ? hashText(seed) : seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
