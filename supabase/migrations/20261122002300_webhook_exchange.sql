-- The calls of deliver: record and claim, or wait for something due. And pruning.

-- Whether a claim would get a delivery: one is due at an endpoint with a free slot.
create function keyframe_private.has_due_delivery(at timestamptz)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  return exists (
    select from keyframe_private.endpoints_with_due(gen_random_uuid(), 100000, at) o (id)
    where keyframe_private.endpoint_slots(o.id, at) > 0);
end
$$;

-- Records the results of the last requests and leases the next due deliveries. Without results it may wait for a due one.
create function keyframe_worker.exchange_deliveries(
  results jsonb, max_rows integer, lease_seconds integer, heartbeat_ms integer default 0, at timestamptz default now(),
  wait_ms integer default 0
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  counted integer := 0;
  deliveries json := '[]';
  endpoints json := '{}';
  until timestamptz := at;
begin
  if results <> '[]' then
    counted := keyframe_private.record_attempts(results, at);
  else
    -- The commit does not wait for the disk: leases lost in a crash are claimed again.
    perform set_config('synchronous_commit', 'off', true);
    if wait_ms > 0 then
      perform keyframe_private.wait_for_due('deliver', wait_ms);
      until := at + (clock_timestamp() - now());
    end if;
  end if;
  if max_rows > 0 then
    perform keyframe_private.record_heartbeat('deliver', heartbeat_ms);
    select c.deliveries, c.endpoints into deliveries, endpoints
    from keyframe_private.claim_deliveries(max_rows, lease_seconds, until) c;
    -- A worker at the end of its run time may leave due deliveries: kick the next one now instead of waiting for the sweep.
    if heartbeat_ms <= 0 and json_array_length(deliveries) > 0 then
      perform keyframe_private.kick_unless_running('deliver');
    end if;
  end if;
  return json_build_object('recorded', counted, 'deliveries', deliveries, 'endpoints', endpoints);
end
$$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and leases the next due deliveries: { recorded, deliveries: [{ id, lease_token, attempt, endpoint_id, event_id, body }], endpoints: { <id>: { url, secrets } } }.';

-- Deletes a batch of what deleted endpoints left: deliveries with their attempts, and test events. Skips endpoints with open
-- requests, so that recording never waits for it. Returns how many rows it deleted, without attempts. The planner settings force
-- the indexes, so that a batch reads only what it deletes.
create function keyframe_private.prune_deleted_endpoints(max_rows integer default 10000)
returns integer
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
declare
  gone uuid;
  batch integer;
  deleted integer := 0;
begin
  for gone in
    select g.endpoint_id from keyframe_private.deleted_endpoints g
    where not exists (
      select from keyframe_private.delivery_leases l
      where l.endpoint_id = g.endpoint_id and l.delivery_id is not null and l.leased_until > now())
    order by g.deleted_at
    limit 1000
    for update of g skip locked
  loop
    delete from keyframe.webhook_deliveries d where d.id = any (array(
      select o.id from keyframe.webhook_deliveries o where o.endpoint_id = gone limit max_rows - deleted));
    get diagnostics batch = row_count;
    deleted := deleted + batch;
    delete from keyframe.webhook_events v where v.id = any (array(
      select o.id from keyframe.webhook_events o where o.endpoint_id = gone limit max_rows - deleted));
    get diagnostics batch = row_count;
    deleted := deleted + batch;
    exit when deleted >= max_rows;
    delete from keyframe_private.deleted_endpoints g where g.endpoint_id = gone;
  end loop;
  return deleted;
end
$$;

-- Deletes events past their retention with their deliveries and attempts, a batch of what deleted endpoints left, counted hours
-- after two days (an endpoint's last hour with its events), expired secrets, and the slots of deleted endpoints. Returns how many
-- events it deleted.
create function keyframe_private.prune_webhooks(max_rows integer default 2000)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  deleted integer;
begin
  delete from keyframe_private.webhook_secrets s where s.expires_at <= now();
  delete from keyframe_private.delivery_leases l
  where l.leased_until < now() - interval '1 hour' and not exists (select from keyframe.webhook_endpoints e where e.id = l.endpoint_id);
  -- An endpoint's last hour shows its latest attempt. A scalar subquery and ctids, because joins would read all hours.
  delete from keyframe_private.webhook_hours h where h.ctid = any (array(
    select o.ctid from keyframe_private.webhook_hours o
    where o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from keyframe_private.settings s)
      or (select true from keyframe_private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour limit max_rows * 5));
  perform keyframe_private.prune_deleted_endpoints();
  delete from keyframe.webhook_events v where v.id = any (array(
    select o.id from keyframe.webhook_events o
    where o.created_at < now() - (select s.webhook_retention from keyframe_private.settings s)
    order by o.created_at limit max_rows));
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

grant execute on function keyframe_worker.exchange_deliveries(jsonb, integer, integer, integer, timestamptz, integer) to service_role;
