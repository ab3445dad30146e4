/** The files of Swagger UI that the page needs; nothing else of its package is handed out. */
const FILES: Record<string, string> = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const folder = new URL("../../node_modules/swagger-ui-dist/", import.meta.url);

// Scripts, styles and answers come from this origin alone, and nobody may put the page, which can hold a session token,
// into a frame. Swagger UI has its icons in its style sheet.
const HEADERS = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keyframe API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/page.js" defer></script>
</head>
<body><div id="docs"></div></body>
</html>
`;

// Swagger UI leaves the background to the page, and one caption dark on dark.
const STYLE = `html { color-scheme: light dark; overflow-y: scroll; }
body { margin: 0; background: #fafafa; }
html.dark-mode body { background: #1c2022; }
html.dark-mode .swagger-ui .examples__title { color: #e4e6e6; }
`;

// The document names the address by which clients reach the stack; the page may have been opened by another of its names.
const SCRIPT = `const dark = matchMedia("(prefers-color-scheme: dark)");
const setMode = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", setMode);
setMode();

SwaggerUIBundle({
  url: "/functions/v1/api/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  requestInterceptor(request) {
    const { pathname, search } = new URL(request.url, location.origin);
    request.url = location.origin + pathname + search;
    return request;
  },
});
`;

const MADE: Record<string, [type: string, text: string]> = {
  "": ["text/html; charset=utf-8", PAGE],
  "page.css": ["text/css; charset=utf-8", STYLE],
  "page.js": ["text/javascript; charset=utf-8", SCRIPT],
};

/** The page at `/docs` ("") or one of its files, by its name below `/docs/`; undefined when there is none of that name. */
export async function docsFile(name: string): Promise<Response | undefined> {
  const made = Object.hasOwn(MADE, name) ? MADE[name] : undefined;
  if (made !== undefined) return new Response(made[1], { headers: { ...HEADERS, "content-type": made[0] } });
  const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
  if (type === undefined) return undefined;
  return new Response(await Deno.readFile(new URL(name, folder)), { headers: { ...HEADERS, "content-type": type } });
}
