-- Kicks wake the functions. A kick may be lost, late or duplicated: it only changes when work happens.

-- The last kick of each function. pg_net keeps the answer for some hours under request_id. Unlogged, like pg_net's tables: after
-- a crash its ids restart, and an old id would refer to another request. Updated at every kick; free space keeps that in place.
create unlogged table keyframe_private.last_kicks (
  function_name text primary key,
  made_at timestamptz not null,
  request_id bigint,
  error text,
  acknowledged_at timestamptz,
  constraint last_kick_is_made_or_failed check ((request_id is null) = (error is not null)),
  constraint last_kick_is_acknowledged_after_it_is_made check (acknowledged_at is null or request_id is not null)
) with (fillfactor = 50);
comment on table keyframe_private.last_kicks is 'The last kick of each function, for the figures of the service (docs/operate.md).';
comment on column keyframe_private.last_kicks.made_at is 'When it was made; pg_net sends it when that transaction commits.';
comment on column keyframe_private.last_kicks.request_id is 'The id of its answer in net._http_response; null when it could not be made.';
comment on column keyframe_private.last_kicks.error is 'Why it could not be made.';
comment on column keyframe_private.last_kicks.acknowledged_at is 'When the function first claimed after it.';
alter table keyframe_private.last_kicks enable row level security;

