-- Claiming tasks: due rows are locked without waiting, then leased by one statement for each kind. When that raises, they are leased one
-- by one, and the one that raises is set aside: one bad row costs nobody else a claim.

-- `order by` and `limit` in the order of an index leave no cheaper plan than its first entry, however many rows a statistic expects.
create function keyframe_private.has_due_task(at timestamptz)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  return (
    select p.next_attempt_at from keyframe.predictions p
    where p.admitted_at is not null and p.completed_at is null
      and not (p.next_attempt_at <= at and keyframe_private.is_set_aside('claim', p.id::text, at))
    order by p.next_attempt_at limit 1) <= at
  or coalesce((
    select s.search_due_at from keyframe_private.provider_submits s
    where s.search_due_at is not null and not (s.search_due_at <= at and keyframe_private.is_set_aside('search', s.id::text, at))
    order by s.search_due_at limit 1) <= at, false)
  or coalesce((
    select s.cancel_due_at from keyframe_private.provider_submits s
    where s.cancel_due_at is not null and not (s.cancel_due_at <= at and keyframe_private.is_set_aside('cancel', s.id::text, at))
    order by s.cancel_due_at limit 1) <= at, false)
  or (coalesce((
      select r.due_at from keyframe_private.file_removals r
      where not (r.due_at <= at and keyframe_private.is_set_aside('remove', r.bucket || '/' || r.name, at))
      order by r.due_at limit 1) <= at, false)
    and not exists (select from keyframe_private.file_removals r where r.lease_token is not null and r.due_at > at));
end $$;
comment on function keyframe_private.has_due_task is 'Whether a claim would get a task.';

-- An accepted run is paid for: only leases that expired in a row give it up, so recorded failures before them do not count.
create function keyframe_private.failures_with_expired_lease(prediction keyframe.predictions)
returns integer language plpgsql immutable set search_path = '' as $$
begin
  return case when prediction.status <> 'queued' and prediction.retry_reason is distinct from 'lease_ran_out' then 1
    else prediction.failures + 1 end;
end $$;
comment on function keyframe_private.failures_with_expired_lease is 'The failures of a prediction whose lease has expired.';

create function keyframe_private.is_exhausted(prediction keyframe.predictions)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return prediction.lease_token is not null and keyframe_private.failures_with_expired_lease(prediction) >= keyframe_private.max_failures()
    or prediction.status = 'queued' and prediction.attempt >= 1000000;
end $$;
comment on function keyframe_private.is_exhausted is 'Whether so many leases of a prediction expired that it is not tried again: its workers died, and the task may be the cause. Also when attempt can count no further.';

-- What transactions hold stays in front; the sweep looks behind it. One that cannot be added now is added later.
create function keyframe_private.add_submits_after_lost_leases(at timestamptz, max_rows integer default 100)
returns void language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
declare
  lost keyframe.predictions;
begin
  for lost in
    select p.* from keyframe.predictions p
    where p.id = any (array(
        select d.id from keyframe.predictions d
        where d.admitted_at is not null and d.completed_at is null and d.next_attempt_at <= at order by d.next_attempt_at limit max_rows))
      and p.status = 'queued' and p.next_attempt_at <= at and not keyframe_private.is_exhausted(p) and not exists (
        select from keyframe_private.provider_submits s
        where s.prediction_id = p.id and s.submitted_at is null and s.ended_at is null)
      and not keyframe_private.is_set_aside('resubmit', p.id::text, at)
    for update skip locked
  loop
    exit when keyframe_private.is_out_of_time();
    begin
      if keyframe_private.take_lock('slots', lost.owner_id, waits => false) then
        perform keyframe_private.add_next_submit(lost);
        perform keyframe_private.forget_aside('{resubmit}', array[lost.id::text]);
      end if;
    exception when others or query_canceled or assert_failure then
      perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
      perform keyframe_private.set_aside('resubmit', lost.id::text, sqlstate, sqlerrm);
    end;
  end loop;
end $$;
comment on function keyframe_private.add_submits_after_lost_leases is 'Adds the next submit of predictions whose worker died while it submitted, among those that are due first: claims take these, so that later ones move up.';

