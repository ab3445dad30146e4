import { invalidFields } from "./invalid-request.ts";

/** The arguments of a SQL function that may be repeated; without a key both are absent, and before an upload is read its hash. */
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
 * The hash of what a key stands for: method, path and body. `body` is the parsed JSON (so order and white space of fields do
 * not matter) or the bytes of a file.
 */
export async function hashRequest(method: string, path: string, body: unknown): Promise<string> {
  const content = body instanceof Uint8Array ? await sha256(body) : canonicalJson(body);
  return await sha256(new TextEncoder().encode(`${method} ${path}\n${content}`));
}

/** JSON with the names of every object in one order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Lower-case hex. */
async function sha256(bytes: Uint8Array): Promise<string> {
  // The buffers made in this function are ArrayBuffers, never shared ones, which the type cannot tell.
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  // Uint8Array.toHex is newer than the runtime of hosted functions.
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
