import type postgres from "postgres";

/** Settles when some session of this database waits for a lock that another holds. Throws after ten seconds. */
export async function untilSomebodyWaits(sql: postgres.Sql): Promise<void> {
  for (const end = Date.now() + 10_000; Date.now() < end; ) {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
  }
  throw new Error("Nobody came to wait.");
}
