-- The claim of both functions: due work becomes ready, and each lane gets its share of the free capacity.

-- How many pieces of work a worker may have open at once. Copies cost memory while the output's host is faster than Storage: 36 stalled
-- ones took 160 MB in all, 96 took 275, and a hosted function has 256.
create function keyframe_private.places_of(queue keyframe_private.work_queue)
returns integer language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'ask' then 96 when 'copy' then 36 when 'deliver' then 440 end;
end $$;

-- How many rows of one resource a worker may have leased: what the others leave of four fifths of the places, so that a fifth stays free for
-- new ones, and of nine tenths with all that is leased; when nearly all places are taken, up to 4. An owner may have as many, but for deliver a
-- half, because it can have twenty endpoints at one host. Deliveries to endpoints that are new or slow are unproven: they share half of the
-- places among themselves, and leave the rest to others. For deliver, with 440 places:
--
--   leased by others                   one may lease another row while it has fewer than   it ends at
--   nothing                            352 − its own                                       176
--   176 of one quick host              176 − its own                                       88
--   200 unproven                       196 − its own, the rest of nine tenths              98
--   430                                (440 − 430) / 6                                     2
--   unproven: nothing                  176 − its own, four fifths of 220                   88
create function keyframe_private.most_of_one(places integer, is_unproven boolean, open bigint, open_unproven bigint)
returns numeric language plpgsql immutable set search_path = '' as $$
declare
  part constant integer := case when is_unproven then places / 2 else places end;
  open_in_part constant bigint := case when is_unproven then open_unproven else open - open_unproven end;
begin
  return greatest(least(part * 4 / 5 - open_in_part, places * 9 / 10 - open), least(4, least(places - open, part - open_in_part) / 6.0));
end $$;

-- An expired lease makes work ready too, and counts as a failure. Work of an accepted run, which is paid for, is abandoned only after
-- several leases expired in a row.
create function keyframe_private.make_ready(wanted_queue keyframe_private.work_queue, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
declare
  due constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'scheduled' and w.due_at <= at order by w.due_at limit 1000 for update skip locked);
  expired constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'leased' and (w.due_at <= at or w.due_at > at + interval '5 minutes') -- the clock was set back
    limit 1000 for update skip locked);
begin
  if due <> '{}' then
    update keyframe_private.work w set state = 'ready' where w.id = any (due);
  end if;
  if expired <> '{}' then
    update keyframe_private.work w
    set state = 'ready', worker_id = null, lease_token = null, last_error = 'lease_expired',
        failures = case when w.kind <> 'submit' and w.last_error is distinct from 'lease_expired' then 1 else w.failures + 1 end
    where w.id = any (expired);
  end if;
end $$;

create function keyframe_private.has_due_work(queues keyframe_private.work_queue[], at timestamptz)
returns boolean language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  one keyframe_private.work_queue;
begin
  foreach one in array queues loop
    if (select true from keyframe_private.work w where w.queue = one and w.state = 'ready' limit 1)
      or (select w.due_at from keyframe_private.work w
          where w.queue = one and w.state = 'scheduled' order by w.due_at limit 1) <= at
      or (select true from keyframe_private.work w where w.queue = one and w.state = 'leased' and w.due_at <= at limit 1) then
      return true;
    end if;
  end loop;
  return false;
end $$;

-- An open lane, and how much of it may be leased.
create type keyframe_private.lane_share as (resource text, lane uuid, most integer);

-- Opens the next lanes with ready work: resource by resource and in each lane by lane, both once around, resuming just past the cursor. If
-- the cursor is at model A and lane 2, these are lanes 3, 1, 2 of model B, then lanes 3, 1, 2 of model A. Each lane costs one probe of the
-- index, and so does each resource that is full; a claim makes a limited number. Owners at their limit are left out. Lanes of deliver are locked, and cleared of work that
-- does not belong there (lock_endpoint_lane). The cursor moves to the last resource and, if it is_cut (there are more), to the last lane.
create function keyframe_private.open_lanes(
  wanted_queue keyframe_private.work_queue, for_worker uuid, max_lanes integer, open_by_resource jsonb, open_by_owner jsonb,
  shares_of_owner integer, open_count bigint, open_unproven bigint, inout cursor_resource text, inout cursor_lane uuid, out lanes keyframe_private.lane_share[], out is_cut boolean)
