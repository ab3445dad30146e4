-- One function per transition, guarded in its WHERE. A late or duplicate call changes no row, which is no error. Those of workers have
-- a lock_timeout: ten calls that wait would take every connection of the Data API. The call fails with 55P03 and the worker repeats it.
--
-- All functions of generate lock in this order: the leased work, the prediction, its submits by id, the owner's slots, and then predictions
-- of the owner that wait for a slot. admit_predictions begins with the slots.
--
-- The lease decides about which prediction a call is. The argument prediction_id is for what counts when the lease is lost: that a submit
-- created no run, or had no answer.

-- queued → starting → processing → storing, as the provider run does; several moves at once if needed. The provider keeps an output for an
-- hour, so a run that ends late still gets 50 minutes for copying.
create function keyframe_private.follow_run(
  prediction uuid, wanted keyframe.prediction_status, run text, done real, output_url text)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = wanted, provider_prediction_id = run, started_at = coalesce(p.started_at, now()),
      progress = greatest(p.progress, done), provider_output_url = output_url, updated_at = now(),
      deadline_at = case when wanted = 'storing' then greatest(p.deadline_at, now() + interval '50 minutes') else p.deadline_at end
  where p.id = prediction and p.completed_at is null and (p.status < wanted or p.status = 'processing' and wanted = 'processing');
  return found;
end $$;

-- active → failed.
create function keyframe_private.mark_failed(prediction uuid, code text, sentence text, retryable boolean, stage text default null)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'failed', error_code = code, error_message = left(sentence, 1000), error_retryable = retryable,
      error_stage = stage, completed_at = clock_timestamp(), updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;

