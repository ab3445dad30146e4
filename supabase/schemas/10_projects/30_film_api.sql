create function keyframe_private.shots_of(film uuid)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.film_id = film order by p.film_position);
end $$;

create function keyframe_private.film_json(film keyframe.films)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(film) - 'owner_id' || jsonb_build_object('project_ids', keyframe_private.shots_of(film.id));
end $$;

create function keyframe_private.own_film(
  film uuid, versions timestamptz[] default null, missing text default 'You have no film with this filmId.')
returns keyframe.films language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.films;
begin
  select f.* into requested from keyframe.films f where f.id = film and keyframe_private.is_own(f.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('film', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_film(
  title text, description text default '', idempotency_key text default null, request_hash text default null,
  element_ids uuid[] default '{}')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.films;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_film(
      request.resource_id, missing => 'The film that this Idempotency-Key created has been deleted. Send a new key.');
  else
    insert into keyframe.films (id, title, description, element_ids)
    values (request.resource_id, create_film.title, create_film.description, create_film.element_ids)
    returning * into created;
  end if;
  return json_build_object(
    'film', keyframe_private.film_json(created), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('create')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_film is 'Creates a film of the caller, without shots.';

create function keyframe.list_films(
  max_rows integer default 20, before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.films[] := array(
    select f from keyframe.films f
    where f.owner_id = auth.uid() and (f.created_at, f.id) < (before_created_at, before_id)
    order by f.created_at desc, f.id desc
    limit least(max_rows, 101));
  refused keyframe_private.refusal;
begin
  rate := keyframe_private.acquire_more_tokens(
    rate, (select count(*)::integer from unnest(page) f join keyframe.projects p on p.film_id = f.id), 1000);
  return json_build_object(
    'films', (select coalesce(json_agg(keyframe_private.film_json(f) order by f.created_at desc, f.id desc), '[]') from unnest(page) f),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_films is 'The caller''s films with the identifiers of their shots, newest first, at most 101 per page. Costs one token more for each thousand shots.';

create function keyframe.read_film(film_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  film keyframe.films;
  shots keyframe.projects[];
  refused keyframe_private.refusal;
begin
  film := keyframe_private.own_film(film_id);
  shots := array(select p from keyframe.projects p where p.film_id = film.id order by p.film_position);
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(shots), keyframe_private.projects_per_token());
  return json_build_object(
    'film', keyframe_private.film_json(film),
    'shots', (
      select coalesce(json_agg(
        (select to_json(j) from (select p.*, coalesce(s.predictions, '[]') as predictions) j) order by p.film_position), '[]')
      from unnest(shots) p left join keyframe_private.step_predictions(shots, with_elements => false) s on s.project_id = p.id),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_film is 'One film of the caller with its shots in order, each with the latest prediction and the shown take of each step, without the elements of their input. Costs one token more for each ten shots.';

-- The film's other shots leave it, and shots of other films leave those.
create function keyframe_private.order_shots(film keyframe.films, project_ids uuid[])
returns void language plpgsql volatile set search_path = '' as $$
declare
  unknown uuid;
begin
  perform keyframe_private.raise_if(cardinality(project_ids) > keyframe_private.max_shots(), 'invalid_request',
    format('A film has at most %s shots.', keyframe_private.max_shots()));
  perform keyframe_private.raise_if((select count(distinct w.id) from unnest(project_ids) w (id)) < cardinality(project_ids), -- null is not counted
    'invalid_request', 'A project can be in projectIds only once.');
  select w.id into unknown from unnest(project_ids) w (id)
  where not exists (select from keyframe.projects p where p.id = w.id and p.owner_id = film.owner_id and p.deleted_at is null)
  limit 1;
  perform keyframe_private.raise_if(found, 'not_found', format('You have no project with the projectId %s.', unknown));
  if project_ids = keyframe_private.shots_of(film.id) then
    return;
  end if;

  update keyframe.films f set updated_at = now()
  where f.id = film.id or f.id in (select p.film_id from keyframe.projects p where p.id = any (project_ids));
  -- First remove, then add: otherwise a project with the same position in its old film could not be distinguished from a new one.
  update keyframe.projects p set film_id = null, film_position = null
  where p.film_id = film.id and p.id <> all (project_ids) or p.id = any (project_ids) and p.film_id <> film.id;
  update keyframe.projects p set film_id = film.id, film_position = w.position
  from unnest(project_ids) with ordinality w (id, position)
  where p.id = w.id and p.film_position is distinct from w.position;
end $$;

create function keyframe.update_film(
  film_id uuid, changes jsonb default '{}', project_ids uuid[] default null, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.films;
  refused keyframe_private.refusal;
begin
  update keyframe.films f
  set (title, description, element_ids) = (select c.title, c.description, c.element_ids from jsonb_populate_record(f, changes) c)
  where f.id = update_film.film_id and keyframe_private.is_own(f.owner_id)
    and (versions is null or date_trunc('milliseconds', f.updated_at) = any (versions))
  returning f.* into changed;
  if not found then
    perform keyframe_private.own_film(film_id, versions);
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
comment on function keyframe.update_film is 'Changes the caller''s film: its texts, its elements, and with project_ids its shots and their order. `changes` and `versions` as for update_project.';

-- With with_projects, a running prediction refuses the whole deletion (generation_in_progress).
create function keyframe.delete_film(film_id uuid, with_projects boolean default false, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  film keyframe.films;
  deleted jsonb;
  shots uuid[];
  refused keyframe_private.refusal;
begin
  perform from keyframe.films f where f.id = delete_film.film_id and keyframe_private.is_own(f.owner_id) for update;
  film := keyframe_private.own_film(film_id, versions);
  deleted := keyframe_private.film_json(film);
  shots := keyframe_private.shots_of(film.id);
  if with_projects then
    -- before they leave the film: require_frame sees that they are deleted
    perform from keyframe.projects p where p.id = any (shots) for update;
  end if;
  delete from keyframe.films f where f.id = film.id;
  if with_projects then
    delete from keyframe.projects p where p.id = any (shots);
  end if;
  return json_build_object('film', deleted, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_film is 'Deletes a film of the caller; with_projects, also its shots with their predictions and files.';
