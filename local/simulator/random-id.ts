/** Fills an array with random bytes; `crypto.getRandomValues` in practice. */
export type RandomBytes = (size: number) => Uint8Array;

export const cryptoBytes: RandomBytes = (size) => crypto.getRandomValues(new Uint8Array(size));

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** A prediction's or file's id as the provider makes them: 26 letters of lower-case base32. */
export function randomId(bytes: RandomBytes): string {
  return Array.from(bytes(26), (byte) => alphabet[byte % 32]).join("");
}

/** A webhook signing secret: `whsec_` and 32 bytes in base64. */
export function randomWebhookSecret(bytes: RandomBytes): string {
  return `whsec_${btoa(String.fromCharCode(...bytes(32)))}`;
}
