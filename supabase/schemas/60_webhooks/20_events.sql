-- Events, written in the transaction that causes them, with one delivery for each endpoint that gets them.

create table keyframe.webhook_events (
  id uuid primary key default keyframe_private.uuid_v7(),
  type text not null,
  owner_id uuid,
  project_id uuid,
  prediction_id uuid,
  endpoint_id uuid,
  payload json not null,
  created_at timestamptz not null default now(),
  constraint type_is_known check (type = any (keyframe_private.event_types())),
  constraint payload_has_at_most_20_kB check (octet_length(payload::text) <= 20000)
-- Pruned every minute: vacuum makes the space of a day reusable. At the default of 20 % it would run after six days.
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table keyframe.webhook_events is 'Events, kept for webhook_retention. The id is the webhook-id of every delivery; payload::text is the signed body.';
comment on column keyframe.webhook_events.id is 'The webhook-id of every delivery.';
comment on column keyframe.webhook_events.type is 'project.created, generation.succeeded, generation.failed, budget.exhausted, balance.low, balance.exhausted or webhook.test.';
comment on column keyframe.webhook_events.owner_id is 'The user it is about; null: the service, or an endpoint without an owner.';
comment on column keyframe.webhook_events.project_id is 'The project that it is about. No foreign key: it outlives the project.';
comment on column keyframe.webhook_events.prediction_id is 'The prediction that it is about. No foreign key: it outlives the prediction.';
comment on column keyframe.webhook_events.endpoint_id is 'Only for webhook.test: the endpoint under test. No foreign key: prune_webhooks deletes what a deleted endpoint leaves.';
comment on column keyframe.webhook_events.payload is 'The body that is sent, byte for byte.';
-- At most one of each, even under concurrency.
create unique index webhook_events_one_terminal_event_per_prediction on keyframe.webhook_events (prediction_id)
  where type in ('generation.succeeded', 'generation.failed');
create unique index webhook_events_one_creation_per_project on keyframe.webhook_events (project_id) where type = 'project.created';
create index webhook_events_created_at_idx on keyframe.webhook_events (created_at);
create index webhook_events_endpoint_id_idx on keyframe.webhook_events (endpoint_id) where endpoint_id is not null;
create index webhook_events_owner_id_idx on keyframe.webhook_events (owner_id, created_at desc);

create type keyframe.delivery_status as enum ('pending', 'delivered', 'exhausted');
comment on type keyframe.delivery_status is 'pending: to be sent or retried; delivered: answered 2xx; exhausted: every attempt failed.';

create table keyframe.webhook_deliveries (
  id uuid primary key default keyframe_private.uuid_v7(),
  event_id uuid not null references keyframe.webhook_events on delete cascade,
  endpoint_id uuid not null,
  owner_id uuid,
  event_type text not null,
  status keyframe.delivery_status not null default 'pending',
  attempts integer not null default 0,
  retries_from integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  last_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  constraint webhook_deliveries_event_id_endpoint_id_key unique (event_id, endpoint_id),
  constraint attempts_are_at_most_a_million check (attempts between 0 and 1000000), -- more would overflow in a claim, which all owners share
  constraint times_are_in_years_of_four_digits check (
    least(next_attempt_at, last_attempt_at, created_at, completed_at) >= '1970-01-01 00:00Z'
      and greatest(next_attempt_at, last_attempt_at, created_at, completed_at) < '9999-01-01 00:00Z'),
  constraint completed_at_if_and_only_if_not_pending check ((completed_at is null) = (status = 'pending'))
-- Most rows are updated once, and not HOT: their status is in an index. By default vacuum would run after 600,000 of them in three million.
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe.webhook_deliveries is 'One event for one endpoint.';
comment on column keyframe.webhook_deliveries.id is 'In the order of their inserts, except those of webhook.test.';
comment on column keyframe.webhook_deliveries.event_id is 'The event that is delivered.';
comment on column keyframe.webhook_deliveries.endpoint_id is 'No foreign key: prune_webhooks deletes what a deleted endpoint leaves; until then it is invisible.';
comment on column keyframe.webhook_deliveries.owner_id is 'The endpoint''s owner, who may read it.';
comment on column keyframe.webhook_deliveries.event_type is 'Type of that event.';
comment on column keyframe.webhook_deliveries.status is 'pending, delivered or exhausted.';
comment on column keyframe.webhook_deliveries.attempts is 'How many requests were made.';
comment on column keyframe.webhook_deliveries.retries_from is 'The attempt at which the retry schedule began: 0, or where it was sent again on request.';
comment on column keyframe.webhook_deliveries.next_attempt_at is 'When its next attempt is due. Defaults to insert time.';
comment on column keyframe.webhook_deliveries.last_attempt_at is 'When the last request began.';
comment on column keyframe.webhook_deliveries.last_status_code is 'HTTP status of the last answer; null without one.';
comment on column keyframe.webhook_deliveries.last_error is 'Why the last attempt failed: http_status, timeout, connection, dns, tls, address, redirect, too_large, not_signed (its secret cannot be read).';
comment on column keyframe.webhook_deliveries.completed_at is 'When it was delivered or exhausted; null while pending.';
-- For the pages of an endpoint's list. Ascending and read backwards: inserts in ascending order leave full pages.
create index webhook_deliveries_endpoint_id_status_idx on keyframe.webhook_deliveries (endpoint_id, status, event_type, created_at, id);
create index webhook_deliveries_owner_id_idx on keyframe.webhook_deliveries (owner_id) where owner_id is not null;

create table keyframe.webhook_attempts (
  id bigint generated always as identity primary key,
  delivery_id uuid not null references keyframe.webhook_deliveries on delete cascade,
  owner_id uuid,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  response_excerpt text,
  constraint error_or_status check (status_code is not null or error is not null),
  constraint times_are_in_years_of_four_digits check (started_at >= '1970-01-01 00:00Z' and started_at < '9999-01-01 00:00Z'),
  constraint response_excerpt_has_at_most_1_KiB check (octet_length(response_excerpt) <= 1024)
) with (autovacuum_vacuum_scale_factor = 0.05); -- pruned with the events
comment on table keyframe.webhook_attempts is 'One request of a delivery.';
comment on column keyframe.webhook_attempts.delivery_id is 'The delivery that was tried.';
comment on column keyframe.webhook_attempts.owner_id is 'The endpoint''s owner, who may read it.';
comment on column keyframe.webhook_attempts.attempt is '1 for the first request of the delivery.';
comment on column keyframe.webhook_attempts.started_at is 'When the request began.';
comment on column keyframe.webhook_attempts.duration_ms is 'Until the answer, or the failure.';
comment on column keyframe.webhook_attempts.status_code is 'HTTP status of the answer; null without one.';
comment on column keyframe.webhook_attempts.error is 'Why it failed; null after a 2xx.';
comment on column keyframe.webhook_attempts.response_excerpt is 'The first 1 KiB of the response.';
create unique index webhook_attempts_delivery_id_attempt_idx on keyframe.webhook_attempts (delivery_id, attempt);
create index webhook_attempts_owner_id_idx on keyframe.webhook_attempts (owner_id) where owner_id is not null;

-- Writes the event and its deliveries. False: the event exists already.
create function keyframe_private.emit_event(
  event_type text, owner uuid, project uuid, prediction uuid, happened_at timestamptz, data jsonb, error jsonb default null)
returns boolean language plpgsql volatile security definer set search_path = '' as $$
declare
  event uuid;
begin
  insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload)
  values (event_type, owner, project, prediction, jsonb_strip_nulls(jsonb_build_object('error', error))
    || jsonb_build_object('type', event_type, 'timestamp', keyframe_private.wire_time(happened_at), 'data', data))
  on conflict do nothing
  returning id into event;
  if event is null then
    return false;
  end if;
  insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type)
  select event, e.id, e.owner_id, emit_event.event_type
  from keyframe.webhook_endpoints e
  where e.enabled and (e.owner_id = owner or e.owner_id is null)
    -- Without a lock: an uncommitted deletion would block everyone. Deliveries of a deleted endpoint are pruned.
    and (e.event_types = '{}' or emit_event.event_type = any (e.event_types));
  return true;
