import { setImmediate } from "node:timers";
import type { Clock } from "../../shared/platform/clock.ts";

const MAX_READS = 1_000_000;

/** A clock that stands still while anything can happen, and then goes on to the next moment somebody waits for. */
export function makeClock() {
  let time = 0;
  let reads = 0;
  const timers = new Set<{ at: number; call: () => void }>();
  const clock: Clock = {
    now() {
      if (++reads > MAX_READS)
        throw new Error("The time is read without end while it stands still: the processor spins.");
      return time;
    },
    after(ms, call) {
      const timer = { at: time + ms, call };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };

  let pending = 0;
  let nonePending = Promise.withResolvers<void>();
  /** Work outside, as of a database: time stands still meanwhile. */
  async function outside<T>(work: PromiseLike<T>): Promise<T> {
    pending += 1;
    try {
      return await work;
    } finally {
      pending -= 1;
      if (pending === 0) {
        nonePending.resolve();
        nonePending = Promise.withResolvers<void>();
      }
    }
  }

  /** Lets everything happen that needs no time. */
  async function settle(): Promise<void> {
    do {
      if (pending > 0) await nonePending.promise;
      await new Promise<void>((resolve) => void setImmediate(resolve));
    } while (pending > 0);
  }

  /** Moves time on, moment by moment, until the promise has settled or nobody waits for time. */
  async function runUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    await settle();
    while (!isDone && timers.size > 0) {
      reads = 0;
      time = Math.max(time, Math.min(...[...timers].map(({ at }) => at)));
      for (const timer of timers) {
        if (timer.at > time) continue;
        timers.delete(timer);
        timer.call();
      }
      await settle();
    }
  }

  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  /** Moves time on to a moment at which nobody waits. */
  const sleepUntil = (at: number) => runUntil(sleep(at - time));
  return { clock, sleep, settle, outside, runUntil, sleepUntil, now: () => time };
}
