-- One function per transition, guarded in its WHERE. False (no row) is a normal answer to a late or duplicate call. Those of workers have
-- a lock_timeout: ten calls that wait would take every connection of the Data API. The call fails with 55P03 and the worker repeats it.

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

-- starting, processing → queued: the provider run failed for a temporary cause, so the prediction is submitted again. started_at and the
-- progress stay: the API shows it as processing. False when it has had max_runs provider runs, each of which may cost money.
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
  held constant keyframe_private.work := keyframe_private.held_work(work_id, lease_token);
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
  held keyframe_private.work;
begin
  perform keyframe_private.end_without_run(prediction_id, attempt_without_run);
  perform from keyframe.predictions p where p.id = prediction_id for update;
  held := keyframe_private.held_work(work_id, lease_token);
  if held.id is null then
    return false;
  end if;
  if keyframe_private.is_current(held) then
    perform keyframe_private.mark_failed(prediction_id, code, message, retryable, fail_prediction.stage);
  end if;
  perform keyframe_private.finish_work(held);
  return true;
end $$;
comment on function keyframe_worker.fail_prediction is 'active → failed, for the holder of the lease. False: too late. attempt_without_run: the attempt whose submit the provider refused, or that was not sent.';

-- Waiting for a rate limit of the provider is no failure. An accepted run is paid for: polling and storing are retried until the deadline.
create function keyframe_worker.retry_prediction_later(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retry_after_seconds double precision default null,
  attempt_without_run integer default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  row_now keyframe.predictions;
  held keyframe_private.work;
  counted integer;
  due timestamptz;
begin
  perform keyframe_private.end_without_run(prediction_id, attempt_without_run);
  select p.* into row_now from keyframe.predictions p where p.id = retry_prediction_later.prediction_id for update;
  held := keyframe_private.held_work(work_id, lease_token);
  if held.id is null then
    return 'too_late';
  elsif not keyframe_private.is_current(held) then
    perform keyframe_private.conclude_work(held);
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
comment on function keyframe_worker.retry_prediction_later is 'Retries the current task later (later), fails the prediction when its failures are used up (failed), or finds that the lease is gone (too_late). attempt_without_run: the attempt whose submit the provider refused, or that was not sent; without it, the run of a submit is searched for.';

-- The provider's state of a run, from a submit, a poll or a callback: one function decides for all three.

-- As shared/replicate/provider-prediction.ts reads it. failure: input_unreachable, interrupted, content_rejected (at stage), or null.
-- output_files: each file of the output, with its path.
create type keyframe_private.provider_run as (
  id text, status text, output_url text, output_files jsonb, progress real, error_message text, failure text, stage text, metrics jsonb);

-- Whether a state changes nothing, as most callbacks. Without a lock: the state of a run never moves backwards, so an update that changes
-- nothing here changes nothing later.
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
        when 'storing' then run.status in ('starting', 'processing', 'succeeded', 'failed', 'canceled', 'aborted')
        else false
      end
  );
end $$;

-- The file to store among those that a run returned: the first at `named`, the column `output` of the model. If nothing is named, or what is
-- there cannot be of the step's kind, so that a paid run is stored even if its model's row is wrong: the first file of that kind, unless
-- several fields have some. For example:
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

-- A run has succeeded: its output is copied, or the prediction fails because there is none that can be used.
create function keyframe_private.follow_success(prediction keyframe.predictions, run keyframe_private.provider_run)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  named text;
  file text;
begin
  select m.output into named from keyframe.models m where m.step = prediction.step and m.model = prediction.model;
  file := coalesce(keyframe_private.find_output(prediction, named, run.output_files), run.output_url);
  if file is not null then
    return keyframe_private.follow_run(prediction.id, 'storing', run.id, 1, file);
  elsif run.output_files is not null then
    return keyframe_private.mark_failed(prediction.id, 'output_not_usable', format(
      'The provider''s output has several files: %s. An administrator must name one in the column output of the model %s%s.',
      left((select string_agg(f ->> 'at', ', ' order by place) from jsonb_array_elements(run.output_files) with ordinality e (f, place)), 500),
      prediction.model, ', which has ' || named), false);
  end if;
  return keyframe_private.mark_failed(prediction.id, 'provider_no_output',
    'The provider finished without an output. Run the step again.', true);
