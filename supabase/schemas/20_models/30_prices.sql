-- Prices of runs. A price is a row, and a change is a new row: docs/costs.md.

create table keyframe_private.model_prices (
  id bigint generated always as identity primary key,
  model text not null,
  applies_to jsonb not null default '{}',
  metric text not null,
  -- With quantities below 10^9, an amount in micro-dollars stays a bigint.
  price_usd numeric not null constraint price_is_between_0_and_1000 check (price_usd between 0 and 1000),
  valid_from timestamptz not null default now(),
  source text not null constraint source_is_not_empty check (btrim(source) <> ''),
  checked_at date not null default current_date constraint checked_at_is_in_a_year_of_four_digits
    check (checked_at between '1970-01-01' and '9999-12-31'),
  constraint one_price_at_a_time unique (model, metric, applies_to, valid_from)
);
comment on table keyframe_private.model_prices is 'What a model costs per unit of a metric. The metrics of a model add up; a metric without a matching row makes the price of a run unknown.';
comment on column keyframe_private.model_prices.id is 'Runs keep the ids of their prices.';
comment on column keyframe_private.model_prices.applies_to is 'The values of an input for which it applies, for example {"resolution": "1080p", "audio": true}. Of the matching rows, the one with the most values counts.';
comment on column keyframe_private.model_prices.metric is 'run, image, output_second, input_megapixel, output_megapixel or hardware_second.';
comment on column keyframe_private.model_prices.valid_from is 'When it starts to apply, until a later row with the same applies_to.';
comment on column keyframe_private.model_prices.source is 'The address of the page with the price.';

create function keyframe_private.require_well_formed_price()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  mistakes text;
begin
  if not exists (select from keyframe.models m where m.model = new.model) then
    mistakes := format('model: there is no model %s. Insert it into keyframe.models first.', new.model);
  elsif not keyframe_private.has_shape(new.applies_to, 'an object') then
    mistakes := 'applies_to must be an object.';
  else
    select string_agg(mistake, ' ' order by mistake collate "C") into mistakes from (
      select 'metric must be run, image, output_second, input_megapixel, output_megapixel or hardware_second.'
      where new.metric not in ('run', 'image', 'output_second', 'input_megapixel', 'output_megapixel', 'hardware_second')
      union all
      select case
        when not exists (
          select from keyframe.models m join keyframe_private.known_controls() k on k.name = a.key and k.kind = 'choice'
          where m.model = new.model and m.controls ? a.key
        ) then format('applies_to.%s is not a control of %s with values.', a.key, new.model)
        when not exists (
          select from keyframe.models m where m.model = new.model and keyframe_private.control_accepts(m.controls -> a.key, a.value)
        ) then format('applies_to.%s: %s does not take %s.', a.key, new.model, a.value)
      end
      from jsonb_each(new.applies_to) a
      union all
      select format('applies_to fits some inputs that row %s (%s) fits too, and neither names more values. Name the same controls in both.',
        o.id, o.applies_to)
      from keyframe_private.model_prices o
      where o.model = new.model and o.metric = new.metric and o.id <> new.id and o.applies_to <> new.applies_to
        and (select count(*) from jsonb_object_keys(o.applies_to)) = (select count(*) from jsonb_object_keys(new.applies_to))
        and o.applies_to || new.applies_to = new.applies_to || o.applies_to
    ) found (mistake);
  end if;
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'price_is_well_formed',
      hint = 'docs/costs.md has the metrics.';
  end if;
  return new;
end $$;

-- What users pay: the provider's bill times a factor. A submit keeps its factor, so a change never reaches back.
create table keyframe_private.model_markups (
  model text primary key,
  markup numeric not null constraint markup_is_between_0_and_10 check (markup between 0 and 10)
);
comment on table keyframe_private.model_markups is 'Markups of single models, instead of the one in settings.';

create function keyframe_private.require_known_model()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if not exists (select from keyframe.models m where m.model = new.model) then
    raise exception 'There is no model %. keyframe.models has their names.', new.model
      using errcode = 'check_violation', constraint = 'model_is_known';
  end if;
  return new;
end $$;

create function keyframe_private.markup_of(model text)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    (select m.markup from keyframe_private.model_markups m where m.model = markup_of.model),
    (select s.markup from keyframe_private.settings s), 1);
end $$;

