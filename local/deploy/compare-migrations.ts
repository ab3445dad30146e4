/** Which migrations a database lacks, and which it has that this checkout does not know. All by version, in order. */
export function compareMigrations(
  local: string[],
  applied: string[],
): { pending: string[]; unknown: string[]; tooLate: string[] } {
  const here = new Set(local);
  const there = new Set(applied);
  const pending = local.filter((version) => !there.has(version)).sort();
  const newest = applied.toSorted().at(-1) ?? "";
  return {
    pending,
    unknown: applied.filter((version) => !here.has(version)).sort(),
    tooLate: pending.filter((version) => version < newest),
  };
}
