/** Waits `ms`, or until the signal aborts. Never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** The delays between attempts: the first one, doubled after each failure up to the longest one. */
export type Backoff = { minDelayMs: number; maxDelayMs: number };

/** The delay after so many failures in a row. */
export const retryDelay = (failures: number, { minDelayMs, maxDelayMs }: Backoff): number =>
  Math.min(minDelayMs * 2 ** (failures - 1), maxDelayMs);

type Retry = Backoff & {
  /** Called after each failed attempt, with the delay that would follow. */
  isRetriable(error: unknown, delayMs: number): boolean;
  maxAttempts?: number;
  /**
   * Only the calls that record a task's result have a signal. After it aborts, no attempt follows, except a second one: after a freeze of the
   * function, the first attempt fails because its pooled connection is dead.
   */
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
      const isOver = signal?.aborted === true && attempt > 1;
      if (attempt >= maxAttempts || isOver || !isRetriable(error, delayMs)) throw error;
    }
    await sleep(delayMs, signal);
  }
}
