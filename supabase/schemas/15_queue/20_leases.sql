-- The claim of both functions: due work becomes ready, and each lane gets its share of the free capacity.

-- How many pieces of work a worker may have open at once. Copies cost memory while the output's host is faster than Storage: 36 stalled
-- ones took 160 MB in all, 96 took 275, and a hosted function has 256.
create function keyframe_private.capacity_of(queue keyframe_private.work_queue)
returns integer language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'ask' then 96 when 'copy' then 36 when 'deliver' then 440 end;
end $$;

-- How long a lease lasts. LEASE_SECONDS in keyframe-generate/tasks/claim.ts is the same.
create function keyframe_private.lease_of(queue keyframe_private.work_queue)
returns interval language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'deliver' then interval '30 seconds' else interval '90 seconds' end;
end $$;

-- A resource may lease another row while it has fewer leased than this. The limit falls with each row, so that one resource alone ends at
-- two fifths of the capacity. It is what the others leave of four fifths, so that a fifth stays free for new ones, and of nine tenths with
-- all that is leased; when nearly everything is leased, up to 4. The same holds for an owner; for deliver an owner's rows count twice,
-- because an owner can have twenty endpoints at one host. Deliveries to endpoints that are new or slow are unproven: they share half of the
-- capacity among themselves, and leave the rest to others. For deliver, with a capacity of 440 (test/db/work/shares.test.ts has the same
-- table):
--
--   leased by others                   limit of a resource                  it ends at
--   nothing                            352 − its own rows                   176
--   176 of one quick host              176 − its own                        88
--   200 unproven                       196 − its own, of nine tenths        98
--   430                                (440 − 430 − its own) / 6            2
--   unproven: nothing                  176 − its own, four fifths of 220    88
create function keyframe_private.limit_for_next_row(capacity integer, is_unproven boolean, open bigint, open_unproven bigint)
returns numeric language plpgsql immutable set search_path = '' as $$
declare
  part constant integer := case when is_unproven then capacity / 2 else capacity end;
  open_in_part constant bigint := case when is_unproven then open_unproven else open - open_unproven end;
begin
  return greatest(least(part * 4 / 5 - open_in_part, capacity * 9 / 10 - open), least(4, least(capacity - open, part - open_in_part) / 6.0));
end $$;

-- An expired lease makes work ready too, and counts as a failure. A submit counts every failure; other work of generate only leases that
-- expired in a row, because its run is paid for. A delivery is never abandoned for it, because whole workers are restarted or frozen. From
-- its second expired lease on it waits for a growing, random time: one that ends its worker is parted from those that were leased with it.
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
    set state = case when w.kind = 'deliver' and w.failures > 0 then 'scheduled' else 'ready' end::keyframe_private.work_state,
        due_at = case when w.kind = 'deliver' and w.failures > 0 then at + keyframe_private.retry_delay(w.failures) else w.due_at end,
        worker_id = null, lease_token = null, last_error = 'lease_expired',
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

-- What a worker has leased of a queue. by_owner counts proven and unproven rows of an owner apart, and each as owner_weight.
create type keyframe_private.open_work as (total bigint, unproven bigint, by_resource jsonb, by_owner jsonb, owner_weight integer);

create function keyframe_private.open_work_of(wanted_queue keyframe_private.work_queue, for_worker uuid)
returns keyframe_private.open_work language plpgsql volatile set search_path = '' as $$
declare
  weight constant integer := case wanted_queue when 'deliver' then 2 else 1 end;
  open_now keyframe_private.open_work;
begin
  with mine as materialized (
    select w.resource, w.owner_id, w.is_unproven from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'leased' and w.worker_id = for_worker
  )
  select (select count(*) from mine), (select count(*) from mine m where m.is_unproven),
    (select jsonb_object_agg(r.resource, r.n) from (select m.resource, count(*) as n from mine m group by 1) r),
    (select jsonb_object_agg(o.id, o.n) from (select concat(m.owner_id, m.is_unproven) as id, weight * count(*) as n from mine m group by 1) o),
    weight into open_now;
  return open_now;
end $$;

-- Where the last claim ended: the next one begins just past it. Resources and lanes are walked in a circle, which ends at the cursor.
create type keyframe_private.claim_cursor as (resource text, lane uuid);

-- A ready row of the next resource after one; after null: just past the cursor. Null when the circle has ended. One probe of the index.
create function keyframe_private.next_resource(wanted_queue keyframe_private.work_queue, cursor_resource text, after text)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_wrapped constant boolean := after collate "C" <= cursor_resource;
  ready keyframe_private.work;
