import { LOOPBACK_NAMES } from "./loopback-names.ts";
import type { MailBox } from "./mail-box.ts";
import { MAIL_STYLE, mailPage } from "./mail-page.ts";

// The links let in whoever follows them: nothing runs on the page, nobody frames it, keeps it or learns its address.
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** The mail of Auth at `/mail`, in the place of a letter box: to read, for this machine alone. */
export async function callMail(request: Request, url: URL, box: MailBox): Promise<Response> {
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("The mail is for this machine alone.", { status: 403 });
  if (request.method !== "GET" && request.method !== "HEAD") {
    await request.body?.cancel();
    return new Response("The mail can only be read.", { status: 405, headers: { allow: "GET, HEAD" } });
  }
  const found = fileAt(url.pathname, box);
  if (found === undefined) return new Response("There is no such file.", { status: 404 });
  const headers = { ...HEADERS, "content-type": `${found.type}; charset=utf-8` };
  return new Response(request.method === "HEAD" ? null : found.text, { headers });
}

function fileAt(path: string, box: MailBox): { type: string; text: string } | undefined {
  if (path === "/mail") return { type: "text/html", text: mailPage(box.mails()) };
  if (path === "/mail/page.css") return { type: "text/css", text: MAIL_STYLE };
  return undefined;
}
