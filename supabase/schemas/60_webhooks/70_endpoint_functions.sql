-- Functions that api calls for webhook endpoints: with the caller's token, or with the secret key for service-wide endpoints.
-- Definer, because users may not write these tables; each function finds its rows through managed_endpoint or by owner.

create function keyframe_private.is_managed(owner uuid)
returns boolean language sql stable set search_path = '' as $$
  select case when (select auth.role()) = 'service_role' then owner is null else coalesce(owner = (select auth.uid()), false) end
$$;
comment on function keyframe_private.is_managed is 'Whether the caller manages an endpoint of this owner: users their own; the secret key those without an owner.';

-- An OAuth client needs the right to manage. The lock does not block the foreign keys of new deliveries: creating a project does not wait
-- for a change of an endpoint.
create function keyframe_private.managed_endpoint(endpoint uuid, lock boolean default false)
returns keyframe.webhook_endpoints language plpgsql volatile set search_path = '' as $$
declare
  wanted keyframe.webhook_endpoints;
begin
  perform keyframe_private.require_client_may('manage');
  if lock then
    perform from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_managed(e.owner_id) for no key update;
  end if;
  select e.* into wanted from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_managed(e.owner_id);
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no webhook endpoint of yours with this identifier.');
  end if;
  return wanted;
end $$;
comment on function keyframe_private.managed_endpoint is 'Returns the endpoint if the caller manages it; otherwise raises not_found.';

-- Administrators may set up to 100 by hand.
create function keyframe_private.require_max_in_flight(max_in_flight integer)
returns void language plpgsql immutable set search_path = '' as $$
begin
  if max_in_flight not between 1 and 8 then
    perform keyframe_private.raise_error('invalid_request', 'maxInFlight must be from 1 to 8.');
  end if;
end $$;
comment on function keyframe_private.require_max_in_flight is 'Raises unless a caller may set this max_in_flight.';

create function keyframe.create_webhook_endpoint(
  url text, description text default '', event_types text[] default '{}', enabled boolean default true, max_in_flight integer default 8,
  idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  if not request.replayed then
    perform keyframe_private.require_client_may('manage');
    perform keyframe_private.require_max_in_flight(create_webhook_endpoint.max_in_flight);
    insert into keyframe.webhook_endpoints (id, owner_id, url, description, event_types, enabled, max_in_flight)
    values (request.resource_id, auth.uid(), create_webhook_endpoint.url, create_webhook_endpoint.description,
      create_webhook_endpoint.event_types, create_webhook_endpoint.enabled, create_webhook_endpoint.max_in_flight);
  end if;
  created := keyframe_private.managed_endpoint(request.resource_id);
  return jsonb_build_object('endpoint', to_jsonb(created), 'secret', keyframe_private.webhook_secret(created.id),
    'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_webhook_endpoint is 'Creates an endpoint of the caller, with its secret; with the secret key a service-wide one.';

create function keyframe.list_webhook_endpoints()
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  listed jsonb;
  by_service boolean := coalesce(auth.role() = 'service_role', false);
  caller uuid := case when not by_service then auth.uid() end;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(to_jsonb(e) order by e.created_at desc, e.id desc), '[]') into listed
  from keyframe.webhook_endpoints e
  where e.owner_id = caller or (e.owner_id is null and by_service); -- one index condition for each half; together they are is_managed
  return jsonb_build_object('endpoints', listed, 'rate', rate);
end $$;
comment on function keyframe.list_webhook_endpoints is 'The endpoints the caller manages, newest first.';

create function keyframe.read_webhook_endpoint(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  refused keyframe_private.refusal;
begin
  return jsonb_build_object('endpoint', to_jsonb(keyframe_private.managed_endpoint(endpoint_id)), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_webhook_endpoint is 'One endpoint of the caller.';

create function keyframe.update_webhook_endpoint(
  endpoint_id uuid, url text default null, description text default null, event_types text[] default null, enabled boolean default null,
  max_in_flight integer default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('change');
  changed keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  changed := keyframe_private.managed_endpoint(endpoint_id, lock => true);
  perform keyframe_private.require_max_in_flight(update_webhook_endpoint.max_in_flight);
  update keyframe.webhook_endpoints e
  set url = coalesce(update_webhook_endpoint.url, e.url),
      description = coalesce(update_webhook_endpoint.description, e.description),
      event_types = coalesce(update_webhook_endpoint.event_types, e.event_types),
      enabled = coalesce(update_webhook_endpoint.enabled, e.enabled),
      max_in_flight = coalesce(update_webhook_endpoint.max_in_flight, e.max_in_flight)
  where e.id = changed.id
  returning e.* into changed;
  return jsonb_build_object('endpoint', to_jsonb(changed), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_webhook_endpoint is 'Changes the given fields of an endpoint of the caller; null keeps a field.';

create function keyframe.delete_webhook_endpoint(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('change');
  gone keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  gone := keyframe_private.managed_endpoint(endpoint_id, lock => true);
  delete from keyframe.webhook_endpoints e where e.id = gone.id;
  return jsonb_build_object('endpoint', to_jsonb(gone), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_webhook_endpoint is 'Deletes an endpoint of the caller with its deliveries and secrets.';

create function keyframe.reveal_webhook_secret(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  endpoint keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  endpoint := keyframe_private.managed_endpoint(endpoint_id);
  return jsonb_build_object('secret', keyframe_private.webhook_secret(endpoint.id), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.reveal_webhook_secret is 'The current signing secret of an endpoint of the caller.';