begin
  if has_wrapped is not true then
    select w.* into ready from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'ready' and w.resource > coalesce(after, cursor_resource) order by w.resource limit 1;
  end if;
  if ready.id is null then
    select w.* into ready from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'ready' and w.resource > case when has_wrapped then after else '' end
      and w.resource <= cursor_resource order by w.resource limit 1;
  end if;
  return ready;
end $$;

-- The same for the lanes of a resource.
create function keyframe_private.next_lane(wanted_queue keyframe_private.work_queue, of_resource text, cursor_lane uuid, after uuid)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_wrapped constant boolean := after <= cursor_lane;
  ready keyframe_private.work;
begin
  if has_wrapped is not true then
    select w.* into ready from keyframe_private.work w
    where w.queue = wanted_queue and w.state = 'ready' and w.resource <= of_resource
      and (w.resource, w.lane) > (of_resource, coalesce(after, cursor_lane)) order by w.resource, w.lane limit 1;
    if found then
      return ready;
    end if;
  end if;
  select w.* into ready from keyframe_private.work w
  where w.queue = wanted_queue and w.state = 'ready' and w.resource <= of_resource
    and (w.resource, w.lane) > (of_resource, case when has_wrapped then after else '00000000-0000-0000-0000-000000000000' end)
  order by w.resource, w.lane limit 1;
  return case when ready.lane <= cursor_lane then ready end;
end $$;

-- A lane to lease from. max_rows: what its endpoint may still have leased; for generate all of the capacity. lease_work applies the other limits.
create type keyframe_private.open_lane as (resource text, lane uuid, max_rows integer);

-- The next lanes with ready work, resource by resource. If the last claim ended at lane 2 of model A, these are the lanes of model B from
-- a random one on, then lanes 3, 1, 2 of model A. Resources and owners at their limit are left out. Lanes of deliver are locked, and cleared
-- of work that does not belong there (lock_endpoint_lane). Each resource and each lane is a probe of the index, of which a claim makes a
-- limited number. is_cut: there are more lanes, and the next claim begins there.
--
-- free: the most that these resources can lease now. Each leased row counts against the limit and lowers it by one, so this is half of what
-- is left, or the few rows of a worker that is nearly full.
create function keyframe_private.open_lanes(
  wanted_queue keyframe_private.work_queue, for_worker uuid, max_lanes integer, open_now keyframe_private.open_work,
  began keyframe_private.claim_cursor, out lanes keyframe_private.open_lane[], out free integer, out reached keyframe_private.claim_cursor,
  out is_cut boolean)
language plpgsql volatile set search_path = '' as $$
declare
  capacity constant integer := keyframe_private.capacity_of(wanted_queue);
  row_limit numeric;
  open_of_resource bigint;
  cursor_lane uuid;
  of_resource keyframe_private.work;
  of_lane keyframe_private.work;
  locked record;
  max_rows integer;
  probes integer := 0;
  cleared integer := 0;
begin
  lanes := '{}';
  free := 0;
  reached := began;
  loop
    is_cut := probes >= 4 * max_lanes;
    of_resource := keyframe_private.next_resource(wanted_queue, began.resource, of_resource.resource);
    exit when is_cut or of_resource.id is null;
    reached.resource := of_resource.resource;
    probes := probes + 1;
    row_limit := keyframe_private.limit_for_next_row(capacity, of_resource.is_unproven, open_now.total, open_now.unproven);
    open_of_resource := coalesce((open_now.by_resource ->> of_resource.resource)::bigint, 0);
    continue when open_of_resource >= row_limit;
    free := free + greatest(4, ceil((row_limit - open_of_resource) / 2));
    cursor_lane := case when of_resource.resource = began.resource then began.lane else gen_random_uuid() end;
    of_lane := null;
    loop
      of_lane := keyframe_private.next_lane(wanted_queue, of_resource.resource, cursor_lane, of_lane.lane);
      exit when of_lane.id is null;
      probes := probes + 1;
      max_rows := case
        when coalesce((open_now.by_owner ->> concat(of_lane.owner_id, of_resource.is_unproven))::bigint, 0) < row_limit then capacity else 0 end;
      if max_rows > 0 and wanted_queue = 'deliver' then
        locked := keyframe_private.lock_endpoint_lane(of_lane.lane, of_resource.resource, for_worker);
        max_rows := locked.max_rows;
        cleared := cleared + locked.cleared;
      end if;
      if max_rows > 0 then
        lanes := lanes || row(of_resource.resource, of_lane.lane, max_rows)::keyframe_private.open_lane;
      end if;
      is_cut := cardinality(lanes) = max_lanes or probes >= 4 * max_lanes or cleared >= 1000;
      if is_cut then
        reached.lane := of_lane.lane;
        return;
      end if;
    end loop;
  end loop;
