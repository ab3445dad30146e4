import type { Mail } from "./mail-box.ts";

export const MAIL_STYLE = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
article { margin: 1.5rem 0; padding: 1rem 1.25rem; border: 1px solid light-dark(#ccc, #555); border-radius: 0.5rem; }
h2 { margin: 0; font-size: 1.1rem; }
pre { margin: 1rem 0 0; font: inherit; white-space: pre-wrap; }
a { color: light-dark(#3e2fad, #bdb5f1); }
`;

/** The letter box as a page without a script. All that comes out of a mail is text, but for its web addresses. */
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
<p>What Auth would have sent; nothing leaves this machine. Newest first, gone when the stack stops. <a href="/mail">Look again</a></p>
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

/** Splits at the addresses, so that what is escaped and what becomes a link cannot mix. */
const withLinks = (text: string): string =>
  text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((part, at) => (at % 2 === 1 ? `<a href="${escapeHtml(part)}">${escapeHtml(part)}</a>` : escapeHtml(part)))
    .join("");

const ENTITY: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITY[letter] ?? letter);
