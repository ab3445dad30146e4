-- Takes: the succeeded predictions of a step, of which a project selects one.

create function keyframe_private.selected_take(project keyframe.projects, step keyframe.generation_step)
returns uuid language plpgsql immutable set search_path = '' as $$
begin
  return case step
    when 'first-frame' then project.selected_first_frame_id when 'last-frame' then project.selected_last_frame_id
    else project.selected_video_id end;
end $$;

-- The selected take, otherwise the latest that is not hidden.
create function keyframe_private.shown_take(project keyframe.projects, step keyframe.generation_step)
returns uuid language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    keyframe_private.selected_take(project, step),
    (select p.id from keyframe.predictions p
     where p.project_id = project.id and p.step = shown_take.step and p.status = 'succeeded' and not p.hidden
     order by p.created_at desc, p.id desc
     limit 1));
end $$;

create function keyframe_private.shown_takes(project uuid)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  return array_remove(array(
    select keyframe_private.shown_take(p, step) from keyframe.projects p, unnest(enum_range(null::keyframe.generation_step)) step
    where p.id = project), null);
end $$;

-- Whether a take no longer belongs to what its project shows, for one of these reasons:
--
--   a frame that it was made with is deleted
--   a frame of its own project that it was made with is no longer the shown take of its step
--   it continues a video that is no longer the shown take of the previous shot; which shot that is, the current order of the film says
--
-- Uploaded frames and frames of other projects are always current. `shown` are the project's shown takes, if the caller knows them.
create function keyframe_private.is_outdated(prediction keyframe.predictions, shown uuid[])
returns boolean language plpgsql stable set search_path = '' as $$
declare
  frame uuid;
  project uuid;
begin
  foreach frame in array array_remove(
    array[(prediction.input ->> 'firstFramePredictionId')::uuid, (prediction.input ->> 'lastFramePredictionId')::uuid], null)
  loop
    shown := coalesce(shown, keyframe_private.shown_takes(prediction.project_id));
    continue when frame = any (shown);
    select p.project_id into project from keyframe.predictions p where p.id = frame;
    if not found or project = prediction.project_id then
      return true;
    end if;
  end loop;
  return coalesce(prediction.input -> 'continuesPreviousShot' = 'true', false) and (
    select keyframe_private.shown_take(keyframe_private.previous_shot(p), 'video')::text from keyframe.projects p
    where p.id = prediction.project_id) is distinct from prediction.input ->> 'continuesPredictionId';
end $$;

create function keyframe_private.require_success(take keyframe.predictions)
returns void language plpgsql immutable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(take.status <> 'succeeded', 'frame_not_ready', format('The %s prediction %s %s.', take.step, take.id,
    case take.status
      when 'failed' then 'failed and cannot be used. Choose another, or run the step again'
      when 'canceled' then 'was canceled and cannot be used. Choose another, or run the step again'
      when 'storing' then 'is processing, not succeeded. Try again once it has succeeded'
      else format('is %s, not succeeded. Try again once it has succeeded', take.status) end));
end $$;

-- A newly selected prediction must be a take of the same project and of the step. It stays one until it is deleted: success is final.
create function keyframe_private.require_selected_takes()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  selected record;
  take keyframe.predictions;
begin
  for selected in
    select s.* from (values
      ('first-frame'::keyframe.generation_step, new.selected_first_frame_id, old.selected_first_frame_id),
      ('last-frame', new.selected_last_frame_id, old.selected_last_frame_id),
      ('video', new.selected_video_id, old.selected_video_id)
    ) s (step, id, before)
    where s.id is not null and s.id is distinct from s.before
  loop
    select p.* into take from keyframe.predictions p
    where p.id = selected.id and p.project_id = new.id and p.step = selected.step
    for key share; -- it is not deleted before this transaction ends
    perform keyframe_private.raise_if(not found, 'not_found',
      format('There is no %s prediction %s in this project.', selected.step, selected.id));
    perform keyframe_private.require_success(take);
  end loop;
  return new;
end $$;

-- No foreign key does this: a second one between the two tables would make predictions(*) ambiguous in the Data API.
create function keyframe_private.unselect_deleted_take()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.projects p
  set selected_first_frame_id = nullif(p.selected_first_frame_id, old.id),
    selected_last_frame_id = nullif(p.selected_last_frame_id, old.id),
    selected_video_id = nullif(p.selected_video_id, old.id)
  where p.id = old.project_id and old.id in (p.selected_first_frame_id, p.selected_last_frame_id, p.selected_video_id);
  return null;
end $$;
