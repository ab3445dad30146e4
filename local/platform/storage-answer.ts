import { z } from "zod";

const signedSchema = z.object({ signedUrl: z.string() });
const signedUploadSchema = z.object({ signedUrl: z.string(), token: z.string() });

/** An address below `/storage/v1`, as storage-js expects it. */
const below = (address: string) => address.replace(/^\/storage\/v1/, "");

/** lite's JSON for signed addresses, with the names the hosted Storage uses. */
export async function renameSignedUrls(response: Response, path: string): Promise<Response> {
  const body: unknown = await response.json();
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const answer = (renamed: unknown) => Response.json(renamed, { status: response.status, headers });
  if (!response.ok) return answer(body);
  if (path.startsWith("/object/upload/")) {
    const { signedUrl, token } = signedUploadSchema.parse(body);
    return answer({ url: below(signedUrl), token });
  }
  return answer({ signedURL: below(signedSchema.parse(body).signedUrl) });
}

/**
 * A file's answer as the hosted Storage sends it: 206 for a part, 304 for what the client has, a name to save it under
 * when asked for, and HTML as plain text, so that no uploaded page runs in the origin of the API.
 */
export function finishFile(response: Response, request: Request, url: URL): Response {
  const headers = new Headers(response.headers);
  if (headers.get("content-type")?.startsWith("text/html")) headers.set("content-type", "text/plain");
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
