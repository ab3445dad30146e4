import postgres from "postgres";
import { z } from "zod";
import { keepConnected, type WorkerOptions } from "./keep-connected.ts";

const LOCK = 5470002;
/** setTimeout is limited to about 24 days. */
const MAX_WAIT_MS = 60_000;

type Entry = CronJob & { nextAt: Date; waiting: number };

const jobSchema = z.object({
  jobid: z.string(),
  schedule: z.string(),
  command: z.string(),
  database: z.string(),
  username: z.string(),
});

/**
 * Runs the due jobs of cron.job, each as its user and in its own connection, one run of a job at a time. Ignores jobs of
 * other databases: in a copied database the jobs still name the original.
 */
export function runPgCronWorker(options: WorkerOptions): Promise<void> {
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
          .catch((error: unknown) => log("error", "job run not recorded", { reason: String(error) }))
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

/** Fails the runs of a killed scheduler, which would otherwise stay in the state running. */
async function failInterruptedRuns(sql: postgres.Sql): Promise<void> {
  await sql`
    update cron.job_run_details set status = 'failed', return_message = 'server restarted', end_time = now()
    where status = 'running'`;
}

/** A new job or schedule counts from now; the others keep their next time. */
async function readEntries(sql: postgres.Sql, known: Map<string, Entry>, now: Date): Promise<Map<string, Entry>> {
  const rows = await sql`
    select jobid, schedule, command, database, username
    from cron.job where active and database = current_database()`;
  const entries = new Map<string, Entry>();
  for (const job of z.array(jobSchema).parse([...rows])) {
    const before = known.get(job.jobid);
    const kept = before?.schedule === job.schedule ? before : { nextAt: nextLook(job.schedule, now), waiting: 0 };
    entries.set(job.jobid, { ...job, nextAt: kept.nextAt, waiting: kept.waiting });
  }
  return entries;
}

/**
 * Counts the runs that wait until the current run of their job ends. With an interval schedule at most one run waits; with a cron expression,
 * every run that came due.
 */
function countDue(entries: Map<string, Entry>, now: Date): void {
  for (const entry of entries.values()) {
    if (entry.nextAt > now) continue;
    if (secondsOf(entry.schedule) !== undefined) entry.waiting = 1;
    else if (isDue(entry.schedule, entry.nextAt)) entry.waiting++;
    entry.nextAt = nextLook(entry.schedule, now);
  }
}

function untilNext(entries: Map<string, Entry>, now: Date): number {
  const times = [...entries.values()].map(({ nextAt }) => nextAt.getTime() - now.getTime());
  return Math.max(0, Math.min(MAX_WAIT_MS, ...times));
}

const MINUTE_MS = 60_000;

/** The seconds of an interval; undefined for five fields of cron. */
function secondsOf(schedule: string): number | undefined {
  const [, seconds] = /^\s*(\d+)\s+seconds?\s*$/.exec(schedule) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}

/** When an interval is over, or the next minute begins. */
function nextLook(schedule: string, after: Date): Date {
  const seconds = secondsOf(schedule);
  if (seconds !== undefined) return new Date(after.getTime() + seconds * 1_000);
  return new Date((Math.floor(after.getTime() / MINUTE_MS) + 1) * MINUTE_MS);
}

/** Whether the five fields name this minute of UTC. When both the day and the weekday are restricted, either is enough. */
export function isDue(schedule: string, at: Date): boolean {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = schedule.trim().split(/\s+/);
  const onDay = names(day, at.getUTCDate(), 1);
  const onWeekday = names(weekday, at.getUTCDay(), 0) || (at.getUTCDay() === 0 && names(weekday, 7, 0));
  const isDay = day.startsWith("*") || weekday.startsWith("*") ? onDay && onWeekday : onDay || onWeekday;
  return (
    names(minute, at.getUTCMinutes(), 0) &&
    names(hour, at.getUTCHours(), 0) &&
    names(month, at.getUTCMonth() + 1, 1) &&
    isDay
  );
}

/** Whether a field (*, numbers, ranges, lists, steps) has this value. */
function names(field: string, value: number, lowest: number): boolean {
  return field.split(",").some((element) => {
    const [, from = "", to, step] = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(element) ?? [];
    const first = from === "*" ? lowest : Number(from);
    const isOpen = to === undefined && (from === "*" || step !== undefined);
    const last = isOpen ? Number.POSITIVE_INFINITY : Number(to ?? first);
    return value >= first && value <= last && (value - first) % Number(step ?? 1) === 0;
  });
}

type CronJob = z.infer<typeof jobSchema>;

/**
 * Runs a job's command as its user, in its own connection, and records the run in cron.job_run_details. Throws only when it
 * cannot record it. Unlike in the extension, the command could become the superuser (reset session authorization): the
 * stand-in is only for a database that only its developer uses.
 */
async function runCronJob(databaseUrl: string, recorder: postgres.Sql, job: CronJob): Promise<void> {
  const runid = await recordStart(recorder, job);
  const sql = postgres(databaseUrl, { max: 1, max_lifetime: null, fetch_types: false, onnotice: () => undefined });
  let status = "succeeded";
  let message: string;
  try {
    const [session] = await sql<{ pid: number }[]>`
      select pg_backend_pid() as pid, set_config('application_name', 'pg_cron', false),
        set_config('session_authorization', ${job.username}, false)`;
    await recorder`update cron.job_run_details set job_pid = ${session?.pid ?? null} where runid = ${runid}`;
    message = describe(await sql.unsafe(job.command).simple());
  } catch (error) {
    status = "failed";
    message = failureMessage(error);
  } finally {
    await sql.end({ timeout: 1 });
  }
  await recorder`
    update cron.job_run_details
    set status = ${status}, return_message = ${message}, end_time = clock_timestamp()
    where runid = ${runid}`;
}

async function recordStart(recorder: postgres.Sql, job: CronJob): Promise<string> {
  const [row] = await recorder<{ runid: string }[]>`
    insert into cron.job_run_details (jobid, database, username, command, status, start_time)
    values (${job.jobid}, ${job.database}, ${job.username}, ${job.command}, 'running', clock_timestamp())
    returning runid`;
  return row?.runid ?? "";
}

type Result = postgres.RowList<postgres.Row[]>;

/** The row count or the command's tag of the last statement. */
function describe(results: Result | Result[]): string {
  // postgres.js returns a list of results for several statements, and the result (a list of rows) for one.
  const last = (Array.isArray(results[0]) ? results.at(-1) : results) as Result;
  if (last.length > 0 || last.command === "SELECT") return `${last.length} row${last.length === 1 ? "" : "s"}`;
  if (last.command === "INSERT") return `INSERT 0 ${last.count}`;
  return ["UPDATE", "DELETE", "MERGE"].includes(last.command) ? `${last.command} ${last.count}` : last.command;
}

/** An error as the extension records it, without its lines DETAIL, HINT and CONTEXT. */
const failureMessage = (error: unknown): string =>
  error instanceof postgres.PostgresError ? `${error.severity}:  ${error.message}\n` : String(error);
