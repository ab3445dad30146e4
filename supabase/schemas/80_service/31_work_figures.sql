-- The figures of the work: predictions, deliveries, files, models, costs.

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

create function keyframe_private.cost_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'spendingStopped', s.spending_stopped,
    'cheapestStartMicros', (
      select min((keyframe_private.default_cost(m, now())).most_micros) from keyframe.step_defaults d
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
