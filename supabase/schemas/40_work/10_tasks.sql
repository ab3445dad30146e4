-- The work of generate: each kind, what adds it (lost work: 20_sweep.sql) and what ends it. (later) means: scheduled again. retry_work does
-- this to any kind.
--
--   kind      subject     added by                  ended by
--   submit    prediction  add_submit_work           report_run (it becomes the run's poll), fail_prediction,
--                                                   retry_prediction_later, record_model_refused; begin_submit, if it is not needed
--   poll      prediction  a submit becomes one      report_run, fail_prediction, retry_prediction_later (later)
--   store     prediction  add_work_of_prediction    complete_prediction, fail_prediction, retry_prediction_later (later)
--   search    prediction  add_search                record_search_ended
--   cancel    prediction  add_cancel                report_run, record_run_not_canceled (later)
--   expire    prediction  sweep                     expire_prediction
--   continue  prediction  add_continue_work,        admit_predictions
--                         admit_or_queue,
--                         continue_or_fail
--   admit     owner       admit_next, if it failed  admit_predictions
--   remove    owner       add_removal_work          begin_removal, if no file is left; record_files_removed (later)
--
-- A claim deletes polls, searches, cancels and removals that are no longer needed (prepare_task), such as the poll of a run that is being
-- stored. It hands out as the task give_up a poll or store whose leases expired too often, and a store that is not needed: expire_prediction
-- ends it.

create function keyframe_private.add_submit_work(
  p keyframe.predictions, due_at timestamptz default clock_timestamp(), failures integer default 0, reason text default null)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'submit', p.id, p.owner_id, p.model, add_submit_work.due_at, (
    select s.id from keyframe_private.provider_submits s
    where s.prediction_id = p.id and s.is_unsent order by s.id limit 1), add_submit_work.failures, reason);
end $$;

-- Adds what an active prediction needs in its status.
create function keyframe_private.add_work_of(p keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if p.status = 'queued' then
    perform keyframe_private.add_submit_work(p);
  elsif p.status = 'storing' then
    perform keyframe_private.add_work('copy', 'store', p.id, p.owner_id,
      left(split_part(p.provider_output_url, '/', 3), 255) || ' ' || p.model);
  else
    perform keyframe_private.add_work('ask', 'poll', p.id, p.owner_id, 'poll', submit_id => (
      select s.id from keyframe_private.provider_submits s where s.provider_prediction_id = p.provider_prediction_id));
  end if;
end $$;

-- Work that is no longer needed stays until a worker claims it: nothing here locks or changes existing work.
create function keyframe_private.add_work_of_prediction()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work_of(new);
  return null;
end $$;

-- Whether the prediction still needs this submit, poll or store.
create function keyframe_private.is_current(leased keyframe_private.work)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe.predictions p
    left join keyframe_private.provider_submits s on s.id = leased.submit_id
    where p.id = leased.subject and case leased.kind
      when 'submit' then p.status = 'queued' and s.attempt = p.attempt
      when 'poll' then p.status in ('starting', 'processing') and s.provider_prediction_id = p.provider_prediction_id
      when 'store' then p.status = 'storing'
    end);
end $$;

-- Deletes work that is done, or that is no longer needed. After a store, also the poll of its run, and a partial output is queued for removal.
create function keyframe_private.finish_work(leased keyframe_private.work, has_output boolean default false)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  if leased.kind = 'store' then -- its output is no longer written, and its run no longer polled
    if not has_output then
      perform keyframe_private.add_removals_of_partial_output(leased.subject);
    end if;
    delete from keyframe_private.work w where w.id = any (array(
      select o.id from keyframe_private.work o
      where o.subject = leased.subject and o.kind = 'poll' and o.queue <> 'deliver' and o.state = 'scheduled' for update skip locked));
  end if;
  delete from keyframe_private.work w where w.id = leased.id;
end $$;

-- After work was done, or had nothing to do: a running run is polled later, an unsuccessful cancel is repeated, and other work is finished. A
-- run is polled by the work that submitted it: one row follows a prediction from its submit to the end of its run.
create function keyframe_private.reschedule_or_finish(leased keyframe_private.work, poll_seconds double precision default null)
returns void language plpgsql volatile set search_path = '' as $$
declare
  run_submit bigint;
begin
  if leased.kind in ('submit', 'poll') then
    select s.id into run_submit from keyframe.predictions p
    join keyframe_private.provider_submits s on s.provider_prediction_id = p.provider_prediction_id
    where p.id = leased.subject and p.status in ('starting', 'processing');
    if run_submit is not null and (
      leased.kind = 'poll' and leased.submit_id = run_submit or not keyframe_private.has_work(leased.subject, 'poll', run_submit)) then
      leased.kind := 'poll';
      leased.resource := 'poll';
      leased.submit_id := run_submit;
      perform keyframe_private.reschedule(leased,
        now() + coalesce(make_interval(secs => poll_seconds), keyframe_private.poll_interval()), 0, null);
      return;
    end if;
  elsif leased.kind = 'cancel' and exists (
    select from keyframe_private.provider_submits s where s.id = leased.submit_id and s.ended_at is null) then
    perform keyframe_private.reschedule(leased,
      now() + least(interval '5 minutes', interval '10 seconds' * (leased.failures + 1)), leased.failures + 1, 'not_canceled');
    return;
  end if;
  perform keyframe_private.finish_work(leased);
