import { z } from "zod";

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
 * lite's Studio is built to live at the root of its server. This is the one place in its script where it takes the
 * origin for its base and starts its router; both are given `/studio` instead.
 */
const START =
  /const (\w+)=window\.location\.origin;return (\w+)\.jsx\((\w+),\{baseUrl:\1,children:\2\.jsx\((\w+),\{children:/;

export function moveToStudio(script: string): string {
  if (!START.test(script)) throw new Error("the Studio of this version of @supabase/lite starts in another way");
  return script.replace(
    START,
    'const $1=window.location.origin+"/studio";return $2.jsx($3,{baseUrl:$1,children:$2.jsx($4,{base:"/studio",children:',
  );
}

/** The page itself, for every address below `/studio` that is not a file. */
export async function studioPage(): Promise<Response> {
  const manifest = manifestSchema.parse(JSON.parse(await Deno.readTextFile(new URL(".vite/manifest.json", folder))));
  const entry = Object.values(manifest).find((file) => file.isEntry);
  if (!entry) throw new Error("the Studio of this version of @supabase/lite has no entry");
  const styles = (entry.css ?? []).map((file) => `<link rel="stylesheet" href="/studio/static/${file}">`).join("");
  const html = `<!doctype html><html lang="en" class="dark" data-theme="dark" style="color-scheme: dark"><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Studio</title>
<link rel="icon" href="/studio/static/favicon.ico"><script type="module" src="/studio/static/${entry.file}"></script>${styles}
</head><body><div id="root"></div></body></html>`;
  // Nobody may put the page into a frame and have its buttons pressed.
  const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "frame-ancestors 'none'" };
  return new Response(html, { headers });
}

/** A script, style, font or icon of Studio, by its path below `/studio/static/`. */
export async function studioFile(path: string): Promise<Response> {
  const type = TYPES[path.split(".").at(-1) ?? ""];
  if (type === undefined || !/^[\w./-]+$/.test(path) || path.includes("..")) return new Response(null, { status: 404 });
  const headers = { "content-type": type, "cache-control": "public, max-age=31536000, immutable" };
  try {
    const file = new URL(path, folder);
    if (path.endsWith(".js")) return new Response(moveToStudio(await Deno.readTextFile(file)), { headers });
    if (path.endsWith(".css")) {
      return new Response((await Deno.readTextFile(file)).replaceAll("url(/static/", "url(/studio/static/"), {
        headers,
      });
    }
    return new Response(await Deno.readFile(file), { headers });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Response(null, { status: 404 });
    throw error;
  }
}
