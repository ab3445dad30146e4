-- A start is an insert into predictions, by start_prediction, start_film, the Data API or an administrator. Its triggers do the rest. For
-- the statement: its first token, before a project or prediction is locked. For each row: owner, model and input (resolve_start), slot. For
-- the rows together: the images, the other tokens, the budget of each owner, submits, a kick. A refusal undoes all rows.

-- The default of a step may be unavailable.
create function keyframe_private.choose_model(step keyframe.generation_step, named text)
returns keyframe.models language plpgsql stable set search_path = '' as $$
declare
  chosen keyframe.models;
begin
  select m.* into chosen from keyframe.models m
  where m.step = choose_model.step and m.enabled
    and m.model = coalesce(named, (select d.model from keyframe.step_defaults d where d.step = choose_model.step));
  if not found then
    perform keyframe_private.raise_error('unsupported_input',
      format('There is no such model for the step %s. GET /api/models lists them.', step));
  elsif named is not null and not keyframe_private.is_available(chosen, now()) then
    perform keyframe_private.raise_error('model_unavailable', format(
      'The model %s is not available: %s. Name another, or none: GET /api/models lists them.', named,
      case when chosen.refused_at is null then 'its vendor has ended it' else 'the provider no longer has it' end));
  end if;
  return chosen;
end $$;

-- Lists the other available models of a step that accept an input, in order, with the input completed for each.
create function keyframe_private.models_accepting(requested jsonb, project keyframe.projects, other_than keyframe.models)
returns table (model text, input jsonb) language plpgsql stable set search_path = '' as $$
declare
  candidate keyframe.models;
begin
  for candidate in select s.* from keyframe_private.successors_of(other_than, now()) s loop
    begin
      model := candidate.model;
      input := keyframe_private.resolve_input(requested, project, candidate);
      return next;
    exception when sqlstate 'KEYFR' then
      continue; -- it does not take this input
    end;
  end loop;
end $$;

-- Returns the first available model that accepts the same input and costs no more, or null.
create function keyframe_private.find_successor(gone keyframe.models, requested jsonb, project keyframe.projects)
returns keyframe.models language plpgsql stable set search_path = '' as $$
declare
  found_model keyframe.models;
  gone_cost keyframe_private.run_cost;
begin
  begin
    gone_cost := keyframe_private.estimate_cost(gone.model, keyframe_private.resolve_input(requested, project, gone), now());
  exception when sqlstate 'KEYFR' then
    null; -- it did not take this input either, so it has no price for it
  end;
  select m.* into found_model
  from keyframe_private.models_accepting(requested, project, gone) with ordinality t (model, input, place)
  join keyframe.models m on m.step = gone.step and m.model = t.model
  where keyframe_private.costs_no_more(keyframe_private.estimate_cost(t.model, t.input, now()), gone_cost)
  order by t.place
  limit 1;
  return found_model;
end $$;

-- Completes and checks a start, in eight steps, of which complete_start has the last five. As an example, a user starts a video with
-- {"prompt": "@Anna leaves"} and names no model. The project's plan is {"video": {"model": "A", "durationSeconds": 10}}, its shown first frame
-- is F, and its film has the element Anna with the text "a woman in red":
--
--   1  lock_project        it must be the caller's
--   2  apply_plan          model A; "durationSeconds": 10
--   3  resolve_beginning   no change; a start that continues the previous shot gets the end image of that, or waits for it
--   4  choose_model        the row of A; a model that is named must be available
--   5  read_input          "firstFramePredictionId": F, "lastFramePredictionId": null, "referenceImagePaths": []
--   6  use_elements        "prompt": "Anna leaves", then "Anna: a woman in red"; "elements": the record of Anna
--   7  find_successor      no change; only a default model that is not available is replaced by another
--   8  resolve_input       "aspectRatio": "16:9", as the project has it; "resolution": A's default, and so for each control of A
create function keyframe_private.resolve_start(inout start keyframe.predictions)
language plpgsql volatile set search_path = '' as $$
declare
  project constant keyframe.projects := keyframe_private.lock_project(start.project_id);
begin
  start := keyframe_private.apply_plan(start, project);
  start := keyframe_private.resolve_beginning(start, project);
  start := keyframe_private.complete_start(start, project);
