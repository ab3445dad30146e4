-- Fills a migrated database with a past of :predictions predictions over 29 days, each with an event and three deliveries. Run with
-- triggers off. Every number is made of the row's own, so that each run makes the same. There are a hundredth as many owners as
-- predictions, three of them have a fifth of everything, and one project has a twentieth. Nothing is active or due.

-- step: owners
insert into auth.users (id, email)
select md5('owner ' || o)::uuid, 'owner-' || o || '@keyframe.local' from generate_series(1, :owners) o;

-- step: endpoints
-- Two for each owner and one service-wide.
insert into keyframe.webhook_endpoints (id, owner_id, url, created_at)
select md5('endpoint ' || e)::uuid, case when e > 0 then md5('owner ' || (e + 1) / 2)::uuid end, 'https://receiver.example/' || e, now() - interval '30 days'
from generate_series(0, :owners * 2) e;

-- step: projects
insert into keyframe.projects (id, owner_id, title, text_prompt, description, created_at, updated_at)
select md5('project ' || j)::uuid,
  md5('owner ' || case when j % 10 = 0 then 1 when j % 20 = 1 then 2 when j % 20 = 11 then 3 else 4 + (j::bigint * 7919) % (:owners - 3) end)::uuid,
  'Harbour ' || j, repeat('A harbour at dawn, fog over the water, one red boat. ', 8), 'Keep the light.', t.at, t.at
from generate_series(1, :predictions / 10) j
cross join lateral (select now() - interval '29 days' + interval '29 days' * (j * 10.0 / :predictions) as at) t;

-- step: predictions
insert into keyframe.predictions (
  id, project_id, owner_id, step, status, input, model, provider_prediction_id, attempt, admitted_at, next_attempt_at,
  deadline_at, progress, error_code, error_message, error_retryable, output_path, output_content_type, output_bytes, output_sha256, output_width,
  output_height, output_duration_seconds, output_has_audio, created_at, started_at, completed_at, updated_at)
select md5('prediction ' || i)::uuid, p.id, p.owner_id, s.step, s.status,
  jsonb_build_object('prompt', p.text_prompt, 'firstFramePredictionId',
    case when s.step <> 'first-frame' then md5('prediction ' || case when i > 100 then i - 4 else i end)::uuid end),
  case when s.step = 'video' then 'kwaivgi/kling-v2.1' else 'google/nano-banana' end,
  md5('run ' || i), 1,
  t.at, t.at + interval '30 seconds', t.at + interval '15 minutes', 1,
  case when s.status = 'failed' then 'provider_failed' end, case when s.status = 'failed' then 'It did not work.' end,
  case when s.status = 'failed' then true end,
  case when s.ok then p.owner_id || '/' || p.id || '/' || md5('prediction ' || i)::uuid || '.png' end,
  case when s.ok then 'image/png' end, case when s.ok then 1000000 + i end, case when s.ok then repeat(md5(i::text), 2) end,
  case when s.ok then 1280 end, case when s.ok then 720 end, case when s.ok and s.step = 'video' then 5 end,
  case when s.ok and s.step = 'video' then false end,
  t.at, t.at + interval '2 seconds', t.at + interval '40 seconds', t.at + interval '40 seconds'
from generate_series(1, :predictions) i
cross join lateral (select now() - interval '29 days' + interval '29 days' * ((i - 0.5) / :predictions) as at) t
cross join lateral (
  select c.step, c.status, c.status = 'succeeded' as ok
  from (select
    (array['first-frame', 'first-frame', 'last-frame', 'video'])[1 + (i / 20 + i) % 4]::keyframe.generation_step as step,
    (case when h.share < 90 then 'succeeded' when h.share < 96 then 'failed' else 'canceled' end)::keyframe.prediction_status as status
    from (select (i * 7::bigint + i / 100) % 100 as share) h) c
) s
join keyframe.projects p on p.id = md5('project ' || case when i % 20 = 0 then 10 else 1 + (i - 1) / 10 end)::uuid
order by i;

-- step: prediction_images
insert into keyframe_private.prediction_images (prediction_id, role, source_prediction_id)
select id, 'first_frame', (input ->> 'firstFramePredictionId')::uuid from keyframe.predictions
where input ->> 'firstFramePredictionId' is not null;

-- step: provider_submits
-- One for each, settled at the prices of the models; what a failed one has cost is unknown.
insert into keyframe_private.provider_submits (
  owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, submitted_at, answered_at, ended_at, outcome, provider_prediction_id,
  price_ids, most_micros, cost_micros, cost_state)
select p.owner_id, p.project_id, p.id, 1, true, p.step, p.model, p.created_at, p.created_at + interval '1 second', p.started_at, p.completed_at,
  p.status::text, p.provider_prediction_id, c.price_ids, c.most_micros, case when p.status <> 'failed' then c.most_micros end,
  case when p.status = 'failed' then 'unknown' else 'settled' end
from keyframe.predictions p
join (
  select m.model, o.price_ids, o.most_micros
  from (values ('google/nano-banana', '{}'), ('kwaivgi/kling-v2.1', '{"resolution": "720p", "durationSeconds": 5}')) m (model, input)
  cross join lateral keyframe_private.most_cost(m.model, m.input::jsonb, now()) o
) c using (model)
order by p.created_at;

-- step: daily_costs
-- As they are once they are merged.
insert into keyframe_private.daily_costs (owner_id, day, step, model, predictions, settled_micros, unknown_micros, unknown_submits, is_merged)
select o.owner_id, (s.created_at at time zone 'UTC')::date, s.step, s.model, count(*), coalesce(sum(s.cost_micros), 0),
  coalesce(sum(s.most_micros) filter (where s.cost_state = 'unknown'), 0), count(*) filter (where s.cost_state = 'unknown'), true
from keyframe_private.provider_submits s
cross join lateral (values (s.owner_id), (keyframe_private.everybody())) o (owner_id)
group by 1, 2, 3, 4
order by 2;

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
-- To both endpoints of the owner and to the service-wide one: delivered, one in a hundred exhausted.
with sent as (
  select v.id as event_id, v.type, v.created_at, e.id as endpoint_id, e.owner_id
  from keyframe.webhook_events v join keyframe.webhook_endpoints e on e.owner_id = v.owner_id
  union all
  select v.id, v.type, v.created_at, md5('endpoint 0')::uuid, null from keyframe.webhook_events v
)
insert into keyframe.webhook_deliveries (
  event_id, endpoint_id, owner_id, event_type, status, attempts, next_attempt_at, last_attempt_at, last_status_code, last_error, created_at, completed_at)
select v.event_id, v.endpoint_id, v.owner_id, v.type, s.status, case s.status when 'delivered' then 1 else 10 end, v.created_at,
  t.at, case when s.status = 'delivered' then 200 else 500 end, case when s.status <> 'delivered' then 'http_status' end, v.created_at, t.at
from sent v
cross join lateral (
  select (case when uuid_hash(v.event_id) % 100 = 0 then 'exhausted' else 'delivered' end)::keyframe.delivery_status as status
) s
cross join lateral (select least(now(), v.created_at + case s.status when 'delivered' then interval '1 second' else interval '3 days' end) as at) t
order by v.created_at;

-- step: attempts
insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
select d.id, d.owner_id, a.attempt, d.last_attempt_at, 40, d.last_status_code, d.last_error, '{"received":true}'
from keyframe.webhook_deliveries d cross join lateral generate_series(1, d.attempts) as a (attempt);

