import { sign } from "../../../local/sign.ts";

export type SignedPost = {
  body?: string;
  id?: string;
  /** When it says it was signed. */
  at?: Date;
  method?: string;
  /** Changes what was signed: a header set to null is left out. */
  headers?: Record<string, string | null>;
  /** What is sent instead of the signed body. */
  sent?: BodyInit;
};

type Answer = { status: number; code: string | null; data: unknown };

/** Sends a Standard Webhooks request signed with `secret`, right in everything that is not given otherwise. */
export async function signedPost(url: string, secret: string, post: SignedPost = {}): Promise<Answer> {
  const { body = "{}", id = `msg_${crypto.randomUUID()}`, at = new Date(), method = "POST", sent = body } = post;
  const headers = new Headers({ "content-type": "application/json", ...sign(secret, id, at, body) });
  for (const [name, value] of Object.entries(post.headers ?? {})) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const response = await fetch(url, { method, headers, redirect: "manual", ...(hasBody ? { body: sent } : {}) });
  const text = await response.text();
  // Only an envelope is expected here; anything else makes the assertion on `code` fail and shows itself.
  const { data = null, error = null } = JSON.parse(text || "{}") as { data?: unknown; error?: { code: string } | null };
  return { status: response.status, code: error?.code ?? null, data };
}
