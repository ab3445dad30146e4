-- Checks of a row of models. They name every mistake, each a sentence with its path.

create function keyframe_private.has_shape(value jsonb, shape text)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return case shape
    when 'a list' then jsonb_typeof(value) = 'array'
    when 'an object' then jsonb_typeof(value) = 'object'
    when 'a list or an object' then jsonb_typeof(value) in ('array', 'object')
    when 'true or false' then jsonb_typeof(value) = 'boolean'
    when 'a text' then jsonb_typeof(value) = 'string' and btrim(value #>> '{}') <> ''
    when 'a text, a number, true or false' then jsonb_typeof(value) in ('string', 'number', 'boolean')
    when 'an integer' then value::text ~ '^-?\d+$'
    when 'a positive integer' then value::text ~ '^[1-9]\d{0,8}$' -- an integer of Postgres
    when 'a ratio such as "16:9"' then value::text ~ '^"[1-9]\d?:[1-9]\d?"$'
    -- The provider ignores an input whose name it does not know, such as an empty name or one with a space.
    when 'the name of a field' then value::text ~ '^"[A-Za-z_][A-Za-z0-9_.-]*"$'
  end;
end $$;
comment on function keyframe_private.has_shape is 'Whether a JSON value is what a sentence of model_mistakes says that it must be.';

create function keyframe_private.known_controls()
returns table (name text, kind text, shape text, steps keyframe.generation_step[]) language sql immutable set search_path = '' as $$
  values
    ('prompt', 'text', null, enum_range(null::keyframe.generation_step)),
    ('negativePrompt', 'text', null, enum_range(null::keyframe.generation_step)),
    ('firstFrame', 'image', null, '{video}'),
    ('lastFrame', 'image', null, '{video}'),
    ('referenceImages', 'images', null, enum_range(null::keyframe.generation_step)),
    ('aspectRatio', 'choice', 'a ratio such as "16:9"', enum_range(null::keyframe.generation_step)),
    ('resolution', 'choice', 'a text', enum_range(null::keyframe.generation_step)),
    ('durationSeconds', 'choice', 'a positive integer', '{video}'),
    ('audio', 'choice', 'true or false', '{video}'),
    ('seed', 'choice', 'an integer', enum_range(null::keyframe.generation_step))
$$;
comment on function keyframe_private.known_controls is 'The controls that a row of models can have: images, texts, and choices among values, each of a shape.';

create function keyframe_private.control_values(control jsonb)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(control -> 'values')
    when 'array' then control -> 'values'
    when 'object' then coalesce(control -> 'order', (select jsonb_agg(v.key order by v.key) from jsonb_each(control -> 'values') v))
  end;
end $$;
comment on function keyframe_private.control_values is 'The values that a control of a model takes, as a list of ours; null for a range and for a text.';

-- Null, for a model without the control: no.
create function keyframe_private.control_takes(control jsonb, value jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  if control is null then
    return false;
  elsif control ? 'values' then
    return jsonb_typeof(value) in ('string', 'number', 'boolean') and keyframe_private.control_values(control) @> value;
  elsif control ?| array['min', 'max'] then
    return jsonb_typeof(value) = 'number' and value::numeric = trunc(value::numeric)
      and value::numeric between coalesce((control ->> 'min')::numeric, value::numeric) and coalesce((control ->> 'max')::numeric, value::numeric);
  end if;
  return jsonb_typeof(value) = 'string' and char_length(value #>> '{}') <= coalesce((control ->> 'maxLength')::integer, 4000);
end $$;
comment on function keyframe_private.control_takes is 'Whether a control of a model takes a value.';

create function keyframe_private.known_keys()
returns table (key text, kinds text[], shape text) language sql immutable set search_path = '' as $$
  values
    ('field', '{text,image,images,choice}'::text[], 'the name of a field'),
    ('maxLength', '{text}', 'a positive integer'),
    ('required', '{image}', 'true or false'),
    ('list', '{images}', 'true or false'),
    ('max', '{images}', 'a positive integer'),
    ('values', '{choice}', 'a list or an object'),
    ('order', '{choice}', 'a list'),
    ('min', '{choice}', 'an integer'),
    ('max', '{choice}', 'an integer'),
    ('default', '{choice}', 'a text, a number, true or false'),
    ('needs', '{image,images,choice}', 'a list'),
    ('excludes', '{image,images,choice}', 'a list'),
    ('omitWith', '{choice}', 'a list'),
    ('forces', '{image,images,choice}', 'an object'),
    ('forcesByValue', '{choice}', 'an object')
$$;
comment on function keyframe_private.known_keys is 'The keys that a control can have, by the control''s kind, each of a shape.';

-- `ours` is its name in an object.
create function keyframe_private.element_mistake(key text, ours text, element jsonb, value_shape text)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return case
    when key = 'values' and ours is null and not keyframe_private.has_shape(element, value_shape) then format('must be %s.', value_shape)
    when key = 'values' and ours is not null and not keyframe_private.has_shape(to_jsonb(ours), value_shape) then
      format('cannot stand in an object: a value must be %s. Use a list.', value_shape)
    when key in ('values', 'forces') and not keyframe_private.has_shape(element, 'a text, a number, true or false') then
      'must be a text, a number, true or false.'
    when key in ('needs', 'excludes', 'omitWith', 'order') and not keyframe_private.has_shape(element, 'a text') then 'must be a text.'
    when key = 'forcesByValue' and not keyframe_private.has_shape(element, 'an object') then 'must be an object.'
  end;
end $$;
comment on function keyframe_private.element_mistake is 'What is wrong with one element of a list or an object under a key of a control; null: nothing.';

create function keyframe_private.shape_mistakes(step keyframe.generation_step, name text, control jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
declare
  path constant text := 'controls.' || name;
  known record;
  entry record;
begin
  select k.kind, k.shape into known from keyframe_private.known_controls() k where k.name = shape_mistakes.name
    and shape_mistakes.step = any (k.steps);
  if not found then
    return next format('%s is not a control of the step %s. It has: %s.', path, step,
      (select string_agg(k.name, ', ') from keyframe_private.known_controls() k where shape_mistakes.step = any (k.steps)));
    return;
  elsif not keyframe_private.has_shape(control, 'an object') then
    return next path || ' must be an object.';
    return;
  end if;

  if not control ? 'field' then
    return next path || '.field is missing: the model''s field.';
  end if;
  if name in ('resolution', 'durationSeconds', 'audio') and not control ? 'default' then
    return next path || '.default is missing: it decides the price, so it is always sent.';
  end if;
  if name = 'referenceImages' and not control ? 'max' then
    return next path || '.max is missing: how many images the model takes.';
  end if;
  if known.shape like '%integer' and not (case when control ? 'values' then not control ?| array['min', 'max'] else control ?& array['min', 'max'] end) then
    return next path || ' must have either values, or min and max.';
  elsif known.shape not like '%integer' and (not control ? 'values' or control ?| array['min', 'max']) then
    return next path || ' must have values, and no min or max.';
  end if;

  for entry in
    select e.key, e.item, path || e.at as path, k.shape from keyframe_private.json_entries(control) e
    left join keyframe_private.known_keys() k on k.key = e.key and known.kind = any (k.kinds)
  loop
    if entry.shape is null then
      return next format('%s is no key of this control. It takes: %s.', entry.path,
        (select string_agg(k.key, ', ') from keyframe_private.known_keys() k where known.kind = any (k.kinds)));
    elsif not keyframe_private.has_shape(entry.item, entry.shape) then
      return next format('%s must be %s.', entry.path, entry.shape);
    elsif entry.key = 'omitWith' and name <> 'aspectRatio' then
      return next entry.path || ' is possible for aspectRatio alone: any other choice would be ignored.';
    elsif entry.key in ('values', 'forces') and entry.item in ('[]', '{}') then
      return next entry.path || ' must not be empty.';
    else
      return query
        select format('%s%s %s', entry.path, i.at, keyframe_private.element_mistake(entry.key, i.key, i.item, known.shape))
        from keyframe_private.json_entries(entry.item) i
        where keyframe_private.element_mistake(entry.key, i.key, i.item, known.shape) is not null
        union all
        select format('%s%s is listed twice.', entry.path, i.at) from keyframe_private.json_entries(entry.item) i
        where i.key is null and exists (select from keyframe_private.json_entries(entry.item) o where o.item = i.item and o.at < i.at);
    end if;
  end loop;
end $$;
comment on function keyframe_private.shape_mistakes is 'What is wrong with the shape of a control.';

create function keyframe_private.meaning_mistakes(name text, controls jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
declare
  path constant text := 'controls.' || name;
  control constant jsonb := controls -> name;
  ours constant jsonb := keyframe_private.control_values(control);
  other record;
begin
  return query
    select format('%s.field names the field %s, which controls.%s.field fills already.', path, control ->> 'field', c.key)
      from jsonb_each(controls) c
    where c.value -> 'field' = control -> 'field' and c.key < name;
  if (control ->> 'min')::numeric > (control ->> 'max')::numeric then
    return next path || '.min must not be greater than max.';
  end if;
  if name = 'referenceImages' and (control ->> 'max')::integer > 1 and control -> 'list' is distinct from 'true' then
    return next path || '.list must be true: the model takes several images.';
  end if;
  if control ? 'default' and not keyframe_private.control_takes(control, control -> 'default') then
    return next path || '.default is not among its values.';
  end if;
  if control ? 'order' and (jsonb_typeof(control -> 'values') <> 'object'
    or array(select jsonb_array_elements_text(control -> 'order') v order by v) <> array(select jsonb_object_keys(control -> 'values') v order by v)) then
    return next path || '.order must name each key of values once, and values must be an object.';
  end if;
  return query
    select format('%s.forcesByValue%s is not among its values.', path, v.at)
      from keyframe_private.json_entries(control -> 'forcesByValue') v
    where v.key not in (select jsonb_array_elements_text(ours));

  for other in
    select l.key, path || '.' || l.key || e.at as path, e.item #>> '{}' as name
    from unnest(array['needs', 'excludes', 'omitWith']) l (key) cross join lateral keyframe_private.json_entries(control -> l.key) e
  loop
    if other.name = name or not controls ? other.name then
      return next format('%s must be another control of this model, not %s.', other.path, other.name);
    elsif other.key = 'omitWith' and other.name not in ('firstFrame', 'lastFrame', 'referenceImages') then
      return next format('%s must be firstFrame, lastFrame or referenceImages, not %s.', other.path, other.name);
    end if;
  end loop;

  for other in
    select path || '.forces' || f.at as path, f.key as name, f.item as value from keyframe_private.json_entries(control -> 'forces') f
    union all
    select path || '.forcesByValue' || v.at || f.at, f.key, f.item
    from keyframe_private.json_entries(control -> 'forcesByValue') v cross join lateral keyframe_private.json_entries(v.item) f
  loop
    if other.name = name or not controls ? other.name then
      return next other.path || ' is no other control of this model.';
    elsif not keyframe_private.control_takes(controls -> other.name, other.value) then
      return next format('%s is not among the values of %s.', other.path, other.name);
    end if;
  end loop;
end $$;
comment on function keyframe_private.meaning_mistakes is 'What is wrong with a control of right shape beside the others of its model.';

-- First those of shape; what the keys mean is looked at when their shapes are right.
create function keyframe_private.model_mistakes(step keyframe.generation_step, controls jsonb, fixed jsonb)
returns text language plpgsql immutable set search_path = '' as $$
declare
  mistakes text[];
begin
  mistakes := array(
    select 'controls must be an object.' where not keyframe_private.has_shape(controls, 'an object')
    union all select 'fixed must be an object.' where not keyframe_private.has_shape(fixed, 'an object')
    union all select format('controls.%s is missing.', needed.name) from unnest(array['prompt', 'firstFrame']) needed (name)
      where not controls ? needed.name and (needed.name = 'prompt' or step = 'video')
    union all select format('fixed%s must be the name of a field.', f.at) from keyframe_private.json_entries(fixed) f
      where not keyframe_private.has_shape(to_jsonb(f.key), 'the name of a field')
    union all select m from keyframe_private.json_entries(controls) c
      cross join lateral keyframe_private.shape_mistakes(step, c.key, c.item) m
      where c.key is not null);
  if mistakes = '{}' then
    mistakes := array(
      select format('fixed%s names the field %s, which controls.%s.field fills already.', f.at, f.key, c.key)
      from keyframe_private.json_entries(fixed) f join jsonb_each(controls) c on c.value ->> 'field' = f.key
      union all
      select m from jsonb_each(controls) c cross join lateral keyframe_private.meaning_mistakes(c.key, controls) m);
  end if;
  return (select string_agg(m, ' ' order by m collate "C") from unnest(mistakes) m);
end $$;
comment on function keyframe_private.model_mistakes is 'The mistakes in a row of models, each a sentence with its path; null when there is none.';

-- Refuses a row that would send an input which the model ignores or refuses.
create function keyframe_private.require_well_formed_model()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  mistakes text := keyframe_private.model_mistakes(new.step, new.controls, new.fixed);
begin
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'model_is_well_formed',
      hint = 'docs/models.md has every key of controls.';
  end if;
  return new;
end $$;
