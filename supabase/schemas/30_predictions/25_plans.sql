-- The plan of a shot: how its steps are made. A start takes from it what its request leaves out.

create function keyframe_private.images_of_plan(plan jsonb)
returns text[] language sql immutable set search_path = '' as $$
  select coalesce(array_agg(distinct i.path #>> '{}'), '{}')
  from jsonb_path_query(plan, '$.*.keyvalue() ? (@.key like_regex "ImagePaths?$").value[*] ? (@.type() == "string")', silent => true) i (path)
$$;
comment on function keyframe_private.images_of_plan is 'The uploaded images that a plan names.';
create index projects_images_of_plan_idx on keyframe.projects using gin (keyframe_private.images_of_plan(plan)) where plan <> '{}';

-- Values are checked by the start, as its own are: which are allowed depends on the model.
create function keyframe_private.require_plan()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  fields constant text[] := array_append(keyframe_private.input_fields(), 'model');
  planned record;
begin
  perform keyframe_private.raise_if(jsonb_typeof(new.plan) <> 'object' or octet_length(new.plan::text) > 65536, 'invalid_request',
    'plan must be an object of at most 64 kB.');
  for planned in select p.key as step, p.value as settings from jsonb_each(new.plan) p loop
    if planned.step <> all (enum_range(null::keyframe.generation_step)::text[]) then
      perform keyframe_private.raise_error('invalid_request', 'plan can have first-frame, last-frame and video.');
    elsif jsonb_typeof(planned.settings) <> 'object' or planned.settings - fields <> '{}' then
      perform keyframe_private.raise_error('invalid_request', format('plan: %s must be an object with fields of a start.', planned.step));
    elsif planned.settings ?| array['seed', 'elements', 'elementIds', 'continuesPredictionId'] then
      perform keyframe_private.raise_error('invalid_request', format(
        'plan: %s cannot have seed, elements, elementIds or continuesPredictionId. The elements are those of the project, and with a seed all takes would be alike.',
        planned.step));
    elsif planned.settings ->> 'model' is not null and not exists (
      select from keyframe.models m where m.step::text = planned.step and m.model = planned.settings ->> 'model') then
      perform keyframe_private.raise_error('unsupported_input',
        format('plan: there is no such model for the step %s. GET /api/models lists them.', planned.step));
    elsif planned.settings @? '$.keyvalue() ? (@.key like_regex "PredictionId$" && @.value <> null)
      ? (@.value.type() != "string" || !(@.value like_regex "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" flag "i"))' then
      perform keyframe_private.raise_error('invalid_request', format('plan: %s has a frame that is no predictionId.', planned.step));
    end if;
  end loop;
  perform keyframe_private.keep_reference(i.path, new.owner_id) from unnest(keyframe_private.images_of_plan(new.plan)) i (path)
  where tg_op = 'INSERT' or i.path <> all (keyframe_private.images_of_plan(old.plan));
  return new;
end $$;

create function keyframe_private.leave_plan()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  left_out constant text[] := keyframe_private.images_of_plan(old.plan);
begin
  if tg_op = 'UPDATE' then
    perform keyframe_private.require_may_remove(array(select unnest(left_out) except select unnest(keyframe_private.images_of_plan(new.plan))));
    return null;
  end if;
  perform keyframe_private.take_lock('references', old.owner_id);
  insert into keyframe_private.file_removals (bucket, name, owner_id)
  select 'projects', substr(path, 10), old.owner_id from unnest(left_out) path where not keyframe_private.is_reference_used(path)
  on conflict do nothing;
  return null;
end $$;

-- Fields that say the same thing in different ways: one in the request replaces the others in the plan. With another model than the plan's,
-- its prompt and its images hold; its other settings were chosen for its own model.
create function keyframe_private.apply_plan(inout wanted keyframe.predictions, project keyframe.projects)
language plpgsql stable set search_path = '' as $$
declare
  planned jsonb := project.plan -> wanted.step::text;
  same text[];
begin
  if planned is null or jsonb_typeof(wanted.input) <> 'object' then
    return;
  end if;
  if wanted.model is null then
    wanted.model := planned ->> 'model';
  elsif wanted.model is distinct from planned ->> 'model' then
    planned := planned - array(
      select c.name from keyframe_private.known_controls() c where c.kind = 'choice' or c.name = 'negativePrompt');
  end if;
  planned := planned - 'model'::text;
  foreach same slice 1 in array array[
    array['firstFramePredictionId', 'firstFrameImagePath', 'continuesPreviousShot'],
    array['lastFramePredictionId', 'lastFrameImagePath', ''],
    array['referenceImagePath', 'referenceImagePaths', '']]
  loop
    if wanted.input ?| same then
      planned := planned - same;
    end if;
  end loop;
  wanted.input := planned || wanted.input;
end $$;
comment on function keyframe_private.apply_plan is 'A start with what the plan of its project says of its step.';

-- Where a video begins.

create function keyframe_private.begins_at_own_frame(project keyframe.projects)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return project.plan #> '{video,continuesPreviousShot}' is distinct from 'true'
    and not coalesce(project.plan -> 'video' ?| array['firstFramePredictionId', 'firstFrameImagePath'], false);
end $$;
comment on function keyframe_private.begins_at_own_frame is 'Whether the video of a project begins at the first frame that is made for it.';

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
comment on function keyframe_private.previous_shot is 'The shot before in its film; null for the first one.';

-- The picture that was taken of the file; without it the frame that the video was asked to end on, which is nearly the same.
create function keyframe_private.end_of_video(video keyframe.predictions)
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
comment on function keyframe_private.end_of_video is 'The picture on which a video ends, as a field of an input; null while it is not known.';

-- The video before that is selected, or is being made, or is shown: what will be shown. It is not locked: a start that waits for one that is deleted meanwhile fails as if
-- that had failed. `started`: a project whose video the same request starts, which has no row yet.
create function keyframe_private.continue_previous(inout wanted keyframe.predictions, project keyframe.projects, started uuid)
language plpgsql volatile set search_path = '' as $$
declare
  previous keyframe.projects;
  video keyframe.predictions;
  frame jsonb;
begin
  wanted.waits_for := null;
  if jsonb_typeof(wanted.input) <> 'object' then
    return; -- read_input refuses it
  elsif wanted.input -> 'continuesPreviousShot' is distinct from 'true' then
    wanted.input := wanted.input - array['continuesPreviousShot', 'continuesPredictionId'];
    return;
  end if;
  perform keyframe_private.raise_if(wanted.step <> 'video', 'unsupported_input',
    format('A %s continues no shot: leave out continuesPreviousShot.', wanted.step));
  previous := keyframe_private.previous_shot(project);
  perform keyframe_private.raise_if(previous.id is null, 'unsupported_input',
    'There is no shot before this one in a film, so it cannot continue one. Leave out continuesPreviousShot.');
  select v.* into video from keyframe.predictions v
  where v.id = coalesce(
    previous.selected_video_id,
    (select r.id from keyframe.predictions r where r.project_id = previous.id and r.step = 'video' and r.completed_at is null
     order by r.created_at desc, r.id desc limit 1),
    keyframe_private.shown_take(previous, 'video')) and (previous.id is distinct from started or previous.selected_video_id is not null);
  perform keyframe_private.raise_if(video.id is null and previous.id is distinct from started, 'frame_not_ready',
    'The shot before has no video yet, and none is being made. Generate it first, or begin with another frame.');
  frame := keyframe_private.end_of_video(video);
  wanted.waits_for := case when frame is null then coalesce(video.id, started) end;
  wanted.input := wanted.input - 'firstFrameImagePath'::text
    || jsonb_build_object('firstFramePredictionId', null, 'continuesPredictionId', video.id) || coalesce(frame, '{}');
end $$;
comment on function keyframe_private.continue_previous is 'A start that continues the shot before: with the picture on which that ends, or waiting for it.';

-- What waits for a video that has ended: it gets its first frame, or fails with the video, and so does what waits for it in turn. Fifty at
-- most, then it is work again: an owner can have hundreds. In one statement, because each end looks here again.
create function keyframe_private.begin_continuing(owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  waiting record;
  frame jsonb;
  looked_at integer := 0;
  stopped uuid[] := '{}';
  refused keyframe_private.refusal;
begin
  for waiting in
    select w.id, w.input, v as video, v.id is null or v.status in ('failed', 'canceled') as is_stopped
    from keyframe.predictions w
    left join keyframe.predictions v on v.id = w.waits_for
    where w.owner_id = owner and w.waits_for is not null and w.status = 'queued'
      and (v.id is null or v.status in ('failed', 'canceled') or keyframe_private.end_of_video(v) is not null)
    order by w.created_at, w.id limit 50
    for update of w skip locked
  loop
    looked_at := looked_at + 1;
    frame := keyframe_private.end_of_video(waiting.video);
    if waiting.is_stopped then
      stopped := stopped || waiting.id;
    else
      begin
        perform keyframe_private.require_ratio(f.value #>> '{}', waiting.input ->> 'aspectRatio') from jsonb_each(frame) f;
        perform keyframe_private.keep_reference(frame ->> 'firstFrameImagePath', owner) where frame ? 'firstFrameImagePath';
        insert into keyframe_private.prediction_images (prediction_id, role, path, source_prediction_id)
        select waiting.id, 'first_frame', frame ->> 'firstFrameImagePath', (frame ->> 'firstFramePredictionId')::uuid;
        update keyframe.predictions p set input = p.input || frame, waits_for = null, updated_at = now() where p.id = waiting.id;
      exception when sqlstate 'KEYFR' then
        get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
        perform keyframe_private.mark_failed(waiting.id, refused.code, refused.sentence, true);
      end;
    end if;
  end loop;
  if looked_at = 50 then
    perform keyframe_private.add_work('ask', 'admit', owner, owner, 'admit');
  end if;
  if stopped <> '{}' then
    with recursive chain (id) as (
      select unnest(stopped) union select w.id from keyframe.predictions w join chain c on w.waits_for = c.id where w.status = 'queued'
    )
    update keyframe.predictions p
    set status = 'failed', error_code = 'previous_shot_failed', error_retryable = true, completed_at = clock_timestamp(), updated_at = now(),
        error_message = 'The shot before, which this one continues, was not made. Generate that shot, then run this step again.'
    where p.id = any (array(select c.id from chain c limit 50)) and p.completed_at is null;
  end if;
end $$;
comment on function keyframe_private.begin_continuing is 'Starts what waits for the end of a video of this owner, now that it is known, or fails it with that video.';
