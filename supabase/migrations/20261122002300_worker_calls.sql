-- The calls of the workers: claim, and for deliver record, or wait for something due. And pruning.

-- A check in the database costs a fraction of a call from outside, so it checks often; slow checks are spaced out to take a tenth of the
-- time at most. One call of each worker waits at a time; others return at once.
create function keyframe_private.wait_for_due(function_name text, wait_ms integer)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ends constant timestamptz := clock_timestamp() + make_interval(secs => least(wait_ms, 1000) / 1000.0);
  checked_at timestamptz;
  rest double precision;
begin
  if wait_ms <= 0 or not pg_try_advisory_xact_lock(hashtextextended('keyframe ' || function_name || ' waits', 0)) then
    return;
  end if;
  loop
    checked_at := clock_timestamp();
    exit when case function_name
      when 'generate' then keyframe_private.has_due_task(checked_at) when 'deliver' then keyframe_private.has_due_delivery(checked_at) end;
    rest := greatest(0.002, 9 * extract(epoch from clock_timestamp() - checked_at));
    exit when clock_timestamp() + make_interval(secs => rest) >= ends;
    perform pg_sleep(rest);
  end loop;
end
$$;
comment on function keyframe_private.wait_for_due is 'Waits until work of a worker is due, at most wait_ms and at most a second: the call holds a connection.';

-- Leases due tasks: predictions to submit, poll or store, provider runs to search for and to cancel, files to remove. A lease
-- expires at next_attempt_at and then the row is due again, so a worker that dies only delays a task. With nothing due it may
-- wait for a task, at most wait_ms. room: as choose_due describes it. one_by_one: after a claim that ran out of time.
create function keyframe_worker.claim_predictions(
  max_rows integer, lease_seconds integer, heartbeat_ms integer default 0, wait_ms integer default 0, report jsonb default '{}',
  room jsonb default '{}', one_by_one boolean default false
)
returns setof jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  at timestamptz;
  chosen record;
  files text[];
begin
  perform keyframe_private.wait_for_due('generate', wait_ms);
  -- Not now(): what became due during the wait is later than that.
  at := clock_timestamp();
  perform keyframe_private.record_heartbeat('generate', heartbeat_ms, report);

  if max_rows <= 0 then
    return; -- a heartbeat only
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
end
$$;
comment on function keyframe_worker.claim_predictions is 'Leases due tasks for lease_seconds: one JSON object per task (submit, poll, store, cancel, search, remove). set_aside: a row that could not be leased.';

-- Records the results of the last requests and claims lanes, as record_attempts and claim_deliveries describe it. Without results it may
-- wait for a due delivery. heartbeat_ms null: the worker does not claim. When the claim fails, what is recorded stays recorded.
-- one_by_one: after a call that failed. The time limit is below the one after which the worker gives up: what it sets aside is committed.
create function keyframe_worker.exchange_deliveries(
  results jsonb, held jsonb, max_lanes integer, lease_seconds integer, heartbeat_ms integer default null,
  at timestamptz default now(), wait_ms integer default 0, report jsonb default '{}', small_lane integer default 8,
  max_bytes integer default 2000000, one_by_one boolean default false
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
set statement_timeout = '4s'
as $$
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
    claim := keyframe_private.claim_deliveries(held, max_lanes, small_lane, max_bytes, make_interval(secs => lease_seconds), at, one_by_one);
    -- A worker at the end of its run time leaves due deliveries: kick the next one now instead of waiting for the sweep.
    if coalesce(heartbeat_ms, 0) <= 0 and keyframe_private.has_due_delivery(at) then
      perform keyframe_private.kick_unless_running('deliver');
    end if;
  exception when others or query_canceled or assert_failure then
    if sqlstate = '57014' and not keyframe_private.is_out_of_time() then
      raise; -- canceled by hand
    end if;
    raise warning 'No deliveries could be claimed: %', sqlerrm;
    claim_error := sqlstate;
  end;
  return json_build_object('recorded', recorded, 'unrecorded', unrecorded, 'claim', claim, 'claim_error', claim_error);
end
$$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and claims due deliveries, lane by lane: { recorded, unrecorded: [{ id, endpoint_id, reason }], claim: { endpoints: [{ lane_id, token, endpoint_id, max_open, url, secrets, deliveries: [{ id, attempt, event_id, body }] }], kept: [lane_id], lost: [lane_id], others_wait, set_aside: [{ kind, id, code, failures }], max_open: { endpoint_id: count } } or null, claim_error }.';

-- Deliveries with their attempts first, then as many test events that have no delivery any more: a locked delivery would hold up the
-- deletion of its event.
create function keyframe_private.prune_deleted_endpoints(max_rows integer default 10000)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Literals, because the planner has to see how few they are.
  gone constant uuid[] := array(select g.endpoint_id from keyframe_private.deleted_endpoints g order by g.deleted_at limit 1000);
  is_left constant text := format('o.endpoint_id = any (%L::uuid[])', gone);
begin
  if gone = '{}' then
    return;
  end if;
  -- From the index alone: an endpoint may have left a million.
  perform keyframe_private.prune_rows('keyframe.webhook_deliveries', 'o.id',
    format('o.id = any (array(select d.id from keyframe.webhook_deliveries d where d.endpoint_id = any (%L::uuid[]) limit %s))', gone, max_rows), max_rows);
  perform keyframe_private.prune_rows('keyframe.webhook_events', 'o.id',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.event_id = o.id)', max_rows, 'delete tests in');
  perform keyframe_private.prune_rows('keyframe_private.deleted_endpoints', 'o.endpoint_id',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.endpoint_id = o.endpoint_id)
      and not exists (select from keyframe.webhook_events v where v.endpoint_id = o.endpoint_id)', max_rows);
end
$$;
comment on function keyframe_private.prune_deleted_endpoints is 'Deletes a batch of what deleted endpoints left.';

-- Deletes events past their retention with their deliveries and attempts, a batch of what deleted endpoints left, counted hours
-- after two days (an endpoint's last hour with its events), lanes unused for a day, and expired secrets.
create function keyframe_private.prune_webhooks(max_rows integer default 2000)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.prune_rows('keyframe_private.webhook_secrets', 'o.id', 'o.expires_at <= now() order by o.expires_at', max_rows);
  -- An endpoint's last hour shows its latest attempt. Scalar subqueries, because joins would read all hours.
  perform keyframe_private.prune_rows('keyframe_private.webhook_hours', 'o.endpoint_id, o.hour', $w$
    o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from keyframe_private.settings s)
      or (select true from keyframe_private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour$w$, max_rows * 5);
  perform keyframe_private.prune_deleted_endpoints();
  perform keyframe_private.prune_rows('keyframe.webhook_events', 'o.id',
    'o.created_at < now() - (select s.webhook_retention from keyframe_private.settings s) order by o.created_at', max_rows);
  -- Last: a claim leaves a locked lane alone until this transaction ends.
  perform keyframe_private.prune_rows('keyframe_private.lanes', 'o.id', $w$o.due_at = 'infinity' and o.served_at < now() - interval '1 day'$w$, max_rows);
end
$$;
comment on function keyframe_private.prune_webhooks is 'Deletes a batch of events, deliveries and attempts past their retention.';

grant execute on function keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamptz, integer, jsonb, integer, integer, boolean) to service_role;
grant execute on function keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb, jsonb, boolean) to service_role;
