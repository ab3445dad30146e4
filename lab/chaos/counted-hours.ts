import type postgres from "postgres";

/**
 * What the hours should say: of each endpoint, by the hour of each delivery's last attempt. One being sent again
 * counts as nothing.
 */
const THERE = `
  select d.endpoint_id, date_trunc('hour', a.started_at, 'UTC') as hour,
    count(*) filter (where d.status = 'delivered') as delivered,
    count(*) filter (where d.status = 'pending' and a.error is not null) as retrying,
    count(*) filter (where d.status = 'exhausted') as exhausted,
    max(a.started_at) as last_attempt_at, max(a.started_at) filter (where a.error is not null) as failed_at
  from keyframe.webhook_deliveries d
  join keyframe.webhook_endpoints e on e.id = d.endpoint_id
  cross join lateral (
    select t.started_at, t.error from keyframe.webhook_attempts t where t.delivery_id = d.id order by t.attempt desc limit 1
  ) a
  group by d.endpoint_id, 2`;

/**
 * The hours (keyframe_private.webhook_hours) that say something else than deliveries and attempts do, one row for each. Of endpoints that
 * are gone the hours stay for a while, and have nothing left to be compared with.
 */
export const MISCOUNTED = `
  select format('endpoint %s, hour of %s: counted %s delivered, %s to be retried, %s given up; there are %s, %s, %s', endpoint_id, hour,
    coalesce(c.delivered, 0), coalesce(c.retrying, 0), coalesce(c.exhausted, 0),
    coalesce(t.delivered, 0), coalesce(t.retrying, 0), coalesce(t.exhausted, 0)) as broken
  from (
    select h.endpoint_id, h.hour, sum(h.delivered) as delivered, sum(h.retrying) as retrying, sum(h.exhausted) as exhausted
    from keyframe_private.webhook_hours h join keyframe.webhook_endpoints e on e.id = h.endpoint_id group by h.endpoint_id, h.hour
  ) c
  full join (${THERE}) t using (endpoint_id, hour)
  where (coalesce(c.delivered, 0), coalesce(c.retrying, 0), coalesce(c.exhausted, 0))
    <> (coalesce(t.delivered, 0), coalesce(t.retrying, 0), coalesce(t.exhausted, 0))`;

/** Where what was found wrong before times were moved is kept for the end. */
export const MISCOUNTED_TABLE = "create table if not exists chaos.miscounted (broken text)";

/** Notes what was counted wrongly up to here. To be called when nobody else writes deliveries. */
export async function noteMiscounted(sql: postgres.TransactionSql): Promise<void> {
  await sql.unsafe(`insert into chaos.miscounted ${MISCOUNTED}`);
}

/** Counts anew. Moved times are in other hours than those they were counted in. */
export async function recount(sql: postgres.TransactionSql): Promise<void> {
  await sql`delete from keyframe_private.webhook_hours`;
  await sql.unsafe(`
    insert into keyframe_private.webhook_hours (endpoint_id, hour, slot, delivered, retrying, exhausted, last_attempt_at, failed_at)
    select endpoint_id, hour, 0, delivered, retrying, exhausted, last_attempt_at, failed_at from (${THERE}) t`);
}
