import { expect, test } from "vitest";
import { createDeadlines } from "../../supabase/functions/api/rows/platform-client.ts";
import { until } from "../support/until.ts";

test("calls of the same tenth → one signal; a later one → another", () => {
  let at = 0;
  const deadline = createDeadlines(10_000, () => at);
  const first = deadline();
  at = 1000;
  expect(deadline()).toBe(first);
  at = 1001;
  const second = deadline();
  expect(second).not.toBe(first);
  at = 2001;
  expect(deadline()).toBe(second);
});

test("a call at the very end of its tenth still has all its patience; the signal ends with a timeout", async () => {
  let at = 0;
  const began = performance.now();
  const deadline = createDeadlines(100, () => at);
  deadline();
  at = 10;
  const signal = deadline();
  expect(signal.aborted).toBe(false);
  await until("the deadline", () => signal.aborted);
  expect(performance.now() - began).toBeGreaterThanOrEqual(110 - 1); // timers count whole milliseconds
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});
