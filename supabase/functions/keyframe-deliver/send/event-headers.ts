import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";

/** Strict, because Buffer would skip invalid characters and sign with the rest. */
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))$/;

/**
 * The headers of one attempt, as in Standard Webhooks. Every valid secret signs, so a receiver with the old or the new one can verify.
 * Throws when there is no secret or one is invalid: nothing is sent unsigned.
 * Uses node:crypto, because SHA-256 in JavaScript (the package standardwebhooks) was a sixth of the cost of an attempt. A test compares
 * the signatures of both.
 */
export function eventHeaders(secrets: string[], eventId: string, now: Date, body: string): Record<string, string> {
  if (secrets.length === 0) throw new Error("The endpoint has no signing secret.");
  const headers = requestHeaders(eventId, now);
  const signed = `${eventId}.${headers["webhook-timestamp"]}.`;
  return { ...headers, "webhook-signature": secrets.map((secret) => sign(secret, signed, body)).join(" ") };
}

function sign(secret: string, before: string, body: string): string {
  const [, key] = SECRET.exec(secret) ?? [];
  if (key === undefined) throw new Error("A signing secret cannot be read.");
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(before).update(body).digest("base64");
  return `v1,${signature}`;
}
