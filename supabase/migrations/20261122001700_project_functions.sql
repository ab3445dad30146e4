-- Functions that api calls for projects and their predictions, one call per request. Row-level security decides, except for the
-- lists: under a policy no condition on a step may use an index (enum_eq is not leakproof), and the planner may read and sort all
-- rows of an owner for one page. The lists are definer functions that name the owner in their query.

create function keyframe_private.projects_per_token()
returns integer
language sql
immutable
set search_path = ''
as $$
  select 10
$$;
comment on function keyframe_private.projects_per_token is 'How many projects a token pays for, of those that are read with their predictions.';
grant execute on function keyframe_private.projects_per_token() to authenticated;

-- Of each step of these projects the latest prediction, and the take that stands for it; only the caller's. Mostly they are the same, so
-- each prediction is in the list once. All projects in one query: one query each took twice as long for a film of 500 shots.
create function keyframe_private.step_predictions(projects keyframe.projects[])
returns table (project_id uuid, predictions json)
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  caller constant uuid := auth.uid();
begin
  return query
    with steps as materialized (
      select o.project, keyframe_private.shown_take(o.project, s.step) as take_id, (
          select p.id from keyframe.predictions p where p.project_id = (o.project).id and p.step = s.step
          order by p.created_at desc, p.id desc limit 1) as latest_id
      from (select u as project from unnest(projects) u) o
      cross join unnest(enum_range(null::keyframe.generation_step)) s (step)
    ), takes as (
      select (s.project).id, array_remove(array_agg(s.take_id), null) as shown from steps s group by 1
    )
    select p.project_id, json_agg(json_build_object(
      'is_latest', p.id = s.latest_id, 'is_take', s.take_id is not distinct from p.id,
      'prediction', keyframe_private.prediction_json(p, t.shown)))
    from steps s
    join keyframe.predictions p on p.id = any (array[s.latest_id, s.take_id])
    join takes t on t.id = p.project_id
    where p.owner_id = caller
    group by p.project_id;
end
$$;
comment on function keyframe_private.step_predictions is 'The latest prediction of each step of projects of the caller, and the take that stands for it.';
grant execute on function keyframe_private.step_predictions(keyframe.projects[]) to authenticated;

