-- Housekeeping by pg_cron: whatever was lost is noticed here, and what is only kept for a while goes.

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
    perform private.mark_failed(overdue, 'deadline_exceeded', 'It took longer than this step may take. Run the step again.', true,
      heard => false);
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
  delete from private.idempotency_keys k where k.resource_id in (
    select o.resource_id from private.idempotency_keys o where o.created_at < now() - interval '24 hours' order by o.created_at limit max_rows);
  delete from private.provider_runs r where r.provider_prediction_id in (
    select o.provider_prediction_id from private.provider_runs o
    where o.seen_at < now() - interval '7 days' and o.cancel_due_at is null order by o.seen_at limit max_rows);
  delete from private.unanswered_submits s where s.prediction_id in (
    select o.prediction_id from private.unanswered_submits o
    where o.unanswered_since < now() - interval '1 day' order by o.unanswered_since limit max_rows);
  perform private.prune_webhooks();
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
  ) or exists (
    select from public.predictions p
    where p.unanswered_since is not null and p.status in ('failed', 'canceled') and p.next_attempt_at <= now()
      and p.unanswered_since > now() - interval '1 day'
  ) or exists (
    select from private.unanswered_submits s where s.next_search_at <= now() and s.unanswered_since > now() - interval '1 day'
  ) or exists (select from private.provider_runs r where r.cancel_due_at <= now())
    or exists (select from private.file_removals r where r.due_at <= now()) then
    perform private.kick_unless_looking('generate');
  end if;
  if exists (select from private.endpoints_with_due(gen_random_uuid(), 1, now())) then
    perform private.kick_unless_looking('deliver');
  end if;
end
$$;

revoke execute on function
  private.fail_overdue(integer), private.admit_all_waiting(integer), private.prune(integer), private.sweep()
from public, anon, authenticated, service_role;

select cron.schedule('keyframe-sweep', '5 seconds', 'select private.sweep()');
-- Every minute, so that small batches keep up with some 30 events a second.
select cron.schedule('keyframe-prune', '* * * * *', 'select private.prune()');
select cron.schedule('keyframe-prune-references', '37 * * * *', 'select private.note_unused_references()');
-- Reads all buckets, one for each owner and class that asked for anything lately: hardly worth an index, which would end HOT
-- updates.
select cron.schedule('keyframe-prune-rates', '23 * * * *',
  'delete from private.rate_buckets where refilled_at < now() - interval ''1 day''');
select cron.schedule('keyframe-prune-cron', '17 * * * *',
  'delete from cron.job_run_details where end_time < now() - interval ''1 day''');
