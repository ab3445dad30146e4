-- The figures of the service for GET /api/health?deep=1 and GET /api/metrics, in one call; shared/contract/service.ts explains them. Each
-- part reads a bounded number of rows through an index, and is read alone: what is locked or fails costs no other part.

-- Definer: anybody may ask. Answers within 300 ms, also when the version cannot be read or what users write to is locked. `writes`: ok,
-- read_only, settings_missing, or locked, when a start or a new project would fail. Volatile: the Data API calls others in transactions
-- that are read-only by themselves.
create function keyframe.health()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  version text;
  writes text := 'ok';
begin
  begin
    version := (select i.version from keyframe_private.installation i order by string_to_array(i.version, '.')::int[] desc limit 1);
    if not exists (select from keyframe_private.settings) then
      writes := 'settings_missing';
    end if;
    if current_setting('transaction_read_only')::boolean then -- in recovery too
      writes := 'read_only';
    else
      -- What a write would lock, without a write.
      lock table keyframe.projects, keyframe.predictions, keyframe.webhook_events, keyframe.webhook_deliveries, keyframe_private.lane_arrivals,
        keyframe_private.provider_submits, keyframe_private.idempotency_keys, keyframe_private.rate_buckets, keyframe_private.kicks in row exclusive mode;
      lock table auth.users in row share mode;
      lock table keyframe.models, keyframe.step_defaults, keyframe.webhook_endpoints in access share mode;
    end if;
  exception when lock_not_available then
    writes := 'locked';
  end;
  return jsonb_build_object('now', now(), 'schema', version, 'writes', writes);
end $$;
comment on function keyframe.health is 'Answers when the database does, with the version of its schema.';

create function keyframe_private.seconds_since(moment timestamptz)
returns numeric language sql stable set search_path = '' as $$
  select case when moment is not null then round(greatest(0, extract(epoch from now() - moment)), 3) end
$$;
comment on function keyframe_private.seconds_since is 'Seconds from a moment until now; 0 for a future one, null for none.';

-- Active predictions, counted up to 10,000, those that have been due for longest first; and those without a slot.
create function keyframe_private.prediction_figures()
returns jsonb language sql stable set search_path = '' as $$
  with active as materialized (
    select o.status, o.retry_reason, o.next_attempt_at, o.owner_id, o.model from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null order by o.next_attempt_at limit 10000
  )
  select to_jsonb(a) || to_jsonb(w) || jsonb_build_object(
    'runsToCancel', (select count(*) from (select from keyframe_private.provider_submits s where s.cancel_due_at is not null limit 10000) c),
    'largest', (
      select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
      from (
        select d.owner_id as "ownerId", mode() within group (order by d.model) as subject, count(*) as count, sum(count(*)) over () as "of"
        from active d where d.next_attempt_at <= now() group by d.owner_id order by count desc limit 3) l))
  from (
    select
      count(*) filter (where p.status = 'queued') as queued, count(*) filter (where p.status = 'starting') as starting,
      count(*) filter (where p.status = 'processing') as processing, count(*) filter (where p.status = 'storing') as storing,
      count(*) filter (where p.retry_reason is not null) as retrying,
      count(*) filter (where p.next_attempt_at <= now()) as due,
      keyframe_private.seconds_since(min(p.next_attempt_at) filter (where p.next_attempt_at <= now())) as "oldestDueSeconds"
    from active p
  ) a
  cross join (
    select count(*) as waiting, keyframe_private.seconds_since(min(p.created_at)) as "oldestWaitingSeconds"
    from (select o.created_at from keyframe.predictions o where o.admitted_at is null and o.status = 'queued' limit 10000) p
  ) w
$$;
comment on function keyframe_private.prediction_figures is 'The figures of active predictions, for health and metrics.';

