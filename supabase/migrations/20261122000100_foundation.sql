-- The foundation: extensions, schemas without default rights, errors, checks of texts, settings.

-- Keyframe never changes what an app has made. An existing schema or policy of the same name stops its migration; existing
-- buckets are checked here, before anything is written.
do $$
declare
  taken text := (select string_agg(b.id, ', ') from storage.buckets b where b.id in ('projects', 'keyframe-outputs'));
begin
  if taken is not null then
    -- All in the message: the Supabase CLI prints no hint.
    raise exception 'The bucket % exists already. Keyframe keeps its files in buckets named projects and keyframe-outputs. Rename yours, or give Keyframe a project of its own. If it is left of a removed Keyframe: empty and delete it in Studio (Storage).', taken;
  end if;
end
$$;

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
end
$$;

-- Three schemas of our own, with no rights but those that a migration grants. Nothing is created in public and no default
-- privilege changes, so the tables of an app in the same project keep theirs.
create schema keyframe;
comment on schema keyframe is 'Keyframe: projects, predictions, models and webhooks, and the functions that users call. Exposed through the Data API.';
grant usage on schema keyframe to anon, authenticated, service_role;

create schema keyframe_worker;
comment on schema keyframe_worker is 'Keyframe: the functions that its workers call with the secret key. Exposed through the Data API, for service_role only.';
grant usage on schema keyframe_worker to service_role;

create schema keyframe_private;
comment on schema keyframe_private is 'Keyframe: settings, limits, internals, and the administrators'' views. Never exposed through the Data API.';
grant usage on schema keyframe_private to authenticated, service_role;

-- Takes all rights on our schemas and on what is in them from every role that the defaults of this database can have given them to,
-- for example after `alter default privileges grant all on tables to anon`. No default can be revoked for one schema only.
-- The last migration of each version calls it and then grants what the migrations have granted. Rights that an administrator has
-- given to another role stay.
create function keyframe_private.revoke_all_rights()
returns void
language plpgsql
volatile
set search_path = ''
as $$
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
end
$$;
comment on function keyframe_private.revoke_all_rights is 'Takes all rights on our schemas from every role that the defaults of this database can have given them to.';

-- Postgres itself has SHA-256 only, and pgcrypto may be in any schema of the app's.
create function keyframe_private.hmac_sha256(message bytea, key bytea)
returns bytea
language plpgsql
immutable
strict
set search_path = ''
as $$
declare
  short bytea := case when length(key) > 64 then sha256(key) else key end;
  inner_key bytea := short || decode(repeat('00', 64 - length(short)), 'hex');
  outer_key bytea := inner_key;
