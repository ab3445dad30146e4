-- Fairness: an owner has max_active_per_owner slots; further predictions wait. Waiting rows are outside the index of the queue,
-- so the long line of one owner costs the others nothing.

-- Valid only while the owner's lock `slots` is held: it serialises counting and filling. Work on predictions of several owners does not
-- wait for it: a transaction that stays open may hold up its own owner alone.
create function keyframe_private.free_slots(owner uuid)
returns integer language plpgsql volatile set search_path = '' as $$
begin
  return (
    select coalesce((select s.max_active_per_owner from keyframe_private.settings s), 0) - count(*)::integer
    from keyframe.predictions p
    where p.owner_id = owner and p.admitted_at is not null and p.completed_at is null
  );
end $$;
comment on function keyframe_private.free_slots is 'How many more predictions of this owner may start.';

create function keyframe_private.deadline_of(step keyframe.generation_step)
returns interval language plpgsql stable set search_path = '' as $$
begin
  return (select case when step = 'video' then s.video_deadline else s.frame_deadline end from keyframe_private.settings s);
end $$;
comment on function keyframe_private.deadline_of is 'How long a prediction of this step may take once admitted.';

create function keyframe_private.admit_waiting(owner uuid)
returns integer language plpgsql volatile security definer set search_path = '' as $$
declare
  moment timestamptz;
  slots integer;
  admitted integer;
begin
  perform keyframe_private.take_lock('slots', owner);
  -- Read under the lock, so that admitted_at has the order of the line whichever transaction began first.
  moment := clock_timestamp();
  slots := keyframe_private.free_slots(owner);
  if slots <= 0 or (select s.spending_stopped from keyframe_private.settings s) then
    return 0;
  end if;
  update keyframe.predictions p
  set admitted_at = moment, next_attempt_at = now(), deadline_at = moment + keyframe_private.deadline_of(p.step), updated_at = now()
  -- An array is computed once. A join with the subquery may run it again for each row and admit too many.
  where p.id = any (array(
    select w.id from keyframe.predictions w
    where w.owner_id = owner and w.status = 'queued' and w.admitted_at is null
    order by w.created_at, w.id
    limit slots
    for update skip locked)); -- a locked row is being cancelled; the next one takes its turn
  get diagnostics admitted = row_count;
  return admitted;
end $$;
comment on function keyframe_private.admit_waiting is 'Gives the free slots of an owner to the predictions that have waited longest.';

-- The end of one prediction frees a slot for the next. One that cannot be admitted does not undo the end: the sweep tries it again.
create function keyframe_private.admit_next()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.admit_waiting(new.owner_id);
  return null;
exception when others or query_canceled or assert_failure then
  if keyframe_private.is_lock_wait(sqlstate) or sqlstate = '57014' and not keyframe_private.is_out_of_time() then
    raise; -- somebody else is admitting, or has canceled the call: the caller tries again
  end if;
  perform keyframe_private.set_aside('admit', new.owner_id::text, sqlstate, sqlerrm);
  return null;
end $$;

-- Counting stops at 1000, which means 1000 or later: a page of a very long line would count it again for each row.
create function keyframe_private.queue_position(prediction keyframe.predictions)
returns integer language plpgsql stable security invoker set search_path = '' as $$
begin
  if prediction.status <> 'queued' or prediction.started_at is not null then
    return null;
  elsif prediction.admitted_at is not null then
    return 0;
  end if;
  return (
    select count(*)::integer + 1 from (
      select from keyframe.predictions w
      where w.owner_id = prediction.owner_id and w.status = 'queued' and w.admitted_at is null
        and (w.created_at, w.id) < (prediction.created_at, prediction.id)
      limit 999
    ) before
  );
end $$;
comment on function keyframe_private.queue_position is 'The position in the owner''s line: 1 for the next to run, 0 once it has a slot, null when it is not queued, or queued again after a provider run.';
