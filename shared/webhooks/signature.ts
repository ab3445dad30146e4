import { Webhook } from "standardwebhooks";

/** The three headers of Standard Webhooks (https://www.standardwebhooks.com). */
export type SignatureHeaders = {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
};

/**
 * Signs a body with a `whsec_…` secret. `now` is the time of this attempt.
 * For kicks in tests and benchmarks. Postgres signs its own kicks the same way, and `deliver` the webhooks to receivers.
 */
export function sign(secret: string, id: string, now: Date, body: string): SignatureHeaders {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
}

/**
 * The only forms that are accepted. The package itself would read the time of "1700000000, 1" or "1700000000x", and an id
 * with a dot in it could claim a part of what was signed as time and body. A header sent twice arrives joined, and is neither.
 */
const FORMS: Record<keyof SignatureHeaders, RegExp> = {
  "webhook-id": /^[!-\-/-~]{1,256}$/,
  "webhook-timestamp": /^\d{1,12}$/,
  "webhook-signature": /^\w+,[\w+/=]+(?: \w+,[\w+/=]+)*$/,
};

/**
 * True when the body was signed with the secret not more than five minutes ago (or ahead). Constant time in the signature.
 * The package compares with its own clock, so a test of old signatures signs with an old `now`.
 */
export function verify(secret: string, headers: Headers, body: string): boolean {
  if (!Object.entries(FORMS).every(([name, form]) => form.test(headers.get(name) ?? ""))) return false;
  try {
    new Webhook(secret).verify(body, Object.fromEntries(headers), { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}
