-- The figures of the platform: kicks, workers, jobs, locks, calls, settings.

-- Kicks in pg_net. Its queue shows a header that names the kick, and an answer of our functions has the header keyframe-function. A
-- request without an answer may belong to any user of pg_net in this project.
create function keyframe_private.kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(u) || to_jsonb(r) || jsonb_build_object(
    'othersUnsent', (select count(*) from (select from net.http_request_queue n where coalesce(n.headers ->> 'webhook-id', '') not like 'kick\_%' limit 10000) o),
    -- pg_net's worker serves one database of the server: in any other, nothing is ever sent.
    'servedDatabase', (
      select nullif(current_setting('pg_net.database_name', true), current_database())
      from pg_catalog.pg_extension e where e.extname = 'pg_net'))
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

-- Searches five minutes of answers: ids have no index there, and pg_net keeps the answers of all senders for hours.
create function keyframe_private.last_kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_object_agg(f.name, jsonb_build_object(
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
    'acknowledgedAfterSeconds', case when k.acknowledged_at is not null then round(greatest(0, extract(epoch from k.acknowledged_at - k.made_at)), 3) end))
  from (values ('generate'), ('deliver')) f (name)
  left join lateral (select m.* from keyframe_private.kicks m where m.function_name = f.name order by m.made_at desc limit 1) k on true
  left join lateral (
    select n.id, n.status_code, n.headers, n.error_msg
    from net._http_response n
    -- created is the start of pg_net's transaction, which may be before the kick.
    where n.created between k.made_at - interval '1 minute' and k.made_at + interval '5 minutes' and n.id = k.request_id
    limit 1
  ) a on true
$$;

-- Malformed parts of a report are skipped. Slow: work leased more than 10 s ago, for deliver more than 3 s; due_at is when its lease
-- expires. `of` counts the places of all workers that have leased work, at least of one.
create function keyframe_private.worker_figures()
returns jsonb language sql stable set search_path = '' as $$
  with leased as materialized (
    select case w.queue when 'deliver' then 'deliver' else 'generate' end as name, w.queue, w.worker_id, w.resource,
      w.due_at - keyframe_private.lease_of(w.queue) < now() - make_interval(secs => case w.queue when 'deliver' then 3 else 10 end) as is_slow
    from keyframe_private.work w where w.queue = any (enum_range(null::keyframe_private.work_queue)) and w.state = 'leased'
  )
  select jsonb_object_agg(f.name, jsonb_build_object(
    'claimedSeconds', keyframe_private.seconds_since(h.claimed_at),
    'isProcess', coalesce(h.report -> 'isProcess' = 'true', false),
    'callSeconds', round(keyframe_private.read_figure(h.report, 'callMs') / 1000, 3),
    'slowWork', (select count(*) from leased l where l.name = f.name and l.is_slow),
    'places', jsonb_build_object(
      'of', f.places * (select greatest(1, count(distinct l.worker_id)) from leased l where l.name = f.name),
      'open', (select count(*) from leased l where l.name = f.name),
      'slow', (
        select coalesce(jsonb_agg(to_jsonb(s) order by s.open desc), '[]') from (
          select left(l.resource, 200) as name, count(*) as open, keyframe_private.places_of(l.queue) * count(distinct l.worker_id) as of
          from leased l where l.name = f.name and l.is_slow group by l.queue, l.resource order by count(*) desc limit 5) s)),
    'oldestKickSeconds', (
      select keyframe_private.seconds_since(min(k.made_at)) from keyframe_private.kicks k
      where k.function_name = f.name and k.acknowledged_at is null and k.error is null)))
  from (values
      ('generate', keyframe_private.places_of('ask') + keyframe_private.places_of('copy')),
      ('deliver', keyframe_private.places_of('deliver'))) f (name, places)
  left join keyframe_private.heartbeats h on h.function_name = f.name
$$;

-- The transactions that block others and themselves wait for none: at most five, those that block the most sessions first. To find them, the
-- query follows chains of lock waits, which begin at each session that
--
--   has waited for a lock for a second,
--   has locked one of our tables against writers for `locked_for`, or
--   has locked our rows for `held_for`.
--
-- A role that may not see the sessions of others gets an empty list.
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

