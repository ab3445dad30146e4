-- Fills a migrated database with a past of :predictions predictions over 30 days, each with an event and three deliveries. Run with
-- triggers off. Every number is made of the row's own, so that each run makes the same: a hundredth as many owners as
-- predictions, of whom three have a fifth of everything, and one project has a twentieth. What is active or due is as much at
-- every size, for a queue does not grow with its past; what dead endpoints have left pending grows with the endpoints.

-- step: owners
insert into auth.users (id, email)
select md5('owner ' || o)::uuid, 'owner-' || o || '@keyframe.local' from generate_series(1, :owners) o;

-- step: endpoints
-- Two for each owner and one service-wide. One in a hundred is dead; half of those have been switched off.
insert into keyframe.webhook_endpoints (id, owner_id, url, enabled, disabled_at, disabled_reason, failing_since, created_at)
select md5('endpoint ' || e)::uuid, case when e > 0 then md5('owner ' || (e + 1) / 2)::uuid end, 'https://receiver.example/' || e,
  e % 200 <> 7, case when e % 200 = 7 then now() - interval '1 day' end, case when e % 200 = 7 then 'failing' end,
  case when e % 100 = 7 then now() - interval '3 days' end, now() - interval '31 days'
from generate_series(0, :owners * 2) e;

-- step: projects
insert into keyframe.projects (id, owner_id, title, text_prompt, description, created_at, updated_at)
select md5('project ' || j)::uuid,
  md5('owner ' || case when j % 10 = 0 then 1 when j % 20 = 1 then 2 when j % 20 = 11 then 3 else 4 + (j::bigint * 7919) % (:owners - 3) end)::uuid,
  'Harbour ' || j, repeat('A harbour at dawn, fog over the water, one red boat. ', 8), 'Keep the light.', t.at, t.at
from generate_series(1, :predictions / 10) j
cross join lateral (select now() - interval '30 days' + interval '30 days' * (j * 10.0 / :predictions) as at) t;

-- step: predictions
insert into keyframe.predictions (
  id, project_id, owner_id, step, status, prompt, model, first_frame_prediction_id, provider_prediction_id, attempt, admitted_at, next_attempt_at,
  deadline_at, progress, error_code, error_message, error_retryable, output_path, output_content_type, output_bytes, output_sha256, output_width,
  output_height, output_duration_seconds, created_at, started_at, completed_at, updated_at)
select md5('prediction ' || i)::uuid, p.id, p.owner_id, s.step, s.status, p.text_prompt,
  case when s.step = 'video' then 'kwaivgi/kling-v2.1' else 'google/nano-banana' end,
  case when s.step <> 'first-frame' and i > 100 then md5('prediction ' || i - 4)::uuid end, md5('run ' || i), 1,
  t.at, t.at + interval '30 seconds', t.at + interval '15 minutes', 1,
  case when s.status = 'failed' then 'provider_failed' end, case when s.status = 'failed' then 'It did not work.' end,
  case when s.status = 'failed' then true end,
  case when s.ok then p.owner_id || '/' || p.id || '/' || md5('prediction ' || i)::uuid || '.png' end,
  case when s.ok then 'image/png' end, case when s.ok then 1000000 + i end, case when s.ok then repeat(md5(i::text), 2) end,
  case when s.ok then 1280 end, case when s.ok then 720 end, case when s.ok and s.step = 'video' then 5 end,
  t.at, t.at + interval '2 seconds', t.at + interval '40 seconds', t.at + interval '40 seconds'
from generate_series(1, :predictions) i
cross join lateral (select now() - interval '30 days' + interval '30 days' * ((i - 0.5) / :predictions) as at) t
cross join lateral (
  select c.step, c.status, c.status = 'succeeded' as ok
  from (select
    (array['first-frame', 'first-frame', 'last-frame', 'video'])[1 + (i / 20 + i) % 4]::keyframe.generation_step as step,
    (case when h.share < 90 then 'succeeded' when h.share < 96 then 'failed' else 'canceled' end)::keyframe.prediction_status as status
    from (select (i * 7::bigint + i / 100) % 100 as share) h) c
) s
join keyframe.projects p on p.id = md5('project ' || case when i % 20 = 0 then 10 else 1 + (i - 1) / 10 end)::uuid
order by i;

