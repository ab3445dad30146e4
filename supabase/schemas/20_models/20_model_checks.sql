-- Checks of a row of models: its controls, the keys of each, and the rules between them. A mistake is a sentence with its path.

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

-- shape: that of a choice's values. needs: the key that the control must have beside field.
create function keyframe_private.known_controls()
returns table (name text, kind text, shape text, only_video boolean, needs text, why text) language sql immutable set search_path = '' as $$
  values
    ('prompt', 'text', null, false, null, null),
    ('negativePrompt', 'text', null, false, null, null),
    ('firstFrame', 'image', null, true, null, null),
    ('lastFrame', 'image', null, true, null, null),
    ('referenceImages', 'images', null, false, 'max', 'how many images the model takes'),
    ('aspectRatio', 'choice', 'a ratio such as "16:9"', false, null, null),
    ('resolution', 'choice', 'a text', false, 'default', 'it decides the price, so it is always sent'),
    ('durationSeconds', 'choice', 'a positive integer', true, 'default', 'it decides the price, so it is always sent'),
    ('audio', 'choice', 'true or false', true, 'default', 'it decides the price, so it is always sent'),
    ('seed', 'choice', 'an integer', false, null, null)
$$;

-- kinds: of the controls that can have the key. shape: that of its value. element: that of the value's elements.
create function keyframe_private.known_keys()
returns table (key text, kinds text[], shape text, element text) language sql immutable set search_path = '' as $$
  values
    ('field', '{text,image,images,choice}'::text[], 'the name of a field', null),
    ('maxLength', '{text}', 'a positive integer', null),
    ('required', '{image}', 'true or false', null),
    ('list', '{images}', 'true or false', null),
    ('max', '{images}', 'a positive integer', null),
    ('countsFrames', '{images}', 'true or false', null),
    ('values', '{choice}', 'a list or an object', 'a text, a number, true or false'),
    ('order', '{choice}', 'a list', 'a text'),
    ('min', '{choice}', 'an integer', null),
    ('max', '{choice}', 'an integer', null),
    ('default', '{choice}', 'a text, a number, true or false', null),
    ('needs', '{image,images,choice}', 'a list', 'a text'),
    ('excludes', '{image,images,choice}', 'a list', 'a text'),
    ('omitWith', '{choice}', 'a list', 'a text'),
    ('forces', '{image,images,choice}', 'an object', 'a text, a number, true or false'),
    ('forcesByValue', '{choice}', 'an object', 'an object')
$$;

-- Returns a list of our values; null for a range and for a text.
create function keyframe_private.control_values(control jsonb)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(control -> 'values')
    when 'array' then control -> 'values'
    when 'object' then coalesce(control -> 'order', (select jsonb_agg(v.key order by v.key) from jsonb_each(control -> 'values') v))
  end;
end $$;

