import { Webhook } from "standardwebhooks";

/** The three headers of Standard Webhooks (https://www.standardwebhooks.com). */
export type SignatureHeaders = {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
};

/**
 * Signs a body with a `whsec_…` secret. `now` is the time of this attempt. Used by the simulator, tests and
 * benchmarks: Postgres signs real kicks, and `deliver` signs webhooks, without this package (send/attempt.ts says why).
 */
export function sign(secret: string, id: string, now: Date, body: string): SignatureHeaders {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
}

/**
 * The accepted formats. The package would accept the times "1700000000, 1" and "1700000000x", and an id with a dot could shift the
 * boundaries of the signed text. A header that was sent twice arrives joined, and matches none.
 */
const FORMS: Record<keyof SignatureHeaders, RegExp> = {
  "webhook-id": /^[!-\-/-~]{1,256}$/,
  "webhook-timestamp": /^\d{1,12}$/,
  "webhook-signature": /^\w+,[\w+/=]+(?: \w+,[\w+/=]+)*$/,
};

/**
 * True when the body was signed with the secret at most five minutes ago (or ahead). Compares in constant time.
 * The package uses its own clock, so a test of old signatures signs with an old `now`.
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