end $$;

create function keyframe_worker.retry_work(work_id bigint, lease_token uuid, code text)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  due constant timestamptz := now() + keyframe_private.retry_delay(leased.failures + 1);
begin
  if not keyframe_private.is_lock_wait(code) then
    leased.failures := leased.failures + 1;
    leased.last_error := code;
  end if;
  perform keyframe_private.reschedule(leased, due, leased.failures, leased.last_error);
end $$;
comment on function keyframe_worker.retry_work is 'Gives work back that could not be done or recorded: it is retried after growing intervals. A lock timeout does not count as a failure.';

-- If the lease of a submit expires, the submit may have created a run. So it stays unanswered, and the next submit is added. Before that one
-- is sent, the worker searches for the run of the first (search_attempt).
create function keyframe_worker.begin_submit(work_id bigint, lease_token uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  row_now keyframe.predictions;
  submit keyframe_private.provider_submits;
  settings jsonb;
  has_images boolean;
begin
  select p.* into row_now from keyframe.predictions p where p.id = leased.subject for update;
  if row_now.status is distinct from 'queued' then
    perform keyframe_private.reschedule_or_finish(leased);
    return null;
  elsif leased.last_error = 'lease_expired' and leased.failures >= keyframe_private.max_failures() or row_now.attempt >= 1000000 then
    perform keyframe_private.mark_failed(row_now.id, 'attempts_exhausted', 'It failed too often. Run the step again.', true);
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  select s.* into submit from keyframe_private.provider_submits s where s.id = leased.submit_id and s.is_unsent for update;
  if not found then
    -- The submit of this work is over. Another one is added, unless one waits already or a later one was begun, which may be in progress.
    if not exists (
      select from keyframe_private.provider_submits s
      where s.prediction_id = row_now.id
        and (s.is_unsent or s.id = leased.submit_id and s.attempt < row_now.attempt)) then
      perform keyframe_private.add_next_submit(row_now, now(), leased.failures, leased.last_error);
    end if;
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  select jsonb_build_object('controls', m.controls, 'fixed', m.fixed) into settings
  from keyframe.models m where m.step = row_now.step and m.model = row_now.model;
  if settings is null then
    perform keyframe_private.mark_failed(row_now.id, 'model_unavailable',
      'The model was removed while this generation started. Run the step again.', true);
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  has_images := keyframe_private.has_images(row_now.input);
  update keyframe.predictions p set attempt = submit.attempt, updated_at = clock_timestamp() where p.id = row_now.id;
  update keyframe_private.provider_submits s
  set submitted_at = clock_timestamp(), text_hash = case when not has_images then hashtextextended(row_now.input ->> 'prompt', 0) end
  where s.id = submit.id;
  return jsonb_build_object(
    'id', row_now.id, 'attempt', submit.attempt, 'step', row_now.step, 'model', row_now.model, 'input', row_now.input,
    'deadline_at', row_now.deadline_at, 'has_images', has_images, 'model_settings', settings,
    'images', case when has_images then keyframe_private.images_json(row_now.id) else '[]' end)
    -- The provider may have accepted an earlier submit, whose run is searched for before this one is sent.
    || coalesce((
      select jsonb_build_object('search_attempt', s.attempt, 'search_since', s.submitted_at) from keyframe_private.provider_submits s
      where s.prediction_id = row_now.id and s.is_unanswered and s.id <> submit.id order by s.attempt limit 1),
      '{"search_attempt": null, "search_since": null}');
end $$;
comment on function keyframe_worker.begin_submit is 'Records a submit before it is sent, and returns what is sent. Null: there is nothing to submit, or no longer.';

create function keyframe_worker.expire_prediction(work_id bigint, lease_token uuid)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  row_now keyframe.predictions;
begin
  select p.* into row_now from keyframe.predictions p where p.id = leased.subject and p.completed_at is null for update;
  if row_now.deadline_at <= now() then
    perform keyframe_private.mark_failed(row_now.id, 'deadline_exceeded', 'It took longer than this step may take. Run the step again.', true);
  elsif leased.kind <> 'expire' and keyframe_private.is_current(leased) then -- give_up, because its leases expired
    perform keyframe_private.mark_failed(row_now.id, 'attempts_exhausted', 'It failed too often. Run the step again.', true);
  end if;
  perform keyframe_private.finish_work(leased);
end $$;
comment on function keyframe_worker.expire_prediction is 'Fails a prediction that is past its deadline, or whose leases expired too often. Finishes a store that is no longer needed.';

create function keyframe_worker.admit_predictions(work_id bigint, lease_token uuid)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  if leased.id is not null then
    perform keyframe_private.acquire_lock('slots', leased.owner_id); -- before the lock of the images, as a start does
    perform keyframe_private.continue_or_fail(w::keyframe.predictions) from (
      select o.* from keyframe.predictions o
      where leased.kind = 'continue' and o.id = leased.subject and o.waits_for is not null and o.status = 'queued' for update) w;
    perform keyframe_private.admit_in_line(leased.owner_id);
    perform keyframe_private.finish_work(leased);
  end if;
end $$;
comment on function keyframe_worker.admit_predictions is 'Gives a prediction the end image of the previous shot (continue), and gives the free slots of an owner to the predictions first in line.';

-- Returns leased work as a task of generate. If there is nothing to do, it returns null, and deletes the work or, if a callback came shortly
-- before, schedules the poll again. Reads predictions without a lock.
create function keyframe_private.prepare_task(leased keyframe_private.work, poll_after interval, at timestamptz)
returns jsonb language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  task text := leased.kind;
  details jsonb := '{}';
  updated timestamptz;
begin
  if leased.kind in ('poll', 'store') then
    select jsonb_build_object('project_id', p.project_id, 'attempt', p.attempt, 'step', p.step,
      'provider_prediction_id', p.provider_prediction_id, 'provider_output_url', p.provider_output_url, 'last_error', leased.last_error),
      p.updated_at
    into details, updated from keyframe.predictions p where p.id = leased.subject and keyframe_private.is_current(leased);
    if details is null and leased.kind = 'store' then
      task := 'give_up'; -- which also queues the partial output for removal
      details := '{}';
    elsif leased.last_error = 'lease_expired' and leased.failures >= keyframe_private.max_failures() then
      task := 'give_up';
    elsif leased.kind = 'poll' and leased.failures = 0 and updated between at - poll_after and at then -- a later time is of a clock that was set back
      perform keyframe_private.reschedule(leased, updated + poll_after, 0, null);
      return null;
    end if;
  elsif leased.kind = 'cancel' then
    select jsonb_build_object('attempt', s.attempt, 'provider_prediction_id', s.provider_prediction_id)
    into details from keyframe_private.provider_submits s where s.id = leased.submit_id and s.ended_at is null;
  elsif leased.kind = 'search' then
    select s.search_task || jsonb_build_object(
      'step', s.step, 'model', s.model, 'attempt', s.attempt, 'search_attempt', s.attempt, 'search_since', s.submitted_at)
    into details from keyframe_private.provider_submits s where s.id = leased.submit_id and s.search_task is not null;
  elsif leased.kind = 'remove' and not exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then
    details := null;
  end if;
  if details is null then
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  return jsonb_build_object('task', task, 'id', leased.subject, 'work_id', leased.id, 'lease_token', leased.lease_token,
    'owner_id', leased.owner_id) || details;
end $$;

create function keyframe_worker.claim_tasks(
  worker_id uuid, max_rows integer, heartbeat_ms integer default 0, wait_ms integer default 0, report jsonb default '{}',
  cursors jsonb default '{}', poll_seconds double precision default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  queues constant keyframe_private.work_queue[] := '{copy,ask}';
  may_be_due constant boolean := keyframe_private.wait_for_due('generate', queues, wait_ms);
  poll_after constant interval := coalesce(make_interval(secs => poll_seconds), keyframe_private.poll_interval());
  at timestamptz;
  queue keyframe_private.work_queue;
  claimed record;
  leased keyframe_private.work;
  tasks jsonb := '[]';
  is_more boolean := false;
begin
  -- Not now(), because work became due during the wait. A lease that a crash loses is leased again.
  at := clock_timestamp();
  perform set_config('synchronous_commit', 'off', true);
  perform keyframe_private.record_heartbeat('generate', heartbeat_ms, report);
  if max_rows > 0 and may_be_due then
    foreach queue in array queues loop
      select l.* into claimed from keyframe_private.lease_work(queue, worker_id, max_rows, at, cursors) l;
      cursors := claimed.cursors;
      is_more := is_more or claimed.is_cut or cardinality(claimed.leased) > 0;
      foreach leased in array claimed.leased loop
        tasks := tasks || coalesce(keyframe_private.prepare_task(leased, poll_after, at), '[]');
      end loop;
    end loop;
  end if;
  if heartbeat_ms <= 0 and keyframe_private.has_due_work(queues, at) then
    perform keyframe_private.kick_unless_running('generate'); -- a worker that stops leaves due work to the next one
  end if;
  return jsonb_build_object('tasks', tasks, 'cursors', cursors, 'more', is_more);
end $$;
comment on function keyframe_worker.claim_tasks is 'Leases due tasks: { tasks: [{ task, id, work_id, lease_token, owner_id, … }], cursors, more }. cursors: those of the last claim, so that lanes take turns. max_rows 0: a heartbeat only.';
