-- The sweep finds overdue work, so a lost kick only delays it.

create function keyframe_private.fail_overdue(max_rows integer default 500)
returns integer language plpgsql volatile security definer set search_path = '' as $$
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
          where p.admitted_at is not null and p.completed_at is null and p.next_attempt_at <= now() and p.deadline_at > now()
            and keyframe_private.is_exhausted(p)
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
end $$;
comment on function keyframe_private.fail_overdue is 'Fails predictions past their deadline, and those whose leases expired or whose claims raised too often. At most max_rows of each. The next sweep fails those that cannot be failed now; those that raise are set aside.';

-- One probe of the index for each owner. Descending: recent admissions leave dead entries at the start of each owner's range.
create function keyframe_private.owners_waiting(start uuid, most integer)
returns setof uuid language plpgsql stable set search_path = '' as $$
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
end $$;
comment on function keyframe_private.owners_waiting is 'Owners from an id downwards with a waiting prediction.';

-- From a random id downwards, then from the top: otherwise owners without a free slot would block all behind them. Owners whose slots
-- are locked are left to that transaction, or the next sweep.
create function keyframe_private.admit_all_waiting(max_owners integer default 500)
returns integer language plpgsql volatile security definer set search_path = '' as $$
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
      perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
      perform keyframe_private.set_aside('admit', owner::text, sqlstate, sqlerrm);
    end;
  end loop;
  return admitted;
end $$;
comment on function keyframe_private.admit_all_waiting is 'Admits predictions that wait although a slot is free: max_active_per_owner was raised, a running prediction was deleted, or the next in line was locked by a cancellation that failed.';

create function keyframe_private.sweep()
returns void language plpgsql volatile security definer set search_path = '' as $$
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
end $$;
comment on function keyframe_private.sweep is 'Runs every five seconds by pg_cron. Waits for nobody: leaves out what others hold, and rows that raise.';
