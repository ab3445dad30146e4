/**
 * Which migrations a database lacks, which it has that this checkout does not know, and which were applied with other
 * statements. Takes the digest of each by version; answers versions in order.
 */
export function compareMigrations(
  local: Map<string, string>,
  applied: Map<string, string | null>,
): { pending: string[]; unknown: string[]; tooLate: string[]; changed: string[] } {
  const pending = [...local.keys()].filter((version) => !applied.has(version)).sort();
  const there = [...applied.keys()].sort();
  const newest = there.at(-1) ?? "";
  return {
    pending,
    unknown: there.filter((version) => !local.has(version)),
    tooLate: pending.filter((version) => version < newest),
    changed: there.filter((version) => local.has(version) && local.get(version) !== applied.get(version)),
  };
}