end $$;

-- Locks a project against deletion: waits for a deletion under way, and then finds no project.
create function keyframe_private.lock_project(id uuid)
returns keyframe.projects language plpgsql volatile set search_path = '' as $$
declare
  project keyframe.projects;
begin
  select p.* into project from keyframe.projects p
  where p.id = lock_project.id and (auth.uid() is null or keyframe_private.is_own(p.owner_id)) and p.deleted_at is null
  for key share;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no project with this projectId.');
  return project;
end $$;

create function keyframe_private.complete_start(inout start keyframe.predictions, project keyframe.projects)
language plpgsql volatile set search_path = '' as $$
declare
  chosen keyframe.models;
  requested jsonb;
  refused keyframe_private.refusal;
begin
  start.owner_id := project.owner_id;
  chosen := keyframe_private.choose_model(start.step, start.model);
  requested := keyframe_private.use_elements(keyframe_private.read_input(start.input, start.step, project), start.step, project);
  start.requested_model := start.model;
  if not keyframe_private.is_available(chosen, now()) then
    start.requested_model := chosen.model;
    chosen := keyframe_private.find_successor(chosen, requested, project);
    perform keyframe_private.raise_if(chosen.model is null, 'model_unavailable', format(
        'The model %s is not available, and no other model accepts this input at the same or a lower price. Name a model from GET /api/models, or change the input.',
        start.requested_model));
  end if;
  start.model := chosen.model;
  begin
    start.input := keyframe_private.resolve_input(requested, project, chosen);
  exception when sqlstate 'KEYFR' then
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
    if refused.code <> 'unsupported_input' then
      raise;
    end if;
    perform keyframe_private.raise_error(refused.code, format('%s %s', refused.sentence, (
      select coalesce('Models that take it: ' || string_agg(t.model, ', ') || '.', 'No other model of this step takes it.')
      from keyframe_private.models_accepting(requested, project, chosen) t)));
  end;
end $$;

create function keyframe_private.resolve_prediction()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  return keyframe_private.resolve_start(new);
end $$;

create function keyframe_private.admit_or_queue()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('slots', new.owner_id);
  -- Read under the lock, so that created_at has the order of the queue.
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  if new.waits_for is not null then
    perform keyframe_private.raise_if(
      (select count(*) from keyframe.predictions w where w.owner_id = new.owner_id and w.waits_for is not null and w.status = 'queued')
        >= keyframe_private.max_shots(), 'invalid_request',
      format('At most %s shots can wait for a previous shot. Cancel some, or wait until they start.', keyframe_private.max_shots()));
    -- Its video may have ended meanwhile: nothing else would look at this row.
    if exists (select from keyframe.predictions v where v.id = new.waits_for and v.completed_at is not null) then
      perform keyframe_private.add_work('ask', 'continue', new.id, new.owner_id, 'continue');
    end if;
  elsif keyframe_private.free_slots(new.owner_id) > 0 and not exists (
    select from keyframe.predictions w
    where w.owner_id = new.owner_id and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
  ) then
    new.admitted_at := new.created_at;
    new.deadline_at := new.created_at + keyframe_private.deadline_of(new.step);
  end if;
  return new;
end $$;

create function keyframe_private.write_prediction_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if exists (select from started s where keyframe_private.has_images(s.input)) then
    perform keyframe_private.keep_reference(u.path, u.owner_id) from (
      select distinct s.owner_id, i.path from started s, keyframe_private.images_of(s.input) i where i.path is not null order by 1, 2) u;
    insert into keyframe_private.prediction_images (prediction_id, role, position, path, source_prediction_id)
    select s.id, i.* from started s, keyframe_private.images_of(s.input) i;
  end if;
  return null;
end $$;

