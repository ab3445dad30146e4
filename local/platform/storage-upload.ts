import { Buffer } from "node:buffer";

/** Words at the position of the bucket in `/object/<bucket>/<path>` that are other operations. */
const OTHER_OPERATIONS = new Set(["list", "sign", "move", "copy", "info", "public", "upload"]);

/** The bucket of an upload; undefined for any other request. `path` begins after `/storage/v1`. */
export function uploadBucket(method: string, path: string): string | undefined {
  if (method !== "POST" && method !== "PUT") return undefined;
  const [, root, first = "", ...rest] = path.split("/");
  if (root !== "object" || rest.length === 0) return undefined;
  return OTHER_OPERATIONS.has(first) ? undefined : decodeURIComponent(first);
}

/**
 * The body of an upload as plain bytes, with its content type, caching and metadata in the headers. lite expects a form's file under the name
 * `file`, which supabase-js does not use. A form is held in memory: browsers send reference images as forms, and films are sent plain.
 *
 * @returns undefined for a form without a file
 */
export async function plainUpload(body: ReadableStream<Uint8Array> | null, headers: Headers) {
  const contentType = headers.get("content-type") ?? "";
  if (!contentType.startsWith("multipart/form-data")) return body;
  // Deno's formData() ignores a file under an empty name, as supabase-js sends it. Latin-1 keeps each byte.
  const sent = Buffer.from(await new Response(body).arrayBuffer()).toString("latin1");
  const named = Buffer.from(sent.replace('name="";', 'name="file";'), "latin1");
  const form = await new Response(named, { headers: { "content-type": contentType } }).formData();
  const [file, metadata, cache] = [form.get("file"), form.get("metadata"), form.get("cacheControl")];
  if (!(file instanceof File)) return undefined;
  headers.delete("content-length");
  headers.set("content-type", file.type || "application/octet-stream");
  if (typeof metadata === "string") headers.set("x-metadata", Buffer.from(metadata).toString("base64"));
  if (typeof cache === "string") headers.set("cache-control", /^\d+$/.test(cache) ? `max-age=${cache}` : cache);
  return Buffer.from(await file.arrayBuffer());
}

const pending = new Map<string, Promise<unknown>>();

/**
 * Runs `work` after all earlier work of this name. Uploads of one object run one after the other, as in the hosted Storage:
 * otherwise two pass lite's check for an existing file, and the second gets 500.
 */
export async function inOrder<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const before = pending.get(name) ?? Promise.resolve();
  const mine = before.then(work, work);
  pending.set(name, mine);
  try {
    return await mine;
  } finally {
    if (pending.get(name) === mine) pending.delete(name);
  }
}