create function keyframe_private.lanes_to_serve()
returns table (id uuid, waits_since timestamptz) language sql stable set search_path = '' as $$
  select l.id, case when l.token is null or l.due_at <= now() then l.served_at end
  from (
    (select o.id from keyframe_private.lanes o where o.due_at <= now() + interval '2 minutes' order by o.due_at limit 1000)
    union (select a.lane_id from (select r.lane_id from keyframe_private.lane_arrivals r order by r.id limit 1000) a)) c (id)
  join keyframe_private.lanes l on l.id = c.id
  union all
  select a.lane_id, '-infinity'
  from (select distinct r.lane_id from (select o.lane_id from keyframe_private.lane_arrivals o order by o.id limit 1000) r) a
  where not exists (select from keyframe_private.lanes l where l.id = a.lane_id)
$$;
comment on function keyframe_private.lanes_to_serve is 'Lanes in which something may be due: the first thousand that are due or leased, and those of the first thousand arrivals.';

-- Delivery: since its lane's last turn. Slot: a prediction waits although its owner has a free one.
create function keyframe_private.due_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'submit', keyframe_private.seconds_since(min(p.next_attempt_at) filter (where p.status = 'queued')),
    'poll', keyframe_private.seconds_since(min(p.next_attempt_at) filter (where p.status in ('starting', 'processing'))),
    'store', keyframe_private.seconds_since(min(p.next_attempt_at) filter (where p.status = 'storing')),
    'cancel', (
      select keyframe_private.seconds_since(s.cancel_due_at) from keyframe_private.provider_submits s
      where s.cancel_due_at <= now() order by s.cancel_due_at limit 1),
    'search', (
      select keyframe_private.seconds_since(s.search_due_at) from keyframe_private.provider_submits s
      where s.search_due_at <= now() order by s.search_due_at limit 1),
    'remove', (
      select keyframe_private.seconds_since(r.due_at) from keyframe_private.file_removals r
      where r.due_at <= now() order by r.due_at limit 1),
    'delivery', (
      select keyframe_private.seconds_since(min(greatest(d.next_attempt_at, l.waits_since)))
      from keyframe_private.lanes_to_serve() l
      cross join lateral (
        select e.id from keyframe.webhook_endpoints e where coalesce(e.owner_id, e.id) = l.id and e.enabled offset 0) e
      cross join lateral (
        select o.next_attempt_at from keyframe.webhook_deliveries o
        where o.status = 'pending' and o.endpoint_id = e.id and o.next_attempt_at <= now() order by o.next_attempt_at limit 1) d
      where l.waits_since is not null),
    'slot', (
      select keyframe_private.seconds_since(min(o.oldest))
      from keyframe_private.settings s
      cross join (
        select keyframe_private.owners_waiting(gen_random_uuid(), 100)
        union select keyframe_private.owners_waiting('ffffffff-ffff-ffff-ffff-ffffffffffff', 100)) w (owner)
      cross join lateral (
        select q.created_at as oldest from keyframe.predictions q
        where q.owner_id = w.owner and q.status = 'queued' and q.admitted_at is null order by q.created_at limit 1) o
      where not s.spending_stopped and s.max_active_per_owner > (
        select count(*) from keyframe.predictions a where a.owner_id = w.owner and a.admitted_at is not null and a.completed_at is null)))
  from (
    select o.status, o.next_attempt_at from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null and o.next_attempt_at <= now() order by o.next_attempt_at limit 1000) p
$$;
comment on function keyframe_private.due_figures is 'How long the oldest due work of each kind has been due, among the first thousand.';

