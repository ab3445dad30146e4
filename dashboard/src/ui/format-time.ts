const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "long" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** A time this little in the future counts as now, because a device's clock may be behind the service's. */
const CLOCK_ERROR_S = 2;

/** For example “5 minutes ago” or “in 2 hours”. */
export function relativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  }
  return seconds > CLOCK_ERROR_S ? "in less than a minute" : "just now";
}

/** The time in the user's time zone, with the zone's name. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso));

/** For example “0:42” or “1:03:10”. */
export function clockTime(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}
