-- One function per transition, guarded in its WHERE. A late or duplicate call changes no row, which is no error. Those of workers have
-- a lock_timeout: ten calls that wait would take every connection of the Data API. The call fails with 55P03 and the worker repeats it.
--
-- All functions of generate lock in this order: the leased work, the prediction, its submits by id, the owner's slots, and then predictions
-- of the owner that wait for a slot. admit_predictions takes the slots before the prediction.
--
-- A call is about the prediction of its leased work. The argument prediction_id is for what counts even if the lease is lost: that a submit
-- created no run, or had no answer. Without the lease all fields of `leased` are null: then statements with its id match no row.

-- queued → starting → processing → storing, as the provider run does; several moves at once if needed (the enum has this order). The
-- provider keeps an output for an hour, so a run that ends late still gets 50 minutes for copying.
create function keyframe_private.follow_run(
  prediction uuid, next_status keyframe.prediction_status, run text, done real, output_url text)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = next_status, provider_prediction_id = run, started_at = coalesce(p.started_at, now()),
      progress = greatest(p.progress, done), provider_output_url = output_url, updated_at = now(),
      deadline_at = case when next_status = 'storing' then greatest(p.deadline_at, now() + interval '50 minutes') else p.deadline_at end
  where p.id = prediction and p.completed_at is null
    and (p.status < next_status or p.status = 'processing' and next_status = 'processing' and done > coalesce(p.progress, 0));
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

-- starting, processing → queued (or still queued, when the answer to the create reports a failed run): the provider run failed for a
-- temporary cause, so the prediction is submitted again. started_at and the progress stay: the API shows it as processing. False when it has
-- had max_runs provider runs, each of which may cost money.
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

