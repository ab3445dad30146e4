import type { App } from "@supabase/lite";
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";

type Adapter = NonNullable<App["_storageAdapter"]>;
type Upload = Parameters<Adapter["uploadObject"]>[3];

/** What the gateway and the adapter share about one request, because lite does not pass it on. */
type StorageRequest = {
  range: string | null;
  /** Bytes; undefined for no limit. */
  maxBytes: number | undefined;
  /** Set when the upload ended because it was larger than maxBytes. */
  tooLarge: boolean;
  /** What the sender of an upload said about it; undefined if nothing. */
  userMetadata: unknown;
};

export const storageRequest = new AsyncLocalStorage<StorageRequest>();

/**
 * Writes an upload to a new file as it arrives.
 *
 * @returns its size in bytes, and its MD5 as an ETag
 * @throws when the body ends early or is too large; the file is then incomplete
 */
async function writeUpload(path: string, body: Upload): Promise<{ size: number; etag: string }> {
  const hash = createHash("md5");
  const request = storageRequest.getStore();
  let size = 0;
  const file = await Deno.open(path, { write: true, createNew: true });
  try {
    // lite types the stream as Node's or the web's; both iterate over bytes.
    const chunks: AsyncIterable<Uint8Array> | Uint8Array[] =
      body instanceof Uint8Array ? [body] : (body as ReadableStream<Uint8Array>);
    for await (const chunk of chunks) {
      size += chunk.byteLength;
      if (request?.maxBytes !== undefined && size > request.maxBytes) {
        request.tooLarge = true;
        throw new Error("larger than the bucket allows");
      }
      hash.update(chunk);
      // The write is synchronous: 30 kB take microseconds, and awaiting each write made uploads from another Deno process twenty times
      // slower.
      for (let rest = chunk; rest.byteLength > 0; ) rest = rest.subarray(file.writeSync(rest));
    }
  } finally {
    file.close();
  }
  return { size, etag: `"${hash.digest("hex")}"` };
}

/**
 * The first and last byte of a Range header for a file of `size` bytes; null for the whole file (no header, several ranges,
 * or an invalid one).
 */
function parseRange(header: string | null, size: number): { start: number; end: number } | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "");
  if (!match) return null;
  const [, from = "", to = ""] = match;
  if (from === "" && to === "") return null;
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return start <= end && start < size ? { start, end } : null;
}

const entrySchema = z.object({
  bucket: z.string(),
  key: z.string(),
  file: z.string(),
  contentType: z.string(),
  cacheControl: z.string(),
  size: z.number(),
  etag: z.string(),
  lastModified: z.string(),
});
type Entry = z.infer<typeof entrySchema>;

/**
 * Keeps the files of Storage in a folder. Each object has its own folder, named by a hash of bucket and key, so that a key
 * may have any characters and length. `entry.json` in it names the file with the content. An upload takes effect when it
 * replaces entry.json: an interrupted upload leaves the old content, and a running download continues with the old file.
 * Content is streamed both ways, never held in memory.
 */
export function createStorageFiles(root: string): Adapter {
  const folderOf = (bucket: string, key: string) => {
    const name = createHash("sha256").update(`${bucket}\n${key}`).digest("hex");
    return join(root, name.slice(0, 2), name);
  };

  async function find(bucket: string, key: string): Promise<Entry & { path: string }> {
    const folder = folderOf(bucket, key);
    const entry = entrySchema.parse(JSON.parse(await Deno.readTextFile(join(folder, "entry.json"))));
    return { ...entry, path: join(folder, entry.file) };
  }

  async function save(bucket: string, key: string, body: Upload, contentType: string, cacheControl: string) {
    const folder = folderOf(bucket, key);
    await Deno.mkdir(folder, { recursive: true });
    const file = crypto.randomUUID();
    const former = await find(bucket, key).catch(() => undefined);
    try {
      const { size, etag } = await writeUpload(join(folder, file), body);
      const lastModified = new Date().toISOString();
      const entry: Entry = { bucket, key, file, contentType, cacheControl, size, etag, lastModified };
      const draft = join(folder, `${file}.json`);
      await Deno.writeTextFile(draft, JSON.stringify(entry));
      await Deno.rename(draft, join(folder, "entry.json"));
      if (former) await Deno.remove(former.path).catch(() => undefined);
      return entry;
    } catch (error) {
      await Deno.remove(join(folder, file)).catch(() => undefined);
      throw error;
    }
  }

  async function remove(bucket: string, key: string) {
    await Deno.remove(folderOf(bucket, key), { recursive: true }).catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }

  return {
    driver: null,
    async uploadObject(bucket, key, _version, body, contentType, cacheControl) {
      const metadata = metadataOf(await save(bucket, key, body, contentType, cacheControl));
      // lite writes only this metadata. A trigger puts each part where it belongs (bootstrap-services.sql).
      return Object.assign(metadata, { userMetadata: storageRequest.getStore()?.userMetadata });
    },
    async getObject(bucket, key) {
      const entry = await find(bucket, key);
      const file = await Deno.open(entry.path);
      const range = parseRange(storageRequest.getStore()?.range ?? null, entry.size);
      if (!range) return { metadata: metadataOf(entry), httpStatusCode: 200, body: file.readable };
      await file.seek(range.start, Deno.SeekMode.Start);
      const contentLength = range.end - range.start + 1;
      const contentRange = `bytes ${range.start}-${range.end}/${entry.size}`;
      const metadata = { ...metadataOf(entry), contentLength, contentRange, httpStatusCode: 206 };
      return { metadata, httpStatusCode: 206, body: file.readable.pipeThrough(firstBytes(contentLength)) };
    },
    async headObject(bucket, key) {
      return metadataOf(await find(bucket, key));
    },
    async copyObject(bucket, key, _version, toBucket, toKey) {
      const entry = await find(bucket, key);
      const body = (await Deno.open(entry.path)).readable;
      const copy = metadataOf(await save(toBucket, toKey, body, entry.contentType, entry.cacheControl));
      return { httpStatusCode: 200, eTag: copy.eTag, lastModified: copy.lastModified };
    },
    deleteObject: remove,
    async deleteObjects(bucket, keys) {
      for (const key of keys) await remove(bucket, key);
    },
    privateAssetUrl: () => Promise.reject(new Error("files of the local Storage have no address of their own")),
  };
}

function metadataOf({ cacheControl, size, contentType: mimetype, lastModified, etag: eTag }: Entry) {
  const dated = { lastModified: new Date(lastModified), httpStatusCode: 200 };
  return { cacheControl, contentLength: size, size, mimetype, eTag, ...dated };
}

function firstBytes(length: number): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let left = length;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.byteLength > left ? chunk.subarray(0, left) : chunk);
      left -= chunk.byteLength;
      if (left <= 0) controller.terminate();
    },
  });
}
