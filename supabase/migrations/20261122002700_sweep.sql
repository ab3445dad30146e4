-- The sweep finds overdue work, so a lost kick only delays it. Pruning deletes what is kept for a limited time. pg_cron runs
-- both, and the other jobs.

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
          where p.admitted_at is not null and p.completed_at is null and p.deadline_at <= now()
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by p.deadline_at limit max_rows for update skip locked) o
        union all
        select e.prediction, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.' from (
          select p as prediction from keyframe.predictions p
          where p.admitted_at is not null and p.completed_at is null and p.next_attempt_at <= now() and p.deadline_at > now() and keyframe_private.is_exhausted(p)
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by p.next_attempt_at limit max_rows for update skip locked) e
        union all
        select a.prediction, 'attempts_exhausted', 'It was tried too often without an end. Run the step again.' from (
          select p as prediction from keyframe_private.set_aside s
          join keyframe.predictions p on p.id = case when s.kind in ('claim', 'resubmit') then s.subject::uuid end
          where s.failures - s.lock_waits >= keyframe_private.max_failures() and p.completed_at is null and p.deadline_at > now()
            and not keyframe_private.is_set_aside('fail', p.id::text, now())
          order by s.since limit max_rows for update of p skip locked) a
      ) d
    ) t);
end
$$;
comment on function keyframe_private.fail_overdue is 'Fails predictions past their deadline, and those whose leases expired or whose claims raised too often.';

-- Walks the index from owner to owner: one probe each, however long the line. Descending, because recent admissions leave dead entries at
-- the start of each owner's range.
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
comment on function keyframe_private.owners_waiting is 'Owners from an id downwards with a waiting prediction.';

-- Looks at the waiting owners from a random id downwards, then from the top, at some twice: otherwise as many owners without a free slot as
-- it looks at would block all behind them. Leaves out owners whose slots are locked: their transaction fills them, or the next sweep does.
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
    exit when keyframe_private.is_out_of_time();
    continue when keyframe_private.is_set_aside('admit', owner::text, now());
    begin
      if keyframe_private.take_lock('slots', owner, waits => false) then
        admitted := admitted + keyframe_private.admit_waiting(owner);
        perform keyframe_private.forget_aside('{admit}', array[owner::text]);
      end if;
    exception when others or query_canceled or assert_failure then
      if sqlstate = '57014' and not keyframe_private.is_out_of_time() then
        raise;
      end if;
      perform keyframe_private.set_aside('admit', owner::text, sqlstate, sqlerrm);
    end;
  end loop;
  return admitted;
end
$$;
comment on function keyframe_private.admit_all_waiting is 'Admits predictions that wait although a slot is free: max_active_per_owner was raised, a running prediction was deleted, or the next in line was locked by a cancellation that failed.';

-- Leaves out what others hold, and what fails (set_aside).
create function keyframe_private.prune(max_rows integer default 5000)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  submits constant text := 'keyframe_private.provider_submits';
  costs constant text := 'keyframe_private.daily_costs';
begin
  perform keyframe_private.prune_rows('keyframe_private.idempotency_keys', 'o.resource_id', $w$o.created_at < now() - interval '24 hours' order by o.created_at$w$, max_rows);
  -- No run takes longer than a day.
  perform keyframe_private.prune_rows(submits, 'o.id', $w$o.search_due_at <= now() and o.submitted_at < now() - interval '1 day' order by o.search_due_at$w$,
    least(max_rows, 500), 'end', $w$select keyframe_private.end_submit(o.id, 'lost') from %s o where o.ctid = any ($1)$w$);
  -- is_only_submit_of_its_text reads up to two hours back.
  perform keyframe_private.prune_rows(submits, 'o.id', $w$o.text_hash is not null and o.submitted_at < now() - interval '3 hours' order by o.submitted_at$w$,
    max_rows, 'forget the texts of', 'update %s o set text_hash = null where o.ctid = any ($1)');
  perform keyframe_private.prune_rows(submits, 'o.id', $w$o.created_at < now() - interval '13 months' and o.ended_at is not null order by o.created_at$w$, max_rows);
  perform keyframe_private.prune_rows(costs, 'o.id', $w$o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day$w$, max_rows);
  perform keyframe_private.prune_rows('keyframe_private.project_costs', 'o.id', $w$o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day$w$, max_rows);
  perform keyframe_private.prune_rows('keyframe_private.exhausted_budgets', 'o.id', $w$o.resets_at < now() - interval '13 months'$w$, max_rows);
  perform keyframe_private.prune_rows('keyframe_private.kicks', 'o.id', $w$o.made_at < now() - interval '1 hour' order by o.id$w$, max_rows);
  -- A row that is still due is tried again within minutes: these have ended, or are gone.
  perform keyframe_private.prune_rows('keyframe_private.set_aside', 'o.kind, o.subject', $w$o.next_try_at < now() - interval '1 hour' order by o.next_try_at$w$, max_rows);
  perform keyframe_private.prune_webhooks();
