-- deliver's one call, exchange_deliveries: records the results of requests, then leases deliveries and hands them out.

-- Returns null when the attempts are used up. Retry-After of a 429 or 503 is respected up to a day.
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

-- An endpoint after a batch of results: it fails, has become quick or slow, or is disabled.
create function keyframe_private.judge_endpoint(
  inout endpoint keyframe.webhook_endpoints, delivered boolean, is_gone boolean, is_slow boolean, answers bigint, at timestamptz)
language plpgsql stable set search_path = '' as $$
declare
  reason constant text := case when is_gone then 'gone' when not delivered
    and at - endpoint.failing_since >= (select s.webhook_disable_after from keyframe_private.settings s) then 'failing' end;
begin
  endpoint.failing_since := case when not delivered then coalesce(endpoint.failing_since, at) end;
  endpoint.quick_answers := case when is_slow then 0 else least(5, endpoint.quick_answers + answers) end;
  endpoint.standing := case
    when is_slow then 'slow'
    when endpoint.quick_answers = 5 then 'quick'
    when endpoint.standing = 'new' and answers > 0 then 'tried'
    else endpoint.standing end;
  if endpoint.enabled and reason is not null then
    endpoint.enabled := false;
    endpoint.disabled_reason := reason;
    endpoint.disabled_at := at;
  end if;
end $$;

create type keyframe_private.delivery_result as (
  id uuid, work_id bigint, endpoint_id uuid, owner_id uuid, attempt integer, started_at timestamptz, duration_ms integer, status_code integer,
  error text, response_excerpt text, delivered boolean, next_at timestamptz);
comment on type keyframe_private.delivery_result is 'The result of an attempt, and what it means. next_at: when the next attempt is due; null when the delivery has ended.';

create function keyframe_private.is_leased(work_id bigint, worker_id uuid)
returns boolean language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (select from keyframe_private.work w where w.id = work_id and w.worker_id = is_leased.worker_id);
end $$;

-- Records the results of deliveries that are not locked, and returns which. The failure of a worker that has lost the lease does not
-- count, because the attempt is made again; its success does, and ends the delivery. An endpoint whose row is locked keeps its
-- state until its next result. Each table is read by its keys (`any`): a join lets Postgres read all deliveries that are pending when its
-- statistics say that none are.
create function keyframe_private.record_results(results jsonb, worker_id uuid, at timestamptz)
returns uuid[] language plpgsql volatile set search_path = '' set lock_timeout = '20ms' as $$
declare
  judged constant keyframe_private.delivery_result[] := array(
    select row(d.id, r.work_id, d.endpoint_id, d.owner_id, r.attempt, r.started_at, r.duration_ms, r.status_code,
      case when not v.delivered then coalesce(r.error, 'http_status') end, r.response_excerpt, v.delivered,
      case when not v.delivered then
        keyframe_private.next_delivery_attempt(d.attempts + 1 - d.retries_from, r.status_code, r.retry_after_seconds, at) end
      )::keyframe_private.delivery_result
    from jsonb_to_recordset(results) as r (id uuid, work_id bigint, attempt integer, started_at timestamptz, duration_ms integer,
      status_code integer, error text, response_excerpt text, retry_after_seconds double precision)
    cross join lateral (select coalesce(r.status_code between 200 and 299, false) as delivered) v
    cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = r.id offset 0 for update skip locked) d
    where d.attempts = r.attempt - 1 and d.status = 'pending' -- an administrator may have ended it meanwhile
      and (v.delivered or keyframe_private.is_leased(r.work_id, worker_id)));
  recorded constant uuid[] := array(select j.id from unnest(judged) j);
  endpoints constant uuid[] := array(select distinct j.endpoint_id from unnest(judged) j);
