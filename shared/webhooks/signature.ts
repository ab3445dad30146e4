import { Webhook } from "standardwebhooks";
import type { SignatureHeaders } from "./verify.ts";

// With the package of Standard Webhooks, for tests and benchmarks: it checks what Postgres and the functions do themselves.

/** Signs a body with a `whsec_…` secret. */
export function sign(secret: string, id: string, now: Date, body: string): SignatureHeaders {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
}

/** Whether a receiver accepts the request. */
export function verify(secret: string, headers: Headers, body: string): boolean {
  try {
    new Webhook(secret).verify(body, Object.fromEntries(headers), { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}
