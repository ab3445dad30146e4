import type postgres from "postgres";
import { onTestFinished } from "vitest";
import { until } from "../until.ts";

/** Settles when so many sessions of this database wait for a lock that another holds. */
export async function untilSomebodyWaits(sql: postgres.Sql, sessions = 1): Promise<void> {
  await until("somebody to wait for a lock", async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length >= sessions;
  });
}

/** Settles when a worker's call waits for something to be due, which holds the lock that says so. Only the clone's own call has one. */
export async function untilACallWaits(sql: postgres.Sql): Promise<void> {
  await until("a call that waits", async () => {
    const held = await sql`
      select from pg_locks join pg_database on pg_database.oid = database
      where locktype = 'advisory' and datname = current_database()`;
    return held.count > 0;
  });
}

/** Begins work that waits for what an open transaction holds, then commits that. Returns what the work comes to. */
export async function whileOpen<T>(
  sql: postgres.Sql,
  hold: (open: postgres.TransactionSql) => Promise<unknown>,
  work: () => PromiseLike<T>,
): Promise<T> {
  const { waiting } = await sql.begin(async (open) => {
    await hold(open);
    const waiting = Promise.resolve(work());
    waiting.catch(() => undefined); // it is awaited below
    await untilSomebodyWaits(sql);
    return { waiting };
  });
  return await waiting;
}

/**
 * Does something in a transaction that fails if it waits for somebody. Not by lock_timeout: a function that sets its own, or handles every
 * exception, would go on without it.
 */
export async function impatiently<T>(
  sql: postgres.Sql,
  work: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  const { value } = await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = '10s'`;
    return { value: await work(transaction) };
  });
  return value as T;
}

/** Lets these functions of workers wait for a transaction that stays open here, until the test has ended; usually they give up after 100 ms. */
export async function letWait(sql: postgres.Sql, ...names: string[]): Promise<void> {
  const setTimeouts = async (time: string) => {
    for (const name of names) await sql.unsafe(`alter function keyframe_worker.${name} set lock_timeout = '${time}'`);
  };
  onTestFinished(() => setTimeouts("100ms"));
  await setTimeouts("60s");
}