begin
  insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
  select j.id, j.owner_id, j.attempt, j.started_at, j.duration_ms, j.status_code, j.error, j.response_excerpt from unnest(judged) j
  -- Conflicts only if an administrator lowered attempts by hand; that must not block the rest of the batch.
  on conflict (delivery_id, attempt) do nothing;
  delete from keyframe_private.work w where w.id = any (array(select j.work_id from unnest(judged) j where j.next_at is null));
  perform keyframe_private.reschedule_all(array_agg(j.work_id), array_agg(j.next_at), at)
  from unnest(judged) j where j.next_at is not null having count(*) > 0;
  update keyframe.webhook_endpoints e
  set (failing_since, standing, quick_answers, enabled, disabled_reason, disabled_at) = (
    select n.failing_since, n.standing, n.quick_answers, n.enabled, n.disabled_reason, n.disabled_at
    from keyframe_private.judge_endpoint(e, a.delivered, a.is_gone, a.is_slow, a.answers, at) n)
  from (
    select j.endpoint_id, bool_or(j.delivered) as delivered, bool_or(j.status_code = 410) as is_gone,
      bool_or(j.duration_ms >= 3000) as is_slow, count(j.status_code) as answers
    from unnest(judged) j group by 1) a
  cross join lateral (
    select w.id from keyframe.webhook_endpoints w
    where w.id = a.endpoint_id
      and keyframe_private.judge_endpoint(w, a.delivered, a.is_gone, a.is_slow, a.answers, at) is distinct from w
    for no key update skip locked) unlocked
  where e.id = unlocked.id and e.id = any (endpoints);
  -- Last: its trigger counts the hours of the endpoint, in rows that other workers change too.
  update keyframe.webhook_deliveries d
  set attempts = j.attempt, last_attempt_at = j.started_at, last_status_code = j.status_code, last_error = j.error,
      status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'pending' end::keyframe.delivery_status,
      next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
      completed_at = case when j.next_at is null then at end
  from unnest(judged) j where j.id = d.id and d.id = any (recorded);
  return recorded;
end $$;

create type keyframe_private.pending_delivery as (
  work_id bigint, lane uuid, id uuid, attempt integer, event_id uuid, next_at timestamptz, body text);
comment on type keyframe_private.pending_delivery is 'A delivery that has not ended, with its work. body: what is sent now; null: nothing, and it is due again at next_at.';

-- Chooses which deliveries of the leased work are sent now: of those that are due, bodies of at most max_bytes in all, but one at least. Each
-- is ranked by the bytes of its owner up to it, the oldest work first, so that one owner's large bodies delay no other's. Leaves out deliveries
-- that have ended, and work that is leased twice (a redelivery adds a second row).
create function keyframe_private.choose_deliveries(leased keyframe_private.work[], max_bytes integer, at timestamptz)
returns setof keyframe_private.pending_delivery language plpgsql volatile set search_path = '' as $$
begin
  return query
  -- pending: not ended, and leased once. Written as `(select …) is null`: `not exists` may be planned as a join that reads the whole queue.
  with pending as materialized (
    select l.id as work_id, l.owner_id, l.lane, d.id, d.attempts, d.event_id, d.next_attempt_at
    from unnest(leased) l
    cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = l.subject offset 0) d
    where l.kind = 'deliver' and d.status = 'pending' and (
      select true from keyframe_private.work o where o.queue = 'deliver' and o.lane = l.lane and o.subject = l.subject and o.state = 'leased'
        and (o.id < l.id or o.lease_token <> l.lease_token) limit 1) is null
  ), due as materialized (
    select p.*, v.body, sum(octet_length(v.body)) over (partition by p.owner_id order by p.work_id rows unbounded preceding) as bytes_of_owner
    from pending p
    cross join lateral (select e.payload::text as body from keyframe.webhook_events e where e.id = p.event_id) v
    where p.next_attempt_at <= at
  ), counted as (
    select d.*, sum(octet_length(d.body)) over (order by d.bytes_of_owner, d.work_id rows unbounded preceding) as bytes from due d
  )
  select c.work_id, c.lane, c.id, c.attempts + 1, c.event_id, at,
    case when c.bytes <= max_bytes or c.bytes = octet_length(c.body) then c.body end
  from counted c
  union all
  select p.work_id, p.lane, p.id, p.attempts + 1, p.event_id, p.next_attempt_at, null from pending p where p.next_attempt_at > at;
end $$;

-- Returns what is sent of the leased work, by endpoint, the oldest work first. The rest ends its lease here: what is too large now is ready
-- again, what is due later (it was added after `at`, or moved) is scheduled, and what was left out is deleted.
create function keyframe_private.hand_out_deliveries(leased keyframe_private.work[], max_bytes integer, at timestamptz)
returns json language plpgsql volatile set search_path = '' as $$
declare
  leased_row keyframe_private.work;
  chosen keyframe_private.pending_delivery[];
