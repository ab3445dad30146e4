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

-- Takes them from every role that the defaults of this database can have given them to: rights from default privileges cannot be revoked
-- for one schema. Rights that an administrator gave to another role stay.
create function keyframe_private.revoke_all_rights()
returns void language plpgsql volatile set search_path = '' as $$
declare
  ours text := 'keyframe, keyframe_worker, keyframe_private';
  named text := (
    select string_agg(distinct format('%I', r.rolname), ', ')
    from pg_catalog.pg_roles r
    where r.rolname <> current_user and (
      r.rolname in ('anon', 'authenticated', 'service_role')
      or r.oid in (
        select a.grantee from pg_catalog.pg_default_acl d cross join pg_catalog.aclexplode(d.defaclacl) a
        where d.defaclrole = current_user::regrole and d.defaclnamespace = 0)));
  enumeration regtype;
begin
  execute format('revoke all on schema %s from public, %s cascade', ours, named);
  execute format('revoke all on all tables in schema %s from public, %s cascade', ours, named); -- with their columns
  execute format('revoke all on all sequences in schema %s from public, %s cascade', ours, named);
  execute format('revoke all on all routines in schema %s from public, %s cascade', ours, named);
  for enumeration in
    select t.oid from pg_catalog.pg_type t
    where t.typnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and t.typtype in ('e', 'd')
  loop
    execute format('revoke all on type %s from %s cascade', enumeration, named); -- public may name a type, by default
  end loop;
end $$;
