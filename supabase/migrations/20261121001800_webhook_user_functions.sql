-- What the api function calls for webhooks: with the caller's own token, or with the secret key for service-wide endpoints.
-- Definer, because users may not write these tables; every function finds its rows through managed_endpoint or its owner.

-- Whose endpoints the caller manages: a user's own; with the secret key the service-wide ones, whose owner is null.
create function private.is_managed(owner uuid)
returns boolean
language sql
stable
set search_path = ''
as $$
  select case when (select auth.role()) = 'service_role' then owner is null else coalesce(owner = (select auth.uid()), false) end
$$;

-- The endpoint, locked, when the caller manages it; otherwise not_found. The lock leaves the foreign key of new deliveries
-- alone: whoever creates a project does not wait for somebody who looks at the endpoint.
create function private.managed_endpoint(endpoint uuid)
returns public.webhook_endpoints
language plpgsql
volatile
set search_path = ''
as $$
declare
  wanted public.webhook_endpoints;
begin
  select e.* into wanted from public.webhook_endpoints e where e.id = endpoint and private.is_managed(e.owner_id)
  for no key update;
  if not found then
    perform private.raise_error('not_found', 'There is no webhook endpoint of yours with this identifier.');
  end if;
  return wanted;
end
$$;

create function public.create_webhook_endpoint(
  url text, description text default '', event_types text[] default '{}', enabled boolean default true,
  idempotency_key text default null, request_hash text default null
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint uuid := gen_random_uuid();
  replayed boolean := false;
  created public.webhook_endpoints;
begin
  if idempotency_key is not null and auth.uid() is not null then
    select r.resource_id, r.replayed into endpoint, replayed from private.remember_request(idempotency_key, request_hash) r;
  end if;
  if not replayed then
    perform private.take_token('create');
    insert into public.webhook_endpoints (id, owner_id, url, description, event_types, enabled)
    values (endpoint, auth.uid(), create_webhook_endpoint.url, create_webhook_endpoint.description,
      create_webhook_endpoint.event_types, create_webhook_endpoint.enabled);
  end if;
  created := private.managed_endpoint(endpoint);
  return jsonb_build_object('endpoint', to_jsonb(created), 'secret', private.webhook_secret(endpoint), 'replayed', replayed,
    'rate', private.rate_state('create'));
end
$$;
comment on function public.create_webhook_endpoint is 'Creates an endpoint of the caller, with its secret; with the secret key a service-wide one.';

create function public.list_webhook_endpoints()
returns jsonb
language sql
stable
security definer
set search_path = ''
as $$
  select jsonb_build_object('endpoints', coalesce(jsonb_agg(to_jsonb(e) order by e.created_at desc, e.id desc), '[]'))
  from public.webhook_endpoints e
  where case when (select auth.role()) = 'service_role' then e.owner_id is null else e.owner_id = (select auth.uid()) end
$$;
comment on function public.list_webhook_endpoints is 'The endpoints the caller manages, newest first.';

create function public.read_webhook_endpoint(endpoint_id uuid)
returns jsonb
language sql
volatile
security definer
set search_path = ''
as $$
  select jsonb_build_object('endpoint', to_jsonb(private.managed_endpoint(endpoint_id)))
$$;
comment on function public.read_webhook_endpoint is 'One endpoint of the caller.';

-- Changes what is given; null leaves a field as it is.
create function public.update_webhook_endpoint(
  endpoint_id uuid, url text default null, description text default null, event_types text[] default null, enabled boolean default null
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  changed public.webhook_endpoints := private.managed_endpoint(endpoint_id);
begin
  update public.webhook_endpoints e
  set url = coalesce(update_webhook_endpoint.url, e.url),
      description = coalesce(update_webhook_endpoint.description, e.description),
      event_types = coalesce(update_webhook_endpoint.event_types, e.event_types),
      enabled = coalesce(update_webhook_endpoint.enabled, e.enabled)
  where e.id = changed.id
  returning e.* into changed;
  -- What waited while it was off is due at once.
  if update_webhook_endpoint.enabled then
    perform private.kick_unless_looking('deliver');
  end if;
  return jsonb_build_object('endpoint', to_jsonb(changed));
end
$$;
comment on function public.update_webhook_endpoint is 'Changes what is given of an endpoint of the caller; null leaves a field as it is.';

create function public.delete_webhook_endpoint(endpoint_id uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  gone public.webhook_endpoints := private.managed_endpoint(endpoint_id);
begin
  delete from public.webhook_endpoints e where e.id = gone.id;
  return jsonb_build_object('endpoint', to_jsonb(gone));
end
$$;
comment on function public.delete_webhook_endpoint is 'Deletes an endpoint of the caller with its deliveries and secrets.';

create function public.reveal_webhook_secret(endpoint_id uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints := private.managed_endpoint(endpoint_id);
begin
  return jsonb_build_object('secret', private.webhook_secret(endpoint.id));
end
$$;
comment on function public.reveal_webhook_secret is 'The secret that signs for an endpoint of the caller now.';

create function public.rotate_webhook_secret(endpoint_id uuid, overlap_hours integer default 24)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints := private.managed_endpoint(endpoint_id);
begin
  if overlap_hours is null or overlap_hours not between 0 and 72 then
    perform private.raise_error('invalid_request', 'overlapHours must be from 0 to 72.');
  end if;
  perform private.rotate_webhook_secret(endpoint.id, make_interval(hours => overlap_hours));
  return jsonb_build_object('secret', private.webhook_secret(endpoint.id));
end
$$;
comment on function public.rotate_webhook_secret is 'Gives an endpoint of the caller a new secret; the old one signs on beside it for overlap_hours (0: every old one is gone at once).';

-- A delivery with its attempts, as its owner sees it.
create function private.delivery_json(delivery public.webhook_deliveries)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select to_jsonb(delivery) - array['lease_token', 'retries_from'] || jsonb_build_object('attempt_log', coalesce((
    select jsonb_agg(to_jsonb(a) - array['id', 'delivery_id', 'owner_id'] order by a.attempt)
    from public.webhook_attempts a where a.delivery_id = delivery.id), '[]'))
$$;

-- Sends webhook.test to the endpoint, also when it does not list that type; not when it is disabled.
create function public.test_webhook_endpoint(endpoint_id uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints := private.managed_endpoint(endpoint_id);
  event uuid;
  delivery public.webhook_deliveries;
begin
  if not endpoint.enabled then
    perform private.raise_error('invalid_request', 'This endpoint is disabled. Enable it, then test it.');
  end if;
  perform private.take_token('create');
  insert into public.webhook_events (type, owner_id, endpoint_id, payload)
  values ('webhook.test', endpoint.owner_id, endpoint.id, jsonb_build_object(
    'type', 'webhook.test', 'timestamp', private.wire_time(now()), 'data', jsonb_build_object('endpointId', endpoint.id)))
  returning id into event;
  insert into public.webhook_deliveries (event_id, endpoint_id, owner_id, event_type)
  values (event, endpoint.id, endpoint.owner_id, 'webhook.test')
  returning * into delivery;
  perform private.kick_unless_looking('deliver');
  return jsonb_build_object('delivery', private.delivery_json(delivery));
end
$$;
comment on function public.test_webhook_endpoint is 'Sends webhook.test to an endpoint of the caller, and to no other.';

-- Newest first; the page goes on after (before_created_at, before_id).
create function public.list_webhook_deliveries(
  endpoint_id uuid, status public.delivery_status default null, max_rows integer default 20,
  before_created_at timestamptz default null, before_id uuid default null
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints := private.managed_endpoint(endpoint_id);
begin
  return (
    select jsonb_build_object('deliveries', coalesce(jsonb_agg(private.delivery_json(d) order by d.created_at desc, d.id desc), '[]'))
    from (
      select w.* from public.webhook_deliveries w
      where w.endpoint_id = endpoint.id
        and (list_webhook_deliveries.status is null or w.status = list_webhook_deliveries.status)
        and (before_created_at is null or (w.created_at, w.id) < (before_created_at, before_id))
      order by w.created_at desc, w.id desc
      limit least(max_rows, 101) -- a page of 100, and the one that tells of a next page
    ) d
  );
end
$$;
comment on function public.list_webhook_deliveries is 'Deliveries of an endpoint of the caller with their attempts, newest first.';

-- Sends one delivery again, whatever came of it, with the retry schedule from its beginning.
create function public.redeliver_webhook(delivery_id uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  again public.webhook_deliveries;
begin
  select d.* into again from public.webhook_deliveries d
  where d.id = delivery_id and private.is_managed(d.owner_id) for update;
  if not found then
    perform private.raise_error('not_found', 'There is no delivery of yours with this identifier.');
  end if;
  -- A delivery that is being sent right now stays with who sends it; its retries begin anew.
  update public.webhook_deliveries d
  set status = 'pending', completed_at = null, retries_from = d.attempts,
      next_attempt_at = case when d.lease_token is null then now() else d.next_attempt_at end
  where d.id = again.id
  returning d.* into again;
  perform private.kick_unless_looking('deliver');
  return jsonb_build_object('delivery', private.delivery_json(again));
end
$$;
comment on function public.redeliver_webhook is 'Sends one delivery of the caller again, whatever came of it.';

-- Sends again what failed since a time, and what happened while the endpoint was disabled.
create function public.recover_webhook_endpoint(endpoint_id uuid, since timestamptz)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  endpoint public.webhook_endpoints := private.managed_endpoint(endpoint_id);
  again integer;
  missed integer;
begin
  update public.webhook_deliveries d
  set status = 'pending', completed_at = null, retries_from = d.attempts, next_attempt_at = now()
  where d.endpoint_id = endpoint.id and d.created_at >= since and d.lease_token is null
    and (d.status = 'exhausted' or (d.status = 'pending' and d.attempts > d.retries_from));
  get diagnostics again = row_count;
  insert into public.webhook_deliveries (event_id, endpoint_id, owner_id, event_type)
  select v.id, endpoint.id, endpoint.owner_id, v.type
  from public.webhook_events v
  where v.created_at >= greatest(since, endpoint.created_at) and v.type <> 'webhook.test'
    and (endpoint.owner_id is null or v.owner_id = endpoint.owner_id)
    and (endpoint.event_types = '{}' or v.type = any (endpoint.event_types))
  on conflict on constraint webhook_deliveries_event_id_endpoint_id_key do nothing;
  get diagnostics missed = row_count;
  perform private.kick_unless_looking('deliver');
  return jsonb_build_object('recovered', again + missed);
end
$$;
comment on function public.recover_webhook_endpoint is 'Sends an endpoint of the caller again what failed since a time, and what it missed.';

revoke execute on function
  private.is_managed(uuid), private.managed_endpoint(uuid), private.delivery_json(public.webhook_deliveries)
from public, anon, authenticated, service_role;
revoke execute on function
  public.create_webhook_endpoint(text, text, text[], boolean, text, text), public.list_webhook_endpoints(),
  public.read_webhook_endpoint(uuid), public.update_webhook_endpoint(uuid, text, text, text[], boolean),
  public.delete_webhook_endpoint(uuid), public.reveal_webhook_secret(uuid), public.rotate_webhook_secret(uuid, integer),
  public.test_webhook_endpoint(uuid),
  public.list_webhook_deliveries(uuid, public.delivery_status, integer, timestamptz, uuid),
  public.redeliver_webhook(uuid), public.recover_webhook_endpoint(uuid, timestamptz)
from public, anon;
grant execute on function
  public.create_webhook_endpoint(text, text, text[], boolean, text, text), public.list_webhook_endpoints(),
  public.read_webhook_endpoint(uuid), public.update_webhook_endpoint(uuid, text, text, text[], boolean),
  public.delete_webhook_endpoint(uuid), public.reveal_webhook_secret(uuid), public.rotate_webhook_secret(uuid, integer),
  public.test_webhook_endpoint(uuid),
  public.list_webhook_deliveries(uuid, public.delivery_status, integer, timestamptz, uuid),
  public.redeliver_webhook(uuid), public.recover_webhook_endpoint(uuid, timestamptz)
to authenticated, service_role;
