import type { Clock } from "../../../client/index.ts";

/** A clock for the client that needs no time: a pause is over at once, and time has passed. */
export function makeClientClock() {
  let time = Date.UTC(2026, 2, 1);
  const pauses: number[] = [];
  const limits = new Map<() => void, number>();
  let duringPause: () => void = () => undefined;
  const clock: Clock = {
    now: () => time,
    after(ms, call) {
      limits.set(call, ms);
      return () => void limits.delete(call);
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (ms <= 0) return;
      pauses.push(ms);
      time += ms;
      duringPause();
      signal?.throwIfAborted();
    },
  };
  return {
    clock,
    pauses,
    pass: (ms: number) => {
      time += ms;
    },
    /** The time of every request under way is up. */
    endLimits: () => {
      for (const call of [...limits.keys()]) call();
    },
    underWay: () => [...limits.values()],
    onPause: (act: () => void) => {
      duringPause = act;
    },
  };
}
