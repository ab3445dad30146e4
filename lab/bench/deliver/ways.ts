import type postgres from "postgres";
import { type JobProcess, startJobProcess } from "../processes.ts";
import { type Job, TIMEOUT_MS } from "./peers/post-event.ts";
import type { Scene } from "./scene.ts";

/** A way of delivering events: from rows committed in a transaction to recorded outcomes. */
export type Way = {
  name: string;
  /** The process that sends; absent where it is the stack's. */
  pid?: number;
  /** Commits events in one transaction, spread over these endpoints. Returns when COMMIT was sent, in ms since 1970. */
  commit(events: number, endpoints: number[]): Promise<number>;
  /** Whether an outcome is still unrecorded. */
  isOpen(): Promise<boolean>;
  close(): Promise<void>;
};

/** A sender of a peer, once it is ready. */
async function startPeer(file: string, env: Record<string, string>): Promise<JobProcess> {
  const peer = startJobProcess(new URL(`peers/${file}`, import.meta.url), env);
  await peer.run("ready");
  return peer;
}

/** The time in ms since 1970, with fractions. */
export const wallClock = (): number => performance.timeOrigin + performance.now();

/** Runs a transaction. Returns when its COMMIT was sent. */
async function commit(sql: postgres.Sql, work: (sql: postgres.TransactionSql) => Promise<unknown>): Promise<number> {
  let sent = 0;
  await sql.begin(async (transaction) => {
    await work(transaction);
    sent = wallClock();
  });
  return sent;
}

/** What the application writes in a peer's transaction. */
async function recordHappenings(
  sql: postgres.Sql | postgres.TransactionSql,
  events: number,
  endpoints: number[],
): Promise<Job[]> {
  return await sql<Job[]>`
    insert into bench.happenings (id, endpoint, body)
    select gen_random_uuid(), (${endpoints}::int[])[1 + n % cardinality(${endpoints}::int[])], bench.body(n)
    from generate_series(1, ${events}::int) n
    returning id, endpoint, body`;
}

/** Inserts projects, whose trigger writes event and delivery in the same transaction; the stack's own deliver sends. */
export function keyframeWay({ sql }: Pick<Scene, "sql">): Way {
  return {
    name: "Keyframe",
    commit: (events, endpoints) =>
      commit(sql, async (sql) => {
        await sql`
          insert into keyframe.projects (owner_id, title, text_prompt)
          select e.owner_id, 'Event ' || n, repeat('A harbour at dawn. ', 36)
          from generate_series(1, ${events}::int) n
          join bench.endpoints e on e.number = (${endpoints}::int[])[1 + n % cardinality(${endpoints}::int[])]`;
      }),
    // Uses the index of due deliveries for each endpoint, so that polling costs the database little.
    isOpen: async () => {
      const found = await sql`
        select from bench.endpoints e
        where exists (select from keyframe.webhook_deliveries d where d.status = 'pending' and d.endpoint_id = e.id) limit 1`;
      return found.length > 0;
    },
    close: async () => undefined,
  };
}

/** pg_net, signed in SQL: net.http_post for each event, in the transaction. The outcome is its response row. */
export async function pgNetWay({ sql }: Pick<Scene, "sql">): Promise<Way> {
  await sql.unsafe(`
    create function bench.post(happening uuid, endpoint integer, body text) returns bigint language sql volatile as $$
      select net.http_post(e.url, body::jsonb, timeout_milliseconds => ${TIMEOUT_MS}, headers => jsonb_build_object(
        'Content-Type', 'application/json', 'webhook-id', happening, 'webhook-timestamp', t.at,
        'webhook-signature', 'v1,' || encode(extensions.hmac(
          convert_to(happening || '.' || t.at || '.' || (body::jsonb)::text, 'UTF8'),
          decode(substr(e.secret, length('whsec_') + 1), 'base64'), 'sha256'), 'base64')))
      from bench.endpoints e, (select floor(extract(epoch from clock_timestamp()))::bigint::text as at) t
      where e.number = endpoint
    $$`);
  return {
    name: "pg_net",
    commit: (events, endpoints) =>
      commit(sql, async (sql) => {
        const ids = (await recordHappenings(sql, events, endpoints)).map(({ id }) => id);
        await sql`select count(bench.post(h.id, h.endpoint, h.body)) from bench.happenings h where h.id = any (${ids}::uuid[])`;
      }),
    // Requests leave the queue when their batch ends.
    isOpen: async () => (await sql`select from net.http_request_queue limit 1`).length > 0,
    close: async () => undefined,
  };
}

/** Jobs of Graphile Worker, added in the transaction; its own worker signs and posts. */
export async function graphileWay({ databaseUrl, sql }: Scene): Promise<Way> {
  const worker = await startPeer("graphile-worker-process.ts", { DATABASE_URL: databaseUrl });
  return {
    name: "graphile-worker + fetch",
    pid: worker.pid,
    commit: (events, endpoints) =>
      commit(sql, async (sql) => {
        const happenings = await recordHappenings(sql, events, endpoints);
        const specs = happenings.map((payload) => ({ identifier: "send", payload }));
        await sql`
          select count(*) from graphile_worker.add_jobs(array(
            select s from json_populate_recordset(null::graphile_worker.job_spec, ${JSON.stringify(specs)}::text::json) s))`;
      }),
    // A succeeded job is deleted.
    isOpen: async () => (await sql`select from graphile_worker._private_jobs limit 1`).length > 0,
    close: worker.close,
  };
}

/** The channel for peers/notify-listener.ts. */
const CHANNEL = "bench_happenings";

/** NOTIFY with the event in the transaction; a listener signs and posts, and records nothing. */
export async function notifyWay({ databaseUrl, sql }: Scene): Promise<Way> {
  const listener = await startPeer("notify-listener.ts", { DATABASE_URL: databaseUrl, CHANNEL });
  return {
    name: "LISTEN/NOTIFY + fetch",
    commit: (events, endpoints) =>
      commit(sql, async (sql) => {
        for (const happening of await recordHappenings(sql, events, endpoints))
          await sql`select pg_notify(${CHANNEL}, ${JSON.stringify(happening)})`;
      }),
    isOpen: async () => false,
    close: listener.close,
  };
}
