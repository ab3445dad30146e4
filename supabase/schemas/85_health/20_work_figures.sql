-- Due work that no claim has made ready yet: of each queue the 1,000 scheduled rows that have been due longest, which is what a claim makes
-- ready at once, and the work whose lease has expired.
create function keyframe_private.due_unready_work()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select d.* from unnest(enum_range(null::keyframe_private.work_queue)) q
  cross join lateral (
    (select w.* from keyframe_private.work w where w.queue = q and w.state = 'scheduled' and w.due_at <= now() order by w.due_at limit 1000)
    union all
    (select w.* from keyframe_private.work w where w.queue = q and w.state = 'leased' and w.due_at <= now() limit 1000)) d
$$;

-- Due work that no worker has leased, to count: of each queue at most 10,000 rows that are ready, by resource, and due_unready_work.
create function keyframe_private.due_work()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select d.* from unnest(enum_range(null::keyframe_private.work_queue)) q
  cross join lateral (
    select w.* from keyframe_private.work w where w.queue = q and w.state = 'ready' order by w.resource, w.lane, w.id limit 10000) d
  union all
  select s.* from keyframe_private.due_unready_work() s
$$;

-- The oldest ready delivery of each endpoint, one probe of an index for each of at most 10,000 endpoints, and due ones that are scheduled.
create function keyframe_private.oldest_due_deliveries()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  with recursive ready as (
    (select w.* from keyframe_private.work w where w.queue = 'deliver' and w.state = 'ready' order by w.lane, w.due_at limit 1)
    union all
    select n.* from ready r cross join lateral (
      select w.* from keyframe_private.work w
      where w.queue = 'deliver' and w.state = 'ready' and w.lane > r.lane order by w.lane, w.due_at limit 1) n
  )
  (select r.* from ready r limit 10000)
  union all
  select s.* from keyframe_private.due_unready_work() s where s.queue = 'deliver'
$$;

create function keyframe_private.prediction_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(a) || to_jsonb(w) || jsonb_build_object(
    'retrying', (
      select count(*) from (
        select from keyframe_private.work r where r.queue <> 'deliver' and r.failures > 0 and r.state = 'scheduled' limit 10000) r),
    'refusal', (
      select mode() within group (order by r.last_error) from (
        select r.last_error from keyframe_private.work r where r.queue <> 'deliver' and r.failures > 0 limit 10000) r
      where r.last_error in ('provider_unauthorized', 'provider_payment_required')),
    'runsToCancel', (
      select count(*) from (select from keyframe_private.work c where c.queue <> 'deliver' and c.kind = 'cancel' limit 10000) c),
    'largest', (
      select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
      from (
        select u.owner_id as "ownerId", mode() within group (order by p.model) as subject, count(*) as count, sum(count(*)) over () as "of"
        from (select d.subject, d.owner_id from keyframe_private.due_work() d where d.kind in ('submit', 'poll', 'store') limit 10000) u
        join keyframe.predictions p on p.id = u.subject group by u.owner_id order by count desc limit 3) l))
  from (
    select
      count(*) filter (where p.status = 'queued') as queued, count(*) filter (where p.status = 'starting') as starting,
      count(*) filter (where p.status = 'processing') as processing, count(*) filter (where p.status = 'storing') as storing
    from (select o.status from keyframe.predictions o where o.admitted_at is not null and o.completed_at is null limit 10000) p
  ) a
  cross join (
    select count(*) as waiting, keyframe_private.seconds_since(min(p.created_at)) as "oldestWaitingSeconds" from (
      select o.created_at from keyframe.predictions o
      where o.admitted_at is null and o.status = 'queued' and o.waits_for is null order by o.created_at limit 10000) p
  ) w
$$;

-- How long the oldest work of each kind has been due. Delivery: only to endpoints to which nothing is being sent (no lease is live); others
-- wait for their receiver. Slot: a prediction could start, because its owner has a free slot or because the previous shot has ended.
create function keyframe_private.due_figures()
returns jsonb language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select jsonb_object_agg(f.name, keyframe_private.seconds_since(f.oldest))
  from (
    select case when k.kind in ('admit', 'continue') then 'slot' else k.kind end as name, least(min(r.due_at), min(s.due_at)) as oldest
    from unnest('{submit,poll,store,cancel,search,expire,remove,admit,continue}'::text[]) k (kind)
    left join lateral (
      select w.due_at from keyframe_private.work w
      where w.queue <> 'deliver' and w.state = 'ready' and w.kind = k.kind order by w.due_at limit 1) r on true
    left join keyframe_private.due_unready_work() s on s.queue <> 'deliver' and s.kind = k.kind
    group by 1
    union all
    select 'delivery', min(d.due_at) from keyframe_private.oldest_due_deliveries() d
    where not exists (
      select from keyframe_private.work l where l.queue = 'deliver' and l.lane = d.lane and l.state = 'leased' and l.due_at > now())) f
$$;

