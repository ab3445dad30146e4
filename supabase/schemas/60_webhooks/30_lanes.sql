-- Lanes: an owner's (or a service-wide endpoint's) queue of deliveries, leased as a whole by one worker. Only workers write lanes; others
-- insert arrivals, and an insert never waits. Time is an argument, so tests can span years.

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

-- Insert-only: the writer's transaction may stay open, and holds no row that another writer or a worker needs.
create table keyframe_private.lane_arrivals (
  id bigint generated always as identity primary key,
  lane_id uuid not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
comment on table keyframe_private.lane_arrivals is 'Lanes with new deliveries, until the next claim reads them.';
comment on column keyframe_private.lane_arrivals.lane_id is 'The lane, named by its owner or its service-wide endpoint.';

-- Deliveries come, somebody makes some pending again, or an endpoint is enabled. The owner of a delivery is that of its endpoint.
create function keyframe_private.record_arrivals()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_table_name = 'webhook_endpoints' then
    insert into keyframe_private.lane_arrivals (lane_id) values (coalesce(new.owner_id, new.id));
  elsif tg_op = 'INSERT' then
    insert into keyframe_private.lane_arrivals (lane_id)
    select distinct coalesce(n.owner_id, n.endpoint_id) from changed_to n where n.status = 'pending';
  else -- a recorded attempt is no arrival: its lane is leased
    insert into keyframe_private.lane_arrivals (lane_id)
    select distinct coalesce(n.owner_id, n.endpoint_id) from changed_to n join changed_from o using (id) where n.status = 'pending'
      and n.attempts <= o.attempts;
  end if;
  if found then
    perform keyframe_private.kick_unless_running('deliver');
  end if;
  return null;
end $$;

-- Each lane is looked up once (offset 0), not for each of its arrivals: a hundred thousand of one lane took a call seconds.
create function keyframe_private.arrivals_aside(at timestamptz)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.is_any_aside('lane') then
    return '{}';
  end if;
  return array(
    select a.lane_id from (select distinct r.lane_id from keyframe_private.lane_arrivals r offset 0) a
    where keyframe_private.is_set_aside('lane', a.lane_id::text, at));
end $$;
comment on function keyframe_private.arrivals_aside is 'The lanes for which something has arrived and that are set aside now.';

-- Ordered: a plan for any time would read all lanes. Passes over locked arrivals: a call that waits would return at once, again and again.
create function keyframe_private.has_due_delivery(at timestamptz)
returns boolean language sql volatile set search_path = '' as $$
  select coalesce(
    (select true from keyframe_private.lane_arrivals a
      where a.lane_id not in (select unnest(keyframe_private.arrivals_aside(at)))
      order by a.id limit 1 for update skip locked),
    (select true from keyframe_private.lanes l
      where l.due_at <= at and not keyframe_private.is_set_aside('lane', l.id::text, at)
      order by l.due_at limit 1), false)
$$;
comment on function keyframe_private.has_due_delivery is 'Whether a claim might get a lane.';

create function keyframe_private.put_lanes(wanted keyframe_private.lanes[], adds boolean)
returns void language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := array(select w.id from unnest(wanted) w);
begin
  if adds then
    -- In order: two claims that insert the same lanes wait for each other, and do not deadlock.
    insert into keyframe_private.lanes (id, due_at, served_at, token)
    select w.id, w.due_at, w.served_at, w.token from unnest(wanted) w order by w.id on conflict do nothing;
  else
    update keyframe_private.lanes l set due_at = w.due_at, served_at = w.served_at, token = w.token
    from unnest(wanted) w where l.id = w.id and l.id = any (ids); -- looked up one by one
  end if;
end $$;
comment on function keyframe_private.put_lanes is 'Inserts or updates lanes.';

-- Like claim_rows. The worker waits for this call. Lanes that cannot be written stay unchanged.
create function keyframe_private.write_lanes(wanted keyframe_private.lanes[], one_by_one boolean, adds boolean default false)
returns uuid[] language plpgsql volatile set search_path = '' set lock_timeout = '500ms' as $$
declare
  lane keyframe_private.lanes;
  written uuid[] := '{}';
begin
  if cardinality(wanted) = 0 then
    return written;
  end if;
  if not one_by_one then
    begin
      perform keyframe_private.put_lanes(wanted, adds);
      written := array(select w.id from unnest(wanted) w);
    exception when others or assert_failure then
      one_by_one := true;
    end;
  end if;
  if one_by_one then
    perform set_config('lock_timeout', '20ms', true);
    foreach lane in array wanted loop
      exit when keyframe_private.is_out_of_time();
      begin
        perform keyframe_private.put_lanes(array[lane], adds);
        written := written || lane.id;
      exception when others or query_canceled or assert_failure then
        perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
        perform keyframe_private.set_aside('lane', lane.id::text, sqlstate, sqlerrm);
      end;
    end loop;
  end if;
  if keyframe_private.is_any_aside('lane') then
    perform keyframe_private.forget_aside('{lane}', written::text[]);
  end if;
  return written;
end $$;
comment on function keyframe_private.write_lanes is 'Writes lanes that are new or locked, all by one statement, or, when that raises or one_by_one, one by one; sets aside those that raise or take all the time of the call. Returns those that are written.';

-- A leased lane needs nothing: its holder looks for deliveries before it releases the lane, under this lock.
create function keyframe_private.read_arrivals(at timestamptz, one_by_one boolean, out may_be_more boolean, out tried uuid[])
language plpgsql volatile set search_path = '' as $$
declare
  most constant integer := 5000;
  aside constant uuid[] := keyframe_private.arrivals_aside(at);
  arrived bigint[];
  arrived_for uuid[];
  wanted keyframe_private.lanes[];
  written uuid[];
begin
  -- Only the missing ones: on conflict do nothing would wait for a lane that is being updated.
  wanted := array(
    select row(a.lane_id, 'infinity', '-infinity', null)::keyframe_private.lanes
      from (select distinct lane_id from keyframe_private.lane_arrivals) a
    where (select l.id from keyframe_private.lanes l where l.id = a.lane_id) is null
      and a.lane_id not in (select unnest(aside)) limit most);
  tried := array(select w.id from unnest(wanted) w);
  perform keyframe_private.write_lanes(wanted, one_by_one, adds => true);
  -- Looked up one by one, so that those of a lane that somebody has locked are passed over, however many they are.
  select array_agg(r.id), array_agg(r.lane_id) into arrived, arrived_for from (
    select a.id, a.lane_id from keyframe_private.lane_arrivals a
    cross join lateral (select from keyframe_private.lanes l where l.id = a.lane_id for update skip locked) l
    where a.lane_id not in (select unnest(aside)) order by a.id limit most for update of a skip locked) r;
  begin
    delete from keyframe_private.lane_arrivals a where a.id = any (arrived);
  exception when others or assert_failure then
    raise warning 'Arrivals could not be deleted: % (%)', sqlerrm, sqlstate;
    arrived := '{}';
    arrived_for := '{}';
  end;
  -- What somebody holds, or a trigger keeps, cannot be deleted and is read again. So its lanes are made due once a second at most.
  arrived_for := arrived_for || array(
    select h.id from (
      select distinct a.lane_id from keyframe_private.lane_arrivals a
      where a.lane_id not in (select unnest(aside)) limit most) a
    cross join lateral (
      select l.id from keyframe_private.lanes l
      where l.id = a.lane_id and l.token is null and l.served_at not between at - interval '1 second' and at for update skip locked) h);
  wanted := array(
    select row(l.id, least(l.due_at, l.served_at, at), l.served_at, l.token)::keyframe_private.lanes from keyframe_private.lanes l
    where l.id = any (arrived_for) and (l.token is null or l.served_at > at + interval '1 minute')); -- leased before the clock was set back
  written := keyframe_private.write_lanes(wanted, one_by_one);
  insert into keyframe_private.lane_arrivals (lane_id) select w.id from unnest(wanted) w where w.id <> all (written); -- they arrive again
  tried := tried || array(select w.id from unnest(wanted) w);
  may_be_more := coalesce(cardinality(arrived) = most, false);
end $$;
comment on function keyframe_private.read_arrivals is 'Makes the lanes due for which something has arrived; returns whether there may be more, and which lanes it tried to write.';
