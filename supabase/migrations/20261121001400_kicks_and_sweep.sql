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

-- Fails what is past its deadline.
create function private.fail_overdue(max_rows integer default 500)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  overdue uuid;
  failed integer := 0;
begin
  for overdue in
    select p.id from public.predictions p
    where p.admitted_at is not null and p.status in ('queued', 'starting', 'processing', 'storing') and p.deadline_at <= now()
    order by p.deadline_at
    limit max_rows
    for update skip locked
  loop
    perform private.mark_failed(overdue, 'deadline_exceeded', 'It took longer than this step may take. Run the step again.', true);
    failed := failed + 1;
  end loop;
  return failed;
end
$$;

-- Admits who waits although there is a place: after max_active_per_owner was raised. Looks at each waiting owner once.
create function private.admit_all_waiting(max_owners integer default 500)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  owner uuid;
  admitted integer := 0;
begin
  for i in 1 .. max_owners loop
    select w.owner_id into owner from public.predictions w
    where w.status = 'queued' and w.admitted_at is null and (owner is null or w.owner_id > owner)
    order by w.owner_id
    limit 1;
    exit when not found;
    admitted := admitted + private.admit_waiting(owner);
  end loop;
  return admitted;
end
$$;

-- Deletes what is only kept for a while, in small batches.
create function private.prune(max_rows integer default 5000)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  delete from private.provider_callbacks c where c.callback_id in (
    select o.callback_id from private.provider_callbacks o where o.received_at < now() - interval '1 day' order by o.received_at limit max_rows);
  delete from private.idempotency_keys k where (k.owner_id, k.key) in (
    select o.owner_id, o.key from private.idempotency_keys o where o.created_at < now() - interval '24 hours' order by o.created_at limit max_rows);
  delete from private.provider_runs r where r.provider_prediction_id in (
    select o.provider_prediction_id from private.provider_runs o
    where o.seen_at < now() - interval '7 days' and o.cancel_due_at is null order by o.seen_at limit max_rows);
  delete from private.rate_buckets b where b.refilled_at < now() - interval '1 day';
  delete from cron.job_run_details d where d.end_time < now() - interval '1 day';
end
$$;

-- What pg_cron runs every five seconds: whatever was lost, it is noticed here.
create function private.sweep()
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if not pg_try_advisory_xact_lock(hashtextextended('keyframe sweep', 0)) then
    return;
  end if;
  perform private.fail_overdue();
  perform private.admit_all_waiting();
  if exists (
    select from public.predictions p
    where p.admitted_at is not null and p.status in ('queued', 'starting', 'processing', 'storing') and p.next_attempt_at <= now()
  ) or exists (select from private.provider_runs r where r.cancel_due_at <= now()) then
    perform private.kick_unless_looking('generate');
  end if;
end
$$;

revoke execute on function
  private.kick(text), private.kick_unless_looking(text), private.kick_generate(), private.fail_overdue(integer),
  private.admit_all_waiting(integer), private.prune(integer), private.sweep()
from public, anon, authenticated, service_role;

select cron.schedule('keyframe-sweep', '5 seconds', 'select private.sweep()');
select cron.schedule('keyframe-prune', '17 * * * *', 'select private.prune()');
