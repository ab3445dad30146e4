-- A past of :predictions predictions over 29 days, each with an event and three deliveries, in a migrated database. Every figure is made of
-- the row's own number, so that each run makes the same. A hundredth as many owners as predictions; :owner has a tenth of the projects and
-- one with a twentieth of all predictions. Nothing is active or due. Without triggers, and the large indexes are built afterwards, which
-- is faster.
set session_replication_role = replica;
set synchronous_commit = off;
set work_mem = '64MB';
set maintenance_work_mem = '256MB';
update pg_index set indisready = false, indisvalid = false where indrelid = any ('{keyframe.predictions, keyframe_private.provider_submits,
  keyframe.webhook_events, keyframe.webhook_deliveries, keyframe.webhook_attempts}'::regclass[]);

insert into auth.users (id, email)
select md5('owner ' || o)::uuid, 'owner-' || o || '@keyframe.local' from generate_series(1, :predictions / 100) o;

-- Two of each owner and one service-wide; disabled, so that nothing new is sent to them.
insert into keyframe.webhook_endpoints (owner_id, url, enabled, disabled_at, disabled_reason)
select u.id, 'https://receiver.example/', false, now(), 'gone'
from (select id from auth.users, generate_series(1, 2) where email like 'owner-%' or id = ':owner' union all select null) u;

insert into keyframe.projects (id, owner_id, title, text_prompt, created_at)
select md5('project ' || j)::uuid, case when j % 10 = 0 then ':owner' else md5('owner ' || 1 + (j::bigint * 7919) % (:predictions / 100)) end::uuid,
  'Harbour ' || j, repeat('A harbour at dawn, fog over the water, one red boat. ', 8), now() - interval '29 days' * (1 - j * 10.0 / :predictions)
from generate_series(1, :predictions / 10) j;

insert into keyframe.predictions (
  id, project_id, owner_id, step, status, input, model, provider_prediction_id, attempt, progress,
  created_at, admitted_at, started_at, completed_at, deadline_at, error_code, error_message, error_retryable, output_path,
  output_content_type, output_bytes, output_sha256, output_width, output_height, output_duration_seconds, output_has_audio)
select r.id, p.id, p.owner_id, r.step, case when r.ok then 'succeeded' else 'failed' end::keyframe.prediction_status,
  jsonb_build_object('prompt', p.text_prompt, 'firstFramePredictionId', case when r.step <> 'first-frame' then r.id end),
  case when r.step = 'video' then 'kwaivgi/kling-v2.1' else 'google/nano-banana' end, md5('run ' || i), 1, 1,
  r.at, r.at, r.at + interval '2 s', r.at + interval '40 s', r.at + interval '15 min',
  failure.*, case when r.ok then p.owner_id || '/' || p.id || '/' || r.id || '.png' end,
  image.*, case when r.ok and r.step = 'video' then 5 end, case when r.ok and r.step = 'video' then false end
from generate_series(1, :predictions) i
cross join lateral (select md5('prediction ' || i)::uuid as id, now() - interval '29 days' * (1 - (i - 0.5) / :predictions) as at,
  ('{first-frame,first-frame,last-frame,video}'::keyframe.generation_step[])[1 + (i / 20 + i) % 4] as step, (i * 7::bigint + i / 100) % 100 < 90 as ok) r
join keyframe.projects p on p.id = md5('project ' || case when i % 20 = 0 then 10 else 1 + (i - 1) / 10 end)::uuid
left join (values ('provider_failed', 'It did not work.', true)) failure on not r.ok
left join (values ('image/png', 1000000, repeat('a', 64), 1280, 720)) image on r.ok
order by i;

-- What a failed one has cost is unknown.
insert into keyframe_private.provider_submits (
  owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, submitted_at, answered_at, ended_at, outcome,
  provider_prediction_id, most_micros, cost_micros, cost_state)
select owner_id, project_id, id, 1, true, step, model, created_at, created_at, started_at, completed_at, status::text,
  provider_prediction_id, 39000, case status when 'succeeded' then 39000 end, case status when 'succeeded' then 'settled' else 'unknown' end
from keyframe.predictions order by created_at;

-- As they are once they are merged.
insert into keyframe_private.cost_sums (kind, owner_id, day, step, model, predictions, settled_micros, unknown_micros, unknown_submits,
  settled_charge_micros, unknown_charge_micros)
select o.kind, o.id, (s.created_at at time zone 'UTC')::date, s.step, s.model, count(*), coalesce(sum(s.cost_micros), 0),
  coalesce(sum(s.most_micros) filter (where s.cost_state = 'unknown'), 0), count(*) filter (where s.cost_state = 'unknown'),
  coalesce(sum(s.charge_micros), 0), coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0)
from keyframe_private.provider_submits s
cross join lateral (values ('owner_day'::keyframe_private.cost_sum_kind, s.owner_id), ('service_day', null)) o (kind, id)
group by 1, 2, 3, 4, 5 order by 3;
insert into keyframe_private.cost_sums (kind, owner_id, day, project_id, predictions, settled_charge_micros, unknown_charge_micros)
select case when grouping(s.project_id) = 1 then 'owner_total' else 'project_day' end::keyframe_private.cost_sum_kind, s.owner_id, (s.created_at at time zone 'UTC')::date, s.project_id, count(*), coalesce(sum(s.charge_micros), 0),
  coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0)
from keyframe_private.provider_submits s
group by grouping sets ((2), (2, 3, 4)) order by 3;

insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload, created_at)
select 'generation.' || status, owner_id, project_id, id, jsonb_build_object('type', 'generation.' || status, 'timestamp', completed_at, 'data',
  jsonb_build_object('predictionId', id, 'projectId', project_id, 'ownerId', owner_id, 'step', step, 'model', model, 'output', output_path)), completed_at
from keyframe.predictions order by created_at;

-- Delivered, one in a hundred exhausted.
with sent as (
  select v.*, e.id as receiver, e.owner_id as receiver_owner from keyframe.webhook_events v join keyframe.webhook_endpoints e using (owner_id)
  union all
  select v.*, e.id, null from keyframe.webhook_events v join keyframe.webhook_endpoints e on e.owner_id is null
)
insert into keyframe.webhook_deliveries (
  event_id, endpoint_id, owner_id, event_type, attempts, created_at, next_attempt_at, last_attempt_at, completed_at, status, last_status_code,
  last_error)
select id, receiver, receiver_owner, type, 1, created_at, created_at, created_at, created_at, o.status, o.code, o.error
from sent
join (values (true, 'delivered'::keyframe.delivery_status, 200, null), (false, 'exhausted', 500, 'http_status')) o (ok, status, code, error)
  on o.ok = (uuid_hash(id) % 100 <> 0)
order by created_at;

insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
select id, owner_id, 1, last_attempt_at, 40, last_status_code, last_error, '{"received":true}' from keyframe.webhook_deliveries;

reindex schema keyframe;
reindex schema keyframe_private;
vacuum (analyze);
reset all;