language plpgsql volatile set search_path = '' as $$
declare
  places constant integer := keyframe_private.places_of(wanted_queue);
  most_of_proven constant numeric := keyframe_private.most_of_one(places, false, open_count, open_unproven);
  most_of_unproven constant numeric := keyframe_private.most_of_one(places, true, open_count, open_unproven);
  first_resource constant text := cursor_resource;
  first_lane constant uuid := cursor_lane;
  has_wrapped boolean := false;
  next_resource text collate "C";
  is_unproven boolean;
  next_lane uuid;
  owner uuid;
  most_of_resource numeric;
  is_past_cursor boolean;
  most integer;
  probes integer := 0;
  opened record;
  cleared integer := 0;
begin
  lanes := '{}';
  is_cut := false;
  loop
    select w.resource, w.is_unproven into next_resource, is_unproven from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'ready' and w.resource > cursor_resource order by w.resource limit 1;
    if not found and not has_wrapped then
      has_wrapped := true;
      cursor_resource := '';
      continue;
    elsif not found or has_wrapped and next_resource > first_resource then
      return;
    end if;
    cursor_resource := next_resource;
    most_of_resource := case when is_unproven then most_of_unproven else most_of_proven end;
    if coalesce((open_by_resource ->> next_resource)::bigint, 0) >= most_of_resource then
      probes := probes + 1;
      if probes = 4 * max_lanes then
        is_cut := true;
        return;
      end if;
      continue;
    end if;
    next_lane := first_lane;
    is_past_cursor := true;
    loop
      select w.lane, w.owner_id into next_lane, owner from keyframe_private.work w
      where w.queue = wanted_queue and w.state = 'ready' and (w.resource, w.lane) > (next_resource, next_lane) and w.resource <= next_resource
      order by w.resource, w.lane limit 1;
      if not found and is_past_cursor then
        is_past_cursor := false;
        next_lane := '00000000-0000-0000-0000-000000000000';
        continue;
      end if;
      exit when not found or not is_past_cursor and next_lane > first_lane;
      probes := probes + 1;
      most := case when shares_of_owner * coalesce((open_by_owner ->> concat(owner, is_unproven))::bigint, 0) < most_of_resource then places else 0 end;
      if most > 0 and wanted_queue = 'deliver' then
        opened := keyframe_private.lock_endpoint_lane(next_lane, next_resource, for_worker);
        most := opened.most;
        cleared := cleared + opened.cleared;
      end if;
      if most > 0 then
        lanes := lanes || row(next_resource, next_lane, most)::keyframe_private.lane_share;
      end if;
      if cardinality(lanes) = max_lanes or probes = 4 * max_lanes or cleared >= 1000 then
        is_cut := true;
        cursor_lane := next_lane;
        return;
      end if;
    end loop;
  end loop;
end $$;

