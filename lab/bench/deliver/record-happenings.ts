import type postgres from "postgres";
import type { Job } from "./peers/post-event.ts";

/** What the application itself writes in a peer's transaction. */
export async function recordHappenings(
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
