-- A film: ordered shots. A project is one shot, in one film or in none.

create table keyframe.films (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint films_id_owner_id_key unique (id, owner_id)
);
comment on table keyframe.films is 'Ordered shots: the projects with its film_id, by film_position. Owned by the user who created it.';
comment on column keyframe.films.id is 'Named by filmId in the API.';
comment on column keyframe.films.owner_id is 'The user whose film it is.';
comment on column keyframe.films.title is 'One line of at most 200 characters.';
comment on column keyframe.films.description is 'Free text.';
comment on column keyframe.films.created_at is 'When it was created.';
comment on column keyframe.films.updated_at is 'The film''s version: moves with its texts, its shots and their order.';
create index films_owner_id_created_at_idx on keyframe.films (owner_id, created_at desc, id desc);

alter table keyframe.films enable row level security;
create policy films_all_client on keyframe.films as restrictive to authenticated
  using ((select keyframe_private.client_may('read')));
comment on policy films_all_client on keyframe.films is 'Hides the rows from OAuth clients that may not see them.';
create policy films_select_owner on keyframe.films for select to authenticated
  using (owner_id = (select auth.uid()) and (select keyframe_private.may_read()));
comment on policy films_select_owner on keyframe.films is 'Users see their own rows.';
create policy films_insert_owner on keyframe.films for insert to authenticated
  with check (owner_id = (select auth.uid()));
comment on policy films_insert_owner on keyframe.films is 'Users insert rows of their own.';
create policy films_update_owner on keyframe.films for update to authenticated
  using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
comment on policy films_update_owner on keyframe.films is 'Users change their own rows, which stay theirs.';
create policy films_delete_owner on keyframe.films for delete to authenticated
  using (owner_id = (select auth.uid()));
comment on policy films_delete_owner on keyframe.films is 'Users delete their own rows.';
grant select, insert (title, description), update (title, description), delete on keyframe.films to authenticated;
grant select on keyframe.films to service_role;

-- The owner is in the key, so that nobody's project is in another's film.
alter table keyframe.projects
  add column film_id uuid,
  add column film_position integer,
  add constraint projects_film_fkey foreign key (film_id, owner_id) references keyframe.films (id, owner_id) on delete set null (film_id),
  -- Deferrable, so that it is checked after the statement that orders a film, not after each row. Not unique: then an order would lock its
  -- projects as a deletion does, and a start that uses frames of two of them could deadlock with it.
  add constraint one_shot_per_position_of_a_film
    exclude using btree (film_id with =, owner_id with =, film_position with =) deferrable,
  add constraint position_if_and_only_if_in_a_film check ((film_position is null) = (film_id is null));
comment on column keyframe.projects.film_id is 'The film whose shot it is; null: none. A project that enters a film becomes its last shot.';
comment on column keyframe.projects.film_position is 'Orders the shots of a film. update_film writes it; there may be gaps.';
grant insert (film_id), update (film_id) on keyframe.projects to authenticated;

create trigger _100_limit before insert on keyframe.films
  for each row execute function keyframe_private.limit_creations();
comment on trigger _100_limit on keyframe.films is 'Counts an insert by a user against the rate limit.';
create trigger _200_complete_owner before insert on keyframe.films
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
comment on trigger _200_complete_owner on keyframe.films is 'Fills in the only user, where an administrator leaves the owner out.';
create trigger _100_limit_changes before update or delete on keyframe.films
  for each statement execute function keyframe_private.limit_changes();
comment on trigger _100_limit_changes on keyframe.films is 'Counts an update or delete by a user against the rate limit.';

create function keyframe_private.stamp_film()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond'); -- as for a project
  return new;
end
$$;
create trigger _200_stamp before update on keyframe.films
  for each row when (old is distinct from new) execute function keyframe_private.stamp_film();
comment on trigger _200_stamp on keyframe.films is 'Moves the film''s version.';

create function keyframe_private.max_shots()
returns integer
language sql
immutable
set search_path = ''
as $$
  select 500
$$;
comment on function keyframe_private.max_shots is 'The most shots that a film can have.';

-- A project enters a film, as its last shot, or leaves one. Locks the film until the transaction ends, so no two shots get one place.
create function keyframe_private.enter_film()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  shots record;
begin
  if tg_op = 'UPDATE' then
    update keyframe.films f set updated_at = now() where f.id = old.film_id;
  end if;
  new.film_position := null;
  if new.film_id is null then
    return new;
  end if;
  update keyframe.films f set updated_at = now() where f.id = new.film_id and f.owner_id = new.owner_id;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no film of yours with this filmId.');
  end if;
  select count(*) as number, coalesce(max(p.film_position), 0) as last into shots from keyframe.projects p where p.film_id = new.film_id;
  if shots.number >= keyframe_private.max_shots() then
    perform keyframe_private.raise_error('invalid_request', format('A film has at most %s shots.', keyframe_private.max_shots()));
  end if;
  new.film_position := shots.last + 1;
  return new;
end
$$;
-- Not where update_film has set the position.
create trigger _250_enter_film before insert on keyframe.projects
  for each row when (new.film_id is not null and new.film_position is null) execute function keyframe_private.enter_film();
comment on trigger _250_enter_film on keyframe.projects is 'Makes a new project the last shot of its film.';
create trigger _250_change_film before update of film_id on keyframe.projects
  for each row when (new.film_id is distinct from old.film_id and new.film_position is not distinct from old.film_position)
  execute function keyframe_private.enter_film();
comment on trigger _250_change_film on keyframe.projects is 'Makes a project that enters a film its last shot.';

-- A shot is deleted: the film's version moves.
create function keyframe_private.stamp_film_of_deleted_shot()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  update keyframe.films f set updated_at = now() where f.id = old.film_id;
  return null;
end
$$;
create trigger _430_stamp_film after delete on keyframe.projects
  for each row when (old.film_id is not null) execute function keyframe_private.stamp_film_of_deleted_shot();
comment on trigger _430_stamp_film on keyframe.projects is 'Moves the version of the film that has lost a shot.';
