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
