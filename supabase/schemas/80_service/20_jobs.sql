-- The jobs of pg_cron.

-- Every job: deployments schedule it, and health watches it (keyframe_private.job_figures). `late_after`: without a success for so long, it
-- does not work. With a time limit, because an app's trigger may sleep: the row at fault is set aside then.
create function keyframe_private.jobs()
returns table (name text, schedule text, command text, late_after interval) language sql immutable set search_path = '' as $$
  values
    ('keyframe-sweep', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.sweep()', interval '1 minute'),
    ('keyframe-delete-parts', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.delete_parts()', interval '1 minute'),
    ('keyframe-merge-costs', '5 seconds', 'set statement_timeout = ''20s''; select keyframe_private.merge_costs()', interval '1 minute'),
    -- Every minute: small batches then keep up with about 30 events a second.
    ('keyframe-prune', '* * * * *', 'set statement_timeout = ''20s''; select keyframe_private.prune()', interval '10 minutes'),
    ('keyframe-prune-references', '37 * * * *', 'select keyframe_private.queue_unused_references()', interval '3 hours'),
    ('keyframe-add-lost-deliveries', '53 * * * *', 'select keyframe_private.add_lost_deliveries()', interval '3 hours'),
    ('keyframe-prune-rates', '23 * * * *', 'select keyframe_private.prune_rate_buckets()', interval '3 hours'),
    ('keyframe-prune-cron', '17 * * * *',
      'delete from cron.job_run_details d using cron.job j
        where j.jobid = d.jobid and j.jobname like ''keyframe-%'' and d.end_time < now() - interval ''1 day''', interval '3 hours')
$$;
comment on function keyframe_private.jobs is 'The jobs that pg_cron runs for Keyframe.';

-- A schedule that an administrator has changed stays. cron.schedule leaves a job that is switched off switched off.
create function keyframe_private.schedule_jobs()
returns void language plpgsql volatile set search_path = '' as $$
declare
  job record;
begin
  for job in
    select j.name, j.command, coalesce(c.schedule, j.schedule) as schedule, c.jobid
    from keyframe_private.jobs() j left join cron.job c on c.jobname = j.name
    where c.jobid is null or not c.active or c.command <> j.command
  loop
    perform cron.unschedule(job.jobid); -- nothing for null
    perform cron.schedule(job.name, job.schedule, job.command);
  end loop;
end $$;
comment on function keyframe_private.schedule_jobs is 'Schedules the jobs that are missing, switched off or of another command.';

select keyframe_private.schedule_jobs();
