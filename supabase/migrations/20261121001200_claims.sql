-- Handing out work. A claim is one skip-locked statement: whatever many claim at once, nobody gets a row twice.

-- Who is looking for work right now: while one is, new work needs no kick. Unlogged: after a crash nobody is looking.
-- One row for each function, updated at every look: room on the page keeps these updates in place.
create unlogged table keyframe_private.worker_heartbeats (
  function_name text primary key,
  alive_until timestamptz not null default '-infinity'
) with (fillfactor = 50);
comment on table keyframe_private.worker_heartbeats is 'Until when a running function has promised to look for work again.';
alter table keyframe_private.worker_heartbeats enable row level security;

-- Notes the promise of a function to look again within so many milliseconds (0: this was its last look).
-- A row that another claim holds is left alone: that one has just made the same promise.
create function keyframe_private.record_heartbeat(function_name text, heartbeat_ms integer)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  promised timestamptz :=
    case when heartbeat_ms > 0 then clock_timestamp() + make_interval(secs => heartbeat_ms / 1000.0) else '-infinity' end;
begin
  update keyframe_private.worker_heartbeats l
  set alive_until = promised
  where l.function_name = (
    select k.function_name from keyframe_private.worker_heartbeats k where k.function_name = record_heartbeat.function_name for update skip locked
  );
  -- Looked for first: on conflict do nothing would wait for a claim that is just updating the row.
  if not found and not exists (select from keyframe_private.worker_heartbeats k where k.function_name = record_heartbeat.function_name) then
    insert into keyframe_private.worker_heartbeats (function_name, alive_until) values (record_heartbeat.function_name, promised)
    on conflict do nothing;
  end if;
  -- The first look since the last kick is how it was heard (keyframe_private.last_kicks). One that is just being made is no matter of ours.
  update keyframe_private.last_kicks l
  set acknowledged_at = clock_timestamp()
  where l.function_name = (
    select k.function_name from keyframe_private.last_kicks k
    where k.function_name = record_heartbeat.function_name and k.request_id is not null and k.acknowledged_at is null for update skip locked
  );
end
$$;

-- Waits until a prediction is due, at most so many milliseconds. A look in here costs a fraction of a call from outside, so it looks
-- often; where a look takes long, it rests longer, so that looking takes a tenth of the time at most. A waiting call holds a
-- connection: one waits at a time, and whoever else would gets back at once.
create function keyframe_private.wait_for_task(wait_ms integer)
returns void
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_sort = off
as $$
declare
  began constant timestamptz := clock_timestamp();
  looked timestamptz;
  rest double precision;
begin
  if wait_ms <= 0 or not pg_try_advisory_xact_lock(hashtextextended('keyframe generate waits', 0)) then
    return;
  end if;
  loop
    looked := clock_timestamp();
    exit when (
      select p.next_attempt_at from keyframe.predictions p
      where p.admitted_at is not null and p.status in ('queued', 'starting', 'processing', 'storing')
      order by p.next_attempt_at limit 1) <= looked;
    rest := greatest(0.002, 9 * extract(epoch from clock_timestamp() - looked));
    exit when clock_timestamp() + make_interval(secs => rest) >= began + make_interval(secs => wait_ms / 1000.0);
    perform pg_sleep(rest);
  end loop;
end
$$;

-- Leases what is due: predictions to submit, poll or store, runs to look for and to cancel at the provider, and files to remove.
-- A lease runs out at next_attempt_at, and then the row is due again: a worker that died delays a task, no more.
-- With nothing due it may wait for a prediction, at most wait_ms.
create function keyframe_worker.claim_predictions(
  max_rows integer, lease_seconds integer, heartbeat_ms integer default 0, wait_ms integer default 0
)
returns setof jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  task jsonb;
  at timestamptz;
