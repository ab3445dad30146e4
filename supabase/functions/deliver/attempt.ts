import { checkUrl } from "../../../shared/webhooks/check-url.ts";
import type { AttemptResult, Delivery } from "./delivery.ts";
import { eventHeaders } from "./event-headers.ts";
import type { Post, Posted } from "./post.ts";
import { parseRetryAfter } from "./retry-after.ts";

export type AttemptSettings = {
  post: Post;
  allowLocal: boolean;
  /** Milliseconds since 1970. */
  now(): number;
};

/** Makes one attempt of a delivery. Throws only when it cannot be signed; the lease then brings it back. */
export function createAttempt({ post, allowLocal, now }: AttemptSettings): (d: Delivery) => Promise<AttemptResult> {
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

  /** The URL was checked when the endpoint was made, but rows can also be written by hand. */
  async function send({ url, secrets, eventId, body }: Delivery, at: Date): Promise<Posted> {
    if (checkUrl(url, { allowLocal }) !== null) {
      return { statusCode: null, error: "address", excerpt: null, retryAfter: undefined };
    }
    return await post(new URL(url), eventHeaders(secrets, eventId, at, body), body);
  }
}