-- What is locked, set aside or exhausted is left out before the limit, so that many of them leave room for others. A waiting submit is
-- locked with its prediction. owner null: those of all owners but full_owners.
create function keyframe_private.lock_due(resource text, at timestamptz, max_rows integer, full_owners uuid[], owner uuid default null)
returns table (subject text, owner_id uuid, due_at timestamptz, bytes integer) language plpgsql volatile set search_path = '' as $$
begin
  if resource = 'cancel' then
    return query
      select s.id::text, s.owner_id, s.cancel_due_at, 200 from keyframe_private.provider_submits s
      where s.cancel_due_at <= at and s.owner_id <> all (full_owners) and not keyframe_private.is_set_aside('cancel', s.id::text, at)
        and (owner is null or s.owner_id = owner)
      order by s.cancel_due_at limit max_rows for update skip locked;
  elsif resource = 'search' then
    return query
      select s.id::text, s.owner_id, s.search_due_at, octet_length(s.search_task::text) from keyframe_private.provider_submits s
      where s.search_due_at <= at and s.owner_id <> all (full_owners) and not keyframe_private.is_set_aside('search', s.id::text, at)
        and (owner is null or s.owner_id = owner)
      order by s.search_due_at limit max_rows for update skip locked;
  elsif owner is null then
    return query
      select p.id::text, p.owner_id, p.next_attempt_at, octet_length(p.input::text)
      from keyframe.predictions p
      left join lateral (
        select s.id from keyframe_private.provider_submits s
        where p.status = 'queued' and s.prediction_id = p.id and s.submitted_at is null and s.ended_at is null
        for update skip locked) w on true
      where p.admitted_at is not null and p.completed_at is null and p.next_attempt_at <= at
        and keyframe_private.resource_of(p.status, p.model, p.provider_output_url) = resource
        and p.owner_id <> all (full_owners) and (p.status <> 'queued' or w.id is not null)
        and not keyframe_private.is_exhausted(p) and not keyframe_private.is_set_aside('claim', p.id::text, at)
      order by p.next_attempt_at
      limit max_rows
      for update of p skip locked;
  else
    return query
      select p.id::text, p.owner_id, p.next_attempt_at, octet_length(p.input::text)
      from keyframe.predictions p
      left join lateral (
        select s.id from keyframe_private.provider_submits s
        where p.status = 'queued' and s.prediction_id = p.id and s.submitted_at is null and s.ended_at is null
        for update skip locked) w on true
      where p.owner_id = owner and p.admitted_at is not null and p.completed_at is null and p.next_attempt_at <= at
        and keyframe_private.resource_of(p.status, p.model, p.provider_output_url) = resource
        and (p.status <> 'queued' or w.id is not null)
        and not keyframe_private.is_exhausted(p) and not keyframe_private.is_set_aside('claim', p.id::text, at)
      order by p.next_attempt_at + interval '0' -- no index has this order: the owner's few rows are read, not everybody's
      limit max_rows
      for update of p skip locked;
  end if;
end $$;
comment on function keyframe_private.lock_due is 'Locks due rows that need a resource without waiting, those due longest first.';

create function keyframe_private.due_resources(at timestamptz)
returns table (resource text, due_at timestamptz) language plpgsql volatile set search_path = '' as $$
declare
  before text := '';
begin
  loop
    select keyframe_private.resource_of(p.status, p.model, p.provider_output_url), p.next_attempt_at into resource, due_at
    from keyframe.predictions p
    where p.admitted_at is not null and p.completed_at is null
      and keyframe_private.resource_of(p.status, p.model, p.provider_output_url) > before
    order by keyframe_private.resource_of(p.status, p.model, p.provider_output_url), p.next_attempt_at limit 1;
    exit when not found;
    before := resource;
    if due_at <= at then
      return next;
    end if;
  end loop;
  return query
    select 'cancel', s.cancel_due_at from keyframe_private.provider_submits s where s.cancel_due_at <= at order by s.cancel_due_at limit 1;
  return query
    select 'search', s.search_due_at from keyframe_private.provider_submits s where s.search_due_at <= at order by s.search_due_at limit 1;
