-- Functions that api calls for projects and their predictions, one call per request. Row-level security decides, except for the
-- lists: under a policy no condition on a step may use an index (enum_eq is not leakproof), and the planner may read and sort all
-- rows of an owner for one page. The lists are definer functions that name the owner in their query.

-- Of each step of the caller's project the latest prediction, and the take that stands for it. Mostly they are the same, so each
-- prediction is in the list once.
create function keyframe_private.step_predictions(project keyframe.projects)
returns json
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  return (
    with steps as (
      select latest.prediction, keyframe_private.shown_take(project, wanted.step) as take_id
      from unnest(enum_range(null::keyframe.generation_step)) as wanted (step)
      cross join lateral (
        select p as prediction from keyframe.predictions p
        where p.project_id = (step_predictions.project).id and p.step = wanted.step
        order by p.created_at desc, p.id desc
        limit 1
      ) latest
    ), takes as (
      select array_remove(array_agg(s.take_id), null) as ids from steps s
    )
    select coalesce(json_agg(json_build_object(
      'is_latest', shown.is_latest, 'is_take', shown.is_take, 'prediction', keyframe_private.prediction_json(shown.prediction, takes.ids))), '[]')
    from takes
    cross join steps latest
    cross join lateral (
      select latest.prediction, true as is_latest, latest.take_id is not distinct from (latest.prediction).id as is_take
      union all
      select p, false, true from keyframe.predictions p where p.id = latest.take_id and p.id <> (latest.prediction).id
    ) shown
    where (shown.prediction).owner_id = auth.uid() -- checked outside the lateral queries, so that the planner does not choose an index on the owner
  );
end
$$;
comment on function keyframe_private.step_predictions is 'Of each step of the caller''s project the latest prediction, and the take that stands for it.';
grant execute on function keyframe_private.step_predictions(keyframe.projects) to authenticated;

-- Newest first. The next page follows (before_created_at, before_id). A search looks at 5,000 projects, which takes about 10 ms; when
-- they do not fill the page, `searched_until` is the last of them, and the next page follows it.
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
      where p.owner_id = auth.uid() and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      limit looked_at
    ) l
    where strpos(lower(l.title), lower(search)) > 0
    order by l.created_at desc, l.id desc
    limit wanted);
  if search <> '' and cardinality(matches) < wanted then
    select to_json(l) into searched_until from ( -- made of one row: the columns of skipped rows are computed too
      select p.created_at, p.id from keyframe.projects p
      where p.owner_id = auth.uid() and (p.created_at, p.id) < (first_time, first_id)
      order by p.created_at desc, p.id desc
      offset looked_at - 1 limit 1
    ) l;
  end if;
  return json_build_object(
    'projects', (
      select coalesce(json_agg(
        case when with_predictions
          then (select to_json(j) from (select (f.project).*, keyframe_private.step_predictions(f.project) as predictions) j)
          else to_json(f.project) end
        order by f.place), '[]')
      from (select u as project, row_number() over () as place from unnest(matches) u) f),
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
begin
  select p.* into wanted from keyframe.projects p where p.id = read_project.project_id;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no project of yours with this projectId.');
  end if;
  return json_build_object(
    'project', to_json(wanted), 'predictions', keyframe_private.step_predictions(wanted), 'rate', rate);
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
end
$$;
comment on function keyframe.update_project is 'Changes the caller''s project. Existing predictions keep their inputs.';

-- The triggers on projects and predictions count it, refuse it while a prediction runs, and queue the files for removal. `versions` as
-- for update_project.
create function keyframe.delete_project(project_id uuid, versions timestamptz[] default null)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  deleted keyframe.projects;
begin
  delete from keyframe.projects p
  where p.id = delete_project.project_id and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  returning p.* into deleted;
  if not found then
    perform keyframe_private.refuse_changed('project', exists (select from keyframe.projects p where p.id = project_id));
  end if;
  return jsonb_build_object('project', to_jsonb(deleted), 'rate', keyframe_private.rate_state('change'));
end
$$;
comment on function keyframe.delete_project is 'Deletes a project of the caller with its predictions; their files are removed soon after.';

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
begin
  if not exists (select from keyframe.projects p where p.id = list_predictions.project_id and p.owner_id = auth.uid()) then
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
