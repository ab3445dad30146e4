import type postgres from "postgres";
import { pause } from "../../shared/platform/pause.ts";
import { MISCOUNTED_COSTS, RECOUNT_COSTS } from "./costs.ts";
import { retry, type World } from "./world.ts";

/**
 * The correct counts: for each endpoint by the hour of each delivery's last attempt. A delivery that is being sent
 * again counts as nothing.
 */
const ACTUAL_HOURS = `
  select d.endpoint_id, date_trunc('hour', a.started_at, 'UTC') as hour,
    count(*) filter (where d.status = 'delivered') as delivered,
    count(*) filter (where d.status = 'pending' and a.error is not null) as retrying,
    count(*) filter (where d.status = 'exhausted') as exhausted,
    row(max(a.started_at), null, null)::keyframe_private.attempt_outcome as last_attempt
  from keyframe.webhook_deliveries d
  join keyframe.webhook_endpoints e on e.id = d.endpoint_id
  cross join lateral (
    select t.started_at, t.error from keyframe.webhook_attempts t where t.delivery_id = d.id order by t.attempt desc limit 1
  ) a
  group by d.endpoint_id, 2`;

/**
 * A row for each hour in keyframe_private.webhook_hours that differs from deliveries and attempts. The hours of
 * deleted endpoints stay for a while and are not compared.
 */
export const MISCOUNTED = `
  select format('endpoint %s, hour of %s: counted %s delivered, %s to be retried, %s given up; there are %s, %s, %s', endpoint_id, hour,
    coalesce(c.delivered, 0), coalesce(c.retrying, 0), coalesce(c.exhausted, 0),
    coalesce(t.delivered, 0), coalesce(t.retrying, 0), coalesce(t.exhausted, 0)) as broken
  from (
    select h.* from keyframe_private.webhook_hours h join keyframe.webhook_endpoints e on e.id = h.endpoint_id
  ) c
  full join (${ACTUAL_HOURS}) t using (endpoint_id, hour)
  where (coalesce(c.delivered, 0), coalesce(c.retrying, 0), coalesce(c.exhausted, 0))
    <> (coalesce(t.delivered, 0), coalesce(t.retrying, 0), coalesce(t.exhausted, 0))`;

/** Wrong counts and sums found before the times were moved, for the end of the run. */
export const MISCOUNTED_TABLE = "create table if not exists chaos.miscounted (broken text)";

/** Stores the counts that are wrong now. No other transaction may write deliveries meanwhile. */
async function recordMiscounts(sql: postgres.TransactionSql): Promise<void> {
  await sql.unsafe(`insert into chaos.miscounted ${MISCOUNTED} union all ${MISCOUNTED_COSTS}`);
}

/** Counts again, because moved times are in other hours, and some in another day. */
async function recount(sql: postgres.TransactionSql): Promise<void> {
  await sql`delete from keyframe_private.webhook_hours`;
  await sql.unsafe(`
    insert into keyframe_private.webhook_hours (endpoint_id, hour, delivered, retrying, exhausted, last_attempt)
    select endpoint_id, hour, delivered, retrying, exhausted, last_attempt from (${ACTUAL_HOURS}) t`);
  await sql.unsafe(RECOUNT_COSTS);
}

/**
 * Moves the database's clock by so many seconds: moves every time in our tables the other way, in one transaction,
 * without triggers. Times in a primary key stay, because they name a row (a counted hour); the hours and
 * the sums of costs are compared with their rows before and counted again afterwards.
 */
