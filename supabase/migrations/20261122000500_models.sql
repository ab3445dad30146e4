-- The models that serve a step, how each one takes our inputs, and the default of each step. An administrator edits rows in Studio; no
-- deploy is needed.

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

create table keyframe.models (
  step keyframe.generation_step not null,
  model text not null constraint model_is_owner_slash_name check (
    model ~ '^[a-z0-9._-]+/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$' and char_length(model) <= 200),
  label text not null constraint label_is_not_empty check (btrim(label) <> ''),
  vendor text not null constraint vendor_is_not_empty check (btrim(vendor) <> ''),
  enabled boolean not null default true,
  position integer not null default 1000,
  shutdown_at timestamptz,
  refused_at timestamptz,
  accepts_faces text not null default 'unknown' constraint accepts_faces_is_known check (accepts_faces in ('yes', 'no', 'unknown')),
  controls jsonb not null,
  fixed jsonb not null default '{}',
  output text constraint output_is_path check (
    output ~ '^(\[\d+\]|[A-Za-z_][A-Za-z0-9_-]*)(\[\d+\]|\.[A-Za-z_][A-Za-z0-9_-]*)*$' and char_length(output) <= 100),
  notes text not null default '',
  primary key (step, model),
  -- The API returns null for infinity, and has no time for other years.
  constraint times_are_in_years_of_four_digits check (
    shutdown_at >= '1970-01-01 00:00Z' and (shutdown_at < '9999-01-01 00:00Z' or shutdown_at = 'infinity'))
);
comment on table keyframe.models is 'The models that can serve a step. step_defaults names the one that a start uses when it names none.';
comment on column keyframe.models.step is 'The step that it serves; a model can have a row for each.';
comment on column keyframe.models.notes is 'For administrators: sources, and what to know.';
comment on column keyframe.models.model is 'owner/name at Replicate, or owner/name:version for a community model.';
comment on column keyframe.models.label is 'The name that people choose the model by.';
comment on column keyframe.models.vendor is 'Who makes the model.';
comment on column keyframe.models.enabled is 'False: the model is not offered, and a start that names it is refused.';
comment on column keyframe.models.position is 'The order in which the models of a step are offered, and in which one takes over from another.';
comment on column keyframe.models.shutdown_at is 'When the vendor ends the model, if that is announced. Later starts take another model.';
comment on column keyframe.models.refused_at is 'When the provider refused the model as unknown: it is unavailable since. Any change of the row clears it, and so does a later success.';
comment on column keyframe.models.accepts_faces is 'Whether the model takes images that show people''s faces: yes, no or unknown.';
comment on column keyframe.models.controls is 'Our name of each input -> how the model takes it, for example {"durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}}. docs/models.md explains the keys.';
comment on column keyframe.models.output is 'Where the file is in what the model returns, for example video, images[0] or result.url. Null: found by itself, which fails for an object of several files of the right kind.';
comment on column keyframe.models.fixed is 'Fields of the model that are always sent, for example {"output_format": "png"}.';

alter table keyframe.models enable row level security;
create policy models_all_client on keyframe.models as restrictive to authenticated
  using ((select keyframe_private.client_may('read')));
comment on policy models_all_client on keyframe.models is 'Hides the rows from OAuth clients that may not see them.';
create policy models_select_everyone on keyframe.models for select to authenticated using (true);
comment on policy models_select_everyone on keyframe.models is 'Every signed-in user sees all rows.';
grant select on keyframe.models to authenticated, service_role;

create table keyframe.step_defaults (
  step keyframe.generation_step primary key,
  model text not null,
  foreign key (step, model) references keyframe.models (step, model) on update cascade
);
comment on table keyframe.step_defaults is 'The model of each step that a start uses when it names none. To switch: update keyframe.step_defaults set model = ''google/veo-3.1'' where step = ''video''.';
comment on column keyframe.step_defaults.step is 'first-frame, last-frame or video.';
comment on column keyframe.step_defaults.model is 'An enabled model of this step.';

alter table keyframe.step_defaults enable row level security;
create policy step_defaults_all_client on keyframe.step_defaults as restrictive to authenticated
  using ((select keyframe_private.client_may('read')));
comment on policy step_defaults_all_client on keyframe.step_defaults is 'Hides the rows from OAuth clients that may not see them.';
create policy step_defaults_select_everyone on keyframe.step_defaults for select to authenticated using (true);
comment on policy step_defaults_select_everyone on keyframe.step_defaults is 'Every signed-in user sees all rows.';
grant select on keyframe.step_defaults to authenticated, service_role;