-- Pending deliveries, counted up to 10,000; what is due is read from the lanes in which something may be due.
create function keyframe_private.delivery_figures()
returns jsonb language sql stable set search_path = '' as $$
  with counted as materialized (
    select e.id, e.owner_id, e.enabled, p.pending
    from (
      select d.endpoint_id, count(*) as pending
      from (select o.endpoint_id from keyframe.webhook_deliveries o where o.status = 'pending' limit 10000) d
      group by d.endpoint_id) p
    join keyframe.webhook_endpoints e on e.id = p.endpoint_id
  )
  select to_jsonb(c) || to_jsonb(o) || to_jsonb(f) || jsonb_build_object(
    'sending', (
      select coalesce(round(sum(keyframe_private.read_figure(w.report, 'openRequests'))), 0) from keyframe_private.worker_heartbeats w
      where w.function_name = 'deliver' and w.claimed_at > now() - interval '1 minute'),
    'endpointsSwitchedOff', (
      select count(*) from (
        select from keyframe.webhook_endpoints e
        where e.disabled_reason in ('gone', 'failing') and e.disabled_at > now() - interval '1 day' limit 10000) s),
    'unsignedEndpoints', (
      select count(distinct h.endpoint_id)
      from (
        select a.endpoint_id, a.hour, a.last_attempt from keyframe_private.webhook_hours a
        where a.hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour' limit 10000) h
      join keyframe.webhook_endpoints u on u.id = h.endpoint_id and u.enabled
      where (h.last_attempt).error = 'not_signed'
        and not exists (select from keyframe_private.webhook_hours n where n.endpoint_id = h.endpoint_id and n.hour > h.hour)))
  from (
    select coalesce(sum(p.pending) filter (where p.enabled), 0) as pending, coalesce(sum(p.pending) filter (where not p.enabled), 0) as paused,
      (
        select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
        from (
          select q.owner_id as "ownerId", (array_agg(q.id order by q.pending desc))[1] as subject, sum(q.pending) as count,
            sum(sum(q.pending)) over () as "of"
          from counted q where q.enabled group by q.owner_id order by count desc limit 3) l) as largest
    from counted p
  ) c
  cross join (
    select count(*) as due, keyframe_private.seconds_since(min(d.next_attempt_at)) as "oldestDueSeconds"
    from (
      select d.next_attempt_at
      from keyframe_private.lanes_to_serve() l
      cross join lateral (
        select e.id from keyframe.webhook_endpoints e where coalesce(e.owner_id, e.id) = l.id and e.enabled offset 0) e
      cross join lateral (
        select o.next_attempt_at from keyframe.webhook_deliveries o
        where o.status = 'pending' and o.endpoint_id = e.id and o.next_attempt_at <= now() order by o.next_attempt_at limit 10000) d
      limit 10000) d
  ) o
  cross join (
    select count(*) as "failingEndpoints", keyframe_private.seconds_since(min(e.failing_since)) as "oldestFailingSeconds"
    from (
      select w.failing_since from keyframe.webhook_endpoints w
      where w.failing_since is not null and w.enabled order by w.failing_since limit 10000) e
  ) f
$$;
comment on function keyframe_private.delivery_figures is 'The figures of pending deliveries, for health and metrics.';

create function keyframe_private.event_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'projectCreated', count(*) filter (where v.type = 'project.created'),
    'generationSucceeded', count(*) filter (where v.type = 'generation.succeeded'),
    'generationFailed', count(*) filter (where v.type = 'generation.failed'))
  from (select o.type from keyframe.webhook_events o where o.created_at > now() - interval '5 minutes' order by o.created_at desc limit 10000) v
$$;
comment on function keyframe_private.event_figures is 'Events of the last five minutes, counted up to 10,000.';

create function keyframe_private.file_removal_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'pending', count(*), 'due', count(*) filter (where r.due_at <= now()), 'failing', count(*) filter (where r.failures > 0),
    'oldestDueSeconds', keyframe_private.seconds_since(min(r.due_at) filter (where r.due_at <= now())))
  from (select f.due_at, f.failures from keyframe_private.file_removals f order by f.due_at limit 10000) r
$$;
comment on function keyframe_private.file_removal_figures is 'Files to remove, counted up to 10,000.';

create function keyframe_private.unavailable_models()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'step', m.step, 'model', m.model, 'reason', case when m.refused_at is null then 'ended' else 'unknown' end,
    'isDefault', exists (select from keyframe.step_defaults d where d.step = m.step and d.model = m.model),
    'successor', keyframe_private.default_successor(m, now())
  ) order by m.step, m.position, m.model), '[]')
  from keyframe.models m
  where m.enabled and not keyframe_private.is_available(m, now())
