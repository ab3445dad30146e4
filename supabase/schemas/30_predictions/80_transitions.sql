-- One function per transition, guarded in its WHERE. False (no row) is a normal answer to a late or duplicate call.
-- Every function with which a worker records a result has a lock_timeout: a transaction that somebody left open may hold what it
-- needs, and ten calls that wait would take every connection of the Data API. The call fails with 55P03 and the worker repeats it.

-- Also several moves at once. The provider keeps an output for an hour, so a run that ends late still gets 50 minutes for copying.
create function keyframe_private.mark_running(
  prediction uuid, wanted keyframe.prediction_status, run text, next_after interval, done real, output_url text)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = wanted, provider_prediction_id = run, started_at = coalesce(p.started_at, now()),
      progress = greatest(p.progress, done), provider_output_url = output_url, lease_token = null, failures = 0, retry_reason = null,
      next_attempt_at = now() + next_after, updated_at = now(),
      deadline_at = case when wanted = 'storing' then greatest(p.deadline_at, now() + interval '50 minutes') else p.deadline_at end
  where p.id = prediction and p.completed_at is null and (p.status < wanted or p.status = 'processing' and wanted = 'processing');
  return found;
end $$;
comment on function keyframe_private.mark_running is 'queued → starting → processing → storing, as the provider run does.';

create function keyframe_private.mark_failed(prediction uuid, code text, sentence text, retryable boolean, stage text default null)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'failed', error_code = code, error_message = left(sentence, 1000), error_retryable = retryable,
      error_stage = stage, completed_at = clock_timestamp(), lease_token = null, updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;
comment on function keyframe_private.mark_failed is 'active → failed.';

-- Doubles with each failure, ±20 %. power() is capped at 20 doublings: more would exceed the range of an interval.
create function keyframe_private.retry_delay(failures integer)
returns interval language plpgsql volatile set search_path = '' as $$
begin
  return coalesce((
    select least(s.retry_max, s.retry_base * power(2, least(20, greatest(0, failures - 1))) * (0.8 + random() * 0.4))
    from keyframe_private.settings s), interval '1 minute');
end $$;
comment on function keyframe_private.retry_delay is 'The back-off after so many failures; a minute without settings.';