-- Newest first. The next page follows (before_created_at, before_id). A search looks at 5,000 projects, which takes about 10 ms; when
-- they do not fill the page, `searched_until` is the last of them, and the next page follows it. With predictions it costs one token more
-- for each ten projects.
create function keyframe.list_projects(
  max_rows integer default 20, before_created_at timestamptz default null, before_id uuid default null,
  with_predictions boolean default false, search text default ''
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
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
end
$$;
comment on function keyframe.list_projects is 'The caller''s projects, newest first, at most 101 per page; with_predictions adds the latest prediction and the shown take of each step, search keeps those whose title contains it.';

create function keyframe.read_project(project_id uuid)
returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  wanted keyframe.projects;
  refused keyframe_private.refusal;
begin
  select p.* into wanted from keyframe.projects p where p.id = read_project.project_id;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no project of yours with this projectId.');
  end if;
  return json_build_object(
    'project', to_json(wanted), 'predictions', coalesce((select s.predictions from keyframe_private.step_predictions(array[wanted]) s), '[]'),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.read_project is 'One project of the caller with the latest prediction and the shown take of each step.';

create function keyframe_private.refuse_changed(kind text, is_own boolean)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if is_own then
    perform keyframe_private.raise_error('precondition_failed', format('The %s has changed since you read it. Read it again, then repeat your request with its new ETag.', kind));
  end if;
  perform keyframe_private.raise_error('not_found', format('There is no %1$s of yours with this %1$sId.', kind));
end
$$;
comment on function keyframe_private.refuse_changed is 'Raises precondition_failed for a project or film of the caller, not_found for every other.';
grant execute on function keyframe_private.refuse_changed(text, boolean) to authenticated;

-- `changes` has columns and their values; an omitted column keeps its value. With `versions` (times of updated_at, in milliseconds)
-- it changes only a project of one of them. The triggers on projects count the change and set updated_at.
create function keyframe.update_project(project_id uuid, changes jsonb, versions timestamptz[] default null)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  changed keyframe.projects;
  refused keyframe_private.refusal;
begin
  update keyframe.projects p
  set (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id, selected_video_id, film_id) = (
    select c.title, c.text_prompt, c.description, c.reference_image_path, c.aspect_ratio, c.selected_first_frame_id, c.selected_last_frame_id,
      c.selected_video_id, c.film_id
    from jsonb_populate_record(p, changes) c)
  where p.id = update_project.project_id and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  returning p.* into changed;
  if not found then
    perform keyframe_private.refuse_changed('project', exists (select from keyframe.projects p where p.id = project_id));
  end if;
  return jsonb_build_object('project', to_jsonb(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end
$$;
comment on function keyframe.update_project is 'Changes the caller''s project. Existing predictions keep their inputs.';

-- The triggers on projects and predictions refuse it while a prediction runs, queue the files for removal, and leave a large one to
-- delete_parts. `versions` as for update_project.
create function keyframe.delete_project(project_id uuid, versions timestamptz[] default null)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('change', needed => 'manage'); -- before any lock
  wanted keyframe.projects;
  refused keyframe_private.refusal;
begin
  select p.* into wanted from keyframe.projects p
  where p.id = delete_project.project_id and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  for update;
  if not found then
    perform keyframe_private.refuse_changed('project', exists (select from keyframe.projects p where p.id = project_id));
  end if;
  delete from keyframe.projects p where p.id = wanted.id;
  return jsonb_build_object('project', to_jsonb(wanted), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.delete_project is 'Deletes a project of the caller with its predictions; their files are removed soon after. With more than 1,000 predictions it disappears at once and is deleted in parts.';

-- Newest first, of one step or of all. The next page follows (before_created_at, before_id). Hidden ones are left out unless
-- `with_hidden`; `only_takes` leaves out those that have not succeeded.
create function keyframe.list_predictions(
  project_id uuid, step keyframe.generation_step default null, max_rows integer default 20,
  before_created_at timestamptz default null, before_id uuid default null,
  only_takes boolean default false, with_hidden boolean default false
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  first_time timestamptz := coalesce(before_created_at, 'infinity');
  first_id uuid := coalesce(before_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  page keyframe.predictions[];
  shown constant uuid[] := keyframe_private.shown_takes(project_id);
  refused keyframe_private.refusal;
begin
  if not exists (select from keyframe.projects p where p.id = list_predictions.project_id and p.owner_id = auth.uid() and p.deleted_at is null) then
    perform keyframe_private.raise_error('not_found', 'There is no project of yours with this projectId.');
  end if;
  -- One statement for each, so that each plan walks along its own index.
  if only_takes then
    page := array(
      select t.take from unnest(case when step is null then enum_range(null::keyframe.generation_step) else array[step] end) as wanted (step)
      cross join lateral (
        select p as take, p.created_at, p.id from keyframe.predictions p
        where p.project_id = list_predictions.project_id and p.step = wanted.step and p.status = 'succeeded' and (with_hidden or not p.hidden)
          and (p.created_at, p.id) < (first_time, first_id)
        order by p.created_at desc, p.id desc
        limit least(max_rows, 101)
      ) t
      order by t.created_at desc, t.id desc
      limit least(max_rows, 101));
  elsif step is null then
    page := array(
      select p from keyframe.predictions p
      where p.project_id = list_predictions.project_id and p.owner_id = auth.uid() and (with_hidden or not p.hidden)
        and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      limit least(max_rows, 101));
  else
    page := array(
      select p from keyframe.predictions p
      where p.project_id = list_predictions.project_id and p.step = list_predictions.step and (with_hidden or not p.hidden)
        and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      limit least(max_rows, 101));
  end if;
  return json_build_object(
    'predictions', (
      select coalesce(json_agg(keyframe_private.prediction_json(p, shown) order by p.created_at desc, p.id desc), '[]') from unnest(page) p),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.list_predictions is 'The predictions of the caller''s project, newest first, at most 101 per page.';

grant execute on function
  keyframe.list_projects(integer, timestamptz, uuid, boolean, text),
  keyframe.read_project(uuid),
  keyframe.update_project(uuid, jsonb, timestamptz[]),
  keyframe.delete_project(uuid, timestamptz[]),
  keyframe.list_predictions(uuid, keyframe.generation_step, integer, timestamptz, uuid, boolean, boolean)
to authenticated;