end $$;

-- project.created. A project near the size limits would exceed 20 kB: its texts are shortened, and truncated is set.
create function keyframe_private.emit_project_created()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  data jsonb := jsonb_build_object(
    'projectId', new.id, 'ownerId', new.owner_id, 'title', new.title, 'textPrompt', new.text_prompt,
    'description', new.description, 'createdAt', keyframe_private.wire_time(new.created_at))
    || jsonb_strip_nulls(jsonb_build_object('filmId', new.film_id));
  characters integer := 4000;
begin
  while octet_length(data::text) > 19000 loop
    characters := characters / 2;
    data := data || jsonb_build_object(
      'textPrompt', left(new.text_prompt, characters), 'description', left(new.description, characters), 'truncated', true);
  end loop;
  perform keyframe_private.raise_if(
    not keyframe_private.emit_event('project.created', new.owner_id, new.id, null, new.created_at, data), 'invalid_request',
    'An earlier project with this id has left an event. Leave the id out, or use another one.');
  return null;
end $$;

create function keyframe_private.emit_generation_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  data jsonb := jsonb_build_object(
    'predictionId', new.id, 'projectId', new.project_id, 'ownerId', new.owner_id, 'step', new.step, 'model', new.model,
    'createdAt', keyframe_private.wire_time(new.created_at), 'completedAt', keyframe_private.wire_time(new.completed_at))
    || jsonb_strip_nulls(jsonb_build_object(
      'requestedModel', nullif(new.requested_model, new.model),
      'filmId', (select p.film_id from keyframe.projects p where p.id = new.project_id)));
  cost constant json := keyframe_private.cost_json(new.id);
