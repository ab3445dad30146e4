/** The value below which a fraction of the values lies. */
export function quantile(values: number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

/** `p50 | p95` for a table, in ms. */
export const spread = (values: number[]): string =>
  `${quantile(values, 0.5).toFixed(1)} | ${quantile(values, 0.95).toFixed(1)}`;
