-- Removes Keyframe from the database: every project, prediction, film's row and event, the jobs with their log, policies and Vault entries.
-- It refuses, and changes nothing, if something of the app would go too: a view, a function, a foreign key, a column of a type of ours. A
-- bucket of ours with files stays, because SQL may not delete files: empty and delete it in Studio.
-- The schemas keyframe and keyframe_worker stay, empty: while the Data API exposes a schema that does not exist, it answers every request of
-- the app with 503 (PGRST002). Once they are no longer exposed, drop them: drop schema keyframe, keyframe_worker.

do $$
declare
  -- Objects of the app that may go, as the error below names them.
  allowed text[] := '{}';
  lost text[];
  schema_name text;
  mark constant text := 'Left empty by the removal of Keyframe. Drop it when the Data API no longer exposes it.';
  -- True even if some of Keyframe's schemas are lost.
  is_here constant boolean := exists (
    select from pg_catalog.pg_namespace n
    where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')
      and pg_catalog.obj_description(n.oid, 'pg_namespace') is distinct from mark);
  -- Whole names are compared: the app may have jobs and secrets whose names begin like ours.
  our_jobs constant text[] := '{keyframe-sweep,keyframe-delete-parts,keyframe-merge-costs,keyframe-prune,keyframe-remove-unused-uploads,keyframe-add-lost-work,keyframe-prune-rates,keyframe-prune-cron}';
  our_secrets constant text := '^keyframe_(functions_url|kick_secret|webhook_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$';
  job record;
begin
  if to_regclass('cron.job') is not null then
    for job in select j.jobid, j.jobname, j.username from cron.job j where j.jobname = any (our_jobs) loop
      begin
        perform cron.unschedule(job.jobid);
      exception when others then
        raise exception 'Keyframe is not removed, because its job % is of the role %: as that role or a superuser, select cron.unschedule(%), then run this again (%).',
          job.jobname, job.username, job.jobid, sqlerrm;
      end;
      delete from cron.job_run_details d where d.jobid = job.jobid;
    end loop;
  end if;
  drop policy if exists keyframe_references_select_owner on storage.objects;
  drop policy if exists keyframe_outputs_select_owner on storage.objects;
  drop policy if exists keyframe_files_all_client on storage.objects;
  drop policy if exists keyframe_files_insert_nobody on storage.objects;
  drop policy if exists keyframe_files_update_nobody on storage.objects;
  drop policy if exists keyframe_files_delete_nobody on storage.objects;

  -- If the migrations stand in the folder again behind this one, they refuse a database that has the buckets.
  if is_here then
    begin
      perform set_config('storage.allow_delete_query', 'true', true);
      delete from storage.buckets b where b.id in ('projects', 'keyframe-outputs')
        and not exists (select from storage.objects o where o.bucket_id = b.id);
    exception when foreign_key_violation or insufficient_privilege then
      raise notice 'The buckets projects and keyframe-outputs stay (%).', sqlerrm; -- as with an upload that has begun
    end;
    perform set_config('storage.allow_delete_query', 'false', true);
  end if;

  -- Postgres itself decides what "cascade" takes: the app's objects are listed before it and looked for after it.
  -- What stands on a table of ours is ours, except a trigger with a function of the app and a publication of the app.
  create temporary table keyframe_objects as
    select d.classid, d.objid, d.objsubid, coalesce(min(c.type || ' ' || c.identity), o.type || ' ' || o.identity) as name,
      coalesce(min(format('%s %s %s', d.refclassid, d.refobjid, d.refobjsubid)) filter (where c.type is not null),
        format('%s %s %s', d.classid, d.objid, d.objsubid)) as id,
      -- A partition is a part of its table, but it has data, so it is named too.
      array_agg(format('%s %s %s', d.refclassid, d.refobjid, d.refobjsubid)) filter (where d.deptype = 'a' and o.type !~ 'table$')
        || case when d.objsubid > 0 then format('%s %s 0', d.classid, d.objid) end as part_of
    from pg_catalog.pg_depend d cross join lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) o
      -- The expression of a generated column is an internal part of it, and takes the column along.
      left join lateral pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) c
        on d.deptype = 'i' and d.classid = 'pg_catalog.pg_attrdef'::regclass
    where d.classid <> 0
      and o.type not in ('schema', 'default acl')
      and coalesce(o.schema, '') !~ '^(keyframe(_private|_worker)?$|pg_toast|pg_temp)'
      and (o.identity !~ '(^|^for | on )keyframe(_private|_worker)?\.'
        or o.identity ~ ' in publication (?!supabase_realtime$)'
        or o.type = 'trigger' and (select p.pronamespace::regnamespace::text !~ '^(keyframe(_private|_worker)?|pg_catalog)$'
          from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid where t.oid = d.objid))
    group by d.classid, d.objid, d.objsubid, o.type, o.identity
    having not bool_or(d.deptype = 'i') or d.classid = 'pg_catalog.pg_attrdef'::regclass;

  drop schema if exists keyframe, keyframe_worker, keyframe_private cascade;
  foreach schema_name in array '{keyframe,keyframe_worker}'::text[] loop
    execute format('create schema %I', schema_name);
    execute format('comment on schema %I is %L', schema_name, mark);
  end loop;
  if to_regclass('vault.secrets') is not null then
    delete from vault.secrets s where s.name ~ our_secrets;
  end if;

  delete from pg_temp.keyframe_objects o using pg_catalog.pg_depend d
  where (d.classid, d.objid, d.objsubid) = (o.classid, o.objid, o.objsubid);
  select array_agg(distinct o.name order by o.name) into lost from pg_temp.keyframe_objects o
  where o.name <> all (allowed)
    -- An index of a dropped column goes with it, unnamed.
    and not exists (select from pg_temp.keyframe_objects whole where whole.id = any (o.part_of));
  drop table pg_temp.keyframe_objects;
  if lost is not null then
    raise exception e'Keyframe is not removed, because these of the app would go with it:\n- %\nChange or drop them in a migration of your own and run remove --yes again, which puts this one behind it, or let them go, by name: remove --yes%',
      array_to_string(lost, e'\n- '), (select string_agg(' --drop ''' || replace(name, '''', '''\''''') || '''', '' order by name) from unnest(lost) name);
  end if;
end
$$;