export async function shiftTime(sql: postgres.Sql, seconds: number): Promise<void> {
  const columns = await retry(
    () => sql<{ name: string; columns: string[] }[]>`
      select format('%I.%I', n.nspname, c.relname) as name, jsonb_agg(format('%I', a.attname)) as columns
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind = 'r' and a.atttypid = 'timestamptz'::regtype and not a.attisdropped
        and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey))
      group by 1 order by 1`,
  );
  await retry(() =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('session_replication_role', 'replica', true), set_config('lock_timeout', '3s', true)`;
      await transaction.unsafe(`lock table ${columns.map(({ name }) => name).join(", ")} in share row exclusive mode`);
      await recordMiscounts(transaction);
      for (const table of columns) {
        const moved = table.columns.map((column) => `${column} = ${column} - make_interval(secs => ${seconds})`);
        await transaction.unsafe(`update ${table.name} set ${moved.join(", ")}`);
      }
      await recount(transaction);
    }),
  );
}

/** The tables whose writes fail while errors are left. */
const FAILING_TABLES = ["projects", "predictions", "webhook_events", "webhook_deliveries", "webhook_attempts"];
const FAILING_PRIVATE_TABLES = ["provider_submits", "daily_costs", "file_removals"];

/**
 * Prepares errors on demand: the next writes to our tables fail, in turn with 40P01 (deadlock) and 40001
 * (serialization failure). A sequence counts what is left, because the error would roll back a row.
 */
export async function prepareErrors(sql: postgres.Sql): Promise<void> {
  const tables = [
    ...FAILING_TABLES.map((name) => `keyframe.${name}`),
    ...FAILING_PRIVATE_TABLES.map((name) => `keyframe_private.${name}`),
  ];
  await sql.unsafe(`
    create schema chaos;
    ${MISCOUNTED_TABLE};
    grant usage on schema chaos to public;
    create sequence chaos.errors_left increment -1 minvalue -9000000000000000000 maxvalue 1000000 start 1;
    select nextval('chaos.errors_left');
    grant all on sequence chaos.errors_left to public;
    create function chaos.raise_error() returns trigger language plpgsql set search_path = '' as $$
    declare
      left_over bigint;
    begin
      if (select s.last_value from chaos.errors_left s) > 1 then
        left_over := nextval('chaos.errors_left');
        if left_over > 0 and left_over % 2 = 0 then
          raise exception 'deadlock detected' using errcode = '40P01';
        elsif left_over > 0 then
          raise exception 'could not serialize access due to concurrent update' using errcode = '40001';
        end if;
      end if;
      return null;
    end $$;
    grant execute on function chaos.raise_error() to public;
    ${tables.map((table) => `create trigger _050_chaos after insert or update or delete on ${table} for each statement execute function chaos.raise_error();`).join("\n")}`);
}

export const injectErrors = (sql: postgres.Sql, times: number): Promise<unknown> =>
  retry(() => sql`select setval('chaos.errors_left', ${times + 1})`);

/**
 * Causes a real deadlock: it locks a running prediction's row, lets its user cancel it (which locks the user's rate
 * bucket and waits for the row), and then asks for the bucket. Postgres ends the transaction with the shorter
 * deadlock_timeout, the user's. False when nothing ran.
 */
export async function makeDeadlock({ sql, clients }: World, forMs: number): Promise<boolean> {
  const end = performance.now() + forMs;
  return await sql.begin(async (mine) => {
    await mine`select set_config('deadlock_timeout', '30s', true), set_config('lock_timeout', '5s', true)`;
    const [row] = await mine<{ id: string; project_id: string; owner_id: string }[]>`
      select id, project_id, owner_id from keyframe.predictions
      where status in ('queued', 'starting', 'processing') order by created_at desc limit 1 for update skip locked`;
    const client = row && clients.get(row.owner_id);
    if (!client) return false;
    void client.cancel({ projectId: row.project_id, predictionId: row.id }).catch(() => undefined);
    while (performance.now() < end) {
      const [waiting] = await sql<{ pid: number }[]>`
        select l.pid from pg_locks l where not l.granted and pg_backend_pid() <> l.pid
          and exists (select from pg_locks h where h.pid = l.pid and h.granted and h.relation = 'keyframe_private.rate_buckets'::regclass
            and h.mode = 'RowExclusiveLock') limit 1`;
      if (waiting) {
        // The cancellation holds the rate bucket and waits for the prediction; now this transaction waits for the
        // bucket.
        await mine`update keyframe_private.rate_buckets set tokens = tokens where owner_id = ${row.owner_id}`;
        return true;
      }
      await pause(20);
    }
    return false;
  });
}

/**
 * Takes every connection of Postgres and ends the gateway's, so that it needs new ones. The taken connections are
 * released after `forMs`.
 */
export async function exhaustConnections(world: World, open: (most: number) => postgres.Sql, forMs: number) {
  const end = performance.now() + forMs;
  const [limit] = await world.sql<{ most: number }[]>`select current_setting('max_connections')::int as most`;
  const most = limit?.most ?? 0;
  const taken = open(most);
  // A query that found no connection is sent again soon, and takes one that the gateway has just lost.
  const hold = async () => {
    while (performance.now() < end - 500) {
      const left = (end - performance.now()) / 1000;
      await taken`select pg_sleep(${left})`.catch(() => pause(20));
    }
  };
  const admin = await world.sql.reserve();
  const held = Promise.all(Array.from({ length: most }, hold));
  try {
    while (performance.now() < end) {
      await pause(500);
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keyframe-platform'`;
      await pause(500);
    }
  } finally {
    admin.release();
    await held;
    await taken.end({ timeout: 1 });
  }
}