-- After a submit that may be billed, or for a model that costs more, it needs budget: without that the prediction fails. Only what was
-- released in this transaction (ended_at = now()) is still this prediction's: what an earlier one released, another start may hold.
create function keyframe_private.add_next_submit(prediction keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
declare
  released keyframe_private.provider_submits;
  code text;
  sentence text;
  budget text;
begin
  perform keyframe_private.take_lock('slots', prediction.owner_id);
  select s.* into released from keyframe_private.provider_submits s
  where s.prediction_id = prediction.id and s.attempt = prediction.attempt and s.ended_at = now() and not exists (
    select from keyframe_private.provider_submits o
    where o.prediction_id = s.prediction_id and o.attempt = s.attempt and o.cost_state <> 'released')
  limit 1;
  perform keyframe_private.add_submit(prediction, prediction.attempt + 1, released);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics code = message_text, sentence = pg_exception_detail, budget = pg_exception_hint;
  if code = 'budget_exceeded' then
    perform keyframe_private.note_exhausted(prediction.owner_id, (budget::json ->> 'estimateMicros')::bigint);
  end if;
  perform keyframe_private.mark_failed(prediction.id, code, sentence, true);
end $$;
comment on function keyframe_private.add_next_submit is 'Adds the next submit of a queued prediction.';

-- False when it has had max_runs provider runs, each of which may cost money.
create function keyframe_private.mark_queued_again(prediction uuid, reason text, max_runs integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  runs constant integer := (
    select count(*) from keyframe_private.provider_submits s
    where s.prediction_id = mark_queued_again.prediction and s.provider_prediction_id is not null);
  again keyframe.predictions;
begin
  update keyframe.predictions p
  set status = 'queued', provider_prediction_id = null, started_at = coalesce(p.started_at, now()),
      lease_token = null, failures = runs, retry_reason = reason,
      next_attempt_at = now() + keyframe_private.retry_delay(runs), updated_at = now()
  where p.id = prediction and p.status in ('queued', 'starting', 'processing')
    and runs < max_runs
  returning p.* into again;
  if not found then
    return false;
  end if;
  perform keyframe_private.add_next_submit(again);
  return true;
end $$;
comment on function keyframe_private.mark_queued_again is 'starting, processing → queued: the provider run failed for a cause that passes (it could not read the images, or was interrupted), so the prediction is submitted again. started_at and the progress stay: the API shows it as processing.';

-- A submit in progress finds out when it records its answer.
create function keyframe_private.mark_canceled(prediction uuid)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'canceled', completed_at = clock_timestamp(), lease_token = null, updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;
comment on function keyframe_private.mark_canceled is 'active → canceled.';

create function keyframe_private.try_mark_failed(prediction keyframe.predictions, code text, sentence text)
returns boolean language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
begin
  if keyframe_private.is_out_of_time() or not keyframe_private.take_lock('slots', prediction.owner_id, waits => false) then
    return false;
  end if;
  begin
    perform from keyframe_private.provider_submits s where s.prediction_id = prediction.id and s.ended_at is null for update nowait;
  exception when lock_not_available then
    return false;
  end;
  if not keyframe_private.mark_failed(prediction.id, code, sentence, true) then
    return false;
  end if;
  perform keyframe_private.forget_aside('{claim,resubmit,fail}', array[prediction.id::text]);
  return true;
exception when others or query_canceled or assert_failure then
  if sqlstate = '57014' and not keyframe_private.is_out_of_time() then
    raise;
  end if;
  perform keyframe_private.set_aside('fail', prediction.id::text, sqlstate, sqlerrm);
  return false;
end $$;
comment on function keyframe_private.try_mark_failed is 'active → failed, for work on predictions of several owners: false instead of waiting for what somebody holds (the owner''s slots, its submits) or failing for what one row causes.';

-- An administrator who holds the row decides.
create function keyframe_private.set_refused(wanted_step keyframe.generation_step, wanted_model text, since timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.models m set refused_at = since
  where (m.step, m.model) in (
    select l.step, l.model from keyframe.models l where l.step = wanted_step and l.model = wanted_model for no key update skip locked);
end $$;
comment on function keyframe_private.set_refused is 'Records since when the provider refuses a model as unknown; null when it has it again.';

create function keyframe_worker.complete_prediction(
  prediction_id uuid, lease_token uuid, output_path text, content_type text, bytes bigint, sha256 text, width integer default null,
  height integer default null, duration_seconds double precision default null, has_audio boolean default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  done record;
begin
  update keyframe.predictions p
  set status = 'succeeded', output_path = complete_prediction.output_path, output_content_type = content_type,
      output_bytes = bytes, output_sha256 = sha256, output_width = width, output_height = height,
      output_duration_seconds = complete_prediction.duration_seconds, output_has_audio = has_audio,
      completed_at = clock_timestamp(), progress = 1,
      lease_token = null, failures = 0, retry_reason = null, updated_at = now()
  where p.id = complete_prediction.prediction_id and p.status = 'storing' and p.lease_token = complete_prediction.lease_token
  returning p.step, p.model, p.started_at into done;
  if not found then
    return false;
  end if;
  perform keyframe_private.set_refused(done.step, done.model, null)
  from keyframe.models m where m.step = done.step and m.model = done.model and m.refused_at < done.started_at;
  return true;
end $$;
comment on function keyframe_worker.complete_prediction is 'storing → succeeded, for the holder of the lease. False: too late.';

create function keyframe_worker.fail_prediction(
  prediction_id uuid, lease_token uuid, code text, message text, retryable boolean, stage text default null,
  attempt_without_run integer default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  perform keyframe_private.end_without_run(prediction_id, attempt_without_run);
  perform from keyframe.predictions p
  where p.id = fail_prediction.prediction_id and p.lease_token = fail_prediction.lease_token for update;
  if not found then
    return false;
  end if;
  return keyframe_private.mark_failed(prediction_id, code, message, retryable, fail_prediction.stage);
end $$;
comment on function keyframe_worker.fail_prediction is 'active → failed, for the holder of the lease. False: too late. attempt_without_run: the attempt whose submit the provider refused, or that was not sent.';

-- Waiting for a rate limit of the provider is no failure. An accepted run is paid for: polling and storing are retried until the deadline.
create function keyframe_worker.retry_prediction_later(
  prediction_id uuid, lease_token uuid, code text, message text, retry_after_seconds double precision default null,
  attempt_without_run integer default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  row_now keyframe.predictions;
  counted integer;
begin
  perform keyframe_private.end_without_run(prediction_id, attempt_without_run);
  select p.* into row_now from keyframe.predictions p
  where p.id = retry_prediction_later.prediction_id and p.lease_token = retry_prediction_later.lease_token for update;
  if not found then
    return 'too_late';
  end if;
  counted := row_now.failures + case when code = 'provider_rate_limited' then 0 else 1 end;
  if row_now.status = 'queued' and counted >= keyframe_private.max_failures() then
    perform keyframe_private.mark_failed(row_now.id, code, message, true);
    return 'failed';
  end if;
  update keyframe.predictions p
  set failures = counted, retry_reason = code, lease_token = null,
      next_attempt_at = now() + greatest(make_interval(secs => coalesce(retry_after_seconds, 0)), keyframe_private.retry_delay(counted)),
      updated_at = now()
  where p.id = row_now.id;
  if row_now.status = 'queued' then
    perform keyframe_private.add_next_submit(row_now);
  end if;
  return 'later';
end $$;
comment on function keyframe_worker.retry_prediction_later is 'Retries the current task later (later), fails the prediction when its failures are used up (failed), or finds that the lease is gone (too_late). attempt_without_run: the attempt whose submit the provider refused, or that was not sent; without it, the run of a submit is searched for.';

-- Nothing has changed at the provider: poll again after the interval. The provider answered, so failures restart at 0.
create function keyframe_worker.poll_prediction_later(prediction_id uuid, lease_token uuid, after_seconds double precision default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  update keyframe.predictions p
  set lease_token = null, failures = 0, retry_reason = null, updated_at = now(), next_attempt_at = now() + coalesce(
    make_interval(secs => after_seconds), keyframe_private.poll_interval())
  where p.id = poll_prediction_later.prediction_id and p.lease_token = poll_prediction_later.lease_token;
  return found;
end $$;
comment on function keyframe_worker.poll_prediction_later is 'Releases a lease and schedules the next poll. False: too late.';
