import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { type ExtensionDatabase, extensionDatabase } from "./support/extension-database.ts";

let database: ExtensionDatabase;
let sql: postgres.Sql;

beforeAll(async () => {
  database = await extensionDatabase("pg_cron");
  sql = database.as("postgres");
});

afterAll(async () => {
  await sql`select cron.unschedule(jobid) from cron.job where jobname like 'conformance%'`;
  await database?.stop();
});

type Run = { status: string; return_message: string; start_time: Date; end_time: Date | null };

async function schedule(name: string, when: string, command: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select cron.schedule(${name}, ${when}, ${command}) as id`;
  return row?.id ?? "";
}

async function runsOf(id: string): Promise<Run[]> {
  return await sql<Run[]>`
    select status, return_message, start_time, end_time from cron.job_run_details
    where jobid = ${id} and end_time is not null order by runid`;
}

function endedRuns(id: string, count: number): Promise<Run[]> {
  return until(`${count} runs of job ${id}`, async () => {
    const runs = await runsOf(id);
    return runs.length >= count && runs;
  });
}

describe("scheduling", () => {
  test("cron.schedule → a job of the caller; the same name again changes it", async () => {
    const id = await schedule("conformance-a", "5 4 * * *", "select 1");
    await database.admin`update cron.job set active = false where jobid = ${id}`;
    expect(await schedule("conformance-a", "30 seconds", "select 2")).toBe(id);
    const [job] = await sql`
      select jobname::text, schedule, command, database = current_database() as here, username, active
      from cron.job where jobid = ${id}`;
    expect(job).toEqual({
      ...{ jobname: "conformance-a", schedule: "30 seconds", command: "select 2" },
      ...{ here: true, username: "postgres", active: false },
    });
  });

  test("a schedule of five cron fields, whatever follows, or of '[1-59] seconds' → accepted; any other → invalid schedule", async () => {
    for (const when of [
      "1 second",
      "59 seconds",
      "* * * * *",
      "*/5 0-6 1,15 * 1-5",
      "59 23 31 12 7",
      "0 3 * * * *",
      "0 3 * * * at three",
    ]) {
      expect(await schedule("conformance-valid", when, "select 1")).toMatch(/^\d+$/);
    }
    await sql`select cron.unschedule('conformance-valid')`;
    const seconds = ["0 seconds", "60 seconds", "-1 seconds"];
    for (const when of [...seconds, "* * * *", "a * * * *", "soon", ""]) {
      await expect(schedule("conformance-no", when, "select 1")).rejects.toThrow(`invalid schedule: ${when}`);
    }
  });

  test("cron.unschedule by name or by id → removes the job; for an unknown job → raises", async () => {
    await schedule("conformance-name", "0 0 * * *", "select 1");
    const id = await schedule("conformance-id", "0 0 * * *", "select 1");
    expect([...(await sql`select cron.unschedule('conformance-name') as done`)]).toEqual([{ done: true }]);
    expect([...(await sql`select cron.unschedule(${id}::bigint) as done`)]).toEqual([{ done: true }]);
    expect(await sql`select from cron.job where jobname in ('conformance-name', 'conformance-id')`).toHaveLength(0);
    await expect(sql`select cron.unschedule('conformance-name')`).rejects.toThrow(/could not find valid entry for job/);
  });
});

describe("privileges", () => {
  const NOTHING_IS_DENIED = "On this server postgres is a superuser, which it is not on the hosted platform.";

  test("cron.job, to postgres → read-only", async ({ skip }) => {
    skip(database.postgresIsSuperuser, NOTHING_IS_DENIED);
    await expect(sql`insert into cron.job (schedule, command) values ('* * * * *', 'select 1')`).rejects.toThrow(
      /permission denied/,
    );
    await expect(sql`update cron.job set username = 'supabase_admin'`).rejects.toThrow(/permission denied/);
    await expect(sql`delete from cron.job`).rejects.toThrow(/permission denied/);
  });

  test("another user's job → can neither be changed nor removed", async ({ skip }) => {
    skip(database.postgresIsSuperuser, NOTHING_IS_DENIED);
    const [row] = await database.admin<{ id: string }[]>`
      select cron.schedule('conformance-other', '0 0 * * *', 'select 1') as id`;
    const id = row?.id ?? "";
    await expect(sql`select cron.unschedule(${id}::bigint)`).rejects.toThrow();
    await expect(sql`select cron.unschedule('conformance-other')`).rejects.toThrow();
    await database.admin`select cron.unschedule(${id}::bigint)`;
  });

  test("a superuser unschedules another user's job by its id → removed", async () => {
    const id = await schedule("conformance-theirs", "0 0 * * *", "select 1");
    expect([...(await database.admin`select cron.unschedule(${id}::bigint) as done`)]).toEqual([{ done: true }]);
  });

  test("anon, authenticated and service_role → may not use the schema cron", async () => {
    for (const role of ["anon", "authenticated", "service_role"] as const) {
      const schedule = database.as(role)`select cron.schedule('conformance-none', '* * * * *', 'select 1')`;
      await expect(schedule).rejects.toThrow(/permission denied/);
    }
  });
});

describe.concurrent("running", () => {
  test("a job of '1 second' → runs again and again as its user, and each run is recorded", async () => {
    const id = await schedule("conformance-run", "1 second", "select current_user");
    const runs = await endedRuns(id, 2);
    // The second by a pg_cron with cron.use_background_workers = on.
    expect(runs[0]).toMatchObject({ status: "succeeded", return_message: expect.stringMatching(/^(1 row|SELECT 1)$/) });
    const [details] = await sql`
      select database = current_database() as here, username, command, job_pid > 0 as pid
      from cron.job_run_details where jobid = ${id} limit 1`;
    expect(details).toEqual({ here: true, username: "postgres", command: "select current_user", pid: true });
    const gap = (runs[1]?.start_time.getTime() ?? 0) - (runs[0]?.start_time.getTime() ?? 0);
    expect(gap).toBeGreaterThan(500);
  });

  test("a job's command of several statements → writes as the job's user, in one transaction", async () => {
    await sql`create table if not exists public.conformance_cron (who text)`;
    const write = "insert into public.conformance_cron values (current_user)";
    const id = await schedule(
      "conformance-atomic",
      "1 second",
      `${write}; select 1 / count(*) from pg_class where false`,
    );
    const [failed] = await endedRuns(id, 1);
    expect(failed?.status).toBe("failed");
    expect(await sql`select from public.conformance_cron`).toHaveLength(0);
    expect(await schedule("conformance-atomic", "1 second", write)).toBe(id);
    await until("the tag of the command", async () => (await runsOf(id)).at(-1)?.return_message === "INSERT 0 1");
    expect((await sql`select distinct who from public.conformance_cron`)[0]).toEqual({ who: "postgres" });
    await sql`select cron.unschedule('conformance-atomic')`;
    await sql`drop table public.conformance_cron`;
  });

  test("a run that takes longer than its interval → the next run waits for its end", async () => {
    const id = await schedule("conformance-slow", "1 second", "select pg_sleep(1.3)");
    const [first, second] = await endedRuns(id, 2);
    expect(second?.start_time.getTime()).toBeGreaterThanOrEqual(first?.end_time?.getTime() ?? Infinity);
  });

  test("a job whose command fails → recorded with the error, and runs again", async () => {
    const id = await schedule("conformance-fail", "1 second", "select 1 / 0");
    const runs = await endedRuns(id, 2);
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "failed"));
    expect(runs[0]?.return_message).toMatch(/ERROR:\s+division by zero/);
  });

  test("an unscheduled job → no longer runs, and postgres may delete its runs", async () => {
    const id = await schedule("conformance-stop", "1 second", "select 1");
    await endedRuns(id, 1);
    await sql`select cron.unschedule(${id}::bigint)`;
    const other = await schedule("conformance-other-runs", "1 second", "select 1");
    const before = (await runsOf(id)).length;
    await endedRuns(other, 2);
    expect((await runsOf(id)).length - before).toBeLessThanOrEqual(1);
    await sql`delete from cron.job_run_details where jobid = ${id}`;
    expect(await runsOf(id)).toEqual([]);
  });
});
