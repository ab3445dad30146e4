import { extname, join } from "node:path";
import { LOOPBACK_NAMES } from "./loopback-names.ts";

export type DashboardOptions = {
  /** The folder that `npm run build` fills. */
  folder: string;
  publishableKey: string;
  demoUser: { email: string; password: string };
  /** The stack's own address, as it stands in links to files. */
  publicUrl: string;
};

const CONTENT_TYPE: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page says which scripts may run; no other site may put it into a frame, which only a header can say. */
const HEADERS = {
  "Content-Security-Policy": "frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** Whether a path belongs to the dashboard. Its pages are behind the #, so these are all the files it has. */
export const isDashboardPath = (path: string): boolean =>
  path === "/" || path === "/config.json" || path === "/favicon.svg" || /^\/assets\/[A-Za-z0-9._-]+$/.test(path);

/** The dashboard as built, and beside it where it finds this stack and its demo user. For this machine alone. */
export async function callDashboard(request: Request, url: URL, options: DashboardOptions): Promise<Response> {
  if (!LOOPBACK_NAMES.has(url.hostname))
    return new Response("The dashboard is for this machine alone.", { status: 403 });
  if (request.method !== "GET" && request.method !== "HEAD") {
    await request.body?.cancel();
    return new Response(null, { status: 405, headers: { Allow: "GET, HEAD" } });
  }
  if (url.pathname === "/config.json") {
    const { publishableKey, demoUser } = options;
    return Response.json({ publishableKey, demoUser }, { headers: { ...HEADERS, "Cache-Control": "no-store" } });
  }
  // Under another of this machine's names the page would be another origin than its films, and its policy forbid them.
  const own = new URL(options.publicUrl);
  if (url.pathname === "/" && url.port === own.port && url.hostname !== own.hostname) {
    return new Response(null, { status: 302, headers: { Location: `${own.origin}/` } });
  }
  const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
  const bytes = await Deno.readFile(join(options.folder, name)).catch(() => null);
  if (bytes === null) return new Response("The dashboard is not built: npm run build", { status: 404 });
  // The names in assets change with what is in them.
  const cache = name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
  const type = CONTENT_TYPE[extname(name)] ?? "application/octet-stream";
  return new Response(request.method === "HEAD" ? null : bytes, {
    headers: { ...HEADERS, "Content-Type": type, "Cache-Control": cache },
  });
}
