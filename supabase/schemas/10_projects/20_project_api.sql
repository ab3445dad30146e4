-- Functions that api calls for projects. All are definers: an Idempotency-Key has an identifier before the row exists, which users may not
-- choose, and under a policy no condition on a step may use an index (enum_eq is not leakproof).

-- `versions`: times of updated_at in milliseconds, of which the row must have one.
create function keyframe_private.require_version(kind text, updated_at timestamptz, versions timestamptz[])
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(
    versions is not null and (date_trunc('milliseconds', updated_at) = any (versions)) is not true, 'precondition_failed',
    format('The %s has changed since you read it. Read it again, then repeat your request with its new ETag.', kind));
end $$;

create function keyframe_private.own_project(
  project uuid, versions timestamptz[] default null, missing text default 'You have no project with this projectId.')
returns keyframe.projects language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.projects;
begin
  select p.* into requested from keyframe.projects p where p.id = project and keyframe_private.is_own(p.owner_id) and p.deleted_at is null;
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('project', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_project(
  title text, text_prompt text, description text default '', aspect_ratio text default '16:9', idempotency_key text default null,
  request_hash text default null, film_id uuid default null, element_ids uuid[] default null, plan jsonb default '{}')
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.projects;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_project(
      request.resource_id, missing => 'The project that this Idempotency-Key created has been deleted. Send a new key.');
  else
    insert into keyframe.projects (id, title, text_prompt, description, aspect_ratio, film_id, element_ids, plan)
    values (
      request.resource_id, create_project.title, create_project.text_prompt, create_project.description, create_project.aspect_ratio,
      create_project.film_id, create_project.element_ids, create_project.plan)
    returning * into created;
  end if;
  return jsonb_build_object('project', to_jsonb(created), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('create')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_project is 'Creates a project of the caller; with film_id, as the last shot of that film.';

-- How many projects a token pays for: read with their predictions, or priced by a refused start of a film.
create function keyframe_private.projects_per_token()
returns integer language sql immutable set search_path = '' return 10;

-- The next page follows (before_created_at, before_id); the first one infinity, so that every plan is a walk along the index. A search
-- looks at 5,000 projects (about 10 ms); `searched_until` is the last of them if the page is not full. With predictions it costs one token
-- more for each ten projects.
create function keyframe.list_projects(
  max_rows integer default 20, before_created_at timestamptz default 'infinity',
  before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff', with_predictions boolean default false, search text default '')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page_size integer := least(max_rows, 101);
  looked_at integer := case when search = '' then page_size else 5000 end;
  matches keyframe.projects[];
  searched_until json;
  refused keyframe_private.refusal;
begin
  matches := array(
    select l::keyframe.projects from (
      select p.* from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (before_created_at, before_id)
      order by p.created_at desc, p.id desc
      limit looked_at
    ) l
    where strpos(lower(l.title), lower(search)) > 0
    order by l.created_at desc, l.id desc
    limit page_size);
  if with_predictions then
    rate := keyframe_private.acquire_more_tokens(rate, cardinality(matches), keyframe_private.projects_per_token());
  end if;
  if search <> '' and cardinality(matches) < page_size then
    select to_json(l) into searched_until from ( -- made of one row: the columns of skipped rows are computed too
      select p.created_at, p.id from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (before_created_at, before_id)
      order by p.created_at desc, p.id desc
      offset looked_at - 1 limit 1
    ) l;
  end if;
  return json_build_object(
    'projects', (
      select coalesce(json_agg(
        case when with_predictions
          then (select to_json(j) from (select p.*, coalesce(s.predictions, '[]') as predictions) j)
          else to_json(p) end
        order by p.created_at desc, p.id desc), '[]')
      from unnest(matches) p
      left join keyframe_private.step_predictions(case when with_predictions then matches end) s on s.project_id = p.id),
    'searched_until', searched_until, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_projects is 'The caller''s projects, newest first, at most 101 per page; with_predictions adds the latest prediction and the shown take of each step, search keeps those whose title contains it.';

create function keyframe.read_project(project_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  project keyframe.projects;
  refused keyframe_private.refusal;
begin
  project := keyframe_private.own_project(project_id);
  return json_build_object('project', to_json(project), 'rate', rate,
    'predictions', coalesce((select s.predictions from keyframe_private.step_predictions(array[project]) s), '[]'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_project is 'One project of the caller with the latest prediction and the shown take of each step.';

create function keyframe.update_project(project_id uuid, changes jsonb, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.projects;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.raise_if(jsonb_typeof(changes -> 'plan') <> 'object', 'invalid_request', 'plan must be an object.');
  update keyframe.projects p
  set (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id,
    selected_video_id, film_id, element_ids, plan) = (
    select c.title, c.text_prompt, c.description, c.reference_image_path, c.aspect_ratio, c.selected_first_frame_id,
      c.selected_last_frame_id, c.selected_video_id, c.film_id, c.element_ids,
      (select coalesce(jsonb_object_agg(s.key, s.value), '{}') from jsonb_each(p.plan || c.plan) s where s.value <> 'null')
    from jsonb_populate_record(p, changes) c)
  where p.id = update_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null
    and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  returning p.* into changed;
  if not found then
    perform keyframe_private.own_project(project_id, versions);
  end if;
  return jsonb_build_object('project', to_jsonb(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.update_project is 'Changes the caller''s project. Existing predictions keep their inputs.';

-- Triggers refuse it while a prediction runs, and queue the files for removal.
create function keyframe.delete_project(project_id uuid, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  project keyframe.projects;
  refused keyframe_private.refusal;
begin
  -- Not one that is being deleted in parts: pruning holds its row.
  perform from keyframe.projects p
  where p.id = delete_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null for update;
  project := keyframe_private.own_project(project_id, versions);
  delete from keyframe.projects p where p.id = project.id;
  return jsonb_build_object('project', to_jsonb(project), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_project is 'Deletes a project of the caller with its predictions; their files are removed soon after. With more than 1,000 predictions it disappears at once and is deleted in parts.';
