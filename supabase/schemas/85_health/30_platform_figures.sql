-- Kicks in pg_net. In its queue, the header webhook-id marks ours; in its answers, the header keyframe-function marks those of our functions.
-- A request without an answer may belong to any user of pg_net in this project.
create function keyframe_private.kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(u) || to_jsonb(r) || jsonb_build_object(
    'othersUnsent', (
      select count(*) from (select from net.http_request_queue n where coalesce(n.headers ->> 'webhook-id', '') not like 'kick\_%' limit 10000) o),
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
    from (
      select a.status_code, a.headers from net._http_response a
      where a.created > now() - interval '5 minutes' order by a.created desc limit 10000) n
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
    'acknowledgedAfterSeconds', case when k.acknowledged_at is not null then
      round(greatest(0, extract(epoch from k.acknowledged_at - k.made_at)), 3) end))
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

-- Malformed figures of a report are left out. Slow: leased more than 10 s ago, for deliver more than 3 s; due_at is when the lease expires.
-- Each `of` counts the places of all workers that have leased work, at least of one.
create function keyframe_private.worker_figures()
returns jsonb language sql stable set search_path = '' as $$
  with leased as materialized (
    select case w.queue when 'deliver' then 'deliver' else 'generate' end as name, w.queue, w.worker_id, w.resource,
      w.due_at - keyframe_private.lease_of(w.queue) < now() - make_interval(secs => case w.queue when 'deliver' then 3 else 10 end) as is_slow
    from keyframe_private.work w where w.queue = any (enum_range(null::keyframe_private.work_queue)) and w.state = 'leased' limit 10000
  )
  select jsonb_object_agg(f.name, jsonb_build_object(
    'claimedSeconds', keyframe_private.seconds_since(h.claimed_at),
    'isProcess', coalesce(h.report -> 'isProcess' = 'true', false),
    'callSeconds', round(keyframe_private.read_figure(h.report, 'callMs') / 1000, 3),
    'slowWork', (select count(*) from leased l where l.name = f.name and l.is_slow),
    'places', jsonb_build_object(
      'of', f.places * o.workers,
      'open', o.count,
      'slow', (
        select coalesce(jsonb_agg(to_jsonb(s) order by s.open desc), '[]') from (
          select left(l.resource, 200) as name, count(*) as open, keyframe_private.places_of(l.queue) * o.workers as of
          from leased l where l.name = f.name and l.is_slow group by l.queue, l.resource order by count(*) desc limit 5) s)),
    'oldestKickSeconds', (
      select keyframe_private.seconds_since(min(k.made_at)) from keyframe_private.kicks k
      where k.function_name = f.name and k.acknowledged_at is null and k.error is null)))
  from (values
      ('generate', keyframe_private.places_of('ask') + keyframe_private.places_of('copy')),
      ('deliver', keyframe_private.places_of('deliver'))) f (name, places)
  cross join lateral (select count(*), greatest(1, count(distinct l.worker_id)) as workers from leased l where l.name = f.name) o
  left join keyframe_private.heartbeats h on h.function_name = f.name
$$;

-- Owners who have used up the rate of a class for ten seconds, the longest first, at most three; of more than 10,000 such buckets, those that
-- became low last. Only steady demand keeps a bucket low. Includes `wait`: an owner with too many waits is checked less often.
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

-- Reads the last 10,000 runs of all jobs, over four hours of ours. A job is late only if the log is empty or older than its late_after. A run
-- that a restart ended has no end_time, and with an old pg_cron one that could not connect has no times at all: their order is that of runid.
create function keyframe_private.job_figures()
returns jsonb language sql stable set search_path = '' as $$
  with runs as materialized (
    select d.jobid, d.runid, d.status, d.return_message, d.start_time, d.end_time from cron.job_run_details d order by d.runid desc limit 10000
  ), ran as (
    select j.jobname, max(r.end_time) filter (where r.status = 'succeeded') as succeeded_at,
      max(r.runid) filter (where r.status = 'succeeded') as succeeded, max(r.runid) filter (where r.status = 'failed') as failed,
      (array_agg(r.return_message order by r.runid desc) filter (where r.status = 'failed'))[1] as error
    from runs r join cron.job j on j.jobid = r.jobid group by j.jobname
  )
  select jsonb_object_agg(substr(w.name, length('keyframe-') + 1), jsonb_build_object(
    'scheduled', w.scheduled,
    'obstacle', w.obstacle,
    'lastSuccessSeconds', keyframe_private.seconds_since(r.succeeded_at),
    'lastError', case when r.failed > coalesce(r.succeeded, 0) then left(split_part(r.error, E'\n', 1), 200) end,
    'isLate', coalesce(r.succeeded_at < now() - w.late_after, true)
      and coalesce((select min(l.start_time) from runs l) < now() - w.late_after, true)))
  from (
    select j.name, j.late_after, bool_or(j.obstacle is null) as scheduled, min(j.obstacle) as obstacle
    from keyframe_private.scheduled_jobs() j group by j.name, j.late_after) w
  left join ran r on r.jobname = w.name
$$;

-- Reads vault.secrets too, because read_secret returns null even if that table is locked or does not exist.
create function keyframe_private.setting_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'isReadOnly', current_setting('default_transaction_read_only')::boolean,
    'hasSettings', exists (select from keyframe_private.settings),
    'missingSecrets', (
      select coalesce(jsonb_agg(n.name order by n.name), '[]') from (values ('keyframe_functions_url'), ('keyframe_kick_secret')) n (name)
      where not exists (select from vault.secrets s where s.name = n.name) or keyframe_private.read_secret(n.name) is null),
    'address', keyframe_private.address())
$$;

-- How far the clock was set back, by times in the future.
create function keyframe_private.clock_back_seconds()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(round(extract(epoch from nullif(max(t.moment), '-infinity') - now()), 3))
  from (
    select w.claimed_at from keyframe_private.heartbeats w
    union all (select k.made_at from keyframe_private.kicks k order by k.id desc limit 1)
    union all select max(r.start_time) from (select d.start_time from cron.job_run_details d order by d.runid desc limit 1000) r) t (moment)
  where t.moment > now() + interval '5 seconds'
$$;
