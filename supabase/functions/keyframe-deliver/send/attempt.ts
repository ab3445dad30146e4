import { lookup } from "node:dns/promises";
import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { type AddressRules, checkUrl } from "../../../../shared/webhooks/check-url.ts";
import type { AttemptResult, Delivery } from "../queue/database.ts";
import { createCheckedLookup } from "./checked-lookup.ts";
import { eventHeaders } from "./event-headers.ts";
import { createPost, type Post, type Posted } from "./post.ts";
import type { ErrorClass } from "./send-error.ts";

export type AttemptSettings = {
  post: Post;
  allowLocal: boolean;
  /** Milliseconds since 1970. */
  now(): number;
  log: Log;
};

/** Makes one attempt of a delivery. What cannot be sent is a failed attempt too, so that its schedule goes on and ends. */
export function createAttempt({
  post,
  allowLocal,
  now,
  log,
}: AttemptSettings): (d: Delivery) => Promise<AttemptResult> {
  const readUrl = createUrlReader({ allowLocal });

  return async (delivery) => {
    const started = now();
    const posted = await send(delivery, new Date(started));
    const ended = now();
    return {
      id: delivery.id,
      lease_token: delivery.leaseToken,
      started_at: new Date(started).toISOString(),
      duration_ms: Math.max(0, Math.round(ended - started)),
      status_code: posted.statusCode,
      error: posted.error,
      response_excerpt: posted.excerpt,
      retry_after_seconds: parseRetryAfter(posted.retryAfter, new Date(ended)),
    };
  };

  async function send({ id, endpointId, url: text, secrets, eventId, body }: Delivery, at: Date): Promise<Posted> {
    // The URL was checked when the endpoint was made, but rows can also be written by hand.
    const url = readUrl(text);
    if (url === null) return notSent("address");
    let headers: Record<string, string>;
    try {
      headers = eventHeaders(secrets, eventId, at, body);
    } catch (error) {
      // The receiver can do nothing about it: the secrets are missing from the vault, or damaged.
      log.error("delivery_not_signed", { deliveryId: id, endpointId, reason: describeError(error) });
      return notSent("connection");
    }
    return await post(url, headers, body);
  }
}

function notSent(error: ErrorClass): Posted {
  return { statusCode: null, error, excerpt: null, retryAfter: undefined };
}

/**
 * Seconds from `now` until the time a Retry-After header names, in seconds or as an HTTP date; null when there is none or it
 * is neither. The database sets the limit.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  // An HTTP date begins with the day's name; Date.parse alone would also take "-5" or "2".
  const time = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, (time - now.getTime()) / 1000);
}

/** More than a process has endpoints at a time; a few megabytes if each is as long as it may be. */
const MOST_REMEMBERED = 1_000;

/**
 * Reads an endpoint's URL, null when checkUrl refuses it. What it says of a text is always the same, and deliveries come to few
 * endpoints, so it is remembered; what a name resolves to is not, and is checked at each connection.
 */
export function createUrlReader(rules: AddressRules): (text: string) => URL | null {
  const remembered = new Map<string, URL | null>();
  return (text) => {
    let url = remembered.get(text);
    if (url === undefined) {
      url = checkUrl(text, rules) === null ? new URL(text) : null;
      if (remembered.size >= MOST_REMEMBERED) remembered.clear();
      remembered.set(text, url);
    }
    return url;
  };
}

/** Everything that speaks to receivers, in one module, so that index.ts can read it and its packages when there is a kick. */
export function createSender(allowLocal: boolean, log: Log): (delivery: Delivery) => Promise<AttemptResult> {
  const checked = createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal });
  return createAttempt({ post: createPost({ lookup: checked }), allowLocal, now: Date.now, log });
}
