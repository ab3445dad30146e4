-- A project: a title and the prompt of one shot. Its frames and videos are predictions.

create function keyframe_private.is_reference_path(path text)
returns boolean
language plpgsql
immutable
strict
set search_path = ''
as $$
begin
  return path ~ '^projects/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$' and path not like '%..%';
end
$$;
comment on function keyframe_private.is_reference_path is 'Whether a path names a reference image: projects/<file_name>.';
-- A check runs with the rights of the role that writes the row.
grant execute on function keyframe_private.is_reference_path(text) to authenticated, service_role;

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
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint text_prompt_has_a_visible_character check (keyframe_private.has_visible_character(text_prompt)),
  constraint text_prompt_is_plain_text check (keyframe_private.is_plain_text(text_prompt)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  constraint reference_image_of_project_is_in_projects check (keyframe_private.is_reference_path(reference_image_path)),
  -- The API returns them as ISO 8601, which has neither infinity nor other years.
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint projects_id_owner_id_key unique (id, owner_id)
);
comment on table keyframe.projects is 'One shot. Owned by the user who created it.';
comment on column keyframe.projects.id is 'Named by projectId in the API.';
comment on column keyframe.projects.owner_id is 'The user whose project it is. An administrator may leave it out while there is only one user.';
comment on column keyframe.projects.title is 'One line of at most 200 characters.';
comment on column keyframe.projects.created_at is 'When it was created.';
comment on column keyframe.projects.updated_at is 'The project''s version: moves with every change.';
comment on column keyframe.projects.text_prompt is 'The scene to generate. A prediction copies it unless its request has a prompt.';
comment on column keyframe.projects.description is 'Free text, for example the look to keep. Not sent to the provider.';
comment on column keyframe.projects.reference_image_path is 'The image that apps offer for the next frames. A prediction uses it only when its request names it.';
comment on column keyframe.projects.aspect_ratio is 'Width to height of its frames and videos, for example 9:16; a prediction may have another.';
comment on column keyframe.projects.deleted_at is 'Since when it is being deleted in parts: its owner no longer sees it or its predictions. Null: it is not.';
comment on column keyframe.projects.selected_first_frame_id is 'The take that the next video and last frame build on; null: the latest that succeeded.';
comment on column keyframe.projects.selected_last_frame_id is 'The take that the next video ends on; null: the latest that succeeded, if there is one.';
comment on column keyframe.projects.selected_video_id is 'The take that is the shot; null: the latest that succeeded.';
create index projects_owner_id_created_at_idx on keyframe.projects (owner_id, created_at desc, id desc);
create index projects_deleted_at_idx on keyframe.projects (deleted_at, owner_id) where deleted_at is not null;
-- To find out whether a reference image is still in use.
create index projects_reference_image_path_idx on keyframe.projects (reference_image_path) where reference_image_path is not null;

alter table keyframe.projects enable row level security;
create policy projects_all_client on keyframe.projects as restrictive to authenticated
  using ((select keyframe_private.client_may('read')));
comment on policy projects_all_client on keyframe.projects is 'Hides the rows from OAuth clients that may not see them.';
create policy projects_select_owner on keyframe.projects for select to authenticated
  using (owner_id = (select auth.uid()) and deleted_at is null and (select keyframe_private.may_read()));
comment on policy projects_select_owner on keyframe.projects is 'Users see their own rows.';
create policy projects_insert_owner on keyframe.projects for insert to authenticated
  with check (owner_id = (select auth.uid()));
comment on policy projects_insert_owner on keyframe.projects is 'Users insert rows of their own.';
create policy projects_update_owner on keyframe.projects for update to authenticated
  using (owner_id = (select auth.uid()) and deleted_at is null) with check (owner_id = (select auth.uid()));
comment on policy projects_update_owner on keyframe.projects is 'Users change their own rows, which stay theirs.';
create policy projects_delete_owner on keyframe.projects for delete to authenticated
  using (owner_id = (select auth.uid()) and deleted_at is null);
comment on policy projects_delete_owner on keyframe.projects is 'Users delete their own rows.';
-- Not id: an identifier that was used before would get no event (docs/decisions/0023-postgres-makes-ids.md).
grant select, insert (title, text_prompt, description, aspect_ratio), delete,
  update (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id,
    selected_video_id)
  on keyframe.projects to authenticated;
grant select on keyframe.projects to service_role;

-- Counts each insert of a project or film by a user against the rate limit, from the functions and from the Data API.
create function keyframe_private.limit_creations()
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
  for each row execute function keyframe_private.limit_creations();
comment on trigger _100_limit on keyframe.projects is 'Counts an insert by a user against the rate limit.';

-- An administrator's insert may leave out the owner while there is exactly one user.
create function keyframe_private.complete_owner()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  new.owner_id := (select case when count(*) = 1 then min(u.id::text)::uuid end from (select id from auth.users limit 2) u);
  if new.owner_id is null then
    raise exception 'owner_id: choose a user of auth.users. It may be left out only while there is exactly one.' using errcode = 'not_null_violation';
  end if;
  return new;
end
$$;
create trigger _200_complete_owner before insert on keyframe.projects
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
comment on trigger _200_complete_owner on keyframe.projects is 'Fills in the only user, where an administrator leaves the owner out.';

-- Asks for an OAuth client's right to each update or delete, and counts it, before any row is locked: a request that waits for its token
-- holds no lock. A request that changes a film and its projects counts once.
create function keyframe_private.limit_changes()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if pg_trigger_depth() > 1 then -- the deletion of an account takes no token
    return null;
  end if;
  perform keyframe_private.require_client_may(case tg_op when 'DELETE' then 'manage' else 'generate' end::keyframe_private.client_right);
  if current_setting('keyframe.change_of', true) is distinct from auth.uid()::text then
    perform keyframe_private.take_token('change');
  end if;
  return null;
end
$$;
create trigger _100_limit_changes before update or delete on keyframe.projects
  for each statement execute function keyframe_private.limit_changes();
comment on trigger _100_limit_changes on keyframe.projects is 'Counts an update or delete by a user against the rate limit.';

create function keyframe_private.stamp_project()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  old.film_position := new.film_position; -- the order of a film is the film's
  if old is distinct from new then
    -- The API's ETag of a project is this time in milliseconds, so every change moves it, and nothing else does. now() may be before the
    -- last change.
    new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond');
  end if;
  return new;
end
$$;
create trigger _200_stamp before update on keyframe.projects
  for each row execute function keyframe_private.stamp_project();
comment on trigger _200_stamp on keyframe.projects is 'Moves the project''s version.';
