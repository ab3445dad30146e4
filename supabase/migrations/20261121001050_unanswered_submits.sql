-- A submit without an answer may have been accepted: what the provider made of it is paid for. Its prediction remembers it
-- (unanswered_since), also when it has ended; when it is deleted, by whomever, this table does.

create table keyframe_private.unanswered_submits (
  prediction_id uuid primary key,
  attempt integer not null,
  sought jsonb,
  unanswered_since timestamptz not null,
  next_search_at timestamptz,
  deleted_at timestamptz not null default now(),
  constraint sought_until_the_search_has_ended check ((sought is null) = (next_search_at is null))
);
comment on table keyframe_private.unanswered_submits is 'Deleted predictions of which a run may be under way at the provider, for a day: what is found or calls back is cancelled.';
comment on column keyframe_private.unanswered_submits.attempt is 'How often the prediction had been handed to the provider.';
comment on column keyframe_private.unanswered_submits.sought is 'What tells its runs from others in the provider''s list, the prompt with it; null once they have been looked for.';
comment on column keyframe_private.unanswered_submits.unanswered_since is 'Since when the submit had no answer.';
comment on column keyframe_private.unanswered_submits.next_search_at is 'When to look for its runs next, or when the lease of who is looking runs out; null once they have been looked for.';
create index unanswered_submits_next_search_at_idx on keyframe_private.unanswered_submits (next_search_at) where next_search_at is not null;
create index unanswered_submits_unanswered_since_idx on keyframe_private.unanswered_submits (unanswered_since);
alter table keyframe_private.unanswered_submits enable row level security;

-- Without a foreign key to anything: accounts, projects and models may go as well.
create function keyframe_private.remember_unanswered_submit()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  insert into keyframe_private.unanswered_submits as s (prediction_id, attempt, sought, unanswered_since, next_search_at)
  select old.id, old.attempt,
    jsonb_build_object(
      'id', old.id, 'project_id', old.project_id, 'owner_id', old.owner_id, 'attempt', old.attempt, 'step', old.step,
      'model', old.model, 'prompt', old.prompt, 'duration_seconds', old.duration_seconds,
      'reference_image_path', old.reference_image_path,
      -- That there was a frame is enough: its file is gone, and its address in an input names the prediction.
      'first_frame_path', case when old.first_frame_prediction_id is not null then 'deleted' end,
      'last_frame_path', case when old.last_frame_prediction_id is not null then 'deleted' end,
      'model_settings', to_jsonb(m)),
    old.unanswered_since, old.next_attempt_at -- who submits it has stopped by then
  from keyframe.models m
  where m.step = old.step and m.model = old.model
  on conflict (prediction_id) do update -- the identifier was used again, and again it is deleted
    set attempt = greatest(s.attempt, excluded.attempt), sought = excluded.sought,
        unanswered_since = excluded.unanswered_since, next_search_at = excluded.next_search_at, deleted_at = excluded.deleted_at;
  return null;
end
$$;
create trigger _410_remember_unanswered_submit after delete on keyframe.predictions
  for each row when (old.unanswered_since is not null) execute function keyframe_private.remember_unanswered_submit();

-- The provider's list shows the input of a run and nothing that names its prediction. Files in an input do (their addresses);
-- a text alone does not, so it must be known who else submitted the same.
create table keyframe_private.text_submits (
  prediction_id uuid primary key,
  prompt_hash bigint not null,
  submitted_at timestamptz not null
);
comment on table keyframe_private.text_submits is 'Predictions without files that were handed to the provider in the last hours, also when they are deleted.';
comment on column keyframe_private.text_submits.prompt_hash is 'hashtextextended of the prompt. Two prompts with one hash only keep each other from being recovered.';
comment on column keyframe_private.text_submits.submitted_at is 'When it was handed to the provider last.';
create index text_submits_prompt_hash_idx on keyframe_private.text_submits (prompt_hash);
create index text_submits_submitted_at_idx on keyframe_private.text_submits (submitted_at);
alter table keyframe_private.text_submits enable row level security;

-- Whether a run with the text of a prediction, unanswered since then, can be no other prediction's of this database. A claim is
-- committed before its submit, so whoever may have made a run in the provider's list is in the table by now. The list is read
-- from minutes before the submit, by the provider's clock; after an hour the provider deletes the inputs of runs.
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

-- Leases what is to be looked for, as tasks. After a day it is over: no run goes on so long.
create function keyframe_private.claim_unanswered_submits(max_rows integer, lease_seconds integer)
returns setof jsonb
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- Empty, as a rule: a look costs a tenth of the update that finds nothing.
  if not exists (select from keyframe_private.unanswered_submits s where s.next_search_at <= now()) then
    return;
  end if;
  return query
  with due as (
    select s.prediction_id from keyframe_private.unanswered_submits s
    where s.next_search_at <= now() and s.unanswered_since > now() - interval '1 day'
    order by s.next_search_at
    limit max_rows
    for update skip locked
  )
  update keyframe_private.unanswered_submits s
  set next_search_at = now() + make_interval(secs => lease_seconds)
  from due
  where s.prediction_id = due.prediction_id
  returning s.sought || jsonb_build_object('task', 'search', 'search_since', s.unanswered_since);
end
$$;

-- A prediction that ended, or was deleted, with a submit unanswered: the provider's list has been asked, and what was in it is
-- recorded. Of a deleted one the row stays without the prompt, for a run that is late to call back.
create function keyframe_worker.record_search_ended(prediction_id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  update keyframe.predictions p set unanswered_since = null
  where p.id = record_search_ended.prediction_id and p.unanswered_since is not null and p.status in ('failed', 'canceled');
  if not found then
    update keyframe_private.unanswered_submits s set sought = null, next_search_at = null
    where s.prediction_id = record_search_ended.prediction_id and s.sought is not null;
  end if;
  return found;
end
$$;
comment on function keyframe_worker.record_search_ended is 'The runs of a prediction that ended or was deleted unheard have been looked for. False: there was nothing to look for.';

grant execute on function keyframe_worker.record_search_ended(uuid) to service_role;
