import { callPage } from "./refusals.ts";

/** An email from Auth, as the page shows it. */
export type Mail = { to: string; subject: string; text: string; at: Date };

/** Keeps the last 50 emails in memory, newest first. */
interface MailBox {
  put(mail: Omit<Mail, "at">): void;
  mails(): readonly Mail[];
}

const KEPT = 50;

export function createMailBox(now: () => Date = () => new Date()): MailBox {
  let kept: readonly Mail[] = [];
  return {
    put({ to, subject, text }) {
      kept = [{ to, subject, text, at: now() }, ...kept].slice(0, KEPT);
    },
    mails: () => kept,
  };
}

// Each link signs its reader in: the page runs no script, cannot be framed, is not cached and sends no referrer.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** The emails from Auth at `/mail`, which nothing sends. */
export function callMail(request: Request, url: URL, box: MailBox): Promise<Response> {
  return callPage(request, url, () => mailFile(url.pathname, box));
}

function mailFile(path: string, box: MailBox): Response {
  const answer = (type: string, text: string) =>
    new Response(text, { headers: { ...HEADERS, "content-type": `${type}; charset=utf-8` } });
  if (path === "/mail") return answer("text/html", mailPage(box.mails()));
  if (path === "/mail/page.css") return answer("text/css", MAIL_STYLE);
  return new Response("There is no such file.", { status: 404 });
}

const MAIL_STYLE = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
article { margin: 1.5rem 0; padding: 1rem 1.25rem; border: 1px solid light-dark(#ccc, #555); border-radius: 0.5rem; }
h2 { margin: 0; font-size: 1.1rem; }
pre { margin: 1rem 0 0; font: inherit; white-space: pre-wrap; }
a { color: light-dark(#3e2fad, #bdb5f1); }
`;

/** A page without scripts. The content of an email is escaped text, except for links. */
export function mailPage(mails: readonly Mail[]): string {
  const letters = mails.length > 0 ? mails.map(letter).join("") : "<p>No mail yet.</p>";
  return `<!doctype html>
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
${letters}
</main>
</body>
</html>
`;
}

const letter = ({ to, subject, text, at }: Mail): string => `<article>
<h2>${escapeHtml(subject)}</h2>
<div>To ${escapeHtml(to)}, <time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace("T", " ")} UTC</time></div>
<pre>${withLinks(text)}</pre>
</article>
`;

/** Splits at the URLs first, so that escaped text never becomes part of a link. */
const withLinks = (text: string): string =>
  text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((part, at) => (at % 2 === 1 ? `<a href="${escapeHtml(part)}">${escapeHtml(part)}</a>` : escapeHtml(part)))
    .join("");

const ENTITY: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITY[letter] ?? letter);
