-- The ledger has one row for each submit to the provider: what happened to the submit, to its provider run and to the money. Below:
-- adding a submit, ending it, attaching and canceling its run, and the next submit. 22_lost_answers.sql searches for a run.
--
--   state         columns                                what moves it
--   unsent        is_unsent: submitted_at is null        begin_submit → unanswered; abandon_submits → ended (no_run)
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
-- ended_at is null before the end. add_submits adds an unsent submit. attach_run adds a running one, for a second run of a submit or for a run
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
  is_unsent boolean not null generated always as (submitted_at is null and ended_at is null) stored,
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
comment on table keyframe_private.provider_submits is 'Each submit to the provider, kept for 13 months, even after its prediction, project or account is deleted.';
comment on column keyframe_private.provider_submits.owner_id is 'The user who pays, even after the account is deleted.';
comment on column keyframe_private.provider_submits.attempt is 'Its number among the prediction''s submits. A second provider run of one submit has a row of its own.';
comment on column keyframe_private.provider_submits.is_first is 'Whether it is the first of its prediction: usage counts these.';
comment on column keyframe_private.provider_submits.created_at is 'When it was added or, if it replaces a released submit, when that one was added: its cost counts on this day.';
comment on column keyframe_private.provider_submits.submitted_at is 'When begin_submit recorded it, just before the call; null while it waits.';
comment on column keyframe_private.provider_submits.answered_at is 'When the provider answered it, or its provider run was found.';
comment on column keyframe_private.provider_submits.ended_at is 'When nothing more could happen to it at the provider.';
comment on column keyframe_private.provider_submits.outcome is 'The end of its provider run (succeeded, rejected, failed, canceled, aborted), no_run (it was not sent, the provider refused it, or its list has no run of it), or lost (what happened at the provider is unknown).';
comment on column keyframe_private.provider_submits.is_unsent is 'Whether it is still to be sent.';
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

-- Adds the next submit of predictions of one owner and client and, for admitted ones, the work that sends it. Together they must fit the
-- budgets and the balance. A submit that replaces a released one counts on that one's day, and needs budget only if it can cost more. The
-- megapixels of the input are kept where a price counts them: its images may be deleted before it ends.
create function keyframe_private.add_submits(
  predictions keyframe.predictions[], released keyframe_private.provider_submits default null,
  due_at timestamptz default clock_timestamp(), failures integer default 0, reason text default null)
returns void language plpgsql volatile set search_path = '' as $$
declare
  costs keyframe_private.run_cost[] := '{}';
  total keyframe_private.run_cost;
  added_at constant timestamptz := coalesce(released.created_at, clock_timestamp());
  p keyframe.predictions;
begin
  foreach p in array predictions loop
    costs := costs || keyframe_private.estimate_cost(p.model, p.input, clock_timestamp());
  end loop;
  total := keyframe_private.sum_of(costs);
  if (total.most_micros <= released.most_micros and total.most_charge_micros <= released.most_charge_micros) is not true then
    perform keyframe_private.require_budget((predictions[1]).owner_id, total, added_at, (predictions[1]).client_id);
  end if;
  for i in 1 .. cardinality(predictions) loop
    p := predictions[i];
    insert into keyframe_private.provider_submits (
      owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, price_ids, most_micros, markup, client_id, metrics)
    values (p.owner_id, p.project_id, p.id, p.attempt + 1, p.attempt = 0, p.step, p.model, added_at, costs[i].price_ids,
      costs[i].most_micros, costs[i].markup, p.client_id, (
        select jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(p.input))
        where exists (select from keyframe_private.model_prices r where r.id = any (costs[i].price_ids) and r.metric = 'input_megapixel')));
    if p.admitted_at is not null then
      perform keyframe_private.add_submit_work(p, add_submits.due_at, add_submits.failures, reason);
    end if;
  end loop;
end $$;

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
    if submit.is_unsent then
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

-- Submits a queued prediction once more, or fails it if that does not fit its budget: then false. The replacement of a submit that was released
-- in this transaction (ended_at = now()) reuses its reservation if it costs no more; money released in an earlier transaction may meanwhile be
-- held by another start.
create function keyframe_private.add_next_submit(prediction keyframe.predictions, due_at timestamptz, failures integer, reason text)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  released keyframe_private.provider_submits;
  refused keyframe_private.refusal;
begin
  if exists (
    select from keyframe_private.provider_submits s
    where s.prediction_id = prediction.id and s.is_unsent) then
    return true; -- one waits already, with its work
  end if;
  perform keyframe_private.acquire_lock('slots', prediction.owner_id);
  select s.* into released from keyframe_private.provider_submits s
  where s.prediction_id = prediction.id and s.attempt = prediction.attempt and s.ended_at = now() and not exists (
    select from keyframe_private.provider_submits o
    where o.prediction_id = s.prediction_id and o.attempt = s.attempt and o.cost_state <> 'released')
  limit 1;
  perform keyframe_private.add_submits(array[prediction], released, due_at, failures, reason);
  return true;
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(prediction.owner_id, refused.code, refused.hint);
  perform keyframe_private.mark_failed(prediction.id, refused.code, refused.sentence, true);
  return false;
end $$;

-- Repeated for a day: no run lasts longer. is_unknown: the provider no longer has the run, so its end is unknown.
create function keyframe_worker.record_run_not_canceled(work_id bigint, lease_token uuid, is_unknown boolean)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  perform keyframe_private.end_submit(s.id, 'lost') from keyframe_private.provider_submits s
  where s.id = leased.submit_id and s.ended_at is null and (is_unknown or s.answered_at < now() - interval '1 day');
  perform keyframe_private.reschedule_or_finish(leased);
end $$;
comment on function keyframe_worker.record_run_not_canceled is 'Records that canceling a provider run has not ended it.';