-- An administrator may start for several owners at once; a user's rows have one owner, and one client or none. Without a generic plan it is
-- planned at each start.
create function keyframe_private.begin_starts()
returns trigger language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  payer record;
begin
  for payer in
    select array_agg(s::keyframe.predictions) as starts, count(*)::integer as number
    from started s where s.completed_at is null -- nothing would release what an administrator inserts as ended
    group by s.owner_id, s.client_id
  loop
    if payer.number > 1 then
      perform keyframe_private.raise_if(payer.number > l.capacity and auth.uid() is not null, 'invalid_request',
        format('This request starts %s predictions at once, and the maximum is %s. Start fewer.', payer.number, l.capacity))
      from keyframe_private.rate_limits l where l.route_class = 'generate';
      perform keyframe_private.acquire_token('generate', payer.number - 1);
    end if;
    perform keyframe_private.require_spending();
    perform keyframe_private.add_submits(payer.starts);
  end loop;
  return null;
end $$;

-- Files, submits and events of an earlier prediction with this id would count as this one's. Checked after the insert, because that waits
-- for a deletion under way.
create function keyframe_private.refuse_used_id()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if auth.uid() is null then -- users cannot choose an identifier
    perform keyframe_private.raise_if(
      exists (
        select from keyframe.webhook_events v where v.prediction_id = new.id and v.type in ('generation.succeeded', 'generation.failed'))
      or exists (select from keyframe_private.provider_submits s where s.prediction_id = new.id and s.submitted_at is not null)
      or exists (
        select from keyframe_private.file_removals r
        where r.bucket = 'keyframe-outputs' and r.name = any (array(select keyframe_private.output_names(new)))), 'invalid_request',
      'An earlier prediction with this id has left an event, a submit or a file. Leave the id out, or use another one.');
  end if;
  return null;
end $$;

-- Fairness: an owner has max_active_per_owner slots. A row in line has no work, so a long queue costs others nothing.

-- Valid only while the owner's lock `slots` is held. An open transaction delays only its own owner.
create function keyframe_private.free_slots(owner uuid)
returns integer language plpgsql volatile set search_path = '' as $$
begin
  return (
    select coalesce((select s.max_active_per_owner from keyframe_private.settings s), 0) - count(*)::integer
    from keyframe.predictions p
    where p.owner_id = owner and p.admitted_at is not null and p.completed_at is null
  );
end $$;

create function keyframe_private.deadline_of(step keyframe.generation_step)
returns interval language plpgsql stable set search_path = '' as $$
begin
  return (select case when step = 'video' then s.video_deadline else s.frame_deadline end from keyframe_private.settings s);
end $$;

-- Gives an owner's free slots to the predictions that have waited longest.
create function keyframe_private.admit_in_line(owner uuid)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  moment timestamptz;
  slots integer;
begin
  perform keyframe_private.acquire_lock('slots', owner);
  -- Read under the lock, so that admitted_at has the order of the queue, whichever transaction began first.
  moment := clock_timestamp();
  slots := keyframe_private.free_slots(owner);
  if slots > 0 and not (select s.spending_stopped from keyframe_private.settings s) then
    update keyframe.predictions p
    set admitted_at = moment, deadline_at = moment + keyframe_private.deadline_of(p.step), updated_at = now()
    where p.id = any (array(
      select w.id from keyframe.predictions w
      where w.owner_id = owner and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
      order by w.created_at, w.id
      limit slots
      for update skip locked)); -- a locked row is being canceled; the next one takes its turn
  end if;
end $$;

-- The end of one prediction frees a slot for the next. A failed admission does not undo the end: it is retried.
create function keyframe_private.admit_next()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.admit_in_line(new.owner_id);
  return null;
exception when others or query_canceled or assert_failure then
  if keyframe_private.is_lock_wait(sqlstate) or sqlstate = '57014' then
    raise; -- another call is admitting, or this one was canceled or ran out of time: the caller retries
  end if;
  raise warning 'No prediction of owner % could be admitted: % (%)', new.owner_id, sqlerrm, sqlstate;
  perform keyframe_private.add_work('ask', 'admit', new.owner_id, new.owner_id, 'admit', clock_timestamp() + interval '5 seconds');
  return null;
end $$;

-- Returns 1 for the next to run, 0 once it has a slot; null when it is not queued, waits for the previous shot, or is queued again after a
-- provider run. Counting stops at 1000, which means 1000 or later: otherwise a page of a very long queue would count it for each row.
create function keyframe_private.queue_position(prediction keyframe.predictions)
returns integer language plpgsql stable set search_path = '' as $$
begin
  if prediction.status <> 'queued' or prediction.started_at is not null or prediction.waits_for is not null then
    return null;
  elsif prediction.admitted_at is not null then
    return 0;
  end if;
  return (
    select count(*)::integer + 1 from (
      select from keyframe.predictions w
      where w.owner_id = prediction.owner_id and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
        and (w.created_at, w.id) < (prediction.created_at, prediction.id)
      limit 999
    ) before
  );
