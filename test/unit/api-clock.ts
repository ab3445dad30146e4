import { NOW } from "./api-fixture.ts";

/** A clock that stands until somebody sleeps, and then goes on at once. `pauses` are the sleeps so far, in milliseconds. */
export function createClock() {
  let at = NOW.getTime();
  const pauses: number[] = [];
  let onSleep = () => {};
  return {
    pauses,
    now: () => new Date(at),
    /** As the real one: an aborted sleep is over at once. */
    sleep: async (ms: number, signal: AbortSignal) => {
      if (signal.aborted) return;
      pauses.push(ms);
      onSleep();
      if (!signal.aborted) at += ms;
    },
    /** Milliseconds since the clock was made. */
    elapsed: () => at - NOW.getTime(),
    advance: (ms: number) => {
      at += ms;
    },
    whenSleeping: (then: () => void) => {
      onSleep = then;
    },
  };
}
