/** Time as the client uses it. */
export type Clock = {
  /** Milliseconds, going on while the machine sleeps. */
  now(): number;
  /** Calls back after so many milliseconds; what it returns takes that back. */
  after(ms: number, call: () => void): () => void;
  /** Rejects with the signal's reason. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
};

/**
 * Timers stand still while a laptop sleeps, and one of more than 24 days fires at once. So a long sleep is made of short
 * ones, and each asks the clock how much really passed.
 */
const SLICE_MS = 5_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  async sleep(ms, signal) {
    for (let left = ms; left > 0; ) {
      const slice = Math.min(left, SLICE_MS);
      const began = Date.now();
      await nap(slice, signal);
      left -= Math.max(slice, Date.now() - began);
    }
  },
};

function nap(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const wake = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", wake);
      resolve();
    }, ms);
    signal?.addEventListener("abort", wake, { once: true });
  });
}

/**
 * Does work that the caller's signal, or the end of its time, cuts short; it rejects at once then, whether or not the work
 * heeds the signal it is given. Rejects with the signal's reason, or with what `late` makes.
 */
export async function within<T>(
  limit: { clock: Clock; ms: number; signal: AbortSignal | undefined; late: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = limit;
  signal?.throwIfAborted();
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const cancel = limit.clock.after(limit.ms, () => end.abort(limit.late()));
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

/**
 * Starts a stopwatch: the milliseconds since then, by a clock that may be set meanwhile. Setting it back counts as no time at
 * all, so that what is waited for comes a moment late, and not by the hour.
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
