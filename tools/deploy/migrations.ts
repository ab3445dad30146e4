import { createHash } from "node:crypto";
import { statementsOf } from "../../local/stack/read-migrations.ts";

/** The digest of a migration's statements. */
export const migrationDigest = (text: string): string => sha256Hex(statementsOf(text));

/**
 * Compares by version: the migrations that a database lacks, an app's own, those that `add` copied from ours, and ours applied
 * with other statements. Versions are in order.
 */
export function compareMigrations(
  local: Map<string, { name: string; digest: string }>,
  applied: Map<string, { name: string | null; digest: string | null }>,
): { pending: string[]; foreign: string[]; copied: string[]; tooLate: string[]; changed: string[] } {
  const pending = [...local.keys()].filter((version) => !applied.has(version)).sort();
  const there = [...applied.keys()].sort();
  const others = there.filter((version) => !local.has(version));
  const names = new Set([...local.values()].map(({ name }) => `keyframe_${name}`));
  const isCopy = (version: string) => names.has(applied.get(version)?.name ?? "");
  const ours = there.filter((version) => local.has(version));
  const newest = ours.at(-1) ?? "";
  return {
    pending,
    foreign: others.filter((version) => !isCopy(version)),
    copied: others.filter(isCopy),
    tooLate: pending.filter((version) => version < newest),
    changed: ours.filter((version) => local.get(version)?.digest !== applied.get(version)?.digest),
  };
}

/** A cron job of a migration: its name and its statement, which may run again. */
type ScheduledJob = { name: string; statement: string };

/** Reads the cron jobs from the migrations in order; a later one replaces an earlier one of the same name. */
export function scheduledJobs(migrations: string[]): ScheduledJob[] {
  const jobs = new Map<string, string>();
  const pattern = /^select cron\.(?:(schedule)\('([^']+)',(?:[^';]|'(?:[^']|'')*')*\)|unschedule\('([^']+)'\));/gm;
  for (const [statement, scheduled, name = "", gone = ""] of migrations.flatMap((text) => [
    ...text.matchAll(pattern),
  ])) {
    if (scheduled) jobs.set(name, statement);
    else jobs.delete(gone);
  }
  return [...jobs].map(([name, statement]) => ({ name, statement }));
}

/** The names of the wanted secrets that the project lacks or has with another value. */
export const secretsToSet = (wanted: Record<string, string>, digests: Map<string, string>): string[] =>
  Object.keys(wanted).filter((name) => digests.get(name)?.toLowerCase() !== sha256Hex(wanted[name] ?? ""));

/** The form in which the platform lists a secret. */
export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");
