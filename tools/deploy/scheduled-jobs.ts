/** A job of pg_cron as a migration schedules it: its name, and the statement, which may be run again. */
export type ScheduledJob = { name: string; statement: string };

/** Reads the jobs out of the texts of migrations, in order: a later one replaces an earlier of the same name. */
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
