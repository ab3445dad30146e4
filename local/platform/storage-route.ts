import { Buffer } from "node:buffer";
import { errors, jwtVerify } from "jose";
import { z } from "zod";
import type { Lite } from "./create-lite.ts";
import { storageRequest } from "./storage-files.ts";
import { inOrder, plainUpload, uploadBucket } from "./storage-upload.ts";

/** The limit of any upload, to protect this machine's disk. */
const MAX_BYTES = 500 * 1024 * 1024;

const PREFIX = "/storage/v1";

// As hosted, Storage answers 400 and puts the actual status into the body.
const refuse = (statusCode: string, error: string, message: string) =>
  Response.json({ statusCode, error, message }, { status: 400 });

const tooLarge = () => refuse("413", "Payload too large", "The object exceeded the maximum allowed size");

/**
 * One request to Storage. lite runs each operation in Postgres as the caller, under the policies. This adds what lite lacks:
 * streamed forms, the size limits, ranges, and the hosted form of some responses.
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
  const isSigned = path.startsWith("/object/sign/");

  // Text in Postgres cannot contain NUL, and lite would answer 500.
  if (path.includes("%00")) {
    await request.body?.cancel();
    return refuse("400", "Invalid key", "Invalid object key");
  }
  if (isSigned && method !== "POST") {
    const fault = await signatureFault(url.searchParams.get("token"), liteSecret);
    if (fault) return refuse("400", "InvalidJWT", fault);
  }

  if (method === "POST" && /^\/object\/sign\/[^/]+\/?$/.test(path))
    return await signMany(request, headers, target, lite);

  const bucketId = uploadBucket(method, path);
  const body = bucketId === undefined ? request.body : await plainUpload(request.body, headers);
  if (body === undefined) return refuse("400", "InvalidRequest", "the form has no file");
  if (bucketId !== undefined) {
    // As hosted: a plain upload in chunks, whose length no header tells, passes the bucket's limit.
    const length = body instanceof Uint8Array ? body.byteLength : Number(headers.get("content-length") ?? 0);
    if (length > ((await lite.fileSizeLimit(bucketId)) ?? MAX_BYTES)) return tooLarge();
  }

  const maxBytes = bucketId === undefined ? undefined : MAX_BYTES;
  const userMetadata = bucketId === undefined ? undefined : jsonOf(headers.get("x-metadata"));
  const context = { range: request.headers.get("range"), maxBytes, tooLarge: false, userMetadata };
  // lite serves signed and public files for GET only; a HEAD gets the same headers.
  const asGet = method === "HEAD" && /^\/object\/(sign|public)\//.test(path) ? "GET" : method;
  const forward = new Request(target, { method: asGet, headers, body });
  const send = () => storageRequest.run(context, () => lite.fetch(forward));
  const response = await (bucketId === undefined ? send() : inOrder(path, send));
  if (context.tooLarge) {
    await response.body?.cancel();
    return tooLarge();
  }
  if (response.headers.has("accept-ranges")) return finishFile(response, request, url);
  if (!isSigned || method !== "POST" || !response.ok) return response;
  return Response.json({ signedURL: await signedUrlOf(response) });
}

/** Decodes base64. As hosted, the result is `{}` if the text is not JSON, and undefined if there is none. */
function jsonOf(metadata: string | null): unknown {
  if (metadata === null) return undefined;
  try {
    return JSON.parse(Buffer.from(metadata, "base64").toString());
  } catch {
    return {};
  }
}

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

const signed = z.object({ signedUrl: z.string() });

/** lite's JSON for a signed URL, with the hosted Storage's name and relative to `/storage/v1`, as storage-js expects it. */
async function signedUrlOf(response: Response): Promise<string | null> {
  const { data } = signed.safeParse(await response.json());
  return data ? data.signedUrl.replace(PREFIX, "") : null;
}

const manySchema = z.object({ expiresIn: z.number(), paths: z.array(z.string()) });
/** Fewer than lite's connections, so that other requests are not blocked. */
const AT_ONCE = 4;

/** Signs several files of a bucket, each by its own request, because lite does not serve this route. */
async function signMany(request: Request, headers: Headers, url: URL, lite: Lite): Promise<Response> {
  const requested = manySchema.safeParse(await request.json().catch(() => null));
  if (!requested.success) return refuse("400", "Error", z.prettifyError(requested.error));
  const { expiresIn, paths } = requested.data;
  headers.delete("content-length");
  const sign = async (path: string) => {
    const body = JSON.stringify({ expiresIn });
    const target = `${url.origin}${url.pathname.replace(/\/$/, "")}/${path}`;
    const signedURL = await signedUrlOf(await lite.fetch(new Request(target, { method: "POST", headers, body })));
    // As hosted, the same error means a missing file or one that the caller may not read.
    const error = signedURL === null ? "Either the object does not exist or you do not have access to it" : null;
    return { path, error, signedURL };
  };
  const answers = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    answers.push(...(await Promise.all(paths.slice(at, at + AT_ONCE).map(sign))));
  }
  return Response.json(answers);
}

/**
 * A file's response as from the hosted Storage: 206 for a range, 304 for a matching ETag, a file name for `?download`. A page or picture with
 * scripts gets no origin, because the gateway's origin is also the dashboard's.
 */
function finishFile(response: Response, request: Request, url: URL): Response {
  const headers = new Headers(response.headers);
  headers.set("content-security-policy", "sandbox");
  headers.set("x-content-type-options", "nosniff");
  if (url.searchParams.has("download")) {
    const name = url.searchParams.get("download") || url.pathname.split("/").at(-1) || "download";
    headers.set("content-disposition", `attachment; filename*=UTF-8''${encodeURIComponent(decodeURIComponent(name))}`);
  }
  const etag = headers.get("etag");
  const isKnown = etag !== null && request.headers.get("if-none-match") === etag && !headers.has("content-range");
  const status = isKnown ? 304 : headers.has("content-range") ? 206 : 200;
  if (isKnown) headers.delete("content-length");
  if (!isKnown && request.method !== "HEAD") return new Response(response.body, { status, headers });
  void response.body?.cancel();
  return new Response(null, { status, headers });
}