end $$;
comment on function keyframe_private.due_resources is 'The resources that due rows need, and since when: one probe of the index for each resource, however many rows wait.';

-- At most max_rows, of about 256 kB. room: how many more may begin at a resource, { all, new: of owners without an entry, each: of one of
-- those, owners: { id: count } }; ' ' stands for outputs without an entry, whose resource has a space, '' for whatever has none. Each
-- resource leaves two rows, or an equal part, to each that follows. Longest wait first; among those late by seconds chance decides,
-- because the first row of one may be one that nobody can take. Without a generic plan it is planned for each resource of each claim.
create function keyframe_private.choose_due(at timestamptz, max_rows integer, room jsonb)
returns table (kind text, subjects text[]) language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  resources text[];
  of_resource jsonb;
  of_owners jsonb;
  free integer;
  others integer;
  most integer;
  new_left integer;
  full_owners uuid[];
  allowed integer;
  owners text[] := '{}';
  bytes integer := 0;
  found_rows text[];
  due record;
begin
  select array_agg(d.resource order by greatest(d.due_at, at - interval '2 seconds'), random()) into resources
  from keyframe_private.due_resources(at) d
  where coalesce((coalesce(room -> d.resource, room -> substring(d.resource from ' '), room -> '') ->> 'all')::integer, 1) > 0;
  for number in 1 .. coalesce(cardinality(resources), 0) loop
    of_resource := coalesce(room -> resources[number], room -> substring(resources[number] from ' '), room -> '', '{}');
    of_owners := coalesce(of_resource -> 'owners', '{}');
    free := max_rows - cardinality(owners);
    others := cardinality(resources) - number;
    most := least((of_resource ->> 'all')::integer, greatest(ceil(free / (others + 1.0))::integer, free - 2 * others));
    continue when most <= 0;
    new_left := coalesce((of_resource ->> 'new')::integer, most);
    full_owners := array(select o.key::uuid from jsonb_each_text(of_owners) o where o.value::integer <= 0);
    found_rows := '{}';
    for due in
      select l.* from keyframe_private.lock_due(resources[number], at, most, full_owners) l where new_left > 0
      union all
      select l.* from jsonb_each_text(of_owners) o
      cross join lateral keyframe_private.lock_due(resources[number], at, least(o.value::integer, most), '{}', o.key::uuid) l
      where new_left <= 0 and o.value::integer > 0
      order by 3
    loop
      allowed := coalesce((of_owners ->> due.owner_id::text)::integer, (of_resource ->> 'each')::integer, max_rows);
      continue when cardinality(array_positions(owners, due.owner_id::text)) >= allowed
        or (new_left <= 0 and not of_owners ? due.owner_id::text);
      exit when cardinality(found_rows) >= most or (bytes > 0 and bytes + due.bytes > 256 * 1024);
      if not of_owners ? due.owner_id::text then
        new_left := new_left - 1;
      end if;
      found_rows := found_rows || due.subject;
      owners := owners || due.owner_id::text;
      bytes := bytes + due.bytes;
    end loop;
    kind := case when resources[number] in ('cancel', 'search') then resources[number] else 'claim' end;
    subjects := found_rows;
    if subjects <> '{}' then
      return next;
    end if;
  end loop;
end $$;
comment on function keyframe_private.choose_due is 'Locks and returns the rows that a claim takes, by kind.';

create function keyframe_private.lease_predictions(ids uuid[], lease_seconds integer, at timestamptz)
returns jsonb[] language plpgsql volatile set search_path = '' as $$
declare
  tasks jsonb[];
  orphans keyframe.predictions[];
