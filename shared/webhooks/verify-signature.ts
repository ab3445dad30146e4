import { equalInConstantTime } from "../platform/constant-time.ts";

/**
 * The headers of Standard Webhooks (https://www.standardwebhooks.com), and their accepted formats. An id with a dot could shift the
 * boundaries of the signed text. A header that was sent twice arrives joined, and matches none.
 */
const FORMS = {
  "webhook-id": /^[!-\-/-~]{1,256}$/,
  "webhook-timestamp": /^\d{1,12}$/,
  "webhook-signature": /^\w+,[\w+/=]+(?: \w+,[\w+/=]+)*$/,
};

const TOLERANCE_SECONDS = 5 * 60;

/**
 * True if the body was signed with the secret at most five minutes ago (or ahead). Compares in constant time. The package standardwebhooks is
 * not used: loading it took a fifth of a function's start (docs/decisions/0017).
 */
export async function verifySignature(
  secret: string,
  headers: Headers,
  body: string,
  now = Date.now(),
): Promise<boolean> {
  if (!Object.entries(FORMS).every(([name, form]) => form.test(headers.get(name) ?? ""))) return false;
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (Math.abs(Math.floor(now / 1000) - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = await signatureOf(secret, `${headers.get("webhook-id")}.${timestamp}.${body}`);
  const given = (headers.get("webhook-signature") ?? "").split(" ");
  return expected !== null && given.some((signature) => equalInConstantTime(signature, expected));
}

/** Returns null if the secret is not base64, or is empty. */
async function signatureOf(secret: string, text: string): Promise<string | null> {
  try {
    const key = Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (character) => character.charCodeAt(0));
    const hmac = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signature = new Uint8Array(await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(text)));
    return `v1,${btoa(String.fromCharCode(...signature))}`;
  } catch {
    return null;
  }
}
