import { setImmediate } from "node:timers";
import type { Clock } from "../../shared/worker/clock.ts";

/** A clock that stands still while anything can happen, and then goes on to the next moment somebody waits for. */
export function makeClock() {
  let time = 0;
  const timers = new Set<{ at: number; call: () => void }>();
  const clock: Clock = {
    now: () => time,
    after(ms, call) {
      const timer = { at: time + ms, call };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };

  /** Lets everything happen that needs no time. */
  const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

  /** Moves time on, moment by moment, until the promise has settled or nobody waits for time. */
  async function runUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    await settle();
    while (!isDone && timers.size > 0) {
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
  return { clock, sleep, settle, runUntil, now: () => time };
}
