-- What a run can cost before it starts, and what it costs when it is finished.

create function keyframe_private.read_figure(figures jsonb, name text)
returns numeric language plpgsql immutable set search_path = '' as $$
begin
  if jsonb_typeof(figures -> name) = 'number' and (figures -> name)::numeric between 0 and 1000000 then
    return (figures -> name)::numeric;
  end if;
  return null;
end $$;
comment on function keyframe_private.read_figure is 'A figure of a provider or of a file; null when it is none, so that a strange one stops no result.';

-- Providers count the megapixels of each image, rounded up; 1 MP is 1024 × 1024 pixels. Null when the size of one is unknown.
create function keyframe_private.input_megapixels(input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return (
    select case when count(*) = count(s.pixels) then coalesce(sum(ceil(s.pixels / 1048576)), 0) end
    from keyframe_private.images_of(input) i
    left join keyframe.predictions p on p.id = i.source_prediction_id
    cross join lateral keyframe_private.upload_size(i.path) u
    cross join lateral (select coalesce(u.width::numeric * u.height, p.output_width::numeric * p.output_height)) s (pixels));
end $$;
comment on function keyframe_private.input_megapixels is 'The megapixels of the images in an input.';

-- A run makes one file.
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
comment on function keyframe_private.most_quantity is 'How many units of a metric a run with a resolved input has at most; null: unknown.';

-- Null when neither the provider's metrics nor the file say it.
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
comment on function keyframe_private.settled_quantity is 'How many units of a metric a finished run had: by the provider''s metrics, otherwise by its file.';

-- In micro-dollars rounded up: expected, null when it is unknown; the most, which is the model's ceiling then; and the prices, null when
-- one is missing. A price of 0 is known whatever the quantity. No run costs more than a million dollars: a mistyped price is no failure.
create function keyframe_private.most_cost(
  model text, input jsonb, at timestamptz, out price_ids bigint[], out most_micros bigint, out estimate_micros bigint)
language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
begin
  select
    case when bool_and(p.id is not null) then array_agg(p.id order by p.id) end,
    case when bool_and(p.amount is not null) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
  into price_ids, estimate_micros
  from (
    select distinct o.metric from keyframe_private.model_prices o where o.model = most_cost.model and o.valid_from <= most_cost.at
  ) billed
  left join lateral (
    select o.id, case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.most_quantity(o.metric, most_cost.input) end as amount
    from keyframe_private.model_prices o
    where o.model = most_cost.model and o.metric = billed.metric and o.valid_from <= most_cost.at and o.applies_to <@ most_cost.input
    order by (select count(*) from jsonb_object_keys(o.applies_to)) desc, o.valid_from desc
    limit 1
  ) p on true;
  most_micros := coalesce(estimate_micros, (select max(m.cost_ceiling_micros) from keyframe.models m where m.model = most_cost.model));
end $$;
comment on function keyframe_private.most_cost is 'What a run with a resolved input costs, in micro-dollars: expected, at most, and by which prices.';

create function keyframe_private.settled_cost(price_ids bigint[], metrics jsonb, output jsonb)
returns bigint language plpgsql stable set search_path = '' as $$
begin
  return (
    select case when count(p.amount) = nullif(cardinality(price_ids), 0) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
    from (
      select case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.settled_quantity(o.metric, metrics, output) end
      from keyframe_private.model_prices o
      where o.id = any (price_ids)
    ) p (amount));
end $$;
comment on function keyframe_private.settled_cost is 'What a finished run costs by the prices that it was started under, in micro-dollars rounded up; null when it is unknown.';