-- What has long kept dead rows from being removed, at most three. Snapshots lock nothing: without this, health would be ok while tables
-- grow and each claim reads more dead rows. A standby with hot_standby_feedback holds by its slot or by its sender, and like a slot before
-- Postgres 17 it does not say since when: then transactions count.
create function keyframe_private.snapshot_figures(held_for interval default '15 minutes', transactions_held integer default 1000000)
returns jsonb language sql volatile set search_path = '' as $$
  select coalesce(jsonb_agg(to_jsonb(s) order by s.transactions desc), '[]')
  from (
    select h.kind, h.name, h.role, keyframe_private.seconds_since(h.since) as seconds, h.transactions
    from (
      select case a.backend_type when 'walsender' then 'standby' else 'session' end as kind,
        case a.backend_type when 'walsender' then a.application_name else a.pid::text end as name, a.usename::text as role,
        case when a.backend_type <> 'walsender' then a.xact_start end as since, age(a.backend_xmin) as transactions
      from pg_catalog.pg_stat_activity a
      where a.backend_xmin is not null and a.backend_type <> 'autovacuum worker' and a.pid <> pg_backend_pid()
        and (a.datname = current_database() or a.backend_type = 'walsender')
      union all
      select 'prepared', p.gid, p.owner::text, p.prepared, age(p.transaction)
      from pg_catalog.pg_prepared_xacts p where p.database = current_database()
      union all
      select 'slot', r.slot_name::text, null, case when not r.active then (to_jsonb(r) ->> 'inactive_since')::timestamptz end,
        greatest(age(r.xmin), age(r.catalog_xmin))
      from pg_catalog.pg_replication_slots r where coalesce(r.xmin, r.catalog_xmin) is not null) h
    where h.since < clock_timestamp() - held_for or h.transactions > transactions_held
    order by h.transactions desc limit 3) s
$$;

-- Calls of our functions and tables that have run for over two seconds; a worker's call waits for a second at most. A call of an owner has
-- the owner's id as the name of its session (acquire_call_slot), which other roles can forge. Owners who use three connections or more, for
-- two seconds in total, are named, at most three.
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

-- Owners who have used up the rate of a class for ten seconds, the longest first, at most three. Only steady demand keeps a bucket low.
-- Includes `wait`: an owner with too many waits is checked less often.
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
    where b.route_class <> 'shared' -- its owner_id is that of a link
      and b.tokens + l.per_second * abs(extract(epoch from now() - b.refilled_at)) < l.capacity / 10.0 -- abs: the clock was set back
    order by b.low_since limit 3) o
$$;

-- Lists enabled triggers on tables that serve all users; those of projects and films do not.
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

-- Reads the last 10,000 runs of all jobs, more than four hours of our jobs. A job is late only if this log begins before late_after, or is empty.
create function keyframe_private.job_figures()
returns jsonb language sql stable set search_path = '' as $$
  with runs as materialized (
    select d.jobid, d.status, d.return_message, d.start_time, d.end_time from cron.job_run_details d order by d.runid desc limit 10000
  ), ran as (
    select j.jobname, max(r.end_time) filter (where r.status = 'succeeded') as succeeded_at,
      max(r.end_time) filter (where r.status = 'failed') as failed_at,
      (array_agg(r.return_message order by r.start_time desc) filter (where r.status = 'failed'))[1] as error
    from runs r join cron.job j on j.jobid = r.jobid group by j.jobname
  )
  select jsonb_object_agg(substr(w.name, length('keyframe-') + 1), jsonb_build_object(
    'scheduled', w.scheduled,
    'obstacle', w.obstacle,
    'lastSuccessSeconds', keyframe_private.seconds_since(r.succeeded_at),
    'lastError', case when r.succeeded_at is null or r.failed_at > r.succeeded_at then left(split_part(r.error, E'\n', 1), 200) end,
    'isLate', coalesce(r.succeeded_at < now() - w.late_after, true)
      and coalesce((select min(l.start_time) from runs l) < now() - w.late_after, true)))
  from (
    select j.name, j.late_after, bool_or(j.obstacle is null) as scheduled, min(j.obstacle) as obstacle
    from keyframe_private.scheduled_jobs() j group by j.name, j.late_after) w
  left join ran r on r.jobname = w.name
$$;

-- Times in the future show how far the clock went back.
create function keyframe_private.setting_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'isReadOnly', pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean,
    'hasSettings', exists (select from keyframe_private.settings),
    'missingSecrets', (
      select coalesce(jsonb_agg(n.name order by n.name), '[]') from (values ('keyframe_functions_url'), ('keyframe_kick_secret')) n (name)
      where keyframe_private.read_secret(n.name) is null),
    'address', keyframe_private.address(),
    'clockBackSeconds', (
      select round(extract(epoch from nullif(max(t.moment), '-infinity') - now()), 3)
      from (
        select w.claimed_at from keyframe_private.heartbeats w
        union all (select k.made_at from keyframe_private.kicks k order by k.id desc limit 1)
        union all select max(r.start_time) from (select d.start_time from cron.job_run_details d order by d.runid desc limit 1000) r) t (moment)
      where t.moment > now() + interval '5 seconds'))
$$;
