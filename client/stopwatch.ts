import type { Clock } from "./clock.ts";

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
