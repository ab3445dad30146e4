-- The figures of the service for GET /api/health?deep=1 and GET /api/metrics, in one call; shared/contract/service.ts explains them. Every
-- count reads active, pending or recent rows through an index, never a whole table.

create function keyframe_private.seconds_since(moment timestamptz)
returns numeric
language sql
stable
set search_path = ''
as $$
  select case when moment is not null then round(greatest(0, extract(epoch from now() - moment)), 3) end
$$;
comment on function keyframe_private.seconds_since is 'Seconds from a moment until now; 0 for a future one, null for none.';

-- Active predictions. Waiting ones are counted from their index alone.
create function keyframe_private.prediction_figures()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select to_jsonb(a) || to_jsonb(w) || jsonb_build_object(
    'runsToCancel', (select count(*) from keyframe_private.provider_submits s where s.cancel_due_at is not null))
  from (
    select
      count(*) filter (where p.status = 'queued') as queued, count(*) filter (where p.status = 'starting') as starting,
      count(*) filter (where p.status = 'processing') as processing, count(*) filter (where p.status = 'storing') as storing,
      count(*) filter (where p.retry_reason is not null) as retrying,
      count(*) filter (where p.next_attempt_at <= now()) as due,
      keyframe_private.seconds_since(min(p.next_attempt_at) filter (where p.next_attempt_at <= now())) as "oldestDueSeconds"
    from keyframe.predictions p
    where p.admitted_at is not null and p.completed_at is null
  ) a
  cross join (
    select count(*) as waiting, keyframe_private.seconds_since(min(p.created_at)) as "oldestWaitingSeconds"
    from keyframe.predictions p
    where p.admitted_at is null and p.status = 'queued'
  ) w
$$;
comment on function keyframe_private.prediction_figures is 'The figures of active predictions, for health and metrics.';

-- The few endpoints that fail or that the service has disabled.
create index webhook_endpoints_failing_idx on keyframe.webhook_endpoints (failing_since) where failing_since is not null and enabled;
create index webhook_endpoints_switched_off_idx on keyframe.webhook_endpoints (disabled_at) where disabled_reason in ('gone', 'failing');

-- Pending deliveries. Steps from endpoint to endpoint and reads at most 10,000 deliveries of each: a receiver that has been down
-- for days must not make this slow.
create function keyframe_private.delivery_figures()
returns jsonb
language sql
stable
set search_path = ''
as $$
  with recursive pending as (
    (select d.endpoint_id from keyframe.webhook_deliveries d where d.status = 'pending' order by d.endpoint_id limit 1)
    union all
    select (
      select d.endpoint_id from keyframe.webhook_deliveries d
      where d.status = 'pending' and d.endpoint_id > p.endpoint_id order by d.endpoint_id limit 1)
    from pending p where p.endpoint_id is not null
  )
  select to_jsonb(d) || to_jsonb(f) || jsonb_build_object(
    'sending', (
      select coalesce(sum((w.report ->> 'openRequests')::integer), 0) from keyframe_private.worker_heartbeats w
      where w.function_name = 'deliver' and w.claimed_at > now() - interval '1 minute'),
    'endpointsSwitchedOff', (
      select count(*) from keyframe.webhook_endpoints e
      where e.disabled_reason in ('gone', 'failing') and e.disabled_at > now() - interval '1 day'),
    'unsignedEndpoints', (
      select count(distinct h.endpoint_id) from keyframe_private.webhook_hours h join keyframe.webhook_endpoints u on u.id = h.endpoint_id and u.enabled
      where h.hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour' and (h.last_attempt).error = 'not_signed'
        and not exists (select from keyframe_private.webhook_hours n where n.endpoint_id = h.endpoint_id and n.hour > h.hour)))
  from (
    select coalesce(sum(c.due) filter (where e.enabled), 0) as due, coalesce(sum(c.pending) filter (where e.enabled), 0) as pending,
      coalesce(sum(c.pending) filter (where not e.enabled), 0) as held,
      keyframe_private.seconds_since(min(c.oldest_at) filter (where e.enabled)) as "oldestDueSeconds"
    from pending p
    join keyframe.webhook_endpoints e on e.id = p.endpoint_id
    cross join lateral (
      -- Counted from the index alone.
      select count(*) as pending, count(*) filter (where o.next_attempt_at <= now()) as due,
        min(o.next_attempt_at) filter (where o.next_attempt_at <= now()) as oldest_at
      from (
        select d.next_attempt_at from keyframe.webhook_deliveries d
        where d.status = 'pending' and d.endpoint_id = e.id order by d.next_attempt_at limit 10000
      ) o
    ) c
  ) d
  cross join (
    select count(*) as "failingEndpoints", keyframe_private.seconds_since(min(e.failing_since)) as "oldestFailingSeconds"
    from keyframe.webhook_endpoints e where e.failing_since is not null and e.enabled
  ) f
