-- Stand-in for the extension pg_cron (1.6): what Keyframe and its tests use of it, with the same tables and privileges. The worker that
-- runs the jobs is local/extensions/pg-cron-worker.ts. May be applied repeatedly; the data is kept.
create schema if not exists cron;

create sequence if not exists cron.jobid_seq;
create sequence if not exists cron.runid_seq;

create table if not exists cron.job (
  jobid bigint primary key default nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport integer not null default current_setting('port')::integer,
  database text not null default current_database(),
  username text not null default current_user,
  active boolean not null default true,
  jobname text,
  constraint jobname_username_uniq unique (jobname, username)
);

create table if not exists cron.job_run_details (
  jobid bigint,
  runid bigint primary key default nextval('cron.runid_seq'),
  job_pid integer,
  database text,
  username text,
  command text,
  status text,
  return_message text,
  start_time timestamptz,
  end_time timestamptz
);

-- The worker connects where the data are, which may be at another port than before.
update cron.job set nodeport = current_setting('port')::integer where nodeport <> current_setting('port')::integer;

alter table cron.job enable row level security;
alter table cron.job_run_details enable row level security;
do $$
begin
  if not exists (select from pg_policies where schemaname = 'cron') then
    create policy cron_job_policy on cron.job using (username = current_user);
    create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);
  end if;
end
$$;

-- In a function with its owner's rights, current_user is the owner.
create or replace function cron._caller() returns text
language sql stable set search_path = '' as $$
  select case pg_catalog.current_setting('role') when 'none' then session_user::text else pg_catalog.current_setting('role') end
$$;

-- Only these functions write cron.job, as in the extension.
create or replace function cron.schedule(job_name text, schedule text, command text) returns bigint
language plpgsql volatile security definer set search_path = '' as $$
declare
  id bigint;
  element constant text := '(\*|\d{1,2}(-\d{1,2})?)(/\d{1,2})?';
  field constant text := pg_catalog.format('%s(,%s)*', element, element);
begin
  -- What follows five fields is ignored, as by the extension. Numbers are checked only in an interval of seconds. The extension's last day of
  -- the month ($) is not known here.
  if $2 !~ '^\s*([1-9]|[1-5][0-9])\s+seconds?\s*$' and $2 !~ pg_catalog.format('^\s*%s(\s+%s){4}(\s.*)?$', field, field) then
    raise exception 'invalid schedule: %', $2 using
      errcode = 'invalid_parameter_value',
      hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
  end if;
  insert into cron.job as job (jobname, schedule, command, username) values ($1, $2, $3, cron._caller())
  on conflict on constraint jobname_username_uniq do update set schedule = excluded.schedule, command = excluded.command
  returning job.jobid into id;
  return id;
end
$$;

create or replace function cron.unschedule(job_name text) returns boolean
language plpgsql volatile strict security definer set search_path = '' as $$
begin
  delete from cron.job j where j.jobname = job_name and j.username = cron._caller();
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_name;
  end if;
  return true;
end
$$;

create or replace function cron.unschedule(job_id bigint) returns boolean
language plpgsql volatile strict security definer set search_path = '' as $$
begin
  delete from cron.job j
  where j.jobid = job_id and (j.username = cron._caller() or (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = cron._caller()));
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_id;
  end if;
  return true;
end
$$;

create or replace function cron.job_cache_invalidate() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform pg_catalog.pg_notify('pg_cron', '');
  return null;
end
$$;
create or replace trigger cron_job_cache_invalidate
  after insert or update or delete or truncate on cron.job
  for each statement execute function cron.job_cache_invalidate();

grant select on cron.job, cron.job_run_details to public;
grant delete on cron.job_run_details to public;
