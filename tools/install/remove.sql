-- Removes Keyframe from the database: every project, prediction, film's row and event, the jobs, policies and Vault entries.
-- The buckets projects and keyframe-outputs stay, because SQL may not delete files: empty and delete them in Studio (Storage).

select cron.unschedule(jobname) from cron.job where jobname like 'keyframe-%';
drop policy if exists keyframe_references_select_owner on storage.objects;
drop policy if exists keyframe_references_insert_owner on storage.objects;
drop policy if exists keyframe_outputs_select_owner on storage.objects;
drop schema if exists keyframe, keyframe_worker, keyframe_private cascade;
delete from vault.secrets where name like 'keyframe\_%';