$$;
comment on function keyframe_private.unavailable_models is 'Enabled models that a start cannot use.';

-- Kicks in pg_net. Its queue shows a header that names the kick, and an answer of our functions has the header keyframe-function. A
-- request without an answer may belong to any user of pg_net in this project.
create function keyframe_private.kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(u) || to_jsonb(r) || jsonb_build_object(
    'othersUnsent', (select count(*) from (select from net.http_request_queue n where n.headers ->> 'webhook-id' is null or n.headers ->> 'webhook-id' not like 'kick\_%' limit 10000) o),
    -- pg_net's worker serves one database of the server: in any other, nothing is ever sent.
    'servedDatabase', (
      select nullif(current_setting('pg_net.database_name', true), current_database())
      from pg_catalog.pg_extension e where e.extname = 'pg_net'),
    'lastAcceptedSeconds', (
      select keyframe_private.seconds_since(n.created) from net._http_response n
      where n.created > now() - interval '1 hour' and n.status_code = 202 and n.headers ? 'keyframe-function'
      order by n.created desc limit 1))
  from (
    select count(*) as unsent,
      keyframe_private.seconds_since(to_timestamp(min((q.headers ->> 'webhook-timestamp')::double precision))) as "oldestUnsentSeconds"
    from (select n.headers from net.http_request_queue n where n.headers ->> 'webhook-id' like 'kick\_%' limit 10000) q
  ) u
  cross join (
    select
      count(*) filter (where n.status_code = 202 and n.headers ? 'keyframe-function') as accepted,
      count(*) filter (where n.status_code >= 400 and n.headers ? 'keyframe-function') as refused,
      count(*) filter (where n.status_code is null) as failed
    from net._http_response n
    where n.created > now() - interval '5 minutes'
  ) r
$$;
comment on function keyframe_private.kick_figures is 'The figures of kicks in pg_net, for health and metrics.';

-- Searches five minutes of answers: ids have no index there, and pg_net keeps the answers of all senders for hours.
create function keyframe_private.last_kick_figures(function_name text)
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'outcome', case
      when k.made_at is null then 'none'
      when k.request_id is null then 'not_made'
      when a.id is null then 'unanswered'
      when a.status_code = 202 and a.headers ? 'keyframe-function' then 'accepted'
      when a.status_code is not null then 'answered'
      else 'failed'
    end,
    'status', a.status_code,
    'error', left(coalesce(k.error, a.error_msg), 200),
    'madeSeconds', keyframe_private.seconds_since(k.made_at),
    -- A claim that waits may acknowledge a kick that was made after it began.
    'acknowledgedAfterSeconds', case when k.acknowledged_at is not null then round(greatest(0, extract(epoch from k.acknowledged_at - k.made_at)), 3) end)
  from (select) only_one
  left join lateral (
    select m.* from keyframe_private.kicks m where m.function_name = last_kick_figures.function_name order by m.made_at desc limit 1
  ) k on true
  left join lateral (
    select n.id, n.status_code, n.headers, n.error_msg
    from net._http_response n
    -- created is the start of pg_net's transaction, which may be before the kick.
    where n.created between k.made_at - interval '1 minute' and k.made_at + interval '5 minutes' and n.id = k.request_id
    limit 1
  ) a on true
$$;
comment on function keyframe_private.last_kick_figures is 'The last kick of a function: when it was made, its outcome, and how long until the worker claimed.';

