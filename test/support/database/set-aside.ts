import type postgres from "postgres";
import type { Row } from "./predictions.ts";

/** Writes of rows that match raise, or do what `does` says, while the work is done: an app's trigger. */
export async function withFailing<T>(
  sql: postgres.Sql,
  table: string,
  condition: string,
  work: () => Promise<T>,
  does = "raise 'It cannot be written.'",
): Promise<T> {
  await sql.unsafe(`
    create or replace function public.fail_write() returns trigger language plpgsql as $$ begin ${does}; return new; end $$;
    create trigger _050_fail before insert or update on ${table} for each row when (${condition}) execute function public.fail_write()`);
  try {
    return await work();
  } finally {
    await sql.unsafe(`drop trigger _050_fail on ${table}`);
  }
}

/** The rows that are set aside. */
export const readAsides = (sql: postgres.Sql) => sql<Row[]>`
  select kind, subject, code, reason, failures from keyframe_private.set_aside order by kind, subject`;

/** What is set aside may be tried again now. */
export const letTimePass = (sql: postgres.Sql) =>
  sql`update keyframe_private.set_aside set next_try_at = now() - interval '1 second'`;
