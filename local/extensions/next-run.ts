import { z } from "zod";

/** What cron._parse_schedule returns. Day 0 is the month's last; weekday 0 is Sunday; "any" tells a field that began with *. */
export const scheduleSchema = z.union([
  z.object({ seconds: z.number() }),
  z.object({
    minutes: z.array(z.number()),
    hours: z.array(z.number()),
    days: z.array(z.number()),
    months: z.array(z.number()),
    weekdays: z.array(z.number()),
    anyDay: z.boolean(),
    anyWeekday: z.boolean(),
  }),
]);

export type Schedule = z.infer<typeof scheduleSchema>;
type Calendar = Exclude<Schedule, { seconds: number }>;

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A leap day recurs within eight years (1896 to 1904); a day that does not come by then never comes. */
const FURTHEST_DAYS = 8 * 366;

/** When the schedule is due next, later than `after`, in UTC. Undefined: never (30 February). */
export function nextRun(schedule: Schedule, after: Date): Date | undefined {
  if ("seconds" in schedule) return new Date(after.getTime() + schedule.seconds * 1_000);
  const midnight = Date.UTC(after.getUTCFullYear(), after.getUTCMonth(), after.getUTCDate());
  for (let day = 0; day < FURTHEST_DAYS; day++) {
    const start = midnight + day * DAY_MS;
    if (!isRunDay(schedule, new Date(start))) continue;
    const times = schedule.hours.flatMap((hour) =>
      schedule.minutes.map((minute) => start + (hour * 60 + minute) * 60_000),
    );
    const next = Math.min(...times.filter((time) => time > after.getTime()));
    if (next !== Infinity) return new Date(next);
  }
  return undefined;
}

/** Cron's rule: when both the day and the weekday are restricted, either is enough. */
function isRunDay(schedule: Calendar, date: Date): boolean {
  if (!schedule.months.includes(date.getUTCMonth() + 1)) return false;
  const isLast = new Date(date.getTime() + DAY_MS).getUTCDate() === 1;
  const day = schedule.days.includes(date.getUTCDate()) || (isLast && schedule.days.includes(0));
  const weekday = schedule.weekdays.includes(date.getUTCDay());
  return schedule.anyDay || schedule.anyWeekday ? day && weekday : day || weekday;
}
