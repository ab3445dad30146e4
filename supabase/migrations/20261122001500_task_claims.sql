-- Claiming tasks. A claim is one skip-locked statement, so simultaneous claims never get the same row.

-- Whether a claim would get a task. Reads one entry of each index, whatever waits.
create function keyframe_private.has_due_task(at timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_sort = off
as $$
begin
  return (
    select p.next_attempt_at from keyframe.predictions p
    where p.admitted_at is not null and p.is_active order by p.next_attempt_at limit 1) <= at
  or exists (
    select from keyframe.predictions p
    where p.unanswered_since is not null and p.status in ('failed', 'canceled') and p.next_attempt_at <= at
      and p.unanswered_since > at - keyframe_private.search_horizon())
  or exists (
    select from keyframe_private.unanswered_submits s
    where s.next_search_at <= at and s.unanswered_since > at - keyframe_private.search_horizon())
  or exists (select from keyframe_private.provider_runs r where r.cancel_due_at <= at)
  or (exists (select from keyframe_private.file_removals r where r.due_at <= at)
    and not exists (select from keyframe_private.file_removals r where r.lease_token is not null and r.due_at > at));
end
$$;

-- Leases due predictions, as tasks to submit, poll or store. A prediction whose leases expired too often fails instead.
create function keyframe_private.claim_active_predictions(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  task jsonb;
begin
  for task in
  with due as (
    select p.id, p.lease_token is not null as lease_expired,
      p.unanswered_since as search_since -- an earlier submit may have been accepted: search for its run before submitting again
    from keyframe.predictions p
    where p.admitted_at is not null and p.is_active and p.next_attempt_at <= at
    order by p.next_attempt_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe.predictions p
    set lease_token = gen_random_uuid(),
        next_attempt_at = at + make_interval(secs => lease_seconds),
        attempt = p.attempt + case when p.status = 'queued' then 1 else 0 end,
        unanswered_since = case when p.status = 'queued' then coalesce(p.unanswered_since, at) end,
        -- An accepted run is paid for: only leases that expired in a row give it up, so recorded failures before them do not count.
        failures = case when not due.lease_expired then p.failures
          when p.status <> 'queued' and p.retry_reason is distinct from 'lease_ran_out' then 1
          else p.failures + 1 end,
        retry_reason = case when due.lease_expired then 'lease_ran_out' else p.retry_reason end,
        updated_at = at
    from due
    where p.id = due.id
    returning p.*, due.lease_expired, due.search_since
  ), text_submits_recorded as (
    insert into keyframe_private.text_submits as t (prediction_id, prompt_hash, submitted_at)
    select c.id, hashtextextended(c.prompt, 0), at from claimed c
    where c.status = 'queued' and num_nonnulls(c.reference_image_path, c.first_frame_prediction_id, c.last_frame_prediction_id) = 0
    on conflict (prediction_id) do update set submitted_at = excluded.submitted_at
  )
  select to_jsonb(c) - 'lease_expired' || jsonb_build_object(
    'task', case c.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end,
    'exhausted', c.lease_expired and c.failures >= (select s.max_failures from keyframe_private.settings s),
    'first_frame_path', f.output_path,
    'last_frame_path', l.output_path,
    'model_settings', to_jsonb(m)
  )
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model
  left join keyframe.predictions f on f.id = c.first_frame_prediction_id
  left join keyframe.predictions l on l.id = c.last_frame_prediction_id
  loop
    if not (task ->> 'exhausted')::boolean then
      return next task - 'exhausted';
    elsif keyframe_private.try_lock_slots((task ->> 'owner_id')::uuid) then -- otherwise when this lease expires
      -- Its workers died repeatedly, and the task may be the cause.
      perform keyframe_private.mark_failed((task ->> 'id')::uuid, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.', true,
        provider_answered => task ->> 'task' <> 'submit');
    end if;
  end loop;
end
$$;

-- Leases provider runs to cancel, as tasks.
create function keyframe_private.claim_cancellations(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
begin
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
end
$$;

-- Leases searches for predictions that ended with an unanswered submit, as tasks: their provider runs must be cancelled.
create function keyframe_private.claim_searches(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
begin
  return query
  with due as (
    select p.id from keyframe.predictions p
    where p.unanswered_since is not null and p.status in ('failed', 'canceled') and p.next_attempt_at <= at
      and p.unanswered_since > at - keyframe_private.search_horizon()
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
end
$$;
