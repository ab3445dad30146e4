-- The claim of both functions. lease_work makes due work ready (make_ready), counts what the worker has leased already (count_leased), finds
-- lanes in the order of their turns (find_lanes), chooses a row of each in turn up to the limits (choose_rows), and leases these.
--
-- An example: the last claim ended at Bob's lane of model A, and these rows are ready:
--   model A: Ada's lane a1 a2 a3, Bob's b1, Cem's c1 c2
--   model B: Dan's lane d1
-- The next claim begins after that lane: with model B, then model A from Cem on. So the turns are Dan, Cem, Ada, Bob, and the order of the rows
-- is d1 c1 a1 b1, c2 a2, a3. A claim of five leases d1 c1 a1 b1 c2, and the one after it begins after Bob's lane again.

-- How many pieces of work a worker may have leased at once. Copies cost memory while the output's host is faster than Storage: 36 stalled
-- ones took 160 MB in all, 96 took 275, and a hosted function has 256.
create function keyframe_private.capacity_of(queue keyframe_private.work_queue)
returns integer language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'ask' then 96 when 'copy' then 36 when 'deliver' then 440 end;
end $$;

-- How long a lease lasts. A task of generate normally stops before another worker can lease it: workMs and abortGraceMs are 85 s in all.
create function keyframe_private.lease_of(queue keyframe_private.work_queue)
returns interval language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'deliver' then interval '30 seconds' else interval '90 seconds' end;
end $$;

-- A resource may lease another row while the worker has fewer of its rows leased than this limit. All counts are those of one worker.
--
--   limit = max(min(4/5 part − leased in part, 9/10 capacity − leased), min(4, free / 6))
--
-- free is the lesser of what is free of the capacity and of the part. part is the whole capacity. Deliveries to endpoints that are new or
-- slow are unproven: their part is half, so that they leave the rest to others. Each row that is leased lowers the limit, so a resource that
-- is alone ends at two fifths. A fifth of a part and a tenth of the capacity stay free for resources that come later. min(4, free / 6) is for a
-- worker that is nearly full: it still gives a newcomer a few rows, and never more than a sixth of what is free. The same limit holds for an
-- owner; for deliver an owner's rows count twice, because an owner can have twenty endpoints at one host. For deliver, with a capacity of 440
-- (test/db/work/shares.test.ts has the same table):
--
--   leased by others                   limit of a resource                  it ends at
--   nothing                            352 − its own rows                   176
--   176 of one quick host              176 − its own                        88
--   200 unproven                       196 − its own, of nine tenths        98
--   430                                (440 − 430 − its own) / 6            2
--   unproven: nothing                  176 − its own, four fifths of 220    88
create function keyframe_private.limit_for_next_row(capacity integer, is_unproven boolean, leased bigint, leased_unproven bigint)
returns numeric language plpgsql immutable set search_path = '' as $$
declare
  part constant integer := case when is_unproven then capacity / 2 else capacity end;
  leased_in_part constant bigint := case when is_unproven then leased_unproven else leased - leased_unproven end;
begin
  return greatest(
    least(part * 4 / 5 - leased_in_part, capacity * 9 / 10 - leased),
    least(4, least(capacity - leased, part - leased_in_part) / 6.0));
end $$;

-- Makes due work ready, and work whose lease has expired. An expired lease counts as a failure. A submit counts every failure; other work of
-- generate only leases that expired in a row, because its run is paid for. A delivery is never abandoned for it, because whole workers are
-- restarted or frozen. From its second expired lease on it waits for a growing, random time: one that ends its worker is parted from those
-- that were leased with it.
create function keyframe_private.make_ready(queue keyframe_private.work_queue, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
declare
  due constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = make_ready.queue and w.state = 'scheduled' and w.due_at <= at order by w.due_at limit 1000 for update skip locked);
  expired constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = make_ready.queue and w.state = 'leased' and (w.due_at <= at or w.due_at > at + interval '5 minutes') -- the clock was set back
    limit 1000 for update skip locked);