-- Its report may be broken: what cannot be read is left out. Its places: {of, open, slow: [{name, open, of}]}; null when it reports none.
create function keyframe_private.worker_figures(function_name text)
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'claimedSeconds', keyframe_private.seconds_since(w.claimed_at),
    'isProcess', coalesce(w.report -> 'isProcess' = 'true', false),
    'callSeconds', round(keyframe_private.read_figure(w.report, 'callMs') / 1000, 3),
    'slowRequests', coalesce(round(keyframe_private.read_figure(w.report, 'slowRequests')), 0),
    'places', (
      select jsonb_build_object('of', round(p.of), 'open', round(p.open), 'slow', (
        select coalesce(jsonb_agg(
          jsonb_build_object('name', left(s.name, 200), 'open', round(s.open), 'of', round(s.of)) order by s.nth), '[]')
        from (
          select c.nth, case when jsonb_typeof(c.cause -> 'name') = 'string' then c.cause ->> 'name' end as name,
            keyframe_private.read_figure(c.cause, 'open') as open, keyframe_private.read_figure(c.cause, 'of') as of
          from jsonb_array_elements(p.slow) with ordinality c (cause, nth) where c.nth <= 5) s
        where s.name is not null and s.open is not null and s.of is not null))
      from (
        select keyframe_private.read_figure(w.report -> 'places', 'of') as of, keyframe_private.read_figure(w.report -> 'places', 'open') as open,
          case when jsonb_typeof(w.report -> 'places' -> 'slow') = 'array' then w.report -> 'places' -> 'slow' end as slow) p
      where p.of is not null and p.open is not null and p.slow is not null),
    'oldestKickSeconds', (
      select keyframe_private.seconds_since(min(k.made_at)) from keyframe_private.kicks k
      where k.function_name = worker_figures.function_name and k.acknowledged_at is null and k.error is null),
    'slowestKickSeconds', (
      select round(max(greatest(0, extract(epoch from k.acknowledged_at - k.made_at))), 3) from keyframe_private.kicks k
      where k.function_name = worker_figures.function_name and k.made_at > now() - interval '5 minutes' and k.acknowledged_at is not null))
  from (select) only_one left join keyframe_private.worker_heartbeats w on w.function_name = worker_figures.function_name
$$;
comment on function keyframe_private.worker_figures is 'The figures of a worker: its last claim, how its kicks are acknowledged, its last report.';

create function keyframe_private.workers_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_object_agg(f.name, keyframe_private.worker_figures(f.name)) from (values ('generate'), ('deliver')) f (name)
$$;
comment on function keyframe_private.workers_figures is 'The figures of each worker, for health.';

create function keyframe_private.last_kicks_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_object_agg(f.name, keyframe_private.last_kick_figures(f.name)) from (values ('generate'), ('deliver')) f (name)
$$;
comment on function keyframe_private.last_kicks_figures is 'The last kicks of each worker, for health.';

