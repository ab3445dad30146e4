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

-- claim: a keyframe_private.claim_request. heartbeat_ms null: the worker does not claim again. one_by_one: after a call that failed. The time
-- limit is below the worker's own, so that what it sets aside is committed. A claim that fails leaves recorded what is recorded.
create function keyframe_worker.exchange_deliveries(
  results jsonb, claim jsonb, heartbeat_ms integer default null, wait_ms integer default 0, report jsonb default '{}',
  at timestamptz default now(), one_by_one boolean default false)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '4s' as $$
declare
  asked keyframe_private.claim_request;
  recorded integer := 0;
  unrecorded jsonb := '[]';
  done uuid[] := '{}';
  claimed json;
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
    done := array(
      select (r ->> 'id')::uuid from jsonb_array_elements(results) r except select (u ->> 'id')::uuid from jsonb_array_elements(unrecorded) u);
  end if;
  begin
    if keyframe_private.is_out_of_time() then
      raise query_canceled;
    end if;
    if heartbeat_ms is not null then
      perform keyframe_private.record_heartbeat('deliver', heartbeat_ms, report);
    end if;
    asked := jsonb_populate_record(row('{}', 0, 8, 2000000, 10)::keyframe_private.claim_request, claim);
    asked.lanes := array(
      select row(l.lane_id, l.token, array(select s from unnest(l.sending) s where s <> all (done)), l.room, l.most,
        l.pause_ms)::keyframe_private.leased_lane
      from unnest(asked.lanes) l);
    claimed := keyframe_private.claim_deliveries(asked, at, one_by_one);
    -- A worker at the end of its run time leaves due deliveries: kick the next one now instead of waiting for the sweep.
    if coalesce(heartbeat_ms, 0) <= 0 and keyframe_private.has_due_delivery(at) then
      perform keyframe_private.kick_unless_running('deliver');
    end if;
  exception when others or query_canceled or assert_failure then
    perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
    raise warning 'No deliveries could be claimed: %', sqlerrm;
    claim_error := sqlstate;
  end;
  return json_build_object('recorded', recorded, 'unrecorded', unrecorded, 'claim', claimed, 'claim_error', claim_error);
end $$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and claims due deliveries, lane by lane: { recorded, unrecorded: [{ id, endpoint_id, reason }], claim: { endpoints: [{ lane_id, token, endpoint_id, max_open, url, secrets, deliveries: [{ id, attempt, event_id, body }] }], kept: [lane_id], lost: [lane_id], others_wait, set_aside: [{ kind, id, code, failures }], max_open: { endpoint_id: count } } or null, claim_error }.';