begin
  with claimed as (
    update keyframe.predictions p
    set lease_token = gen_random_uuid(),
        next_attempt_at = at + make_interval(secs => lease_seconds),
        attempt = p.attempt + case when p.status = 'queued' then 1 else 0 end,
        failures = case when p.lease_token is not null then keyframe_private.failures_with_expired_lease(p) else p.failures end,
        retry_reason = case when p.lease_token is not null then 'lease_ran_out' else p.retry_reason end,
        updated_at = at
    where p.id = any (ids)
    returning p.*
  ), submits_recorded as (
    update keyframe_private.provider_submits s
    set submitted_at = at,
        text_hash = case when not keyframe_private.has_images(c.input) then hashtextextended(c.input ->> 'prompt', 0) end
    from claimed c where c.status = 'queued' and s.prediction_id = c.id and s.submitted_at is null and s.ended_at is null
  )
  select array_agg(to_jsonb(c) || jsonb_build_object(
    'task', case c.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end,
    'resource', keyframe_private.resource_of(c.status, c.model, c.provider_output_url),
    'images', case when c.status = 'queued' then keyframe_private.images_json(c.id) end,
    'has_images', keyframe_private.has_images(c.input),
    'model_settings', jsonb_build_object('controls', m.controls, 'fixed', m.fixed),
    -- An earlier submit may have been accepted: its run is searched for before the next submit.
    'search_attempt', u.attempt, 'search_since', u.submitted_at
  )) filter (where m.model is not null),
  array_agg(jsonb_populate_record(null::keyframe.predictions, to_jsonb(c))) filter (where m.model is null)
  into tasks, orphans
  from claimed c
  left join keyframe.models m on m.step = c.step and m.model = c.model
  left join lateral (
    select s.attempt, s.submitted_at from keyframe_private.provider_submits s
    where c.status = 'queued' and s.prediction_id = c.id and s.is_unanswered order by s.attempt limit 1) u on true;
  -- Their start committed after their model had got another name, or was gone.
  if orphans is not null then
    perform keyframe_private.end_without_run(o.id, o.attempt),
      keyframe_private.try_mark_failed(o, 'model_unavailable', 'The model was taken away while this generation started. Run the step again.')
    from unnest(orphans) o;
  end if;
  return tasks;
end $$;
comment on function keyframe_private.lease_predictions is 'Leases predictions that this transaction has locked, as tasks to submit, poll or store.';

create function keyframe_private.lease_submits(kind text, ids bigint[], due_at timestamptz)
returns jsonb[] language plpgsql volatile set search_path = '' as $$
declare
  tasks jsonb[];
begin
  with leased as (
    update keyframe_private.provider_submits s
    set cancel_due_at = case kind when 'cancel' then lease_submits.due_at else s.cancel_due_at end,
        search_due_at = case kind when 'search' then lease_submits.due_at else s.search_due_at end
    where s.id = any (ids) returning s.*
  )
  select array_agg(case kind when 'search' then l.search_task else '{}' end
    || jsonb_build_object('task', kind, 'resource', kind, 'owner_id', l.owner_id, 'id', l.prediction_id, 'attempt', l.attempt)
    || case kind when 'cancel' then jsonb_build_object('provider_prediction_id', l.provider_prediction_id)
      else jsonb_build_object('step', l.step, 'model', l.model, 'search_attempt', l.attempt, 'search_since', l.submitted_at) end)
  into tasks from leased l;
  return tasks;
end $$;
comment on function keyframe_private.lease_submits is 'Leases submits whose provider runs are to be cancelled, or searched for because no later submit of their prediction does, as tasks.';

create function keyframe_private.lease_rows(kind text, subjects text[], lease_seconds integer, at timestamptz, lease uuid)
returns jsonb[] language plpgsql volatile set search_path = '' as $$
begin
  return case kind
    when 'claim' then keyframe_private.lease_predictions(subjects::uuid[], lease_seconds, at)
    when 'remove' then keyframe_private.lease_removals(subjects, lease_seconds, lease)
    else keyframe_private.lease_submits(kind, subjects::bigint[], at + make_interval(secs => lease_seconds))
  end;
end $$;
comment on function keyframe_private.lease_rows is 'Leases locked rows of a kind.';

-- The triggers of these rows wait at most 100 ms for a lock. Out of time, one row at a time shows which one takes it.
create function keyframe_private.claim_rows(kind text, subjects text[], lease_seconds integer, at timestamptz, one_by_one boolean)
returns setof jsonb language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
declare
  lease constant uuid := gen_random_uuid();
  tasks jsonb[];
  leased text[] := '{}';
  one text;
