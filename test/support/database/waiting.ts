import type postgres from "postgres";
import { until } from "../until.ts";

/** Settles when some session of this database waits for a lock that another holds. */
export async function untilSomebodyWaits(sql: postgres.Sql): Promise<void> {
  await until("somebody to wait for a lock", async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
}
