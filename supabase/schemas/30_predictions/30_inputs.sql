-- Checks and completes an input, whether it comes through a function or the Data API: read_input and use_elements make `requested` of it,
-- which names all frames, images and elements, and is the same for each model; resolve_input completes that for the chosen one.

-- Raises unless it is a frame that has succeeded with an image, in any of the owner's projects.
create function keyframe_private.require_frame(frame uuid, owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  candidate keyframe.predictions;
begin
  -- The project first, as when it is deleted. One that is being deleted counts as deleted: a start must not wait for a deletion.
  perform from keyframe.projects o
  where o.id = (select p.project_id from keyframe.predictions p where p.id = frame) and o.owner_id = owner and o.deleted_at is null
  for key share skip locked;
  if found then
    select p.* into candidate from keyframe.predictions p where p.id = frame for key share;
  end if;
  if candidate.id is null then
    perform keyframe_private.raise_error('not_found', format('You have no frame %s.', frame));
  elsif candidate.step = 'video' then
    perform keyframe_private.raise_error('unsupported_input',
      format('The prediction %s is a video. Name a first frame or a last frame.', frame));
  end if;
  perform keyframe_private.require_success(candidate);
  perform keyframe_private.raise_if(candidate.output_content_type not like 'image/%', 'unsupported_input', format(
      'The file of the frame %s is not an image: its type is %s. Generate the frame again, or name another.', frame, candidate.output_content_type));
end $$;

-- Administrators can put unmeasured files there: here an image needs recorded pixels.
create function keyframe_private.require_upload(path text, owner uuid)
returns void language plpgsql stable set search_path = '' as $$
declare
  width integer;
begin
  perform keyframe_private.raise_if(keyframe_private.is_reference_path(path) is not true, 'invalid_request',
    'The path of an uploaded image must have the shape projects/<file_name>.');
  select u.width into width
  from storage.objects o
  cross join lateral keyframe_private.upload_size(path) u
  where o.bucket_id = 'projects' and o.name = keyframe_private.file_name_of(path) and o.user_metadata ->> 'ownerId' = require_upload.owner::text;
  if not found then
    perform keyframe_private.raise_error('not_found', format(
      'You have no uploaded image at %s. Upload it first: POST /api/projects/reference-images.', path));
  elsif width is null then
    perform keyframe_private.raise_error('unsupported_input', format(
      'The size of the image %s is not known. Upload it by POST /api/projects/reference-images.', path));
  end if;
end $$;

create function keyframe_private.describe_control(control jsonb)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return case
    when control ? 'values' then
      (select string_agg(v, ', ') from jsonb_array_elements_text(keyframe_private.control_values(control)) v)
    when control ? 'min' then format('%s to %s', control ->> 'min', control ->> 'max')
    else format('at most %s characters', coalesce(control ->> 'maxLength', '4000'))
  end;
end $$;

-- How a start leaves out a frame that it did not name.
create function keyframe_private.without_frame(control text)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return case when control in ('firstFrame', 'lastFrame') then format(' (%sPredictionId null: no frame)', control) else '' end;
end $$;

-- Refuses what a model would ignore or refuse. `used`: the image controls that are used.
create function keyframe_private.require_supported(requested jsonb, used text[], chosen keyframe.models)
returns void language plpgsql stable set search_path = '' as $$
declare
  extra record;
  control record;
  other text;
begin
  select u.name into extra from unnest(used) u (name) where not chosen.controls ? u.name limit 1;
  perform keyframe_private.raise_if(found, 'unsupported_input', format('%s takes no %s.', chosen.model, extra.name));
  select a.key as name, a.value into extra from jsonb_each(requested) a
  where not chosen.controls ? a.key
    and (a.key <> 'aspectRatio' or not used && array['firstFrame', 'lastFrame']) -- beside frames it is theirs
  order by a.key limit 1;
  perform keyframe_private.raise_if(found, 'unsupported_input', format('%s %s no %s (sent: %s).', chosen.model,
    case when chosen.step = 'video' and extra.name = 'aspectRatio' then 'needs a firstFrame: it has' else 'has' end,
    extra.name, keyframe_private.quote_value(extra.value #>> '{}')));

  for control in
    select c.key as name, c.value as rule, requested -> c.key as value, c.key = any (used) as is_used from jsonb_each(chosen.controls) c
    where c.key = any (used) or requested ? c.key or c.value -> 'required' = 'true'
    order by c.key <> all (used), c.key
  loop
    if control.value is null and not control.is_used then
      perform keyframe_private.raise_error('unsupported_input',
        format('%s needs a %s.', chosen.model, control.name));
    end if;
    if control.rule ?| array['excludes', 'needs'] then
      for other in select jsonb_array_elements_text(control.rule -> 'excludes') loop
        perform keyframe_private.raise_if(other = any (used) or requested ? other, 'unsupported_input',
          format('%s takes either %s or %s: one of them would be dropped. Leave one out%s.', chosen.model, control.name, other,
            keyframe_private.without_frame(other)));
      end loop;
      for other in select jsonb_array_elements_text(control.rule -> 'needs') loop
        perform keyframe_private.raise_if(not (other = any (used) or requested ? other), 'unsupported_input',
          format('%s takes %s only together with %s%s.', chosen.model, control.name, other, keyframe_private.without_frame(control.name)));
      end loop;
    end if;
    if control.value is not null and not coalesce(control.rule -> 'omitWith' ?| used, false)
      and not keyframe_private.control_accepts(control.rule, control.value) then
      perform keyframe_private.raise_error('unsupported_input', format('%s %s: %s takes %s.', control.name,
        keyframe_private.quote_value(control.value #>> '{}'), chosen.model, keyframe_private.describe_control(control.rule)));
    end if;
  end loop;
end $$;

-- Completes the prompt and the controls without images: with the requested values, those that another choice forces, and the model's
-- defaults.
create function keyframe_private.resolve_values(requested jsonb, used text[], chosen keyframe.models)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  -- A model without the control makes no sound.
  complete jsonb := case when not chosen.controls ? 'audio' and requested -> 'audio' = 'false' then requested - 'audio' else requested end;
  control record;
  forced record;
begin
  perform keyframe_private.require_supported(complete, used, chosen);
  -- Requested values come before defaults; among these, one that forces another comes first.
  for control in
    select c.key as name, c.value as rule, c.key = any (used) as is_used from jsonb_each(chosen.controls) c
    order by c.key <> all (used), not requested ? c.key, not c.value ?| array['forces', 'forcesByValue'], c.key
  loop
    if control.rule ? 'default' and not complete ? control.name then
      complete := complete || jsonb_build_object(control.name, control.rule -> 'default');
    end if;
    continue when not (control.is_used or complete ? control.name) or not control.rule ?| array['forces', 'forcesByValue'];
    for forced in
      select f.key as name, f.value from jsonb_each(
        coalesce(control.rule -> 'forces', '{}') || coalesce(control.rule -> 'forcesByValue' -> (complete ->> control.name), '{}')) f
    loop
      if complete -> forced.name <> forced.value then
        perform keyframe_private.raise_error('unsupported_input', format('%s with %s takes %s %s only, not %s.',
          chosen.model, control.name || coalesce(' ' || keyframe_private.quote_value(complete ->> control.name), ''),
          forced.name, forced.value #>> '{}', keyframe_private.quote_value(complete ->> forced.name)));
      end if;
      complete := complete || jsonb_build_object(forced.name, forced.value);
    end loop;
  end loop;
  return complete;
end $$;

-- Raises unless a frame, by its id or the path of its upload, has the aspect ratio of the video: it would be cut or distorted. Models round
-- the sides of an image to multiples of up to 32 pixels, so a deviation of 6 % is allowed; the nearest two ratios in use differ by 7 %.
create function keyframe_private.require_ratio(frame text, ratio text)
returns void language plpgsql stable set search_path = '' as $$
declare
  expected constant numeric := split_part(ratio, ':', 1)::numeric / split_part(ratio, ':', 2)::numeric;
  width numeric;
  height numeric;
begin
  if frame like 'projects/%' then
    select u.width, u.height into width, height from keyframe_private.upload_size(frame) u;
  else
    select p.output_width, p.output_height into width, height from keyframe.predictions p where p.id = frame::uuid;
  end if;
  perform keyframe_private.raise_if(abs(width / height / expected - 1) > 0.06, 'unsupported_input', format(
      'The frame %s has %s × %s pixels, and the aspect ratio is %s. Generate the frame in %s, choose another, or send the aspectRatio of the frame.',
      frame, width, height, ratio, ratio));
end $$;

-- The frame that the input names, by `role`PredictionId or `role`ImagePath. If it names none and does not exclude one with null: the take
-- that the project's step shows.
create function keyframe_private.resolve_frame(input jsonb, role text, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  id_field constant text := role || 'PredictionId';
  path_field constant text := role || 'ImagePath';
  path constant text := input ->> path_field;
  frame uuid := (input ->> id_field)::uuid;
begin
  if path is not null and frame is not null then
    perform keyframe_private.raise_error('invalid_request', format('Send %s or %s, not both.', id_field, path_field));
  elsif path is not null then
    perform keyframe_private.require_upload(path, project.owner_id);
    return jsonb_build_object(id_field, null, path_field, path);
  elsif frame is not null then
    perform keyframe_private.require_frame(frame, project.owner_id);
  elsif not input ? id_field then
    loop
      select keyframe_private.shown_take(p, case role when 'firstFrame' then 'first-frame' else 'last-frame' end::keyframe.generation_step)
      into frame from keyframe.projects p where p.id = project.id;
      exit when frame is null;
      perform from keyframe.predictions p where p.id = frame for key share;
      exit when found; -- otherwise it has just been deleted, and another one stands for its step
    end loop;
  end if;
  return jsonb_build_object(id_field, frame);
end $$;

-- The fields of an input that name images, or what images come from.
create function keyframe_private.image_fields()
returns text[] language sql immutable set search_path = '' as $$
  select array['firstFramePredictionId', 'firstFrameImagePath', 'lastFramePredictionId', 'lastFrameImagePath', 'referenceImagePaths',
    'elements', 'continuesPreviousShot', 'continuesPredictionId']
$$;

-- Immutable, so that the session's plan contains the list: known_controls is planned at each call, which took half of the time of a start.
create function keyframe_private.input_fields()
returns text[] language sql immutable set search_path = '' as $$
  select keyframe_private.image_fields() || array['referenceImagePath', 'elementIds']
    || array(select c.name from keyframe_private.known_controls() c where c.kind in ('text', 'choice'))
$$;

-- The requested input with the resolved frames. Its fields are checked, but it is not yet complete.
create function keyframe_private.read_input(input jsonb, step keyframe.generation_step, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  requested jsonb := input;
  first_reference constant jsonb := nullif(input -> 'referenceImagePath', 'null');
  paths constant jsonb := coalesce(nullif(input -> 'referenceImagePaths', 'null'), '[]' || coalesce(first_reference, '[]'));
  field text;
  frame text;
begin
  perform keyframe_private.raise_if(input - keyframe_private.input_fields() <> '{}', 'invalid_request',
    'input has an unknown field.');

  foreach field in array case step
    when 'first-frame' then array['firstFramePredictionId', 'firstFrameImagePath', 'lastFramePredictionId', 'lastFrameImagePath']
    when 'last-frame' then array['lastFramePredictionId', 'lastFrameImagePath'] else '{}' end
  loop
    perform keyframe_private.raise_if(input ->> field is not null, 'unsupported_input',
      format('A %s is not made with a frame: leave out %s.', step, field));
  end loop;

  if requested ->> 'prompt' is null then
    requested := requested || jsonb_build_object('prompt', project.text_prompt);
  end if;
  perform keyframe_private.raise_if(
    input ->> 'aspectRatio' is not null and not keyframe_private.has_shape(input -> 'aspectRatio', 'a ratio such as "16:9"'), 'invalid_request',
    'aspectRatio must be a ratio such as "16:9".');
  -- The input of an answer has both fields, with the same first image.
  perform keyframe_private.raise_if(first_reference is not null and first_reference is distinct from paths -> 0, 'invalid_request',
    'Send referenceImagePath or referenceImagePaths, not two different ones.');
  perform keyframe_private.raise_if(jsonb_typeof(paths) <> 'array' or paths @? '$[*] ? (@.type() <> "string")', 'invalid_request',
    'referenceImagePaths must be a list of paths.');
  requested := requested - array['referenceImagePath', 'firstFrameImagePath', 'lastFrameImagePath']
    || jsonb_build_object('referenceImagePaths', paths);
  if step <> 'first-frame' then
    requested := requested || keyframe_private.resolve_frame(input, 'firstFrame', project);
  end if;
  if step = 'video' then
    requested := requested || keyframe_private.resolve_frame(input, 'lastFrame', project);
    perform keyframe_private.raise_if(
      coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath') is null and not input ? 'firstFramePredictionId',
      'frame_not_ready',
      'This project has no first frame that succeeded. Generate the first frame, then try again, or send firstFramePredictionId null for a video without one.');
    -- The ratio of a start does not depend on the model.
    foreach frame in array array['firstFrame', 'lastFrame'] loop
      perform keyframe_private.require_ratio(coalesce(requested ->> (frame || 'PredictionId'), requested ->> (frame || 'ImagePath')),
        coalesce(requested ->> 'aspectRatio', project.aspect_ratio));
    end loop;
  end if;
  return requested;
end $$;

-- Completes what read_input returned for a model.
create function keyframe_private.resolve_input(requested jsonb, project keyframe.projects, chosen keyframe.models)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  first_frame constant text := coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath');
  last_frame constant text := coalesce(requested ->> 'lastFramePredictionId', requested ->> 'lastFrameImagePath');
  others constant jsonb := requested - keyframe_private.image_fields();
  images constant jsonb := '{"firstFramePredictionId": null, "lastFramePredictionId": null}'
    || jsonb_strip_nulls(requested - array(select jsonb_object_keys(others)));
  requested_values jsonb := jsonb_strip_nulls(others);
  -- A last frame keeps the look of the first frame, which is one of its references.
  keeps_look constant boolean := chosen.step = 'last-frame' and first_frame is not null;
  reference_count constant integer := jsonb_array_length(requested -> 'referenceImagePaths') + keeps_look::integer;
  most constant integer := coalesce((chosen.controls #>> '{referenceImages,max}')::integer, 0);
  used constant text[] := array_remove(array[
    case when chosen.step = 'video' and (first_frame is not null or requested ? 'continuesPreviousShot') then 'firstFrame' end,
    case when last_frame is not null then 'lastFrame' end,
    case when reference_count > 0 then 'referenceImages' end
  ], null);
  frame_count constant integer := case when chosen.controls #> '{referenceImages,countsFrames}' = 'true'
    then cardinality(array_remove(used, 'referenceImages')) else 0 end;
begin
  perform keyframe_private.raise_if(reference_count > 0 and reference_count + frame_count > most, 'unsupported_input',
    format('%s takes %s reference images, and %s would be sent%s.', chosen.model, most, reference_count + frame_count,
      case when keeps_look then ' (the first frame is one of them; firstFramePredictionId null leaves it out)'
        when frame_count > 0 then format(' (%s of them frames)', frame_count) else '' end
        || case when requested ? 'elements' then ', the images of its elements among them: use fewer elements' else '' end));
  if chosen.step = 'video' or chosen.controls ? 'aspectRatio' then
    requested_values := jsonb_build_object('aspectRatio', project.aspect_ratio) || requested_values;
  end if;
  return images || keyframe_private.resolve_values(requested_values, used, chosen);
end $$;

-- The rules of an input. As table checks they were parsed and planned at each write of a row (about six), a tenth of the Postgres time of a
-- frame (npm run bench -- flow). Their triggers always fire, as checks do, even if session_replication_role disables triggers.
create function keyframe_private.require_valid_input()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  broken constant text := case
    when not coalesce(char_length(new.input ->> 'prompt'), 0) between 1 and 4000 then 'prompt_has_1_to_4000_characters'
    when not keyframe_private.has_visible_character(new.input ->> 'prompt') then 'prompt_has_a_visible_character'
    when not keyframe_private.is_plain_text(new.input ->> 'prompt') then 'prompt_is_plain_text'
    when not keyframe_private.has_visible_character(new.input ->> 'negativePrompt') then 'negative_prompt_has_a_visible_character'
    when not keyframe_private.is_plain_text(new.input ->> 'negativePrompt') then 'negative_prompt_is_plain_text'
    -- A deletion reads the images of several owners' inputs: one malformed input would stop all of it.
    when not (jsonb_typeof(new.input -> 'referenceImagePaths') = 'array'
      and not new.input @? 'strict $.referenceImagePaths[*] ? (@.type() != "string")') then 'reference_images_are_a_list'
    -- As is_uuid, which users may not call.
    when not (new.input ->> 'firstFramePredictionId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      and new.input ->> 'lastFramePredictionId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') then 'frames_are_predictions'
    when new.step = 'first-frame' and coalesce(new.input ->> 'firstFramePredictionId', new.input ->> 'firstFrameImagePath') is not null
      then 'first_frame_builds_on_no_frame'
    when new.step <> 'video' and coalesce(new.input ->> 'lastFramePredictionId', new.input ->> 'lastFrameImagePath') is not null
      then 'only_video_has_a_last_frame'
  end;
begin
  if broken is not null then
    raise check_violation using schema = 'keyframe', table = 'predictions', constraint = broken,
      message = format('new row for relation "predictions" violates check constraint "%s"', broken);
  end if;
  return null;
end $$;