end $$;

-- What api calls to start one prediction or several takes of it.

-- Consecutive seeds make different takes, each of which can be repeated.
create function keyframe_private.input_of_take(input jsonb, number bigint)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return case when number > 1 and jsonb_typeof(input -> 'seed') = 'number'
    then input || jsonb_build_object('seed', (input ->> 'seed')::numeric + number - 1) else input end;
end $$;

-- Starts a step of these projects, all or none. A project listed twice gets two takes. The first prediction has the id of the request.
-- If there are several, their ids are kept for a repetition of the request.
create function keyframe_private.start_all(request_id uuid, projects uuid[], step keyframe.generation_step, input jsonb, model text)
returns keyframe.predictions[] language plpgsql volatile set search_path = '' as $$
declare
  started keyframe.predictions[];
begin
  with made as (
    insert into keyframe.predictions as p (id, project_id, step, input, model)
    select case s.place when 1 then request_id else gen_random_uuid() end, s.project, start_all.step,
      keyframe_private.input_of_take(start_all.input, row_number() over (partition by s.project order by s.place)), start_all.model
    from unnest(projects) with ordinality s (project, place)
    order by s.place
    returning p)
  select coalesce(array_agg(m.p), '{}') into started from made m;
  if cardinality(started) > 1 then
    update keyframe_private.idempotency_keys k set answer = to_jsonb(array(select s.id from unnest(started) s))
    where k.resource_id = request_id;
  end if;
  return started;
end $$;

-- What a repeated request has started (start_all), without deleted predictions. Only of a film may all be deleted.
create function keyframe_private.started_before(answer jsonb, request_id uuid, of_film boolean)
returns keyframe.predictions[] language plpgsql stable set search_path = '' as $$
declare
  started constant keyframe.predictions[] := array(
    select p from jsonb_array_elements_text(coalesce(answer, jsonb_build_array(request_id))) with ordinality i (id, number)
    join keyframe.predictions p on p.id = i.id::uuid
    where keyframe_private.is_own(p.owner_id) and p.project_id <> all ((select keyframe_private.deleted_projects())::uuid[])
    order by i.number);
begin
  perform keyframe_private.raise_if(started = '{}' and not of_film, 'not_found',
    'What this request started has been deleted. Send a new Idempotency-Key, or request a new quote.');
  return started;
end $$;

create function keyframe_private.started_json(started keyframe.predictions[])
returns json language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(json_agg(keyframe_private.prediction_json(p)), '[]') from unnest(started) p);
end $$;

-- The answer to a start of one prediction or, with is_list, of several.
create function keyframe_private.start_json(started keyframe.predictions[], is_list boolean, replayed boolean, rate jsonb)
returns json language plpgsql stable set search_path = '' as $$
declare
  predictions constant json := case when is_list then keyframe_private.started_json(started) end;
begin
  return json_build_object(
    'prediction', coalesce(predictions -> 0, keyframe_private.prediction_json(started[1])), 'predictions', predictions,
    'replayed', replayed, 'rate', coalesce(rate, keyframe_private.rate_state('generate')));
end $$;

-- force_generic_plan: otherwise Postgres plans it at each start.
create function keyframe.start_prediction(
  project_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, idempotency_key text default null,
  request_hash text default null, count integer default null)
returns json language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  request record;
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(start_prediction.count not between 1 and 8, 'invalid_request', 'count must be 1 to 8.');
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => false);
  else
    started := keyframe_private.start_all(
      request.resource_id, array_fill(project_id, array[coalesce(start_prediction.count, 1)]), step, input, model);
  end if;
  return keyframe_private.start_json(started, start_prediction.count is not null, request.replayed, request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse(refused, 'generate');
end $$;
comment on function keyframe.start_prediction is 'Starts one run of a step of the caller''s project; with count, several takes of it: all or none.';
