-- Recording the results of requests in batches, and scheduling retries.

alter table keyframe_private.settings
  add column webhook_retry_schedule interval[] not null
    default '{5 seconds,5 minutes,30 minutes,2 hours,5 hours,10 hours,14 hours,20 hours,24 hours}',
  add column webhook_disable_after interval not null default interval '5 days',
  add column webhook_retention interval not null default interval '30 days',
  -- Read by index from 1: a two-dimensional array has no element there, and the first failure would exhaust the delivery.
  add constraint webhook_retry_schedule_is_a_list_of_intervals check (
    case when coalesce(array_ndims(webhook_retry_schedule), 1) > 1 or array_lower(webhook_retry_schedule, 1) <> 1 then false
      else interval '0' < all (webhook_retry_schedule) and array_position(webhook_retry_schedule, null) is null end);
comment on column keyframe_private.settings.webhook_retry_schedule is 'The delay after each failed attempt until the next one (with 20 % jitter); after the last one a delivery is exhausted.';
comment on column keyframe_private.settings.webhook_disable_after is 'How long an endpoint may do nothing but fail before it is disabled.';
comment on column keyframe_private.settings.webhook_retention is 'How long events, deliveries and attempts are kept.';

-- When a failed delivery is retried; null when its attempts are used up. Retry-After of a 429 or 503 is respected up to a day.
create function keyframe_private.next_delivery_attempt(attempts integer, status_code integer, retry_after_seconds double precision, at timestamptz)
returns timestamptz
language sql
volatile
set search_path = ''
as $$
  select at + greatest(
    s.webhook_retry_schedule[attempts] * (0.8 + random() * 0.4),
    case when status_code in (429, 503) then make_interval(secs => least(coalesce(retry_after_seconds, 0), 86400)) end)
  from keyframe_private.settings s
  where attempts <= cardinality(s.webhook_retry_schedule)
$$;

-- Whether an endpoint has done nothing but fail for webhook_disable_after.
create function keyframe_private.failed_too_long(failing_since timestamptz, at timestamptz)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce(at - failing_since >= (select s.webhook_disable_after from keyframe_private.settings s), false)
$$;

-- Locks the endpoints of a batch, before the deliveries and in id order: two batches in different orders would deadlock.
create function keyframe_private.lock_endpoints(results jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from keyframe.webhook_endpoints e
  where e.id in (
    select d.endpoint_id from jsonb_to_recordset(results) as r (id uuid) join keyframe.webhook_deliveries d on d.id = r.id)
  order by e.id
  for no key update;
end
$$;

-- Records a batch of results, each {id, attempt, lane_token, started_at, duration_ms, status_code, error, response_excerpt,
-- retry_after_seconds}. Results without the token of the endpoint's lane are dropped, and attempts that are recorded already. A token
-- is valid until another worker takes the lane over. Returns how many counted. The planner settings force the primary key: a session
-- keeps its plan, and one made while the table was small would read all of it.
create function keyframe_private.record_attempts(results jsonb, at timestamptz)
returns integer
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  counted integer;
begin
  perform keyframe_private.lock_endpoints(results);
  with held as (
    select d.id, d.endpoint_id, d.owner_id, r.attempt, d.attempts + 1 - d.retries_from as tries,
      d.status as was_status,
      r.started_at, r.duration_ms, r.status_code, r.response_excerpt, r.retry_after_seconds, v.delivered,
      case when not v.delivered then coalesce(r.error, 'http_status') end as error
    from jsonb_to_recordset(results) as r (id uuid, attempt integer, lane_token uuid, started_at timestamptz, duration_ms integer,
      status_code integer, error text, response_excerpt text, retry_after_seconds double precision)
    cross join lateral (select coalesce(r.status_code between 200 and 299, false) as delivered) v
    join keyframe.webhook_deliveries d on d.id = r.id and d.attempts = r.attempt - 1
    join keyframe_private.lanes l on l.endpoint_id = d.endpoint_id and l.token = r.lane_token
    order by d.id
    for update of d
  ), judged as materialized (
    select h.*, case when not h.delivered then keyframe_private.next_delivery_attempt(h.tries, h.status_code, h.retry_after_seconds, at) end as next_at
    from held h
    where h.was_status = 'pending' -- an administrator may have ended it meanwhile
  ), recorded as (
    update keyframe.webhook_deliveries d
    set attempts = j.attempt, last_attempt_at = j.started_at, last_status_code = j.status_code, last_error = j.error,
        status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'pending' end::keyframe.delivery_status,
        next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
        completed_at = case when j.delivered or j.next_at is null then at end
    from judged j where d.id = j.id
  ), logged as (
    insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
    select j.id, j.owner_id, j.attempt, j.started_at, j.duration_ms, j.status_code, j.error, j.response_excerpt from judged j
    -- Conflicts only where an administrator lowered attempts by hand; that must not keep the rest of the batch from being recorded.
    on conflict (delivery_id, attempt) do nothing
  ), by_endpoint as (
    select e.id, bool_or(j.delivered) as some_delivered, case
        when bool_or(j.status_code = 410) then 'gone'
        when not bool_or(j.delivered) and keyframe_private.failed_too_long(e.failing_since, at) then 'failing' end as disabled_reason
    from judged j join keyframe.webhook_endpoints e on e.id = j.endpoint_id
    group by e.id
  ), switched as (
    update keyframe.webhook_endpoints e
    set failing_since = case when not b.some_delivered then coalesce(e.failing_since, at) end,
        enabled = e.enabled and b.disabled_reason is null,
        disabled_reason = case when e.enabled then b.disabled_reason else e.disabled_reason end,
        disabled_at = case when not e.enabled then e.disabled_at when b.disabled_reason is not null then at end
    from by_endpoint b
    where e.id = b.id and (b.disabled_reason is not null or b.some_delivered = (e.failing_since is not null))
  )
  select count(*) into counted from judged j;
  return counted;
end
$$;
