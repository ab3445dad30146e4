import type postgres from "postgres";
import { FUNCTION_NAMES } from "../../../local/stack/function-arguments.ts";
import type { Stack } from "../../../local/stack/start-stack.ts";
import { cpuOfPostgres, cpuOfProcess } from "./cpu-time.ts";

/** What something used; times in ms of processor time, sizes in bytes. */
export type Used = {
  postgres: number;
  functions: number;
  /** Written to the write-ahead log. */
  wal: number;
  /** Rows and indexes, as far as the files grew. */
  stored: number;
  /** Requests that Postgres made to wake functions. */
  kicks: number;
  seconds: number;
};

export type Meter = {
  /** What some work uses, less what the stack uses meanwhile when it has nothing to do. */
  measure(work: () => Promise<void>): Promise<Used>;
};

/** Looks first for some seconds at what is used by nothing. */
export async function createMeter(stack: Stack, sql: postgres.Sql, idleSeconds: number): Promise<Meter> {
  const since = async (work: () => Promise<unknown>) => {
    const before = await read(stack, sql);
    await work();
    return less(await read(stack, sql), before);
  };
  const idle = await since(() => new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000)));
  return {
    measure: async (work) => {
      const used = await since(work);
      const share = used.seconds / idle.seconds;
      const beside = (key: "postgres" | "functions" | "wal") => Math.max(0, used[key] - idle[key] * share);
      return { ...used, postgres: beside("postgres"), functions: beside("functions"), wal: beside("wal") };
    },
  };
}

async function read(stack: Stack, sql: postgres.Sql): Promise<Used> {
  const [row] = await sql<{ wal: string; stored: string; kicks: string }[]>`
    select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
      (select sum(pg_total_relation_size(c.oid)) from pg_class c
        where c.relkind in ('r', 'm') and c.relnamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace, 'storage'::regnamespace)
      ) as stored,
      (select last_value from net.http_request_queue_id_seq) as kicks`;
  if (!row) throw new Error("Postgres said nothing of itself.");
  const pids = FUNCTION_NAMES.flatMap((name) => stack.children.get(name)?.pid ?? []);
  const functions = await Promise.all(pids.map(cpuOfProcess));
  return {
    postgres: await cpuOfPostgres(sql),
    functions: functions.reduce((sum, ms) => sum + ms, 0),
    wal: Number(row.wal),
    stored: Number(row.stored),
    kicks: Number(row.kicks),
    seconds: performance.now() / 1000,
  };
}

function less(after: Used, before: Used): Used {
  return {
    postgres: after.postgres - before.postgres,
    functions: after.functions - before.functions,
    wal: after.wal - before.wal,
    stored: after.stored - before.stored,
    kicks: after.kicks - before.kicks,
    seconds: after.seconds - before.seconds,
  };
}
