import { Buffer } from "node:buffer";

/** Words at the position of the bucket in `/object/<bucket>/<path>` that are other operations. */
const OTHER_OPERATIONS = new Set(["list", "sign", "move", "copy", "info", "public"]);

/** The bucket of an upload; undefined for any other request. `path` begins after `/storage/v1`. */
export function uploadBucket(method: string, path: string): string | undefined {
  if (method !== "POST" && method !== "PUT") return undefined;
  const [, root, first = "", ...rest] = path.split("/");
  if (root !== "object" || rest.length === 0) return undefined;
  if (first === "upload") return method === "PUT" && rest[0] === "sign" ? decodeURIComponent(rest[1] ?? "") : undefined;
  return OTHER_OPERATIONS.has(first) ? undefined : decodeURIComponent(first);
}

/**
 * The body of an upload as plain bytes, with its content type, caching and metadata in the headers. lite expects a form's file under the
 * name `file`, which supabase-js does not use, and holds it in memory.
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
  if (form.fields.metadata !== undefined)
    headers.set("x-metadata", Buffer.from(form.fields.metadata).toString("base64"));
  const seconds = form.fields.cacheControl;
  if (seconds !== undefined) headers.set("cache-control", /^\d+$/.test(seconds) ? `max-age=${seconds}` : seconds);
  return form.content;
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

/** A form with one file, whose content is not read yet. */
interface UploadForm {
  /** The text fields before the file. */
  fields: Record<string, string>;
  contentType: string;
  content: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** The request body is not a form with a file. */
export class BadForm extends Error {}

/** The limit for a part's headers and for a text field. */
const MAX_TEXT_BYTES = 64 * 1024;
const BLANK_LINE = Buffer.from("\r\n\r\n");

/**
 * Reads a `multipart/form-data` upload up to its file and returns the file as a stream, of any size. supabase-js sends Blobs
 * in this form: `cacheControl` and `metadata` first, then the file under an empty name.
 *
 * @throws BadForm
 */
export async function readMultipart(body: ReadableStream<Uint8Array>, contentType: string): Promise<UploadForm> {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new BadForm("the form has no boundary");
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const reader = body.getReader();
  // So that the first part begins like the others.
  let held = Buffer.from("\r\n");

  async function more(): Promise<void> {
    const { done, value } = await reader.read();
    if (done) throw new BadForm("the form ends in the middle");
    held = Buffer.concat([held, value]);
  }

  async function takeUntil(mark: Buffer): Promise<Buffer> {
    for (let at = held.indexOf(mark); ; at = held.indexOf(mark)) {
      if (at >= 0) {
        const taken = held.subarray(0, at);
        held = held.subarray(at + mark.length);
        return taken;
      }
      if (held.length > MAX_TEXT_BYTES) throw new BadForm("a field before the file is too large");
      await more();
    }
  }

  const fields: Record<string, string> = {};
  await takeUntil(delimiter);
  for (;;) {
    while (held.length < 2) await more();
    if (held.subarray(0, 2).toString() === "--") throw new BadForm("the form has no file");
    const head = (await takeUntil(BLANK_LINE)).toString();
    const name = /;\s*name="([^"]*)"/i.exec(head)?.[1] ?? "";
    if (!/;\s*filename\*?=/i.test(head)) {
      fields[name] = (await takeUntil(delimiter)).toString();
      continue;
    }
    const type = /^content-type:\s*(.+)$/im.exec(head)?.[1]?.trim() ?? "application/octet-stream";
    return { fields, contentType: type, content: contentUntil(delimiter) };
  }

  function contentUntil(mark: Buffer): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream({
      async pull(controller) {
        for (;;) {
          const at = held.indexOf(mark);
          if (at >= 0) {
            if (at > 0) controller.enqueue(Uint8Array.from(held.subarray(0, at)));
            controller.close();
            await reader.cancel();
            return;
          }
          // The buffer may end with the beginning of the mark.
          const safe = held.length - mark.length;
          if (safe > 0) {
            controller.enqueue(Uint8Array.from(held.subarray(0, safe)));
            held = held.subarray(safe);
            return;
          }
          await more();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }
}
