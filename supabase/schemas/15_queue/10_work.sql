-- The life of a row of the queue. The functions generate and deliver do the work. A worker is one running instance of a function: an edge
-- function's, or one in a process of npm run worker. Its worker_id is random.
--
-- 1. Added (add_work): ready if it is due, and its function is kicked; otherwise scheduled.
-- 2. Ready. A claim first makes due work ready, and work whose lease has expired (make_ready).
-- 3. Leased (lease_work) by a worker, with a token.
-- 4. The worker that holds the lease records the result. Then the row is deleted, or scheduled again (reschedule, reschedule_all).
--
-- A subject may have two rows of a kind: nothing that only inserts can prevent it, and a unique key would make inserts wait for each other.
-- Every kind checks the state again, so the second row finds nothing to do.
--
-- generate proves by the token that it holds a lease, because a worker may lease a row again while its work under the expired lease is
-- still going on. deliver proves it by worker_id (is_leased), because a worker never sends a delivery twice at once. What happened outside
-- counts even if the lease was lost: that a delivery succeeded, and what the provider says of a run.
--
-- Only workers update and delete; others insert (an administrator may change due_at). So no transaction of a user, however long it stays
-- open, locks a row that a claim needs.

create type keyframe_private.work_queue as enum ('ask', 'copy', 'deliver');
comment on type keyframe_private.work_queue is 'ask (calls to the provider and the database) and copy (outputs) belong to generate, deliver to deliver. Each has its own capacity.';

create type keyframe_private.work_state as enum ('scheduled', 'ready', 'leased');
comment on type keyframe_private.work_state is 'scheduled: due later. ready: waits for a worker. leased: a worker has it. Finished work is deleted. Failed work is scheduled again; a failed submit is replaced by a new one.';

create table keyframe_private.work (
  id bigint generated always as identity primary key,
  queue keyframe_private.work_queue not null,
  kind text collate "C" not null,
  subject uuid not null,
  submit_id bigint,
  owner_id uuid not null,
  lane uuid not null,
  resource text collate "C" not null,
  is_unproven boolean not null default false,
  state keyframe_private.work_state not null,
  due_at timestamptz not null,
  worker_id uuid,
  lease_token uuid,
  failures integer not null default 0,
  last_error text
-- Most rows live for seconds and are written two or three times: vacuum must not wait for a share of the table. Without checks: they took
-- more than half of an insert, and only our functions write here.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.5);
comment on table keyframe_private.work is 'The queue of both functions: what to do, when, and which worker does it.';
comment on column keyframe_private.work.kind is 'submit, poll, store, search, cancel, remove, expire, admit, continue; deliver, resume.';
comment on column keyframe_private.work.subject is 'Its prediction, its delivery, or its owner (remove, admit). For resume: the delivery after which it continues; all zeros: none.';
comment on column keyframe_private.work.submit_id is 'The row of provider_submits that submit, poll, search and cancel are about.';
comment on column keyframe_private.work.owner_id is 'The owner whose share of the capacity it uses, or a service-wide endpoint.';
comment on column keyframe_private.work.lane is 'What takes turns within a resource: the owner, or the endpoint.';
comment on column keyframe_private.work.resource is 'The shared dependency that can be slow for many owners: a model, an output''s host and model, a receiver''s host and the endpoint''s standing, otherwise the kind.';
comment on column keyframe_private.work.is_unproven is 'Whether its endpoint is new or slow: a request to it may hang.';
comment on column keyframe_private.work.due_at is 'When it is due, or was; while it is leased, when the lease expires.';
comment on column keyframe_private.work.lease_token is 'Which claim leased it.';
comment on column keyframe_private.work.failures is 'generate: failures in a row. deliver: leases that expired, which lengthen its wait; failed requests are counted in webhook_deliveries.';
-- A claim walks from resource to resource and lane to lane, one probe each.
create index work_ready_idx on keyframe_private.work (queue, resource, lane, id) where state = 'ready';
create index work_due_idx on keyframe_private.work (queue, due_at) where state = 'scheduled';
create index work_leased_idx on keyframe_private.work (queue, lane, subject) where state = 'leased';
create index work_subject_idx on keyframe_private.work (kind, subject) where queue <> 'deliver';
create index work_failed_idx on keyframe_private.work (failures) where queue <> 'deliver' and failures > 0;
-- For health: since when the oldest work of a kind, or of an endpoint, has been due.
create index work_ready_kind_idx on keyframe_private.work (kind, due_at) where queue <> 'deliver' and state = 'ready';
create index work_ready_lane_idx on keyframe_private.work (lane, due_at) where queue = 'deliver' and state = 'ready';

