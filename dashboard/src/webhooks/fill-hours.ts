import type { HealthHour } from "./read-health.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** All 24 hours from `since` on: those of `known`, and zeros where nothing was sent. */
export function fillHours(since: string, known: HealthHour[]): HealthHour[] {
  const byTime = new Map(known.map((hour) => [Date.parse(hour.hour), hour]));
  return Array.from({ length: HOURS }, (_, at) => {
    const time = Date.parse(since) + at * HOUR_MS;
    return byTime.get(time) ?? { hour: new Date(time).toISOString(), delivered: 0, retrying: 0, exhausted: 0 };
  });
}
