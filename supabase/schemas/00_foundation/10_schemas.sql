-- Extensions, and three schemas of our own. Nothing is created in public.

-- A removal leaves these two (tools/install/remove.sql). Without cascade: objects that the app has added there stop the migration.
do $$
declare
  left_empty text;
begin
  for left_empty in
    select n.nspname from pg_namespace n
    where n.nspname in ('keyframe', 'keyframe_worker') and obj_description(n.oid, 'pg_namespace') like 'Left empty by the removal of Keyframe%'
  loop
    execute format('drop schema %I', left_empty);
  end loop;
end $$;

-- Keyframe never changes existing objects: a schema or a bucket with one of our names stops the migration before anything is written. All
-- of it is in the message: the Supabase CLI prints no hint.
do $$
declare
  schemas text := (
    select string_agg(format('"%s"', n.nspname), ', ') from pg_namespace n where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private'));
  buckets text := (select string_agg(b.id, ', ') from storage.buckets b where b.id in ('projects', 'keyframe-outputs'));
begin
  if to_regclass('keyframe_private.installation') is not null then
    raise exception 'This database already has Keyframe, but its migration history does not say so. Repair the history: supabase migration repair <the number in the name of this file> --status applied --remote=<ref>';
  elsif schemas is not null then
    raise exception 'The schema % already exists. If it is your app''s, rename it, or give Keyframe a project of its own. If another schema of an existing Keyframe was lost, restore a backup, or remove the rest with tools/install/remove.sql (docs/deploy.md).', schemas;
  elsif buckets is not null then
    raise exception 'The bucket % exists already. Keyframe keeps its files in buckets named projects and keyframe-outputs. Rename yours, or give Keyframe a project of its own. If it remains from a removed Keyframe, empty and delete it in Studio (Storage).', buckets;
  end if;
end $$;

-- pg_net, pg_cron and Vault may exist already under these schema names: the hosted platform preinstalls some of them.
do $$
begin
  if to_regnamespace('net') is null then
    create extension pg_net with schema extensions; -- in public it would be one of the advisors' warnings
  end if;
  if to_regnamespace('cron') is null then
    create extension pg_cron with schema pg_catalog;
  end if;
  if to_regnamespace('vault') is null then
    create extension supabase_vault cascade;
  end if;
end $$;

-- No default privilege changes, so the tables of an app in the same project keep theirs.
create schema keyframe;
comment on schema keyframe is 'Keyframe: projects, predictions, models and webhooks, and the functions that users call. Exposed through the Data API.';

create schema keyframe_worker;
comment on schema keyframe_worker is 'Keyframe: the functions that workers and api call with the secret key only. Exposed through the Data API, for service_role only.';

create schema keyframe_private;
comment on schema keyframe_private is 'Keyframe: settings, limits, internals, and the administrators'' views. Never exposed through the Data API.';
