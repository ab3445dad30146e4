-- The sweep adds work that has become due or was lost. It only inserts: the worker does the work, one call for each, so that a row that
-- raises or is locked blocks no other.

-- Owners with a prediction in line, from an id downwards: one probe of the index for each. Descending, because recent admissions leave dead
-- entries at the start of each owner's range.
create function keyframe_private.owners_in_line(start uuid, max_owners integer)
returns setof uuid language plpgsql stable set search_path = '' as $$
declare
  owner uuid := start;
  before timestamptz := 'infinity'; -- so that `start` itself is included
begin
  for walked in 1 .. max_owners loop
    select w.owner_id into owner from keyframe.predictions w
    where w.status = 'queued' and w.admitted_at is null and w.waits_for is null and (w.owner_id, w.created_at) < (owner, before)
    order by w.owner_id desc, w.created_at desc
    limit 1;
    exit when not found;
    return next owner;
    before := '-infinity';
  end loop;
end $$;

-- Adds work for owners whose predictions wait although a slot is free: max_active_per_owner was raised, a running prediction was deleted,
-- or the next in line was locked by a cancellation that failed. From a random id downwards, then from the top: otherwise owners without a
-- free slot would block all after them.
create function keyframe_private.add_admissions(max_owners integer)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if (select s.spending_stopped from keyframe_private.settings s) is not false then
    return;
  end if;
  perform keyframe_private.add_work('ask', 'admit', a.owner, a.owner, 'admit')
  from (
    select w.owner
    from (
      select keyframe_private.owners_in_line(gen_random_uuid(), max_owners)
      union
      select keyframe_private.owners_in_line('ffffffff-ffff-ffff-ffff-ffffffffffff', max_owners)) w (owner)
    where keyframe_private.free_slots(w.owner) > 0 and not keyframe_private.has_work(w.owner, 'admit')
    limit max_owners) a;
end $$;

-- Adds work for predictions whose awaited video is gone or has ended, or that have waited too long: an end adds this work, but a deletion
-- does not, and work can be lost.
create function keyframe_private.add_lost_continue_work(start uuid, max_rows integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from (
    select o.id, o.owner_id, o.waits_for, o.created_at from keyframe.predictions o
    where o.waits_for >= start and o.status = 'queued' order by o.waits_for limit max_rows) w
  where (w.created_at < now() - interval '1 day' or not exists (
      select from keyframe.predictions v where v.id = w.waits_for
        and (v.completed_at is null or v.status = 'succeeded' and keyframe_private.end_image_of(v) is null)))
    and not keyframe_private.has_work(w.id, 'continue');
end $$;

-- The tasks of predictions, which are lost in a restore without the queue, or if a trigger was switched off.
create function keyframe_private.add_lost_work_of_predictions(max_rows integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  perform keyframe_private.add_work_of(p::keyframe.predictions)
  from (
    select o.* from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null and o.updated_at < now() - interval '1 minute' and not exists (
      select from keyframe_private.work w
      where w.subject = o.id and w.kind = any ('{submit,poll,store,expire}') and w.queue <> 'deliver')
    limit max_rows) p;
end $$;

-- Adds the other work that a restore without the queue loses. Reads all pending deliveries, the submits of a day and all files to remove:
-- call it rarely.
create function keyframe_private.add_other_lost_work()
returns void language plpgsql volatile security definer set search_path = '' set jit = off set enable_nestloop = off as $$
begin
  perform keyframe_private.add_endpoint_work(e, 'resume', '00000000-0000-0000-0000-000000000000')
  from keyframe.webhook_endpoints e
  where e.enabled and exists (
    select from keyframe.webhook_deliveries d
    where d.endpoint_id = e.id and d.status = 'pending' and d.created_at < now() - interval '10 minutes'
      and not exists (select from keyframe_private.work w where w.queue = 'deliver' and w.subject = d.id));
  perform keyframe_private.add_work('ask', 'search', s.prediction_id, s.owner_id, 'search', submit_id => s.id)
  from keyframe_private.provider_submits s
  where s.search_task is not null and not keyframe_private.has_work(s.prediction_id, 'search', s.id);
  perform keyframe_private.add_cancel(s) from keyframe_private.provider_submits s
  where s.provider_prediction_id is not null and s.ended_at is null and s.created_at > now() - interval '1 day' and not exists (
    select from keyframe.predictions p where p.provider_prediction_id = s.provider_prediction_id and p.completed_at is null);
  perform keyframe_private.add_work('ask', 'remove', r.owner_id, r.owner_id, 'remove')
  from (select distinct f.owner_id from keyframe_private.file_removals f) r
  where not keyframe_private.has_work(r.owner_id, 'remove');
end $$;

create function keyframe_private.sweep(max_rows integer default 500)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'expire', p.id, p.owner_id, 'expire')
  from (
    select o.id, o.owner_id from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null and o.deadline_at <= now()
      and not keyframe_private.has_work(o.id, 'expire')
    order by o.deadline_at limit max_rows) p;
  perform keyframe_private.add_admissions(max_rows);
  perform keyframe_private.add_lost_continue_work('00000000-0000-0000-0000-000000000000', max_rows);
  perform keyframe_private.add_lost_continue_work(gen_random_uuid(), max_rows);
  perform keyframe_private.add_lost_work_of_predictions(max_rows);
  if keyframe_private.has_due_work('{ask,copy}', now()) then
    perform keyframe_private.kick_unless_running('generate');
  end if;
  if keyframe_private.has_due_work('{deliver}', now()) then
    perform keyframe_private.kick_unless_running('deliver');
  end if;
end $$;
