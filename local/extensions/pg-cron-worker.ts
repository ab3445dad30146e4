import type postgres from "postgres";
import { z } from "zod";
import { keepConnected, type Log } from "./keep-connected.ts";
import { nextRun, type Schedule, scheduleSchema } from "./next-run.ts";
import { type CronJob, runCronJob } from "./run-cron-job.ts";

const LOCK = 5470002;
/** setTimeout's own limit is about 24 days. */
const LONGEST_WAIT_MS = 60_000;

export type PgCronWorkerOptions = {
  databaseUrl: string;
  /** Aborted: starts no more runs, and ends when those at hand have ended. */
  stop: AbortSignal;
  onReady: () => void;
  log: Log;
};

type Entry = CronJob & { source: string; schedule: Schedule; nextAt: Date | undefined; waiting: number };

const jobSchema = z.object({
  jobid: z.string(),
  source: z.string(),
  schedule: scheduleSchema,
  command: z.string(),
  database: z.string(),
  username: z.string(),
});

/**
 * Runs the due jobs of cron.job, each as its user, in its own connection, one run of a job at a time. It serves the jobs
 * of its own database: a clone's rows still name the database that was cloned, and are left alone.
 */
export function runPgCronWorker(options: PgCronWorkerOptions): Promise<void> {
  const { databaseUrl, stop, log } = options;
  return keepConnected({ ...options, name: "pg_cron scheduler", channel: "pg_cron", lock: LOCK }, async (session) => {
    const { sql, latch, lost } = session;
    const ended = AbortSignal.any([stop, lost]);
    const running = new Map<string, Promise<void>>();
    let entries = new Map<string, Entry>();
    await failInterruptedRuns(sql);
    while (!ended.aborted) {
      entries = await readEntries(sql, entries, new Date());
      countDue(entries, new Date());
      for (const entry of entries.values()) {
        if (entry.waiting === 0 || running.has(entry.jobid)) continue;
        entry.waiting--;
        const run = runCronJob(databaseUrl, sql, entry)
          .catch((error: unknown) => log("error", "a run of a job could not be recorded", { reason: String(error) }))
          .finally(() => {
            running.delete(entry.jobid);
            latch.set();
          });
        running.set(entry.jobid, run);
      }
      await latch.wait(ended, untilNext(entries, new Date()));
    }
    await Promise.all(running.values());
  });
}

/** Runs that a killed scheduler left would look as if they still ran. */
async function failInterruptedRuns(sql: postgres.Sql): Promise<void> {
  await sql`
    update cron.job_run_details set status = 'failed', return_message = 'server restarted', end_time = now()
    where status = 'running'`;
}

/** A job that is new, or has a new schedule, is due from now on; the others keep their next time. */
async function readEntries(sql: postgres.Sql, known: Map<string, Entry>, now: Date): Promise<Map<string, Entry>> {
  const rows = await sql`
    select jobid, schedule as source, cron._parse_schedule(schedule) as schedule, command, database, username
    from cron.job where active and database = current_database()`;
  const entries = new Map<string, Entry>();
  for (const job of z.array(jobSchema).parse([...rows])) {
    const before = known.get(job.jobid);
    const kept = before?.source === job.source ? before : { nextAt: nextRun(job.schedule, now), waiting: 0 };
    entries.set(job.jobid, { ...job, nextAt: kept.nextAt, waiting: kept.waiting });
  }
  return entries;
}

/** Calendar runs that come due during a run are made up for afterwards; of an interval's only one is. */
function countDue(entries: Map<string, Entry>, now: Date): void {
  for (const entry of entries.values()) {
    if (entry.nextAt === undefined || entry.nextAt > now) continue;
    entry.waiting = "seconds" in entry.schedule ? 1 : entry.waiting + 1;
    entry.nextAt = nextRun(entry.schedule, now);
  }
}

function untilNext(entries: Map<string, Entry>, now: Date): number {
  const times = [...entries.values()].flatMap(({ nextAt }) => (nextAt ? [nextAt.getTime() - now.getTime()] : []));
  return Math.max(0, Math.min(LONGEST_WAIT_MS, ...times));
}
