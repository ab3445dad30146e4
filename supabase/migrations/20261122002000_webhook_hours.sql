-- Delivery counts per endpoint and hour: reading a day of an endpoint reads 24 rows instead of every delivery.
-- docs/decisions/0015-endpoint-health-is-counted.md weighs the cost.

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

-- Counts the deliveries that a statement has changed: each leaves its previous hour and outcome for the current ones. A delivered one
-- that is being sent again has no outcome. Once for each statement, because counting one by one would update the same row thousands
-- of times. Deliveries are locked before hours, and hours in order, so transactions wait for each other but do not deadlock.
create function keyframe_private.count_deliveries()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
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
end
$$;
create trigger _500_count_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_deliveries();
comment on trigger _500_count_changed on keyframe.webhook_deliveries is 'Counts the outcomes in webhook_hours.';
