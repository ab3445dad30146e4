import type postgres from "postgres";
import { pause } from "../../../shared/platform/retry.ts";
import { waitUntil } from "../measure.ts";
import { type BenchProcess, spawnPeer } from "../processes.ts";
import { wallClock } from "./receiver.ts";
import { ENDPOINTS, type Scene } from "./scene.ts";

/** A way of delivering events: from rows committed in a transaction to recorded outcomes. */
export type Way = {
  name: string;
  /** Of the process that sends. */
  pid: number;
  /** Of a queue compared with: its own worker, beside the stack. */
  peer?: BenchProcess;
  /** Commits events in one transaction, spread over all endpoints. Returns when COMMIT was sent, in ms since 1970. */
  commit(events: number): Promise<number>;
  /** Whether an outcome is still unrecorded. */
  isOpen(): Promise<boolean>;
  /** The table with a row for each attempt; null for a way that records none. */
  attempts: string | null;
};

/** A worker that is awake may have timers to run first. */
const AWAKE_MS = 50;

/** A peer stands still outside of its turn: it polls, and a job of one graphile-worker wakes the runners of all. */
export async function inTurn<Value>({ name, peer, isOpen }: Way, work: () => Promise<Value>): Promise<Value> {
  peer?.resume();
  await pause(AWAKE_MS);
  const value = await work();
  await waitUntil(async () => !(await isOpen()), { what: `${name}: the outcomes are recorded`, everyMs: 5 });
  peer?.pause();
  return value;
}

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
export const keyframeWay = ({ sql, children }: Scene): Way => ({
  name: "Keyframe",
  pid: children.get("keyframe-deliver")?.pid ?? 0,
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
  attempts: "keyframe.webhook_attempts",
});

/** Jobs of Graphile Worker, added in the transaction; with the same work, each endpoint has a task. A process for each way, the bare one first. */
export async function openGraphileWorker({ databaseUrl, sql }: Scene, isEqual: boolean): Promise<Way> {
  const peer = await spawnPeer("graphile-worker.ts", { DATABASE_URL: databaseUrl, WORK: isEqual ? "equal" : "bare" });
  await waitUntilListening(sql, peer, "jobs:insert", isEqual ? ENDPOINTS + 1 : 1);
  return {
    name: isEqual ? "graphile-worker" : "graphile-worker, bare",
    pid: peer.pid,
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
    pid: peer.pid,
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

/** Counts the attempts that are recorded from now on. */
async function openCount({ sql }: Scene, { attempts }: Way): Promise<() => Promise<number>> {
  if (attempts === null) return () => Promise.resolve(Number.NaN);
  const [last] = await sql<{ id: string }[]>`select coalesce(max(id), 0) as id from ${sql(attempts)}`;
  return async () => {
    const [found] = await sql<
      { rows: number }[]
    >`select count(*)::int as rows from ${sql(attempts)} where id > ${last?.id ?? 0}`;
    return found?.rows ?? Number.NaN;
  };
}

async function waitUntilListening(sql: postgres.Sql, { ended }: BenchProcess, channel: string, sessions: number) {
  const listens = async () => {
    if (ended.aborted) throw new Error(`The process that listens on ${channel} has ended.`);
    return (await sql`select from pg_stat_activity where query ilike ${`listen "${channel}%`}`).length === sessions;
  };
  await waitUntil(listens, { what: `a process listens on ${channel}`, everyMs: 100 });
}

/** Commits events at once. Returns ms from COMMIT until all are received and every outcome is recorded. */
export async function runBurst(scene: Scene, way: Way, events: number): Promise<number> {
  const { receiver, secrets } = scene;
  const countAttempts = await openCount(scene, way);
  receiver.begin();
  const committed = await way.commit(events);
  await receiver.waitFor(events);
  // Polled only then, so that polling does not slow the delivery down.
  await waitUntil(async () => !(await way.isOpen()), { what: "the outcomes are recorded", everyMs: 5 });
  const took = wallClock() - committed;
  await receiver.check(events, secrets);
  const attempts = await countAttempts();
  if (way.attempts !== null && attempts !== events)
    throw new Error(`${way.name} has recorded ${attempts} attempts of ${events}.`);
  return took;
}

/** Commits one event. Returns ms from COMMIT to its receipt. */
export async function sendOne({ receiver }: Scene, way: Way): Promise<number> {
  receiver.begin();
  const committed = await way.commit(1);
  return (await receiver.waitFor(1)) - committed;
}

/** Of each endpoint, more than a worker sends at once. */
const EVENTS_PAST = 60;

/** Throws unless events go past one endpoint that does not answer, and its own are sent again after its 503, each attempt recorded. */
export async function checkIsolation(scene: Scene, way: Way): Promise<void> {
  const { receiver } = scene;
  const countAttempts = await openCount(scene, way);
  receiver.begin();
  const release = receiver.hold(0);
  try {
    await way.commit(EVENTS_PAST * ENDPOINTS);
    const passed = async () => receiver.answered() >= EVENTS_PAST * (ENDPOINTS - 1);
    await waitUntil(passed, { what: `${way.name}: others' events come`, everyMs: 5, timeoutMs: 30_000 });
  } finally {
    release();
  }
  await waitUntil(async () => !(await way.isOpen()), { what: `${way.name} sends again`, everyMs: 100 });
  const [attempts, requests] = [await countAttempts(), receiver.requests()];
  if (attempts < requests || attempts <= EVENTS_PAST * ENDPOINTS)
    throw new Error(`${way.name} has recorded ${attempts} attempts of ${requests}.`);
}
