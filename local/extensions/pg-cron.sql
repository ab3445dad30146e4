-- Stand-in for the extension pg_cron (1.6), with the same schema, functions, tables and privileges. The worker that runs the
-- jobs is local/extensions/pg-cron-worker.ts. May be applied repeatedly; the data is kept.
create schema if not exists cron;

create sequence if not exists cron.jobid_seq;
create sequence if not exists cron.runid_seq;

create table if not exists cron.job (
  jobid bigint primary key default nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport integer not null default coalesce(inet_server_port(), 5432),
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

-- The values of one field of a schedule (*, numbers, ranges, lists, steps); null when it is malformed.
create or replace function cron._field_values(field text, lowest integer, highest integer) returns integer[]
language plpgsql immutable set search_path = '' as $$
declare
  part text;
  bounds text[];
  first integer;
  last integer;
  step integer;
  result integer[] := '{}';
begin
  foreach part in array pg_catalog.string_to_array(field, ',') loop
    bounds := pg_catalog.regexp_match(part, '^(?:(\*)|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?$');
    if bounds is null then
      return null;
    end if;
    first := coalesce(bounds[2]::integer, lowest);
    last := coalesce(bounds[3]::integer, case when bounds[1] is null and bounds[4] is null then first else highest end);
    step := coalesce(bounds[4]::integer, 1);
    if first < lowest or last > highest or first > last or step = 0 then
      return null;
    end if;
    result := result || array(select pg_catalog.generate_series(first, last, step));
  end loop;
  return case when pg_catalog.cardinality(result) > 0 then result end;
end
$$;

-- A schedule for the worker: {"seconds": n}, or the values of the five fields (day 0 is the month's last, weekday 0 is
-- Sunday; anyDay, anyWeekday: the field began with *). Null when it is malformed.
create or replace function cron._parse_schedule(schedule text) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
  seconds text := pg_catalog.substring(schedule, '^\s*([1-9]|[1-5][0-9])\s+seconds?\s*$');
  fields text[] := pg_catalog.regexp_split_to_array(pg_catalog.btrim(schedule), '\s+');
  minutes integer[];
  hours integer[];
  days integer[];
  months integer[];
  weekdays integer[];
begin
  if seconds is not null then
    return pg_catalog.jsonb_build_object('seconds', seconds::integer);
  end if;
  if pg_catalog.cardinality(fields) <> 5 then
    return null;
  end if;
  minutes := cron._field_values(fields[1], 0, 59);
  hours := cron._field_values(fields[2], 0, 23);
  days := case when fields[3] = '$' then array[0] else cron._field_values(fields[3], 1, 31) end;
  months := cron._field_values(fields[4], 1, 12);
  weekdays := cron._field_values(fields[5], 0, 7);
  if minutes is null or hours is null or days is null or months is null or weekdays is null then
    return null;
  end if;
  return pg_catalog.jsonb_build_object(
    'minutes', minutes, 'hours', hours, 'days', days, 'months', months,
    'weekdays', pg_catalog.array_replace(weekdays, 7, 0),
    'anyDay', fields[3] like '*%', 'anyWeekday', fields[5] like '*%');
end
$$;

-- Only the owner may write cron.job, but a security definer function does not know its caller. So a call is an insert into
-- this view: the default of "caller" is evaluated as the caller, who has no right to set it, and the trigger runs as the
-- owner. The view stores nothing.
create or replace view cron._calls as
  select null::text as caller, null::text as verb, null::bigint as jobid, null::text as jobname, null::text as schedule,
    null::text as command, null::boolean as active
  where false;
alter view cron._calls alter column caller set default current_user;

create or replace function cron._apply_call() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.schedule is not null and cron._parse_schedule(new.schedule) is null then
    raise exception 'invalid schedule: %', new.schedule using
      errcode = 'invalid_parameter_value',
      hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''';
  end if;
  case new.verb
    when 'schedule' then
      insert into cron.job as job (jobname, schedule, command, username)
      values (new.jobname, new.schedule, new.command, new.caller)
      on conflict on constraint jobname_username_uniq
        do update set schedule = excluded.schedule, command = excluded.command
      returning job.jobid into new.jobid;
    when 'alter' then
      update cron.job as job set
        schedule = coalesce(new.schedule, job.schedule),
        command = coalesce(new.command, job.command),
        active = coalesce(new.active, job.active)
      where job.jobid = new.jobid and job.username = new.caller;
      if not found then
        raise exception 'Job % does not exist or you don''t own it', new.jobid;
      end if;
    when 'unschedule' then
      delete from cron.job as job
      where (job.jobid = new.jobid or job.jobname = new.jobname) and job.username = new.caller;
      if not found then
        raise exception 'could not find valid entry for job ''%''', coalesce(new.jobname, new.jobid::text);
      end if;
  end case;
  return new;
end
$$;
create or replace trigger apply_call instead of insert on cron._calls
  for each row execute function cron._apply_call();

create or replace function cron.schedule(job_name text, schedule text, command text) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  id bigint;
begin
  if job_name is null or schedule is null or command is null then
    raise exception 'job_name, schedule and command can not be NULL';
  end if;
  insert into cron._calls (verb, jobname, schedule, command)
  values ('schedule', job_name, schedule.schedule, schedule.command) returning jobid into id;
  return id;
end
$$;

create or replace function cron.schedule(schedule text, command text) returns bigint
language sql volatile strict set search_path = '' as $$
  insert into cron._calls (verb, schedule, command) values ('schedule', $1, $2) returning jobid
$$;

create or replace function cron.unschedule(job_name text) returns boolean
language sql volatile strict set search_path = '' as $$
  insert into cron._calls (verb, jobname) values ('unschedule', job_name) returning true
$$;

create or replace function cron.unschedule(job_id bigint) returns boolean
language sql volatile strict set search_path = '' as $$
  insert into cron._calls (verb, jobid) values ('unschedule', job_id) returning true
$$;

-- A job keeps its database and user, because only the worker of this database can run it.
create or replace function cron.alter_job(
  job_id bigint,
  schedule text default null,
  command text default null,
  database text default null,
  username text default null,
  active boolean default null
) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if coalesce(alter_job.database, pg_catalog.current_database()) <> pg_catalog.current_database()
    or coalesce(alter_job.username, current_user) <> current_user then
    raise exception 'another database or user for a job is not supported by this stand-in for pg_cron'
      using errcode = 'feature_not_supported';
  end if;
  insert into cron._calls (verb, jobid, schedule, command, active)
  values ('alter', job_id, alter_job.schedule, alter_job.command, alter_job.active);
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
grant insert (verb, jobid, jobname, schedule, command, active), select on cron._calls to public;
revoke all on function cron.alter_job(bigint, text, text, text, text, boolean) from public;

-- The hosted platform gives only postgres access to the schema.
grant usage on schema cron to postgres;
grant execute on all functions in schema cron to postgres;
