-- Functions that api calls for predictions that were started.

-- The API shows the columns listed here; the Data API shows owners the whole row. json, not jsonb: copying jsonb took four fifths of the
-- time of a page of projects.
create function keyframe_private.prediction_json(
  prediction keyframe.predictions, shown uuid[] default null, with_elements boolean default true)
returns json language plpgsql stable set search_path = '' as $$
declare
  changed constant json := case when prediction.status = 'succeeded' and prediction.input ? 'elements'
    then keyframe_private.changed_elements(prediction) else '[]' end;
begin
  return json_build_object(
    'id', prediction.id, 'project_id', prediction.project_id, 'step', prediction.step, 'status', prediction.status,
    'model', prediction.model, 'requested_model', nullif(prediction.requested_model, prediction.model),
    'input', case when with_elements then prediction.input else prediction.input - 'elements' end,
    'attempt', prediction.attempt, 'progress', prediction.progress,
    'queue_position', case when prediction.status = 'queued' then keyframe_private.queue_position(prediction) end,
    'waits_for', case when prediction.status = 'queued' then prediction.waits_for end,
    'error_code', prediction.error_code, 'error_message', prediction.error_message, 'error_retryable', prediction.error_retryable,
    'error_stage', prediction.error_stage,
    'output_path', prediction.output_path, 'output_content_type', prediction.output_content_type,
    'output_bytes', prediction.output_bytes, 'output_sha256', prediction.output_sha256, 'output_width', prediction.output_width,
    'output_height', prediction.output_height, 'output_duration_seconds', prediction.output_duration_seconds,
    'output_has_audio', prediction.output_has_audio, 'end_image_path', prediction.end_image_path,
    'cost', keyframe_private.cost_json(prediction.id), 'hidden', prediction.hidden,
    'outdated', json_array_length(changed) > 0 or prediction.status = 'succeeded' and keyframe_private.is_outdated(prediction, shown),
    'changed_elements', changed,
    'created_at', prediction.created_at, 'started_at', prediction.started_at, 'completed_at', prediction.completed_at
  );
end $$;

-- Volatile, because it uses a token: PostgREST runs stable functions read-only.
create function keyframe.read_prediction(
  project_id uuid, step keyframe.generation_step, prediction_id uuid default null, waiting boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when waiting then 'wait' else 'read' end);
  prediction keyframe.predictions;
  refused keyframe_private.refusal;
begin
  select p.* into prediction from keyframe.predictions p
  where p.project_id = read_prediction.project_id and p.step = read_prediction.step and p.id = coalesce(prediction_id, (
    select l.id from keyframe.predictions l where l.project_id = read_prediction.project_id and l.step = read_prediction.step
    order by l.created_at desc, l.id desc limit 1));
  -- Checked after the query: in its WHERE, it would read all predictions of another user's project.
  if prediction.id is null or not keyframe_private.is_own(prediction.owner_id) or exists (
    select from keyframe.projects p where p.id = read_prediction.project_id and p.deleted_at is not null) then
    perform keyframe_private.raise_error('not_found', 'You have no such prediction in this project and step.');
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(prediction),
    'rate', case when waiting then keyframe_private.rate_state('read') else rate end);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_prediction is 'One prediction of the caller; without prediction_id the latest one of the step. Each read of a waiting request uses a token of `wait`.';

create function keyframe_private.own_prediction(project_id uuid, prediction_id uuid)
returns keyframe.predictions language plpgsql volatile set search_path = '' as $$
declare
  prediction keyframe.predictions;
begin
  select p.* into prediction from keyframe.predictions p
  where p.id = prediction_id and p.project_id = own_prediction.project_id and keyframe_private.is_own(p.owner_id)
    and p.project_id <> all (keyframe_private.deleted_projects())
  for update;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no such prediction in this project.');
  return prediction;
end $$;

