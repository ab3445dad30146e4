import { BadForm, readMultipart } from "./read-multipart.ts";

/** `/object/<bucket>/<path>` and `/object/upload/sign/<bucket>/<path>` take a file; these words are other operations. */
const OTHER_OPERATIONS = new Set(["list", "sign", "move", "copy", "info", "public"]);

/** The bucket a request uploads into, or undefined when it uploads nothing. `path` begins after `/storage/v1`. */
export function uploadBucket(method: string, path: string): string | undefined {
  if (method !== "POST" && method !== "PUT") return undefined;
  const [, root, first = "", ...rest] = path.split("/");
  if (root !== "object" || rest.length === 0) return undefined;
  if (first === "upload") return method === "PUT" && rest[0] === "sign" ? decodeURIComponent(rest[1] ?? "") : undefined;
  return OTHER_OPERATIONS.has(first) ? undefined : decodeURIComponent(first);
}

/**
 * The body of an upload as plain bytes, with its content type and caching in the headers. lite would look for the file
 * of a form under the name `file`, where supabase-js does not put it, and would hold all of it in memory.
 *
 * @throws BadForm
 */
export async function plainUpload(body: ReadableStream<Uint8Array> | null, headers: Headers) {
  const contentType = headers.get("content-type") ?? "";
  if (!contentType.startsWith("multipart/form-data")) return body;
  if (!body) throw new BadForm("the form is empty");
  const form = await readMultipart(body, contentType);
  headers.delete("content-length");
  headers.set("content-type", form.contentType);
  const seconds = form.fields.cacheControl;
  if (seconds !== undefined) headers.set("cache-control", /^\d+$/.test(seconds) ? `max-age=${seconds}` : seconds);
  return form.content;
}
