import type postgres from "postgres";

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