begin
  perform keyframe_private.wait_for_task(wait_ms);
  -- Not now(): what became due while it waited is later than that.
  at := clock_timestamp();
  perform keyframe_private.record_heartbeat('generate', heartbeat_ms);

  for task in
  with due as (
    select p.id, p.lease_token is not null as was_left
    from keyframe.predictions p
    where p.admitted_at is not null and p.status in ('queued', 'starting', 'processing', 'storing') and p.next_attempt_at <= at
    order by p.next_attempt_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe.predictions p
    set lease_token = gen_random_uuid(),
        next_attempt_at = at + make_interval(secs => lease_seconds),
        attempt = p.attempt + case when p.status = 'queued' then 1 else 0 end,
        unanswered_since = case when p.status = 'queued' then coalesce(p.unanswered_since, at) end,
        failures = p.failures + case when due.was_left then 1 else 0 end,
        retry_reason = case when due.was_left then 'lease_ran_out' else p.retry_reason end,
        updated_at = at
    from due
    where p.id = due.id
    returning p.*, due.was_left
  ), noted as (
    insert into keyframe_private.text_submits as t (prediction_id, prompt_hash, submitted_at)
    select c.id, hashtextextended(c.prompt, 0), at from claimed c
    where c.status = 'queued' and num_nonnulls(c.reference_image_path, c.first_frame_prediction_id, c.last_frame_prediction_id) = 0
    on conflict (prediction_id) do update set submitted_at = excluded.submitted_at
  )
  select to_jsonb(c) - 'was_left' || jsonb_build_object(
    'task', case c.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end,
    -- An earlier submit may have been accepted without our hearing of it: look for it before this one.
    'search_since', case when c.status = 'queued' and c.unanswered_since < at then c.unanswered_since end,
    'exhausted', c.was_left and c.failures >= (select s.max_failures from keyframe_private.settings s),
    'first_frame_path', f.output_path,
    'last_frame_path', l.output_path,
    'model_settings', to_jsonb(m)
  )
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model
  left join keyframe.predictions f on f.id = c.first_frame_prediction_id
  left join keyframe.predictions l on l.id = c.last_frame_prediction_id
  loop
    if (task ->> 'exhausted')::boolean then
      -- Its workers died again and again: it would take the next one with it.
      perform keyframe_private.mark_failed((task ->> 'id')::uuid, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.', true,
        heard => task ->> 'task' <> 'submit');
    else
      return next task - 'exhausted';
    end if;
  end loop;

  return query
  with due as (
    select r.provider_prediction_id from keyframe_private.provider_runs r
    where r.cancel_due_at <= at
    order by r.cancel_due_at
    limit max_rows
    for update skip locked
  )
  update keyframe_private.provider_runs r
  set cancel_due_at = at + make_interval(secs => lease_seconds)
  from due
  where r.provider_prediction_id = due.provider_prediction_id
  returning jsonb_build_object(
    'task', 'cancel', 'id', r.prediction_id, 'provider_prediction_id', r.provider_prediction_id, 'attempt', r.attempt
  );

  -- Ended while a submit had no answer: what the provider made of it is paid for, and nobody waits for it. After a day it is over.
  return query
  with due as (
    select p.id from keyframe.predictions p
    where p.unanswered_since is not null and p.status in ('failed', 'canceled') and p.next_attempt_at <= at
      and p.unanswered_since > at - interval '1 day'
    order by p.next_attempt_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe.predictions p
    set next_attempt_at = at + make_interval(secs => lease_seconds)
    from due
    where p.id = due.id
    returning p.*
  )
  select to_jsonb(c) || jsonb_build_object(
    'task', 'search', 'search_since', c.unanswered_since,
    'first_frame_path', f.output_path, 'last_frame_path', l.output_path, 'model_settings', to_jsonb(m)
  )
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model
  left join keyframe.predictions f on f.id = c.first_frame_prediction_id
  left join keyframe.predictions l on l.id = c.last_frame_prediction_id;
  return query select keyframe_private.claim_unanswered_submits(max_rows, lease_seconds);

  task := keyframe_private.claim_removals(lease_seconds);
  if task is not null then
    return next task;
  end if;
end
$$;
comment on function keyframe_worker.claim_predictions is 'Leases due work for lease_seconds: one JSON object per task (submit, poll, store, cancel, search, remove).';

grant execute on function keyframe_worker.claim_predictions(integer, integer, integer, integer) to service_role;
