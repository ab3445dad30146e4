-- The call of `generate`: claims tasks, or waits for one that becomes due.

-- A check in the database costs a fraction of a call from outside, so it checks often; slow checks are spaced out to take a tenth of the
-- time at most. One call of each worker waits at a time; others return at once.
create function keyframe_private.wait_for_due(function_name text, wait_ms integer)
returns void language plpgsql volatile set search_path = '' as $$
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
end $$;
comment on function keyframe_private.wait_for_due is 'Waits until work of a worker is due, at most wait_ms and at most a second: the call holds a connection.';

-- A lease expires at next_attempt_at and then the row is due again, so a worker that dies only delays a task. room: as choose_due
-- has it. one_by_one: after a claim that ran out of time.
create function keyframe_worker.claim_predictions(
  max_rows integer, lease_seconds integer, heartbeat_ms integer default 0, wait_ms integer default 0, report jsonb default '{}',
  room jsonb default '{}', one_by_one boolean default false)
returns setof jsonb language plpgsql volatile security definer set search_path = '' as $$
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
end $$;
comment on function keyframe_worker.claim_predictions is 'Leases due tasks for lease_seconds: one JSON object per task (submit, poll, store, cancel, search, remove). set_aside: a row that could not be leased.';
