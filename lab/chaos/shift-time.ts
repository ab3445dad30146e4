import type postgres from "postgres";
import { noteMiscounted, recount } from "./counted-hours.ts";
import { insist } from "./world.ts";

/**
 * Moves the clock of the database by so many seconds. The clock itself cannot be moved, but that is the same as moving every
 * time that stands in our tables the other way, in one transaction, with nobody between. Triggers do not see it. A time in a
 * primary key stays: it names a row (an hour that is counted in), and says nothing of when something happened; what is counted
 * by the hour is compared with the deliveries before, and counted anew afterwards.
 */
export async function shiftTime(sql: postgres.Sql, seconds: number): Promise<void> {
  const columns = await insist(
    () => sql<{ name: string; columns: string[] }[]>`
      select format('%I.%I', n.nspname, c.relname) as name, jsonb_agg(format('%I', a.attname)) as columns
      from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind = 'r' and a.atttypid = 'timestamptz'::regtype and not a.attisdropped
        and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey))
      group by 1 order by 1`,
  );
  await insist(() =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('session_replication_role', 'replica', true), set_config('lock_timeout', '3s', true)`;
      await transaction.unsafe(`lock table ${columns.map(({ name }) => name).join(", ")} in share row exclusive mode`);
      await noteMiscounted(transaction);
      for (const table of columns) {
        const moved = table.columns.map((column) => `${column} = ${column} - make_interval(secs => ${seconds})`);
        await transaction.unsafe(`update ${table.name} set ${moved.join(", ")}`);
      }
      await recount(transaction);
    }),
  );
}
