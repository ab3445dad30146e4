-- Claiming lanes, and what a worker sends of them.

-- What a worker says of a lane that it leases. sending: the deliveries that it has. room: how many more it takes of each endpoint; null: of
-- a lane that it has just taken. most: how many more in all. pause_ms: how long the lane rests when it is released.
create type keyframe_private.leased_lane as (
  lane_id uuid, token uuid, sending uuid[], room jsonb, most integer, pause_ms integer);

-- A lane that is taken brings all that is due up to small_lane, otherwise two: turns are short.
create type keyframe_private.claim_request as (
  lanes keyframe_private.leased_lane[], max_lanes integer, small_lane integer, max_bytes integer, lease_seconds integer);

-- The endpoints of a lane take turns. The bodies have at most max_bytes, the first of each lane first. plan_cache_mode: a session would keep
-- a plan that was made while the tables were small.
create function keyframe_private.fill_lanes(lanes keyframe_private.leased_lane[], max_bytes integer, at timestamptz)
returns table (lane_id uuid, endpoint json) language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
  if not exists (select from unnest(lanes) l where l.most > 0) then
    return; -- planning takes longer than most calls
  end if;
  return query
  with endpoint as (
    select l.*, e.* from unnest(lanes) l
    cross join lateral (
      select w.id as endpoint_id, w.url, case when w.failing_since is null then w.max_in_flight else 1 end as max_open
      from keyframe.webhook_endpoints w where coalesce(w.owner_id, w.id) = l.lane_id and w.enabled
      offset 0) e -- looked up lane by lane: a join may read the endpoints of everybody
    where l.most > 0
  ), due as (
    select e.*, d.*,
      row_number() over (partition by e.lane_id order by d.turn, d.next_attempt_at, d.id) as nth,
        count(*) over (partition by e.lane_id) as of_lane
    from endpoint e
    cross join lateral (
      select p.id, p.attempts, p.event_id, p.next_attempt_at,
        -- "rows": without it Postgres 15 reads every delivery that is due at the same moment as these
        row_number() over (order by p.next_attempt_at, p.id rows unbounded preceding) as turn
      from keyframe.webhook_deliveries p
      where p.status = 'pending' and p.endpoint_id = e.endpoint_id and p.next_attempt_at <= at and p.id <> all (e.sending)
      order by p.next_attempt_at, p.id
      limit least(e.most + 1, 2 * e.max_open, (e.room ->> e.endpoint_id::text)::integer)) d
  ), chosen as (
    select d.*, v.body, sum(octet_length(v.body)) over (order by d.nth, d.room is not null, d.token, d.id rows unbounded preceding) as bytes
    from due d
    cross join lateral (select e.payload::text as body from keyframe.webhook_events e where e.id = d.event_id) v
    where d.nth <= case when d.room is null and d.of_lane > d.most then 2 else d.most end
  )
  select c.lane_id, json_build_object(
    'lane_id', c.lane_id, 'token', c.token, 'endpoint_id', c.endpoint_id, 'max_open', c.max_open, 'url', c.url,
    'secrets', keyframe_private.webhook_secrets_of(c.endpoint_id, at),
    'deliveries', json_agg(json_build_object('id', c.id, 'attempt', c.attempts + 1, 'event_id', c.event_id, 'body', c.body) order by c.nth))
  from chosen c
  where c.bytes <= max_bytes or c.bytes = octet_length(c.body) -- one in any case
  group by c.lane_id, c.token, c.endpoint_id, c.max_open, c.url;
end $$;
comment on function keyframe_private.fill_lanes is 'What lanes send next: a row for each endpoint that has something due.';

-- Takes the free lanes that have waited longest. If that is as many as it may take, others wait for a turn.
create function keyframe_private.take_lanes(
  asked keyframe_private.claim_request, at timestamptz, one_by_one boolean,
  out taken keyframe_private.leased_lane[], out others_wait boolean, out tried uuid[])
language plpgsql volatile set search_path = '' as $$
declare
  wanted keyframe_private.lanes[];
  written uuid[];
begin
  select r.may_be_more, r.tried into others_wait, tried from keyframe_private.read_arrivals(at, one_by_one) r;
  wanted := array(
    select row(d.id, at + make_interval(secs => asked.lease_seconds), at, gen_random_uuid())::keyframe_private.lanes
    from keyframe_private.lanes d
    where d.due_at <= at and d.id <> all (array(select l.lane_id from unnest(asked.lanes) l))
      and not keyframe_private.is_set_aside('lane', d.id::text, at)
    order by d.due_at limit asked.max_lanes for update skip locked);
  written := keyframe_private.write_lanes(wanted, one_by_one);
  taken := array(
    select row(w.id, w.token, '{}', null, asked.small_lane, null)::keyframe_private.leased_lane
    from unnest(wanted) w where w.id = any (written));
  others_wait := others_wait or cardinality(wanted) = asked.max_lanes;
  tried := tried || array(select w.id from unnest(wanted) w);
end $$;
comment on function keyframe_private.take_lanes is 'Leases free lanes; returns also whether others wait for a turn, and which lanes it tried to write.';

