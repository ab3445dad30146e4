-- Sending: what is due is handed out fairly, what came of it is recorded in batches. Time is an argument, so years fit in a test.

alter table private.settings
  add column webhook_retry_schedule interval[] not null
    default '{5 seconds,5 minutes,30 minutes,2 hours,5 hours,10 hours,14 hours,20 hours,24 hours}',
  add column webhook_disable_after interval not null default interval '5 days',
  add column webhook_retention interval not null default interval '30 days';
comment on column private.settings.webhook_retry_schedule is 'How long after each failed attempt the next one comes (with 20 % jitter); after the last one a delivery is exhausted.';
comment on column private.settings.webhook_disable_after is 'How long an endpoint may do nothing but fail before it is disabled.';
comment on column private.settings.webhook_retention is 'How long events, deliveries and attempts are kept.';

-- Enabled endpoints that have something due, in the order of their ids from start on, round to it again. Walks the index from
-- endpoint to endpoint, so it costs a probe for each endpoint and not a row for each delivery.
create function private.endpoints_with_due(start uuid, most integer, at timestamptz)
returns setof uuid
language plpgsql
stable
set search_path = ''
as $$
declare
  here uuid := start;
  wrapped boolean := false;
  found_endpoints integer := 0;
  due_endpoint uuid;
begin
  while found_endpoints < most loop
    select d.endpoint_id into due_endpoint from public.webhook_deliveries d
    where d.status = 'pending' and d.endpoint_id > here
    order by d.endpoint_id limit 1;
    if due_endpoint is null or (wrapped and due_endpoint > start) then
      exit when wrapped;
      wrapped := true;
      here := '00000000-0000-0000-0000-000000000000';
      continue;
    end if;
    here := due_endpoint;
    if exists (select from public.webhook_deliveries d where d.status = 'pending' and d.endpoint_id = here and d.next_attempt_at <= at)
       and exists (select from public.webhook_endpoints e where e.id = here and e.enabled) then
      found_endpoints := found_endpoints + 1;
      return next here;
    end if;
  end loop;
end
$$;

-- Leases due deliveries: at most max_in_flight of an endpoint at once, so one that hangs or floods delays only itself.
create function private.claim_deliveries(max_rows integer, lease_seconds integer, at timestamptz)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints;
  endpoint_id uuid;
  places integer;
  batch jsonb;
  claimed jsonb := '[]';
  endpoints jsonb := '{}';
begin
  for endpoint_id in select private.endpoints_with_due(gen_random_uuid(), max_rows, at) loop
    exit when jsonb_array_length(claimed) >= max_rows;
    -- Another claim is at this endpoint: it counts the places, so leave it to that one.
    continue when not pg_try_advisory_xact_lock(hashtextextended('keyframe deliveries of ' || endpoint_id::text, 0));
    select e.* into endpoint from public.webhook_endpoints e where e.id = endpoint_id;
    select endpoint.max_in_flight - count(*) into places
    from public.webhook_deliveries d where d.endpoint_id = endpoint.id and d.lease_token is not null and d.next_attempt_at > at;
    continue when places <= 0;
    with due as (
      select d.id from public.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id = endpoint.id and d.next_attempt_at <= at
      order by d.next_attempt_at
      limit least(places, max_rows - jsonb_array_length(claimed))
      for update skip locked
    ), leased as (
      update public.webhook_deliveries d
      set lease_token = gen_random_uuid(), next_attempt_at = at + make_interval(secs => lease_seconds)
      from due where d.id = due.id
      returning d.id, d.lease_token, d.attempts, d.event_id
    )
    select jsonb_agg(jsonb_build_object(
      'id', l.id, 'lease_token', l.lease_token, 'attempt', l.attempts + 1, 'endpoint_id', endpoint.id,
      'event_id', v.id, 'body', v.payload::text))
    into batch
    from leased l join public.webhook_events v on v.id = l.event_id;
    if batch is not null then
      claimed := claimed || batch;
      endpoints := endpoints || jsonb_build_object(endpoint.id, jsonb_build_object(
        'url', endpoint.url, 'secrets', private.webhook_secrets_of(endpoint.id, at)));
    end if;
  end loop;
  return jsonb_build_object('deliveries', claimed, 'endpoints', endpoints);
end
$$;

-- When a failed delivery is tried again, or null when its attempts are used up.
-- What a receiver asks for by Retry-After (429, 503) is waited out, up to a day.
create function private.next_delivery_attempt(attempts integer, status_code integer, retry_after_seconds double precision, at timestamptz)
returns timestamptz
language sql
volatile
set search_path = ''
as $$
  select at + greatest(
    s.webhook_retry_schedule[attempts] * (0.8 + random() * 0.4),
    case when status_code in (429, 503) then make_interval(secs => least(coalesce(retry_after_seconds, 0), 86400)) end)
  from private.settings s
  where attempts <= cardinality(s.webhook_retry_schedule)
$$;