-- Records the last kick of a function: one write for each kick, none for work that needs no kick. It never waits: a kick made by
-- hand may be in an open transaction. A transaction with an older snapshot may not update the row and skips it.
create function keyframe_private.record_kick(function_name text, request_id bigint, error text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;
  update keyframe_private.last_kicks l
  set made_at = clock_timestamp(), request_id = record_kick.request_id, error = left(record_kick.error, 200), acknowledged_at = null
  where l.function_name = (
    select k.function_name from keyframe_private.last_kicks k where k.function_name = record_kick.function_name for update skip locked
  );
  -- The transaction that writes the first row may stay open: a second insert would wait for it.
  if not found and not exists (select from keyframe_private.last_kicks k where k.function_name = record_kick.function_name)
    and pg_try_advisory_xact_lock(hashtextextended('keyframe first kick of ' || record_kick.function_name, 0)) then
    insert into keyframe_private.last_kicks (function_name, made_at, request_id, error)
    values (record_kick.function_name, clock_timestamp(), record_kick.request_id, left(record_kick.error, 200))
    on conflict do nothing;
  end if;
end
$$;

-- Which workers are running: new work then needs no kick. Unlogged: after a crash no worker is running. One row per function,
-- updated at every claim; free space on the page keeps these updates in place.
create unlogged table keyframe_private.worker_heartbeats (
  function_name text primary key,
  alive_until timestamptz not null default '-infinity'
) with (fillfactor = 50);
comment on table keyframe_private.worker_heartbeats is 'Until when a worker will have claimed again.';
alter table keyframe_private.worker_heartbeats enable row level security;

-- Records a worker's heartbeat: it will claim again within heartbeat_ms (0: this is its last claim). A row locked by another
-- claim is skipped: that claim records the same.
create function keyframe_private.record_heartbeat(function_name text, heartbeat_ms integer)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  promised timestamptz :=
    case when heartbeat_ms > 0 then clock_timestamp() + make_interval(secs => heartbeat_ms / 1000.0) else '-infinity' end;
begin
  update keyframe_private.worker_heartbeats l
  set alive_until = promised
  where l.function_name = (
    select k.function_name from keyframe_private.worker_heartbeats k where k.function_name = record_heartbeat.function_name for update skip locked
  );
  -- Read first: on conflict do nothing would wait for a claim that is updating the row.
  if not found and not exists (select from keyframe_private.worker_heartbeats k where k.function_name = record_heartbeat.function_name) then
    insert into keyframe_private.worker_heartbeats (function_name, alive_until) values (record_heartbeat.function_name, promised)
    on conflict do nothing;
  end if;
  -- The first claim after a kick acknowledges it (last_kicks). A kick that is being made now is skipped.
  update keyframe_private.last_kicks l
  set acknowledged_at = clock_timestamp()
  where l.function_name = (
    select k.function_name from keyframe_private.last_kicks k
    where k.function_name = record_heartbeat.function_name and k.request_id is not null and k.acknowledged_at is null for update skip locked
  );
end
$$;

-- Signs and posts a kick according to Standard Webhooks. It never fails its caller: the sweep replaces a kick that could not be
-- made.
create function keyframe_private.kick(function_name text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  base_url text;
  secret text;
  kick_id text := 'kick_' || replace(gen_random_uuid()::text, '-', '');
  signed_at text := floor(extract(epoch from clock_timestamp()))::bigint::text;
  body jsonb := '{}';
  signature text;
  request_id bigint;
begin
  select v.decrypted_secret into base_url from vault.decrypted_secrets v where v.name = 'keyframe_functions_url';
  select v.decrypted_secret into secret from vault.decrypted_secrets v where v.name = 'keyframe_kick_secret';
  if base_url is null or secret is null then
    raise warning 'No kick to %: the Vault lacks keyframe_functions_url or keyframe_kick_secret.', function_name;
    perform keyframe_private.record_kick(function_name, null, 'The Vault lacks keyframe_functions_url or keyframe_kick_secret.');
    return false;
  end if;
  signature := encode(
    extensions.hmac(
      convert_to(kick_id || '.' || signed_at || '.' || body::text, 'UTF8'),
      decode(substr(secret, length('whsec_') + 1), 'base64'),
      'sha256'
    ), 'base64');
  request_id := net.http_post(
    url := base_url || '/keyframe-' || function_name,
    body := body,
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'webhook-id', kick_id, 'webhook-timestamp', signed_at, 'webhook-signature', 'v1,' || signature
    ),
    timeout_milliseconds := 5000
  );
  perform keyframe_private.record_kick(function_name, request_id, null);
  return true;
exception when others then
  raise warning 'No kick to %: %', function_name, sqlerrm;
  begin
    perform keyframe_private.record_kick(function_name, null, sqlerrm);
  exception when others then
    null; -- the previous record stays
  end;
  return false;
end
$$;

-- One kick per burst: none while the worker's heartbeat is live or another transaction is kicking, and one per transaction.
create function keyframe_private.kick_unless_running(function_name text)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  marker text := 'keyframe.kicked_' || function_name;
  this_transaction text := pg_current_xact_id()::text;
begin
  if current_setting(marker, true) is not distinct from this_transaction then
    return;
  end if;
  if exists (select from keyframe_private.worker_heartbeats l where l.function_name = kick_unless_running.function_name and l.alive_until > clock_timestamp()) then
    return;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('keyframe kick ' || function_name, 0)) then
    return;
  end if;
  perform set_config(marker, this_transaction, true);
  perform keyframe_private.kick(function_name);
end
$$;

-- New work for generate: an admitted prediction, an output to store, a run to cancel.
create function keyframe_private.kick_generate()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.kick_unless_running('generate');
  return null;
end
$$;
create trigger _900_kick_inserted after insert on keyframe.predictions
  for each row when (new.admitted_at is not null) execute function keyframe_private.kick_generate();
create trigger _900_kick_admitted after update of admitted_at on keyframe.predictions
  for each row when (old.admitted_at is null and new.admitted_at is not null and new.status = 'queued')
  execute function keyframe_private.kick_generate();
create trigger _900_kick_storing after update of status on keyframe.predictions
  for each row when (old.status <> 'storing' and new.status = 'storing') execute function keyframe_private.kick_generate();
create trigger _900_kick_cancel after update of cancel_due_at on keyframe_private.provider_runs
  for each row when (old.cancel_due_at is null and new.cancel_due_at is not null) execute function keyframe_private.kick_generate();

