-- Functions that api calls for projects. All are definers: an Idempotency-Key has an identifier before the row exists, which users may not
-- choose, and under a policy no condition on a step may use an index (enum_eq is not leakproof).

create function keyframe_private.own_project(project uuid)
returns keyframe.projects language plpgsql stable set search_path = '' as $$
declare
  wanted keyframe.projects;
begin
  select p.* into wanted from keyframe.projects p where p.id = project and keyframe_private.is_own(p.owner_id) and p.deleted_at is null;
  perform keyframe_private.raise_if(not found, 'not_found', 'There is no project of yours with this projectId.');
  return wanted;
end $$;
comment on function keyframe_private.own_project is 'The project, if it is the caller''s; otherwise raises not_found.';

create function keyframe.create_project(
  title text, text_prompt text, description text default '', aspect_ratio text default '16:9', idempotency_key text default null,
  request_hash text default null, film_id uuid default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.projects;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    select p.* into created from keyframe.projects p 
    where p.id = request.resource_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null;
    perform keyframe_private.raise_if(not found, 'not_found',
      'The project this Idempotency-Key created has been deleted since. Send a new key.');
  else
    insert into keyframe.projects (id, title, text_prompt, description, aspect_ratio, film_id)
    values (
      request.resource_id, create_project.title, create_project.text_prompt, create_project.description, create_project.aspect_ratio,
      create_project.film_id)
    returning * into created;
  end if;
  return jsonb_build_object('project', to_jsonb(created), 'replayed', request.replayed, 'rate', keyframe_private.rate_state('create'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_project is 'Creates a project of the caller; with film_id, as the last shot of that film.';

create function keyframe_private.projects_per_token()
returns integer language sql immutable set search_path = '' as $$
  select 10
$$;
comment on function keyframe_private.projects_per_token is 'How many projects a token pays for, of those that are read with their predictions.';

-- The next page follows (before_created_at, before_id). A search looks at 5,000 projects (about 10 ms); `searched_until` is the last of
-- them if the page is not full. With predictions it costs one token more for each ten projects.
create function keyframe.list_projects(
  max_rows integer default 20, before_created_at timestamptz default null, before_id uuid default null,
  with_predictions boolean default false, search text default '')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  wanted integer := least(max_rows, 101);
  looked_at integer := case when search = '' then wanted else 5000 end;
  -- Without a cursor it starts at infinity, so that every plan is a walk along the index.
  first_time timestamptz := coalesce(before_created_at, 'infinity');
  first_id uuid := coalesce(before_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  matches keyframe.projects[];
  searched_until json;
begin
  matches := array(
    select row(l.*)::keyframe.projects from (
      select p.* from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      limit looked_at
    ) l
    where strpos(lower(l.title), lower(search)) > 0
    order by l.created_at desc, l.id desc
    limit wanted);
  if with_predictions and cardinality(matches) >= keyframe_private.projects_per_token() then
    rate := keyframe_private.take_token('read', cardinality(matches) / keyframe_private.projects_per_token());
  end if;
  if search <> '' and cardinality(matches) < wanted then
    select to_json(l) into searched_until from ( -- made of one row: the columns of skipped rows are computed too
      select p.created_at, p.id from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      offset looked_at - 1 limit 1
    ) l;
  end if;
  return json_build_object(
    'projects', (
      select coalesce(json_agg(
        case when with_predictions
          then (select to_json(j) from (select (f.project).*, coalesce(s.predictions, '[]') as predictions) j)
          else to_json(f.project) end
        order by f.place), '[]')
      from (select u as project, row_number() over () as place from unnest(matches) u) f
      left join keyframe_private.step_predictions(case when with_predictions then matches end) s on s.project_id = (f.project).id),
    'searched_until', searched_until, 'rate', rate);
end $$;
comment on function keyframe.list_projects is 'The caller''s projects, newest first, at most 101 per page; with_predictions adds the latest prediction and the shown take of each step, search keeps those whose title contains it.';

create function keyframe.read_project(project_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  wanted keyframe.projects;
  refused keyframe_private.refusal;
begin
  wanted := keyframe_private.own_project(project_id);
  return json_build_object(
    'project', to_json(wanted), 'predictions',
      coalesce((select s.predictions from keyframe_private.step_predictions(array[wanted]) s), '[]'),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_project is 'One project of the caller with the latest prediction and the shown take of each step.';

create function keyframe_private.refuse_changed(kind text)
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_error('precondition_failed',
    format('The %s has changed since you read it. Read it again, then repeat your request with its new ETag.', kind));
end $$;
comment on function keyframe_private.refuse_changed is 'Raises precondition_failed for a project or film that has another version.';

-- `changes`: columns and values. `versions`: times of updated_at in milliseconds, of which the project must have one.
create function keyframe.update_project(project_id uuid, changes jsonb, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.projects;
  refused keyframe_private.refusal;
begin
  update keyframe.projects p
  set (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id,
    selected_video_id, film_id) = (
    select c.title, c.text_prompt, c.description, c.reference_image_path, c.aspect_ratio, c.selected_first_frame_id,
      c.selected_last_frame_id, c.selected_video_id, c.film_id
    from jsonb_populate_record(p, changes) c)
  where p.id = update_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null
    and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  returning p.* into changed;
  if not found then
    perform keyframe_private.own_project(project_id);
    perform keyframe_private.refuse_changed('project');
  end if;
  return jsonb_build_object('project', to_jsonb(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.update_project is 'Changes the caller''s project. Existing predictions keep their inputs.';

-- `versions` as for update_project. Triggers refuse it while a prediction runs, and queue the files for removal.
create function keyframe.delete_project(project_id uuid, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('change', needed => 'manage'); -- before any lock
  wanted keyframe.projects;
  refused keyframe_private.refusal;
begin
  select p.* into wanted from keyframe.projects p
  where p.id = delete_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null
    and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  for update;
  if not found then
    perform keyframe_private.own_project(project_id);
    perform keyframe_private.refuse_changed('project');
  end if;
  delete from keyframe.projects p where p.id = wanted.id;
  return jsonb_build_object('project', to_jsonb(wanted), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_project is 'Deletes a project of the caller with its predictions; their files are removed soon after. With more than 1,000 predictions it disappears at once and is deleted in parts.';

-- Functions that api calls for films, one call per request.

create function keyframe_private.shots_of(film uuid)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.film_id = film order by p.film_position);
end $$;
comment on function keyframe_private.shots_of is 'The shots of a film, in order.';

create function keyframe_private.film_json(film keyframe.films)
returns json language plpgsql stable set search_path = '' as $$
begin
  return json_build_object(
    'id', film.id, 'title', film.title, 'description', film.description, 'project_ids', keyframe_private.shots_of(film.id),
    'created_at', film.created_at, 'updated_at', film.updated_at);
end $$;
comment on function keyframe_private.film_json is 'A film as its owner sees it.';

create function keyframe_private.own_film(film uuid)
returns keyframe.films language plpgsql stable set search_path = '' as $$
declare
  wanted keyframe.films;
begin
  select f.* into wanted from keyframe.films f where f.id = film and keyframe_private.is_own(f.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', 'There is no film of yours with this filmId.');
  return wanted;
end $$;
comment on function keyframe_private.own_film is 'The film, if it is the caller''s; otherwise raises not_found.';

create function keyframe.create_film(
  title text, description text default '', idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.films;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    select f.* into created from keyframe.films f where f.id = request.resource_id and keyframe_private.is_own(f.owner_id);
    perform keyframe_private.raise_if(not found, 'not_found',
      'The film this Idempotency-Key created has been deleted since. Send a new key.');
  else
    insert into keyframe.films (id, title, description)
    values (request.resource_id, create_film.title, create_film.description)
    returning * into created;
  end if;
  return json_build_object(
    'film', keyframe_private.film_json(created), 'replayed', request.replayed, 'rate', keyframe_private.rate_state('create'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_film is 'Creates a film of the caller, without shots.';

create function keyframe.list_films(max_rows integer default 20, before_created_at timestamptz default null, before_id uuid default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  first_time timestamptz := coalesce(before_created_at, 'infinity');
  first_id uuid := coalesce(before_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  page keyframe.films[] := array(
    select f from keyframe.films f
    where f.owner_id = auth.uid() and (f.created_at, f.id) < (first_time, first_id)
    order by f.created_at desc, f.id desc
    limit least(max_rows, 101));
begin
  return json_build_object(
    'films', (select coalesce(json_agg(keyframe_private.film_json(f) order by f.created_at desc, f.id desc), '[]') from unnest(page) f),
    'rate', rate);
end $$;
comment on function keyframe.list_films is 'The caller''s films with the identifiers of their shots, newest first, at most 101 per page.';

create function keyframe.read_film(film_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  wanted keyframe.films;
  shots keyframe.projects[];
  refused keyframe_private.refusal;
begin
  wanted := keyframe_private.own_film(film_id);
  shots := array(select p from keyframe.projects p where p.film_id = wanted.id order by p.film_position);
  if cardinality(shots) >= keyframe_private.projects_per_token() then
    rate := keyframe_private.take_token('read', cardinality(shots) / keyframe_private.projects_per_token());
  end if;
  return json_build_object(
    'film', keyframe_private.film_json(wanted),
    'shots', (
      select coalesce(json_agg(
        (select to_json(j) from (select p.*, coalesce(s.predictions, '[]') as predictions) j) order by p.film_position), '[]')
      from unnest(shots) p left join keyframe_private.step_predictions(shots) s on s.project_id = p.id),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_film is 'One film of the caller with its shots in order, each with the latest prediction and the shown take of each step. Costs one token more for each ten shots.';

create function keyframe_private.order_shots(film keyframe.films, project_ids uuid[])
returns void language plpgsql volatile set search_path = '' as $$
declare
  unknown uuid;
begin
  if cardinality(project_ids) > keyframe_private.max_shots() then
    perform keyframe_private.raise_error('invalid_request', format('A film has at most %s shots.', keyframe_private.max_shots()));
  elsif (select count(distinct w.id) from unnest(project_ids) w (id)) < cardinality(project_ids) then -- null is not counted
    perform keyframe_private.raise_error('invalid_request', 'A project can be in projectIds only once.');
  end if;
  select w.id into unknown from unnest(project_ids) w (id)
  where not exists (select from keyframe.projects p where p.id = w.id and p.owner_id = film.owner_id and p.deleted_at is null)
  limit 1;
  if found then
    perform keyframe_private.raise_error('not_found', format('There is no project of yours with the projectId %s.', unknown));
  elsif project_ids = keyframe_private.shots_of(film.id) then
    return;
  end if;

  update keyframe.films f set updated_at = now()
  where f.id = film.id or f.id in (select p.film_id from keyframe.projects p where p.id = any (project_ids));
  -- First out, then in: a project that takes the same position in another film would not be known from one that only enters it.
  update keyframe.projects p set film_id = null, film_position = null
  where p.film_id = film.id and p.id <> all (project_ids) or p.id = any (project_ids) and p.film_id <> film.id;
  update keyframe.projects p set film_id = film.id, film_position = w.position
  from unnest(project_ids) with ordinality w (id, position)
  where p.id = w.id and p.film_position is distinct from w.position;
end $$;
comment on function keyframe_private.order_shots is 'Makes these projects the shots of a film, in this order. The film''s other shots leave it; shots of other films leave those films.';

create function keyframe.update_film(
  film_id uuid, changes jsonb default '{}', project_ids uuid[] default null, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.films;
  refused keyframe_private.refusal;
begin
  update keyframe.films f
  set (title, description) = (select c.title, c.description from jsonb_populate_record(f, changes) c)
  where f.id = update_film.film_id and keyframe_private.is_own(f.owner_id)
    and (versions is null or date_trunc('milliseconds', f.updated_at) = any (versions))
  returning f.* into changed;
  if not found then
    perform keyframe_private.own_film(film_id);
    perform keyframe_private.refuse_changed('film');
  end if;
  if project_ids is not null then
    perform keyframe_private.order_shots(changed, project_ids);
    select f.* into changed from keyframe.films f where f.id = changed.id;
  end if;
  return json_build_object('film', keyframe_private.film_json(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.update_film is 'Changes the caller''s film: its texts, and with project_ids its shots and their order. `changes` and `versions` as for update_project.';

-- With with_projects, a running prediction stops all of it (generation_in_progress).
create function keyframe.delete_film(film_id uuid, with_projects boolean default false, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('change', needed => 'manage'); -- before any lock
  wanted keyframe.films;
  deleted json;
  shots uuid[];
  refused keyframe_private.refusal;
begin
  select f.* into wanted from keyframe.films f
  where f.id = delete_film.film_id and keyframe_private.is_own(f.owner_id)
    and (versions is null or date_trunc('milliseconds', f.updated_at) = any (versions))
  for update;
  if not found then
    perform keyframe_private.own_film(film_id);
    perform keyframe_private.refuse_changed('film');
  end if;
  deleted := keyframe_private.film_json(wanted);
  shots := keyframe_private.shots_of(wanted.id);
  if with_projects then
    -- before they leave the film: require_frame sees that they are deleted
    perform from keyframe.projects p where p.id = any (shots) for update;
  end if;
  delete from keyframe.films f where f.id = wanted.id;
  if with_projects then
    delete from keyframe.projects p where p.id = any (shots);
  end if;
  return json_build_object('film', deleted, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_film is 'Deletes a film of the caller; with_projects, also its shots with their predictions and files.';
