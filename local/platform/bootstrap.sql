-- Exactly the roles, schemas and rights of a hosted project before its first migration (compared with migrations/db of
-- github.com/supabase/postgres), so that a migration that works here also works there.
-- A superuser runs it, and may repeat it. The tables of Auth and Storage follow, see bootstrap-platform.ts.

-- Roles -------------------------------------------------------------------------------------------------------------

do $$
declare
  required record;
begin
  for required in
    select * from (values
      ('anon', 'nologin noinherit'),
      ('authenticated', 'nologin noinherit'),
      ('service_role', 'nologin noinherit bypassrls'),
      ('authenticator', 'login noinherit'),
      ('supabase_auth_admin', 'login noinherit'),
      ('supabase_storage_admin', 'login noinherit createrole'),
      -- The role is no superuser, as hosted, so that a migration that needs one also fails here.
      ('postgres', 'login createdb createrole bypassrls replication')
    ) as roles (name, options)
  loop
    if not exists (select from pg_roles where rolname = required.name) then
      execute format('create role %I %s', required.name, required.options);
    elsif required.options like '% bypassrls%' and not (select rolbypassrls from pg_roles where rolname = required.name) then
      -- The role may come from another database of this server.
      execute format('alter role %I bypassrls', required.name);
    end if;
  end loop;
end
$$;

grant anon, authenticated, service_role to authenticator;
-- The settings are those of the hosted platform. What an administrator has set stays.
do $$
declare
  of_role record;
begin
  for of_role in
    select * from (values ('authenticator', '8s'), ('anon', '3s'), ('authenticated', '8s')) as limits (name, statement_timeout)
  loop
    if not exists (
      select from pg_roles r, unnest(r.rolconfig) s where r.rolname = of_role.name and s like 'statement_timeout=%') then
      execute format('alter role %I set statement_timeout = %L', of_role.name, of_role.statement_timeout);
    end if;
  end loop;
end
$$;
grant authenticator to supabase_storage_admin;
alter role supabase_auth_admin set search_path to auth;
alter role supabase_storage_admin set search_path to storage;

do $$
begin
  if not (select rolsuper from pg_roles where rolname = 'postgres') then
    grant anon, authenticated, service_role to postgres with admin option;
    grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres;
    alter role postgres set search_path to "$user", public, extensions;
    if (select datdba = (select oid from pg_roles where rolname = current_user) from pg_database where datname = current_database()) then
      execute format('alter database %I owner to postgres', current_database());
    end if;
    execute format('grant all on database %I to postgres', current_database());
  end if;
end
$$;

-- Schemas -----------------------------------------------------------------------------------------------------------

create schema if not exists extensions authorization postgres;
create schema if not exists auth authorization supabase_auth_admin;
create schema if not exists storage authorization supabase_storage_admin;

do $$
begin
  if not exists (select from pg_extension where extname = 'pgcrypto') then
    create extension pgcrypto with schema extensions;
  end if;
  if exists (select from pg_available_extensions where name = 'uuid-ossp')
    and not exists (select from pg_extension where extname = 'uuid-ossp') then
    create extension "uuid-ossp" with schema extensions;
  end if;
end
$$;

grant usage on schema public, extensions, auth, storage to anon, authenticated, service_role;
grant all on schema public, extensions to postgres;
grant usage on schema auth, storage to postgres;

-- As hosted, the API roles have all rights on what postgres creates in public, until a migration revokes them. Without these
-- defaults a missing revoke would pass every local test. They are set only at the first start: a migration may change them.
do $$
begin
  if to_regnamespace('supabase_migrations') is null then
    alter default privileges for role postgres in schema public grant all on tables to postgres, anon, authenticated, service_role;
    alter default privileges for role postgres in schema public grant all on functions to postgres, anon, authenticated, service_role;
    alter default privileges for role postgres in schema public grant all on sequences to postgres, anon, authenticated, service_role;
    alter default privileges in schema public grant all on tables to postgres, anon, authenticated, service_role;
    alter default privileges in schema public grant all on functions to postgres, anon, authenticated, service_role;
    alter default privileges in schema public grant all on sequences to postgres, anon, authenticated, service_role;
  end if;
end
$$;

-- Policies on tables of Auth and Storage ------------------------------------------------------------------------------

-- postgres does not own these tables. Hosted, supautils (setting policy_grants) still lets it write policies on them, and
-- nothing else. Here the role is a member of the owners while such a statement runs.
create or replace function extensions.grant_policies() returns event_trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_event = 'ddl_command_start' then
    grant supabase_auth_admin, supabase_storage_admin to postgres;
  else
    revoke supabase_auth_admin, supabase_storage_admin from postgres;
  end if;
end
$$;

drop event trigger if exists grant_policies_start;
drop event trigger if exists grant_policies_end;
do $$
begin
  if not (select rolsuper from pg_roles where rolname = 'postgres') then
    create event trigger grant_policies_start on ddl_command_start
      when tag in ('CREATE POLICY', 'ALTER POLICY', 'DROP POLICY') execute function extensions.grant_policies();
    create event trigger grant_policies_end on ddl_command_end
      when tag in ('CREATE POLICY', 'ALTER POLICY', 'DROP POLICY') execute function extensions.grant_policies();
  end if;
end
$$;

-- Realtime ----------------------------------------------------------------------------------------------------------

do $$
begin
  if not exists (select from pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
    alter publication supabase_realtime owner to postgres;
  end if;
end
$$;

-- The REST layer caches the schema; a change notifies it to reload.
create or replace function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql set search_path = '' as $$
begin
  notify pgrst, 'reload schema';
end
$$;

drop event trigger if exists pgrst_ddl_watch;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
drop event trigger if exists pgrst_drop_watch;
create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_ddl_watch();
