-- Functions that api calls with the caller's token, one call per request. Row-level security decides, or a definer function
-- checks the owner.

-- A frame of another project or an upload is always current. `shown` are the takes that stand for their steps, where the caller knows them.
create function keyframe_private.is_outdated(prediction keyframe.predictions, shown uuid[] default null)
returns boolean
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  frame uuid;
  project uuid;
begin
  foreach frame in array array_remove(
    array[(prediction.input ->> 'firstFramePredictionId')::uuid, (prediction.input ->> 'lastFramePredictionId')::uuid], null)
  loop
    shown := coalesce(shown, keyframe_private.shown_takes(prediction.project_id));
    continue when frame = any (shown);
    select p.project_id into project from keyframe.predictions p where p.id = frame;
    if not found or project = prediction.project_id then
      return true;
    end if;
  end loop;
  return false;
end
$$;
comment on function keyframe_private.is_outdated is 'Whether a take (a succeeded prediction) was made with a frame that is deleted, or that no longer stands for its step in the same project.';

-- The columns are listed, so that a new column stays private until it is added here. json, not jsonb, here and in every function that
-- returns it: each layer of jsonb copies everything inside it, which took four fifths of the time of a page of projects.
create function keyframe_private.prediction_json(prediction keyframe.predictions, shown uuid[] default null)
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    'id', prediction.id, 'project_id', prediction.project_id, 'step', prediction.step, 'status', prediction.status,
    'model', prediction.model, 'requested_model', nullif(prediction.requested_model, prediction.model), 'input', prediction.input,
    'attempt', prediction.attempt, 'progress', prediction.progress,
    'queue_position', case when prediction.status = 'queued' then keyframe_private.queue_position(prediction) end,
    'error_code', prediction.error_code, 'error_message', prediction.error_message, 'error_retryable', prediction.error_retryable,
    'error_stage', prediction.error_stage,
    'output_path', prediction.output_path, 'output_content_type', prediction.output_content_type,
    'output_bytes', prediction.output_bytes, 'output_sha256', prediction.output_sha256, 'output_width', prediction.output_width,
    'output_height', prediction.output_height, 'output_duration_seconds', prediction.output_duration_seconds,
    'output_has_audio', prediction.output_has_audio, 'cost', keyframe_private.cost_json(prediction.id), 'hidden', prediction.hidden,
    'outdated', prediction.status = 'succeeded' and keyframe_private.is_outdated(prediction, shown),
    'created_at', prediction.created_at, 'started_at', prediction.started_at, 'completed_at', prediction.completed_at
  );
end
$$;
grant execute on function keyframe_private.prediction_json(keyframe.predictions, uuid[]) to authenticated, service_role;
comment on function keyframe_private.prediction_json is 'A prediction as its owner sees it, with its queue position.';

create function keyframe_private.require_user()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if auth.uid() is null then
    perform keyframe_private.raise_error('unauthorized', 'This session names no user. Sign in, then try again.');
  end if;
end
$$;
comment on function keyframe_private.require_user is 'Refuses a session that names no user: the triggers treat an insert without a caller as an administrator''s.';

