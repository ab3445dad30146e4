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

create function keyframe_private.stamp_film()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond'); -- as for a project
  return new;
end $$;
