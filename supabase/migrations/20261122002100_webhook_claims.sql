-- Claiming deliveries: fairly, a few of each endpoint at a time. Time is an argument, so that tests can span years.

-- An endpoint has max_in_flight slots; each slot holds the lease of one delivery. The rows are reused; no index contains an
-- updated column and the page has free space, so updates are HOT. No foreign key (pruned instead): a claim and the deletion of an
-- endpoint must not wait for each other.
create table keyframe_private.delivery_leases (
  endpoint_id uuid not null,
  slot integer not null,
  delivery_id uuid,
  token uuid,
  leased_until timestamptz not null,
  primary key (endpoint_id, slot),
  constraint token_if_and_only_if_leased check ((token is null) = (delivery_id is null))
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
comment on table keyframe_private.delivery_leases is 'The leases of open requests, by endpoint. The rows are reused.';
comment on column keyframe_private.delivery_leases.slot is 'From 1 to max_in_flight of the endpoint.';
comment on column keyframe_private.delivery_leases.delivery_id is 'The delivery being sent; null when the slot is free.';
comment on column keyframe_private.delivery_leases.token is 'Required to record the result; null when the slot is free.';
comment on column keyframe_private.delivery_leases.leased_until is 'When the lease expires.';
alter table keyframe_private.delivery_leases enable row level security;

-- The deliveries of an endpoint that are being sent. One with an expired lease is not included: whether it was sent is unknown.
create function keyframe_private.leased_deliveries(endpoint uuid)
returns uuid[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select l.delivery_id from keyframe_private.delivery_leases l
    where l.endpoint_id = endpoint and l.delivery_id is not null and l.leased_until > now());
end
$$;

-- Enabled endpoints with a due delivery that is not being sent, in descending order of ids from start, wrapping around. Walks the
-- index from endpoint to endpoint: three probes for each with a pending delivery, one more for each delivery already being sent;
-- it never reads all deliveries. One statement, because every claim pays for each unreachable endpoint. It stops after the last
-- wanted one. Descending, because recent sends leave dead entries at the start of each endpoint's range.
create function keyframe_private.endpoints_with_due(start uuid, most integer, at timestamptz)
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
    (select d.endpoint_id as id from keyframe.webhook_deliveries d
    where d.status = 'pending' and d.endpoint_id < start order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    union all
    select (
      select d.endpoint_id from keyframe.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id < f.id order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    from from_start f where f.id is not null
  ), down_to_start as (
    (select d.endpoint_id as id from keyframe.webhook_deliveries d
    where d.status = 'pending' and d.endpoint_id >= start order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    union all
    select (
      select d.endpoint_id from keyframe.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id < t.id and d.endpoint_id >= start
      order by d.endpoint_id desc, d.next_attempt_at desc limit 1)
    from down_to_start t where t.id is not null
  )
  select p.id from (select f.id from from_start f union all select t.id from down_to_start t) p
  -- Scalar subqueries, because a join could read all endpoints first.
  where (select e.enabled from keyframe.webhook_endpoints e where e.id = p.id)
    and (select true from keyframe.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id = p.id and d.next_attempt_at <= at
        and (select true from keyframe_private.delivery_leases l
          where l.endpoint_id = p.id and l.delivery_id = d.id and l.leased_until > at limit 1) is null
      order by d.next_attempt_at desc limit 1)
  limit most;
end
$$;

-- How many more requests an endpoint may have open. An endpoint that only fails gets one: otherwise some dozens that hang would
-- use up all requests that a worker can have open. Its first success restores max_in_flight.
create function keyframe_private.endpoint_slots(endpoint uuid, at timestamptz)
returns integer
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select case when e.failing_since is null then e.max_in_flight else 1 end from keyframe.webhook_endpoints e where e.id = endpoint)
    - (select count(*) from keyframe_private.delivery_leases l
      where l.endpoint_id = endpoint and l.delivery_id is not null and l.leased_until > at);
end
$$;

-- Locks endpoints with a due delivery and a free slot against other claims, until the transaction ends; null when there are none.
-- Skips endpoints that another claim is working on, and endpoints without a free slot, which are left to the call that frees one:
-- two calls of a busy worker then rarely want the same endpoints.
create function keyframe_private.lock_due_endpoints(max_rows integer, at timestamptz)
returns uuid[]
language plpgsql
volatile
set search_path = ''
as $$
begin
  return (
    select array_agg(o.id) from keyframe_private.endpoints_with_due(gen_random_uuid(), max_rows, at) o (id)
    where case
      when keyframe_private.endpoint_slots(o.id, at) > 0 then pg_try_advisory_xact_lock(hashtextextended('keyframe deliveries of ' || o.id::text, 0))
      else false end
  );
end
$$;

-- Frees the slots of expired leases. A result counts under an expired lease until here; from here on another worker may get the
-- delivery. A delivery that is being recorded now keeps its slot.
create function keyframe_private.release_expired_leases(endpoints uuid[], at timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update keyframe_private.delivery_leases l set delivery_id = null, token = null
  from (
    select o.endpoint_id, o.slot from keyframe_private.delivery_leases o
    where o.endpoint_id = any (endpoints) and o.delivery_id is not null and o.leased_until <= at
    for update skip locked) o
  where l.endpoint_id = o.endpoint_id and l.slot = o.slot;
end
$$;

-- Where to send to endpoints, and the secrets that sign: { <id>: { url, secrets } }.
create function keyframe_private.endpoint_addresses(wanted uuid[], at timestamptz)
returns json
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(json_object_agg(e.id, json_build_object('url', e.url, 'secrets', coalesce(s.secrets, '{}'))), '{}')
    from keyframe.webhook_endpoints e
    left join keyframe_private.live_webhook_secrets(wanted, at) s on s.endpoint_id = e.id
    where e.id = any (wanted)
  );
end
$$;

-- Leases due deliveries, at most max_in_flight of an endpoint at once, so an endpoint that hangs or floods delays only itself. A
-- few statements for all endpoints, because one per endpoint costs more than its rows. Deliveries are not locked: only the holder
-- of an endpoint's advisory lock assigns its slots, and a result requires the lease.
create function keyframe_private.claim_deliveries(
  max_rows integer, lease_seconds integer, at timestamptz, out deliveries json, out endpoints json
)
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
-- For one delivery, planning took as long as everything else; these settings make a custom plan no better.
set plan_cache_mode = force_generic_plan
as $$
declare
  ours uuid[];
  claimed uuid[];
begin
  deliveries := '[]';
  endpoints := '{}';
  ours := keyframe_private.lock_due_endpoints(max_rows, at);
  if ours is null then
    return;
  end if;
  -- Separate statements, so that they see what earlier holders of the locks have committed.
  perform keyframe_private.release_expired_leases(ours, at);
  with line as materialized (
    select o.id, o.turn, case when e.failing_since is null then e.max_in_flight else 1 end - cardinality(t.slots) as free, t.slots as taken, t.deliveries as sent
    from unnest(ours) with ordinality o (id, turn)
    join keyframe.webhook_endpoints e on e.id = o.id
    cross join lateral (
      select coalesce(array_agg(l.slot), '{}') as slots, coalesce(array_agg(l.delivery_id), '{}') as deliveries
      from keyframe_private.delivery_leases l
      where l.endpoint_id = o.id and l.delivery_id is not null
    ) t
    order by o.turn
  ), due as materialized (
    select n.*, gen_random_uuid() as token, row_number() over (partition by n.endpoint_id) as nth
    from (
      select i.id as endpoint_id, i.taken, q.id, q.event_id, q.attempts
      from line i
      cross join lateral (
        select d.id, d.event_id, d.attempts from keyframe.webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id = i.id and d.next_attempt_at <= at and d.id <> all (i.sent)
        order by d.next_attempt_at
        limit greatest(i.free, 0)) q
      limit max_rows
    ) n
  ), leased as (
    insert into keyframe_private.delivery_leases as l (endpoint_id, slot, delivery_id, token, leased_until)
    select d.endpoint_id, (
        -- The nth free slot.
        select s.slot from generate_series(1, cardinality(d.taken) + d.nth) s (slot)
        where s.slot <> all (d.taken) order by s.slot offset d.nth - 1 limit 1),
      d.id, d.token, at + make_interval(secs => lease_seconds)
    from due d
    on conflict (endpoint_id, slot) do update
      set delivery_id = excluded.delivery_id, token = excluded.token, leased_until = excluded.leased_until
  )
  select
    coalesce(json_agg(json_build_object(
      'id', d.id, 'lease_token', d.token, 'attempt', d.attempts + 1, 'endpoint_id', d.endpoint_id,
      'event_id', v.id, 'body', v.payload::text)), '[]'),
    array_agg(distinct d.endpoint_id)
  into deliveries, claimed
  from due d join keyframe.webhook_events v on v.id = d.event_id;

  endpoints := keyframe_private.endpoint_addresses(claimed, at);
end
$$;

