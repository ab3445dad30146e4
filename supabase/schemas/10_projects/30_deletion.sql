-- Deletions of projects. One with many predictions is deleted in parts.

create function keyframe_private.deleted_projects()
returns uuid[] language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.owner_id = auth.uid() and p.deleted_at is not null);
end $$;
comment on function keyframe_private.deleted_projects is 'The caller''s projects that are being deleted in parts.';

-- What runs would be paid for and thrown away. Administrators may, and so does the deletion of the account: then runs are cancelled.
create function keyframe_private.guard_project_deletion()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if auth.uid() is null or pg_trigger_depth() > 1 then
    return old;
  end if;
  -- The project is locked now: an earlier start has committed and is visible here; a later one finds no project.
  if exists (select from keyframe.predictions p where p.project_id = old.id and p.completed_at is null) then
    perform keyframe_private.raise_error(
      'generation_in_progress',
      'A generation of this project is still running. Cancel it or wait for its end, then delete the project.'
    );
  elsif exists (
    select from keyframe.predictions source
    join keyframe_private.prediction_images i on i.source_prediction_id = source.id
    join keyframe.predictions p on p.id = i.prediction_id
    where source.project_id = old.id and p.completed_at is null
  ) then
    perform keyframe_private.raise_error(
      'generation_in_progress',
      'A generation of another project that uses a frame of this one is still running. Cancel it or wait for its end, then delete the project.'
    );
  end if;
  return old;
end $$;

-- A user deletes more predictions than one request may: what is left of them and their projects is deleted in parts
-- (keyframe_private.delete_parts). From now on its owner does not see the project.
create function keyframe_private.delete_in_parts()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  before constant integer := coalesce(nullif(current_setting('keyframe.deleted_predictions', true), '')::integer, 0);
  more integer;
begin
  if auth.uid() is null or pg_trigger_depth() > 1 then
    return old;
  end if;
  more := (select count(*) from (select from keyframe.predictions p where p.project_id = old.id limit 1001 - before) n);
  if before + more <= 1000 then
    perform set_config('keyframe.deleted_predictions', (before + more)::text, true);
    return old;
  end if;
  update keyframe.projects p set deleted_at = now(), film_id = null where p.id = old.id;
  return null;
end $$;

-- Leaves out what others hold (a project that is being restored too) and what fails (set_aside).
create function keyframe_private.delete_parts(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  -- Project by project, the first deleted first, each from its index.
  perform keyframe_private.prune_rows('keyframe.predictions', 'o.id', format($w$o.id = any (array(
      select d.id from keyframe.projects p
      cross join lateral (
        select x.id from keyframe.predictions x
        where x.project_id = p.id and not keyframe_private.is_set_aside('prune', 'delete keyframe.predictions ' || x.id, now())
        limit %1$s for update skip locked) d
      where p.deleted_at is not null order by p.deleted_at limit %1$s for update of p skip locked))$w$, max_rows), max_rows);
  perform keyframe_private.prune_rows('keyframe.projects', 'o.id',
    'o.deleted_at is not null and not exists (select from keyframe.predictions p where p.project_id = o.id) order by o.deleted_at', max_rows);
end $$;
comment on function keyframe_private.delete_parts is 'Deletes a part of what users have deleted, and each project once it has no predictions left.';
