import { pause } from "../../shared/platform/pause.ts";

const FIRST_MS = 250;
const LONGEST_MS = 10_000;
/** What has served so long has recovered: its next death is a new one. */
const STEADY_MS = 5_000;

export type Backoff = {
  /** Waits before the next try: 250 ms at first, doubled by each further call, at most 10 s. Ends early when aborted. */
  pause(signal: AbortSignal): Promise<void>;
  /** It serves again. After a while of that, pauses are short again. */
  served(): void;
};

/** Pauses between tries to start something that keeps dying, so that it neither spins nor gives up. */
export function createBackoff(now: () => number = () => performance.now(), wait = pause): Backoff {
  let next = FIRST_MS;
  let servedAt: number | undefined;
  return {
    pause: async (signal) => {
      if (servedAt !== undefined && now() - servedAt >= STEADY_MS) next = FIRST_MS;
      servedAt = undefined;
      const ms = next;
      next = Math.min(next * 2, LONGEST_MS);
      await wait(ms, signal);
    },
    served: () => {
      servedAt = now();
    },
  };
}