-- Due with their next delivery, behind the lanes that were served before them, not before their pause ends.
create function keyframe_private.release_lanes(released keyframe_private.leased_lane[], at timestamptz, one_by_one boolean)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.write_lanes(array(
    select row(l.id, greatest(least(l.served_at, at), at + nullif(r.pause_ms, 0) * interval '1 millisecond', coalesce((
      select min(d.next_attempt_at) from keyframe.webhook_endpoints e
      cross join lateral (
        select p.next_attempt_at from keyframe.webhook_deliveries p
        where p.status = 'pending' and p.endpoint_id = e.id order by p.next_attempt_at limit 1) d
      where coalesce(e.owner_id, e.id) = l.id and e.enabled), 'infinity')), l.served_at, null)::keyframe_private.lanes
    from keyframe_private.lanes l
    join unnest(released) r on r.lane_id = l.id
    where l.id = any (array(select o.lane_id from unnest(released) o))), one_by_one); -- looked up one by one
end $$;
comment on function keyframe_private.release_lanes is 'Gives lanes back that this transaction has locked.';

-- A lease is written when a third of it has passed.
create function keyframe_private.renew_lanes(ids uuid[], lease interval, at timestamptz, one_by_one boolean)
returns uuid[] language plpgsql volatile set search_path = '' as $$
declare
  wanted constant keyframe_private.lanes[] := array(
    select row(l.id, at + lease, l.served_at, l.token)::keyframe_private.lanes from keyframe_private.lanes l
    where l.id = any (ids) and l.due_at < at + lease * 2 / 3);
  written constant uuid[] := keyframe_private.write_lanes(wanted, one_by_one);
begin
  return array(select i.id from unnest(ids) i (id) where i.id = any (written) or i.id <> all (array(select w.id from unnest(wanted) w)));
end $$;
comment on function keyframe_private.renew_lanes is 'Renews leases; returns the lanes whose lease holds.';

-- What others have locked or is set aside is left as it is: a worker neither keeps nor loses such a lane.
create function keyframe_private.claim_deliveries(asked keyframe_private.claim_request, at timestamptz, one_by_one boolean)
returns json language plpgsql volatile set search_path = '' as $$
declare
  lease constant interval := make_interval(secs => asked.lease_seconds);
  asked_ids constant uuid[] := array(select l.lane_id from unnest(asked.lanes) l);
  any_aside constant boolean := keyframe_private.is_any_aside('lane');
  -- Looked up one by one: many others may be set aside.
  aside constant uuid[] := array(select i from unnest(asked_ids) i where any_aside and keyframe_private.is_set_aside('lane', i::text, at));
  own keyframe_private.leased_lane[];
  taken keyframe_private.leased_lane[] := '{}';
  others_wait boolean := false;
  tried uuid[] := '{}';
  endpoints json;
  kept uuid[]; -- the worker has something of them: deliveries to send, or that it is sending
begin
  -- Locks those that are still the worker's before any query for deliveries, which then sees all arrivals that others have read. With
  -- `= any`, Postgres looks each lane up; a join alone may read the lanes of everybody.
  own := array(
    select a from keyframe_private.lanes l join unnest(asked.lanes) a on a.lane_id = l.id and a.token = l.token
    where l.id = any (asked_ids) and l.id <> all (aside) for update of l skip locked);
  if asked.max_lanes > 0 then
    select t.* into taken, others_wait, tried from keyframe_private.take_lanes(asked, at, one_by_one) t;
  end if;

  -- Those it had before get nothing while others wait.
  select coalesce(json_agg(f.endpoint), '[]'), array_agg(f.lane_id) into endpoints, kept
  from keyframe_private.fill_lanes(case when others_wait then taken else taken || own end, asked.max_bytes, at) f;
  own := own || taken;
  kept := kept || array(select o.lane_id from unnest(own) o where o.sending <> '{}');
  perform keyframe_private.release_lanes(array(select o from unnest(own) o where o.lane_id <> all (kept)), at, one_by_one);
  kept := keyframe_private.renew_lanes(kept, lease, at, one_by_one);

  return json_build_object(
    'endpoints', endpoints, 'kept', kept, 'others_wait', others_wait,
    'set_aside', (
      select coalesce(json_agg(json_build_object('kind', s.kind, 'id', s.subject, 'code', s.code, 'failures', s.failures)), '[]')
      from (select distinct t from unnest(asked_ids || tried) t where t <> all (aside)) t
      cross join lateral (
        select a.* from keyframe_private.set_aside a where a.kind = 'lane' and a.subject = t.t::text and a.next_try_at > at offset 0) s),
    'lost', array(
      select a.lane_id from unnest(asked.lanes) a
      where (select l.token = a.token from keyframe_private.lanes l where l.id = a.lane_id) is not true),
    'max_open', (
      select coalesce(json_object_agg(e.id, case when e.failing_since is null then e.max_in_flight else 1 end), '{}')
      from keyframe.webhook_endpoints e
      where e.enabled and e.id = any (array(select jsonb_object_keys(a.room)::uuid from unnest(asked.lanes) a))));
end $$;
comment on function keyframe_private.claim_deliveries is 'Claims deliveries for one worker: releases its lanes without any, renews its others, and takes free ones.';
