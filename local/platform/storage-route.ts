import { errors, jwtVerify } from "jose";
import type { Lite } from "./create-lite.ts";
import { inTurn } from "./in-turn.ts";
import { BadForm } from "./read-multipart.ts";
import { objectTooLarge } from "./refusals.ts";
import { signMany } from "./sign-many.ts";
import { finishFile, renameSignedUrls } from "./storage-answer.ts";
import { plainUpload, uploadBucket } from "./storage-upload.ts";
import { storageRequest } from "./write-upload.ts";

/** Bytes, for buckets without a limit of their own. */
const DEFAULT_MAX_BYTES = 500 * 1024 * 1024;

const PREFIX = "/storage/v1";

// Storage answers 400 and puts the status it means into the body; clients read it there.
const refuse = (statusCode: string, error: string, message: string) =>
  Response.json({ statusCode, error, message }, { status: 400 });

/**
 * One request to Storage. lite checks the policies, running each operation as the caller in Postgres; this adds what it
 * leaves out: streamed forms, the size limit of bodies of unknown length, ranges, and the hosted form of some answers.
 *
 * @param headers credentials in lite's form, see identify-caller.ts
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

  // Postgres keeps no NUL in a text, and lite would answer 500.
  if (path.includes("%00")) {
    await request.body?.cancel();
    return refuse("400", "Invalid key", "Invalid object key");
  }

  const token = url.searchParams.get("token");
  const signed = /^\/object\/(upload\/)?sign\//.test(path) && method !== "POST";
  if (signed) {
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
    // A signed or public file is asked for with GET alone in lite; HEAD is answered from the same headers.
    const asGet = method === "HEAD" && /^\/object\/(sign|public)\//.test(path) ? "GET" : method;
    const forward = new Request(target, { method: asGet, headers, body });
    const send = () => storageRequest.run(context, () => lite.fetch(forward));
    const response = await (bucketId === undefined ? send() : inTurn(path, send));
    if (context.tooLarge) {
      await response.body?.cancel();
      return Response.json(objectTooLarge, { status: 400 });
    }
    if (response.headers.has("accept-ranges")) return finishFile(response, request, url);
    if (method === "POST" && /^\/object\/(upload\/)?sign\//.test(path)) return await renameSignedUrls(response, path);
    return response;
  } catch (error) {
    if (error instanceof BadForm) return refuse("400", "InvalidRequest", error.message);
    throw error;
  }
}

const isForm = (headers: Headers) => headers.get("content-type")?.startsWith("multipart/form-data") === true;

/** lite would answer 500 for a token that is broken or has run out. */
async function signatureFault(token: string | null, secret: Uint8Array): Promise<string | undefined> {
  if (token === null) return "querystring must have required property 'token'";
  try {
    await jwtVerify(token, secret, { algorithms: ["HS256"] });
    return undefined;
  } catch (error) {
    return error instanceof errors.JWTExpired ? '"exp" claim timestamp check failed' : "signature verification failed";
  }
}
