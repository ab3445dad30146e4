import type postgres from "postgres";
import { retryUntilDone } from "./world.ts";

/**
 * Moves the database's clock by so many seconds: moves every time in our tables the other way, in one transaction,
 * without triggers. Times in a primary key stay, because they name a row (a counted hour); so does the day on which a
 * submit counts, because sums are kept for it.
 */
export async function shiftTime(sql: postgres.Sql, seconds: number): Promise<void> {
  const tables = await retryUntilDone(
    () => sql<{ name: string; columns: string[] }[]>`
      select format('%I.%I', n.nspname, c.relname) as name, jsonb_agg(format('%I', a.attname)) as columns
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind = 'r' and a.atttypid = 'timestamptz'::regtype and not a.attisdropped
        and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey))
        and (c.relname, a.attname) <> ('provider_submits', 'created_at')
      group by 1 order by 1`,
  );
  await retryUntilDone(() =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('session_replication_role', 'replica', true), set_config('lock_timeout', '3s', true)`;
      await transaction.unsafe(`lock table ${tables.map(({ name }) => name).join(", ")} in share row exclusive mode`);
      for (const { name, columns } of tables) {
        const moved = columns.map((column) => `${column} = ${column} - make_interval(secs => ${seconds})`);
        await transaction.unsafe(`update ${name} set ${moved.join(", ")}`);
      }
    }),
  );
}

/** The tables whose writes fail while errors are left. */
const FAILING_TABLES = [
  "keyframe.projects",
  "keyframe.predictions",
  "keyframe.webhook_events",
  "keyframe.webhook_deliveries",
  "keyframe.webhook_attempts",
  "keyframe_private.provider_submits",
  "keyframe_private.cost_changes",
  "keyframe_private.cost_sums",
  "keyframe_private.file_removals",
  "keyframe_private.work",
];

/**
 * Prepares errors on demand: the next writes to our tables fail, in turn with 40P01 (deadlock) and 40001
 * (serialization failure). A sequence counts what is left, because the error would roll back a row.
 */
export async function prepareErrors(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema chaos;
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
    ${FAILING_TABLES.map((table) => `create trigger _050_chaos after insert or update or delete on ${table} for each statement execute function chaos.raise_error();`).join("\n")}`);
}

export const injectErrors = (sql: postgres.Sql, times: number): Promise<unknown> =>
  retryUntilDone(() => sql`select setval('chaos.errors_left', ${times + 1})`);

/** New prices of images from now on: so many times what the simulator bills. Its bill is known by the source of the row. */
export const changePrices = (sql: postgres.Sql, factor: number): Promise<unknown> =>
  retryUntilDone(
    () => sql`
      insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, source)
      select model, applies_to, metric, price_usd * ${factor}::int, 'chaos ' || ${factor}::int from keyframe_private.model_prices
      where metric = 'image' and source not like 'chaos %' on conflict do nothing`,
  );

/** For all models, and for those of images if there is one for them. */
export const changeMarkups = (sql: postgres.Sql, all: number, images: number | null): Promise<unknown> =>
  retryUntilDone(() =>
    sql.begin(async (transaction) => {
      await transaction`update keyframe_private.settings set markup = ${all}`;
      await transaction`delete from keyframe_private.model_markups where true`;
      await transaction`
        insert into keyframe_private.model_markups
        select distinct model, ${images}::numeric from keyframe_private.model_prices where metric = 'image' and ${images}::numeric is not null`;
    }),
  );

/** Moves all submits a month back. Triggers update the sums. */
export const endMonth = (sql: postgres.Sql): Promise<unknown> =>
  retryUntilDone(
    () => sql`
      update keyframe_private.provider_submits set created_at = created_at - interval '1 month'
      where id in (select id from keyframe_private.provider_submits order by id for update skip locked)`,
  );