create function keyframe_worker.complete_prediction(
  work_id bigint, lease_token uuid, output_path text, content_type text, bytes bigint, sha256 text, width integer default null,
  height integer default null, duration_seconds double precision default null, has_audio boolean default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  done record;
begin
  update keyframe.predictions p
  set status = 'succeeded', output_path = complete_prediction.output_path, output_content_type = content_type,
      output_bytes = bytes, output_sha256 = sha256, output_width = width, output_height = height,
      output_duration_seconds = complete_prediction.duration_seconds, output_has_audio = has_audio,
      completed_at = clock_timestamp(), progress = 1, updated_at = now()
  where p.id = leased.subject and leased.kind = 'store' and p.status = 'storing'
  returning p.step, p.model, p.started_at into done;
  perform keyframe_private.finish_work(leased, has_output => found);
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
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
begin
  perform from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if keyframe_private.is_current(leased) then
    perform keyframe_private.mark_failed(subject, code, message, retryable, fail_prediction.stage);
  end if;
  perform keyframe_private.finish_work(leased);
  return leased.id is not null;
end $$;
comment on function keyframe_worker.fail_prediction is 'active → failed, for the holder of the lease. False: the lease is lost. attempt_without_run: the attempt whose submit the provider refused, or that was not sent.';

-- Waiting for a rate limit of the provider is no failure. An accepted run is paid for: polling and storing are retried until the deadline.
create function keyframe_worker.retry_prediction_later(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retry_after_seconds double precision default null,
  attempt_without_run integer default null, unanswered_attempt integer default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
  row_now keyframe.predictions;
  counted integer;
  due timestamptz;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if unanswered_attempt is not null then
    perform keyframe_private.search_again(subject, unanswered_attempt);
  end if;
  if not keyframe_private.is_current(leased) then
    perform keyframe_private.reschedule_or_finish(leased);
    return 'too_late';
  end if;
  counted := leased.failures + case when code = 'provider_rate_limited' then 0 else 1 end;
  due := now() + greatest(make_interval(secs => coalesce(retry_after_seconds, 0)), keyframe_private.retry_delay(counted));
  if row_now.status <> 'queued' then
    perform keyframe_private.reschedule(leased, due, counted, code);
    return 'later';
  end if;
  perform keyframe_private.finish_work(leased);
  if counted >= keyframe_private.max_failures() then
    perform keyframe_private.mark_failed(row_now.id, code, message, true);
    return 'failed';
  end if;
  return case when keyframe_private.add_next_submit(row_now, due, counted, code) then 'later' else 'failed' end;
end $$;
comment on function keyframe_worker.retry_prediction_later is 'Retries the current task later (later), fails the prediction when its failures are used up or the next submit does not fit its budget (failed), or finds that the lease is gone (too_late). attempt_without_run: the attempt whose submit the provider refused, or that was not sent. unanswered_attempt: the attempt whose submit got no answer, so that its run is searched for.';

-- The state of a provider run, from a submit, a poll, a cancel or a callback: report_run takes it from the worker, record_run_state writes it
-- to the ledger, and move_prediction decides what becomes of the prediction.

-- As shared/replicate/provider-prediction.ts reads it. failure: input_unreachable, interrupted, content_rejected (at stage), or null.
-- output_files: each file of the output, with its path.
create type keyframe_private.provider_run as (
  id text, status text, output_url text, output_files jsonb, progress real, error_message text, failure text, stage text, metrics jsonb);

-- Whether a state of a run is already recorded, as it is for most callbacks. The prediction need not be locked: a run never moves backwards,
-- so a state that changes nothing now changes nothing later either.
create function keyframe_private.is_state_known(prediction uuid, attempt integer, run keyframe_private.provider_run)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe.predictions p
    where p.id = prediction and p.provider_prediction_id = run.id and is_state_known.attempt between 1 and p.attempt
      and case p.status
        when 'starting' then run.status = 'starting'
        when 'processing' then run.status = 'starting'
          or run.status = 'processing' and coalesce(run.progress <= coalesce(p.progress, 0), true)
        when 'storing' then true -- the run has succeeded
        else false
      end
  );
end $$;

-- The file to store among those that a run returned: the first at `named` (the column `output` of the model) that can be of the step's
-- kind. Without one: the first file of that kind, if all of them are in one field. So a paid run is stored even if its model's row is wrong.
--
--   step         named  files                          result
--   video        null   clip: a.mp4, poster: b.png     a.mp4
--   first-frame  null   images[0]: a.png, [1]: b.png   a.png
--   first-frame  null   image: a.png, mask: b.png      null
--   first-frame  image  image: a.png, mask: b.png      a.png
--   first-frame  null   image: a                       a, because no file has an extension of an image
create function keyframe_private.find_output(prediction keyframe.predictions, named text, files jsonb)
returns text language plpgsql stable set search_path = '' as $$
declare
  right_ending constant text := case prediction.step when 'video' then '\.(mp4|m4v|mov)$' else '\.(png|jpe?g|jfif|webp)$' end;
  -- Stored too, but next to a file with a right ending it is a preview.
  unusual_ending constant text := case prediction.step when 'video' then '\.(webm|mkv|og[vg]|gif)$' else '\.(gif|avif|bmp|ico)$' end;
  named_url text;
  is_named_possible boolean;
  likely_url text;
  is_unambiguous boolean;
begin
  with all_files as (
    select f ->> 'url' as url, regexp_replace(f ->> 'at', '\[\d+\]', '', 'g') as field, place,
      coalesce(f ->> 'at' = named or starts_with(f ->> 'at', named || '[') or starts_with(f ->> 'at', named || '.'), false) as is_named,
      split_part(f ->> 'url', '?', 1) as path
    from jsonb_array_elements(files) with ordinality e (f, place)
  ), with_endings as (
    select a.*, a.path ~* right_ending as is_right,
      a.path ~* right_ending or a.path !~ '\.[A-Za-z0-9]{2,5}$' or a.path ~* unusual_ending as is_possible
    from all_files a
  ), rated as (
    select e.*, e.is_right or e.is_possible and not bool_or(e.is_right) over () as is_likely from with_endings e
  )
  select (array_agg(r.url order by r.is_possible desc, r.place) filter (where r.is_named))[1],
    coalesce(bool_or(r.is_possible) filter (where r.is_named), false),
    (array_agg(r.url order by r.place) filter (where r.is_likely))[1],
    1 in (count(distinct r.field) filter (where r.is_likely), count(distinct r.url) filter (where r.is_likely))
  into named_url, is_named_possible, likely_url, is_unambiguous from rated r;
  if is_named_possible then
    return named_url;
  elsif named is not null then
    raise warning 'The run of prediction % has no file at %, which the row of the model % for % names in output.',
      prediction.id, named, prediction.model, prediction.step;
  end if;
  return coalesce(case when is_unambiguous then likely_url end, named_url);
end $$;

-- Moves an active prediction to the state of its run. False: nothing changes.
create function keyframe_private.move_prediction(prediction keyframe.predictions, run keyframe_private.provider_run)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  output_field text;
  file text;
  is_queued_again boolean;
begin
  if prediction.status = 'storing' then
    return false; -- the output is being copied, whatever the run reports now
  end if;
  case run.status
    when 'starting' then
      -- Queued with started_at, it gets a second run, which the API shows as processing.
      return keyframe_private.follow_run(prediction.id,
        case when prediction.status = 'queued' and prediction.started_at is not null then keyframe.prediction_status 'processing'
          else 'starting' end, run.id, null, null);
    when 'processing' then
      return keyframe_private.follow_run(prediction.id, 'processing', run.id, run.progress, null);
    when 'succeeded' then
      select m.output into output_field from keyframe.models m where m.step = prediction.step and m.model = prediction.model;
      file := coalesce(keyframe_private.find_output(prediction, output_field, run.output_files), run.output_url);
      if file is not null then
        return keyframe_private.follow_run(prediction.id, 'storing', run.id, 1, file);
      elsif run.output_files is not null then
        return keyframe_private.mark_failed(prediction.id, 'output_not_usable', format(
          'The provider''s output has several files: %s. An administrator must name one in the column output of the model %s%s.',
          left((
            select string_agg(f ->> 'at', ', ' order by place) from jsonb_array_elements(run.output_files) with ordinality e (f, place)), 500),
          prediction.model, ', which has ' || output_field), false);
      end if;
      return keyframe_private.mark_failed(prediction.id, 'provider_no_output',
        'The provider finished without an output. Run the step again.', true);
    when 'failed' then
      -- The cause may be temporary. After an interruption there is one more run: each may have been paid for.
      is_queued_again := case run.failure
        when 'input_unreachable' then keyframe_private.mark_queued_again(prediction.id, run.failure, keyframe_private.max_failures())
        when 'interrupted' then keyframe_private.mark_queued_again(prediction.id, 'provider_failed', 2) end;
      if is_queued_again then
        return true;
      elsif run.failure = 'content_rejected' then
        return keyframe_private.mark_failed(prediction.id, 'content_rejected',
          coalesce(nullif(run.error_message, ''),
            'The model''s safety filter rejected the prompt or an image. Try different wording or images.'), false, stage => run.stage);
      elsif run.failure = 'input_unreachable' then
        return keyframe_private.mark_failed(prediction.id, 'input_unreachable',
          'The provider could not read the images of this step. Run the step again.', true);
      end if;
      return keyframe_private.mark_failed(prediction.id, 'provider_failed',
        coalesce(nullif(run.error_message, ''), 'The provider could not generate this. Change the prompt.'), true);
    when 'canceled' then
      return keyframe_private.mark_failed(prediction.id, 'provider_canceled',
        'The run was canceled at the provider. Run the step again.', true);
    when 'aborted' then
      return keyframe_private.mark_failed(prediction.id, 'provider_aborted',
        'The provider dropped the run before it started. Run the step again.', true);
    else
      raise exception 'Unknown provider status: %.', run.status using errcode = 'invalid_parameter_value';
  end case;
end $$;

-- Records a state of a provider run for a prediction, and returns what came of it:
--
--   recorded    the prediction has moved
--   unchanged   the state was known, or is recorded by the next callback or poll
--   ended       the prediction has ended or is deleted; the run is canceled if it goes on
--   stale       the prediction follows another run; this run is canceled if it goes on
--   replaced    the prediction is queued again; it followed this run before
--   unknown     there is no such prediction, or the run belongs to another one
--   unproven    the run may belong to another prediction
--
-- Two arguments are given only for a run from the provider's list:
--
--   found_by             'name' if the input of the run names the prediction, 'text' if only its text is that of the prediction
--   attempt_without_run  the attempt whose submit was not sent, because the run of an earlier submit was found first
create function keyframe_private.record_run_state(
  prediction uuid, attempt integer, run keyframe_private.provider_run, found_by text, attempt_without_run integer)
returns text language plpgsql volatile set search_path = '' as $$
declare
  run_outcome constant text := case when run.status = 'failed' and run.failure = 'content_rejected' then 'rejected'
    when run.status in ('succeeded', 'failed', 'canceled', 'aborted') then run.status end; -- null: it goes on
  row_now keyframe.predictions;
  last_attempt integer;
  has_ended boolean;
  submit keyframe_private.provider_submits;
begin
  if keyframe_private.is_state_known(prediction, attempt, run) then
    return 'unchanged';
  end if;

  -- Lock the prediction, but do not wait in order to record progress: the next callback or poll reports it again.
  if run.status = 'processing' and exists (
    select from keyframe.predictions p
    where p.id = prediction and p.provider_prediction_id = run.id and p.status = 'processing'
  ) then
    perform from keyframe.predictions p where p.id = prediction for update skip locked;
    if not found then
      return 'unchanged';
    end if;
  end if;
  select p.* into row_now from keyframe.predictions p where p.id = prediction for update;
  has_ended := not found or row_now.completed_at is not null;
  if row_now.id is null then -- it is deleted, so its submits are locked instead, as in search_again
    perform from keyframe_private.provider_submits s where s.prediction_id = record_run_state.prediction order by s.id for update;
  end if;
  last_attempt := coalesce(row_now.attempt, (
    -- A deleted prediction is known as long as its submits are kept.
    select max(s.attempt) from keyframe_private.provider_submits s
    where s.prediction_id = record_run_state.prediction and s.submitted_at is not null));
  if last_attempt is null or attempt not between 1 and last_attempt then
    return 'unknown';
  end if;

  -- Find the submit of the run. Its prediction may be another one: the signature of a callback does not cover the URL that names it.
  select s.* into submit from keyframe_private.provider_submits s where s.provider_prediction_id = run.id;
  if submit.prediction_id <> prediction then
    return 'unknown';
  elsif row_now.status = 'queued' and submit.id is not null then
    -- A queued prediction follows no run, so a known run of it has failed or was replaced.
    if run_outcome is not null then
      perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics);
    end if;
    return 'replaced';
  elsif submit.id is null then
    if found_by = 'text' and not keyframe_private.is_only_submit_of_its_text(prediction, attempt) then
      return 'unproven'; -- neither followed nor canceled
    end if;
    submit.id := keyframe_private.attach_run(run.id, prediction, attempt, found_by is not null);
    if submit.id is null then
      return 'unknown'; -- it was recorded for another prediction at the same moment
    end if;
  end if;

  -- Record the state in the ledger.
  perform keyframe_private.end_without_run(prediction, attempt_without_run);
  if run_outcome is not null then
    perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics);
  end if;

  -- Move the prediction, if it follows this run or no run.
  if has_ended or row_now.provider_prediction_id <> run.id then
    perform keyframe_private.add_cancel(s) from keyframe_private.provider_submits s where s.id = submit.id and s.ended_at is null;
    return case when has_ended then 'ended' else 'stale' end;
  end if;
  if run.status = 'processing' and row_now.provider_prediction_id = run.id and attempt_without_run is null then
    perform set_config('synchronous_commit', 'off', true); -- what a crash loses, the next callback or poll repeats
  end if;
  return case when keyframe_private.move_prediction(row_now, run) then 'recorded' else 'unchanged' end;
