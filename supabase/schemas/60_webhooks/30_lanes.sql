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
comment on column keyframe_private.lane_arrivals.id is 'In the order of their arrival.';
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

-- The endpoints of a lane take turns. `lanes`: as `held` of claim_deliveries. The bodies have at most max_bytes, the first of each lane
-- first. plan_cache_mode: a session would keep a plan that was made while the tables were small.
create function keyframe_private.fill_lanes(lanes jsonb, max_bytes integer, at timestamptz)
returns table (lane_id uuid, endpoint json) language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
  lanes := (select jsonb_agg(l) from jsonb_array_elements(lanes) l where (l ->> 'most')::integer > 0);
  if lanes is null then
    return; -- planning takes longer than most calls
  end if;
  return query
  with lane as (
    select l.* from jsonb_to_recordset(lanes) as l (lane_id uuid, token uuid, sending uuid[], room jsonb, most integer)
  ), endpoint as (
    select l.*, e.* from lane l
    cross join lateral (
      select w.id as endpoint_id, w.url, case when w.failing_since is null then w.max_in_flight else 1 end as max_open
      from keyframe.webhook_endpoints w where coalesce(w.owner_id, w.id) = l.lane_id and w.enabled
      offset 0) e -- looked up lane by lane: a join may read the endpoints of everybody
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

-- held: [{lane_id, token, sending: [delivery_id], room: {endpoint_id: count}, most, pause_ms}]: the deliveries that the worker has, how
-- many more it takes of an endpoint and of the lane, and the lane's rest when it is given back. A lane brings all that is due up to
-- small_lane, otherwise two: turns are short. What others have locked is left to the next call.
create function keyframe_private.claim_deliveries(
  held jsonb, max_lanes integer, small_lane integer, max_bytes integer, lease interval, at timestamptz, one_by_one boolean)
returns json language plpgsql volatile set search_path = '' as $$
declare
  -- With `= any`, Postgres looks each lane up; a join alone may read the lanes of everybody.
  held_ids constant uuid[] := array(select (h ->> 'lane_id')::uuid from jsonb_array_elements(held) h);
  any_aside constant boolean := keyframe_private.is_any_aside('lane');
  -- They are left as they are: the worker neither keeps nor loses one that it holds. Looked up one by one: many others may be set aside.
  aside constant uuid[] := array(select h from unnest(held_ids) h where any_aside and keyframe_private.is_set_aside('lane', h::text, at));
  tried uuid[] := held_ids;
  wanted keyframe_private.lanes[];
  written uuid[];
  own jsonb; -- lanes that are the worker's, in the form of held
  taken jsonb := '[]';
  others_wait boolean := false;
  endpoints json;
  kept uuid[]; -- own lanes of which the worker has something: deliveries to send, or that it is sending
begin
  -- 1. Locks the held lanes that are still the worker's, before any query for deliveries: that sees all arrivals that others have read.
  own := (
    select coalesce(jsonb_agg(m.lane), '[]') from (
      select h.lane from keyframe_private.lanes l
      join jsonb_array_elements(held) h (lane) on (h.lane ->> 'lane_id')::uuid = l.id and (h.lane ->> 'token')::uuid = l.token
      where l.id = any (held_ids) and l.id <> all (aside) for update of l skip locked) m);

  -- 2. Takes the free lanes that have waited longest. If that is as many as it may take, others wait for a turn.
  if max_lanes > 0 then
    select r.may_be_more, held_ids || r.tried into others_wait, tried from keyframe_private.read_arrivals(at, one_by_one) r;
    wanted := array(
      select row(d.id, at + lease, at, gen_random_uuid())::keyframe_private.lanes from keyframe_private.lanes d
      where d.due_at <= at and d.id <> all (held_ids) and not keyframe_private.is_set_aside('lane', d.id::text, at)
      order by d.due_at limit max_lanes for update skip locked);
    tried := tried || array(select w.id from unnest(wanted) w);
    written := keyframe_private.write_lanes(wanted, one_by_one);
    taken := (
      select coalesce(jsonb_agg(jsonb_build_object('lane_id', w.id, 'token', w.token, 'sending', '[]'::jsonb, 'most', small_lane)), '[]')
      from unnest(wanted) w where w.id = any (written));
    others_wait := others_wait or cardinality(wanted) = max_lanes;
  end if;

  -- 3. Fills the taken lanes, and those it held unless others wait.
  select coalesce(json_agg(f.endpoint), '[]'), array_agg(f.lane_id) into endpoints, kept
  from keyframe_private.fill_lanes(taken || case when others_wait then '[]' else own end, max_bytes, at) f;
  own := own || taken;
  kept := kept || array(select (o ->> 'lane_id')::uuid from jsonb_array_elements(own) o where o -> 'sending' <> '[]');

  -- 4. Releases the others: due with their next delivery, behind the lanes that were served before them, not before their pause ends.
  perform keyframe_private.write_lanes(array(select row(l.id, greatest(least(l.served_at, at), at + r.pause, coalesce((
    select min(d.next_attempt_at) from keyframe.webhook_endpoints e
    cross join lateral (
      select p.next_attempt_at from keyframe.webhook_deliveries p
      where p.status = 'pending' and p.endpoint_id = e.id order by p.next_attempt_at limit 1) d
    where coalesce(e.owner_id, e.id) = l.id and e.enabled), 'infinity')), l.served_at, null)::keyframe_private.lanes
  from keyframe_private.lanes l, (
    select (o ->> 'lane_id')::uuid as id, nullif((o ->> 'pause_ms')::integer, 0) * interval '1 millisecond' as pause
    from jsonb_array_elements(own) o) r
  where r.id = l.id and l.id = any (array(select (o ->> 'lane_id')::uuid from jsonb_array_elements(own) o)) and l.id <> all (kept)),
    one_by_one);

  -- 5. Renews the leases of the kept lanes.
  wanted := array(
    select row(l.id, at + lease, l.served_at, l.token)::keyframe_private.lanes from keyframe_private.lanes l
    where l.id = any (kept) and l.due_at < at + lease * 2 / 3);
  written := keyframe_private.write_lanes(wanted, one_by_one);
  kept := array(select k.id from unnest(kept) k (id) where k.id = any (written) or k.id <> all (array(select w.id from unnest(wanted) w)));

  return json_build_object(
    'endpoints', endpoints, 'kept', kept, 'others_wait', others_wait,
    'set_aside', (
      select coalesce(json_agg(json_build_object('kind', s.kind, 'id', s.subject, 'code', s.code, 'failures', s.failures)), '[]')
      from (select distinct t from unnest(tried) t where t <> all (aside)) t
      cross join lateral (
        select a.* from keyframe_private.set_aside a where a.kind = 'lane' and a.subject = t.t::text and a.next_try_at > at offset 0) s),
    'lost', (
      select coalesce(json_agg(h.lane_id), '[]') from jsonb_to_recordset(held) as h (lane_id uuid, token uuid)
      where (select l.token = h.token from keyframe_private.lanes l where l.id = h.lane_id) is not true),
    'max_open', (
      select coalesce(json_object_agg(e.id, case when e.failing_since is null then e.max_in_flight else 1 end), '{}')
      from keyframe.webhook_endpoints e
      where e.enabled and e.id = any (array(select jsonb_object_keys(h -> 'room')::uuid from jsonb_array_elements(held) h))));
end $$;
comment on function keyframe_private.claim_deliveries is 'Claims deliveries for one worker.';

-- Recording the results of requests in batches, and scheduling retries.

create function keyframe_private.next_delivery_attempt(
  attempts integer, status_code integer, retry_after_seconds double precision, at timestamptz)
returns timestamptz language sql volatile set search_path = '' as $$
  select at + greatest(
    s.schedule[attempts] * (0.8 + random() * 0.4),
    case when status_code in (429, 503) then make_interval(secs => least(coalesce(retry_after_seconds, 0), 86400)) end)
  -- Without settings no attempt is the last one.
  from (select coalesce((select o.webhook_retry_schedule from keyframe_private.settings o),
    array_fill(interval '5 minutes', array[attempts])) as schedule) s
  where attempts <= cardinality(s.schedule)
$$;
comment on function keyframe_private.next_delivery_attempt is 'When a failed delivery is retried; null when its attempts are used up. Retry-After of a 429 or 503 is respected up to a day.';

-- Of an attempt that two workers made, the first result counts. An endpoint whose row is locked keeps its state until its next result.
-- plan_cache_mode: as fill_lanes.
create function keyframe_private.record_results(results jsonb, at timestamptz)
returns integer language plpgsql volatile set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
  recorded integer;
begin
  with judged as (
    select d.id, d.endpoint_id, d.owner_id, r.attempt, r.started_at, r.duration_ms, r.status_code, r.response_excerpt, v.delivered,
      case when not v.delivered then coalesce(r.error, 'http_status') end as error,
      case when not v.delivered then
        keyframe_private.next_delivery_attempt(d.attempts + 1 - d.retries_from, r.status_code, r.retry_after_seconds, at) end as next_at
    from jsonb_to_recordset(results) as r (id uuid, attempt integer, started_at timestamptz, duration_ms integer,
      status_code integer, error text, response_excerpt text, retry_after_seconds double precision)
    cross join lateral (select coalesce(r.status_code between 200 and 299, false) as delivered) v
    join keyframe.webhook_deliveries d on d.id = r.id and d.attempts = r.attempt - 1
    where d.status = 'pending' -- an administrator may have ended it meanwhile
    for update of d skip locked
  ), changed as (
    update keyframe.webhook_deliveries d
    set attempts = j.attempt, last_attempt_at = j.started_at, last_status_code = j.status_code, last_error = j.error,
        status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted'
          else 'pending' end::keyframe.delivery_status,
        next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
        completed_at = case when j.delivered or j.next_at is null then at end
    from judged j where d.id = j.id
  ), logged as (
    insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
    select j.id, j.owner_id, j.attempt, j.started_at, j.duration_ms, j.status_code, j.error, j.response_excerpt from judged j
    -- Conflicts only where an administrator lowered attempts by hand; that must not keep the rest of the batch from being recorded.
    on conflict (delivery_id, attempt) do nothing
  ), endpoints as (
    select j.endpoint_id, bool_or(j.delivered) as delivered, bool_or(j.status_code = 410) as gone from judged j group by 1
  ), switched as (
    update keyframe.webhook_endpoints e
    set failing_since = case when not o.delivered then coalesce(e.failing_since, at) end,
        enabled = e.enabled and o.reason is null,
        disabled_reason = coalesce(e.disabled_reason, o.reason),
        disabled_at = coalesce(e.disabled_at, case when o.reason is not null then at end)
    from endpoints r
    cross join lateral (
      select w.id, r.delivered, v.reason
      from keyframe.webhook_endpoints w
      cross join lateral (select case
        when r.gone then 'gone'
        when not r.delivered and at - w.failing_since >= (select s.webhook_disable_after from keyframe_private.settings s) then 'failing'
      end as reason) v
      where w.id = r.endpoint_id and (v.reason is not null or r.delivered = (w.failing_since is not null))
      for no key update of w skip locked) o -- looked up one by one, not all of them read
    where e.id = o.id
  )
  select count(*) into recorded from judged;
  return recorded;
end $$;
comment on function keyframe_private.record_results is 'Records the results of deliveries that nobody else has locked; returns how many.';

-- A lock keeps back only its endpoint; a delivery that raises, or takes all the time, only itself: it is set aside. `unrecorded`:
-- [{id, endpoint_id, reason}], which the worker gives again later, with the SQLSTATE or locked.
create function keyframe_private.record_attempts(
  results jsonb, at timestamptz, one_by_one boolean, out recorded integer, out unrecorded jsonb)
language plpgsql volatile set search_path = '' set lock_timeout = '20ms' as $$
declare
  any_aside constant boolean := keyframe_private.is_any_aside('delivery');
  failed jsonb := '{}';
  part jsonb;
  parts jsonb[];
begin
  recorded := 0;
  part := results;
  if any_aside then
    part := (
      select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(results) r
        where not keyframe_private.is_set_aside('delivery', r ->> 'id', at));
  end if;
  parts := case when one_by_one then array(select jsonb_build_array(r) from jsonb_array_elements(part) r) else array[part] end;
  while cardinality(parts) > 0 and not keyframe_private.is_out_of_time() loop
    part := parts[1];
    parts := parts[2:];
    begin
      recorded := recorded + keyframe_private.record_results(part, at);
      if any_aside then
        perform keyframe_private.forget_aside('{delivery}', array(select r ->> 'id' from jsonb_array_elements(part) r));
      end if;
    exception when others or query_canceled or assert_failure then
      if sqlstate = '57014' and (not keyframe_private.is_out_of_time() or jsonb_array_length(part) > 1) then
        raise; -- the worker gives them again, one by one
      end if;
      perform set_config('lock_timeout', '2ms', true);
      if (select count(distinct r ->> 'endpoint_id') > 1 from jsonb_array_elements(part) r) then
        parts := parts || array(select jsonb_agg(r) from jsonb_array_elements(part) r group by r -> 'endpoint_id');
      elsif jsonb_array_length(part) > 1 and not keyframe_private.is_lock_wait(sqlstate) then
        parts := parts || array(select jsonb_build_array(r) from jsonb_array_elements(part) r);
      else
        failed := failed || (select jsonb_object_agg(r ->> 'id', sqlstate) from jsonb_array_elements(part) r);
        if not keyframe_private.is_lock_wait(sqlstate) then
          perform keyframe_private.set_aside('delivery', part #>> '{0,id}', sqlstate, sqlerrm);
        end if;
      end if;
    end;
  end loop;
  select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'endpoint_id', d.endpoint_id,
    'reason', coalesce(failed ->> r.id::text, 'locked'))), '[]')
  into unrecorded
  from jsonb_to_recordset(case when recorded < jsonb_array_length(results) then results else '[]' end) as r (id uuid, attempt integer,
    endpoint_id text)
  join keyframe.webhook_deliveries d on d.id = r.id and d.attempts = r.attempt - 1 and d.status = 'pending';
