import { Buffer } from "node:buffer";
import { errors, jwtVerify } from "jose";
import { z } from "zod";
import type { Lite } from "./create-lite.ts";
import { objectTooLarge } from "./refusals.ts";
import { storageRequest } from "./storage-files.ts";
import { BadForm, inOrder, plainUpload, uploadBucket } from "./storage-upload.ts";

/** For buckets without their own limit. */
const DEFAULT_MAX_BYTES = 500 * 1024 * 1024;

const PREFIX = "/storage/v1";

// As hosted, Storage answers 400 and puts the actual status into the body.
const refuse = (statusCode: string, error: string, message: string) =>
  Response.json({ statusCode, error, message }, { status: 400 });

/**
 * One request to Storage. lite runs each operation in Postgres as the caller, under the policies. This adds what lite lacks:
 * streamed forms, the size limit of bodies of unknown length, ranges, and the hosted form of some responses.
 *
 * @param headers with credentials for lite, see identifyCaller
 */
export async function callStorage(
  request: Request,
  url: URL,
  headers: Headers,
  lite: Lite,
  liteSecret: Uint8Array,
): Promise<Response> {
  const target = new URL(url);
  const path = url.pathname.slice(PREFIX.length).replace(/^\/object(\/info)?\/authenticated\//, "/object$1/");
  target.pathname = PREFIX + path;
  const method = request.method;

  // Text in Postgres cannot contain NUL, and lite would answer 500.
  if (path.includes("%00")) {
    await request.body?.cancel();
    return refuse("400", "Invalid key", "Invalid object key");
  }

  const token = url.searchParams.get("token");
  if (path.startsWith("/object/sign/") && method !== "POST") {
    const fault = await signatureFault(token, liteSecret);
    if (fault) return refuse("400", "InvalidJWT", fault);
  }

  const manyOf = method === "POST" ? /^\/object\/sign\/([^/]+)\/?$/.exec(path)?.[1] : undefined;
  if (manyOf !== undefined) return await signMany(request, headers, target, manyOf, lite);

  const bucketId = uploadBucket(method, path);
  const maxBytes = bucketId === undefined ? undefined : ((await lite.fileSizeLimit(bucketId)) ?? DEFAULT_MAX_BYTES);
  if (maxBytes !== undefined && !isForm(headers) && Number(headers.get("content-length") ?? 0) > maxBytes) {
    return Response.json(objectTooLarge, { status: 400 });
  }

  const context = { range: request.headers.get("range"), maxBytes, tooLarge: false };
  try {
    const body = bucketId === undefined ? request.body : await plainUpload(request.body, headers);
    // lite serves signed and public files for GET only; a HEAD gets the same headers.
    const asGet = method === "HEAD" && /^\/object\/(sign|public)\//.test(path) ? "GET" : method;
    const forward = new Request(target, { method: asGet, headers, body });
    const send = () => storageRequest.run(context, () => lite.fetch(forward));
    const response = await (bucketId === undefined ? send() : inOrder(path, send));
    if (context.tooLarge) {
      await response.body?.cancel();
      return Response.json(objectTooLarge, { status: 400 });
    }
    const metadata = headers.get("x-metadata");
    if (bucketId !== undefined && metadata !== null && response.ok) {
      const { Id } = uploadSchema.parse(await response.clone().json());
      await lite.setUserMetadata(Id, jsonOf(metadata));
    }
    if (response.headers.has("accept-ranges")) return finishFile(response, request, url);
    if (method === "POST" && path.startsWith("/object/sign/")) return await renameSignedUrl(response);
    return response;
  } catch (error) {
    if (error instanceof BadForm) return refuse("400", "InvalidRequest", error.message);
    throw error;
  }
}

const uploadSchema = z.object({ Id: z.string() });

/** Base64 of JSON; as hosted, `{}` when it is neither. */
function jsonOf(metadata: string): string {
  const text = Buffer.from(metadata, "base64").toString();
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return "{}";
  }
}

const isForm = (headers: Headers) => headers.get("content-type")?.startsWith("multipart/form-data") === true;

/** lite would answer 500 for an invalid or expired token. */
async function signatureFault(token: string | null, secret: Uint8Array): Promise<string | undefined> {
  if (token === null) return "querystring must have required property 'token'";
  try {
    await jwtVerify(token, secret, { algorithms: ["HS256"] });
    return undefined;
  } catch (error) {
    return error instanceof errors.JWTExpired ? '"exp" claim timestamp check failed' : "signature verification failed";
  }
}

const signedSchema = z.object({ signedUrl: z.string() });

/** lite's JSON for a signed URL, with the hosted Storage's name and relative to `/storage/v1`, as storage-js expects it. */
async function renameSignedUrl(response: Response): Promise<Response> {
  const body: unknown = await response.json();
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const answer = (renamed: unknown) => Response.json(renamed, { status: response.status, headers });
  if (!response.ok) return answer(body);
  return answer({ signedURL: signedSchema.parse(body).signedUrl.replace(/^\/storage\/v1/, "") });
}

/**
 * A file's response as from the hosted Storage: 206 for a range, 304 for a matching ETag, a file name for `?download`. No bucket of
 * ours takes HTML.
 */
function finishFile(response: Response, request: Request, url: URL): Response {
  const headers = new Headers(response.headers);
  if (url.searchParams.has("download")) {
    const name = url.searchParams.get("download") || url.pathname.split("/").at(-1) || "download";
    headers.set("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(decodeURIComponent(name))}`);
  }
  const status = headers.has("content-range") ? 206 : 200;
  const etag = headers.get("etag");
  const seen = request.headers.get("if-none-match");
  if (status === 200 && etag !== null && seen === etag) {
    void response.body?.cancel();
    headers.delete("content-length");
    return new Response(null, { status: 304, headers });
  }
  if (request.method !== "HEAD") return new Response(response.body, { status, headers });
  void response.body?.cancel();
  return new Response(null, { status, headers });
}

const requestSchema = z.object({ expiresIn: z.number(), paths: z.array(z.string()).max(1_000) });
const signedUrlSchema = z.object({ signedURL: z.string() });

/** Fewer than lite's connections, so that other requests are not blocked. */
const AT_ONCE = 4;

/**
 * Signs several files of a bucket, each by its own request, because lite does not support this route. A file that the caller
 * may not read has an error in its entry, as hosted.
 */
async function signMany(request: Request, headers: Headers, url: URL, bucket: string, lite: Lite): Promise<Response> {
  const wanted = requestSchema.safeParse(await request.json().catch(() => null));
  if (!wanted.success) {
    return Response.json(
      { statusCode: "400", error: "Error", message: z.prettifyError(wanted.error) },
      { status: 400 },
    );
  }
  const { expiresIn, paths } = wanted.data;
  const body = JSON.stringify({ expiresIn });
  const one = new Headers(headers);
  one.delete("content-length");
  const sign = async (path: string) => {
    const target = new URL(`/storage/v1/object/sign/${bucket}/${path}`, url);
    const response = await lite.fetch(new Request(target, { method: "POST", headers: one, body }));
    const answer = signedUrlSchema.safeParse(await (await renameSignedUrl(response)).json());
    const error = answer.success ? null : "Either the object does not exist or you do not have access to it";
    return { path, error, signedURL: answer.data?.signedURL ?? null };
  };
  const signed = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    signed.push(...(await Promise.all(paths.slice(at, at + AT_ONCE).map(sign))));
  }
  return Response.json(signed);
}
