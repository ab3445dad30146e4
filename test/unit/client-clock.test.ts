import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../client/clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Sleeps, and says when it is over and how. */
function sleep(ms: number, signal?: AbortSignal) {
  const state = { over: false, error: undefined as unknown };
  const over = () => Object.assign(state, { over: true });
  systemClock.sleep(ms, signal).then(over, (error: unknown) => Object.assign(state, { error }));
  return state;
}

test("a sleep → over when its time has passed, not before", async () => {
  const night = sleep(12_345);
  await vi.advanceTimersByTimeAsync(12_344);
  expect(night.over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(night.over).toBe(true);
});

test("no time, or less → over at once; 30 days, more than a timer can hold → not over after a minute", async () => {
  const nights = [sleep(0), sleep(-1), sleep(30 * 86_400_000)];
  await vi.advanceTimersByTimeAsync(0);
  expect(nights.map(({ over }) => over)).toEqual([true, true, false]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(nights[2]?.over).toBe(false);
});

test("a machine that slept for an hour → the rest of a ten minutes' sleep is not slept again", async () => {
  const night = sleep(600_000);
  await vi.advanceTimersByTimeAsync(7_000);
  vi.setSystemTime(Date.now() + 3_600_000); // timers stood still
  await vi.advanceTimersByTimeAsync(5_000);
  expect(night.over).toBe(true);
});

test("a clock that is set back by an hour → the sleep takes no longer", async () => {
  const night = sleep(20_000);
  await vi.advanceTimersByTimeAsync(7_000);
  vi.setSystemTime(Date.now() - 3_600_000);
  await vi.advanceTimersByTimeAsync(13_000);
  expect(night.over).toBe(true);
});

test("aborted, before or while asleep → the reason at once, no timer left", async () => {
  const reason = new Error("left");
  const early = sleep(60_000, AbortSignal.abort(reason));
  const abort = new AbortController();
  const late = sleep(9_000, abort.signal); // of its parts, the last
  await vi.advanceTimersByTimeAsync(6_000);
  abort.abort(reason);
  await vi.advanceTimersByTimeAsync(0);
  expect([early.error, late.error, vi.getTimerCount()]).toEqual([reason, reason, 0]);
});

test("a long sleep with a signal → no listener stays on it", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  const night = sleep(60_000, signal);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(night.over).toBe(true);
  expect(added).toHaveBeenCalledTimes(12);
  expect(removed).toHaveBeenCalledTimes(12);
});
