-- The model that serves a step, and how our inputs map to its fields. An administrator edits rows in Studio; no deploy is needed.

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

create table keyframe.models (
  step keyframe.generation_step not null,
  model text not null constraint model_is_owner_slash_name check (model ~ '^[a-z0-9._-]+/[a-z0-9._-]+$'),
  is_default boolean not null default false,
  prompt_field text not null default 'prompt',
  reference_field text,
  max_references integer not null default 0,
  reference_is_list boolean not null default false,
  first_frame_field text,
  last_frame_field text,
  last_frame_needs_first boolean not null default false,
  last_frame_extras jsonb not null default '{}',
  references_exclude_frames boolean not null default false,
  duration_field text,
  durations integer[] not null default '{}',
  extras jsonb not null default '{}',
  notes text not null default '',
  primary key (step, model),
  constraint references_need_a_field check ((reference_field is not null) = (max_references > 0)),
  constraint max_references_is_not_negative check (max_references >= 0),
  constraint several_references_need_a_list check (max_references <= 1 or reference_is_list),
  constraint durations_need_a_field check ((duration_field is not null) = (cardinality(durations) > 0)),
  constraint durations_are_a_list_of_seconds check (
    case when array_ndims(durations) > 1 then false else 0 < all (durations) and array_position(durations, null) is null end),
  constraint only_video_has_a_duration_field check (step = 'video' or duration_field is null),
  constraint video_starts_from_a_first_frame check (step <> 'video' or first_frame_field is not null),
  constraint only_video_has_frame_fields check (step = 'video' or (first_frame_field is null and last_frame_field is null)),
  constraint last_frame_rules_need_a_last_frame_field
    check (last_frame_field is not null or (not last_frame_needs_first and last_frame_extras = '{}')),
  -- The provider ignores an input whose name it does not know, such as an empty name or one with a space.
  constraint fields_have_names check (
    prompt_field ~ '^[A-Za-z_][A-Za-z0-9_.-]*$' and reference_field ~ '^[A-Za-z_][A-Za-z0-9_.-]*$'
    and first_frame_field ~ '^[A-Za-z_][A-Za-z0-9_.-]*$' and last_frame_field ~ '^[A-Za-z_][A-Za-z0-9_.-]*$'
    and duration_field ~ '^[A-Za-z_][A-Za-z0-9_.-]*$'),
  -- Two inputs in one field: the second would overwrite the first.
  constraint fields_differ check (
    prompt_field <> all (array[reference_field, first_frame_field, last_frame_field, duration_field])
    and reference_field <> all (array[first_frame_field, last_frame_field, duration_field])
    and first_frame_field <> all (array[last_frame_field, duration_field])
    and last_frame_field <> duration_field),
  constraint extras_are_objects check (jsonb_typeof(extras) = 'object' and jsonb_typeof(last_frame_extras) = 'object'),
  -- Fixed input must not override what a request sets.
  constraint extras_leave_the_other_fields_alone check (
    not extras ?| array[prompt_field, reference_field, first_frame_field, last_frame_field, duration_field]
    and not last_frame_extras ?| array[prompt_field, reference_field, first_frame_field, last_frame_field, duration_field])
);
comment on table keyframe.models is 'The models that can serve a step. Exactly one row of a step is the default. To switch, tick is_default on another row: update keyframe.models set is_default = true where step = ''video'' and model = ''google/veo-3.1''.';
comment on column keyframe.models.is_default is 'The model that new predictions of this step use. Setting it on one row clears it on the other; clearing it alone is refused.';
comment on column keyframe.models.prompt_field is 'The model''s input field for the prompt.';
comment on column keyframe.models.reference_field is 'The input field for reference images; null when the model takes none.';
comment on column keyframe.models.max_references is 'How many reference images the model takes (0 when none).';
comment on column keyframe.models.reference_is_list is 'True when reference_field takes a list, false when it takes one image.';
comment on column keyframe.models.first_frame_field is 'Video: the input field for the first frame.';
comment on column keyframe.models.last_frame_field is 'Video: the input field for the last frame; null when the model has none.';
comment on column keyframe.models.last_frame_needs_first is 'True when the model accepts a last frame only together with a first frame.';
comment on column keyframe.models.last_frame_extras is 'Additional input when a last frame is sent, for example {"mode": "pro"}.';
comment on column keyframe.models.references_exclude_frames is 'True when the model accepts either reference images or frames, not both.';
comment on column keyframe.models.duration_field is 'Video: the input field for the duration in seconds.';
comment on column keyframe.models.durations is 'The durations in seconds that the model offers; the first one is the default.';
comment on column keyframe.models.extras is 'Input that is always sent, for example {"output_format": "png"}.';
create unique index models_one_default_per_step on keyframe.models (step) where is_default;

