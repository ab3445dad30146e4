import { extname, join } from "node:path";

const TYPES: Record<string, string> = {
  ...{ ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" },
  ...{ ".json": "application/json", ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8" },
  ...{ ".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".mp4": "video/mp4" },
};
const IS_TEXT = /text|json|svg/;

/** Serves the built site on this machine, as GitHub Pages does: compressed, and a page without its extension. */
export function serveSite(folder: string, base: string, port: number): Deno.HttpServer<Deno.NetAddr> {
  const options = { hostname: "127.0.0.1", port, onListen: () => undefined };
  return Deno.serve(options, async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    if (!path.startsWith(base)) return new Response(null, { status: 302, headers: { location: base } });
    const name = join("/", path.slice(base.length)); // without any ..
    for (const end of name.endsWith("/") ? ["index.html"] : ["", ".html"]) {
      const bytes = await Deno.readFile(join(folder, name + end)).catch(() => null);
      if (bytes === null) continue;
      const type = TYPES[extname(name + end)] ?? "application/octet-stream";
      const { readable, ...headers } = { readable: new Blob([bytes]).stream(), "content-type": type };
      if (!IS_TEXT.test(type)) return new Response(readable, { headers });
      const zipped = readable.pipeThrough(new CompressionStream("gzip"));
      return new Response(zipped, { headers: { ...headers, "content-encoding": "gzip" } });
    }
    return new Response(await Deno.readFile(join(folder, "404.html")), {
      status: 404,
      headers: { "content-type": "text/html" },
    });
  });
}
