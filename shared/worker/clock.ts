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
export function createSignal(clock: Clock) {
  let wake = (): void => undefined;
  return {
    notify: () => wake(),
    /** Resolves at the next notify or after `ms`. One caller waits at a time. */
    wait: (ms: number) =>
      new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      }),
  };
}
