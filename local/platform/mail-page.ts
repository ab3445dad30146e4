import { html } from "hono/html";
import { callPage } from "./loopback-page.ts";

/** An email from Auth, as the page shows it. */
export type Mail = { to: string; subject: string; text: string; at: Date };

// Each link signs its reader in, so the page runs no script, cannot be framed, is not cached and sends no referrer.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** Shows the emails from Auth at `/mail`. Nothing sends them. */
export function callMail(request: Request, url: URL, mails: readonly Mail[]): Promise<Response> {
  const answer = (type: string, text: string) =>
    new Response(text, { headers: { ...HEADERS, "content-type": `${type}; charset=utf-8` } });
  return callPage(request, url, () => {
    if (url.pathname === "/mail") return answer("text/html", String(mailPage(mails)));
    if (url.pathname === "/mail/page.css") return answer("text/css", STYLE);
    return new Response("There is no such file.", { status: 404 });
  });
}

const STYLE = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
article { margin: 1.5rem 0; padding: 1rem 1.25rem; border: 1px solid light-dark(#ccc, #555); border-radius: 0.5rem; }
h2 { margin: 0; font-size: 1.1rem; }
pre { margin: 1rem 0 0; font: inherit; white-space: pre-wrap; }
a { color: light-dark(#3e2fad, #bdb5f1); }
`;

/** A page without scripts. The content of an email is escaped text, except for links. */
export const mailPage = (mails: readonly Mail[]) => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mail</title>
<link rel="stylesheet" href="/mail/page.css">
</head>
<body>
<main>
<h1>Mail</h1>
<p>Emails from Auth, newest first. None is sent, and all are deleted when the stack stops. <a href="/mail">Reload</a></p>
${mails.length > 0 ? mails.map(letter) : html`<p>No mail yet.</p>`}
</main>
</body>
</html>
`;

const letter = ({ to, subject, text, at }: Mail) => html`<article>
<h2>${subject}</h2>
<div>To ${to}, <time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace("T", " ")} UTC</time></div>
<pre>${withLinks(text)}</pre>
</article>
`;

/** Splits at the URLs first, so that escaped text never becomes part of a link. */
const withLinks = (text: string) =>
  text.split(/(https?:\/\/[^\s<>"']+)/).map((part, at) => (at % 2 === 1 ? html`<a href="${part}">${part}</a>` : part));
