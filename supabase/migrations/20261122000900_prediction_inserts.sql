-- Checks and completes a request before its row exists, whether it comes through a function or the Data API.

-- Finds the latest take of a step however many of its runs failed.
create index predictions_succeeded_idx on keyframe.predictions (project_id, step, created_at desc, id desc) where status = 'succeeded';

-- The latest succeeded prediction of a step, or null.
create function keyframe_private.latest_succeeded(project uuid, wanted keyframe.generation_step)
returns uuid
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select p.id from keyframe.predictions p
    where p.project_id = project and p.step = wanted and p.status = 'succeeded'
    order by p.created_at desc, p.id desc
    limit 1
  );
end
$$;

-- Raises unless the frame belongs to the project, is of the wanted step and has succeeded.
create function keyframe_private.require_frame(frame uuid, project uuid, wanted keyframe.generation_step)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  frame_status keyframe.prediction_status;
begin
  select p.status into frame_status from keyframe.predictions p
  where p.id = frame and p.project_id = project and p.step = wanted
  for key share; -- it is not deleted before this transaction ends
  if not found then
    perform keyframe_private.raise_error('not_found', format('There is no %s prediction %s in this project.', wanted, frame));
  elsif frame_status <> 'succeeded' then
    perform keyframe_private.raise_error(
      'frame_not_ready',
      case when frame_status in ('failed', 'canceled')
        then format('The %s prediction %s %s and cannot be used. Choose another, or run the step again.', wanted, frame,
          case when frame_status = 'failed' then 'failed' else 'was canceled' end)
        else format('The %s prediction %s is %s, not succeeded. Try again once it has succeeded.', wanted, frame,
          case when frame_status = 'storing' then 'processing' else frame_status::text end)
      end
    );
  end if;
end
$$;

-- A newly selected frame must be a take of the same project. It stays one until it is deleted: success is final.
create function keyframe_private.require_selected_frames()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if new.selected_first_frame_id is distinct from old.selected_first_frame_id and new.selected_first_frame_id is not null then
    perform keyframe_private.require_frame(new.selected_first_frame_id, new.id, 'first-frame');
  end if;
  if new.selected_last_frame_id is distinct from old.selected_last_frame_id and new.selected_last_frame_id is not null then
    perform keyframe_private.require_frame(new.selected_last_frame_id, new.id, 'last-frame');
  end if;
  return new;
end
$$;
create trigger _300_require_selected_frames before insert or update of selected_first_frame_id, selected_last_frame_id on keyframe.projects
  for each row execute function keyframe_private.require_selected_frames();

-- No foreign key does this: a second one between the two tables would make predictions(*) ambiguous in the Data API.
create function keyframe_private.unselect_deleted_frame()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  update keyframe.projects p
  set selected_first_frame_id = nullif(p.selected_first_frame_id, old.id), selected_last_frame_id = nullif(p.selected_last_frame_id, old.id)
  where p.id = old.project_id and old.id in (p.selected_first_frame_id, p.selected_last_frame_id);
  return null;
end
$$;
create trigger _420_unselect_deleted_frame after delete on keyframe.predictions
  for each row when (old.status = 'succeeded') execute function keyframe_private.unselect_deleted_frame();

-- Raises unless the image is in the bucket projects and belongs to the owner.
create function keyframe_private.require_reference(path text, owner uuid)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not keyframe_private.is_reference_path(path) then
    perform keyframe_private.raise_error('invalid_request', 'referenceImagePath must have the shape projects/<file_name>.');
  end if;
  if not exists (
    select from storage.objects o
    where o.bucket_id = 'projects' and o.name = substr(path, 10) and o.owner_id = require_reference.owner::text
  ) then
    perform keyframe_private.raise_error('not_found', 'There is no reference image of yours at this path. Upload it first: POST /api/projects/reference-images.');
  end if;
end
$$;

-- Raises unsupported_input when the model would ignore or refuse an input, before anything is charged.
create function keyframe_private.require_supported(wanted keyframe.predictions, chosen keyframe.models)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  references_given integer := num_nonnulls(wanted.reference_image_path)
    + case when wanted.step = 'last-frame' then num_nonnulls(wanted.first_frame_prediction_id) else 0 end;
