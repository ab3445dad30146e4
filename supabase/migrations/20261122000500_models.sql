-- The models that serve a step, how each one takes our inputs, and the default of each step. An administrator edits rows in Studio; no
-- deploy is needed.

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

create table keyframe.models (
  step keyframe.generation_step not null,
  model text not null constraint model_is_owner_slash_name check (model ~ '^[a-z0-9._-]+/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$'),
  label text not null constraint label_is_not_empty check (btrim(label) <> ''),
  vendor text not null constraint vendor_is_not_empty check (btrim(vendor) <> ''),
  enabled boolean not null default true,
  position integer not null default 1000,
  shutdown_at timestamptz,
  refused_at timestamptz,
  accepts_faces text not null default 'unknown' constraint accepts_faces_is_known check (accepts_faces in ('yes', 'no', 'unknown')),
  controls jsonb not null,
  fixed jsonb not null default '{}',
  notes text not null default '',
  primary key (step, model)
);
comment on table keyframe.models is 'The models that can serve a step. step_defaults names the one that a start uses when it names none.';
comment on column keyframe.models.model is 'owner/name at Replicate, or owner/name:version for a community model.';
comment on column keyframe.models.label is 'The name that people choose the model by.';
comment on column keyframe.models.vendor is 'Who makes the model.';
comment on column keyframe.models.enabled is 'False: the model is not offered, and a start that names it is refused.';
comment on column keyframe.models.position is 'The order in which the models of a step are offered, and in which one takes over from another.';
comment on column keyframe.models.shutdown_at is 'When the vendor ends the model, if that is announced. Later starts take another model.';
comment on column keyframe.models.refused_at is 'When the provider refused the model as unknown: it is unavailable since. Any change of the row clears it, and so does a later success.';
comment on column keyframe.models.accepts_faces is 'Whether the model takes images that show people''s faces: yes, no or unknown.';
comment on column keyframe.models.controls is 'Our name of each input -> how the model takes it, for example {"durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}}. docs/models.md explains the keys.';
comment on column keyframe.models.fixed is 'Fields of the model that are always sent, for example {"output_format": "png"}.';

alter table keyframe.models enable row level security;
create policy models_select_everyone on keyframe.models for select to authenticated using (true);
grant select on keyframe.models to authenticated, service_role;

create table keyframe.step_defaults (
  step keyframe.generation_step primary key,
  model text not null,
  foreign key (step, model) references keyframe.models (step, model) on update cascade
);
comment on table keyframe.step_defaults is 'The model of each step that a start uses when it names none. To switch: update keyframe.step_defaults set model = ''google/veo-3.1'' where step = ''video''.';

alter table keyframe.step_defaults enable row level security;
create policy step_defaults_select_everyone on keyframe.step_defaults for select to authenticated using (true);
grant select on keyframe.step_defaults to authenticated, service_role;

-- What a JSON value contains: of an object each key, of a list each place, of anything else nothing. `at` continues a path.
create function keyframe_private.json_entries(value jsonb)
returns table (at text, key text, item jsonb)
language plpgsql
immutable
set search_path = ''
as $$
begin
  return query
    select '.' || e.key, e.key, e.value from jsonb_each(case jsonb_typeof(json_entries.value) when 'object' then json_entries.value else '{}' end) e
    union all
    select format('[%s]', e.place - 1), null, e.value
    from jsonb_array_elements(case jsonb_typeof(json_entries.value) when 'array' then json_entries.value else '[]' end) with ordinality e (value, place);
end
$$;

-- Whether a JSON value is what a sentence of model_mistakes says that it must be.
create function keyframe_private.has_shape(value jsonb, shape text)
returns boolean
language plpgsql
immutable
set search_path = ''
as $$
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
end
$$;

-- The controls that a row of models can have: images, texts, and choices among values, each of a shape.
create function keyframe_private.known_controls()
returns table (name text, kind text, shape text, steps keyframe.generation_step[])
language sql
immutable
set search_path = ''
as $$
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

-- The values that a control of a model takes, as a list of ours; null for a range and for a text.
create function keyframe_private.control_values(control jsonb)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
begin
  return case jsonb_typeof(control -> 'values')
    when 'array' then control -> 'values'
    when 'object' then coalesce(control -> 'order', (select jsonb_agg(v.key order by v.key) from jsonb_each(control -> 'values') v))
  end;