-- A model that gets another name at the provider keeps its prices and its markup. They are copied if another step still has the old name,
-- otherwise renamed.
create function keyframe_private.rename_prices()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.model_markups (model, markup)
  select new.model, m.markup from keyframe_private.model_markups m where m.model = old.model on conflict do nothing;
  if exists (select from keyframe.models m where m.model = old.model) then
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source, checked_at)
    select new.model, p.applies_to, p.metric, p.price_usd, p.valid_from, p.source, p.checked_at
    from keyframe_private.model_prices p where p.model = old.model
    on conflict do nothing;
  else
    update keyframe_private.model_prices p set model = new.model
    where p.model = old.model and not exists (
      select from keyframe_private.model_prices o
      where o.model = new.model and o.metric = p.metric and o.applies_to = p.applies_to and o.valid_from = p.valid_from);
    delete from keyframe_private.model_markups m where m.model = old.model;
  end if;
  return null;
end $$;

-- What a run should cost (estimate) and the most that it can cost, each as what the provider bills and as what the user pays (charge). If a
-- price is missing, price_ids and the estimates are null, and the most is the ceiling of the model, or null if there is none.
create type keyframe_private.run_cost as (
  price_ids bigint[], markup numeric, estimate_micros bigint, most_micros bigint, estimate_charge_micros bigint, most_charge_micros bigint);

-- Whether a run can replace the requested one: the most that the provider bills and the most that the user pays are no higher. Any run can
-- replace one whose cost is unknown.
create function keyframe_private.costs_no_more(run keyframe_private.run_cost, requested keyframe_private.run_cost)
returns boolean language sql immutable set search_path = ''
return requested.most_micros is null
  or coalesce(run.most_micros <= requested.most_micros and run.most_charge_micros <= requested.most_charge_micros, false);

create function keyframe_private.default_cost(chosen keyframe.models, at timestamptz)
returns keyframe_private.run_cost language plpgsql stable set search_path = '' as $$
begin
  return keyframe_private.estimate_cost(chosen.model, (
    select coalesce(jsonb_object_agg(c.key, c.value -> 'default'), '{}') from jsonb_each(chosen.controls) c where c.value ? 'default'
  ), at);
end $$;

create function keyframe_private.default_successor(gone keyframe.models, at timestamptz)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (
    select s.model from keyframe_private.successors_of(gone, at) s
    where keyframe_private.costs_no_more(keyframe_private.default_cost(s, at), keyframe_private.default_cost(gone, at))
    limit 1);
end $$;

-- The prices include the markup.
create function keyframe_private.prices_json(model text)
returns json language plpgsql stable set search_path = '' as $$
declare
  factor constant numeric := keyframe_private.markup_of(model);
begin
  return (
    select coalesce(json_agg(json_build_object(
      'appliesTo', p.applies_to, 'metric', p.metric, 'priceUsd', p.price_usd * factor, 'checkedAt', p.checked_at) order by p.metric, p.id), '[]')
    from (
      select distinct on (o.metric, o.applies_to) o.* from keyframe_private.model_prices o
      where o.model = prices_json.model and o.valid_from <= now()
      order by o.metric, o.applies_to, o.valid_from desc
    ) p);
end $$;

create function keyframe.list_models()
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
begin
  return json_build_object('rate', rate, 'steps', (
    select json_agg(json_build_object('step', s.step, 'models', (
      select coalesce(json_agg(json_build_object(
        'model', m.model, 'label', m.label, 'vendor', m.vendor,
        'isDefault', m.model = d.model,
        'available', keyframe_private.is_available(m, now()),
        'acceptsFaces', m.accepts_faces,
        'shutdownAt', keyframe_private.wire_time(m.shutdown_at),
        'successor', case when m.shutdown_at is not null or not keyframe_private.is_available(m, now()) then
          keyframe_private.default_successor(m, greatest(m.shutdown_at, now())) end,
        'prices', keyframe_private.prices_json(m.model),
        'billedWhen', m.billed_when,
        'promptMaxLength', least((m.controls #>> '{prompt,maxLength}')::integer, 4000),
        'notes', m.notes,
        'controls', (
          select jsonb_object_agg(c.key, jsonb_strip_nulls(
            c.value - array['field', 'list', 'order', 'omitWith']
              || jsonb_build_object('values', keyframe_private.control_values(c.value))))
          from jsonb_each(m.controls) c)
      ) order by m.position, m.model), '[]')
      from keyframe.models m where m.step = s.step and m.enabled
    )) order by s.step)
    from unnest(enum_range(null::keyframe.generation_step)) as s (step)
    left join keyframe.step_defaults d on d.step = s.step
  ));
end $$;
comment on function keyframe.list_models is 'The enabled models of each step, in order, with what each control accepts and what a run costs.';
