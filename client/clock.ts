/** Time as the client uses it. */
export type Clock = {
  /** Milliseconds, also counted while the machine sleeps. */
  now(): number;
  /** Calls back after `ms`. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
  /** Rejects with the signal's reason. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
};

/** About 24 days. A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = systemClock.after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

/**
 * Rejects as soon as the caller's signal aborts (with its reason) or the time is over (with `timeoutError`), even when the work ignores
 * the signal that it gets.
 */
export async function within<T>(
  limit: { clock: Clock; ms: number; signal: AbortSignal | undefined; timeoutError: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = limit;
  signal?.throwIfAborted();
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const cancel = limit.clock.after(limit.ms, () => end.abort(limit.timeoutError()));
  const cut = new Promise<never>((_, reject) => {
    end.signal.addEventListener("abort", () => reject(end.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(end.signal), cut]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", abort);
  }
}

/** Returns a function that tells the elapsed milliseconds. A clock that is set back counts as no time, so that a wait is not prolonged by hours. */
export function stopwatch(clock: Clock): () => number {
  let last = clock.now();
  let elapsed = 0;
  return () => {
    const now = clock.now();
    elapsed += Math.max(0, now - last);
    last = now;
    return elapsed;
  };
}