begin
  if due <> '{}' then
    update keyframe_private.work w set state = 'ready' where w.id = any (due);
  end if;
  if expired <> '{}' then
    update keyframe_private.work w
    set state = case when w.kind = 'deliver' and w.failures > 0 then 'scheduled' else 'ready' end::keyframe_private.work_state,
        due_at = case when w.kind = 'deliver' and w.failures > 0 then at + keyframe_private.retry_delay(w.failures) else w.due_at end,
        worker_id = null, lease_token = null, last_error = 'lease_expired',
        failures = case when w.kind <> 'submit' and w.last_error is distinct from 'lease_expired' then 1 else w.failures + 1 end
    where w.id = any (expired);
  end if;
end $$;

-- What a worker has leased of a queue. by_owner has one count of an owner's proven rows and one of the unproven; each row counts owner_weight.
create type keyframe_private.leased_counts as (total bigint, unproven bigint, by_resource jsonb, by_owner jsonb, owner_weight integer);

create function keyframe_private.count_leased(queue keyframe_private.work_queue, for_worker uuid)
returns keyframe_private.leased_counts language plpgsql volatile set search_path = '' as $$
declare
  weight constant integer := case queue when 'deliver' then 2 else 1 end;
begin
  return (
    with mine as materialized (
      select w.resource, w.owner_id, w.is_unproven from keyframe_private.work w
      where w.queue = count_leased.queue and w.state = 'leased' and w.worker_id = for_worker
    )
    select row((select count(*) from mine), (select count(*) from mine m where m.is_unproven),
      (select jsonb_object_agg(r.resource, r.n) from (select m.resource, count(*) as n from mine m group by 1) r),
      (select jsonb_object_agg(o.id, o.n) from (select concat(m.owner_id, m.is_unproven) as id, weight * count(*) as n from mine m group by 1) o),
      weight));
end $$;

-- Where a claim ended. The next one begins after it, and wraps around at the end of the index: with the resources A, B, C and the cursor at B
-- in the order C, A, B. Lanes within a resource wrap around in the same way.
create type keyframe_private.claim_cursor as (resource text, lane uuid);

-- Returns a ready row of the next resource. The walk begins after the cursor's resource, and ends with it: then null. One probe of the index.
create function keyframe_private.next_resource(queue keyframe_private.work_queue, cursor_resource text, previous text)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_restarted boolean := previous is not null and previous collate "C" <= cursor_resource;
  ready keyframe_private.work;
begin
  loop
    select w.* into ready from keyframe_private.work w
    where w.queue = next_resource.queue and w.state = 'ready' and w.resource > coalesce(previous, cursor_resource) order by w.resource limit 1;
    exit when found or has_restarted;
    has_restarted := true;
    previous := ''; -- on from the start
  end loop;
  return case when not has_restarted or ready.resource <= cursor_resource then ready end;
end $$;

-- The same for the lanes of a resource.
create function keyframe_private.next_lane(queue keyframe_private.work_queue, resource text, cursor_lane uuid, previous uuid)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_restarted boolean := previous is not null and previous <= cursor_lane;
  ready keyframe_private.work;
begin
  loop
    select w.* into ready from keyframe_private.work w
    where w.queue = next_lane.queue and w.state = 'ready' and w.resource <= next_lane.resource
      and (w.resource, w.lane) > (next_lane.resource, coalesce(previous, cursor_lane)) order by w.resource, w.lane limit 1;
    exit when found or has_restarted;
    has_restarted := true;
    previous := '00000000-0000-0000-0000-000000000000';
  end loop;
  return case when not has_restarted or ready.lane <= cursor_lane then ready end;
end $$;

-- A lane to lease from, at most the max_rows of its endpoint, and how much of its resource and of its owner the worker has leased.
create type keyframe_private.claimable_lane as (resource text, lane uuid, max_rows integer, leased_of_resource bigint, leased_of_owner bigint);

