import { KeyframeError } from "./error.ts";
import type { Answer } from "./read-answer.ts";
import { type Call, sendOnce } from "./send-once.ts";
import type { Settings } from "./settings.ts";

const MIN_DELAY_MS = 500;
/** When the service requests a longer delay, the call throws, and the error has the delay. */
const MAX_DELAY_MS = 30_000;

/**
 * Whether the same request may succeed a little later. 408: the body stalled on its way. 502 and above come from gateways; those of
 * hosted projects have their own codes, such as 524 (the answer took too long) and 546 (the function exceeded its limits).
 */
export const isRetriable = (error: unknown): error is KeyframeError =>
  error instanceof KeyframeError &&
  (error.code === "network" ||
    error.code === "no_token" ||
    error.status === 408 ||
    error.status === 429 ||
    (error.status ?? 0) >= 502);

/** Milliseconds, with jitter; never less than Retry-After, which is the same few seconds during a long outage. */
export function retryDelay(error: KeyframeError, failures: number, random: () => number): number {
  const jitter = random();
  const delay = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** (failures - 1)) * (0.5 + jitter / 2);
  const seconds = error.retryAfterSeconds;
  return seconds === null ? delay : Math.max(delay, seconds * 1000 + jitter * MIN_DELAY_MS);
}

/**
 * Repeats a request after a retriable failure. This is safe for a GET, for a POST because of its Idempotency-Key, and for a PATCH, which
 * sets the same fields again. A repeated DELETE would answer not_found after the first one succeeded, so it is repeated only after a 429.
 */
export async function send(call: Call, settings: Settings): Promise<Answer> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await sendOnce(call, settings);
    } catch (error) {
      if (!isRetriable(error) || failures > settings.retries) throw error;
      if (call.method === "DELETE" && error.status !== 429) throw error;
      const delay = retryDelay(error, failures, settings.random);
      if (delay > MAX_DELAY_MS + MIN_DELAY_MS) throw error;
      await settings.clock.sleep(delay, call.signal);
    }
  }
}
