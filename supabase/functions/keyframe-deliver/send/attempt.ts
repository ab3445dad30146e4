import { lookup } from "node:dns/promises";
import { retryAfterSeconds } from "../../../../shared/http/retry-after.ts";
import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { checkUrl } from "../../../../shared/webhooks/check-url.ts";
import type { AttemptResult, Delivery, ErrorClass } from "../deliveries/database.ts";
import { createCheckedLookup } from "./checked-lookup.ts";
import { eventHeaders } from "./event-headers.ts";
import { keptExcerpt } from "./excerpt.ts";
import { createPost, type Post, type Posted } from "./post.ts";

type AttemptSettings = {
  post: Post;
  allowLocal: boolean;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a monotonic clock, because the clock of `now` may be set during a request. */
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
      // The receiver is not at fault: the secrets are missing from the Vault or damaged.
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

/** The entry to the code that sends requests. deliver-worker.ts loads it in the first claim, because undici is slow to load. */
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