-- Rows that the database refuses, and that are skipped until their next try: those of jobs, and work of generate that has failed three times
-- in a row or more, the last time in the database (its last error is an SQLSTATE, not one of our codes).
create function keyframe_private.skipped_figures()
returns jsonb language sql stable set search_path = '' as $$
  with skipped as materialized (
    select 'job' as kind, u.subject, u.code, u.reason, u.failures
    from keyframe_private.skipped_rows u where u.next_try_at > now() - interval '1 minute'
    union all
    select w.kind, w.subject::text, w.last_error, null, w.failures
    from keyframe_private.work w where w.queue <> 'deliver' and w.failures > 2 and w.last_error ~ '^[0-9A-Z]{5}$'
    limit 10000
  )
  select jsonb_build_object(
    'count', (select count(*) from skipped),
    'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}') from (select s.kind, count(*) from skipped s group by s.kind) k),
    'worst', (select to_jsonb(s) from skipped s order by s.failures desc, s.subject limit 1))
$$;

-- Pending deliveries are counted from the indexes of the queue. The work of an endpoint that resumes counts as one.
create function keyframe_private.delivery_figures()
returns jsonb language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  with counted as materialized (
    select w.lane, (array_agg(e.owner_id))[1] as owner_id, count(*) as pending
    from (
      (select r.lane from keyframe_private.work r where r.queue = 'deliver' and r.state = 'ready' limit 10000)
      union all (select s.lane from keyframe_private.work s where s.queue = 'deliver' and s.state = 'scheduled' limit 10000)
      union all (select l.lane from keyframe_private.work l where l.queue = 'deliver' and l.state = 'leased' limit 10000)
      limit 10000) w
    join keyframe.webhook_endpoints e on e.id = w.lane and e.enabled
    group by w.lane
  )
  select to_jsonb(c) || jsonb_build_object(
    'due', (select count(*) from (select from keyframe_private.due_work() u where u.queue = 'deliver' limit 10000) u),
    'oldestDueSeconds', (select keyframe_private.seconds_since(min(d.due_at)) from keyframe_private.oldest_due_deliveries() d),
    'sending', (
      select count(*) from (select from keyframe_private.work l where l.queue = 'deliver' and l.state = 'leased' limit 10000) l),
    'paused', (
      select count(*) from (
        select from keyframe.webhook_endpoints e
        cross join lateral (select from keyframe.webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending' limit 10000) d
        where not e.enabled limit 10000) p),
    'endpointsDisabled', (
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
    select coalesce(sum(p.pending), 0) as pending,
      (
        select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
        from (
          select q.owner_id as "ownerId", (array_agg(q.lane order by q.pending desc))[1] as subject, sum(q.pending) as count,
            sum(sum(q.pending)) over () as "of"
          from counted q group by q.owner_id order by count desc limit 3) l) as largest
    from counted p
  ) c
$$;

create function keyframe_private.event_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'projectCreated', count(*) filter (where v.type = 'project.created'),
    'generationSucceeded', count(*) filter (where v.type = 'generation.succeeded'),
    'generationFailed', count(*) filter (where v.type = 'generation.failed'))
  from (select o.type from keyframe.webhook_events o where o.created_at > now() - interval '5 minutes' order by o.created_at desc limit 10000) v
$$;

create function keyframe_private.file_removal_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object('pending', (select count(*) from (select from keyframe_private.file_removals f limit 10000) r),
    'oldestSeconds', (select keyframe_private.seconds_since(min(f.created_at)) from keyframe_private.file_removals f))
$$;

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

create function keyframe_private.cost_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'spendingStopped', s.spending_stopped,
    'cheapestStartMicros', (
      select min((keyframe_private.default_cost(m, now())).most_micros) from keyframe.step_defaults d
      join keyframe.models m on m.step = d.step and m.model = d.model),
    'unknownSubmits', (
      select coalesce(sum(c.unknown_submits), 0) from keyframe_private.costs c
      where c.kind = 'service_day' and c.day >= date_trunc('month', t.today))) || f.figures
  from keyframe_private.settings s
  cross join (select (now() at time zone 'UTC')::date as today) t
  cross join lateral (
    select jsonb_object_agg(p.name, jsonb_build_object(
      'settledMicros', u.settled, 'heldMicros', u.held, 'unknownMicros', u.unknown, 'budgetMicros', p.budget,
      'leftMicros', p.budget - least(p.budget, u.settled + u.held + u.unknown))) as figures
    from (values
        ('today', t.today, s.service_day_micros), ('month', date_trunc('month', t.today)::date, s.service_month_micros)) p (name, begins, budget)
    cross join lateral (
      select keyframe_private.exact_sum(sum(c.settled_micros)) as settled, keyframe_private.exact_sum(sum(c.held_micros)) as held,
        keyframe_private.exact_sum(sum(c.unknown_micros)) as unknown
      from keyframe_private.costs c where c.kind = 'service_day' and c.day >= p.begins) u
  ) f
$$;
