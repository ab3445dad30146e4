import type postgres from "postgres";
import { pause } from "../../shared/platform/pause.ts";

const NAME = "keyframe-can-cron-run";
const LOOK_EVERY_MS = 100;
/** A job of every second runs within two. */
const PATIENCE_MS = 15_000;

/**
 * Has the real pg_cron run a job as the role postgres, whose jobs the migrations make, and removes it again. Throws when it does
 * not run: the sweep would not either.
 */
export async function checkCronRuns(sql: postgres.Sql, signal: AbortSignal): Promise<void> {
  const [job] = await sql<{ id: string }[]>`
    select cron.schedule_in_database(${NAME}, '1 second', 'select 1', current_database(), 'postgres') as id`;
  try {
    const end = performance.now() + PATIENCE_MS;
    while (performance.now() < end && !signal.aborted) {
      const [run] = await sql<{ status: string; message: string | null }[]>`
        select status, return_message as message from cron.job_run_details
        where jobid = ${job?.id ?? ""} and status in ('succeeded', 'failed') order by runid limit 1`;
      if (run?.status === "succeeded") return;
      if (run) throw new Error(`pg_cron cannot run a job: ${run.message ?? "it does not say why"}. ${ADVICE}`);
      await pause(LOOK_EVERY_MS, signal);
    }
    signal.throwIfAborted();
    throw new Error(`pg_cron has run nothing for ${PATIENCE_MS / 1000} s. ${ADVICE}`);
  } finally {
    await sql`select cron.unschedule(${job?.id ?? ""}::bigint)`;
    await sql`delete from cron.job_run_details where jobid = ${job?.id ?? ""}`;
  }
}

const ADVICE =
  "It connects to the server anew for each run, without a password: set cron.use_background_workers = on in postgresql.conf " +
  "and restart Postgres, or let the role postgres in from localhost in pg_hba.conf (trust), or by a .pgpass of the server's user.";