$$;
comment on function keyframe_private.delivery_figures is 'The figures of pending deliveries, for health and metrics.';

-- Kicks in pg_net. Its queue shows a header that names the kick, and an answer of our functions has the header keyframe-function. A
-- request without an answer may belong to any user of pg_net in this project.
create function keyframe_private.kick_figures()
returns jsonb
language sql
stable
set search_path = ''
as $$
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

-- The last kick of a function: when it was made, its outcome, and how long until the worker claimed. Its answer is searched for
-- among five minutes of answers, because ids have no index there and pg_net keeps the answers of all senders for hours.
create function keyframe_private.last_kick_figures(function_name text)
returns jsonb
language sql
stable
set search_path = ''
as $$
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

create function keyframe_private.worker_figures(function_name text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'claimedSeconds', keyframe_private.seconds_since(w.claimed_at),
    'callSeconds', round((w.report ->> 'callMs')::numeric / 1000, 3),
    'slowRequests', coalesce((w.report ->> 'slowRequests')::integer, 0),
    'oldestKickSeconds', (
      select keyframe_private.seconds_since(min(k.made_at)) from keyframe_private.kicks k
      where k.function_name = worker_figures.function_name and k.acknowledged_at is null and k.error is null),
    'slowestKickSeconds', (
      select round(max(greatest(0, extract(epoch from k.acknowledged_at - k.made_at))), 3) from keyframe_private.kicks k
      where k.function_name = worker_figures.function_name and k.made_at > now() - interval '5 minutes' and k.acknowledged_at is not null))
  from (select) only_one left join keyframe_private.worker_heartbeats w on w.function_name = worker_figures.function_name
$$;
comment on function keyframe_private.worker_figures is 'The figures of a worker: its last claim, how its kicks are acknowledged, what it last said.';

-- The transaction that has held rows or tables of ours for longest. Null values: none is over 20 s, or this role may not see it.
create function keyframe_private.transaction_figures()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object('oldestSeconds', keyframe_private.seconds_since(t.xact_start), 'pid', t.pid::text, 'role', t.usename, 'tables', t.relation)
  from (select) only_one
  left join lateral (
    select a.xact_start, a.pid, a.usename, string_agg(distinct l.relation::regclass::text, ', ') as relation
    from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.granted and l.mode <> 'AccessShareLock' and c.relkind = 'r'
      and (c.relnamespace = any (array['keyframe'::regnamespace, 'keyframe_private'::regnamespace])
        or c.oid = any (array['auth.users'::regclass, 'vault.secrets'::regclass]))
      -- Insert-only: nobody waits for their rows.
      and c.oid <> all (array['keyframe_private.lane_arrivals'::regclass, 'keyframe_private.kicks'::regclass])
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
      and a.backend_type = 'client backend' and a.xact_start < now() - interval '20 seconds'
    group by 1, 2, 3 order by 1 limit 1
  ) t on true
$$;
comment on function keyframe_private.transaction_figures is 'The transaction that has held rows or tables of ours for longest.';

-- The recent runs of a pg_cron job. Reads the last 1,000 runs of all jobs, more than half an hour of ours: null means longer ago.
create function keyframe_private.cron_figures(job_name text)
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'scheduled', exists (select from cron.job j where j.jobname = job_name and j.active),
    'lastRunSeconds', keyframe_private.seconds_since(max(r.start_time)),
    'lastSuccessSeconds', keyframe_private.seconds_since(max(r.end_time) filter (where r.status = 'succeeded')),
    'failures', count(*) filter (where r.status = 'failed' and r.start_time > now() - interval '5 minutes'))
  from (
    select d.jobid, d.status, d.start_time, d.end_time from cron.job_run_details d order by d.runid desc limit 1000
  ) r
  where r.jobid in (select j.jobid from cron.job j where j.jobname = job_name)
