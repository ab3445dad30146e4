-- The health of the caller's endpoints in the last 24 hours, by hour. For the dashboard, through the Data API.

-- Counts each delivery once, in the hour (UTC) of its last attempt: delivered, retrying (failed, to be retried) or exhausted. The
-- window begins with the hour that began 23 hours ago; hours without an attempt are omitted. A delivered one that is being sent
-- again is in none of the three. `last` is the latest attempt, null before the first. Definer, because users may not read the
-- counts; the query names the owner.
create function keyframe.webhook_health(endpoint_id uuid default null)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  since timestamptz := date_trunc('hour', now(), 'UTC') - interval '23 hours';
  endpoints jsonb;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(jsonb_build_object('endpoint_id', e.id, 'last', l.last, 'hours', h.hours) order by e.created_at desc, e.id), '[]')
  into endpoints
  from keyframe.webhook_endpoints e
  left join lateral (
    select to_jsonb(w.last_attempt) as last
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and (w.last_attempt).at is not null
    order by w.hour desc limit 1
  ) l on true
  cross join lateral (
    select coalesce(jsonb_agg(jsonb_build_object(
      'hour', w.hour, 'delivered', w.delivered, 'retrying', w.retrying, 'exhausted', w.exhausted) order by w.hour), '[]') as hours
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and w.hour >= since
  ) h
  where e.owner_id = auth.uid() and (webhook_health.endpoint_id is null or e.id = webhook_health.endpoint_id);
  return jsonb_build_object('since', since, 'endpoints', endpoints, 'rate', rate);
end
$$;
comment on function keyframe.webhook_health is 'The outcomes of the caller''s deliveries in the last 24 hours: { since, endpoints: [{ endpoint_id, last: { at, status_code, error }, hours: [{ hour, delivered, retrying, exhausted }] }], rate }. One endpoint, or all of them.';

grant execute on function keyframe.webhook_health(uuid) to authenticated;
