create table keyframe.films (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  element_ids uuid[] not null default '{}',
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint element_ids_are_a_list check (coalesce(array_ndims(element_ids), 1) = 1),
  constraint films_id_owner_id_key unique (id, owner_id)
);
comment on table keyframe.films is 'A sequence of shots: the projects with its film_id, by film_position. Owned by the user who created it.';
comment on column keyframe.films.owner_id is 'The user whose film it is.';
comment on column keyframe.films.title is 'One line of at most 200 characters.';
comment on column keyframe.films.description is 'Free text.';
comment on column keyframe.films.updated_at is 'The film''s version: changes with its texts, its elements, its shots and their order.';
comment on column keyframe.films.element_ids is 'Its cast: the elements that a shot without element_ids of its own is made with.';
create index films_owner_id_created_at_idx on keyframe.films (owner_id, created_at desc, id desc);

-- The API's ETag is updated_at in milliseconds, so every change moves it; now() may be before the last change.
create function keyframe_private.move_version()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond');
  return new;
end $$;

create function keyframe_private.is_reference_path(path text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return path ~ '^projects/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$' and path not like '%..%';
end $$;

create table keyframe.projects (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  text_prompt text not null constraint text_prompt_has_1_to_4000_characters check (char_length(text_prompt) between 1 and 4000),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  reference_image_path text,
  aspect_ratio text not null default '16:9' constraint aspect_ratio_is_width_to_height check (aspect_ratio ~ '^[1-9][0-9]?:[1-9][0-9]?$'),
  selected_first_frame_id uuid,
  selected_last_frame_id uuid,
  selected_video_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- The owner is in the key, so that a project cannot be in another user's film.
  film_id uuid,
  film_position integer,
  element_ids uuid[],
  plan jsonb not null default '{}',
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint text_prompt_has_a_visible_character check (keyframe_private.has_visible_character(text_prompt)),
  constraint text_prompt_is_plain_text check (keyframe_private.is_plain_text(text_prompt)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  -- The API returns them as ISO 8601, which has neither infinity nor other years.
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint element_ids_are_a_list check (coalesce(array_ndims(element_ids), 1) = 1),
  constraint projects_id_owner_id_key unique (id, owner_id),
  constraint projects_film_fkey foreign key (film_id, owner_id) references keyframe.films (id, owner_id) on delete set null (film_id),
  -- Deferrable: checked after the statement that orders a film. Not unique: a start that uses frames of two shots could deadlock with it.
  constraint one_shot_per_position_of_a_film
    exclude using btree (film_id with =, owner_id with =, film_position with =) deferrable,
  constraint position_if_and_only_if_in_a_film check ((film_position is null) = (film_id is null))
);
comment on table keyframe.projects is 'One shot. Owned by the user who created it.';
comment on column keyframe.projects.owner_id is 'The user whose project it is. An administrator may leave it out while there is only one user.';
comment on column keyframe.projects.title is 'One line of at most 200 characters.';
comment on column keyframe.projects.text_prompt is 'The scene to generate. A prediction copies it unless its request has a prompt.';
comment on column keyframe.projects.description is 'Free text, for example the look to keep. Not sent to the provider.';
comment on column keyframe.projects.reference_image_path is 'The look of the next frames: a start of a first or last frame uses it as a reference if its model takes one, unless the request or the plan names references.';
comment on column keyframe.projects.aspect_ratio is 'Width to height of its frames and videos, for example 9:16; a prediction may have another.';
comment on column keyframe.projects.selected_first_frame_id is 'The take that the next video and last frame build on; null: the latest that succeeded.';
comment on column keyframe.projects.selected_last_frame_id is 'The take that the next video ends on; null: the latest that succeeded, if there is one.';
comment on column keyframe.projects.selected_video_id is 'The take that is the shot; null: the latest that succeeded.';
comment on column keyframe.projects.updated_at is 'The project''s version: every change updates it.';
comment on column keyframe.projects.deleted_at is 'When its deletion in parts began: its owner no longer sees it or its predictions. Null: it is not being deleted.';
comment on column keyframe.projects.film_id is 'The film whose shot it is; null: none. A project that enters a film becomes its last shot.';
comment on column keyframe.projects.film_position is 'Orders the shots of a film. update_film writes it; there may be gaps.';
comment on column keyframe.projects.element_ids is 'The elements that it is made with; null: those of its film.';
comment on column keyframe.projects.plan is 'How its steps are made: for each step, fields of a start that apply where a start leaves them out. For example {"video": {"durationSeconds": 5, "continuesPreviousShot": true}}.';
create index projects_owner_id_created_at_idx on keyframe.projects (owner_id, created_at desc, id desc);
create index projects_deleted_at_idx on keyframe.projects (deleted_at, owner_id) where deleted_at is not null;
-- Finds films and projects with a deleted element.
create index projects_with_elements_idx on keyframe.projects (owner_id) where element_ids is not null;
-- Finds whether a reference image is still in use.
create index projects_reference_image_path_idx on keyframe.projects (reference_image_path) where reference_image_path is not null;

create function keyframe_private.complete_owner()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.owner_id := (select case when count(*) = 1 then min(u.id::text)::uuid end from (select id from auth.users limit 2) u);
  if new.owner_id is null then
    raise exception 'owner_id: choose a user of auth.users. It may be left out only while there is exactly one.'
      using errcode = 'not_null_violation';
  end if;
  return new;
end $$;

create function keyframe_private.max_shots()
returns integer language sql immutable set search_path = '' return 500;

-- A project enters a film, as its last shot, or leaves one. Locks the film until the transaction ends, so that two shots cannot get the
-- same position.
create function keyframe_private.change_film()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  shots record;
begin
  if tg_op <> 'INSERT' then
    update keyframe.films f set updated_at = now() where f.id = old.film_id;
  end if;
  if tg_op = 'DELETE' then
    return null;
  end if;
  new.film_position := null;
  if new.film_id is null then
    return new;
  end if;
  update keyframe.films f set updated_at = now() where f.id = new.film_id and f.owner_id = new.owner_id;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no film with this filmId.');
  select count(*) as number, coalesce(max(p.film_position), 0) as last into shots from keyframe.projects p where p.film_id = new.film_id;
  perform keyframe_private.raise_if(shots.number >= keyframe_private.max_shots(), 'invalid_request',
    format('A film has at most %s shots.', keyframe_private.max_shots()));
  new.film_position := shots.last + 1;
  return new;
end $$;

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

-- Deletions of projects. One with many predictions is deleted in parts.

create function keyframe_private.deleted_projects()
returns uuid[] language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.owner_id = keyframe_private.caller_id() and p.deleted_at is not null);
end $$;

-- A deletion by a user must not discard paid runs. Administrators and account deletions may: their runs are canceled. With more predictions
-- than one request may delete, the owner no longer sees the project, and delete_parts deletes it.
create function keyframe_private.delete_by_user()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  before constant integer := coalesce(nullif(current_setting('keyframe.deleted_predictions', true), '')::integer, 0);
  more integer;
begin
  if auth.uid() is null or pg_trigger_depth() > 1 then
    return old;
  end if;
  -- The project is locked now: an earlier start has committed and is visible here; a later one finds no project.
  perform keyframe_private.raise_if(
    exists (select from keyframe.predictions p where p.project_id = old.id and p.completed_at is null), 'generation_in_progress',
    'A generation of this project is still running. Cancel it or wait for its end, then delete the project.');
  perform keyframe_private.raise_if(exists (
    select from keyframe.predictions source
    join keyframe_private.prediction_images i on i.source_prediction_id = source.id
    join keyframe.predictions p on p.id = i.prediction_id
    where source.project_id = old.id and p.completed_at is null), 'generation_in_progress',
    'A generation of another project that uses a frame of this one is still running. Cancel it or wait for its end, then delete the project.');
  perform keyframe_private.raise_if(exists (
    select from keyframe.predictions v join keyframe.predictions w on w.waits_for = v.id and w.status = 'queued'
    where v.project_id = old.id and v.step = 'video'), 'generation_in_progress',
    'The next shot waits to continue a video of this project. Cancel it or wait for its end, then delete the project.');
  more := (select count(*) from (select from keyframe.predictions p where p.project_id = old.id limit 1001 - before) n);
  if before + more <= 1000 then
    perform set_config('keyframe.deleted_predictions', (before + more)::text, true);
    return old;
  end if;
  update keyframe.projects p set deleted_at = now(), film_id = null where p.id = old.id;
  return null;
end $$;

-- Skips rows that others lock, and records those that fail (skipped_rows).
create function keyframe_private.delete_parts(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  -- Project by project, the first deleted first, each from its index.
  perform keyframe_private.run_in_batches('keyframe.predictions', format($w$o.id = any (array(
      select d.id from keyframe.projects p
      cross join lateral (
        select x.id from keyframe.predictions x
        where x.project_id = p.id and not keyframe_private.is_skipped('delete keyframe.predictions ' || x.id)
        limit %1$s for update skip locked) d
      where p.deleted_at is not null order by p.deleted_at limit %1$s for update of p skip locked))$w$, max_rows), max_rows);
  perform keyframe_private.run_in_batches('keyframe.projects',
    'o.deleted_at is not null and not exists (select from keyframe.predictions p where p.project_id = o.id) order by o.deleted_at',
    max_rows);
end $$;
