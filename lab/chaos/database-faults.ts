import type postgres from "postgres";
import { MISCOUNTED_TABLE } from "./counted-hours.ts";
import { insist, pause, type World } from "./world.ts";

/** Where statements of ours fail when strikes are left: in the middle of every transaction of importance. */
const STRUCK = ["projects", "predictions", "webhook_events", "webhook_deliveries", "webhook_attempts"];
const STRUCK_PRIVATE = ["provider_runs", "file_removals"];

/**
 * Prepares the database for errors on demand: so many of the next writes to our tables fail, in turn as a deadlock (40P01)
 * and as a serialization failure (40001), which is what their callers would see of real ones. What is left is counted by a
 * sequence, for a row would be rolled back with the error.
 */
export async function prepareStrikes(sql: postgres.Sql): Promise<void> {
  const tables = [
    ...STRUCK.map((name) => `keyframe.${name}`),
    ...STRUCK_PRIVATE.map((name) => `keyframe_private.${name}`),
  ];
  await sql.unsafe(`
    create schema chaos;
    ${MISCOUNTED_TABLE};
    grant usage on schema chaos to public;
    create sequence chaos.strikes increment -1 minvalue -9000000000000000000 maxvalue 1000000 start 1;
    select nextval('chaos.strikes');
    grant all on sequence chaos.strikes to public;
    create function chaos.strike() returns trigger language plpgsql set search_path = '' as $$
    declare
      left_over bigint;
    begin
      if (select s.last_value from chaos.strikes s) > 1 then
        left_over := nextval('chaos.strikes');
        if left_over > 0 and left_over % 2 = 0 then
          raise exception 'deadlock detected' using errcode = '40P01';
        elsif left_over > 0 then
          raise exception 'could not serialize access due to concurrent update' using errcode = '40001';
        end if;
      end if;
      return null;
    end $$;
    grant execute on function chaos.strike() to public;
    ${tables.map((table) => `create trigger _050_chaos after insert or update or delete on ${table} for each statement execute function chaos.strike();`).join("\n")}`);
}

export const strike = (sql: postgres.Sql, times: number): Promise<unknown> =>
  insist(() => sql`select setval('chaos.strikes', ${times + 1})`);

/**
 * A real deadlock: it holds a running prediction's row, lets its user cancel it (who then has taken a token, and waits for
 * the row), and asks for the row of the token. Postgres gives up who notices first: not this one, it is more patient.
 * False when nothing ran.
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
        // Who cancels holds the token's row and waits for the prediction; now the other way round, too.
        await mine`update keyframe_private.rate_buckets set tokens = tokens where owner_id = ${row.owner_id}`;
        return true;
      }
      await pause(20);
    }
    return false;
  });
}

/**
 * Takes every connection that Postgres has, and cuts those of the gateway, so that it needs new ones. Those who hold the
 * connections give them back by themselves after `forMs`.
 */
export async function exhaustConnections(world: World, open: (most: number) => postgres.Sql, forMs: number) {
  const end = performance.now() + forMs;
  const [limit] = await world.sql<{ most: number }[]>`select current_setting('max_connections')::int as most`;
  const most = limit?.most ?? 0;
  const hoard = open(most);
  const held = new Set<Promise<unknown>>();
  const takeAll = () => {
    while (held.size < most && performance.now() < end - 500) {
      const left = (end - performance.now()) / 1000;
      const one: Promise<unknown> = hoard`select pg_sleep(${left})`.then(
        () => held.delete(one),
        () => held.delete(one),
      );
      held.add(one);
    }
  };
  const admin = await world.sql.reserve();
  try {
    while (performance.now() < end) {
      takeAll();
      await pause(300);
      // Cut, and in the same moment somebody else is at the door.
      const cut = admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keyframe-platform'`;
      takeAll();
      await cut;
      takeAll();
      await pause(700);
    }
  } finally {
    admin.release();
    await Promise.allSettled(held);
    await hoard.end({ timeout: 1 });
  }
}
