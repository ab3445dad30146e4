import { quantile } from "./quantile.ts";

/** The middle of several measurements of one thing, and how far they lay apart. */
export type Spread = { median: number; min: number; max: number };

/** Throws when there is nothing to describe, or something that is no number: a table must not show that. */
export function spreadOf(values: number[]): Spread {
  if (values.length === 0 || values.some((value) => !Number.isFinite(value)))
    throw new Error(`No spread of ${JSON.stringify(values)}.`);
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

/** Ours ÷ theirs, measurement by measurement: those of one index were made one after the other. */
export function ratioOf(ours: number[], theirs: number[]): Spread {
  if (ours.length !== theirs.length) throw new Error(`${ours.length} measurements beside ${theirs.length}.`);
  const ratios = ours.map((value, index) => value / (theirs[index] ?? Number.NaN));
  return { ...spreadOf(ratios), median: quantile(ours, 0.5) / quantile(theirs, 0.5) };
}
