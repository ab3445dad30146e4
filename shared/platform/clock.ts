/** The time. Tests advance it by hand. */
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

/** A pause that other code can end. */
export function createAlarm(clock: Clock) {
  let wake = (): void => undefined;
  return {
    /** Ends the current pause. */
    ring: () => wake(),
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const cancel = clock.after(Math.max(0, ms), resolve);
        wake = () => {
          cancel();
          resolve();
        };
      }),
  };
}
