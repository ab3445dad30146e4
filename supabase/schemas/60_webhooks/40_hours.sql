-- Delivery counts per endpoint and hour: reading a day of an endpoint reads 24 rows instead of every delivery.
-- docs/decisions/0014-endpoint-health-is-counted.md weighs the cost.

create type keyframe_private.attempt_outcome as (at timestamptz, status_code integer, error text);

-- The low fillfactor keeps the frequent updates on the same page: no index contains an updated column, so they are HOT.
create table keyframe_private.webhook_hours (
  endpoint_id uuid not null,
  hour timestamptz not null,
  delivered integer not null default 0,
  retrying integer not null default 0,
  exhausted integer not null default 0,
  last_attempt keyframe_private.attempt_outcome,
  last_failure keyframe_private.attempt_outcome,
  primary key (endpoint_id, hour)
) with (fillfactor = 50);
comment on table keyframe_private.webhook_hours is 'The outcomes of an endpoint''s deliveries, each counted in the hour (UTC) of its last attempt. Kept for two days, an endpoint''s last hour for webhook_retention. No foreign key: counting and the deletion of an endpoint would wait for each other.';
comment on column keyframe_private.webhook_hours.endpoint_id is 'Its id in webhook_endpoints.';
comment on column keyframe_private.webhook_hours.hour is 'When the hour began (UTC).';
comment on column keyframe_private.webhook_hours.delivered is 'Answered 2xx.';
comment on column keyframe_private.webhook_hours.retrying is 'Failed, to be retried.';
comment on column keyframe_private.webhook_hours.exhausted is 'Failed at the last attempt of the retry schedule.';
comment on column keyframe_private.webhook_hours.last_attempt is 'The latest attempt of the hour.';
comment on column keyframe_private.webhook_hours.last_failure is 'The latest failed attempt of the hour.';
create index webhook_hours_hour_idx on keyframe_private.webhook_hours (hour);
alter table keyframe_private.webhook_hours enable row level security;

-- Each leaves its previous hour and outcome for the current ones; one that is being sent again has no outcome. Once for each statement: one
-- by one would update the same row thousands of times. Deliveries are locked before hours, and hours in order: no deadlock.
create function keyframe_private.count_deliveries()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.webhook_hours as h (endpoint_id, hour, delivered, retrying, exhausted, last_attempt, last_failure)
  select c.endpoint_id, date_trunc('hour', (c.outcome).at, 'UTC') as hour,
    coalesce(sum(c.change) filter (where c.status = 'delivered'), 0),
    coalesce(sum(c.change) filter (where c.status = 'pending' and (c.outcome).error is not null), 0),
    coalesce(sum(c.change) filter (where c.status = 'exhausted'), 0),
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1))[1],
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1 and (c.outcome).error is not null))[1]
  from (
    select n.endpoint_id, n.status, 1 as change, row(n.last_attempt_at, n.last_status_code, n.last_error)::keyframe_private.attempt_outcome as outcome
    from changed_to n where n.last_attempt_at is not null
    union all
    select o.endpoint_id, o.status, -1, row(o.last_attempt_at, o.last_status_code, o.last_error)::keyframe_private.attempt_outcome
    from changed_from o where o.last_attempt_at is not null
  ) c
  group by 1, 2
  order by 1, 2
  on conflict (endpoint_id, hour) do update
    set delivered = h.delivered + excluded.delivered, retrying = h.retrying + excluded.retrying, exhausted = h.exhausted + excluded.exhausted,
        last_attempt = greatest(h.last_attempt, excluded.last_attempt), last_failure = greatest(h.last_failure, excluded.last_failure);
  return null;
end $$;

-- Counts each delivery once, in the hour (UTC) of its last attempt; one that is being sent again is in none. Hours without an attempt are
-- omitted. `last` is null before the first attempt. Definer, because users may not read the counts; the query names the owner.
create function keyframe.webhook_health(endpoint_id uuid default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
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
end $$;
comment on function keyframe.webhook_health is 'The outcomes of the caller''s deliveries in the last 24 hours: { since, endpoints: [{ endpoint_id, last: { at, status_code, error }, hours: [{ hour, delivered, retrying, exhausted }] }], rate }. One endpoint, or all of them.';
