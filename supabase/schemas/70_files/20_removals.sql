-- `generate` removes files that no row names, through Storage.

-- Storage deletes only through its own API, outside any transaction. Vacuum at 2 %: each task must skip the dead entries until it runs.
create table keyframe_private.file_removals (
  bucket text not null,
  name text not null,
  owner_id uuid not null default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  failures integer not null default 0,
  removed_by bigint,
  created_at timestamptz not null default now(),
  primary key (bucket, name)
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table keyframe_private.file_removals is 'Files to remove from Storage, retried until it works: Storage may be down for a day. Their work is a row of each owner.';
comment on column keyframe_private.file_removals.owner_id is 'The owner of the file. All-f, the default, means no owner.';
comment on column keyframe_private.file_removals.removed_by is 'The work that has begun to remove it: the file may already be gone.';
create index file_removals_owner_id_idx on keyframe_private.file_removals (owner_id, failures, bucket, name);
create index file_removals_created_at_idx on keyframe_private.file_removals (created_at);

-- Always a new row: a queued one may be read before this transaction commits.
create function keyframe_private.add_removal_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'remove', o.owner_id, o.owner_id, 'remove') from (select distinct a.owner_id from added a) o;
  return null;
end $$;

-- All names that its output can have: until a worker reports it, nobody else knows which one it wrote.
create function keyframe_private.output_names(prediction keyframe.predictions)
returns setof text language sql stable set search_path = '' as $$
  select format('%s/%s/%s.%s', prediction.owner_id, prediction.project_id, prediction.id, extension)
  from unnest(array[
    'png', 'jpg', 'webp', 'gif', 'avif', 'bmp', 'ico', 'mp4', 'webm', 'mkv', 'ogv', 'mp3', 'wav', 'flac', 'aac']) as extension
$$;

-- Without a scan of all elements, which Postgres prefers to their index: it expects that one in 200 has any image.
create function keyframe_private.is_reference_used(path text)
returns boolean language plpgsql stable set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (select from keyframe_private.prediction_images i where i.path = is_reference_used.path)
    or exists (select from keyframe.projects p where p.reference_image_path = is_reference_used.path)
    or exists (select from keyframe.elements e where e.image_paths @> array[is_reference_used.path])
    or exists (select from keyframe.predictions v where v.end_image_path = is_reference_used.path)
    or exists (
      select from keyframe.projects p
      where p.plan <> '{}' and keyframe_private.images_of_plan(p.plan) @> array[is_reference_used.path]);
end $$;

-- Called after a change of what used these images. An image that nothing uses is removed, so the change deletes it: raises if the caller is
-- a client that may not delete.
create function keyframe_private.require_may_remove(paths text[])
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may('manage')
    and exists (select from unnest(paths) i (path) where not keyframe_private.is_reference_used(i.path)) then
    perform keyframe_private.require_client_may('manage');
  end if;
end $$;