end $$;
comment on function keyframe_private.record_attempts is 'Records the results of a worker; when that fails, those of each endpoint apart, and those of one that raises one by one.';

-- heartbeat_ms null: the worker does not claim. one_by_one: after a call that failed. The time limit is below the worker's own, so that
-- what it sets aside is committed. A claim that fails leaves recorded what is recorded.
create function keyframe_worker.exchange_deliveries(
  results jsonb, held jsonb, max_lanes integer, lease_seconds integer, heartbeat_ms integer default null, at timestamptz default now(),
  wait_ms integer default 0, report jsonb default '{}', small_lane integer default 8, max_bytes integer default 2000000,
  one_by_one boolean default false)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '4s' as $$
declare
  recorded integer := 0;
  unrecorded jsonb := '[]';
  claim json;
  claim_error text;
begin
  if results = '[]' then
    -- The commit does not wait for the disk: lanes taken shortly before a crash are taken again.
    perform set_config('synchronous_commit', 'off', true);
    perform keyframe_private.wait_for_due('deliver', wait_ms);
    at := at + (clock_timestamp() - now());
  else
    select r.* into recorded, unrecorded from keyframe_private.record_attempts(results, at, one_by_one) r;
    -- What is recorded is no longer being sent.
    select coalesce(jsonb_agg(jsonb_set(h, '{sending}', (h -> 'sending') - done.ids)), '[]') into held
    from jsonb_array_elements(held) h, (select array(
      select r ->> 'id' from jsonb_array_elements(results) r except select u ->> 'id' from jsonb_array_elements(unrecorded) u) as ids) done;
  end if;
  begin
    if keyframe_private.is_out_of_time() then
      raise query_canceled;
    end if;
    if heartbeat_ms is not null then
      perform keyframe_private.record_heartbeat('deliver', heartbeat_ms, report);
    end if;
    claim := keyframe_private.claim_deliveries(held, max_lanes, small_lane, max_bytes, make_interval(secs => lease_seconds), at,
      one_by_one);
    -- A worker at the end of its run time leaves due deliveries: kick the next one now instead of waiting for the sweep.
    if coalesce(heartbeat_ms, 0) <= 0 and keyframe_private.has_due_delivery(at) then
      perform keyframe_private.kick_unless_running('deliver');
    end if;
  exception when others or query_canceled or assert_failure then
    perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
    raise warning 'No deliveries could be claimed: %', sqlerrm;
    claim_error := sqlstate;
  end;
  return json_build_object('recorded', recorded, 'unrecorded', unrecorded, 'claim', claim, 'claim_error', claim_error);
end $$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and claims due deliveries, lane by lane: { recorded, unrecorded: [{ id, endpoint_id, reason }], claim: { endpoints: [{ lane_id, token, endpoint_id, max_open, url, secrets, deliveries: [{ id, attempt, event_id, body }] }], kept: [lane_id], lost: [lane_id], others_wait, set_aside: [{ kind, id, code, failures }], max_open: { endpoint_id: count } } or null, claim_error }.';
