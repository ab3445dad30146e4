import { Buffer } from "node:buffer";

/** A form with one file, its content still to be read. */
export interface UploadForm {
  /** The text fields that stand before the file. */
  fields: Record<string, string>;
  contentType: string;
  content: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** The request's body is not a form with a file in it. */
export class BadForm extends Error {}

/** A part's headers and text fields are small; only the file may be large. */
const MAX_TEXT_BYTES = 64 * 1024;
const BLANK_LINE = Buffer.from("\r\n\r\n");

/**
 * Reads a `multipart/form-data` upload as far as its file and gives the file as a stream, so that its size does not
 * matter. supabase-js sends Blobs this way: `cacheControl` and `metadata` first, then the file under an empty name.
 *
 * @throws BadForm
 */
export async function readMultipart(body: ReadableStream<Uint8Array>, contentType: string): Promise<UploadForm> {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new BadForm("the form has no boundary");
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const reader = body.getReader();
  // Every part then begins the same way, the first one too.
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
          // The end of what is held may be the beginning of the mark.
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
