import { lookup } from "node:dns/promises";
import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { type AddressRules, checkUrl } from "../../../../shared/webhooks/check-url.ts";
import type { AttemptResult, Delivery } from "../lanes/database.ts";
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

/** Makes one attempt of a delivery. A delivery that cannot be sent counts as a failed attempt, so that its schedule continues and ends. */
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
      attempt: delivery.attempt,
      lane_token: delivery.laneToken,
      started_at: new Date(started).toISOString(),
      duration_ms: Math.max(0, Math.round(ended - started)),
      status_code: posted.statusCode,
      error: posted.error,
      response_excerpt: posted.excerpt,
      retry_after_seconds: parseRetryAfter(posted.retryAfter, new Date(ended)),
    };
  };

  async function send({ id, endpointId, url: text, secrets, eventId, body }: Delivery, at: Date): Promise<Posted> {
    // The URL was checked at registration, but administrators can write rows by hand.
    const url = readUrl(text);
    if (url === null) return notSent("address");
    let headers: Record<string, string>;
    try {
      headers = eventHeaders(secrets, eventId, at, body);
    } catch (error) {
      // Not the fault of the receiver: the secrets are missing from the Vault or damaged.
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
 * The seconds of a Retry-After header, given as a number or an HTTP date; null without a valid one. The database limits them.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
  // An HTTP date begins with the name of the day; Date.parse alone would accept "-5" or "2".
  const time = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, (time - now.getTime()) / 1000);
}

/** More than the endpoints of a process; a few megabytes when every URL has the maximum length. */
const MAX_REMEMBERED = 1_000;

/**
 * Parses an endpoint's URL; null when checkUrl refuses it. The result depends on the text alone, so it is cached. The address behind
 * the name is not cached: it is checked at each connection.
 */
export function createUrlReader(rules: AddressRules): (text: string) => URL | null {
  const remembered = new Map<string, URL | null>();
  return (text) => {
    let url = remembered.get(text);
    if (url === undefined) {
      url = checkUrl(text, rules) === null ? new URL(text) : null;
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(text, url);
    }
    return url;
  };
}

/** The entry to the code that sends requests. index.ts loads it at the first kick, because undici is slow to load. */
export function createSender(allowLocal: boolean, log: Log): (delivery: Delivery) => Promise<AttemptResult> {
  const checked = createCheckedLookup((name) => lookup(name, { all: true }), { allowLocal });
  return createAttempt({ post: createPost({ lookup: checked }), allowLocal, now: Date.now, log });
}