-- Follows who waits for whom: from sessions that have waited for a second, have locked a table of ours against writers for `locked_for`, or
-- have held rows of ours for `held_for`. At most five, those that block most first. A role that may not see others' sessions sees none.
create function keyframe_private.blocker_figures(locked_for interval, held_for interval default '20 seconds')
returns jsonb language sql volatile set search_path = '' as $$
  with recursive locks as materialized (
    select l.pid, l.relation, l.mode, l.granted, l.waitstart, l.database from pg_catalog.pg_locks l where l.pid <> pg_backend_pid()
  ), sessions as materialized (
    select a.* from pg_catalog.pg_stat_activity a where a.datname = current_database()
  ), held as (
    select l.pid, c.oid as relation, l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') as is_table
    from locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    where l.granted and l.mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock') and c.relkind in ('r', 'p')
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      and (c.relnamespace = any (array['keyframe'::regnamespace, 'keyframe_private'::regnamespace, 'net'::regnamespace, 'cron'::regnamespace])
        or c.oid = any (array['auth.users'::regclass, 'vault.secrets'::regclass, 'storage.objects'::regclass]))
  ), chain as (
    (select s.pid as victim, s.pid, s.wait_event_type is not distinct from 'Lock' as waits
     from sessions s
     where s.backend_type is distinct from 'autovacuum worker' and (
       exists (select from locks l where l.pid = s.pid and not l.granted and l.waitstart < clock_timestamp() - interval '1 second')
       or exists (
         select from held h where h.pid = s.pid
           and s.xact_start < clock_timestamp() - case when h.is_table then locked_for else held_for end))
     order by s.xact_start limit 50)
    union
    select c.victim, b.pid, true from chain c cross join lateral unnest(pg_catalog.pg_blocking_pids(c.pid)) b (pid)
  ), ends as (
    select c.pid, count(distinct c.victim) filter (where c.victim <> c.pid) as blocks
    from chain c where cardinality(pg_catalog.pg_blocking_pids(c.pid)) = 0 group by c.pid
  ), named as (
    select e.pid, e.blocks, s.usename, s.xact_start, s.state, bool_or(h.is_table) as is_table,
      string_agg(distinct h.relation::regclass::text, ', ') as tables
    from ends e
    left join sessions s on s.pid = e.pid
    left join held h on h.pid = e.pid
    where (s.backend_type is distinct from 'autovacuum worker' or e.blocks > 0)
      and coalesce(s.xact_start < clock_timestamp() - locked_for, true) -- one that ends at once is a queue that moves
    group by e.pid, e.blocks, s.usename, s.xact_start, s.state
    order by e.blocks desc, s.xact_start limit 5
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'pid', n.pid, 'role', n.usename, 'seconds', keyframe_private.seconds_since(n.xact_start), 'isIdle', coalesce(n.state like 'idle%', false),
    'blocks', n.blocks, 'tables', n.tables, 'locksTables', coalesce(n.is_table, false)) order by n.blocks desc, n.xact_start), '[]')
  from named n
$$;
comment on function keyframe_private.blocker_figures is 'The transactions at the ends of the chains: each holds what others need, and itself waits for nobody.';

-- A worker's call waits for a second at most. A call of an owner has the owner's id as the name of its session (take_call), which other
-- roles can forge: those who hold three connections or more, for two seconds together, are named, at most three.
create function keyframe_private.call_figures()
returns jsonb language sql stable set search_path = '' as $$
  with open as materialized (
    select a.state, a.query_start, a.xact_start, substring(a.query from 'keyframe(?:_worker)?"?\."?(\w+)') as called,
      case when pg_catalog.pg_has_role(a.usesysid, 'authenticated', 'member') then
        substring(a.application_name from '^keyframe ([0-9a-f-]{36})$') end as owner
    from pg_catalog.pg_stat_activity a
    where a.datname = current_database() and a.state <> 'idle' and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
  )
  select to_jsonb(s) || jsonb_build_object('owners', (
    select coalesce(jsonb_agg(to_jsonb(o) order by o.seconds desc), '[]')
    from (
      select w.owner as "ownerId", count(*) as calls, mode() within group (order by w.called) as called,
        round(sum(extract(epoch from clock_timestamp() - w.xact_start)), 3) as seconds
      from open w where w.owner is not null group by w.owner
      having count(*) >= 3 and sum(clock_timestamp() - w.xact_start) > interval '2 seconds'
      order by seconds desc limit 3) o))
  from (
    select count(*) as slow, mode() within group (order by c.called) as slowest, keyframe_private.seconds_since(min(c.query_start)) as "slowestSeconds"
    from open c where c.state = 'active' and c.query_start < now() - interval '2 seconds' and c.called is not null) s
$$;
comment on function keyframe_private.call_figures is 'Calls of our functions and tables that have run for over two seconds, which of them most, and the owners whose calls take most.';

-- Only a steady demand keeps a bucket low. Not `wait`: an empty bucket shortens waits and refuses nothing.
create function keyframe_private.limited_owners()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'ownerId', o.owner_id, 'routeClass', o.route_class, 'seconds', keyframe_private.seconds_since(o.low_since)) order by o.low_since), '[]')
  from (
    select b.owner_id, b.route_class, b.low_since
    from (
      select r.* from keyframe_private.rate_buckets r
      where r.low_since < now() - interval '10 seconds' order by r.low_since desc limit 10000) b
    join keyframe_private.rate_limits l on l.route_class = b.route_class
    where b.route_class <> 'wait'
      and b.tokens + l.per_second * abs(extract(epoch from now() - b.refilled_at)) < l.capacity / 10.0 -- abs: the clock was set back
    order by b.low_since limit 3) o
