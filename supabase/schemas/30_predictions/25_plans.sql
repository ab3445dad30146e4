-- The plan of a shot says how its steps are made. A start takes from it what its request leaves out.

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
      when field.name like '%PredictionId' and field.text !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then 'must be a predictionId'
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

-- Adds to a start what its project's plan says about its step. A frame or an image that the request names replaces those of the plan.
-- Values that the model does not accept are left out; if the request names another model than the plan, so are all values that were chosen
-- for the plan's model.
create function keyframe_private.apply_plan(inout wanted keyframe.predictions, project keyframe.projects)
language plpgsql stable set search_path = '' as $$
declare
  references_fields constant text[] := array['referenceImagePath', 'referenceImagePaths'];
  planned jsonb := coalesce(project.plan -> wanted.step::text, '{}');
  is_planned_model constant boolean := wanted.model is null and planned ->> 'model' is not null;
  chosen keyframe.models;
  role text;
  fields text[];
begin
  if jsonb_typeof(wanted.input) <> 'object' or planned = '{}' and project.reference_image_path is null then
    return;
  end if;
  select m.* into chosen from keyframe.models m
  where m.step = wanted.step
    and m.model = coalesce(wanted.model, planned ->> 'model', (select d.model from keyframe.step_defaults d where d.step = wanted.step));
  perform keyframe_private.raise_if(is_planned_model and (chosen.model is null or not chosen.enabled or not keyframe_private.is_available(chosen, now())),
    'model_unavailable',
    format('This shot''s plan uses the model %s, which is not available. Change the plan, or name another model.', planned ->> 'model'));
  planned := planned - array(
    select k.name from keyframe_private.known_controls() k
    where k.kind = 'choice' and not keyframe_private.control_takes(chosen.controls -> k.name, planned -> k.name)
      or (k.kind = 'choice' or k.name = 'negativePrompt') and (wanted.model <> coalesce(planned ->> 'model', '') or not chosen.controls ? k.name));
  wanted.model := coalesce(wanted.model, planned ->> 'model');
  planned := planned - 'model'::text;
  if wanted.input ?| references_fields or not chosen.controls ? 'referenceImages' then
    planned := planned - 'referenceImagePaths'::text;
  elsif not planned ? 'referenceImagePaths' and wanted.step <> 'video' and project.reference_image_path is not null
    and ((chosen.controls #>> '{referenceImages,max}')::integer > 1 or wanted.step = 'first-frame'
      or keyframe_private.shown_take(project, 'first-frame') is null) then -- else that frame is the one
    planned := planned || jsonb_build_object('referenceImagePaths', jsonb_build_array(project.reference_image_path));
  end if;
  foreach role in array array['firstFrame', 'lastFrame'] loop
    fields := array[role || 'PredictionId', role || 'ImagePath'] || case role when 'firstFrame' then array['continuesPreviousShot'] else '{}' end;
    if wanted.input ?| fields then
      planned := planned - fields;
    elsif wanted.step = 'video' and (is_planned_model and not chosen.controls ? role
      or chosen.controls #> array[role, 'needs'] ? 'firstFrame' and planned -> 'firstFramePredictionId' = 'null') then
      planned := (planned - fields) || jsonb_build_object(role || 'PredictionId', null); -- also of one that is the project's
    elsif wanted.step = 'video' and planned -> fields[1] = 'null' and (chosen.controls #> array[role, 'required'] = 'true'
      or role = 'firstFrame' and not chosen.controls ? 'aspectRatio') then
      planned := planned - fields[1]; -- it makes none without
    end if;
  end loop;
  if planned -> 'continuesPreviousShot' = 'true' and (keyframe_private.previous_shot(project)).id is null then
    planned := planned - 'continuesPreviousShot'::text; -- it has become the first one
  end if;
  wanted.input := planned || wanted.input;
end $$;

-- How a video starts.

-- Whether its video starts on a first frame of its own, and not on something else.
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

-- The end image of a video, as a field of an input; null while it is not known. The stored one; without it the frame that the video was
-- made to end on, which is nearly the same.
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

-- A start that continues the previous shot: with that video's end image, or waiting for it. The video is not locked: if it is deleted, a
-- start that waits for it fails as if the video had failed. `assumed`, for a price: the start of the previous shot in the same request,
-- which has no row yet; or one of this shot, to assume that what its video starts on is being made.
create function keyframe_private.resolve_beginning(
  inout wanted keyframe.predictions, project keyframe.projects, assumed keyframe.predictions)
language plpgsql volatile set search_path = '' as $$
declare
  asked constant jsonb := wanted.input -> 'continuesPreviousShot';
  previous keyframe.projects;
  video keyframe.predictions;
  frame jsonb;
  ratios text[];
begin
  wanted.waits_for := null;
  if jsonb_typeof(wanted.input) <> 'object' then
    return; -- read_input refuses it
  end if;
  perform keyframe_private.raise_if(jsonb_typeof(asked) not in ('boolean', 'null'), 'invalid_request',
    'continuesPreviousShot must be true or false.');
  if asked is distinct from 'true' then
    wanted.input := wanted.input - array['continuesPreviousShot', 'continuesPredictionId'];
    return;
  end if;
  perform keyframe_private.raise_if(wanted.step <> 'video', 'unsupported_input',
    format('A %s cannot continue a shot. Leave out continuesPreviousShot.', wanted.step));
  perform keyframe_private.raise_if(wanted.input ->> 'continuesPredictionId' is null
    and coalesce(wanted.input ->> 'firstFramePredictionId', wanted.input ->> 'firstFrameImagePath') is not null, 'invalid_request',
    'Send continuesPreviousShot or a first frame, not both.');
  previous := keyframe_private.previous_shot(project);
  perform keyframe_private.raise_if(previous.id is null, 'unsupported_input',
    'This shot has no previous shot in a film, so it cannot continue one. Start it from a frame.');
  if assumed.project_id = previous.id and previous.selected_video_id is null then
    video := assumed;
  else
    select v.* into video from keyframe.predictions v where v.id = keyframe_private.expected_video(previous);
    perform keyframe_private.raise_if(not found and assumed.project_id is distinct from project.id, 'frame_not_ready',
      'The previous shot has no video yet, and none is being made. Generate it first, or start this one from another frame.');
  end if;
  frame := keyframe_private.end_image_of(video);
  if frame is null then -- else read_input compares the frame itself
    ratios := array[coalesce(video.input ->> 'aspectRatio', previous.aspect_ratio), coalesce(wanted.input ->> 'aspectRatio', project.aspect_ratio)];
    perform keyframe_private.raise_if(ratios[1] <> ratios[2], 'unsupported_input',
      format('The previous shot has the aspect ratio %s, and this one %s. Give both the same ratio, or start this one from another frame.',
        ratios[1], ratios[2]));
    wanted.waits_for := video.id;
  end if;
  wanted.input := wanted.input - 'firstFrameImagePath'::text
    || jsonb_build_object('firstFramePredictionId', null, 'continuesPredictionId', video.id) || coalesce(frame, '{}');
end $$;

-- Starts a waiting prediction if the awaited end image is known. Fails it if there will never be one.
create function keyframe_private.begin_waiting(waiting keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
declare
  video keyframe.predictions;
  frame jsonb;
  other uuid;
  refused keyframe_private.refusal;
begin
  select v.* into video from keyframe.predictions v where v.id = waiting.waits_for;
  frame := keyframe_private.end_image_of(video);
  if frame is not null then
    begin
      perform keyframe_private.require_ratio(f.value #>> '{}', waiting.input ->> 'aspectRatio') from jsonb_each(frame) f;
      perform keyframe_private.keep_reference(frame ->> 'firstFrameImagePath', waiting.owner_id) where frame ? 'firstFrameImagePath';
      insert into keyframe_private.prediction_images (prediction_id, role, path, source_prediction_id)
      select waiting.id, 'first_frame', frame ->> 'firstFrameImagePath', (frame ->> 'firstFramePredictionId')::uuid;
      update keyframe.predictions p set input = p.input || frame, waits_for = null, updated_at = now() where p.id = waiting.id;
      update keyframe_private.provider_submits s -- its price counts the pixels of the images, and the model's ceiling was held
      set metrics = jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(waiting.input || frame)),
        most_micros = least(
          s.most_micros, (keyframe_private.estimate_cost(waiting.model, waiting.input || frame, s.created_at)).most_micros)
      where s.prediction_id = waiting.id and s.metrics is not null;
    exception when sqlstate 'KEYFR' then
      get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
      refused.code := case refused.code when 'not_found' then 'input_file_missing' else refused.code end; -- it is the image
      perform keyframe_private.mark_failed(waiting.id, refused.code, refused.sentence, false);
    end;
  elsif waiting.created_at < now() - interval '1 day' then -- its price is held, and counts on the day of its start
    perform keyframe_private.mark_failed(waiting.id, 'deadline_exceeded',
      'It waited a day for the previous shot. Generate that video, store its end image, then run this step again.', true);
  elsif video.id is null or video.status in ('failed', 'canceled') then
    -- Another take of the same time may exist or be in progress. An older one is the one to replace.
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

-- Called for the end of a video, and for its end image. Only inserts, so waiting predictions never delay the end.
create function keyframe_private.add_waiting_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from keyframe.predictions w where w.waits_for = new.id and w.status = 'queued';
  return null;
end $$;
