import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { lookup } from "node:dns/promises";
import { retryAfterSeconds } from "../../../../shared/platform/retry.ts";
import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { checkUrl } from "../../../../shared/webhooks/check-url.ts";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";
import type { AttemptResult, Delivery, ErrorClass } from "../deliveries/database.ts";
import { createCheckedLookup } from "./dial.ts";
import { createPost, type Post, type Posted } from "./post.ts";

type AttemptSettings = {
  post: Post;
  allowLocal: boolean;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a monotonic clock: `now` may be set during a request. */
  elapsed(): number;
  log: Log;
};

/** Makes one attempt of a delivery. A delivery that cannot be sent counts as a failed attempt, so that its schedule continues and ends. */
export function createAttempt({
  post,
  allowLocal,
  now,
  elapsed,
  log,
}: AttemptSettings): (d: Delivery) => Promise<AttemptResult> {
  return async (delivery) => {
    const at = new Date(now());
    const began = elapsed();
    const posted = await send(delivery, at);
    return {
      id: delivery.id,
      work_id: delivery.work_id,
      attempt: delivery.attempt,
      endpoint_id: delivery.endpoint_id,
      started_at: at.toISOString(),
      duration_ms: Math.round(elapsed() - began),
      status_code: posted.statusCode,
      error: posted.error,
      response_excerpt: posted.excerpt,
      retry_after_seconds: retryAfterSeconds(posted.retryAfter, now()),
    };
  };

  async function send({ id, endpoint_id, url, secrets, event_id, body }: Delivery, at: Date): Promise<Posted> {
    // The URL was checked at registration, but administrators can write rows by hand.
    if (checkUrl(url, { allowLocal }) !== null) return notSent("address");
    let headers: Record<string, string>;
    try {
      headers = eventHeaders(secrets, event_id, at, body);
    } catch (error) {
      // Not the receiver's fault: the secrets are missing from the Vault or damaged.
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

/** This many equal characters in a row are not a coincidence; fewer are useless to an attacker. */
const REPEATED = 8;

const lettersAndDigits = (text: string) => text.replaceAll(/[^A-Za-z0-9]/g, "");

/**
 * A receiver that echoes the request by mistake must not leave a valid signature in the row: the owner's session can read it. Whatever
 * stands between its characters, such as escapes and line breaks, is ignored. A signature encoded again, in hex or base64, is not found.
 */
function keptExcerpt(excerpt: string | null, header: string): string | null {
  const text = lettersAndDigits(excerpt ?? "");
  const repeats = header.split(" ").some((versioned) => {
    const signature = lettersAndDigits(versioned.slice("v1,".length));
    for (let at = 0; at + REPEATED <= signature.length; at++)
      if (text.includes(signature.slice(at, at + REPEATED))) return true;
    return false;
  });
  return repeats ? REPEATS_SIGNATURE : excerpt;
}

/** The entry to the code that sends requests. create-worker.ts loads it in the first claim, because undici is slow to load. */
export function createSender(allowLocal: boolean, log: Log, now: () => number): ReturnType<typeof createAttempt> {
  const checked = createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal });
  return createAttempt({
    post: createPost({ lookup: checked }),
    allowLocal,
    now,
    elapsed: () => performance.now(),
    log,
  });
}

/**
 * The headers of one attempt, as in Standard Webhooks. Every valid secret signs, so a receiver with the old or the new one can verify.
 * Throws when there is no secret or one is not base64: nothing is sent unsigned.
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
