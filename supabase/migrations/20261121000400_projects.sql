-- A project: what the film is about. Frames and videos are predictions of it.

create table public.projects (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  text_prompt text not null constraint text_prompt_has_1_to_4000_characters check (char_length(text_prompt) between 1 and 4000),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint projects_id_owner_id_key unique (id, owner_id)
);
comment on table public.projects is 'One film in the making. Owned by the user who created it.';
comment on column public.projects.text_prompt is 'The scene to generate; each prediction copies it unless it brings a prompt of its own.';
comment on column public.projects.description is 'Free text, for example how the look should be kept. Not sent to the provider.';
create index projects_owner_id_created_at_idx on public.projects (owner_id, created_at desc, id desc);

alter table public.projects enable row level security;
revoke all on public.projects from public, anon, authenticated, service_role;
create policy projects_select_owner on public.projects for select to authenticated
  using (owner_id = (select auth.uid()));
create policy projects_insert_owner on public.projects for insert to authenticated
  with check (owner_id = (select auth.uid()));
grant select, insert (id, title, text_prompt, description) on public.projects to authenticated;
grant select on public.projects to service_role;

-- Counts each insert of a user against the rate limit, through the functions and through the Data API alike.
create function private.limit_projects()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform private.take_token('create');
  return new;
end
$$;
revoke execute on function private.limit_projects() from public, anon, authenticated, service_role;
create trigger _100_limit before insert on public.projects
  for each row execute function private.limit_projects();