begin
  for i in 0..63 loop
    outer_key := set_byte(outer_key, i, get_byte(inner_key, i) # 92);
    inner_key := set_byte(inner_key, i, get_byte(inner_key, i) # 54);
  end loop;
  return sha256(outer_key || sha256(inner_key || message));
end
$$;
comment on function keyframe_private.hmac_sha256 is 'HMAC with SHA-256 (RFC 2104).';

-- Each UUID has 122 bits of the operating system's secure random numbers.
create function keyframe_private.random_secret()
returns text
language sql
volatile
set search_path = ''
as $$
  select 'whsec_' || encode(sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64')
$$;
comment on function keyframe_private.random_secret is 'A signing secret of Standard Webhooks: whsec_ and the base64 of 32 random bytes.';

-- The SQLSTATE KEYFR marks the error as ours, the message is the stable code, the detail is a sentence for people. Volatile: `supabase db
-- lint` runs immutable functions while it plans their callers, and would report each raise as an error.
create function keyframe_private.raise_error(code text, sentence text, hint text default '')
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  raise exception using errcode = 'KEYFR', message = code, detail = sentence, hint = raise_error.hint;
end
$$;
comment on function keyframe_private.raise_error is 'Raises an API error.';
grant execute on function keyframe_private.raise_error(text, text, text) to authenticated, service_role;

-- Without waiting it returns false when somebody else holds the lock.
create function keyframe_private.take_lock(name text, id uuid, waits boolean default true)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  key constant bigint := hashtextextended(format('keyframe %s of %s', name, id), 0);
begin
  if waits then
    perform pg_advisory_xact_lock(key);
    return true;
  end if;
  return pg_try_advisory_xact_lock(key);
end
$$;
comment on function keyframe_private.take_lock is 'Holds the lock of this name, such as `slots` of an owner, until the transaction ends.';

-- For work that stops early, and for handlers of query_canceled: once the timer has fired and was caught, nothing limits the statement any
-- more. Four fifths, because statement_timestamp() may be later than the start of the timer. A cancel by hand comes earlier.
create function keyframe_private.is_out_of_time()
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  most constant interval := current_setting('statement_timeout')::interval;
begin
  return most > interval '0' and clock_timestamp() - statement_timestamp() > most * 0.8;
end
$$;
comment on function keyframe_private.is_out_of_time is 'Whether this statement has used up its statement_timeout, but for a fifth.';

-- Whoever holds what was needed is the cause, not the row that waited: lock_not_available, serialization_failure, deadlock_detected.
create function keyframe_private.is_lock_wait(code text)
returns boolean
language plpgsql
immutable
set search_path = ''
as $$
begin
  return code in ('55P03', '40001', '40P01');
end
$$;
comment on function keyframe_private.is_lock_wait is 'Whether an SQLSTATE says that only somebody else''s lock was in the way.';

create function keyframe_private.wire_time(at timestamptz)
returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end
$$;
comment on function keyframe_private.wire_time is 'The format of times in events and errors: ISO 8601 in UTC with milliseconds.';

-- Rules for texts, used in checks. shared/contract/fields.ts has the same rules for the API; test/db/texts.test.ts compares both
-- for every character. Ranges of code points do not depend on the collation.

-- Requires one character that is not white space, a control character or ignorable in display (zero-width characters, fillers,
-- variation selectors, tags). Those are allowed beside a visible character: Persian, Hindi and emoji need them.
create function keyframe_private.has_visible_character(value text)
returns boolean
language plpgsql
immutable
strict
set search_path = ''
as $$
begin
  return value ~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]';
end
$$;
comment on function keyframe_private.has_visible_character is 'Whether a text has a character that can be seen.';

create function keyframe_private.is_plain_text(value text)
returns boolean
language plpgsql
immutable
strict
set search_path = ''
as $$
begin
  return value !~ '[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]';
end
$$;
comment on function keyframe_private.is_plain_text is 'Refuses control characters, which form terminal escapes, except tabs and line breaks.';

create function keyframe_private.is_one_line(value text)
returns boolean
language plpgsql
immutable
strict
set search_path = ''
as $$
begin
  return value !~ '[\u0001-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]';
end
$$;
comment on function keyframe_private.is_one_line is 'Refuses control characters, line breaks, and bidirectional overrides, which change the direction of the text that follows.';

-- Checks run with the rights of the role that writes the row.
grant execute on function
  keyframe_private.has_visible_character(text), keyframe_private.is_plain_text(text), keyframe_private.is_one_line(text)
to authenticated, service_role;

-- Longer times would end in dates that Postgres does not have, and so would every statement that adds them.
create table keyframe_private.settings (
  only_row boolean primary key default true check (only_row),
  max_active_per_owner integer not null default 4 check (max_active_per_owner between 1 and 1000),
  max_calls_per_owner integer not null default 6 check (max_calls_per_owner between 1 and 1000),
  max_failures integer not null default 8 check (max_failures between 1 and 100),
  frame_deadline interval not null default interval '15 minutes' check (frame_deadline > interval '0' and frame_deadline <= interval '10 years'),
  video_deadline interval not null default interval '60 minutes' check (video_deadline > interval '0' and video_deadline <= interval '10 years'),
  poll_interval interval not null default interval '30 seconds' check (poll_interval > interval '0' and poll_interval <= interval '10 years'),
  retry_base interval not null default interval '2 seconds' check (retry_base > interval '0' and retry_base <= interval '10 years'),
  retry_max interval not null default interval '2 minutes' check (retry_max >= retry_base and retry_max <= interval '10 years'),
  unused_references_after interval not null default interval '30 days' check (unused_references_after between interval '1 hour' and interval '10 years')
);
comment on table keyframe_private.settings is 'One row. Changes apply from the next statement; no deploy is needed.';
comment on column keyframe_private.settings.only_row is 'Always true: there is one row.';
comment on column keyframe_private.settings.max_active_per_owner is 'How many predictions of one owner may run at once; further ones wait in queued, oldest first.';
comment on column keyframe_private.settings.max_calls_per_owner is 'How many requests of one owner the database may answer at once; further ones are refused (rate_limited). Keep it below a third of the connections of the Data API.';
comment on column keyframe_private.settings.max_failures is 'How often in a row a submit may fail before its prediction fails; also how many leases of one task may expire in a row.';
comment on column keyframe_private.settings.frame_deadline is 'The longest time from the admission of a frame to its end.';
comment on column keyframe_private.settings.video_deadline is 'The longest time from the admission of a video to its end.';
comment on column keyframe_private.settings.poll_interval is 'How long to wait for a callback before polling the provider.';
comment on column keyframe_private.settings.retry_base is 'The first back-off after a failure; it doubles with each failure.';
comment on column keyframe_private.settings.retry_max is 'The longest back-off.';
comment on column keyframe_private.settings.unused_references_after is 'How long after its upload an unused reference image is kept.';
insert into keyframe_private.settings default values;
alter table keyframe_private.settings enable row level security;

-- What is paid for is recorded also while the row is missing, as after a restore: then these are the shipped values.
create function keyframe_private.max_failures()
returns integer
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce((select s.max_failures from keyframe_private.settings s), 8);
end
$$;
comment on function keyframe_private.max_failures is 'settings.max_failures, also without the row.';

create function keyframe_private.poll_interval()
returns interval
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce((select s.poll_interval from keyframe_private.settings s), interval '30 seconds');
end
$$;
comment on function keyframe_private.poll_interval is 'settings.poll_interval, also without the row.';

-- The row has the budgets. Without it, starts are refused (require_budget).
create function keyframe_private.keep_settings()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  raise exception 'The settings keep their one row, which has the budgets. To set a value: update keyframe_private.settings set … where only_row. To have the shipped one: set it to default.'
    using errcode = 'check_violation', constraint = 'settings_keep_their_row';
end
$$;
create trigger _100_keep_deleted before delete on keyframe_private.settings
  for each row execute function keyframe_private.keep_settings();
comment on trigger _100_keep_deleted on keyframe_private.settings is 'Refuses to delete the row.';
create trigger _100_keep_truncated before truncate on keyframe_private.settings
  for each statement execute function keyframe_private.keep_settings();
comment on trigger _100_keep_truncated on keyframe_private.settings is 'Refuses to truncate the table.';

-- Written by the last migration of each version (`npm run schema` makes it). health() reads it, and so does a deployment.
create table keyframe_private.installation (
  version text primary key constraint version_is_three_numbers check (version ~ '^\d+\.\d+\.\d+$'),
  migrations jsonb not null,
  installed_at timestamptz not null default now()
);
comment on table keyframe_private.installation is 'The versions of Keyframe whose migrations this database has.';
comment on column keyframe_private.installation.version is 'The version, such as 0.1.0.';
comment on column keyframe_private.installation.migrations is 'Name of each migration up to this version → SHA-256 of its statements.';
comment on column keyframe_private.installation.installed_at is 'When the version''s last migration was applied.';
alter table keyframe_private.installation enable row level security;