-- The lanes of one resource after the other, without those at a limit. Only the cursor's resource begins after the cursor's lane; any other
-- begins at a random lane. Lanes of deliver are locked, and cleared of work that does not belong there (lock_endpoint_lane). is_cut: there
-- are more lanes than a claim may visit. max_to_lease: the most that these resources can lease now. A leased row adds one to the count and
-- takes one from the limit, so they meet halfway; a worker that is nearly full still leases a few rows.
create function keyframe_private.find_lanes(
  queue keyframe_private.work_queue, for_worker uuid, max_lanes integer, counts keyframe_private.leased_counts,
  from_cursor keyframe_private.claim_cursor, out lanes keyframe_private.claimable_lane[], out max_to_lease integer,
  out next_cursor keyframe_private.claim_cursor, out is_cut boolean)
language plpgsql volatile set search_path = '' as $$
declare
  capacity constant integer := keyframe_private.capacity_of(queue);
  max_probes constant integer := 4 * max_lanes;
  resource_row keyframe_private.work;
  row_limit numeric;
  leased_of_resource bigint;
  cursor_lane uuid;
  lane_row keyframe_private.work;
  leased_of_owner bigint;
  max_rows integer;
  probes integer := 0;
  cleared_rows integer := 0;
begin
  lanes := '{}';
  max_to_lease := 0;
  next_cursor := from_cursor;
  while probes < max_probes loop
    resource_row := keyframe_private.next_resource(queue, from_cursor.resource, resource_row.resource);
    exit when resource_row.id is null;
    probes := probes + 1;
    next_cursor.resource := resource_row.resource;
    row_limit := keyframe_private.limit_for_next_row(capacity, resource_row.is_unproven, counts.total, counts.unproven);
    leased_of_resource := coalesce((counts.by_resource ->> resource_row.resource)::bigint, 0);
    continue when leased_of_resource >= row_limit;
    max_to_lease := max_to_lease + greatest(4, ceil((row_limit - leased_of_resource) / 2));
    cursor_lane := case when resource_row.resource = from_cursor.resource then from_cursor.lane else gen_random_uuid() end;
    lane_row := null;
    loop
      lane_row := keyframe_private.next_lane(queue, resource_row.resource, cursor_lane, lane_row.lane);
      exit when lane_row.id is null;
      probes := probes + 1;
      leased_of_owner := coalesce((counts.by_owner ->> concat(lane_row.owner_id, resource_row.is_unproven))::bigint, 0);
      max_rows := case when leased_of_owner < row_limit then capacity else 0 end;
      if max_rows > 0 and queue = 'deliver' then
        select l.max_rows, cleared_rows + l.cleared into max_rows, cleared_rows
        from keyframe_private.lock_endpoint_lane(lane_row.lane, resource_row.resource, for_worker) l;
      end if;
      if max_rows > 0 then
        lanes := lanes || row(resource_row.resource, lane_row.lane, max_rows, leased_of_resource, leased_of_owner)::keyframe_private.claimable_lane;
      end if;
      if cardinality(lanes) = max_lanes or probes >= max_probes or cleared_rows >= 1000 then
        is_cut := true;
        next_cursor.lane := lane_row.lane;
        return;
      end if;
    end loop;
  end loop;
  is_cut := probes >= max_probes;
end $$;

-- Locks ready rows of these lanes, as many of each; what one lane lacks is not given to another. In each round every lane has a turn with
-- its next row. A row is chosen if the limits still allow it after all rows before it have been leased. last_lane: the chosen lane whose
-- turn is last.
create function keyframe_private.choose_rows(
  queue keyframe_private.work_queue, lanes keyframe_private.claimable_lane[], max_to_lease integer, max_rows integer,
  counts keyframe_private.leased_counts, out ids bigint[], out last_lane uuid)
language plpgsql volatile set search_path = '' as $$
declare
  capacity constant integer := keyframe_private.capacity_of(queue);
  rows_per_lane constant integer := ceil(least(max_rows, max_to_lease)::numeric / cardinality(lanes));
