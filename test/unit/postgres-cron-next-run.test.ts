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

const midnight = { ...everyMinute, minutes: [0], hours: [0] };
const monday = { ...midnight, weekdays: [1], anyWeekday: false };
const daily = { ...everyMinute, minutes: [30], hours: [4] };
const last = { ...midnight, days: [0], anyDay: false };
const leapDay = { ...midnight, days: [29], months: [2], anyDay: false };

test.each<[string, Schedule, string, string | undefined]>([
  ["every minute → the next full one, never the present one", everyMinute, "2026-03-01T10:00:00Z", "2026-03-01T10:01Z"],
  ["every minute, within one", everyMinute, "2026-03-01T10:00:59.999Z", "2026-03-01T10:01Z"],
  ["an interval → so many seconds later", { seconds: 30 }, "2026-03-01T10:00:30Z", "2026-03-01T10:01Z"],
  ["a time of the day that comes", daily, "2026-12-31T04:29:00Z", "2026-12-31T04:30Z"],
  ["one that has passed → tomorrow, across the end of a year", daily, "2026-12-31T04:30:00Z", "2027-01-01T04:30Z"],
  ["a weekday alone → that weekday", monday, "2026-03-04T12:00:00Z", "2026-03-09T00:00Z"],
  [
    "a day and a weekday → either",
    { ...monday, days: [6], anyDay: false },
    "2026-03-04T12:00:00Z",
    "2026-03-06T00:00Z",
  ],
  ["the last day of February", last, "2027-02-01T00:00:00Z", "2027-02-28T00:00Z"],
  ["the last day of February in a leap year", last, "2028-02-01T00:00:00Z", "2028-02-29T00:00Z"],
  ["29 February → years ahead", leapDay, "2096-03-01T00:00:00Z", "2104-02-29T00:00Z"],
  ["30 February → never", { ...leapDay, days: [30] }, "2026-01-01T00:00:00Z", undefined],
])("%s", (_, schedule, after, expected) => {
  expect(nextRun(schedule, new Date(after))?.toISOString().replace(":00.000Z", "Z")).toBe(expected);
});