-- Leases ready work for a worker: one row of each lane in turn, until a resource, an owner or the worker has reached its limit. If Ada's
-- lane has three rows, Bob's one and Cem's two, a claim of four leases Ada 1, Bob 1, Cem 1, Ada 2. The next claim resumes after Cem's lane.
-- Of a lane it takes at most its equal part of max_rows, even if another lane has less. The indexes are used whatever the statistics say,
-- because the table is empty in one moment and full in the next.
create function keyframe_private.lease_work(
  wanted_queue keyframe_private.work_queue, for_worker uuid, lease interval, max_rows integer, at timestamptz,
  inout cursor_resource text, inout cursor_lane uuid, out leased keyframe_private.work[], out is_cut boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare
  places constant integer := keyframe_private.places_of(wanted_queue);
  shares_of_owner constant integer := case wanted_queue when 'deliver' then 2 else 1 end;
  token constant uuid := gen_random_uuid();
  open_count bigint;
  open_unproven bigint;
  by_resource jsonb;
  by_owner jsonb;
  lanes keyframe_private.lane_share[];
begin
  perform keyframe_private.make_ready(wanted_queue, at);
  with mine as materialized (
    select w.resource, w.owner_id, w.is_unproven from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'leased' and w.worker_id = for_worker
  )
  select (select count(*) from mine), (select count(*) from mine m where m.is_unproven),
    (select coalesce(jsonb_object_agg(r.resource, r.n), '{}') from (select m.resource, count(*) as n from mine m group by 1) r),
    (select coalesce(jsonb_object_agg(o.key, o.n), '{}') from (select concat(m.owner_id, m.is_unproven) as key, count(*) as n from mine m group by 1) o)
  into open_count, open_unproven, by_resource, by_owner;
  leased := '{}';
  is_cut := false;
  if open_count >= places then
    return;
  end if;
  select o.* into cursor_resource, cursor_lane, lanes, is_cut
  from keyframe_private.open_lanes(
    wanted_queue, for_worker, least(max_rows, 100), by_resource, by_owner, shares_of_owner, open_count, open_unproven, cursor_resource, cursor_lane) o;
  if cardinality(lanes) = 0 then
    return;
  end if;
  with candidate as (
    select r.id, r.owner_id, r.is_unproven, l.resource, l.lane, l.turn_of_lane, row_number() over (partition by l.turn_of_lane order by r.id) as turn
    from unnest(lanes) with ordinality l (resource, lane, most, turn_of_lane)
    -- A lane is read as a range of the index. `lane = … order by id` may be planned as a walk along the primary key, past the rows of all
    -- users. The upper bound compares the lane alone: an index scan does not stop at a row comparison, and would read on into the next lanes.
    cross join lateral (
      select w.id, w.owner_id, w.is_unproven from keyframe_private.work w
      where w.queue = wanted_queue and w.state = 'ready' and w.resource = l.resource
        and (w.lane, w.id) > (l.lane, 0) and w.lane <= l.lane
      order by w.lane, w.id limit least(l.most, ceil(max_rows::numeric / cardinality(lanes))) for update skip locked) r
  ), counted as (
    select c.id, c.is_unproven, c.lane, c.turn_of_lane,
      row_number() over (order by c.turn, c.turn_of_lane) - 1 as before_all,
      count(*) filter (where c.is_unproven) over (order by c.turn, c.turn_of_lane rows unbounded preceding exclude current row) as before_unproven,
      row_number() over (partition by c.resource order by c.turn, c.turn_of_lane) - 1
        + coalesce((by_resource ->> c.resource)::bigint, 0) as of_resource,
      row_number() over (partition by c.owner_id, c.is_unproven order by c.turn, c.turn_of_lane) - 1
        + coalesce((by_owner ->> concat(c.owner_id, c.is_unproven))::bigint, 0) as of_owner
    from candidate c
  ), chosen as (
    select c.id, c.lane, c.turn_of_lane from counted c
    where c.before_all < least(max_rows, places - open_count)
      and greatest(c.of_resource, shares_of_owner * c.of_owner)
        < keyframe_private.most_of_one(places, c.is_unproven, open_count + c.before_all, open_unproven + c.before_unproven)
  ), taken as (
    update keyframe_private.work w
    set state = 'leased', worker_id = for_worker, lease_token = token, due_at = at + lease
    where w.id = any (array(select c.id from chosen c))
    returning w.*
  )
  select coalesce((select array_agg(row(t.*)::keyframe_private.work order by t.id) from taken t), '{}'),
    coalesce((select c.lane from chosen c order by c.turn_of_lane desc limit 1), cursor_lane)
  into leased, cursor_lane;
end $$;

-- Waits at most a second, because the call holds a connection. True: something may be due. Checks run every 1/50 of the wait, and use at
-- most a tenth of the time. One worker of each function waits; the calls of the others return true at once. Work of generate takes seconds
-- at the provider, so 5 ms is enough: with 2 ms, waiting used 4 % of a core.
create function keyframe_private.wait_for_due(function_name text, queues keyframe_private.work_queue[], wait_ms integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  ends constant timestamptz := clock_timestamp() + make_interval(secs => least(wait_ms, 1000) / 1000.0);
  checked_at timestamptz;
  rest double precision;
begin
  if wait_ms <= 0 or not keyframe_private.acquire_lock('waits ' || function_name, null, waits => false) then
    return true;
  end if;
  loop
    checked_at := clock_timestamp();
    if keyframe_private.has_due_work(queues, checked_at) then
      return true;
    end if;
    rest := greatest(
      least(wait_ms, 1000) / 50000.0, case function_name when 'generate' then 0.005 else 0 end,
      9 * extract(epoch from clock_timestamp() - checked_at));
    if clock_timestamp() + make_interval(secs => rest) >= ends then
      return false;
    end if;
    perform pg_sleep(rest);
  end loop;
end $$;