$$;
comment on function keyframe_private.limited_owners is 'Owners who have used up the rate of a class for ten seconds, the longest first, at most three.';

-- Triggers of these tables run in transactions that serve everybody; those of projects and films do not.
create function keyframe_private.app_triggers()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(t.name order by t.name), '[]')
  from (
    select format('%s on %s', t.tgname, t.tgrelid::regclass) as name
    from pg_catalog.pg_trigger t
    join pg_catalog.pg_class c on c.oid = t.tgrelid
    join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and t.tgenabled <> 'D' and p.pronamespace <> 'keyframe_private'::regnamespace
      and (c.relnamespace = 'keyframe_private'::regnamespace
        or c.relnamespace = 'keyframe'::regnamespace and c.relname ~ '^(predictions$|webhook_)')
    limit 20) t
$$;
comment on function keyframe_private.app_triggers is 'Enabled triggers that Keyframe did not make, on its tables that serve everybody.';

-- Reads the last 10,000 runs of all jobs, more than four hours of ours. A job is late only if this log begins before late_after, or is
-- empty.
create function keyframe_private.job_figures()
returns jsonb language sql stable set search_path = '' as $$
  with runs as materialized (
    select d.jobid, d.status, d.return_message, d.start_time, d.end_time from cron.job_run_details d order by d.runid desc limit 10000
  ), ran as (
    select j.jobname, max(r.start_time) as started_at, max(r.end_time) filter (where r.status = 'succeeded') as succeeded_at,
      max(r.end_time) filter (where r.status = 'failed') as failed_at,
      count(*) filter (where r.status = 'failed' and r.start_time > now() - interval '5 minutes') as failures,
      (array_agg(r.return_message order by r.start_time desc) filter (where r.status = 'failed'))[1] as error
    from runs r join cron.job j on j.jobid = r.jobid group by j.jobname
  )
  select jsonb_object_agg(substr(w.name, length('keyframe-') + 1), jsonb_build_object(
    'scheduled', exists (select from cron.job j where j.jobname = w.name and j.active and j.command = w.command),
    'lastRunSeconds', keyframe_private.seconds_since(r.started_at),
    'lastSuccessSeconds', keyframe_private.seconds_since(r.succeeded_at),
    'failures', coalesce(r.failures, 0),
    'lastError', case when r.succeeded_at is null or r.failed_at > r.succeeded_at then left(split_part(r.error, E'\n', 1), 200) end,
    'isLate', coalesce(r.succeeded_at < now() - w.late_after, true)
      and coalesce((select min(l.start_time) from runs l) < now() - w.late_after, true)))
  from keyframe_private.jobs() w left join ran r on r.jobname = w.name
$$;
comment on function keyframe_private.job_figures is 'The recent runs of each job (keyframe_private.jobs), for health and metrics.';

create function keyframe_private.cost_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'spendingStopped', s.spending_stopped,
    'cheapestStartMicros', (
      select min(keyframe_private.default_cost(m, now())) from keyframe.step_defaults d
      join keyframe.models m on m.step = d.step and m.model = d.model),
    'unknownSubmits', (
      select coalesce(sum(c.unknown_submits), 0) from keyframe_private.costs c
      where c.owner_id is null and c.day >= date_trunc('month', t.today)),
    'today', f.figures -> 'today', 'month', f.figures -> 'month')
  from keyframe_private.settings s
  cross join (select (now() at time zone 'UTC')::date as today) t
  cross join lateral (
    select jsonb_object_agg(p.name, jsonb_build_object(
      'settledMicros', u.settled, 'heldMicros', u.held, 'unknownMicros', u.unknown, 'budgetMicros', p.budget,
      'leftMicros', p.budget - least(p.budget, u.settled + u.held + u.unknown))) as figures
    from (values ('today', t.today, s.service_day_micros), ('month', date_trunc('month', t.today)::date, s.service_month_micros)) p (name, begins, budget)
    cross join lateral (
      select keyframe_private.exact_sum(sum(c.settled_micros)) as settled, keyframe_private.exact_sum(sum(c.held_micros)) as held,
        keyframe_private.exact_sum(sum(c.unknown_micros)) as unknown
      from keyframe_private.costs c where c.owner_id is null and c.day >= p.begins) u
  ) f
