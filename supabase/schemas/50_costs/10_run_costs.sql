-- The life of a cost.
--
-- 1. Estimated. A start looks up the prices of its input (estimate_cost): what it should cost, and the most that it can cost. Nothing is
--    stored.
-- 2. Held. add_submits refuses the start if the most does not fit the budgets and the balance. Otherwise it inserts the submit
--    (provider_submits), with its prices and its markup. Until it ends, the most counts.
-- 3. Ended (settle_ended): settled at the provider's figures, released because it is not billed, or unknown. An unknown cost counts with the
--    most until an administrator settles it. A success without figures stays held until its prediction ends, because the file may supply
--    them (settle_by_file).
-- 4. Given back, if an administrator fails the prediction (give_back_run): its owner pays nothing, and the provider's bill stays.
--
-- Steps 2 to 4 add rows to cost_changes (add_cost_change), which the job merge_costs adds to cost_sums (20_sums.sql). Budgets, balances and usage
-- read both. A cost (micros) is what the provider bills, a charge (charge_micros) what the owner pays: the cost times the markup. Both are
-- in millionths of a US dollar. Days and months are those of UTC.

-- The megapixels of an input's images, each rounded up as providers do (1 MP is 1024 × 1024 pixels). Null when the size of one, or the end
-- of the previous shot, is unknown.
create function keyframe_private.input_megapixels(input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  if input ? 'continuesPreviousShot' and coalesce(input ->> 'firstFramePredictionId', input ->> 'firstFrameImagePath') is null then
    return null;
  end if;
  return (
    select case when count(*) = count(s.pixels) then coalesce(sum(ceil(s.pixels / 1048576)), 0) end
    from keyframe_private.images_of(input) i
    left join keyframe.predictions p on p.id = i.source_prediction_id
    cross join lateral keyframe_private.upload_size(i.path) u
    cross join lateral (select coalesce(u.width::numeric * u.height, p.output_width::numeric * p.output_height)) s (pixels));
end $$;

-- How many units of a metric a run has at most; null: unknown. A run makes one file.
create function keyframe_private.most_quantity(metric text, input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then 1
    when 'output_second' then keyframe_private.read_figure(input, 'durationSeconds')
    when 'input_megapixel' then keyframe_private.input_megapixels(input)
    when 'output_megapixel' then ceil(substring(input ->> 'resolution' from '^(\d{1,3}(\.\d{1,3})?) MP$')::numeric)
  end; -- hardware_second: only the run shows it
end $$;

-- How many units of a metric an ended run had: by the provider's metrics, otherwise by its file; null when neither says it.
create function keyframe_private.settled_quantity(metric text, metrics jsonb, output jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then coalesce(keyframe_private.read_figure(metrics, 'image_output_count'), 1)
    when 'output_second' then coalesce(
      keyframe_private.read_figure(metrics, 'video_output_duration_seconds'), keyframe_private.read_figure(output, 'durationSeconds'))
    when 'input_megapixel' then keyframe_private.read_figure(metrics, 'image_input_megapixel_count')
    when 'output_megapixel' then coalesce(
      keyframe_private.read_figure(metrics, 'image_output_megapixel_count'),
      ceil(keyframe_private.read_figure(output, 'width') * keyframe_private.read_figure(output, 'height') / 1048576))
    when 'hardware_second' then keyframe_private.read_figure(metrics, 'predict_time')
  end;
end $$;

-- What a run with a complete input costs. A model has prices for one or more metrics, such as the run or a second of output. Each metric adds
-- one price: the one that matches the input with the most values and, among its versions, the newest. A price of 0 needs no quantity. If a
-- price or a quantity is unknown, there is no estimate, and the most that the run can cost is the ceiling of the model. An estimate is at
-- most a million dollars, so that a mistyped price causes no error.
create function keyframe_private.estimate_cost(model text, input jsonb, at timestamptz)
returns keyframe_private.run_cost language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  cost keyframe_private.run_cost;
begin
  select
    case when bool_and(p.matches) then array_agg(p.id order by p.id) end,
    case when bool_and(a.amount is not null) then least(ceil(sum(a.amount) * 1000000), 1000000000000) end
  into cost.price_ids, cost.estimate_micros
  from (
    select distinct on (o.metric) o.*, o.applies_to <@ estimate_cost.input as matches
    from keyframe_private.model_prices o
    where o.model = estimate_cost.model and o.valid_from <= estimate_cost.at
    order by o.metric, matches desc, (select count(*) from jsonb_object_keys(o.applies_to)) desc, o.valid_from desc
  ) p
  cross join lateral (
    select case when not p.matches then null when p.price_usd = 0 then 0
      else p.price_usd * keyframe_private.most_quantity(p.metric, estimate_cost.input) end) a (amount);
  cost.most_micros := coalesce(cost.estimate_micros,
    (select max(m.cost_ceiling_micros) from keyframe.models m where m.model = estimate_cost.model));
  cost.markup := keyframe_private.markup_of(estimate_cost.model);
  cost.estimate_charge_micros := ceil(cost.estimate_micros * cost.markup);
  cost.most_charge_micros := ceil(cost.most_micros * cost.markup);
  return cost;
end $$;

-- What several runs cost together; null where one is unknown.
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

-- What an ended run costs by the prices of its start, in micro-dollars rounded up; null when it is unknown. Without a generic plan it is
-- planned at each end.
create function keyframe_private.settled_cost(price_ids bigint[], metrics jsonb, output jsonb)
returns bigint language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
begin
  return (
    select case when count(p.amount) = nullif(cardinality(price_ids), 0) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
    from (
      select case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.settled_quantity(o.metric, metrics, output) end
      from keyframe_private.model_prices o
      where o.id = any (price_ids)
    ) p (amount));
end $$;

create function keyframe_private.settle_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  billed text;
  cost bigint;
begin
  billed := case
    when new.outcome in ('no_run', 'aborted') then 'no'
    when new.outcome = 'succeeded' then 'yes'
    when new.outcome = 'lost' then 'unknown'
    when new.outcome is not null then (
      select m.billed_when ->> new.outcome from keyframe.models m
      -- The model may have been renamed, and the prediction with it.
      where m.step = new.step and m.model in (new.model, (select p.model from keyframe.predictions p where p.id = new.prediction_id))
      order by m.model <> new.model limit 1)
  end;
  cost := case when billed in ('yes', 'unknown') then keyframe_private.settled_cost(new.price_ids, new.metrics, null) end;
  new.cost_micros := case when billed = 'yes' or cost = 0 then cost end; -- if nobody knows whether it is billed, only a cost of 0 is certain
  new.cost_state := case
    when new.outcome is null then 'held' -- the run of a lost submit was found
    when billed = 'no' then 'released'
    when new.cost_micros is not null then 'settled'
    when new.outcome = 'succeeded' and exists (
      select from keyframe.predictions p where p.id = new.prediction_id and p.completed_at is null) then 'held'
    else 'unknown'
  end;
  return new;
end $$;

-- Called when a prediction ends or is deleted. By its file, a run never costs more than was held, because a file may state any length.
create function keyframe_private.settle_by_file()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  file constant jsonb := case when tg_op = 'UPDATE' then jsonb_build_object(
    'durationSeconds', new.output_duration_seconds, 'width', new.output_width, 'height', new.output_height) end;
begin
  update keyframe_private.provider_submits s
  set (cost_micros, cost_state) = (
    select case when c.micros is not null then least(c.micros, s.most_micros) end, case when c.micros is null then 'unknown' else 'settled' end
    from keyframe_private.settled_cost(s.price_ids, s.metrics, file) c (micros))
  where s.prediction_id = old.id and s.outcome = 'succeeded' and s.cost_state = 'held';
  return null;
end $$;

create function keyframe_private.give_back_run()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe_private.provider_submits s set markup = 0 where s.prediction_id = new.id;
  return null;
end $$;

-- Called for each change of a submit by a worker or an administrator: subtracts what it cost before.
create function keyframe_private.add_cost_change()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.cost_changes (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits,
    held_charge_micros, settled_charge_micros, unknown_charge_micros)
  select s.owner_id, (s.created_at at time zone 'UTC')::date, s.step, s.model, s.project_id,
    sum(c.sign * s.is_first::integer),
    coalesce(sum(c.sign * s.most_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(c.sign * s.cost_micros), 0),
    coalesce(sum(c.sign * s.most_micros) filter (where s.cost_state = 'unknown'), 0),
    coalesce(sum(c.sign) filter (where s.cost_state = 'unknown'), 0),
    coalesce(sum(c.sign * s.most_charge_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(c.sign * s.charge_micros), 0),
    coalesce(sum(c.sign * s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0)
  from unnest(array[old, new]::keyframe_private.provider_submits[]) with ordinality s
  cross join lateral (select case s.ordinality when 1 then -1 else 1 end) c (sign)
  where s.id is not null -- there is no old row of an insert, and no new one of a deletion
  group by 1, 2, 3, 4, 5;
  return null;
end $$;

-- The cost of all submits of a prediction, as in the API. A run that was given back counts as released. atMostMicros: null when unknown.
create function keyframe_private.cost_json(prediction uuid)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object(
      'amountMicros', case when bool_and(c.state in ('settled', 'released')) then keyframe_private.exact_sum(sum(s.charge_micros)) end,
      'atMostMicros', case when bool_and(c.state in ('settled', 'released') or s.most_micros is not null)
        then keyframe_private.exact_sum(sum(case c.state when 'settled' then s.charge_micros when 'released' then 0
          else s.most_charge_micros end)) end,
      'currency', 'USD',
      'state', case when bool_or(c.state = 'held') then 'held' when bool_or(c.state = 'unknown') then 'unknown'
        when bool_or(c.state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    cross join lateral (select case when s.markup = 0 then 'released' else s.cost_state end) c (state)
    where s.prediction_id = cost_json.prediction
    having count(*) > 0);
end $$;
