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
-- not locked: if it is deleted, the waiting start fails as if the video had failed. Two arguments are given only to compute a price:
--
--   previous_start   the start of the previous shot in the same request, which has no row yet
--   assumes_frame    the frame on which the video begins counts as made, even if there is none yet
create function keyframe_private.resolve_beginning(
  inout wanted keyframe.predictions, project keyframe.projects, previous_start keyframe.predictions, assumes_frame boolean)
language plpgsql volatile set search_path = '' as $$
declare
  asked constant jsonb := wanted.input -> 'continuesPreviousShot';
  previous keyframe.projects;
  video keyframe.predictions;
  end_image jsonb;
  ratio_before text;
  ratio text;
begin
  wanted.waits_for := null;
  if jsonb_typeof(wanted.input) <> 'object' then
    return; -- read_input refuses it
  end if;
  perform keyframe_private.raise_if(jsonb_typeof(asked) not in ('boolean', 'null'), 'invalid_request',
    'continuesPreviousShot must be true or false.');
  if asked is distinct from 'true' then
    wanted.input := wanted.input - array['continuesPreviousShot', 'continuesPredictionId']
      || case when assumes_frame then '{"firstFramePredictionId": null, "continuesPreviousShot": true}' else '{}' end::jsonb;
    return;
  end if;
  perform keyframe_private.raise_if(wanted.step <> 'video', 'unsupported_input',
    format('A %s cannot continue a shot. Leave out continuesPreviousShot.', wanted.step));
  -- The input of an answer, sent again, has continuesPredictionId next to the frame that came from it.
  perform keyframe_private.raise_if(wanted.input ->> 'continuesPredictionId' is null
    and coalesce(wanted.input ->> 'firstFramePredictionId', wanted.input ->> 'firstFrameImagePath') is not null, 'invalid_request',
    'Send continuesPreviousShot or a first frame, not both.');
  previous := keyframe_private.previous_shot(project);
  perform keyframe_private.raise_if(previous.id is null, 'unsupported_input',
    'This shot has no previous shot in a film, so it cannot continue one. Start it from a frame.');
  if previous_start.project_id = previous.id and previous.selected_video_id is null then
    video := previous_start;
  else
    select v.* into video from keyframe.predictions v where v.id = keyframe_private.expected_video(previous);
    perform keyframe_private.raise_if(not found and not assumes_frame, 'frame_not_ready',
      'The previous shot has no video yet, and none is being made. Generate it first, or start this one from another frame.');
  end if;
  end_image := keyframe_private.end_image_of(video);
  if end_image is null then -- else read_input compares the image itself
    ratio_before := coalesce(video.input ->> 'aspectRatio', previous.aspect_ratio);
    ratio := coalesce(wanted.input ->> 'aspectRatio', project.aspect_ratio);
    perform keyframe_private.raise_if(ratio_before <> ratio, 'unsupported_input',
      format('The previous shot has the aspect ratio %s, and this one %s. Give both the same ratio, or start this one from another frame.',
        ratio_before, ratio));
    wanted.waits_for := video.id;
  end if;
  wanted.input := wanted.input - 'firstFrameImagePath'::text
    || jsonb_build_object('firstFramePredictionId', null, 'continuesPredictionId', video.id) || coalesce(end_image, '{}');
end $$;

-- Gives a waiting prediction the image that it waits for, so that it can get a slot. Fails it if the image does not fit.
create function keyframe_private.begin_on(waiting keyframe.predictions, end_image jsonb)
returns void language plpgsql volatile set search_path = '' as $$
declare
  path constant text := end_image ->> 'firstFrameImagePath';
  frame constant text := end_image ->> 'firstFramePredictionId';
  complete constant jsonb := waiting.input || end_image;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_ratio(coalesce(path, frame), waiting.input ->> 'aspectRatio');
  perform keyframe_private.keep_reference(path, waiting.owner_id) where path is not null;
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

-- Starts a waiting prediction if the awaited end image is known. Fails it if there will never be one.
create function keyframe_private.begin_waiting(waiting keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
declare
  video keyframe.predictions;
  end_image jsonb;
  other uuid;
begin
  select v.* into video from keyframe.predictions v where v.id = waiting.waits_for;
  end_image := keyframe_private.end_image_of(video);
  if end_image is not null then
    perform keyframe_private.begin_on(waiting, end_image);
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

-- Called when a video ends, and when its end image is stored. The trigger only inserts work, so waiting predictions never delay either.
create function keyframe_private.add_waiting_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from keyframe.predictions w where w.waits_for = new.id and w.status = 'queued';
  return null;
end $$;
