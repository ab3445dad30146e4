-- What a start takes from its shot and from the previous one: the plan, and how a video begins.

-- The plan of a shot says how its steps are made. It has fields of a start for each step, and the model of the start:
--
--   {"video": {"model": "A", "durationSeconds": 10, "prompt": "The boat leaves", "continuesPreviousShot": true}}
--
-- apply_plan completes a start of that step with them. What the request names wins:
--
--   request                                    start
--   {}                                         A, 10 seconds, the prompt, continues the previous shot
--   {"durationSeconds": 5}                     … 5 seconds
--   {"durationSeconds": null}                  … the model's default length
--   {"firstFrameImagePath": "projects/a.png"}  … begins on that image: the fields of one image replace each other (fields_of_image)
--   model B                                    B, the prompt, continues the previous shot: other values were chosen for A
--
-- A plan without a model is for the step's default model: a request that names that one gets the other values too.
--
-- A plan is kept while models, takes and the film change. What is no longer possible is left out:
--
--   A has no length of 10 seconds              … the model's default length
--   the shot has become the first of its film  … begins on its own first frame
--   A takes no such frame, or needs one        fit_frames
--
-- Only a planned model that is not available is refused.

-- The images that a plan names: the texts in fields of its steps whose name ends in ImagePath or ImagePaths.
create function keyframe_private.images_of_plan(plan jsonb)
returns text[] language sql immutable set search_path = '' as $$
  select coalesce(array_agg(distinct i.path #>> '{}'), '{}')
  from jsonb_path_query(plan, '$.*.keyvalue() ? (@.key like_regex "ImagePaths?$").value[*] ? (@.type() == "string")', silent => true) i (path)
$$;
create index projects_images_of_plan_idx on keyframe.projects using gin (keyframe_private.images_of_plan(plan)) where plan <> '{}';

-- shared/contract/projects.ts has the same.
create function keyframe_private.planned_fields(step text)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array(
    select f from unnest(keyframe_private.input_fields() || array['model']) f
    where f <> all (array['seed', 'elements', 'elementIds', 'continuesPredictionId', 'referenceImagePath'])
      and (step = 'video' or f <> all (array['continuesPreviousShot', 'durationSeconds', 'audio', 'lastFramePredictionId', 'lastFrameImagePath']))
      and (step <> 'first-frame' or f not like 'firstFrame%'));
end $$;

-- Which values are allowed depends on the model, and is checked by the start. This refuses what no start could use.
create function keyframe_private.require_planned(step text, settings jsonb)
returns void language plpgsql stable set search_path = '' as $$
declare
  field record;
  mistake text;
begin
  perform keyframe_private.raise_if(jsonb_typeof(settings) <> 'object', 'invalid_request', format('plan.%s must be an object.', step));
  for field in select f.key as name, f.value, f.value #>> '{}' as text from jsonb_each(settings) f loop
    mistake := case
      when field.name <> all (keyframe_private.input_fields() || array['model']) then 'is no field of a start'
      when field.value = 'null' then null
      when field.name <> all (keyframe_private.planned_fields(step)) then 'is not a field of a plan for this step'
      when jsonb_typeof(field.value) = 'object' or jsonb_typeof(field.value) = 'array' and field.name <> 'referenceImagePaths'
        then 'must be a single value'
      when field.name like '%PredictionId' and not keyframe_private.is_uuid(lower(field.text)) then 'must be a predictionId'
      when field.name in ('prompt', 'negativePrompt') and (jsonb_typeof(field.value) <> 'string' or char_length(field.text) > 4000
        or not keyframe_private.has_visible_character(field.text) or not keyframe_private.is_plain_text(field.text))
        then 'must have 1 to 4000 characters, without control characters'
      when field.name = 'continuesPreviousShot' and jsonb_typeof(field.value) <> 'boolean' then 'must be true or false'
      when field.name = 'referenceImagePaths' and (jsonb_typeof(field.value) <> 'array'
        or field.value @? 'strict $[*] ? (@.type() != "string")') then 'must be a list of paths'
    end;
    perform keyframe_private.raise_if(mistake is not null, 'invalid_request', format('plan.%s.%s %s.', step, field.name, mistake));
  end loop;
  perform keyframe_private.raise_if(
    num_nonnulls(settings ->> 'firstFramePredictionId', settings ->> 'firstFrameImagePath', nullif(settings ->> 'continuesPreviousShot', 'false')) > 1
      or num_nonnulls(settings ->> 'lastFramePredictionId', settings ->> 'lastFrameImagePath') > 1, 'invalid_request',
    format('plan.%s names two beginnings or two ends. Keep one of each.', step));
  perform keyframe_private.raise_if(settings ->> 'model' is not null and not exists (
    select from keyframe.models m where m.step::text = require_planned.step and m.model = settings ->> 'model'), 'unsupported_input',
    format('plan.%s.model: there is no such model for this step. GET /api/models lists them.', step));
end $$;

create function keyframe_private.require_plan()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  before constant jsonb := case tg_op when 'UPDATE' then old.plan else '{}' end;
  images constant text[] := keyframe_private.images_of_plan(new.plan);
  kept constant text[] := keyframe_private.images_of_plan(before);
begin
  perform keyframe_private.raise_if(jsonb_typeof(new.plan) <> 'object' or octet_length(new.plan::text) > 65536, 'invalid_request',
    'plan must be an object of at most 64 kB.');
  perform keyframe_private.raise_if(cardinality(images) > 30, 'invalid_request', 'A plan can have at most 30 images.');
  perform keyframe_private.raise_if(exists (
    select from jsonb_object_keys(new.plan) k where k <> all (enum_range(null::keyframe.generation_step)::text[])), 'invalid_request',
    'plan can have first-frame, last-frame and video.');
  perform keyframe_private.require_planned(s.key, s.value) from jsonb_each(new.plan) s where before -> s.key is distinct from s.value;
  perform keyframe_private.keep_reference(path, new.owner_id) from unnest(images) path where path <> all (kept);
  return new;
end $$;

-- The fields of a start that name the same image.
create function keyframe_private.fields_of_image(control text)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return case control
    when 'firstFrame' then array['firstFramePredictionId', 'firstFrameImagePath', 'continuesPreviousShot']
    when 'lastFrame' then array['lastFramePredictionId', 'lastFrameImagePath']
    when 'referenceImages' then array['referenceImagePath', 'referenceImagePaths'] end;
end $$;

-- What a plan says about the frames of a video, as its model can make it. Null says that there is no frame, not even the project's own. A model
-- that the plan names is used without the frames that it does not take; the default model, or one that the request names, refuses them. The
-- dashboard has the same rules (framesOf):
--
--   model                             plan                              becomes
--   of the plan, takes no last frame  {}                                {"lastFramePredictionId": null}
--   a last frame needs a first one    {"firstFramePredictionId": null}  {"firstFramePredictionId": null, "lastFramePredictionId": null}
--   needs a first frame               {"firstFramePredictionId": null}  {}, so the project's own is used
--
-- What the request itself names stays: the start refuses a frame that its model does not take.
create function keyframe_private.fit_frames(planned jsonb, input jsonb, chosen keyframe.models, is_planned_model boolean)
returns jsonb language plpgsql immutable set search_path = '' as $$
declare
  frame text;
  control jsonb; -- null: the model takes no such frame
  fields text[];
begin
  foreach frame in array array['firstFrame', 'lastFrame'] loop
    control := chosen.controls -> frame;
    fields := keyframe_private.fields_of_image(frame);
    continue when input ?| fields;
    if is_planned_model and control is null
      or control -> 'needs' ? 'firstFrame' and planned -> 'firstFramePredictionId' = 'null' then
      planned := planned - fields || jsonb_build_object(fields[1], null);
    elsif planned -> fields[1] = 'null'
      and (control -> 'required' = 'true' or frame = 'firstFrame' and not chosen.controls ? 'aspectRatio') then
      planned := planned - fields[1];
    end if;
  end loop;
  return planned;
end $$;

-- See the beginning of this file.
create function keyframe_private.apply_plan(inout start keyframe.predictions, project keyframe.projects)
language plpgsql stable set search_path = '' as $$
declare
  planned jsonb := coalesce(project.plan -> start.step::text, '{}');
  planned_model constant text := planned ->> 'model';
  named_model constant text := nullif(start.model, ''); -- the column's default: none is named
  is_planned_model constant boolean := named_model is null and planned_model is not null;
  default_model text;
  is_other_model boolean; -- than the plan is for
  chosen keyframe.models;
  image text;
begin
  perform keyframe_private.raise_if(jsonb_typeof(start.input) is distinct from 'object', 'invalid_request', 'input must be an object.');
  start.model := coalesce(named_model, planned_model);
  if planned = '{}' and project.reference_image_path is null then
    return;
  end if;
  select d.model into default_model from keyframe.step_defaults d where d.step = start.step;
  is_other_model := named_model is not null and named_model is distinct from coalesce(planned_model, default_model);
  select m.* into chosen from keyframe.models m where m.step = start.step and m.model = coalesce(start.model, default_model);
  perform keyframe_private.raise_if(is_planned_model and keyframe_private.is_available(chosen, now()) is not true, 'model_unavailable',
    format('This shot''s plan uses the model %s, which is not available. Change the plan, or name another model.', planned_model));
  planned := planned - 'model'::text;
  foreach image in array array['firstFrame', 'lastFrame', 'referenceImages'] loop
    if start.input ?| keyframe_private.fields_of_image(image) then
      planned := planned - keyframe_private.fields_of_image(image);
    end if;
  end loop;
  -- Values of controls that were chosen for another model, or that the model of the start does not take, are left out.
  planned := planned - array(
    select c.name from keyframe_private.known_controls() c
    where (c.kind = 'choice' or c.name = 'negativePrompt')
      and (is_other_model or not chosen.controls ? c.name
        or c.kind = 'choice' and not keyframe_private.control_accepts(chosen.controls -> c.name, planned -> c.name)));
  -- A first or last frame whose references neither the request nor the plan names uses the project's reference image. But a last frame
  -- always has its first frame as a reference, so a model that takes one image gets only that.
  if not chosen.controls ? 'referenceImages' then
    planned := planned - 'referenceImagePaths'::text;
  elsif start.step <> 'video' and project.reference_image_path is not null
    and not (planned || start.input) ?| keyframe_private.fields_of_image('referenceImages')
    and ((chosen.controls #>> '{referenceImages,max}')::integer > 1 or start.step = 'first-frame'
      or keyframe_private.shown_take(project, 'first-frame') is null) then
    planned := planned || jsonb_build_object('referenceImagePaths', jsonb_build_array(project.reference_image_path));
  end if;
  if start.step = 'video' then
    planned := keyframe_private.fit_frames(planned, start.input, chosen, is_planned_model);
  end if;
  if planned -> 'continuesPreviousShot' = 'true' and (keyframe_private.previous_shot(project)).id is null then
    planned := planned - 'continuesPreviousShot'::text;
  end if;
  start.input := planned || start.input;
end $$;

-- How a video begins: on a frame of its own, or where the previous shot of the film ends.

-- Whether the shot's video begins on a first frame of its own. Not if it was made without one.
create function keyframe_private.needs_first_frame(project keyframe.projects)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return (project.plan #> '{video,continuesPreviousShot}' is distinct from 'true' or (keyframe_private.previous_shot(project)).id is null)
    and not coalesce(project.plan -> 'video' ?| array['firstFramePredictionId', 'firstFrameImagePath'], false)
    and (keyframe_private.shown_take(project, 'video') is null or keyframe_private.shown_take(project, 'first-frame') is not null);
end $$;

create function keyframe_private.previous_shot(project keyframe.projects)
returns keyframe.projects language plpgsql stable set search_path = '' as $$
declare
  previous keyframe.projects;
begin
  select p.* into previous from keyframe.projects p
  where p.film_id = project.film_id and p.owner_id = project.owner_id and p.film_position < project.film_position and p.deleted_at is null
  order by p.film_position desc limit 1;
  return previous;
end $$;

-- The end image of a video, as the field of an input: {"firstFrameImagePath": …} if it is stored; otherwise the frame that the video was
-- made to end on, which is nearly the same. Null while there is neither.
create function keyframe_private.end_image_of(video keyframe.predictions)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return case
    when video.status is distinct from 'succeeded' then null
    when video.end_image_path is not null then jsonb_build_object('firstFrameImagePath', video.end_image_path)
    when video.input ->> 'lastFrameImagePath' is not null then jsonb_build_object('firstFrameImagePath', video.input -> 'lastFrameImagePath')
    when exists (
      select from keyframe.predictions f
      where f.id = (video.input ->> 'lastFramePredictionId')::uuid and f.owner_id = video.owner_id and f.status = 'succeeded')
      then jsonb_build_object('firstFramePredictionId', video.input -> 'lastFramePredictionId')
  end;
end $$;

-- The selected video, the one being made, or the one shown now.
create function keyframe_private.expected_video(shot keyframe.projects)
returns uuid language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    shot.selected_video_id,
    (select r.id from keyframe.predictions r where r.project_id = shot.id and r.step = 'video' and r.completed_at is null
     order by r.created_at desc, r.id desc limit 1),
    keyframe_private.shown_take(shot, 'video'));
end $$;

-- Gives a start that continues the previous shot the end image of that shot's video, or lets it wait for the video (waits_for). The video is
-- not locked: if it is deleted, the waiting start fails. previous_start: in the estimate of a film, the start of the previous shot, which has
-- no row.
create function keyframe_private.resolve_beginning(
  inout start keyframe.predictions, project keyframe.projects, previous_start keyframe.predictions default null)
language plpgsql volatile set search_path = '' as $$
declare
  continues constant jsonb := start.input -> 'continuesPreviousShot';
  previous keyframe.projects;
  video keyframe.predictions;
  end_image jsonb;
  ratio_before text;
  ratio text;
begin
  start.waits_for := null;
  perform keyframe_private.raise_if(jsonb_typeof(continues) not in ('boolean', 'null'), 'invalid_request',
    'continuesPreviousShot must be true or false.');
  if continues is distinct from 'true' then
    start.input := start.input - array['continuesPreviousShot', 'continuesPredictionId'];
    return;
  end if;
  perform keyframe_private.raise_if(start.step <> 'video', 'unsupported_input',
    format('A %s cannot continue a shot. Leave out continuesPreviousShot.', start.step));
  -- The input of an answer, sent again, has continuesPredictionId next to the frame that came from it.
  perform keyframe_private.raise_if(start.input ->> 'continuesPredictionId' is null
    and coalesce(start.input ->> 'firstFramePredictionId', start.input ->> 'firstFrameImagePath') is not null, 'invalid_request',
    'Send continuesPreviousShot or a first frame, not both.');
  previous := keyframe_private.previous_shot(project);
  perform keyframe_private.raise_if(previous.id is null, 'unsupported_input',
    'This shot has no previous shot in a film, so it cannot continue one. Start it from a frame.');
  if previous_start.project_id = previous.id and previous.selected_video_id is null then
    video := previous_start;
  else
    select v.* into video from keyframe.predictions v where v.id = keyframe_private.expected_video(previous);
    perform keyframe_private.raise_if(not found, 'frame_not_ready',
      'The previous shot has no video yet, and none is being made. Generate it first, or start this one from another frame.');
  end if;
  end_image := keyframe_private.end_image_of(video);
  if end_image is null then -- else read_input compares the image itself
    ratio_before := coalesce(video.input ->> 'aspectRatio', previous.aspect_ratio);
    ratio := coalesce(start.input ->> 'aspectRatio', project.aspect_ratio);
    perform keyframe_private.raise_if(ratio_before <> ratio, 'unsupported_input',
      format('The previous shot has the aspect ratio %s, and this one %s. Give both the same ratio, or start this one from another frame.',
        ratio_before, ratio));
    start.waits_for := video.id;
  end if;
  start.input := start.input - 'firstFrameImagePath'::text
    || jsonb_build_object('firstFramePredictionId', null, 'continuesPredictionId', video.id) || coalesce(end_image, '{}');
end $$;

-- Gives a prediction the end image that it waits for, so that it can get a slot. Fails it if the image does not fit.
create function keyframe_private.give_end_image(waiting keyframe.predictions, end_image jsonb)
returns void language plpgsql volatile set search_path = '' as $$
declare
  path constant text := end_image ->> 'firstFrameImagePath';
  frame constant text := end_image ->> 'firstFramePredictionId';
  complete constant jsonb := waiting.input || end_image;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_ratio(coalesce(path, frame), waiting.input ->> 'aspectRatio');
  if path is not null then
    perform keyframe_private.keep_reference(path, waiting.owner_id);
  end if;
  insert into keyframe_private.prediction_images (prediction_id, role, path, source_prediction_id)
  values (waiting.id, 'first_frame', path, frame::uuid);
  update keyframe.predictions p set input = complete, waits_for = null, updated_at = now() where p.id = waiting.id;
  update keyframe_private.provider_submits s -- its price counts the pixels of the images, and the model's ceiling was held
  set metrics = jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(complete)),
    most_micros = least(s.most_micros, (keyframe_private.estimate_cost(waiting.model, complete, s.created_at)).most_micros)
  where s.prediction_id = waiting.id and s.metrics is not null;
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
  refused.code := case refused.code when 'not_found' then 'input_file_missing' else refused.code end; -- it is the image
  perform keyframe_private.mark_failed(waiting.id, refused.code, refused.sentence, false);
end $$;

-- Gives a prediction its awaited end image if that is known. Fails it if there will never be one.
create function keyframe_private.continue_or_fail(waiting keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
declare
  video keyframe.predictions;
  end_image jsonb;
  other uuid;
begin
  select v.* into video from keyframe.predictions v where v.id = waiting.waits_for;
  end_image := keyframe_private.end_image_of(video);
  if end_image is not null then
    perform keyframe_private.give_end_image(waiting, end_image);
  elsif waiting.created_at < now() - interval '1 day' then -- its price is held, and counts on the day of its start
    perform keyframe_private.mark_failed(waiting.id, 'deadline_exceeded',
      'It waited a day for the previous shot. Generate that video, store its end image, then run this step again.', true);
  elsif video.id is null or video.status in ('failed', 'canceled') then
    -- Waits for another take that is running or was started with it. An older take is what the failed one should have replaced.
    select o.id into other from keyframe.projects p join keyframe.predictions o on o.id = keyframe_private.expected_video(p)
    where p.id = video.project_id and p.owner_id = waiting.owner_id
      and (o.completed_at is null or o.created_at > video.created_at - interval '1 minute');
    if found then
      update keyframe.predictions p
      set waits_for = other, input = p.input || jsonb_build_object('continuesPredictionId', other), updated_at = now()
      where p.id = waiting.id;
      perform keyframe_private.add_work('ask', 'continue', waiting.id, waiting.owner_id, 'continue');
    else
      perform keyframe_private.mark_failed(waiting.id, 'previous_shot_failed',
        'The previous shot, which this one continues, was not made. Generate that shot, then run this step again.', true);
    end if;
  end if;
end $$;

-- Called when a video ends, and when its end image is stored. The trigger only inserts work, so predictions that wait never delay either.
create function keyframe_private.add_continue_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from keyframe.predictions w where w.waits_for = new.id and w.status = 'queued';
  return null;
end $$;
