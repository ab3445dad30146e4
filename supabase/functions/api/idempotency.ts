import { invalidFields } from "./invalid-request.ts";
import { sha256 } from "./sha256.ts";

/** The arguments of a SQL function that may be repeated; without a key both are absent. */
export type Idempotency = { idempotency_key?: string; request_hash?: string };

/**
 * Reads Idempotency-Key and hashes what the key stands for: method, path and body.
 * `body` is the parsed JSON (so order and white space of fields do not matter) or the bytes of a file.
 */
export async function readIdempotency(request: Request, path: string, body: unknown): Promise<Idempotency> {
  const key = request.headers.get("idempotency-key");
  if (key === null) return {};
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidFields([{ path: "Idempotency-Key", message: "Must have 1 to 255 visible ASCII characters." }]);
  }
  const content = body instanceof Uint8Array ? await sha256(body) : canonicalJson(body);
  return {
    idempotency_key: key,
    request_hash: await sha256(new TextEncoder().encode(`${request.method} ${path}\n${content}`)),
  };
}

/** JSON with the names of every object in one order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