end $$;

-- A run has failed: the prediction is submitted again if the cause may be temporary, or it fails.
create function keyframe_private.follow_failure(prediction keyframe.predictions, run keyframe_private.provider_run)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  if run.failure = 'content_rejected' then
    return keyframe_private.mark_failed(prediction.id, 'content_rejected',
      coalesce(nullif(run.error_message, ''), 'The model''s safety filter rejected the prompt or an image. Try different wording or images.'), false,
      stage => run.stage);
  elsif run.failure = 'input_unreachable' then
    if keyframe_private.mark_queued_again(prediction.id, run.failure, keyframe_private.max_failures()) then
      return true;
    end if;
    return keyframe_private.mark_failed(prediction.id, 'input_unreachable',
      'The provider could not read the images of this step. Run the step again.', true);
  elsif run.failure = 'interrupted' then
    -- One more run: a temporary cause is over by then, and each failed run may have been paid for.
    if keyframe_private.mark_queued_again(prediction.id, 'provider_failed', 2) then
      return true;
    end if;
  end if;
  return keyframe_private.mark_failed(prediction.id, 'provider_failed',
    coalesce(nullif(run.error_message, ''), 'The provider could not generate this. Change the prompt.'), true);
end $$;

-- Moves an active prediction to the state of its run. False: nothing changes.
create function keyframe_private.apply_provider_state(prediction keyframe.predictions, run keyframe_private.provider_run)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  if prediction.status = 'storing' then
    return false; -- the output is being copied, whatever the run reports now
  end if;
  case run.status
    when 'starting' then
      -- With started_at it is a second run, which the API shows as processing.
      return keyframe_private.follow_run(prediction.id,
        case when prediction.started_at is null then keyframe.prediction_status 'starting' else 'processing' end, run.id, null, null);
    when 'processing' then
      if prediction.status = 'processing' and coalesce(run.progress <= coalesce(prediction.progress, 0), true) then
        return false;
      end if;
      return keyframe_private.follow_run(prediction.id, 'processing', run.id, run.progress, null);
    when 'succeeded' then
      return keyframe_private.follow_success(prediction, run);
    when 'failed' then
      return keyframe_private.follow_failure(prediction, run);
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

-- Returns what the state of a run was for its prediction:
--   recorded, unchanged
--   ended: the prediction has ended, stale: it follows another run. A run that goes on will be canceled.
--   given_up: the prediction followed the run before, and is queued again.
--   unknown: there is no such prediction, or the run is another's. unproven: it may be another's.
-- A run from the provider's list has found_by: 'name' if its input names the prediction, 'text' if only the text is equal. If it was found
-- before a submit, that submit was not sent: attempt_without_run.
create function keyframe_private.record_run_state(
  prediction uuid, attempt integer, run keyframe_private.provider_run, found_by text, attempt_without_run integer)
returns text language plpgsql volatile set search_path = '' as $$
declare
  run_outcome constant text := case when run.status = 'failed' and run.failure = 'content_rejected' then 'rejected'
    when run.status in ('succeeded', 'failed', 'canceled', 'aborted') then run.status end; -- null: it goes on
  row_now keyframe.predictions;
  submit keyframe_private.provider_submits;
