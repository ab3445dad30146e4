import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import type { App } from "@supabase/lite";

type Adapter = NonNullable<App["_storageAdapter"]>;
export type Upload = Parameters<Adapter["uploadObject"]>[3];

/** What the gateway and the adapter have to tell each other about one request, with lite between them. */
export interface StorageRequest {
  range: string | null;
  /** Bytes; undefined for no limit. */
  maxBytes: number | undefined;
  /** Set when the upload ended because it was larger than maxBytes. */
  tooLarge: boolean;
}

export const storageRequest = new AsyncLocalStorage<StorageRequest>();

/**
 * Writes an upload to a new file as it arrives.
 *
 * @returns its size in bytes, and its MD5 as an ETag
 * @throws when the body breaks off or is larger than the request may be; the file is then incomplete
 */
export async function writeUpload(path: string, body: Upload): Promise<{ size: number; etag: string }> {
  const hash = createHash("md5");
  const request = storageRequest.getStore();
  let size = 0;
  const file = await Deno.open(path, { write: true, createNew: true });
  try {
    // lite types the stream as Node's or the web's; both are iterable and give bytes.
    const chunks: AsyncIterable<Uint8Array> | Uint8Array[] =
      body instanceof Uint8Array ? [body] : (body as ReadableStream<Uint8Array>);
    for await (const chunk of chunks) {
      size += chunk.byteLength;
      if (request?.maxBytes !== undefined && size > request.maxBytes) {
        request.tooLarge = true;
        throw new Error("larger than the bucket allows");
      }
      hash.update(chunk);
      // Some 30 kB into the page cache take microseconds. Waiting for each of them instead made an upload from another
      // Deno process twenty times slower.
      for (let rest = chunk; rest.byteLength > 0; ) rest = rest.subarray(file.writeSync(rest));
    }
  } finally {
    file.close();
  }
  return { size, etag: `"${hash.digest("hex")}"` };
}
