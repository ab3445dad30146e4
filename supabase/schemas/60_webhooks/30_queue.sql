-- The work of deliver: one row for each delivery to send. An endpoint is a lane.

-- The host of an endpoint, with its standing: at a host of many owners, those that hang do not delay the others.
create function keyframe_private.resource_of(endpoint keyframe.webhook_endpoints)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return lower(left(substring(endpoint.url from '^https?://(\[[^\]]*\]|[^:/?]*)'), 255)) || ' ' || endpoint.standing;
end $$;

-- Adds work of an endpoint: to send a delivery, or to resume after one. New and slow endpoints are unproven.
create function keyframe_private.add_endpoint_work(
  endpoint keyframe.webhook_endpoints, kind text, subject uuid, due_at timestamptz default clock_timestamp())
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.add_work('deliver', add_endpoint_work.kind, add_endpoint_work.subject, coalesce(endpoint.owner_id, endpoint.id),
    keyframe_private.resource_of(endpoint), add_endpoint_work.due_at, lane => endpoint.id, is_unproven => endpoint.standing in ('new', 'slow'));
end $$;

-- For each row: Postgres plans a query on a transition table at each call, which took as long as the event itself.
create function keyframe_private.add_delivery()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_endpoint_work(e, 'deliver', new.id, new.next_attempt_at)
  from keyframe.webhook_endpoints e where e.id = new.endpoint_id;
  return null;
end $$;

-- A claim drops the work of a disabled endpoint. Once it is enabled, resume_deliveries adds it again in parts: there may be a million.
create function keyframe_private.resume_endpoint()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_endpoint_work(new, 'resume', '00000000-0000-0000-0000-000000000000');
  return null;
end $$;

create function keyframe_private.resume_deliveries(leased keyframe_private.work, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
declare
  most constant integer := 100; -- of each endpoint in one claim
  last keyframe.webhook_deliveries;
  part uuid[];
begin
  select d.* into last from keyframe.webhook_deliveries d where d.id = leased.subject;
  -- In the order of an index: an endpoint may have a million.
  part := array(
    select d.id from keyframe.webhook_deliveries d
    where d.endpoint_id = leased.lane and d.status = 'pending'
      and (last.id is null or (d.event_type, d.created_at, d.id) > (last.event_type, last.created_at, last.id))
    order by d.event_type, d.created_at, d.id limit most);
  perform keyframe_private.add_endpoint_work(e, 'deliver', d.id, d.next_attempt_at)
  from (select o.* from keyframe.webhook_deliveries o where o.id = any (part) order by o.next_attempt_at, o.id) d
  cross join lateral (select o.* from keyframe.webhook_endpoints o where o.id = leased.lane offset 0) e;
  if cardinality(part) = most then
    update keyframe_private.work w set subject = part[most] where w.id = leased.id;
    perform keyframe_private.reschedule_all(array[leased.id], array[at], at);
  else
    delete from keyframe_private.work w where w.id = leased.id;
  end if;
end $$;

-- Removes ready work from a lane to which it does not belong: it is deleted if the endpoint is disabled or deleted (receiver is null), and
-- moved if its resource has changed. Returns how many rows: few, so that a million of one endpoint delay no other's.
create function keyframe_private.clear_lane(endpoint uuid, resource text, receiver keyframe.webhook_endpoints)
returns integer language plpgsql volatile set search_path = '' as $$
declare
  work_ids constant bigint[] := array(
    select r.id from keyframe_private.work r
    where r.queue = 'deliver' and r.state = 'ready' and r.resource = clear_lane.resource and r.lane = endpoint
    limit 100 for update skip locked);
begin
  if receiver.id is null then
    -- Checked again: if the endpoint was enabled meanwhile, the work added for that is among these rows.
    delete from keyframe_private.work w
    where w.id = any (work_ids) and not exists (select from keyframe.webhook_endpoints e where e.id = endpoint and e.enabled);
  else
    update keyframe_private.work w
    set resource = keyframe_private.resource_of(receiver), is_unproven = receiver.standing in ('new', 'slow')
    where w.id = any (work_ids);
  end if;
  return cardinality(work_ids);
end $$;

-- Locks a lane for this claim, so that the endpoint's limit holds for any number of workers. max_rows: how many more of its deliveries
-- the worker may lease; cleared: how many rows did not belong to it. A quick endpoint gets four times max_in_flight, because a call takes as
-- long as a few requests, but not if another worker has leased some of it.
create function keyframe_private.lock_endpoint_lane(endpoint uuid, resource text, for_worker uuid, out max_rows integer, out cleared integer)
language plpgsql volatile set search_path = '' as $$
declare
  receiver keyframe.webhook_endpoints;
  leased integer;
  is_leased_by_others boolean;
begin
  max_rows := 0;
  cleared := 0;
  if not keyframe_private.acquire_lock('lane', endpoint, waits => false) then
    return;
  end if;
  select e.* into receiver from keyframe.webhook_endpoints e where e.id = endpoint and e.enabled;
  if keyframe_private.resource_of(receiver) is distinct from lock_endpoint_lane.resource then
    cleared := keyframe_private.clear_lane(endpoint, lock_endpoint_lane.resource, receiver);
    return;
  end if;
  select count(*), bool_or(w.worker_id <> for_worker) into leased, is_leased_by_others
  from keyframe_private.work w where w.queue = 'deliver' and w.lane = endpoint and w.state = 'leased';
  max_rows := case when receiver.failing_since is not null then 1
    when receiver.standing = 'quick' and is_leased_by_others is not true then 4 * receiver.max_in_flight
    else receiver.max_in_flight end - leased;
end $$;