-- A model without the control (null) accepts none.
create function keyframe_private.control_accepts(control jsonb, value jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  if control is null then
    return false;
  elsif control ? 'values' then
    return jsonb_typeof(value) in ('string', 'number', 'boolean') and keyframe_private.control_values(control) @> value;
  elsif control ?| array['min', 'max'] then
    return jsonb_typeof(value) = 'number' and value::numeric = trunc(value::numeric)
      and value::numeric between coalesce((control ->> 'min')::numeric, value::numeric)
        and coalesce((control ->> 'max')::numeric, value::numeric);
  end if;
  return jsonb_typeof(value) = 'string' and char_length(value #>> '{}') <= coalesce((control ->> 'maxLength')::integer, 4000);
end $$;

create function keyframe_private.shape_mistakes(step keyframe.generation_step, controls jsonb, fixed jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
begin
  return query
    with known as (
      select k.* from keyframe_private.known_controls() k where shape_mistakes.step = 'video' or not k.only_video
    ), control as (
      select 'controls.' || e.key as path, e.key as name, e.item, k.kind, k.shape, k.needs, k.why, k.shape like '%integer' as is_number,
        e.item ? 'values' as has_values, e.item ?| array['min', 'max'] as has_limit
      from keyframe_private.json_entries(controls) e left join known k on k.name = e.key
      where e.key is not null
    ), entry as (
      select c.path || e.at as path, e.key, e.item, c.shape as value_shape, k.element, case
        when k.key is null then format(' is not a key of this control. It takes: %s.',
          (select string_agg(o.key, ', ') from keyframe_private.known_keys() o where c.kind = any (o.kinds)))
        when not keyframe_private.has_shape(e.item, k.shape) then format(' must be %s.', k.shape)
        when e.key = 'omitWith' and c.name <> 'aspectRatio' then ' is only possible for aspectRatio: any other choice would be ignored.'
        when e.key in ('values', 'forces') and e.item in ('[]', '{}') then ' must not be empty.' end as mistake
      from control c
      cross join lateral keyframe_private.json_entries(c.item) e
      left join keyframe_private.known_keys() k on k.key = e.key and c.kind = any (k.kinds)
      where c.kind is not null and e.key is not null
    ), element as (
      select e.path || i.at as path, i.at, i.key as ours, i.item, e.item as list, e.value_shape, e.key = 'values' as is_value,
        case when e.key = 'values' and i.key is null then e.value_shape else e.element end as shape
      from entry e cross join lateral keyframe_private.json_entries(e.item) i
      where e.mistake is null
    )
    select 'controls must be an object.' where not keyframe_private.has_shape(controls, 'an object')
    union all select 'fixed must be an object.' where not keyframe_private.has_shape(fixed, 'an object')
    union all select format('fixed%s must be the name of a field.', f.at) from keyframe_private.json_entries(fixed) f
      where not keyframe_private.has_shape(to_jsonb(f.key), 'the name of a field')
    union all select 'controls.prompt is missing.' where not controls ? 'prompt'
    union all select case when c.kind is not null then c.path || ' must be an object.' else
        format('%s is not a control of the step %s. It has: %s.', c.path, shape_mistakes.step,
          (select string_agg(k.name, ', ') from known k)) end
      from control c where c.kind is null or not keyframe_private.has_shape(c.item, 'an object')
    union all select format('%s.%s is missing: %s.', c.path, needed.key, needed.why)
      from control c cross join lateral (values ('field', 'the model''s field'), (c.needs, c.why)) needed (key, why)
      where c.kind is not null and keyframe_private.has_shape(c.item, 'an object') and not c.item ? needed.key
    union all select c.path || case when c.is_number then ' must have either values, or min and max.'
        else ' must have values, and no min or max.' end
      from control c where c.kind = 'choice' and keyframe_private.has_shape(c.item, 'an object')
        and case when c.is_number and not c.has_values then not c.item ?& array['min', 'max'] else not c.has_values or c.has_limit end
    union all select e.path || e.mistake from entry e where e.mistake is not null
    union all select e.path || case
        when e.is_value and not keyframe_private.has_shape(to_jsonb(e.ours), e.value_shape) then
          format(' cannot stand in an object: a value must be %s. Use a list.', e.value_shape)
        else format(' must be %s.', e.shape) end
      from element e
      where not keyframe_private.has_shape(e.item, e.shape) or e.is_value
        and not keyframe_private.has_shape(to_jsonb(e.ours), e.value_shape)
    union all select e.path || ' is listed twice.' from element e
      where e.ours is null and exists (select from keyframe_private.json_entries(e.list) o where o.item = e.item and o.at < e.at);
end $$;

-- Checks the rules between the controls of a model, when their shapes are right.
create function keyframe_private.meaning_mistakes(controls jsonb, fixed jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
begin
  return query
    with control as (
      select 'controls.' || c.key as path, c.key as name, c.value as item from jsonb_each(controls) c
    ), named as (
      select c.name, l.key, e.item #>> '{}' as other, format('%s.%s%s', c.path, l.key, e.at) as path
      from control c cross join unnest(array['needs', 'excludes', 'omitWith']) l (key)
      cross join lateral keyframe_private.json_entries(c.item -> l.key) e
    ), forced as (
      select c.name, f.key as other, f.item as value, c.path || '.forces' || f.at as path
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forces') f
      union all
      select c.name, f.key, f.item, c.path || '.forcesByValue' || v.at || f.at
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v
      cross join lateral keyframe_private.json_entries(v.item) f
    )
    select format('%s names the field %s, which controls.%s.field fills already.', f.path, f.field, c.name)
      from (
        select 'fixed' || e.at as path, e.key as field, null as name from keyframe_private.json_entries(fixed) e
        union all select o.path || '.field', o.item ->> 'field', o.name from control o) f
      -- A control that is left out beside images may have a fixed value for them.
      join control c on c.item ->> 'field' = f.field and (f.name is null and not c.item ? 'omitWith' or c.name < f.name)
    union all select c.path || '.min must not be greater than max.' from control c
      where (c.item ->> 'min')::numeric > (c.item ->> 'max')::numeric
    union all select c.path || '.list must be true: the model takes several images.' from control c
      where c.name = 'referenceImages' and (c.item ->> 'max')::numeric > 1 and c.item -> 'list' is distinct from 'true'
    union all select c.path || '.default is not among its values.' from control c
      where c.item ? 'default' and not keyframe_private.control_accepts(c.item, c.item -> 'default')
    union all select c.path || '.order must name each key of values once, and values must be an object.' from control c
      where c.item ? 'order' and array(select v from jsonb_array_elements_text(c.item -> 'order') v order by v)
        <> array(select v.key from keyframe_private.json_entries(c.item -> 'values') v order by v.key)
    union all select format('%s.forcesByValue%s is not among its values.', c.path, v.at)
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v
      where v.key not in (select jsonb_array_elements_text(keyframe_private.control_values(c.item)))
    union all select format('%s must be another control of this model, not %s.', n.path, n.other) from named n
      where n.other = n.name or not controls ? n.other
    union all select format('%s must be firstFrame, lastFrame or referenceImages, not %s.', n.path, n.other) from named n
      where n.key = 'omitWith' and n.other <> n.name and controls ? n.other
        and n.other not in ('firstFrame', 'lastFrame', 'referenceImages')
    union all select f.path || ' must be another control of this model.' from forced f where f.other = f.name or not controls ? f.other
    union all select format('%s is not among the values of %s.', f.path, f.other) from forced f
      where f.other <> f.name and controls ? f.other and not keyframe_private.control_accepts(controls -> f.other, f.value);
end $$;

create function keyframe_private.require_well_formed_model()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  mistakes text := coalesce(
    (select string_agg(m, ' ' order by m collate "C") from keyframe_private.shape_mistakes(new.step, new.controls, new.fixed) m),
    (select string_agg(m, ' ' order by m collate "C") from keyframe_private.meaning_mistakes(new.controls, new.fixed) m));
begin
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'model_is_well_formed',
      hint = 'docs/models.md has every key of controls.';
  end if;
  return new;
end $$;
