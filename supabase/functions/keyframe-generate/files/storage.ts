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

const QUICK_MS = 15_000;
/** The answers of Storage. A gateway may answer 200 with a page of its own although nothing was done. */
const signed = z.object({ signedURL: z.string().startsWith("/") });
const stored = z.object({ Key: z.string() });
const removed = z.array(z.unknown());
const refusal = z.object({ statusCode: z.union([z.string(), z.number()]).optional() });

/** Accesses files with the secret key. The SDK cannot abort a request and holds bodies in memory, so it is not used. All throw StorageError. */
export function createStorage(url: string, secretKey: string, fetcher: typeof fetch) {
  const base = `${url}/storage/v1`;
  const path = ({ bucket, name }: StoredFile) => `${bucket}/${name.split("/").map(encodeURIComponent).join("/")}`;

  async function send(
    operation: string,
    route: string,
    init: RequestInit & { headers?: Record<string, string>; duplex?: "half" },
  ): Promise<Response> {
    const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}`, ...init.headers };
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

  async function read<Answer>(operation: string, shape: z.ZodType<Answer>, response: Response): Promise<Answer> {
    const answer = shape.safeParse(await response.json().catch(() => null));
    if (!answer.success) throw new StorageError(operation, null, answer.error);
    return answer.data;
  }

  const json = (body: unknown, signal: AbortSignal) => ({
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(QUICK_MS)]),
  });
  return {
    /** A signed URL, valid for `seconds`. */
    async sign(file: StoredFile, seconds: number, signal: AbortSignal) {
      const init = { method: "POST", ...json({ expiresIn: seconds }, signal) };
      const response = await send("sign", `/object/sign/${path(file)}`, init);
      return base + (await read("sign", signed, response)).signedURL;
    },
    async download(file: StoredFile, signal: AbortSignal) {
      const response = await send("download", `/object/${path(file)}`, { signal });
      return await response.blob().catch((cause) => {
        throw new StorageError("download", null, cause);
      });
    },
    /** Streams a file into Storage and replaces an existing one. A stream that errors stores nothing. */
    async upload(file: StoredFile, type: string, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
      const headers = { "content-type": type, "x-upsert": "true", "cache-control": "max-age=3600" };
      const init = { method: "POST", headers, body, signal, duplex: "half" as const };
      await read("upload", stored, await send("upload", `/object/${path(file)}`, init));
    },
    /** Removes at most 1,000 names of one bucket. A missing file is not an error. */
    async remove(bucket: StoredFile["bucket"], names: string[], signal: AbortSignal): Promise<void> {
      const response = await send("remove", `/object/${bucket}`, {
        method: "DELETE",
        ...json({ prefixes: names }, signal),
      });
      await read("remove", removed, response);
    },
  };
}
export type Storage = ReturnType<typeof createStorage>;