$$;
comment on function keyframe_private.cost_figures is 'What the submits of today and of this month cost all owners together, and what is left of the service''s budgets.';

-- Times in the future show how far the clock went back.
create function keyframe_private.setting_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'isReadOnly', pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean,
    'hasSettings', exists (select from keyframe_private.settings),
    'missingSecrets', (
      select coalesce(jsonb_agg(n.name order by n.name), '[]') from (values ('keyframe_functions_url'), ('keyframe_kick_secret')) n (name)
      where not exists (select from vault.secrets v where v.name = n.name)),
    'clockBackSeconds', (
      select round(extract(epoch from nullif(max(t.moment), '-infinity') - now()), 3)
      from (
        select w.claimed_at from keyframe_private.worker_heartbeats w
        union all (select k.made_at from keyframe_private.kicks k order by k.id desc limit 1)
        union all select max(r.start_time) from (select d.start_time from cron.job_run_details d order by d.runid desc limit 1000) r) t (moment)
      where t.moment > now() + interval '5 seconds'))
$$;
comment on function keyframe_private.setting_figures is 'What an installation needs beside its tables: a database that can be written to, the row of settings, two secrets, and a clock that goes forward.';

-- Reads each part alone. Together they wait for locks for 300 ms, and then for 10 ms each: a part that is null could not be read, and
-- `unread` says why. Definer: only the secret key may call it, and it needs no right on the tables.
create function keyframe_worker.service_figures()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  began constant timestamptz := clock_timestamp();
  figures jsonb := '{}';
  unread jsonb := '[]';
  part record;
  value jsonb;
  code text;
begin
  for part in
    select * from (values
      ('settings', 'setting_figures()'), ('due', 'due_figures()'), ('setAside', 'aside_figures()'), ('calls', 'call_figures()'),
      ('limitedOwners', 'limited_owners()'), ('appTriggers', 'app_triggers()'), ('workers', 'workers_figures()'), ('lastKicks', 'last_kicks_figures()'), ('kicks', 'kick_figures()'),
      ('jobs', 'job_figures()'),
      ('predictions', 'prediction_figures()'), ('deliveries', 'delivery_figures()'), ('events', 'event_figures()'),
      ('fileRemovals', 'file_removal_figures()'), ('unavailableModels', 'unavailable_models()'), ('costs', 'cost_figures()')
    ) p (name, call)
  loop
    value := null;
    code := null;
    begin
      if clock_timestamp() > began + interval '600 milliseconds' then
        code := '57014';
      else
        perform set_config('lock_timeout', greatest(10, 300 - floor(1000 * extract(epoch from clock_timestamp() - began)))::text, true);
        execute format('select keyframe_private.%s', part.call) into value;
      end if;
    exception when others then
      code := sqlstate;
    end;
    figures := figures || jsonb_build_object(part.name, value);
    if code is not null then
      unread := unread || jsonb_build_object('part', part.name, 'code', code);
    end if;
  end loop;
  return figures || jsonb_build_object(
    'unread', unread,
    'blockers', keyframe_private.blocker_figures(locked_for => case when unread = '[]' then interval '300 milliseconds' else interval '0' end));
end $$;
comment on function keyframe_worker.service_figures is 'The figures of the service (docs/operate.md), for GET /api/health?deep=1 and GET /api/metrics.';