end
$$;
comment on function keyframe_private.prune is 'Deletes what is kept for a limited time, in small batches.';

create function keyframe_private.merge_costs(max_rows integer default 20000)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform keyframe_private.prune_rows(
    'keyframe_private.daily_costs', 'o.id', 'not o.is_merged order by o.id', max_rows, 'merge', 'select keyframe_private.merge_cost_rows($1)');
end
$$;
comment on function keyframe_private.merge_costs is 'Merges the rows that submits have added since the last time.';

-- Deletes full buckets unused for a day, and those of a limit that is gone: a missing bucket is a full one. Reads all rows, one per active
-- owner and class; an index on refilled_at would end HOT updates.
create function keyframe_private.prune_rate_buckets(max_rows integer default 50000)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform keyframe_private.prune_rows('keyframe_private.rate_buckets', 'o.owner_id, o.route_class', $w$
    o.refilled_at < now() - interval '1 day' and (
      select o.tokens + l.per_second * extract(epoch from now() - o.refilled_at) < l.capacity
      from keyframe_private.rate_limits l where l.route_class = o.route_class) is not true$w$, max_rows);
end
$$;
comment on function keyframe_private.prune_rate_buckets is 'Deletes full buckets unused for a day: a missing bucket is a full one.';

-- It waits for nobody, another sweep included: it leaves out what others hold, and what one row raises.
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
comment on function keyframe_private.sweep is 'Runs every five seconds by pg_cron.';

-- Every job: deployments schedule it, and health watches it (keyframe_private.job_figures). `late_after`: without a success for so long, it
-- does not work. With a time limit, because an app's trigger may sleep: the row at fault is set aside then.
create function keyframe_private.jobs()
returns table (name text, schedule text, command text, late_after interval)
language sql
immutable
set search_path = ''
as $$
  values
    ('keyframe-sweep', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.sweep()', interval '1 minute'),
    ('keyframe-delete-parts', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.delete_parts()', interval '1 minute'),
    ('keyframe-merge-costs', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.merge_costs()', interval '1 minute'),
    -- Every minute: small batches then keep up with about 30 events a second.
    ('keyframe-prune', '* * * * *', 'set statement_timeout = ''20s''; select keyframe_private.prune()', interval '10 minutes'),
    ('keyframe-prune-references', '37 * * * *', 'select keyframe_private.queue_unused_references()', interval '3 hours'),
    ('keyframe-prune-rates', '23 * * * *', 'select keyframe_private.prune_rate_buckets()', interval '3 hours'),
    ('keyframe-prune-cron', '17 * * * *',
      'delete from cron.job_run_details d using cron.job j
        where j.jobid = d.jobid and j.jobname like ''keyframe-%'' and d.end_time < now() - interval ''1 day''', interval '3 hours')
$$;
comment on function keyframe_private.jobs is 'The jobs that pg_cron runs for Keyframe.';

-- A schedule that an administrator has changed stays. cron.schedule leaves a job that is switched off switched off.
create function keyframe_private.schedule_jobs()
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform cron.unschedule(c.jobid) from cron.job c where c.jobname in (select j.name from keyframe_private.jobs() j) and not c.active;
  perform cron.schedule(j.name, j.schedule, j.command) from keyframe_private.jobs() j
  where not exists (select from cron.job c where c.jobname = j.name);
end
$$;
comment on function keyframe_private.schedule_jobs is 'Schedules the jobs that are missing or switched off.';

select keyframe_private.schedule_jobs();
