-- A prediction is one run of one step. The row is the workflow; its status changes only as prediction_moves allows.

create type keyframe.prediction_status as enum ('queued', 'starting', 'processing', 'storing', 'succeeded', 'failed', 'canceled');
comment on type keyframe.prediction_status is 'queued, starting, processing, storing are active; succeeded, failed, canceled are final.';

create table keyframe.predictions (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  owner_id uuid not null default auth.uid(),
  step keyframe.generation_step not null,
  status keyframe.prediction_status not null default 'queued',
  input jsonb not null default '{}',
  model text not null default '',
  requested_model text,
  provider_prediction_id text unique,
  attempt integer not null default 0,
  waits_for uuid,
  admitted_at timestamptz,
  deadline_at timestamptz,
  progress real,
  provider_output_url text,
  error_code text,
  error_message text,
  error_retryable boolean,
  error_stage text,
  output_path text,
  output_content_type text,
  output_bytes bigint,
  output_sha256 text,
  output_width integer,
  output_height integer,
  output_duration_seconds double precision,
  output_has_audio boolean,
  end_image_path text,
  hidden boolean not null default false,
  started_by_server boolean not null default coalesce(auth.jwt() ->> 'keyframe_actor' = 'server', false),
  client_id text default auth.jwt() ->> 'client_id',
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default now(),
  constraint predictions_project_fkey foreign key (project_id, owner_id) references keyframe.projects (id, owner_id) on delete cascade,
  constraint attempt_is_at_most_a_million check (attempt between 0 and 1000000),
  constraint progress_is_a_fraction check (progress between 0 and 1),
  constraint queued_if_and_only_if_no_provider_run_accepted
    check (completed_at is not null or (status = 'queued') = (provider_prediction_id is null)),
  constraint started_at_is_set_once_it_ran check (status not in ('starting', 'processing', 'storing', 'succeeded')
    or started_at is not null),
  constraint without_a_slot_only_until_it_ends check (admitted_at is not null or status in ('queued', 'canceled', 'failed')),
  constraint not_admitted_while_it_waits_for_another check (waits_for is null or admitted_at is null),
  constraint end_image_only_of_a_finished_video check (
    end_image_path is null or step = 'video' and status = 'succeeded' and starts_with(end_image_path, 'projects/')),
  constraint deadline_if_and_only_if_admitted check ((deadline_at is null) = (admitted_at is null)),
  constraint storing_has_an_output_url check (status <> 'storing' or provider_output_url is not null),
  constraint completed_at_if_and_only_if_ended check ((completed_at is not null) = (status in ('succeeded', 'failed', 'canceled'))),
  constraint output_if_and_only_if_succeeded check (
    num_nonnulls(output_path, output_content_type, output_bytes, output_sha256) = case when status = 'succeeded' then 4 else 0 end),
  constraint output_facts_only_if_succeeded check (
    status = 'succeeded' or num_nonnulls(output_width, output_height, output_duration_seconds, output_has_audio) = 0),
  constraint output_has_both_sides_or_none check ((output_width is null) = (output_height is null)),
  -- The path must be the one that the worker writes and the owner reads. Casts, because `uuid || text` is parsed again for each write of a
  -- row.
  constraint output_path_is_its_own
    check (starts_with(output_path, owner_id::text || '/' || project_id::text || '/' || id::text || '.')),
  constraint output_is_exact_in_json check (output_bytes between 0 and 9007199254740991 and output_duration_seconds > '-infinity'
    and output_duration_seconds < 'infinity'),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, started_at, completed_at) >= '1970-01-01 00:00Z'
      and greatest(created_at, started_at, completed_at) < '9999-01-01 00:00Z'),
  constraint error_stage_only_of_rejected_content
    check (error_stage is null or (error_stage in ('input', 'output') and error_code is not distinct from 'content_rejected')),
  constraint error_if_and_only_if_failed check (
    num_nonnulls(error_code, error_message, error_retryable) = case when status = 'failed' then 3 else 0 end)
