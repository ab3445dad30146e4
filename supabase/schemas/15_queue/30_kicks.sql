-- Kicks wake the functions. A kick may be lost, late or duplicated: it only changes when work happens.

-- Only acknowledged_at is updated, so no kick waits for another. Unlogged, as pg_net's tables, whose ids restart after a crash.
create unlogged table keyframe_private.kicks (
  id bigint generated always as identity primary key,
  function_name text not null,
  made_at timestamptz not null default clock_timestamp(),
  request_id bigint,
  error text,
  acknowledged_at timestamptz,
  constraint kick_is_made_or_failed check ((request_id is null) = (error is not null))
);
comment on table keyframe_private.kicks is 'The kicks of the last hour, for the figures of the service (docs/operate.md).';
comment on column keyframe_private.kicks.request_id is 'The id of its answer in net._http_response; null when it could not be made.';
comment on column keyframe_private.kicks.acknowledged_at is 'When the function first claimed after it.';
create index kicks_made_at_idx on keyframe_private.kicks (function_name, made_at);
create index kicks_unacknowledged_idx on keyframe_private.kicks (function_name) where acknowledged_at is null and error is null;

-- Unlogged: after a crash no worker is running. Free space on the page keeps the update of each claim in place.
create unlogged table keyframe_private.heartbeats (
  function_name text primary key,
  alive_until timestamptz not null default '-infinity',
  claimed_at timestamptz not null,
  report jsonb not null default '{}'
) with (fillfactor = 50);
comment on table keyframe_private.heartbeats is 'The last claim of each function, by any of its workers.';
comment on column keyframe_private.heartbeats.alive_until is 'The time by which that worker will claim again.';
comment on column keyframe_private.heartbeats.report is 'What that worker reported: callMs, how long its last database call took without waiting for work; isProcess, whether it is a process of npm run worker and not an edge function; address, the project that a process works for.';

-- The worker will claim again within heartbeat_ms (0: it stops). Skips rows that another claim has locked: it records the same. Raises only
-- for a process of another project (an edge function works for the project that kicks it). Other errors are warnings: without a heartbeat
-- the sweep kicks.
create function keyframe_private.record_heartbeat(function_name text, heartbeat_ms integer, report jsonb)
returns void language plpgsql volatile set search_path = '' set lock_timeout = '20ms' as $$
declare
  at constant timestamptz := clock_timestamp();
  next_claim_by constant timestamptz := case when heartbeat_ms > 0 then at + make_interval(secs => heartbeat_ms / 1000.0)
    else '-infinity' end;
begin
  if report ? 'address' and report ->> 'address' is distinct from keyframe_private.address() then
    raise exception 'This database works for another project, not for %.', report ->> 'address' using errcode = 'KEYAD';
  end if;
  update keyframe_private.heartbeats h
  set alive_until = next_claim_by, claimed_at = at, report = record_heartbeat.report
  where h.function_name = (
    select k.function_name from keyframe_private.heartbeats k where k.function_name = record_heartbeat.function_name for update skip locked);
  if not found then
    -- Only a missing row: on conflict do nothing would wait for a claim that is updating it.
    insert into keyframe_private.heartbeats (function_name, alive_until, claimed_at, report)
    select record_heartbeat.function_name, next_claim_by, at, record_heartbeat.report
    where not exists (select from keyframe_private.heartbeats k where k.function_name = record_heartbeat.function_name)
    on conflict do nothing;
  end if;
  update keyframe_private.kicks l
  set acknowledged_at = clock_timestamp() -- a kick may commit while this runs
  where l.id = any (array(
    select k.id from keyframe_private.kicks k
    where k.function_name = record_heartbeat.function_name and k.acknowledged_at is null
      and k.error is null limit 1000 for update skip locked));
exception
  when sqlstate 'KEYAD' then
    raise;
  when others or assert_failure then
    raise warning 'No heartbeat of %: % (%)', function_name, sqlerrm, sqlstate;
end $$;

-- Signs the kick according to Standard Webhooks. A kick that cannot be made is recorded, and the sweep replaces it. The caller fails only
-- if the kick cannot be recorded.
create function keyframe_private.kick(function_name text)
returns boolean language plpgsql volatile security definer set search_path = '' as $$
declare
  base_url constant text := keyframe_private.read_secret('keyframe_functions_url');
  secret constant text := keyframe_private.read_secret('keyframe_kick_secret');
  kick_id text := 'kick_' || replace(gen_random_uuid()::text, '-', '');
  signed_at text := floor(extract(epoch from clock_timestamp()))::bigint::text;
  signature text;
begin
  if base_url is null or secret is null then
    raise exception 'The Vault lacks keyframe_functions_url or keyframe_kick_secret, cannot decrypt it, or was locked.';
  end if;
  signature := encode(
    keyframe_private.hmac_sha256(
      convert_to(kick_id || '.' || signed_at || '.{}', 'UTF8'),
      decode(substr(secret, length('whsec_') + 1), 'base64')
    ), 'base64');
  insert into keyframe_private.kicks (function_name, request_id) values (kick.function_name, net.http_post(
    url := base_url || '/keyframe-' || kick.function_name,
    body := '{}',
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'webhook-id', kick_id, 'webhook-timestamp', signed_at, 'webhook-signature', 'v1,' || signature
    ),
    timeout_milliseconds := 5000
  ));
  return true;
exception when others then
  raise warning 'No kick to %: %', function_name, sqlerrm;
  insert into keyframe_private.kicks (function_name, error) values (kick.function_name, left(sqlerrm, 200));
  return false;
end $$;

-- One kick per burst: none while the function's heartbeat is live or just after a kick, and one per transaction. Without a lock, so that an
-- open transaction does not stop other kicks. Times in the future are from before the clock was set back.
create function keyframe_private.kick_unless_running(function_name text)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  marker text := 'keyframe.kicked_' || function_name;
  at constant timestamptz := clock_timestamp();
begin
  if current_setting(marker, true) = 'true' -- until the transaction ends
    or exists (
      select from keyframe_private.heartbeats h
      where h.function_name = kick_unless_running.function_name and h.alive_until between at and at + interval '2 minutes')
    or exists (
      select from keyframe_private.kicks k
      where k.function_name = kick_unless_running.function_name and k.made_at between at - interval '100 ms' and at)
  then
    return;
  end if;
  perform set_config(marker, 'true', true);
  perform keyframe_private.kick(function_name);
end $$;
