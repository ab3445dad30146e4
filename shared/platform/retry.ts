import { pause } from "./pause.ts";

/** The delays between attempts: the first one, doubled after each failure up to the longest one. */
export type Backoff = { minDelayMs: number; maxDelayMs: number };

/** The delay after so many failures in a row. */
export const retryDelay = (failures: number, { minDelayMs, maxDelayMs }: Backoff): number =>
  Math.min(minDelayMs * 2 ** (failures - 1), maxDelayMs);

type Retry = Backoff & {
  /** Asked after each failed attempt, with the delay that would follow. */
  isRetriable(error: unknown, delayMs: number): boolean;
  maxAttempts?: number;
  /** After it has aborted, no attempt follows one that failed. */
  signal?: AbortSignal;
  sleep?: typeof pause;
};

/** Repeats a call until it succeeds. Throws its last error. */
export async function retry<Answer>(
  call: () => Promise<Answer>,
  { isRetriable, maxAttempts = Number.POSITIVE_INFINITY, signal, sleep = pause, ...backoff }: Retry,
): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const delayMs = retryDelay(attempt, backoff);
    try {
      return await call();
    } catch (error) {
      if (attempt >= maxAttempts || signal?.aborted || !isRetriable(error, delayMs)) throw error;
    }
    await sleep(delayMs, signal);
  }
}