-- A row has about five updates; those that change the status are not HOT. Free space keeps five of six row versions on their
-- page. Vacuum at 2 %: at a million rows 20 % leaves 200,000 dead versions, which the sweep must skip in the indexes of active rows.
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe.predictions is 'One run of one step of a project. Users insert what to generate; only the service changes the status.';
comment on column keyframe.predictions.id is 'Named by predictionId in the API.';
comment on column keyframe.predictions.project_id is 'The project that it is for.';
comment on column keyframe.predictions.owner_id is 'The user who pays: always the project''s owner, whatever an insert says.';
comment on column keyframe.predictions.step is 'What it makes: first-frame, last-frame or video.';
comment on column keyframe.predictions.status is 'Changes only as prediction_moves allows. Never change it by hand.';
comment on column keyframe.predictions.input is 'The input, as `input` in the API. An insert may leave fields out; the row has all of them.';
comment on column keyframe.predictions.model is 'The model that makes it. An insert may leave it out: then it is the default of the step.';
comment on column keyframe.predictions.requested_model is 'The model that the caller named, or the unavailable default that `model` replaced; null: the default.';
comment on column keyframe.predictions.provider_prediction_id is 'The provider run, once the provider has accepted it.';
comment on column keyframe.predictions.attempt is 'How often it was submitted to the provider, including the current submit.';
comment on column keyframe.predictions.waits_for is 'The previous shot''s video, on whose end image it starts, while that image is not known. It gets no slot until then.';
comment on column keyframe.predictions.admitted_at is 'When it got one of its owner''s slots; null while it waits.';
comment on column keyframe.predictions.deadline_at is 'When it fails if it has not ended.';
comment on column keyframe.predictions.progress is 'From 0 to 1, if the provider reports it.';
comment on column keyframe.predictions.provider_output_url is 'The provider''s URL of the output, valid for an hour.';
comment on column keyframe.predictions.error_code is 'Why it failed: a stable code.';
comment on column keyframe.predictions.error_message is 'Why it failed: a sentence for its owner.';
comment on column keyframe.predictions.error_retryable is 'Whether the same request may succeed later.';
comment on column keyframe.predictions.error_stage is 'With error_code content_rejected: input or output, if the provider says which it rejected.';
comment on column keyframe.predictions.output_path is '<owner_id>/<project_id>/<id>.<extension> in the bucket keyframe-outputs.';
comment on column keyframe.predictions.output_content_type is 'Media type of the stored file.';
comment on column keyframe.predictions.output_bytes is 'Size of the stored file.';
comment on column keyframe.predictions.output_sha256 is 'Hex SHA-256 of the stored file.';
comment on column keyframe.predictions.output_width is 'In pixels; null: the file does not say it, or has no picture.';
comment on column keyframe.predictions.output_height is 'In pixels; null: the file does not say it, or has no picture.';
comment on column keyframe.predictions.output_duration_seconds is 'Length of a video; null: its file does not say it, or says more than a day.';
comment on column keyframe.predictions.output_has_audio is 'Whether the file has sound, whatever was requested. Null for images, and when the file does not say it.';
comment on column keyframe.predictions.end_image_path is 'The end image: the last picture of the video, as an uploaded image: projects/<file_name>. The next shot can start on it. Null: it is not stored.';
comment on column keyframe.predictions.hidden is 'Its owner has hidden it: lists leave it out, and its step shows it only if it is selected.';
comment on column keyframe.predictions.started_by_server is 'Whether a server with the secret key started it for the owner (Keyframe-User).';
comment on column keyframe.predictions.client_id is 'The OAuth client or key that started it for the owner; null: the owner''s session, or a server.';
comment on column keyframe.predictions.created_at is 'When it was inserted: its position in the queue.';
comment on column keyframe.predictions.started_at is 'When the provider first ran it.';
comment on column keyframe.predictions.completed_at is 'When it ended; null: it is queued, starting, processing or storing.';
create index predictions_project_id_step_idx on keyframe.predictions (project_id, step, created_at desc, id desc);
-- For the cascade from projects, which searches by both columns.
create index predictions_project_id_owner_id_idx on keyframe.predictions (project_id, owner_id);
create index predictions_step_model_idx on keyframe.predictions (step, model);
-- These indexes contain active rows only, so they stay small as ended predictions accumulate.
create index predictions_deadline_idx on keyframe.predictions (deadline_at) where admitted_at is not null and completed_at is null;
create index predictions_active_owner_idx on keyframe.predictions (owner_id) where admitted_at is not null and completed_at is null;
create index predictions_in_line_idx on keyframe.predictions (owner_id, created_at, id)
  where admitted_at is null and status = 'queued' and waits_for is null;