create function keyframe.cancel_prediction(
  project_id uuid, prediction_id uuid, idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  prediction keyframe.predictions;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  prediction := keyframe_private.own_prediction(project_id, prediction_id);
  perform keyframe_private.raise_if(prediction.status in ('succeeded', 'failed'), 'generation_ended',
    format('This prediction has already %s; there is nothing to cancel.', prediction.status));
  if not request.replayed then
    perform keyframe_private.mark_canceled(prediction.id);
    select p.* into prediction from keyframe.predictions p where p.id = prediction.id;
  end if;
  return json_build_object(
    'prediction', keyframe_private.prediction_json(prediction), 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.cancel_prediction is 'Cancels a prediction of the caller, here at once and at the provider soon after. A repetition is no error.';

-- `changes`: columns and values.
create function keyframe.update_prediction(project_id uuid, prediction_id uuid, changes jsonb)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change');
  changed keyframe.predictions;
  before text;
  refused keyframe_private.refusal;
begin
  changed := keyframe_private.own_prediction(project_id, prediction_id);
  before := changed.end_image_path;
  if changes ->> 'end_image_path' is not null then
    perform keyframe_private.raise_if(changed.step <> 'video' or changed.status <> 'succeeded', 'unsupported_input',
      'Only a video that succeeded has an end image.');
    perform keyframe_private.keep_reference(changes ->> 'end_image_path', changed.owner_id);
  end if;
  update keyframe.predictions p
  set (hidden, end_image_path, updated_at) = (select c.hidden, c.end_image_path, now() from jsonb_populate_record(p, changes) c)
  where p.id = changed.id
  returning p.* into changed;
  if changes ? 'end_image_path' then
    perform keyframe_private.require_may_remove(array_remove(array[before], null));
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(changed), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_prediction is 'Hides a prediction of the caller from lists or shows it again, and stores the end image of a video.';

-- A start locks the frames that it uses; a later start does not find a deleted one.
create function keyframe.delete_prediction(project_id uuid, prediction_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage');
  prediction keyframe.predictions;
  before json;
  refused keyframe_private.refusal;
begin
  -- The project first, as when a take is selected: two requests never wait for each other.
  perform from keyframe.projects p where p.id = delete_prediction.project_id and keyframe_private.is_own(p.owner_id) for no key update;
  prediction := keyframe_private.own_prediction(project_id, prediction_id);
  perform keyframe_private.raise_if(prediction.completed_at is null, 'generation_in_progress',
    'This generation is still running. Cancel it or wait for its end, then delete it.');
  perform keyframe_private.raise_if(exists (
    select from keyframe_private.prediction_images i
    join keyframe.predictions p on p.id = i.prediction_id
    where i.source_prediction_id = prediction.id and p.completed_at is null
  ), 'generation_in_progress', 'A generation that uses this frame is still running. Cancel it or wait for its end, then delete the frame.');
  perform keyframe_private.raise_if(
    exists (select from keyframe.predictions w where w.waits_for = prediction.id and w.status = 'queued'), 'generation_in_progress',
    'The next shot waits to continue this video. Cancel it or wait for its end, then delete the video.');
  before := keyframe_private.prediction_json(prediction);
  delete from keyframe.predictions p where p.id = prediction.id;
  return json_build_object('prediction', before, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_prediction is 'Deletes a prediction of the caller that has ended; its file is removed soon after. Its events stay.';

-- The latest prediction of each step, and the shown take. Usually both are the same prediction, which is listed once. One query for each
-- project took twice as long for a film of 500 shots. A film's predictions omit their elements: a cast of 20 with its images would be
-- repeated 1,500 times, and be most of the answer.
create function keyframe_private.step_predictions(projects keyframe.projects[], with_elements boolean default true)
returns table (project_id uuid, predictions json) language plpgsql stable set search_path = '' as $$
begin
  return query
    with steps as materialized (
      select o.project, keyframe_private.shown_take(o.project, s.step) as take_id, (
          select p.id from keyframe.predictions p where p.project_id = (o.project).id and p.step = s.step
          order by p.created_at desc, p.id desc limit 1) as latest_id
      from (select u as project from unnest(projects) u) o
      cross join unnest(enum_range(null::keyframe.generation_step)) s (step)
    ), takes as (
      select (s.project).id, array_remove(array_agg(s.take_id), null) as shown from steps s group by 1
    )
    select p.project_id, json_agg(json_build_object(
      'is_latest', p.id = s.latest_id, 'is_take', s.take_id is not distinct from p.id,
      'prediction', keyframe_private.prediction_json(p, t.shown, with_elements)))
    from steps s
    join keyframe.predictions p on p.id = any (array[s.latest_id, s.take_id])
    join takes t on t.id = p.project_id
    group by p.project_id;
end $$;

-- The next page follows (before_created_at, before_id), as for list_projects. `only_takes` leaves out predictions that have not succeeded.
create function keyframe.list_predictions(
  project_id uuid, step keyframe.generation_step default null, max_rows integer default 20,
  before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  only_takes boolean default false, with_hidden boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.predictions[];
  shown constant uuid[] := keyframe_private.shown_takes(project_id);
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_project(project_id);
  -- Walks along an index for each step: few takes among many failed runs are found as quickly.
  page := array(
    select w.listed
    from unnest(case when step is null then enum_range(null::keyframe.generation_step) else array[step] end) s (step)
    cross join lateral (
      (select p as listed, p.created_at, p.id from keyframe.predictions p
       where only_takes and p.project_id = list_predictions.project_id and p.step = s.step and p.status = 'succeeded'
         and (with_hidden or not p.hidden) and (p.created_at, p.id) < (before_created_at, before_id)
       order by p.created_at desc, p.id desc limit least(max_rows, 101))
      union all
      (select p, p.created_at, p.id from keyframe.predictions p
       where not only_takes and p.project_id = list_predictions.project_id and p.step = s.step
         and (with_hidden or not p.hidden) and (p.created_at, p.id) < (before_created_at, before_id)
       order by p.created_at desc, p.id desc limit least(max_rows, 101))) w
    order by w.created_at desc, w.id desc
    limit least(max_rows, 101));
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(page), 25);
  return json_build_object(
    'predictions', (
      select coalesce(json_agg(keyframe_private.prediction_json(p, shown) order by p.created_at desc, p.id desc), '[]')
        from unnest(page) p),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_predictions is 'The predictions of the caller''s project, newest first, at most 101 per page. Costs one token more for each 25.';
