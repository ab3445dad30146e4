-- The list of models, with what the default of each step costs.

-- Against an unknown cost every run does.
create function keyframe_private.costs_no_more(micros bigint, asked_micros bigint)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return asked_micros is null or coalesce(micros <= asked_micros, false);
end $$;
comment on function keyframe_private.costs_no_more is 'Whether a run takes the place of another, by the most that each can cost.';

create function keyframe_private.default_cost(chosen keyframe.models, at timestamptz)
returns bigint language plpgsql stable set search_path = '' as $$
begin
  return (keyframe_private.most_cost(chosen.model, (
    select coalesce(jsonb_object_agg(c.key, c.value -> 'default'), '{}') from jsonb_each(chosen.controls) c where c.value ? 'default'
  ), at)).most_micros;
end $$;
comment on function keyframe_private.default_cost is 'The most that a run of a model with its defaults costs.';

create function keyframe_private.default_successor(gone keyframe.models, at timestamptz)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (
    select s.model from keyframe_private.successors_of(gone, at) s
    where keyframe_private.costs_no_more(keyframe_private.default_cost(s, at), keyframe_private.default_cost(gone, at))
    limit 1);
end $$;
comment on function keyframe_private.default_successor is 'The model that takes over from another for an input that asks for nothing; null without one.';

create function keyframe_private.prices_json(model text)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(json_agg(json_build_object(
      'appliesTo', p.applies_to, 'metric', p.metric, 'priceUsd', p.price_usd, 'checkedAt', p.checked_at) order by p.metric, p.id), '[]')
    from (
      select distinct on (o.metric, o.applies_to) o.* from keyframe_private.model_prices o
      where o.model = prices_json.model and o.valid_from <= now()
      order by o.metric, o.applies_to, o.valid_from desc
    ) p);
end $$;
comment on function keyframe_private.prices_json is 'The prices of a model that hold now, as in GET /api/models.';

create function keyframe.list_models()
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
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
            c.value - array['field', 'list', 'order', 'omitWith'] || jsonb_build_object('values', keyframe_private.control_values(c.value))))
          from jsonb_each(m.controls) c)
      ) order by m.position, m.model), '[]')
      from keyframe.models m where m.step = s.step and m.enabled
    )) order by s.step)
    from unnest(enum_range(null::keyframe.generation_step)) as s (step)
    left join keyframe.step_defaults d on d.step = s.step
  ));
end $$;
comment on function keyframe.list_models is 'The enabled models of each step, in order, with what each control takes and what a run costs.';
