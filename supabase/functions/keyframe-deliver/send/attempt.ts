import type { Log } from "../../../../shared/platform/log.ts";
import { describeError } from "../../../../shared/platform/describe-error.ts";
import type { AttemptResult, Delivery } from "../drain/delivery.ts";
import { eventHeaders } from "./event-headers.ts";
import type { Post, Posted } from "./post.ts";
import { parseRetryAfter } from "./retry-after.ts";
import type { ErrorClass } from "./send-error.ts";
import { createUrlReader } from "./url-reader.ts";

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
