-- The transactions that keep work of ours waiting and wait for none themselves: at most five, those that block the most sessions first. The
-- query follows the chains of lock waits that begin at each session that
--
--   has waited for a second for a lock on a table that we use, for a row of it, or for an advisory lock, if it has used tables of Keyframe;
--   has been open for `locked_for`, and has locked or waits to lock a table that we use against writers; or
--   has been open for `held_for`, and has locked rows of a table of Keyframe. Workers skip such rows, so perhaps nobody waits for it.
--
-- A chain ends at a session that waits to lock a whole table, because all later ones queue behind it, and go on when it ends. Rows of other
-- tables, such as auth.users, may be held for long: only who waits for one counts.
--
-- Ordinary work waits for a row for less than a second. No transaction of ours locks a table for 0.3 s, which is how long plain health waits,
-- nor rows for 20 s, which is the time limit of its frequent jobs. A role that may not see the sessions of others gets an empty list.
create function keyframe_private.blocker_figures(locked_for interval default '300 milliseconds', held_for interval default '20 seconds')
returns jsonb language sql volatile set search_path = '' as $$
  with recursive our_tables as materialized (
    select c.oid, n.nspname in ('keyframe', 'keyframe_private') as is_keyframe
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    -- By name, because an extension may be missing.
    where c.relkind in ('r', 'p') and (n.nspname in ('keyframe', 'keyframe_private', 'net', 'cron')
      or (n.nspname, c.relname) in (('auth', 'users'), ('vault', 'secrets'), ('storage', 'objects')))
  ), sessions as materialized (
    select a.* from pg_catalog.pg_stat_activity a where a.datname = current_database()
  ), locks as materialized (
    -- pid is null for a prepared transaction, which virtualtransaction still tells apart.
    select l.*, t.oid is not null as is_ours, coalesce(t.is_keyframe, false) as is_keyframe, l.locktype = 'relation'
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') as stops_writes
    from pg_catalog.pg_locks l
    left join our_tables t on t.oid = l.relation
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
    where l.pid is distinct from pg_backend_pid()
  ), table_locks as materialized (
    select l.pid, l.virtualtransaction, l.relation, l.is_keyframe, l.stops_writes, l.granted
    from locks l
    where l.is_ours and l.locktype = 'relation'
      and (l.stops_writes or l.granted and l.mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock'))
  ), waiting as (
    -- Who waits for a row waits for its transaction, and mostly has a lock of the type tuple on it; not for an equal key of an index.
    select w.pid from locks w
    where not w.granted and w.waitstart < clock_timestamp() - interval '1 second' and case
      when w.locktype = 'advisory' then w.pid in (select u.pid from locks u where u.is_keyframe)
      when w.locktype <> 'transactionid' then w.is_ours
      when w.pid in (select r.pid from locks r where r.locktype = 'tuple') then w.pid in (
        select r.pid from locks r where r.locktype = 'tuple' and r.is_ours)
      else w.transactionid in (
        select x.transactionid from locks x join table_locks h on h.virtualtransaction = x.virtualtransaction
        where x.granted and x.locktype = 'transactionid') end
  ), table_waiters as materialized (
    select t.pid from table_locks t where not t.granted
  ), wait_chains as (
    (select a.pid as victim, a.pid,
       case when a.pid not in (select t.pid from table_waiters t) then pg_catalog.pg_blocking_pids(a.pid) else '{}' end as behind
     from sessions a
     where a.backend_type is distinct from 'autovacuum worker' and (
       exists (select from waiting w where w.pid = a.pid)
       or exists (
         select from table_locks t where t.pid = a.pid and (t.stops_writes or t.is_keyframe)
           and a.xact_start < clock_timestamp() - case when t.stops_writes then locked_for else held_for end))
     order by a.xact_start limit 50)
    union
    select c.victim, b.pid, case when b.pid not in (select t.pid from table_waiters t) then pg_catalog.pg_blocking_pids(b.pid) else '{}' end
    from wait_chains c cross join lateral unnest(c.behind) b (pid)
  ), worst as (
    select c.pid, count(distinct c.victim) filter (where c.victim <> c.pid) as blocks, s.usename, s.xact_start, s.state,
      bool_or(t.stops_writes) as locks_tables, string_agg(distinct t.relation::regclass::text, ', ') as tables
    from wait_chains c
    left join sessions s on s.pid = c.pid
    left join table_locks t on t.pid = c.pid
    where c.behind = '{}'
      and coalesce(s.xact_start < clock_timestamp() - locked_for, true) -- a young transaction is ordinary queueing, not a blocker
    group by c.pid, s.usename, s.xact_start, s.state
    order by blocks desc, s.xact_start limit 5
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'pid', n.pid, 'role', n.usename, 'seconds', keyframe_private.seconds_since(n.xact_start), 'isIdle', coalesce(n.state like 'idle%', false),
    'blocks', n.blocks, 'tables', n.tables, 'locksTables', coalesce(n.locks_tables, false),
    'waitsFor', case when n.pid in (select t.pid from table_waiters t) then (pg_catalog.pg_blocking_pids(n.pid))[1] end)
    order by n.blocks desc, n.xact_start), '[]')
  from worst n
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