-- step: active predictions
-- Forty with a place (half of them due), twenty in line: as many at every size.
insert into keyframe.predictions (
  id, project_id, owner_id, step, status, prompt, model, provider_prediction_id, attempt, admitted_at, next_attempt_at, deadline_at, started_at, created_at)
select md5('active ' || i)::uuid, p.id, p.owner_id, 'first-frame', case when i > 20 and i <= 40 then 'processing' else 'queued' end::keyframe.prediction_status,
  p.text_prompt, 'google/nano-banana', case when i > 20 and i <= 40 then 'active ' || i end, case when i <= 20 or i > 40 then 0 else 1 end,
  case when i <= 40 then now() end, case when i <= 20 then now() - interval '1 minute' else now() + interval '1 day' end,
  case when i <= 40 then now() + interval '2 days' end, case when i > 20 and i <= 40 then now() end, now() - interval '1 minute'
from generate_series(1, 60) i
join keyframe.projects p on p.id = md5('project ' || case when i <= 40 then 2 + i * 10 else 11 end)::uuid;

-- step: provider's runs
insert into keyframe_private.provider_runs (provider_prediction_id, prediction_id, attempt, seen_at)
select p.provider_prediction_id, p.id, 1, p.started_at from keyframe.predictions p
where p.provider_prediction_id is not null and p.created_at > now() - interval '7 days';

-- step: events
insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload, created_at)
select 'generation.' || p.status, p.owner_id, p.project_id, p.id,
  jsonb_build_object('type', 'generation.' || p.status, 'timestamp', p.completed_at, 'data', jsonb_build_object(
    'predictionId', p.id, 'projectId', p.project_id, 'ownerId', p.owner_id, 'step', p.step, 'model', p.model,
    'createdAt', p.created_at, 'completedAt', p.completed_at, 'output', jsonb_build_object(
      'path', p.output_path, 'contentType', p.output_content_type, 'bytes', p.output_bytes, 'sha256', p.output_sha256, 'width', 1280, 'height', 720))),
  p.completed_at
from keyframe.predictions p where p.status in ('succeeded', 'failed')
union all
select 'project.created', j.owner_id, j.id, null,
  jsonb_build_object('type', 'project.created', 'timestamp', j.created_at, 'data', jsonb_build_object(
    'projectId', j.id, 'ownerId', j.owner_id, 'title', j.title, 'textPrompt', j.text_prompt, 'description', j.description)),
  j.created_at
from keyframe.projects j
order by 6;

-- step: deliveries
-- To both endpoints of the owner and to the service-wide one: delivered, one in a hundred exhausted. A dead endpoint has not had
-- its last three days: an enabled one's are tried again some time, one's that was switched off wait.
with sent as (
  select v.id as event_id, v.type, v.created_at, e.id as endpoint_id, e.owner_id, e.enabled, e.failing_since
  from keyframe.webhook_events v join keyframe.webhook_endpoints e on e.owner_id = v.owner_id
  union all
  select v.id, v.type, v.created_at, e.id, e.owner_id, e.enabled, e.failing_since
  from keyframe.webhook_events v join keyframe.webhook_endpoints e on e.id = md5('endpoint 0')::uuid
)
insert into keyframe.webhook_deliveries (
  event_id, endpoint_id, owner_id, event_type, status, attempts, next_attempt_at, last_attempt_at, last_status_code, last_error, created_at, completed_at)
select v.event_id, v.endpoint_id, v.owner_id, v.type, s.status, case s.status when 'delivered' then 1 when 'exhausted' then 10 else 4 end,
  case when s.status = 'pending' and v.enabled then now() + interval '10 hours' else v.created_at end,
  t.at, case when s.status = 'delivered' then 200 else 500 end, case when s.status <> 'delivered' then 'http_status' end,
  v.created_at, case when s.status <> 'pending' then t.at end
