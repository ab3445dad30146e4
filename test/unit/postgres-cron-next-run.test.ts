import { expect, test } from "vitest";
import { nextRun, type Schedule } from "../../local/extensions/pg-cron-worker.ts";

const all = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const everyMinute = {
  minutes: all(0, 59),
  hours: all(0, 23),
  days: all(1, 31),
  months: all(1, 12),
  weekdays: all(0, 6),
  anyDay: true,
  anyWeekday: true,
};

function next(schedule: Schedule, after: string): string | undefined {
  return nextRun(schedule, new Date(after))?.toISOString().replace(":00.000Z", "Z");
}

test("every minute → the next full minute, never the present one", () => {
  expect(next(everyMinute, "2026-03-01T10:00:00Z")).toBe("2026-03-01T10:01Z");
  expect(next(everyMinute, "2026-03-01T10:00:59.999Z")).toBe("2026-03-01T10:01Z");
});

test("an interval → that many seconds later", () => {
  expect(nextRun({ seconds: 30 }, new Date("2026-03-01T10:00:00.500Z"))?.toISOString()).toBe(
    "2026-03-01T10:00:30.500Z",
  );
});

test("a time of the day that has passed → tomorrow, across the end of a year", () => {
  const daily = { ...everyMinute, minutes: [30], hours: [4] };
  expect(next(daily, "2026-12-31T04:29:00Z")).toBe("2026-12-31T04:30Z");
  expect(next(daily, "2026-12-31T04:30:00Z")).toBe("2027-01-01T04:30Z");
});

test("a weekday alone → that weekday; a day and a weekday → either of them", () => {
  const midnight = { ...everyMinute, minutes: [0], hours: [0] };
  const monday = { ...midnight, weekdays: [1], anyWeekday: false };
  expect(next(monday, "2026-03-04T12:00:00Z")).toBe("2026-03-09T00:00Z");
  expect(next({ ...monday, days: [6], anyDay: false }, "2026-03-04T12:00:00Z")).toBe("2026-03-06T00:00Z");
});

test("the last day of the month, of February in a leap year too", () => {
  const last = { ...everyMinute, minutes: [0], hours: [12], days: [0], anyDay: false };
  expect(next(last, "2027-02-01T00:00:00Z")).toBe("2027-02-28T12:00Z");
  expect(next(last, "2028-02-01T00:00:00Z")).toBe("2028-02-29T12:00Z");
  expect(next(last, "2028-04-30T12:00:00Z")).toBe("2028-05-31T12:00Z");
});

test("29 February → years ahead; 30 February → never", () => {
  const leapDay = { ...everyMinute, minutes: [0], hours: [0], days: [29], months: [2], anyDay: false };
  expect(next(leapDay, "2096-03-01T00:00:00Z")).toBe("2104-02-29T00:00Z");
  expect(next({ ...leapDay, days: [30] }, "2026-01-01T00:00:00Z")).toBeUndefined();
});
