-- Views for administrators in Studio. security_invoker: a mistaken grant on a view reveals nothing. Columns without a comment are those of
-- the tables.

-- Each part of the condition is that of a partial index: only active rows are read.
create view keyframe_private.admin_queue with (security_invoker = true) as
select
  p.id as prediction_id, p.owner_id, p.project_id, p.step, p.model, p.status,
  case
    when p.waits_for is not null then 'waits_for_shot'
    when p.admitted_at is null then 'in_line'
    when w.state = 'leased' and w.due_at > now() then 'worked_on'
    when w.state = 'leased' then 'lease_expired'
    when w.due_at <= now() then 'due'
    when w.last_error is not null then 'backing_off'
    when w.id is null then 'no_work'
    else 'at_the_provider'
  end as why,
  now() - p.created_at as since_created,
  case when p.admitted_at is null and p.waits_for is null then
    row_number() over (partition by p.owner_id, p.admitted_at is null, p.waits_for is null order by p.created_at, p.id) end as queue_position,
  p.attempt, w.failures, w.last_error,
  case when w.state = 'leased' then w.due_at end as leased_until,
  w.due_at, p.deadline_at, p.provider_prediction_id
from keyframe.predictions p
left join lateral (
  select o.* from keyframe_private.work o
  where p.admitted_at is not null and o.subject = p.id and o.queue <> 'deliver' and o.kind = case p.status
    when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end
  order by o.state desc, o.due_at limit 1) w on true
where p.admitted_at is not null and p.completed_at is null
  or p.admitted_at is null and p.status = 'queued' and p.waits_for is null
  or p.status = 'queued' and p.waits_for is not null;
comment on view keyframe_private.admin_queue is 'For administrators: every active prediction, its age, and why it waits.';
comment on column keyframe_private.admin_queue.why is 'worked_on: a worker holds its lease. lease_expired: the worker died; another will claim it. due: not claimed yet. backing_off: retried at due_at because of last_error. no_work: its work is lost; the sweep adds it after a minute. at_the_provider: running there, polled at due_at. in_line: its owner has max_active_per_owner predictions running. waits_for_shot: the previous shot''s video, or its end image, is missing.';
comment on column keyframe_private.admin_queue.queue_position is '1: the owner''s next prediction to run; null once it has a slot.';
comment on column keyframe_private.admin_queue.due_at is 'When its next task is due; null while it waits for a slot.';

create view keyframe_private.admin_webhook_health with (security_invoker = true) as
select
  e.id as endpoint_id, e.owner_id, e.url, e.description, e.event_types, e.enabled, e.disabled_reason, e.disabled_at, e.failing_since,
  h.delivered, h.retrying, h.exhausted, h.last_attempt_at,
  (h.last_failure).error as last_error, (h.last_failure).status_code as last_error_status, (h.last_failure).at as last_error_at,
  w.due, w.oldest_due_at
from keyframe.webhook_endpoints e
cross join lateral (
  select
    coalesce(sum(c.delivered), 0)::bigint as delivered, coalesce(sum(c.retrying), 0)::bigint as retrying,
    coalesce(sum(c.exhausted), 0)::bigint as exhausted, max((c.last_attempt).at) as last_attempt_at,
    (array_agg(c.last_failure order by c.last_failure desc nulls last))[1] as last_failure
  from keyframe_private.webhook_hours c
  where c.endpoint_id = e.id and c.hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
) h
cross join lateral (
  select count(*) as due, min(o.next_attempt_at) as oldest_due_at
  from (
    select d.next_attempt_at from keyframe.webhook_deliveries d
    where d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at <= now()
    order by d.next_attempt_at limit 10000
  ) o
) w;
comment on view keyframe_private.admin_webhook_health is 'For administrators: every webhook endpoint, the outcomes of its deliveries since the hour that began 23 hours ago, and what is due. Each delivery counts once, by its last attempt.';
comment on column keyframe_private.admin_webhook_health.last_attempt_at is 'The latest attempt in these hours; null: none.';
comment on column keyframe_private.admin_webhook_health.last_error is 'The latest error in these hours, even if a retry succeeded: http_status, timeout, connection, dns, tls, address, redirect, too_large, not_signed (its secret cannot be read).';
comment on column keyframe_private.admin_webhook_health.due is 'Deliveries that are due or being sent, counted up to 10,000. Those of a disabled endpoint wait until it is enabled.';

create view keyframe_private.admin_usage with (security_invoker = true) as
select
  (p.created_at at time zone 'UTC')::date as day,
  p.owner_id, p.step,
  count(*) as started,
  count(*) filter (where p.status = 'succeeded') as succeeded,
  count(*) filter (where p.status = 'failed') as failed,
  count(*) filter (where p.status = 'canceled') as canceled,
  count(*) filter (where p.completed_at is null) as active,
  coalesce(sum(p.output_bytes), 0)::bigint as stored_bytes,
  count(p.provider_prediction_id) as provider_runs,
  sum(p.attempt) as submits
from keyframe.predictions p
group by (p.created_at at time zone 'UTC')::date, p.owner_id, p.step;
comment on view keyframe_private.admin_usage is 'For administrators: the predictions that each owner started, by day (UTC) and step. Always filter by day: where day >= … reads only those days. Deleted predictions are not counted: admin_costs has them, with what they cost.';
comment on column keyframe_private.admin_usage.stored_bytes is 'The total size of their outputs in the bucket keyframe-outputs.';
comment on column keyframe_private.admin_usage.provider_runs is 'How many provider runs were accepted. The provider charges for those of deleted predictions too: admin_costs.';
comment on column keyframe_private.admin_usage.submits is 'How often they were submitted to the provider, including refused submits.';

create view keyframe_private.admin_costs with (security_invoker = true) as
select c.day, c.owner_id, c.step, c.model, sum(c.predictions) as predictions,
  round(sum(c.settled_micros) / 1e6, 6) as settled_usd, round(sum(c.held_micros) / 1e6, 6) as held_usd, round(sum(c.unknown_micros) / 1e6, 6) as unknown_usd,
  round(sum(c.settled_charge_micros) / 1e6, 6) as settled_charge_usd, round(sum(c.held_charge_micros) / 1e6, 6) as held_charge_usd,
  round(sum(c.unknown_charge_micros) / 1e6, 6) as unknown_charge_usd
from keyframe_private.costs c
where c.kind = 'owner_day'
group by c.day, c.owner_id, c.step, c.model;
comment on view keyframe_private.admin_costs is 'For administrators: what the provider bills for the submits of a day, and what their owners pay (charge), by owner, step and model, in US dollars.';

create view keyframe_private.admin_balances with (security_invoker = true) as
select c.owner_id, round(c.credits / 1e6, 6) as credits_usd, round(b.available_micros / 1e6, 6) as balance_usd,
  round(b.held_micros / 1e6, 6) as held_usd
from (select o.owner_id, sum(o.micros) as credits from keyframe_private.credits o group by 1) c
cross join lateral keyframe_private.balance_of(c.owner_id) b;
comment on view keyframe_private.admin_balances is 'For administrators: the balance of each owner who has credits, in US dollars.';
comment on column keyframe_private.admin_balances.held_usd is 'What is reserved for submits that have not ended; balance_usd is without it.';
