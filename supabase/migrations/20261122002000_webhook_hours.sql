-- Delivery counts per endpoint and hour: reading a day of an endpoint reads 24 rows instead of every delivery.
-- docs/decisions/0015-endpoint-health-is-counted.md weighs the cost.

-- The low fillfactor keeps the frequent updates on the same page: no index contains an updated column, so they are HOT.
create table keyframe_private.webhook_hours (
  endpoint_id uuid not null,
  hour timestamptz not null,
  delivered integer not null default 0,
  retrying integer not null default 0,
  exhausted integer not null default 0,
  last_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  failed_at timestamptz,
  failed_status_code integer,
  failed_error text,
  primary key (endpoint_id, hour)
) with (fillfactor = 50);
comment on table keyframe_private.webhook_hours is 'The outcomes of an endpoint''s deliveries, each counted in the hour (UTC) of its last attempt. Kept for two days, an endpoint''s last hour for webhook_retention. No foreign key: counting and the deletion of an endpoint would wait for each other.';
comment on column keyframe_private.webhook_hours.delivered is 'Answered 2xx.';
comment on column keyframe_private.webhook_hours.retrying is 'Failed, to be retried.';
comment on column keyframe_private.webhook_hours.exhausted is 'Failed at the last attempt of the retry schedule.';
comment on column keyframe_private.webhook_hours.last_attempt_at is 'The latest attempt of the hour; last_status_code and last_error are its result.';
comment on column keyframe_private.webhook_hours.failed_at is 'The latest failed attempt of the hour; failed_status_code and failed_error are its result.';
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
  insert into keyframe_private.webhook_hours as h (
    endpoint_id, hour, delivered, retrying, exhausted,
    last_attempt_at, last_status_code, last_error, failed_at, failed_status_code, failed_error)
  select c.endpoint_id, date_trunc('hour', c.at, 'UTC') as hour,
    coalesce(sum(c.change) filter (where c.status = 'delivered'), 0),
    coalesce(sum(c.change) filter (where c.status = 'pending' and c.error is not null), 0),
    coalesce(sum(c.change) filter (where c.status = 'exhausted'), 0),
    max(c.at) filter (where c.change = 1),
    (array_agg(c.status_code order by c.at desc) filter (where c.change = 1))[1],
    (array_agg(c.error order by c.at desc) filter (where c.change = 1))[1],
    max(c.at) filter (where c.change = 1 and c.error is not null),
    (array_agg(c.status_code order by c.at desc) filter (where c.change = 1 and c.error is not null))[1],
    (array_agg(c.error order by c.at desc) filter (where c.change = 1 and c.error is not null))[1]
  from (
    select n.endpoint_id, n.last_attempt_at as at, n.status, n.last_status_code as status_code, n.last_error as error, 1 as change
    from changed_to n where n.last_attempt_at is not null
    union all
    select o.endpoint_id, o.last_attempt_at, o.status, o.last_status_code, o.last_error, -1
    from changed_from o where o.last_attempt_at is not null
  ) c
  group by 1, 2
  order by 1, 2
  on conflict (endpoint_id, hour) do update
    set delivered = h.delivered + excluded.delivered, retrying = h.retrying + excluded.retrying, exhausted = h.exhausted + excluded.exhausted,
        (last_attempt_at, last_status_code, last_error) = (
          select l.* from (values
            (excluded.last_attempt_at, excluded.last_status_code, excluded.last_error), (h.last_attempt_at, h.last_status_code, h.last_error)
          ) l (at, status_code, error) order by l.at desc nulls last limit 1),
        (failed_at, failed_status_code, failed_error) = (
          select f.* from (values
            (excluded.failed_at, excluded.failed_status_code, excluded.failed_error), (h.failed_at, h.failed_status_code, h.failed_error)
          ) f (at, status_code, error) order by f.at desc nulls last limit 1);
  return null;
end
$$;
create trigger _500_count_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_deliveries();