alter table keyframe.models enable row level security;
create policy models_select_everyone on keyframe.models for select to authenticated using (true);
grant select on keyframe.models to authenticated, service_role;

-- A row that becomes the default clears is_default on the other row of its step, so one update switches the model.
create function keyframe_private.replace_default()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- Serialises simultaneous switches: the later one sees the default that the earlier one set.
  perform pg_advisory_xact_lock(hashtextextended('keyframe default model of ' || new.step::text, 0));
  update keyframe.models m set is_default = false
  where m.step = new.step and m.is_default and m.model <> new.model;
  return new;
end
$$;
create trigger _100_take_default_inserted before insert on keyframe.models
  for each row when (new.is_default) execute function keyframe_private.replace_default();
create trigger _100_take_default before update of is_default, step on keyframe.models
  for each row when (new.is_default and (not old.is_default or old.step <> new.step)) execute function keyframe_private.replace_default();

-- Refuses to leave a step without a default model. Checked at commit, so the order of statements is free.
create function keyframe_private.require_default()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  if not exists (select from keyframe.models m where m.step = old.step and m.is_default) then
    raise exception 'The step % would have no default model. Set is_default on the model that is to take over: it takes it from this one.', old.step
      using errcode = 'check_violation', constraint = 'every_step_keeps_a_default';
  end if;
  return null;
end
$$;
create constraint trigger every_step_keeps_a_default after update or delete on keyframe.models
  deferrable initially deferred
  for each row when (old.is_default) execute function keyframe_private.require_default();

insert into keyframe.models
  (step, model, is_default, reference_field, max_references, reference_is_list, extras)
select step, model, model = 'google/nano-banana', reference_field, max_references, reference_is_list, extras
from unnest(array['first-frame', 'last-frame']::keyframe.generation_step[]) as step
cross join (values
  ('google/nano-banana', 'image_input', 10, true, '{"aspect_ratio": "16:9", "output_format": "png"}'::jsonb),
  ('google/nano-banana-pro', 'image_input', 14, true, '{"aspect_ratio": "16:9", "output_format": "png"}'),
  ('bytedance/seedream-4', 'image_input', 10, true, '{"aspect_ratio": "16:9"}'),
  ('bytedance/seedream-4.5', 'image_input', 14, true, '{"aspect_ratio": "16:9"}'),
  ('black-forest-labs/flux-kontext-pro', 'input_image', 1, false, '{"aspect_ratio": "16:9", "output_format": "png"}'),
  ('black-forest-labs/flux-2-pro', 'input_images', 8, true, '{"aspect_ratio": "16:9", "output_format": "png"}')
) as image_models (model, reference_field, max_references, reference_is_list, extras);

insert into keyframe.models
  (step, model, is_default, first_frame_field, last_frame_field, last_frame_needs_first, last_frame_extras,
   references_exclude_frames, duration_field, durations, extras, notes)
values
  ('video', 'kwaivgi/kling-v2.1', true, 'start_image', 'end_image', true, '{"mode": "pro"}', false, 'duration', '{5,10}', '{}',
   'start_image is required; end_image needs mode pro.'),
  ('video', 'kwaivgi/kling-v2.5-turbo-pro', false, 'start_image', 'end_image', true, '{}', false, 'duration', '{5,10}', '{}', ''),
  ('video', 'kwaivgi/kling-v3-video', false, 'start_image', 'end_image', true, '{}', false, 'duration', '{5,10}', '{}', ''),
  ('video', 'minimax/hailuo-02', false, 'first_frame_image', 'last_frame_image', false, '{}', false, 'duration', '{6,10}',
   '{"resolution": "768p"}', 'Makes ten seconds in 768p alone.'),
  ('video', 'minimax/hailuo-2.3', false, 'first_frame_image', null, false, '{}', false, 'duration', '{6,10}',
   '{"resolution": "768p"}', 'Takes no last frame.'),
  ('video', 'google/veo-3.1', false, 'image', 'last_frame', true, '{}', true, 'duration', '{8,6,4}', '{}',
   'The last frame is ignored when reference images are given.'),
  ('video', 'google/veo-3.1-fast', false, 'image', 'last_frame', true, '{}', false, 'duration', '{8,6,4}', '{}', ''),
  ('video', 'bytedance/seedance-2.0', false, 'image', 'last_frame_image', true, '{}', true, 'duration', '{5,10}', '{}',
   'Frames and reference images exclude each other.'),
  ('video', 'bytedance/seedance-2.0-fast', false, 'image', 'last_frame_image', true, '{}', true, 'duration', '{5,10}', '{}',
   'Frames and reference images exclude each other.');