end
$$;

-- Whether a control of a model takes a value. Null, for a model without the control: no.
create function keyframe_private.control_takes(control jsonb, value jsonb)
returns boolean
language plpgsql
immutable
set search_path = ''
as $$
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
end
$$;

-- The mistakes in a row of models, each a sentence with its path; null when there is none. First those of shape; what the keys mean is
-- looked at when their shapes are right.
create function keyframe_private.model_mistakes(step keyframe.generation_step, controls jsonb, fixed jsonb)
returns text
language plpgsql
immutable
set search_path = ''
as $$
#variable_conflict use_column
declare
  mistakes text;
begin
  with allowed (key, kinds, shape) as (values
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
  ), demanded (name, key, reason) as (values
    ('referenceImages', 'max', 'how many images the model takes'),
    ('resolution', 'default', 'it decides the price, so it is always sent'),
    ('durationSeconds', 'default', 'it decides the price, so it is always sent'),
    ('audio', 'default', 'it decides the price, so it is always sent')
  ), control as (
    select c.key as name, 'controls' || c.at as path, c.item, k.kind, k.shape
    from keyframe_private.json_entries(controls) c
    left join keyframe_private.known_controls() k on k.name = c.key and model_mistakes.step = any (k.steps)
  ), entry as (
    select c.*, e.key, c.path || e.at as entry_path, e.item as entry, a.shape as entry_shape
    from control c cross join lateral keyframe_private.json_entries(c.item) e
    left join allowed a on a.key = e.key and c.kind = any (a.kinds)
    where c.kind is not null
  ), element as (
    select e.name, e.shape, e.key, e.entry_path || i.at as path, i.item, i.key as ours
    from entry e cross join lateral keyframe_private.json_entries(e.entry) i
  ), wrong (path, sentence) as (
    select 'controls', 'must be an object.' where not keyframe_private.has_shape(controls, 'an object')
    union all select 'fixed', 'must be an object.' where not keyframe_private.has_shape(fixed, 'an object')
    union all select 'fixed' || f.at, 'must be the name of a field.' from keyframe_private.json_entries(fixed) f
      where not keyframe_private.has_shape(to_jsonb(f.key), 'the name of a field')
    union all select 'controls.' || k.name, 'is missing.' from (values ('prompt', null), ('firstFrame', 'video')) as k (name, step)
      where not controls ? k.name and coalesce(k.step, model_mistakes.step::text) = model_mistakes.step::text
    union all select c.path, format('is no control of the step %s. It has: %s.', model_mistakes.step,
        (select string_agg(k.name, ', ') from keyframe_private.known_controls() k where model_mistakes.step = any (k.steps)))
      from control c where c.kind is null
    union all select c.path, 'must be an object.' from control c where c.kind is not null and not keyframe_private.has_shape(c.item, 'an object')
    union all select e.entry_path, format('is no key of this control. It takes: %s.', (select string_agg(a.key, ', ') from allowed a where e.kind = any (a.kinds)))
      from entry e where e.entry_shape is null
    union all select e.entry_path, format('must be %s.', e.entry_shape) from entry e where not keyframe_private.has_shape(e.entry, e.entry_shape)
    union all select c.path || '.field', 'is missing: the model''s field.' from control c
      where c.kind is not null and keyframe_private.has_shape(c.item, 'an object') and not c.item ? 'field'
    union all select c.path || '.' || d.key, format('is missing: %s.', d.reason) from control c join demanded d on d.name = c.name
      where c.kind is not null and keyframe_private.has_shape(c.item, 'an object') and not c.item ? d.key
    union all select c.path, case when c.shape like '%integer' then 'must have either values, or min and max.' else 'must have values, and no min or max.' end
      from control c where c.kind = 'choice' and keyframe_private.has_shape(c.item, 'an object')
        and case when c.item ? 'values' then c.item ?| array['min', 'max'] else c.shape not like '%integer' or not c.item ?& array['min', 'max'] end
    union all select e.entry_path, 'is possible for aspectRatio alone: any other choice would be ignored.' from entry e
      where e.key = 'omitWith' and e.name <> 'aspectRatio'
    union all select e.entry_path, 'must not be empty.' from entry e where e.key in ('values', 'forces') and e.entry in ('[]', '{}')
    union all select e.path, format('must be %s.', e.shape) from element e
      where e.key = 'values' and e.ours is null and not keyframe_private.has_shape(e.item, e.shape)
    union all select e.path, format('cannot stand in an object: a value must be %s. Use a list.', e.shape) from element e
      where e.key = 'values' and e.ours is not null and not keyframe_private.has_shape(to_jsonb(e.ours), e.shape)
    union all select e.path, 'must be a text, a number, true or false.' from element e
      where e.key in ('values', 'forces') and e.ours is not null and not keyframe_private.has_shape(e.item, 'a text, a number, true or false')
    union all select e.path, 'must be a text.' from element e
      where e.key in ('needs', 'excludes', 'omitWith', 'order') and not keyframe_private.has_shape(e.item, 'a text')
    union all select e.path, 'must be an object.' from element e where e.key = 'forcesByValue' and not keyframe_private.has_shape(e.item, 'an object')
    union all select e.path, 'stands there twice.' from element e
      where e.ours is null and exists (select from element o where o.name = e.name and o.key = e.key and o.item = e.item and o.path < e.path)
  )
  select string_agg(w.path || ' ' || w.sentence, ' ' order by w.path, w.sentence) into mistakes from wrong w;
  if mistakes is not null then
    return mistakes;
  end if;

  with control as (
    select c.key as name, 'controls' || c.at as path, c.item from keyframe_private.json_entries(controls) c
  ), field (path, name, place) as (
    select c.path || '.field', c.item ->> 'field', 1 from control c
    union all select 'fixed' || f.at, f.key, 2 from keyframe_private.json_entries(fixed) f
  ), named as ( -- other controls
    select c.name, c.path || '.' || l.key || e.at as path, l.key, e.item #>> '{}' as other
    from control c cross join unnest(array['needs', 'excludes', 'omitWith']) as l (key)
    cross join lateral keyframe_private.json_entries(c.item -> l.key) e
  ), forced as ( -- values of other controls
    select c.name, c.path || '.forces' || f.at as path, f.key as other, f.item as value
    from control c cross join lateral keyframe_private.json_entries(c.item -> 'forces') f
    union all
    select c.name, c.path || '.forcesByValue' || v.at || f.at, f.key, f.item
    from control c cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v cross join lateral keyframe_private.json_entries(v.item) f
  ), wrong (path, sentence) as (
    select f.path, format('names the field %s, which %s fills already.', f.name, o.path) from field f
      join field o on o.name = f.name and (o.place, o.path) < (f.place, f.path)
    union all select c.path || '.min', 'must not be greater than max.' from control c where (c.item ->> 'min')::numeric > (c.item ->> 'max')::numeric
    union all select c.path || '.list', 'must be true: the model takes several images.' from control c
      where c.name = 'referenceImages' and (c.item ->> 'max')::numeric > 1 and c.item -> 'list' is distinct from 'true'
    union all select c.path || '.default', 'is not among its values.' from control c
      where c.item ? 'default' and not keyframe_private.control_takes(c.item, c.item -> 'default')
    union all select c.path || '.order', 'must name each key of values once, and values must be an object.' from control c
      where c.item ? 'order' and (jsonb_typeof(c.item -> 'values') <> 'object' or not c.item -> 'values' ?& array(select jsonb_array_elements_text(c.item -> 'order'))
        or jsonb_array_length(c.item -> 'order') <> (select count(*) from jsonb_object_keys(c.item -> 'values')))
    union all select c.path || '.forcesByValue' || v.at, 'is not among its values.' from control c
      cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v
      where not exists (select from jsonb_array_elements_text(keyframe_private.control_values(c.item)) t where t = v.key)
    union all select n.path, format('must be another control of this model, not %s.', n.other) from named n where n.other = n.name or not controls ? n.other
    union all select n.path, format('must be firstFrame, lastFrame or referenceImages, not %s.', n.other) from named n
      where n.key = 'omitWith' and controls ? n.other and n.other not in ('firstFrame', 'lastFrame', 'referenceImages')
    union all select f.path, 'is no other control of this model.' from forced f where f.other = f.name or not controls ? f.other
    union all select f.path, format('is not among the values of %s.', f.other) from forced f
      where f.other <> f.name and controls ? f.other and not keyframe_private.control_takes(controls -> f.other, f.value)
  )
  select string_agg(w.path || ' ' || w.sentence, ' ' order by w.path, w.sentence) into mistakes from wrong w;
  return mistakes;
