-- Deployments schedule every job, and health watches it (job_figures). `late_after`: after this time without a success, it is late. Each has
-- a time limit, because an app's trigger may sleep. pg_cron's background workers do not enforce it, but batches check it (is_out_of_time).
create function keyframe_private.jobs()
returns table (name text, schedule text, command text, late_after interval) language sql immutable set search_path = '' as $$
  select j.name, j.schedule, 'set statement_timeout = ''' || j.time_limit || '''; ' || j.command, j.late_after::interval
  from (values
    ('keyframe-sweep', '5 seconds', '20s', 'select keyframe_private.sweep()', '1 minute'),
    ('keyframe-delete-parts', '5 seconds', '20s', 'select keyframe_private.delete_parts()', '1 minute'),
    ('keyframe-merge-costs', '5 seconds', '20s', 'select keyframe_private.merge_costs()', '1 minute'),
    -- Every minute: small batches then keep up with about 30 events a second.
    ('keyframe-prune', '* * * * *', '20s', 'select keyframe_private.prune()', '10 minutes'),
    ('keyframe-remove-unused-uploads', '37 * * * *', '2min', 'select keyframe_private.add_removals_of_unused_uploads()', '3 hours'),
    ('keyframe-add-lost-work', '53 * * * *', '2min', 'select keyframe_private.add_other_lost_work()', '3 hours'),
    ('keyframe-prune-rates', '23 * * * *', '2min', 'select keyframe_private.prune_rate_buckets()', '3 hours'),
    ('keyframe-prune-cron', '17 * * * *', '2min',
      'delete from cron.job_run_details d using cron.job j
        where j.jobid = d.jobid and j.jobname in (select w.name from keyframe_private.jobs() w)
          and (d.end_time < now() - interval ''1 day'' or d.status = ''failed'' and d.end_time is null)', '3 hours')
  ) j (name, schedule, time_limit, command, late_after)
$$;

-- The entries of each job in pg_cron, with the reason why an entry does not run in this database (null: it runs). pg_cron runs an entry as
-- its role, in its database, and connects to its node unless it uses background workers. A restored or renamed database keeps entries of
-- the former one. Two entries of one name have two roles.
create function keyframe_private.scheduled_jobs()
returns table (name text, schedule text, command text, late_after interval, jobid bigint, role text, obstacle text)
language sql stable set search_path = '' as $$
  select w.name, coalesce(c.schedule, w.schedule), w.command, w.late_after, c.jobid, o.owner,
    case
      when c.jobid is null then 'missing'
      when c.username <> o.owner then format('as entry %s of the role %s, not of %s', c.jobid, c.username, o.owner)
      when not c.active then 'switched off'
      when c.command <> w.command then 'with another command'
      when c.database <> current_database() then format('in the database %s, not in %s', c.database, current_database())
      when coalesce(current_setting('cron.use_background_workers', true), 'off') <> 'on'
          and (c.nodename, c.nodeport) <> (coalesce(nullif(current_setting('cron.host', true), ''), 'localhost'), current_setting('port')::integer)
        then format('at the server %s:%s, not at this one', c.nodename, c.nodeport)
    end
  from keyframe_private.jobs() w
  cross join (
    select pg_catalog.pg_get_userbyid(n.nspowner)::text as owner from pg_catalog.pg_namespace n where n.nspname = 'keyframe_private') o
  left join cron.job c on c.jobname = w.name
$$;

-- Makes each job run here. An entry that runs stays as it is, also with a schedule that an administrator has changed. Every other one is
-- removed, also one that is switched off (cron.schedule would change it, but not switch it on), and a job without an entry that runs is
-- scheduled, by the role of the migrations even if a superuser calls. Returns the entries that the caller may not remove.
create function keyframe_private.schedule_jobs()
returns text[] language plpgsql volatile set search_path = '' as $$
declare
  caller constant text := current_setting('role');
  entries constant jsonb := (select jsonb_agg(to_jsonb(j)) from keyframe_private.scheduled_jobs() j);
  kept text[] := '{}';
  entry record;
begin
  for entry in
    select e.* from jsonb_to_recordset(entries) as e (name text, jobid bigint, obstacle text) where e.obstacle is not null and e.jobid is not null
  loop
    begin
      perform cron.unschedule(entry.jobid);
    exception when others then
      kept := kept || format('%s is there %s: as that role or a superuser, select cron.unschedule(%s);', entry.name, entry.obstacle, entry.jobid);
    end;
  end loop;
  for entry in
    select distinct on (e.name) e.* from jsonb_to_recordset(entries) as e (name text, schedule text, command text, role text, obstacle text)
    order by e.name, e.obstacle is not null
  loop
    if entry.obstacle is not null then
      perform set_config('role', entry.role, true);
      perform cron.schedule(entry.name, entry.schedule, entry.command);
      perform set_config('role', caller, true);
    end if;
  end loop;
  return kept;
end $$;

-- Health names the entries that this could not remove.
select keyframe_private.schedule_jobs();
