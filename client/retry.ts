import { KeyframeError } from "./error.ts";
import type { Answer } from "./read-answer.ts";
import { type Call, sendOnce } from "./send-once.ts";
import type { Settings } from "./settings.ts";

const FIRST_DELAY_MS = 500;
/** Longer than this a call does not wait by itself: it throws, and the error says for how long. */
const LONGEST_DELAY_MS = 30_000;

/**
 * Whether the same request may well succeed a little later. 408 is a body that stalled on its way. From 502 on it is a gateway
 * that speaks: those in front of hosted projects have codes of their own, such as 524 for an answer that took too long and 546 for
 * a worker out of its limits.
 */
export const isPassing = (error: unknown): error is KeyframeError =>
  error instanceof KeyframeError &&
  (error.code === "network" ||
    error.code === "no_token" ||
    error.status === 408 ||
    error.status === 429 ||
    (error.status ?? 0) >= 502);

/** How long to wait after so many failures, in ms: never less than the service asked for, and spread by chance. */
export function delayAfter(error: KeyframeError, failures: number, random: () => number): number {
  const backOff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
  const told = error.retryAfterSeconds;
  return told === null ? backOff * (0.5 + random() / 2) : told * 1000 + random() * FIRST_DELAY_MS;
}

/**
 * Sends a request, and sends it again after a passing failure. That is harmless for a GET, for a POST by its Idempotency-Key,
 * and for a PATCH, which sets the same fields again. A DELETE whose answer was lost would find nothing the second time and
 * say so; it is repeated only where it was turned away (429).
 */
export async function send(call: Call, settings: Settings): Promise<Answer> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await sendOnce(call, settings);
    } catch (error) {
      if (!isPassing(error) || failures > settings.retries) throw error;
      if (call.method === "DELETE" && error.status !== 429) throw error;
      const delay = delayAfter(error, failures, settings.random);
      if (delay > LONGEST_DELAY_MS + FIRST_DELAY_MS) throw error;
      await settings.clock.sleep(delay, call.signal);
    }
  }
}
