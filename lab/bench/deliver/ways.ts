import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { waitUntil } from "../measure.ts";
import { type BenchProcess, spawnDeno } from "../processes.ts";
import { wallClock } from "./receiver.ts";
import { ENDPOINTS, type Scene } from "./scene.ts";

/** A way of delivering events: from rows committed in a transaction to recorded outcomes. */
export type Way = {
  /** Commits events in one transaction, spread over all endpoints. Returns when COMMIT was sent, in ms since 1970. */
  commit(events: number): Promise<number>;
  /** Whether an outcome is still unrecorded. */
  isOpen(): Promise<boolean>;
};

/** Runs a transaction. Returns when its COMMIT was sent. */
async function commit(sql: postgres.Sql, work: (sql: postgres.TransactionSql) => Promise<unknown>): Promise<number> {
  let sent = 0;
  await sql.begin(async (transaction) => {
    await work(transaction);
    sent = wallClock();
  });
  return sent;
}

/** Inserts projects, whose trigger writes event and delivery in the same transaction; the stack's own deliver sends. */
export const keyframeWay = ({ sql }: Scene): Way => ({
  commit: (events) =>
    commit(
      sql,
      (sql) => sql`
        insert into keyframe.projects (owner_id, title, text_prompt)
        select e.owner_id, 'Event ' || n, repeat('A harbour at dawn. ', 36)
        from generate_series(1, ${events}::int) n join bench.endpoints e on e.number = n % ${ENDPOINTS}::int`,
    ),
  // Uses the index of due deliveries for each endpoint, so that polling costs the database little.
  isOpen: async () => {
    const found = await sql`
      select from bench.endpoints e
      where exists (select from keyframe.webhook_deliveries d where d.status = 'pending' and d.endpoint_id = e.id) limit 1`;
    return found.length > 0;
  },
});

/** Jobs of Graphile Worker, added in the transaction; its own worker, a process beside the stack, signs and posts. */
export async function graphileWay({ databaseUrl, sql }: Scene): Promise<Way & BenchProcess> {
  const file = fileURLToPath(new URL("graphile-worker-process.ts", import.meta.url));
  const worker = spawnDeno(["run", "-A", file], { DATABASE_URL: databaseUrl });
  const isReady = async () => {
    if (worker.ended.aborted) throw new Error("graphile-worker has ended.");
    return (await sql`select from pg_stat_activity where query like 'LISTEN "jobs:insert"%'`).length > 0;
  };
  await waitUntil(isReady, { what: "graphile-worker listens", everyMs: 100 });
  return {
    ...worker,
    commit: (events) =>
      commit(sql, async (sql) => {
        const happenings = await sql`
          insert into bench.happenings (id, endpoint, body)
          select gen_random_uuid(), n % ${ENDPOINTS}::int, bench.body(n) from generate_series(1, ${events}::int) n
          returning id, endpoint, body`;
        const specs = happenings.map((payload) => ({ identifier: "send", payload }));
        await sql`
          select count(*) from graphile_worker.add_jobs(array(
            select s from json_populate_recordset(null::graphile_worker.job_spec, ${JSON.stringify(specs)}::text::json) s))`;
      }),
    // A succeeded job is deleted.
    isOpen: async () => (await sql`select from graphile_worker._private_jobs limit 1`).length > 0,
  };
}

/** Commits events at once. Returns ms from COMMIT until all are received and every outcome is recorded. */
export async function runBurst({ receiver, secrets }: Scene, way: Way, events: number): Promise<number> {
  receiver.begin();
  const committed = await way.commit(events);
  await receiver.waitFor(events);
  // Polled only then, so that polling does not slow the delivery down.
  await waitUntil(async () => !(await way.isOpen()), { what: "the outcomes are recorded", everyMs: 5 });
  const took = wallClock() - committed;
  receiver.check(events, secrets);
  return took;
}

/** Commits one event. Returns ms from COMMIT to its receipt. */
export async function sendOne({ receiver }: Scene, way: Way): Promise<number> {
  receiver.begin();
  const committed = await way.commit(1);
  return (await receiver.waitFor(1)) - committed;
}
