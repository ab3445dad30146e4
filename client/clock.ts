/** Time as the client uses it. */
export type Clock = {
  /** Milliseconds, also counted while the machine sleeps. */
  now(): number;
  /** Calls back after `ms`. Returns a function that cancels the call. */
  after(ms: number, call: () => void): () => void;
  /** Rejects with the signal's reason. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
};

/** About 24 days. A longer timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      throwIfAborted(signal);
      const abort = () => {
        cancel();
        reject(reasonOf(signal));
      };
      const cancel = systemClock.after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

/** React Native's signals have no reason, and before 0.88 no throwIfAborted. */
const reasonOf = (signal: AbortSignal | undefined): unknown =>
  signal?.reason ?? Object.assign(new Error("The call was aborted."), { name: "AbortError" });

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/**
 * Rejects as soon as the caller's signal aborts (with its reason) or the time is over (with `timeoutError`), even when the work ignores
 * the signal that it gets.
 */
export async function within<T>(
  limit: { clock: Clock; ms: number; signal: AbortSignal | undefined; timeoutError: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = limit;
  throwIfAborted(signal);
  const end = new AbortController();
  let cut = (_reason: unknown): void => undefined;
  const isCut = new Promise<never>((_, reject) => {
    cut = (reason) => {
      reject(reason); // before the work rejects with its own error for the abort
      end.abort(reason);
    };
  });
  const abort = () => cut(reasonOf(signal));
  signal?.addEventListener("abort", abort, { once: true });
  const cancel = limit.clock.after(limit.ms, () => cut(limit.timeoutError()));
  try {
    return await Promise.race([work(end.signal), isCut]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * Returns a function that returns the elapsed milliseconds. A clock that is set back counts as no time, so that a wait is not prolonged by
 * hours.
 */
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
