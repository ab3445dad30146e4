-- What starts would cost.

-- A start as the caller sends it, for an estimate: it is not inserted.
create function keyframe_private.new_start(project_id uuid, step keyframe.generation_step, input jsonb, model text)
returns keyframe.predictions language plpgsql stable set search_path = '' as $$
begin
  return jsonb_populate_record(
    null::keyframe.predictions, jsonb_build_object('project_id', project_id, 'step', step, 'input', input, 'model', model));
end $$;

-- The cost of a resolved start. Raises if one of its uploaded images is missing, as the insert would.
create function keyframe_private.cost_of_start(start keyframe.predictions)
returns keyframe_private.run_cost language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.require_upload(i.path, start.owner_id) from keyframe_private.images_of(start.input) i where i.path is not null;
  return keyframe_private.estimate_cost(start.model, start.input, now());
end $$;

-- What starts of the caller cost together, and whether the budgets and the balance would allow them.
create function keyframe_private.estimate_json(cost keyframe_private.run_cost)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  budgets record;
  balance constant record := keyframe_private.balance_of(auth.uid());
begin
  select min(b.available_micros) filter (where b.scope <> 'service') as available_micros, coalesce(bool_and(coalesce(
      case b.scope when 'service' then cost.most_micros else cost.most_charge_micros end <= b.available_micros, false)), true) as fit
  into budgets from keyframe_private.budgets_of(auth.uid(), now(), auth.jwt() ->> 'client_id') b;
  return jsonb_build_object(
    'estimateMicros', cost.estimate_charge_micros, 'atMostMicros', cost.most_charge_micros, 'currency', 'USD',
    'availableMicros', budgets.available_micros, 'balance', keyframe_private.balance_json(auth.uid()),
    'withinBudget', exists (select from keyframe_private.settings s where not s.spending_stopped) and budgets.fit
      and (balance.available_micros is null or coalesce(cost.most_charge_micros <= balance.available_micros, false)));
end $$;

create function keyframe.estimate_prediction(
  project_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, count integer default null,
  quote boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when quote then 'create' else 'read' end);
  number constant integer := coalesce(estimate_prediction.count, 1);
  start keyframe.predictions;
  cost keyframe_private.run_cost;
  made keyframe_private.quotes;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(number not between 1 and 8, 'invalid_request', 'count must be 1 to 8.');
  start := keyframe_private.resolve_start(keyframe_private.new_start(project_id, step, input, model));
  cost := keyframe_private.sum_of(array_fill(keyframe_private.cost_of_start(start), array[number]));
  if number > 1 then -- the last take has the highest seed
    perform keyframe_private.resolve_start(
      keyframe_private.new_start(project_id, step, keyframe_private.input_of_take(input, number), model));
  end if;
  if quote then
    made := keyframe_private.add_quote(
      array[start], null, estimate_prediction.input, estimate_prediction.model, estimate_prediction.count, cost);
  end if;
  return json_build_object('rate', rate, 'estimate', jsonb_build_object(
    'model', start.model, 'requestedModel', nullif(start.requested_model, start.model),
    'elements', keyframe_private.element_names(start.input), 'quoteId', made.id, 'quotedUntil', keyframe_private.wire_time(made.expires_at))
    || keyframe_private.estimate_json(cost));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.estimate_prediction is 'What a start would cost, with every check of a start. With quote it raises the errors of the start, and holds the price; otherwise it stores nothing.';
