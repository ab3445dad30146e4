-- An element: a character, place, prop or style that several shots share. Written only through its functions.

create type keyframe.element_kind as enum ('character', 'place', 'prop', 'style');
comment on type keyframe.element_kind is 'What an element is. A label for people; it doesn''t change the result.';

create table keyframe.elements (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  kind keyframe.element_kind not null default 'character',
  name text not null constraint name_has_1_to_60_characters check (char_length(name) between 1 and 60),
  text text not null default '' constraint text_has_at_most_1000_characters check (char_length(text) <= 1000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  image_paths text[] not null default '{}' constraint element_has_at_most_8_images
    check (cardinality(image_paths) <= 8 and coalesce(array_ndims(image_paths), 1) = 1),
  constraint name_has_a_visible_character check (keyframe_private.has_visible_character(name)),
  constraint name_is_one_line check (keyframe_private.is_one_line(name)),
  -- A prompt names it as @name.
  constraint name_has_no_at_and_no_space_around_it check (name !~ '^\s|\s$|@'),
  constraint text_is_plain_text check (keyframe_private.is_plain_text(text)),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z')
);
comment on table keyframe.elements is 'What several shots share: a character, place, prop or style. Owned by the user who created it.';
comment on column keyframe.elements.owner_id is 'The user whose element it is.';
comment on column keyframe.elements.kind is 'character, place, prop or style.';
comment on column keyframe.elements.name is 'The name that a prompt uses after an @. Case and Unicode form (NFC, NFD) do not matter.';
comment on column keyframe.elements.text is 'What it looks like. Starts that use it add it to their prompt, as `name: text`.';
comment on column keyframe.elements.updated_at is 'Its version: every change updates it.';
comment on column keyframe.elements.image_paths is 'Its uploaded images, each as projects/<file_name>. Starts that use it send them as references.';
create index elements_owner_id_created_at_idx on keyframe.elements (owner_id, created_at desc, id desc);
-- Finds whether an image is still in use.
create index elements_image_paths_idx on keyframe.elements using gin (image_paths);

create function keyframe_private.max_elements(list text)
returns integer language sql immutable set search_path = '' return case list when 'owner' then 500 when 'film' then 50 when 'start' then 20 end;

-- Locked until the transaction ends: a deletion waits, and then finds the list that names it.
create function keyframe_private.require_elements(ids uuid[], owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  unknown uuid;
begin
  perform keyframe_private.raise_if(cardinality(ids) > keyframe_private.max_elements('film'), 'invalid_request',
    format('elementIds has at most %s elements.', keyframe_private.max_elements('film')));
  perform keyframe_private.raise_if((select count(distinct i.id) from unnest(ids) i (id)) < cardinality(ids), 'invalid_request', -- null is not counted
    'An element can be in elementIds only once.');
  perform from keyframe.elements e where e.id = any (ids) and e.owner_id = owner order by e.id for key share;
  select i.id into unknown from unnest(ids) i (id)
  where not exists (select from keyframe.elements e where e.id = i.id and e.owner_id = owner) limit 1;
  perform keyframe_private.raise_if(found, 'not_found', format('You have no element with the elementId %s.', unknown));
end $$;

create function keyframe_private.require_own_elements()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' or new.element_ids is distinct from old.element_ids then
    perform keyframe_private.require_elements(new.element_ids, new.owner_id);
  end if;
  return new;
end $$;

-- Before the deletion, so that films and projects are locked before `references`, as when they are deleted themselves.
create function keyframe_private.leave_lists()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.films f set element_ids = array_remove(f.element_ids, old.id)
  where f.owner_id = old.owner_id and old.id = any (f.element_ids);
  update keyframe.projects p set element_ids = array_remove(p.element_ids, old.id)
  where p.owner_id = old.owner_id and old.id = any (p.element_ids);
  return old;
end $$;
