-- Claiming tasks. A claim is one skip-locked statement, so simultaneous claims never get the same row. A kind of task that cannot be
-- claimed does not stop the other kinds: its function warns and returns none. What it returns is in an array first, because rows that
-- were returned before an error would be tasks without a lease.

-- Whether a claim would get a task. Reads one entry of each index, whatever waits: `order by` and `limit` in the order of an index
-- leave no cheaper plan, however many rows a statistic expects.
create function keyframe_private.has_due_task(at timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  return (
    select p.next_attempt_at from keyframe.predictions p
    where p.admitted_at is not null and p.is_active
    order by p.next_attempt_at limit 1) <= at
  or coalesce((
    select p.next_attempt_at from keyframe.predictions p
    where p.unanswered_since is not null and p.status in ('failed', 'canceled')
      and p.unanswered_since > at - keyframe_private.search_horizon()
    order by p.next_attempt_at limit 1) <= at, false)
  or coalesce((
    select s.next_search_at from keyframe_private.unanswered_submits s
    where s.next_search_at is not null and s.unanswered_since > at - keyframe_private.search_horizon()
    order by s.next_search_at limit 1) <= at, false)
  or coalesce((
    select r.cancel_due_at from keyframe_private.provider_runs r where r.cancel_due_at is not null
    order by r.cancel_due_at limit 1) <= at, false)
  or (coalesce((select r.due_at from keyframe_private.file_removals r order by r.due_at limit 1) <= at, false)
    and not exists (select from keyframe_private.file_removals r where r.lease_token is not null and r.due_at > at));
end
$$;

-- The failures of a prediction whose lease has expired. An accepted run is paid for: only leases that expired in a row give it up, so
-- recorded failures before them do not count.
create function keyframe_private.failures_with_expired_lease(prediction keyframe.predictions)
returns integer
language plpgsql
immutable
set search_path = ''
as $$
begin
  return case when prediction.status <> 'queued' and prediction.retry_reason is distinct from 'lease_ran_out' then 1
    else prediction.failures + 1 end;
end
$$;

-- Whether so many leases of a prediction expired that it is not tried again: its workers died, and the task may be the cause.
create function keyframe_private.is_exhausted(prediction keyframe.predictions)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return prediction.lease_token is not null and keyframe_private.failures_with_expired_lease(prediction) >= (
    select s.max_failures from keyframe_private.settings s);
end
$$;

-- The images of a prediction, in the order in which the model gets them. The name is null when the prediction that made one is deleted.
create function keyframe_private.images_json(prediction uuid)
returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'role', i.role,
      'bucket', case when i.path is null then 'keyframe-outputs' else 'projects' end,
      'name', coalesce(substr(i.path, 10), source.output_path)
    ) order by i.role, i.position), '[]')
    from keyframe_private.prediction_images i
    left join keyframe.predictions source on source.id = i.source_prediction_id
    where i.prediction_id = prediction
  );
end
$$;

-- Leases due predictions, as tasks to submit, poll or store. The sweep fails the exhausted ones.
create function keyframe_private.claim_active_predictions(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
  with due as (
    select p.id, p.lease_token is not null as lease_expired,
      p.unanswered_since as search_since -- an earlier submit may have been accepted: search for its run before submitting again
    from keyframe.predictions p
    where p.admitted_at is not null and p.is_active and p.next_attempt_at <= at and not keyframe_private.is_exhausted(p)
    order by p.next_attempt_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe.predictions p
    set lease_token = gen_random_uuid(),
        next_attempt_at = at + make_interval(secs => lease_seconds),
        attempt = p.attempt + case when p.status = 'queued' then 1 else 0 end,
        unanswered_since = case when p.status = 'queued' then coalesce(p.unanswered_since, at) end,
        failures = case when due.lease_expired then keyframe_private.failures_with_expired_lease(p) else p.failures end,
        retry_reason = case when due.lease_expired then 'lease_ran_out' else p.retry_reason end,
        updated_at = at
    from due
    where p.id = due.id
    returning p.*, due.search_since
  ), text_submits_recorded as (
    insert into keyframe_private.text_submits (prediction_id, prompt_hash, submitted_at)
    select c.id, hashtextextended(c.input ->> 'prompt', 0), at from claimed c
    where c.status = 'queued' and not keyframe_private.has_images(c.input)
  )
  select array_agg(to_jsonb(c) || jsonb_build_object(
    'task', case c.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end,
    'images', case when c.status = 'queued' then keyframe_private.images_json(c.id) end,
    'has_images', keyframe_private.has_images(c.input),
    'model_settings', jsonb_build_object('controls', m.controls, 'fixed', m.fixed)
  ))
  into tasks
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model;
  return query select unnest(tasks);
exception when others then
  raise warning 'No prediction could be claimed: %', sqlerrm;
end
$$;

-- Leases provider runs to cancel, as tasks.
create function keyframe_private.claim_cancellations(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
  -- Usually none is due: this check costs a tenth of an update that finds nothing.
  if ((
    select r.cancel_due_at from keyframe_private.provider_runs r where r.cancel_due_at is not null
    order by r.cancel_due_at limit 1) <= at) is not true then
    return;
  end if;
  with due as (
    select r.provider_prediction_id from keyframe_private.provider_runs r
    where r.cancel_due_at <= at
    order by r.cancel_due_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe_private.provider_runs r
    set cancel_due_at = at + make_interval(secs => lease_seconds)
    from due
    where r.provider_prediction_id = due.provider_prediction_id
    returning r.*
  )
  select array_agg(jsonb_build_object(
    'task', 'cancel', 'id', c.prediction_id, 'provider_prediction_id', c.provider_prediction_id, 'attempt', c.attempt
  ))
  into tasks from claimed c;
  return query select unnest(tasks);
exception when others then
  raise warning 'No provider run to cancel could be claimed: %', sqlerrm;
end
$$;

-- Leases searches for predictions that ended with an unanswered submit, as tasks: their provider runs must be cancelled.
create function keyframe_private.claim_searches(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
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
  select array_agg(to_jsonb(c) || jsonb_build_object(
    'task', 'search', 'search_since', c.unanswered_since, 'has_images', keyframe_private.has_images(c.input),
    'model_settings', jsonb_build_object('controls', m.controls, 'fixed', m.fixed)
  ))
  into tasks
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model;
  return query select unnest(tasks);
exception when others then
  raise warning 'No search could be claimed: %', sqlerrm;
end
$$;
