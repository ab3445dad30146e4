import postgres from "postgres";
import { z } from "zod";

export type CronJob = { jobid: string; command: string; database: string; username: string };

/**
 * Runs a job's command as its user, in a connection of its own, and keeps the run in cron.job_run_details. Throws only
 * when the run cannot be recorded. The command could step back to the superuser (reset session authorization), which
 * the extension's could not: the stand-in is for a database that its developer alone enters.
 */
export async function runCronJob(databaseUrl: string, recorder: postgres.Sql, job: CronJob): Promise<void> {
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
  return z.object({ runid: z.string() }).parse(row).runid;
}

type Result = postgres.RowList<postgres.Row[]>;

/** Rows are counted, anything else is its command's tag; of several statements the last one counts. */
function describe(results: Result | Result[]): string {
  // With several statements postgres.js returns a list of results, with one the result itself (a list of rows).
  const last = (Array.isArray(results[0]) ? results.at(-1) : results) as Result;
  if (last.length > 0 || last.command === "SELECT") return `${last.length} row${last.length === 1 ? "" : "s"}`;
  if (last.command === "INSERT") return `INSERT 0 ${last.count}`;
  return ["UPDATE", "DELETE", "MERGE"].includes(last.command) ? `${last.command} ${last.count}` : last.command;
}

/** As psql shows an error, which is what the extension keeps. */
function failureMessage(error: unknown): string {
  if (!(error instanceof postgres.PostgresError)) return error instanceof Error ? error.message : String(error);
  const more = { DETAIL: error.detail, HINT: error.hint, CONTEXT: error.where };
  const lines = Object.entries(more).flatMap(([name, text]) => (text ? [`${name}:  ${text}`] : []));
  return [`${error.severity}:  ${error.message}`, ...lines, ""].join("\n");
}