begin
  if cost is not null then
    data := data || jsonb_build_object('cost', cost);
  end if;
  if new.status = 'succeeded' then
    perform keyframe_private.emit_event('generation.succeeded', new.owner_id, new.project_id, new.id, new.completed_at,
      data || jsonb_build_object('output', jsonb_strip_nulls(jsonb_build_object(
        'path', new.output_path, 'contentType', new.output_content_type, 'bytes', new.output_bytes, 'sha256', new.output_sha256,
        'width', new.output_width, 'height', new.output_height, 'durationSeconds', new.output_duration_seconds,
        'hasAudio', new.output_has_audio))));
  else
    perform keyframe_private.emit_event('generation.failed', new.owner_id, new.project_id, new.id, new.completed_at, data,
      jsonb_build_object('code', new.error_code, 'message', new.error_message, 'retryable', new.error_retryable,
        'stage', new.error_stage)); -- emit_event leaves out nulls
  end if;
  return null;
end $$;

-- Delivery counts per endpoint and hour: 24 rows for a day (docs/decisions/0014-endpoint-health-is-counted.md).

create type keyframe_private.attempt_outcome as (at timestamptz, status_code integer, error text);

-- The low fillfactor keeps the frequent updates on the same page: no index contains an updated column, so they are HOT.
create table keyframe_private.webhook_hours (
  endpoint_id uuid not null,
  hour timestamptz not null,
  delivered integer not null default 0,
  retrying integer not null default 0,
  exhausted integer not null default 0,
  last_attempt keyframe_private.attempt_outcome,
  last_failure keyframe_private.attempt_outcome,
  primary key (endpoint_id, hour)
) with (fillfactor = 50);
comment on table keyframe_private.webhook_hours is 'The outcomes of an endpoint''s deliveries, each counted in the hour (UTC) of its last attempt. Kept for two days, an endpoint''s last hour for webhook_retention. No foreign key: counting and the deletion of an endpoint would wait for each other.';
comment on column keyframe_private.webhook_hours.delivered is 'Answered 2xx.';
comment on column keyframe_private.webhook_hours.retrying is 'Failed, to be retried.';
comment on column keyframe_private.webhook_hours.exhausted is 'Failed at the last attempt of the retry schedule.';
create index webhook_hours_hour_idx on keyframe_private.webhook_hours (hour);

-- Subtracts a delivery from its previous hour and outcome. For each statement: row by row would update one hour thousands of times.
-- Deliveries are locked before hours, and hours in order: no deadlock.
create function keyframe_private.count_deliveries()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.webhook_hours as h (endpoint_id, hour, delivered, retrying, exhausted, last_attempt, last_failure)
  select c.endpoint_id, date_trunc('hour', (c.outcome).at, 'UTC') as hour,
    coalesce(sum(c.change) filter (where c.status = 'delivered'), 0),
    coalesce(sum(c.change) filter (where c.status = 'pending' and (c.outcome).error is not null), 0),
    coalesce(sum(c.change) filter (where c.status = 'exhausted'), 0),
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1))[1],
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1 and (c.outcome).error is not null))[1]
  from (
    select n.endpoint_id, n.status, 1 as change,
      row(n.last_attempt_at, n.last_status_code, n.last_error)::keyframe_private.attempt_outcome as outcome
    from changed_to n where n.last_attempt_at is not null
    union all
    select o.endpoint_id, o.status, -1, row(o.last_attempt_at, o.last_status_code, o.last_error)::keyframe_private.attempt_outcome
    from changed_from o where o.last_attempt_at is not null
  ) c
  group by 1, 2
  order by 1, 2
  on conflict (endpoint_id, hour) do update
    set delivered = h.delivered + excluded.delivered, retrying = h.retrying + excluded.retrying,
      exhausted = h.exhausted + excluded.exhausted,
        last_attempt = greatest(h.last_attempt, excluded.last_attempt), last_failure = greatest(h.last_failure, excluded.last_failure);
  return null;
end $$;