-- Submits a queued prediction once more, or fails it if that does not fit its budget. A submit needs no budget if it replaces one that was
-- released in this transaction (ended_at = now()) and costs no more; another start may already hold what was released earlier.
create function keyframe_private.add_next_submit(prediction keyframe.predictions, due_at timestamptz, failures integer, reason text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  released keyframe_private.provider_submits;
  refused keyframe_private.refusal;
begin
  if exists (
    select from keyframe_private.provider_submits s
    where s.prediction_id = prediction.id and s.submitted_at is null and s.ended_at is null) then
    return; -- one waits already, with its work
  end if;
  perform keyframe_private.acquire_lock('slots', prediction.owner_id);
  select s.* into released from keyframe_private.provider_submits s
  where s.prediction_id = prediction.id and s.attempt = prediction.attempt and s.ended_at = now() and not exists (
    select from keyframe_private.provider_submits o
    where o.prediction_id = s.prediction_id and o.attempt = s.attempt and o.cost_state <> 'released')
  limit 1;
  perform keyframe_private.add_submits(array[prediction], released, due_at, failures, reason);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(prediction.owner_id, refused.code, refused.hint);
  perform keyframe_private.mark_failed(prediction.id, refused.code, refused.sentence, true);
end $$;

-- queued (its run had failed when the create was answered), starting, processing → queued: the provider run failed for a temporary cause,
-- so the prediction is submitted again. started_at and the progress stay: the API shows it as processing. False when it has had max_runs
-- provider runs, each of which may cost money.
create function keyframe_private.mark_queued_again(prediction uuid, reason text, max_runs integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  runs constant integer := (
    select count(*) from keyframe_private.provider_submits s
    where s.prediction_id = mark_queued_again.prediction and s.provider_prediction_id is not null);
  again keyframe.predictions;
begin
  update keyframe.predictions p
  set status = 'queued', provider_prediction_id = null, started_at = coalesce(p.started_at, now()), updated_at = now()
  where p.id = prediction and p.status in ('queued', 'starting', 'processing')
    and runs < max_runs
  returning p.* into again;
  if not found then
    return false;
  end if;
  perform keyframe_private.add_next_submit(again, now() + keyframe_private.retry_delay(runs), runs, reason);
  return true;
end $$;

-- active → canceled. A submit in progress notices when it records its answer.
create function keyframe_private.mark_canceled(prediction uuid)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'canceled', completed_at = clock_timestamp(), updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;

-- `since`: when the provider began to refuse the model as unknown; null when it has the model again. An administrator who holds the row
-- decides.
create function keyframe_private.set_refused(wanted_step keyframe.generation_step, wanted_model text, since timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.models m set refused_at = since
  where (m.step, m.model) in (
    select l.step, l.model from keyframe.models l where l.step = wanted_step and l.model = wanted_model for no key update skip locked);
end $$;

create function keyframe_worker.complete_prediction(
  work_id bigint, lease_token uuid, output_path text, content_type text, bytes bigint, sha256 text, width integer default null,
  height integer default null, duration_seconds double precision default null, has_audio boolean default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  done record;
begin
  update keyframe.predictions p
  set status = 'succeeded', output_path = complete_prediction.output_path, output_content_type = content_type,
      output_bytes = bytes, output_sha256 = sha256, output_width = width, output_height = height,
      output_duration_seconds = complete_prediction.duration_seconds, output_has_audio = has_audio,
      completed_at = clock_timestamp(), progress = 1, updated_at = now()
  where p.id = held.subject and held.kind = 'store' and p.status = 'storing'
  returning p.step, p.model, p.started_at into done;
  perform keyframe_private.finish_work(held, has_output => found);
  if done is null then
    return false;
  end if;
  perform keyframe_private.set_refused(done.step, done.model, null)
  from keyframe.models m where m.step = done.step and m.model = done.model and m.refused_at < done.started_at;
  return true;
end $$;
comment on function keyframe_worker.complete_prediction is 'storing → succeeded, for the holder of the lease. False: too late.';

create function keyframe_worker.fail_prediction(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retryable boolean, stage text default null,
  attempt_without_run integer default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  subject constant uuid := coalesce(held.subject, prediction_id);
begin
  perform from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if held.id is null then
    return false;
  end if;
  if keyframe_private.is_current(held) then
    perform keyframe_private.mark_failed(subject, code, message, retryable, fail_prediction.stage);
  end if;
  perform keyframe_private.finish_work(held);
  return true;
end $$;
comment on function keyframe_worker.fail_prediction is 'active → failed, for the holder of the lease. False: the lease is lost. attempt_without_run: the attempt whose submit the provider refused, or that was not sent.';

-- Waiting for a rate limit of the provider is no failure. An accepted run is paid for: polling and storing are retried until the deadline.
create function keyframe_worker.retry_prediction_later(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retry_after_seconds double precision default null,
  attempt_without_run integer default null, unanswered_attempt integer default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  subject constant uuid := coalesce(held.subject, prediction_id);
  row_now keyframe.predictions;
  counted integer;
  due timestamptz;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  perform keyframe_private.search_again(subject, unanswered_attempt) where unanswered_attempt is not null;
  if held.id is null then
    return 'too_late';
  elsif not keyframe_private.is_current(held) then
    perform keyframe_private.reschedule_or_finish(held);
    return 'too_late';
  end if;
  counted := held.failures + case when code = 'provider_rate_limited' then 0 else 1 end;
  due := now() + greatest(make_interval(secs => coalesce(retry_after_seconds, 0)), keyframe_private.retry_delay(counted));
  if row_now.status <> 'queued' then
    perform keyframe_private.reschedule(held, due, counted, code);
    return 'later';
  end if;
  perform keyframe_private.finish_work(held);
  if counted >= keyframe_private.max_failures() then
    perform keyframe_private.mark_failed(row_now.id, code, message, true);
    return 'failed';
  end if;
  perform keyframe_private.add_next_submit(row_now, due, counted, code);
  return 'later';
end $$;
comment on function keyframe_worker.retry_prediction_later is 'Retries the current task later (later), fails the prediction when its failures are used up (failed), or finds that the lease is gone (too_late). attempt_without_run: the attempt whose submit the provider refused, or that was not sent. unanswered_attempt: the attempt whose submit got no answer, so that its run is searched for.';

-- From now on the model is unavailable. The prediction moves to the next model that accepts its input, unless the caller named this one.
create function keyframe_worker.record_model_refused(
  work_id bigint, lease_token uuid, prediction_id uuid, message text, attempt_without_run integer)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  subject constant uuid := coalesce(held.subject, prediction_id);
  row_now keyframe.predictions;
  project keyframe.projects;
  gone keyframe.models;
  next_model keyframe.models;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if held.id is null or not keyframe_private.is_current(held) or row_now.status <> 'queued' then
    perform keyframe_private.reschedule_or_finish(held);
    return 'too_late';
  end if;
  perform keyframe_private.finish_work(held);
  perform keyframe_private.set_refused(row_now.step, row_now.model, now());
  if row_now.requested_model is distinct from row_now.model then
    select j.* into project from keyframe.projects j where j.id = row_now.project_id;
    select m.* into gone from keyframe.models m where m.step = row_now.step and m.model = row_now.model;
    next_model := keyframe_private.find_successor(gone, row_now.input, project);
  end if;
  if next_model.model is null then
    perform keyframe_private.mark_failed(row_now.id, 'model_unavailable', message, false);
    return 'failed';
  end if;
  update keyframe.predictions p
  set model = next_model.model, requested_model = coalesce(p.requested_model, p.model),
      input = keyframe_private.resolve_input(p.input, project, next_model), updated_at = now()
  where p.id = row_now.id
  returning p.* into row_now;
  perform keyframe_private.add_next_submit(row_now, now(), 0, 'model_unavailable');
  return 'moved';
end $$;
comment on function keyframe_worker.record_model_refused is 'Records that the provider does not have the model of a submit. Returns moved (to the next model), failed or too_late.';

-- Repeated for a day: no run lasts longer. is_unknown: the provider no longer has the run, so its end is unknown.
create function keyframe_worker.record_run_not_canceled(work_id bigint, lease_token uuid, is_unknown boolean)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
begin
  perform keyframe_private.end_submit(s.id, 'lost') from keyframe_private.provider_submits s
  where s.id = held.submit_id and s.ended_at is null and (is_unknown or s.answered_at < now() - interval '1 day');
  perform keyframe_private.reschedule_or_finish(held);
end $$;
comment on function keyframe_worker.record_run_not_canceled is 'Records that canceling a provider run has not ended it.';
