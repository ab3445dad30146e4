import { docsFile } from "./docs-page.ts";
import { LOOPBACK_NAMES } from "./loopback-names.ts";

/**
 * The API's documentation at `/docs`: Swagger UI over openapi.json. Only files, to read, for this machine alone. Here
 * because a function of the hosted platform cannot answer with HTML.
 */
export async function callDocs(request: Request, url: URL): Promise<Response> {
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("The page is for this machine alone.", { status: 403 });
  if (request.method !== "GET" && request.method !== "HEAD") {
    await request.body?.cancel();
    return new Response("The page can only be read.", { status: 405, headers: { allow: "GET, HEAD" } });
  }
  const file = await docsFile(url.pathname.slice("/docs/".length));
  if (file === undefined) return new Response("There is no such file.", { status: 404 });
  return request.method === "HEAD" ? new Response(null, file) : file;
}