-- Definer, because users may not choose identifiers and an Idempotency-Key has one before the row exists.
create function keyframe.create_project(
  title text, text_prompt text, description text default '', aspect_ratio text default '16:9',
  idempotency_key text default null, request_hash text default null, film_id uuid default null
)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  request record;
  created keyframe.projects;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    select p.* into created from keyframe.projects p where p.id = request.resource_id and p.owner_id = auth.uid() and p.deleted_at is null;
    if not found then
      perform keyframe_private.raise_error('not_found', 'The project this Idempotency-Key created has been deleted since. Send a new key.');
    end if;
  else
    insert into keyframe.projects (id, title, text_prompt, description, aspect_ratio, film_id)
    values (
      request.resource_id, create_project.title, create_project.text_prompt, create_project.description, create_project.aspect_ratio,
      create_project.film_id)
    returning * into created;
  end if;
  return jsonb_build_object('project', to_jsonb(created), 'replayed', request.replayed, 'rate', keyframe_private.rate_state('create'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end
$$;
comment on function keyframe.create_project is 'Creates a project of the caller; with film_id, as the last shot of that film.';

-- Definer, like create_project; the insert checks whose project it is.
create function keyframe.start_prediction(
  project_id uuid,
  step keyframe.generation_step,
  input jsonb default '{}',
  model text default null,
  idempotency_key text default null,
  request_hash text default null
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  request record;
  started keyframe.predictions;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    select p.* into started from keyframe.predictions p
    where p.id = request.resource_id and p.owner_id = auth.uid() and p.project_id <> all (keyframe_private.deleted_projects());
    if not found then
      perform keyframe_private.raise_error('not_found', 'The prediction this Idempotency-Key started has been deleted since. Send a new key.');
    end if;
  else
    insert into keyframe.predictions (id, project_id, step, input, model)
    values (
      request.resource_id, start_prediction.project_id, start_prediction.step, start_prediction.input, start_prediction.model)
    returning * into started;
  end if;
  return json_build_object(
    'prediction', keyframe_private.prediction_json(started), 'replayed', request.replayed, 'rate', keyframe_private.rate_state('generate'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  if refused.code = 'budget_exceeded' then
    perform keyframe_private.note_exhausted(auth.uid(), (refused.hint::json ->> 'estimateMicros')::bigint);
  end if;
  return keyframe_private.refuse(refused, 'generate');
end
$$;
comment on function keyframe.start_prediction is 'Starts one run of a step of the caller''s project.';

-- Volatile, because it takes a token and locks the images that it checks. Definer, like start_prediction.
create function keyframe.estimate_prediction(
  project_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('read');
  wanted keyframe.predictions;
  cost record;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  wanted.project_id := estimate_prediction.project_id;
  wanted.step := estimate_prediction.step;
  wanted.input := estimate_prediction.input;
  wanted.model := estimate_prediction.model;
  wanted := keyframe_private.resolve_start(wanted);
  perform keyframe_private.require_upload(i.path, wanted.owner_id) from keyframe_private.images_of(wanted.input) i where i.path is not null;
  cost := keyframe_private.most_cost(wanted.model, wanted.input, now());
  return json_build_object('rate', rate, 'estimate', json_build_object(
    'model', wanted.model, 'requestedModel', nullif(wanted.requested_model, wanted.model),
    'estimateMicros', cost.estimate_micros, 'atMostMicros', cost.most_micros, 'currency', 'USD',
    'availableMicros', (select min(b.available_micros) from keyframe_private.budgets_of(wanted.owner_id, now()) b where b.scope = 'owner'),
    'withinBudget', exists (select from keyframe_private.settings s where not s.spending_stopped) and not exists (
      select from keyframe_private.budgets_of(wanted.owner_id, now()) b where (cost.most_micros <= b.available_micros) is not true)));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.estimate_prediction is 'What a start would cost, with every check of a start. Stores nothing.';

-- Volatile, because it takes a token: PostgREST runs stable functions in a read-only transaction. Definer with the owner in the
-- query, because under a policy no condition on the step may use an index (enum_eq is not leakproof).
create function keyframe.read_prediction(
  project_id uuid, step keyframe.generation_step, prediction_id uuid default null, waiting boolean default false
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token(case when waiting then 'wait' else 'read' end);
  wanted keyframe.predictions;
  refused keyframe_private.refusal;
begin
  if prediction_id is null then
    select p.* into wanted from keyframe.predictions p
    where p.project_id = read_prediction.project_id and p.step = read_prediction.step
    order by p.created_at desc, p.id desc
    limit 1;
  else
    select p.* into wanted from keyframe.predictions p
    where p.id = prediction_id and p.project_id = read_prediction.project_id and p.step = read_prediction.step;
  end if;
  -- Every prediction of a project has its owner. Checked after the query, so that the planner does not choose an index on the
  -- owner.
  if wanted.owner_id is distinct from auth.uid() or wanted.id is null or exists (
    select from keyframe.projects p where p.id = read_prediction.project_id and p.deleted_at is not null) then
    perform keyframe_private.raise_error('not_found', 'There is no such prediction of yours for this project and step.');
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(wanted), 'rate', case when waiting then keyframe_private.rate_state('read') else rate end);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.read_prediction is 'One prediction of the caller; without prediction_id the latest one of the step. A look of a request that waits takes its token from `wait`.';

-- Definer, because users may not update predictions; the query checks the owner.
create function keyframe.cancel_prediction(
  project_id uuid, prediction_id uuid, idempotency_key text default null, request_hash text default null
)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  request record;
  wanted keyframe.predictions;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  select p.* into wanted from keyframe.predictions p
  where p.id = cancel_prediction.prediction_id and p.project_id = cancel_prediction.project_id and p.owner_id = auth.uid()
    and p.project_id <> all (keyframe_private.deleted_projects())
  for update;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no such prediction of yours in this project.');
  elsif wanted.status in ('succeeded', 'failed') then
    perform keyframe_private.raise_error('generation_ended', format('This prediction has already %s; there is nothing to cancel.', wanted.status));
  end if;
  if not request.replayed then
    perform keyframe_private.mark_canceled(wanted.id);
    select p.* into wanted from keyframe.predictions p where p.id = wanted.id;
  end if;
  return json_build_object(
    'prediction', keyframe_private.prediction_json(wanted), 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end
$$;
comment on function keyframe.cancel_prediction is 'Cancels a prediction of the caller, here at once and at the provider soon after. A repetition is no error.';

-- Definer, because users may not update predictions; the query checks the owner.
create function keyframe.update_prediction(project_id uuid, prediction_id uuid, hidden boolean)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('change');
  changed keyframe.predictions;
  refused keyframe_private.refusal;
begin
  update keyframe.predictions p set hidden = update_prediction.hidden, updated_at = now()
  where p.id = update_prediction.prediction_id and p.project_id = update_prediction.project_id and p.owner_id = auth.uid()
    and p.project_id <> all (keyframe_private.deleted_projects())
  returning p.* into changed;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no such prediction of yours in this project.');
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(changed), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.update_prediction is 'Hides a prediction of the caller from lists, or shows it again.';

-- Definer, because users may not delete predictions; the query checks the owner. Triggers unselect it and queue its file for removal.
-- A start locks the frames that it uses: an earlier one is visible here, a later one does not find them.
create function keyframe.delete_prediction(project_id uuid, prediction_id uuid)
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  rate jsonb := keyframe_private.take_token('change', needed => 'manage');
  wanted keyframe.predictions;
  before json;
  refused keyframe_private.refusal;
begin
  -- The project first, as when a take is selected: two requests never wait for each other.
  perform from keyframe.projects p where p.id = delete_prediction.project_id and p.owner_id = auth.uid() for no key update;
  select p.* into wanted from keyframe.predictions p
  where p.id = delete_prediction.prediction_id and p.project_id = delete_prediction.project_id and p.owner_id = auth.uid()
    and p.project_id <> all (keyframe_private.deleted_projects())
  for update;
  if not found then
    perform keyframe_private.raise_error('not_found', 'There is no such prediction of yours in this project.');
  elsif wanted.completed_at is null then
    perform keyframe_private.raise_error('generation_in_progress', 'This generation is still running. Cancel it or wait for its end, then delete it.');
  elsif exists (
    select from keyframe_private.prediction_images i
    join keyframe.predictions p on p.id = i.prediction_id
    where i.source_prediction_id = wanted.id and p.completed_at is null
  ) then
    perform keyframe_private.raise_error('generation_in_progress', 'A generation that uses this frame is still running. Cancel it or wait for its end, then delete the frame.');
  end if;
  before := keyframe_private.prediction_json(wanted);
  delete from keyframe.predictions p where p.id = wanted.id;
  return json_build_object('prediction', before, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.delete_prediction is 'Deletes a prediction of the caller that has ended; its file is removed soon after. Its events stay.';

-- Admits an upload before its body is read: takes a token and names the file. With an Idempotency-Key it is called again with the
-- hash of the body. The same key returns the same file, but each sending takes a token: its body is read before anything tells that
-- it is a repetition. An upload that is then refused for its content has used its token. Definer, because users may not write keys.
create function keyframe.admit_upload(idempotency_key text default null, request_hash text default null)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  file uuid;
  replayed boolean := false;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('generate');
  if request_hash is not null then
    -- None when no reservation is open: the key is new, or an equal request has set the hash already.
    update keyframe_private.idempotency_keys k set request_hash = admit_upload.request_hash
    where k.owner_id = auth.uid() and k.key = idempotency_key and k.request_hash is null
    returning k.resource_id into file;
  end if;
  if file is null then
    select r.resource_id, r.replayed into file, replayed from keyframe_private.reserve_idempotency_key(idempotency_key, admit_upload.request_hash) r;
    if request_hash is null or not replayed then
      perform keyframe_private.take_token('upload');
    end if;
  end if;
  return jsonb_build_object('file_id', file, 'replayed', replayed, 'rate', keyframe_private.rate_state('upload'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'upload');
end
$$;
comment on function keyframe.admit_upload is 'Counts an upload of the caller and names its file.';

-- Planned for the days of each call: a plan for any days reads many rows one by one.
create function keyframe_private.usage_by_project(owner uuid, first_day date, last_day date)
returns json
language plpgsql
stable
set search_path = ''
set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return (
    select json_agg(g order by g."settledMicros" + g."heldMicros" + g."unknownMicros" desc, g.key) from (
      select c.project_id as key, sum(c.predictions) as predictions, keyframe_private.exact_sum(sum(c.settled_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_micros)) as "unknownMicros"
      from (
        select p.project_id, p.predictions, p.settled_micros, p.held_micros, p.unknown_micros
        from keyframe_private.project_costs p where p.owner_id = owner and p.day between first_day and last_day
        union all
        select d.project_id, d.predictions, d.settled_micros, d.held_micros, d.unknown_micros
        from keyframe_private.daily_costs d
        where d.owner_id = owner and d.day between first_day and last_day and not d.is_merged and d.project_id is not null
      ) c
      group by 1 order by 3 desc, 1 limit 1000) g);
end
$$;
comment on function keyframe_private.usage_by_project is 'What the projects of an owner cost: the 1,000 that cost most.';

-- The caller's predictions and their costs from one day to another, both included. Costs a token for each day by project, otherwise one for
-- each month begun.
create function keyframe.read_usage(from_day date default null, to_day date default null, group_by text default 'day')
returns json
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  first_day constant date := coalesce(from_day, date_trunc('month', coalesce(to_day, today))::date);
  last_day constant date := coalesce(to_day, today);
  days constant integer := least(greatest(last_day - first_day + 1, 1), 401);
  rate jsonb := keyframe_private.take_token('read', case when group_by = 'project' then days else 1 + days / 32 end);
  groups json;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  if last_day < first_day or last_day - first_day > 400 then
    perform keyframe_private.raise_error('invalid_request', 'from must not be after to, and they may be at most 400 days apart.');
  end if;
  if group_by = 'project' then
    groups := keyframe_private.usage_by_project(auth.uid(), first_day, last_day);
  else
    select json_agg(g order by g.key) into groups from (
      select case group_by when 'day' then c.day::text when 'model' then c.model else c.step::text end as key, sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_micros)) as "settledMicros", keyframe_private.exact_sum(sum(c.held_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_micros)) as "unknownMicros"
      from keyframe_private.costs c
      where c.owner_id = auth.uid() and c.day between first_day and last_day
      group by 1) g;
  end if;
  return json_build_object(
    'from', first_day, 'to', last_day, 'currency', 'USD', 'groupBy', group_by, 'groups', coalesce(groups, '[]'),
    'budgets', (
      select coalesce(json_agg(json_build_object(
        'scope', b.scope, 'period', b.period, 'limitMicros', b.limit_micros, 'settledMicros', b.settled_micros, 'heldMicros', b.held_micros,
        'availableMicros', b.available_micros, 'resetsAt', keyframe_private.wire_time(b.resets_at))), '[]')
      from keyframe_private.budgets_of(auth.uid(), now()) b where b.scope = 'owner'),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end
$$;
comment on function keyframe.read_usage is 'The caller''s predictions and costs by day, model, step or project, and the caller''s budgets.';

-- Definer: anybody may ask. Answers within 300 ms, also when the version cannot be read or what users write to is locked. `writes`: ok,
-- read_only, settings_missing, or locked, when a start or a new project would fail. Volatile: the Data API calls others in transactions
-- that are read-only by themselves.
create function keyframe.health()
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
set lock_timeout = '300ms'
as $$
declare
  version text;
  writes text := 'ok';
begin
  begin
    version := (select i.version from keyframe_private.installation i order by string_to_array(i.version, '.')::int[] desc limit 1);
    if not exists (select from keyframe_private.settings) then
      writes := 'settings_missing';
    end if;
    if current_setting('transaction_read_only')::boolean then -- in recovery too
      writes := 'read_only';
    else
      -- What a write would lock, without a write.
      lock table keyframe.projects, keyframe.predictions, keyframe.webhook_events, keyframe.webhook_deliveries, keyframe_private.lane_arrivals,
        keyframe_private.provider_submits, keyframe_private.idempotency_keys, keyframe_private.rate_buckets, keyframe_private.kicks in row exclusive mode;
      lock table auth.users in row share mode;
      lock table keyframe.models, keyframe.step_defaults, keyframe.webhook_endpoints in access share mode;
    end if;
  exception when lock_not_available then
    writes := 'locked';
  end;
  return jsonb_build_object('now', now(), 'schema', version, 'writes', writes);
end
$$;
comment on function keyframe.health is 'Answers when the database does, with the version of its schema.';

grant execute on function
  keyframe.create_project(text, text, text, text, text, text, uuid),
  keyframe.start_prediction(uuid, keyframe.generation_step, jsonb, text, text, text),
  keyframe.estimate_prediction(uuid, keyframe.generation_step, jsonb, text),
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid, boolean),
  keyframe.cancel_prediction(uuid, uuid, text, text),
  keyframe.update_prediction(uuid, uuid, boolean),
  keyframe.delete_prediction(uuid, uuid),
  keyframe.admit_upload(text, text),
  keyframe.read_usage(date, date, text)
to authenticated;
grant execute on function keyframe.health() to anon, authenticated, service_role;