end $$;

-- A callback has no work_id: its prediction's poll stays scheduled.
create function keyframe_worker.report_run(
  prediction_id uuid, attempt integer, run jsonb, found_by text default null, attempt_without_run integer default null,
  work_id bigint default null, lease_token uuid default null, poll_seconds double precision default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased keyframe_private.work;
  outcome text;
begin
  if work_id is not null then
    leased := keyframe_private.lock_leased_work(work_id, lease_token);
  end if;
  outcome := keyframe_private.record_run_state(prediction_id, attempt,
    jsonb_populate_record(null::keyframe_private.provider_run, run), found_by, attempt_without_run);
  -- A run from the provider's list may be another's.
  if leased.id is not null and (found_by is null or outcome in ('recorded', 'unchanged', 'ended', 'stale')) then
    perform keyframe_private.reschedule_or_finish(leased, poll_seconds);
  end if;
  return outcome;
end $$;
comment on function keyframe_worker.report_run is 'Records the state of a provider run, as record_run_state does. work_id: the submit, poll or cancel whose result this is. It is done, or it polls in poll_seconds (null: settings.poll_interval).';

-- `since`: when the provider began to refuse the model as unknown; null when it has the model again. If an administrator has locked the row, it
-- stays as it is.
create function keyframe_private.set_refused(step keyframe.generation_step, model text, since timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.models m set refused_at = since
  where (m.step, m.model) in (
    select l.step, l.model from keyframe.models l where l.step = set_refused.step and l.model = set_refused.model for no key update skip locked);
end $$;

-- From now on the model is unavailable. The prediction moves to the next model that accepts its input, unless the caller named this one.
create function keyframe_worker.record_model_refused(
  work_id bigint, lease_token uuid, prediction_id uuid, message text, attempt_without_run integer)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
  row_now keyframe.predictions;
  project keyframe.projects;
  gone keyframe.models;
  next_model keyframe.models;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if not keyframe_private.is_current(leased) or row_now.status <> 'queued' then
    perform keyframe_private.reschedule_or_finish(leased);
    return 'too_late';
  end if;
  perform keyframe_private.finish_work(leased);
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
  return case when keyframe_private.add_next_submit(row_now, now(), 0, 'model_unavailable') then 'moved' else 'failed' end;
end $$;
comment on function keyframe_worker.record_model_refused is 'Records that the provider does not have the model of a submit. Returns moved (to the next model), failed or too_late.';
