import { extname, join } from "node:path";
import { callPage } from "./loopback-page.ts";

export type DashboardOptions = {
  /** The folder that `npm run build` fills. */
  folder: string;
  publishableKey: string;
  demoUser: { email: string; password: string };
  /** The stack's own URL, which links to files begin with. */
  publicUrl: string;
};

const CONTENT_TYPE: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page itself has a policy for scripts. A policy against frames of other sites works only as a header. */
const HEADERS = {
  "Content-Security-Policy": "frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** Assets are compressed once, as static hosts do, because a page of the dashboard requests up to 25 files. */
const zippedAssets = new Map<string, ArrayBuffer>();
const gzip = (bytes: Uint8Array<ArrayBuffer>) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();

/** The paths of the dashboard. Its pages are fragments (#), so it has no others. */
export const isDashboardPath = (path: string): boolean =>
  path === "/" || path === "/config.json" || path === "/favicon.svg" || /^\/assets\/[A-Za-z0-9._-]+$/.test(path);

/** A file of the built dashboard, or config.json with the key and the demo user of this stack. */
export function callDashboard(request: Request, url: URL, options: DashboardOptions): Promise<Response> {
  const { folder, publishableKey, demoUser, publicUrl } = options;
  return callPage(request, url, async () => {
    if (url.pathname === "/config.json") {
      return Response.json({ publishableKey, demoUser }, { headers: { ...HEADERS, "Cache-Control": "no-store" } });
    }
    // Under another name of this machine the page would have a different origin from its films, which its policy forbids.
    const own = new URL(publicUrl);
    if (url.pathname === "/" && url.port === own.port && url.hostname !== own.hostname) {
      return new Response(null, { status: 302, headers: { Location: `${own.origin}/` } });
    }
    const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    const bytes = await Deno.readFile(join(folder, name)).catch(() => null);
    if (bytes === null) return new Response("The dashboard is not built: npm run build", { status: 404 });
    // The file names in assets contain a hash of the content.
    const isAsset = name.startsWith("assets/");
    const cache = isAsset ? "public, max-age=31536000, immutable" : "no-cache";
    const type = CONTENT_TYPE[extname(name)] ?? "application/octet-stream";
    const headers = { ...HEADERS, "Content-Type": type, "Cache-Control": cache, Vary: "Accept-Encoding" };
    if (!/\bgzip\b/.test(request.headers.get("accept-encoding") ?? "")) return new Response(bytes, { headers });
    const path = join(folder, name);
    const zipped = zippedAssets.get(path) ?? (await gzip(bytes));
    if (isAsset) zippedAssets.set(path, zipped);
    return new Response(zipped, { headers: { ...headers, "Content-Encoding": "gzip" } });
  });
}