$$;
comment on function keyframe_private.cron_figures is 'The recent runs of a pg_cron job, for health and metrics.';

create function keyframe_private.cost_figures()
returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'spendingStopped', s.spending_stopped,
    'cheapestStartMicros', (
      select min(keyframe_private.default_cost(m, now())) from keyframe.step_defaults d
      join keyframe.models m on m.step = d.step and m.model = d.model),
    'unknownSubmits', (
      select coalesce(sum(c.unknown_submits), 0) from keyframe_private.costs c
      where c.owner_id = keyframe_private.everybody() and c.day >= date_trunc('month', t.today)),
    'today', f.figures -> 'today', 'month', f.figures -> 'month')
  from keyframe_private.settings s
  cross join (select (now() at time zone 'UTC')::date as today) t
  cross join lateral (
    select jsonb_object_agg(p.name, jsonb_build_object(
      'settledMicros', u.settled, 'heldMicros', u.held, 'unknownMicros', u.unknown, 'budgetMicros', p.budget,
      'leftMicros', p.budget - least(p.budget, u.settled + u.held + u.unknown))) as figures
    from (values ('today', t.today, s.service_day_micros), ('month', date_trunc('month', t.today)::date, s.service_month_micros)) p (name, begins, budget)
    cross join lateral (
      select coalesce(sum(c.settled_micros), 0) as settled, coalesce(sum(c.held_micros), 0) as held, coalesce(sum(c.unknown_micros), 0) as unknown
      from keyframe_private.costs c where c.owner_id = keyframe_private.everybody() and c.day >= p.begins) u
  ) f
$$;
comment on function keyframe_private.cost_figures is 'What the submits of today and of this month cost all owners together, and what is left of the service''s budgets.';

-- Definer: only the secret key may call it, and it needs no right on the tables.
create function keyframe.service_figures()
returns jsonb
language sql
stable
security definer
set search_path = ''
as $$
  select jsonb_build_object(
    'predictions', keyframe_private.prediction_figures(),
    'deliveries', keyframe_private.delivery_figures(),
    'events', ( -- of the last five minutes
      select jsonb_build_object(
        'projectCreated', count(*) filter (where v.type = 'project.created'),
        'generationSucceeded', count(*) filter (where v.type = 'generation.succeeded'),
        'generationFailed', count(*) filter (where v.type = 'generation.failed'))
      from keyframe.webhook_events v
      where v.created_at > now() - interval '5 minutes'),
    'kicks', keyframe_private.kick_figures(),
    'lastKicks', jsonb_build_object(
      'generate', keyframe_private.last_kick_figures('generate'), 'deliver', keyframe_private.last_kick_figures('deliver')),
    'workers', jsonb_build_object('generate', keyframe_private.worker_figures('generate'), 'deliver', keyframe_private.worker_figures('deliver')),
    'transactions', keyframe_private.transaction_figures(),
    'sweep', keyframe_private.cron_figures('keyframe-sweep'),
    'prune', keyframe_private.cron_figures('keyframe-prune'),
    'fileRemovals', (
      select jsonb_build_object(
        'pending', count(*), 'due', count(*) filter (where r.due_at <= now()), 'failing', count(*) filter (where r.failures > 0),
        'oldestDueSeconds', keyframe_private.seconds_since(min(r.due_at) filter (where r.due_at <= now())))
      from (select f.due_at, f.failures from keyframe_private.file_removals f order by f.due_at limit 10000) r),
    'unavailableModels', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'step', m.step, 'model', m.model, 'reason', case when m.refused_at is null then 'ended' else 'unknown' end,
        'isDefault', exists (select from keyframe.step_defaults d where d.step = m.step and d.model = m.model),
        'successor', keyframe_private.default_successor(m, now())
      ) order by m.step, m.position, m.model), '[]')
      from keyframe.models m
      where m.enabled and not keyframe_private.is_available(m, now())),
    'costs', keyframe_private.cost_figures())
$$;
comment on function keyframe.service_figures is 'The figures of the service (docs/operate.md), for GET /api/health?deep=1 and GET /api/metrics.';

grant execute on function keyframe.service_figures() to service_role;
