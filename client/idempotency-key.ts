/**
 * A random UUID (version 4). crypto.randomUUID is missing on a page loaded by plain http from another machine, and crypto itself in
 * React Native. An Idempotency-Key need not be secret, because it only counts for its user.
 */
export function randomKey(): string {
  const bytes = new Uint8Array(16);
  if (globalThis.crypto === undefined) bytes.set(Array.from(bytes, () => Math.random() * 256));
  else crypto.getRandomValues(bytes);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new TypeError("idempotencyKey must have 1 to 255 visible ASCII characters.");
}