end
$$;

-- Refuses a row that would send an input which the model ignores or refuses.
create function keyframe_private.require_well_formed_model()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
declare
  mistakes text := keyframe_private.model_mistakes(new.step, new.controls, new.fixed);
begin
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'model_is_well_formed',
      hint = 'docs/models.md has every key of controls.';
  end if;
  return new;
end
$$;
create trigger _100_require_well_formed before insert or update on keyframe.models
  for each row execute function keyframe_private.require_well_formed_model();

-- A default can be chosen only among enabled models, and stays one until another is chosen.
create function keyframe_private.require_enabled_default()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from keyframe.models m where m.step = new.step and m.model = new.model and m.enabled for share;
  if not found then
    raise exception 'The step % has no enabled model %. Insert it into keyframe.models, or set enabled on its row, first.', new.step, new.model
      using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end
$$;
create trigger _100_require_enabled before insert or update on keyframe.step_defaults
  for each row execute function keyframe_private.require_enabled_default();

-- A step is never without a default: a start that names no model would have none.
create function keyframe_private.keep_default()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  raise exception 'The step % keeps a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''%''.', old.step, old.step
    using errcode = 'check_violation', constraint = 'every_step_keeps_a_default';
end
$$;
create trigger _100_keep_deleted before delete on keyframe.step_defaults
  for each row execute function keyframe_private.keep_default();