end $$;

-- Leases ready work for a worker: one row of each lane in turn, until a resource, an owner or the worker has reached its limit. If Ada's
-- lane has three rows, Bob's one and Cem's two, a claim of four leases Ada 1, Bob 1, Cem 1, Ada 2. The next claim resumes after Cem's lane:
-- cursors has a cursor for each queue, whose lane is the last one leased from. Of a lane it takes at most its equal part of what may be
-- leased, even if another lane has less. The table swings between empty and full faster than it is analyzed, so we force index scans.
create function keyframe_private.lease_work(
  wanted_queue keyframe_private.work_queue, for_worker uuid, lease interval, max_rows integer, at timestamptz, inout cursors jsonb,
  out leased keyframe_private.work[], out is_cut boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  capacity constant integer := keyframe_private.capacity_of(wanted_queue);
  began constant keyframe_private.claim_cursor := jsonb_populate_record(
    row('', '00000000-0000-0000-0000-000000000000')::keyframe_private.claim_cursor, cursors -> wanted_queue::text);
  token constant uuid := gen_random_uuid();
  open_now keyframe_private.open_work;
  walked record;
  lane_part integer;
  last_lane uuid;
begin
  perform keyframe_private.make_ready(wanted_queue, at);
  open_now := keyframe_private.open_work_of(wanted_queue, for_worker);
  leased := '{}';
  is_cut := false;
  if open_now.total >= capacity then
    return;
  end if;
  walked := keyframe_private.open_lanes(wanted_queue, for_worker, least(max_rows, 100), open_now, began);
  is_cut := walked.is_cut;
  last_lane := (walked.reached).lane;
  if cardinality(walked.lanes) > 0 then
    lane_part := ceil(least(lease_work.max_rows, walked.free)::numeric / cardinality(walked.lanes));
    with candidate as (
      select r.*, l.resource, l.lane, l.turn_of_lane, row_number() over (partition by l.turn_of_lane order by r.id) as turn
      from unnest(walked.lanes) with ordinality l (resource, lane, max_rows, turn_of_lane)
      -- A lane is read as a range of the index. `lane = … order by id` may be planned as a walk along the primary key, past all other
      -- rows. The upper bound compares the lane alone: an index scan does not stop at a row comparison, and would read on.
      cross join lateral (
        select w.id, w.owner_id, w.is_unproven from keyframe_private.work w
        where w.queue = wanted_queue and w.state = 'ready' and w.resource = l.resource
          and (w.lane, w.id) > (l.lane, 0) and w.lane <= l.lane
        order by w.lane, w.id limit least(l.max_rows, lane_part) for update skip locked) r
    ), counted as (
      -- What is leased before this row, if all candidates are leased in turn: in all, unproven, of its resource and of its owner.
      select c.id, c.is_unproven, c.lane, c.turn_of_lane,
        row_number() over (order by c.turn, c.turn_of_lane) - 1 as before_all,
        count(*) filter (where c.is_unproven) over (order by c.turn, c.turn_of_lane rows unbounded preceding exclude current row) as before_unproven,
        row_number() over (partition by c.resource order by c.turn, c.turn_of_lane) - 1
          + coalesce((open_now.by_resource ->> c.resource)::bigint, 0) as of_resource,
        open_now.owner_weight * (row_number() over (partition by c.owner_id, c.is_unproven order by c.turn, c.turn_of_lane) - 1)
          + coalesce((open_now.by_owner ->> concat(c.owner_id, c.is_unproven))::bigint, 0) as of_owner
      from candidate c
    ), chosen as (
      select c.id, c.lane, c.turn_of_lane from counted c
      where c.before_all < least(lease_work.max_rows, capacity - open_now.total)
        and greatest(c.of_resource, c.of_owner) < keyframe_private.limit_for_next_row(
          capacity, c.is_unproven, open_now.total + c.before_all, open_now.unproven + c.before_unproven)
    ), taken as (
      update keyframe_private.work w
      set state = 'leased', worker_id = for_worker, lease_token = token, due_at = at + lease
      where w.id = any (array(select c.id from chosen c))
      returning w.*
    )
    select coalesce((select array_agg(row(t.*)::keyframe_private.work order by t.id) from taken t), '{}'),
      coalesce((select c.lane from chosen c order by c.turn_of_lane desc limit 1), last_lane)
    into leased, last_lane;
  end if;
  cursors := cursors || jsonb_build_object(wanted_queue::text, jsonb_build_object('resource', (walked.reached).resource, 'lane', last_lane));
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
