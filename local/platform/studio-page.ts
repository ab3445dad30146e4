import { z } from "zod";
import type { Lite } from "./create-lite.ts";
import { type Keys, LOOPBACK_NAMES } from "./refusals.ts";

/** lite's Studio at `/studio`. Its page acts as service_role without a key, so other origins and host names get 403. */
export async function callStudio(request: Request, url: URL, lite: Lite, keys: Keys): Promise<Response> {
  const path = url.pathname.slice("/studio".length);
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("Studio is for this machine only.", { status: 403 });
  if (path.startsWith("/static/")) return await studioFile(path.slice("/static/".length));
  if (!/^\/(_system|rest|storage|auth)\//.test(path)) return await studioPage();

  const origin = request.headers.get("origin");
  if (request.headers.get("sec-fetch-site") !== "same-origin" || (origin !== null && origin !== url.origin)) {
    return Response.json({ message: "Only Studio's own page may call this URL" }, { status: 403 });
  }
  if (path === "/_system/info") {
    // lite's response would contain the database's URL with its password.
    return Response.json({ admin: true, connection: {}, config: { auth: { publishable_key: keys.publishableKey } } });
  }
  if (path.startsWith("/_system/") && path !== "/_system/introspect") return new Response(null, { status: 404 });
  const target = new URL(url);
  target.pathname = path;
  const headers = new Headers(request.headers);
  // lite refuses the secret key from a browser.
  for (const name of ["user-agent", "authorization", "origin", "cookie"]) headers.delete(name);
  headers.set("apikey", keys.secretKey);
  return await lite.fetch(new Request(target, { method: request.method, headers, body: request.body }));
}

const manifestSchema = z.record(
  z.string(),
  z.object({ file: z.string(), isEntry: z.boolean().optional(), css: z.array(z.string()).optional() }),
);

const TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
  ico: "image/x-icon",
};

const folder = new URL("../../node_modules/@supabase/lite/dist/static/", import.meta.url);

/**
 * lite's Studio expects to be at the root of its server. This matches the one line in its script that sets the base URL and
 * the router; both get `/studio`.
 */
const START =
  /const (\w+)=window\.location\.origin;return (\w+)\.jsx\((\w+),\{baseUrl:\1,children:\2\.jsx\((\w+),\{children:/;

function moveToStudio(script: string): string {
  if (!START.test(script)) throw new Error("the Studio of this version of @supabase/lite starts in another way");
  return script.replace(
    START,
    'const $1=window.location.origin+"/studio";return $2.jsx($3,{baseUrl:$1,children:$2.jsx($4,{base:"/studio",children:',
  );
}

/** The page, for every path below `/studio` that is not a file. */
async function studioPage(): Promise<Response> {
  const manifest = manifestSchema.parse(JSON.parse(await Deno.readTextFile(new URL(".vite/manifest.json", folder))));
  const entry = Object.values(manifest).find((file) => file.isEntry);
  if (!entry) throw new Error("the Studio of this version of @supabase/lite has no entry");
  const styles = (entry.css ?? []).map((file) => `<link rel="stylesheet" href="/studio/static/${file}">`).join("");
  const html = `<!doctype html><html lang="en" class="dark" data-theme="dark" style="color-scheme: dark"><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Studio</title>
<link rel="icon" href="/studio/static/favicon.ico"><script type="module" src="/studio/static/${entry.file}"></script>${styles}
</head><body><div id="root"></div></body></html>`;
  // Against clickjacking.
  const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "frame-ancestors 'none'" };
  return new Response(html, { headers });
}

/** A script, style, font or icon of Studio, by its path below `/studio/static/`. */
async function studioFile(path: string): Promise<Response> {
  const type = TYPES[path.split(".").at(-1) ?? ""];
  if (type === undefined || !/^[\w./-]+$/.test(path) || path.includes("..")) return new Response(null, { status: 404 });
  const headers = { "content-type": type, "cache-control": "public, max-age=31536000, immutable" };
  const bytes = await Deno.readFile(new URL(path, folder)).catch(() => null);
  if (bytes === null) return new Response(null, { status: 404 });
  const text = () => new TextDecoder().decode(bytes);
  if (path.endsWith(".js")) return new Response(moveToStudio(text()), { headers });
  const isStyle = path.endsWith(".css");
  return new Response(isStyle ? text().replaceAll("url(/static/", "url(/studio/static/") : bytes, { headers });
}
