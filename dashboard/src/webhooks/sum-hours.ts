import type { HealthHour } from "./read-health.ts";

export type HealthSums = Pick<HealthHour, "delivered" | "retrying" | "exhausted">;

/** What came of all these hours together. */
export const sumHours = (hours: HealthHour[]): HealthSums => ({
  delivered: hours.reduce((sum, { delivered }) => sum + delivered, 0),
  retrying: hours.reduce((sum, { retrying }) => sum + retrying, 0),
  exhausted: hours.reduce((sum, { exhausted }) => sum + exhausted, 0),
});
