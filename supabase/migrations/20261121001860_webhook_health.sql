-- How the caller's endpoints fare, at a glance: what came of the last 24 hours, by hour. For the dashboard, through the Data API.

-- All that the glance needs, so that it reads no row of the table, however many there are. A delivery enters it with its first attempt.
create index webhook_deliveries_last_attempt_at_idx on public.webhook_deliveries (endpoint_id, last_attempt_at desc)
  include (owner_id, status, last_error, last_status_code) where last_attempt_at is not null;

-- Counts each delivery once, in the hour (UTC) of its last attempt: delivered; retrying (failed, and tried again); exhausted. The
-- window begins with the hour that began 23 hours ago; hours without an attempt are left out. One that was delivered and is being
-- sent once more is in none of the three. `last` is the latest attempt of all, null before the first.
create function public.webhook_health(endpoint_id uuid default null)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  rate jsonb := private.take_token('read');
  since timestamptz := date_trunc('hour', now(), 'UTC') - interval '23 hours';
  endpoints jsonb;
begin
  select coalesce(jsonb_agg(jsonb_build_object('endpoint_id', e.id, 'last', l.last, 'hours', h.hours) order by e.created_at desc, e.id), '[]')
  into endpoints
  from public.webhook_endpoints e
  left join lateral (
    select jsonb_build_object('at', d.last_attempt_at, 'status_code', d.last_status_code, 'error', d.last_error) as last
    from public.webhook_deliveries d
    where d.endpoint_id = e.id and d.last_attempt_at is not null
    order by d.last_attempt_at desc limit 1
  ) l on true
  cross join lateral (
    select coalesce(jsonb_agg(to_jsonb(c) order by c.hour), '[]') as hours
    from (
      select date_trunc('hour', d.last_attempt_at, 'UTC') as hour,
        count(*) filter (where d.status = 'delivered') as delivered,
        count(*) filter (where d.status = 'pending' and d.last_error is not null) as retrying,
        count(*) filter (where d.status = 'exhausted') as exhausted
      from public.webhook_deliveries d
      where d.endpoint_id = e.id and d.last_attempt_at >= since
      group by 1
    ) c
  ) h
  where webhook_health.endpoint_id is null or e.id = webhook_health.endpoint_id;
  return jsonb_build_object('since', since, 'endpoints', endpoints, 'rate', rate);
end
$$;
comment on function public.webhook_health is 'What came of the caller''s deliveries in the last 24 hours: { since, endpoints: [{ endpoint_id, last: { at, status_code, error }, hours: [{ hour, delivered, retrying, exhausted }] }], rate }. One endpoint, or all of them.';

revoke execute on function public.webhook_health(uuid) from public, anon, service_role;
grant execute on function public.webhook_health(uuid) to authenticated;
