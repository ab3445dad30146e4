import { invalidFields } from "../errors.ts";

/** Arguments of a repeatable SQL function. Both are absent without a key; the hash is absent until an upload has been read. */
export type Idempotency = { idempotency_key?: string; request_hash?: string };

/** The header Idempotency-Key; undefined without one. Throws invalid_request. */
export function readKey(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidFields([{ path: "Idempotency-Key", message: "Must have 1 to 255 visible ASCII characters." }]);
  }
  return key;
}

/**
 * The hash of the request that a key belongs to: method, path and body. `body` is the parsed JSON (so the order of fields and white
 * space do not matter) or the bytes of a file.
 */
export async function hashRequest(method: string, path: string, body: unknown): Promise<string> {
  const content = body instanceof Uint8Array ? await sha256(body) : canonicalJson(body);
  return await sha256(new TextEncoder().encode(`${method} ${path}\n${content}`));
}

/** JSON with the keys of every object sorted. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Lower-case hex. */
async function sha256(bytes: Uint8Array): Promise<string> {
  // No caller uses a SharedArrayBuffer, which the type would allow.
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  // Hosted functions run on Deno 2.1, which lacks Uint8Array.toHex.
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
