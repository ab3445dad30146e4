-- Waking the functions. A kick is a hint: it may be lost, late or doubled, and only changes when something happens.

-- Signs and posts a kick as Standard Webhooks has it. Never fails its caller: the sweep makes up for a kick that could not be made.
create function private.kick(function_name text)
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
begin
  select v.decrypted_secret into base_url from vault.decrypted_secrets v where v.name = 'functions_url';
  select v.decrypted_secret into secret from vault.decrypted_secrets v where v.name = 'kick_secret';
  if base_url is null or secret is null then
    raise warning 'No kick to %: the Vault lacks functions_url or kick_secret.', function_name;
    return false;
  end if;
  signature := encode(
    extensions.hmac(
      convert_to(kick_id || '.' || signed_at || '.' || body::text, 'UTF8'),
      decode(substr(secret, length('whsec_') + 1), 'base64'),
      'sha256'
    ), 'base64');
  perform net.http_post(
    url := base_url || '/' || function_name,
    body := body,
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'webhook-id', kick_id, 'webhook-timestamp', signed_at, 'webhook-signature', 'v1,' || signature
    ),
    timeout_milliseconds := 5000
  );
  return true;
exception when others then
  raise warning 'No kick to %: %', function_name, sqlerrm;
  return false;
end
$$;

-- One kick per burst: not while a function is looking anyway, not while another transaction is kicking, once per transaction.
create function private.kick_unless_looking(function_name text)
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
  if exists (select from private.lookouts l where l.function_name = kick_unless_looking.function_name and l.looking_until > clock_timestamp()) then
    return;
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('keyframe kick ' || function_name, 0)) then
    return;
  end if;
  perform set_config(marker, this_transaction, true);
  perform private.kick(function_name);
end
$$;

-- New work for generate: an admitted prediction, an output to store, a run to cancel.
create function private.kick_generate()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform private.kick_unless_looking('generate');
  return null;
end
$$;
create trigger _900_kick_inserted after insert on public.predictions
  for each row when (new.admitted_at is not null) execute function private.kick_generate();
create trigger _900_kick_admitted after update of admitted_at on public.predictions
  for each row when (old.admitted_at is null and new.admitted_at is not null and new.status = 'queued')
  execute function private.kick_generate();
create trigger _900_kick_storing after update of status on public.predictions
  for each row when (old.status <> 'storing' and new.status = 'storing') execute function private.kick_generate();
create trigger _900_kick_cancel after update of cancel_due_at on private.provider_runs
  for each row when (old.cancel_due_at is null and new.cancel_due_at is not null) execute function private.kick_generate();

revoke execute on function private.kick(text), private.kick_unless_looking(text), private.kick_generate()
from public, anon, authenticated, service_role;
