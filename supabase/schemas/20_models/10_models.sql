-- The models that serve a step, and the default of each. An administrator edits rows in Studio. 95_shipped_rows.sql has the first ones.

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
  billed_when jsonb not null default '{"failed": "unknown", "rejected": "unknown", "canceled": "yes"}'
    constraint billed_when_says_yes_no_or_unknown check (
      array[billed_when ->> 'failed', billed_when ->> 'rejected', billed_when ->> 'canceled'] <@ array['yes', 'no', 'unknown']
        and billed_when - array['failed', 'rejected', 'canceled'] = '{}'),
  cost_ceiling_micros bigint constraint cost_ceiling_is_at_most_a_million_dollars check (cost_ceiling_micros between 0 and 1000000000000),
  primary key (step, model),
  -- The API returns null for infinity, and has no time for other years.
  constraint times_are_in_years_of_four_digits check (
    shutdown_at >= '1970-01-01 00:00Z' and (shutdown_at < '9999-01-01 00:00Z' or shutdown_at = 'infinity'))
);
comment on table keyframe.models is 'The models that can serve a step. step_defaults names the one that a start uses when it names none.';
comment on column keyframe.models.step is 'The step that it serves; a model can have a row for each.';
comment on column keyframe.models.model is 'owner/name at Replicate, or owner/name:version for a community model.';
comment on column keyframe.models.label is 'The name that people choose the model by.';
comment on column keyframe.models.vendor is 'Who makes the model.';
comment on column keyframe.models.enabled is 'False: the model is not offered, and a start that names it is refused.';
comment on column keyframe.models.position is 'The order in which the models of a step are offered, and in which one takes over from another.';
comment on column keyframe.models.shutdown_at is 'When the vendor ends the model, if that is announced. Later starts use another model.';
comment on column keyframe.models.refused_at is 'When the provider refused the model as unknown: it has been unavailable since then. Any change of the row clears it, and so does a later success.';
comment on column keyframe.models.accepts_faces is 'Whether the model accepts images that show people''s faces: yes, no or unknown.';
comment on column keyframe.models.controls is 'Our name of each input -> how the model accepts it, for example {"durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}}. docs/models.md explains the keys.';
comment on column keyframe.models.fixed is 'Fields of the model that are always sent, for example {"output_format": "png"}.';
comment on column keyframe.models.output is 'Where the file is in the model''s output, for example video, images[0] or result.url. Null: found automatically, which fails for an object with several files of the right kind.';
comment on column keyframe.models.notes is 'For administrators: sources, and what to know.';
comment on column keyframe.models.billed_when is 'Whether the provider bills a run that failed, whose content was rejected, or that was canceled: yes, no or unknown.';
comment on column keyframe.models.cost_ceiling_micros is 'The most that one run can cost, in millionths of a dollar: used when no price is known.';

create table keyframe.step_defaults (
  step keyframe.generation_step primary key,
  model text not null,
  foreign key (step, model) references keyframe.models (step, model) on update cascade
);
comment on table keyframe.step_defaults is 'The model of each step that a start uses when it names none. To switch: update keyframe.step_defaults set model = ''google/veo-3.1'' where step = ''video''.';
comment on column keyframe.step_defaults.step is 'first-frame, last-frame or video.';
comment on column keyframe.step_defaults.model is 'An enabled model of this step.';

-- A default can be chosen only among enabled models, and stays one until another is chosen.
create function keyframe_private.require_enabled_default()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  perform from keyframe.models m where m.step = new.step and m.model = new.model and m.enabled for share;
  if not found then
    raise exception 'The step % has no enabled model %. Insert it into keyframe.models, or set enabled on its row, first.',
      new.step, new.model
      using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end $$;

create function keyframe_private.refuse_disabled_default()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if exists (select from keyframe.step_defaults d where d.step = old.step and d.model = old.model) then
    raise exception '% is the default of the step %. Choose another first: update keyframe.step_defaults set model = ''…'' where step = ''%''.',
      old.model, old.step, old.step using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end $$;

create function keyframe_private.is_available(candidate keyframe.models, at timestamptz)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return candidate.enabled and candidate.refused_at is null and coalesce(candidate.shutdown_at > at, true);
end $$;

-- Editing a refused model retries it.
create function keyframe_private.clear_refusal()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.refused_at := null;
  return new;
end $$;

-- Returns them in the order in which a start tries them.
create function keyframe_private.successors_of(model keyframe.models, at timestamptz)
returns setof keyframe.models language plpgsql stable set search_path = '' as $$
begin
  return query
    select m.* from keyframe.models m
    where m.step = (successors_of.model).step and m.model <> (successors_of.model).model and keyframe_private.is_available(m, at)
    order by m.position, m.model;
end $$;

-- No foreign key: all users' starts would wait for a transaction that locks the model. Deferred, so that simultaneous starts are renamed too.
create function keyframe_private.rename_model()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.predictions p set step = new.step, model = new.model where p.step = old.step and p.model = old.model;
  update keyframe.projects p set plan = jsonb_set(p.plan, array[new.step::text, 'model'], to_jsonb(new.model))
  where p.plan <> '{}' and p.plan #>> array[old.step::text, 'model'] = old.model and new.step = old.step;
  return null;
end $$;

create function keyframe_private.keep_used_model()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if exists (select from keyframe.predictions p where p.step = old.step and p.model = old.model) then
    raise exception 'Predictions use the model %. Disable it instead: update keyframe.models set enabled = false where step = ''%'' and model = ''%''.',
      old.model, old.step, old.model using errcode = 'check_violation', constraint = 'model_in_use_stays';
  end if;
  return old;
end $$;
