import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import { createHmac } from "node:crypto";
import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { checkUrl } from "../../../../shared/webhooks/check-url.ts";
import { createCheckedLookup, type ErrorClass } from "./dial.ts";
import { createPost, type Post, type Posted } from "./post.ts";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";

/** A delivery with everything its next attempt needs. The event's id is the webhook-id, its body is sent byte for byte. */
export type Delivery = {
  id: string;
  attempt: number;
  event_id: string;
  body: string;
  endpoint_id: string;
  url: string;
  /** They sign, newest first. */
  secrets: string[];
};

export type AttemptResult = {
  id: string;
  attempt: number;
  endpoint_id: string;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: ErrorClass | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
};

export type AttemptSettings = {
  post: Post;
  allowLocal: boolean;
  /** Milliseconds since 1970. */
  now(): number;
  log: Log;
};

/** Makes one attempt of a delivery. A delivery that cannot be sent counts as a failed attempt, so that its schedule continues and ends. */
export function createAttempt({
  post,
  allowLocal,
  now,
  log,
}: AttemptSettings): (d: Delivery) => Promise<AttemptResult> {
  return async (delivery) => {
    const started = now();
    const posted = await send(delivery, new Date(started));
    const ended = now();
    return {
      id: delivery.id,
      attempt: delivery.attempt,
      endpoint_id: delivery.endpoint_id,
      started_at: new Date(started).toISOString(),
      duration_ms: Math.max(0, Math.round(ended - started)),
      status_code: posted.statusCode,
      error: posted.error,
      response_excerpt: posted.excerpt,
      retry_after_seconds: parseRetryAfter(posted.retryAfter, new Date(ended)),
    };
  };

  async function send({ id, endpoint_id, url, secrets, event_id, body }: Delivery, at: Date): Promise<Posted> {
    // The URL was checked at registration, but administrators can write rows by hand.
    if (checkUrl(url, { allowLocal }) !== null) return notSent("address");
    let headers: Record<string, string>;
    try {
      headers = eventHeaders(secrets, event_id, at, body);
    } catch (error) {
      // Not the fault of the receiver: the secrets are missing from the Vault or damaged.
      log.error("delivery_not_signed", { deliveryId: id, endpointId: endpoint_id, reason: describeError(error) });
      return notSent("not_signed");
    }
    const posted = await post(new URL(url), headers, body);
    return { ...posted, excerpt: keptExcerpt(posted.excerpt, headers["webhook-signature"] ?? "") };
  }
}

function notSent(error: ErrorClass): Posted {
  return { statusCode: null, error, excerpt: null, retryAfter: undefined };
}

const REPEATS_SIGNATURE = "Not kept: the answer repeats the signature of the request.";

/** So many letters and digits in a row are no coincidence, and fewer are of no use. */
const REPEATED = 8;

/** A character that is escaped as in JSON or HTML: its code is hexadecimal, or decimal. */
const ESCAPED = /\\u([0-9a-f]{4})|&#x([0-9a-f]+);|&#([0-9]+);/gi;

const unescaped = (text: string) =>
  text.replaceAll(ESCAPED, (_, json?: string, hex?: string, decimal?: string) =>
    String.fromCharCode(Number(decimal ?? `0x${json ?? hex}`)),
  );

const lettersAndDigits = (text: string) => text.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();

/**
 * A receiver that echoes the request must not leave a valid signature in the row: the owner's session can read it. Looks for parts of a
 * signature as text, in hex and in base64, whatever stands between the characters: escapes, line breaks, colons.
 */
function keptExcerpt(excerpt: string | null, header: string): string | null {
  const text = lettersAndDigits(unescaped(excerpt ?? ""));
  const repeats = signaturesOf(header).some((signature) => {
    for (let at = 0; at + REPEATED <= signature.length; at++)
      if (text.includes(signature.slice(at, at + REPEATED))) return true;
    return false;
  });
  return repeats ? REPEATS_SIGNATURE : excerpt;
}

/** Each signature of a header, and what an encoding makes of it. */
function signaturesOf(header: string): string[] {
  return header.split(" ").flatMap((one) => {
    const signature = one.slice(one.indexOf(",") + 1);
    // In base64 a text looks different at each of three offsets. Its last characters depend on what follows.
    const again = [0, 1, 2].map((offset) => Buffer.from(signature.slice(offset)).toString("base64").slice(0, -4));
    const hex = [Buffer.from(signature), Buffer.from(signature, "base64")].map((bytes) => bytes.toString("hex"));
    return [signature, ...hex, ...again].map(lettersAndDigits);
  });
}

/** One value of a Retry-After header: a number of seconds or an HTTP date, which contains a comma. */
const RETRY_AFTER = /^(?:(\d+)|((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [^,]+))\s*(?:,\s*|$)/;

/**
 * The seconds of a Retry-After header; of several values, as from two proxies, the longest. Null unless all are valid. The database
 * limits them.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  let longest: number | null = null;
  for (let rest = header?.trim() ?? ""; rest !== ""; ) {
    const [value, seconds, date] = RETRY_AFTER.exec(rest) ?? [];
    if (value === undefined) return null;
    const time = date === undefined ? Number.NaN : Date.parse(date);
    if (date !== undefined && Number.isNaN(time)) return null;
    const wait =
      date === undefined ? Math.min(Number(seconds), Number.MAX_SAFE_INTEGER) : (time - now.getTime()) / 1000;
    longest = Math.max(longest ?? 0, wait);
    rest = rest.slice(value.length);
  }
  return longest;
}

/** The entry to the code that sends requests. index.ts loads it at the first kick, because undici is slow to load. */
export function createSender(allowLocal: boolean, log: Log): (delivery: Delivery) => Promise<AttemptResult> {
  const checked = createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal });
  return createAttempt({ post: createPost({ lookup: checked }), allowLocal, now: Date.now, log });
}

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
