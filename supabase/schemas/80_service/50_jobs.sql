-- The jobs of pg_cron. `npm run deploy` schedules those that a database lacks.

select cron.schedule('keyframe-sweep', '5 seconds', 'select keyframe_private.sweep()');
select cron.schedule('keyframe-delete-parts', '5 seconds', 'select keyframe_private.delete_parts()');
select cron.schedule('keyframe-merge-costs', '5 seconds', 'select keyframe_private.merge_costs()');
-- Every minute: small batches then keep up with about 30 events a second.
select cron.schedule('keyframe-prune', '* * * * *', 'select keyframe_private.prune()');
select cron.schedule('keyframe-prune-references', '37 * * * *', 'select keyframe_private.queue_unused_references()');
select cron.schedule('keyframe-prune-rates', '23 * * * *', 'select keyframe_private.prune_rate_buckets()');
select cron.schedule('keyframe-prune-cron', '17 * * * *',
  'delete from cron.job_run_details d using cron.job j
    where j.jobid = d.jobid and j.jobname like ''keyframe-%'' and d.end_time < now() - interval ''1 day''');
