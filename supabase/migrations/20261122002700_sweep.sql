-- The sweep finds overdue work, so a lost kick only delays it. Pruning deletes what is kept for a limited time. pg_cron runs
-- both.

-- Fails predictions past their deadline, those whose leases expired too often, and those that raised too often when they were to be
-- claimed: at most max_rows of each. The next sweep fails those that cannot be failed now; those that raise are set aside.
create function keyframe_private.fail_overdue(max_rows integer default 500)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  return (
    select count(*) filter (where t.has_failed)::integer from (
      select keyframe_private.try_mark_failed(d.prediction, d.code, d.sentence) as has_failed
      from (
        select o.prediction, 'deadline_exceeded' as code, 'It took longer than this step may take. Run the step again.' as sentence from (
          select p as prediction from keyframe.predictions p
          where p.admitted_at is not null and p.is_active and p.deadline_at <= now()
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by p.deadline_at limit max_rows for update skip locked) o
        union all
        select e.prediction, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.' from (
          select p as prediction from keyframe.predictions p
          where p.admitted_at is not null and p.is_active and p.next_attempt_at <= now() and p.deadline_at > now() and keyframe_private.is_exhausted(p)
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by p.next_attempt_at limit max_rows for update skip locked) e
        union all
        select a.prediction, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.' from (
          select p as prediction from keyframe_private.set_aside s
          join keyframe.predictions p on p.id = case when s.kind in ('claim', 'resubmit') then s.subject::uuid end
          where s.failures >= (select x.max_failures from keyframe_private.settings x) and p.is_active and p.deadline_at > now()
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by s.since limit max_rows for update of p skip locked) a
      ) d
    ) t);
end
$$;

-- Owners from an id downwards with a waiting prediction. Walks the index from owner to owner: one probe each, however long the line.
-- Descending, because recent admissions leave dead entries at the start of each owner's range.
create function keyframe_private.owners_waiting(start uuid, most integer)
returns setof uuid
language plpgsql
stable
set search_path = ''
as $$
declare
  owner uuid := start;
  before timestamptz := 'infinity'; -- of the first owner too
begin
  for walked in 1 .. most loop
    select w.owner_id into owner from keyframe.predictions w
    where w.status = 'queued' and w.admitted_at is null and (w.owner_id, w.created_at) < (owner, before)
    order by w.owner_id desc, w.created_at desc
    limit 1;
    exit when not found;
    return next owner;
    before := '-infinity';
  end loop;
end
$$;

-- Admits predictions that wait although a slot is free: max_active_per_owner was raised, a running prediction was deleted, or the
-- next in line was locked by a cancellation that failed. Looks at the waiting owners from a random id downwards, then from the top, at some
-- twice: otherwise as many owners without a free slot as it looks at would block all behind them. Leaves out owners whose slots are
-- locked: their transaction fills them, or the next sweep does.
create function keyframe_private.admit_all_waiting(max_owners integer default 500)
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
  for owner in
    select keyframe_private.owners_waiting(gen_random_uuid(), max_owners)
    union all
    select keyframe_private.owners_waiting('ffffffff-ffff-ffff-ffff-ffffffffffff', max_owners)
    limit max_owners
  loop
    continue when keyframe_private.is_set_aside('admit', owner::text, now());
    begin
      if keyframe_private.take_lock('slots', owner, waits => false) then
        admitted := admitted + keyframe_private.admit_waiting(owner);
        perform keyframe_private.forget_aside('{admit}', array[owner::text]);
      end if;
    exception when others then
      perform keyframe_private.set_aside('admit', owner::text, sqlstate, sqlerrm);
    end;
  end loop;
  return admitted;
end
$$;

