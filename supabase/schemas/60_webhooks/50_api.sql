-- Functions that api calls for webhook endpoints.

-- Changes of one endpoint run one at a time. `no key update`, so that a recovery (`key share`) does not wait for them.
create function keyframe_private.own_endpoint(endpoint uuid, lock boolean default false)
returns keyframe.webhook_endpoints language plpgsql volatile set search_path = '' as $$
declare
  requested keyframe.webhook_endpoints;
begin
  perform keyframe_private.require_client_may('manage');
  if lock then
    perform from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_own(e.owner_id) for no key update;
  end if;
  select e.* into requested from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_own(e.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no webhook endpoint with this id.');
  return requested;
end $$;

-- Administrators may set up to 100 by hand.
create function keyframe_private.require_max_in_flight(max_in_flight integer)
returns void language plpgsql immutable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(max_in_flight not between 1 and 8, 'invalid_request', 'maxInFlight must be from 1 to 8.');
end $$;

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
  created := keyframe_private.own_endpoint(request.resource_id);
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
  rate jsonb := keyframe_private.acquire_token('read');
  listed jsonb;
  by_service boolean := coalesce(auth.role() = 'service_role', false);
  caller uuid := case when not by_service then auth.uid() end;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(to_jsonb(e) order by e.created_at desc, e.id desc), '[]') into listed
  from keyframe.webhook_endpoints e
  where e.owner_id = caller or (e.owner_id is null and by_service); -- an index condition for each half of is_own
  return jsonb_build_object('endpoints', listed, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_webhook_endpoints is 'The endpoints the caller manages, newest first.';

create function keyframe.read_webhook_endpoint(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return jsonb_build_object('endpoint', to_jsonb(keyframe_private.own_endpoint(endpoint_id)), 'rate', rate);
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
  rate jsonb := keyframe_private.acquire_token('change');
  changed keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  changed := keyframe_private.own_endpoint(endpoint_id, lock => true);
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
  rate jsonb := keyframe_private.acquire_token('change');
  gone keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  gone := keyframe_private.own_endpoint(endpoint_id, lock => true);
  delete from keyframe.webhook_endpoints e where e.id = gone.id;
  return jsonb_build_object('endpoint', to_jsonb(gone), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_webhook_endpoint is 'Deletes an endpoint of the caller with its secrets. Its deliveries are hidden at once, and deleted in batches.';

create function keyframe.reveal_webhook_secret(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_endpoint(endpoint_id);
  return jsonb_build_object('secret', keyframe_private.webhook_secret(endpoint_id), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.reveal_webhook_secret is 'The current signing secret of an endpoint of the caller.';

create function keyframe.rotate_webhook_secret(
  endpoint_id uuid, overlap_hours integer default 24, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  endpoint keyframe.webhook_endpoints;
  secret text;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  endpoint := keyframe_private.own_endpoint(endpoint_id, lock => not request.replayed);
  perform keyframe_private.raise_if(overlap_hours is null or overlap_hours not between 0 and 72, 'invalid_request',
    'overlapHours must be from 0 to 72.');
  if not request.replayed then
    perform keyframe_private.replace_webhook_secret(endpoint.id, make_interval(hours => overlap_hours), request.resource_id);
  end if;
  -- The secret that this rotation made, which may no longer be the current one.
  select v.decrypted_secret into secret
  from keyframe_private.webhook_secrets s
  join vault.decrypted_secrets v on v.id = s.vault_secret_id
  where s.id = request.resource_id and s.endpoint_id = endpoint.id and (s.expires_at is null or s.expires_at > now());
  perform keyframe_private.raise_if(not found, 'not_found',
    'The secret that this Idempotency-Key created no longer signs: a later rotation replaced it. '
    'Read the current one: GET /api/webhooks/:id/secret.');
  return jsonb_build_object('secret', secret, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.rotate_webhook_secret is 'Gives an endpoint of the caller a new secret; the old one also signs for overlap_hours (0: every old one stops at once).';

-- A delivery counts in the hour (UTC) of its last attempt: a delivered one that is being sent again in none, an exhausted one as retrying.
-- Hours without an attempt are omitted.
create function keyframe.webhook_health(endpoint_id uuid default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  since timestamptz := date_trunc('hour', now(), 'UTC') - interval '23 hours';
  endpoints jsonb;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(jsonb_build_object('endpoint_id', e.id, 'last', l.last, 'hours', h.hours) order by e.created_at desc, e.id),
    '[]')
  into endpoints
  from keyframe.webhook_endpoints e
  left join lateral (
    select to_jsonb(w.last_attempt) as last
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and (w.last_attempt).at is not null
    order by w.hour desc limit 1
  ) l on true
  cross join lateral (
    select coalesce(jsonb_agg(jsonb_build_object(
      'hour', w.hour, 'delivered', w.delivered, 'retrying', w.retrying, 'exhausted', w.exhausted) order by w.hour), '[]') as hours
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and w.hour >= since
  ) h
  where e.owner_id = auth.uid() and (webhook_health.endpoint_id is null or e.id = webhook_health.endpoint_id);
  return jsonb_build_object('since', since, 'endpoints', endpoints, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.webhook_health is 'The outcomes of the caller''s deliveries in the last 24 hours: { since, endpoints: [{ endpoint_id, last: { at, status_code, error }, hours: [{ hour, delivered, retrying, exhausted }] }], rate }. One endpoint, or all of them.';

-- Functions that api calls for the deliveries of an endpoint: test, list, read, send again.

create function keyframe_private.delivery_json(delivery keyframe.webhook_deliveries)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(delivery) - 'retries_from' || jsonb_build_object('attempt_log', coalesce((
    select jsonb_agg(to_jsonb(a) - array['id', 'delivery_id', 'owner_id'] order by a.attempt)
    from keyframe.webhook_attempts a where a.delivery_id = delivery.id), '[]')) || (
    select jsonb_build_object('body', v.payload::text, 'project_id', v.project_id, 'prediction_id', v.prediction_id,
      'project_title', p.title)
    from keyframe.webhook_events v
    left join keyframe.projects p on p.id = v.project_id and p.owner_id = v.owner_id
    where v.id = delivery.event_id);
end $$;

create function keyframe_private.own_delivery(delivery uuid, lock boolean default false)
returns keyframe.webhook_deliveries language plpgsql volatile set search_path = '' as $$
declare
  requested keyframe.webhook_deliveries;
begin
  perform keyframe_private.require_client_may('manage');
  if lock then
    perform from keyframe.webhook_deliveries d where d.id = delivery and keyframe_private.is_own(d.owner_id) for update;
  end if;
  select d.* into requested from keyframe.webhook_deliveries d
  where d.id = delivery and keyframe_private.is_own(d.owner_id)
    and exists (select from keyframe.webhook_endpoints e where e.id = d.endpoint_id);
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no delivery with this id.');
  return requested;
end $$;

create function keyframe.test_webhook_endpoint(endpoint_id uuid, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  endpoint keyframe.webhook_endpoints;
  event uuid;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  if not request.replayed then
    endpoint := keyframe_private.own_endpoint(endpoint_id, lock => true);
    perform keyframe_private.raise_if(not endpoint.enabled, 'invalid_request', 'This endpoint is disabled. Enable it, then test it.');
    insert into keyframe.webhook_events (type, owner_id, endpoint_id, payload)
    values ('webhook.test', endpoint.owner_id, endpoint.id, jsonb_build_object(
      'type', 'webhook.test', 'timestamp', keyframe_private.wire_time(now()), 'data', jsonb_build_object('endpointId', endpoint.id)))
    returning id into event;
    insert into keyframe.webhook_deliveries (id, event_id, endpoint_id, owner_id, event_type)
    values (request.resource_id, event, endpoint.id, endpoint.owner_id, 'webhook.test');
  end if;
  return jsonb_build_object('delivery', keyframe_private.delivery_json(keyframe_private.own_delivery(request.resource_id)),
    'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.test_webhook_endpoint is 'Sends webhook.test to one endpoint of the caller, also when its event_types exclude it, but not when it is disabled.';

create function keyframe.list_webhook_deliveries(
  endpoint_id uuid, status keyframe.delivery_status default null, max_rows integer default 20,
  before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff', event_type text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.webhook_deliveries[];
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_endpoint(endpoint_id);
  -- Walks the index once for each status and event type, a page each: few among a million are found as quickly as many.
  page := array(
    select w.delivery
    from unnest(case when list_webhook_deliveries.status is null then enum_range(null::keyframe.delivery_status)
      else array[list_webhook_deliveries.status] end) as s (status)
    cross join unnest(case when list_webhook_deliveries.event_type is null then keyframe_private.event_types()
      else array[list_webhook_deliveries.event_type] end) as t (event_type)
    cross join lateral (
      select d as delivery from keyframe.webhook_deliveries d
      where d.endpoint_id = list_webhook_deliveries.endpoint_id and d.status = s.status and d.event_type = t.event_type
        and (d.created_at, d.id) < (before_created_at, before_id)
      order by d.created_at desc, d.id desc
      limit least(max_rows, 101) -- a page of 100, and one more that shows whether there is a next page
    ) w
    order by (w.delivery).created_at desc, (w.delivery).id desc
    limit least(max_rows, 101));
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(page), 25);
  return jsonb_build_object('rate', rate, 'deliveries', (
    select coalesce(jsonb_agg(keyframe_private.delivery_json(d) order by d.created_at desc, d.id desc), '[]') from unnest(page) d));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_webhook_deliveries is 'Deliveries of an endpoint of the caller with their attempts, newest first. The next page follows (before_created_at, before_id). Costs one token more for each 25.';

create function keyframe.read_webhook_delivery(delivery_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return jsonb_build_object(
    'delivery', keyframe_private.delivery_json(keyframe_private.own_delivery(delivery_id)), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_webhook_delivery is 'One delivery of the caller with its attempts.';

create function keyframe.redeliver_webhook(delivery_id uuid, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  again keyframe.webhook_deliveries;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  again := keyframe_private.own_delivery(delivery_id, lock => not request.replayed);
  if not request.replayed then
    -- A delivery that is being sent stays with its worker; its retries restart.
    update keyframe.webhook_deliveries d
    set status = 'pending', completed_at = null, retries_from = d.attempts, next_attempt_at = now()
    where d.id = again.id
    returning d.* into again;
  end if;
  return jsonb_build_object('delivery', keyframe_private.delivery_json(again), 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.redeliver_webhook is 'Sends one delivery of the caller again, whatever its outcome; its retry schedule begins again.';

-- Missed means without a delivery: the endpoint was disabled, or did not have the event's type yet. Skips events within a minute of their retention's end: waiting for a row that is being
-- pruned would end in an error. The oldest event is sent first.
create function keyframe.recover_webhook_endpoint(
  endpoint_id uuid, since timestamptz, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' set jit = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  request record;
  oldest constant timestamptz := greatest(
    since, now() - (select s.webhook_retention from keyframe_private.settings s) + interval '1 minute');
  endpoint keyframe.webhook_endpoints;
  recovered integer;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  perform keyframe_private.require_client_may('manage');
  if request.replayed then
    return request.answer || jsonb_build_object('replayed', true, 'rate', request.rate);
  end if;
  -- The deletion of the endpoint and its other recoveries wait.
  perform from keyframe.webhook_endpoints e
  where e.id = recover_webhook_endpoint.endpoint_id and keyframe_private.is_own(e.owner_id) for key share;
  endpoint := keyframe_private.own_endpoint(endpoint_id);
  perform keyframe_private.acquire_lock('recovery', endpoint.id);
  -- Added as exhausted: the update below then makes all of them pending at once, in the order of their events.
  insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, completed_at, next_attempt_at)
  select v.id, endpoint.id, endpoint.owner_id, v.type, 'exhausted', now(), v.created_at
  from keyframe.webhook_events v
  where v.created_at >= greatest(oldest, endpoint.created_at) and v.type <> 'webhook.test'
    and (endpoint.owner_id is null or v.owner_id = endpoint.owner_id)
    and (endpoint.event_types = '{}' or v.type = any (endpoint.event_types))
  on conflict on constraint webhook_deliveries_event_id_endpoint_id_key do nothing;
  -- In id order, as the recording of results locks them: otherwise the two could deadlock.
  with failed as materialized (
    select d.id, least(d.next_attempt_at, d.created_at) as due from keyframe.webhook_deliveries d
    where d.endpoint_id = endpoint.id and d.status = any (array['exhausted', 'pending']::keyframe.delivery_status[])
      and d.created_at >= oldest
      -- Due deliveries are sent anyway.
      and (d.status = 'exhausted' or d.attempts > d.retries_from and d.next_attempt_at > now())
    order by d.id
    for update
  )
  update keyframe.webhook_deliveries d
  set status = 'pending', completed_at = null, retries_from = d.attempts, next_attempt_at = least(d.next_attempt_at, d.created_at)
  -- By nested loops in this order, in which the trigger adds their work.
  from (select f.id from failed f order by f.due, f.id) o where d.id = o.id;
  get diagnostics recovered = row_count;
  update keyframe_private.idempotency_keys k set answer = jsonb_build_object('recovered', recovered)
    where k.resource_id = request.resource_id;
  return jsonb_build_object('recovered', recovered, 'replayed', false, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.recover_webhook_endpoint is 'Sends what failed since a time again, and events of the endpoint''s present types that have no delivery: it was disabled, or did not have the type yet.';
