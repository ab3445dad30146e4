import type { Clock } from "./clock.ts";

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
