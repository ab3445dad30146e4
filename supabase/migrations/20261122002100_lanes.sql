-- Lanes: the queue of an owner's deliveries, leased as a whole by one worker. A service-wide endpoint has a lane of its own. Only workers
-- write lanes, in short transactions; others insert arrivals, and an insert never waits. Time is an argument, so tests can span years.

create table keyframe_private.lanes (
  id uuid primary key,
  due_at timestamptz not null,
  served_at timestamptz not null default '-infinity',
  token uuid
-- Each turn of a lane updates it twice, so vacuum must not wait for a fifth of the table.
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
comment on table keyframe_private.lanes is 'The queues of deliveries (lanes): one for each owner, one for each service-wide endpoint. A worker leases a lane as a whole.';
comment on column keyframe_private.lanes.id is 'The owner''s id, or the id of a service-wide endpoint.';
comment on column keyframe_private.lanes.due_at is 'When a worker may take it, in this order: while it is leased, when the lease ends; infinity when it has nothing to send.';
comment on column keyframe_private.lanes.served_at is 'When a worker last took it. The lane that has waited longest comes first.';
comment on column keyframe_private.lanes.token is 'Names the lease; null when the lane is free.';
create index lanes_due_at_idx on keyframe_private.lanes (due_at);
alter table keyframe_private.lanes enable row level security;

-- Says that a lane has got something to send. Insert-only, because the writer's transaction may stay open: it holds no row that another
-- writer or a worker needs.
create table keyframe_private.lane_arrivals (
  id bigint generated always as identity primary key,
  lane_id uuid not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
comment on table keyframe_private.lane_arrivals is 'Lanes that have got something to send, until the next claim reads them.';
alter table keyframe_private.lane_arrivals enable row level security;

-- Endpoints by lane. Not only the enabled ones: the planner does not use the statistics of a partial index on an expression.
create index webhook_endpoints_lane_idx on keyframe.webhook_endpoints ((coalesce(owner_id, id)));

-- New deliveries, and those that somebody made pending again.
create function keyframe_private.record_arrivals()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoints uuid[];
begin
  if tg_op = 'INSERT' then
    endpoints := array(select distinct n.endpoint_id from changed_to n where n.status = 'pending');
  else -- a recorded attempt is no arrival: its lane is leased
    endpoints := array(
      select distinct n.endpoint_id from changed_to n join changed_from o on o.id = n.id where n.status = 'pending' and n.attempts = o.attempts);
  end if;
  insert into keyframe_private.lane_arrivals (lane_id)
  select distinct coalesce(e.owner_id, e.id) from keyframe.webhook_endpoints e where e.id = any (endpoints);
  if found then
    perform keyframe_private.kick_unless_running('deliver');
  end if;
  return null;
end
$$;
create trigger _600_record_inserted after insert on keyframe.webhook_deliveries
  referencing new table as changed_to
  for each statement execute function keyframe_private.record_arrivals();
create trigger _600_record_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.record_arrivals();

-- An endpoint is enabled: what waited for it can be sent.
create function keyframe_private.record_enabled()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  insert into keyframe_private.lane_arrivals (lane_id) values (coalesce(new.owner_id, new.id));
  perform keyframe_private.kick_unless_running('deliver');
  return null;
end
$$;
create trigger _600_record_enabled after update of enabled, owner_id on keyframe.webhook_endpoints
  for each row when (new.enabled and (not old.enabled or old.owner_id is distinct from new.owner_id))
  execute function keyframe_private.record_enabled();

-- Whether a claim might get a lane. Reads one entry of two small indexes: ordered, because a plan for any time would read all lanes.
create function keyframe_private.has_due_delivery(at timestamptz)
returns boolean
language sql
volatile
set search_path = ''
as $$
  select coalesce(
    (select true from keyframe_private.lane_arrivals a order by a.id limit 1),
    (select true from keyframe_private.lanes l where l.due_at <= at order by l.due_at limit 1), false)
$$;

-- Makes the lanes due for which something has arrived, where nobody else has them locked. A lane comes in the order of its last turn:
-- an owner who had none lately is before those who have one after another. A leased lane needs nothing: its holder looks before it
-- releases the lane, under this lock.
create function keyframe_private.read_arrivals(at timestamptz)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- The newest, too: thousands of one owner must not keep back what has just arrived for another.
  arrived constant bigint[] := array(
    (select a.id from keyframe_private.lane_arrivals a order by a.id limit 5000)
    union (select a.id from keyframe_private.lane_arrivals a order by a.id desc limit 1000));
  locked uuid[];
begin
  if arrived = '{}' then
    return 0;
  end if;
  -- Only the missing ones: on conflict do nothing would wait for a lane that is being updated.
  insert into keyframe_private.lanes (id, due_at)
  select distinct a.lane_id, 'infinity'::timestamptz from keyframe_private.lane_arrivals a
  where a.id = any (arrived) and not exists (select from keyframe_private.lanes l where l.id = a.lane_id)
  order by 1 -- as in every claim: two that insert the same lanes wait for each other, and do not deadlock
  on conflict do nothing;
  locked := array(
    select l.id from keyframe_private.lanes l
    where l.id = any (array(select a.lane_id from keyframe_private.lane_arrivals a where a.id = any (arrived)))
    for update skip locked);
  with gone as (
    delete from keyframe_private.lane_arrivals a where a.id = any (arrived) and a.lane_id = any (locked) returning a.lane_id
  )
  update keyframe_private.lanes l set due_at = least(l.due_at, l.served_at, at)
  where l.token is null and l.id in (select g.lane_id from gone g);
  return (select max(a) from unnest(arrived) a);
end
$$;

-- When the next delivery of a lane's enabled endpoints is due; infinity: none is pending.
create function keyframe_private.next_due_at(lane uuid)
returns timestamptz
language sql
stable
set search_path = ''
as $$
  select coalesce(min(d.next_attempt_at), 'infinity')
  from (select w.id from keyframe.webhook_endpoints w where coalesce(w.owner_id, w.id) = lane and w.enabled offset 0) e
  cross join lateral (
    select p.next_attempt_at from keyframe.webhook_deliveries p
    where p.status = 'pending' and p.endpoint_id = e.id order by p.next_attempt_at limit 1) d
$$;

-- What the holders of these lanes send next: a row for each endpoint that has something due, its deliveries in the order in which they are
-- due. `wanting`: the lanes as claim_deliveries gets them; room_of_new is for endpoints that the worker has nothing of. An endpoint brings
-- at most twice as many as it may have open, and may have one open while it only fails. In a turn (are_turns), a lane that has more than
-- `most` brings two: few do not wait behind many. The endpoints of a lane take turns, too. Executed as text, which is planned at each call: a
-- session would keep a plan that was made while the tables were small. plan_cache_mode would plan what this calls, too.
create function keyframe_private.fill_lanes(wanting jsonb, room_of_new integer, are_turns boolean, at timestamptz)
returns table (lane_id uuid, endpoint json)
language plpgsql
volatile
set search_path = ''
as $$
begin
  if wanting = '[]' then
    return; -- planning takes longer than most calls
  end if;
  return query execute $sql$
  select r.lane_id, json_build_object(
    'lane_id', r.lane_id, 'token', r.token, 'endpoint_id', r.endpoint_id, 'max_open', r.max_open, 'url', r.url,
    'secrets', keyframe_private.webhook_secrets_of(r.endpoint_id, $3),
    'deliveries', json_agg(json_build_object('id', r.id, 'attempt', r.attempts + 1, 'event_id', r.event_id, 'body', (
      select v.payload::text from keyframe.webhook_events v where v.id = r.event_id)) order by r.nth))
  from (
    select l.lane_id, l.token, l.most, e.id as endpoint_id, e.max_open, e.url, d.id, d.attempts, d.event_id,
      row_number() over (partition by l.lane_id order by d.turn, d.next_attempt_at) as nth, count(*) over (partition by l.lane_id) as of_lane
    from jsonb_to_recordset($1) as l (lane_id uuid, token uuid, sending uuid[], room jsonb, most integer)
    cross join lateral (
      select w.id, w.url, case when w.failing_since is null then w.max_in_flight else 1 end as max_open
      from keyframe.webhook_endpoints w where coalesce(w.owner_id, w.id) = l.lane_id and w.enabled
      offset 0 -- looked up lane by lane: a join may read the endpoints of everybody
    ) e
    cross join lateral (
      select p.id, p.attempts, p.event_id, p.next_attempt_at, row_number() over (order by p.next_attempt_at) as turn
      from keyframe.webhook_deliveries p
      where p.status = 'pending' and p.endpoint_id = e.id and p.next_attempt_at <= $3 and p.id <> all (l.sending)
      order by p.next_attempt_at
      limit least(l.most + 1, 2 * e.max_open, coalesce((l.room ->> e.id::text)::integer, case when $4 then l.most + 1 else $2 end))) d
  ) r
  where r.nth <= case when $4 and r.of_lane > r.most then 2 else r.most end
  group by r.lane_id, r.token, r.endpoint_id, r.max_open, r.url $sql$ using wanting, room_of_new, at, are_turns;
end
$$;

-- Renews the lanes that a worker holds, takes those that have waited longest and returns what to send. Each held lane is {lane_id, token,
-- sending: [delivery_id], room: {endpoint_id: count}, most}: the deliveries that the worker has, and how many more it takes of each endpoint
-- and of the lane. `new_lane`: {most, room_of_new} of a lane that is taken. While others wait for their turn (others_wait), a lane that is taken
-- brings all it has, or two if that is more than `most`, and a held one none. A lane of which the worker has nothing is released. Lanes that somebody has locked are left alone until the
-- next call. `lost`: lanes that are not the worker's any more, released ones too. `ended`: endpoints that are disabled or deleted.
create function keyframe_private.claim_deliveries(
  held jsonb, max_lanes integer, new_lane jsonb, lease_seconds integer, at timestamptz,
  out endpoints json, out lost json, out ended json, out others_wait boolean
)
language plpgsql
volatile
set search_path = ''
as $$
declare
  lease_end constant timestamptz := at + make_interval(secs => lease_seconds);
  -- With `= any`, Postgres looks each lane up; a join alone may read the lanes of everybody.
  ids constant uuid[] := array(select (h ->> 'lane_id')::uuid from jsonb_array_elements(held) h);
  kept uuid[];
  taken jsonb := '[]';
  wanting jsonb;
  busy uuid[];
  last_read bigint := 0;
begin
  -- First, and in id order: what is decided below sees everything whose arrival another worker has read.
  kept := array(
    select l.id from keyframe_private.lanes l
    join jsonb_to_recordset(held) as h (lane_id uuid, token uuid) on h.lane_id = l.id and h.token = l.token
    where l.id = any (ids) order by l.id for update of l skip locked);
  ended := (
    select coalesce(json_agg(k.id), '[]')
    from unnest(array(select jsonb_object_keys(h -> 'room')::uuid from jsonb_array_elements(held) h)) k (id)
    where not exists (select from keyframe.webhook_endpoints e where e.id = k.id and e.enabled));

  if max_lanes > 0 then
    last_read := keyframe_private.read_arrivals(at);
    with free as (
      update keyframe_private.lanes l set token = gen_random_uuid(), due_at = lease_end, served_at = at
      where l.id = any (array(
        select d.id from keyframe_private.lanes d where d.due_at <= at and d.id <> all (ids)
        order by d.due_at limit max_lanes for update skip locked))
      returning l.id, l.token
    )
    select coalesce(jsonb_agg(jsonb_build_object('lane_id', f.id, 'token', f.token, 'sending', '[]'::jsonb, 'most', new_lane -> 'most')), '[]')
    into taken from free f;
  end if;
  -- A lane that somebody has locked, or its arrival, is nobody's turn: it would keep everybody's short.
  others_wait := exists (
    select from keyframe_private.lanes l where l.due_at <= at and l.id <> all (ids) order by l.due_at limit 1 for key share skip locked)
    or exists (select from keyframe_private.lane_arrivals a where a.id > last_read);

  wanting := taken;
  if not others_wait then
    wanting := wanting || (
      select coalesce(jsonb_agg(h), '[]') from jsonb_array_elements(held) h where (h ->> 'most')::integer > 0 and (h ->> 'lane_id')::uuid = any (kept));
  end if;
  select coalesce(json_agg(f.endpoint), '[]'), array_agg(f.lane_id) into endpoints, busy
  from keyframe_private.fill_lanes(wanting, (new_lane ->> 'room_of_new')::integer, others_wait, at) f;
  busy := busy || array(select (h ->> 'lane_id')::uuid from jsonb_array_elements(held) h where h -> 'sending' <> '[]');

  -- A renewal is written when a quarter of the lease has passed. A lane that is due again waits behind those that were served before it.
  update keyframe_private.lanes l
  set token = case when l.id = any (busy) then l.token end,
      due_at = case when l.id = any (busy) then lease_end else greatest(least(l.served_at, at), keyframe_private.next_due_at(l.id)) end
  where l.id = any (kept || array(select (t ->> 'lane_id')::uuid from jsonb_array_elements(taken) t))
    and (l.id <> all (busy) or l.due_at < lease_end - make_interval(secs => lease_seconds / 4.0));
  lost := (
    select coalesce(json_agg(h.lane_id), '[]') from jsonb_to_recordset(held) as h (lane_id uuid, token uuid)
    where (select l.token = h.token from keyframe_private.lanes l where l.id = h.lane_id) is not true);
end
$$;
