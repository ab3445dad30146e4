-- What the provider says about a run, whether in the answer to a submit, to a poll, or in a callback: one decision for all three.

create table keyframe_private.provider_callbacks (
  callback_id text primary key,
  received_at timestamptz not null default now()
);
comment on table keyframe_private.provider_callbacks is 'The webhook-id of each callback that was not recognised at once as saying nothing new, for a day: a replay changes nothing.';
create index provider_callbacks_received_at_idx on keyframe_private.provider_callbacks (received_at);
alter table keyframe_private.provider_callbacks enable row level security;

-- Records a provider run's state and answers what came of it:
-- recorded, unchanged (nothing new), duplicate (callback seen before), unknown (no such prediction, or another's run),
-- unproven (may be another's run), ended (the prediction was over or deleted), stale (the run is not the one the prediction
-- follows; it will be cancelled).
-- found_by is for runs found in the provider's list: 'name' when something in them names the prediction, 'text' when all there is
-- is an equal text.
create function keyframe_worker.record_provider_state(
  prediction_id uuid,
  attempt integer,
  provider_prediction_id text,
  provider_status text,
  output_url text default null,
  progress real default null,
  error_message text default null,
  callback_id text default null,
  poll_after_seconds double precision default null,
  found_by text default null
)
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  row_now keyframe.predictions;
  run_is_over boolean := provider_status in ('succeeded', 'failed', 'canceled', 'aborted');
  follows_run boolean;
  poll_after interval;
  moved boolean;
begin
  -- First without a lock: what says nothing new, as most callbacks do, writes nothing and waits for nobody. Nothing moves back, so
  -- what is no news of the row that is read here is none of a later one.
  if exists (
    select from keyframe.predictions p
    where p.id = record_provider_state.prediction_id
      and p.provider_prediction_id = record_provider_state.provider_prediction_id
      and record_provider_state.attempt between 1 and p.attempt
      and case p.status
        when 'starting' then provider_status = 'starting'
        when 'processing' then provider_status = 'starting'
          or provider_status = 'processing' and coalesce(record_provider_state.progress <= coalesce(p.progress, 0), true)
        when 'storing' then run_is_over or provider_status in ('starting', 'processing')
        else false
      end
  ) then
    return case
      when exists (select from keyframe_private.provider_callbacks c where c.callback_id = record_provider_state.callback_id) then 'duplicate'
      else 'unchanged'
    end;
  end if;

  select p.* into row_now from keyframe.predictions p where p.id = record_provider_state.prediction_id for update;
  if not found then
    -- Deleted while a submit of it had no answer, it counts as ended then.
    select s.prediction_id, s.attempt, s.unanswered_since, s.deleted_at
    into row_now.id, row_now.attempt, row_now.unanswered_since, row_now.completed_at
    from keyframe_private.unanswered_submits s where s.prediction_id = record_provider_state.prediction_id;
  end if;
  if not found or record_provider_state.attempt not between 1 and row_now.attempt then
    return 'unknown';
  end if;
  follows_run := coalesce(row_now.provider_prediction_id = record_provider_state.provider_prediction_id, false);
  -- The signature does not cover the address. Under another prediction's a callback must not be noted as seen: its own would
  -- then pass for a duplicate.
  if not follows_run and exists (
    select from keyframe_private.provider_runs r
    where r.provider_prediction_id = record_provider_state.provider_prediction_id and r.prediction_id <> row_now.id
  ) then
    return 'unknown';
  end if;
  -- Before anything is noted: what may be another's is neither followed nor cancelled.
  if found_by = 'text' and not follows_run
    and not keyframe_private.is_only_submit_of_its_text(row_now.id, row_now.unanswered_since) then
    return 'unproven';
  end if;
  if callback_id is not null then
    insert into keyframe_private.provider_callbacks (callback_id) values (record_provider_state.callback_id) on conflict do nothing;
    if not found then
      return 'duplicate';
    end if;
  end if;

  -- The run that an active prediction follows is noted, and nobody asks for its end.
  if not follows_run or row_now.completed_at is not null then
    insert into keyframe_private.provider_runs as r (provider_prediction_id, prediction_id, attempt)
    values (record_provider_state.provider_prediction_id, row_now.id, record_provider_state.attempt)
    on conflict on constraint provider_runs_pkey do update
      set cancel_due_at = case when run_is_over then null else r.cancel_due_at end
      where r.prediction_id = row_now.id;
    if not found then
      return 'unknown'; -- the run was noted for another prediction just now
    end if;
  end if;

  -- The last submit has its answer, and the list was searched before it: there is nothing to look for any more.
  if row_now.completed_at is not null and row_now.unanswered_since is not null and found_by is null
    and record_provider_state.attempt = row_now.attempt then
    perform keyframe_worker.record_search_ended(row_now.id);
  end if;
  if not follows_run and (row_now.provider_prediction_id is not null or row_now.completed_at is not null) then
    perform keyframe_private.cancel_run(record_provider_state.provider_prediction_id, run_is_over);
    return case when row_now.completed_at is null then 'stale' else 'ended' end;
  end if;
  if row_now.completed_at is not null then
    -- The run of a prediction that succeeded is over, whatever an old callback says.
    perform keyframe_private.cancel_run(record_provider_state.provider_prediction_id, run_is_over or row_now.status = 'succeeded');
    return 'ended';
  end if;

  poll_after := coalesce(make_interval(secs => poll_after_seconds), (select s.poll_interval from keyframe_private.settings s));
  moved := case provider_status
    when 'starting' then keyframe_private.mark_starting(row_now.id, record_provider_state.provider_prediction_id, poll_after)
    when 'processing' then (row_now.status <> 'processing' or coalesce(record_provider_state.progress > coalesce(row_now.progress, 0), false))
      and keyframe_private.mark_processing(row_now.id, record_provider_state.provider_prediction_id, record_provider_state.progress, poll_after)
    when 'succeeded' then case
      when row_now.status = 'storing' then false
      when output_url is null then keyframe_private.mark_failed(row_now.id, 'provider_no_output', 'The provider finished without an output. Run the step again.', true)
      else keyframe_private.mark_storing(row_now.id, record_provider_state.provider_prediction_id, output_url) end
    when 'failed' then row_now.status <> 'storing' and keyframe_private.mark_failed(row_now.id, 'provider_failed',
      coalesce(nullif(record_provider_state.error_message, ''), 'The provider could not generate this. Change the prompt, or run the step again.'), true)
    when 'canceled' then row_now.status <> 'storing' and keyframe_private.mark_failed(row_now.id, 'provider_canceled',
      'The run was cancelled at the provider. Run the step again.', true)
    when 'aborted' then row_now.status <> 'storing' and keyframe_private.mark_failed(row_now.id, 'provider_aborted',
      'The provider gave the run up before it started. Run the step again.', true)
  end;
  if moved is null then
    raise exception 'The provider said an unknown status: %.', provider_status using errcode = 'invalid_parameter_value';
  end if;
  return case when moved then 'recorded' else 'unchanged' end;
end
$$;
comment on function keyframe_worker.record_provider_state is 'Records what the provider says about a run and answers: recorded, unchanged, duplicate, unknown, unproven, ended or stale.';

-- Asks for a run to be cancelled at the provider, unless it is over.
create function keyframe_private.cancel_run(run text, run_is_over boolean)
returns void
language sql
volatile
set search_path = ''
as $$
  update keyframe_private.provider_runs r set cancel_due_at = now()
  where r.provider_prediction_id = run and not run_is_over and r.cancel_due_at is null
$$;

-- A prediction that ends before its run does leaves a run to cancel: cancelled by the user, past its deadline, given up
-- because the provider could not be asked any more, or deleted. Not so when it ended because the provider said the run was over.
create function keyframe_private.cancel_abandoned_run()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.cancel_run(old.provider_prediction_id, false);
  return null;
end
$$;
create trigger _400_cancel_abandoned_run after update of status on keyframe.predictions
  for each row
  when (
    old.status in ('starting', 'processing') and (
      new.status = 'canceled'
      or (new.status = 'failed'
        and new.error_code not in ('provider_failed', 'provider_canceled', 'provider_aborted', 'provider_no_output'))
    )
  )
  execute function keyframe_private.cancel_abandoned_run();
create trigger _400_cancel_deleted_run after delete on keyframe.predictions
  for each row when (old.status in ('starting', 'processing')) execute function keyframe_private.cancel_abandoned_run();

-- The provider was asked to cancel a run: over, or asked again later, for a day: each run is given a time to end by itself, and
-- none is longer than that.
create function keyframe_worker.record_run_canceled(provider_prediction_id text, canceled boolean)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  update keyframe_private.provider_runs r
  set cancel_failures = r.cancel_failures + case when canceled then 0 else 1 end,
      cancel_due_at = case when not canceled and r.seen_at > now() - interval '1 day'
        then now() + least(interval '5 minutes', interval '10 seconds' * (r.cancel_failures + 1)) end
  where r.provider_prediction_id = record_run_canceled.provider_prediction_id and r.cancel_due_at is not null;
  return found;
end
$$;
comment on function keyframe_worker.record_run_canceled is 'What came of asking the provider to cancel a run.';

grant execute on function
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, text, double precision, text),
  keyframe_worker.record_run_canceled(text, boolean)
to service_role;
