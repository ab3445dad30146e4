import { Tooltip } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { useState } from "react";

const REFRESH_MS = 30_000;

/** Relative time, kept up to date; the exact time on hover. */
export function Time({ iso }: { iso: string }) {
  const [now, setNow] = useState(() => Date.now());
  useInterval(() => setNow(Date.now()), REFRESH_MS, { autoInvoke: true });
  const exact = exactTime(iso);
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={iso}>{relativeTime(iso, Math.max(now, Date.now() - REFRESH_MS))}</time>
    </Tooltip>
  );
}

const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "long" });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Such as "5 minutes ago" or "in 2 hours". Below a minute: "just now". */
function relativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.trunc(seconds / length), unit);
  }
  return "just now";
}

/** In the user's time zone, with its name. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso));

/** Such as "0:42" or "1:03:10". */
export function clockTime(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}
