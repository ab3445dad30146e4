-- Lanes: the queue of an endpoint's deliveries, leased as a whole by one worker. Time is an argument, so that tests can span years.

-- One row for each endpoint that has been sent to. Rows are reused; no index contains an updated column and the page has free
-- space, so updates are HOT. No foreign key (pruned instead): a lane and the deletion of an endpoint must not wait for each other.
create table keyframe_private.lanes (
  endpoint_id uuid primary key,
  token uuid,
  leased_until timestamptz not null default '-infinity',
  held integer not null default 0,
  constraint token_if_and_only_if_leased check ((token is null) = (leased_until = '-infinity')),
  constraint held_only_while_leased check (held = 0 or token is not null)
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
comment on table keyframe_private.lanes is 'The queues of endpoints (lanes), each leased as a whole by one worker.';
comment on column keyframe_private.lanes.token is 'Required to record results; null when the lane is free.';
comment on column keyframe_private.lanes.leased_until is 'When another worker may take it over; its holder renews it.';
comment on column keyframe_private.lanes.held is 'How many deliveries its holder had when it last took or renewed it.';
alter table keyframe_private.lanes enable row level security;

-- Enabled endpoints with a free lane and a due delivery, in descending order of ids from start, wrapping around. Walks the index
-- from endpoint to endpoint: four probes for each with a pending delivery; it never reads all deliveries. One statement, because
-- every claim pays for each unreachable endpoint. It stops after the last wanted one. Descending, because recent sends leave dead
-- entries at the start of each endpoint's range.
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
    and coalesce((select l.leased_until <= at from keyframe_private.lanes l where l.endpoint_id = p.id), true)
    and (select true from keyframe.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id = p.id and d.next_attempt_at <= at order by d.next_attempt_at desc limit 1)
  limit most;
end
$$;

-- How many of an endpoint's due deliveries a worker has, as of its last renewal: the oldest ones.
create function keyframe_private.held_deliveries(endpoint uuid)
returns integer
language sql
stable
set search_path = ''
as $$
  select coalesce((select l.held from keyframe_private.lanes l where l.endpoint_id = endpoint and l.leased_until > now()), 0)
$$;

-- Whether a claim would get a lane.
create function keyframe_private.has_due_delivery(at timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  return exists (select from keyframe_private.endpoints_with_due(gen_random_uuid(), 1, at));
end
$$;

-- Endpoints whose free lanes a claim takes, at most max_lanes: the first of each owner, then the second of each, and so on. An owner
-- may hold at most as many lanes as are left for all others, so some are always left. A service-wide endpoint counts as an owner of
-- its own. Reads more than it takes, so that an owner with many endpoints (20 at most) hides no others.
create function keyframe_private.next_lanes(max_lanes integer, at timestamptz)
returns uuid[]
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return array(
    with due as materialized (
      select o.turn, e.id, e.owner_id, coalesce(e.owner_id, e.id) as owner
      from keyframe_private.endpoints_with_due(gen_random_uuid(), max_lanes + 100, at) with ordinality o (id, turn)
      join keyframe.webhook_endpoints e on e.id = o.id
    ), holders as materialized (
      select o.owner_id, (
        select count(*) from keyframe.webhook_endpoints e
        join keyframe_private.lanes l on l.endpoint_id = e.id where e.owner_id = o.owner_id and l.leased_until > at) as lanes
      from (select distinct d.owner_id from due d where d.owner_id is not null) o
    )
    select n.id
    from (
      select d.id, d.turn, coalesce(h.lanes, 0) + row_number() over (partition by d.owner order by d.turn) as nth
      from due d left join holders h on h.owner_id = d.owner_id
    ) n
    where n.nth <= max_lanes
    order by n.nth, n.turn
    limit max_lanes);
end
$$;

-- Locks the free ones among these lanes until the transaction ends; those that another claim has locked are skipped. Only two claims
-- that meet an endpoint for the first time at the same moment wait for each other; in id order, because each walk begins elsewhere.
create function keyframe_private.lock_free_lanes(endpoints uuid[], at timestamptz)
returns uuid[]
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
as $$
begin
  insert into keyframe_private.lanes (endpoint_id)
  select o.id from unnest(endpoints) o (id)
  where not exists (select from keyframe_private.lanes l where l.endpoint_id = o.id)
  order by o.id
  on conflict do nothing;
  return array(
    select l.endpoint_id from keyframe_private.lanes l
    where l.endpoint_id = any (endpoints) and l.leased_until <= at
    for update skip locked);
end
$$;

-- Renews the lanes that a worker holds, takes free ones and returns the deliveries to send, oldest first: with those it has
-- (sending), twice as many as may be open at once, so that it need not wait for a call between two requests. An endpoint that only
-- fails gets one request at a time: otherwise some dozens that hang would use up all requests that a worker can have open. A lane
-- without deliveries is released. `ended`: lanes that are not the worker's any more, or whose endpoint is disabled or deleted.
create function keyframe_private.claim_deliveries(
  held jsonb, max_lanes integer, lease_seconds integer, at timestamptz, out lanes json, out ended json
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
  until constant timestamptz := at + make_interval(secs => lease_seconds);
  kept uuid[];
  taken uuid[] := '{}';
begin
  kept := array(
    select l.endpoint_id from jsonb_to_recordset(held) as h (endpoint_id uuid, token uuid)
    join keyframe_private.lanes l on l.endpoint_id = h.endpoint_id and l.token = h.token
    -- Another claim that has locked it is taking it over.
    for update of l skip locked);
  if max_lanes > 0 then
    taken := array(
      select l.id from unnest(keyframe_private.lock_free_lanes(keyframe_private.next_lanes(max_lanes, at), at)) l (id)
      where l.id <> all (kept));
  end if;
  -- A separate statement, so that it sees what the previous holders of the lanes have committed.
  with lane as materialized (
    select h.* from jsonb_to_recordset(held) as h (endpoint_id uuid, token uuid, sending uuid[], more boolean)
    where h.endpoint_id = any (kept)
    union all
    select t.id, gen_random_uuid(), '{}', true from unnest(taken) t (id)
  ), filled as materialized (
    select l.*, e.url, coalesce(e.owner_id, e.id) as owner_id, e.max_open, case when l.more then (
      select json_agg(json_build_object('id', q.id, 'attempt', q.attempts + 1, 'event_id', v.id, 'body', v.payload::text) order by q.nth)
      from (
        select d.*, row_number() over () as nth from (
          select d.id, d.attempts, d.event_id from keyframe.webhook_deliveries d
          where d.status = 'pending' and d.endpoint_id = e.id and d.next_attempt_at <= at and d.id <> all (l.sending)
          order by d.next_attempt_at
          limit greatest(2 * e.max_open - cardinality(l.sending), 0)) d
      ) q join keyframe.webhook_events v on v.id = q.event_id) end as deliveries
    from lane l
    left join lateral (
      select e.id, e.url, e.owner_id, case when e.failing_since is null then e.max_in_flight else 1 end as max_open
      from keyframe.webhook_endpoints e where e.id = l.endpoint_id and e.enabled) e on true
  ), written as (
    update keyframe_private.lanes l
    set token = case when f.count > 0 then f.token end, leased_until = case when f.count > 0 then until else '-infinity' end, held = f.count
    from (select w.*, cardinality(w.sending) + coalesce(json_array_length(w.deliveries), 0) as count from filled w) f
    where l.endpoint_id = f.endpoint_id and (f.count = 0 or l.token is distinct from f.token or l.leased_until < until - make_interval(secs => lease_seconds / 4.0))
  )
  select coalesce(json_agg(json_build_object('endpoint_id', f.endpoint_id, 'token', f.token, 'owner_id', f.owner_id,
      'max_open', f.max_open, 'url', f.url, 'secrets', coalesce(s.secrets, '{}'), 'deliveries', f.deliveries)) filter (where f.deliveries is not null), '[]')
  into lanes
  from filled f
  left join keyframe_private.live_webhook_secrets(array(select w.endpoint_id from filled w where w.deliveries is not null), at) s
    on s.endpoint_id = f.endpoint_id;
  ended := (
    select coalesce(json_agg(h.endpoint_id), '[]') from jsonb_to_recordset(held) as h (endpoint_id uuid)
    where h.endpoint_id <> all (array(select e.id from keyframe.webhook_endpoints e where e.id = any (kept) and e.enabled)));
end
$$;
