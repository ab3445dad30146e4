/** The three headers of Standard Webhooks (https://www.standardwebhooks.com). */
export type SignatureHeaders = {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
};

/**
 * The accepted formats. An id with a dot could shift the boundaries of the signed text. A header that was sent twice arrives joined, and
 * matches none.
 */
const FORMS: Record<keyof SignatureHeaders, RegExp> = {
  "webhook-id": /^[!-\-/-~]{1,256}$/,
  "webhook-timestamp": /^\d{1,12}$/,
  "webhook-signature": /^\w+,[\w+/=]+(?: \w+,[\w+/=]+)*$/,
};
const MAX_AGE_SECONDS = 5 * 60;
/** A sender that rotates its secret signs with two. */
const MAX_SIGNATURES = 10;

const HMAC = { name: "HMAC", hash: "SHA-256" };
const utf8 = new TextEncoder();
const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** True when the body was signed with a `whsec_…` secret at most five minutes ago (or ahead). */
export type Verify = (headers: Headers, body: string) => Promise<boolean>;

/**
 * Uses the runtime's own HMAC, which compares in constant time. The package standardwebhooks computes SHA-256 in JavaScript, and
 * loading it took a quarter of a function's start (docs/benchmarks.md). Throws for a secret that is not base64.
 */
export function createVerify(secret: string, now: () => number = Date.now): Verify {
  const key = crypto.subtle.importKey("raw", bytesOf(secret.replace(/^whsec_/, "")), HMAC, false, ["verify"]);
  return async (headers, body) => {
    const [id, timestamp, signatures] = Object.entries(FORMS).map(
      ([name, form]) => form.exec(headers.get(name) ?? "")?.[0],
    );
    if (id === undefined || timestamp === undefined || signatures === undefined) return false;
    if (Math.abs(Math.floor(now() / 1000) - Number(timestamp)) > MAX_AGE_SECONDS) return false;
    const signed = utf8.encode(`${id}.${timestamp}.${body}`);
    for (const signature of signatures.split(" ").slice(0, MAX_SIGNATURES)) {
      const base64 = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1]; // 32 bytes
      if (base64 !== undefined && (await crypto.subtle.verify(HMAC, await key, bytesOf(base64), signed))) return true;
    }
    return false;
  };
}