-- Not `update of step`: a model that gets another name updates both columns.
create trigger _100_keep_moved before update on keyframe.step_defaults
  for each row when (old.step <> new.step) execute function keyframe_private.keep_default();

create function keyframe_private.refuse_disabled_default()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  if exists (select from keyframe.step_defaults d where d.step = old.step and d.model = old.model) then
    raise exception '% is the default of the step %. Choose another first: update keyframe.step_defaults set model = ''…'' where step = ''%''.',
      old.model, old.step, old.step using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end
$$;
create trigger _200_refuse_disabled_default before update of enabled on keyframe.models
  for each row when (old.enabled and not new.enabled) execute function keyframe_private.refuse_disabled_default();

-- Whether a start can use a model at a time.
create function keyframe_private.is_available(candidate keyframe.models, at timestamptz)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return candidate.enabled and candidate.refused_at is null and coalesce(candidate.shutdown_at > at, true);
end
$$;

-- Who changes the row of a refused model wants it tried again.
create function keyframe_private.clear_refusal()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  new.refused_at := null;
  return new;
end
$$;
create trigger _300_clear_refusal before update on keyframe.models
  for each row when (old.refused_at is not null and new.refused_at = old.refused_at) execute function keyframe_private.clear_refusal();

-- The models that can take over from one, in the order in which a start tries them.
create function keyframe_private.successors_of(model keyframe.models, at timestamptz)
returns setof keyframe.models
language plpgsql
stable
set search_path = ''
as $$
begin
  return query
    select m.* from keyframe.models m
    where m.step = (successors_of.model).step and m.model <> (successors_of.model).model and keyframe_private.is_available(m, at)
    order by m.position, m.model;
end
$$;

