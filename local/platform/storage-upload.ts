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

/** The request body is not a form with a file. */
export class BadForm extends Error {}

/**
 * The body of an upload as plain bytes, with its content type, caching and metadata in the headers. lite expects a form's file under the
 * name `file`, which supabase-js does not use. A form is held in memory, as a browser's reference image comes; films are sent plain.
 *
 * @throws BadForm
 */
export async function plainUpload(body: ReadableStream<Uint8Array> | null, headers: Headers) {
  const contentType = headers.get("content-type") ?? "";
  if (!contentType.startsWith("multipart/form-data")) return body;
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  // Deno's own formData() passes over a file under an empty name, which supabase-js uses. Latin-1 keeps each byte.
  const form = Buffer.from(await new Response(body).arrayBuffer()).toString("latin1");
  const fields = new Map<string, string>();
  for (const part of `\r\n${form}`.split(`\r\n--${quoted ?? plain}`)) {
    const end = part.indexOf("\r\n\r\n");
    const [head, content] = [part.slice(0, end), part.slice(end + 4)];
    if (!/;\s*filename\*?=/i.test(head)) {
      fields.set(/;\s*name="([^"]*)"/i.exec(head)?.[1] ?? "", content);
      continue;
    }
    headers.delete("content-length");
    headers.set("content-type", /^content-type:\s*(.+)$/im.exec(head)?.[1]?.trim() ?? "application/octet-stream");
    const metadata = fields.get("metadata");
    if (metadata !== undefined) headers.set("x-metadata", Buffer.from(metadata, "latin1").toString("base64"));
    const seconds = fields.get("cacheControl");
    if (seconds !== undefined) headers.set("cache-control", /^\d+$/.test(seconds) ? `max-age=${seconds}` : seconds);
    return Buffer.from(content, "latin1");
  }
  throw new BadForm("the form has no file");
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
