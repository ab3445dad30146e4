-- Several starts in one request: takes of one step, or what the shots of a film lack. All of them or none.

create function keyframe_private.price_start(inout wanted keyframe.predictions, out cost keyframe_private.run_cost)
language plpgsql volatile set search_path = '' as $$
begin
  wanted := keyframe_private.resolve_start(wanted);
  perform keyframe_private.require_upload(i.path, wanted.owner_id) from keyframe_private.images_of(wanted.input) i where i.path is not null;
  cost := keyframe_private.most_cost(wanted.model, wanted.input, now());
end $$;
comment on function keyframe_private.price_start is 'Completes a start with every check but that of budgets, and says what it costs.';

create function keyframe_private.sum_of(costs keyframe_private.run_cost[])
returns keyframe_private.run_cost language plpgsql immutable set search_path = '' as $$
declare
  total keyframe_private.run_cost;
begin
  select case when count(*) = count(c.estimate_micros) then coalesce(sum(c.estimate_micros), 0) end,
    case when count(*) = count(c.most_micros) then coalesce(sum(c.most_micros), 0) end,
    case when count(*) = count(c.estimate_micros) then coalesce(sum(c.estimate_charge_micros), 0) end,
    case when count(*) = count(c.most_micros) then coalesce(sum(c.most_charge_micros), 0) end
  into total.estimate_micros, total.most_micros, total.estimate_charge_micros, total.most_charge_micros
  from unnest(costs) c;
  return total;
end $$;
comment on function keyframe_private.sum_of is 'What runs cost together; null where one is unknown.';

create function keyframe_private.estimate_json(cost keyframe_private.run_cost)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'estimateMicros', cost.estimate_charge_micros, 'atMostMicros', cost.most_charge_micros, 'currency', 'USD',
    'availableMicros', (select min(b.available_micros) from keyframe_private.budgets_of(auth.uid(), now(), auth.jwt() ->> 'client_id') b
      where b.scope <> 'service'),
    'balance', keyframe_private.balance_json(auth.uid()),
    'withinBudget', exists (select from keyframe_private.settings s where not s.spending_stopped) and not exists (
      select from keyframe_private.budgets_of(auth.uid(), now(), auth.jwt() ->> 'client_id') b
      where (case b.scope when 'service' then cost.most_micros else cost.most_charge_micros end <= b.available_micros) is not true)
      and not exists (
        select from keyframe_private.balance_of(auth.uid()) b
        where b.available_micros is not null and (cost.most_charge_micros <= b.available_micros) is not true));
end $$;
comment on function keyframe_private.estimate_json is 'What starts of the caller cost together, and whether the budgets and the balance would admit them.';

-- Seeds that follow each other make takes that differ, each of which can be repeated.
create function keyframe_private.starts_of(projects uuid[], step keyframe.generation_step, input jsonb, model text, seed_step integer)
returns keyframe.predictions[] language plpgsql volatile set search_path = '' as $$
begin
  return array(
    select jsonb_populate_record(null::keyframe.predictions, jsonb_build_object(
      'id', gen_random_uuid(), 'project_id', p.id, 'step', step, 'model', model,
      'input', case when jsonb_typeof(input -> 'seed') = 'number'
        then input || jsonb_build_object('seed', (input ->> 'seed')::numeric + (p.number - 1) * seed_step) else input end))
    from unnest(projects) with ordinality p (id, number) order by p.number);
end $$;
comment on function keyframe_private.starts_of is 'A start for each of the projects, which may be the same one.';

-- The budget is checked for all together, so that a refusal says what all cost. The lock keeps it until each holds its own cost.
create function keyframe_private.start_all(starts keyframe.predictions[], cost keyframe_private.run_cost, request uuid)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  ids constant jsonb := to_jsonb(array(select s.id from unnest(starts) with ordinality s order by s.ordinality));
begin
  perform keyframe_private.take_lock('slots', auth.uid());
  perform keyframe_private.require_budget(auth.uid(), cost, clock_timestamp(), auth.jwt() ->> 'client_id');
  perform set_config('keyframe.starts_of', auth.uid()::text, true); -- their tokens are taken
  insert into keyframe.predictions (id, project_id, step, input, model)
  select s.id, s.project_id, s.step, s.input, s.model from unnest(starts) with ordinality s order by s.ordinality;
  perform set_config('keyframe.starts_of', '', true);
  update keyframe_private.idempotency_keys k set answer = ids where k.resource_id = request;
  return ids;
end $$;
comment on function keyframe_private.start_all is 'Starts in this order. Returns the identifiers, and notes them for a repetition of the request.';

create function keyframe_private.started_json(ids jsonb)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(json_agg(keyframe_private.prediction_json(p) order by i.number), '[]')
    from jsonb_array_elements_text(ids) with ordinality i (id, number) join keyframe.predictions p on p.id = i.id::uuid
    where keyframe_private.is_own(p.owner_id) and p.project_id <> all (keyframe_private.deleted_projects()));
