import { z } from "zod";

export type StoredFile = { bucket: "projects" | "keyframe-outputs"; name: string };

/** Storage refused the request or did not answer (status null). */
export class StorageError extends Error {
  constructor(
    operation: string,
    readonly status: number | null,
    cause?: unknown,
  ) {
    super(`Storage ${operation} ${status === null ? "had no answer" : `answered ${status}`}`, { cause });
    this.name = "StorageError";
  }
}

/** Accesses files with the secret key. All throw StorageError. */
export type Storage = {
  /** A signed URL, valid for `seconds`. */
  sign(file: StoredFile, seconds: number, signal: AbortSignal): Promise<string>;
  download(file: StoredFile, signal: AbortSignal): Promise<Blob>;
  /** Streams a file into Storage and replaces an existing one. A stream that errors stores nothing. */
  upload(file: StoredFile, contentType: string, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** At most 1,000 names of one bucket. A missing file is not an error. */
  remove(bucket: StoredFile["bucket"], names: string[], signal: AbortSignal): Promise<void>;
};

const QUICK_MS = 15_000;
const signed = z.object({ signedURL: z.string().startsWith("/") });
const refusal = z.object({ statusCode: z.union([z.string(), z.number()]).optional() });

/** Without the SDK, which cannot abort a request and holds bodies in memory. */
export function createStorage(url: string, secretKey: string, fetcher: typeof fetch): Storage {
  const base = `${url}/storage/v1`;
  const path = ({ bucket, name }: StoredFile) => `${bucket}/${name.split("/").map(encodeURIComponent).join("/")}`;

  async function send(operation: string, route: string, init: RequestInit & { duplex?: "half" }): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("apikey", secretKey);
    headers.set("authorization", `Bearer ${secretKey}`);
    let response: Response;
    try {
      response = await fetcher(`${base}${route}`, { ...init, headers });
    } catch (cause) {
      throw new StorageError(operation, null, cause);
    }
    if (response.ok) return response;
    // Storage answers 400 for a missing or too large file; the real status is in the body.
    const said = refusal.safeParse(await response.json().catch(() => null)).data;
    throw new StorageError(operation, Number(said?.statusCode) || response.status);
  }

  const quick = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(QUICK_MS)]);
  const json = { "content-type": "application/json" };
  return {
    async sign(file, seconds, signal) {
      const body = JSON.stringify({ expiresIn: seconds });
      const route = `/object/sign/${path(file)}`;
      const response = await send("sign", route, { method: "POST", headers: json, body, signal: quick(signal) });
      const answer = signed.safeParse(await response.json().catch(() => null));
      if (!answer.success) throw new StorageError("sign", null, answer.error);
      return base + answer.data.signedURL;
    },
    async download(file, signal) {
      const response = await send("download", `/object/${path(file)}`, { signal });
      return await response.blob().catch((cause) => {
        throw new StorageError("download", null, cause);
      });
    },
    async upload(file, contentType, body, signal) {
      const headers = { "content-type": contentType, "x-upsert": "true", "cache-control": "max-age=3600" };
      const response = await send("upload", `/object/${path(file)}`, {
        method: "POST",
        headers,
        body,
        signal,
        duplex: "half",
      });
      await response.body?.cancel();
    },
    async remove(bucket, names, signal) {
      const body = JSON.stringify({ prefixes: names });
      const init = { method: "DELETE", headers: json, body, signal: quick(signal) };
      const response = await send("remove", `/object/${bucket}`, init);
      await response.body?.cancel();
    },
  };
}