-- Deletes what is kept for a limited time, in small batches. Leaves out what others hold.
create function keyframe_private.prune(max_rows integer default 5000)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  delete from keyframe_private.idempotency_keys k where k.resource_id = any (array(
    select o.resource_id from keyframe_private.idempotency_keys o where o.created_at < now() - interval '24 hours' order by o.created_at limit max_rows for update skip locked));
  -- No run takes longer than a day.
  perform keyframe_private.end_submit(o.id, 'lost') from (
    select s.id from keyframe_private.provider_submits s
    where s.search_due_at <= now() and s.submitted_at < now() - interval '1 day' order by s.search_due_at limit least(max_rows, 500) for update skip locked) o;
  -- is_only_submit_of_its_text reads up to two hours back.
  update keyframe_private.provider_submits s set text_hash = null where s.id = any (array(
    select o.id from keyframe_private.provider_submits o
    where o.text_hash is not null and o.submitted_at < now() - interval '3 hours' order by o.submitted_at limit max_rows for update skip locked));
  delete from keyframe_private.provider_submits s where s.id = any (array(
    select o.id from keyframe_private.provider_submits o
    where o.created_at < now() - interval '13 months' and o.ended_at is not null order by o.created_at limit max_rows for update skip locked));
  delete from keyframe_private.daily_costs c where c.id = any (array(
    select o.id from keyframe_private.daily_costs o
    where o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day limit max_rows for update skip locked));
  perform keyframe_private.merge_costs(max_rows);
  delete from keyframe_private.exhausted_budgets b where b.ctid = any (array(
    select o.ctid from keyframe_private.exhausted_budgets o where o.resets_at < now() - interval '13 months' limit max_rows for update skip locked));
  delete from keyframe_private.kicks k where k.id = any (array(
    select o.id from keyframe_private.kicks o where o.made_at < now() - interval '1 hour' order by o.id limit max_rows for update skip locked));
  -- A row that is still due is tried again within seconds: these have ended, or are gone.
  delete from keyframe_private.set_aside a where (a.kind, a.subject) in (
    select o.kind, o.subject from keyframe_private.set_aside o
    where o.next_try_at < now() - interval '1 hour' order by o.next_try_at limit max_rows for update skip locked);
  perform keyframe_private.prune_webhooks();
end
$$;

-- Deletes full buckets unused for a day: a missing bucket is a full one. Leaves out what requests hold. Reads all rows, one per active
-- owner and class; an index on refilled_at would end HOT updates.
create function keyframe_private.prune_rate_buckets(max_rows integer default 50000)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from keyframe_private.rate_buckets b where b.ctid = any (array(
    select o.ctid from keyframe_private.rate_buckets o
    join keyframe_private.rate_limits l on l.route_class = o.route_class
    where o.refilled_at < now() - interval '1 day'
      and o.tokens + l.per_second * extract(epoch from now() - o.refilled_at) >= l.capacity
    limit max_rows for update of o skip locked));
end
$$;

-- Runs every five seconds by pg_cron. It waits for nobody, another sweep included: it leaves out what others hold, and what one row
-- raises.
create function keyframe_private.sweep()
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.fail_overdue();
  perform keyframe_private.admit_all_waiting();
  perform keyframe_private.add_submits_after_lost_leases(now(), 10000);
  if keyframe_private.has_due_task(now()) then
    perform keyframe_private.kick_unless_running('generate');
  end if;
  if keyframe_private.has_due_delivery(now()) or exists (select from keyframe_private.lane_arrivals) then -- also those that somebody holds
    perform keyframe_private.kick_unless_running('deliver');
  end if;
end
$$;

select cron.schedule('keyframe-sweep', '5 seconds', 'select keyframe_private.sweep()');
-- Every minute: small batches then keep up with about 30 events a second.
select cron.schedule('keyframe-prune', '* * * * *', 'select keyframe_private.prune()');
select cron.schedule('keyframe-prune-references', '37 * * * *', 'select keyframe_private.queue_unused_references()');
select cron.schedule('keyframe-prune-rates', '23 * * * *', 'select keyframe_private.prune_rate_buckets()');
select cron.schedule('keyframe-prune-cron', '17 * * * *',
  'delete from cron.job_run_details d using cron.job j
    where j.jobid = d.jobid and j.jobname like ''keyframe-%'' and d.end_time < now() - interval ''1 day''');
