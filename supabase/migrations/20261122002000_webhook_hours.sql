-- Delivery counts per endpoint and hour, updated as results are recorded: reading a day of an endpoint reads some dozens of rows
-- instead of every delivery. docs/decisions/0015-endpoint-health-is-counted.md weighs the cost.

-- The low fillfactor keeps the frequent updates on the same page: no index contains an updated column, so they are HOT.
create table keyframe_private.webhook_hours (
  endpoint_id uuid not null,
  hour timestamptz not null,
  slot smallint not null,
  delivered integer not null default 0,
  retrying integer not null default 0,
  exhausted integer not null default 0,
  last_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  failed_at timestamptz,
  failed_status_code integer,
  failed_error text,
  primary key (endpoint_id, hour, slot)
) with (fillfactor = 50);
comment on table keyframe_private.webhook_hours is 'The outcomes of an endpoint''s deliveries, each counted in the hour (UTC) of its last attempt. An hour is the sum of its slots. Kept for two days, an endpoint''s last hour for webhook_retention. No foreign key: counting and the deletion of an endpoint would wait for each other.';
comment on column keyframe_private.webhook_hours.slot is 'Simultaneous transactions count in different slots, so that none waits for another. A count in one slot may be negative; the sum is not.';
comment on column keyframe_private.webhook_hours.delivered is 'Answered 2xx.';
comment on column keyframe_private.webhook_hours.retrying is 'Failed, to be retried.';
comment on column keyframe_private.webhook_hours.exhausted is 'Failed at the last attempt of the retry schedule.';
comment on column keyframe_private.webhook_hours.last_attempt_at is 'The latest attempt of the hour; last_status_code and last_error are its result.';
comment on column keyframe_private.webhook_hours.failed_at is 'The latest failed attempt of the hour; failed_status_code and failed_error are its result.';
create index webhook_hours_hour_idx on keyframe_private.webhook_hours (hour);
alter table keyframe_private.webhook_hours enable row level security;

create type keyframe_private.delivery_change as (
  endpoint_id uuid,
  was_at timestamptz,
  was_outcome text,
  at timestamptz,
  outcome text,
  status_code integer,
  error text
);
comment on type keyframe_private.delivery_change is 'The hour and outcome of a delivery before and after a change, with the result of its last attempt.';

-- The outcome that counts a delivery: delivered, retrying or exhausted; null for a delivered one that is being sent again.
create function keyframe_private.delivery_outcome(status keyframe.delivery_status, last_error text)
returns text
language sql
immutable
set search_path = ''
as $$
  select case status when 'pending' then case when last_error is not null then 'retrying' end else status::text end
$$;

-- The first of eight slots that no other transaction uses, so a single worker fills one slot. The last slot is shared:
-- transactions wait for it.
create function keyframe_private.free_counter_slot()
returns smallint
language plpgsql
volatile
set search_path = ''
as $$
begin
  for slot in 0 .. 6 loop
    if pg_try_advisory_xact_lock(hashtextextended('keyframe webhook hours', slot)) then
      return slot;
    end if;
  end loop;
  perform pg_advisory_xact_lock(hashtextextended('keyframe webhook hours', 7));
  return 7;
end
$$;

-- Moves deliveries from their previous hour and outcome to the current ones. Call it last in a transaction: the holder of a slot
-- must not wait for rows that others, who wait for the slot, may hold.
create function keyframe_private.count_deliveries(changes keyframe_private.delivery_change[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into keyframe_private.webhook_hours as h (
    endpoint_id, hour, slot, delivered, retrying, exhausted,
    last_attempt_at, last_status_code, last_error, failed_at, failed_status_code, failed_error)
  select c.endpoint_id, c.hour, s.slot,
    coalesce(sum(c.change) filter (where c.outcome = 'delivered'), 0),
    coalesce(sum(c.change) filter (where c.outcome = 'retrying'), 0),
    coalesce(sum(c.change) filter (where c.outcome = 'exhausted'), 0),
    max(c.at), (array_agg(c.status_code order by c.at desc nulls last))[1], (array_agg(c.error order by c.at desc nulls last))[1],
    max(c.at) filter (where c.error is not null),
    (array_agg(c.status_code order by c.at desc) filter (where c.error is not null))[1],
    (array_agg(c.error order by c.at desc) filter (where c.error is not null))[1]
  from (
    select i.endpoint_id, date_trunc('hour', i.at, 'UTC') as hour, i.outcome, 1 as change, i.at, i.status_code, i.error
    from unnest(changes) i where i.at is not null
    union all
    select o.endpoint_id, date_trunc('hour', o.was_at, 'UTC'), o.was_outcome, -1, null, null, null
    from unnest(changes) o where o.was_at is not null and o.was_outcome is not null
  ) c
  cross join (select keyframe_private.free_counter_slot() as slot) s
  group by c.endpoint_id, c.hour, s.slot
  order by c.endpoint_id, c.hour
  on conflict (endpoint_id, hour, slot) do update
    set delivered = h.delivered + excluded.delivered, retrying = h.retrying + excluded.retrying, exhausted = h.exhausted + excluded.exhausted,
        (last_attempt_at, last_status_code, last_error) = (
          select l.* from (values
            (excluded.last_attempt_at, excluded.last_status_code, excluded.last_error), (h.last_attempt_at, h.last_status_code, h.last_error)
          ) l (at, status_code, error) order by l.at desc nulls last limit 1),
        (failed_at, failed_status_code, failed_error) = (
          select f.* from (values
            (excluded.failed_at, excluded.failed_status_code, excluded.failed_error), (h.failed_at, h.failed_status_code, h.failed_error)
          ) f (at, status_code, error) order by f.at desc nulls last limit 1);
end
$$;

-- Counts any other change of a delivery: it is sent again, or an administrator changes it. Recording (which increases attempts)
-- and recovery (which sets keyframe.deliveries_counted) count in batches instead, because counting one by one would update the
-- same few rows thousands of times.
create function keyframe_private.count_delivery()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  change keyframe_private.delivery_change;
begin
  change.endpoint_id := new.endpoint_id;
  if tg_op = 'UPDATE' then
    change.was_at := old.last_attempt_at;
    change.was_outcome := keyframe_private.delivery_outcome(old.status, old.last_error);
  end if;
  change.at := new.last_attempt_at;
  change.outcome := keyframe_private.delivery_outcome(new.status, new.last_error);
  change.status_code := new.last_status_code;
  change.error := new.last_error;
  perform keyframe_private.count_deliveries(array[change]);
  return null;
end
$$;
create trigger _500_count_changed after update of status, last_attempt_at, last_error on keyframe.webhook_deliveries
  for each row when (
    old.attempts = new.attempts
    and (old.status, old.last_attempt_at, old.last_error) is distinct from (new.status, new.last_attempt_at, new.last_error)
    and current_setting('keyframe.deliveries_counted', true) is distinct from 'by the caller')
  execute function keyframe_private.count_delivery();
create trigger _500_count_inserted after insert on keyframe.webhook_deliveries
  for each row when (new.last_attempt_at is not null) execute function keyframe_private.count_delivery();