-- Kicks the function if the work is due. The lane is the owner, if none is named.
create function keyframe_private.add_work(
  queue keyframe_private.work_queue, kind text, subject uuid, owner uuid, resource text, due_at timestamptz default clock_timestamp(),
  submit_id bigint default null, failures integer default 0, last_error text default null, lane uuid default null, is_unproven boolean default false)
returns void language plpgsql volatile set search_path = '' as $$
declare
  is_due constant boolean := add_work.due_at <= clock_timestamp();
begin
  insert into keyframe_private.work (queue, kind, subject, submit_id, owner_id, lane, resource, is_unproven, state, due_at, failures, last_error)
  values (queue, kind, subject, submit_id, owner, coalesce(lane, owner), resource, is_unproven,
    case when is_due then 'ready' else 'scheduled' end::keyframe_private.work_state, due_at, failures, last_error);
  if is_due then
    perform keyframe_private.kick_unless_running(case add_work.queue when 'deliver' then 'deliver' else 'generate' end);
  end if;
end $$;

-- Whether the queue has work of this kind about a subject. Always uses the index: a plan cached while the table was empty would scan it when
-- it is full. Without jit: the cost of a disabled scan would start it at each call.
create function keyframe_private.has_work(subject uuid, kind text, submit_id bigint default null)
returns boolean language plpgsql stable set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (
    select from keyframe_private.work w
    where w.subject = has_work.subject and w.kind = has_work.kind and w.queue <> 'deliver'
      and (has_work.submit_id is null or w.submit_id = has_work.submit_id));
end $$;

-- Locks leased work for the holder of its lease. Its fields are null when the lease is lost: then statements with its id match no row.
create function keyframe_private.lock_leased_work(work_id bigint, lease_token uuid)
returns keyframe_private.work language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  leased keyframe_private.work;
begin
  select w.* into leased from keyframe_private.work w
  where w.id = work_id and w.lease_token = lock_leased_work.lease_token and w.state = 'leased' for update;
  return leased;
end $$;

-- Ends a lease, and saves what the caller has changed in `leased`: a submit becomes a poll of its run.
create function keyframe_private.reschedule(leased keyframe_private.work, due timestamptz, failures integer, error text)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  update keyframe_private.work w
  set state = 'scheduled', due_at = due, worker_id = null, lease_token = null, kind = leased.kind, submit_id = leased.submit_id,
      resource = leased.resource, failures = least(reschedule.failures, 1000000), last_error = error
  where w.id = leased.id;
end $$;

-- Ends the leases of many rows, which keep their failures. Those that are due are ready at once.
create function keyframe_private.reschedule_all(work_ids bigint[], due timestamptz[], at timestamptz)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  update keyframe_private.work w
  set state = case when r.due <= at then 'ready' else 'scheduled' end::keyframe_private.work_state, due_at = r.due,
      worker_id = null, lease_token = null
  from unnest(work_ids, reschedule_all.due) r (id, due) where r.id = w.id and w.id = any (work_ids);
end $$;

-- Doubles with each failure, ±20 %, up to retry_max; a minute without settings. More than 20 doublings would exceed the range of an interval.
create function keyframe_private.retry_delay(failures integer)
returns interval language plpgsql volatile set search_path = '' as $$
begin
  return coalesce((
    select least(s.retry_max, s.retry_base * power(2, least(20, greatest(0, failures - 1))) * (0.8 + random() * 0.4))
    from keyframe_private.settings s), interval '1 minute');
end $$;
