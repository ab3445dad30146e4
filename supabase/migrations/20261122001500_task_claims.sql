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
    where p.admitted_at is not null and p.completed_at is null
    order by p.next_attempt_at limit 1) <= at
  or coalesce((
    select s.search_due_at from keyframe_private.provider_submits s where s.search_due_at is not null
    order by s.search_due_at limit 1) <= at, false)
  or coalesce((
    select s.cancel_due_at from keyframe_private.provider_submits s where s.cancel_due_at is not null
    order by s.cancel_due_at limit 1) <= at, false)
  or (coalesce((select r.due_at from keyframe_private.file_removals r order by r.due_at limit 1) <= at, false)
    and not exists (select from keyframe_private.file_removals r where r.lease_token is not null and r.due_at > at));
end
$$;
comment on function keyframe_private.has_due_task is 'Whether a claim would get a task.';

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
comment on function keyframe_private.failures_with_expired_lease is 'The failures of a prediction whose lease has expired.';

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
comment on function keyframe_private.is_exhausted is 'Whether so many leases of a prediction expired that it is not tried again: its workers died, and the task may be the cause.';

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
comment on function keyframe_private.images_json is 'The images of a prediction, in the order in which the model gets them.';

-- Adds the next submit of predictions whose worker died while it submitted, among those that are due first: claims take these, so that later
-- ones move up. What transactions hold stays in front; the sweep looks behind it. One that cannot be added now is added later.
create function keyframe_private.add_submits_after_lost_leases(at timestamptz, max_rows integer default 100)
returns void
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
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
    for update skip locked
  loop
    begin
      if keyframe_private.take_lock('slots', lost.owner_id, waits => false) then
        perform keyframe_private.add_next_submit(lost);
      end if;
    exception when others then
      raise warning 'No submit of the prediction % could be added: %', lost.id, sqlerrm;
    end;
  end loop;
end
$$;
comment on function keyframe_private.add_submits_after_lost_leases is 'Adds the next submit of predictions whose worker died while it submitted, among those that are due first: claims take these, so that later ones move up.';

-- Leases due predictions, as tasks to submit, poll or store. The sweep fails the exhausted ones. A submit is in the ledger before it is
-- made: its waiting row, which is locked here without waiting. A prediction whose row somebody holds is left out before the limit, so that
-- many of them leave room for others.
create function keyframe_private.claim_active_predictions(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
  perform keyframe_private.add_submits_after_lost_leases(at);
  with due as (
    select p.id, p.lease_token is not null as lease_expired, w.id as waiting_submit
    from keyframe.predictions p
    left join lateral (
      select s.id from keyframe_private.provider_submits s
      where p.status = 'queued' and s.prediction_id = p.id and s.submitted_at is null and s.ended_at is null
      for update skip locked) w on true
    where p.admitted_at is not null and p.completed_at is null and p.next_attempt_at <= at and not keyframe_private.is_exhausted(p)
      and (p.status <> 'queued' or w.id is not null)
    order by p.next_attempt_at
    limit max_rows
    for update of p skip locked
  ), claimed as (
    update keyframe.predictions p
    set lease_token = gen_random_uuid(),
        next_attempt_at = at + make_interval(secs => lease_seconds),
        attempt = p.attempt + case when p.status = 'queued' then 1 else 0 end,
        failures = case when due.lease_expired then keyframe_private.failures_with_expired_lease(p) else p.failures end,
        retry_reason = case when due.lease_expired then 'lease_ran_out' else p.retry_reason end,
        updated_at = at
    from due
    where p.id = due.id
    returning p.*, due.waiting_submit
  ), submits_recorded as (
    update keyframe_private.provider_submits s
    set submitted_at = at,
        text_hash = case when not keyframe_private.has_images(c.input) then hashtextextended(c.input ->> 'prompt', 0) end
    from claimed c where s.id = c.waiting_submit
  )
  select array_agg(to_jsonb(c) || jsonb_build_object(
    'task', case c.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end,
    'images', case when c.status = 'queued' then keyframe_private.images_json(c.id) end,
    'has_images', keyframe_private.has_images(c.input),
    'model_settings', jsonb_build_object('controls', m.controls, 'fixed', m.fixed),
    -- An earlier submit may have been accepted: its run is searched for before the next submit.
    'search_attempt', u.attempt, 'search_since', u.submitted_at
  ))
  into tasks
  from claimed c
  join keyframe.models m on m.step = c.step and m.model = c.model
  left join lateral (
    select s.attempt, s.submitted_at from keyframe_private.provider_submits s
    where c.status = 'queued' and s.prediction_id = c.id and s.is_unanswered order by s.attempt limit 1) u on true;
  return query select unnest(tasks);
exception when others then
  raise warning 'No prediction could be claimed: %', sqlerrm;
end
$$;
comment on function keyframe_private.claim_active_predictions is 'Leases due predictions, as tasks to submit, poll or store.';

create function keyframe_private.claim_cancellations(max_rows integer, lease_seconds integer, at timestamptz)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
  with due as (
    select s.id from keyframe_private.provider_submits s
    where s.cancel_due_at <= at
    order by s.cancel_due_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe_private.provider_submits s
    set cancel_due_at = at + make_interval(secs => lease_seconds)
    from due
    where s.id = due.id
    returning s.*
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
comment on function keyframe_private.claim_cancellations is 'Leases provider runs to cancel, as tasks.';

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
    select s.id from keyframe_private.provider_submits s
    where s.search_due_at <= at
    order by s.search_due_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe_private.provider_submits s
    set search_due_at = at + make_interval(secs => lease_seconds)
    from due
    where s.id = due.id
    returning s.*
  )
  select array_agg(c.search_task || jsonb_build_object(
    'task', 'search', 'id', c.prediction_id, 'attempt', c.attempt, 'step', c.step, 'model', c.model,
    'search_attempt', c.attempt, 'search_since', c.submitted_at
  ))
  into tasks from claimed c;
  return query select unnest(tasks);
exception when others then
  raise warning 'No search could be claimed: %', sqlerrm;
end
$$;
comment on function keyframe_private.claim_searches is 'Leases searches for the provider runs of submits that no later submit of their prediction searches for, as tasks.';
