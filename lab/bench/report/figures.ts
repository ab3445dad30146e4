import type { Aim } from "../benchmark.ts";
import type { Spread } from "../measure/spread.ts";

/** Three digits that count: 3,150 · 228 · 14.2 · 0.675. */
export function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** `14.2 (11 to 19)` */
export const spreadText = ({ median, min, max }: Spread): string =>
  min === max ? figure(median) : `${figure(median)} (${figure(min)} to ${figure(max)})`;

/** `≥ 1.5` */
export function boundText({ atMost, atLeast }: Aim): string {
  const bounds = [...(atLeast === undefined ? [] : [`≥ ${atLeast}`]), ...(atMost === undefined ? [] : [`≤ ${atMost}`])];
  return bounds.join(", ") || "none";
}