-- `at` continues a path.
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
comment on function keyframe_private.json_entries is 'What a JSON value contains: of an object each key, of a list each place, of anything else nothing.';

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
comment on function keyframe_private.has_shape is 'Whether a JSON value is what a sentence of model_mistakes says that it must be.';

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
comment on function keyframe_private.known_controls is 'The controls that a row of models can have: images, texts, and choices among values, each of a shape.';

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
comment on function keyframe_private.control_values is 'The values that a control of a model takes, as a list of ours; null for a range and for a text.';

-- Null, for a model without the control: no.
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
comment on function keyframe_private.control_takes is 'Whether a control of a model takes a value.';

create function keyframe_private.known_keys()
returns table (key text, kinds text[], shape text)
language sql
immutable
set search_path = ''
as $$
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
returns text
language plpgsql
immutable
set search_path = ''
as $$
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
end
$$;
comment on function keyframe_private.element_mistake is 'What is wrong with one element of a list or an object under a key of a control; null: nothing.';

create function keyframe_private.shape_mistakes(step keyframe.generation_step, name text, control jsonb)
returns setof text
language plpgsql
immutable
set search_path = ''
as $$
declare
  path constant text := 'controls.' || name;
  known record;
  entry record;
begin
  select k.kind, k.shape into known from keyframe_private.known_controls() k where k.name = shape_mistakes.name and shape_mistakes.step = any (k.steps);
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
end
$$;
comment on function keyframe_private.shape_mistakes is 'What is wrong with the shape of a control.';

create function keyframe_private.meaning_mistakes(name text, controls jsonb)
returns setof text
language plpgsql
immutable
set search_path = ''
as $$
declare
  path constant text := 'controls.' || name;
  control constant jsonb := controls -> name;
  ours constant jsonb := keyframe_private.control_values(control);
  other record;
begin
  return query
    select format('%s.field names the field %s, which controls.%s.field fills already.', path, control ->> 'field', c.key) from jsonb_each(controls) c
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
    select format('%s.forcesByValue%s is not among its values.', path, v.at) from keyframe_private.json_entries(control -> 'forcesByValue') v
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
end
$$;
comment on function keyframe_private.meaning_mistakes is 'What is wrong with a control of right shape beside the others of its model.';

-- First those of shape; what the keys mean is looked at when their shapes are right.
create function keyframe_private.model_mistakes(step keyframe.generation_step, controls jsonb, fixed jsonb)
returns text
language plpgsql
immutable
set search_path = ''
as $$
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
    union all select m from keyframe_private.json_entries(controls) c cross join lateral keyframe_private.shape_mistakes(step, c.key, c.item) m
      where c.key is not null);
  if mistakes = '{}' then
    mistakes := array(
      select format('fixed%s names the field %s, which controls.%s.field fills already.', f.at, f.key, c.key)
      from keyframe_private.json_entries(fixed) f join jsonb_each(controls) c on c.value ->> 'field' = f.key
      union all
      select m from jsonb_each(controls) c cross join lateral keyframe_private.meaning_mistakes(c.key, controls) m);
  end if;
  return (select string_agg(m, ' ' order by m collate "C") from unnest(mistakes) m);
end
$$;
comment on function keyframe_private.model_mistakes is 'The mistakes in a row of models, each a sentence with its path; null when there is none.';

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
comment on trigger _100_require_well_formed on keyframe.models is 'Refuses a row with a mistake, with its path.';

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
comment on trigger _100_require_enabled on keyframe.step_defaults is 'Refuses a model that is not enabled.';

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
comment on trigger _100_keep_deleted on keyframe.step_defaults is 'Refuses to delete the default of a step.';
-- Not `update of step`: a model that gets another name updates both columns.
create trigger _100_keep_moved before update on keyframe.step_defaults
  for each row when (old.step <> new.step) execute function keyframe_private.keep_default();
comment on trigger _100_keep_moved on keyframe.step_defaults is 'Refuses to give a default to another step.';

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
comment on trigger _200_refuse_disabled_default on keyframe.models is 'Refuses to disable the default of a step.';

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
comment on function keyframe_private.is_available is 'Whether a start can use a model at a time.';

-- Editing a refused model retries it.
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
comment on trigger _300_clear_refusal on keyframe.models is 'Makes a model that the provider refused available again.';

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
comment on function keyframe_private.successors_of is 'The models that can take over from one, in the order in which a start tries them.';

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