create index predictions_in_line_since_idx on keyframe.predictions (created_at) where admitted_at is null and status = 'queued' and waits_for is null;
create index predictions_waits_for_owner_idx on keyframe.predictions (owner_id, created_at, id) where waits_for is not null and status = 'queued';
create index predictions_waits_for_idx on keyframe.predictions (waits_for) where waits_for is not null and status = 'queued';
create index predictions_end_image_path_idx on keyframe.predictions (end_image_path) where end_image_path is not null;
-- Finds the latest take of a step, however many runs failed, and pages through its takes.
create index predictions_succeeded_idx on keyframe.predictions (project_id, step, created_at desc, id desc) where status = 'succeeded';
-- Reads only a range of days.
create index predictions_created_day_idx on keyframe.predictions (((created_at at time zone 'UTC')::date), owner_id);

create table keyframe_private.prediction_moves (
  from_status keyframe.prediction_status not null,
  to_status keyframe.prediction_status not null,
  primary key (from_status, to_status)
);
comment on table keyframe_private.prediction_moves is 'Every legal move of a prediction''s status. Any other move is refused.';
insert into keyframe_private.prediction_moves (from_status, to_status) values
  ('queued', 'starting'), ('queued', 'processing'), ('queued', 'storing'), ('queued', 'failed'), ('queued', 'canceled'),
  ('starting', 'processing'), ('starting', 'storing'), ('starting', 'failed'), ('starting', 'canceled'),
  ('processing', 'storing'), ('processing', 'failed'), ('processing', 'canceled'),
  ('starting', 'queued'), ('processing', 'queued'), -- its provider run could not read the images or was interrupted: it is submitted again
  ('storing', 'succeeded'), ('storing', 'failed'), ('storing', 'canceled');

create function keyframe_private.guard_prediction_move()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if not exists (select from keyframe_private.prediction_moves m where m.from_status = old.status and m.to_status = new.status) then
    raise exception 'A prediction cannot move from % to %.', old.status, new.status using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- An ended prediction never changes, except `hidden`, its end image, its deadline and its model's new name. An active one's input changes
-- only while it is queued: when it moves to another model, waits for another video, or gets the image that it waited for.
create function keyframe_private.keep_history()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  rest keyframe.predictions := new; -- with what may change as it was
begin
  if old.completed_at is null then
    if old.status = 'queued' and (new.model <> old.model or new.waits_for is distinct from old.waits_for) then
      return new;
    end if;
  else
    rest.hidden := old.hidden;
    rest.end_image_path := old.end_image_path;
    rest.deadline_at := old.deadline_at; -- it no longer means anything
    rest.updated_at := old.updated_at;
    if pg_trigger_depth() > 1 then -- rename_model
      rest.step := old.step;
      rest.model := old.model;
    end if;
    if rest is not distinct from old then
      return new;
    end if;
  end if;
  raise exception '% Insert another prediction with the new input: docs/administer.md, "Run one again that failed".',
    case when old.completed_at is null then 'A prediction keeps its input.'
      else 'An ended prediction keeps everything but hidden, end_image_path and deadline_at.' end
    using errcode = 'check_violation', constraint = 'prediction_keeps_its_history';
end $$;
