import { callPage } from "./refusals.ts";

/** The files of Swagger UI that the page needs; no other file of the package is served. */
const FILES: Record<string, string> = {
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
  "favicon-32x32.png": "image/png",
};

const folder = new URL("../../node_modules/swagger-ui-dist/", import.meta.url);

// The page can hold a session token: it loads from this origin only and cannot be put into a frame. Swagger UI's icons are
// data URLs in its style sheet.
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

// Swagger UI sets no page background, and shows one caption dark on dark.
const STYLE = `html { color-scheme: light dark; overflow-y: scroll; }
body { margin: 0; background: #fafafa; }
html.dark-mode body { background: #1c2022; }
html.dark-mode .swagger-ui .examples__title { color: #e4e6e6; }
`;

// openapi.json names the stack's URL, but the page may be open under another name of this machine.
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

const OWN_FILES: Record<string, [type: string, text: string]> = {
  "": ["text/html; charset=utf-8", PAGE],
  "page.css": ["text/css; charset=utf-8", STYLE],
  "page.js": ["text/javascript; charset=utf-8", SCRIPT],
};

/**
 * The API's documentation at `/docs`: Swagger UI over openapi.json. It is served here because a function of the hosted
 * platform cannot answer with HTML.
 */
export function callDocs(request: Request, url: URL): Promise<Response> {
  return callPage(request, url, () => docsFile(url.pathname.slice("/docs/".length)));
}

async function docsFile(name: string): Promise<Response> {
  const own = Object.hasOwn(OWN_FILES, name) ? OWN_FILES[name] : undefined;
  if (own !== undefined) return new Response(own[1], { headers: { ...HEADERS, "content-type": own[0] } });
  const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
  if (type === undefined) return new Response("There is no such file.", { status: 404 });
  return new Response(await Deno.readFile(new URL(name, folder)), { headers: { ...HEADERS, "content-type": type } });
}
