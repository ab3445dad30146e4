create function keyframe_private.own_element(
  element uuid, versions timestamptz[] default null, missing text default 'You have no element with this elementId.')
returns keyframe.elements language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.elements;
begin
  select e.* into requested from keyframe.elements e where e.id = element and keyframe_private.is_own(e.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('element', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_element(
  name text, kind keyframe.element_kind default 'character', text text default '', image_paths text[] default '{}',
  idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.elements;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_element(
      request.resource_id, missing => 'The element that this Idempotency-Key created has been deleted. Send a new key.');
  else
    perform keyframe_private.acquire_lock('elements', auth.uid());
    perform keyframe_private.raise_if(
      (select count(*) from keyframe.elements e where e.owner_id = auth.uid()) >= keyframe_private.max_elements('owner'), 'invalid_request',
      format('You have %s elements already. Delete one first.', keyframe_private.max_elements('owner')));
    insert into keyframe.elements (id, kind, name, text, image_paths)
    values (request.resource_id, create_element.kind, create_element.name, create_element.text,
      coalesce(create_element.image_paths, '{}'))
    returning * into created;
  end if;
  return json_build_object('element', to_jsonb(created) - 'owner_id', 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_element is 'Creates an element of the caller.';

create function keyframe.list_elements(
  max_rows integer default 20, before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.elements[] := array(
    select e from keyframe.elements e
    where e.owner_id = auth.uid() and (e.created_at, e.id) < (before_created_at, before_id)
    order by e.created_at desc, e.id desc
    limit least(max_rows, 101));
begin
  return json_build_object(
    'elements', (select coalesce(json_agg(to_jsonb(e) - 'owner_id' order by e.created_at desc, e.id desc), '[]') from unnest(page) e),
    'rate', rate);
end $$;
comment on function keyframe.list_elements is 'The caller''s elements, newest first, at most 101 per page.';

create function keyframe.read_element(element_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return json_build_object('element', to_jsonb(keyframe_private.own_element(element_id)) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_element is 'One element of the caller.';

create function keyframe.update_element(element_id uuid, changes jsonb default '{}', versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change'); -- before any lock
  changed keyframe.elements;
  refused keyframe_private.refusal;
begin
  update keyframe.elements e
  set (kind, name, text, image_paths) = (select c.kind, c.name, c.text, c.image_paths from jsonb_populate_record(e, changes) c)
  where e.id = update_element.element_id and keyframe_private.is_own(e.owner_id)
    and (versions is null or date_trunc('milliseconds', e.updated_at) = any (versions))
  returning e.* into changed;
  if not found then
    perform keyframe_private.own_element(element_id, versions);
  end if;
  return json_build_object('element', to_jsonb(changed) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_element is 'Changes the caller''s element. `changes` and `versions` as for update_project. Existing predictions keep what they were made with.';

create function keyframe.delete_element(element_id uuid, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  element keyframe.elements;
  refused keyframe_private.refusal;
begin
  perform from keyframe.elements e where e.id = delete_element.element_id and keyframe_private.is_own(e.owner_id) for update;
  element := keyframe_private.own_element(element_id, versions);
  delete from keyframe.elements e where e.id = element.id;
  return json_build_object('element', to_jsonb(element) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_element is 'Deletes an element of the caller, also from films and projects. Predictions keep what they were made with.';
