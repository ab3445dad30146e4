/** A time as an input of type datetime-local has it: in the person's zone, to the minute. */
export function toLocalTime(time: Date): string {
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** What such an input holds, as ISO 8601 in UTC; null when it holds no time. */
export function fromLocalTime(local: string): string | null {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
