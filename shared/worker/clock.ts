/** Time as the worker sees it. Tests advance it by hand. */
export type Clock = {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls `call` once after `ms`, unless the returned function is called before. */
  after(ms: number, call: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Wakes one waiting loop. */
export type Signal = {
  notify(): void;
  /** Resolves at the next notify or after `ms`; with Infinity only at a notify. One caller waits at a time. */
  wait(ms: number): Promise<void>;
};

export function createSignal(clock: Clock): Signal {
  let wake: (() => void) | null = null;
  return {
    notify: () => wake?.(),
    wait: (ms) =>
      new Promise((resolve) => {
        const cancel = ms === Number.POSITIVE_INFINITY ? null : clock.after(ms, () => wake?.());
        wake = () => {
          wake = null;
          cancel?.();
          resolve();
        };
      }),
  };
}