begin
  if keyframe_private.is_state_known(prediction, attempt, run) then
    return 'unchanged';
  end if;

  -- Lock the prediction. Progress waits for no lock: the next callback or poll reports it again.
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
  if not found then -- a deleted one counts as ended while its submits are kept
    select s.prediction_id, s.attempt, s.created_at into row_now.id, row_now.attempt, row_now.completed_at
    from keyframe_private.provider_submits s where s.prediction_id = prediction and s.submitted_at is not null
    order by s.attempt desc limit 1;
  end if;
  if row_now.id is null or attempt not between 1 and row_now.attempt then
    return 'unknown';
  end if;

  -- Find the submit of the run. The signature of a callback does not cover its URL, which may name another prediction.
  select s.* into submit from keyframe_private.provider_submits s where s.provider_prediction_id = run.id;
  if submit.prediction_id <> row_now.id then
    return 'unknown';
  elsif row_now.status = 'queued' and submit.id is not null then
    -- A queued prediction follows no run, so a known run of it has failed or was replaced.
    perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics) where run_outcome is not null;
    return 'given_up';
  elsif submit.id is null then
    if found_by = 'text' and not keyframe_private.is_only_submit_of_its_text(row_now.id, attempt) then
      return 'unproven'; -- neither followed nor canceled
    end if;
    submit.id := keyframe_private.record_run(run.id, row_now.id, attempt, found_by is not null);
    if submit.id is null then
      return 'unknown'; -- it was recorded for another prediction at the same moment
    end if;
  end if;

  -- Record it in the ledger.
  perform keyframe_private.end_without_run(row_now.id, attempt_without_run);
  perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics) where run_outcome is not null;

  -- Move the prediction, if it follows this run, or none.
  if row_now.completed_at is not null or row_now.provider_prediction_id <> run.id then
    perform keyframe_private.add_cancel(s) from keyframe_private.provider_submits s where s.id = submit.id and s.ended_at is null;
    return case when row_now.completed_at is null then 'stale' else 'ended' end;
  end if;
  if run.status = 'processing' and row_now.provider_prediction_id = run.id and attempt_without_run is null then
    perform set_config('synchronous_commit', 'off', true); -- what a crash loses, the next callback or poll repeats
  end if;
  return case when keyframe_private.apply_provider_state(row_now, run) then 'recorded' else 'unchanged' end;
end $$;

-- A callback has no work_id: its prediction's poll stays scheduled.
create function keyframe_worker.record_provider_state(
  prediction_id uuid, attempt integer, run jsonb, found_by text default null, attempt_without_run integer default null,
  work_id bigint default null, lease_token uuid default null, poll_seconds double precision default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  outcome constant text := keyframe_private.record_run_state(prediction_id, attempt,
    jsonb_populate_record(null::keyframe_private.provider_run, run), found_by, attempt_without_run);
  held keyframe_private.work;
begin
  if work_id is not null then
    held := keyframe_private.held_work(work_id, lease_token);
    -- A run from the provider's list may be another's.
    if found_by is null or outcome in ('recorded', 'unchanged', 'ended', 'stale') then
      perform keyframe_private.conclude_work(held, poll_seconds);
    end if;
  end if;
  return outcome;
end $$;
comment on function keyframe_worker.record_provider_state is 'Records the state of a provider run, as record_run_state does. work_id: the submit, poll or cancel whose result this is. It is done, or it polls in poll_seconds (null: settings.poll_interval).';

-- From now on the model is unavailable. The prediction moves to the next model that accepts its input, unless the caller named this one.
create function keyframe_worker.record_model_refused(
  work_id bigint, lease_token uuid, prediction_id uuid, message text, attempt_without_run integer)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  row_now keyframe.predictions;
  held keyframe_private.work;
  project keyframe.projects;
  gone keyframe.models;
  next_model keyframe.models;
begin
  perform keyframe_private.end_without_run(prediction_id, attempt_without_run);
  select p.* into row_now from keyframe.predictions p where p.id = record_model_refused.prediction_id for update;
  held := keyframe_private.held_work(work_id, lease_token);
  if held.id is null or not keyframe_private.is_current(held) or row_now.status <> 'queued' then
    perform keyframe_private.conclude_work(held);
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
  held constant keyframe_private.work := keyframe_private.held_work(work_id, lease_token);
begin
  perform keyframe_private.end_submit(s.id, 'lost') from keyframe_private.provider_submits s
  where s.id = held.submit_id and s.ended_at is null and (is_unknown or s.answered_at < now() - interval '1 day');
  perform keyframe_private.conclude_work(held);
end $$;
comment on function keyframe_worker.record_run_not_canceled is 'Records that canceling a provider run has not ended it.';
