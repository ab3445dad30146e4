import type { Lite } from "./create-lite.ts";
import type { Keys } from "./identify-caller.ts";
import { LOOPBACK_NAMES } from "./loopback-names.ts";
import { studioFile, studioPage } from "./studio-page.ts";

/**
 * Studio, at `/studio`. Its page acts as service_role and sends no key, so its calls are taken only from a page of this
 * very origin, under a loopback name: a foreign site, or a name that was made to point here, gets 403.
 */
export async function callStudio(request: Request, url: URL, lite: Lite, keys: Keys): Promise<Response> {
  const path = url.pathname.slice("/studio".length);
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("Studio is for this machine alone.", { status: 403 });
  if (path.startsWith("/static/")) return await studioFile(path.slice("/static/".length));
  if (!/^\/(_system|rest|storage|auth)\//.test(path)) return await studioPage();

  const origin = request.headers.get("origin");
  if (request.headers.get("sec-fetch-site") !== "same-origin" || (origin !== null && origin !== url.origin)) {
    return Response.json({ message: "Studio's own page alone may call this address" }, { status: 403 });
  }
  if (path === "/_system/info") {
    // lite's answer holds the address of the database, password included.
    return Response.json({ admin: true, connection: {}, config: { auth: { publishable_key: keys.publishableKey } } });
  }
  if (path.startsWith("/_system/") && path !== "/_system/introspect") return new Response(null, { status: 404 });
  const target = new URL(url);
  target.pathname = path;
  const headers = new Headers(request.headers);
  // lite refuses the secret key to whatever calls itself a browser.
  for (const name of ["user-agent", "authorization", "origin", "cookie"]) headers.delete(name);
  headers.set("apikey", keys.secretKey);
  return await lite.fetch(new Request(target, { method: request.method, headers, body: request.body }));
}