begin
  with candidate as (
    select r.*, l.*, row_number() over (partition by l.lane_turn order by r.id) as round
    from unnest(lanes) with ordinality l (resource, lane, max_rows, leased_of_resource, leased_of_owner, lane_turn)
    -- A lane is read as a range of the index. `lane = … order by id` may be planned as a walk along the primary key, past all other
    -- rows. The upper bound compares the lane alone: an index scan does not stop at a row comparison, and would read on.
    cross join lateral (
      select w.id, w.owner_id, w.is_unproven from keyframe_private.work w
      where w.queue = choose_rows.queue and w.state = 'ready' and w.resource = l.resource
        and (w.lane, w.id) > (l.lane, 0) and w.lane <= l.lane
      order by w.lane, w.id limit least(l.max_rows, rows_per_lane) for update skip locked) r
  ), counted as (
    select c.*, count(*) over earlier as earlier, count(*) filter (where c.is_unproven) over earlier as earlier_unproven,
      count(*) over of_resource as earlier_of_resource, counts.owner_weight * count(*) over of_owner as earlier_of_owner
    from candidate c
    window earlier as (order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding),
      of_resource as (partition by c.resource order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding),
      of_owner as (partition by c.owner_id, c.is_unproven order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding)
  )
  select array_agg(c.id), (array_agg(c.lane order by c.lane_turn desc))[1] into ids, last_lane
  from counted c
  where c.earlier < least(choose_rows.max_rows, capacity - counts.total)
    and greatest(c.leased_of_resource + c.earlier_of_resource, c.leased_of_owner + c.earlier_of_owner) < keyframe_private.limit_for_next_row(
      capacity, c.is_unproven, counts.total + c.earlier, counts.unproven + c.earlier_unproven);
end $$;

-- cursors: a claim_cursor for each queue. The table swings between empty and full faster than it is analyzed, so we force index scans.
create function keyframe_private.lease_work(
  queue keyframe_private.work_queue, for_worker uuid, max_rows integer, at timestamptz, inout cursors jsonb,
  out leased keyframe_private.work[], out is_cut boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  from_cursor constant keyframe_private.claim_cursor := jsonb_populate_record(
    row('', '00000000-0000-0000-0000-000000000000')::keyframe_private.claim_cursor, cursors -> queue::text);
  token constant uuid := gen_random_uuid();
  counts keyframe_private.leased_counts;
  walk record;
  chosen record;
  next_cursor keyframe_private.claim_cursor;
begin
  perform keyframe_private.make_ready(queue, at);
  counts := keyframe_private.count_leased(queue, for_worker);
  leased := '{}';
  is_cut := false;
  if counts.total >= keyframe_private.capacity_of(queue) then
    return;
  end if;
  walk := keyframe_private.find_lanes(queue, for_worker, least(max_rows, 100), counts, from_cursor);
  is_cut := walk.is_cut;
  next_cursor := walk.next_cursor;
  if walk.lanes <> '{}' then
    chosen := keyframe_private.choose_rows(queue, walk.lanes, walk.max_to_lease, max_rows, counts);
    with taken as (
      update keyframe_private.work w
      set state = 'leased', worker_id = for_worker, lease_token = token, due_at = at + keyframe_private.lease_of(lease_work.queue)
      where w.id = any (chosen.ids) returning w.*
    )
    select coalesce(array_agg(row(t.*)::keyframe_private.work order by t.id), '{}') into leased from taken t;
    next_cursor.lane := coalesce(chosen.last_lane, next_cursor.lane);
  end if;
  cursors := cursors || jsonb_build_object(queue::text, next_cursor);
end $$;

create function keyframe_private.has_due_work(queues keyframe_private.work_queue[], at timestamptz)
returns boolean language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  one keyframe_private.work_queue;
begin
  foreach one in array queues loop
    if (select true from keyframe_private.work w where w.queue = one and w.state = 'ready' limit 1)
      or (select w.due_at from keyframe_private.work w where w.queue = one and w.state = 'scheduled' order by w.due_at limit 1) <= at
      or (select true from keyframe_private.work w where w.queue = one and w.state = 'leased' and w.due_at <= at limit 1) then
      return true;
    end if;
  end loop;
  return false;
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
