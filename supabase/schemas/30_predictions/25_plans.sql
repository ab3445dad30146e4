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

-- What a plan says about the frames of a video, as its model can make it. Null says that there is no frame, not even the project's own. The
-- dashboard has the same rules (framesOf):
--
--   model                             plan                              becomes
--   takes no last frame               {}                                {"lastFramePredictionId": null}
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

-- Leaves out of a plan the values that the model of the start does not take. If the request names a model and the plan names another or
-- none, all values of controls are left out: they were chosen for another model.
create function keyframe_private.fit_choices(planned jsonb, chosen keyframe.models, is_other_model boolean)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return planned - array(
    select c.name from keyframe_private.known_controls() c
    where (c.kind = 'choice' or c.name = 'negativePrompt')
      and (is_other_model or not chosen.controls ? c.name
        or c.kind = 'choice' and not keyframe_private.control_takes(chosen.controls -> c.name, planned -> c.name)));
end $$;

-- Completes the reference images of a plan. A start uses those of the request, otherwise those of the plan. A first or last frame without
-- either uses the project's reference image. One exception: a last frame always has its first frame as a reference, so a model that takes
-- one image gets only the first frame.
create function keyframe_private.fit_references(
  planned jsonb, wanted keyframe.predictions, project keyframe.projects, chosen keyframe.models)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  if not chosen.controls ? 'referenceImages' then
    return planned - 'referenceImagePaths'::text;
  elsif wanted.step <> 'video' and project.reference_image_path is not null
    and not (planned || wanted.input) ?| keyframe_private.fields_of_image('referenceImages')
    and ((chosen.controls #>> '{referenceImages,max}')::integer > 1 or wanted.step = 'first-frame'
      or keyframe_private.shown_take(project, 'first-frame') is null) then
    return planned || jsonb_build_object('referenceImagePaths', jsonb_build_array(project.reference_image_path));
  end if;
  return planned;
end $$;

-- See the head of this file.
create function keyframe_private.apply_plan(inout wanted keyframe.predictions, project keyframe.projects)
language plpgsql stable set search_path = '' as $$
declare
  planned jsonb := coalesce(project.plan -> wanted.step::text, '{}');
  planned_model constant text := planned ->> 'model';
  is_planned_model constant boolean := wanted.model is null and planned_model is not null;
  is_other_model constant boolean := wanted.model is not null and wanted.model is distinct from planned_model;
  chosen keyframe.models;
  image text;
begin
  if jsonb_typeof(wanted.input) <> 'object' or planned = '{}' and project.reference_image_path is null then
    return;
  end if;
  wanted.model := coalesce(wanted.model, planned_model);
  select m.* into chosen from keyframe.models m
  where m.step = wanted.step
    and m.model = coalesce(wanted.model, (select d.model from keyframe.step_defaults d where d.step = wanted.step));
  perform keyframe_private.raise_if(is_planned_model and keyframe_private.is_available(chosen, now()) is not true, 'model_unavailable',
    format('This shot''s plan uses the model %s, which is not available. Change the plan, or name another model.', planned_model));
  planned := planned - 'model'::text;
  foreach image in array array['firstFrame', 'lastFrame', 'referenceImages'] loop
    if wanted.input ?| keyframe_private.fields_of_image(image) then
      planned := planned - keyframe_private.fields_of_image(image);
    end if;
  end loop;
  planned := keyframe_private.fit_choices(planned, chosen, is_other_model);
  planned := keyframe_private.fit_references(planned, wanted, project, chosen);
  if wanted.step = 'video' then
    planned := keyframe_private.fit_frames(planned, wanted.input, chosen, is_planned_model);
  end if;
  if planned -> 'continuesPreviousShot' = 'true' and (keyframe_private.previous_shot(project)).id is null then
    planned := planned - 'continuesPreviousShot'::text;
  end if;
  wanted.input := planned || wanted.input;
end $$;
