-- A create whose answer was lost: the provider may have made a run, which is paid for, and the next create would pay again. So it is searched
-- for in the provider's list. In time:
--
--   1  begin_submit records the submit and sends it. No answer comes: it is unanswered.
--   2  While its prediction is queued, the next submit searches first. If the prediction ends or is deleted, add_search adds a search.
--   3  Found: report_run attaches the run (attach_run), and moves the prediction or, if that has ended, cancels the run.
--      Not found: record_search_ended ends the submit with no_run. If a run in the list may be its own (is_unproven), or the provider has
--      deleted the inputs of that time, with lost: what happened is unknown.
--   4  A worker whose lease had expired reports late that no answer came: search_again searches once more.

-- Searches for the run of an unanswered submit, which the provider may have created.
create function keyframe_private.add_search(submit keyframe_private.provider_submits, prediction keyframe.predictions, due_at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe_private.provider_submits s
  set search_task = jsonb_build_object(
    'input', prediction.input, 'has_images', keyframe_private.has_images(prediction.input),
    'model_settings', (
      select jsonb_build_object('controls', m.controls, 'fixed', m.fixed) from keyframe.models m
      where m.step = s.step and m.model in (s.model, prediction.model) order by m.model <> s.model limit 1))
  where s.id = submit.id and s.search_task is null;
  perform keyframe_private.add_work('ask', 'search', submit.prediction_id, submit.owner_id, 'search', add_search.due_at, submit.id);
end $$;

-- Called when the worker that sent a submit reports that no answer came. After a lost lease another worker may have searched before this
-- request created its run. So the run is searched for once more, even if that search ended the submit. A submit of the same attempt that was
-- never sent stays as it is. The caller has locked the prediction. Locking the submits waits for a search or a callback that is being
-- recorded, so that the next statement sees its result.
create function keyframe_private.search_again(prediction uuid, unanswered_attempt integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  row_now keyframe.predictions;
  submit keyframe_private.provider_submits;
begin
  select p.* into row_now from keyframe.predictions p where p.id = prediction;
  perform from keyframe_private.provider_submits s where s.prediction_id = prediction and s.attempt = unanswered_attempt order by s.id for update;
  update keyframe_private.provider_submits s set answered_at = null, ended_at = null, outcome = null
  where s.prediction_id = prediction and s.attempt = unanswered_attempt and s.submitted_at is not null and s.outcome = 'no_run' and not exists (
    select from keyframe_private.provider_submits r
    where r.prediction_id = prediction and r.attempt = unanswered_attempt and r.provider_prediction_id is not null);
  select s.* into submit from keyframe_private.provider_submits s
  where s.prediction_id = prediction and s.attempt = unanswered_attempt and s.is_unanswered;
  if submit.search_task is null and row_now.status = 'queued' and row_now.attempt = unanswered_attempt then
    return; -- the next submit searches for it
  elsif submit.search_task is null and row_now.id is null then
    perform keyframe_private.end_submit(submit.id, 'lost'); -- a deleted prediction's input is not known any more
  elsif submit.id is not null and not exists (
    select from keyframe_private.work w
    where w.subject = prediction and w.kind = 'search' and w.queue <> 'deliver' and w.submit_id = submit.id and w.state <> 'leased') then
    perform keyframe_private.add_search(submit, row_now, clock_timestamp() + keyframe_private.retry_delay(1));
  end if;
end $$;

-- Whether no other prediction in this database can have made a run with the text of this submit. The provider's list shows the input of a
-- run: addresses of files name the prediction, text does not. begin_submit commits before its submit, so every candidate is in the table.
-- After an hour the provider deletes the inputs of runs.
create function keyframe_private.is_only_submit_of_its_text(prediction uuid, attempt integer)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe_private.provider_submits s
    where s.prediction_id = prediction and s.attempt = is_only_submit_of_its_text.attempt and s.is_unanswered and s.text_hash is not null
      and s.submitted_at > now() - interval '1 hour'
      and not exists (
        select from keyframe_private.provider_submits other
        where other.text_hash = s.text_hash and other.prediction_id <> s.prediction_id
          and other.submitted_at > s.submitted_at - interval '1 hour'
      )
  );
end $$;

-- Ends the submits whose provider run was searched for and not found. Such a submit created no run (no_run). It counts as lost instead if a
-- run in the provider's list may be its own (is_unproven), or if it is so old that the provider has deleted the input of its run, by which
-- it would be found. A submit for which another search is due stays unanswered until that one ends. The locks wait for an answer that is
-- recorded at the same moment.
create function keyframe_worker.record_search_ended(
  prediction_id uuid, first_attempt integer, last_attempt integer, is_unproven boolean, work_id bigint default null, lease_token uuid default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  searched bigint[];
begin
  perform from keyframe.predictions p where p.id = record_search_ended.prediction_id for update;
  searched := array(
    select u.id from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt between first_attempt and last_attempt and u.is_unanswered
    order by u.id for update);
  perform keyframe_private.finish_work(leased);
  perform keyframe_private.end_submit(u.id,
    case when is_unproven or u.submitted_at < now() - interval '50 minutes' then 'lost' else 'no_run' end)
  from keyframe_private.provider_submits u
  where u.id = any (searched) and u.is_unanswered and not keyframe_private.has_work(u.prediction_id, 'search', u.id);
  return exists (
    select from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt = last_attempt + 1 and u.is_unanswered);
end $$;
comment on function keyframe_worker.record_search_ended is 'Ends the search for the provider runs of submits. work_id: the search that this was; without it, it was part of a submit. Returns whether the submit after last_attempt is still to be sent: the run that was found may have ended it, by a call whose answer was lost.';
