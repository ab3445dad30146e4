import type postgres from "postgres";
import type { RateClass } from "./requests.ts";

export async function emptyBucket(sql: postgres.Sql, owner: string, rateClass: RateClass, seconds = 30): Promise<void> {
  await sql`
    insert into keyframe_private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
    select ${owner}, route_class, -per_second * ${seconds}::int, now() from keyframe_private.rate_limits where route_class = ${rateClass}
    on conflict (owner_id, route_class) do update set tokens = excluded.tokens, refilled_at = excluded.refilled_at`;
}

export async function fillBuckets(sql: postgres.Sql, owner: string): Promise<void> {
  await sql`delete from keyframe_private.rate_buckets where owner_id = ${owner}`;
}

export async function tokensTaken(sql: postgres.Sql, owner: string, rateClass: RateClass): Promise<number> {
  const [row] = await sql<{ taken: number }[]>`
    select l.capacity - b.tokens as taken from keyframe_private.rate_buckets b join keyframe_private.rate_limits l using (route_class)
    where b.owner_id = ${owner} and b.route_class = ${rateClass}`;
  return row?.taken ?? 0;
}
