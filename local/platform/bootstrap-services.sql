-- What the hosted platform adds to the tables of Auth and Storage: helper functions, rights and guards. A superuser runs it after those
-- tables exist. It may run repeatedly.

-- The caller, for policies. The claims are one JSON document or one setting per claim.
create or replace function auth.uid() returns uuid language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')
  )::uuid
$$;

create or replace function auth.role() returns text language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.role', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role')
  )::text
$$;

create or replace function auth.email() returns text language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.email', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email')
  )::text
$$;

create or replace function auth.jwt() returns jsonb language sql stable as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')
  )::jsonb
$$;

-- Only the Storage API may delete rows, because it also removes the files.
create or replace function storage.protect_delete() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('storage.allow_delete_query', true), 'false') != 'true' then
    raise exception 'Direct deletion from storage tables is not allowed. Use the Storage API instead.'
      using hint = 'This prevents accidental data loss from orphaned objects.', errcode = '42501';
  end if;
  return null;
end
$$;

create or replace trigger protect_objects_delete before delete on storage.objects
  for each statement execute function storage.protect_delete();
create or replace trigger protect_buckets_delete before delete on storage.buckets
  for each statement execute function storage.protect_delete();

-- lite writes only an upload's own metadata. The sender's are put into them, so one statement writes both, as hosted (storage-files.ts).
create or replace function storage.split_metadata() returns trigger language plpgsql as $$
begin
  new.user_metadata := new.metadata -> 'userMetadata';
  new.metadata := new.metadata - 'userMetadata';
  return new;
end
$$;

create or replace trigger split_objects_metadata before insert or update on storage.objects
  for each row when (new.metadata ? 'userMetadata') execute function storage.split_metadata();

do $$
declare
  item record;
begin
  for item in
    select format('%I.%I', n.nspname, c.relname) as name, n.nspname as schema
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('auth', 'storage') and c.relkind in ('r', 'p')
  loop
    execute format('alter table %s owner to %I', item.name, 'supabase_' || item.schema || '_admin');
    execute format('alter table %s enable row level security', item.name);
  end loop;
  for item in
    select p.oid::regprocedure as name, n.nspname as schema
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('auth', 'storage')
  loop
    execute format('alter function %s owner to %I', item.name, 'supabase_' || item.schema || '_admin');
  end loop;
end
$$;

grant all on all tables in schema auth to postgres;
grant execute on all functions in schema auth to postgres, anon, authenticated, service_role;
grant all on storage.buckets, storage.objects to postgres, anon, authenticated, service_role;
grant execute on all functions in schema storage to postgres, anon, authenticated, service_role;