begin
  if not one_by_one then
    begin
      tasks := keyframe_private.lease_rows(kind, subjects, lease_seconds, at, lease);
      leased := subjects;
    exception when others or assert_failure then
      one_by_one := true;
    end;
  end if;
  if one_by_one then
    foreach one in array subjects loop
      exit when keyframe_private.is_out_of_time();
      begin
        tasks := tasks || keyframe_private.lease_rows(kind, array[one], lease_seconds, at, lease);
        leased := leased || one;
      exception when others or query_canceled or assert_failure then
        perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
        return next keyframe_private.set_aside(kind, one, sqlstate, sqlerrm);
      end;
    end loop;
  end if;
  if keyframe_private.is_any_aside(kind) then
    perform keyframe_private.forget_aside(array[kind], leased);
  end if;
  if kind = 'remove' and tasks is not null then -- one task of all its files
    return next tasks[1] || jsonb_build_object('files',
      (select jsonb_agg(f.file order by f.file) from unnest(tasks) t, jsonb_array_elements(t -> 'files') f (file)));
  else
    return query select unnest(tasks);
  end if;
end $$;
comment on function keyframe_private.claim_rows is 'Leases locked rows of a kind, as tasks: all by one statement, or, when that raises or one_by_one, one by one, and sets aside those that raise or take all the time of the call.';

-- The call of `generate`: claims tasks, or waits for one that becomes due.

-- A check here costs a fraction of a call; checks take a tenth of the time at most, and there are fifty of them: a longer wait costs less.
-- One call of each worker waits, others return at once. What generates takes seconds at the provider, so 5 ms are soon enough: with 2 ms,
-- waiting took 4 % of a core.
create function keyframe_private.wait_for_due(function_name text, wait_ms integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  ends constant timestamptz := clock_timestamp() + make_interval(secs => least(wait_ms, 1000) / 1000.0);
  checked_at timestamptz;
  rest double precision;
begin
  if wait_ms <= 0 or not keyframe_private.take_lock('waits ' || function_name, null, waits => false) then
    return true;
  end if;
  loop
    checked_at := clock_timestamp();
    if (case function_name
      when 'generate' then keyframe_private.has_due_task(checked_at) when 'deliver' then keyframe_private.has_due_delivery(checked_at) end) then
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
comment on function keyframe_private.wait_for_due is 'Waits until work of a worker is due, at most wait_ms and at most a second: the call holds a connection. False: it has waited, and nothing is due.';

-- A lease expires at next_attempt_at: a worker that dies only delays a task. room: as choose_due has it. one_by_one: after a timeout.
create function keyframe_worker.claim_predictions(
  max_rows integer, lease_seconds integer, heartbeat_ms integer default 0, wait_ms integer default 0, report jsonb default '{}',
  room jsonb default '{}', one_by_one boolean default false)
returns setof jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  may_be_due constant boolean := keyframe_private.wait_for_due('generate', wait_ms);
  at timestamptz;
  chosen record;
  files text[];
begin
  -- Not now(): what became due during the wait is later than that.
  at := clock_timestamp();
  perform keyframe_private.record_heartbeat('generate', heartbeat_ms, report);

  if max_rows <= 0 then -- a heartbeat only
    -- A worker that stops leaves due tasks: kick the next one now instead of waiting for the sweep.
    if heartbeat_ms <= 0 and keyframe_private.has_due_task(at) then
      perform keyframe_private.kick_unless_running('generate');
    end if;
    return;
  elsif not may_be_due then
    return;
  end if;
  perform keyframe_private.add_submits_after_lost_leases(at);
  for chosen in select c.kind, c.subjects from keyframe_private.choose_due(at, max_rows, room) c loop
    exit when keyframe_private.is_out_of_time();
    return query select keyframe_private.claim_rows(chosen.kind, chosen.subjects, lease_seconds, at, one_by_one);
  end loop;
  files := keyframe_private.choose_removals(at);
  if files <> '{}' and not keyframe_private.is_out_of_time() then
    return query select keyframe_private.claim_rows('remove', files, lease_seconds, at, one_by_one);
  end if;
end $$;
comment on function keyframe_worker.claim_predictions is 'Leases due tasks for lease_seconds: one JSON object per task (submit, poll, store, cancel, search, remove). set_aside: a row that could not be leased.';