-- Records what came of a batch of requests, each {id, lease_token, started_at, duration_ms, status_code, error,
-- response_excerpt, retry_after_seconds}. Only the holder of a lease is believed; the rest is dropped. Returns how many counted.
-- A session keeps its plan: made while the table was small, it would read all of it for good. Hence by the primary key, always.
create function private.record_attempts(results jsonb, at timestamptz)
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
  -- Endpoints that this may switch, before the deliveries: deleting an endpoint locks them in this order, and two that
  -- wait for each other end in an error for one of them.
  perform from public.webhook_endpoints e
  join (
    select d.endpoint_id, bool_and(coalesce(r.status_code between 200 and 299, false)) as all_delivered
    from jsonb_to_recordset(results) as r (id uuid, lease_token uuid, status_code integer)
    join public.webhook_deliveries d on d.id = r.id and d.lease_token = r.lease_token
    group by d.endpoint_id
  ) b on b.endpoint_id = e.id
  where not b.all_delivered or e.failing_since is not null
  order by e.id
  for no key update of e;

  with held as (
    select d.id, d.endpoint_id, d.owner_id, d.attempts + 1 as attempt, d.attempts + 1 - d.retries_from as tries,
      r.started_at, r.duration_ms, r.status_code, r.error, r.response_excerpt, r.retry_after_seconds,
      coalesce(r.status_code between 200 and 299, false) as delivered
    from jsonb_to_recordset(results) as r (
      id uuid, lease_token uuid, started_at timestamptz, duration_ms integer, status_code integer, error text,
      response_excerpt text, retry_after_seconds double precision)
    join public.webhook_deliveries d on d.id = r.id and d.lease_token = r.lease_token
    order by d.id
    for update of d
  ), judged as materialized (
    select h.*, case when not h.delivered then private.next_delivery_attempt(h.tries, h.status_code, h.retry_after_seconds, at) end as next_at
    from held h
  ), recorded as (
    update public.webhook_deliveries d
    set attempts = j.attempt, lease_token = null, last_attempt_at = j.started_at, last_status_code = j.status_code,
        last_error = case when not j.delivered then coalesce(j.error, 'http_status') end,
        status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'pending' end::public.delivery_status,
        next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
        completed_at = case when j.delivered or j.next_at is null then at end
    from judged j where d.id = j.id
  ), logged as (
    insert into public.webhook_attempts
      (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
    select j.id, j.owner_id, j.attempt, j.started_at, j.duration_ms, j.status_code,
      case when not j.delivered then coalesce(j.error, 'http_status') end, j.response_excerpt
    from judged j
  ), by_endpoint as (
    select j.endpoint_id, bool_or(j.delivered) as some_delivered, coalesce(bool_or(j.status_code = 410), false) as gone
    from judged j group by j.endpoint_id
  ), switched as (
    update public.webhook_endpoints e
    set failing_since = case when b.some_delivered then null else coalesce(e.failing_since, at) end,
        enabled = e.enabled and not b.gone and (b.some_delivered or not private.failed_too_long(e.failing_since, at)),
        disabled_reason = case
          when not e.enabled then e.disabled_reason
          when b.gone then 'gone'
          when not b.some_delivered and private.failed_too_long(e.failing_since, at) then 'failing' end,
        disabled_at = case
          when not e.enabled then e.disabled_at
          when b.gone or (not b.some_delivered and private.failed_too_long(e.failing_since, at)) then at end
    from by_endpoint b
    where e.id = b.endpoint_id
      and (b.gone or (b.some_delivered and e.failing_since is not null)
        or (not b.some_delivered and (e.failing_since is null or private.failed_too_long(e.failing_since, at))))
  )
  select count(*) into counted from judged;
  return counted;
end
$$;

-- Five days (a setting) of nothing but failures.
create function private.failed_too_long(failing_since timestamptz, at timestamptz)
returns boolean
language sql
stable
set search_path = ''
as $$
  select coalesce(at - failing_since >= (select s.webhook_disable_after from private.settings s), false)
$$;

-- One call of deliver: what came of the last requests is recorded, and what is due next is leased.
create function public.exchange_deliveries(
  results jsonb, max_rows integer, lease_seconds integer, look_again_ms integer default 0, at timestamptz default now()
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  counted integer := 0;
  claimed jsonb;
begin
  if results <> '[]' then
    counted := private.record_attempts(results, at);
  end if;
  if max_rows <= 0 then
    return jsonb_build_object('recorded', counted, 'deliveries', '[]'::jsonb, 'endpoints', '{}'::jsonb);
  end if;
  perform private.note_lookout('deliver', look_again_ms);
  claimed := private.claim_deliveries(max_rows, lease_seconds, at);
  -- A run whose time is up may leave more than it takes: the next one begins now, and not with the sweep.
  if look_again_ms <= 0 and claimed -> 'deliveries' <> '[]' then
    perform private.kick_unless_looking('deliver');
  end if;
  return claimed || jsonb_build_object('recorded', counted);
end
$$;
comment on function public.exchange_deliveries is 'Records the results of requests and leases the next due deliveries: { recorded, deliveries: [{ id, lease_token, attempt, endpoint_id, event_id, body }], endpoints: { <id>: { url, secrets } } }.';

-- Deletes events past their retention with their deliveries and attempts, and secrets past their overlap.
create function private.prune_webhooks(max_rows integer default 2000)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  deleted integer;
begin
  delete from private.webhook_secrets s where s.expires_at <= now();
  delete from public.webhook_events v where v.id in (
    select o.id from public.webhook_events o
    where o.created_at < now() - (select s.webhook_retention from private.settings s)
    order by o.created_at limit max_rows);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

revoke execute on function
  private.endpoints_with_due(uuid, integer, timestamptz), private.claim_deliveries(integer, integer, timestamptz),
  private.next_delivery_attempt(integer, integer, double precision, timestamptz), private.record_attempts(jsonb, timestamptz),
  private.failed_too_long(timestamptz, timestamptz), private.prune_webhooks(integer)
from public, anon, authenticated, service_role;
revoke execute on function public.exchange_deliveries(jsonb, integer, integer, integer, timestamptz)
from public, anon, authenticated;
grant execute on function public.exchange_deliveries(jsonb, integer, integer, integer, timestamptz) to service_role;