-- GET /api/models.
create function keyframe.list_models()
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
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
        'shutdownAt', to_char(m.shutdown_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'successor', case when m.shutdown_at is not null or not keyframe_private.is_available(m, now()) then (
          select n.model from keyframe_private.successors_of(m, greatest(m.shutdown_at, now())) n limit 1) end,
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
end
$$;
comment on function keyframe.list_models is 'The enabled models of each step, in order, with what each control takes.';
grant execute on function keyframe.list_models() to authenticated;

-- Image models. A last frame gets its first frame as the first of its reference images. Sources and dates: docs/models.md.
insert into keyframe.models (step, position, model, label, vendor, shutdown_at, controls, fixed, notes)
select step, position, model, label, vendor, shutdown_at::timestamptz, controls::jsonb, fixed::jsonb, notes
from unnest(array['first-frame', 'last-frame']::keyframe.generation_step[]) as step
cross join (values
  (10, 'google/nano-banana-2', 'Nano Banana 2', 'Google', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "1K"}
  }', '{"output_format": "png", "google_search": false, "image_search": false}', ''),
  (20, 'black-forest-labs/flux-2-pro', 'FLUX.2 Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "input_images", "list": true, "max": 8},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5"]},
    "resolution": {"field": "resolution", "values": ["0.5 MP", "1 MP", "2 MP", "4 MP"], "default": "1 MP"},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', 'The price grows with the reference images.'),
  (30, 'bytedance/seedream-4.5', 'Seedream 4.5', 'ByteDance', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (40, 'google/nano-banana-pro', 'Nano Banana Pro', 'Google', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"output_format": "png", "allow_fallback_model": false}', ''),
  (50, 'bytedance/seedream-4', 'Seedream 4', 'ByteDance', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (60, 'black-forest-labs/flux-kontext-pro', 'FLUX.1 Kontext Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "input_image", "max": 1},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9", "9:21", "2:1", "1:2"]},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', ''),
  (70, 'google/nano-banana', 'Nano Banana', 'Google', '2027-03-15', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]}
  }', '{"output_format": "png"}', 'Google ended it on its own API on 2026-10-02.')
) as image_models (position, model, label, vendor, shutdown_at, controls, fixed, notes);

-- Video models. Where frames and reference images exclude each other, the row has no referenceImages, because a video always starts
-- from a first frame.
insert into keyframe.models (step, position, model, label, vendor, accepts_faces, controls, fixed, notes) values
  ('video', 10, 'kwaivgi/kling-v3-omni-video', 'Kling 3.0 Omni', 'Kuaishou', 'yes', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 5},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'Takes seven images, the frames included. <<<image_1>>> in the prompt stands for the first reference image.'),
  ('video', 20, 'google/veo-3.1-fast', 'Veo 3.1 Fast', 'Google', 'yes', '{
    "prompt": {"field": "prompt"},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', ''),
  ('video', 30, 'pixverse/pixverse-v6', 'PixVerse V6', 'PixVerse', 'unknown', '{
    "prompt": {"field": "prompt"},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"]},
    "resolution": {"field": "quality", "values": ["360p", "540p", "720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 8, 10, 15], "default": 5},
    "audio": {"field": "generate_audio_switch", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"generate_multi_clip_switch": false}', ''),
  ('video', 40, 'kwaivgi/kling-v3-video', 'Kling 3.0', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', ''),
  ('video', 50, 'kwaivgi/kling-v2.6', 'Kling 2.6', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'Takes no last frame.'),
  ('video', 60, 'kwaivgi/kling-v2.5-turbo-pro', 'Kling 2.5 Turbo Pro', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', ''),
  ('video', 70, 'kwaivgi/kling-v2.1', 'Kling 2.1', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image", "required": true},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"], "forces": {"resolution": "1080p"}},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro"}, "order": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', 'A last frame is possible in 1080p alone.'),
  ('video', 80, 'minimax/hailuo-02', 'Hailuo 02', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000},
    "firstFrame": {"field": "first_frame_image"},
    "lastFrame": {"field": "last_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'Ten seconds are possible in 768p alone.'),
  ('video', 90, 'minimax/hailuo-2.3', 'Hailuo 2.3', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000},
    "firstFrame": {"field": "first_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'Takes no last frame. Ten seconds are possible in 768p alone.'),
  ('video', 100, 'google/veo-3.1', 'Veo 3.1', 'Google', 'yes', '{
    "prompt": {"field": "prompt"},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', 'Twice the price of Veo 3.1 Fast.'),
  ('video', 110, 'prunaai/p-video', 'P-Video', 'Pruna AI', 'unknown', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "1:1"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 15, 20], "default": 5},
    "audio": {"field": "save_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"draft": false, "fps": 24}', 'The lowest price: for drafts.'),
  ('video', 120, 'bytedance/seedance-2.5', 'Seedance 2.5', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"aspect_ratio": "adaptive", "output_format": "mp4", "watermark": false}', 'Refuses photographic faces, also generated ones.'),
  ('video', 130, 'bytedance/seedance-2.0', 'Seedance 2.0', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', 'Refuses photographic faces, also generated ones.'),
  ('video', 140, 'bytedance/seedance-2.0-fast', 'Seedance 2.0 Fast', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', 'Refuses photographic faces, also generated ones.');

insert into keyframe.step_defaults (step, model) values
  ('first-frame', 'google/nano-banana-2'), ('last-frame', 'google/nano-banana-2'), ('video', 'kwaivgi/kling-v3-omni-video');
