-- The figures of sessions: what blocks others, what keeps dead rows, and calls that take long.

-- The transactions that block others and wait for none: at most five, those that block the most sessions first. The query follows the chains
-- of lock waits that begin at each session that
--
--   uses a table of ours and has waited for any lock for a second (our advisory locks too: who takes one has read our tables),
--   has been open for `locked_for` and has locked a table that we use against writers, or
--   has been open for `held_for` and has locked rows of such a table.
--
-- A role that may not see the sessions of others gets an empty list.
create function keyframe_private.blocker_figures(locked_for interval default '300 milliseconds', held_for interval default '20 seconds')
returns jsonb language sql volatile set search_path = '' as $$
  with recursive locks as materialized (
    select l.pid, l.locktype, l.relation, l.mode, l.granted, l.waitstart, l.database from pg_catalog.pg_locks l where l.pid <> pg_backend_pid()
  ), sessions as materialized (
    select a.* from pg_catalog.pg_stat_activity a where a.datname = current_database()
  ), used as materialized (
    select l.pid, l.granted, l.mode, c.oid as relation,
      l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') as is_table
    from locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    -- A session that waits for a row has a lock of the type tuple on it: that is no lock of the table.
    where l.locktype = 'relation' and c.relkind in ('r', 'p')
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      -- By name, because an extension may be missing.
      and (n.nspname in ('keyframe', 'keyframe_private', 'net', 'cron')
        or (n.nspname, c.relname) in (('auth', 'users'), ('vault', 'secrets'), ('storage', 'objects')))
  ), held as (
    select u.pid, u.relation, u.is_table from used u where u.granted and u.mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock')
  ), chain as (
    (select s.pid as victim, s.pid, pg_catalog.pg_blocking_pids(s.pid) as behind
     from sessions s
     where s.backend_type is distinct from 'autovacuum worker' and (
       exists (select from used u where u.pid = s.pid)
         and exists (select from locks l where l.pid = s.pid and not l.granted and l.waitstart < clock_timestamp() - interval '1 second')
       or exists (
         select from held h where h.pid = s.pid
           and s.xact_start < clock_timestamp() - case when h.is_table then locked_for else held_for end))
     order by s.xact_start limit 50)
    union
    select c.victim, b.pid, pg_catalog.pg_blocking_pids(b.pid) from chain c cross join lateral unnest(c.behind) b (pid)
  ), ends as (
    select c.pid, count(distinct c.victim) filter (where c.victim <> c.pid) as blocks
    from chain c where c.behind = '{}' group by c.pid
  ), named as (
    select e.pid, e.blocks, s.usename, s.xact_start, s.state, bool_or(h.is_table) as is_table,
      string_agg(distinct h.relation::regclass::text, ', ') as tables
    from ends e
    left join sessions s on s.pid = e.pid
    left join held h on h.pid = e.pid
    where (s.backend_type is distinct from 'autovacuum worker' or e.blocks > 0)
      and coalesce(s.xact_start < clock_timestamp() - locked_for, true) -- a young transaction is ordinary queueing, not a blocker
    group by e.pid, e.blocks, s.usename, s.xact_start, s.state
    order by e.blocks desc, s.xact_start limit 5
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'pid', n.pid, 'role', n.usename, 'seconds', keyframe_private.seconds_since(n.xact_start), 'isIdle', coalesce(n.state like 'idle%', false),
    'blocks', n.blocks, 'tables', n.tables, 'locksTables', coalesce(n.is_table, false)) order by n.blocks desc, n.xact_start), '[]')
  from named n
$$;

-- What has long kept dead rows from being removed, at most three. Snapshots lock nothing: without this, health would be ok while tables
-- grow and each claim reads more dead rows. A standby with hot_standby_feedback keeps them by its slot or its walsender. A walsender, and a
-- slot before Postgres 17, does not say since when: then the number of transactions decides.
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
    select count(*) as slow, mode() within group (order by c.called) as slowest,
      keyframe_private.seconds_since(min(c.query_start)) as "slowestSeconds"
    from open c where c.state = 'active' and c.query_start < now() - interval '2 seconds' and c.called is not null) s
$$;
