import type postgres from "postgres";

/** Lets a stack ask the provider and try again within a second, so that tests of faults need not wait for the real intervals. */
export async function setQuickIntervals(sql: postgres.Sql): Promise<void> {
  await sql`
    update keyframe_private.settings
    set poll_interval = '500 milliseconds', retry_base = '100 milliseconds', retry_max = '500 milliseconds'
    where only_row`;
}
