-- Starts for all shots of a film that are missing a step, and what they would cost.

-- Whether the shown take of a step is outdated, or will be when the previous shot gets another one. Never for a selected take, because a
-- new one would not be shown.
create function keyframe_private.is_replaceable(project keyframe.projects, step keyframe.generation_step, is_previous_replaced boolean)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return keyframe_private.selected_take(project, step) is null
    and exists (
      select from keyframe.predictions t
      where t.id = keyframe_private.shown_take(project, is_replaceable.step)
        and (keyframe_private.is_outdated(t, null) or json_array_length(keyframe_private.changed_elements(t)) > 0
          or is_previous_replaced and t.input -> 'continuesPreviousShot' = 'true'));
end $$;

-- The shots of the caller's film that have no take of a step (with_outdated: no current take) and no running prediction, in order; with
-- project_ids, only these. Skips first frames that no video needs. At most 60: a full bucket of starts by default, and what a request can
-- do in its time. for_start: no other start of this user's films runs until the transaction ends, so a second one finds what this one has
-- started.
create function keyframe_private.shots_without(
  film_id uuid, step keyframe.generation_step, project_ids uuid[], with_outdated boolean, for_start boolean default false)
returns uuid[] language plpgsql volatile set search_path = '' as $$
declare
  film keyframe.films;
  shot keyframe.projects;
  is_included boolean := false;
  shots uuid[] := '{}';
begin
  if for_start then
    perform keyframe_private.acquire_token('generate', 0); -- its bucket is locked before the film; the insert takes a token for each shot
    perform keyframe_private.acquire_lock('films', auth.uid());
  end if;
  film := keyframe_private.own_film(film_id);
  perform from keyframe.films f where f.id = film.id for key share; -- delete_film locks the same shots in another order
  perform keyframe_private.raise_if(not coalesce(project_ids, '{}') <@ keyframe_private.shots_of(film.id), 'not_found',
    'projectIds has a project that is not a shot of this film. Read the film again.');
  for shot in select p.* from keyframe.projects p where p.film_id = film.id order by p.film_position loop
    is_included := (project_ids is null or shot.id = any (project_ids))
      and (keyframe_private.shown_take(shot, step) is null or with_outdated and keyframe_private.is_replaceable(shot, step, is_included))
      and (step <> 'first-frame' or keyframe_private.needs_first_frame(shot))
      and not exists (
        select from keyframe.predictions r where r.project_id = shot.id and r.step = shots_without.step and r.completed_at is null);
    if is_included then
      shots := shots || shot.id;
    end if;
    exit when cardinality(shots) = 60;
  end loop;
  return shots;
end $$;

-- What the start of one shot of a film would cost, or why it is refused. previous_start: the start before it, which it may continue. A start
-- that lacks only the frame on which its video begins is refused, but has a price too.
create function keyframe_private.price_shot(
  inout start keyframe.predictions, previous_start keyframe.predictions,
  out cost keyframe_private.run_cost, out refused keyframe_private.refusal)
language plpgsql volatile set search_path = '' as $$
declare
  project keyframe.projects;
  planned keyframe.predictions;
begin
  project := keyframe_private.lock_project(start.project_id);
  planned := keyframe_private.apply_plan(start, project);
  begin
    start := keyframe_private.complete_start(keyframe_private.resolve_beginning(planned, project, previous_start), project);
  exception when sqlstate 'KEYFR' then
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
    if refused.code <> 'frame_not_ready' then
      raise;
    end if;
    -- As resolve_beginning leaves a start that waits for the end image of a video.
    planned.input := planned.input - 'firstFrameImagePath'::text || '{"firstFramePredictionId": null, "continuesPreviousShot": true}';
    start := keyframe_private.complete_start(planned, project);
  end;
  cost := keyframe_private.cost_of_start(start);
exception when sqlstate 'KEYFR' then
  start := null;
  if refused.code is null then -- otherwise the first refusal stands
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
  end if;
end $$;

-- The cost of each start or why it is refused, and the starts that are not refused, with the sum of their costs.
create function keyframe_private.estimate_starts(
  projects uuid[], step keyframe.generation_step, input jsonb, model text,
  out estimate jsonb, out starts keyframe.predictions[], out cost keyframe_private.run_cost)
