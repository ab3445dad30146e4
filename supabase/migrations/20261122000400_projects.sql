-- A project: a title and the prompt of one shot. Its frames and videos are predictions.

create table keyframe.projects (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  text_prompt text not null constraint text_prompt_has_1_to_4000_characters check (char_length(text_prompt) between 1 and 4000),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint text_prompt_has_a_visible_character check (keyframe_private.has_visible_character(text_prompt)),
  constraint text_prompt_is_plain_text check (keyframe_private.is_plain_text(text_prompt)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  constraint projects_id_owner_id_key unique (id, owner_id)
);
comment on table keyframe.projects is 'One shot. Owned by the user who created it.';
comment on column keyframe.projects.text_prompt is 'The scene to generate. A prediction copies it unless its request has a prompt.';
comment on column keyframe.projects.description is 'Free text, for example the look to keep. Not sent to the provider.';
create index projects_owner_id_created_at_idx on keyframe.projects (owner_id, created_at desc, id desc);

alter table keyframe.projects enable row level security;
create policy projects_select_owner on keyframe.projects for select to authenticated
  using (owner_id = (select auth.uid()));
create policy projects_insert_owner on keyframe.projects for insert to authenticated
  with check (owner_id = (select auth.uid()));
create policy projects_update_owner on keyframe.projects for update to authenticated
  using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
create policy projects_delete_owner on keyframe.projects for delete to authenticated
  using (owner_id = (select auth.uid()));
-- Not id: an identifier that was used before would get no event (docs/decisions/0023-postgres-makes-ids.md).
grant select, insert (title, text_prompt, description), update (title, text_prompt, description), delete
  on keyframe.projects to authenticated;
grant select on keyframe.projects to service_role;

-- Counts each insert by a user against the rate limit, from the functions and from the Data API.
create function keyframe_private.limit_projects()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.take_token('create');
  return new;
end
$$;
create trigger _100_limit before insert on keyframe.projects
  for each row execute function keyframe_private.limit_projects();

-- Counts each update or delete by a user, before any project is locked: a request that waits for its token holds no lock.
create function keyframe_private.limit_project_changes()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if pg_trigger_depth() = 1 then -- the deletion of an account takes no token
    perform keyframe_private.take_token('change');
  end if;
  return null;
end
$$;
create trigger _100_limit_changes before update or delete on keyframe.projects
  for each statement execute function keyframe_private.limit_project_changes();

create function keyframe_private.stamp_project()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  new.updated_at := greatest(now(), old.updated_at); -- now() is the start of this transaction, which may be before the last change
  return new;
end
$$;
create trigger _200_stamp before update on keyframe.projects
  for each row execute function keyframe_private.stamp_project();
