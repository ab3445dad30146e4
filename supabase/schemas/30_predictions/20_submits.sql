-- The ledger has one row for each submit to the provider: what happened to the submit, to its provider run and to the money. The functions
-- end a submit, search for its run, or add the next submit.
--
--   state         columns                                what moves it
--   waiting       is_waiting: submitted_at is null       begin_submit → unanswered; abandon_submits → ended (no_run)
--   unanswered    is_unanswered: submitted_at is set,    attach_run → running; add_search → searched for;
--                 answered_at is null                    record_search_ended, before the next submit → ended (no_run, lost);
--                                                        end_without_run → ended (no_run);
--                                                        search_again, if the prediction is deleted → ended (lost)
--   searched for  is_unanswered, search_task is set      attach_run → running; record_search_ended → ended (no_run, lost);
--                                                        end_without_run → ended (no_run); prune, after a day → ended (lost)
--   running       answered_at and                        record_run_state → ended (the run's outcome);
--                 provider_prediction_id are set         record_run_not_canceled → ended (lost)
--   ended         ended_at and outcome are set           if lost: attach_run → running, record_run_state → the run's outcome;
--                                                        if no_run: search_again → unanswered
--
-- ended_at is null before the end. add_submits adds a waiting submit. attach_run adds a running one, for a second run of a submit or for a run
-- of one that ended with no_run. prune deletes ended ones after 13 months.
--
-- cost_state is held while there is no outcome. With one, settle_ended sets it. An administrator settles or releases an unknown one.
--
--   outcome                     cost_state
--   no_run, aborted             released
--   succeeded                   settled; if a price counts the file, held until the prediction ends (settle_by_file)
--   rejected, failed, canceled  settled, released or unknown, as billed_when of the model says
--   lost                        unknown
--
-- A cost that cannot be computed is unknown, not settled. A cost that is 0 in any case is settled, not unknown.

-- No foreign keys: a row outlives its prediction, project and account. Of about three updates the last is HOT if its page has space.
create table keyframe_private.provider_submits (
  id bigint generated always as identity primary key,
  owner_id uuid not null,
  project_id uuid not null,
  prediction_id uuid not null,
  attempt integer not null,
  is_first boolean not null default false,
  step keyframe.generation_step not null,
  model text not null,
  created_at timestamptz not null default now(),
  submitted_at timestamptz,
  answered_at timestamptz,
  ended_at timestamptz,
  outcome text,
  is_waiting boolean not null generated always as (submitted_at is null and ended_at is null) stored,
  is_unanswered boolean not null generated always as (submitted_at is not null and answered_at is null and ended_at is null) stored,
  provider_prediction_id text,
  search_task jsonb,
  text_hash bigint,
  metrics jsonb,
  price_ids bigint[],
  most_micros bigint,
  cost_micros bigint,
  cost_state text not null default 'held',
  client_id text,
  markup numeric not null default 1,
  most_charge_micros bigint generated always as (ceil(most_micros * markup)) stored,
  charge_micros bigint generated always as (ceil(cost_micros * markup)) stored,
  constraint outcome_if_and_only_if_ended check ((outcome is null) = (ended_at is null)),
  constraint outcome_is_known check (outcome in ('succeeded', 'rejected', 'failed', 'canceled', 'aborted', 'no_run', 'lost')),
  constraint provider_run_is_an_answer check (provider_prediction_id is null or (submitted_at is not null and answered_at is not null)),
  constraint search_only_while_unanswered check (search_task is null or is_unanswered),
  constraint metrics_are_an_object check (jsonb_typeof(metrics) = 'object'),
  constraint price_ids_are_a_list check (coalesce(array_ndims(price_ids), 1) = 1),
  constraint cost_state_is_known check (cost_state in ('held', 'settled', 'released', 'unknown')),
  constraint cost_if_and_only_if_settled check ((cost_micros is null) = (cost_state <> 'settled')),
  -- A mistyped amount must not overflow the service's sums, which would stop all starts.
  constraint amounts_are_at_most_a_million_dollars check (most_micros between 0 and 1000000000000
    and cost_micros between 0 and 1000000000000),
  constraint markup_is_between_0_and_10 check (markup between 0 and 10)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe_private.provider_submits is 'Each submit to the provider, kept for 13 months, also when its prediction, project or account is deleted.';
comment on column keyframe_private.provider_submits.owner_id is 'The user who pays, also when the account is deleted.';
comment on column keyframe_private.provider_submits.attempt is 'Its number among the prediction''s submits. A second provider run of one submit has a row of its own.';
comment on column keyframe_private.provider_submits.is_first is 'Whether it is the first of its prediction: usage counts these.';
comment on column keyframe_private.provider_submits.created_at is 'When it was added or, if it replaces a released submit, when that one was added: its cost counts on this day.';
comment on column keyframe_private.provider_submits.submitted_at is 'When begin_submit recorded it, just before the call; null while it waits.';
comment on column keyframe_private.provider_submits.answered_at is 'When the provider answered it, or its provider run was found.';
comment on column keyframe_private.provider_submits.ended_at is 'When nothing more could happen to it at the provider.';
comment on column keyframe_private.provider_submits.outcome is 'The end of its provider run (succeeded, rejected, failed, canceled, aborted), no_run (it was not sent, the provider refused it, or its list has no run of it), or lost (what happened at the provider is unknown).';
comment on column keyframe_private.provider_submits.is_waiting is 'Whether it is still to be sent.';
comment on column keyframe_private.provider_submits.is_unanswered is 'Whether a provider run may exist that is not known yet.';
comment on column keyframe_private.provider_submits.provider_prediction_id is 'The provider run, once it is known.';
comment on column keyframe_private.provider_submits.search_task is 'What identifies its run in the provider''s list, including the prompt. Null if no search of its own is due: while its prediction is queued, the next submit searches first.';
comment on column keyframe_private.provider_submits.text_hash is 'hashtextextended of the prompt of a submit without files, for three hours. A collision only prevents the recovery of both prompts'' runs.';
comment on column keyframe_private.provider_submits.metrics is 'What the provider counted when the run ended; before that, where a price needs them, the megapixels of the input.';
comment on column keyframe_private.provider_submits.price_ids is 'The prices by which it is settled: those in force when it was added. Null when one is unknown.';
comment on column keyframe_private.provider_submits.most_micros is 'The most that the provider can bill, in micro-dollars; null: no price is known.';
comment on column keyframe_private.provider_submits.cost_micros is 'What the provider bills; only when it is settled.';
comment on column keyframe_private.provider_submits.cost_state is 'held: it has not ended, or its price counts a file that is not stored yet. settled: it has cost cost_micros. released: it was not billed. unknown: it counts with most_micros until an administrator settles it.';
comment on column keyframe_private.provider_submits.client_id is 'The OAuth client or key that started its prediction; null: the owner''s session, or a server.';
comment on column keyframe_private.provider_submits.charge_micros is 'What its owner pays; only when it is settled.';
create unique index provider_submits_run_idx on keyframe_private.provider_submits (provider_prediction_id)
  where provider_prediction_id is not null;
create index provider_submits_prediction_id_idx on keyframe_private.provider_submits (prediction_id, attempt);
create index provider_submits_created_at_idx on keyframe_private.provider_submits (created_at);
create index provider_submits_search_idx on keyframe_private.provider_submits (submitted_at) where search_task is not null;
create index provider_submits_client_id_idx on keyframe_private.provider_submits (owner_id, client_id, created_at)
  where client_id is not null;
create index provider_submits_text_idx on keyframe_private.provider_submits (submitted_at, text_hash) where text_hash is not null;

-- The only place where a submit ends. The first end counts, unless it was `lost` and more is known now.
create function keyframe_private.end_submit(submit bigint, how text, measured jsonb default null)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe_private.provider_submits s
  set ended_at = now(), outcome = how, metrics = coalesce(s.metrics || measured, measured, s.metrics), search_task = null,
    answered_at = case when how = 'lost' or s.submitted_at is null then s.answered_at else coalesce(s.answered_at, now()) end
  where s.id = submit and (s.ended_at is null or s.outcome = 'lost');
end $$;

-- Ends the unanswered submit of an attempt that created no provider run: the provider refused it, or it was never sent. Null ends
-- nothing. The caller needs no lease, but must have locked the prediction.
create function keyframe_private.end_without_run(prediction uuid, attempt_without_run integer)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.end_submit(s.id, 'no_run') from keyframe_private.provider_submits s
  where s.prediction_id = prediction and s.attempt = attempt_without_run and s.is_unanswered;
end $$;

-- Attaches a newly seen provider run to its submit, and returns the submit. If the submit already has another run or ended without one, the
-- run gets its own row, at the same prices and whatever the budget, because it exists. A run from the provider's list names no attempt: with
-- is_found, any unanswered submit matches.
create function keyframe_private.attach_run(run text, prediction uuid, attempt integer, is_found boolean)
returns bigint language plpgsql volatile set search_path = '' as $$
declare
  submit bigint;
begin
  update keyframe_private.provider_submits s
  set provider_prediction_id = run, answered_at = now(), ended_at = null, outcome = null, search_task = null
  where s.id = (
    select o.id from keyframe_private.provider_submits o
    where o.prediction_id = prediction and (o.attempt = attach_run.attempt or is_found)
      and (o.is_unanswered or o.outcome = 'lost' and o.provider_prediction_id is null)
    order by o.attempt <> attach_run.attempt, o.attempt limit 1)
    and s.provider_prediction_id is null
  returning s.id into submit;
  if not found then
    insert into keyframe_private.provider_submits (
      owner_id, project_id, prediction_id, attempt, step, model, created_at, price_ids, most_micros, markup, client_id, metrics, submitted_at,
      answered_at, provider_prediction_id)
    select o.owner_id, o.project_id, o.prediction_id, attach_run.attempt, o.step, o.model, o.created_at, o.price_ids, o.most_micros, o.markup,
      o.client_id,
      (select jsonb_object_agg(m.key, m.value) from jsonb_each(o.metrics) m where m.key = 'image_input_megapixel_count'), now(), now(), run
    from keyframe_private.provider_submits o where o.prediction_id = prediction
    order by o.attempt <> attach_run.attempt, o.attempt limit 1
    returning id into submit;
  end if;
  return submit;
exception when unique_violation then
  return null; -- recorded for another prediction at the same moment
end $$;

-- Cancels a provider run that no prediction follows.
create function keyframe_private.add_cancel(submit keyframe_private.provider_submits)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if not keyframe_private.has_work(submit.prediction_id, 'cancel', submit.id) then
    perform keyframe_private.add_work('ask', 'cancel', submit.prediction_id, submit.owner_id, 'cancel', submit_id => submit.id);
  end if;
end $$;

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

-- When a prediction leaves the queue, ends or is deleted, its unanswered submits are searched for, once no worker can still be submitting
-- them. When it ends or is deleted, its running provider runs are canceled.
create function keyframe_private.abandon_submits()
returns trigger language plpgsql volatile security definer set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  submit keyframe_private.provider_submits;
  leased_until timestamptz;
begin
  for submit in
    select s.* from keyframe_private.provider_submits s where s.prediction_id = old.id and s.ended_at is null order by s.id for update
  loop
    if submit.is_waiting then
      perform keyframe_private.end_submit(submit.id, 'no_run');
    elsif submit.is_unanswered and submit.search_task is null then
      leased_until := (
        select max(w.due_at) from keyframe_private.work w
        where w.subject = old.id and w.kind = 'submit' and w.queue <> 'deliver' and w.state = 'leased' and w.submit_id = submit.id);
      perform keyframe_private.add_search(submit, old, greatest(clock_timestamp(), leased_until));
    elsif not submit.is_unanswered and (tg_op = 'DELETE' or new.completed_at is not null) then
      perform keyframe_private.add_cancel(submit);
    end if;
  end loop;
  return null;
end $$;

-- Called when the worker that sent a submit reports that no answer came. If its lease had expired, the run may have been searched for too
-- early, while the request was still under way. So it is searched for again, even if that search has ended the submit. A submit of the same
-- attempt that was never sent stays as it is. The caller has locked the prediction. Locking the submits waits for a search or a callback that
-- is being recorded, so that the next statement sees its result.
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
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  searched bigint[];
begin
  perform from keyframe.predictions p where p.id = record_search_ended.prediction_id for update;
  searched := array(
    select u.id from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt between first_attempt and last_attempt and u.is_unanswered
    order by u.id for update);
  perform keyframe_private.finish_work(held);
  perform keyframe_private.end_submit(u.id,
    case when is_unproven or u.submitted_at < now() - interval '50 minutes' then 'lost' else 'no_run' end)
  from keyframe_private.provider_submits u
  where u.id = any (searched) and u.is_unanswered and not keyframe_private.has_work(u.prediction_id, 'search', u.id);
  return exists (
    select from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt = last_attempt + 1 and u.is_unanswered);
end $$;
comment on function keyframe_worker.record_search_ended is 'Ends the search for the provider runs of submits. work_id: the search that this was; without it, it was part of a submit. Returns whether the submit after last_attempt is still to be sent: the run that was found may have ended it, by a call whose answer was lost.';

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
    where s.prediction_id = prediction.id and s.is_waiting) then
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

-- `since`: when the provider began to refuse the model as unknown; null when it has the model again. An administrator who holds the row
-- decides.
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
  held constant keyframe_private.work := keyframe_private.lock_held_work(work_id, lease_token);
  subject constant uuid := coalesce(held.subject, prediction_id);
  row_now keyframe.predictions;
  project keyframe.projects;
  gone keyframe.models;
  next_model keyframe.models;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if not keyframe_private.is_current(held) or row_now.status <> 'queued' then
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
