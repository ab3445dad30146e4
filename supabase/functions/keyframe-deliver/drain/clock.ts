/** Time as the drain sees it. Tests move it by hand. */
export type Clock = {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Calls back once after so many milliseconds, unless the returned function is called before. */
  after(ms: number, call: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** What one loop sleeps on and everything that concerns it wakes it by. */
export type Bell = {
  ring(): void;
  /** Resolves at the next ring or after so many milliseconds (Infinity: at a ring alone). One waits at a time. */
  wait(ms: number): Promise<void>;
};

export function createSignal(clock: Clock): Bell {
  let wake: (() => void) | null = null;
  return {
    ring: () => wake?.(),
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