begin
  for leased_row in select l.* from unnest(leased) l where l.kind = 'resume' loop
    perform keyframe_private.resume_deliveries(leased_row, at);
  end loop;
  chosen := array(select c from keyframe_private.choose_deliveries(leased, max_bytes, at) c);
  perform keyframe_private.reschedule_all(array_agg(c.work_id), array_agg(c.next_at), at)
  from unnest(chosen) c where c.body is null having count(*) > 0;
  delete from keyframe_private.work w where w.id = any (array(
    select l.id from unnest(leased) l where l.kind = 'deliver' except select c.work_id from unnest(chosen) c));
  return (
    select coalesce(json_agg(json_build_object(
      'endpoint_id', e.id, 'url', e.url, 'max_open', case when e.failing_since is null then e.max_in_flight else 1 end,
      'secrets', keyframe_private.webhook_secrets_of(e.id, at), 'deliveries', s.deliveries)), '[]')
    from (
      select c.lane, json_agg(json_build_object(
        'id', c.id, 'work_id', c.work_id, 'attempt', c.attempt, 'event_id', c.event_id, 'body', c.body) order by c.work_id) as deliveries
      from unnest(chosen) c where c.body is not null group by c.lane) s
    cross join lateral (select o.* from keyframe.webhook_endpoints o where o.id = s.lane offset 0) e);
end $$;

-- Ends the leases of deliveries that the worker holds and does not send.
create function keyframe_private.give_back(work_ids bigint[], worker_id uuid, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.reschedule_all(array_agg(w), array_agg(at), at) from unnest(work_ids) w
  where keyframe_private.is_leased(w, worker_id) having count(*) > 0;
end $$;

-- returned: leased work that is not sent. The time limit is below the worker's own; PostgREST applies it before the call, and worker/main.ts sets
-- the same for its connection. Everything it calls uses the indexes, whatever the statistics say, and keeps its plans.
create function keyframe_worker.exchange_deliveries(
  results jsonb, worker_id uuid, max_rows integer, returned jsonb default '[]', max_bytes integer default 500000,
  heartbeat_ms integer default null, wait_ms integer default 0, report jsonb default '{}', cursors jsonb default '{}',
  at timestamptz default now())
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '4s'
  set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  recorded uuid[] := '{}';
  unrecorded uuid[] := '{}';
  found_work record;
  endpoints json := '[]';
  is_more boolean := false;
begin
  if results = '[]' then
    -- The commit does not wait for the disk: what was leased shortly before a crash is leased again.
    perform set_config('synchronous_commit', 'off', true);
    perform keyframe_private.wait_for_due('deliver', '{deliver}', wait_ms);
    at := at + (clock_timestamp() - now()); -- work became due during the wait
  else
    recorded := keyframe_private.record_results(results, worker_id, at);
    if cardinality(recorded) < jsonb_array_length(results) then
      unrecorded := array(
        select r.id from jsonb_to_recordset(results) r (id uuid, work_id bigint, attempt integer)
        cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = r.id offset 0) d
        where d.attempts = r.attempt - 1 and d.status = 'pending' and r.id <> all (recorded) and keyframe_private.is_leased(r.work_id, worker_id));
      -- The rest has ended meanwhile: a claim drops it.
      perform keyframe_private.give_back(array(
        select r.work_id from jsonb_to_recordset(results) r (id uuid, work_id bigint)
        where r.id <> all (recorded) and r.id <> all (unrecorded)), worker_id, at);
    end if;
  end if;
  if returned <> '[]' then
    perform keyframe_private.give_back(array(select jsonb_array_elements_text(returned)::bigint), worker_id, at);
  end if;
  if heartbeat_ms is not null then
    perform keyframe_private.record_heartbeat('deliver', heartbeat_ms, report);
  end if;
  if max_rows > 0 then
    select l.* into found_work from keyframe_private.lease_work('deliver', worker_id, max_rows, at, cursors) l;
    cursors := found_work.cursors;
    is_more := found_work.is_cut or cardinality(found_work.leased) > 0;
    endpoints := keyframe_private.hand_out_deliveries(found_work.leased, max_bytes, at);
  end if;
  if coalesce(heartbeat_ms, 0) <= 0 and keyframe_private.has_due_work('{deliver}', at) then
    perform keyframe_private.kick_unless_running('deliver'); -- a worker that stops leaves due deliveries to the next one
  end if;
  return json_build_object('endpoints', endpoints, 'cursors', cursors, 'more', is_more, 'unrecorded', unrecorded);
end $$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and leases due deliveries: { endpoints: [{ endpoint_id, url, max_open, secrets, deliveries: [{ id, work_id, attempt, event_id, body }] }], unrecorded: [id], cursors, more }. unrecorded: locked deliveries; the worker sends their results again.';
