-- Unanswered submits. The provider may have accepted such a submit, and then the run is paid for. The prediction keeps
-- unanswered_since after its end; this table keeps it after its deletion.

-- How long the provider run of an unanswered submit is searched for: no run takes longer.
create function keyframe_private.search_horizon()
returns interval
language plpgsql
immutable
set search_path = ''
as $$
begin
  return interval '1 day';
end
$$;

create table keyframe_private.unanswered_submits (
  prediction_id uuid primary key,
  attempt integer not null,
  search_task jsonb,
  unanswered_since timestamptz not null,
  next_search_at timestamptz,
  deleted_at timestamptz not null default now(),
  constraint search_task_until_the_search_ended check ((search_task is null) = (next_search_at is null))
);
comment on table keyframe_private.unanswered_submits is 'Deleted predictions with an unanswered submit, kept for a day: a provider run that is found or calls back is cancelled.';
comment on column keyframe_private.unanswered_submits.attempt is 'How often the prediction had been submitted to the provider.';
comment on column keyframe_private.unanswered_submits.search_task is 'What identifies its runs in the provider''s list, including the prompt; null once the search has ended.';
comment on column keyframe_private.unanswered_submits.unanswered_since is 'Since when the submit is unanswered.';
comment on column keyframe_private.unanswered_submits.next_search_at is 'When to search next, or when the lease of the search expires; null once the search has ended.';
create index unanswered_submits_next_search_at_idx on keyframe_private.unanswered_submits (next_search_at) where next_search_at is not null;
create index unanswered_submits_unanswered_since_idx on keyframe_private.unanswered_submits (unanswered_since);
alter table keyframe_private.unanswered_submits enable row level security;

-- Without any foreign key: the account, project and model may be deleted too.
create function keyframe_private.keep_unanswered_submit()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  insert into keyframe_private.unanswered_submits as s (prediction_id, attempt, search_task, unanswered_since, next_search_at)
  select old.id, old.attempt,
    jsonb_build_object(
      'id', old.id, 'project_id', old.project_id, 'owner_id', old.owner_id, 'attempt', old.attempt, 'step', old.step,
      'model', old.model, 'input', old.input, 'has_images', keyframe_private.has_images(old.input),
      'model_settings', jsonb_build_object('controls', m.controls, 'fixed', m.fixed)),
    old.unanswered_since, old.next_attempt_at -- the lease of its submit has expired by then
  from keyframe.models m
  where m.step = old.step and m.model = old.model
  on conflict (prediction_id) do update -- the identifier was used again, and deleted again
    set attempt = greatest(s.attempt, excluded.attempt), search_task = excluded.search_task,
        unanswered_since = excluded.unanswered_since, next_search_at = excluded.next_search_at, deleted_at = excluded.deleted_at;
  return null;
end
$$;
create trigger _410_keep_unanswered_submit after delete on keyframe.predictions
  for each row when (old.unanswered_since is not null) execute function keyframe_private.keep_unanswered_submit();

-- The provider's list shows the input of a run, not its prediction. The addresses of files in an input name the prediction; a
-- text alone does not, so other submits of the same text must be known.
-- One row for each submit, never updated, and without a key of ours: a claim that records a submit waits for nobody.
create table keyframe_private.text_submits (
  id bigint generated always as identity primary key,
  prediction_id uuid not null,
  prompt_hash bigint not null,
  submitted_at timestamptz not null
);
comment on table keyframe_private.text_submits is 'Predictions without files that were submitted in the last hours, including deleted ones.';
comment on column keyframe_private.text_submits.prompt_hash is 'hashtextextended of the prompt. A collision only prevents the recovery of both prompts'' runs.';
create index text_submits_prediction_id_idx on keyframe_private.text_submits (prediction_id);
create index text_submits_prompt_hash_idx on keyframe_private.text_submits (prompt_hash);
create index text_submits_submitted_at_idx on keyframe_private.text_submits (submitted_at);
alter table keyframe_private.text_submits enable row level security;

-- Whether no other prediction in this database can have made a run with this prediction's text. A claim commits before its
-- submit, so every candidate for a run in the provider's list is in the table. The search begins minutes before the submit by the
-- provider's clock; after an hour the provider deletes the inputs of runs.
create function keyframe_private.is_only_submit_of_its_text(prediction uuid, unanswered_since timestamptz)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from keyframe_private.text_submits t
    where t.prediction_id = prediction and unanswered_since > now() - interval '1 hour'
      and not exists (
        select from keyframe_private.text_submits other
        where other.prompt_hash = t.prompt_hash and other.prediction_id <> t.prediction_id
          and other.submitted_at > unanswered_since - interval '1 hour'
      )
  );
end
$$;

-- Leases searches for deleted predictions, as tasks.
create function keyframe_private.claim_unanswered_submits(max_rows integer, lease_seconds integer)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  tasks jsonb[];
begin
  -- Usually empty: this check costs a tenth of an update that finds nothing.
  if not exists (select from keyframe_private.unanswered_submits s where s.next_search_at <= now()) then
    return;
  end if;
  with due as (
    select s.prediction_id from keyframe_private.unanswered_submits s
    where s.next_search_at <= now() and s.unanswered_since > now() - keyframe_private.search_horizon()
    order by s.next_search_at
    limit max_rows
    for update skip locked
  ), claimed as (
    update keyframe_private.unanswered_submits s
    set next_search_at = now() + make_interval(secs => lease_seconds)
    from due
    where s.prediction_id = due.prediction_id
    returning s.search_task || jsonb_build_object('task', 'search', 'search_since', s.unanswered_since) as task
  )
  select array_agg(c.task) into tasks from claimed c;
  return query select unnest(tasks);
exception when others then
  raise warning 'No search for a deleted prediction could be claimed: %', sqlerrm;
end
$$;

-- Records that the search for an ended or deleted prediction is complete; what it found has been recorded. The row of a deleted
-- prediction stays, without the prompt, for a late callback.
create function keyframe_worker.record_search_ended(prediction_id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
  update keyframe.predictions p set unanswered_since = null
  where p.id = record_search_ended.prediction_id and p.unanswered_since is not null and p.status in ('failed', 'canceled');
  if not found then
    update keyframe_private.unanswered_submits s set search_task = null, next_search_at = null
    where s.prediction_id = record_search_ended.prediction_id and s.search_task is not null;
  end if;
  return found;
end
$$;
comment on function keyframe_worker.record_search_ended is 'Ends the search for provider runs of a prediction that ended or was deleted with an unanswered submit. False: nothing to search for.';

grant execute on function keyframe_worker.record_search_ended(uuid) to service_role;
