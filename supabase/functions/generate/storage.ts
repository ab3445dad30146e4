import { z } from "zod";

export type StoredFile = { bucket: "projects" | "generations"; name: string };

/** Storage refused, or did not answer (status null). */
export class StorageError extends Error {
  constructor(
    readonly operation: string,
    readonly status: number | null,
    more: { missing?: boolean; cause?: unknown } = {},
  ) {
    super(`Storage ${operation} ${status === null ? "had no answer" : `answered ${status}`}`, { cause: more.cause });
    this.name = "StorageError";
    this.missing = more.missing ?? false;
  }
  /** True when the file does not exist. */
  readonly missing: boolean;
}

/** Files with the secret key. All throw StorageError. */
export type Storage = {
  /** An address that works for so many seconds without any other right. */
  sign(file: StoredFile, seconds: number, signal: AbortSignal): Promise<string>;
  download(file: StoredFile, signal: AbortSignal): Promise<Blob>;
  /** Streams a file in, over any former one. A stream that errors leaves nothing. */
  upload(file: StoredFile, contentType: string, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Removing what is not there is no error. */
  remove(file: StoredFile, signal: AbortSignal): Promise<void>;
};

const QUICK_MS = 15_000;
const signed = z.object({ signedURL: z.string().startsWith("/") });
const refusal = z.object({ statusCode: z.union([z.string(), z.number()]).optional(), error: z.string().optional() });

/** `url` is the platform's address, `fetch` is given for tests. Requests go by hand, for the SDK cannot end one and holds bodies in memory. */
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
      throw new StorageError(operation, null, { cause });
    }
    if (response.ok) return response;
    const said = refusal.safeParse(await response.json().catch(() => null)).data;
    // Storage answers 400 for a missing file and tells the 404 in the body.
    throw new StorageError(operation, response.status, { missing: response.status === 404 || String(said?.statusCode) === "404" });
  }

  const quick = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(QUICK_MS)]);
  const json = { "content-type": "application/json" };
  return {
    async sign(file, seconds, signal) {
      const body = JSON.stringify({ expiresIn: seconds });
      const route = `/object/sign/${path(file)}`;
      const response = await send("sign", route, { method: "POST", headers: json, body, signal: quick(signal) });
      return base + signed.parse(await response.json()).signedURL;
    },
    async download(file, signal) {
      const response = await send("download", `/object/${path(file)}`, { signal });
      return await response.blob().catch((cause) => {
        throw new StorageError("download", null, { cause });
      });
    },
    async upload(file, contentType, body, signal) {
      const headers = { "content-type": contentType, "x-upsert": "true", "cache-control": "max-age=3600" };
      const response = await send("upload", `/object/${path(file)}`, { method: "POST", headers, body, signal, duplex: "half" });
      await response.body?.cancel();
    },
    async remove(file, signal) {
      const body = JSON.stringify({ prefixes: [file.name] });
      const init = { method: "DELETE", headers: json, body, signal: quick(signal) };
      const response = await send("remove", `/object/${file.bucket}`, init);
      await response.body?.cancel();
    },
  };
}
