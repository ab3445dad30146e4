import { createHash } from "node:crypto";
import { join } from "node:path";
import type { App } from "@supabase/lite";
import { z } from "zod";
import { parseRange } from "./parse-range.ts";
import { storageRequest, type Upload, writeUpload } from "./write-upload.ts";

type Adapter = NonNullable<App["_storageAdapter"]>;

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
 * Keeps the files of Storage in a folder. Each object has a folder of its own, named by a hash of bucket and key (so a
 * key may hold anything and be as long as it likes); `entry.json` in it names the file with the content. Replacing
 * entry.json is the moment an upload counts: an upload that breaks off leaves the former content, and a reader that
 * began before goes on reading the former file. Content is streamed both ways, never held in memory.
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
      const entry: Entry = {
        bucket,
        key,
        file,
        contentType,
        cacheControl,
        size,
        etag,
        lastModified: new Date().toISOString(),
      };
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
      return metadataOf(await save(bucket, key, body, contentType, cacheControl));
    },
    async getObject(bucket, key) {
      const entry = await find(bucket, key);
      const file = await Deno.open(entry.path);
      const range = parseRange(storageRequest.getStore()?.range ?? null, entry.size);
      if (!range) return { metadata: metadataOf(entry), httpStatusCode: 200, body: file.readable };
      await file.seek(range.start, Deno.SeekMode.Start);
      const length = range.end - range.start + 1;
      const metadata = {
        ...metadataOf(entry),
        contentLength: length,
        contentRange: `bytes ${range.start}-${range.end}/${entry.size}`,
        httpStatusCode: 206,
      };
      return { metadata, httpStatusCode: 206, body: file.readable.pipeThrough(firstBytes(length)) };
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
    async deleteObject(bucket, key) {
      await remove(bucket, key);
    },
    async deleteObjects(bucket, keys) {
      for (const key of keys) await remove(bucket, key);
    },
    privateAssetUrl: () => Promise.reject(new Error("files of the local Storage have no address of their own")),
  };
}

function metadataOf(entry: Entry) {
  return {
    cacheControl: entry.cacheControl,
    contentLength: entry.size,
    size: entry.size,
    mimetype: entry.contentType,
    lastModified: new Date(entry.lastModified),
    eTag: entry.etag,
    httpStatusCode: 200,
  };
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