-- Adds removals of the files that a store may have written for a prediction that ended without its output.
create function keyframe_private.add_removals_of_partial_output(prediction uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  written keyframe.predictions;
begin
  select p.* into written from keyframe.predictions p where p.id = prediction;
  if not found then
    select s.prediction_id, s.owner_id, s.project_id, 'canceled' into written.id, written.owner_id, written.project_id, written.status
    from keyframe_private.provider_submits s where s.prediction_id = prediction limit 1;
  end if;
  if written.status in ('failed', 'canceled') then
    insert into keyframe_private.file_removals (bucket, name, owner_id)
    select 'keyframe-outputs', name, written.owner_id from keyframe_private.output_names(written) as name
    on conflict do nothing;
  end if;
end $$;

-- Adds removals of those of an owner's uploaded images that nothing uses. Under the lock that a first use takes: a new prediction with the
-- same image is either visible here, or finds the removal recorded.
create function keyframe_private.add_removals_of_unused(owner uuid, paths text[])
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('references', owner);
  insert into keyframe_private.file_removals (bucket, name, owner_id)
  select 'projects', keyframe_private.file_name_of(i.path), owner from unnest(paths) i (path) where not keyframe_private.is_reference_used(i.path)
  on conflict do nothing;
end $$;

create function keyframe_private.add_removals_of_deleted()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.file_removals (bucket, name, owner_id)
  select 'keyframe-outputs', d.output_path, d.owner_id from deleted d where d.output_path is not null
  on conflict do nothing;
  perform keyframe_private.add_removals_of_unused(u.owner_id, u.paths)
  from (
    select d.owner_id, array_agg(distinct i.path) as paths
    from deleted d
    cross join lateral (select o.path from keyframe_private.images_of(d.input) o union all select d.end_image_path) i
    where i.path is not null group by d.owner_id order by d.owner_id) u;
  return null;
end $$;

create function keyframe_private.add_removals_of_element_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_removals_of_unused(old.owner_id, old.image_paths);
  perform keyframe_private.require_may_remove(old.image_paths); -- under the lock: an open transaction may have stopped using one
  return null;
end $$;

create function keyframe_private.images_of_project(project keyframe.projects)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array_remove(keyframe_private.images_of_plan(project.plan) || project.reference_image_path, null);
end $$;

create function keyframe_private.add_removals_of_project_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_removals_of_unused(old.owner_id, keyframe_private.images_of_project(old));
  return null;
end $$;

create function keyframe_private.require_may_change_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.require_may_remove(array(
    select unnest(keyframe_private.images_of_project(old)) except select unnest(keyframe_private.images_of_project(new))));
  return null;
end $$;

-- For an image that a row begins to use: raises unless it is the owner's, and deletes its removal if it has one. Raises also if a worker has
-- begun that removal, because the file may already be gone.
create function keyframe_private.keep_reference(path text, owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.require_upload(path, owner);
  perform keyframe_private.acquire_lock('references', owner);
  delete from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = keyframe_private.file_name_of(path) and r.removed_by is null;
  perform keyframe_private.raise_if(
    exists (select from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = keyframe_private.file_name_of(path)), 'not_found',
    'This image is being removed because nothing used it. Upload it again.');
  perform keyframe_private.require_upload(path, owner); -- again, because it may have been removed before the lock
end $$;

create function keyframe_private.keep_reference_of_project()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if new.reference_image_path is distinct from old.reference_image_path then
    perform keyframe_private.keep_reference(new.reference_image_path, new.owner_id);
  end if;
  return new;
end $$;

create function keyframe_private.keep_element_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.keep_reference(i.path, new.owner_id) from unnest(new.image_paths) i (path)
  where new.owner_id is distinct from old.owner_id or array_position(old.image_paths, i.path) is null;
  return new;
end $$;

create function keyframe_worker.begin_removal(work_id bigint, lease_token uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  files jsonb;
begin
  with due as (
    select r.bucket, r.name, r.bucket = 'projects' and keyframe_private.is_reference_used('projects/' || r.name) as is_needed
    from keyframe_private.file_removals r
    where r.owner_id = leased.subject and (r.removed_by is null or not exists (
      select from keyframe_private.work w where w.id = r.removed_by and w.id <> leased.id and w.state = 'leased'))
    order by r.failures, r.bucket, r.name limit 100 for update skip locked
  ), kept as (
    delete from keyframe_private.file_removals r using due where due.is_needed and r.bucket = due.bucket and r.name = due.name
  ), begun as (
    update keyframe_private.file_removals r set removed_by = leased.id
    from due where not due.is_needed and r.bucket = due.bucket and r.name = due.name
    returning r.bucket, r.name
  )
  select jsonb_agg(jsonb_build_object('bucket', b.bucket, 'name', b.name) order by b.bucket, b.name) into files from begun b;
  if files is not null then
    return files;
  elsif exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then -- they are locked
    perform keyframe_private.reschedule(leased, now() + keyframe_private.retry_delay(1), leased.failures, leased.last_error);
  else
    perform keyframe_private.finish_work(leased);
  end if;
  return null;
end $$;
comment on function keyframe_worker.begin_removal is 'The next files of an owner to remove, at most 100: [{ bucket, name }]. Null: there are none. Leaves out files that are used again.';

create function keyframe_worker.record_files_removed(work_id bigint, lease_token uuid, refused jsonb default '[]')
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  update keyframe_private.file_removals r
  set removed_by = null, failures = r.failures + 1
  from jsonb_to_recordset(record_files_removed.refused) as f (bucket text, name text)
  where r.removed_by = leased.id and r.bucket = f.bucket and r.name = f.name;
  delete from keyframe_private.file_removals r where r.removed_by = leased.id and r.owner_id = leased.subject;
  if refused <> '[]' then
    perform keyframe_private.reschedule(leased, now() + keyframe_private.retry_delay(leased.failures + 1), leased.failures + 1, 'not_removed');
  elsif exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then
    perform keyframe_private.reschedule(leased, now(), 0, null);
  else
    perform keyframe_private.finish_work(leased);
  end if;
end $$;
comment on function keyframe_worker.record_files_removed is 'Records a task that removes files: refused ones are retried later. `refused`: a list of {bucket, name}.';

-- Adds removals of uploads that nothing uses: unused_references_after their upload, or when the owner's account is deleted. Reads the whole
-- list of images, because we cannot add an index to Storage's table: call it rarely.
create function keyframe_private.add_removals_of_unused_uploads(max_images integer default 1000)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  owner uuid;
  paths text[];
begin
  for owner, paths in
    select u.id, array_agg('projects/' || u.name) from (
      select o.id, b.name from storage.objects b
      cross join lateral (
        select case when keyframe_private.is_uuid(b.user_metadata ->> 'ownerId') then (b.user_metadata ->> 'ownerId')::uuid end as id) o
      where b.bucket_id = 'projects' and o.id is not null -- a file without a user's id is an administrator's and is kept
        and (
          b.created_at < now() - (select s.unused_references_after from keyframe_private.settings s)
          or not exists (select from auth.users a where a.id = o.id))
        and not keyframe_private.is_reference_used('projects/' || b.name)
        and not exists (select from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = b.name)
      -- in turn: an owner with thousands does not delay the others
      order by row_number() over (partition by o.id order by b.created_at)
      limit max_images) u
    group by u.id order by u.id
  loop
    continue when not keyframe_private.acquire_lock('references', owner, waits => false); -- an open transaction leaves them to the next run
    perform keyframe_private.add_removals_of_unused(owner, paths);
  end loop;
end $$;