language plpgsql volatile set search_path = '' as $$
declare
  project uuid;
  previous_start keyframe.predictions;
  priced record;
  costs keyframe_private.run_cost[] := '{}';
  shots jsonb := '[]';
begin
  starts := '{}';
  foreach project in array projects loop
    priced := keyframe_private.price_shot(keyframe_private.new_start(project, step, input, model), previous_start);
    if (priced.refused).code is null then
      previous_start := priced.start;
      costs := costs || priced.cost;
      starts := starts || priced.start;
    end if;
    shots := shots || jsonb_build_object('projectId', project, 'model', (priced.start).model,
      'estimateMicros', (priced.cost).estimate_charge_micros, 'atMostMicros', (priced.cost).most_charge_micros,
      'elements', keyframe_private.element_names((priced.start).input),
      'error', case when (priced.refused).code is not null then
        jsonb_build_object('code', (priced.refused).code, 'message', (priced.refused).sentence) end);
  end loop;
  cost := keyframe_private.sum_of(costs);
  estimate := jsonb_build_object('shots', shots) || keyframe_private.estimate_json(cost);
end $$;

-- Returns the refusal of a start (refuse), and names all of `shots` that cannot start: the first of them has ended the insert. Naming the
-- others costs Postgres two milliseconds per shot, and the caller more tokens. Without a film there are only takes of one project; without
-- shots the start was refused before the insert.
create function keyframe_private.refuse_shots(
  refused keyframe_private.refusal, film_id uuid, shots uuid[], step keyframe.generation_step, input jsonb, model text)
returns json language plpgsql volatile set search_path = '' as $$
declare
  refusals record;
begin
  if film_id is null or shots = '{}' or refused.code = 'rate_limited' then
    return keyframe_private.refuse(refused, 'generate');
  end if;
  perform keyframe_private.acquire_token('generate', 1 + cardinality(shots) / keyframe_private.projects_per_token());
  select string_agg(array_position(keyframe_private.shots_of(film_id), s."projectId")::text, ', ') as shots, (array_agg(s.error))[1] as first
  into refusals
  from jsonb_to_recordset((keyframe_private.estimate_starts(shots, step, input, model)).estimate -> 'shots') s ("projectId" uuid, error jsonb)
  where s.error is not null;
  if refusals.shots is not null then
    refused := (refusals.first ->> 'code', format(
      'Nothing was started, because of shot %s. The first of them: %s', refusals.shots, refusals.first ->> 'message'), '');
  end if;
  return keyframe_private.refuse(refused);
end $$;

create function keyframe.start_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null,
  idempotency_key text default null, request_hash text default null, outdated boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  shots uuid[] := '{}';
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => true);
    request.rate := keyframe_private.acquire_more_tokens(request.rate, cardinality(started), keyframe_private.projects_per_token());
  else
    shots := keyframe_private.shots_without(film_id, step, project_ids, outdated, for_start => true);
    started := keyframe_private.start_all(request.resource_id, shots, step, input, model);
  end if;
  return json_build_object('predictions', keyframe_private.started_json(started), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('generate')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse_shots(refused, film_id, shots, step, input, model);
end $$;
comment on function keyframe.start_film is 'Starts a step for the shots of the caller''s film that are missing it, with `outdated` also where the shown take is outdated: for all or for none.';

create function keyframe.estimate_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null,
  outdated boolean default false, quote boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when quote then 'create' else 'read' end);
  shots uuid[];
  priced record;
  made keyframe_private.quotes;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  shots := keyframe_private.shots_without(film_id, step, project_ids, outdated);
  if cardinality(shots) > 1 then
    rate := keyframe_private.acquire_token('read', cardinality(shots) - 1);
  end if;
  priced := keyframe_private.estimate_starts(shots, step, input, model);
  if quote and cardinality(priced.starts) > 0 then
    made := keyframe_private.add_quote(priced.starts, film_id, input, model, null, priced.cost, outdated);
  end if;
  return json_build_object('rate', rate, 'estimate', priced.estimate || jsonb_build_object(
    'quoteId', made.id, 'quotedUntil', keyframe_private.wire_time(made.expires_at)));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.estimate_film is 'What start_film would cost, with the shots that cannot start. Costs a token for each shot. With quote it holds the price of those that can start; otherwise it stores nothing.';