begin
  if references_given > chosen.max_references then
    perform keyframe_private.raise_error(
      'unsupported_input',
      format('The model %s takes %s reference images, but %s would be sent (the first frame counts as one for a last frame). Leave out referenceImagePath, or ask the administrator for another model.',
        chosen.model, chosen.max_references, references_given)
    );
  end if;
  if chosen.references_exclude_frames and wanted.step = 'video' and wanted.reference_image_path is not null then
    perform keyframe_private.raise_error(
      'unsupported_input',
      format('The model %s takes either frames or reference images: one of them would be dropped. Leave out referenceImagePath, or ask the administrator for another model.', chosen.model)
    );
  end if;
  if wanted.last_frame_prediction_id is not null and chosen.last_frame_field is null then
    perform keyframe_private.raise_error(
      'unsupported_input',
      format('The model %s has no last frame: it would be dropped. Ask the administrator for a model that takes one.', chosen.model)
    );
  end if;
  if wanted.duration_seconds is not null and not wanted.duration_seconds = any (chosen.durations) then
    perform keyframe_private.raise_error(
      'unsupported_input',
      format('The model %s makes videos of %s seconds, not of %s.', chosen.model,
        coalesce(nullif(array_to_string(chosen.durations, ' or '), ''), 'a fixed number of'), wanted.duration_seconds)
    );
  end if;
end
$$;

-- Completes and checks a new prediction: owner, prompt, frames, model, slot.
create function keyframe_private.prepare_prediction()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  caller uuid := auth.uid();
  project keyframe.projects;
  chosen keyframe.models;
begin
  -- Locks the project against deletion: waits for a deletion under way, and then finds no project.
  select p.* into project from keyframe.projects p
  where p.id = new.project_id and (caller is null or p.owner_id = caller)
  for key share;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no project of yours with this projectId.');
  end if;
  perform keyframe_private.take_token('generate');
  new.owner_id := project.owner_id;
  new.prompt := coalesce(new.prompt, project.text_prompt);

  if new.reference_image_path is not null then
    perform keyframe_private.require_reference(new.reference_image_path, new.owner_id);
  end if;
  if new.first_frame_prediction_id is not null then
    perform keyframe_private.require_frame(new.first_frame_prediction_id, new.project_id, 'first-frame');
  elsif new.step <> 'first-frame' then
    new.first_frame_prediction_id :=
      coalesce(project.selected_first_frame_id, keyframe_private.latest_succeeded(new.project_id, 'first-frame'));
  end if;
  if new.last_frame_prediction_id is not null then
    perform keyframe_private.require_frame(new.last_frame_prediction_id, new.project_id, 'last-frame');
  elsif new.step = 'video' then
    new.last_frame_prediction_id :=
      coalesce(project.selected_last_frame_id, keyframe_private.latest_succeeded(new.project_id, 'last-frame'));
  end if;
  if new.step = 'video' and new.first_frame_prediction_id is null then
    perform keyframe_private.raise_error('frame_not_ready', 'A video starts from a first frame, and this project has none that succeeded. Generate the first frame, then try again.');
  end if;

  select m.* into chosen from keyframe.models m where m.step = new.step and m.is_default;
  if not found then
    raise exception 'models has no default model for step %.', new.step;
  end if;
  perform keyframe_private.require_supported(new, chosen);
  new.model := chosen.model;

  perform keyframe_private.lock_slots(new.owner_id);
  -- Read under the lock, so that created_at has the order of the line.
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  if keyframe_private.free_slots(new.owner_id) > 0 and not exists (
    select from keyframe.predictions w where w.owner_id = new.owner_id and w.status = 'queued' and w.admitted_at is null
  ) then
    new.admitted_at := new.created_at;
    new.deadline_at := new.created_at + keyframe_private.deadline_of(new.step);
  end if;
  return new;
end
$$;
create trigger _200_prepare before insert on keyframe.predictions
  for each row execute function keyframe_private.prepare_prediction();