end $$;
comment on function keyframe_private.started_json is 'What a request has started, without what has been deleted since.';

-- At most 60: a full bucket of starts by default, and what a request can do in its time.
create function keyframe_private.shots_without(film_id uuid, wanted keyframe.generation_step, project_ids uuid[])
returns uuid[] language plpgsql volatile set search_path = '' as $$
declare
  film constant keyframe.films := keyframe_private.own_film(film_id);
begin
  perform from keyframe.films f where f.id = film.id for key share; -- delete_film locks the same shots in another order
  perform keyframe_private.raise_if(not coalesce(project_ids, '{}') <@ keyframe_private.shots_of(film.id), 'not_found',
    'A projectId of projectIds is not of a shot of this film. Read the film again.');
  return array(
    select p.id from keyframe.projects p
    where p.film_id = film.id and (project_ids is null or p.id = any (project_ids)) and keyframe_private.shown_take(p, wanted) is null
      and not exists (select from keyframe.predictions r where r.project_id = p.id and r.step = wanted and r.completed_at is null)
    order by p.film_position limit 60);
end $$;
comment on function keyframe_private.shots_without is 'The shots of the caller''s film that have no take of a step and no run that may become one, in order; with project_ids, only these.';

create function keyframe_private.estimate_starts(starts keyframe.predictions[], out estimate jsonb, out cost keyframe_private.run_cost)
language plpgsql volatile set search_path = '' as $$
declare
  one keyframe.predictions;
  priced record;
  costs keyframe_private.run_cost[] := '{}';
  shot jsonb;
  shots jsonb := '[]';
  refused keyframe_private.refusal;
begin
  foreach one in array starts loop
    begin
      priced := keyframe_private.price_start(one);
      costs := costs || priced.cost;
      shot := jsonb_build_object('model', (priced.wanted).model, 'estimateMicros', (priced.cost).estimate_charge_micros,
        'atMostMicros', (priced.cost).most_charge_micros, 'error', null);
    exception when sqlstate 'KEYFR' then
      get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
      shot := jsonb_build_object('model', null, 'estimateMicros', null, 'atMostMicros', null,
        'error', jsonb_build_object('code', refused.code, 'message', refused.sentence));
    end;
    shots := shots || (shot || jsonb_build_object('projectId', one.project_id));
  end loop;
  cost := keyframe_private.sum_of(costs);
  estimate := jsonb_build_object('shots', shots) || keyframe_private.estimate_json(cost);
end $$;
comment on function keyframe_private.estimate_starts is 'What each start costs or why it is refused, and what the others cost together.';

create function keyframe.start_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null,
  idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  starts keyframe.predictions[] := '{}';
  priced record;
  refusals record;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if not request.replayed then
    perform keyframe_private.take_token('generate');
    perform keyframe_private.take_lock('films', auth.uid()); -- of two at once, the second finds what the first has started
    starts := keyframe_private.starts_of(keyframe_private.shots_without(film_id, step, project_ids), step, input, model, 0);
    if cardinality(starts) > 1 then
      perform keyframe_private.take_token('generate', cardinality(starts) - 1);
    end if;
    priced := keyframe_private.estimate_starts(starts);
    select string_agg(array_position(keyframe_private.shots_of(film_id), s."projectId")::text, ', ') as shots, (array_agg(s.error))[1] as first
    into refusals from jsonb_to_recordset(priced.estimate -> 'shots') s ("projectId" uuid, error jsonb) where s.error is not null;
    perform keyframe_private.raise_if(refusals.shots is not null, refusals.first ->> 'code', format(
      'Nothing was started, because of shot %s. The first of them: %s', refusals.shots, refusals.first ->> 'message'));
    request.answer := keyframe_private.start_all(starts, priced.cost, request.resource_id);
  else
    request.rate := keyframe_private.take_more(request.rate, jsonb_array_length(request.answer), keyframe_private.projects_per_token());
  end if;
  return json_build_object('predictions', keyframe_private.started_json(request.answer), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('generate')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  -- What it costs Postgres: two milliseconds for each shot that was priced. Several takes are priced once.
  return keyframe_private.refuse(refused, 'generate', 1 + cardinality(starts) / keyframe_private.projects_per_token());
end $$;
comment on function keyframe.start_film is 'Starts a step for the shots of the caller''s film that lack it: for all or for none.';

create function keyframe.estimate_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  shots uuid[];
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  shots := keyframe_private.shots_without(film_id, step, project_ids);
  if cardinality(shots) > 1 then
    rate := keyframe_private.take_token('read', cardinality(shots) - 1);
  end if;
  return json_build_object('rate', rate, 'estimate',
    (keyframe_private.estimate_starts(keyframe_private.starts_of(shots, step, input, model, 0))).estimate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.estimate_film is 'What start_film would cost, with the shots that cannot start. Stores nothing. Costs a token for each shot.';
