import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";

/**
 * The headers of one attempt, as in Standard Webhooks. Every valid secret signs, so a receiver with the old or the new one can verify. Throws
 * if there is no secret or one is not base64, so that nothing is sent unsigned.
 */
export function eventHeaders(secrets: string[], eventId: string, now: Date, body: string): Record<string, string> {
  if (secrets.length === 0) throw new Error("The endpoint has no signing secret.");
  const headers = requestHeaders(eventId, now);
  const text = `${eventId}.${headers["webhook-timestamp"]}.${body}`;
  return { ...headers, "webhook-signature": secrets.map((secret) => sign(secret, text)).join(" ") };
}

/** Throws unless the secret is base64. */
function sign(secret: string, text: string): string {
  const encoded = secret.replace(/^whsec_/, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw new Error("The secret is not base64.");
  return `v1,${createHmac("sha256", Buffer.from(encoded, "base64")).update(text).digest("base64")}`;
}