from sent v
cross join lateral (
  select (case
    when v.failing_since is not null and v.created_at > now() - interval '3 days' then 'pending'
    when uuid_hash(v.event_id) % 100 = 0 then 'exhausted' else 'delivered' end)::keyframe.delivery_status as status
) s
cross join lateral (
  select case when s.status = 'delivered' then v.created_at + interval '1 second' else least(now(), v.created_at + interval '3 days') end as at
) t
order by v.created_at;

-- step: due deliveries
-- For each of fifty endpoints, as many at every size.
with events as (
  insert into keyframe.webhook_events (type, owner_id, project_id, payload)
  select 'project.created', e.owner_id, gen_random_uuid(), jsonb_build_object('type', 'project.created', 'data', jsonb_build_object('text', repeat('x', 600)))
  from generate_series(11, 60) o cross join generate_series(1, :due)
  join keyframe.webhook_endpoints e on e.id = md5('endpoint ' || (o * 2))::uuid
  returning id, owner_id, type
)
insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, next_attempt_at)
select v.id, e.id, v.owner_id, v.type, now() - interval '1 minute'
from events v join keyframe.webhook_endpoints e on e.owner_id = v.owner_id
where e.id in (select md5('endpoint ' || (o * 2))::uuid from generate_series(11, 60) o);

-- step: attempts
insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
select d.id, d.owner_id, a.attempt, d.last_attempt_at, 40, d.last_status_code, d.last_error, '{"received":true}'
from keyframe.webhook_deliveries d cross join lateral generate_series(1, d.attempts) as a (attempt);

-- step: hours
insert into keyframe_private.webhook_hours (
  endpoint_id, hour, delivered, retrying, exhausted, last_attempt_at, last_status_code, failed_at, failed_status_code, failed_error)
select d.endpoint_id, date_trunc('hour', d.last_attempt_at, 'UTC'),
  count(*) filter (where d.status = 'delivered'), count(*) filter (where d.status = 'pending'), count(*) filter (where d.status = 'exhausted'),
  max(d.last_attempt_at), 200, max(d.last_attempt_at) filter (where d.last_error is not null),
  case when bool_or(d.last_error is not null) then 500 end, case when bool_or(d.last_error is not null) then 'http_status' end
from keyframe.webhook_deliveries d where d.last_attempt_at > now() - interval '2 days'
group by 1, 2;

-- step: settings
-- What is due is handed out with its secrets. A function is looking, so that nothing kicks. Some is past its retention.
select keyframe_private.add_webhook_secret(md5('endpoint ' || (o * 2))::uuid) from generate_series(11, 60) o;
insert into keyframe_private.worker_heartbeats (function_name, alive_until) values ('generate', 'infinity'), ('deliver', 'infinity')
on conflict (function_name) do update set alive_until = 'infinity';
update keyframe_private.settings set webhook_retention = interval '27 days';
update keyframe_private.rate_limits set capacity = 1000000000, per_second = 1000000;

-- What a worker that has all leased lanes says of their deliveries, and of the lanes.
create schema bench;
create function bench.results() returns text language sql security definer set search_path = '' as $$
  select jsonb_agg(jsonb_build_object(
    'id', d.id, 'attempt', d.attempts + 1, 'lane_token', l.token, 'started_at', now(), 'duration_ms', 12, 'status_code', 200))::text
  from keyframe_private.lanes l
  cross join lateral (
    select o.id, o.attempts from keyframe.webhook_deliveries o
    where o.status = 'pending' and o.endpoint_id = l.endpoint_id and o.next_attempt_at <= now() order by o.next_attempt_at limit l.held) d
  where l.token is not null
$$;
create function bench.held() returns jsonb language sql security definer set search_path = '' as $$
  select coalesce(jsonb_agg(jsonb_build_object('endpoint_id', l.endpoint_id, 'token', l.token, 'sending', '[]'::jsonb, 'more', false)), '[]')
  from keyframe_private.lanes l where l.token is not null
$$;
grant usage on schema bench to service_role;
