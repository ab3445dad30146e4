-- Sending: what is due is handed out fairly, what came of it is recorded in batches. Time is an argument, so years fit in a test.

alter table private.settings
  add column webhook_retry_schedule interval[] not null
    default '{5 seconds,5 minutes,30 minutes,2 hours,5 hours,10 hours,14 hours,20 hours,24 hours}',
  add column webhook_disable_after interval not null default interval '5 days',
  add column webhook_retention interval not null default interval '30 days';
comment on column private.settings.webhook_retry_schedule is 'How long after each failed attempt the next one comes (with 20 % jitter); after the last one a delivery is exhausted.';
comment on column private.settings.webhook_disable_after is 'How long an endpoint may do nothing but fail before it is disabled.';
comment on column private.settings.webhook_retention is 'How long events, deliveries and attempts are kept.';

-- Who is sending what: an endpoint has max_in_flight places, and a place holds the lease of one delivery. The rows stay and are
-- written again and again; no index has a column of theirs but the key, and there is room on the page, so these updates are HOT.
-- Without a foreign key, and pruned: a claim must not wait for who deletes an endpoint, nor that one for the claim.
create table private.delivery_leases (
  endpoint_id uuid not null,
  place integer not null,
  delivery_id uuid,
  token uuid,
  leased_until timestamptz not null,
  primary key (endpoint_id, place),
  constraint token_if_and_only_if_leased check ((token is null) = (delivery_id is null))
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
comment on table private.delivery_leases is 'The requests under way, by endpoint. The rows stay: a place is used again and again.';
comment on column private.delivery_leases.place is 'From 1 to max_in_flight of the endpoint.';
comment on column private.delivery_leases.delivery_id is 'What is being sent; null when the place is free.';
comment on column private.delivery_leases.leased_until is 'Then nobody is believed to send it any more.';
alter table private.delivery_leases enable row level security;
revoke all on private.delivery_leases from public, anon, authenticated, service_role;

-- What of an endpoint is being sent now. Of leases that ran out nobody knows anything.
create function private.leased_deliveries(endpoint uuid)
returns uuid[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select l.delivery_id from private.delivery_leases l
    where l.endpoint_id = endpoint and l.delivery_id is not null and l.leased_until > now());
end
$$;

-- Enabled endpoints that have something due that nobody is sending, in the falling order of their ids from start on, round to it
-- again. Walks the index from endpoint to endpoint, so it costs three probes for each endpoint with something pending and not a row
-- for each delivery (and one for each that is being sent, where all that is due is): one statement, for what a thousand dead endpoints cost is paid at every look. It ends with the last that is
-- wanted. Backwards, because what was sent of late left dead entries at the beginning of each endpoint's part.
create function private.endpoints_with_due(start uuid, most integer, at timestamptz)
returns setof uuid
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return query
  with recursive from_start as (
    (select d.endpoint_id as id from public.webhook_deliveries d
    where d.status = 'pending' and d.endpoint_id < start order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    union all
    select (
      select d.endpoint_id from public.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id < f.id order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    from from_start f where f.id is not null
  ), down_to_start as (
    (select d.endpoint_id as id from public.webhook_deliveries d
    where d.status = 'pending' and d.endpoint_id >= start order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    union all
    select (
      select d.endpoint_id from public.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id < t.id and d.endpoint_id >= start
      order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    from down_to_start t where t.id is not null
  )
  select p.id from (select f.id from from_start f union all select t.id from down_to_start t) p
  -- Single values, which no plan turns into a join that reads all endpoints first.
  where (select e.enabled from public.webhook_endpoints e where e.id = p.id)
    and (select true from public.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id = p.id and d.next_attempt_at <= at
        and (select true from private.delivery_leases l
          where l.endpoint_id = p.id and l.delivery_id = d.id and l.leased_until > at limit 1) is null
      order by d.next_attempt_at desc limit 1)
  limit most;
end
$$;

-- How many more requests an endpoint may have under way.
create function private.endpoint_places(endpoint uuid, at timestamptz)
returns integer
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select e.max_in_flight from public.webhook_endpoints e where e.id = endpoint)
    - (select count(*) from private.delivery_leases l
      where l.endpoint_id = endpoint and l.delivery_id is not null and l.leased_until > at);
end
$$;

-- Leases due deliveries: at most max_in_flight of an endpoint at once, so one that hangs or floods delays only itself. Two
-- statements for all endpoints together, because a statement for each of twenty costs more than the rows it is about.
-- Deliveries are not locked: who holds an endpoint's advisory lock alone gives its places, and a result needs the lease.
create function private.claim_deliveries(
  max_rows integer, lease_seconds integer, at timestamptz, out deliveries json, out endpoints json, out found_any boolean
)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
-- For one delivery, planning took as long as all the rest; with these settings no other values would have a better plan.
set plan_cache_mode = force_generic_plan
as $$
declare
  ours uuid[];
  claimed uuid[];
begin
  deliveries := '[]';
  endpoints := '{}';
  found_any := false;
  -- Where another claim is at an endpoint, that one gives the places, and it is left to it. One without a free place is left to
  -- whoever makes one: two calls of a busy sender then seldom want the same endpoints.
  select array_agg(o.id) into ours
  from private.endpoints_with_due(gen_random_uuid(), max_rows, at) o (id)
  where case
    when private.endpoint_places(o.id, at) > 0 then pg_try_advisory_xact_lock(hashtextextended('keyframe deliveries of ' || o.id::text, 0))
    else false end;
  if ours is null then
    return;
  end if;
  -- Statements of their own: they see what those who held the locks before have committed. Whoever let a lease run out is believed
  -- until here; from now on somebody else may have the delivery. One that is being recorded just now keeps its place.
  update private.delivery_leases l set delivery_id = null, token = null
  from (
    select o.endpoint_id, o.place from private.delivery_leases o
    where o.endpoint_id = any (ours) and o.delivery_id is not null and o.leased_until <= at
    for update skip locked) o
  where l.endpoint_id = o.endpoint_id and l.place = o.place;
  with line as materialized (
    select o.id, o.turn, e.max_in_flight - cardinality(t.places) as free, t.places as taken, t.deliveries as sent
    from unnest(ours) with ordinality o (id, turn)
    join public.webhook_endpoints e on e.id = o.id
    cross join lateral (
      select coalesce(array_agg(l.place), '{}') as places, coalesce(array_agg(l.delivery_id), '{}') as deliveries
      from private.delivery_leases l
      where l.endpoint_id = o.id and l.delivery_id is not null
    ) t
    order by o.turn
  ), due as materialized (
    select n.*, gen_random_uuid() as token, row_number() over (partition by n.endpoint_id) as nth
    from (
      select i.id as endpoint_id, i.taken, q.id, q.event_id, q.attempts
      from line i
      cross join lateral (
        select d.id, d.event_id, d.attempts from public.webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id = i.id and d.next_attempt_at <= at and d.id <> all (i.sent)
        order by d.next_attempt_at
        limit greatest(i.free, 0)) q
      limit max_rows
    ) n
  ), leased as (
    insert into private.delivery_leases as l (endpoint_id, place, delivery_id, token, leased_until)
    select d.endpoint_id, (
        -- The nth place that is not taken.
        select s.place from generate_series(1, cardinality(d.taken) + d.nth) s (place)
        where s.place <> all (d.taken) order by s.place offset d.nth - 1 limit 1),
      d.id, d.token, at + make_interval(secs => lease_seconds)
    from due d
    on conflict (endpoint_id, place) do update
      set delivery_id = excluded.delivery_id, token = excluded.token, leased_until = excluded.leased_until
  )
  select
    coalesce(json_agg(json_build_object(
      'id', d.id, 'lease_token', d.token, 'attempt', d.attempts + 1, 'endpoint_id', d.endpoint_id,
      'event_id', v.id, 'body', v.payload::text)), '[]'),
    array_agg(distinct d.endpoint_id)
  into deliveries, claimed
  from due d join public.webhook_events v on v.id = d.event_id;

  found_any := claimed is not null;
  select coalesce(json_object_agg(e.id, json_build_object('url', e.url, 'secrets', coalesce(s.secrets, '{}'))), '{}')
  into endpoints
  from public.webhook_endpoints e
  left join private.live_webhook_secrets(claimed, at) s on s.endpoint_id = e.id
  where e.id = any (claimed);
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
  changes private.delivery_change[];
begin
  -- Endpoints that this may switch, before the deliveries: deleting an endpoint locks them in this order, and two that
  -- wait for each other end in an error for one of them.
  perform from public.webhook_endpoints e
  join (
    select d.endpoint_id, bool_and(coalesce(r.status_code between 200 and 299, false)) as all_delivered
    from jsonb_to_recordset(results) as r (id uuid, lease_token uuid, status_code integer)
    join public.webhook_deliveries d on d.id = r.id
    group by d.endpoint_id
  ) b on b.endpoint_id = e.id
  where not b.all_delivered or e.failing_since is not null
  order by e.id
  for no key update of e;

  with held as (
    select d.id, d.endpoint_id, l.place, d.owner_id, d.attempts + 1 as attempt, d.attempts + 1 - d.retries_from as tries,
      d.last_attempt_at as was_at, d.status as was_status, d.last_error as was_error,
      r.started_at, r.duration_ms, r.status_code, r.error, r.response_excerpt, r.retry_after_seconds,
      coalesce(r.status_code between 200 and 299, false) as delivered
    from jsonb_to_recordset(results) as r (
      id uuid, lease_token uuid, started_at timestamptz, duration_ms integer, status_code integer, error text,
      response_excerpt text, retry_after_seconds double precision)
    join public.webhook_deliveries d on d.id = r.id
    join private.delivery_leases l on l.endpoint_id = d.endpoint_id and l.delivery_id = d.id and l.token = r.lease_token
    order by d.id
    for update of d, l
  ), judged as materialized (
    select h.*, case when not h.delivered then private.next_delivery_attempt(h.tries, h.status_code, h.retry_after_seconds, at) end as next_at
    from held h
    where h.was_status = 'pending' -- one that an administrator gave up meanwhile stays so
  ), recorded as (
    update public.webhook_deliveries d
    set attempts = j.attempt, last_attempt_at = j.started_at, last_status_code = j.status_code,
        last_error = case when not j.delivered then coalesce(j.error, 'http_status') end,
        status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'pending' end::public.delivery_status,
        next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
        completed_at = case when j.delivered or j.next_at is null then at end
    from judged j where d.id = j.id
  ), released as (
    update private.delivery_leases l set delivery_id = null, token = null
    from held h where l.endpoint_id = h.endpoint_id and l.place = h.place
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
  select count(*), array_agg(row(
    j.endpoint_id, j.was_at, case when j.was_at is not null then private.delivery_outcome(j.was_status, j.was_error) end, j.started_at,
    case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'retrying' end,
    j.status_code, case when not j.delivered then coalesce(j.error, 'http_status') end)::private.delivery_change)
  into counted, changes from judged j;
  perform private.count_deliveries(changes);
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

-- Waits until something is due at an endpoint with a free place, at most so many milliseconds. Looking here costs a fraction of a
-- call from outside, so it looks often; where a look takes long because many endpoints have something pending, it rests longer,
-- so that looking takes a tenth of the time at most.
create function private.wait_for_due(wait_ms integer, at timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  began timestamptz := clock_timestamp();
  looked timestamptz;
  rest double precision;
begin
  -- One waits at a time: each waiting call holds a connection.
  if not pg_try_advisory_xact_lock(hashtextextended('keyframe deliver waits', 0)) then
    return;
  end if;
  loop
    looked := clock_timestamp();
    exit when exists (
      select from private.endpoints_with_due(gen_random_uuid(), 100000, at + (looked - began)) o (id)
      where private.endpoint_places(o.id, at + (looked - began)) > 0);
    rest := greatest(0.0005, 9 * extract(epoch from clock_timestamp() - looked));
    exit when clock_timestamp() + make_interval(secs => rest) >= began + make_interval(secs => wait_ms / 1000.0);
    perform pg_sleep(rest);
  end loop;
end
$$;

-- One call of deliver: what came of the last requests is recorded, and what is due next is leased. Without results it may wait for
-- something to become due.
create function public.exchange_deliveries(
  results jsonb, max_rows integer, lease_seconds integer, look_again_ms integer default 0, at timestamptz default now(),
  wait_ms integer default 0
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  counted integer := 0;
  deliveries json := '[]';
  endpoints json := '{}';
  found_any boolean;
  until timestamptz := at;
begin
  if results <> '[]' then
    counted := private.record_attempts(results, at);
  else
    -- A lease that a crash of the database forgets is claimed again: nobody has to wait for the disk.
    perform set_config('synchronous_commit', 'off', true);
    if wait_ms > 0 then
      perform private.wait_for_due(wait_ms, at);
      until := at + (clock_timestamp() - now());
    end if;
  end if;
  if max_rows > 0 then
    perform private.note_lookout('deliver', look_again_ms);
    select c.deliveries, c.endpoints, c.found_any into deliveries, endpoints, found_any
    from private.claim_deliveries(max_rows, lease_seconds, until) c;
    -- A run whose time is up may leave more than it takes: the next one begins now, and not with the sweep.
    if look_again_ms <= 0 and found_any then
      perform private.kick_unless_looking('deliver');
    end if;
  end if;
  return json_build_object('recorded', counted, 'deliveries', deliveries, 'endpoints', endpoints);
end
$$;
comment on function public.exchange_deliveries is 'Records the results of requests and leases the next due deliveries: { recorded, deliveries: [{ id, lease_token, attempt, endpoint_id, event_id, body }], endpoints: { <id>: { url, secrets } } }.';

-- Deletes events past their retention with their deliveries and attempts, the hours they were counted in, secrets past their overlap, and
-- places of endpoints that are gone.
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
  delete from private.delivery_leases l
  where l.leased_until < now() - interval '1 hour' and not exists (select from public.webhook_endpoints e where e.id = l.endpoint_id);
  -- An endpoint's last hour says when it was last heard of. A single value, and the places of the rows: joins would read all hours.
  delete from private.webhook_hours h where h.ctid = any (array(
    select o.ctid from private.webhook_hours o
    where o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from private.settings s)
      or (select true from private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour limit max_rows * 5));
  delete from public.webhook_events v where v.id in (
    select o.id from public.webhook_events o
    where o.created_at < now() - (select s.webhook_retention from private.settings s)
    order by o.created_at limit max_rows);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

revoke execute on function
  private.leased_deliveries(uuid), private.endpoints_with_due(uuid, integer, timestamptz), private.claim_deliveries(integer, integer, timestamptz),
  private.next_delivery_attempt(integer, integer, double precision, timestamptz), private.record_attempts(jsonb, timestamptz),
  private.failed_too_long(timestamptz, timestamptz), private.endpoint_places(uuid, timestamptz), private.wait_for_due(integer, timestamptz), private.prune_webhooks(integer)
from public, anon, authenticated, service_role;
revoke execute on function public.exchange_deliveries(jsonb, integer, integer, integer, timestamptz, integer)
from public, anon, authenticated;
grant execute on function public.exchange_deliveries(jsonb, integer, integer, integer, timestamptz, integer) to service_role;
