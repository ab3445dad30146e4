import type postgres from "postgres";
import { waitUntil } from "../measure.ts";
import { type BenchProcess, spawnPeer } from "../processes.ts";
import { ENDPOINTS, type Scene } from "./scene.ts";
import { commit, type Way } from "./ways.ts";

/** Jobs of Graphile Worker, added in the transaction; with the same work, each endpoint has a task. A process for each way, the bare one first. */
export async function openGraphileWorker({ databaseUrl, sql }: Scene, isEqual: boolean): Promise<Way> {
  const peer = await spawnPeer("graphile-worker.ts", { DATABASE_URL: databaseUrl, WORK: isEqual ? "equal" : "bare" });
  await waitUntilListening(sql, peer, "jobs:insert", isEqual ? ENDPOINTS + 1 : 1);
  return {
    name: isEqual ? "graphile-worker" : "graphile-worker, bare",
    peer,
    commit: (events) =>
      commit(
        sql,
        (sql) => sql`
          with made as (${makeHappenings(sql, events)})
          select count(*) from graphile_worker.add_jobs(array(
            select s from made, json_populate_record(null::graphile_worker.job_spec, json_build_object(
              'identifier', case when ${isEqual} then 'endpoint-' || endpoint else 'bare' end, 'payload', to_json(made))) s))`,
      ),
    // A succeeded job is deleted.
    isOpen: async () => (await sql`select from graphile_worker._private_jobs limit 1`).length > 0,
    attempts: isEqual ? "bench.attempts" : null,
  };
}

/** Jobs of pg-boss, inserted and notified in the transaction; with the same work, each endpoint is a queue. */
export async function openPgBoss({ databaseUrl, sql }: Scene): Promise<Way> {
  const peer = await spawnPeer("pg-boss.ts", { DATABASE_URL: databaseUrl });
  await waitUntilListening(sql, peer, "pgboss_", 1);
  const isReady = async () => {
    const [found] = await sql<
      { queues: number }[]
    >`select count(*)::int as queues from pgboss.queue where name like 'endpoint-%'`;
    return found?.queues === ENDPOINTS;
  };
  await waitUntil(isReady, { what: "pg-boss has its queues", everyMs: 100 });
  return {
    name: "pg-boss",
    peer,
    commit: (events) =>
      commit(
        sql,
        (sql) => sql`
          with made as (${makeHappenings(sql, events)}), jobs as (
            insert into pgboss.job (name, data, policy, retry_limit, retry_delay, retry_backoff, retry_delay_max)
            select q.name, to_jsonb(made), q.policy, q.retry_limit, q.retry_delay, q.retry_backoff, q.retry_delay_max
            from made join pgboss.queue q on q.name = 'endpoint-' || endpoint
            returning name
          )
          select pg_notify('pgboss_' || left(encode(sha224('pgboss'), 'hex'), 24), name) from (select distinct name from jobs) j`,
      ),
    isOpen: async () => (await sql`select from pgboss.job where state < 'completed' limit 1`).length > 0,
    attempts: "bench.attempts",
  };
}

const makeHappenings = (sql: postgres.TransactionSql, events: number) => sql`
  insert into bench.happenings (id, endpoint, body)
  select gen_random_uuid(), n % ${ENDPOINTS}::int, bench.body(n) from generate_series(1, ${events}::int) n
  returning id, endpoint, body`;

async function waitUntilListening(sql: postgres.Sql, { ended }: BenchProcess, channel: string, sessions: number) {
  const listens = async () => {
    if (ended.aborted) throw new Error(`The process that listens on ${channel} has ended.`);
    return (await sql`select from pg_stat_activity where query ilike ${`listen "${channel}%`}`).length === sessions;
  };
  await waitUntil(listens, { what: `a process listens on ${channel}`, everyMs: 100 });
}
