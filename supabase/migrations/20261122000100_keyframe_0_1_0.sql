-- Made by `npm run schema` from supabase/schemas: edit those.

-- supabase/schemas/00_foundation/10_schemas.sql

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

-- supabase/schemas/00_foundation/20_common.sql

-- Errors of the API: a stable code, a sentence for people, and what the caller can do about it.

-- SQLSTATE KEYFR marks our errors. Volatile: `supabase db lint` runs immutable functions while it plans, and would report each raise.
create function keyframe_private.raise_error(code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  raise exception using errcode = 'KEYFR', message = code, detail = sentence, hint = raise_error.hint;
end $$;

create function keyframe_private.raise_if(condition boolean, code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  if condition then
    perform keyframe_private.raise_error(code, sentence, hint);
  end if;
end $$;

-- The trigger names the rule, and says what to do instead.
create function keyframe_private.refuse_change()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  raise exception '%', tg_argv[1] using errcode = 'check_violation', constraint = tg_argv[0];
end $$;

-- Whether an SQLSTATE says that only another transaction's lock was in the way: lock_not_available, serialization_failure, deadlock_detected.
create function keyframe_private.is_lock_wait(code text)
returns boolean language sql immutable set search_path = '' return code in ('55P03', '40001', '40P01');

-- An error that a function returns instead of raising it.
create type keyframe_private.refusal as (code text, sentence text, hint text);

-- Returns a caught refusal as an answer, in the form that the Data API gives to an error. A raised error would undo the whole transaction,
-- and with it the token that the request has used. Catching it undoes only the body of the function:
--
--   where the function takes its token   what happens to the token      route_class
--   in `declare`                         it stays taken                 none
--   in the body                          it is undone with the body     its class, so that refuse takes the token again
--
-- Each function that users call ends with the same handler, unless nothing in its body can refuse (docs/decisions/0035-a-share-for-every-owner.md).
create function keyframe_private.refuse(refused keyframe_private.refusal, route_class text default null)
returns json language plpgsql volatile set search_path = '' as $$
begin
  if route_class is not null and refused.code <> 'rate_limited' then
    perform keyframe_private.acquire_token(route_class);
  end if;
  perform set_config('response.status', '400', true); -- as the Data API answers KEYFR
  return json_build_object('code', 'KEYFR', 'message', refused.code, 'details', refused.sentence, 'hint', refused.hint);
end $$;

-- Quotes a caller's value in an error message, if it looks like a number, a size or a ratio: Postgres logs refusals, and a prompt may be in
-- any field.
create function keyframe_private.quote_value(value text)
returns text language sql immutable strict set search_path = ''
return case when value ~ '^(true|false|-?[0-9][0-9A-Za-z:. ]{0,9})$' then value else format('%s characters', char_length(value)) end;

-- Used by several subjects: locks, times, secrets, identifiers, exact sums.

-- RFC 2104. Postgres itself has SHA-256 only, and pgcrypto may be in any schema of the app's.
create function keyframe_private.hmac_sha256(message bytea, key bytea)
returns bytea language plpgsql immutable strict set search_path = '' as $$
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
end $$;

-- A signing secret of Standard Webhooks: whsec_ and the base64 of 32 random bytes. A UUID has 122 random bits.
create function keyframe_private.random_secret()
returns text language sql volatile set search_path = ''
return 'whsec_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64');

-- Settings of a transaction record what it has already done, so that it does it once. None identifies the caller. Rolling back a savepoint
-- undoes them, with the work that they record.
--   keyframe.call_of, keyframe.read_of: it has a call slot of this user (acquire_call_slot), or one of two slots to read (may_read).
--   keyframe.change_of: it has used its token: the statements of one change count once (acquire_token, limit_changes).
--   keyframe.deleted_predictions: how many it has deleted with their projects, at most 1,000 (delete_by_user).
--   keyframe.kicked_<function>: it has kicked this function (kick_unless_running).

-- Holds the lock of this name, such as `slots` of an owner, until the transaction ends. Without waiting it returns false if the lock is taken.
create function keyframe_private.acquire_lock(name text, id uuid, waits boolean default true)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  key constant bigint := hashtextextended(format('keyframe %s of %s', name, id), 0);
begin
  if waits then
    perform pg_advisory_xact_lock(key);
    return true;
  end if;
  return pg_try_advisory_xact_lock(key);
end $$;

-- The times of events and errors: ISO 8601 in UTC with milliseconds.
create function keyframe_private.wire_time(at timestamptz)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;

-- The entries of a JSON object or list; none of another value. `at` continues a path.
create function keyframe_private.json_entries(value jsonb)
returns table (at text, key text, item jsonb) language plpgsql immutable set search_path = '' as $$
begin
  return query
    select '.' || e.key, e.key, e.value
      from jsonb_each(case jsonb_typeof(json_entries.value) when 'object' then json_entries.value else '{}' end) e
    union all
    select format('[%s]', e.place - 1), null, e.value
    from jsonb_array_elements(case jsonb_typeof(json_entries.value) when 'array' then json_entries.value else '[]' end)
      with ordinality e (value, place);
end $$;

-- A figure of a provider, a file or a worker, up to a million; null for anything else, so that a malformed figure never blocks a result.
create function keyframe_private.read_figure(figures jsonb, name text)
returns numeric language plpgsql immutable set search_path = '' as $$
begin
  if jsonb_typeof(figures -> name) = 'number' and (figures -> name)::numeric between 0 and 1000000 then
    return (figures -> name)::numeric;
  end if;
  return null;
end $$;

-- A sum as the API returns it: JSON numbers are exact to 2^53, and a read never fails for the size of a sum.
create function keyframe_private.exact_sum(amount numeric)
returns bigint language plpgsql immutable set search_path = '' as $$
begin
  return least(coalesce(amount, 0), 9007199254740991);
end $$;

-- Whether a text is a UUID in the form in which Postgres writes it: texts of this form are compared with id::text.
create function keyframe_private.is_uuid(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
end $$;

-- A UUID of version 7: 48 bits of milliseconds, 12 bits of their fraction, then random bits. Recent rows share index pages, which stay in
-- memory, and pruning empties whole pages. (Postgres has uuidv7() from version 18.)
create function keyframe_private.uuid_v7()
returns uuid language plpgsql volatile set search_path = '' as $$
declare
  microseconds constant bigint := extract(epoch from clock_timestamp()) * 1000000;
  fraction constant integer := (microseconds % 1000) * 4096 / 1000;
begin
  return encode(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(microseconds / 1000) from 3) || int2send((28672 + fraction)::smallint) from 1 for 8), 'hex')::uuid; -- 0x7000
end $$;

-- Rules for texts, used in checks. shared/contract/fields.ts has the same for the API; test/db/projects/texts.test.ts compares both.

-- Zero-width characters, fillers, variation selectors and tags are allowed beside a visible one: Persian, Hindi and emoji need them.
create function keyframe_private.has_visible_character(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value ~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]';
end $$;

-- Refuses control characters, which form terminal escapes, except tabs and line breaks.
create function keyframe_private.is_plain_text(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]';
end $$;

-- Refuses control characters, line breaks, and bidirectional overrides, which change the direction of the text that follows.
create function keyframe_private.is_one_line(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]';
end $$;

-- supabase/schemas/00_foundation/25_address.sql

-- Secrets in the Vault, and the project that this database works for.

-- Returns null for a secret that is missing or cannot be decrypted, as after a restore under another key, and after any other error, such as
-- a lock: no caller may fail for it.
create function keyframe_private.read_secret(secret_name text)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (select v.decrypted_secret from vault.decrypted_secrets v where v.name = secret_name);
exception when others then
  return null;
end $$;

-- The address of that project; null when the Vault does not say. A copy of a database, such as a restored dump, has the address of its
-- original: its kicks go there, and worker processes beside it are refused. It submits and sends nothing until set_address.
create function keyframe_private.address()
returns text language sql stable set search_path = '' as $$
  select substring(keyframe_private.read_secret('keyframe_functions_url') from '^(.*)/functions/v1$')
$$;

-- For administrators: makes this database work for the project at this address, after it was moved or copied.
create function keyframe_private.set_address(address text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  base constant text := regexp_replace(set_address.address, '(/functions/v1)?/*$', '');
begin
  if base !~ '^https?://[^\s/]+' then
    raise exception 'An address looks like https://<ref>.supabase.co.' using errcode = 'invalid_parameter_value';
  end if;
  if base is distinct from keyframe_private.address() then
    delete from vault.secrets s where s.name = 'keyframe_functions_url'; -- one that cannot be decrypted too
    perform vault.create_secret(
      base || '/functions/v1', 'keyframe_functions_url', 'Where Keyframe kicks its functions: the project that this database works for');
  end if;
end $$;

-- supabase/schemas/00_foundation/30_settings.sql

-- With longer times, statements that add them would exceed the dates that Postgres supports.
create table keyframe_private.settings (
  only_row boolean primary key default true check (only_row),
  max_active_per_owner integer not null default 4 check (max_active_per_owner between 1 and 1000),
  max_calls_per_owner integer not null default 6 check (max_calls_per_owner between 1 and 1000),
  max_failures integer not null default 8 check (max_failures between 1 and 100),
  frame_deadline interval not null default interval '15 minutes'
    check (frame_deadline > interval '0' and frame_deadline <= interval '10 years'),
  video_deadline interval not null default interval '60 minutes'
    check (video_deadline > interval '0' and video_deadline <= interval '10 years'),
  poll_interval interval not null default interval '30 seconds'
    check (poll_interval > interval '0' and poll_interval <= interval '10 years'),
  retry_base interval not null default interval '2 seconds' check (retry_base > interval '0' and retry_base <= interval '10 years'),
  retry_max interval not null default interval '2 minutes' check (retry_max >= retry_base and retry_max <= interval '10 years'),
  unused_references_after interval not null default interval '30 days'
    check (unused_references_after between interval '1 hour' and interval '10 years'),
  -- Budgets. Null is unlimited. The API returns them as JSON numbers, which are exact to 2^53.
  owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991),
  owner_month_micros bigint constraint owner_month_is_exact_in_json check (owner_month_micros between 0 and 9007199254740991),
  service_day_micros bigint constraint service_day_is_exact_in_json check (service_day_micros between 0 and 9007199254740991),
  service_month_micros bigint constraint service_month_is_exact_in_json check (service_month_micros between 0 and 9007199254740991),
  -- What users pay, and prepaid balances.
  markup numeric not null default 1 constraint markup_is_between_0_and_10 check (markup between 0 and 10),
  prepaid_by_default boolean not null default false,
  balance_low_micros bigint not null default 1000000
    constraint balance_low_is_exact_in_json check (balance_low_micros between 0 and 9007199254740991),
  spending_stopped boolean not null default true,
  webhook_retry_schedule interval[] not null
    default '{5 seconds,5 minutes,30 minutes,2 hours,5 hours,10 hours,14 hours,20 hours,24 hours}',
  webhook_disable_after interval not null default interval '5 days'
    check (webhook_disable_after between interval '0' and interval '10 years'),
  webhook_retention interval not null default interval '30 days' check (webhook_retention between interval '0' and interval '10 years'),
  -- Read by index from 1: a two-dimensional array has no element there, and the first failure would exhaust the delivery.
  constraint webhook_retry_schedule_is_a_list_of_intervals check (
    case when coalesce(array_ndims(webhook_retry_schedule), 1) > 1 or array_lower(webhook_retry_schedule, 1) <> 1 then false
      else interval '0' < all (webhook_retry_schedule) and interval '10 years' >= all (webhook_retry_schedule)
        and array_position(webhook_retry_schedule, null) is null end)
);
comment on table keyframe_private.settings is 'One row. Changes apply from the next statement; no deploy is needed.';
comment on column keyframe_private.settings.max_active_per_owner is 'How many predictions of one owner may run at once; further ones wait in queued, oldest first.';
comment on column keyframe_private.settings.max_calls_per_owner is 'How many requests of one owner the database may answer at once; further ones are refused (rate_limited). Keep it below a third of the connections of the Data API. A process of the function api makes at most four at once for an owner; further ones wait.';
comment on column keyframe_private.settings.max_failures is 'How often in a row a submit may fail before its prediction fails; also how many leases of one task may expire in a row, and how many of its runs could not read an image.';
comment on column keyframe_private.settings.frame_deadline is 'The longest time from the admission of a frame to its end.';
comment on column keyframe_private.settings.video_deadline is 'The longest time from the admission of a video to its end.';
comment on column keyframe_private.settings.poll_interval is 'How long to wait for a callback before polling the provider.';
comment on column keyframe_private.settings.retry_base is 'The first back-off after a failure; it doubles with each failure.';
comment on column keyframe_private.settings.unused_references_after is 'How long after its upload an unused reference image is kept.';
comment on column keyframe_private.settings.owner_day_micros is 'The budget of each owner for a day, in micro-dollars; null: none. A row in owner_budgets replaces it.';
comment on column keyframe_private.settings.service_day_micros is 'The budget of all owners together for a day; null: none.';
comment on column keyframe_private.settings.markup is 'What users pay is what the provider bills times this, from 0 to 10: 1.3 charges 30 % more. A row in model_markups replaces it.';
comment on column keyframe_private.settings.prepaid_by_default is 'True: owners without a row in credits cannot start anything that costs money. False: an owner is prepaid from the first row in credits on.';
comment on column keyframe_private.settings.balance_low_micros is 'A start that leaves a balance below this sends balance.low, once after each credit; in micro-dollars.';
comment on column keyframe_private.settings.spending_stopped is 'While true, starts are refused and predictions without a slot keep waiting. Running ones continue to their end.';
comment on column keyframe_private.settings.webhook_retry_schedule is 'The delay after each failed attempt until the next one (with 20 % jitter); after the last one a delivery is exhausted.';
comment on column keyframe_private.settings.webhook_disable_after is 'How long an endpoint may only fail before it is disabled.';
comment on column keyframe_private.settings.webhook_retention is 'How long events, deliveries and attempts are kept.';
-- A row that replaces a lost one has no budgets, so it starts with spending stopped.
insert into keyframe_private.settings (spending_stopped) values (false);

-- Paid work is recorded even while the row is missing, as after a restore: these functions then return the shipped values.
create function keyframe_private.max_failures()
returns integer language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select s.max_failures from keyframe_private.settings s), 8);
end $$;

create function keyframe_private.poll_interval()
returns interval language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select s.poll_interval from keyframe_private.settings s), interval '30 seconds');
end $$;

-- Each version's migration adds its row. health() reads it, and so does a deployment.
create table keyframe_private.installation (
  version text primary key constraint version_is_three_numbers check (version ~ '^\d+\.\d+\.\d+$')
);
comment on table keyframe_private.installation is 'The versions of Keyframe whose migrations this database has.';

-- Volatile, so that the Data API never uses a read replica. A copy of a database, such as a restored backup, has its own server, and
-- so another id. Two versions are supported: a release removes only what the previous one did not use.
create function keyframe_worker.describe_database(process_version text)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  versions constant text[] := array(
    select i.version from keyframe_private.installation i order by string_to_array(i.version, '.')::int[] desc);
begin
  return jsonb_build_object(
    'id', format('%s %s', extract(epoch from pg_postmaster_start_time()), (select d.oid from pg_database d where d.datname = current_database())),
    'now', keyframe_private.wire_time(clock_timestamp()),
    'address', keyframe_private.address(),
    'version', versions[1],
    'outdated', case
      when process_version = any (versions[:2]) then null
      when process_version = any (versions) then 'process' else 'database' end);
end $$;
comment on function keyframe_worker.describe_database is 'What a worker process checks before it claims: { id: identifies this database until its server restarts; now; address: the project that it works for; version; outdated: process or database, null when they match }.';

-- supabase/schemas/00_foundation/40_batches.sql

-- Batches, in which jobs delete, merge or end many rows. A row that raises, because of an app's trigger or foreign key, stops no other.

create table keyframe_private.skipped_rows (
  subject text primary key,
  code text not null,
  reason text not null,
  failures integer not null default 1,
  since timestamptz not null default now(),
  next_try_at timestamptz not null
);
comment on table keyframe_private.skipped_rows is 'Rows that jobs skip until next_try_at, because they raised an error. Empty in a healthy service.';
comment on column keyframe_private.skipped_rows.subject is 'The operation, the table and the row''s key; without a key: the whole operation, no row.';
comment on column keyframe_private.skipped_rows.code is 'The SQLSTATE of the last error; 57014: it used all the time of the job.';
create index skipped_rows_next_try_at_idx on keyframe_private.skipped_rows (next_try_at);

-- A function, so that no plan joins the tables: the rows are read in the order in which they are due.
create function keyframe_private.is_skipped(subject text)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (select from keyframe_private.skipped_rows u where u.subject = is_skipped.subject and u.next_try_at > now());
end $$;

-- Skips a row that raised, for longer each time; or notes an operation that did.
create function keyframe_private.skip_row(subject text, code text, reason text)
returns void language plpgsql volatile set search_path = '' as $$
begin
  raise warning 'Skipped: %: % (%)', subject, reason, code;
  insert into keyframe_private.skipped_rows as u (subject, code, reason, next_try_at)
  values (skip_row.subject, skip_row.code, left(skip_row.reason, 300), clock_timestamp() + keyframe_private.retry_delay(1))
  on conflict on constraint skipped_rows_pkey do update
    set code = excluded.code, reason = excluded.reason, failures = least(u.failures + 1, 1000000),
      next_try_at = clock_timestamp() + keyframe_private.retry_delay(u.failures + 1);
end $$;

-- Whether 80 % of this statement's statement_timeout has passed. Once the timer has fired and was caught, nothing limits the statement. Not
-- 100 %, because the timer may start before statement_timestamp().
create function keyframe_private.is_out_of_time()
returns boolean language sql volatile set search_path = ''
return clock_timestamp() - statement_timestamp() > 0.8 * nullif(current_setting('statement_timeout')::interval, '0') is true;

-- Runs the action on at most max_rows rows of a table (alias o) that meet the condition, except rows that are locked or skipped. The first
-- batch is all of them; after an error the batch is halved, after a success doubled:
--
--   1 2 3 4   raises
--   1 2       done
--   3 4       raises
--   3         raises: recorded in skipped_rows and skipped by the next calls; if it only waited for a lock, the next call tries it again
--   4         done
--
-- An error two seconds after the start ends the call. When a batch used all the time of the job, the next call does one row at a time, to
-- find the slow one.
create function keyframe_private.run_in_batches(
  name text, condition text, max_rows integer, verb text default 'delete', action text default 'delete from %s o where o.ctid = any ($1)')
returns void language plpgsql volatile set search_path = '' set lock_timeout = '10ms' as $$
declare
  ends constant timestamptz := clock_timestamp() + interval '2 seconds';
  operation constant text := verb || ' ' || name;
  -- A subquery, because the planner reads whole small tables when it sees how many rows there are.
  statement constant text := replace(format(action, name), '$1', 'array(select unnest($1))');
  finds_slow_row constant boolean := exists (
    select from keyframe_private.skipped_rows u where u.subject = operation and u.code = '57014');
  subject text; -- an expression: the operation and the primary key
  rows tid[];
  subjects text[];
  first integer := 1;
  size integer;
begin
  if keyframe_private.is_out_of_time() then
    return; -- what was done before has used it up
  end if;
  select format('concat_ws('' '', %L, %s)', operation, string_agg(format('o.%I', a.attname), ', ' order by k.place)) into subject
  from pg_index i
  cross join lateral unnest(i.indkey) with ordinality k (attnum, place)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = name::regclass and i.indisprimary;
  execute format(
    'select array_agg(c.ctid), array_agg(c.subject) from (
      select o.ctid, %s as subject from %s o
      where not keyframe_private.is_skipped(%s) and %s limit %s for update of o skip locked) c',
    subject, name, subject, condition, max_rows) into rows, subjects;
  size := case when finds_slow_row then 1 else cardinality(rows) end;
  while first <= cardinality(rows) loop
    if keyframe_private.is_out_of_time() then
      return;
    end if;
    begin
      execute statement using rows[first : first + size - 1];
      delete from keyframe_private.skipped_rows u where u.subject = any (array(select unnest(subjects[first : first + size - 1])));
      first := first + size;
      size := case when finds_slow_row then 1 else least(size * 2, cardinality(rows) - first + 1) end;
    exception when query_canceled then
      if not keyframe_private.is_out_of_time() then
        raise; -- it was canceled
      end if;
      perform keyframe_private.skip_row(case when size = 1 then subjects[first] else operation end, sqlstate, sqlerrm);
      return;
    when others or assert_failure then
      if size > 1 then
        size := size / 2;
      else
        if not keyframe_private.is_lock_wait(sqlstate) then
          perform keyframe_private.skip_row(subjects[first], sqlstate, sqlerrm);
        end if;
        first := first + 1;
      end if;
      exit when clock_timestamp() > ends;
    end;
  end loop;
  delete from keyframe_private.skipped_rows u where u.subject = operation;
exception when others then
  perform keyframe_private.skip_row(operation, sqlstate, sqlerrm);
end $$;

-- supabase/schemas/05_requests/10_oauth_clients.sql

-- Clients act for users: apps and agents that a user approved at Supabase Auth (OAuth), and keys that a user made (70_keys.sql). An OAuth
-- client's scopes limit nothing, so an administrator allows each one. Every table that users read has a restrictive policy for clients;
-- functions and triggers ask through acquire_token or reserve_idempotency_key.

create type keyframe_private.client_right as enum ('read', 'generate', 'manage');
comment on type keyframe_private.client_right is 'Each includes the previous ones. read: films, projects, elements, predictions, files, prices, costs. generate: create and change them, upload images, start and cancel runs, which spends the user''s money. manage: delete them and their files, share films by link, and everything about webhooks.';

create table keyframe_private.allowed_clients (
  client_id text primary key constraint client_id_is_not_empty check (btrim(client_id) <> ''),
  name text not null constraint name_is_not_empty check (btrim(name) <> ''),
  may keyframe_private.client_right not null,
  owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991),
  owner_id uuid references auth.users on delete cascade,
  secret_hash bytea constraint secret_hash_is_sha256 check (length(secret_hash) = 32),
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint key_has_an_owner_and_a_secret check (case when owner_id is null
    then client_id !~ '^kf_' and secret_hash is null
    else client_id ~ '^kf_[0-9a-f]{16}$' and secret_hash is not null end),
  constraint key_name_is_one_line_of_at_most_80 check (
    owner_id is null
    or (char_length(name) <= 80 and keyframe_private.is_one_line(name) and keyframe_private.has_visible_character(name))),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, expires_at, last_used_at) >= '1970-01-01 00:00Z' and greatest(created_at, expires_at, last_used_at) < '9999-01-01 00:00Z')
);
comment on table keyframe_private.allowed_clients is 'The OAuth clients that may act for users who approved them, and the keys that users have made for agents and scripts. Every other client is refused.';
comment on column keyframe_private.allowed_clients.client_id is 'Of an OAuth client: the claim client_id of its tokens, as Authentication › OAuth Apps shows it. Of a key: kf_ and the 16 characters that follow it, which are no secret.';
comment on column keyframe_private.allowed_clients.name is 'Of an OAuth client, for administrators. Of a key, as its user named it.';
comment on column keyframe_private.allowed_clients.owner_day_micros is 'The most it may spend for each user in a day (UTC), in micro-dollars, within the user''s budgets; null: no additional limit.';
comment on column keyframe_private.allowed_clients.secret_hash is 'The SHA-256 of the whole key, which is stored nowhere; null for an OAuth client.';
comment on column keyframe_private.allowed_clients.expires_at is 'When it ends; null: never. To revoke a key, set it to now().';
comment on column keyframe_private.allowed_clients.last_used_at is 'The minute in which a key was last used; null: never, or an OAuth client.';
create index allowed_clients_owner_id_idx on keyframe_private.allowed_clients (owner_id, expires_at) where owner_id is not null;
create index allowed_clients_expires_at_idx on keyframe_private.allowed_clients (expires_at) where owner_id is not null;

-- Whether the caller has a right. A token with the claim client_id is a client's, even if the claim is empty, null or no text. A token
-- without the claim is a user's own session, which may do everything.
create function keyframe_private.client_may(needed keyframe_private.client_right)
returns boolean language plpgsql stable security definer set search_path = '' as $$
declare
  claims constant jsonb := keyframe_private.claims();
begin
  if claims is null or not claims ? 'client_id' then
    return true; -- without a query: each request asks
  end if;
  return exists (
    select from keyframe_private.allowed_clients c
    where c.client_id = claims ->> 'client_id' and jsonb_typeof(claims -> 'client_id') = 'string' and c.may >= needed
      and (c.expires_at > now()) is not false and (c.owner_id is null or c.owner_id = keyframe_private.caller_id()));
end $$;

create function keyframe_private.require_client_may(needed keyframe_private.client_right)
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may(needed) then
    perform keyframe_private.raise_error('client_not_allowed',
      case when auth.jwt() ->> 'client_id' ~ '^kf_'
        then format('This key may not %s. Make one that may, or sign in.', needed)
        else format('This app (OAuth client) may not %s here. Sign in to the service itself, or ask its administrator to allow the app.', needed)
      end);
  end if;
end $$;

-- supabase/schemas/05_requests/20_owners.sql

-- The claims of the caller's token; null without one. For policies and the functions they call, which must not raise: auth.jwt() raises if
-- the claims are not JSON.
create function keyframe_private.claims()
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return auth.jwt();
exception when data_exception then
  return null;
end $$;

-- The user whose token this is; null for a token without a user of this project's Auth. Policies and the functions they call must not
-- raise, but auth.uid() raises if the sub is not a UUID, as in another service's sessions.
create function keyframe_private.caller_id()
returns uuid language plpgsql stable security definer set search_path = '' as $$
declare
  sub constant text := coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''), keyframe_private.claims() ->> 'sub');
begin
  return case when keyframe_private.is_uuid(lower(sub)) then sub::uuid end;
end $$;

-- The triggers treat an insert without a caller as an administrator's.
create function keyframe_private.require_user()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(auth.uid() is null, 'unauthorized',
    'This session names no user. Sign in, then try again.');
end $$;

-- Whether a row of this owner is the caller's: users have their own, the secret key has webhook endpoints without an owner. The functions
-- of the API are definers, so each checks this for a row that it finds by its id. Lists compare owner_id with auth.uid() instead, to use an
-- index; the planner never uses one for this.
create function keyframe_private.is_own(owner uuid)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return case when auth.role() = 'service_role' then owner is null else coalesce(owner = auth.uid(), false) end;
end $$;

-- Owners who live in another project of the service (docs/scale.md, "Move an owner"): changes and payments here would be lost.

create table keyframe_private.moved_owners (
  owner_id uuid primary key,
  moved_at timestamptz not null default now()
);
comment on table keyframe_private.moved_owners is 'Users who were moved to another project of the service, or are being moved. Their changes and credits are refused here (user_moved). Kept for good: a refund may come after a year.';
comment on column keyframe_private.moved_owners.owner_id is 'The user, also when the account is deleted.';

create function keyframe_private.wait_for_changes()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from auth.users u where u.id = new.owner_id for update; -- require_not_moved locks its key
  return null;
end $$;

-- Locks the key of the user until the transaction ends: a mark of a move is visible here, or its transaction waits for this one.
create function keyframe_private.require_not_moved(owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform from auth.users u where u.id = owner for key share;
  perform keyframe_private.raise_if(exists (select from keyframe_private.moved_owners m where m.owner_id = owner), 'user_moved',
    'This user has moved to another project of the service. Send the request there, with the same key.');
end $$;

-- supabase/schemas/05_requests/30_call_slots.sql

-- Limits how many requests of one owner the database answers at once (docs/decisions/0035-a-share-for-every-owner.md).

-- The slot is held until the transaction ends. Raises rate_limited at once: a call that waited would keep a connection of the Data API from
-- other owners.
create function keyframe_private.acquire_call_slot()
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  caller constant uuid := auth.uid();
  slots integer;
begin
  if caller is null or current_setting('keyframe.call_of', true) = caller::text then
    return;
  end if;
  slots := coalesce((select s.max_calls_per_owner from keyframe_private.settings s), 1);
  for slot in 1 .. slots loop
    if keyframe_private.acquire_lock('call ' || slot, caller, waits => false) then
      perform set_config('keyframe.call_of', caller::text, true);
      perform set_config('application_name', 'keyframe ' || caller, true); -- for pg_stat_activity, and the log of Postgres
      return;
    end if;
  end loop;
  perform keyframe_private.raise_error('rate_limited',
    'You have too many requests in progress. Wait for the time in Retry-After, then try again.',
    jsonb_build_object('policy', 'calls', 'limit', slots, 'window_seconds', 1, 'wait_seconds', 1)::text);
end $$;

-- For reads straight through the Data API, which cannot use a token, because they cannot write: uses a call slot, and two per owner run at a time;
-- others wait for them. Only in a request of the Data API: an error would end Realtime's transaction, which reads the rows of many users.
create function keyframe_private.may_read()
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '2s' as $$
declare
  caller constant uuid := keyframe_private.caller_id();
begin
  if caller is null or coalesce(current_setting('request.method', true), '') = '' then
    return true;
  end if;
  perform keyframe_private.acquire_call_slot();
  -- Not in a transaction that writes: it may hold a row that a reader waits for.
  if current_setting('transaction_read_only') = 'on' and current_setting('keyframe.read_of', true) is distinct from caller::text then
    if not keyframe_private.acquire_lock('read 0', caller, waits => false)
      and not keyframe_private.acquire_lock('read 1', caller, waits => false) then
      perform keyframe_private.acquire_lock('read ' || pg_backend_pid() % 2, caller);
    end if;
    perform set_config('keyframe.read_of', caller::text, true);
  end if;
  return true;
end $$;

-- supabase/schemas/05_requests/40_rate_limits.sql

-- One token bucket per owner and route class. An administrator changes a limit without a deploy.

create table keyframe_private.rate_limits (
  route_class text primary key,
  capacity integer not null check (capacity > 0),
  per_second double precision not null check (per_second > 0)
);
comment on table keyframe_private.rate_limits is 'How many tokens of a class an owner has: capacity at once, then per_second more. A request uses one, or more if it costs more. A class without a row has no limit.';
comment on column keyframe_private.rate_limits.route_class is 'create: projects, films, elements, shares, quotes, webhook endpoints and their tests. generate: starts, one token for each prediction. upload: reference images. change: changes, deletions, cancels, rotations, redeliveries, recoveries. read: every read through the functions, and repetitions with the same Idempotency-Key. wait: each look of a request that waits (Prefer: wait); without a token the next one comes later. shared: reads of a shared film, which has a bucket for each link.';
insert into keyframe_private.rate_limits (route_class, capacity, per_second) values
  ('create', 60, 1),
  ('generate', 60, 1),
  ('upload', 30, 0.5),
  ('change', 120, 2),
  ('read', 1200, 20),
  ('shared', 600, 10),
  ('wait', 40, 16); -- a wait looks five times in its first 2.6 seconds, then once a second: 16 waits at once

-- Unlogged: a crash refills every bucket. The low fillfactor keeps an owner's row on its page (HOT updates).
create unlogged table keyframe_private.rate_buckets (
  owner_id uuid not null,
  route_class text not null, -- no foreign key: all users' first tokens would wait for a transaction that locks the limit
  tokens double precision not null,
  refilled_at timestamptz not null,
  low_since timestamptz,
  primary key (owner_id, route_class)
) with (fillfactor = 50);
comment on table keyframe_private.rate_buckets is 'The tokens left in each bucket, as of refilled_at.';
comment on column keyframe_private.rate_buckets.owner_id is 'The user; for the class shared, the id of the link.';
comment on column keyframe_private.rate_buckets.low_since is 'When requests began to leave less than a tenth of the capacity; a full bucket resets it. Null: the last request left more.';
create index rate_buckets_low_since_idx on keyframe_private.rate_buckets (low_since) where low_since is not null;

-- Uses tokens of the holder's bucket, and returns the state of the bucket as rate_json returns it. The holder is a user or, for the class
-- shared, a link; null for administrators and for the secret key, which have no limit. The result is null without a holder, and for a class
-- without a limit. The function raises rate_limited if the bucket has too few tokens. No call costs more than a full bucket.
--
-- Every request takes its locks in this order, so that no two deadlock: call slot, Idempotency-Key, user, token, then rows that other requests may
-- hold. A request uses tokens of only one class. The changes of one owner run one at a time, because they lock films and projects in any order.
create function keyframe_private.acquire_token(
  route_class text, cost integer default 1, needed keyframe_private.client_right default null, holder uuid default auth.uid())
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  bucket record;
begin
  perform keyframe_private.require_client_may(coalesce(needed,
    case route_class when 'read' then 'read' else 'generate' end::keyframe_private.client_right));
  perform keyframe_private.acquire_call_slot();
  if holder is null then
    return null;
  end if;
  if acquire_token.route_class in ('create', 'generate', 'upload', 'change') then
    perform keyframe_private.require_not_moved(holder);
  end if;
  with limited as (
    select l.*, greatest(0, least(acquire_token.cost, l.capacity)) as taken from keyframe_private.rate_limits l
    where l.route_class = acquire_token.route_class
  ), taken as (
    insert into keyframe_private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
    select holder, l.route_class, l.capacity - l.taken, now() from limited l
    on conflict (owner_id, route_class) do update
      set (tokens, low_since) = (
            -- The bucket is low from now on, if it was full before or the clock was set back.
            select n.tokens,
              case when n.tokens < l.capacity / 10.0 then least(now(), case when n.tokens < excluded.tokens then b.low_since end) end
            from limited l
            cross join lateral (select least(
              excluded.tokens, -- what a full bucket would have left
              b.tokens + l.per_second * greatest(0, extract(epoch from now() - b.refilled_at)) - l.taken) as tokens) n),
          -- A request that started later may have finished first. A time over a minute ahead means that the clock was set back.
          refilled_at = case when b.refilled_at > now() + interval '1 minute' then now() else greatest(b.refilled_at, now()) end
    returning b.tokens
  )
  select l.*, t.tokens into bucket from limited l cross join taken t;
  if not found then
    if acquire_token.route_class = 'change' then
      perform keyframe_private.acquire_lock('changes', holder);
    end if;
    return null;
  elsif bucket.tokens < 0 then
    perform keyframe_private.raise_error('rate_limited',
      'Too many requests of this kind. Wait for the time in Retry-After, then try again.',
      jsonb_build_object(
        'policy', bucket.route_class, 'limit', bucket.capacity, 'window_seconds', ceil(bucket.capacity / bucket.per_second),
        'wait_seconds', ceil(-bucket.tokens / bucket.per_second))::text);
  end if;
  if acquire_token.route_class = 'change' then
    perform set_config('keyframe.change_of', holder::text, true);
  end if;
  return keyframe_private.rate_json(bucket.route_class, bucket.capacity, bucket.per_second, bucket.tokens);
end $$;

-- For a read whose cost is known only once its rows are chosen: it uses one token before that, and before it answers one more for each
-- per_token rows.
create function keyframe_private.acquire_more_tokens(rate jsonb, number integer, per_token integer)
returns jsonb language plpgsql volatile set search_path = '' as $$
begin
  return case when number < per_token then rate else keyframe_private.acquire_token('read', number / per_token) end;
end $$;

-- The values of the RateLimit headers.
create function keyframe_private.rate_json(route_class text, capacity integer, per_second double precision, tokens double precision)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object(
    'policy', route_class, 'limit', capacity, 'remaining', floor(tokens), 'reset_seconds', ceil((capacity - tokens) / per_second),
    'window_seconds', ceil(capacity / per_second));
end $$;

-- Functions on a user's request path are plpgsql, whose plans a session keeps: planning SQL functions took half of the time of a start.
create function keyframe_private.rate_state(route_class text)
returns jsonb language plpgsql stable security definer set search_path = '' as $$
declare
  caller uuid := auth.uid();
begin
  return (
    select keyframe_private.rate_json(l.route_class, l.capacity, l.per_second, coalesce(b.tokens, l.capacity))
    from keyframe_private.rate_limits l
    left join keyframe_private.rate_buckets b on b.owner_id = caller and b.route_class = l.route_class
    where l.route_class = rate_state.route_class and caller is not null);
end $$;

create function keyframe_private.limit_inserts()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.acquire_token(tg_argv[0]);
  return new;
end $$;

-- Before any row is locked: a request that waits for its token holds no lock. A change of a film and its projects counts once.
create function keyframe_private.limit_changes()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if pg_trigger_depth() > 1 then -- the deletion of an account takes no token
    return null;
  end if;
  perform keyframe_private.require_client_may(case tg_op when 'DELETE' then 'manage' else 'generate' end::keyframe_private.client_right);
  if current_setting('keyframe.change_of', true) is distinct from auth.uid()::text then
    perform keyframe_private.acquire_token('change');
  end if;
  return null;
end $$;

-- supabase/schemas/05_requests/50_idempotency_keys.sql

-- Idempotency-Key: the same key and body return the first result again. A unique key decides, so simultaneous requests are safe.

create table keyframe_private.idempotency_keys (
  resource_id uuid primary key,
  owner_id uuid references auth.users on delete cascade,
  client_id text default auth.jwt() ->> 'client_id',
  key text not null check (key ~ '^[\x21-\x7e]{1,255}$'),
  request_hash text check (request_hash ~ '^[0-9a-f]{64}$'),
  answer jsonb,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_owner_id_client_id_key_key unique nulls not distinct (owner_id, client_id, key)
);
comment on table keyframe_private.idempotency_keys is 'Which resource a key created, kept for 24 hours.';
comment on column keyframe_private.idempotency_keys.resource_id is 'The resource that the request created; a random value when it created none.';
comment on column keyframe_private.idempotency_keys.owner_id is 'The owner of the key; null for the secret key.';
comment on column keyframe_private.idempotency_keys.client_id is 'The OAuth client or key that sent it; null: the owner''s session, or a server. A client cannot use the keys of another.';
comment on column keyframe_private.idempotency_keys.request_hash is 'The SHA-256 of method, path and body; null until the body of an upload has been read.';
comment on column keyframe_private.idempotency_keys.answer is 'The answer to the first request, when no row can reproduce it (for a recovery, the count). Never a secret: secrets stay in the Vault.';
create index idempotency_keys_created_at_idx on keyframe_private.idempotency_keys (created_at);

-- Reserves a key for the caller, or returns the resource that the key created before (a replay). If the same request is in progress, this
-- call waits until that one has ended. A request without a key is always new. A request without a hash has a body that is not read yet, so
-- it is not compared with the first one. A replay counts as a read: it uses a token of replay_class. The insert below sets an existing row
-- to the values that it has, so that one statement both reserves a key and reads an existing one.
create function keyframe_private.reserve_idempotency_key(
  key text, request_hash text, route_class text default null, replay_class text default 'read', out resource_id uuid, out replayed boolean, out answer jsonb, out rate jsonb)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  caller uuid := auth.uid();
  fresh uuid := gen_random_uuid();
  kept keyframe_private.idempotency_keys;
begin
  perform keyframe_private.require_client_may('generate');
  resource_id := fresh;
  replayed := false;
  perform keyframe_private.acquire_call_slot(); -- an equal request waits below
  if reserve_idempotency_key.key is not null then
    -- Keys without a user belong to the secret key. A session that names no user must not use them.
    perform keyframe_private.raise_if(caller is null and auth.role() is distinct from 'service_role', 'unauthorized',
      'An Idempotency-Key belongs to a signed-in user. Sign in, then try again.');
    insert into keyframe_private.idempotency_keys as k (resource_id, owner_id, key, request_hash)
    values (fresh, caller, reserve_idempotency_key.key, reserve_idempotency_key.request_hash)
    on conflict (owner_id, client_id, key) do update set key = excluded.key
    returning k.* into kept;
    perform keyframe_private.raise_if(
      reserve_idempotency_key.request_hash is not null and kept.request_hash is distinct from reserve_idempotency_key.request_hash,
      'idempotency_mismatch', 'This Idempotency-Key was used for another request in the last 24 hours. Send a new key with a new request.');
    resource_id := kept.resource_id;
    replayed := kept.resource_id <> fresh;
    answer := kept.answer;
  end if;
  route_class := case when replayed then replay_class else route_class end;
  if route_class is not null then
    rate := keyframe_private.acquire_token(route_class);
  end if;
end $$;

-- supabase/schemas/05_requests/60_acting_servers.sql

-- A server acts for a user: with the secret key it calls one function as that user. It creates no token for the user. `api` does the same
-- for a key of the user (70_keys.sql).

-- Without the claims of a sign-in (aal, amr, session_id): a policy that requires them refuses. Definer: service_role cannot read users.
create function keyframe_private.claims_for_server(user_id uuid)
returns jsonb language plpgsql stable security definer set search_path = '' as $$
declare
  claims jsonb;
begin
  select jsonb_build_object(
    'sub', u.id, 'role', 'authenticated', 'aud', 'authenticated', 'email', u.email, 'phone', u.phone,
    'app_metadata', u.raw_app_meta_data, 'user_metadata', u.raw_user_meta_data, 'is_anonymous', u.is_anonymous,
    'keyframe_actor', 'server') into claims
  from auth.users u
  where u.id = claims_for_server.user_id and u.role = 'authenticated' and u.deleted_at is null
    and (u.banned_until is null or u.banned_until <= now());
  perform keyframe_private.raise_if(not found, 'user_not_found',
    'No user with this id can sign in: it is unknown, or the account was deleted or banned.');
  return claims;
end $$;

-- Calls only functions that users may execute, with named arguments. Role and claims are local to the transaction. Invoker, because a
-- definer function cannot change its role.
create function keyframe_worker.act_as(user_id uuid, function_name text, args jsonb default '{}', key_id text default null)
returns json language plpgsql volatile security invoker set search_path = '' as $$
declare
  claims constant jsonb := case when key_id is null then keyframe_private.claims_for_server(user_id)
    else keyframe_private.claims_for_key(user_id, key_id) end;
  statement text;
  answer json;
begin
  select format(
      'select to_json(keyframe.%I(%s))%s', p.proname,
      string_agg(format('%1$I => given.%1$I', a.name), ', ') filter (where a.name is not null),
      ' from jsonb_to_record($1) as given (' || string_agg(format('%I %s', a.name, a.type::regtype), ', ') filter (where a.name is not null) || ')')
  into statement
  from pg_proc p
  left join unnest(p.proargnames, p.proargtypes::oid[]) as a (name, type) on args ? a.name
  where p.pronamespace = 'keyframe'::regnamespace and p.proname = function_name and p.prokind = 'f'
    and p.prorettype in ('json'::regtype, 'jsonb'::regtype) and not p.proretset
    and has_function_privilege('authenticated', p.oid, 'execute')
  group by p.oid, p.proname
  having count(a.name) = (select count(*) from jsonb_object_keys(args));
  if statement is null then
    raise exception 'Users cannot call a function % with these arguments.', function_name using errcode = 'undefined_function';
  end if;
  -- auth.uid() and auth.role() prefer the settings of single claims, which older versions of the Data API make.
  perform
    set_config('request.jwt.claims', claims::text, true),
    set_config('request.jwt.claim', '', true),
    set_config('request.jwt.claim.sub', user_id::text, true),
    set_config('request.jwt.claim.role', 'authenticated', true),
    set_config('request.jwt.claim.email', coalesce(claims ->> 'email', ''), true),
    set_config('role', 'authenticated', true);
  execute statement into answer using args;
  return answer;
end $$;
comment on function keyframe_worker.act_as is 'Calls a function of keyframe as a user: for a server that sends the secret key and Keyframe-User, or with key_id as that key of the user.';

-- supabase/schemas/05_requests/70_keys.sql

-- Keys of a user, for agents and scripts: kf_, 16 hexadecimal digits that name it, 48 of a secret, and 8 of a checksum. Each is a client of
-- its user (allowed_clients), so rights, limits, costs and Idempotency-Keys treat it as an OAuth client that was approved.

create function keyframe_private.require_no_client()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(auth.jwt() ? 'client_id', 'client_not_allowed',
    'Only you can make, list and revoke your keys, signed in to the service itself. A key or an app (OAuth client) cannot.');
end $$;

create function keyframe_private.key_json(client keyframe_private.allowed_clients)
returns jsonb language sql stable set search_path = ''
return jsonb_build_object(
  'id', client.client_id, 'name', client.name, 'may', client.may, 'day_limit_micros', client.owner_day_micros,
  'created_at', client.created_at, 'expires_at', client.expires_at, 'last_used_at', client.last_used_at);

-- The random bits are those of UUIDs: 60 in the name, 190 in the secret. A repeated request gets a new secret, which replaces the first one.
create function keyframe.create_key(
  name text, may text, day_limit_micros bigint default null, expires_at timestamptz default null,
  idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  most constant integer := 50;
  request record;
  key_id text;
  secret text;
  hash bytea;
  made keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  key_id := 'kf_' || left(replace(request.resource_id::text, '-', ''), 16);
  secret := key_id || left(encode(sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'), 48);
  secret := secret || left(encode(sha256(convert_to(secret, 'UTF8')), 'hex'), 8);
  hash := sha256(convert_to(secret, 'UTF8'));
  perform keyframe_private.acquire_lock('keys', auth.uid()); -- to count them
  if request.replayed then
    update keyframe_private.allowed_clients c set secret_hash = hash
    where c.client_id = key_id and c.owner_id = auth.uid() and (c.expires_at > now()) is not false
    returning c.* into made;
    perform keyframe_private.raise_if(not found, 'not_found',
      'The key this Idempotency-Key created has ended or was revoked since. Send a new Idempotency-Key.');
  else
    perform keyframe_private.raise_if(create_key.expires_at <= now(), 'invalid_request', 'expiresAt must be in the future.');
    -- By the index: tens of thousands may have ended.
    perform keyframe_private.raise_if((
      select (c.expires_at > now()) is not false from keyframe_private.allowed_clients c
      where c.owner_id = auth.uid() order by c.expires_at desc nulls first offset most - 1 limit 1
    ), 'invalid_request', format('You have %s keys, which is the most. Revoke one first.', most));
    insert into keyframe_private.allowed_clients (client_id, name, may, owner_day_micros, owner_id, secret_hash, expires_at)
    values (key_id, create_key.name, create_key.may::keyframe_private.client_right, create_key.day_limit_micros, auth.uid(), hash,
      create_key.expires_at)
    returning * into made;
  end if;
  return json_build_object(
    'created', keyframe_private.key_json(made), 'key', secret, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_key is 'Makes a key of the caller, and returns it once.';

create function keyframe.list_keys()
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  rate := keyframe_private.acquire_token('read');
  return json_build_object('rate', rate, 'keys', (
    select coalesce(json_agg(keyframe_private.key_json(c) order by c.created_at desc, c.client_id), '[]')
    from (
      select k.* from keyframe_private.allowed_clients k where k.owner_id = auth.uid()
      order by k.expires_at desc nulls first limit 100) c));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'read');
end $$;
comment on function keyframe.list_keys is 'The keys of the caller, also those that ended lately, newest first; at most 100.';

create function keyframe.revoke_key(key_id text)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb;
  ended keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  rate := keyframe_private.acquire_token('change');
  update keyframe_private.allowed_clients c set expires_at = least(c.expires_at, now())
  where c.client_id = key_id and c.owner_id = auth.uid()
  returning c.* into ended;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no key with this keyId.');
  return json_build_object('ended', keyframe_private.key_json(ended), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.revoke_key is 'Ends a key of the caller.';

-- The claims of a token of an OAuth client of the user, with the id of the key as client. For a key that was found good before: it may have
-- ended since.
create function keyframe_private.claims_for_key(user_id uuid, key_id text)
returns jsonb language plpgsql stable security definer set search_path = '' as $$
declare
  ends timestamptz;
begin
  select c.expires_at into ends from keyframe_private.allowed_clients c
  where c.client_id = claims_for_key.key_id and c.owner_id = claims_for_key.user_id;
  perform keyframe_private.raise_if(not found, 'unauthorized', 'This key is not valid. Make another one.');
  perform keyframe_private.raise_if(ends <= now(), 'key_ended', 'This key was revoked or has expired. Make another one.');
  return keyframe_private.claims_for_server(user_id) - 'keyframe_actor' || jsonb_build_object('client_id', key_id);
end $$;

-- Takes no token: nobody's requests are spent by guesses. An unknown id is compared as a wrong secret is. The digests get a random prefix,
-- so that the time of the comparison says nothing about the stored one.
create function keyframe_worker.verify_key(key_id text, key_hash text)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '2s' set lock_timeout = '2s' as $$
declare
  salt constant bytea := uuid_send(gen_random_uuid());
  minute constant timestamptz := date_trunc('minute', now());
  kept keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  select c.* into kept from keyframe_private.allowed_clients c where c.client_id = verify_key.key_id;
  perform keyframe_private.raise_if(
    sha256(salt || coalesce(kept.secret_hash, sha256(salt))) <> sha256(salt || decode(verify_key.key_hash, 'hex')),
    'unauthorized', 'This key is not valid. Make another one.');
  perform keyframe_private.claims_for_key(kept.owner_id, key_id);
  update keyframe_private.allowed_clients c set last_used_at = minute
  where c.client_id = verify_key.key_id and (c.last_used_at < minute) is not false;
  return json_build_object('owner_id', kept.owner_id, 'rate', null);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe_worker.verify_key is 'Whose key it is, by the SHA-256 of the whole key in hex. Notes the minute in which it was used.';

-- supabase/schemas/10_projects/10_projects.sql

create table keyframe.films (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  element_ids uuid[] not null default '{}',
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint element_ids_are_a_list check (coalesce(array_ndims(element_ids), 1) = 1),
  constraint films_id_owner_id_key unique (id, owner_id)
);
comment on table keyframe.films is 'A sequence of shots: the projects with its film_id, by film_position. Owned by the user who created it.';
comment on column keyframe.films.owner_id is 'The user whose film it is.';
comment on column keyframe.films.title is 'One line of at most 200 characters.';
comment on column keyframe.films.description is 'Free text.';
comment on column keyframe.films.updated_at is 'The film''s version: changes with its texts, its elements, its shots and their order.';
comment on column keyframe.films.element_ids is 'Its cast: the elements that a shot without element_ids of its own is made with.';
create index films_owner_id_created_at_idx on keyframe.films (owner_id, created_at desc, id desc);

-- The API's ETag is updated_at in milliseconds, so every change moves it; now() may be before the last change.
create function keyframe_private.move_version()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond');
  return new;
end $$;

create function keyframe_private.is_reference_path(path text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return path ~ '^projects/[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$' and path not like '%..%';
end $$;

create table keyframe.projects (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  title text not null constraint title_has_1_to_200_characters check (char_length(title) between 1 and 200),
  text_prompt text not null constraint text_prompt_has_1_to_4000_characters check (char_length(text_prompt) between 1 and 4000),
  description text not null default '' constraint description_has_at_most_4000_characters check (char_length(description) <= 4000),
  reference_image_path text,
  aspect_ratio text not null default '16:9' constraint aspect_ratio_is_width_to_height check (aspect_ratio ~ '^[1-9][0-9]?:[1-9][0-9]?$'),
  selected_first_frame_id uuid,
  selected_last_frame_id uuid,
  selected_video_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- The owner is in the key, so that a project cannot be in another user's film.
  film_id uuid,
  film_position integer,
  element_ids uuid[],
  plan jsonb not null default '{}',
  constraint title_has_a_visible_character check (keyframe_private.has_visible_character(title)),
  constraint title_is_one_line check (keyframe_private.is_one_line(title)),
  constraint text_prompt_has_a_visible_character check (keyframe_private.has_visible_character(text_prompt)),
  constraint text_prompt_is_plain_text check (keyframe_private.is_plain_text(text_prompt)),
  constraint description_is_plain_text check (keyframe_private.is_plain_text(description)),
  -- The API returns them as ISO 8601, which has neither infinity nor other years.
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint element_ids_are_a_list check (coalesce(array_ndims(element_ids), 1) = 1),
  constraint projects_id_owner_id_key unique (id, owner_id),
  constraint projects_film_fkey foreign key (film_id, owner_id) references keyframe.films (id, owner_id) on delete set null (film_id),
  -- Deferrable: checked after the statement that orders a film. Not unique: a start that uses frames of two shots could deadlock with it.
  constraint one_shot_per_position_of_a_film
    exclude using btree (film_id with =, owner_id with =, film_position with =) deferrable,
  constraint position_if_and_only_if_in_a_film check ((film_position is null) = (film_id is null))
);
comment on table keyframe.projects is 'One shot. Owned by the user who created it.';
comment on column keyframe.projects.owner_id is 'The user whose project it is. An administrator may leave it out while there is only one user.';
comment on column keyframe.projects.title is 'One line of at most 200 characters.';
comment on column keyframe.projects.text_prompt is 'The scene to generate. A prediction copies it unless its request has a prompt.';
comment on column keyframe.projects.description is 'Free text, for example the look to keep. Not sent to the provider.';
comment on column keyframe.projects.reference_image_path is 'The look of the next frames: a start of a first or last frame uses it as a reference if its model takes one, unless the request or the plan names references.';
comment on column keyframe.projects.aspect_ratio is 'Width to height of its frames and videos, for example 9:16; a prediction may have another.';
comment on column keyframe.projects.selected_first_frame_id is 'The take that the next video and last frame build on; null: the latest that succeeded.';
comment on column keyframe.projects.selected_last_frame_id is 'The take that the next video ends on; null: the latest that succeeded, if there is one.';
comment on column keyframe.projects.selected_video_id is 'The take that is the shot; null: the latest that succeeded.';
comment on column keyframe.projects.updated_at is 'The project''s version: every change updates it.';
comment on column keyframe.projects.deleted_at is 'When its deletion in parts began: its owner no longer sees it or its predictions. Null: it is not being deleted.';
comment on column keyframe.projects.film_id is 'The film whose shot it is; null: none. A project that enters a film becomes its last shot.';
comment on column keyframe.projects.film_position is 'Orders the shots of a film. update_film writes it; there may be gaps.';
comment on column keyframe.projects.element_ids is 'The elements that it is made with; null: those of its film.';
comment on column keyframe.projects.plan is 'How its steps are made: for each step, fields of a start that apply where a start leaves them out. For example {"video": {"durationSeconds": 5, "continuesPreviousShot": true}}.';
create index projects_owner_id_created_at_idx on keyframe.projects (owner_id, created_at desc, id desc);
create index projects_deleted_at_idx on keyframe.projects (deleted_at, owner_id) where deleted_at is not null;
-- Finds films and projects with a deleted element.
create index projects_with_elements_idx on keyframe.projects (owner_id) where element_ids is not null;
-- Finds whether a reference image is still in use.
create index projects_reference_image_path_idx on keyframe.projects (reference_image_path) where reference_image_path is not null;

create function keyframe_private.complete_owner()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.owner_id := (select case when count(*) = 1 then min(u.id::text)::uuid end from (select id from auth.users limit 2) u);
  if new.owner_id is null then
    raise exception 'owner_id: choose a user of auth.users. It may be left out only while there is exactly one.'
      using errcode = 'not_null_violation';
  end if;
  return new;
end $$;

create function keyframe_private.max_shots()
returns integer language sql immutable set search_path = '' return 500;

-- A project enters a film, as its last shot, or leaves one. Locks the film until the transaction ends, so that two shots cannot get the
-- same position.
create function keyframe_private.change_film()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  shots record;
begin
  if tg_op <> 'INSERT' then
    update keyframe.films f set updated_at = now() where f.id = old.film_id;
  end if;
  if tg_op = 'DELETE' then
    return null;
  end if;
  new.film_position := null;
  if new.film_id is null then
    return new;
  end if;
  update keyframe.films f set updated_at = now() where f.id = new.film_id and f.owner_id = new.owner_id;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no film with this filmId.');
  select count(*) as number, coalesce(max(p.film_position), 0) as last into shots from keyframe.projects p where p.film_id = new.film_id;
  perform keyframe_private.raise_if(shots.number >= keyframe_private.max_shots(), 'invalid_request',
    format('A film has at most %s shots.', keyframe_private.max_shots()));
  new.film_position := shots.last + 1;
  return new;
end $$;

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

-- Deletions of projects. One with many predictions is deleted in parts.

create function keyframe_private.deleted_projects()
returns uuid[] language plpgsql stable security definer set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.owner_id = keyframe_private.caller_id() and p.deleted_at is not null);
end $$;

-- A deletion by a user must not discard paid runs. Administrators and account deletions may: their runs are canceled. With more predictions
-- than one request may delete, the owner no longer sees the project, and delete_parts deletes it.
create function keyframe_private.delete_by_user()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  before constant integer := coalesce(nullif(current_setting('keyframe.deleted_predictions', true), '')::integer, 0);
  more integer;
begin
  if auth.uid() is null or pg_trigger_depth() > 1 then
    return old;
  end if;
  -- The project is locked now: an earlier start has committed and is visible here; a later one finds no project.
  perform keyframe_private.raise_if(
    exists (select from keyframe.predictions p where p.project_id = old.id and p.completed_at is null), 'generation_in_progress',
    'A generation of this project is still running. Cancel it or wait for its end, then delete the project.');
  perform keyframe_private.raise_if(exists (
    select from keyframe.predictions source
    join keyframe_private.prediction_images i on i.source_prediction_id = source.id
    join keyframe.predictions p on p.id = i.prediction_id
    where source.project_id = old.id and p.completed_at is null), 'generation_in_progress',
    'A generation of another project that uses a frame of this one is still running. Cancel it or wait for its end, then delete the project.');
  perform keyframe_private.raise_if(exists (
    select from keyframe.predictions v join keyframe.predictions w on w.waits_for = v.id and w.status = 'queued'
    where v.project_id = old.id and v.step = 'video'), 'generation_in_progress',
    'The next shot waits to continue a video of this project. Cancel it or wait for its end, then delete the project.');
  more := (select count(*) from (select from keyframe.predictions p where p.project_id = old.id limit 1001 - before) n);
  if before + more <= 1000 then
    perform set_config('keyframe.deleted_predictions', (before + more)::text, true);
    return old;
  end if;
  update keyframe.projects p set deleted_at = now(), film_id = null where p.id = old.id;
  return null;
end $$;

-- Skips rows that others lock, and records those that fail (skipped_rows).
create function keyframe_private.delete_parts(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  -- Project by project, the first deleted first, each from its index.
  perform keyframe_private.run_in_batches('keyframe.predictions', format($w$o.id = any (array(
      select d.id from keyframe.projects p
      cross join lateral (
        select x.id from keyframe.predictions x
        where x.project_id = p.id and not keyframe_private.is_skipped('delete keyframe.predictions ' || x.id)
        limit %1$s for update skip locked) d
      where p.deleted_at is not null order by p.deleted_at limit %1$s for update of p skip locked))$w$, max_rows), max_rows);
  perform keyframe_private.run_in_batches('keyframe.projects',
    'o.deleted_at is not null and not exists (select from keyframe.predictions p where p.project_id = o.id) order by o.deleted_at',
    max_rows);
end $$;

-- supabase/schemas/10_projects/20_project_api.sql

-- Functions that api calls for projects. All are definers: an Idempotency-Key has an identifier before the row exists, which users may not
-- choose, and under a policy no condition on a step may use an index (enum_eq is not leakproof).

-- `versions`: times of updated_at in milliseconds, of which the row must have one.
create function keyframe_private.require_version(kind text, updated_at timestamptz, versions timestamptz[])
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(
    versions is not null and (date_trunc('milliseconds', updated_at) = any (versions)) is not true, 'precondition_failed',
    format('The %s has changed since you read it. Read it again, then repeat your request with its new ETag.', kind));
end $$;

create function keyframe_private.own_project(
  project uuid, versions timestamptz[] default null, missing text default 'You have no project with this projectId.')
returns keyframe.projects language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.projects;
begin
  select p.* into requested from keyframe.projects p where p.id = project and keyframe_private.is_own(p.owner_id) and p.deleted_at is null;
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('project', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_project(
  title text, text_prompt text, description text default '', aspect_ratio text default '16:9', idempotency_key text default null,
  request_hash text default null, film_id uuid default null, element_ids uuid[] default null, plan jsonb default '{}')
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.projects;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_project(
      request.resource_id, missing => 'The project that this Idempotency-Key created has been deleted. Send a new key.');
  else
    insert into keyframe.projects (id, title, text_prompt, description, aspect_ratio, film_id, element_ids, plan)
    values (
      request.resource_id, create_project.title, create_project.text_prompt, create_project.description, create_project.aspect_ratio,
      create_project.film_id, create_project.element_ids, create_project.plan)
    returning * into created;
  end if;
  return jsonb_build_object('project', to_jsonb(created), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('create')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_project is 'Creates a project of the caller; with film_id, as the last shot of that film.';

-- How many projects a token pays for: read with their predictions, or priced by a refused start of a film.
create function keyframe_private.projects_per_token()
returns integer language sql immutable set search_path = '' return 10;

-- The next page follows (before_created_at, before_id); the first one infinity, so that every plan is a walk along the index. A search
-- looks at 5,000 projects (about 10 ms); `searched_until` is the last of them if the page is not full. With predictions it costs one token
-- more for each ten projects.
create function keyframe.list_projects(
  max_rows integer default 20, before_created_at timestamptz default 'infinity',
  before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff', with_predictions boolean default false, search text default '')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page_size integer := least(max_rows, 101);
  looked_at integer := case when search = '' then page_size else 5000 end;
  matches keyframe.projects[];
  searched_until json;
  refused keyframe_private.refusal;
begin
  matches := array(
    select l::keyframe.projects from (
      select p.* from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (before_created_at, before_id)
      order by p.created_at desc, p.id desc
      limit looked_at
    ) l
    where strpos(lower(l.title), lower(search)) > 0
    order by l.created_at desc, l.id desc
    limit page_size);
  if with_predictions then
    rate := keyframe_private.acquire_more_tokens(rate, cardinality(matches), keyframe_private.projects_per_token());
  end if;
  if search <> '' and cardinality(matches) < page_size then
    select to_json(l) into searched_until from ( -- made of one row: the columns of skipped rows are computed too
      select p.created_at, p.id from keyframe.projects p
      where p.owner_id = auth.uid() and p.deleted_at is null and (p.created_at, p.id) < (before_created_at, before_id)
      order by p.created_at desc, p.id desc
      offset looked_at - 1 limit 1
    ) l;
  end if;
  return json_build_object(
    'projects', (
      select coalesce(json_agg(
        case when with_predictions
          then (select to_json(j) from (select p.*, coalesce(s.predictions, '[]') as predictions) j)
          else to_json(p) end
        order by p.created_at desc, p.id desc), '[]')
      from unnest(matches) p
      left join keyframe_private.step_predictions(case when with_predictions then matches end) s on s.project_id = p.id),
    'searched_until', searched_until, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_projects is 'The caller''s projects, newest first, at most 101 per page; with_predictions adds the latest prediction and the shown take of each step, search keeps those whose title contains it.';

create function keyframe.read_project(project_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  project keyframe.projects;
  refused keyframe_private.refusal;
begin
  project := keyframe_private.own_project(project_id);
  return json_build_object('project', to_json(project), 'rate', rate,
    'predictions', coalesce((select s.predictions from keyframe_private.step_predictions(array[project]) s), '[]'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_project is 'One project of the caller with the latest prediction and the shown take of each step.';

create function keyframe.update_project(project_id uuid, changes jsonb, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.projects;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.raise_if(jsonb_typeof(changes -> 'plan') <> 'object', 'invalid_request', 'plan must be an object.');
  update keyframe.projects p
  set (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id,
    selected_video_id, film_id, element_ids, plan) = (
    select c.title, c.text_prompt, c.description, c.reference_image_path, c.aspect_ratio, c.selected_first_frame_id,
      c.selected_last_frame_id, c.selected_video_id, c.film_id, c.element_ids,
      (select coalesce(jsonb_object_agg(s.key, s.value), '{}') from jsonb_each(p.plan || c.plan) s where s.value <> 'null')
    from jsonb_populate_record(p, changes) c)
  where p.id = update_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null
    and (versions is null or date_trunc('milliseconds', p.updated_at) = any (versions))
  returning p.* into changed;
  if not found then
    perform keyframe_private.own_project(project_id, versions);
  end if;
  return jsonb_build_object('project', to_jsonb(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.update_project is 'Changes the caller''s project. Existing predictions keep their inputs.';

-- Triggers refuse it while a prediction runs, and queue the files for removal.
create function keyframe.delete_project(project_id uuid, versions timestamptz[] default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  project keyframe.projects;
  refused keyframe_private.refusal;
begin
  -- Not one that is being deleted in parts: pruning holds its row.
  perform from keyframe.projects p
  where p.id = delete_project.project_id and keyframe_private.is_own(p.owner_id) and p.deleted_at is null for update;
  project := keyframe_private.own_project(project_id, versions);
  delete from keyframe.projects p where p.id = project.id;
  return jsonb_build_object('project', to_jsonb(project), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_project is 'Deletes a project of the caller with its predictions; their files are removed soon after. With more than 1,000 predictions it disappears at once and is deleted in parts.';

-- supabase/schemas/10_projects/30_film_api.sql

create function keyframe_private.shots_of(film uuid)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  return array(select p.id from keyframe.projects p where p.film_id = film order by p.film_position);
end $$;

create function keyframe_private.film_json(film keyframe.films)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(film) - 'owner_id' || jsonb_build_object('project_ids', keyframe_private.shots_of(film.id));
end $$;

create function keyframe_private.own_film(
  film uuid, versions timestamptz[] default null, missing text default 'You have no film with this filmId.')
returns keyframe.films language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.films;
begin
  select f.* into requested from keyframe.films f where f.id = film and keyframe_private.is_own(f.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('film', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_film(
  title text, description text default '', idempotency_key text default null, request_hash text default null,
  element_ids uuid[] default '{}')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.films;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_film(
      request.resource_id, missing => 'The film that this Idempotency-Key created has been deleted. Send a new key.');
  else
    insert into keyframe.films (id, title, description, element_ids)
    values (request.resource_id, create_film.title, create_film.description, create_film.element_ids)
    returning * into created;
  end if;
  return json_build_object(
    'film', keyframe_private.film_json(created), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('create')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_film is 'Creates a film of the caller, without shots.';

create function keyframe.list_films(
  max_rows integer default 20, before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.films[] := array(
    select f from keyframe.films f
    where f.owner_id = auth.uid() and (f.created_at, f.id) < (before_created_at, before_id)
    order by f.created_at desc, f.id desc
    limit least(max_rows, 101));
  refused keyframe_private.refusal;
begin
  rate := keyframe_private.acquire_more_tokens(
    rate, (select count(*)::integer from unnest(page) f join keyframe.projects p on p.film_id = f.id), 1000);
  return json_build_object(
    'films', (select coalesce(json_agg(keyframe_private.film_json(f) order by f.created_at desc, f.id desc), '[]') from unnest(page) f),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_films is 'The caller''s films with the identifiers of their shots, newest first, at most 101 per page. Costs one token more for each thousand shots.';

create function keyframe.read_film(film_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  film keyframe.films;
  shots keyframe.projects[];
  refused keyframe_private.refusal;
begin
  film := keyframe_private.own_film(film_id);
  shots := array(select p from keyframe.projects p where p.film_id = film.id order by p.film_position);
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(shots), keyframe_private.projects_per_token());
  return json_build_object(
    'film', keyframe_private.film_json(film),
    'shots', (
      select coalesce(json_agg(
        (select to_json(j) from (select p.*, coalesce(s.predictions, '[]') as predictions) j) order by p.film_position), '[]')
      from unnest(shots) p left join keyframe_private.step_predictions(shots, with_elements => false) s on s.project_id = p.id),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_film is 'One film of the caller with its shots in order, each with the latest prediction and the shown take of each step, without the elements of their input. Costs one token more for each ten shots.';

-- The film's other shots leave it, and shots of other films leave those.
create function keyframe_private.order_shots(film keyframe.films, project_ids uuid[])
returns void language plpgsql volatile set search_path = '' as $$
declare
  unknown uuid;
begin
  perform keyframe_private.raise_if(cardinality(project_ids) > keyframe_private.max_shots(), 'invalid_request',
    format('A film has at most %s shots.', keyframe_private.max_shots()));
  perform keyframe_private.raise_if((select count(distinct w.id) from unnest(project_ids) w (id)) < cardinality(project_ids), -- null is not counted
    'invalid_request', 'A project can be in projectIds only once.');
  select w.id into unknown from unnest(project_ids) w (id)
  where not exists (select from keyframe.projects p where p.id = w.id and p.owner_id = film.owner_id and p.deleted_at is null)
  limit 1;
  perform keyframe_private.raise_if(found, 'not_found', format('You have no project with the projectId %s.', unknown));
  if project_ids = keyframe_private.shots_of(film.id) then
    return;
  end if;

  update keyframe.films f set updated_at = now()
  where f.id = film.id or f.id in (select p.film_id from keyframe.projects p where p.id = any (project_ids));
  -- First remove, then add: otherwise a project with the same position in its old film could not be distinguished from a new one.
  update keyframe.projects p set film_id = null, film_position = null
  where p.film_id = film.id and p.id <> all (project_ids) or p.id = any (project_ids) and p.film_id <> film.id;
  update keyframe.projects p set film_id = film.id, film_position = w.position
  from unnest(project_ids) with ordinality w (id, position)
  where p.id = w.id and p.film_position is distinct from w.position;
end $$;

create function keyframe.update_film(
  film_id uuid, changes jsonb default '{}', project_ids uuid[] default null, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  changed keyframe.films;
  refused keyframe_private.refusal;
begin
  update keyframe.films f
  set (title, description, element_ids) = (select c.title, c.description, c.element_ids from jsonb_populate_record(f, changes) c)
  where f.id = update_film.film_id and keyframe_private.is_own(f.owner_id)
    and (versions is null or date_trunc('milliseconds', f.updated_at) = any (versions))
  returning f.* into changed;
  if not found then
    perform keyframe_private.own_film(film_id, versions);
  end if;
  if project_ids is not null then
    perform keyframe_private.order_shots(changed, project_ids);
    select f.* into changed from keyframe.films f where f.id = changed.id;
  end if;
  return json_build_object('film', keyframe_private.film_json(changed), 'rate', keyframe_private.rate_state('change'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.update_film is 'Changes the caller''s film: its texts, its elements, and with project_ids its shots and their order. `changes` and `versions` as for update_project.';

-- With with_projects, a running prediction refuses the whole deletion (generation_in_progress).
create function keyframe.delete_film(film_id uuid, with_projects boolean default false, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  film keyframe.films;
  deleted jsonb;
  shots uuid[];
  refused keyframe_private.refusal;
begin
  perform from keyframe.films f where f.id = delete_film.film_id and keyframe_private.is_own(f.owner_id) for update;
  film := keyframe_private.own_film(film_id, versions);
  deleted := keyframe_private.film_json(film);
  shots := keyframe_private.shots_of(film.id);
  if with_projects then
    -- before they leave the film: require_frame sees that they are deleted
    perform from keyframe.projects p where p.id = any (shots) for update;
  end if;
  delete from keyframe.films f where f.id = film.id;
  if with_projects then
    delete from keyframe.projects p where p.id = any (shots);
  end if;
  return json_build_object('film', deleted, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_film is 'Deletes a film of the caller; with_projects, also its shots with their predictions and files.';

-- supabase/schemas/10_projects/40_elements.sql

-- An element: a character, place, prop or style that several shots share. Written only through its functions.

create type keyframe.element_kind as enum ('character', 'place', 'prop', 'style');
comment on type keyframe.element_kind is 'What an element is. A label for people; it doesn''t change the result.';

create table keyframe.elements (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null default auth.uid() references auth.users on delete cascade,
  kind keyframe.element_kind not null default 'character',
  name text not null constraint name_has_1_to_60_characters check (char_length(name) between 1 and 60),
  text text not null default '' constraint text_has_at_most_1000_characters check (char_length(text) <= 1000),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  image_paths text[] not null default '{}' constraint element_has_at_most_8_images
    check (cardinality(image_paths) <= 8 and coalesce(array_ndims(image_paths), 1) = 1 and array_position(image_paths, null) is null),
  constraint name_has_a_visible_character check (keyframe_private.has_visible_character(name)),
  constraint name_is_one_line check (keyframe_private.is_one_line(name)),
  -- A prompt names it as @name.
  constraint name_has_no_at_and_no_space_around_it check (name !~ '^\s|\s$|@'),
  constraint text_is_plain_text check (keyframe_private.is_plain_text(text)),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(created_at, updated_at) < '9999-01-01 00:00Z')
);
comment on table keyframe.elements is 'What several shots share: a character, place, prop or style. Owned by the user who created it.';
comment on column keyframe.elements.owner_id is 'The user whose element it is.';
comment on column keyframe.elements.kind is 'character, place, prop or style.';
comment on column keyframe.elements.name is 'The name that a prompt uses after an @. Case and Unicode form (NFC, NFD) do not matter.';
comment on column keyframe.elements.text is 'What it looks like. Starts that use it add it to their prompt, as `name: text`.';
comment on column keyframe.elements.updated_at is 'Its version: every change updates it.';
comment on column keyframe.elements.image_paths is 'Its uploaded images, each as projects/<file_name>. Starts that use it send them as references.';
create index elements_owner_id_created_at_idx on keyframe.elements (owner_id, created_at desc, id desc);
-- Finds whether an image is still in use.
create index elements_image_paths_idx on keyframe.elements using gin (image_paths);

create function keyframe_private.max_elements(list text)
returns integer language sql immutable set search_path = '' return case list when 'owner' then 500 when 'film' then 50 when 'start' then 20 end;

-- Locked until the transaction ends: a deletion waits, and then finds the list that names it.
create function keyframe_private.require_elements(ids uuid[], owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  unknown uuid;
begin
  perform keyframe_private.raise_if(cardinality(ids) > keyframe_private.max_elements('film'), 'invalid_request',
    format('elementIds has at most %s elements.', keyframe_private.max_elements('film')));
  perform keyframe_private.raise_if((select count(distinct i.id) from unnest(ids) i (id)) < cardinality(ids), 'invalid_request', -- null is not counted
    'An element can be in elementIds only once.');
  perform from keyframe.elements e where e.id = any (ids) and e.owner_id = owner order by e.id for key share;
  select i.id into unknown from unnest(ids) i (id)
  where not exists (select from keyframe.elements e where e.id = i.id and e.owner_id = owner) limit 1;
  perform keyframe_private.raise_if(found, 'not_found', format('You have no element with the elementId %s.', unknown));
end $$;

create function keyframe_private.require_own_elements()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op = 'INSERT' or new.element_ids is distinct from old.element_ids then
    perform keyframe_private.require_elements(new.element_ids, new.owner_id);
  end if;
  return new;
end $$;

-- Before the deletion, so that films and projects are locked before `references`, as when they are deleted themselves.
create function keyframe_private.leave_lists()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.films f set element_ids = array_remove(f.element_ids, old.id)
  where f.owner_id = old.owner_id and old.id = any (f.element_ids);
  update keyframe.projects p set element_ids = array_remove(p.element_ids, old.id)
  where p.owner_id = old.owner_id and old.id = any (p.element_ids);
  return old;
end $$;

-- supabase/schemas/10_projects/50_element_api.sql

create function keyframe_private.own_element(
  element uuid, versions timestamptz[] default null, missing text default 'You have no element with this elementId.')
returns keyframe.elements language plpgsql stable set search_path = '' as $$
declare
  requested keyframe.elements;
begin
  select e.* into requested from keyframe.elements e where e.id = element and keyframe_private.is_own(e.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', missing);
  perform keyframe_private.require_version('element', requested.updated_at, versions);
  return requested;
end $$;

create function keyframe.create_element(
  name text, kind keyframe.element_kind default 'character', text text default '', image_paths text[] default '{}',
  idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.elements;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  perform keyframe_private.require_user();
  if request.replayed then
    created := keyframe_private.own_element(
      request.resource_id, missing => 'The element that this Idempotency-Key created has been deleted. Send a new key.');
  else
    perform keyframe_private.acquire_lock('elements', auth.uid());
    perform keyframe_private.raise_if(
      (select count(*) from keyframe.elements e where e.owner_id = auth.uid()) >= keyframe_private.max_elements('owner'), 'invalid_request',
      format('You have %s elements already. Delete one first.', keyframe_private.max_elements('owner')));
    insert into keyframe.elements (id, kind, name, text, image_paths)
    values (request.resource_id, create_element.kind, create_element.name, create_element.text,
      coalesce(create_element.image_paths, '{}'))
    returning * into created;
  end if;
  return json_build_object('element', to_jsonb(created) - 'owner_id', 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_element is 'Creates an element of the caller.';

create function keyframe.list_elements(
  max_rows integer default 20, before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.elements[] := array(
    select e from keyframe.elements e
    where e.owner_id = auth.uid() and (e.created_at, e.id) < (before_created_at, before_id)
    order by e.created_at desc, e.id desc
    limit least(max_rows, 101));
begin
  return json_build_object(
    'elements', (select coalesce(json_agg(to_jsonb(e) - 'owner_id' order by e.created_at desc, e.id desc), '[]') from unnest(page) e),
    'rate', rate);
end $$;
comment on function keyframe.list_elements is 'The caller''s elements, newest first, at most 101 per page.';

create function keyframe.read_element(element_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return json_build_object('element', to_jsonb(keyframe_private.own_element(element_id)) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_element is 'One element of the caller.';

create function keyframe.update_element(element_id uuid, changes jsonb default '{}', versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change'); -- before any lock
  changed keyframe.elements;
  refused keyframe_private.refusal;
begin
  update keyframe.elements e
  set (kind, name, text, image_paths) = (select c.kind, c.name, c.text, c.image_paths from jsonb_populate_record(e, changes) c)
  where e.id = update_element.element_id and keyframe_private.is_own(e.owner_id)
    and (versions is null or date_trunc('milliseconds', e.updated_at) = any (versions))
  returning e.* into changed;
  if not found then
    perform keyframe_private.own_element(element_id, versions);
  end if;
  return json_build_object('element', to_jsonb(changed) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_element is 'Changes the caller''s element. `changes` and `versions` as for update_project. Existing predictions keep what they were made with.';

create function keyframe.delete_element(element_id uuid, versions timestamptz[] default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage'); -- before any lock
  element keyframe.elements;
  refused keyframe_private.refusal;
begin
  perform from keyframe.elements e where e.id = delete_element.element_id and keyframe_private.is_own(e.owner_id) for update;
  element := keyframe_private.own_element(element_id, versions);
  delete from keyframe.elements e where e.id = element.id;
  return json_build_object('element', to_jsonb(element) - 'owner_id', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_element is 'Deletes an element of the caller, also from films and projects. Predictions keep what they were made with.';

-- supabase/schemas/10_projects/60_film_shares.sql

-- Shares are links to a film. Anyone who has the token of a share can read the film's titles, order and videos, without a session.

create table keyframe_private.film_shares (
  id uuid primary key,
  film_id uuid not null references keyframe.films on delete cascade,
  token_hash bytea not null constraint film_shares_token_hash_key unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  constraint times_are_in_years_of_four_digits check (
    least(created_at, expires_at) >= '1970-01-01 00:00Z' and greatest(created_at, expires_at) < '9999-01-01 00:00Z')
);
comment on table keyframe_private.film_shares is 'Links to films. To revoke one, delete its row.';
comment on column keyframe_private.film_shares.token_hash is 'The SHA-256 of the token. The token itself is stored nowhere.';
comment on column keyframe_private.film_shares.expires_at is 'When the link expires; null: never, until it is revoked.';
create index film_shares_film_id_created_at_idx on keyframe_private.film_shares (film_id, created_at desc);
create index film_shares_expires_at_idx on keyframe_private.film_shares (expires_at) where expires_at is not null;

-- A repeated request gets a new token, which replaces the first one, because only its hash is stored.
create function keyframe.share_film(
  film_id uuid, expires_at timestamptz default null, idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  token constant text := translate(substr(keyframe_private.random_secret(), 7), '+/=', '-_'); -- 43 characters of base64url
  hash constant bytea := sha256(convert_to(token, 'UTF8'));
  most constant integer := 20;
  request record;
  made keyframe_private.film_shares;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  perform keyframe_private.require_client_may('manage');
  perform from keyframe.films f where f.id = share_film.film_id and keyframe_private.is_own(f.owner_id) for no key update; -- to count its shares
  perform keyframe_private.own_film(film_id);
  if request.replayed then
    update keyframe_private.film_shares s set token_hash = hash
    where s.id = request.resource_id and s.film_id = share_film.film_id and (s.expires_at > now()) is not false
    returning s.* into made;
    perform keyframe_private.raise_if(not found, 'not_found',
      'The share that this Idempotency-Key created has expired or was revoked. Send a new key.');
  else
    perform keyframe_private.raise_if(share_film.expires_at <= now(), 'invalid_request', 'expiresAt must be in the future.');
    perform keyframe_private.raise_if((
      select count(*) >= most from keyframe_private.film_shares s
      where s.film_id = share_film.film_id and (s.expires_at > now()) is not false
    ), 'invalid_request', format('A film has at most %s shares. Revoke one first.', most));
    insert into keyframe_private.film_shares (id, film_id, token_hash, expires_at)
    values (request.resource_id, share_film.film_id, hash, share_film.expires_at)
    returning * into made;
  end if;
  return json_build_object(
    'share', to_jsonb(made) - 'token_hash', 'token', token, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.share_film is 'Creates a share of the caller''s film, and returns its token once.';

create function keyframe.list_film_shares(film_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read', needed => 'manage');
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_film(film_id);
  return json_build_object('rate', rate, 'shares', (
    select coalesce(json_agg(to_jsonb(s) - 'token_hash' order by s.created_at desc, s.id), '[]')
    from keyframe_private.film_shares s
    where s.film_id = list_film_shares.film_id and (s.expires_at > now()) is not false));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_film_shares is 'The shares of the caller''s film that have not ended, newest first.';

create function keyframe.revoke_film_share(film_id uuid, share_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage');
  gone keyframe_private.film_shares;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_film(film_id);
  delete from keyframe_private.film_shares s where s.id = share_id and s.film_id = revoke_film_share.film_id returning s.* into gone;
  perform keyframe_private.raise_if(not found, 'not_found', 'This film has no share with this shareId.');
  return json_build_object('share', to_jsonb(gone) - 'token_hash', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.revoke_film_share is 'Ends a share of the caller''s film.';

-- Open to anyone, through `api`. All links of an owner together have two calls at a time, and each link has its own bucket.
create function keyframe_worker.read_shared_film(token_hash text)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '2s' set lock_timeout = '2s' as $$
declare
  shared record;
  shots keyframe.projects[];
  refused keyframe_private.refusal;
begin
  select s.id, s.film_id, f.title, f.owner_id into shared
  from keyframe_private.film_shares s
  join keyframe.films f on f.id = s.film_id
  join auth.users u on u.id = f.owner_id
  where s.token_hash = decode(read_shared_film.token_hash, 'hex') and (s.expires_at > now()) is not false
    and u.deleted_at is null and (u.banned_until <= now()) is not false;
  perform keyframe_private.raise_if(not found, 'not_found', 'This link does not work: it is incomplete, has expired, or was revoked.');
  if not keyframe_private.acquire_lock('shared call 1', shared.owner_id, waits => false)
    and not keyframe_private.acquire_lock('shared call 2', shared.owner_id, waits => false) then
    perform keyframe_private.raise_error('rate_limited',
      'Too many people are opening this owner''s links. Wait for the time in Retry-After, then try again.',
      jsonb_build_object('policy', 'calls', 'limit', 2, 'window_seconds', 1, 'wait_seconds', 1)::text);
  end if;
  shots := array(select p from keyframe.projects p where p.film_id = shared.film_id order by p.film_position);
  perform keyframe_private.acquire_token('shared', 1 + cardinality(shots) / keyframe_private.projects_per_token(), holder => shared.id);
  return json_build_object('owner_id', shared.owner_id, 'title', shared.title, 'rate', null, 'shots', (
    select coalesce(json_agg(json_build_object('title', p.title, 'video', case when v.id is not null then json_strip_nulls(
      json_build_object('path', v.output_path, 'content_type', v.output_content_type, 'width', v.output_width, 'height', v.output_height,
        'duration_seconds', v.output_duration_seconds)) end) order by p.film_position), '[]')
    from unnest(shots) p
    left join keyframe.predictions v on v.id = keyframe_private.shown_take(p, 'video')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe_worker.read_shared_film is 'The film of a link, by the SHA-256 of its token in hex: titles and shown videos of the shots, in order.';

-- supabase/schemas/15_queue/10_work.sql

-- The life of a row of the queue. The functions generate and deliver do the work. A worker is one running instance of a function: an edge
-- function's, or one in a process of npm run worker. Its worker_id is random.
--
-- 1. Added (add_work): ready if it is due, and its function is kicked; otherwise scheduled.
-- 2. Ready. A claim first makes due work ready, and work whose lease has expired (make_ready).
-- 3. Leased (lease_work) by a worker, with a token.
-- 4. The worker that holds the lease records the result. Then the row is deleted, or scheduled again (reschedule, reschedule_all).
--
-- A subject may have two rows of a kind: nothing that only inserts can prevent it, and a unique key would make inserts wait for each other.
-- Every kind checks the state again, so the second row finds nothing to do.
--
-- generate proves by the token that it holds a lease, because a worker may lease a row again while its work under the expired lease is
-- still going on. deliver proves it by worker_id (is_leased), because a worker never sends a delivery twice at once. What happened outside
-- counts even if the lease was lost: that a delivery succeeded, and what the provider says of a run.
--
-- Only workers update and delete; others insert (an administrator may change due_at). So no transaction of a user, however long it stays
-- open, locks a row that a claim needs.

create type keyframe_private.work_queue as enum ('ask', 'copy', 'deliver');
comment on type keyframe_private.work_queue is 'ask (calls to the provider and the database) and copy (outputs) belong to generate, deliver to deliver. Each has its own capacity.';

create type keyframe_private.work_state as enum ('scheduled', 'ready', 'leased');
comment on type keyframe_private.work_state is 'scheduled: due later. ready: waits for a worker. leased: a worker has it. Finished work is deleted. Failed work is scheduled again; a failed submit is replaced by a new one.';

create table keyframe_private.work (
  id bigint generated always as identity primary key,
  queue keyframe_private.work_queue not null,
  kind text collate "C" not null,
  subject uuid not null,
  submit_id bigint,
  owner_id uuid not null,
  lane uuid not null,
  resource text collate "C" not null,
  is_unproven boolean not null default false,
  state keyframe_private.work_state not null,
  due_at timestamptz not null,
  worker_id uuid,
  lease_token uuid,
  failures integer not null default 0,
  last_error text
-- Most rows live for seconds and are written two or three times: vacuum must not wait for a share of the table. Without checks: they took
-- more than half of an insert, and only our functions write here.
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.5);
comment on table keyframe_private.work is 'The queue of both functions: what to do, when, and which worker does it.';
comment on column keyframe_private.work.kind is 'submit, poll, store, search, cancel, remove, expire, admit, continue; deliver, resume.';
comment on column keyframe_private.work.subject is 'Its prediction, its delivery, or its owner (remove, admit). For resume: the delivery after which it continues; all zeros: none.';
comment on column keyframe_private.work.submit_id is 'The row of provider_submits that submit, poll, search and cancel are about.';
comment on column keyframe_private.work.owner_id is 'The owner whose share of the capacity it uses, or a service-wide endpoint.';
comment on column keyframe_private.work.lane is 'What takes turns within a resource: the owner, or the endpoint.';
comment on column keyframe_private.work.resource is 'The shared dependency that can be slow for many owners: a model, an output''s host and model, a receiver''s host and the endpoint''s standing, otherwise the kind.';
comment on column keyframe_private.work.is_unproven is 'Whether its endpoint is new or slow: a request to it may hang.';
comment on column keyframe_private.work.due_at is 'When it is due, or was; while it is leased, when the lease expires.';
comment on column keyframe_private.work.lease_token is 'Which claim leased it.';
comment on column keyframe_private.work.failures is 'generate: failures in a row. deliver: leases that expired, which lengthen its wait; failed requests are counted in webhook_deliveries.';
-- A claim walks from resource to resource and lane to lane, one probe each.
create index work_ready_idx on keyframe_private.work (queue, resource, lane, id) where state = 'ready';
create index work_due_idx on keyframe_private.work (queue, due_at) where state = 'scheduled';
create index work_leased_idx on keyframe_private.work (queue, lane, subject) where state = 'leased';
create index work_subject_idx on keyframe_private.work (kind, subject) where queue <> 'deliver';
create index work_failed_idx on keyframe_private.work (failures) where queue <> 'deliver' and failures > 0;
-- For health: since when the oldest work of a kind, or of an endpoint, has been due.
create index work_ready_kind_idx on keyframe_private.work (kind, due_at) where queue <> 'deliver' and state = 'ready';
create index work_ready_lane_idx on keyframe_private.work (lane, due_at) where queue = 'deliver' and state = 'ready';

-- Kicks the function if the work is due. The lane is the owner, if none is named.
create function keyframe_private.add_work(
  queue keyframe_private.work_queue, kind text, subject uuid, owner uuid, resource text, due_at timestamptz default clock_timestamp(),
  submit_id bigint default null, failures integer default 0, last_error text default null, lane uuid default null, is_unproven boolean default false)
returns void language plpgsql volatile set search_path = '' as $$
declare
  is_due constant boolean := add_work.due_at <= clock_timestamp();
begin
  insert into keyframe_private.work (queue, kind, subject, submit_id, owner_id, lane, resource, is_unproven, state, due_at, failures, last_error)
  values (queue, kind, subject, submit_id, owner, coalesce(lane, owner), resource, is_unproven,
    case when is_due then 'ready' else 'scheduled' end::keyframe_private.work_state, due_at, failures, last_error);
  if is_due then
    perform keyframe_private.kick_unless_running(case add_work.queue when 'deliver' then 'deliver' else 'generate' end);
  end if;
end $$;

-- Whether the queue has work of this kind about a subject. Always uses the index: a plan cached while the table was empty would scan it when
-- it is full. Without jit: the cost of a disabled scan would start it at each call.
create function keyframe_private.has_work(subject uuid, kind text, submit_id bigint default null)
returns boolean language plpgsql stable set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (
    select from keyframe_private.work w
    where w.subject = has_work.subject and w.kind = has_work.kind and w.queue <> 'deliver'
      and (has_work.submit_id is null or w.submit_id = has_work.submit_id));
end $$;

-- Locks leased work for the holder of its lease. Its fields are null when the lease is lost: then statements with its id match no row.
create function keyframe_private.lock_leased_work(work_id bigint, lease_token uuid)
returns keyframe_private.work language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  leased keyframe_private.work;
begin
  select w.* into leased from keyframe_private.work w
  where w.id = work_id and w.lease_token = lock_leased_work.lease_token and w.state = 'leased' for update;
  return leased;
end $$;

-- Ends a lease, and saves what the caller has changed in `leased`: a submit becomes a poll of its run.
create function keyframe_private.reschedule(leased keyframe_private.work, due timestamptz, failures integer, error text)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  update keyframe_private.work w
  set state = 'scheduled', due_at = due, worker_id = null, lease_token = null, kind = leased.kind, submit_id = leased.submit_id,
      resource = leased.resource, failures = least(reschedule.failures, 1000000), last_error = error
  where w.id = leased.id;
end $$;

-- Ends the leases of many rows, which keep their failures. Those that are due are ready at once.
create function keyframe_private.reschedule_all(work_ids bigint[], due timestamptz[], at timestamptz)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  update keyframe_private.work w
  set state = case when r.due <= at then 'ready' else 'scheduled' end::keyframe_private.work_state, due_at = r.due,
      worker_id = null, lease_token = null
  from unnest(work_ids, reschedule_all.due) r (id, due) where r.id = w.id and w.id = any (work_ids);
end $$;

-- Doubles with each failure, ±20 %, up to retry_max; a minute without settings. More than 20 doublings would exceed the range of an interval.
create function keyframe_private.retry_delay(failures integer)
returns interval language plpgsql volatile set search_path = '' as $$
begin
  return coalesce((
    select least(s.retry_max, s.retry_base * power(2, least(20, greatest(0, failures - 1))) * (0.8 + random() * 0.4))
    from keyframe_private.settings s), interval '1 minute');
end $$;

-- supabase/schemas/15_queue/20_leases.sql

-- The claim of both functions. lease_work makes due work ready (make_ready), counts what the worker has leased already (count_leased), finds
-- lanes in the order of their turns (find_lanes), chooses a row of each in turn up to the limits (choose_rows), and leases these.
--
-- An example: the last claim ended at Bob's lane of model A, and these rows are ready:
--   model A: Ada's lane a1 a2 a3, Bob's b1, Cem's c1 c2
--   model B: Dan's lane d1
-- The next claim begins after that lane: with model B, then model A from Cem on. So the turns are Dan, Cem, Ada, Bob, and the order of the rows
-- is d1 c1 a1 b1, c2 a2, a3. A claim of five leases d1 c1 a1 b1 c2, and the one after it begins after Bob's lane again.

-- How many pieces of work a worker may have leased at once. Copies cost memory while the output's host is faster than Storage: 36 stalled
-- ones took 160 MB in all, 96 took 275, and a hosted function has 256.
create function keyframe_private.capacity_of(queue keyframe_private.work_queue)
returns integer language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'ask' then 96 when 'copy' then 36 when 'deliver' then 440 end;
end $$;

-- How long a lease lasts. A task of generate normally stops before another worker can lease it: workMs and abortGraceMs are 85 s in all.
create function keyframe_private.lease_of(queue keyframe_private.work_queue)
returns interval language plpgsql immutable set search_path = '' as $$
begin
  return case queue when 'deliver' then interval '30 seconds' else interval '90 seconds' end;
end $$;

-- A resource may lease another row while the worker has fewer of its rows leased than this limit. All counts are those of one worker.
--
--   limit = max(min(4/5 part − leased in part, 9/10 capacity − leased), min(4, free / 6))
--
-- free is the lesser of what is free of the capacity and of the part. part is the whole capacity. Deliveries to endpoints that are new or
-- slow are unproven: their part is half, so that they leave the rest to others. Each row that is leased lowers the limit, so a resource that
-- is alone ends at two fifths. A fifth of a part and a tenth of the capacity stay free for resources that come later. min(4, free / 6) is for a
-- worker that is nearly full: it still gives a newcomer a few rows, and never more than a sixth of what is free. The same limit holds for an
-- owner; for deliver an owner's rows count twice, because an owner can have twenty endpoints at one host. For deliver, with a capacity of 440
-- (test/db/work/shares.test.ts has the same table):
--
--   leased by others                   limit of a resource                  it ends at
--   nothing                            352 − its own rows                   176
--   176 of one quick host              176 − its own                        88
--   200 unproven                       196 − its own, of nine tenths        98
--   430                                (440 − 430 − its own) / 6            2
--   unproven: nothing                  176 − its own, four fifths of 220    88
create function keyframe_private.limit_for_next_row(capacity integer, is_unproven boolean, leased bigint, leased_unproven bigint)
returns numeric language plpgsql immutable set search_path = '' as $$
declare
  part constant integer := case when is_unproven then capacity / 2 else capacity end;
  leased_in_part constant bigint := case when is_unproven then leased_unproven else leased - leased_unproven end;
begin
  return greatest(
    least(part * 4 / 5 - leased_in_part, capacity * 9 / 10 - leased),
    least(4, least(capacity - leased, part - leased_in_part) / 6.0));
end $$;

-- Makes due work ready, and work whose lease has expired. An expired lease counts as a failure. A submit counts every failure; other work of
-- generate only leases that expired in a row, because its run is paid for. A delivery is never abandoned for it, because whole workers are
-- restarted or frozen. From its second expired lease on it waits for a growing, random time: one that ends its worker is parted from those
-- that were leased with it.
create function keyframe_private.make_ready(queue keyframe_private.work_queue, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
declare
  due constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = make_ready.queue and w.state = 'scheduled' and w.due_at <= at order by w.due_at limit 1000 for update skip locked);
  expired constant bigint[] := array(
    select w.id from keyframe_private.work w
    where w.queue = make_ready.queue and w.state = 'leased' and (w.due_at <= at or w.due_at > at + interval '5 minutes') -- the clock was set back
    limit 1000 for update skip locked);
begin
  if due <> '{}' then
    update keyframe_private.work w set state = 'ready' where w.id = any (due);
  end if;
  if expired <> '{}' then
    update keyframe_private.work w
    set state = case when w.kind = 'deliver' and w.failures > 0 then 'scheduled' else 'ready' end::keyframe_private.work_state,
        due_at = case when w.kind = 'deliver' and w.failures > 0 then at + keyframe_private.retry_delay(w.failures) else w.due_at end,
        worker_id = null, lease_token = null, last_error = 'lease_expired',
        failures = case when w.kind <> 'submit' and w.last_error is distinct from 'lease_expired' then 1 else w.failures + 1 end
    where w.id = any (expired);
  end if;
end $$;

-- What a worker has leased of a queue. by_owner has one count of an owner's proven rows and one of the unproven; each row counts owner_weight.
create type keyframe_private.leased_counts as (total bigint, unproven bigint, by_resource jsonb, by_owner jsonb, owner_weight integer);

create function keyframe_private.count_leased(queue keyframe_private.work_queue, for_worker uuid)
returns keyframe_private.leased_counts language plpgsql volatile set search_path = '' as $$
declare
  weight constant integer := case queue when 'deliver' then 2 else 1 end;
begin
  return (
    with mine as materialized (
      select w.resource, w.owner_id, w.is_unproven from keyframe_private.work w
      where w.queue = count_leased.queue and w.state = 'leased' and w.worker_id = for_worker
    )
    select row((select count(*) from mine), (select count(*) from mine m where m.is_unproven),
      (select jsonb_object_agg(r.resource, r.n) from (select m.resource, count(*) as n from mine m group by 1) r),
      (select jsonb_object_agg(o.id, o.n) from (select concat(m.owner_id, m.is_unproven) as id, weight * count(*) as n from mine m group by 1) o),
      weight));
end $$;

-- Where a claim ended. The next one begins after it, and wraps around at the end of the index: with the resources A, B, C and the cursor at B
-- in the order C, A, B. Lanes within a resource wrap around in the same way.
create type keyframe_private.claim_cursor as (resource text, lane uuid);

-- Returns a ready row of the next resource. The walk begins after the cursor's resource, and ends with it: then null. One probe of the index.
create function keyframe_private.next_resource(queue keyframe_private.work_queue, cursor_resource text, previous text)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_restarted boolean := previous is not null and previous collate "C" <= cursor_resource;
  ready keyframe_private.work;
begin
  loop
    select w.* into ready from keyframe_private.work w
    where w.queue = next_resource.queue and w.state = 'ready' and w.resource > coalesce(previous, cursor_resource) order by w.resource limit 1;
    exit when found or has_restarted;
    has_restarted := true;
    previous := ''; -- on from the start
  end loop;
  return case when not has_restarted or ready.resource <= cursor_resource then ready end;
end $$;

-- The same for the lanes of a resource.
create function keyframe_private.next_lane(queue keyframe_private.work_queue, resource text, cursor_lane uuid, previous uuid)
returns keyframe_private.work language plpgsql volatile set search_path = '' as $$
declare
  has_restarted boolean := previous is not null and previous <= cursor_lane;
  ready keyframe_private.work;
begin
  loop
    select w.* into ready from keyframe_private.work w
    where w.queue = next_lane.queue and w.state = 'ready' and w.resource <= next_lane.resource
      and (w.resource, w.lane) > (next_lane.resource, coalesce(previous, cursor_lane)) order by w.resource, w.lane limit 1;
    exit when found or has_restarted;
    has_restarted := true;
    previous := '00000000-0000-0000-0000-000000000000';
  end loop;
  return case when not has_restarted or ready.lane <= cursor_lane then ready end;
end $$;

-- A lane to lease from, at most the max_rows of its endpoint, and how much of its resource and of its owner the worker has leased.
create type keyframe_private.claimable_lane as (resource text, lane uuid, max_rows integer, leased_of_resource bigint, leased_of_owner bigint);

-- The lanes of one resource after the other, without those at a limit. Only the cursor's resource begins after the cursor's lane; any other
-- begins at a random lane. Lanes of deliver are locked, and cleared of work that does not belong there (lock_endpoint_lane). is_cut: there
-- are more lanes than a claim may visit. max_to_lease: the most that these resources can lease now. A leased row adds one to the count and
-- takes one from the limit, so they meet halfway; a worker that is nearly full still leases a few rows.
create function keyframe_private.find_lanes(
  queue keyframe_private.work_queue, for_worker uuid, max_lanes integer, counts keyframe_private.leased_counts,
  from_cursor keyframe_private.claim_cursor, out lanes keyframe_private.claimable_lane[], out max_to_lease integer,
  out next_cursor keyframe_private.claim_cursor, out is_cut boolean)
language plpgsql volatile set search_path = '' as $$
declare
  capacity constant integer := keyframe_private.capacity_of(queue);
  max_probes constant integer := 4 * max_lanes;
  resource_row keyframe_private.work;
  row_limit numeric;
  leased_of_resource bigint;
  cursor_lane uuid;
  lane_row keyframe_private.work;
  leased_of_owner bigint;
  max_rows integer;
  probes integer := 0;
  cleared_rows integer := 0;
begin
  lanes := '{}';
  max_to_lease := 0;
  next_cursor := from_cursor;
  while probes < max_probes loop
    resource_row := keyframe_private.next_resource(queue, from_cursor.resource, resource_row.resource);
    exit when resource_row.id is null;
    probes := probes + 1;
    next_cursor.resource := resource_row.resource;
    row_limit := keyframe_private.limit_for_next_row(capacity, resource_row.is_unproven, counts.total, counts.unproven);
    leased_of_resource := coalesce((counts.by_resource ->> resource_row.resource)::bigint, 0);
    continue when leased_of_resource >= row_limit;
    max_to_lease := max_to_lease + greatest(4, ceil((row_limit - leased_of_resource) / 2));
    cursor_lane := case when resource_row.resource = from_cursor.resource then from_cursor.lane else gen_random_uuid() end;
    lane_row := null;
    loop
      lane_row := keyframe_private.next_lane(queue, resource_row.resource, cursor_lane, lane_row.lane);
      exit when lane_row.id is null;
      probes := probes + 1;
      leased_of_owner := coalesce((counts.by_owner ->> concat(lane_row.owner_id, resource_row.is_unproven))::bigint, 0);
      max_rows := case when leased_of_owner < row_limit then capacity else 0 end;
      if max_rows > 0 and queue = 'deliver' then
        select l.max_rows, cleared_rows + l.cleared into max_rows, cleared_rows
        from keyframe_private.lock_endpoint_lane(lane_row.lane, resource_row.resource, for_worker) l;
      end if;
      if max_rows > 0 then
        lanes := lanes || row(resource_row.resource, lane_row.lane, max_rows, leased_of_resource, leased_of_owner)::keyframe_private.claimable_lane;
      end if;
      if cardinality(lanes) = max_lanes or probes >= max_probes or cleared_rows >= 1000 then
        is_cut := true;
        next_cursor.lane := lane_row.lane;
        return;
      end if;
    end loop;
  end loop;
  is_cut := probes >= max_probes;
end $$;

-- Locks ready rows of these lanes, as many of each; what one lane lacks is not given to another. In each round every lane has a turn with
-- its next row. A row is chosen if the limits still allow it after all rows before it have been leased. last_lane: the chosen lane whose
-- turn is last.
create function keyframe_private.choose_rows(
  queue keyframe_private.work_queue, lanes keyframe_private.claimable_lane[], max_to_lease integer, max_rows integer,
  counts keyframe_private.leased_counts, out ids bigint[], out last_lane uuid)
language plpgsql volatile set search_path = '' as $$
declare
  capacity constant integer := keyframe_private.capacity_of(queue);
  rows_per_lane constant integer := ceil(least(max_rows, max_to_lease)::numeric / cardinality(lanes));
begin
  with candidate as (
    select r.*, l.*, row_number() over (partition by l.lane_turn order by r.id) as round
    from unnest(lanes) with ordinality l (resource, lane, max_rows, leased_of_resource, leased_of_owner, lane_turn)
    -- A lane is read as a range of the index. `lane = … order by id` may be planned as a walk along the primary key, past all other
    -- rows. The upper bound compares the lane alone: an index scan does not stop at a row comparison, and would read on.
    cross join lateral (
      select w.id, w.owner_id, w.is_unproven from keyframe_private.work w
      where w.queue = choose_rows.queue and w.state = 'ready' and w.resource = l.resource
        and (w.lane, w.id) > (l.lane, 0) and w.lane <= l.lane
      order by w.lane, w.id limit least(l.max_rows, rows_per_lane) for update skip locked) r
  ), counted as (
    select c.*, count(*) over earlier as earlier, count(*) filter (where c.is_unproven) over earlier as earlier_unproven,
      count(*) over of_resource as earlier_of_resource, counts.owner_weight * count(*) over of_owner as earlier_of_owner
    from candidate c
    window earlier as (order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding),
      of_resource as (partition by c.resource order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding),
      of_owner as (partition by c.owner_id, c.is_unproven order by c.round, c.lane_turn rows between unbounded preceding and 1 preceding)
  )
  select array_agg(c.id), (array_agg(c.lane order by c.lane_turn desc))[1] into ids, last_lane
  from counted c
  where c.earlier < least(choose_rows.max_rows, capacity - counts.total)
    and greatest(c.leased_of_resource + c.earlier_of_resource, c.leased_of_owner + c.earlier_of_owner) < keyframe_private.limit_for_next_row(
      capacity, c.is_unproven, counts.total + c.earlier, counts.unproven + c.earlier_unproven);
end $$;

-- cursors: a claim_cursor for each queue. The table swings between empty and full faster than it is analyzed, so we force index scans.
create function keyframe_private.lease_work(
  queue keyframe_private.work_queue, for_worker uuid, max_rows integer, at timestamptz, inout cursors jsonb,
  out leased keyframe_private.work[], out is_cut boolean)
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  from_cursor constant keyframe_private.claim_cursor := jsonb_populate_record(
    row('', '00000000-0000-0000-0000-000000000000')::keyframe_private.claim_cursor, cursors -> queue::text);
  token constant uuid := gen_random_uuid();
  counts keyframe_private.leased_counts;
  walk record;
  chosen record;
  next_cursor keyframe_private.claim_cursor;
begin
  perform keyframe_private.make_ready(queue, at);
  counts := keyframe_private.count_leased(queue, for_worker);
  leased := '{}';
  is_cut := false;
  if counts.total >= keyframe_private.capacity_of(queue) then
    return;
  end if;
  walk := keyframe_private.find_lanes(queue, for_worker, least(max_rows, 100), counts, from_cursor);
  is_cut := walk.is_cut;
  next_cursor := walk.next_cursor;
  if walk.lanes <> '{}' then
    chosen := keyframe_private.choose_rows(queue, walk.lanes, walk.max_to_lease, max_rows, counts);
    with taken as (
      update keyframe_private.work w
      set state = 'leased', worker_id = for_worker, lease_token = token, due_at = at + keyframe_private.lease_of(lease_work.queue)
      where w.id = any (chosen.ids) returning w.*
    )
    select coalesce(array_agg(row(t.*)::keyframe_private.work order by t.id), '{}') into leased from taken t;
    next_cursor.lane := coalesce(chosen.last_lane, next_cursor.lane);
  end if;
  cursors := cursors || jsonb_build_object(queue::text, next_cursor);
end $$;

create function keyframe_private.has_due_work(queues keyframe_private.work_queue[], at timestamptz)
returns boolean language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  one keyframe_private.work_queue;
begin
  foreach one in array queues loop
    if (select true from keyframe_private.work w where w.queue = one and w.state = 'ready' limit 1)
      or (select w.due_at from keyframe_private.work w where w.queue = one and w.state = 'scheduled' order by w.due_at limit 1) <= at
      or (select true from keyframe_private.work w where w.queue = one and w.state = 'leased' and w.due_at <= at limit 1) then
      return true;
    end if;
  end loop;
  return false;
end $$;

-- Waits at most a second, because the call holds a connection. True: something may be due. Checks run every 1/50 of the wait, and use at
-- most a tenth of the time. One worker of each function waits; the calls of the others return true at once. Work of generate takes seconds
-- at the provider, so 5 ms is enough: with 2 ms, waiting used 4 % of a core.
create function keyframe_private.wait_for_due(function_name text, queues keyframe_private.work_queue[], wait_ms integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  ends constant timestamptz := clock_timestamp() + make_interval(secs => least(wait_ms, 1000) / 1000.0);
  checked_at timestamptz;
  rest double precision;
begin
  if wait_ms <= 0 or not keyframe_private.acquire_lock('waits ' || function_name, null, waits => false) then
    return true;
  end if;
  loop
    checked_at := clock_timestamp();
    if keyframe_private.has_due_work(queues, checked_at) then
      return true;
    end if;
    rest := greatest(
      least(wait_ms, 1000) / 50000.0, case function_name when 'generate' then 0.005 else 0 end,
      9 * extract(epoch from clock_timestamp() - checked_at));
    if clock_timestamp() + make_interval(secs => rest) >= ends then
      return false;
    end if;
    perform pg_sleep(rest);
  end loop;
end $$;

-- supabase/schemas/15_queue/30_kicks.sql

-- Kicks wake the functions. A kick may be lost, late or duplicated: it only changes when work happens.

-- Only acknowledged_at is updated, so no kick waits for another. Unlogged, as pg_net's tables, whose ids restart after a crash.
create unlogged table keyframe_private.kicks (
  id bigint generated always as identity primary key,
  function_name text not null,
  made_at timestamptz not null default clock_timestamp(),
  request_id bigint,
  error text,
  acknowledged_at timestamptz,
  constraint kick_is_made_or_failed check ((request_id is null) = (error is not null))
);
comment on table keyframe_private.kicks is 'The kicks of the last hour, for the figures of the service (docs/operate.md).';
comment on column keyframe_private.kicks.request_id is 'The id of its answer in net._http_response; null when it could not be made.';
comment on column keyframe_private.kicks.acknowledged_at is 'When the function first claimed after it.';
create index kicks_made_at_idx on keyframe_private.kicks (function_name, made_at);
create index kicks_unacknowledged_idx on keyframe_private.kicks (function_name) where acknowledged_at is null and error is null;

-- Unlogged: after a crash no worker is running. Free space on the page keeps the update of each claim in place.
create unlogged table keyframe_private.heartbeats (
  function_name text primary key,
  alive_until timestamptz not null default '-infinity',
  claimed_at timestamptz not null,
  report jsonb not null default '{}'
) with (fillfactor = 50);
comment on table keyframe_private.heartbeats is 'The last claim of each function, by any of its workers.';
comment on column keyframe_private.heartbeats.alive_until is 'The time by which that worker will claim again.';
comment on column keyframe_private.heartbeats.report is 'What that worker reported: callMs, how long its last database call took without waiting for work; isProcess, whether it is a process of npm run worker and not an edge function; address, the project that a process works for.';

-- The worker will claim again within heartbeat_ms (0: it stops). Skips rows that another claim has locked: it records the same. Raises only
-- for a process of another project (an edge function works for the project that kicks it). Other errors are warnings: without a heartbeat
-- the sweep kicks.
create function keyframe_private.record_heartbeat(function_name text, heartbeat_ms integer, report jsonb)
returns void language plpgsql volatile set search_path = '' set lock_timeout = '20ms' as $$
declare
  at constant timestamptz := clock_timestamp();
  next_claim_by constant timestamptz := case when heartbeat_ms > 0 then at + make_interval(secs => heartbeat_ms / 1000.0)
    else '-infinity' end;
begin
  if report ? 'address' and report ->> 'address' is distinct from keyframe_private.address() then
    raise exception 'This database works for another project, not for %.', report ->> 'address' using errcode = 'KEYAD';
  end if;
  update keyframe_private.heartbeats h
  set alive_until = next_claim_by, claimed_at = at, report = record_heartbeat.report
  where h.function_name = (
    select k.function_name from keyframe_private.heartbeats k where k.function_name = record_heartbeat.function_name for update skip locked);
  if not found then
    -- Only a missing row: on conflict do nothing would wait for a claim that is updating it.
    insert into keyframe_private.heartbeats (function_name, alive_until, claimed_at, report)
    select record_heartbeat.function_name, next_claim_by, at, record_heartbeat.report
    where not exists (select from keyframe_private.heartbeats k where k.function_name = record_heartbeat.function_name)
    on conflict do nothing;
  end if;
  update keyframe_private.kicks l
  set acknowledged_at = clock_timestamp() -- a kick may commit while this runs
  where l.id = any (array(
    select k.id from keyframe_private.kicks k
    where k.function_name = record_heartbeat.function_name and k.acknowledged_at is null
      and k.error is null limit 1000 for update skip locked));
exception
  when sqlstate 'KEYAD' then
    raise;
  when others or assert_failure then
    raise warning 'No heartbeat of %: % (%)', function_name, sqlerrm, sqlstate;
end $$;

-- Signs the kick according to Standard Webhooks. A kick that cannot be made is recorded, and the sweep replaces it. The caller fails only
-- if the kick cannot be recorded.
create function keyframe_private.kick(function_name text)
returns boolean language plpgsql volatile security definer set search_path = '' as $$
declare
  base_url constant text := keyframe_private.read_secret('keyframe_functions_url');
  secret constant text := keyframe_private.read_secret('keyframe_kick_secret');
  kick_id text := 'kick_' || replace(gen_random_uuid()::text, '-', '');
  signed_at text := floor(extract(epoch from clock_timestamp()))::bigint::text;
  signature text;
begin
  if base_url is null or secret is null then
    raise exception 'The Vault lacks keyframe_functions_url or keyframe_kick_secret, cannot decrypt it, or was locked.';
  end if;
  signature := encode(
    keyframe_private.hmac_sha256(
      convert_to(kick_id || '.' || signed_at || '.{}', 'UTF8'),
      decode(substr(secret, length('whsec_') + 1), 'base64')
    ), 'base64');
  insert into keyframe_private.kicks (function_name, request_id) values (kick.function_name, net.http_post(
    url := base_url || '/keyframe-' || kick.function_name,
    body := '{}',
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'webhook-id', kick_id, 'webhook-timestamp', signed_at, 'webhook-signature', 'v1,' || signature
    ),
    timeout_milliseconds := 5000
  ));
  return true;
exception when others then
  raise warning 'No kick to %: %', function_name, sqlerrm;
  insert into keyframe_private.kicks (function_name, error) values (kick.function_name, left(sqlerrm, 200));
  return false;
end $$;

-- One kick per burst: none while the function's heartbeat is live or just after a kick, and one per transaction. Without a lock, so that an
-- open transaction does not stop other kicks. Times in the future are from before the clock was set back.
create function keyframe_private.kick_unless_running(function_name text)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  marker text := 'keyframe.kicked_' || function_name;
  at constant timestamptz := clock_timestamp();
begin
  if current_setting(marker, true) = 'true' -- until the transaction ends
    or exists (
      select from keyframe_private.heartbeats h
      where h.function_name = kick_unless_running.function_name and h.alive_until between at and at + interval '2 minutes')
    or exists (
      select from keyframe_private.kicks k
      where k.function_name = kick_unless_running.function_name and k.made_at between at - interval '100 ms' and at)
  then
    return;
  end if;
  perform set_config(marker, 'true', true);
  perform keyframe_private.kick(function_name);
end $$;

-- supabase/schemas/20_models/10_models.sql

-- The models that serve a step, and the default of each. An administrator edits rows in Studio. 95_shipped_rows.sql has the first ones.

create table keyframe.models (
  step keyframe.generation_step not null,
  model text not null constraint model_is_owner_slash_name check (
    model ~ '^[a-z0-9._-]+/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$' and char_length(model) <= 200),
  label text not null constraint label_is_not_empty check (btrim(label) <> ''),
  vendor text not null constraint vendor_is_not_empty check (btrim(vendor) <> ''),
  enabled boolean not null default true,
  position integer not null default 1000,
  shutdown_at timestamptz,
  refused_at timestamptz,
  accepts_faces text not null default 'unknown' constraint accepts_faces_is_known check (accepts_faces in ('yes', 'no', 'unknown')),
  controls jsonb not null,
  fixed jsonb not null default '{}',
  output text constraint output_is_path check (
    output ~ '^(\[\d+\]|[A-Za-z_][A-Za-z0-9_-]*)(\[\d+\]|\.[A-Za-z_][A-Za-z0-9_-]*)*$' and char_length(output) <= 100),
  notes text not null default '',
  billed_when jsonb not null default '{"failed": "unknown", "rejected": "unknown", "canceled": "yes"}'
    constraint billed_when_says_yes_no_or_unknown check (
      array[billed_when ->> 'failed', billed_when ->> 'rejected', billed_when ->> 'canceled'] <@ array['yes', 'no', 'unknown']
        and billed_when - array['failed', 'rejected', 'canceled'] = '{}'),
  cost_ceiling_micros bigint constraint cost_ceiling_is_at_most_a_million_dollars check (cost_ceiling_micros between 0 and 1000000000000),
  primary key (step, model),
  -- The API returns null for infinity, and has no time for other years.
  constraint times_are_in_years_of_four_digits check (
    shutdown_at >= '1970-01-01 00:00Z' and (shutdown_at < '9999-01-01 00:00Z' or shutdown_at = 'infinity'))
);
comment on table keyframe.models is 'The models that can serve a step. step_defaults names the one that a start uses when it names none.';
comment on column keyframe.models.step is 'The step that it serves; a model can have a row for each.';
comment on column keyframe.models.model is 'owner/name at Replicate, or owner/name:version for a community model.';
comment on column keyframe.models.label is 'The name that people choose the model by.';
comment on column keyframe.models.vendor is 'Who makes the model.';
comment on column keyframe.models.enabled is 'False: the model is not offered, and a start that names it is refused.';
comment on column keyframe.models.position is 'The order in which the models of a step are offered, and in which one takes over from another.';
comment on column keyframe.models.shutdown_at is 'When the vendor ends the model, if that is announced. Later starts use another model.';
comment on column keyframe.models.refused_at is 'When the provider refused the model as unknown: it has been unavailable since then. Any change of the row clears it, and so does a later success.';
comment on column keyframe.models.accepts_faces is 'Whether the model accepts images that show people''s faces: yes, no or unknown.';
comment on column keyframe.models.controls is 'Our name of each input -> how the model accepts it, for example {"durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}}. docs/models.md explains the keys.';
comment on column keyframe.models.fixed is 'Fields of the model that are always sent, for example {"output_format": "png"}.';
comment on column keyframe.models.output is 'Where the file is in the model''s output, for example video, images[0] or result.url. Null: found automatically, which fails for an object with several files of the right kind.';
comment on column keyframe.models.notes is 'For administrators: sources, and what to know.';
comment on column keyframe.models.billed_when is 'Whether the provider bills a run that failed, whose content was rejected, or that was canceled: yes, no or unknown.';
comment on column keyframe.models.cost_ceiling_micros is 'The most that one run can cost, in millionths of a dollar: used when no price is known.';

create table keyframe.step_defaults (
  step keyframe.generation_step primary key,
  model text not null,
  foreign key (step, model) references keyframe.models (step, model) on update cascade
);
comment on table keyframe.step_defaults is 'The model of each step that a start uses when it names none. To switch: update keyframe.step_defaults set model = ''google/veo-3.1'' where step = ''video''.';
comment on column keyframe.step_defaults.step is 'first-frame, last-frame or video.';
comment on column keyframe.step_defaults.model is 'An enabled model of this step.';

-- A default can be chosen only among enabled models, and stays one until another is chosen.
create function keyframe_private.require_enabled_default()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  perform from keyframe.models m where m.step = new.step and m.model = new.model and m.enabled for share;
  if not found then
    raise exception 'The step % has no enabled model %. Insert it into keyframe.models, or set enabled on its row, first.',
      new.step, new.model
      using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end $$;

create function keyframe_private.refuse_disabled_default()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if exists (select from keyframe.step_defaults d where d.step = old.step and d.model = old.model) then
    raise exception '% is the default of the step %. Choose another first: update keyframe.step_defaults set model = ''…'' where step = ''%''.',
      old.model, old.step, old.step using errcode = 'check_violation', constraint = 'default_is_enabled';
  end if;
  return new;
end $$;

create function keyframe_private.is_available(candidate keyframe.models, at timestamptz)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return candidate.enabled and candidate.refused_at is null and coalesce(candidate.shutdown_at > at, true);
end $$;

-- Editing a refused model retries it.
create function keyframe_private.clear_refusal()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.refused_at := null;
  return new;
end $$;

-- Returns them in the order in which a start tries them.
create function keyframe_private.successors_of(model keyframe.models, at timestamptz)
returns setof keyframe.models language plpgsql stable set search_path = '' as $$
begin
  return query
    select m.* from keyframe.models m
    where m.step = (successors_of.model).step and m.model <> (successors_of.model).model and keyframe_private.is_available(m, at)
    order by m.position, m.model;
end $$;

-- No foreign key: all users' starts would wait for a transaction that locks the model. Deferred, so that simultaneous starts are renamed too.
create function keyframe_private.rename_model()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.predictions p set step = new.step, model = new.model where p.step = old.step and p.model = old.model;
  update keyframe.projects p set plan = jsonb_set(p.plan, array[new.step::text, 'model'], to_jsonb(new.model))
  where p.plan <> '{}' and p.plan #>> array[old.step::text, 'model'] = old.model and new.step = old.step;
  return null;
end $$;

create function keyframe_private.keep_used_model()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if exists (select from keyframe.predictions p where p.step = old.step and p.model = old.model) then
    raise exception 'Predictions use the model %. Disable it instead: update keyframe.models set enabled = false where step = ''%'' and model = ''%''.',
      old.model, old.step, old.model using errcode = 'check_violation', constraint = 'model_in_use_stays';
  end if;
  return old;
end $$;

-- supabase/schemas/20_models/20_model_checks.sql

-- Checks of a row of models: its controls, the keys of each, and the rules between them. A mistake is a sentence with its path.

create function keyframe_private.has_shape(value jsonb, shape text)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return case shape
    when 'a list' then jsonb_typeof(value) = 'array'
    when 'an object' then jsonb_typeof(value) = 'object'
    when 'a list or an object' then jsonb_typeof(value) in ('array', 'object')
    when 'true or false' then jsonb_typeof(value) = 'boolean'
    when 'a text' then jsonb_typeof(value) = 'string' and btrim(value #>> '{}') <> ''
    when 'a text, a number, true or false' then jsonb_typeof(value) in ('string', 'number', 'boolean')
    when 'an integer' then value::text ~ '^-?\d+$'
    when 'a positive integer' then value::text ~ '^[1-9]\d{0,8}$' -- an integer of Postgres
    when 'a ratio such as "16:9"' then value::text ~ '^"[1-9]\d?:[1-9]\d?"$'
    -- The provider ignores an input whose name it does not know, such as an empty name or one with a space.
    when 'the name of a field' then value::text ~ '^"[A-Za-z_][A-Za-z0-9_.-]*"$'
  end;
end $$;

-- shape: that of a choice's values. needs: the key that the control must have beside field.
create function keyframe_private.known_controls()
returns table (name text, kind text, shape text, only_video boolean, needs text, why text) language sql immutable set search_path = '' as $$
  values
    ('prompt', 'text', null, false, null, null),
    ('negativePrompt', 'text', null, false, null, null),
    ('firstFrame', 'image', null, true, null, null),
    ('lastFrame', 'image', null, true, null, null),
    ('referenceImages', 'images', null, false, 'max', 'how many images the model takes'),
    ('aspectRatio', 'choice', 'a ratio such as "16:9"', false, null, null),
    ('resolution', 'choice', 'a text', false, 'default', 'it decides the price, so it is always sent'),
    ('durationSeconds', 'choice', 'a positive integer', true, 'default', 'it decides the price, so it is always sent'),
    ('audio', 'choice', 'true or false', true, 'default', 'it decides the price, so it is always sent'),
    ('seed', 'choice', 'an integer', false, null, null)
$$;

-- kinds: of the controls that can have the key. shape: that of its value. element: that of the value's elements.
create function keyframe_private.known_keys()
returns table (key text, kinds text[], shape text, element text) language sql immutable set search_path = '' as $$
  values
    ('field', '{text,image,images,choice}'::text[], 'the name of a field', null),
    ('maxLength', '{text}', 'a positive integer', null),
    ('required', '{image}', 'true or false', null),
    ('list', '{images}', 'true or false', null),
    ('max', '{images}', 'a positive integer', null),
    ('countsFrames', '{images}', 'true or false', null),
    ('values', '{choice}', 'a list or an object', 'a text, a number, true or false'),
    ('order', '{choice}', 'a list', 'a text'),
    ('min', '{choice}', 'an integer', null),
    ('max', '{choice}', 'an integer', null),
    ('default', '{choice}', 'a text, a number, true or false', null),
    ('needs', '{image,images,choice}', 'a list', 'a text'),
    ('excludes', '{image,images,choice}', 'a list', 'a text'),
    ('omitWith', '{choice}', 'a list', 'a text'),
    ('forces', '{image,images,choice}', 'an object', 'a text, a number, true or false'),
    ('forcesByValue', '{choice}', 'an object', 'an object')
$$;

-- Returns a list of our values; null for a range and for a text.
create function keyframe_private.control_values(control jsonb)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return case jsonb_typeof(control -> 'values')
    when 'array' then control -> 'values'
    when 'object' then coalesce(control -> 'order', (select jsonb_agg(v.key order by v.key) from jsonb_each(control -> 'values') v))
  end;
end $$;

-- A model without the control (null) accepts none.
create function keyframe_private.control_accepts(control jsonb, value jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  if control is null then
    return false;
  elsif control ? 'values' then
    return jsonb_typeof(value) in ('string', 'number', 'boolean') and keyframe_private.control_values(control) @> value;
  elsif control ?| array['min', 'max'] then
    return jsonb_typeof(value) = 'number' and value::numeric = trunc(value::numeric)
      and value::numeric between coalesce((control ->> 'min')::numeric, value::numeric)
        and coalesce((control ->> 'max')::numeric, value::numeric);
  end if;
  return jsonb_typeof(value) = 'string' and char_length(value #>> '{}') <= coalesce((control ->> 'maxLength')::integer, 4000);
end $$;

create function keyframe_private.shape_mistakes(step keyframe.generation_step, controls jsonb, fixed jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
begin
  return query
    with known as (
      select k.* from keyframe_private.known_controls() k where shape_mistakes.step = 'video' or not k.only_video
    ), control as (
      select 'controls.' || e.key as path, e.key as name, e.item, k.kind, k.shape, k.needs, k.why, k.shape like '%integer' as is_number,
        e.item ? 'values' as has_values, e.item ?| array['min', 'max'] as has_limit
      from keyframe_private.json_entries(controls) e left join known k on k.name = e.key
      where e.key is not null
    ), entry as (
      select c.path || e.at as path, e.key, e.item, c.shape as value_shape, k.element, case
        when k.key is null then format(' is not a key of this control. It takes: %s.',
          (select string_agg(o.key, ', ') from keyframe_private.known_keys() o where c.kind = any (o.kinds)))
        when not keyframe_private.has_shape(e.item, k.shape) then format(' must be %s.', k.shape)
        when e.key = 'omitWith' and c.name <> 'aspectRatio' then ' is only possible for aspectRatio: any other choice would be ignored.'
        when e.key in ('values', 'forces') and e.item in ('[]', '{}') then ' must not be empty.' end as mistake
      from control c
      cross join lateral keyframe_private.json_entries(c.item) e
      left join keyframe_private.known_keys() k on k.key = e.key and c.kind = any (k.kinds)
      where c.kind is not null and e.key is not null
    ), element as (
      select e.path || i.at as path, i.at, i.key as ours, i.item, e.item as list, e.value_shape, e.key = 'values' as is_value,
        case when e.key = 'values' and i.key is null then e.value_shape else e.element end as shape
      from entry e cross join lateral keyframe_private.json_entries(e.item) i
      where e.mistake is null
    )
    select 'controls must be an object.' where not keyframe_private.has_shape(controls, 'an object')
    union all select 'fixed must be an object.' where not keyframe_private.has_shape(fixed, 'an object')
    union all select format('fixed%s must be the name of a field.', f.at) from keyframe_private.json_entries(fixed) f
      where not keyframe_private.has_shape(to_jsonb(f.key), 'the name of a field')
    union all select 'controls.prompt is missing.' where not controls ? 'prompt'
    union all select case when c.kind is not null then c.path || ' must be an object.' else
        format('%s is not a control of the step %s. It has: %s.', c.path, shape_mistakes.step,
          (select string_agg(k.name, ', ') from known k)) end
      from control c where c.kind is null or not keyframe_private.has_shape(c.item, 'an object')
    union all select format('%s.%s is missing: %s.', c.path, needed.key, needed.why)
      from control c cross join lateral (values ('field', 'the model''s field'), (c.needs, c.why)) needed (key, why)
      where c.kind is not null and keyframe_private.has_shape(c.item, 'an object') and not c.item ? needed.key
    union all select c.path || case when c.is_number then ' must have either values, or min and max.'
        else ' must have values, and no min or max.' end
      from control c where c.kind = 'choice' and keyframe_private.has_shape(c.item, 'an object')
        and case when c.is_number and not c.has_values then not c.item ?& array['min', 'max'] else not c.has_values or c.has_limit end
    union all select e.path || e.mistake from entry e where e.mistake is not null
    union all select e.path || case
        when e.is_value and not keyframe_private.has_shape(to_jsonb(e.ours), e.value_shape) then
          format(' cannot stand in an object: a value must be %s. Use a list.', e.value_shape)
        else format(' must be %s.', e.shape) end
      from element e
      where not keyframe_private.has_shape(e.item, e.shape) or e.is_value
        and not keyframe_private.has_shape(to_jsonb(e.ours), e.value_shape)
    union all select e.path || ' is listed twice.' from element e
      where e.ours is null and exists (select from keyframe_private.json_entries(e.list) o where o.item = e.item and o.at < e.at);
end $$;

-- Checks the rules between the controls of a model, when their shapes are right.
create function keyframe_private.meaning_mistakes(controls jsonb, fixed jsonb)
returns setof text language plpgsql immutable set search_path = '' as $$
begin
  return query
    with control as (
      select 'controls.' || c.key as path, c.key as name, c.value as item from jsonb_each(controls) c
    ), named as (
      select c.name, l.key, e.item #>> '{}' as other, format('%s.%s%s', c.path, l.key, e.at) as path
      from control c cross join unnest(array['needs', 'excludes', 'omitWith']) l (key)
      cross join lateral keyframe_private.json_entries(c.item -> l.key) e
    ), forced as (
      select c.name, f.key as other, f.item as value, c.path || '.forces' || f.at as path
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forces') f
      union all
      select c.name, f.key, f.item, c.path || '.forcesByValue' || v.at || f.at
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v
      cross join lateral keyframe_private.json_entries(v.item) f
    )
    select format('%s names the field %s, which controls.%s.field fills already.', f.path, f.field, c.name)
      from (
        select 'fixed' || e.at as path, e.key as field, null as name from keyframe_private.json_entries(fixed) e
        union all select o.path || '.field', o.item ->> 'field', o.name from control o) f
      -- A control that is left out beside images may have a fixed value for them.
      join control c on c.item ->> 'field' = f.field and (f.name is null and not c.item ? 'omitWith' or c.name < f.name)
    union all select c.path || '.min must not be greater than max.' from control c
      where (c.item ->> 'min')::numeric > (c.item ->> 'max')::numeric
    union all select c.path || '.list must be true: the model takes several images.' from control c
      where c.name = 'referenceImages' and (c.item ->> 'max')::numeric > 1 and c.item -> 'list' is distinct from 'true'
    union all select c.path || '.default is not among its values.' from control c
      where c.item ? 'default' and not keyframe_private.control_accepts(c.item, c.item -> 'default')
    union all select c.path || '.order must name each key of values once, and values must be an object.' from control c
      where c.item ? 'order' and array(select v from jsonb_array_elements_text(c.item -> 'order') v order by v)
        <> array(select v.key from keyframe_private.json_entries(c.item -> 'values') v order by v.key)
    union all select format('%s.forcesByValue%s is not among its values.', c.path, v.at)
      from control c cross join lateral keyframe_private.json_entries(c.item -> 'forcesByValue') v
      where v.key not in (select jsonb_array_elements_text(keyframe_private.control_values(c.item)))
    union all select format('%s must be another control of this model, not %s.', n.path, n.other) from named n
      where n.other = n.name or not controls ? n.other
    union all select format('%s must be firstFrame, lastFrame or referenceImages, not %s.', n.path, n.other) from named n
      where n.key = 'omitWith' and n.other <> n.name and controls ? n.other
        and n.other not in ('firstFrame', 'lastFrame', 'referenceImages')
    union all select f.path || ' must be another control of this model.' from forced f where f.other = f.name or not controls ? f.other
    union all select format('%s is not among the values of %s.', f.path, f.other) from forced f
      where f.other <> f.name and controls ? f.other and not keyframe_private.control_accepts(controls -> f.other, f.value);
end $$;

create function keyframe_private.require_well_formed_model()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  mistakes text := coalesce(
    (select string_agg(m, ' ' order by m collate "C") from keyframe_private.shape_mistakes(new.step, new.controls, new.fixed) m),
    (select string_agg(m, ' ' order by m collate "C") from keyframe_private.meaning_mistakes(new.controls, new.fixed) m));
begin
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'model_is_well_formed',
      hint = 'docs/models.md has every key of controls.';
  end if;
  return new;
end $$;

-- supabase/schemas/20_models/30_prices.sql

-- Prices of runs. A price is a row, and a change is a new row: docs/costs.md.

create table keyframe_private.model_prices (
  id bigint generated always as identity primary key,
  model text not null,
  applies_to jsonb not null default '{}',
  metric text not null,
  -- With quantities below 10^9, an amount in micro-dollars stays a bigint.
  price_usd numeric not null constraint price_is_between_0_and_1000 check (price_usd between 0 and 1000),
  valid_from timestamptz not null default now(),
  source text not null constraint source_is_not_empty check (btrim(source) <> ''),
  checked_at date not null default current_date constraint checked_at_is_in_a_year_of_four_digits
    check (checked_at between '1970-01-01' and '9999-12-31'),
  constraint one_price_at_a_time unique (model, metric, applies_to, valid_from)
);
comment on table keyframe_private.model_prices is 'What a model costs per unit of a metric. The metrics of a model add up; a metric without a matching row makes the price of a run unknown.';
comment on column keyframe_private.model_prices.id is 'Runs keep the ids of their prices.';
comment on column keyframe_private.model_prices.applies_to is 'The values of an input for which it applies, for example {"resolution": "1080p", "audio": true}. Of the matching rows, the one with the most values counts.';
comment on column keyframe_private.model_prices.metric is 'run, image, output_second, input_megapixel, output_megapixel or hardware_second.';
comment on column keyframe_private.model_prices.valid_from is 'When it starts to apply, until a later row with the same applies_to.';
comment on column keyframe_private.model_prices.source is 'The address of the page with the price.';

create function keyframe_private.require_well_formed_price()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  mistakes text;
begin
  if not exists (select from keyframe.models m where m.model = new.model) then
    mistakes := format('model: there is no model %s. Insert it into keyframe.models first.', new.model);
  elsif not keyframe_private.has_shape(new.applies_to, 'an object') then
    mistakes := 'applies_to must be an object.';
  else
    select string_agg(mistake, ' ' order by mistake collate "C") into mistakes from (
      select 'metric must be run, image, output_second, input_megapixel, output_megapixel or hardware_second.'
      where new.metric not in ('run', 'image', 'output_second', 'input_megapixel', 'output_megapixel', 'hardware_second')
      union all
      select case
        when not exists (
          select from keyframe.models m join keyframe_private.known_controls() k on k.name = a.key and k.kind = 'choice'
          where m.model = new.model and m.controls ? a.key
        ) then format('applies_to.%s is not a control of %s with values.', a.key, new.model)
        when not exists (
          select from keyframe.models m where m.model = new.model and keyframe_private.control_accepts(m.controls -> a.key, a.value)
        ) then format('applies_to.%s: %s does not take %s.', a.key, new.model, a.value)
      end
      from jsonb_each(new.applies_to) a
      union all
      select format('applies_to fits some inputs that row %s (%s) fits too, and neither names more values. Name the same controls in both.',
        o.id, o.applies_to)
      from keyframe_private.model_prices o
      where o.model = new.model and o.metric = new.metric and o.id <> new.id and o.applies_to <> new.applies_to
        and (select count(*) from jsonb_object_keys(o.applies_to)) = (select count(*) from jsonb_object_keys(new.applies_to))
        and o.applies_to || new.applies_to = new.applies_to || o.applies_to
    ) found (mistake);
  end if;
  if mistakes is not null then
    raise exception '%', mistakes using errcode = 'check_violation', constraint = 'price_is_well_formed',
      hint = 'docs/costs.md has the metrics.';
  end if;
  return new;
end $$;

-- What users pay: the provider's bill times a factor. A submit keeps its factor, so a change never reaches back.
create table keyframe_private.model_markups (
  model text primary key,
  markup numeric not null constraint markup_is_between_0_and_10 check (markup between 0 and 10)
);
comment on table keyframe_private.model_markups is 'Markups of single models, instead of the one in settings.';

create function keyframe_private.require_known_model()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if not exists (select from keyframe.models m where m.model = new.model) then
    raise exception 'There is no model %. keyframe.models has their names.', new.model
      using errcode = 'check_violation', constraint = 'model_is_known';
  end if;
  return new;
end $$;

create function keyframe_private.markup_of(model text)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    (select m.markup from keyframe_private.model_markups m where m.model = markup_of.model),
    (select s.markup from keyframe_private.settings s), 1);
end $$;

-- A model that gets another name at the provider keeps its prices and its markup. They are copied if another step still has the old name,
-- otherwise renamed.
create function keyframe_private.rename_prices()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.model_markups (model, markup)
  select new.model, m.markup from keyframe_private.model_markups m where m.model = old.model on conflict do nothing;
  if exists (select from keyframe.models m where m.model = old.model) then
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source, checked_at)
    select new.model, p.applies_to, p.metric, p.price_usd, p.valid_from, p.source, p.checked_at
    from keyframe_private.model_prices p where p.model = old.model
    on conflict do nothing;
  else
    update keyframe_private.model_prices p set model = new.model
    where p.model = old.model and not exists (
      select from keyframe_private.model_prices o
      where o.model = new.model and o.metric = p.metric and o.applies_to = p.applies_to and o.valid_from = p.valid_from);
    delete from keyframe_private.model_markups m where m.model = old.model;
  end if;
  return null;
end $$;

-- What a run should cost (estimate) and the most that it can cost, each as what the provider bills and as what the user pays (charge). If a
-- price is missing, price_ids and the estimates are null, and the most is the ceiling of the model, or null if there is none.
create type keyframe_private.run_cost as (
  price_ids bigint[], markup numeric, estimate_micros bigint, most_micros bigint, estimate_charge_micros bigint, most_charge_micros bigint);

-- Whether a run can replace the requested one: the most that the provider bills and the most that the user pays are no higher. Any run can
-- replace one whose cost is unknown.
create function keyframe_private.costs_no_more(run keyframe_private.run_cost, requested keyframe_private.run_cost)
returns boolean language sql immutable set search_path = ''
return requested.most_micros is null
  or coalesce(run.most_micros <= requested.most_micros and run.most_charge_micros <= requested.most_charge_micros, false);

create function keyframe_private.default_cost(chosen keyframe.models, at timestamptz)
returns keyframe_private.run_cost language plpgsql stable set search_path = '' as $$
begin
  return keyframe_private.estimate_cost(chosen.model, (
    select coalesce(jsonb_object_agg(c.key, c.value -> 'default'), '{}') from jsonb_each(chosen.controls) c where c.value ? 'default'
  ), at);
end $$;

create function keyframe_private.default_successor(gone keyframe.models, at timestamptz)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (
    select s.model from keyframe_private.successors_of(gone, at) s
    where keyframe_private.costs_no_more(keyframe_private.default_cost(s, at), keyframe_private.default_cost(gone, at))
    limit 1);
end $$;

-- The prices include the markup.
create function keyframe_private.prices_json(model text)
returns json language plpgsql stable set search_path = '' as $$
declare
  factor constant numeric := keyframe_private.markup_of(model);
begin
  return (
    select coalesce(json_agg(json_build_object(
      'appliesTo', p.applies_to, 'metric', p.metric, 'priceUsd', p.price_usd * factor, 'checkedAt', p.checked_at) order by p.metric, p.id), '[]')
    from (
      select distinct on (o.metric, o.applies_to) o.* from keyframe_private.model_prices o
      where o.model = prices_json.model and o.valid_from <= now()
      order by o.metric, o.applies_to, o.valid_from desc
    ) p);
end $$;

create function keyframe.list_models()
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
begin
  return json_build_object('rate', rate, 'steps', (
    select json_agg(json_build_object('step', s.step, 'models', (
      select coalesce(json_agg(json_build_object(
        'model', m.model, 'label', m.label, 'vendor', m.vendor,
        'isDefault', m.model = d.model,
        'available', keyframe_private.is_available(m, now()),
        'acceptsFaces', m.accepts_faces,
        'shutdownAt', keyframe_private.wire_time(m.shutdown_at),
        'successor', case when m.shutdown_at is not null or not keyframe_private.is_available(m, now()) then
          keyframe_private.default_successor(m, greatest(m.shutdown_at, now())) end,
        'prices', keyframe_private.prices_json(m.model),
        'billedWhen', m.billed_when,
        'promptMaxLength', least((m.controls #>> '{prompt,maxLength}')::integer, 4000),
        'notes', m.notes,
        'controls', (
          select jsonb_object_agg(c.key, jsonb_strip_nulls(
            c.value - array['field', 'list', 'order', 'omitWith']
              || jsonb_build_object('values', keyframe_private.control_values(c.value))))
          from jsonb_each(m.controls) c)
      ) order by m.position, m.model), '[]')
      from keyframe.models m where m.step = s.step and m.enabled
    )) order by s.step)
    from unnest(enum_range(null::keyframe.generation_step)) as s (step)
    left join keyframe.step_defaults d on d.step = s.step
  ));
end $$;
comment on function keyframe.list_models is 'The enabled models of each step, in order, with what each control accepts and what a run costs.';

-- supabase/schemas/30_predictions/10_predictions.sql

-- A prediction is one run of one step. The row is the workflow; its status changes only as prediction_moves allows.

create type keyframe.prediction_status as enum ('queued', 'starting', 'processing', 'storing', 'succeeded', 'failed', 'canceled');
comment on type keyframe.prediction_status is 'queued, starting, processing, storing are active; succeeded, failed, canceled are final.';

create table keyframe.predictions (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  owner_id uuid not null default auth.uid(),
  step keyframe.generation_step not null,
  status keyframe.prediction_status not null default 'queued',
  input jsonb not null default '{}',
  model text not null default '',
  requested_model text,
  provider_prediction_id text unique,
  attempt integer not null default 0,
  waits_for uuid,
  admitted_at timestamptz,
  deadline_at timestamptz,
  progress real,
  provider_output_url text,
  error_code text,
  error_message text,
  error_retryable boolean,
  error_stage text,
  output_path text,
  output_content_type text,
  output_bytes bigint,
  output_sha256 text,
  output_width integer,
  output_height integer,
  output_duration_seconds double precision,
  output_has_audio boolean,
  end_image_path text,
  hidden boolean not null default false,
  started_by_server boolean not null default coalesce(auth.jwt() ->> 'keyframe_actor' = 'server', false),
  client_id text default auth.jwt() ->> 'client_id',
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default now(),
  constraint predictions_project_fkey foreign key (project_id, owner_id) references keyframe.projects (id, owner_id) on delete cascade,
  constraint attempt_is_at_most_a_million check (attempt between 0 and 1000000),
  constraint progress_is_a_fraction check (progress between 0 and 1),
  constraint queued_if_and_only_if_no_provider_run_accepted
    check (completed_at is not null or (status = 'queued') = (provider_prediction_id is null)),
  constraint started_at_is_set_once_it_ran check (status not in ('starting', 'processing', 'storing', 'succeeded')
    or started_at is not null),
  constraint without_a_slot_only_until_it_ends check (admitted_at is not null or status in ('queued', 'canceled', 'failed')),
  constraint not_admitted_while_it_waits_for_another check (waits_for is null or admitted_at is null),
  constraint end_image_only_of_a_finished_video check (
    end_image_path is null or step = 'video' and status = 'succeeded' and starts_with(end_image_path, 'projects/')),
  constraint deadline_if_and_only_if_admitted check ((deadline_at is null) = (admitted_at is null)),
  constraint storing_has_an_output_url check (status <> 'storing' or provider_output_url is not null),
  constraint completed_at_if_and_only_if_ended check ((completed_at is not null) = (status in ('succeeded', 'failed', 'canceled'))),
  constraint output_if_and_only_if_succeeded check (
    num_nonnulls(output_path, output_content_type, output_bytes, output_sha256) = case when status = 'succeeded' then 4 else 0 end),
  constraint output_facts_only_if_succeeded check (
    status = 'succeeded' or num_nonnulls(output_width, output_height, output_duration_seconds, output_has_audio) = 0),
  constraint output_has_both_sides_or_none check ((output_width is null) = (output_height is null)),
  -- The path must be the one that the worker writes and the owner reads. Casts, because `uuid || text` is parsed again for each write of a
  -- row.
  constraint output_path_is_its_own
    check (starts_with(output_path, owner_id::text || '/' || project_id::text || '/' || id::text || '.')),
  constraint output_is_exact_in_json check (output_bytes between 0 and 9007199254740991 and output_duration_seconds > '-infinity'
    and output_duration_seconds < 'infinity'),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, started_at, completed_at) >= '1970-01-01 00:00Z'
      and greatest(created_at, started_at, completed_at) < '9999-01-01 00:00Z'),
  constraint error_stage_only_of_rejected_content
    check (error_stage is null or (error_stage in ('input', 'output') and error_code is not distinct from 'content_rejected')),
  constraint error_if_and_only_if_failed check (
    num_nonnulls(error_code, error_message, error_retryable) = case when status = 'failed' then 3 else 0 end)
-- A row has about five updates; those that change the status are not HOT. Free space keeps five of six row versions on their
-- page. Vacuum at 2 %: at a million rows 20 % leaves 200,000 dead versions, which the sweep must skip in the indexes of active rows.
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe.predictions is 'One run of one step of a project. Users insert what to generate; only the service changes the status.';
comment on column keyframe.predictions.id is 'Named by predictionId in the API.';
comment on column keyframe.predictions.project_id is 'The project that it is for.';
comment on column keyframe.predictions.owner_id is 'The user who pays: always the project''s owner, whatever an insert says.';
comment on column keyframe.predictions.step is 'What it makes: first-frame, last-frame or video.';
comment on column keyframe.predictions.status is 'Changes only as prediction_moves allows. Never change it by hand.';
comment on column keyframe.predictions.input is 'The input, as `input` in the API. An insert may leave fields out; the row has all of them.';
comment on column keyframe.predictions.model is 'The model that makes it. An insert may leave it out: then it is the default of the step.';
comment on column keyframe.predictions.requested_model is 'The model that the caller named, or the unavailable default that `model` replaced; null: the default.';
comment on column keyframe.predictions.provider_prediction_id is 'The provider run, once the provider has accepted it.';
comment on column keyframe.predictions.attempt is 'How often it was submitted to the provider, including the current submit.';
comment on column keyframe.predictions.waits_for is 'The previous shot''s video, on whose end image it starts, while that image is not known. It gets no slot until then.';
comment on column keyframe.predictions.admitted_at is 'When it got one of its owner''s slots; null while it waits.';
comment on column keyframe.predictions.deadline_at is 'When it fails if it has not ended.';
comment on column keyframe.predictions.progress is 'From 0 to 1, if the provider reports it.';
comment on column keyframe.predictions.provider_output_url is 'The provider''s URL of the output, valid for an hour.';
comment on column keyframe.predictions.error_code is 'Why it failed: a stable code.';
comment on column keyframe.predictions.error_message is 'Why it failed: a sentence for its owner.';
comment on column keyframe.predictions.error_retryable is 'Whether the same request may succeed later.';
comment on column keyframe.predictions.error_stage is 'With error_code content_rejected: input or output, if the provider says which it rejected.';
comment on column keyframe.predictions.output_path is '<owner_id>/<project_id>/<id>.<extension> in the bucket keyframe-outputs.';
comment on column keyframe.predictions.output_content_type is 'Media type of the stored file.';
comment on column keyframe.predictions.output_bytes is 'Size of the stored file.';
comment on column keyframe.predictions.output_sha256 is 'Hex SHA-256 of the stored file.';
comment on column keyframe.predictions.output_width is 'In pixels; null: the file does not say it, or has no picture.';
comment on column keyframe.predictions.output_height is 'In pixels; null: the file does not say it, or has no picture.';
comment on column keyframe.predictions.output_duration_seconds is 'Length of a video; null: its file does not say it, or says more than a day.';
comment on column keyframe.predictions.output_has_audio is 'Whether the file has sound, whatever was requested. Null for images, and when the file does not say it.';
comment on column keyframe.predictions.end_image_path is 'The end image: the last picture of the video, as an uploaded image: projects/<file_name>. The next shot can start on it. Null: it is not stored.';
comment on column keyframe.predictions.hidden is 'Its owner has hidden it: lists leave it out, and its step shows it only if it is selected.';
comment on column keyframe.predictions.started_by_server is 'Whether a server with the secret key started it for the owner (Keyframe-User).';
comment on column keyframe.predictions.client_id is 'The OAuth client or key that started it for the owner; null: the owner''s session, or a server.';
comment on column keyframe.predictions.created_at is 'When it was inserted: its position in the queue.';
comment on column keyframe.predictions.started_at is 'When the provider first ran it.';
comment on column keyframe.predictions.completed_at is 'When it ended; null: it is queued, starting, processing or storing.';
create index predictions_project_id_step_idx on keyframe.predictions (project_id, step, created_at desc, id desc);
-- For the cascade from projects, which searches by both columns.
create index predictions_project_id_owner_id_idx on keyframe.predictions (project_id, owner_id);
create index predictions_step_model_idx on keyframe.predictions (step, model);
-- These indexes contain active rows only, so they stay small as ended predictions accumulate.
create index predictions_deadline_idx on keyframe.predictions (deadline_at) where admitted_at is not null and completed_at is null;
create index predictions_active_owner_idx on keyframe.predictions (owner_id) where admitted_at is not null and completed_at is null;
create index predictions_in_line_idx on keyframe.predictions (owner_id, created_at, id)
  where admitted_at is null and status = 'queued' and waits_for is null;
create index predictions_in_line_since_idx on keyframe.predictions (created_at) where admitted_at is null and status = 'queued' and waits_for is null;
create index predictions_waits_for_owner_idx on keyframe.predictions (owner_id, created_at, id) where waits_for is not null and status = 'queued';
create index predictions_waits_for_idx on keyframe.predictions (waits_for) where waits_for is not null and status = 'queued';
create index predictions_end_image_path_idx on keyframe.predictions (end_image_path) where end_image_path is not null;
-- Finds the latest take of a step, however many runs failed, and pages through its takes.
create index predictions_succeeded_idx on keyframe.predictions (project_id, step, created_at desc, id desc) where status = 'succeeded';
-- Reads only a range of days.
create index predictions_created_day_idx on keyframe.predictions (((created_at at time zone 'UTC')::date), owner_id);

create table keyframe_private.prediction_moves (
  from_status keyframe.prediction_status not null,
  to_status keyframe.prediction_status not null,
  primary key (from_status, to_status)
);
comment on table keyframe_private.prediction_moves is 'Every legal move of a prediction''s status. Any other move is refused.';
insert into keyframe_private.prediction_moves (from_status, to_status) values
  ('queued', 'starting'), ('queued', 'processing'), ('queued', 'storing'), ('queued', 'failed'), ('queued', 'canceled'),
  ('starting', 'processing'), ('starting', 'storing'), ('starting', 'failed'), ('starting', 'canceled'),
  ('processing', 'storing'), ('processing', 'failed'), ('processing', 'canceled'),
  ('starting', 'queued'), ('processing', 'queued'), -- its provider run could not read the images or was interrupted: it is submitted again
  ('storing', 'succeeded'), ('storing', 'failed'), ('storing', 'canceled');

create function keyframe_private.guard_prediction_move()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if not exists (select from keyframe_private.prediction_moves m where m.from_status = old.status and m.to_status = new.status) then
    raise exception 'A prediction cannot move from % to %.', old.status, new.status using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- An ended prediction never changes, except `hidden`, its end image, its deadline and its model's new name. An active one's input changes
-- only while it is queued: when it moves to another model, waits for another video, or gets the image that it waited for.
create function keyframe_private.keep_history()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  rest keyframe.predictions := new; -- with what may change as it was
begin
  if old.completed_at is null then
    if old.status = 'queued' and (new.model <> old.model or new.waits_for is distinct from old.waits_for) then
      return new;
    end if;
  else
    rest.hidden := old.hidden;
    rest.end_image_path := old.end_image_path;
    rest.deadline_at := old.deadline_at; -- it no longer means anything
    rest.updated_at := old.updated_at;
    if pg_trigger_depth() > 1 then -- rename_model
      rest.step := old.step;
      rest.model := old.model;
    end if;
    if rest is not distinct from old then
      return new;
    end if;
  end if;
  raise exception '% Insert another prediction with the new input: docs/administer.md, "Run one again that failed".',
    case when old.completed_at is null then 'A prediction keeps its input.'
      else 'An ended prediction keeps everything but hidden, end_image_path and deadline_at.' end
    using errcode = 'check_violation', constraint = 'prediction_keeps_its_history';
end $$;

-- supabase/schemas/30_predictions/12_images.sql

-- The images that a prediction uses.

create table keyframe_private.prediction_images (
  prediction_id uuid not null references keyframe.predictions on delete cascade,
  role text not null,
  position integer not null default 1,
  path text,
  source_prediction_id uuid references keyframe.predictions on delete set null,
  primary key (prediction_id, role, position),
  constraint role_is_known check (role in ('first_frame', 'last_frame', 'reference')),
  constraint uploaded_image_is_in_projects check (keyframe_private.is_reference_path(path)),
  constraint uploaded_or_generated check (num_nonnulls(path, source_prediction_id) <= 1)
);
comment on table keyframe_private.prediction_images is 'The images that a prediction uses, written from its input.';
comment on column keyframe_private.prediction_images.path is 'projects/<file_name>: an uploaded image of the owner.';
comment on column keyframe_private.prediction_images.source_prediction_id is 'The prediction that made the image; null once that is deleted.';
create index prediction_images_path_idx on keyframe_private.prediction_images (path) where path is not null;
create index prediction_images_source_prediction_id_idx on keyframe_private.prediction_images (source_prediction_id)
  where source_prediction_id is not null;

-- The images that an input names. Unlike the rows of prediction_images, they are there before a start and after a deletion.
create function keyframe_private.images_of(input jsonb)
returns table (role text, "position" integer, path text, source_prediction_id uuid) language plpgsql immutable set search_path = '' as $$
begin
  return query
    select frame.role, 1, input ->> (frame.field || 'ImagePath'), (input ->> (frame.field || 'PredictionId'))::uuid
    from (values ('first_frame', 'firstFrame'), ('last_frame', 'lastFrame')) frame (role, field)
    where coalesce(input ->> (frame.field || 'ImagePath'), input ->> (frame.field || 'PredictionId')) is not null
    union all
    select 'reference', i.number::integer, i.path, null
    from jsonb_array_elements_text(input -> 'referenceImagePaths') with ordinality i (path, number);
end $$;

create function keyframe_private.has_images(input jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return coalesce(input ->> 'firstFramePredictionId', input ->> 'firstFrameImagePath', input ->> 'lastFramePredictionId',
    input ->> 'lastFrameImagePath', input #>> '{referenceImagePaths,0}') is not null;
end $$;

-- Ordered as the model gets them. The name is null when the prediction that made the image is deleted.
create function keyframe_private.images_json(prediction uuid)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'role', i.role,
      'bucket', case when i.path is null then 'keyframe-outputs' else 'projects' end,
      'name', coalesce(keyframe_private.file_name_of(i.path), source.output_path)
    ) order by i.role, i.position), '[]')
    from keyframe_private.prediction_images i
    left join keyframe.predictions source on source.id = i.source_prediction_id
    where i.prediction_id = prediction
  );
end $$;

-- supabase/schemas/30_predictions/15_takes.sql

-- Takes: the succeeded predictions of a step, of which a project selects one.

create function keyframe_private.selected_take(project keyframe.projects, step keyframe.generation_step)
returns uuid language plpgsql immutable set search_path = '' as $$
begin
  return case step
    when 'first-frame' then project.selected_first_frame_id when 'last-frame' then project.selected_last_frame_id
    else project.selected_video_id end;
end $$;

-- The selected take, otherwise the latest that is not hidden.
create function keyframe_private.shown_take(project keyframe.projects, step keyframe.generation_step)
returns uuid language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    keyframe_private.selected_take(project, step),
    (select p.id from keyframe.predictions p
     where p.project_id = project.id and p.step = shown_take.step and p.status = 'succeeded' and not p.hidden
     order by p.created_at desc, p.id desc
     limit 1));
end $$;

create function keyframe_private.shown_takes(project uuid)
returns uuid[] language plpgsql stable set search_path = '' as $$
begin
  return array_remove(array(
    select keyframe_private.shown_take(p, step) from keyframe.projects p, unnest(enum_range(null::keyframe.generation_step)) step
    where p.id = project), null);
end $$;

-- Whether a take no longer belongs to what its project shows, for one of these reasons:
--
--   a frame that it was made with is deleted
--   a frame of its own project that it was made with is no longer the shown take of its step
--   it continues a video that is no longer the shown take of the previous shot; which shot that is, the current order of the film says
--
-- Uploaded frames and frames of other projects are always current. `shown` are the project's shown takes, if the caller knows them.
create function keyframe_private.is_outdated(prediction keyframe.predictions, shown uuid[])
returns boolean language plpgsql stable set search_path = '' as $$
declare
  frame uuid;
  project uuid;
begin
  foreach frame in array array_remove(
    array[(prediction.input ->> 'firstFramePredictionId')::uuid, (prediction.input ->> 'lastFramePredictionId')::uuid], null)
  loop
    shown := coalesce(shown, keyframe_private.shown_takes(prediction.project_id));
    continue when frame = any (shown);
    select p.project_id into project from keyframe.predictions p where p.id = frame;
    if not found or project = prediction.project_id then
      return true;
    end if;
  end loop;
  return coalesce(prediction.input -> 'continuesPreviousShot' = 'true', false) and (
    select keyframe_private.shown_take(keyframe_private.previous_shot(p), 'video')::text from keyframe.projects p
    where p.id = prediction.project_id) is distinct from prediction.input ->> 'continuesPredictionId';
end $$;

create function keyframe_private.require_success(take keyframe.predictions)
returns void language plpgsql immutable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(take.status <> 'succeeded', 'frame_not_ready', format('The %s prediction %s %s.', take.step, take.id,
    case take.status
      when 'failed' then 'failed and cannot be used. Choose another, or run the step again'
      when 'canceled' then 'was canceled and cannot be used. Choose another, or run the step again'
      when 'storing' then 'is processing, not succeeded. Try again once it has succeeded'
      else format('is %s, not succeeded. Try again once it has succeeded', take.status) end));
end $$;

-- A newly selected prediction must be a take of the same project and of the step. It stays one until it is deleted: success is final.
create function keyframe_private.require_selected_takes()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  selected record;
  take keyframe.predictions;
begin
  for selected in
    select s.* from (values
      ('first-frame'::keyframe.generation_step, new.selected_first_frame_id, old.selected_first_frame_id),
      ('last-frame', new.selected_last_frame_id, old.selected_last_frame_id),
      ('video', new.selected_video_id, old.selected_video_id)
    ) s (step, id, before)
    where s.id is not null and s.id is distinct from s.before
  loop
    select p.* into take from keyframe.predictions p
    where p.id = selected.id and p.project_id = new.id and p.step = selected.step
    for key share; -- it is not deleted before this transaction ends
    perform keyframe_private.raise_if(not found, 'not_found',
      format('There is no %s prediction %s in this project.', selected.step, selected.id));
    perform keyframe_private.require_success(take);
  end loop;
  return new;
end $$;

-- No foreign key does this: a second one between the two tables would make predictions(*) ambiguous in the Data API.
create function keyframe_private.unselect_deleted_take()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe.projects p
  set selected_first_frame_id = nullif(p.selected_first_frame_id, old.id),
    selected_last_frame_id = nullif(p.selected_last_frame_id, old.id),
    selected_video_id = nullif(p.selected_video_id, old.id)
  where p.id = old.project_id and old.id in (p.selected_first_frame_id, p.selected_last_frame_id, p.selected_video_id);
  return null;
end $$;

-- supabase/schemas/30_predictions/20_submits.sql

-- The ledger has one row for each submit to the provider: what happened to the submit, to its provider run and to the money. Below:
-- adding a submit, ending it, attaching and canceling its run, and the next submit. 22_lost_answers.sql searches for a run.
--
--   state         columns                                what moves it
--   unsent        is_unsent: submitted_at is null        begin_submit → unanswered; abandon_submits → ended (no_run)
--   unanswered    is_unanswered: submitted_at is set,    attach_run → running; add_search → searched for;
--                 answered_at is null                    record_search_ended, before the next submit → ended (no_run, lost);
--                                                        end_without_run → ended (no_run);
--                                                        search_again, if the prediction is deleted → ended (lost)
--   searched for  is_unanswered, search_task is set      attach_run → running; record_search_ended → ended (no_run, lost);
--                                                        end_without_run → ended (no_run); prune, after a day → ended (lost)
--   running       answered_at and                        record_run_state → ended (the run's outcome);
--                 provider_prediction_id are set         record_run_not_canceled → ended (lost)
--   ended         ended_at and outcome are set           if lost: attach_run → running, record_run_state → the run's outcome;
--                                                        if no_run: search_again → unanswered
--
-- ended_at is null before the end. add_submits adds an unsent submit. attach_run adds a running one, for a second run of a submit or for a run
-- of one that ended with no_run. prune deletes ended ones after 13 months.
--
-- cost_state is held while there is no outcome. With one, settle_ended sets it. An administrator settles or releases an unknown one.
--
--   outcome                     cost_state
--   no_run, aborted             released
--   succeeded                   settled; if a price counts the file, held until the prediction ends (settle_by_file)
--   rejected, failed, canceled  settled, released or unknown, as billed_when of the model says
--   lost                        unknown
--
-- A cost that cannot be computed is unknown, not settled. A cost that is 0 in any case is settled, not unknown.

-- No foreign keys: a row outlives its prediction, project and account. Of about three updates the last is HOT if its page has space.
create table keyframe_private.provider_submits (
  id bigint generated always as identity primary key,
  owner_id uuid not null,
  project_id uuid not null,
  prediction_id uuid not null,
  attempt integer not null,
  is_first boolean not null default false,
  step keyframe.generation_step not null,
  model text not null,
  created_at timestamptz not null default now(),
  submitted_at timestamptz,
  answered_at timestamptz,
  ended_at timestamptz,
  outcome text,
  is_unsent boolean not null generated always as (submitted_at is null and ended_at is null) stored,
  is_unanswered boolean not null generated always as (submitted_at is not null and answered_at is null and ended_at is null) stored,
  provider_prediction_id text,
  search_task jsonb,
  text_hash bigint,
  metrics jsonb,
  price_ids bigint[],
  most_micros bigint,
  cost_micros bigint,
  cost_state text not null default 'held',
  client_id text,
  markup numeric not null default 1,
  most_charge_micros bigint generated always as (ceil(most_micros * markup)) stored,
  charge_micros bigint generated always as (ceil(cost_micros * markup)) stored,
  constraint outcome_if_and_only_if_ended check ((outcome is null) = (ended_at is null)),
  constraint outcome_is_known check (outcome in ('succeeded', 'rejected', 'failed', 'canceled', 'aborted', 'no_run', 'lost')),
  constraint provider_run_is_an_answer check (provider_prediction_id is null or (submitted_at is not null and answered_at is not null)),
  constraint search_only_while_unanswered check (search_task is null or is_unanswered),
  constraint metrics_are_an_object check (jsonb_typeof(metrics) = 'object'),
  constraint price_ids_are_a_list check (coalesce(array_ndims(price_ids), 1) = 1),
  constraint cost_state_is_known check (cost_state in ('held', 'settled', 'released', 'unknown')),
  constraint cost_if_and_only_if_settled check ((cost_micros is null) = (cost_state <> 'settled')),
  -- A mistyped amount must not overflow the service's sums, which would stop all starts.
  constraint amounts_are_at_most_a_million_dollars check (most_micros between 0 and 1000000000000
    and cost_micros between 0 and 1000000000000),
  constraint markup_is_between_0_and_10 check (markup between 0 and 10)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe_private.provider_submits is 'Each submit to the provider, kept for 13 months, even after its prediction, project or account is deleted.';
comment on column keyframe_private.provider_submits.owner_id is 'The user who pays, even after the account is deleted.';
comment on column keyframe_private.provider_submits.attempt is 'Its number among the prediction''s submits. A second provider run of one submit has a row of its own.';
comment on column keyframe_private.provider_submits.is_first is 'Whether it is the first of its prediction: usage counts these.';
comment on column keyframe_private.provider_submits.created_at is 'When it was added or, if it replaces a released submit, when that one was added: its cost counts on this day.';
comment on column keyframe_private.provider_submits.submitted_at is 'When begin_submit recorded it, just before the call; null while it waits.';
comment on column keyframe_private.provider_submits.answered_at is 'When the provider answered it, or its provider run was found.';
comment on column keyframe_private.provider_submits.ended_at is 'When nothing more could happen to it at the provider.';
comment on column keyframe_private.provider_submits.outcome is 'The end of its provider run (succeeded, rejected, failed, canceled, aborted), no_run (it was not sent, the provider refused it, or its list has no run of it), or lost (what happened at the provider is unknown).';
comment on column keyframe_private.provider_submits.is_unsent is 'Whether it is still to be sent.';
comment on column keyframe_private.provider_submits.is_unanswered is 'Whether a provider run may exist that is not known yet.';
comment on column keyframe_private.provider_submits.provider_prediction_id is 'The provider run, once it is known.';
comment on column keyframe_private.provider_submits.search_task is 'What identifies its run in the provider''s list, including the prompt. Null if no search of its own is due: while its prediction is queued, the next submit searches first.';
comment on column keyframe_private.provider_submits.text_hash is 'hashtextextended of the prompt of a submit without files, for three hours. A collision only prevents the recovery of both prompts'' runs.';
comment on column keyframe_private.provider_submits.metrics is 'What the provider counted when the run ended; before that, where a price needs them, the megapixels of the input.';
comment on column keyframe_private.provider_submits.price_ids is 'The prices by which it is settled: those in force when it was added. Null when one is unknown.';
comment on column keyframe_private.provider_submits.most_micros is 'The most that the provider can bill, in micro-dollars; null: no price is known.';
comment on column keyframe_private.provider_submits.cost_micros is 'What the provider bills; only when it is settled.';
comment on column keyframe_private.provider_submits.cost_state is 'held: it has not ended, or its price counts a file that is not stored yet. settled: it has cost cost_micros. released: it was not billed. unknown: it counts with most_micros until an administrator settles it.';
comment on column keyframe_private.provider_submits.client_id is 'The OAuth client or key that started its prediction; null: the owner''s session, or a server.';
comment on column keyframe_private.provider_submits.charge_micros is 'What its owner pays; only when it is settled.';
create unique index provider_submits_run_idx on keyframe_private.provider_submits (provider_prediction_id)
  where provider_prediction_id is not null;
create index provider_submits_prediction_id_idx on keyframe_private.provider_submits (prediction_id, attempt);
create index provider_submits_created_at_idx on keyframe_private.provider_submits (created_at);
create index provider_submits_search_idx on keyframe_private.provider_submits (submitted_at) where search_task is not null;
create index provider_submits_client_id_idx on keyframe_private.provider_submits (owner_id, client_id, created_at)
  where client_id is not null;
create index provider_submits_text_idx on keyframe_private.provider_submits (submitted_at, text_hash) where text_hash is not null;

-- Adds the next submit of predictions of one owner and client and, for admitted ones, the work that sends it. Together they must fit the
-- budgets and the balance. A submit that replaces a released one counts on that one's day, and needs budget only if it can cost more. The
-- megapixels of the input are kept where a price counts them: its images may be deleted before it ends.
create function keyframe_private.add_submits(
  predictions keyframe.predictions[], released keyframe_private.provider_submits default null,
  due_at timestamptz default clock_timestamp(), failures integer default 0, reason text default null)
returns void language plpgsql volatile set search_path = '' as $$
declare
  costs keyframe_private.run_cost[] := '{}';
  total keyframe_private.run_cost;
  added_at constant timestamptz := coalesce(released.created_at, clock_timestamp());
  p keyframe.predictions;
begin
  foreach p in array predictions loop
    costs := costs || keyframe_private.estimate_cost(p.model, p.input, clock_timestamp());
  end loop;
  total := keyframe_private.sum_of(costs);
  if (total.most_micros <= released.most_micros and total.most_charge_micros <= released.most_charge_micros) is not true then
    perform keyframe_private.require_budget((predictions[1]).owner_id, total, added_at, (predictions[1]).client_id);
  end if;
  for i in 1 .. cardinality(predictions) loop
    p := predictions[i];
    insert into keyframe_private.provider_submits (
      owner_id, project_id, prediction_id, attempt, is_first, step, model, created_at, price_ids, most_micros, markup, client_id, metrics)
    values (p.owner_id, p.project_id, p.id, p.attempt + 1, p.attempt = 0, p.step, p.model, added_at, costs[i].price_ids,
      costs[i].most_micros, costs[i].markup, p.client_id, (
        select jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(p.input))
        where exists (select from keyframe_private.model_prices r where r.id = any (costs[i].price_ids) and r.metric = 'input_megapixel')));
    if p.admitted_at is not null then
      perform keyframe_private.add_submit_work(p, add_submits.due_at, add_submits.failures, reason);
    end if;
  end loop;
end $$;

-- The only place where a submit ends. The first end counts, unless it was `lost` and more is known now.
create function keyframe_private.end_submit(submit bigint, how text, measured jsonb default null)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe_private.provider_submits s
  set ended_at = now(), outcome = how, metrics = coalesce(s.metrics || measured, measured, s.metrics), search_task = null,
    answered_at = case when how = 'lost' or s.submitted_at is null then s.answered_at else coalesce(s.answered_at, now()) end
  where s.id = submit and (s.ended_at is null or s.outcome = 'lost');
end $$;

-- Ends the unanswered submit of an attempt that created no provider run: the provider refused it, or it was never sent. Null ends
-- nothing. The caller needs no lease, but must have locked the prediction.
create function keyframe_private.end_without_run(prediction uuid, attempt_without_run integer)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.end_submit(s.id, 'no_run') from keyframe_private.provider_submits s
  where s.prediction_id = prediction and s.attempt = attempt_without_run and s.is_unanswered;
end $$;

-- Attaches a newly seen provider run to its submit, and returns the submit. If the submit already has another run or ended without one, the
-- run gets its own row, at the same prices and whatever the budget, because it exists. A run from the provider's list names no attempt: with
-- is_found, any unanswered submit matches.
create function keyframe_private.attach_run(run text, prediction uuid, attempt integer, is_found boolean)
returns bigint language plpgsql volatile set search_path = '' as $$
declare
  submit bigint;
begin
  update keyframe_private.provider_submits s
  set provider_prediction_id = run, answered_at = now(), ended_at = null, outcome = null, search_task = null
  where s.id = (
    select o.id from keyframe_private.provider_submits o
    where o.prediction_id = prediction and (o.attempt = attach_run.attempt or is_found)
      and (o.is_unanswered or o.outcome = 'lost' and o.provider_prediction_id is null)
    order by o.attempt <> attach_run.attempt, o.attempt limit 1)
    and s.provider_prediction_id is null
  returning s.id into submit;
  if not found then
    insert into keyframe_private.provider_submits (
      owner_id, project_id, prediction_id, attempt, step, model, created_at, price_ids, most_micros, markup, client_id, metrics, submitted_at,
      answered_at, provider_prediction_id)
    select o.owner_id, o.project_id, o.prediction_id, attach_run.attempt, o.step, o.model, o.created_at, o.price_ids, o.most_micros, o.markup,
      o.client_id,
      (select jsonb_object_agg(m.key, m.value) from jsonb_each(o.metrics) m where m.key = 'image_input_megapixel_count'), now(), now(), run
    from keyframe_private.provider_submits o where o.prediction_id = prediction
    order by o.attempt <> attach_run.attempt, o.attempt limit 1
    returning id into submit;
  end if;
  return submit;
exception when unique_violation then
  return null; -- recorded for another prediction at the same moment
end $$;

-- Cancels a provider run that no prediction follows.
create function keyframe_private.add_cancel(submit keyframe_private.provider_submits)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if not keyframe_private.has_work(submit.prediction_id, 'cancel', submit.id) then
    perform keyframe_private.add_work('ask', 'cancel', submit.prediction_id, submit.owner_id, 'cancel', submit_id => submit.id);
  end if;
end $$;

-- When a prediction leaves the queue, ends or is deleted, its unanswered submits are searched for, once no worker can still be submitting
-- them. When it ends or is deleted, its running provider runs are canceled.
create function keyframe_private.abandon_submits()
returns trigger language plpgsql volatile security definer set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  submit keyframe_private.provider_submits;
  leased_until timestamptz;
begin
  for submit in
    select s.* from keyframe_private.provider_submits s where s.prediction_id = old.id and s.ended_at is null order by s.id for update
  loop
    if submit.is_unsent then
      perform keyframe_private.end_submit(submit.id, 'no_run');
    elsif submit.is_unanswered and submit.search_task is null then
      leased_until := (
        select max(w.due_at) from keyframe_private.work w
        where w.subject = old.id and w.kind = 'submit' and w.queue <> 'deliver' and w.state = 'leased' and w.submit_id = submit.id);
      perform keyframe_private.add_search(submit, old, greatest(clock_timestamp(), leased_until));
    elsif not submit.is_unanswered and (tg_op = 'DELETE' or new.completed_at is not null) then
      perform keyframe_private.add_cancel(submit);
    end if;
  end loop;
  return null;
end $$;

-- Submits a queued prediction once more, or fails it if that does not fit its budget: then false. The replacement of a submit that was released
-- in this transaction (ended_at = now()) reuses its reservation if it costs no more; money released in an earlier transaction may meanwhile be
-- held by another start.
create function keyframe_private.add_next_submit(prediction keyframe.predictions, due_at timestamptz, failures integer, reason text)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  released keyframe_private.provider_submits;
  refused keyframe_private.refusal;
begin
  if exists (
    select from keyframe_private.provider_submits s
    where s.prediction_id = prediction.id and s.is_unsent) then
    return true; -- one waits already, with its work
  end if;
  perform keyframe_private.acquire_lock('slots', prediction.owner_id);
  select s.* into released from keyframe_private.provider_submits s
  where s.prediction_id = prediction.id and s.attempt = prediction.attempt and s.ended_at = now() and not exists (
    select from keyframe_private.provider_submits o
    where o.prediction_id = s.prediction_id and o.attempt = s.attempt and o.cost_state <> 'released')
  limit 1;
  perform keyframe_private.add_submits(array[prediction], released, due_at, failures, reason);
  return true;
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(prediction.owner_id, refused.code, refused.hint);
  perform keyframe_private.mark_failed(prediction.id, refused.code, refused.sentence, true);
  return false;
end $$;

-- Repeated for a day: no run lasts longer. is_unknown: the provider no longer has the run, so its end is unknown.
create function keyframe_worker.record_run_not_canceled(work_id bigint, lease_token uuid, is_unknown boolean)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  perform keyframe_private.end_submit(s.id, 'lost') from keyframe_private.provider_submits s
  where s.id = leased.submit_id and s.ended_at is null and (is_unknown or s.answered_at < now() - interval '1 day');
  perform keyframe_private.reschedule_or_finish(leased);
end $$;
comment on function keyframe_worker.record_run_not_canceled is 'Records that canceling a provider run has not ended it.';

-- supabase/schemas/30_predictions/22_lost_answers.sql

-- A create whose answer was lost: the provider may have made a run, which is paid for, and the next create would pay again. So it is searched
-- for in the provider's list. In time:
--
--   1  begin_submit records the submit and sends it. No answer comes: it is unanswered.
--   2  While its prediction is queued, the next submit searches first. If the prediction ends or is deleted, add_search adds a search.
--   3  Found: report_run attaches the run (attach_run), and moves the prediction or, if that has ended, cancels the run.
--      Not found: record_search_ended ends the submit with no_run. If a run in the list may be its own (is_unproven), or the provider has
--      deleted the inputs of that time, with lost: what happened is unknown.
--   4  A worker whose lease had expired reports late that no answer came: search_again searches once more.

-- Searches for the run of an unanswered submit, which the provider may have created.
create function keyframe_private.add_search(submit keyframe_private.provider_submits, prediction keyframe.predictions, due_at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe_private.provider_submits s
  set search_task = jsonb_build_object(
    'input', prediction.input, 'has_images', keyframe_private.has_images(prediction.input),
    'model_settings', (
      select jsonb_build_object('controls', m.controls, 'fixed', m.fixed) from keyframe.models m
      where m.step = s.step and m.model in (s.model, prediction.model) order by m.model <> s.model limit 1))
  where s.id = submit.id and s.search_task is null;
  perform keyframe_private.add_work('ask', 'search', submit.prediction_id, submit.owner_id, 'search', add_search.due_at, submit.id);
end $$;

-- Called when the worker that sent a submit reports that no answer came. After a lost lease another worker may have searched before this
-- request created its run. So the run is searched for once more, even if that search ended the submit. A submit of the same attempt that was
-- never sent stays as it is. The caller has locked the prediction. Locking the submits waits for a search or a callback that is being
-- recorded, so that the next statement sees its result.
create function keyframe_private.search_again(prediction uuid, unanswered_attempt integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  row_now keyframe.predictions;
  submit keyframe_private.provider_submits;
begin
  select p.* into row_now from keyframe.predictions p where p.id = prediction;
  perform from keyframe_private.provider_submits s where s.prediction_id = prediction and s.attempt = unanswered_attempt order by s.id for update;
  update keyframe_private.provider_submits s set answered_at = null, ended_at = null, outcome = null
  where s.prediction_id = prediction and s.attempt = unanswered_attempt and s.submitted_at is not null and s.outcome = 'no_run' and not exists (
    select from keyframe_private.provider_submits r
    where r.prediction_id = prediction and r.attempt = unanswered_attempt and r.provider_prediction_id is not null);
  select s.* into submit from keyframe_private.provider_submits s
  where s.prediction_id = prediction and s.attempt = unanswered_attempt and s.is_unanswered;
  if submit.search_task is null and row_now.status = 'queued' and row_now.attempt = unanswered_attempt then
    return; -- the next submit searches for it
  elsif submit.search_task is null and row_now.id is null then
    perform keyframe_private.end_submit(submit.id, 'lost'); -- a deleted prediction's input is not known any more
  elsif submit.id is not null and not exists (
    select from keyframe_private.work w
    where w.subject = prediction and w.kind = 'search' and w.queue <> 'deliver' and w.submit_id = submit.id and w.state <> 'leased') then
    perform keyframe_private.add_search(submit, row_now, clock_timestamp() + keyframe_private.retry_delay(1));
  end if;
end $$;

-- Whether no other prediction in this database can have made a run with the text of this submit. The provider's list shows the input of a
-- run: addresses of files name the prediction, text does not. begin_submit commits before its submit, so every candidate is in the table.
-- After an hour the provider deletes the inputs of runs.
create function keyframe_private.is_only_submit_of_its_text(prediction uuid, attempt integer)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe_private.provider_submits s
    where s.prediction_id = prediction and s.attempt = is_only_submit_of_its_text.attempt and s.is_unanswered and s.text_hash is not null
      and s.submitted_at > now() - interval '1 hour'
      and not exists (
        select from keyframe_private.provider_submits other
        where other.text_hash = s.text_hash and other.prediction_id <> s.prediction_id
          and other.submitted_at > s.submitted_at - interval '1 hour'
      )
  );
end $$;

-- Ends the submits whose provider run was searched for and not found. Such a submit created no run (no_run). It counts as lost instead if a
-- run in the provider's list may be its own (is_unproven), or if it is so old that the provider has deleted the input of its run, by which
-- it would be found. A submit for which another search is due stays unanswered until that one ends. The locks wait for an answer that is
-- recorded at the same moment.
create function keyframe_worker.record_search_ended(
  prediction_id uuid, first_attempt integer, last_attempt integer, is_unproven boolean, work_id bigint default null, lease_token uuid default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  searched bigint[];
begin
  perform from keyframe.predictions p where p.id = record_search_ended.prediction_id for update;
  searched := array(
    select u.id from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt between first_attempt and last_attempt and u.is_unanswered
    order by u.id for update);
  perform keyframe_private.finish_work(leased);
  perform keyframe_private.end_submit(u.id,
    case when is_unproven or u.submitted_at < now() - interval '50 minutes' then 'lost' else 'no_run' end)
  from keyframe_private.provider_submits u
  where u.id = any (searched) and u.is_unanswered and not keyframe_private.has_work(u.prediction_id, 'search', u.id);
  return exists (
    select from keyframe_private.provider_submits u
    where u.prediction_id = record_search_ended.prediction_id and u.attempt = last_attempt + 1 and u.is_unanswered);
end $$;
comment on function keyframe_worker.record_search_ended is 'Ends the search for the provider runs of submits. work_id: the search that this was; without it, it was part of a submit. Returns whether the submit after last_attempt is still to be sent: the run that was found may have ended it, by a call whose answer was lost.';

-- supabase/schemas/30_predictions/25_shots.sql

-- What a start takes from its shot and from the previous one: the plan, and how a video begins.

-- The plan of a shot says how its steps are made. It has fields of a start for each step, and the model of the start:
--
--   {"video": {"model": "A", "durationSeconds": 10, "prompt": "The boat leaves", "continuesPreviousShot": true}}
--
-- apply_plan completes a start of that step with them. What the request names wins:
--
--   request                                    start
--   {}                                         A, 10 seconds, the prompt, continues the previous shot
--   {"durationSeconds": 5}                     … 5 seconds
--   {"durationSeconds": null}                  … the model's default length
--   {"firstFrameImagePath": "projects/a.png"}  … begins on that image: the fields of one image replace each other (fields_of_image)
--   model B                                    B, the prompt, continues the previous shot: other values were chosen for A
--
-- A plan without a model is for the step's default model: a request that names that one gets the other values too.
--
-- A plan is kept while models, takes and the film change. What is no longer possible is left out:
--
--   A has no length of 10 seconds              … the model's default length
--   the shot has become the first of its film  … begins on its own first frame
--   A takes no such frame, or needs one        fit_frames
--
-- Only a planned model that is not available is refused.

-- The images that a plan names: the texts in fields of its steps whose name ends in ImagePath or ImagePaths.
create function keyframe_private.images_of_plan(plan jsonb)
returns text[] language sql immutable set search_path = '' as $$
  select coalesce(array_agg(distinct i.path #>> '{}'), '{}')
  from jsonb_path_query(plan, '$.*.keyvalue() ? (@.key like_regex "ImagePaths?$").value[*] ? (@.type() == "string")', silent => true) i (path)
$$;
create index projects_images_of_plan_idx on keyframe.projects using gin (keyframe_private.images_of_plan(plan)) where plan <> '{}';

-- shared/contract/projects.ts has the same.
create function keyframe_private.planned_fields(step text)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array(
    select f from unnest(keyframe_private.input_fields() || array['model']) f
    where f <> all (array['seed', 'elements', 'elementIds', 'continuesPredictionId', 'referenceImagePath'])
      and (step = 'video' or f <> all (array['continuesPreviousShot', 'durationSeconds', 'audio', 'lastFramePredictionId', 'lastFrameImagePath']))
      and (step <> 'first-frame' or f not like 'firstFrame%'));
end $$;

-- Which values are allowed depends on the model, and is checked by the start. This refuses what no start could use.
create function keyframe_private.require_planned(step text, settings jsonb)
returns void language plpgsql stable set search_path = '' as $$
declare
  field record;
  mistake text;
begin
  perform keyframe_private.raise_if(jsonb_typeof(settings) <> 'object', 'invalid_request', format('plan.%s must be an object.', step));
  for field in select f.key as name, f.value, f.value #>> '{}' as text from jsonb_each(settings) f loop
    mistake := case
      when field.name <> all (keyframe_private.input_fields() || array['model']) then 'is no field of a start'
      when field.value = 'null' then null
      when field.name <> all (keyframe_private.planned_fields(step)) then 'is not a field of a plan for this step'
      when jsonb_typeof(field.value) = 'object' or jsonb_typeof(field.value) = 'array' and field.name <> 'referenceImagePaths'
        then 'must be a single value'
      when field.name like '%PredictionId' and not keyframe_private.is_uuid(lower(field.text)) then 'must be a predictionId'
      when field.name in ('prompt', 'negativePrompt') and (jsonb_typeof(field.value) <> 'string' or char_length(field.text) > 4000
        or not keyframe_private.has_visible_character(field.text) or not keyframe_private.is_plain_text(field.text))
        then 'must have 1 to 4000 characters, without control characters'
      when field.name = 'continuesPreviousShot' and jsonb_typeof(field.value) <> 'boolean' then 'must be true or false'
      when field.name = 'referenceImagePaths' and (jsonb_typeof(field.value) <> 'array'
        or field.value @? 'strict $[*] ? (@.type() != "string")') then 'must be a list of paths'
    end;
    perform keyframe_private.raise_if(mistake is not null, 'invalid_request', format('plan.%s.%s %s.', step, field.name, mistake));
  end loop;
  perform keyframe_private.raise_if(
    num_nonnulls(settings ->> 'firstFramePredictionId', settings ->> 'firstFrameImagePath', nullif(settings ->> 'continuesPreviousShot', 'false')) > 1
      or num_nonnulls(settings ->> 'lastFramePredictionId', settings ->> 'lastFrameImagePath') > 1, 'invalid_request',
    format('plan.%s names two beginnings or two ends. Keep one of each.', step));
  perform keyframe_private.raise_if(settings ->> 'model' is not null and not exists (
    select from keyframe.models m where m.step::text = require_planned.step and m.model = settings ->> 'model'), 'unsupported_input',
    format('plan.%s.model: there is no such model for this step. GET /api/models lists them.', step));
end $$;

create function keyframe_private.require_plan()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  before constant jsonb := case tg_op when 'UPDATE' then old.plan else '{}' end;
  images constant text[] := keyframe_private.images_of_plan(new.plan);
  kept constant text[] := keyframe_private.images_of_plan(before);
begin
  perform keyframe_private.raise_if(jsonb_typeof(new.plan) <> 'object' or octet_length(new.plan::text) > 65536, 'invalid_request',
    'plan must be an object of at most 64 kB.');
  perform keyframe_private.raise_if(cardinality(images) > 30, 'invalid_request', 'A plan can have at most 30 images.');
  perform keyframe_private.raise_if(exists (
    select from jsonb_object_keys(new.plan) k where k <> all (enum_range(null::keyframe.generation_step)::text[])), 'invalid_request',
    'plan can have first-frame, last-frame and video.');
  perform keyframe_private.require_planned(s.key, s.value) from jsonb_each(new.plan) s where before -> s.key is distinct from s.value;
  perform keyframe_private.keep_reference(path, new.owner_id) from unnest(images) path where path <> all (kept);
  return new;
end $$;

-- The fields of a start that name the same image.
create function keyframe_private.fields_of_image(control text)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return case control
    when 'firstFrame' then array['firstFramePredictionId', 'firstFrameImagePath', 'continuesPreviousShot']
    when 'lastFrame' then array['lastFramePredictionId', 'lastFrameImagePath']
    when 'referenceImages' then array['referenceImagePath', 'referenceImagePaths'] end;
end $$;

-- What a plan says about the frames of a video, as its model can make it. Null says that there is no frame, not even the project's own. A model
-- that the plan names is used without the frames that it does not take; the default model, or one that the request names, refuses them. The
-- dashboard has the same rules (framesOf):
--
--   model                             plan                              becomes
--   of the plan, takes no last frame  {}                                {"lastFramePredictionId": null}
--   a last frame needs a first one    {"firstFramePredictionId": null}  {"firstFramePredictionId": null, "lastFramePredictionId": null}
--   needs a first frame               {"firstFramePredictionId": null}  {}, so the project's own is used
--
-- What the request itself names stays: the start refuses a frame that its model does not take.
create function keyframe_private.fit_frames(planned jsonb, input jsonb, chosen keyframe.models, is_planned_model boolean)
returns jsonb language plpgsql immutable set search_path = '' as $$
declare
  frame text;
  control jsonb; -- null: the model takes no such frame
  fields text[];
begin
  foreach frame in array array['firstFrame', 'lastFrame'] loop
    control := chosen.controls -> frame;
    fields := keyframe_private.fields_of_image(frame);
    continue when input ?| fields;
    if is_planned_model and control is null
      or control -> 'needs' ? 'firstFrame' and planned -> 'firstFramePredictionId' = 'null' then
      planned := planned - fields || jsonb_build_object(fields[1], null);
    elsif planned -> fields[1] = 'null'
      and (control -> 'required' = 'true' or frame = 'firstFrame' and not chosen.controls ? 'aspectRatio') then
      planned := planned - fields[1];
    end if;
  end loop;
  return planned;
end $$;

-- See the beginning of this file.
create function keyframe_private.apply_plan(inout start keyframe.predictions, project keyframe.projects)
language plpgsql stable set search_path = '' as $$
declare
  planned jsonb := coalesce(project.plan -> start.step::text, '{}');
  planned_model constant text := planned ->> 'model';
  named_model constant text := nullif(start.model, ''); -- the column's default: none is named
  is_planned_model constant boolean := named_model is null and planned_model is not null;
  default_model text;
  is_other_model boolean; -- than the plan is for
  chosen keyframe.models;
  image text;
begin
  perform keyframe_private.raise_if(jsonb_typeof(start.input) is distinct from 'object', 'invalid_request', 'input must be an object.');
  start.model := coalesce(named_model, planned_model);
  if planned = '{}' and project.reference_image_path is null then
    return;
  end if;
  select d.model into default_model from keyframe.step_defaults d where d.step = start.step;
  is_other_model := named_model is not null and named_model is distinct from coalesce(planned_model, default_model);
  select m.* into chosen from keyframe.models m where m.step = start.step and m.model = coalesce(start.model, default_model);
  perform keyframe_private.raise_if(is_planned_model and keyframe_private.is_available(chosen, now()) is not true, 'model_unavailable',
    format('This shot''s plan uses the model %s, which is not available. Change the plan, or name another model.', planned_model));
  planned := planned - 'model'::text;
  foreach image in array array['firstFrame', 'lastFrame', 'referenceImages'] loop
    if start.input ?| keyframe_private.fields_of_image(image) then
      planned := planned - keyframe_private.fields_of_image(image);
    end if;
  end loop;
  -- Values of controls that were chosen for another model, or that the model of the start does not take, are left out.
  planned := planned - array(
    select c.name from keyframe_private.known_controls() c
    where (c.kind = 'choice' or c.name = 'negativePrompt')
      and (is_other_model or not chosen.controls ? c.name
        or c.kind = 'choice' and not keyframe_private.control_accepts(chosen.controls -> c.name, planned -> c.name)));
  -- A first or last frame whose references neither the request nor the plan names uses the project's reference image. But a last frame
  -- always has its first frame as a reference, so a model that takes one image gets only that.
  if not chosen.controls ? 'referenceImages' then
    planned := planned - 'referenceImagePaths'::text;
  elsif start.step <> 'video' and project.reference_image_path is not null
    and not (planned || start.input) ?| keyframe_private.fields_of_image('referenceImages')
    and ((chosen.controls #>> '{referenceImages,max}')::integer > 1 or start.step = 'first-frame'
      or keyframe_private.shown_take(project, 'first-frame') is null) then
    planned := planned || jsonb_build_object('referenceImagePaths', jsonb_build_array(project.reference_image_path));
  end if;
  if start.step = 'video' then
    planned := keyframe_private.fit_frames(planned, start.input, chosen, is_planned_model);
  end if;
  if planned -> 'continuesPreviousShot' = 'true' and (keyframe_private.previous_shot(project)).id is null then
    planned := planned - 'continuesPreviousShot'::text;
  end if;
  start.input := planned || start.input;
end $$;

-- How a video begins: on a frame of its own, or where the previous shot of the film ends.

-- Whether the shot's video begins on a first frame of its own. Not if it was made without one.
create function keyframe_private.needs_first_frame(project keyframe.projects)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return (project.plan #> '{video,continuesPreviousShot}' is distinct from 'true' or (keyframe_private.previous_shot(project)).id is null)
    and not coalesce(project.plan -> 'video' ?| array['firstFramePredictionId', 'firstFrameImagePath'], false)
    and (keyframe_private.shown_take(project, 'video') is null or keyframe_private.shown_take(project, 'first-frame') is not null);
end $$;

create function keyframe_private.previous_shot(project keyframe.projects)
returns keyframe.projects language plpgsql stable set search_path = '' as $$
declare
  previous keyframe.projects;
begin
  select p.* into previous from keyframe.projects p
  where p.film_id = project.film_id and p.owner_id = project.owner_id and p.film_position < project.film_position and p.deleted_at is null
  order by p.film_position desc limit 1;
  return previous;
end $$;

-- The end image of a video, as the field of an input: {"firstFrameImagePath": …} if it is stored; otherwise the frame that the video was
-- made to end on, which is nearly the same. Null while there is neither.
create function keyframe_private.end_image_of(video keyframe.predictions)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return case
    when video.status is distinct from 'succeeded' then null
    when video.end_image_path is not null then jsonb_build_object('firstFrameImagePath', video.end_image_path)
    when video.input ->> 'lastFrameImagePath' is not null then jsonb_build_object('firstFrameImagePath', video.input -> 'lastFrameImagePath')
    when exists (
      select from keyframe.predictions f
      where f.id = (video.input ->> 'lastFramePredictionId')::uuid and f.owner_id = video.owner_id and f.status = 'succeeded')
      then jsonb_build_object('firstFramePredictionId', video.input -> 'lastFramePredictionId')
  end;
end $$;

-- The selected video, the one being made, or the one shown now.
create function keyframe_private.expected_video(shot keyframe.projects)
returns uuid language plpgsql stable set search_path = '' as $$
begin
  return coalesce(
    shot.selected_video_id,
    (select r.id from keyframe.predictions r where r.project_id = shot.id and r.step = 'video' and r.completed_at is null
     order by r.created_at desc, r.id desc limit 1),
    keyframe_private.shown_take(shot, 'video'));
end $$;

-- Gives a start that continues the previous shot the end image of that shot's video, or lets it wait for the video (waits_for). The video is
-- not locked: if it is deleted, the waiting start fails. previous_start: in the estimate of a film, the start of the previous shot, which has
-- no row.
create function keyframe_private.resolve_beginning(
  inout start keyframe.predictions, project keyframe.projects, previous_start keyframe.predictions default null)
language plpgsql volatile set search_path = '' as $$
declare
  continues constant jsonb := start.input -> 'continuesPreviousShot';
  previous keyframe.projects;
  video keyframe.predictions;
  end_image jsonb;
  ratio_before text;
  ratio text;
begin
  start.waits_for := null;
  perform keyframe_private.raise_if(jsonb_typeof(continues) not in ('boolean', 'null'), 'invalid_request',
    'continuesPreviousShot must be true or false.');
  if continues is distinct from 'true' then
    start.input := start.input - array['continuesPreviousShot', 'continuesPredictionId'];
    return;
  end if;
  perform keyframe_private.raise_if(start.step <> 'video', 'unsupported_input',
    format('A %s cannot continue a shot. Leave out continuesPreviousShot.', start.step));
  -- The input of an answer, sent again, has continuesPredictionId next to the frame that came from it.
  perform keyframe_private.raise_if(start.input ->> 'continuesPredictionId' is null
    and coalesce(start.input ->> 'firstFramePredictionId', start.input ->> 'firstFrameImagePath') is not null, 'invalid_request',
    'Send continuesPreviousShot or a first frame, not both.');
  previous := keyframe_private.previous_shot(project);
  perform keyframe_private.raise_if(previous.id is null, 'unsupported_input',
    'This shot has no previous shot in a film, so it cannot continue one. Start it from a frame.');
  if previous_start.project_id = previous.id and previous.selected_video_id is null then
    video := previous_start;
  else
    select v.* into video from keyframe.predictions v where v.id = keyframe_private.expected_video(previous);
    perform keyframe_private.raise_if(not found, 'frame_not_ready',
      'The previous shot has no video yet, and none is being made. Generate it first, or start this one from another frame.');
  end if;
  end_image := keyframe_private.end_image_of(video);
  if end_image is null then -- else read_input compares the image itself
    ratio_before := coalesce(video.input ->> 'aspectRatio', previous.aspect_ratio);
    ratio := coalesce(start.input ->> 'aspectRatio', project.aspect_ratio);
    perform keyframe_private.raise_if(ratio_before <> ratio, 'unsupported_input',
      format('The previous shot has the aspect ratio %s, and this one %s. Give both the same ratio, or start this one from another frame.',
        ratio_before, ratio));
    start.waits_for := video.id;
  end if;
  start.input := start.input - 'firstFrameImagePath'::text
    || jsonb_build_object('firstFramePredictionId', null, 'continuesPredictionId', video.id) || coalesce(end_image, '{}');
end $$;

-- Gives a prediction the end image that it waits for, so that it can get a slot. Fails it if the image does not fit.
create function keyframe_private.give_end_image(waiting keyframe.predictions, end_image jsonb)
returns void language plpgsql volatile set search_path = '' as $$
declare
  path constant text := end_image ->> 'firstFrameImagePath';
  frame constant text := end_image ->> 'firstFramePredictionId';
  complete constant jsonb := waiting.input || end_image;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_ratio(coalesce(path, frame), waiting.input ->> 'aspectRatio');
  if path is not null then
    perform keyframe_private.keep_reference(path, waiting.owner_id);
  end if;
  insert into keyframe_private.prediction_images (prediction_id, role, path, source_prediction_id)
  values (waiting.id, 'first_frame', path, frame::uuid);
  update keyframe.predictions p set input = complete, waits_for = null, updated_at = now() where p.id = waiting.id;
  update keyframe_private.provider_submits s -- its price counts the pixels of the images, and the model's ceiling was held
  set metrics = jsonb_build_object('image_input_megapixel_count', keyframe_private.input_megapixels(complete)),
    most_micros = least(s.most_micros, (keyframe_private.estimate_cost(waiting.model, complete, s.created_at)).most_micros)
  where s.prediction_id = waiting.id and s.metrics is not null;
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
  refused.code := case refused.code when 'not_found' then 'input_file_missing' else refused.code end; -- it is the image
  perform keyframe_private.mark_failed(waiting.id, refused.code, refused.sentence, false);
end $$;

-- Gives a prediction its awaited end image if that is known. Fails it if there will never be one.
create function keyframe_private.continue_or_fail(waiting keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
declare
  video keyframe.predictions;
  end_image jsonb;
  other uuid;
begin
  select v.* into video from keyframe.predictions v where v.id = waiting.waits_for;
  end_image := keyframe_private.end_image_of(video);
  if end_image is not null then
    perform keyframe_private.give_end_image(waiting, end_image);
  elsif waiting.created_at < now() - interval '1 day' then -- its price is held, and counts on the day of its start
    perform keyframe_private.mark_failed(waiting.id, 'deadline_exceeded',
      'It waited a day for the previous shot. Generate that video, store its end image, then run this step again.', true);
  elsif video.id is null or video.status in ('failed', 'canceled') then
    -- Waits for another take that is running or was started with it. An older take is what the failed one should have replaced.
    select o.id into other from keyframe.projects p join keyframe.predictions o on o.id = keyframe_private.expected_video(p)
    where p.id = video.project_id and p.owner_id = waiting.owner_id
      and (o.completed_at is null or o.created_at > video.created_at - interval '1 minute');
    if found then
      update keyframe.predictions p
      set waits_for = other, input = p.input || jsonb_build_object('continuesPredictionId', other), updated_at = now()
      where p.id = waiting.id;
      perform keyframe_private.add_work('ask', 'continue', waiting.id, waiting.owner_id, 'continue');
    else
      perform keyframe_private.mark_failed(waiting.id, 'previous_shot_failed',
        'The previous shot, which this one continues, was not made. Generate that shot, then run this step again.', true);
    end if;
  end if;
end $$;

-- Called when a video ends, and when its end image is stored. The trigger only inserts work, so predictions that wait never delay either.
create function keyframe_private.add_continue_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from keyframe.predictions w where w.waits_for = new.id and w.status = 'queued';
  return null;
end $$;

-- supabase/schemas/30_predictions/30_inputs.sql

-- Checks and completes an input, whether it comes through a function or the Data API: read_input and use_elements make `requested` of it,
-- which names all frames, images and elements, and is the same for each model; resolve_input completes that for the chosen one.

-- Raises unless it is a frame that has succeeded with an image, in any of the owner's projects.
create function keyframe_private.require_frame(frame uuid, owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  candidate keyframe.predictions;
begin
  -- The project first, as when it is deleted. One that is being deleted counts as deleted: a start must not wait for a deletion.
  perform from keyframe.projects o
  where o.id = (select p.project_id from keyframe.predictions p where p.id = frame) and o.owner_id = owner and o.deleted_at is null
  for key share skip locked;
  if found then
    select p.* into candidate from keyframe.predictions p where p.id = frame for key share;
  end if;
  if candidate.id is null then
    perform keyframe_private.raise_error('not_found', format('You have no frame %s.', frame));
  elsif candidate.step = 'video' then
    perform keyframe_private.raise_error('unsupported_input',
      format('The prediction %s is a video. Name a first frame or a last frame.', frame));
  end if;
  perform keyframe_private.require_success(candidate);
  perform keyframe_private.raise_if(candidate.output_content_type not like 'image/%', 'unsupported_input', format(
      'The file of the frame %s is not an image: its type is %s. Generate the frame again, or name another.', frame, candidate.output_content_type));
end $$;

-- Administrators can put unmeasured files there: here an image needs recorded pixels.
create function keyframe_private.require_upload(path text, owner uuid)
returns void language plpgsql stable set search_path = '' as $$
declare
  width integer;
begin
  perform keyframe_private.raise_if(keyframe_private.is_reference_path(path) is not true, 'invalid_request',
    'The path of an uploaded image must have the shape projects/<file_name>.');
  select u.width into width
  from storage.objects o
  cross join lateral keyframe_private.upload_size(path) u
  where o.bucket_id = 'projects' and o.name = keyframe_private.file_name_of(path) and o.user_metadata ->> 'ownerId' = require_upload.owner::text;
  if not found then
    perform keyframe_private.raise_error('not_found', format(
      'You have no uploaded image at %s. Upload it first: POST /api/projects/reference-images.', path));
  elsif width is null then
    perform keyframe_private.raise_error('unsupported_input', format(
      'The size of the image %s is not known. Upload it by POST /api/projects/reference-images.', path));
  end if;
end $$;

create function keyframe_private.describe_control(control jsonb)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return case
    when control ? 'values' then
      (select string_agg(v, ', ') from jsonb_array_elements_text(keyframe_private.control_values(control)) v)
    when control ? 'min' then format('%s to %s', control ->> 'min', control ->> 'max')
    else format('at most %s characters', coalesce(control ->> 'maxLength', '4000'))
  end;
end $$;

-- How a start leaves out a frame that it did not name.
create function keyframe_private.without_frame(control text)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return case when control in ('firstFrame', 'lastFrame') then format(' (%sPredictionId null: no frame)', control) else '' end;
end $$;

-- Refuses what a model would ignore or refuse. `used`: the image controls that are used.
create function keyframe_private.require_supported(requested jsonb, used text[], chosen keyframe.models)
returns void language plpgsql stable set search_path = '' as $$
declare
  extra record;
  control record;
  other text;
begin
  select u.name into extra from unnest(used) u (name) where not chosen.controls ? u.name limit 1;
  perform keyframe_private.raise_if(found, 'unsupported_input', format('%s takes no %s.', chosen.model, extra.name));
  select a.key as name, a.value into extra from jsonb_each(requested) a
  where not chosen.controls ? a.key
    and (a.key <> 'aspectRatio' or not used && array['firstFrame', 'lastFrame']) -- beside frames it is theirs
  order by a.key limit 1;
  perform keyframe_private.raise_if(found, 'unsupported_input', format('%s %s no %s (sent: %s).', chosen.model,
    case when chosen.step = 'video' and extra.name = 'aspectRatio' then 'needs a firstFrame: it has' else 'has' end,
    extra.name, keyframe_private.quote_value(extra.value #>> '{}')));

  for control in
    select c.key as name, c.value as rule, requested -> c.key as value, c.key = any (used) as is_used from jsonb_each(chosen.controls) c
    where c.key = any (used) or requested ? c.key or c.value -> 'required' = 'true'
    order by c.key <> all (used), c.key
  loop
    if control.value is null and not control.is_used then
      perform keyframe_private.raise_error('unsupported_input',
        format('%s needs a %s.', chosen.model, control.name));
    end if;
    if control.rule ?| array['excludes', 'needs'] then
      for other in select jsonb_array_elements_text(control.rule -> 'excludes') loop
        perform keyframe_private.raise_if(other = any (used) or requested ? other, 'unsupported_input',
          format('%s takes either %s or %s: one of them would be dropped. Leave one out%s.', chosen.model, control.name, other,
            keyframe_private.without_frame(other)));
      end loop;
      for other in select jsonb_array_elements_text(control.rule -> 'needs') loop
        perform keyframe_private.raise_if(not (other = any (used) or requested ? other), 'unsupported_input',
          format('%s takes %s only together with %s%s.', chosen.model, control.name, other, keyframe_private.without_frame(control.name)));
      end loop;
    end if;
    if control.value is not null and not coalesce(control.rule -> 'omitWith' ?| used, false)
      and not keyframe_private.control_accepts(control.rule, control.value) then
      perform keyframe_private.raise_error('unsupported_input', format('%s %s: %s takes %s.', control.name,
        keyframe_private.quote_value(control.value #>> '{}'), chosen.model, keyframe_private.describe_control(control.rule)));
    end if;
  end loop;
end $$;

-- Completes the prompt and the controls without images: with the requested values, those that another choice forces, and the model's
-- defaults.
create function keyframe_private.resolve_values(requested jsonb, used text[], chosen keyframe.models)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  -- A model without the control makes no sound.
  complete jsonb := case when not chosen.controls ? 'audio' and requested -> 'audio' = 'false' then requested - 'audio' else requested end;
  control record;
  forced record;
begin
  perform keyframe_private.require_supported(complete, used, chosen);
  -- Requested values come before defaults; among these, one that forces another comes first.
  for control in
    select c.key as name, c.value as rule, c.key = any (used) as is_used from jsonb_each(chosen.controls) c
    order by c.key <> all (used), not requested ? c.key, not c.value ?| array['forces', 'forcesByValue'], c.key
  loop
    if control.rule ? 'default' and not complete ? control.name then
      complete := complete || jsonb_build_object(control.name, control.rule -> 'default');
    end if;
    continue when not (control.is_used or complete ? control.name) or not control.rule ?| array['forces', 'forcesByValue'];
    for forced in
      select f.key as name, f.value from jsonb_each(
        coalesce(control.rule -> 'forces', '{}') || coalesce(control.rule -> 'forcesByValue' -> (complete ->> control.name), '{}')) f
    loop
      if complete -> forced.name <> forced.value then
        perform keyframe_private.raise_error('unsupported_input', format('%s with %s takes %s %s only, not %s.',
          chosen.model, control.name || coalesce(' ' || keyframe_private.quote_value(complete ->> control.name), ''),
          forced.name, forced.value #>> '{}', keyframe_private.quote_value(complete ->> forced.name)));
      end if;
      complete := complete || jsonb_build_object(forced.name, forced.value);
    end loop;
  end loop;
  return complete;
end $$;

-- Raises unless a frame, by its id or the path of its upload, has the aspect ratio of the video: it would be cut or distorted. Models round
-- the sides of an image to multiples of up to 32 pixels, so a deviation of 6 % is allowed; the nearest two ratios in use differ by 7 %.
create function keyframe_private.require_ratio(frame text, ratio text)
returns void language plpgsql stable set search_path = '' as $$
declare
  expected constant numeric := split_part(ratio, ':', 1)::numeric / split_part(ratio, ':', 2)::numeric;
  width numeric;
  height numeric;
begin
  if frame like 'projects/%' then
    select u.width, u.height into width, height from keyframe_private.upload_size(frame) u;
  else
    select p.output_width, p.output_height into width, height from keyframe.predictions p where p.id = frame::uuid;
  end if;
  perform keyframe_private.raise_if(abs(width / height / expected - 1) > 0.06, 'unsupported_input', format(
      'The frame %s has %s × %s pixels, and the aspect ratio is %s. Generate the frame in %s, choose another, or send the aspectRatio of the frame.',
      frame, width, height, ratio, ratio));
end $$;

-- The frame that the input names, by `role`PredictionId or `role`ImagePath. If it names none and does not exclude one with null: the take
-- that the project's step shows.
create function keyframe_private.resolve_frame(input jsonb, role text, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  id_field constant text := role || 'PredictionId';
  path_field constant text := role || 'ImagePath';
  path constant text := input ->> path_field;
  frame uuid := (input ->> id_field)::uuid;
begin
  if path is not null and frame is not null then
    perform keyframe_private.raise_error('invalid_request', format('Send %s or %s, not both.', id_field, path_field));
  elsif path is not null then
    perform keyframe_private.require_upload(path, project.owner_id);
    return jsonb_build_object(id_field, null, path_field, path);
  elsif frame is not null then
    perform keyframe_private.require_frame(frame, project.owner_id);
  elsif not input ? id_field then
    loop
      select keyframe_private.shown_take(p, case role when 'firstFrame' then 'first-frame' else 'last-frame' end::keyframe.generation_step)
      into frame from keyframe.projects p where p.id = project.id;
      exit when frame is null;
      perform from keyframe.predictions p where p.id = frame for key share;
      exit when found; -- otherwise it has just been deleted, and another one stands for its step
    end loop;
  end if;
  return jsonb_build_object(id_field, frame);
end $$;

-- The fields of an input that name images, or what images come from.
create function keyframe_private.image_fields()
returns text[] language sql immutable set search_path = '' as $$
  select array['firstFramePredictionId', 'firstFrameImagePath', 'lastFramePredictionId', 'lastFrameImagePath', 'referenceImagePaths',
    'elements', 'continuesPreviousShot', 'continuesPredictionId']
$$;

-- Immutable, so that the session's plan contains the list: known_controls is planned at each call, which took half of the time of a start.
create function keyframe_private.input_fields()
returns text[] language sql immutable set search_path = '' as $$
  select keyframe_private.image_fields() || array['referenceImagePath', 'elementIds']
    || array(select c.name from keyframe_private.known_controls() c where c.kind in ('text', 'choice'))
$$;

-- The requested input with the resolved frames. Its fields are checked, but it is not yet complete.
create function keyframe_private.read_input(input jsonb, step keyframe.generation_step, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  requested jsonb := input;
  first_reference constant jsonb := nullif(input -> 'referenceImagePath', 'null');
  paths constant jsonb := coalesce(nullif(input -> 'referenceImagePaths', 'null'), '[]' || coalesce(first_reference, '[]'));
  field text;
  frame text;
begin
  perform keyframe_private.raise_if(input - keyframe_private.input_fields() <> '{}', 'invalid_request',
    'input has an unknown field.');

  foreach field in array case step
    when 'first-frame' then array['firstFramePredictionId', 'firstFrameImagePath', 'lastFramePredictionId', 'lastFrameImagePath']
    when 'last-frame' then array['lastFramePredictionId', 'lastFrameImagePath'] else '{}' end
  loop
    perform keyframe_private.raise_if(input ->> field is not null, 'unsupported_input',
      format('A %s is not made with a frame: leave out %s.', step, field));
  end loop;

  if requested ->> 'prompt' is null then
    requested := requested || jsonb_build_object('prompt', project.text_prompt);
  end if;
  perform keyframe_private.raise_if(
    input ->> 'aspectRatio' is not null and not keyframe_private.has_shape(input -> 'aspectRatio', 'a ratio such as "16:9"'), 'invalid_request',
    'aspectRatio must be a ratio such as "16:9".');
  -- The input of an answer has both fields, with the same first image.
  perform keyframe_private.raise_if(first_reference is not null and first_reference is distinct from paths -> 0, 'invalid_request',
    'Send referenceImagePath or referenceImagePaths, not two different ones.');
  perform keyframe_private.raise_if(jsonb_typeof(paths) <> 'array' or paths @? '$[*] ? (@.type() <> "string")', 'invalid_request',
    'referenceImagePaths must be a list of paths.');
  requested := requested - array['referenceImagePath', 'firstFrameImagePath', 'lastFrameImagePath']
    || jsonb_build_object('referenceImagePaths', paths);
  if step <> 'first-frame' then
    requested := requested || keyframe_private.resolve_frame(input, 'firstFrame', project);
  end if;
  if step = 'video' then
    requested := requested || keyframe_private.resolve_frame(input, 'lastFrame', project);
    perform keyframe_private.raise_if(
      coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath') is null and not input ? 'firstFramePredictionId',
      'frame_not_ready',
      'This project has no first frame that succeeded. Generate the first frame, then try again, or send firstFramePredictionId null for a video without one.');
    -- The ratio of a start does not depend on the model.
    foreach frame in array array['firstFrame', 'lastFrame'] loop
      perform keyframe_private.require_ratio(coalesce(requested ->> (frame || 'PredictionId'), requested ->> (frame || 'ImagePath')),
        coalesce(requested ->> 'aspectRatio', project.aspect_ratio));
    end loop;
  end if;
  return requested;
end $$;

-- Completes what read_input returned for a model.
create function keyframe_private.resolve_input(requested jsonb, project keyframe.projects, chosen keyframe.models)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  first_frame constant text := coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath');
  last_frame constant text := coalesce(requested ->> 'lastFramePredictionId', requested ->> 'lastFrameImagePath');
  others constant jsonb := requested - keyframe_private.image_fields();
  images constant jsonb := '{"firstFramePredictionId": null, "lastFramePredictionId": null}'
    || jsonb_strip_nulls(requested - array(select jsonb_object_keys(others)));
  requested_values jsonb := jsonb_strip_nulls(others);
  -- A last frame keeps the look of the first frame, which is one of its references.
  keeps_look constant boolean := chosen.step = 'last-frame' and first_frame is not null;
  reference_count constant integer := jsonb_array_length(requested -> 'referenceImagePaths') + keeps_look::integer;
  most constant integer := coalesce((chosen.controls #>> '{referenceImages,max}')::integer, 0);
  used constant text[] := array_remove(array[
    case when chosen.step = 'video' and (first_frame is not null or requested ? 'continuesPreviousShot') then 'firstFrame' end,
    case when last_frame is not null then 'lastFrame' end,
    case when reference_count > 0 then 'referenceImages' end
  ], null);
  frame_count constant integer := case when chosen.controls #> '{referenceImages,countsFrames}' = 'true'
    then cardinality(array_remove(used, 'referenceImages')) else 0 end;
begin
  perform keyframe_private.raise_if(reference_count > 0 and reference_count + frame_count > most, 'unsupported_input',
    format('%s takes %s reference images, and %s would be sent%s.', chosen.model, most, reference_count + frame_count,
      case when keeps_look then ' (the first frame is one of them; firstFramePredictionId null leaves it out)'
        when frame_count > 0 then format(' (%s of them frames)', frame_count) else '' end
        || case when requested ? 'elements' then ', the images of its elements among them: use fewer elements' else '' end));
  if chosen.step = 'video' or chosen.controls ? 'aspectRatio' then
    requested_values := jsonb_build_object('aspectRatio', project.aspect_ratio) || requested_values;
  end if;
  return images || keyframe_private.resolve_values(requested_values, used, chosen);
end $$;

-- The rules of an input. As table checks they were parsed and planned at each write of a row (about six), a tenth of the Postgres time of a
-- frame (npm run bench -- flow). Their triggers always fire, as checks do, even if session_replication_role disables triggers.
create function keyframe_private.require_valid_input()
returns trigger language plpgsql volatile set search_path = '' as $$
declare
  broken constant text := case
    when not coalesce(char_length(new.input ->> 'prompt'), 0) between 1 and 4000 then 'prompt_has_1_to_4000_characters'
    when not keyframe_private.has_visible_character(new.input ->> 'prompt') then 'prompt_has_a_visible_character'
    when not keyframe_private.is_plain_text(new.input ->> 'prompt') then 'prompt_is_plain_text'
    when not keyframe_private.has_visible_character(new.input ->> 'negativePrompt') then 'negative_prompt_has_a_visible_character'
    when not keyframe_private.is_plain_text(new.input ->> 'negativePrompt') then 'negative_prompt_is_plain_text'
    -- A deletion reads the images of several owners' inputs: one malformed input would stop all of it.
    when not (jsonb_typeof(new.input -> 'referenceImagePaths') = 'array'
      and not new.input @? 'strict $.referenceImagePaths[*] ? (@.type() != "string")') then 'reference_images_are_a_list'
    -- As is_uuid, which users may not call.
    when not (new.input ->> 'firstFramePredictionId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      and new.input ->> 'lastFramePredictionId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') then 'frames_are_predictions'
    when new.step = 'first-frame' and coalesce(new.input ->> 'firstFramePredictionId', new.input ->> 'firstFrameImagePath') is not null
      then 'first_frame_builds_on_no_frame'
    when new.step <> 'video' and coalesce(new.input ->> 'lastFramePredictionId', new.input ->> 'lastFrameImagePath') is not null
      then 'only_video_has_a_last_frame'
  end;
begin
  if broken is not null then
    raise check_violation using schema = 'keyframe', table = 'predictions', constraint = broken,
      message = format('new row for relation "predictions" violates check constraint "%s"', broken);
  end if;
  return null;
end $$;

-- supabase/schemas/30_predictions/35_elements.sql

-- The elements of a start: their images are added to its references, their texts to its prompt, and its input keeps a record of each.

-- The record of an element in the input of a prediction.
create function keyframe_private.element_record(element keyframe.elements)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'elementId', element.id, 'updatedAt', keyframe_private.wire_time(element.updated_at), 'name', element.name, 'text', element.text,
    'imagePaths', element.image_paths);
end $$;

-- Whether a character continues the name before it: a letter, a digit, an underscore, or a mark such as an accent. An empty text does not.
--
-- Names and prompts are compared in NFC, so that a composed and a decomposed accent are equal. NFC also shows which characters are marks: it
-- sorts neighbouring marks by their class, and U+0345 has the highest one, so whatever NFC moves before U+0345 is a mark. The list has the
-- marks that have no class, except those that Postgres counts as letters and those that displays may ignore.
create function keyframe_private.continues_a_name(letter text)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return letter ~ '[[:alnum:]_\u0488\u0489\u0897\u0AFA-\u0AFF\u0B55\u0E47-\u0E4E\u0EC8-\u0ECE\u0F3E\u0F3F\u17C6-\u17D3\u1ABE\u1CE1\u1CF7\u20DD-\u20E4\uA670-\uA672\uABEC]'
    or normalize(chr(837) || letter) <> chr(837) || letter;
end $$;

-- The elements that a prompt names, and the prompt without their @. Raises for an unknown name:
--
--   @anna and @Old pier, mail a@b.c  →  Anna and Old pier, mail a@b.c, and the ids of both elements
--
-- The elements are read once, however often the prompt names them.
create function keyframe_private.read_mentions(prompt text, known uuid[], owner uuid, out ids uuid[], out plain text)
language plpgsql stable set search_path = '' as $$
declare
  part text;
  elements jsonb; -- by their name in lower case; of two with one name, the first of `known`
  lengths integer[];
  named record;
begin
  ids := '{}';
  select jsonb_object_agg(lower(n.name), jsonb_build_object('id', e.id, 'name', e.name) order by k.place desc), array_agg(distinct char_length(n.name))
  into elements, lengths
  from unnest(known) with ordinality k (id, place)
  join keyframe.elements e on e.id = k.id and e.owner_id = read_mentions.owner
  cross join lateral (select normalize(e.name) as name) n;
  foreach part in array string_to_array(normalize(prompt), '@') loop
    if plain is null then
      plain := part;
      continue;
    elsif keyframe_private.continues_a_name(right(plain, 1)) or part !~ '^\S' then
      plain := plain || '@' || part;
      continue;
    end if;
    select elements -> lower(left(part, l.length)) as element, l.length into named
    from unnest(lengths) l (length)
    where elements ? lower(left(part, l.length)) and not keyframe_private.continues_a_name(substr(part, l.length + 1, 1))
    order by l.length desc limit 1;
    if not found then
      perform keyframe_private.raise_error('invalid_request', format(
        '“@%s” isn''t in the cast%s. Fix the name, or put a space after the @.', coalesce(substring(part from '^[^\s.,;:!?()]{1,60}'), ''),
        (select ' (' || string_agg(e.value ->> 'name', ', ' order by e.value ->> 'name') || ')' from jsonb_each(elements) e)));
    end if;
    ids := ids || (named.element ->> 'id')::uuid;
    plain := plain || (named.element ->> 'name') || substr(part, named.length + 1);
  end loop;
end $$;

-- Whether a request's element has the form of element_record.
create function keyframe_private.is_element_record(element jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return case when element @? 'strict $ ? (
      @.elementId.type() == "string" && @.updatedAt like_regex "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[.][0-9]{3}Z$"
      && @.name like_regex "^.{1,60}$" && @.text.type() == "string" && @.imagePaths.type() == "array" && @.imagePaths.size() <= 8
      && !exists(@.imagePaths[*] ? (@.type() != "string")))'
    then keyframe_private.is_uuid(element ->> 'elementId') and keyframe_private.is_one_line(element ->> 'name') and not exists (
      select from jsonb_array_elements_text(element -> 'imagePaths') i (path) where not keyframe_private.is_reference_path(i.path))
    else false end;
end $$;

-- For a repeated input, whose prompt and references already have its elements. A record is kept while its text is in the prompt or, without
-- a text, while one of its images is in the references.
create function keyframe_private.keep_element_records(requested jsonb)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  kept jsonb;
begin
  if jsonb_typeof(requested -> 'elements') <> 'array'
    or jsonb_array_length(requested -> 'elements') > keyframe_private.max_elements('start')
    or exists (select from jsonb_array_elements(requested -> 'elements') e where not keyframe_private.is_element_record(e)) then
    perform keyframe_private.raise_error('invalid_request', 'elements must be a list as in `input` of a response.');
  end if;
  select jsonb_agg(jsonb_build_object('elementId', e -> 'elementId', 'updatedAt', e -> 'updatedAt', 'name', e -> 'name', 'text', e -> 'text',
    'imagePaths', e -> 'imagePaths') order by place) into kept
  from jsonb_array_elements(requested -> 'elements') with ordinality r (e, place)
  where case when e ->> 'text' = '' then exists (select from jsonb_array_elements(e -> 'imagePaths') i where requested -> 'referenceImagePaths' @> i)
    else strpos(requested ->> 'prompt', format('%s: %s', e ->> 'name', e ->> 'text')) > 0 end;
  return requested - array['elements', 'elementIds'] || jsonb_strip_nulls(jsonb_build_object('elements', kept));
end $$;

-- The elements of a start, and its prompt without the @ of their names; null if there are none and the prompt stays as it is:
--
--   elementIds of the start, else of the project   these, and those that the prompt names
--   neither, and the prompt names some             these
--   neither, and it names none                     those of the film
create function keyframe_private.choose_elements(requested jsonb, project keyframe.projects, out ids uuid[], out prompt text)
language plpgsql volatile set search_path = '' as $$
declare
  film_ids constant uuid[] := coalesce((select f.element_ids from keyframe.films f where f.id = project.film_id), '{}');
  listed uuid[] := project.element_ids;
  known uuid[];
  named record;
begin
  if requested ->> 'elementIds' is not null then
    perform keyframe_private.raise_if(jsonb_typeof(requested -> 'elementIds') <> 'array', 'invalid_request', 'elementIds must be a list.');
    listed := array(select i::uuid from jsonb_array_elements_text(requested -> 'elementIds') i);
    perform keyframe_private.require_elements(listed, project.owner_id);
    if listed = '{}' then
      return; -- an @ means nothing here
    end if;
  end if;
  known := coalesce(listed, '{}') || film_ids;
  if known = '{}' and coalesce(strpos(requested ->> 'prompt', '@'), 0) = 0 then
    return;
  end if;
  perform keyframe_private.raise_if(char_length(requested ->> 'prompt') > 4000, 'invalid_request', 'prompt must have at most 4000 characters.');
  named := keyframe_private.read_mentions(requested ->> 'prompt', known, project.owner_id);
  if known <> '{}' then -- otherwise none of its @ names an element
    ids := case when listed is not null then listed || named.ids when named.ids = '{}' then film_ids else named.ids end;
    prompt := named.plain;
  end if;
end $$;

-- Adds the elements of a start to the prompt and the references from read_input, with a record of each. A video that begins on a frame
-- shows them in the frame: it gets their images only if the start has elementIds.
create function keyframe_private.use_elements(requested jsonb, step keyframe.generation_step, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  needs_images constant boolean := step <> 'video' or requested ->> 'elementIds' is not null
    or coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath', requested ->> 'continuesPreviousShot') is null;
  chosen record;
  used record;
  images text[] := '{}';
begin
  if requested ->> 'elements' is not null then
    perform keyframe_private.raise_if(requested ->> 'elementIds' is not null, 'invalid_request', 'Send elementIds or elements, not both.');
    return keyframe_private.keep_element_records(requested);
  end if;
  chosen := keyframe_private.choose_elements(requested, project);
  requested := requested - array['elements', 'elementIds'];
  if chosen.ids is null then
    return requested;
  end if;
  select count(*) as number, jsonb_agg(u.element order by u.place) as records,
    string_agg(format('%s: %s', u.element ->> 'name', u.element ->> 'text'), e'\n' order by u.place)
      filter (where u.element ->> 'text' <> '') as lines
  into used
  from (
    select keyframe_private.element_record(e) as element, w.place
    from (select i.id, min(i.place) as place from unnest(chosen.ids) with ordinality i (id, place) group by i.id) w
    join keyframe.elements e on e.id = w.id and e.owner_id = project.owner_id
  ) u;
  perform keyframe_private.raise_if(used.number > keyframe_private.max_elements('start'), 'invalid_request', format(
    'A start can use at most %s elements, and this one would use %s. Name this shot''s elements in elementIds, or as @name in its prompt.',
    keyframe_private.max_elements('start'), used.number));
  if needs_images then
    images := array(
      select i.path from jsonb_array_elements(used.records) with ordinality r (element, place)
      cross join lateral jsonb_array_elements_text(r.element -> 'imagePaths') with ordinality i (path, place)
      where not requested -> 'referenceImagePaths' ? i.path
      group by i.path order by min(r.place), min(i.place));
  end if;
  requested := requested || jsonb_strip_nulls(jsonb_build_object(
    'prompt', concat_ws(e'\n\n', chosen.prompt, used.lines), 'elements', used.records,
    'referenceImagePaths', (requested -> 'referenceImagePaths') || to_jsonb(images)));
  perform keyframe_private.raise_if(char_length(requested ->> 'prompt') > 4000, 'unsupported_input', format(
    'The prompt has %s characters with the texts of its %s elements, and the maximum is 4000. Use fewer elements, or shorten a text.',
    char_length(requested ->> 'prompt'), used.number));
  return requested;
end $$;

create function keyframe_private.element_names(input jsonb)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(jsonb_agg(jsonb_build_object('elementId', e -> 'elementId', 'name', e -> 'name') order by place), '[]')
    from jsonb_array_elements(input -> 'elements') with ordinality r (e, place));
end $$;

-- Lists the elements that are deleted or changed since the prediction was made, with the fields that differ. A film can have 1,500 takes of
-- 20 elements: each is looked up by its key (`offset 0`), and compared only if its version has moved.
create function keyframe_private.changed_elements(prediction keyframe.predictions)
returns json language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select json_agg(json_build_object('elementId', r.used -> 'elementId', 'name', r.used -> 'name', 'changed', c.fields) order by r.place)
    from jsonb_array_elements(prediction.input -> 'elements') with ordinality r (used, place)
    left join lateral (
      select o.* from keyframe.elements o where o.id = (r.used ->> 'elementId')::uuid and o.owner_id = prediction.owner_id offset 0) e on true
    cross join lateral (select case
      when e.id is null then array['deleted']
      when keyframe_private.wire_time(e.updated_at) <> r.used ->> 'updatedAt' then array_remove(array[
        case when r.used -> 'imagePaths' <> to_jsonb(e.image_paths) then 'imagePaths' end,
        case when e.name <> r.used ->> 'name' then 'name' end,
        case when e.text <> r.used ->> 'text' then 'text' end], null)
      else '{}' end) c (fields)
    where c.fields <> '{}'), '[]');
end $$;

-- supabase/schemas/30_predictions/40_starts.sql

-- A start is an insert into predictions, by start_prediction, start_film, the Data API or an administrator. Its triggers do the rest. For
-- the statement: its first token, before a project or prediction is locked. For each row: owner, model and input (resolve_start), slot. For
-- the rows together: the images, the other tokens, the budget of each owner, submits, a kick. A refusal undoes all rows.

-- The default of a step may be unavailable.
create function keyframe_private.choose_model(step keyframe.generation_step, named text)
returns keyframe.models language plpgsql stable set search_path = '' as $$
declare
  chosen keyframe.models;
begin
  select m.* into chosen from keyframe.models m
  where m.step = choose_model.step and m.enabled
    and m.model = coalesce(named, (select d.model from keyframe.step_defaults d where d.step = choose_model.step));
  if not found then
    perform keyframe_private.raise_error('unsupported_input',
      format('There is no such model for the step %s. GET /api/models lists them.', step));
  elsif named is not null and not keyframe_private.is_available(chosen, now()) then
    perform keyframe_private.raise_error('model_unavailable', format(
      'The model %s is not available: %s. Name another, or none: GET /api/models lists them.', named,
      case when chosen.refused_at is null then 'its vendor has ended it' else 'the provider no longer has it' end));
  end if;
  return chosen;
end $$;

-- Lists the other available models of a step that accept an input, in order, with the input completed for each.
create function keyframe_private.models_accepting(requested jsonb, project keyframe.projects, other_than keyframe.models)
returns table (model text, input jsonb) language plpgsql stable set search_path = '' as $$
declare
  candidate keyframe.models;
begin
  for candidate in select s.* from keyframe_private.successors_of(other_than, now()) s loop
    begin
      model := candidate.model;
      input := keyframe_private.resolve_input(requested, project, candidate);
      return next;
    exception when sqlstate 'KEYFR' then
      continue; -- it does not take this input
    end;
  end loop;
end $$;

-- Returns the first available model that accepts the same input and costs no more, or null.
create function keyframe_private.find_successor(gone keyframe.models, requested jsonb, project keyframe.projects)
returns keyframe.models language plpgsql stable set search_path = '' as $$
declare
  found_model keyframe.models;
  gone_cost keyframe_private.run_cost;
begin
  begin
    gone_cost := keyframe_private.estimate_cost(gone.model, keyframe_private.resolve_input(requested, project, gone), now());
  exception when sqlstate 'KEYFR' then
    null; -- it did not take this input either, so it has no price for it
  end;
  select m.* into found_model
  from keyframe_private.models_accepting(requested, project, gone) with ordinality t (model, input, place)
  join keyframe.models m on m.step = gone.step and m.model = t.model
  where keyframe_private.costs_no_more(keyframe_private.estimate_cost(t.model, t.input, now()), gone_cost)
  order by t.place
  limit 1;
  return found_model;
end $$;

-- Completes and checks a start, in eight steps, of which complete_start has the last five. As an example, a user starts a video with
-- {"prompt": "@Anna leaves"} and names no model. The project's plan is {"video": {"model": "A", "durationSeconds": 10}}, its shown first frame
-- is F, and its film has the element Anna with the text "a woman in red":
--
--   1  lock_project        it must be the caller's
--   2  apply_plan          model A; "durationSeconds": 10
--   3  resolve_beginning   no change; a start that continues the previous shot gets the end image of that, or waits for it
--   4  choose_model        the row of A; a model that is named must be available
--   5  read_input          "firstFramePredictionId": F, "lastFramePredictionId": null, "referenceImagePaths": []
--   6  use_elements        "prompt": "Anna leaves", then "Anna: a woman in red"; "elements": the record of Anna
--   7  find_successor      no change; only a default model that is not available is replaced by another
--   8  resolve_input       "aspectRatio": "16:9", as the project has it; "resolution": A's default, and so for each control of A
create function keyframe_private.resolve_start(inout start keyframe.predictions)
language plpgsql volatile set search_path = '' as $$
declare
  project constant keyframe.projects := keyframe_private.lock_project(start.project_id);
begin
  start := keyframe_private.apply_plan(start, project);
  start := keyframe_private.resolve_beginning(start, project);
  start := keyframe_private.complete_start(start, project);
end $$;

-- Locks a project against deletion: waits for a deletion under way, and then finds no project.
create function keyframe_private.lock_project(id uuid)
returns keyframe.projects language plpgsql volatile set search_path = '' as $$
declare
  project keyframe.projects;
begin
  select p.* into project from keyframe.projects p
  where p.id = lock_project.id and (auth.uid() is null or keyframe_private.is_own(p.owner_id)) and p.deleted_at is null
  for key share;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no project with this projectId.');
  return project;
end $$;

create function keyframe_private.complete_start(inout start keyframe.predictions, project keyframe.projects)
language plpgsql volatile set search_path = '' as $$
declare
  chosen keyframe.models;
  requested jsonb;
  refused keyframe_private.refusal;
begin
  start.owner_id := project.owner_id;
  chosen := keyframe_private.choose_model(start.step, start.model);
  requested := keyframe_private.use_elements(keyframe_private.read_input(start.input, start.step, project), start.step, project);
  start.requested_model := start.model;
  if not keyframe_private.is_available(chosen, now()) then
    start.requested_model := chosen.model;
    chosen := keyframe_private.find_successor(chosen, requested, project);
    perform keyframe_private.raise_if(chosen.model is null, 'model_unavailable', format(
        'The model %s is not available, and no other model accepts this input at the same or a lower price. Name a model from GET /api/models, or change the input.',
        start.requested_model));
  end if;
  start.model := chosen.model;
  begin
    start.input := keyframe_private.resolve_input(requested, project, chosen);
  exception when sqlstate 'KEYFR' then
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
    if refused.code <> 'unsupported_input' then
      raise;
    end if;
    perform keyframe_private.raise_error(refused.code, format('%s %s', refused.sentence, (
      select coalesce('Models that take it: ' || string_agg(t.model, ', ') || '.', 'No other model of this step takes it.')
      from keyframe_private.models_accepting(requested, project, chosen) t)));
  end;
end $$;

create function keyframe_private.resolve_prediction()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  return keyframe_private.resolve_start(new);
end $$;

create function keyframe_private.admit_or_queue()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('slots', new.owner_id);
  -- Read under the lock, so that created_at has the order of the queue.
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  if new.waits_for is not null then
    perform keyframe_private.raise_if(
      (select count(*) from keyframe.predictions w where w.owner_id = new.owner_id and w.waits_for is not null and w.status = 'queued')
        >= keyframe_private.max_shots(), 'invalid_request',
      format('At most %s shots can wait for a previous shot. Cancel some, or wait until they start.', keyframe_private.max_shots()));
    -- Its video may have ended meanwhile: nothing else would look at this row.
    if exists (select from keyframe.predictions v where v.id = new.waits_for and v.completed_at is not null) then
      perform keyframe_private.add_work('ask', 'continue', new.id, new.owner_id, 'continue');
    end if;
  elsif keyframe_private.free_slots(new.owner_id) > 0 and not exists (
    select from keyframe.predictions w
    where w.owner_id = new.owner_id and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
  ) then
    new.admitted_at := new.created_at;
    new.deadline_at := new.created_at + keyframe_private.deadline_of(new.step);
  end if;
  return new;
end $$;

create function keyframe_private.write_prediction_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if exists (select from started s where keyframe_private.has_images(s.input)) then
    perform keyframe_private.keep_reference(u.path, u.owner_id) from (
      select distinct s.owner_id, i.path from started s, keyframe_private.images_of(s.input) i where i.path is not null order by 1, 2) u;
    insert into keyframe_private.prediction_images (prediction_id, role, position, path, source_prediction_id)
    select s.id, i.* from started s, keyframe_private.images_of(s.input) i;
  end if;
  return null;
end $$;

-- An administrator may start for several owners at once; a user's rows have one owner, and one client or none. Without a generic plan it is
-- planned at each start.
create function keyframe_private.begin_starts()
returns trigger language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  payer record;
begin
  for payer in
    select array_agg(s::keyframe.predictions) as starts, count(*)::integer as number
    from started s where s.completed_at is null -- nothing would release what an administrator inserts as ended
    group by s.owner_id, s.client_id
  loop
    if payer.number > 1 then
      perform keyframe_private.raise_if(payer.number > l.capacity and auth.uid() is not null, 'invalid_request',
        format('This request starts %s predictions at once, and the maximum is %s. Start fewer.', payer.number, l.capacity))
      from keyframe_private.rate_limits l where l.route_class = 'generate';
      perform keyframe_private.acquire_token('generate', payer.number - 1);
    end if;
    perform keyframe_private.require_spending();
    perform keyframe_private.add_submits(payer.starts);
  end loop;
  return null;
end $$;

-- Files, submits and events of an earlier prediction with this id would count as this one's. Checked after the insert, because that waits
-- for a deletion under way.
create function keyframe_private.refuse_used_id()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if auth.uid() is null then -- users cannot choose an identifier
    perform keyframe_private.raise_if(
      exists (
        select from keyframe.webhook_events v where v.prediction_id = new.id and v.type in ('generation.succeeded', 'generation.failed'))
      or exists (select from keyframe_private.provider_submits s where s.prediction_id = new.id and s.submitted_at is not null)
      or exists (
        select from keyframe_private.file_removals r
        where r.bucket = 'keyframe-outputs' and r.name = any (array(select keyframe_private.output_names(new)))), 'invalid_request',
      'An earlier prediction with this id has left an event, a submit or a file. Leave the id out, or use another one.');
  end if;
  return null;
end $$;

-- Fairness: an owner has max_active_per_owner slots. A row in line has no work, so a long queue costs others nothing.

-- Valid only while the owner's lock `slots` is held. An open transaction delays only its own owner.
create function keyframe_private.free_slots(owner uuid)
returns integer language plpgsql volatile set search_path = '' as $$
begin
  return (
    select coalesce((select s.max_active_per_owner from keyframe_private.settings s), 0) - count(*)::integer
    from keyframe.predictions p
    where p.owner_id = owner and p.admitted_at is not null and p.completed_at is null
  );
end $$;

create function keyframe_private.deadline_of(step keyframe.generation_step)
returns interval language plpgsql stable set search_path = '' as $$
begin
  return (select case when step = 'video' then s.video_deadline else s.frame_deadline end from keyframe_private.settings s);
end $$;

-- Gives an owner's free slots to the predictions that have waited longest.
create function keyframe_private.admit_in_line(owner uuid)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  moment timestamptz;
  slots integer;
begin
  perform keyframe_private.acquire_lock('slots', owner);
  -- Read under the lock, so that admitted_at has the order of the queue, whichever transaction began first.
  moment := clock_timestamp();
  slots := keyframe_private.free_slots(owner);
  if slots > 0 and not (select s.spending_stopped from keyframe_private.settings s) then
    update keyframe.predictions p
    set admitted_at = moment, deadline_at = moment + keyframe_private.deadline_of(p.step), updated_at = now()
    where p.id = any (array(
      select w.id from keyframe.predictions w
      where w.owner_id = owner and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
      order by w.created_at, w.id
      limit slots
      for update skip locked)); -- a locked row is being canceled; the next one takes its turn
  end if;
end $$;

-- The end of one prediction frees a slot for the next. A failed admission does not undo the end: it is retried.
create function keyframe_private.admit_next()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.admit_in_line(new.owner_id);
  return null;
exception when others or query_canceled or assert_failure then
  if keyframe_private.is_lock_wait(sqlstate) or sqlstate = '57014' then
    raise; -- another call is admitting, or this one was canceled or ran out of time: the caller retries
  end if;
  raise warning 'No prediction of owner % could be admitted: % (%)', new.owner_id, sqlerrm, sqlstate;
  perform keyframe_private.add_work('ask', 'admit', new.owner_id, new.owner_id, 'admit', clock_timestamp() + interval '5 seconds');
  return null;
end $$;

-- Returns 1 for the next to run, 0 once it has a slot; null when it is not queued, waits for the previous shot, or is queued again after a
-- provider run. Counting stops at 1000, which means 1000 or later: otherwise a page of a very long queue would count it for each row.
create function keyframe_private.queue_position(prediction keyframe.predictions)
returns integer language plpgsql stable set search_path = '' as $$
begin
  if prediction.status <> 'queued' or prediction.started_at is not null or prediction.waits_for is not null then
    return null;
  elsif prediction.admitted_at is not null then
    return 0;
  end if;
  return (
    select count(*)::integer + 1 from (
      select from keyframe.predictions w
      where w.owner_id = prediction.owner_id and w.status = 'queued' and w.admitted_at is null and w.waits_for is null
        and (w.created_at, w.id) < (prediction.created_at, prediction.id)
      limit 999
    ) before
  );
end $$;

-- What api calls to start one prediction or several takes of it.

-- Consecutive seeds make different takes, each of which can be repeated.
create function keyframe_private.input_of_take(input jsonb, number bigint)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return case when number > 1 and jsonb_typeof(input -> 'seed') = 'number'
    then input || jsonb_build_object('seed', (input ->> 'seed')::numeric + number - 1) else input end;
end $$;

-- Starts a step of these projects, all or none. A project listed twice gets two takes. The first prediction has the id of the request.
-- If there are several, their ids are kept for a repetition of the request.
create function keyframe_private.start_all(request_id uuid, projects uuid[], step keyframe.generation_step, input jsonb, model text)
returns keyframe.predictions[] language plpgsql volatile set search_path = '' as $$
declare
  started keyframe.predictions[];
begin
  with made as (
    insert into keyframe.predictions as p (id, project_id, step, input, model)
    select case s.place when 1 then request_id else gen_random_uuid() end, s.project, start_all.step,
      keyframe_private.input_of_take(start_all.input, row_number() over (partition by s.project order by s.place)), start_all.model
    from unnest(projects) with ordinality s (project, place)
    order by s.place
    returning p)
  select coalesce(array_agg(m.p), '{}') into started from made m;
  if cardinality(started) > 1 then
    update keyframe_private.idempotency_keys k set answer = to_jsonb(array(select s.id from unnest(started) s))
    where k.resource_id = request_id;
  end if;
  return started;
end $$;

-- What a repeated request has started (start_all), without deleted predictions. Only of a film may all be deleted.
create function keyframe_private.started_before(answer jsonb, request_id uuid, of_film boolean)
returns keyframe.predictions[] language plpgsql stable set search_path = '' as $$
declare
  started constant keyframe.predictions[] := array(
    select p from jsonb_array_elements_text(coalesce(answer, jsonb_build_array(request_id))) with ordinality i (id, number)
    join keyframe.predictions p on p.id = i.id::uuid
    where keyframe_private.is_own(p.owner_id) and p.project_id <> all ((select keyframe_private.deleted_projects())::uuid[])
    order by i.number);
begin
  perform keyframe_private.raise_if(started = '{}' and not of_film, 'not_found',
    'What this request started has been deleted. Send a new Idempotency-Key, or request a new quote.');
  return started;
end $$;

create function keyframe_private.started_json(started keyframe.predictions[])
returns json language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(json_agg(keyframe_private.prediction_json(p)), '[]') from unnest(started) p);
end $$;

-- The answer to a start of one prediction or, with is_list, of several.
create function keyframe_private.start_json(started keyframe.predictions[], is_list boolean, replayed boolean, rate jsonb)
returns json language plpgsql stable set search_path = '' as $$
declare
  predictions constant json := case when is_list then keyframe_private.started_json(started) end;
begin
  return json_build_object(
    'prediction', coalesce(predictions -> 0, keyframe_private.prediction_json(started[1])), 'predictions', predictions,
    'replayed', replayed, 'rate', coalesce(rate, keyframe_private.rate_state('generate')));
end $$;

-- force_generic_plan: otherwise Postgres plans it at each start.
create function keyframe.start_prediction(
  project_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, idempotency_key text default null,
  request_hash text default null, count integer default null)
returns json language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  request record;
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(start_prediction.count not between 1 and 8, 'invalid_request', 'count must be 1 to 8.');
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => false);
  else
    started := keyframe_private.start_all(
      request.resource_id, array_fill(project_id, array[coalesce(start_prediction.count, 1)]), step, input, model);
  end if;
  return keyframe_private.start_json(started, start_prediction.count is not null, request.replayed, request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse(refused, 'generate');
end $$;
comment on function keyframe.start_prediction is 'Starts one run of a step of the caller''s project; with count, several takes of it: all or none.';

-- supabase/schemas/30_predictions/50_transitions.sql

-- One function per transition, guarded in its WHERE. A late or duplicate call changes no row, which is no error. Those of workers have
-- a lock_timeout: ten calls that wait would take every connection of the Data API. The call fails with 55P03 and the worker repeats it.
--
-- All functions of generate lock in this order: the leased work, the prediction, its submits by id, the owner's slots, and then predictions
-- of the owner that wait for a slot. admit_predictions takes the slots before the prediction.
--
-- A call is about the prediction of its leased work. The argument prediction_id is for what counts even if the lease is lost: that a submit
-- created no run, or had no answer. Without the lease all fields of `leased` are null: then statements with its id match no row.

-- queued → starting → processing → storing, as the provider run does; several moves at once if needed (the enum has this order). The
-- provider keeps an output for an hour, so a run that ends late still gets 50 minutes for copying.
create function keyframe_private.follow_run(
  prediction uuid, next_status keyframe.prediction_status, run text, done real, output_url text)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = next_status, provider_prediction_id = run, started_at = coalesce(p.started_at, now()),
      progress = greatest(p.progress, done), provider_output_url = output_url, updated_at = now(),
      deadline_at = case when next_status = 'storing' then greatest(p.deadline_at, now() + interval '50 minutes') else p.deadline_at end
  where p.id = prediction and p.completed_at is null
    and (p.status < next_status or p.status = 'processing' and next_status = 'processing' and done > coalesce(p.progress, 0));
  return found;
end $$;

-- active → failed.
create function keyframe_private.mark_failed(prediction uuid, code text, sentence text, retryable boolean, stage text default null)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'failed', error_code = code, error_message = left(sentence, 1000), error_retryable = retryable,
      error_stage = stage, completed_at = clock_timestamp(), updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;

-- starting, processing → queued (or still queued, when the answer to the create reports a failed run): the provider run failed for a
-- temporary cause, so the prediction is submitted again. started_at and the progress stay: the API shows it as processing. False when it has
-- had max_runs provider runs, each of which may cost money.
create function keyframe_private.mark_queued_again(prediction uuid, reason text, max_runs integer)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  runs constant integer := (
    select count(*) from keyframe_private.provider_submits s
    where s.prediction_id = mark_queued_again.prediction and s.provider_prediction_id is not null);
  again keyframe.predictions;
begin
  update keyframe.predictions p
  set status = 'queued', provider_prediction_id = null, started_at = coalesce(p.started_at, now()), updated_at = now()
  where p.id = prediction and p.status in ('queued', 'starting', 'processing')
    and runs < max_runs
  returning p.* into again;
  if not found then
    return false;
  end if;
  perform keyframe_private.add_next_submit(again, now() + keyframe_private.retry_delay(runs), runs, reason);
  return true;
end $$;

-- active → canceled. A submit in progress notices when it records its answer.
create function keyframe_private.mark_canceled(prediction uuid)
returns boolean language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.predictions p
  set status = 'canceled', completed_at = clock_timestamp(), updated_at = now()
  where p.id = prediction and p.completed_at is null;
  return found;
end $$;

create function keyframe_worker.complete_prediction(
  work_id bigint, lease_token uuid, output_path text, content_type text, bytes bigint, sha256 text, width integer default null,
  height integer default null, duration_seconds double precision default null, has_audio boolean default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  done record;
begin
  update keyframe.predictions p
  set status = 'succeeded', output_path = complete_prediction.output_path, output_content_type = content_type,
      output_bytes = bytes, output_sha256 = sha256, output_width = width, output_height = height,
      output_duration_seconds = complete_prediction.duration_seconds, output_has_audio = has_audio,
      completed_at = clock_timestamp(), progress = 1, updated_at = now()
  where p.id = leased.subject and leased.kind = 'store' and p.status = 'storing'
  returning p.step, p.model, p.started_at into done;
  perform keyframe_private.finish_work(leased, has_output => found);
  if done is null then
    return false;
  end if;
  perform keyframe_private.set_refused(done.step, done.model, null)
  from keyframe.models m where m.step = done.step and m.model = done.model and m.refused_at < done.started_at;
  return true;
end $$;
comment on function keyframe_worker.complete_prediction is 'storing → succeeded, for the holder of the lease. False: too late.';

create function keyframe_worker.fail_prediction(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retryable boolean, stage text default null,
  attempt_without_run integer default null)
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
begin
  perform from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if keyframe_private.is_current(leased) then
    perform keyframe_private.mark_failed(subject, code, message, retryable, fail_prediction.stage);
  end if;
  perform keyframe_private.finish_work(leased);
  return leased.id is not null;
end $$;
comment on function keyframe_worker.fail_prediction is 'active → failed, for the holder of the lease. False: the lease is lost. attempt_without_run: the attempt whose submit the provider refused, or that was not sent.';

-- Waiting for a rate limit of the provider is no failure. An accepted run is paid for: polling and storing are retried until the deadline.
create function keyframe_worker.retry_prediction_later(
  work_id bigint, lease_token uuid, prediction_id uuid, code text, message text, retry_after_seconds double precision default null,
  attempt_without_run integer default null, unanswered_attempt integer default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
  row_now keyframe.predictions;
  counted integer;
  due timestamptz;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if unanswered_attempt is not null then
    perform keyframe_private.search_again(subject, unanswered_attempt);
  end if;
  if not keyframe_private.is_current(leased) then
    perform keyframe_private.reschedule_or_finish(leased);
    return 'too_late';
  end if;
  counted := leased.failures + case when code = 'provider_rate_limited' then 0 else 1 end;
  due := now() + greatest(make_interval(secs => coalesce(retry_after_seconds, 0)), keyframe_private.retry_delay(counted));
  if row_now.status <> 'queued' then
    perform keyframe_private.reschedule(leased, due, counted, code);
    return 'later';
  end if;
  perform keyframe_private.finish_work(leased);
  if counted >= keyframe_private.max_failures() then
    perform keyframe_private.mark_failed(row_now.id, code, message, true);
    return 'failed';
  end if;
  return case when keyframe_private.add_next_submit(row_now, due, counted, code) then 'later' else 'failed' end;
end $$;
comment on function keyframe_worker.retry_prediction_later is 'Retries the current task later (later), fails the prediction when its failures are used up or the next submit does not fit its budget (failed), or finds that the lease is gone (too_late). attempt_without_run: the attempt whose submit the provider refused, or that was not sent. unanswered_attempt: the attempt whose submit got no answer, so that its run is searched for.';

-- The state of a provider run, from a submit, a poll, a cancel or a callback: report_run takes it from the worker, record_run_state writes it
-- to the ledger, and move_prediction decides what becomes of the prediction.

-- As shared/replicate/provider-prediction.ts reads it. failure: input_unreachable, interrupted, content_rejected (at stage), or null.
-- output_files: each file of the output, with its path.
create type keyframe_private.provider_run as (
  id text, status text, output_url text, output_files jsonb, progress real, error_message text, failure text, stage text, metrics jsonb);

-- Whether a state of a run is already recorded, as it is for most callbacks. The prediction need not be locked: a run never moves backwards,
-- so a state that changes nothing now changes nothing later either.
create function keyframe_private.is_state_known(prediction uuid, attempt integer, run keyframe_private.provider_run)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe.predictions p
    where p.id = prediction and p.provider_prediction_id = run.id and is_state_known.attempt between 1 and p.attempt
      and case p.status
        when 'starting' then run.status = 'starting'
        when 'processing' then run.status = 'starting'
          or run.status = 'processing' and coalesce(run.progress <= coalesce(p.progress, 0), true)
        when 'storing' then true -- the run has succeeded
        else false
      end
  );
end $$;

-- The file to store among those that a run returned: the first at `named` (the column `output` of the model) that can be of the step's
-- kind. Without one: the first file of that kind, if all of them are in one field. So a paid run is stored even if its model's row is wrong.
--
--   step         named  files                          result
--   video        null   clip: a.mp4, poster: b.png     a.mp4
--   first-frame  null   images[0]: a.png, [1]: b.png   a.png
--   first-frame  null   image: a.png, mask: b.png      null
--   first-frame  image  image: a.png, mask: b.png      a.png
--   first-frame  null   image: a                       a, because no file has an extension of an image
create function keyframe_private.find_output(prediction keyframe.predictions, named text, files jsonb)
returns text language plpgsql stable set search_path = '' as $$
declare
  right_ending constant text := case prediction.step when 'video' then '\.(mp4|m4v|mov)$' else '\.(png|jpe?g|jfif|webp)$' end;
  -- Stored too, but next to a file with a right ending it is a preview.
  unusual_ending constant text := case prediction.step when 'video' then '\.(webm|mkv|og[vg]|gif)$' else '\.(gif|avif|bmp|ico)$' end;
  named_url text;
  is_named_possible boolean;
  likely_url text;
  is_unambiguous boolean;
begin
  with all_files as (
    select f ->> 'url' as url, regexp_replace(f ->> 'at', '\[\d+\]', '', 'g') as field, place,
      coalesce(f ->> 'at' = named or starts_with(f ->> 'at', named || '[') or starts_with(f ->> 'at', named || '.'), false) as is_named,
      split_part(f ->> 'url', '?', 1) as path
    from jsonb_array_elements(files) with ordinality e (f, place)
  ), with_endings as (
    select a.*, a.path ~* right_ending as is_right,
      a.path ~* right_ending or a.path !~ '\.[A-Za-z0-9]{2,5}$' or a.path ~* unusual_ending as is_possible
    from all_files a
  ), rated as (
    select e.*, e.is_right or e.is_possible and not bool_or(e.is_right) over () as is_likely from with_endings e
  )
  select (array_agg(r.url order by r.is_possible desc, r.place) filter (where r.is_named))[1],
    coalesce(bool_or(r.is_possible) filter (where r.is_named), false),
    (array_agg(r.url order by r.place) filter (where r.is_likely))[1],
    1 in (count(distinct r.field) filter (where r.is_likely), count(distinct r.url) filter (where r.is_likely))
  into named_url, is_named_possible, likely_url, is_unambiguous from rated r;
  if is_named_possible then
    return named_url;
  elsif named is not null then
    raise warning 'The run of prediction % has no file at %, which the row of the model % for % names in output.',
      prediction.id, named, prediction.model, prediction.step;
  end if;
  return coalesce(case when is_unambiguous then likely_url end, named_url);
end $$;

-- Moves an active prediction to the state of its run. False: nothing changes.
create function keyframe_private.move_prediction(prediction keyframe.predictions, run keyframe_private.provider_run)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  output_field text;
  file text;
  is_queued_again boolean;
begin
  if prediction.status = 'storing' then
    return false; -- the output is being copied, whatever the run reports now
  end if;
  case run.status
    when 'starting' then
      -- Queued with started_at, it gets a second run, which the API shows as processing.
      return keyframe_private.follow_run(prediction.id,
        case when prediction.status = 'queued' and prediction.started_at is not null then keyframe.prediction_status 'processing'
          else 'starting' end, run.id, null, null);
    when 'processing' then
      return keyframe_private.follow_run(prediction.id, 'processing', run.id, run.progress, null);
    when 'succeeded' then
      select m.output into output_field from keyframe.models m where m.step = prediction.step and m.model = prediction.model;
      file := coalesce(keyframe_private.find_output(prediction, output_field, run.output_files), run.output_url);
      if file is not null then
        return keyframe_private.follow_run(prediction.id, 'storing', run.id, 1, file);
      elsif run.output_files is not null then
        return keyframe_private.mark_failed(prediction.id, 'output_not_usable', format(
          'The provider''s output has several files: %s. An administrator must name one in the column output of the model %s%s.',
          left((
            select string_agg(f ->> 'at', ', ' order by place) from jsonb_array_elements(run.output_files) with ordinality e (f, place)), 500),
          prediction.model, ', which has ' || output_field), false);
      end if;
      return keyframe_private.mark_failed(prediction.id, 'provider_no_output',
        'The provider finished without an output. Run the step again.', true);
    when 'failed' then
      -- The cause may be temporary. After an interruption there is one more run: each may have been paid for.
      is_queued_again := case run.failure
        when 'input_unreachable' then keyframe_private.mark_queued_again(prediction.id, run.failure, keyframe_private.max_failures())
        when 'interrupted' then keyframe_private.mark_queued_again(prediction.id, 'provider_failed', 2) end;
      if is_queued_again then
        return true;
      elsif run.failure = 'content_rejected' then
        return keyframe_private.mark_failed(prediction.id, 'content_rejected',
          coalesce(nullif(run.error_message, ''),
            'The model''s safety filter rejected the prompt or an image. Try different wording or images.'), false, stage => run.stage);
      elsif run.failure = 'input_unreachable' then
        return keyframe_private.mark_failed(prediction.id, 'input_unreachable',
          'The provider could not read the images of this step. Run the step again.', true);
      end if;
      return keyframe_private.mark_failed(prediction.id, 'provider_failed',
        coalesce(nullif(run.error_message, ''), 'The provider could not generate this. Change the prompt.'), true);
    when 'canceled' then
      return keyframe_private.mark_failed(prediction.id, 'provider_canceled',
        'The run was canceled at the provider. Run the step again.', true);
    when 'aborted' then
      return keyframe_private.mark_failed(prediction.id, 'provider_aborted',
        'The provider dropped the run before it started. Run the step again.', true);
    else
      raise exception 'Unknown provider status: %.', run.status using errcode = 'invalid_parameter_value';
  end case;
end $$;

-- Records a state of a provider run for a prediction, and returns what came of it:
--
--   recorded    the prediction has moved
--   unchanged   the state was known, or is recorded by the next callback or poll
--   ended       the prediction has ended or is deleted; the run is canceled if it goes on
--   stale       the prediction follows another run; this run is canceled if it goes on
--   replaced    the prediction is queued again; it followed this run before
--   unknown     there is no such prediction, or the run belongs to another one
--   unproven    the run may belong to another prediction
--
-- Two arguments are given only for a run from the provider's list:
--
--   found_by             'name' if the input of the run names the prediction, 'text' if only its text is that of the prediction
--   attempt_without_run  the attempt whose submit was not sent, because the run of an earlier submit was found first
create function keyframe_private.record_run_state(
  prediction uuid, attempt integer, run keyframe_private.provider_run, found_by text, attempt_without_run integer)
returns text language plpgsql volatile set search_path = '' as $$
declare
  run_outcome constant text := case when run.status = 'failed' and run.failure = 'content_rejected' then 'rejected'
    when run.status in ('succeeded', 'failed', 'canceled', 'aborted') then run.status end; -- null: it goes on
  row_now keyframe.predictions;
  last_attempt integer;
  has_ended boolean;
  submit keyframe_private.provider_submits;
begin
  if keyframe_private.is_state_known(prediction, attempt, run) then
    return 'unchanged';
  end if;

  -- Lock the prediction, but do not wait in order to record progress: the next callback or poll reports it again.
  if run.status = 'processing' and exists (
    select from keyframe.predictions p
    where p.id = prediction and p.provider_prediction_id = run.id and p.status = 'processing'
  ) then
    perform from keyframe.predictions p where p.id = prediction for update skip locked;
    if not found then
      return 'unchanged';
    end if;
  end if;
  select p.* into row_now from keyframe.predictions p where p.id = prediction for update;
  has_ended := not found or row_now.completed_at is not null;
  if row_now.id is null then -- it is deleted, so its submits are locked instead, as in search_again
    perform from keyframe_private.provider_submits s where s.prediction_id = record_run_state.prediction order by s.id for update;
  end if;
  last_attempt := coalesce(row_now.attempt, (
    -- A deleted prediction is known as long as its submits are kept.
    select max(s.attempt) from keyframe_private.provider_submits s
    where s.prediction_id = record_run_state.prediction and s.submitted_at is not null));
  if last_attempt is null or attempt not between 1 and last_attempt then
    return 'unknown';
  end if;

  -- Find the submit of the run. Its prediction may be another one: the signature of a callback does not cover the URL that names it.
  select s.* into submit from keyframe_private.provider_submits s where s.provider_prediction_id = run.id;
  if submit.prediction_id <> prediction then
    return 'unknown';
  elsif row_now.status = 'queued' and submit.id is not null then
    -- A queued prediction follows no run, so a known run of it has failed or was replaced.
    if run_outcome is not null then
      perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics);
    end if;
    return 'replaced';
  elsif submit.id is null then
    if found_by = 'text' and not keyframe_private.is_only_submit_of_its_text(prediction, attempt) then
      return 'unproven'; -- neither followed nor canceled
    end if;
    submit.id := keyframe_private.attach_run(run.id, prediction, attempt, found_by is not null);
    if submit.id is null then
      return 'unknown'; -- it was recorded for another prediction at the same moment
    end if;
  end if;

  -- Record the state in the ledger.
  perform keyframe_private.end_without_run(prediction, attempt_without_run);
  if run_outcome is not null then
    perform keyframe_private.end_submit(submit.id, run_outcome, run.metrics);
  end if;

  -- Move the prediction, if it follows this run or no run.
  if has_ended or row_now.provider_prediction_id <> run.id then
    perform keyframe_private.add_cancel(s) from keyframe_private.provider_submits s where s.id = submit.id and s.ended_at is null;
    return case when has_ended then 'ended' else 'stale' end;
  end if;
  if run.status = 'processing' and row_now.provider_prediction_id = run.id and attempt_without_run is null then
    perform set_config('synchronous_commit', 'off', true); -- what a crash loses, the next callback or poll repeats
  end if;
  return case when keyframe_private.move_prediction(row_now, run) then 'recorded' else 'unchanged' end;
end $$;

-- A callback has no work_id: its prediction's poll stays scheduled.
create function keyframe_worker.report_run(
  prediction_id uuid, attempt integer, run jsonb, found_by text default null, attempt_without_run integer default null,
  work_id bigint default null, lease_token uuid default null, poll_seconds double precision default null)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased keyframe_private.work;
  outcome text;
begin
  if work_id is not null then
    leased := keyframe_private.lock_leased_work(work_id, lease_token);
  end if;
  outcome := keyframe_private.record_run_state(prediction_id, attempt,
    jsonb_populate_record(null::keyframe_private.provider_run, run), found_by, attempt_without_run);
  -- A run from the provider's list may be another's.
  if leased.id is not null and (found_by is null or outcome in ('recorded', 'unchanged', 'ended', 'stale')) then
    perform keyframe_private.reschedule_or_finish(leased, poll_seconds);
  end if;
  return outcome;
end $$;
comment on function keyframe_worker.report_run is 'Records the state of a provider run, as record_run_state does. work_id: the submit, poll or cancel whose result this is. It is done, or it polls in poll_seconds (null: settings.poll_interval).';

-- `since`: when the provider began to refuse the model as unknown; null when it has the model again. If an administrator has locked the row, it
-- stays as it is.
create function keyframe_private.set_refused(step keyframe.generation_step, model text, since timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  update keyframe.models m set refused_at = since
  where (m.step, m.model) in (
    select l.step, l.model from keyframe.models l where l.step = set_refused.step and l.model = set_refused.model for no key update skip locked);
end $$;

-- From now on the model is unavailable. The prediction moves to the next model that accepts its input, unless the caller named this one.
create function keyframe_worker.record_model_refused(
  work_id bigint, lease_token uuid, prediction_id uuid, message text, attempt_without_run integer)
returns text language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  subject constant uuid := coalesce(leased.subject, prediction_id);
  row_now keyframe.predictions;
  project keyframe.projects;
  gone keyframe.models;
  next_model keyframe.models;
begin
  select p.* into row_now from keyframe.predictions p where p.id = subject for update;
  perform keyframe_private.end_without_run(subject, attempt_without_run);
  if not keyframe_private.is_current(leased) or row_now.status <> 'queued' then
    perform keyframe_private.reschedule_or_finish(leased);
    return 'too_late';
  end if;
  perform keyframe_private.finish_work(leased);
  perform keyframe_private.set_refused(row_now.step, row_now.model, now());
  if row_now.requested_model is distinct from row_now.model then
    select j.* into project from keyframe.projects j where j.id = row_now.project_id;
    select m.* into gone from keyframe.models m where m.step = row_now.step and m.model = row_now.model;
    next_model := keyframe_private.find_successor(gone, row_now.input, project);
  end if;
  if next_model.model is null then
    perform keyframe_private.mark_failed(row_now.id, 'model_unavailable', message, false);
    return 'failed';
  end if;
  update keyframe.predictions p
  set model = next_model.model, requested_model = coalesce(p.requested_model, p.model),
      input = keyframe_private.resolve_input(p.input, project, next_model), updated_at = now()
  where p.id = row_now.id
  returning p.* into row_now;
  return case when keyframe_private.add_next_submit(row_now, now(), 0, 'model_unavailable') then 'moved' else 'failed' end;
end $$;
comment on function keyframe_worker.record_model_refused is 'Records that the provider does not have the model of a submit. Returns moved (to the next model), failed or too_late.';

-- supabase/schemas/30_predictions/55_quotes.sql

-- A quote holds the price of one start, or of a film's missing shots, for one user and OAuth client. It can be started once, within ten
-- minutes: the quote's id is the key of that start.

-- Each quote uses a token of `create`, has at most 64 kB, and is deleted within two minutes of its end unless it was started (prune). So by
-- default an owner has at most 780 unused quotes: 60 at once, and one more each second. A quote that was started is kept for a day, so
-- that a late repetition finds its prediction.
create table keyframe_private.quotes (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null references auth.users on delete cascade,
  client_id text,
  film_id uuid,
  project_ids uuid[] not null,
  with_outdated boolean not null default false,
  step keyframe.generation_step not null,
  requested_input jsonb not null,
  requested_model text,
  requested_count integer,
  digest text not null,
  most_charge_micros bigint not null,
  expires_at timestamptz not null default now() + interval '10 minutes',
  constraint project_ids_are_a_list check (array_ndims(project_ids) = 1)
);
comment on table keyframe_private.quotes is 'Prices that hold for ten minutes, each for one start.';
comment on column keyframe_private.quotes.client_id is 'The OAuth client or key that may start it; null: the owner''s session, or a server.';
comment on column keyframe_private.quotes.film_id is 'The film whose shots it is for; null: one project.';
comment on column keyframe_private.quotes.with_outdated is 'Whether shots whose shown take is outdated count as without it.';
comment on column keyframe_private.quotes.requested_input is 'The input of the request. The start sends it again, with requested_model and requested_count.';
comment on column keyframe_private.quotes.digest is 'The SHA-256 of the models and complete inputs that were priced: of the first take, or of each shot.';
comment on column keyframe_private.quotes.most_charge_micros is 'The price: the most that a start reserves of what its user pays, in micro-dollars. A second run after an interruption reserves its own.';
comment on column keyframe_private.quotes.expires_at is 'Until when it can be started or, once it was, until when a repetition finds its prediction.';
create index quotes_owner_id_idx on keyframe_private.quotes (owner_id);
create index quotes_expires_at_idx on keyframe_private.quotes (expires_at);

-- Identifies the models and inputs of starts, in order. The digest omits which video a shot continues: in a film, that video has no id until
-- it is started.
create function keyframe_private.digest_of(starts keyframe.predictions[])
returns text language plpgsql stable set search_path = '' as $$
begin
  return (select encode(sha256(convert_to(string_agg(s.model || (s.input - 'continuesPredictionId')::text, e'\n' order by s.ordinality), 'UTF8')), 'hex')
    from unnest(starts) with ordinality s);
end $$;

-- Stores a quote for priced starts. The function raises every error that the start itself would raise.
create function keyframe_private.add_quote(
  priced keyframe.predictions[], film uuid, requested_input jsonb, requested_model text, requested_count integer, cost keyframe_private.run_cost,
  with_outdated boolean default false)
returns keyframe_private.quotes language plpgsql volatile set search_path = '' as $$
declare
  client constant text := auth.jwt() ->> 'client_id';
  made keyframe_private.quotes;
begin
  perform keyframe_private.require_spending();
  -- The API's limit of a body. The Data API has none, and `requested_input` is stored as the caller sent it.
  perform keyframe_private.raise_if(octet_length(requested_input::text) > 65536, 'invalid_request', 'input must have at most 64 kB.');
  perform keyframe_private.raise_if(cost.most_micros is null, 'price_unknown',
    'No price is known for this model and input, so there can be no quote. Choose another model, or ask the administrator for its price.');
  perform keyframe_private.require_budget(priced[1].owner_id, cost, now(), client, is_start => false);
  insert into keyframe_private.quotes (
    owner_id, client_id, film_id, project_ids, with_outdated, step, requested_input, requested_model, requested_count, digest, most_charge_micros)
  values (priced[1].owner_id, client, film, array(select p.project_id from unnest(priced) with ordinality p order by p.ordinality),
    add_quote.with_outdated, priced[1].step, add_quote.requested_input, add_quote.requested_model, add_quote.requested_count,
    keyframe_private.digest_of(priced), cost.most_charge_micros)
  returning * into made;
  return made;
end $$;

-- Raises unless the started predictions are those of the quote, and together reserve no more than its price. Of several takes of one step
-- only the first was priced.
create function keyframe_private.require_as_quoted(started keyframe.predictions[], quote keyframe_private.quotes)
returns void language plpgsql stable set search_path = '' as $$
declare
  priced constant keyframe.predictions[] := case when quote.film_id is null then started[1:1] else started end;
  reserved constant numeric := (
    select case when count(*) = count(s.most_charge_micros) then sum(s.most_charge_micros) end
    from keyframe_private.provider_submits s where s.prediction_id = any (array(select t.id from unnest(started) t)));
begin
  perform keyframe_private.raise_if(
    keyframe_private.digest_of(priced) is distinct from quote.digest or (reserved <= quote.most_charge_micros) is not true, 'precondition_failed',
    'What this quote is for has changed since: the price, the model, the prompt, the elements, the frames, or which shots lack the step. Nothing was started. Ask for an estimate with a new quote.');
end $$;

-- The start resolves its input again. If the result is not that of the quote, nothing is started.
create function keyframe.start_quote(quote_id uuid, at_most_micros bigint)
returns json language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  start_key constant text := 'quote:' || quote_id;
  quote keyframe_private.quotes;
  request record;
  shots uuid[] := '{}';
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('generate');
  perform keyframe_private.require_user();
  select q.* into quote from keyframe_private.quotes q
  where q.id = quote_id and q.owner_id = auth.uid() and q.client_id is not distinct from auth.jwt() ->> 'client_id'
    and q.expires_at > now();
  perform keyframe_private.raise_if(not found, 'not_found',
    'You have no quote with this quoteId, or it has expired: a quote holds for ten minutes, for the user and the app that requested it. Request a new estimate.');
  perform keyframe_private.raise_if(quote.most_charge_micros is distinct from at_most_micros, 'invalid_request',
    format('atMostMicros must be the price of this quote, %s. Nothing was started.', quote.most_charge_micros));
  -- The hash refuses a key that a caller sent with another request.
  request := keyframe_private.reserve_idempotency_key(start_key, encode(sha256(start_key::bytea), 'hex'));
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => quote.film_id is not null);
    request.rate := keyframe_private.acquire_more_tokens(request.rate, cardinality(started), keyframe_private.projects_per_token());
  else
    shots := case when quote.film_id is null then array_fill(quote.project_ids[1], array[coalesce(quote.requested_count, 1)])
      else keyframe_private.shots_without(quote.film_id, quote.step, quote.project_ids, quote.with_outdated, for_start => true) end;
    started := keyframe_private.start_all(request.resource_id, shots, quote.step, quote.requested_input, quote.requested_model);
    shots := '{}'; -- they have started: what follows does not refuse one of them
  end if;
  perform keyframe_private.raise_if(started = '{}', 'precondition_failed',
    'No shot of this quote is missing the step any more, or what it started was deleted. Read the film.');
  if not request.replayed then
    perform keyframe_private.require_as_quoted(started, quote);
    -- Its Idempotency-Key is kept longer: without that, a repetition would start another.
    update keyframe_private.quotes q set expires_at = q.expires_at + interval '23 hours' where q.id = quote.id;
  end if;
  return keyframe_private.start_json(
    started, quote.film_id is not null or quote.requested_count is not null, request.replayed, request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse_shots(refused, quote.film_id, shots, quote.step, quote.requested_input, quote.requested_model);
end $$;
comment on function keyframe.start_quote is 'Starts what the caller''s quote is for, at its price. A repetition returns the same prediction.';

-- supabase/schemas/30_predictions/60_api.sql

-- Functions that api calls for predictions that were started.

-- The API shows the columns listed here; the Data API shows owners the whole row. json, not jsonb: copying jsonb took four fifths of the
-- time of a page of projects.
create function keyframe_private.prediction_json(
  prediction keyframe.predictions, shown uuid[] default null, with_elements boolean default true)
returns json language plpgsql stable set search_path = '' as $$
declare
  changed constant json := case when prediction.status = 'succeeded' and prediction.input ? 'elements'
    then keyframe_private.changed_elements(prediction) else '[]' end;
begin
  return json_build_object(
    'id', prediction.id, 'project_id', prediction.project_id, 'step', prediction.step, 'status', prediction.status,
    'model', prediction.model, 'requested_model', nullif(prediction.requested_model, prediction.model),
    'input', case when with_elements then prediction.input else prediction.input - 'elements' end,
    'attempt', prediction.attempt, 'progress', prediction.progress,
    'queue_position', case when prediction.status = 'queued' then keyframe_private.queue_position(prediction) end,
    'waits_for', case when prediction.status = 'queued' then prediction.waits_for end,
    'error_code', prediction.error_code, 'error_message', prediction.error_message, 'error_retryable', prediction.error_retryable,
    'error_stage', prediction.error_stage,
    'output_path', prediction.output_path, 'output_content_type', prediction.output_content_type,
    'output_bytes', prediction.output_bytes, 'output_sha256', prediction.output_sha256, 'output_width', prediction.output_width,
    'output_height', prediction.output_height, 'output_duration_seconds', prediction.output_duration_seconds,
    'output_has_audio', prediction.output_has_audio, 'end_image_path', prediction.end_image_path,
    'cost', keyframe_private.cost_json(prediction.id), 'hidden', prediction.hidden,
    'outdated', json_array_length(changed) > 0 or prediction.status = 'succeeded' and keyframe_private.is_outdated(prediction, shown),
    'changed_elements', changed,
    'created_at', prediction.created_at, 'started_at', prediction.started_at, 'completed_at', prediction.completed_at
  );
end $$;

-- Volatile, because it uses a token: PostgREST runs stable functions read-only.
create function keyframe.read_prediction(
  project_id uuid, step keyframe.generation_step, prediction_id uuid default null, waiting boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when waiting then 'wait' else 'read' end);
  prediction keyframe.predictions;
  refused keyframe_private.refusal;
begin
  select p.* into prediction from keyframe.predictions p
  where p.project_id = read_prediction.project_id and p.step = read_prediction.step and p.id = coalesce(prediction_id, (
    select l.id from keyframe.predictions l where l.project_id = read_prediction.project_id and l.step = read_prediction.step
    order by l.created_at desc, l.id desc limit 1));
  -- Checked after the query: in its WHERE, it would read all predictions of another user's project.
  if prediction.id is null or not keyframe_private.is_own(prediction.owner_id) or exists (
    select from keyframe.projects p where p.id = read_prediction.project_id and p.deleted_at is not null) then
    perform keyframe_private.raise_error('not_found', 'You have no such prediction in this project and step.');
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(prediction),
    'rate', case when waiting then keyframe_private.rate_state('read') else rate end);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_prediction is 'One prediction of the caller; without prediction_id the latest one of the step. Each read of a waiting request uses a token of `wait`.';

create function keyframe_private.own_prediction(project_id uuid, prediction_id uuid)
returns keyframe.predictions language plpgsql volatile set search_path = '' as $$
declare
  prediction keyframe.predictions;
begin
  select p.* into prediction from keyframe.predictions p
  where p.id = prediction_id and p.project_id = own_prediction.project_id and keyframe_private.is_own(p.owner_id)
    and p.project_id <> all (keyframe_private.deleted_projects())
  for update;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no such prediction in this project.');
  return prediction;
end $$;

create function keyframe.cancel_prediction(
  project_id uuid, prediction_id uuid, idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  prediction keyframe.predictions;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  prediction := keyframe_private.own_prediction(project_id, prediction_id);
  perform keyframe_private.raise_if(prediction.status in ('succeeded', 'failed'), 'generation_ended',
    format('This prediction has already %s; there is nothing to cancel.', prediction.status));
  if not request.replayed then
    perform keyframe_private.mark_canceled(prediction.id);
    select p.* into prediction from keyframe.predictions p where p.id = prediction.id;
  end if;
  return json_build_object(
    'prediction', keyframe_private.prediction_json(prediction), 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.cancel_prediction is 'Cancels a prediction of the caller, here at once and at the provider soon after. A repetition is no error.';

-- `changes`: columns and values.
create function keyframe.update_prediction(project_id uuid, prediction_id uuid, changes jsonb)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change');
  changed keyframe.predictions;
  before text;
  refused keyframe_private.refusal;
begin
  changed := keyframe_private.own_prediction(project_id, prediction_id);
  before := changed.end_image_path;
  if changes ->> 'end_image_path' is not null then
    perform keyframe_private.raise_if(changed.step <> 'video' or changed.status <> 'succeeded', 'unsupported_input',
      'Only a video that succeeded has an end image.');
    perform keyframe_private.keep_reference(changes ->> 'end_image_path', changed.owner_id);
  end if;
  update keyframe.predictions p
  set (hidden, end_image_path, updated_at) = (select c.hidden, c.end_image_path, now() from jsonb_populate_record(p, changes) c)
  where p.id = changed.id
  returning p.* into changed;
  if changes ? 'end_image_path' then
    perform keyframe_private.require_may_remove(array_remove(array[before], null));
  end if;
  return json_build_object('prediction', keyframe_private.prediction_json(changed), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_prediction is 'Hides a prediction of the caller from lists or shows it again, and stores the end image of a video.';

-- A start locks the frames that it uses; a later start does not find a deleted one.
create function keyframe.delete_prediction(project_id uuid, prediction_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage');
  prediction keyframe.predictions;
  before json;
  refused keyframe_private.refusal;
begin
  -- The project first, as when a take is selected: two requests never wait for each other.
  perform from keyframe.projects p where p.id = delete_prediction.project_id and keyframe_private.is_own(p.owner_id) for no key update;
  prediction := keyframe_private.own_prediction(project_id, prediction_id);
  perform keyframe_private.raise_if(prediction.completed_at is null, 'generation_in_progress',
    'This generation is still running. Cancel it or wait for its end, then delete it.');
  perform keyframe_private.raise_if(exists (
    select from keyframe_private.prediction_images i
    join keyframe.predictions p on p.id = i.prediction_id
    where i.source_prediction_id = prediction.id and p.completed_at is null
  ), 'generation_in_progress', 'A generation that uses this frame is still running. Cancel it or wait for its end, then delete the frame.');
  perform keyframe_private.raise_if(
    exists (select from keyframe.predictions w where w.waits_for = prediction.id and w.status = 'queued'), 'generation_in_progress',
    'The next shot waits to continue this video. Cancel it or wait for its end, then delete the video.');
  before := keyframe_private.prediction_json(prediction);
  delete from keyframe.predictions p where p.id = prediction.id;
  return json_build_object('prediction', before, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_prediction is 'Deletes a prediction of the caller that has ended; its file is removed soon after. Its events stay.';

-- The latest prediction of each step, and the shown take. Usually both are the same prediction, which is listed once. One query for each
-- project took twice as long for a film of 500 shots. A film's predictions omit their elements: a cast of 20 with its images would be
-- repeated 1,500 times, and be most of the answer.
create function keyframe_private.step_predictions(projects keyframe.projects[], with_elements boolean default true)
returns table (project_id uuid, predictions json) language plpgsql stable set search_path = '' as $$
begin
  return query
    with steps as materialized (
      select o.project, keyframe_private.shown_take(o.project, s.step) as take_id, (
          select p.id from keyframe.predictions p where p.project_id = (o.project).id and p.step = s.step
          order by p.created_at desc, p.id desc limit 1) as latest_id
      from (select u as project from unnest(projects) u) o
      cross join unnest(enum_range(null::keyframe.generation_step)) s (step)
    ), takes as (
      select (s.project).id, array_remove(array_agg(s.take_id), null) as shown from steps s group by 1
    )
    select p.project_id, json_agg(json_build_object(
      'is_latest', p.id = s.latest_id, 'is_take', s.take_id is not distinct from p.id,
      'prediction', keyframe_private.prediction_json(p, t.shown, with_elements)))
    from steps s
    join keyframe.predictions p on p.id = any (array[s.latest_id, s.take_id])
    join takes t on t.id = p.project_id
    group by p.project_id;
end $$;

-- The next page follows (before_created_at, before_id), as for list_projects. `only_takes` leaves out predictions that have not succeeded.
create function keyframe.list_predictions(
  project_id uuid, step keyframe.generation_step default null, max_rows integer default 20,
  before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  only_takes boolean default false, with_hidden boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.predictions[];
  shown constant uuid[] := keyframe_private.shown_takes(project_id);
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_project(project_id);
  -- Walks along an index for each step: few takes among many failed runs are found as quickly.
  page := array(
    select w.listed
    from unnest(case when step is null then enum_range(null::keyframe.generation_step) else array[step] end) s (step)
    cross join lateral (
      (select p as listed, p.created_at, p.id from keyframe.predictions p
       where only_takes and p.project_id = list_predictions.project_id and p.step = s.step and p.status = 'succeeded'
         and (with_hidden or not p.hidden) and (p.created_at, p.id) < (before_created_at, before_id)
       order by p.created_at desc, p.id desc limit least(max_rows, 101))
      union all
      (select p, p.created_at, p.id from keyframe.predictions p
       where not only_takes and p.project_id = list_predictions.project_id and p.step = s.step
         and (with_hidden or not p.hidden) and (p.created_at, p.id) < (before_created_at, before_id)
       order by p.created_at desc, p.id desc limit least(max_rows, 101))) w
    order by w.created_at desc, w.id desc
    limit least(max_rows, 101));
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(page), 25);
  return json_build_object(
    'predictions', (
      select coalesce(json_agg(keyframe_private.prediction_json(p, shown) order by p.created_at desc, p.id desc), '[]')
        from unnest(page) p),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_predictions is 'The predictions of the caller''s project, newest first, at most 101 per page. Costs one token more for each 25.';

-- supabase/schemas/30_predictions/65_estimates.sql

-- What starts would cost.

-- A start as the caller sends it, for an estimate: it is not inserted.
create function keyframe_private.new_start(project_id uuid, step keyframe.generation_step, input jsonb, model text)
returns keyframe.predictions language plpgsql stable set search_path = '' as $$
begin
  return jsonb_populate_record(
    null::keyframe.predictions, jsonb_build_object('project_id', project_id, 'step', step, 'input', input, 'model', model));
end $$;

-- The cost of a resolved start. Raises if one of its uploaded images is missing, as the insert would.
create function keyframe_private.cost_of_start(start keyframe.predictions)
returns keyframe_private.run_cost language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.require_upload(i.path, start.owner_id) from keyframe_private.images_of(start.input) i where i.path is not null;
  return keyframe_private.estimate_cost(start.model, start.input, now());
end $$;

-- What starts of the caller cost together, and whether the budgets and the balance would allow them.
create function keyframe_private.estimate_json(cost keyframe_private.run_cost)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  budgets record;
  balance constant record := keyframe_private.balance_of(auth.uid());
begin
  select min(b.available_micros) filter (where b.scope <> 'service') as available_micros, coalesce(bool_and(coalesce(
      case b.scope when 'service' then cost.most_micros else cost.most_charge_micros end <= b.available_micros, false)), true) as fit
  into budgets from keyframe_private.budgets_of(auth.uid(), now(), auth.jwt() ->> 'client_id') b;
  return jsonb_build_object(
    'estimateMicros', cost.estimate_charge_micros, 'atMostMicros', cost.most_charge_micros, 'currency', 'USD',
    'availableMicros', budgets.available_micros, 'balance', keyframe_private.balance_json(auth.uid()),
    'withinBudget', exists (select from keyframe_private.settings s where not s.spending_stopped) and budgets.fit
      and (balance.available_micros is null or coalesce(cost.most_charge_micros <= balance.available_micros, false)));
end $$;

create function keyframe.estimate_prediction(
  project_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, count integer default null,
  quote boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when quote then 'create' else 'read' end);
  number constant integer := coalesce(estimate_prediction.count, 1);
  start keyframe.predictions;
  cost keyframe_private.run_cost;
  made keyframe_private.quotes;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(number not between 1 and 8, 'invalid_request', 'count must be 1 to 8.');
  start := keyframe_private.resolve_start(keyframe_private.new_start(project_id, step, input, model));
  cost := keyframe_private.sum_of(array_fill(keyframe_private.cost_of_start(start), array[number]));
  if number > 1 then -- the last take has the highest seed
    perform keyframe_private.resolve_start(
      keyframe_private.new_start(project_id, step, keyframe_private.input_of_take(input, number), model));
  end if;
  if quote then
    made := keyframe_private.add_quote(
      array[start], null, estimate_prediction.input, estimate_prediction.model, estimate_prediction.count, cost);
  end if;
  return json_build_object('rate', rate, 'estimate', jsonb_build_object(
    'model', start.model, 'requestedModel', nullif(start.requested_model, start.model),
    'elements', keyframe_private.element_names(start.input), 'quoteId', made.id, 'quotedUntil', keyframe_private.wire_time(made.expires_at))
    || keyframe_private.estimate_json(cost));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.estimate_prediction is 'What a start would cost, with every check of a start. With quote it raises the errors of the start, and holds the price; otherwise it stores nothing.';

-- supabase/schemas/30_predictions/70_films.sql

-- Starts for all shots of a film that are missing a step, and what they would cost.

-- Whether the shown take of a step is outdated, or will be when the previous shot gets another one. Never for a selected take, because a
-- new one would not be shown.
create function keyframe_private.is_replaceable(project keyframe.projects, step keyframe.generation_step, is_previous_replaced boolean)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return keyframe_private.selected_take(project, step) is null
    and exists (
      select from keyframe.predictions t
      where t.id = keyframe_private.shown_take(project, is_replaceable.step)
        and (keyframe_private.is_outdated(t, null) or json_array_length(keyframe_private.changed_elements(t)) > 0
          or is_previous_replaced and t.input -> 'continuesPreviousShot' = 'true'));
end $$;

-- The shots of the caller's film that have no take of a step (with_outdated: no current take) and no running prediction, in order; with
-- project_ids, only these. Skips first frames that no video needs. At most 60: a full bucket of starts by default, and what a request can
-- do in its time. for_start: no other start of this user's films runs until the transaction ends, so a second one finds what this one has
-- started.
create function keyframe_private.shots_without(
  film_id uuid, step keyframe.generation_step, project_ids uuid[], with_outdated boolean, for_start boolean default false)
returns uuid[] language plpgsql volatile set search_path = '' as $$
declare
  film keyframe.films;
  shot keyframe.projects;
  is_included boolean := false;
  shots uuid[] := '{}';
begin
  if for_start then
    perform keyframe_private.acquire_token('generate', 0); -- its bucket is locked before the film; the insert takes a token for each shot
    perform keyframe_private.acquire_lock('films', auth.uid());
  end if;
  film := keyframe_private.own_film(film_id);
  perform from keyframe.films f where f.id = film.id for key share; -- delete_film locks the same shots in another order
  perform keyframe_private.raise_if(not coalesce(project_ids, '{}') <@ keyframe_private.shots_of(film.id), 'not_found',
    'projectIds has a project that is not a shot of this film. Read the film again.');
  for shot in select p.* from keyframe.projects p where p.film_id = film.id order by p.film_position loop
    is_included := (project_ids is null or shot.id = any (project_ids))
      and (keyframe_private.shown_take(shot, step) is null or with_outdated and keyframe_private.is_replaceable(shot, step, is_included))
      and (step <> 'first-frame' or keyframe_private.needs_first_frame(shot))
      and not exists (
        select from keyframe.predictions r where r.project_id = shot.id and r.step = shots_without.step and r.completed_at is null);
    if is_included then
      shots := shots || shot.id;
    end if;
    exit when cardinality(shots) = 60;
  end loop;
  return shots;
end $$;

-- What the start of one shot of a film would cost, or why it is refused. previous_start: the start before it, which it may continue. A start
-- that lacks only the frame on which its video begins is refused, but has a price too.
create function keyframe_private.price_shot(
  inout start keyframe.predictions, previous_start keyframe.predictions,
  out cost keyframe_private.run_cost, out refused keyframe_private.refusal)
language plpgsql volatile set search_path = '' as $$
declare
  project keyframe.projects;
  planned keyframe.predictions;
begin
  project := keyframe_private.lock_project(start.project_id);
  planned := keyframe_private.apply_plan(start, project);
  begin
    start := keyframe_private.complete_start(keyframe_private.resolve_beginning(planned, project, previous_start), project);
  exception when sqlstate 'KEYFR' then
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
    if refused.code <> 'frame_not_ready' then
      raise;
    end if;
    -- As resolve_beginning leaves a start that waits for the end image of a video.
    planned.input := planned.input - 'firstFrameImagePath'::text || '{"firstFramePredictionId": null, "continuesPreviousShot": true}';
    start := keyframe_private.complete_start(planned, project);
  end;
  cost := keyframe_private.cost_of_start(start);
exception when sqlstate 'KEYFR' then
  start := null;
  if refused.code is null then -- otherwise the first refusal stands
    get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail;
  end if;
end $$;

-- The cost of each start or why it is refused, and the starts that are not refused, with the sum of their costs.
create function keyframe_private.estimate_starts(
  projects uuid[], step keyframe.generation_step, input jsonb, model text,
  out estimate jsonb, out starts keyframe.predictions[], out cost keyframe_private.run_cost)
language plpgsql volatile set search_path = '' as $$
declare
  project uuid;
  previous_start keyframe.predictions;
  priced record;
  costs keyframe_private.run_cost[] := '{}';
  shots jsonb := '[]';
begin
  starts := '{}';
  foreach project in array projects loop
    priced := keyframe_private.price_shot(keyframe_private.new_start(project, step, input, model), previous_start);
    if (priced.refused).code is null then
      previous_start := priced.start;
      costs := costs || priced.cost;
      starts := starts || priced.start;
    end if;
    shots := shots || jsonb_build_object('projectId', project, 'model', (priced.start).model,
      'estimateMicros', (priced.cost).estimate_charge_micros, 'atMostMicros', (priced.cost).most_charge_micros,
      'elements', keyframe_private.element_names((priced.start).input),
      'error', case when (priced.refused).code is not null then
        jsonb_build_object('code', (priced.refused).code, 'message', (priced.refused).sentence) end);
  end loop;
  cost := keyframe_private.sum_of(costs);
  estimate := jsonb_build_object('shots', shots) || keyframe_private.estimate_json(cost);
end $$;

-- Returns the refusal of a start (refuse), and names all of `shots` that cannot start: the first of them has ended the insert. Naming the
-- others costs Postgres two milliseconds per shot, and the caller more tokens. Without a film there are only takes of one project; without
-- shots the start was refused before the insert.
create function keyframe_private.refuse_shots(
  refused keyframe_private.refusal, film_id uuid, shots uuid[], step keyframe.generation_step, input jsonb, model text)
returns json language plpgsql volatile set search_path = '' as $$
declare
  refusals record;
begin
  if film_id is null or shots = '{}' or refused.code = 'rate_limited' then
    return keyframe_private.refuse(refused, 'generate');
  end if;
  perform keyframe_private.acquire_token('generate', 1 + cardinality(shots) / keyframe_private.projects_per_token());
  select string_agg(array_position(keyframe_private.shots_of(film_id), s."projectId")::text, ', ') as shots, (array_agg(s.error))[1] as first
  into refusals
  from jsonb_to_recordset((keyframe_private.estimate_starts(shots, step, input, model)).estimate -> 'shots') s ("projectId" uuid, error jsonb)
  where s.error is not null;
  if refusals.shots is not null then
    refused := (refusals.first ->> 'code', format(
      'Nothing was started, because of shot %s. The first of them: %s', refusals.shots, refusals.first ->> 'message'), '');
  end if;
  return keyframe_private.refuse(refused);
end $$;

create function keyframe.start_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null,
  idempotency_key text default null, request_hash text default null, outdated boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  shots uuid[] := '{}';
  started keyframe.predictions[];
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash);
  perform keyframe_private.require_user();
  if request.replayed then
    started := keyframe_private.started_before(request.answer, request.resource_id, of_film => true);
    request.rate := keyframe_private.acquire_more_tokens(request.rate, cardinality(started), keyframe_private.projects_per_token());
  else
    shots := keyframe_private.shots_without(film_id, step, project_ids, outdated, for_start => true);
    started := keyframe_private.start_all(request.resource_id, shots, step, input, model);
  end if;
  return json_build_object('predictions', keyframe_private.started_json(started), 'replayed', request.replayed,
    'rate', coalesce(request.rate, keyframe_private.rate_state('generate')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  perform keyframe_private.note_exhausted(auth.uid(), refused.code, refused.hint);
  return keyframe_private.refuse_shots(refused, film_id, shots, step, input, model);
end $$;
comment on function keyframe.start_film is 'Starts a step for the shots of the caller''s film that are missing it, with `outdated` also where the shown take is outdated: for all or for none.';

create function keyframe.estimate_film(
  film_id uuid, step keyframe.generation_step, input jsonb default '{}', model text default null, project_ids uuid[] default null,
  outdated boolean default false, quote boolean default false)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token(case when quote then 'create' else 'read' end);
  shots uuid[];
  priced record;
  made keyframe_private.quotes;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  shots := keyframe_private.shots_without(film_id, step, project_ids, outdated);
  if cardinality(shots) > 1 then
    rate := keyframe_private.acquire_token('read', cardinality(shots) - 1);
  end if;
  priced := keyframe_private.estimate_starts(shots, step, input, model);
  if quote and cardinality(priced.starts) > 0 then
    made := keyframe_private.add_quote(priced.starts, film_id, input, model, null, priced.cost, outdated);
  end if;
  return json_build_object('rate', rate, 'estimate', priced.estimate || jsonb_build_object(
    'quoteId', made.id, 'quotedUntil', keyframe_private.wire_time(made.expires_at)));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.estimate_film is 'What start_film would cost, with the shots that cannot start. Costs a token for each shot. With quote it holds the price of those that can start; otherwise it stores nothing.';

-- supabase/schemas/30_predictions/80_realtime.sql

-- Realtime, where the platform has it: apps may subscribe to their own predictions (docs/realtime.md). The policies and grants of
-- the table decide what a subscriber gets, as for a select. Deletions go to every subscriber, so the replica identity stays the
-- primary key: they reveal an identifier only.

do $$
begin
  if exists (select from pg_publication p where p.pubname = 'supabase_realtime' and not p.puballtables)
    and not exists (
      select from pg_publication_tables t
      where t.pubname = 'supabase_realtime' and t.schemaname = 'keyframe' and t.tablename = 'predictions')
  then
    alter publication supabase_realtime add table keyframe.predictions;
  end if;
end $$;

-- supabase/schemas/40_work/10_tasks.sql

-- The work of generate: each kind, what adds it (lost work: 20_sweep.sql) and what ends it. (later) means: scheduled again. retry_work does
-- this to any kind.
--
--   kind      subject     added by                  ended by
--   submit    prediction  add_submit_work           report_run (it becomes the run's poll), fail_prediction,
--                                                   retry_prediction_later, record_model_refused; begin_submit, if it is not needed
--   poll      prediction  a submit becomes one      report_run, fail_prediction, retry_prediction_later (later)
--   store     prediction  add_work_of_prediction    complete_prediction, fail_prediction, retry_prediction_later (later)
--   search    prediction  add_search                record_search_ended
--   cancel    prediction  add_cancel                report_run, record_run_not_canceled (later)
--   expire    prediction  sweep                     expire_prediction
--   continue  prediction  add_continue_work,        admit_predictions
--                         admit_or_queue,
--                         continue_or_fail
--   admit     owner       admit_next, if it failed  admit_predictions
--   remove    owner       add_removal_work          begin_removal, if no file is left; record_files_removed (later)
--
-- A claim deletes polls, searches, cancels and removals that are no longer needed (prepare_task), such as the poll of a run that is being
-- stored. It hands out as the task give_up a poll or store whose leases expired too often, and a store that is not needed: expire_prediction
-- ends it.

create function keyframe_private.add_submit_work(
  p keyframe.predictions, due_at timestamptz default clock_timestamp(), failures integer default 0, reason text default null)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'submit', p.id, p.owner_id, p.model, add_submit_work.due_at, (
    select s.id from keyframe_private.provider_submits s
    where s.prediction_id = p.id and s.is_unsent order by s.id limit 1), add_submit_work.failures, reason);
end $$;

-- Adds what an active prediction needs in its status.
create function keyframe_private.add_work_of(p keyframe.predictions)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if p.status = 'queued' then
    perform keyframe_private.add_submit_work(p);
  elsif p.status = 'storing' then
    perform keyframe_private.add_work('copy', 'store', p.id, p.owner_id,
      left(split_part(p.provider_output_url, '/', 3), 255) || ' ' || p.model);
  else
    perform keyframe_private.add_work('ask', 'poll', p.id, p.owner_id, 'poll', submit_id => (
      select s.id from keyframe_private.provider_submits s where s.provider_prediction_id = p.provider_prediction_id));
  end if;
end $$;

-- Work that is no longer needed stays until a worker claims it: nothing here locks or changes existing work.
create function keyframe_private.add_work_of_prediction()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work_of(new);
  return null;
end $$;

-- Whether the prediction still needs this submit, poll or store.
create function keyframe_private.is_current(leased keyframe_private.work)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe.predictions p
    left join keyframe_private.provider_submits s on s.id = leased.submit_id
    where p.id = leased.subject and case leased.kind
      when 'submit' then p.status = 'queued' and s.attempt = p.attempt
      when 'poll' then p.status in ('starting', 'processing') and s.provider_prediction_id = p.provider_prediction_id
      when 'store' then p.status = 'storing'
    end);
end $$;

-- Deletes work that is done, or that is no longer needed. After a store, also the poll of its run, and a partial output is queued for removal.
create function keyframe_private.finish_work(leased keyframe_private.work, has_output boolean default false)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  if leased.kind = 'store' then -- its output is no longer written, and its run no longer polled
    if not has_output then
      perform keyframe_private.add_removals_of_partial_output(leased.subject);
    end if;
    delete from keyframe_private.work w where w.id = any (array(
      select o.id from keyframe_private.work o
      where o.subject = leased.subject and o.kind = 'poll' and o.queue <> 'deliver' and o.state = 'scheduled' for update skip locked));
  end if;
  delete from keyframe_private.work w where w.id = leased.id;
end $$;

-- After work was done, or had nothing to do: a running run is polled later, an unsuccessful cancel is repeated, and other work is finished. A
-- run is polled by the work that submitted it: one row follows a prediction from its submit to the end of its run.
create function keyframe_private.reschedule_or_finish(leased keyframe_private.work, poll_seconds double precision default null)
returns void language plpgsql volatile set search_path = '' as $$
declare
  run_submit bigint;
begin
  if leased.kind in ('submit', 'poll') then
    select s.id into run_submit from keyframe.predictions p
    join keyframe_private.provider_submits s on s.provider_prediction_id = p.provider_prediction_id
    where p.id = leased.subject and p.status in ('starting', 'processing');
    if run_submit is not null and (
      leased.kind = 'poll' and leased.submit_id = run_submit or not keyframe_private.has_work(leased.subject, 'poll', run_submit)) then
      leased.kind := 'poll';
      leased.resource := 'poll';
      leased.submit_id := run_submit;
      perform keyframe_private.reschedule(leased,
        now() + coalesce(make_interval(secs => poll_seconds), keyframe_private.poll_interval()), 0, null);
      return;
    end if;
  elsif leased.kind = 'cancel' and exists (
    select from keyframe_private.provider_submits s where s.id = leased.submit_id and s.ended_at is null) then
    perform keyframe_private.reschedule(leased,
      now() + least(interval '5 minutes', interval '10 seconds' * (leased.failures + 1)), leased.failures + 1, 'not_canceled');
    return;
  end if;
  perform keyframe_private.finish_work(leased);
end $$;

create function keyframe_worker.retry_work(work_id bigint, lease_token uuid, code text)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  due constant timestamptz := now() + keyframe_private.retry_delay(leased.failures + 1);
begin
  if not keyframe_private.is_lock_wait(code) then
    leased.failures := leased.failures + 1;
    leased.last_error := code;
  end if;
  perform keyframe_private.reschedule(leased, due, leased.failures, leased.last_error);
end $$;
comment on function keyframe_worker.retry_work is 'Gives work back that could not be done or recorded: it is retried after growing intervals. A lock timeout does not count as a failure.';

-- If the lease of a submit expires, the submit may have created a run. So it stays unanswered, and the next submit is added. Before that one
-- is sent, the worker searches for the run of the first (search_attempt).
create function keyframe_worker.begin_submit(work_id bigint, lease_token uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  row_now keyframe.predictions;
  submit keyframe_private.provider_submits;
  settings jsonb;
  has_images boolean;
begin
  select p.* into row_now from keyframe.predictions p where p.id = leased.subject for update;
  if row_now.status is distinct from 'queued' then
    perform keyframe_private.reschedule_or_finish(leased);
    return null;
  elsif leased.last_error = 'lease_expired' and leased.failures >= keyframe_private.max_failures() or row_now.attempt >= 1000000 then
    perform keyframe_private.mark_failed(row_now.id, 'attempts_exhausted', 'It failed too often. Run the step again.', true);
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  select s.* into submit from keyframe_private.provider_submits s where s.id = leased.submit_id and s.is_unsent for update;
  if not found then
    -- The submit of this work is over. Another one is added, unless one waits already or a later one was begun, which may be in progress.
    if not exists (
      select from keyframe_private.provider_submits s
      where s.prediction_id = row_now.id
        and (s.is_unsent or s.id = leased.submit_id and s.attempt < row_now.attempt)) then
      perform keyframe_private.add_next_submit(row_now, now(), leased.failures, leased.last_error);
    end if;
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  select jsonb_build_object('controls', m.controls, 'fixed', m.fixed) into settings
  from keyframe.models m where m.step = row_now.step and m.model = row_now.model;
  if settings is null then
    perform keyframe_private.mark_failed(row_now.id, 'model_unavailable',
      'The model was removed while this generation started. Run the step again.', true);
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  has_images := keyframe_private.has_images(row_now.input);
  update keyframe.predictions p set attempt = submit.attempt, updated_at = clock_timestamp() where p.id = row_now.id;
  update keyframe_private.provider_submits s
  set submitted_at = clock_timestamp(), text_hash = case when not has_images then hashtextextended(row_now.input ->> 'prompt', 0) end
  where s.id = submit.id;
  return jsonb_build_object(
    'id', row_now.id, 'attempt', submit.attempt, 'step', row_now.step, 'model', row_now.model, 'input', row_now.input,
    'deadline_at', row_now.deadline_at, 'has_images', has_images, 'model_settings', settings,
    'images', case when has_images then keyframe_private.images_json(row_now.id) else '[]' end)
    -- The provider may have accepted an earlier submit, whose run is searched for before this one is sent.
    || coalesce((
      select jsonb_build_object('search_attempt', s.attempt, 'search_since', s.submitted_at) from keyframe_private.provider_submits s
      where s.prediction_id = row_now.id and s.is_unanswered and s.id <> submit.id order by s.attempt limit 1),
      '{"search_attempt": null, "search_since": null}');
end $$;
comment on function keyframe_worker.begin_submit is 'Records a submit before it is sent, and returns what is sent. Null: there is nothing to submit, or no longer.';

create function keyframe_worker.expire_prediction(work_id bigint, lease_token uuid)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  row_now keyframe.predictions;
begin
  select p.* into row_now from keyframe.predictions p where p.id = leased.subject and p.completed_at is null for update;
  if row_now.deadline_at <= now() then
    perform keyframe_private.mark_failed(row_now.id, 'deadline_exceeded', 'It took longer than this step may take. Run the step again.', true);
  elsif leased.kind <> 'expire' and keyframe_private.is_current(leased) then -- give_up, because its leases expired
    perform keyframe_private.mark_failed(row_now.id, 'attempts_exhausted', 'It failed too often. Run the step again.', true);
  end if;
  perform keyframe_private.finish_work(leased);
end $$;
comment on function keyframe_worker.expire_prediction is 'Fails a prediction that is past its deadline, or whose leases expired too often. Finishes a store that is no longer needed.';

create function keyframe_worker.admit_predictions(work_id bigint, lease_token uuid)
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  if leased.id is not null then
    perform keyframe_private.acquire_lock('slots', leased.owner_id); -- before the lock of the images, as a start does
    perform keyframe_private.continue_or_fail(w::keyframe.predictions) from (
      select o.* from keyframe.predictions o
      where leased.kind = 'continue' and o.id = leased.subject and o.waits_for is not null and o.status = 'queued' for update) w;
    perform keyframe_private.admit_in_line(leased.owner_id);
    perform keyframe_private.finish_work(leased);
  end if;
end $$;
comment on function keyframe_worker.admit_predictions is 'Gives a prediction the end image of the previous shot (continue), and gives the free slots of an owner to the predictions first in line.';

-- Returns leased work as a task of generate. If there is nothing to do, it returns null, and deletes the work or, if a callback came shortly
-- before, schedules the poll again. Reads predictions without a lock.
create function keyframe_private.prepare_task(leased keyframe_private.work, poll_after interval, at timestamptz)
returns jsonb language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
declare
  task text := leased.kind;
  details jsonb := '{}';
  updated timestamptz;
begin
  if leased.kind in ('poll', 'store') then
    select jsonb_build_object('project_id', p.project_id, 'attempt', p.attempt, 'step', p.step,
      'provider_prediction_id', p.provider_prediction_id, 'provider_output_url', p.provider_output_url, 'last_error', leased.last_error),
      p.updated_at
    into details, updated from keyframe.predictions p where p.id = leased.subject and keyframe_private.is_current(leased);
    if details is null and leased.kind = 'store' then
      task := 'give_up'; -- which also queues the partial output for removal
      details := '{}';
    elsif leased.last_error = 'lease_expired' and leased.failures >= keyframe_private.max_failures() then
      task := 'give_up';
    elsif leased.kind = 'poll' and leased.failures = 0 and updated between at - poll_after and at then -- a later time is of a clock that was set back
      perform keyframe_private.reschedule(leased, updated + poll_after, 0, null);
      return null;
    end if;
  elsif leased.kind = 'cancel' then
    select jsonb_build_object('attempt', s.attempt, 'provider_prediction_id', s.provider_prediction_id)
    into details from keyframe_private.provider_submits s where s.id = leased.submit_id and s.ended_at is null;
  elsif leased.kind = 'search' then
    select s.search_task || jsonb_build_object(
      'step', s.step, 'model', s.model, 'attempt', s.attempt, 'search_attempt', s.attempt, 'search_since', s.submitted_at)
    into details from keyframe_private.provider_submits s where s.id = leased.submit_id and s.search_task is not null;
  elsif leased.kind = 'remove' and not exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then
    details := null;
  end if;
  if details is null then
    perform keyframe_private.finish_work(leased);
    return null;
  end if;
  return jsonb_build_object('task', task, 'id', leased.subject, 'work_id', leased.id, 'lease_token', leased.lease_token,
    'owner_id', leased.owner_id) || details;
end $$;

create function keyframe_worker.claim_tasks(
  worker_id uuid, max_rows integer, heartbeat_ms integer default 0, wait_ms integer default 0, report jsonb default '{}',
  cursors jsonb default '{}', poll_seconds double precision default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  queues constant keyframe_private.work_queue[] := '{copy,ask}';
  may_be_due constant boolean := keyframe_private.wait_for_due('generate', queues, wait_ms);
  poll_after constant interval := coalesce(make_interval(secs => poll_seconds), keyframe_private.poll_interval());
  at timestamptz;
  queue keyframe_private.work_queue;
  claimed record;
  leased keyframe_private.work;
  tasks jsonb := '[]';
  is_more boolean := false;
begin
  -- Not now(), because work became due during the wait. A lease that a crash loses is leased again.
  at := clock_timestamp();
  perform set_config('synchronous_commit', 'off', true);
  perform keyframe_private.record_heartbeat('generate', heartbeat_ms, report);
  if max_rows > 0 and may_be_due then
    foreach queue in array queues loop
      select l.* into claimed from keyframe_private.lease_work(queue, worker_id, max_rows, at, cursors) l;
      cursors := claimed.cursors;
      is_more := is_more or claimed.is_cut or cardinality(claimed.leased) > 0;
      foreach leased in array claimed.leased loop
        tasks := tasks || coalesce(keyframe_private.prepare_task(leased, poll_after, at), '[]');
      end loop;
    end loop;
  end if;
  if heartbeat_ms <= 0 and keyframe_private.has_due_work(queues, at) then
    perform keyframe_private.kick_unless_running('generate'); -- a worker that stops leaves due work to the next one
  end if;
  return jsonb_build_object('tasks', tasks, 'cursors', cursors, 'more', is_more);
end $$;
comment on function keyframe_worker.claim_tasks is 'Leases due tasks: { tasks: [{ task, id, work_id, lease_token, owner_id, … }], cursors, more }. cursors: those of the last claim, so that lanes take turns. max_rows 0: a heartbeat only.';

-- supabase/schemas/40_work/20_sweep.sql

-- The sweep adds work that has become due or was lost. It only inserts: the worker does the work, one call for each, so that a row that
-- raises or is locked blocks no other.

-- Owners with a prediction in line, from an id downwards: one probe of the index for each. Descending, because recent admissions leave dead
-- entries at the start of each owner's range.
create function keyframe_private.owners_in_line(start uuid, max_owners integer)
returns setof uuid language plpgsql stable set search_path = '' as $$
declare
  owner uuid := start;
  before timestamptz := 'infinity'; -- so that `start` itself is included
begin
  for walked in 1 .. max_owners loop
    select w.owner_id into owner from keyframe.predictions w
    where w.status = 'queued' and w.admitted_at is null and w.waits_for is null and (w.owner_id, w.created_at) < (owner, before)
    order by w.owner_id desc, w.created_at desc
    limit 1;
    exit when not found;
    return next owner;
    before := '-infinity';
  end loop;
end $$;

-- Adds work for owners whose predictions wait although a slot is free: max_active_per_owner was raised, a running prediction was deleted,
-- or the next in line was locked by a cancellation that failed. From a random id downwards, then from the top: otherwise owners without a
-- free slot would block all after them.
create function keyframe_private.add_admissions(max_owners integer)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if (select s.spending_stopped from keyframe_private.settings s) is not false then
    return;
  end if;
  perform keyframe_private.add_work('ask', 'admit', a.owner, a.owner, 'admit')
  from (
    select w.owner
    from (
      select keyframe_private.owners_in_line(gen_random_uuid(), max_owners)
      union
      select keyframe_private.owners_in_line('ffffffff-ffff-ffff-ffff-ffffffffffff', max_owners)) w (owner)
    where keyframe_private.free_slots(w.owner) > 0 and not keyframe_private.has_work(w.owner, 'admit')
    limit max_owners) a;
end $$;

-- Adds work for predictions whose awaited video is gone or has ended, or that have waited too long: an end adds this work, but a deletion
-- does not, and work can be lost.
create function keyframe_private.add_lost_continue_work(start uuid, max_rows integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  perform keyframe_private.add_work('ask', 'continue', w.id, w.owner_id, 'continue')
  from (
    select o.id, o.owner_id, o.waits_for, o.created_at from keyframe.predictions o
    where o.waits_for >= start and o.status = 'queued' order by o.waits_for limit max_rows) w
  where (w.created_at < now() - interval '1 day' or not exists (
      select from keyframe.predictions v where v.id = w.waits_for
        and (v.completed_at is null or v.status = 'succeeded' and keyframe_private.end_image_of(v) is null)))
    and not keyframe_private.has_work(w.id, 'continue');
end $$;

-- The tasks of predictions, which are lost in a restore without the queue, or if a trigger was switched off.
create function keyframe_private.add_lost_work_of_predictions(max_rows integer)
returns void language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
begin
  perform keyframe_private.add_work_of(p::keyframe.predictions)
  from (
    select o.* from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null and o.updated_at < now() - interval '1 minute' and not exists (
      select from keyframe_private.work w
      where w.subject = o.id and w.kind = any ('{submit,poll,store,expire}') and w.queue <> 'deliver')
    limit max_rows) p;
end $$;

-- Adds the other work that a restore without the queue loses. Reads all pending deliveries, the submits of a day and all files to remove:
-- call it rarely.
create function keyframe_private.add_other_lost_work()
returns void language plpgsql volatile security definer set search_path = '' set jit = off set enable_nestloop = off as $$
begin
  perform keyframe_private.add_endpoint_work(e, 'resume', '00000000-0000-0000-0000-000000000000')
  from keyframe.webhook_endpoints e
  where e.enabled and exists (
    select from keyframe.webhook_deliveries d
    where d.endpoint_id = e.id and d.status = 'pending' and d.created_at < now() - interval '10 minutes'
      and not exists (select from keyframe_private.work w where w.queue = 'deliver' and w.subject = d.id));
  perform keyframe_private.add_work('ask', 'search', s.prediction_id, s.owner_id, 'search', submit_id => s.id)
  from keyframe_private.provider_submits s
  where s.search_task is not null and not keyframe_private.has_work(s.prediction_id, 'search', s.id);
  perform keyframe_private.add_cancel(s) from keyframe_private.provider_submits s
  where s.provider_prediction_id is not null and s.ended_at is null and s.created_at > now() - interval '1 day' and not exists (
    select from keyframe.predictions p where p.provider_prediction_id = s.provider_prediction_id and p.completed_at is null);
  perform keyframe_private.add_work('ask', 'remove', r.owner_id, r.owner_id, 'remove')
  from (select distinct f.owner_id from keyframe_private.file_removals f) r
  where not keyframe_private.has_work(r.owner_id, 'remove');
end $$;

create function keyframe_private.sweep(max_rows integer default 500)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'expire', p.id, p.owner_id, 'expire')
  from (
    select o.id, o.owner_id from keyframe.predictions o
    where o.admitted_at is not null and o.completed_at is null and o.deadline_at <= now()
      and not keyframe_private.has_work(o.id, 'expire')
    order by o.deadline_at limit max_rows) p;
  perform keyframe_private.add_admissions(max_rows);
  perform keyframe_private.add_lost_continue_work('00000000-0000-0000-0000-000000000000', max_rows);
  perform keyframe_private.add_lost_continue_work(gen_random_uuid(), max_rows);
  perform keyframe_private.add_lost_work_of_predictions(max_rows);
  if keyframe_private.has_due_work('{ask,copy}', now()) then
    perform keyframe_private.kick_unless_running('generate');
  end if;
  if keyframe_private.has_due_work('{deliver}', now()) then
    perform keyframe_private.kick_unless_running('deliver');
  end if;
end $$;

-- supabase/schemas/50_costs/10_run_costs.sql

-- The life of a cost.
--
-- 1. Estimated. A start looks up the prices of its input (estimate_cost): what it should cost, and the most that it can cost. Nothing is
--    stored.
-- 2. Held. add_submits refuses the start if the most does not fit the budgets and the balance. Otherwise it inserts the submit
--    (provider_submits), with its prices and its markup. Until it ends, the most counts.
-- 3. Ended (settle_ended): settled at the provider's figures, released because it is not billed, or unknown. An unknown cost counts with the
--    most until an administrator settles it. A success without figures stays held until its prediction ends, because the file may supply
--    them (settle_by_file).
-- 4. Given back, if an administrator fails the prediction (give_back_run): its owner pays nothing, and the provider's bill stays.
--
-- Steps 2 to 4 add rows to cost_changes (add_cost_change), which the job merge_costs adds to cost_sums (20_sums.sql). Budgets, balances and usage
-- read both. A cost (micros) is what the provider bills, a charge (charge_micros) what the owner pays: the cost times the markup. Both are
-- in millionths of a US dollar. Days and months are those of UTC.

-- The megapixels of an input's images, each rounded up as providers do (1 MP is 1024 × 1024 pixels). Null when the size of one, or the end
-- of the previous shot, is unknown.
create function keyframe_private.input_megapixels(input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  if input ? 'continuesPreviousShot' and coalesce(input ->> 'firstFramePredictionId', input ->> 'firstFrameImagePath') is null then
    return null;
  end if;
  return (
    select case when count(*) = count(s.pixels) then coalesce(sum(ceil(s.pixels / 1048576)), 0) end
    from keyframe_private.images_of(input) i
    left join keyframe.predictions p on p.id = i.source_prediction_id
    cross join lateral keyframe_private.upload_size(i.path) u
    cross join lateral (select coalesce(u.width::numeric * u.height, p.output_width::numeric * p.output_height)) s (pixels));
end $$;

-- How many units of a metric a run has at most; null: unknown. A run makes one file.
create function keyframe_private.most_quantity(metric text, input jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then 1
    when 'output_second' then keyframe_private.read_figure(input, 'durationSeconds')
    when 'input_megapixel' then keyframe_private.input_megapixels(input)
    when 'output_megapixel' then ceil(substring(input ->> 'resolution' from '^(\d{1,3}(\.\d{1,3})?) MP$')::numeric)
  end; -- hardware_second: only the run shows it
end $$;

-- How many units of a metric an ended run had: by the provider's metrics, otherwise by its file; null when neither says it.
create function keyframe_private.settled_quantity(metric text, metrics jsonb, output jsonb)
returns numeric language plpgsql stable set search_path = '' as $$
begin
  return case metric
    when 'run' then 1
    when 'image' then coalesce(keyframe_private.read_figure(metrics, 'image_output_count'), 1)
    when 'output_second' then coalesce(
      keyframe_private.read_figure(metrics, 'video_output_duration_seconds'), keyframe_private.read_figure(output, 'durationSeconds'))
    when 'input_megapixel' then keyframe_private.read_figure(metrics, 'image_input_megapixel_count')
    when 'output_megapixel' then coalesce(
      keyframe_private.read_figure(metrics, 'image_output_megapixel_count'),
      ceil(keyframe_private.read_figure(output, 'width') * keyframe_private.read_figure(output, 'height') / 1048576))
    when 'hardware_second' then keyframe_private.read_figure(metrics, 'predict_time')
  end;
end $$;

-- What a run with a complete input costs. A model has prices for one or more metrics, such as the run or a second of output. Each metric adds
-- one price: the one that matches the input with the most values and, among its versions, the newest. A price of 0 needs no quantity. If a
-- price or a quantity is unknown, there is no estimate, and the most that the run can cost is the ceiling of the model. An estimate is at
-- most a million dollars, so that a mistyped price causes no error.
create function keyframe_private.estimate_cost(model text, input jsonb, at timestamptz)
returns keyframe_private.run_cost language plpgsql stable set search_path = '' as $$
#variable_conflict use_column
declare
  cost keyframe_private.run_cost;
begin
  select
    case when bool_and(p.matches) then array_agg(p.id order by p.id) end,
    case when bool_and(a.amount is not null) then least(ceil(sum(a.amount) * 1000000), 1000000000000) end
  into cost.price_ids, cost.estimate_micros
  from (
    select distinct on (o.metric) o.*, o.applies_to <@ estimate_cost.input as matches
    from keyframe_private.model_prices o
    where o.model = estimate_cost.model and o.valid_from <= estimate_cost.at
    order by o.metric, matches desc, (select count(*) from jsonb_object_keys(o.applies_to)) desc, o.valid_from desc
  ) p
  cross join lateral (
    select case when not p.matches then null when p.price_usd = 0 then 0
      else p.price_usd * keyframe_private.most_quantity(p.metric, estimate_cost.input) end) a (amount);
  cost.most_micros := coalesce(cost.estimate_micros,
    (select max(m.cost_ceiling_micros) from keyframe.models m where m.model = estimate_cost.model));
  cost.markup := keyframe_private.markup_of(estimate_cost.model);
  cost.estimate_charge_micros := ceil(cost.estimate_micros * cost.markup);
  cost.most_charge_micros := ceil(cost.most_micros * cost.markup);
  return cost;
end $$;

-- What several runs cost together; null where one is unknown.
create function keyframe_private.sum_of(costs keyframe_private.run_cost[])
returns keyframe_private.run_cost language plpgsql immutable set search_path = '' as $$
declare
  total keyframe_private.run_cost;
begin
  select case when count(*) = count(c.estimate_micros) then coalesce(sum(c.estimate_micros), 0) end,
    case when count(*) = count(c.most_micros) then coalesce(sum(c.most_micros), 0) end,
    case when count(*) = count(c.estimate_micros) then coalesce(sum(c.estimate_charge_micros), 0) end,
    case when count(*) = count(c.most_micros) then coalesce(sum(c.most_charge_micros), 0) end
  into total.estimate_micros, total.most_micros, total.estimate_charge_micros, total.most_charge_micros
  from unnest(costs) c;
  return total;
end $$;

-- What an ended run costs by the prices of its start, in micro-dollars rounded up; null when it is unknown. Without a generic plan it is
-- planned at each end.
create function keyframe_private.settled_cost(price_ids bigint[], metrics jsonb, output jsonb)
returns bigint language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
begin
  return (
    select case when count(p.amount) = nullif(cardinality(price_ids), 0) then least(ceil(sum(p.amount) * 1000000), 1000000000000) end
    from (
      select case when o.price_usd = 0 then 0 else o.price_usd * keyframe_private.settled_quantity(o.metric, metrics, output) end
      from keyframe_private.model_prices o
      where o.id = any (price_ids)
    ) p (amount));
end $$;

create function keyframe_private.settle_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  billed text;
  cost bigint;
begin
  billed := case
    when new.outcome in ('no_run', 'aborted') then 'no'
    when new.outcome = 'succeeded' then 'yes'
    when new.outcome = 'lost' then 'unknown'
    when new.outcome is not null then (
      select m.billed_when ->> new.outcome from keyframe.models m
      -- The model may have been renamed, and the prediction with it.
      where m.step = new.step and m.model in (new.model, (select p.model from keyframe.predictions p where p.id = new.prediction_id))
      order by m.model <> new.model limit 1)
  end;
  cost := case when billed in ('yes', 'unknown') then keyframe_private.settled_cost(new.price_ids, new.metrics, null) end;
  new.cost_micros := case when billed = 'yes' or cost = 0 then cost end; -- if nobody knows whether it is billed, only a cost of 0 is certain
  new.cost_state := case
    when new.outcome is null then 'held' -- the run of a lost submit was found
    when billed = 'no' then 'released'
    when new.cost_micros is not null then 'settled'
    when new.outcome = 'succeeded' and exists (
      select from keyframe.predictions p where p.id = new.prediction_id and p.completed_at is null) then 'held'
    else 'unknown'
  end;
  return new;
end $$;

-- Called when a prediction ends or is deleted. By its file, a run never costs more than was held, because a file may state any length.
create function keyframe_private.settle_by_file()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  file constant jsonb := case when tg_op = 'UPDATE' then jsonb_build_object(
    'durationSeconds', new.output_duration_seconds, 'width', new.output_width, 'height', new.output_height) end;
begin
  update keyframe_private.provider_submits s
  set (cost_micros, cost_state) = (
    select case when c.micros is not null then least(c.micros, s.most_micros) end, case when c.micros is null then 'unknown' else 'settled' end
    from keyframe_private.settled_cost(s.price_ids, s.metrics, file) c (micros))
  where s.prediction_id = old.id and s.outcome = 'succeeded' and s.cost_state = 'held';
  return null;
end $$;

create function keyframe_private.give_back_run()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  update keyframe_private.provider_submits s set markup = 0 where s.prediction_id = new.id;
  return null;
end $$;

-- Called for each change of a submit by a worker or an administrator: subtracts what it cost before.
create function keyframe_private.add_cost_change()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.cost_changes (
    owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits,
    held_charge_micros, settled_charge_micros, unknown_charge_micros)
  select s.owner_id, (s.created_at at time zone 'UTC')::date, s.step, s.model, s.project_id,
    sum(c.sign * s.is_first::integer),
    coalesce(sum(c.sign * s.most_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(c.sign * s.cost_micros), 0),
    coalesce(sum(c.sign * s.most_micros) filter (where s.cost_state = 'unknown'), 0),
    coalesce(sum(c.sign) filter (where s.cost_state = 'unknown'), 0),
    coalesce(sum(c.sign * s.most_charge_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(c.sign * s.charge_micros), 0),
    coalesce(sum(c.sign * s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0)
  from unnest(array[old, new]::keyframe_private.provider_submits[]) with ordinality s
  cross join lateral (select case s.ordinality when 1 then -1 else 1 end) c (sign)
  where s.id is not null -- there is no old row of an insert, and no new one of a deletion
  group by 1, 2, 3, 4, 5;
  return null;
end $$;

-- The cost of all submits of a prediction, as in the API. A run that was given back counts as released. atMostMicros: null when unknown.
create function keyframe_private.cost_json(prediction uuid)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object(
      'amountMicros', case when bool_and(c.state in ('settled', 'released')) then keyframe_private.exact_sum(sum(s.charge_micros)) end,
      'atMostMicros', case when bool_and(c.state in ('settled', 'released') or s.most_micros is not null)
        then keyframe_private.exact_sum(sum(case c.state when 'settled' then s.charge_micros when 'released' then 0
          else s.most_charge_micros end)) end,
      'currency', 'USD',
      'state', case when bool_or(c.state = 'held') then 'held' when bool_or(c.state = 'unknown') then 'unknown'
        when bool_or(c.state = 'settled') then 'settled' else 'released' end)
    from keyframe_private.provider_submits s
    cross join lateral (select case when s.markup = 0 then 'released' else s.cost_state end) c (state)
    where s.prediction_id = cost_json.prediction
    having count(*) > 0);
end $$;

-- supabase/schemas/50_costs/20_sums.sql

-- The sums of costs, which budgets, balances and usage read.

-- What has changed since the last merge. Only inserts, so that no transaction waits for a sum.
create table keyframe_private.cost_changes (
  id bigint generated always as identity primary key,
  owner_id uuid,
  day date,
  step keyframe.generation_step,
  model text,
  project_id uuid,
  predictions integer not null default 0,
  held_micros bigint not null default 0,
  settled_micros bigint not null default 0,
  unknown_micros bigint not null default 0,
  unknown_submits integer not null default 0,
  held_charge_micros bigint not null default 0,
  settled_charge_micros bigint not null default 0,
  unknown_charge_micros bigint not null default 0
);
comment on table keyframe_private.cost_changes is 'What each change of a submit adds to its costs (negative: subtracts), until merge_costs has added it to cost_sums.';
comment on column keyframe_private.cost_changes.day is 'The day on which the submit was added, in UTC.';
comment on column keyframe_private.cost_changes.predictions is 'How many of the submits were the first of a prediction.';
comment on column keyframe_private.cost_changes.held_micros is 'The most that the provider can bill for submits that have not ended.';
comment on column keyframe_private.cost_changes.settled_micros is 'What the provider bills for ended submits.';
comment on column keyframe_private.cost_changes.unknown_micros is 'The most that the provider can bill for submits whose cost is unknown.';
create index cost_changes_owner_id_idx on keyframe_private.cost_changes (owner_id, id);

create type keyframe_private.cost_sum_kind as enum ('owner_day', 'service_day', 'project_day', 'owner_total');
comment on type keyframe_private.cost_sum_kind is 'owner_day: by owner, day, step and model. service_day: of all owners, by day, step and model. project_day: by owner, day and project. owner_total: by owner, of all days, for balances. The other columns are null in cost_sums; in cost_changes every row has all of them.';

create table keyframe_private.cost_sums (
  kind keyframe_private.cost_sum_kind not null,
  like keyframe_private.cost_changes including identity including defaults including comments,
  primary key (id),
  constraint one_row_for_each_sum unique nulls not distinct (owner_id, kind, day, step, model, project_id)
);
comment on table keyframe_private.cost_sums is 'The sums of cost_changes. Those of a day are kept for 13 months, owner_total for good.';
create index cost_sums_day_idx on keyframe_private.cost_sums (day);
create index cost_sums_service_day_idx on keyframe_private.cost_sums (day) where kind = 'service_day';

create view keyframe_private.costs with (security_invoker = true) as
table keyframe_private.cost_sums
union all
select k.kind, c.* from unnest(enum_range(null::keyframe_private.cost_sum_kind)) k (kind) cross join keyframe_private.cost_changes c;
comment on view keyframe_private.costs is 'What all submits cost, merged or not. Add up the rows of one kind: a sum can have any number of rows, and each kind has all costs.';

-- Deletes these changes, and adds each to its four sums, one of each kind.
create function keyframe_private.merge_cost_changes(rows tid[])
returns void language plpgsql volatile set search_path = '' as $$
begin
  with merged as (
    delete from keyframe_private.cost_changes c where c.ctid = any (rows) returning c.*
  )
  insert into keyframe_private.cost_sums as s (
    kind, owner_id, day, step, model, project_id, predictions, held_micros, settled_micros, unknown_micros, unknown_submits,
    held_charge_micros, settled_charge_micros, unknown_charge_micros)
  select k.*, sum(m.predictions), sum(m.held_micros), sum(m.settled_micros), sum(m.unknown_micros), sum(m.unknown_submits),
    sum(m.held_charge_micros), sum(m.settled_charge_micros), sum(m.unknown_charge_micros)
  from merged m
  cross join lateral (values
    ('owner_day'::keyframe_private.cost_sum_kind, m.owner_id, m.day, m.step, m.model, null::uuid),
    ('service_day', null, m.day, m.step, m.model, null),
    ('project_day', m.owner_id, m.day, null, null, m.project_id),
    ('owner_total', m.owner_id, null, null, null, null)) k (kind, owner_id, day, step, model, project_id)
  group by 1, 2, 3, 4, 5, 6
  on conflict on constraint one_row_for_each_sum do update
  set predictions = s.predictions + excluded.predictions, unknown_submits = s.unknown_submits + excluded.unknown_submits,
      held_micros = s.held_micros + excluded.held_micros, held_charge_micros = s.held_charge_micros + excluded.held_charge_micros,
      settled_micros = s.settled_micros + excluded.settled_micros,
      settled_charge_micros = s.settled_charge_micros + excluded.settled_charge_micros,
      unknown_micros = s.unknown_micros + excluded.unknown_micros,
      unknown_charge_micros = s.unknown_charge_micros + excluded.unknown_charge_micros;
end $$;

create function keyframe_private.merge_costs(max_rows integer default 20000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.run_in_batches('keyframe_private.cost_changes', 'true order by o.owner_id, o.id', max_rows, 'merge',
    'select keyframe_private.merge_cost_changes($1)');
end $$;

-- At most 1,000 groups: of the projects those that cost most. Planned for the arguments of each call: a plan for any days reads many rows
-- one by one.
create function keyframe_private.usage_groups(owner uuid, first_day date, last_day date, group_by text)
returns json language plpgsql stable set search_path = '' set plan_cache_mode = 'force_custom_plan' as $$
begin
  return (
    select json_agg(g order by case group_by when 'project' then g."settledMicros" + g."heldMicros" + g."unknownMicros" end desc, g.key)
    from (
      select
        case group_by when 'day' then c.day::text when 'model' then c.model when 'step' then c.step::text else c.project_id::text end as key,
        sum(c.predictions) as predictions,
        keyframe_private.exact_sum(sum(c.settled_charge_micros)) as "settledMicros",
        keyframe_private.exact_sum(sum(c.held_charge_micros)) as "heldMicros",
        keyframe_private.exact_sum(sum(c.unknown_charge_micros)) as "unknownMicros"
      from keyframe_private.costs c
      where c.kind = case group_by when 'project' then 'project_day'::keyframe_private.cost_sum_kind else 'owner_day' end
        and c.owner_id = owner and c.day between first_day and last_day
      group by 1 order by 3 desc, 1 limit 1000) g);
end $$;

-- From one day to another, inclusive. Costs a token for each day by project, otherwise one for each month or part of it.
create function keyframe.read_usage(from_day date default null, to_day date default null, group_by text default 'day')
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  first_day constant date := coalesce(from_day, date_trunc('month', coalesce(to_day, today))::date);
  last_day constant date := coalesce(to_day, today);
  days constant integer := least(greatest(last_day - first_day + 1, 1), 401);
  rate jsonb := keyframe_private.acquire_token('read', case when group_by = 'project' then days else 1 + days / 32 end);
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(last_day < first_day or last_day - first_day > 400, 'invalid_request',
    'from must not be after to, and they may be at most 400 days apart.');
  perform keyframe_private.raise_if(coalesce(group_by not in ('day', 'model', 'step', 'project'), true), 'invalid_request',
    'groupBy must be day, model, step or project.');
  return json_build_object(
    'from', first_day, 'to', last_day, 'currency', 'USD', 'groupBy', group_by,
    'groups', coalesce(keyframe_private.usage_groups(auth.uid(), first_day, last_day, group_by), '[]'),
    'balance', keyframe_private.balance_json(auth.uid()),
    'budgets', (
      select coalesce(json_agg(json_build_object(
        'scope', b.scope, 'period', b.period, 'limitMicros', b.limit_micros, 'settledMicros', b.settled_micros, 'heldMicros', b.held_micros,
        'availableMicros', b.available_micros, 'resetsAt', keyframe_private.wire_time(b.resets_at))), '[]')
      from keyframe_private.budgets_of(auth.uid(), now()) b where b.scope = 'owner'),
    'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_usage is 'The caller''s predictions and costs by day, model, step or project, and the caller''s budgets and balance.';

-- supabase/schemas/50_costs/30_budgets.sql

-- Budgets: a start is refused when the most that it can cost does not fit. An owner's budgets count what the owner pays, the service's what
-- the provider bills.

create table keyframe_private.owner_budgets (
  owner_id uuid primary key,
  day_micros bigint check (day_micros between 0 and 9007199254740991),
  month_micros bigint check (month_micros between 0 and 9007199254740991),
  note text
);
comment on table keyframe_private.owner_budgets is 'Budgets of single owners for a day and a month (UTC), in micro-dollars, instead of those in settings. Null: unlimited.';

-- The budgets that a start of this owner, by this OAuth client or key, must fit into. settled_micros includes the most that runs of unknown
-- cost can have cost. The sums have no clients, so what a client has spent today is read from the ledger.
create function keyframe_private.budgets_of(owner uuid, at timestamptz, client text default null)
returns table (
  scope text, period text, limit_micros bigint, settled_micros bigint, held_micros bigint, available_micros bigint, resets_at timestamptz)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  today constant date := (budgets_of.at at time zone 'UTC')::date;
  month constant date := date_trunc('month', today)::date;
  next_month constant date := (month + interval '1 month')::date;
begin
  return query
  with limits as (
    select l.scope, l.period, l.limit_micros, l.first_day, l.next_day
    from keyframe_private.settings s
    left join keyframe_private.owner_budgets o on o.owner_id = owner
    cross join lateral (values
      ('owner', 'day', case when o.owner_id is null then s.owner_day_micros else o.day_micros end, today, today + 1),
      ('owner', 'month', case when o.owner_id is null then s.owner_month_micros else o.month_micros end, month, next_month),
      ('service', 'day', s.service_day_micros, today, today + 1),
      ('service', 'month', s.service_month_micros, month, next_month)
    ) l (scope, period, limit_micros, first_day, next_day)
    where l.limit_micros is not null
    union all
    select 'client', 'day', c.owner_day_micros, today, today + 1 from keyframe_private.allowed_clients c
    where c.client_id = client and c.owner_day_micros is not null
  )
  select l.scope, l.period, l.limit_micros, u.settled, u.held, greatest(0, l.limit_micros - u.settled - u.held),
    l.next_day::timestamp at time zone 'UTC'
  from limits l
  cross join lateral (
    select keyframe_private.exact_sum(sum(c.settled)) as settled, keyframe_private.exact_sum(sum(c.held)) as held
    from (
      select c.settled_charge_micros + c.unknown_charge_micros as settled, c.held_charge_micros as held
      from keyframe_private.costs c
      where l.scope = 'owner' and c.kind = 'owner_day' and c.owner_id = owner and c.day >= l.first_day and c.day < l.next_day
      union all
      select c.settled_micros + c.unknown_micros, c.held_micros
      from keyframe_private.costs c where l.scope = 'service' and c.kind = 'service_day' and c.day >= l.first_day and c.day < l.next_day
      union all
      select case s.cost_state when 'settled' then s.charge_micros when 'unknown' then s.most_charge_micros end,
        case s.cost_state when 'held' then s.most_charge_micros end
      from keyframe_private.provider_submits s
      where l.scope = 'client' and s.owner_id = owner and s.client_id = client
        and s.created_at >= l.first_day::timestamp at time zone 'UTC' and s.created_at < l.next_day::timestamp at time zone 'UTC') c
  ) u;
end $$;

-- Raises budget_exceeded, balance_exhausted or price_unknown unless a cost fits, and spending_stopped without settings. A start has locked the
-- owner's slots (acquire_lock), so that no other start changes the sums; a quote has not, because it reserves nothing. Several starts of one
-- transaction add up: each sees the rows of those before it. The service's sums omit what other open transactions reserve, so that no owner
-- waits for another.
create function keyframe_private.require_budget(
  owner uuid, cost keyframe_private.run_cost, at timestamptz, client text default null, is_start boolean default true)
returns void language plpgsql volatile set search_path = '' as $$
declare
  budget record;
begin
  perform keyframe_private.raise_if(not exists (select from keyframe_private.settings), 'spending_stopped',
    'The row of keyframe_private.settings is missing, and with it the budgets. The administrator must insert it, set the budgets, then set spending_stopped to false.');
  for budget in select b.* from keyframe_private.budgets_of(owner, at, client) b order by b.available_micros loop
    if cost.most_micros is null then
      perform keyframe_private.raise_error('price_unknown',
        'No price is known for this model and input, and there is a budget. Choose another model, or ask the administrator for its price.');
    elsif (case budget.scope when 'service' then cost.most_micros else cost.most_charge_micros end) > budget.available_micros then
      perform keyframe_private.raise_error('budget_exceeded',
        format('This generation can cost more than what is left of %s budget for this %s. Wait until it resets, or choose a cheaper model, resolution or length.',
          case when budget.scope = 'owner' then 'your' when budget.scope = 'service' then 'the service''s'
            when client ~ '^kf_' then 'this key''s' else 'this app''s' end, budget.period),
        -- The caller must not learn what others have spent.
        (jsonb_build_object('scope', budget.scope, 'period', budget.period, 'estimateMicros', cost.most_charge_micros,
          'resetsAt', keyframe_private.wire_time(budget.resets_at))
          || case when budget.scope <> 'service' then jsonb_build_object(
            'limitMicros', budget.limit_micros, 'settledMicros', budget.settled_micros, 'heldMicros', budget.held_micros,
            'availableMicros', budget.available_micros) else '{}' end)::text);
    end if;
  end loop;
  perform keyframe_private.require_balance(owner, cost.most_charge_micros, is_start);
end $$;

create function keyframe_private.require_spending()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if((select s.spending_stopped from keyframe_private.settings s), 'spending_stopped',
    'The administrator has stopped new generations for now. Try again later.');
end $$;

create table keyframe_private.limit_notes (
  id bigint generated always as identity primary key,
  owner_id uuid,
  type text not null,
  once_for text not null,
  noted_at timestamptz not null default now(),
  constraint once_for_each unique nulls not distinct (owner_id, type, once_for)
);
comment on table keyframe_private.limit_notes is 'The events budget.exhausted, balance.low and balance.exhausted that were sent: for a budget once in its period, for a balance once after a credit.';
comment on column keyframe_private.limit_notes.owner_id is 'Whose budget or balance it is; null: the service''s budget.';
comment on column keyframe_private.limit_notes.once_for is 'Of a budget, its period and the end of it. Of a balance, how many credits had added something: a count rather than the last credit''s id or time, because of two simultaneous credits the earlier one may be committed later.';

-- Writes an event about a budget or a balance, unless it was written before. Never waits: if two race, one is enough.
create function keyframe_private.note_once(owner uuid, type text, once_for text, data jsonb)
returns void language plpgsql volatile set search_path = '' as $$
begin
  if not keyframe_private.acquire_lock(concat_ws(' ', note_once.type, note_once.once_for), owner, waits => false) then
    return;
  end if;
  insert into keyframe_private.limit_notes (owner_id, type, once_for) values (owner, note_once.type, note_once.once_for) on conflict do nothing;
  if found then
    perform keyframe_private.emit_event(note_once.type, owner, null, null, now(), data);
  end if;
end $$;

-- Notes the budgets, or the balance, that have refused a start. `refused`: the hint of the refusal.
create function keyframe_private.note_exhausted(owner uuid, code text, refused text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  figures constant jsonb := case when code in ('budget_exceeded', 'balance_exhausted') then refused end;
  most_micros constant bigint := figures ->> 'estimateMicros';
begin
  if code = 'balance_exhausted' then
    perform keyframe_private.note_once(owner, 'balance.exhausted', b.credits::text,
      jsonb_build_object('ownerId', owner, 'availableMicros', b.available_micros, 'estimateMicros', most_micros))
    from keyframe_private.balance_of(owner) b
    where b.available_micros < most_micros; -- credit may have come since
  elsif code = 'budget_exceeded' then
    perform keyframe_private.note_once(b.whose, 'budget.exhausted', concat_ws(' ', b.period, keyframe_private.wire_time(b.resets_at)),
      jsonb_strip_nulls(jsonb_build_object('ownerId', b.whose, 'scope', b.scope, 'period', b.period,
        'limitMicros', case when b.scope = 'owner' then b.limit_micros end, 'resetsAt', keyframe_private.wire_time(b.resets_at))))
    from (select o.*, case o.scope when 'owner' then owner end as whose from keyframe_private.budgets_of(owner, now()) o) b
    where case b.scope when 'owner' then b.available_micros < most_micros
      else (b.scope, b.period) = (figures ->> 'scope', figures ->> 'period') end;
  end if;
end $$;

-- supabase/schemas/50_costs/40_balances.sql

-- Prepaid balances. Balance = credits - settled - held - unknown, without a counter.

create table keyframe_private.credits (
  id bigint generated always as identity primary key,
  owner_id uuid not null,
  micros bigint not null,
  kind text not null,
  key text not null default gen_random_uuid()::text,
  note text,
  created_at timestamptz not null default now(),
  constraint one_credit_for_each_key unique (owner_id, key),
  constraint kind_is_known check (kind in ('grant', 'purchase', 'refund', 'adjustment', 'expiry')),
  constraint sign_is_that_of_the_kind check (
    case when kind in ('grant', 'purchase') then micros > 0 when kind in ('refund', 'expiry') then micros < 0 else micros <> 0 end),
  constraint amount_is_exact_in_json check (micros between -9007199254740991 and 9007199254740991),
  constraint key_has_1_to_255_visible_characters check (key ~ '^[\x21-\x7e]{1,255}$'),
  constraint key_opening_is_that_of_the_first_adjustment check (key <> 'opening' or kind = 'adjustment' and micros > 0),
  constraint note_has_at_most_500_characters check (char_length(note) <= 500)
);
comment on table keyframe_private.credits is 'What was added to balances and taken from them, kept for good. An owner with a row is prepaid. Rows are only inserted: an adjustment corrects one. Only the note may be removed.';
comment on column keyframe_private.credits.owner_id is 'The user, also when the account is deleted.';
comment on column keyframe_private.credits.micros is 'In micro-dollars; negative for a refund or an expiry.';
comment on column keyframe_private.credits.key is 'A repetition with the same key adds nothing: for example the id of the payment.';
create index credits_owner_id_idx on keyframe_private.credits (owner_id, id) include (micros);

-- What is left of an owner's credits (null: not prepaid), what is held, how many credits added something, and the threshold of balance.low.
-- One snapshot for all: a merge moves rows meanwhile. Without a generic plan it is planned at each start.
create function keyframe_private.balance_of(
  owner uuid, out available_micros bigint, out held_micros bigint, out credits bigint, out low_micros bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $$
declare
  most constant bigint := 9007199254740991; -- what JSON holds exactly
  credited numeric;
begin
  select sum(c.micros), count(*) filter (where c.micros > 0) into credited, credits
  from keyframe_private.credits c where c.owner_id = owner;
  if credited is null then
    select 0, 0, 0, s.balance_low_micros into available_micros, held_micros, credits, low_micros
    from keyframe_private.settings s where s.prepaid_by_default;
    return;
  end if;
  select
    greatest(-most, least(most,
      credited - coalesce(sum(c.held_charge_micros + c.settled_charge_micros + c.unknown_charge_micros), 0))),
    keyframe_private.exact_sum(sum(c.held_charge_micros)),
    (select s.balance_low_micros from keyframe_private.settings s)
  into available_micros, held_micros, low_micros
  from keyframe_private.costs c where c.kind = 'owner_total' and c.owner_id = owner;
end $$;

create function keyframe_private.balance_json(owner uuid)
returns json language plpgsql stable set search_path = '' as $$
begin
  return (
    select json_build_object('availableMicros', b.available_micros, 'heldMicros', b.held_micros)
    from keyframe_private.balance_of(owner) b where b.available_micros is not null);
end $$;

-- Raises balance_exhausted or price_unknown unless the most that a submit can cost its owner fits. Valid while the owner's slots are
-- locked, as for budgets. Credits need no lock: one that is not committed yet counts later.
create function keyframe_private.require_balance(owner uuid, most_micros bigint, is_start boolean)
returns void language plpgsql volatile set search_path = '' as $$
declare
  balance constant record := keyframe_private.balance_of(owner);
begin
  if balance.available_micros is null then
    return;
  elsif most_micros is null then
    perform keyframe_private.raise_error('price_unknown',
      'No price is known for this model and input, and you have a prepaid balance. Choose another model, or ask the administrator for its price.');
  elsif most_micros > balance.available_micros then
    perform keyframe_private.raise_error('balance_exhausted',
      'This generation can cost more than your balance. Add credit, or choose a cheaper model, resolution or length.',
      jsonb_build_object('availableMicros', balance.available_micros, 'estimateMicros', most_micros)::text);
  elsif is_start and balance.available_micros - most_micros < balance.low_micros then
    perform keyframe_private.note_once(owner, 'balance.low', balance.credits::text, jsonb_build_object(
      'ownerId', owner, 'availableMicros', balance.available_micros - most_micros, 'thresholdMicros', balance.low_micros));
  end if;
end $$;

-- Offsets what was settled before an owner's first credit. Held and unknown costs stay: if they were offset too, their release would be a
-- gift. Of two first credits at once, the key decides.
create function keyframe_private.open_balance()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.require_not_moved(new.owner_id);
  if new.key <> 'opening' and not exists (select from keyframe_private.credits c where c.owner_id = new.owner_id) then
    insert into keyframe_private.credits (owner_id, micros, kind, key, note)
    select new.owner_id, keyframe_private.exact_sum(sum(c.settled_charge_micros)), 'adjustment', 'opening', 'Settled before the first credit.'
    from keyframe_private.costs c where c.kind = 'owner_total' and c.owner_id = new.owner_id
    having sum(c.settled_charge_micros) > 0
    on conflict do nothing;
  end if;
  return new;
end $$;

create function keyframe_private.note_low_after_credit()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.note_once(new.owner_id, 'balance.low', b.credits::text, jsonb_build_object(
    'ownerId', new.owner_id, 'availableMicros', b.available_micros, 'thresholdMicros', b.low_micros))
  from keyframe_private.balance_of(new.owner_id) b where b.available_micros < b.low_micros;
  return null;
end $$;

-- For administrators: adds credit to an owner's balance, or subtracts it, once for each key.
create function keyframe_private.add_credit(
  owner uuid, micros bigint, kind text, key text default gen_random_uuid()::text, note text default null)
returns keyframe_private.credits language plpgsql volatile set search_path = '' as $$
declare
  credit keyframe_private.credits;
begin
  perform keyframe_private.raise_if(
    not exists (select from auth.users u where u.id = owner)
      and not exists (select from keyframe_private.credits c where c.owner_id = owner),
    'user_not_found', 'There is no user with this id, and no deleted one who has credits.');
  insert into keyframe_private.credits (owner_id, micros, kind, key, note)
  values (owner, add_credit.micros, add_credit.kind, add_credit.key, add_credit.note)
  on conflict on constraint one_credit_for_each_key do nothing
  returning * into credit;
  if not found then
    select c.* into credit from keyframe_private.credits c where c.owner_id = owner and c.key = add_credit.key;
    perform keyframe_private.raise_if((credit.micros, credit.kind) <> (add_credit.micros, add_credit.kind), 'idempotency_mismatch',
      'This key was used for another credit of this user. Send a new key with a new credit.');
  end if;
  return credit;
end $$;

-- lock_timeout: an equal credit may be open in another transaction.
create function keyframe_worker.add_credit(user_id uuid, amount_micros bigint, kind text, key text, note text default null)
returns json language plpgsql volatile security definer set search_path = '' set lock_timeout = '2s' as $$
declare
  credit constant keyframe_private.credits := keyframe_private.add_credit(user_id, amount_micros, kind, key, note);
begin
  return json_build_object('rate', null, 'replayed', credit.created_at <> now(), 'credit', json_build_object(
    'key', credit.key, 'kind', credit.kind, 'amountMicros', credit.micros, 'note', credit.note,
    'createdAt', keyframe_private.wire_time(credit.created_at), 'balance', keyframe_private.balance_json(user_id)));
end $$;
comment on function keyframe_worker.add_credit is 'Adds credit for a server that sends the secret key and Keyframe-User.';

-- supabase/schemas/60_webhooks/10_endpoints.sql

-- Webhook endpoints: with owner_id, for that user's events; without it service-wide (a CRM), for all events.

-- shared/contract/webhooks.ts has the same list for the API; test/db/schema/shared-rules.test.ts compares both.
create function keyframe_private.event_types()
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array['project.created', 'generation.succeeded', 'generation.failed', 'budget.exhausted', 'balance.low', 'balance.exhausted',
    'webhook.test'];
end $$;

create type keyframe_private.endpoint_standing as enum ('new', 'tried', 'quick', 'slow');
comment on type keyframe_private.endpoint_standing is 'new: no answer yet. tried: all answers were quick, but there are fewer than five. quick: five answers in a row took under three seconds. slow: an answer took longer, or a request had none for three seconds, and fewer than five quick answers have followed.';

create table keyframe.webhook_endpoints (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid references auth.users on delete cascade,
  url text not null,
  description text not null default '',
  event_types text[] not null default '{}',
  enabled boolean not null default true,
  max_in_flight integer not null default 8,
  disabled_at timestamptz,
  disabled_reason text,
  failing_since timestamptz,
  standing keyframe_private.endpoint_standing not null default 'new',
  quick_answers smallint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint url_is_http_without_user_or_fragment check (url ~ '^https?://[^\s#@]+$' and char_length(url) <= 2048),
  constraint description_has_at_most_500_characters check (char_length(description) <= 500),
  constraint description_is_one_line check (keyframe_private.is_one_line(description)),
  constraint event_types_are_known check (event_types <@ keyframe_private.event_types()),
  constraint event_types_are_a_list_without_excess check (coalesce(array_ndims(event_types), 1) = 1
    and cardinality(event_types) <= cardinality(keyframe_private.event_types())),
  constraint disabled_reason_is_known check (disabled_reason in ('by_owner', 'gone', 'failing')),
  constraint max_in_flight_is_1_to_100 check (max_in_flight between 1 and 100),
  constraint times_are_in_years_of_four_digits check (
    least(disabled_at, failing_since, created_at, updated_at) >= '1970-01-01 00:00Z'
      and greatest(disabled_at, failing_since, created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint disabled_if_and_only_if_not_enabled check (enabled = (disabled_at is null) and (disabled_at is null) = (disabled_reason is null))
);
comment on table keyframe.webhook_endpoints is 'Receivers of events. A row inserted by hand works too: a trigger creates its secret (select keyframe_private.webhook_secret(id) shows it).';
comment on column keyframe.webhook_endpoints.id is 'Named by webhookId in the API.';
comment on column keyframe.webhook_endpoints.url is 'Where events are sent: https, or http on a local stack.';
comment on column keyframe.webhook_endpoints.description is 'One line, for people.';
comment on column keyframe.webhook_endpoints.enabled is 'Whether events are sent to it.';
comment on column keyframe.webhook_endpoints.disabled_at is 'When it was disabled; null while enabled.';
comment on column keyframe.webhook_endpoints.owner_id is 'Whose events it gets; null: everyone''s.';
comment on column keyframe.webhook_endpoints.event_types is 'Which events it gets; empty: all.';
comment on column keyframe.webhook_endpoints.max_in_flight is 'How many requests to it may be open at once; one while it only fails.';
comment on column keyframe.webhook_endpoints.disabled_reason is 'Why it gets no events: by_owner, gone (it answered 410), failing (only failures for webhook_disable_after).';
comment on column keyframe.webhook_endpoints.failing_since is 'When the failures began, or when it was enabled again after the service had disabled it; null after a success.';
comment on column keyframe.webhook_endpoints.standing is 'How quickly it answers: new, tried, quick or slow.';
comment on column keyframe.webhook_endpoints.quick_answers is 'How many answers in a row took under three seconds, counted up to five. A request without an answer counts as slow after three seconds, and otherwise not at all.';
create index webhook_endpoints_owner_id_idx on keyframe.webhook_endpoints (owner_id, created_at desc);
-- The few endpoints that the service has disabled.
create index webhook_endpoints_disabled_idx on keyframe.webhook_endpoints (disabled_at) where disabled_reason in ('gone', 'failing');

-- Deliveries, possibly millions, and test events have no foreign key: they are deleted in batches
-- (docs/decisions/0019-deleted-endpoints-leave-deliveries.md).
create table keyframe_private.deleted_endpoints (
  endpoint_id uuid primary key,
  deleted_at timestamptz not null default now()
);
comment on table keyframe_private.deleted_endpoints is 'Deleted endpoints that may still have deliveries. The job keyframe-prune deletes those first, then the row.';

create function keyframe_private.record_deleted_endpoint()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.deleted_endpoints (endpoint_id) values (old.id) on conflict do nothing;
  return null;
end $$;

create function keyframe_private.limit_endpoints()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('endpoints', new.owner_id);
  perform keyframe_private.raise_if((select count(*) from keyframe.webhook_endpoints e where e.owner_id = new.owner_id) >= 20,
    'invalid_request', 'You have 20 webhook endpoints already. Delete one first.');
  return new;
end $$;

-- Changing `enabled` in Studio is enough. failing_since survives disabling and enabling, so that the owner cannot evade automatic disabling. An
-- endpoint that the service disabled gets webhook_disable_after once more, with one request at a time until its first success.
create function keyframe_private.record_enabled_change()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if new.enabled then
    new.disabled_at := null;
    new.disabled_reason := null;
    if tg_op = 'UPDATE' and old.disabled_reason in ('gone', 'failing') then
      new.failing_since := now();
    end if;
  else
    new.disabled_at := coalesce(new.disabled_at, now());
    new.disabled_reason := coalesce(new.disabled_reason, 'by_owner');
  end if;
  if tg_op = 'INSERT' or (new.enabled, new.url, new.description, new.event_types, new.max_in_flight) is distinct from
    (old.enabled, old.url, old.description, old.event_types, old.max_in_flight) then
    new.updated_at := now();
  end if;
  return new;
end $$;

-- The secrets that sign deliveries, stored in the Vault.

create table keyframe_private.webhook_secrets (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null references keyframe.webhook_endpoints on delete cascade,
  vault_secret_id uuid not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
comment on table keyframe_private.webhook_secrets is 'The Vault entries that sign for an endpoint: the current one (expires_at is null), and older ones until expires_at.';
comment on column keyframe_private.webhook_secrets.expires_at is 'Until when it still signs; null: it is the current one.';
create unique index webhook_secrets_one_current on keyframe_private.webhook_secrets (endpoint_id) where expires_at is null;
create index webhook_secrets_endpoint_id_idx on keyframe_private.webhook_secrets (endpoint_id, created_at);
create index webhook_secrets_expires_at_idx on keyframe_private.webhook_secrets (expires_at) where expires_at is not null;

create function keyframe_private.add_webhook_secret(endpoint uuid, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  secret text := keyframe_private.random_secret();
begin
  insert into keyframe_private.webhook_secrets (id, endpoint_id, vault_secret_id)
  values (add_webhook_secret.id, endpoint,
    vault.create_secret(secret, 'keyframe_webhook_' || gen_random_uuid()::text, 'Signs events for webhook endpoint ' || endpoint::text));
end $$;

create function keyframe_private.delete_vault_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.secrets s where s.id = old.vault_secret_id;
  return null;
end $$;

-- An identifier whose deliveries are still being deleted is refused: the new endpoint would inherit them.
create function keyframe_private.create_endpoint_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.raise_if(exists (select from keyframe_private.deleted_endpoints d where d.endpoint_id = new.id),
    'invalid_request', 'An endpoint with this id is being deleted. Use another id, or wait a few minutes.');
  perform keyframe_private.add_webhook_secret(new.id);
  return null;
end $$;

-- The live secrets, newest first, at most three. Empty if one cannot be decrypted, as after a restore under another key: then nothing is
-- sent to this endpoint.
create function keyframe_private.webhook_secrets_of(endpoint uuid, at timestamptz default now())
returns text[] language plpgsql stable security definer set search_path = '' as $$
begin
  -- created_at cannot order two simultaneous rotations; the row without expires_at is the current one.
  return array_remove(array(
    select v.decrypted_secret
    from keyframe_private.webhook_secrets s
    join vault.decrypted_secrets v on v.id = s.vault_secret_id
    where s.endpoint_id = endpoint and (s.expires_at is null or s.expires_at > at)
    order by (s.expires_at is null) desc, s.created_at desc), null);
exception when others then
  raise warning 'The secrets of webhook endpoint % cannot be decrypted: %', endpoint, sqlstate;
  return '{}';
end $$;

-- For administrators: the secret that signs for an endpoint now.
create function keyframe_private.webhook_secret(endpoint uuid)
returns text language sql stable security definer set search_path = '' as $$
  select (keyframe_private.webhook_secrets_of(endpoint))[1]
$$;

-- The old secret also signs for overlap (0: it stops at once). Three are live at most: a fourth ends the oldest.
create function keyframe_private.replace_webhook_secret(endpoint uuid, overlap interval, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from keyframe.webhook_endpoints e where e.id = endpoint for no key update;
  delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint and s.expires_at <= now();
  if overlap <= interval '0' or keyframe_private.webhook_secret(endpoint) is null then
    -- Without an overlap every old secret is deleted: one may have leaked, and one that cannot be decrypted would block the new one.
    delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint;
  else
    delete from keyframe_private.webhook_secrets s where s.id in (
      select o.id from keyframe_private.webhook_secrets o where o.endpoint_id = endpoint
      order by (o.expires_at is null) desc, o.created_at desc offset 2);
    update keyframe_private.webhook_secrets s set expires_at = now() + overlap where s.endpoint_id = endpoint and s.expires_at is null;
  end if;
  perform keyframe_private.add_webhook_secret(endpoint, id);
end $$;

-- supabase/schemas/60_webhooks/20_events.sql

-- Events, written in the transaction that causes them, with one delivery for each endpoint that gets them.

create table keyframe.webhook_events (
  id uuid primary key default keyframe_private.uuid_v7(),
  type text not null,
  owner_id uuid,
  project_id uuid,
  prediction_id uuid,
  endpoint_id uuid,
  payload json not null,
  created_at timestamptz not null default now(),
  constraint type_is_known check (type = any (keyframe_private.event_types())),
  constraint payload_has_at_most_20_kB check (octet_length(payload::text) <= 20000)
-- Pruned every minute: vacuum makes the space of a day reusable. At the default of 20 % it would run after six days.
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table keyframe.webhook_events is 'Events, kept for webhook_retention. The id is the webhook-id of every delivery; payload::text is the signed body.';
comment on column keyframe.webhook_events.id is 'The webhook-id of every delivery.';
comment on column keyframe.webhook_events.type is 'project.created, generation.succeeded, generation.failed, budget.exhausted, balance.low, balance.exhausted or webhook.test.';
comment on column keyframe.webhook_events.owner_id is 'The user it is about; null: the service, or an endpoint without an owner.';
comment on column keyframe.webhook_events.project_id is 'The project that it is about. No foreign key: it outlives the project.';
comment on column keyframe.webhook_events.prediction_id is 'The prediction that it is about. No foreign key: it outlives the prediction.';
comment on column keyframe.webhook_events.endpoint_id is 'Only for webhook.test: the endpoint under test. No foreign key: prune_webhooks deletes what a deleted endpoint leaves.';
comment on column keyframe.webhook_events.payload is 'The body that is sent, byte for byte.';
-- At most one of each, even under concurrency.
create unique index webhook_events_one_terminal_event_per_prediction on keyframe.webhook_events (prediction_id)
  where type in ('generation.succeeded', 'generation.failed');
create unique index webhook_events_one_creation_per_project on keyframe.webhook_events (project_id) where type = 'project.created';
create index webhook_events_created_at_idx on keyframe.webhook_events (created_at);
create index webhook_events_endpoint_id_idx on keyframe.webhook_events (endpoint_id) where endpoint_id is not null;
create index webhook_events_owner_id_idx on keyframe.webhook_events (owner_id, created_at desc);

create type keyframe.delivery_status as enum ('pending', 'delivered', 'exhausted');
comment on type keyframe.delivery_status is 'pending: to be sent or retried; delivered: answered 2xx; exhausted: every attempt failed.';

create table keyframe.webhook_deliveries (
  id uuid primary key default keyframe_private.uuid_v7(),
  event_id uuid not null references keyframe.webhook_events on delete cascade,
  endpoint_id uuid not null,
  owner_id uuid,
  event_type text not null,
  status keyframe.delivery_status not null default 'pending',
  attempts integer not null default 0,
  retries_from integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  last_attempt_at timestamptz,
  last_status_code integer,
  last_error text,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  constraint webhook_deliveries_event_id_endpoint_id_key unique (event_id, endpoint_id),
  constraint attempts_are_at_most_a_million check (attempts between 0 and 1000000), -- more would overflow in a claim, which all owners share
  constraint times_are_in_years_of_four_digits check (
    least(next_attempt_at, last_attempt_at, created_at, completed_at) >= '1970-01-01 00:00Z'
      and greatest(next_attempt_at, last_attempt_at, created_at, completed_at) < '9999-01-01 00:00Z'),
  constraint completed_at_if_and_only_if_not_pending check ((completed_at is null) = (status = 'pending'))
-- Most rows are updated once, and not HOT: their status is in an index. By default vacuum would run after 600,000 of them in three million.
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table keyframe.webhook_deliveries is 'One event for one endpoint.';
comment on column keyframe.webhook_deliveries.id is 'In the order of their inserts, except those of webhook.test.';
comment on column keyframe.webhook_deliveries.event_id is 'The event that is delivered.';
comment on column keyframe.webhook_deliveries.endpoint_id is 'No foreign key: prune_webhooks deletes what a deleted endpoint leaves; until then it is invisible.';
comment on column keyframe.webhook_deliveries.owner_id is 'The endpoint''s owner, who may read it.';
comment on column keyframe.webhook_deliveries.event_type is 'Type of that event.';
comment on column keyframe.webhook_deliveries.status is 'pending, delivered or exhausted.';
comment on column keyframe.webhook_deliveries.attempts is 'How many requests were made.';
comment on column keyframe.webhook_deliveries.retries_from is 'The attempt at which the retry schedule began: 0, or where it was sent again on request.';
comment on column keyframe.webhook_deliveries.next_attempt_at is 'When its next attempt is due. Defaults to insert time.';
comment on column keyframe.webhook_deliveries.last_attempt_at is 'When the last request began.';
comment on column keyframe.webhook_deliveries.last_status_code is 'HTTP status of the last answer; null without one.';
comment on column keyframe.webhook_deliveries.last_error is 'Why the last attempt failed: http_status, timeout, connection, dns, tls, address, redirect, too_large, not_signed (its secret cannot be read).';
comment on column keyframe.webhook_deliveries.completed_at is 'When it was delivered or exhausted; null while pending.';
-- For the pages of an endpoint's list. Ascending and read backwards: inserts in ascending order leave full pages.
create index webhook_deliveries_endpoint_id_status_idx on keyframe.webhook_deliveries (endpoint_id, status, event_type, created_at, id);
create index webhook_deliveries_owner_id_idx on keyframe.webhook_deliveries (owner_id) where owner_id is not null;

create table keyframe.webhook_attempts (
  id bigint generated always as identity primary key,
  delivery_id uuid not null references keyframe.webhook_deliveries on delete cascade,
  owner_id uuid,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  response_excerpt text,
  constraint error_or_status check (status_code is not null or error is not null),
  constraint times_are_in_years_of_four_digits check (started_at >= '1970-01-01 00:00Z' and started_at < '9999-01-01 00:00Z'),
  constraint response_excerpt_has_at_most_1_KiB check (octet_length(response_excerpt) <= 1024)
) with (autovacuum_vacuum_scale_factor = 0.05); -- pruned with the events
comment on table keyframe.webhook_attempts is 'One request of a delivery.';
comment on column keyframe.webhook_attempts.delivery_id is 'The delivery that was tried.';
comment on column keyframe.webhook_attempts.owner_id is 'The endpoint''s owner, who may read it.';
comment on column keyframe.webhook_attempts.attempt is '1 for the first request of the delivery.';
comment on column keyframe.webhook_attempts.started_at is 'When the request began.';
comment on column keyframe.webhook_attempts.duration_ms is 'Until the answer, or the failure.';
comment on column keyframe.webhook_attempts.status_code is 'HTTP status of the answer; null without one.';
comment on column keyframe.webhook_attempts.error is 'Why it failed; null after a 2xx.';
comment on column keyframe.webhook_attempts.response_excerpt is 'The first 1 KiB of the response.';
create unique index webhook_attempts_delivery_id_attempt_idx on keyframe.webhook_attempts (delivery_id, attempt);
create index webhook_attempts_owner_id_idx on keyframe.webhook_attempts (owner_id) where owner_id is not null;

-- Writes the event and its deliveries. False: the event exists already.
create function keyframe_private.emit_event(
  event_type text, owner uuid, project uuid, prediction uuid, happened_at timestamptz, data jsonb, error jsonb default null)
returns boolean language plpgsql volatile security definer set search_path = '' as $$
declare
  event uuid;
begin
  insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload)
  values (event_type, owner, project, prediction, jsonb_strip_nulls(jsonb_build_object('error', error))
    || jsonb_build_object('type', event_type, 'timestamp', keyframe_private.wire_time(happened_at), 'data', data))
  on conflict do nothing
  returning id into event;
  if event is null then
    return false;
  end if;
  insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type)
  select event, e.id, e.owner_id, emit_event.event_type
  from keyframe.webhook_endpoints e
  where e.enabled and (e.owner_id = owner or e.owner_id is null)
    -- Without a lock: an uncommitted deletion would block everyone. Deliveries of a deleted endpoint are pruned.
    and (e.event_types = '{}' or emit_event.event_type = any (e.event_types));
  return true;
end $$;

-- project.created. A project near the size limits would exceed 20 kB: its texts are shortened, and truncated is set.
create function keyframe_private.emit_project_created()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  data jsonb := jsonb_build_object(
    'projectId', new.id, 'ownerId', new.owner_id, 'title', new.title, 'textPrompt', new.text_prompt,
    'description', new.description, 'createdAt', keyframe_private.wire_time(new.created_at))
    || jsonb_strip_nulls(jsonb_build_object('filmId', new.film_id));
  characters integer := 4000;
begin
  while octet_length(data::text) > 19000 loop
    characters := characters / 2;
    data := data || jsonb_build_object(
      'textPrompt', left(new.text_prompt, characters), 'description', left(new.description, characters), 'truncated', true);
  end loop;
  perform keyframe_private.raise_if(
    not keyframe_private.emit_event('project.created', new.owner_id, new.id, null, new.created_at, data), 'invalid_request',
    'An earlier project with this id has left an event. Leave the id out, or use another one.');
  return null;
end $$;

create function keyframe_private.emit_generation_ended()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
declare
  data jsonb := jsonb_build_object(
    'predictionId', new.id, 'projectId', new.project_id, 'ownerId', new.owner_id, 'step', new.step, 'model', new.model,
    'createdAt', keyframe_private.wire_time(new.created_at), 'completedAt', keyframe_private.wire_time(new.completed_at))
    || jsonb_strip_nulls(jsonb_build_object(
      'requestedModel', nullif(new.requested_model, new.model),
      'filmId', (select p.film_id from keyframe.projects p where p.id = new.project_id)));
  cost constant json := keyframe_private.cost_json(new.id);
begin
  if cost is not null then
    data := data || jsonb_build_object('cost', cost);
  end if;
  if new.status = 'succeeded' then
    perform keyframe_private.emit_event('generation.succeeded', new.owner_id, new.project_id, new.id, new.completed_at,
      data || jsonb_build_object('output', jsonb_strip_nulls(jsonb_build_object(
        'path', new.output_path, 'contentType', new.output_content_type, 'bytes', new.output_bytes, 'sha256', new.output_sha256,
        'width', new.output_width, 'height', new.output_height, 'durationSeconds', new.output_duration_seconds,
        'hasAudio', new.output_has_audio))));
  else
    perform keyframe_private.emit_event('generation.failed', new.owner_id, new.project_id, new.id, new.completed_at, data,
      jsonb_build_object('code', new.error_code, 'message', new.error_message, 'retryable', new.error_retryable,
        'stage', new.error_stage)); -- emit_event leaves out nulls
  end if;
  return null;
end $$;

-- Delivery counts per endpoint and hour: 24 rows for a day (docs/decisions/0014-endpoint-health-is-counted.md).

create type keyframe_private.attempt_outcome as (at timestamptz, status_code integer, error text);

-- The low fillfactor keeps the frequent updates on the same page: no index contains an updated column, so they are HOT.
create table keyframe_private.webhook_hours (
  endpoint_id uuid not null,
  hour timestamptz not null,
  delivered integer not null default 0,
  retrying integer not null default 0,
  exhausted integer not null default 0,
  last_attempt keyframe_private.attempt_outcome,
  last_failure keyframe_private.attempt_outcome,
  primary key (endpoint_id, hour)
) with (fillfactor = 50);
comment on table keyframe_private.webhook_hours is 'The outcomes of an endpoint''s deliveries, each counted in the hour (UTC) of its last attempt. Kept for two days, an endpoint''s last hour for webhook_retention. No foreign key: counting and the deletion of an endpoint would wait for each other.';
comment on column keyframe_private.webhook_hours.delivered is 'Answered 2xx.';
comment on column keyframe_private.webhook_hours.retrying is 'Failed, to be retried.';
comment on column keyframe_private.webhook_hours.exhausted is 'Failed at the last attempt of the retry schedule.';
create index webhook_hours_hour_idx on keyframe_private.webhook_hours (hour);

-- Subtracts a delivery from its previous hour and outcome. For each statement: row by row would update one hour thousands of times.
-- Deliveries are locked before hours, and hours in order: no deadlock.
create function keyframe_private.count_deliveries()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.webhook_hours as h (endpoint_id, hour, delivered, retrying, exhausted, last_attempt, last_failure)
  select c.endpoint_id, date_trunc('hour', (c.outcome).at, 'UTC') as hour,
    coalesce(sum(c.change) filter (where c.status = 'delivered'), 0),
    coalesce(sum(c.change) filter (where c.status = 'pending' and (c.outcome).error is not null), 0),
    coalesce(sum(c.change) filter (where c.status = 'exhausted'), 0),
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1))[1],
    (array_agg(c.outcome order by c.outcome desc) filter (where c.change = 1 and (c.outcome).error is not null))[1]
  from (
    select n.endpoint_id, n.status, 1 as change,
      row(n.last_attempt_at, n.last_status_code, n.last_error)::keyframe_private.attempt_outcome as outcome
    from changed_to n where n.last_attempt_at is not null
    union all
    select o.endpoint_id, o.status, -1, row(o.last_attempt_at, o.last_status_code, o.last_error)::keyframe_private.attempt_outcome
    from changed_from o where o.last_attempt_at is not null
  ) c
  group by 1, 2
  order by 1, 2
  on conflict (endpoint_id, hour) do update
    set delivered = h.delivered + excluded.delivered, retrying = h.retrying + excluded.retrying,
      exhausted = h.exhausted + excluded.exhausted,
        last_attempt = greatest(h.last_attempt, excluded.last_attempt), last_failure = greatest(h.last_failure, excluded.last_failure);
  return null;
end $$;

-- supabase/schemas/60_webhooks/30_queue.sql

-- The work of deliver: one row for each delivery to send. An endpoint is a lane.

-- The host of an endpoint, with its standing: at a host of many owners, those that hang do not delay the others.
create function keyframe_private.resource_of(endpoint keyframe.webhook_endpoints)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return lower(left(substring(endpoint.url from '^https?://(\[[^\]]*\]|[^:/?]*)'), 255)) || ' ' || endpoint.standing;
end $$;

-- Adds work of an endpoint: to send a delivery, or to resume after one. New and slow endpoints are unproven.
create function keyframe_private.add_endpoint_work(
  endpoint keyframe.webhook_endpoints, kind text, subject uuid, due_at timestamptz default clock_timestamp())
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.add_work('deliver', add_endpoint_work.kind, add_endpoint_work.subject, coalesce(endpoint.owner_id, endpoint.id),
    keyframe_private.resource_of(endpoint), add_endpoint_work.due_at, lane => endpoint.id, is_unproven => endpoint.standing in ('new', 'slow'));
end $$;

-- For each row: Postgres plans a query on a transition table at each call, which took as long as the event itself.
create function keyframe_private.add_delivery()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_endpoint_work(e, 'deliver', new.id, new.next_attempt_at)
  from keyframe.webhook_endpoints e where e.id = new.endpoint_id;
  return null;
end $$;

-- A claim drops the work of a disabled endpoint. Once it is enabled, resume_deliveries adds it again in parts: there may be a million.
create function keyframe_private.resume_endpoint()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_endpoint_work(new, 'resume', '00000000-0000-0000-0000-000000000000');
  return null;
end $$;

create function keyframe_private.resume_deliveries(leased keyframe_private.work, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
declare
  most constant integer := 100; -- of each endpoint in one claim
  last keyframe.webhook_deliveries;
  part uuid[];
begin
  select d.* into last from keyframe.webhook_deliveries d where d.id = leased.subject;
  -- In the order of an index: an endpoint may have a million.
  part := array(
    select d.id from keyframe.webhook_deliveries d
    where d.endpoint_id = leased.lane and d.status = 'pending'
      and (last.id is null or (d.event_type, d.created_at, d.id) > (last.event_type, last.created_at, last.id))
    order by d.event_type, d.created_at, d.id limit most);
  perform keyframe_private.add_endpoint_work(e, 'deliver', d.id, d.next_attempt_at)
  from (select o.* from keyframe.webhook_deliveries o where o.id = any (part) order by o.next_attempt_at, o.id) d
  cross join lateral (select o.* from keyframe.webhook_endpoints o where o.id = leased.lane offset 0) e;
  if cardinality(part) = most then
    update keyframe_private.work w set subject = part[most] where w.id = leased.id;
    perform keyframe_private.reschedule_all(array[leased.id], array[at], at);
  else
    delete from keyframe_private.work w where w.id = leased.id;
  end if;
end $$;

-- Removes ready work from a lane to which it does not belong: it is deleted if the endpoint is disabled or deleted (receiver is null), and
-- moved if its resource has changed. Returns how many rows: few, so that a million of one endpoint delay no other's.
create function keyframe_private.clear_lane(endpoint uuid, resource text, receiver keyframe.webhook_endpoints)
returns integer language plpgsql volatile set search_path = '' as $$
declare
  work_ids constant bigint[] := array(
    select r.id from keyframe_private.work r
    where r.queue = 'deliver' and r.state = 'ready' and r.resource = clear_lane.resource and r.lane = endpoint
    limit 100 for update skip locked);
begin
  if receiver.id is null then
    -- Checked again: if the endpoint was enabled meanwhile, the work added for that is among these rows.
    delete from keyframe_private.work w
    where w.id = any (work_ids) and not exists (select from keyframe.webhook_endpoints e where e.id = endpoint and e.enabled);
  else
    update keyframe_private.work w
    set resource = keyframe_private.resource_of(receiver), is_unproven = receiver.standing in ('new', 'slow')
    where w.id = any (work_ids);
  end if;
  return cardinality(work_ids);
end $$;

-- Locks a lane for this claim, so that the endpoint's limit holds for any number of workers. max_rows: how many more of its deliveries
-- the worker may lease; cleared: how many rows did not belong to it. A quick endpoint gets four times max_in_flight, because a call takes as
-- long as a few requests, but not if another worker has leased some of it.
create function keyframe_private.lock_endpoint_lane(endpoint uuid, resource text, for_worker uuid, out max_rows integer, out cleared integer)
language plpgsql volatile set search_path = '' as $$
declare
  receiver keyframe.webhook_endpoints;
  leased integer;
  is_leased_by_others boolean;
begin
  max_rows := 0;
  cleared := 0;
  if not keyframe_private.acquire_lock('lane', endpoint, waits => false) then
    return;
  end if;
  select e.* into receiver from keyframe.webhook_endpoints e where e.id = endpoint and e.enabled;
  if keyframe_private.resource_of(receiver) is distinct from lock_endpoint_lane.resource then
    cleared := keyframe_private.clear_lane(endpoint, lock_endpoint_lane.resource, receiver);
    return;
  end if;
  select count(*), bool_or(w.worker_id <> for_worker) into leased, is_leased_by_others
  from keyframe_private.work w where w.queue = 'deliver' and w.lane = endpoint and w.state = 'leased';
  max_rows := case when receiver.failing_since is not null then 1
    when receiver.standing = 'quick' and is_leased_by_others is not true then 4 * receiver.max_in_flight
    else receiver.max_in_flight end - leased;
end $$;

-- supabase/schemas/60_webhooks/40_sending.sql

-- deliver's one call, exchange_deliveries: records the results of requests, then leases deliveries and hands them out.

-- Returns null when the attempts are used up. Retry-After of a 429 or 503 is respected up to a day.
create function keyframe_private.next_delivery_attempt(
  attempts integer, status_code integer, retry_after_seconds double precision, at timestamptz)
returns timestamptz language sql volatile set search_path = '' as $$
  select at + greatest(
    s.schedule[attempts] * (0.8 + random() * 0.4),
    case when status_code in (429, 503) then make_interval(secs => least(coalesce(retry_after_seconds, 0), 86400)) end)
  -- Without settings no attempt is the last one.
  from (select coalesce((select o.webhook_retry_schedule from keyframe_private.settings o),
    array_fill(interval '5 minutes', array[attempts])) as schedule) s
  where attempts <= cardinality(s.schedule)
$$;

-- An endpoint after a batch of results: it fails, has become quick or slow, or is disabled.
create function keyframe_private.judge_endpoint(
  inout endpoint keyframe.webhook_endpoints, delivered boolean, is_gone boolean, is_slow boolean, answers bigint, at timestamptz)
language plpgsql stable set search_path = '' as $$
declare
  reason constant text := case when is_gone then 'gone' when not delivered
    and at - endpoint.failing_since >= (select s.webhook_disable_after from keyframe_private.settings s) then 'failing' end;
begin
  endpoint.failing_since := case when not delivered then coalesce(endpoint.failing_since, at) end;
  endpoint.quick_answers := case when is_slow then 0 else least(5, endpoint.quick_answers + answers) end;
  endpoint.standing := case
    when is_slow then 'slow'
    when endpoint.quick_answers = 5 then 'quick'
    when endpoint.standing = 'new' and answers > 0 then 'tried'
    else endpoint.standing end;
  if endpoint.enabled and reason is not null then
    endpoint.enabled := false;
    endpoint.disabled_reason := reason;
    endpoint.disabled_at := at;
  end if;
end $$;

create type keyframe_private.delivery_result as (
  id uuid, work_id bigint, endpoint_id uuid, owner_id uuid, attempt integer, started_at timestamptz, duration_ms integer, status_code integer,
  error text, response_excerpt text, delivered boolean, next_at timestamptz);
comment on type keyframe_private.delivery_result is 'The result of an attempt, and what it means. next_at: when the next attempt is due; null when the delivery has ended.';

create function keyframe_private.is_leased(work_id bigint, worker_id uuid)
returns boolean language plpgsql volatile set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (select from keyframe_private.work w where w.id = work_id and w.worker_id = is_leased.worker_id);
end $$;

-- Records the results of deliveries that are not locked, and returns which. The failure of a worker that has lost the lease does not
-- count, because the attempt is made again; its success does, and ends the delivery. An endpoint whose row is locked keeps its
-- state until its next result. Each table is read by its keys (`any`): a join lets Postgres read all deliveries that are pending when its
-- statistics say that none are.
create function keyframe_private.record_results(results jsonb, worker_id uuid, at timestamptz)
returns uuid[] language plpgsql volatile set search_path = '' set lock_timeout = '20ms' as $$
declare
  judged constant keyframe_private.delivery_result[] := array(
    select row(d.id, r.work_id, d.endpoint_id, d.owner_id, r.attempt, r.started_at, r.duration_ms, r.status_code,
      case when not v.delivered then coalesce(r.error, 'http_status') end, r.response_excerpt, v.delivered,
      case when not v.delivered then
        keyframe_private.next_delivery_attempt(d.attempts + 1 - d.retries_from, r.status_code, r.retry_after_seconds, at) end
      )::keyframe_private.delivery_result
    from jsonb_to_recordset(results) as r (id uuid, work_id bigint, attempt integer, started_at timestamptz, duration_ms integer,
      status_code integer, error text, response_excerpt text, retry_after_seconds double precision)
    cross join lateral (select coalesce(r.status_code between 200 and 299, false) as delivered) v
    cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = r.id offset 0 for update skip locked) d
    where d.attempts = r.attempt - 1 and d.status = 'pending' -- an administrator may have ended it meanwhile
      and (v.delivered or keyframe_private.is_leased(r.work_id, worker_id)));
  recorded constant uuid[] := array(select j.id from unnest(judged) j);
  endpoints constant uuid[] := array(select distinct j.endpoint_id from unnest(judged) j);
begin
  insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
  select j.id, j.owner_id, j.attempt, j.started_at, j.duration_ms, j.status_code, j.error, j.response_excerpt from unnest(judged) j
  -- Conflicts only if an administrator lowered attempts by hand; that must not block the rest of the batch.
  on conflict (delivery_id, attempt) do nothing;
  delete from keyframe_private.work w where w.id = any (array(select j.work_id from unnest(judged) j where j.next_at is null));
  perform keyframe_private.reschedule_all(array_agg(j.work_id), array_agg(j.next_at), at)
  from unnest(judged) j where j.next_at is not null having count(*) > 0;
  update keyframe.webhook_endpoints e
  set (failing_since, standing, quick_answers, enabled, disabled_reason, disabled_at) = (
    select n.failing_since, n.standing, n.quick_answers, n.enabled, n.disabled_reason, n.disabled_at
    from keyframe_private.judge_endpoint(e, a.delivered, a.is_gone, a.is_slow, a.answers, at) n)
  from (
    select j.endpoint_id, bool_or(j.delivered) as delivered, bool_or(j.status_code = 410) as is_gone,
      bool_or(j.duration_ms >= 3000) as is_slow, count(j.status_code) as answers
    from unnest(judged) j group by 1) a
  cross join lateral (
    select w.id from keyframe.webhook_endpoints w
    where w.id = a.endpoint_id
      and keyframe_private.judge_endpoint(w, a.delivered, a.is_gone, a.is_slow, a.answers, at) is distinct from w
    for no key update skip locked) unlocked
  where e.id = unlocked.id and e.id = any (endpoints);
  -- Last: its trigger counts the hours of the endpoint, in rows that other workers change too.
  update keyframe.webhook_deliveries d
  set attempts = j.attempt, last_attempt_at = j.started_at, last_status_code = j.status_code, last_error = j.error,
      status = case when j.delivered then 'delivered' when j.next_at is null then 'exhausted' else 'pending' end::keyframe.delivery_status,
      next_attempt_at = coalesce(j.next_at, d.next_attempt_at),
      completed_at = case when j.next_at is null then at end
  from unnest(judged) j where j.id = d.id and d.id = any (recorded);
  return recorded;
end $$;

create type keyframe_private.pending_delivery as (
  work_id bigint, lane uuid, id uuid, attempt integer, event_id uuid, next_at timestamptz, body text);
comment on type keyframe_private.pending_delivery is 'A delivery that has not ended, with its work. body: what is sent now; null: nothing, and it is due again at next_at.';

-- Chooses which deliveries of the leased work are sent now: of those that are due, bodies of at most max_bytes in all, but one at least. Each
-- is ranked by the bytes of its owner up to it, the oldest work first, so that one owner's large bodies delay no other's. Leaves out deliveries
-- that have ended, and work that is leased twice (a redelivery adds a second row).
create function keyframe_private.choose_deliveries(leased keyframe_private.work[], max_bytes integer, at timestamptz)
returns setof keyframe_private.pending_delivery language plpgsql volatile set search_path = '' as $$
begin
  return query
  -- pending: not ended, and leased once. Written as `(select …) is null`: `not exists` may be planned as a join that reads the whole queue.
  with pending as materialized (
    select l.id as work_id, l.owner_id, l.lane, d.id, d.attempts, d.event_id, d.next_attempt_at
    from unnest(leased) l
    cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = l.subject offset 0) d
    where l.kind = 'deliver' and d.status = 'pending' and (
      select true from keyframe_private.work o where o.queue = 'deliver' and o.lane = l.lane and o.subject = l.subject and o.state = 'leased'
        and (o.id < l.id or o.lease_token <> l.lease_token) limit 1) is null
  ), due as materialized (
    select p.*, v.body, sum(octet_length(v.body)) over (partition by p.owner_id order by p.work_id rows unbounded preceding) as bytes_of_owner
    from pending p
    cross join lateral (select e.payload::text as body from keyframe.webhook_events e where e.id = p.event_id) v
    where p.next_attempt_at <= at
  ), counted as (
    select d.*, sum(octet_length(d.body)) over (order by d.bytes_of_owner, d.work_id rows unbounded preceding) as bytes from due d
  )
  select c.work_id, c.lane, c.id, c.attempts + 1, c.event_id, at,
    case when c.bytes <= max_bytes or c.bytes = octet_length(c.body) then c.body end
  from counted c
  union all
  select p.work_id, p.lane, p.id, p.attempts + 1, p.event_id, p.next_attempt_at, null from pending p where p.next_attempt_at > at;
end $$;

-- Returns what is sent of the leased work, by endpoint, the oldest work first. The rest ends its lease here: what is too large now is ready
-- again, what is due later (it was added after `at`, or moved) is scheduled, and what was left out is deleted.
create function keyframe_private.hand_out_deliveries(leased keyframe_private.work[], max_bytes integer, at timestamptz)
returns json language plpgsql volatile set search_path = '' as $$
declare
  leased_row keyframe_private.work;
  chosen keyframe_private.pending_delivery[];
begin
  for leased_row in select l.* from unnest(leased) l where l.kind = 'resume' loop
    perform keyframe_private.resume_deliveries(leased_row, at);
  end loop;
  chosen := array(select c from keyframe_private.choose_deliveries(leased, max_bytes, at) c);
  perform keyframe_private.reschedule_all(array_agg(c.work_id), array_agg(c.next_at), at)
  from unnest(chosen) c where c.body is null having count(*) > 0;
  delete from keyframe_private.work w where w.id = any (array(
    select l.id from unnest(leased) l where l.kind = 'deliver' except select c.work_id from unnest(chosen) c));
  return (
    select coalesce(json_agg(json_build_object(
      'endpoint_id', e.id, 'url', e.url, 'max_open', case when e.failing_since is null then e.max_in_flight else 1 end,
      'secrets', keyframe_private.webhook_secrets_of(e.id, at), 'deliveries', s.deliveries)), '[]')
    from (
      select c.lane, json_agg(json_build_object(
        'id', c.id, 'work_id', c.work_id, 'attempt', c.attempt, 'event_id', c.event_id, 'body', c.body) order by c.work_id) as deliveries
      from unnest(chosen) c where c.body is not null group by c.lane) s
    cross join lateral (select o.* from keyframe.webhook_endpoints o where o.id = s.lane offset 0) e);
end $$;

-- Ends the leases of deliveries that the worker holds and does not send.
create function keyframe_private.give_back(work_ids bigint[], worker_id uuid, at timestamptz)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.reschedule_all(array_agg(w), array_agg(at), at) from unnest(work_ids) w
  where keyframe_private.is_leased(w, worker_id) having count(*) > 0;
end $$;

-- returned: leased work that is not sent. The time limit is below the worker's own; PostgREST applies it before the call, and worker/main.ts sets
-- the same for its connection. Everything it calls uses the indexes, whatever the statistics say, and keeps its plans.
create function keyframe_worker.exchange_deliveries(
  results jsonb, worker_id uuid, max_rows integer, returned jsonb default '[]', max_bytes integer default 500000,
  heartbeat_ms integer default null, wait_ms integer default 0, report jsonb default '{}', cursors jsonb default '{}',
  at timestamptz default now())
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '4s'
  set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  recorded uuid[] := '{}';
  unrecorded uuid[] := '{}';
  found_work record;
  endpoints json := '[]';
  is_more boolean := false;
begin
  if results = '[]' then
    -- The commit does not wait for the disk: what was leased shortly before a crash is leased again.
    perform set_config('synchronous_commit', 'off', true);
    perform keyframe_private.wait_for_due('deliver', '{deliver}', wait_ms);
    at := at + (clock_timestamp() - now()); -- work became due during the wait
  else
    recorded := keyframe_private.record_results(results, worker_id, at);
    if cardinality(recorded) < jsonb_array_length(results) then
      unrecorded := array(
        select r.id from jsonb_to_recordset(results) r (id uuid, work_id bigint, attempt integer)
        cross join lateral (select o.* from keyframe.webhook_deliveries o where o.id = r.id offset 0) d
        where d.attempts = r.attempt - 1 and d.status = 'pending' and r.id <> all (recorded) and keyframe_private.is_leased(r.work_id, worker_id));
      -- The rest has ended meanwhile: a claim drops it.
      perform keyframe_private.give_back(array(
        select r.work_id from jsonb_to_recordset(results) r (id uuid, work_id bigint)
        where r.id <> all (recorded) and r.id <> all (unrecorded)), worker_id, at);
    end if;
  end if;
  if returned <> '[]' then
    perform keyframe_private.give_back(array(select jsonb_array_elements_text(returned)::bigint), worker_id, at);
  end if;
  if heartbeat_ms is not null then
    perform keyframe_private.record_heartbeat('deliver', heartbeat_ms, report);
  end if;
  if max_rows > 0 then
    select l.* into found_work from keyframe_private.lease_work('deliver', worker_id, max_rows, at, cursors) l;
    cursors := found_work.cursors;
    is_more := found_work.is_cut or cardinality(found_work.leased) > 0;
    endpoints := keyframe_private.hand_out_deliveries(found_work.leased, max_bytes, at);
  end if;
  if coalesce(heartbeat_ms, 0) <= 0 and keyframe_private.has_due_work('{deliver}', at) then
    perform keyframe_private.kick_unless_running('deliver'); -- a worker that stops leaves due deliveries to the next one
  end if;
  return json_build_object('endpoints', endpoints, 'cursors', cursors, 'more', is_more, 'unrecorded', unrecorded);
end $$;
comment on function keyframe_worker.exchange_deliveries is 'Records the results of requests and leases due deliveries: { endpoints: [{ endpoint_id, url, max_open, secrets, deliveries: [{ id, work_id, attempt, event_id, body }] }], unrecorded: [id], cursors, more }. unrecorded: locked deliveries; the worker sends their results again.';

-- supabase/schemas/60_webhooks/50_api.sql

-- Functions that api calls for webhook endpoints.

-- Changes of one endpoint run one at a time. `no key update`, so that a recovery (`key share`) does not wait for them.
create function keyframe_private.own_endpoint(endpoint uuid, lock boolean default false)
returns keyframe.webhook_endpoints language plpgsql volatile set search_path = '' as $$
declare
  requested keyframe.webhook_endpoints;
begin
  perform keyframe_private.require_client_may('manage');
  if lock then
    perform from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_own(e.owner_id) for no key update;
  end if;
  select e.* into requested from keyframe.webhook_endpoints e where e.id = endpoint and keyframe_private.is_own(e.owner_id);
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no webhook endpoint with this id.');
  return requested;
end $$;

-- Administrators may set up to 100 by hand.
create function keyframe_private.require_max_in_flight(max_in_flight integer)
returns void language plpgsql immutable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(max_in_flight not between 1 and 8, 'invalid_request', 'maxInFlight must be from 1 to 8.');
end $$;

create function keyframe.create_webhook_endpoint(
  url text, description text default '', event_types text[] default '{}', enabled boolean default true, max_in_flight integer default 8,
  idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  created keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  if not request.replayed then
    perform keyframe_private.require_client_may('manage');
    perform keyframe_private.require_max_in_flight(create_webhook_endpoint.max_in_flight);
    insert into keyframe.webhook_endpoints (id, owner_id, url, description, event_types, enabled, max_in_flight)
    values (request.resource_id, auth.uid(), create_webhook_endpoint.url, create_webhook_endpoint.description,
      create_webhook_endpoint.event_types, create_webhook_endpoint.enabled, create_webhook_endpoint.max_in_flight);
  end if;
  created := keyframe_private.own_endpoint(request.resource_id);
  return jsonb_build_object('endpoint', to_jsonb(created), 'secret', keyframe_private.webhook_secret(created.id),
    'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_webhook_endpoint is 'Creates an endpoint of the caller, with its secret; with the secret key a service-wide one.';

create function keyframe.list_webhook_endpoints()
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  listed jsonb;
  by_service boolean := coalesce(auth.role() = 'service_role', false);
  caller uuid := case when not by_service then auth.uid() end;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(to_jsonb(e) order by e.created_at desc, e.id desc), '[]') into listed
  from keyframe.webhook_endpoints e
  where e.owner_id = caller or (e.owner_id is null and by_service); -- an index condition for each half of is_own
  return jsonb_build_object('endpoints', listed, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_webhook_endpoints is 'The endpoints the caller manages, newest first.';

create function keyframe.read_webhook_endpoint(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return jsonb_build_object('endpoint', to_jsonb(keyframe_private.own_endpoint(endpoint_id)), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_webhook_endpoint is 'One endpoint of the caller.';

create function keyframe.update_webhook_endpoint(
  endpoint_id uuid, url text default null, description text default null, event_types text[] default null, enabled boolean default null,
  max_in_flight integer default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change');
  changed keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  changed := keyframe_private.own_endpoint(endpoint_id, lock => true);
  perform keyframe_private.require_max_in_flight(update_webhook_endpoint.max_in_flight);
  update keyframe.webhook_endpoints e
  set url = coalesce(update_webhook_endpoint.url, e.url),
      description = coalesce(update_webhook_endpoint.description, e.description),
      event_types = coalesce(update_webhook_endpoint.event_types, e.event_types),
      enabled = coalesce(update_webhook_endpoint.enabled, e.enabled),
      max_in_flight = coalesce(update_webhook_endpoint.max_in_flight, e.max_in_flight)
  where e.id = changed.id
  returning e.* into changed;
  return jsonb_build_object('endpoint', to_jsonb(changed), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.update_webhook_endpoint is 'Changes the given fields of an endpoint of the caller; null keeps a field.';

create function keyframe.delete_webhook_endpoint(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change');
  gone keyframe.webhook_endpoints;
  refused keyframe_private.refusal;
begin
  gone := keyframe_private.own_endpoint(endpoint_id, lock => true);
  delete from keyframe.webhook_endpoints e where e.id = gone.id;
  return jsonb_build_object('endpoint', to_jsonb(gone), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.delete_webhook_endpoint is 'Deletes an endpoint of the caller with its secrets. Its deliveries are hidden at once, and deleted in batches.';

create function keyframe.reveal_webhook_secret(endpoint_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_endpoint(endpoint_id);
  return jsonb_build_object('secret', keyframe_private.webhook_secret(endpoint_id), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.reveal_webhook_secret is 'The current signing secret of an endpoint of the caller.';

create function keyframe.rotate_webhook_secret(
  endpoint_id uuid, overlap_hours integer default 24, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  endpoint keyframe.webhook_endpoints;
  secret text;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  endpoint := keyframe_private.own_endpoint(endpoint_id, lock => not request.replayed);
  perform keyframe_private.raise_if(overlap_hours is null or overlap_hours not between 0 and 72, 'invalid_request',
    'overlapHours must be from 0 to 72.');
  if not request.replayed then
    perform keyframe_private.replace_webhook_secret(endpoint.id, make_interval(hours => overlap_hours), request.resource_id);
  end if;
  -- The secret that this rotation made, which may no longer be the current one.
  select v.decrypted_secret into secret
  from keyframe_private.webhook_secrets s
  join vault.decrypted_secrets v on v.id = s.vault_secret_id
  where s.id = request.resource_id and s.endpoint_id = endpoint.id and (s.expires_at is null or s.expires_at > now());
  perform keyframe_private.raise_if(not found, 'not_found',
    'The secret that this Idempotency-Key created no longer signs: a later rotation replaced it. '
    'Read the current one: GET /api/webhooks/:id/secret.');
  return jsonb_build_object('secret', secret, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.rotate_webhook_secret is 'Gives an endpoint of the caller a new secret; the old one also signs for overlap_hours (0: every old one stops at once).';

-- A delivery counts in the hour (UTC) of its last attempt: a delivered one that is being sent again in none, an exhausted one as retrying.
-- Hours without an attempt are omitted.
create function keyframe.webhook_health(endpoint_id uuid default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  since timestamptz := date_trunc('hour', now(), 'UTC') - interval '23 hours';
  endpoints jsonb;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('manage');
  select coalesce(jsonb_agg(jsonb_build_object('endpoint_id', e.id, 'last', l.last, 'hours', h.hours) order by e.created_at desc, e.id),
    '[]')
  into endpoints
  from keyframe.webhook_endpoints e
  left join lateral (
    select to_jsonb(w.last_attempt) as last
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and (w.last_attempt).at is not null
    order by w.hour desc limit 1
  ) l on true
  cross join lateral (
    select coalesce(jsonb_agg(jsonb_build_object(
      'hour', w.hour, 'delivered', w.delivered, 'retrying', w.retrying, 'exhausted', w.exhausted) order by w.hour), '[]') as hours
    from keyframe_private.webhook_hours w
    where w.endpoint_id = e.id and w.hour >= since
  ) h
  where e.owner_id = auth.uid() and (webhook_health.endpoint_id is null or e.id = webhook_health.endpoint_id);
  return jsonb_build_object('since', since, 'endpoints', endpoints, 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.webhook_health is 'The outcomes of the caller''s deliveries in the last 24 hours: { since, endpoints: [{ endpoint_id, last: { at, status_code, error }, hours: [{ hour, delivered, retrying, exhausted }] }], rate }. One endpoint, or all of them.';

-- Functions that api calls for the deliveries of an endpoint: test, list, read, send again.

create function keyframe_private.delivery_json(delivery keyframe.webhook_deliveries)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return to_jsonb(delivery) - 'retries_from' || jsonb_build_object('attempt_log', coalesce((
    select jsonb_agg(to_jsonb(a) - array['id', 'delivery_id', 'owner_id'] order by a.attempt)
    from keyframe.webhook_attempts a where a.delivery_id = delivery.id), '[]')) || (
    select jsonb_build_object('body', v.payload::text, 'project_id', v.project_id, 'prediction_id', v.prediction_id,
      'project_title', p.title)
    from keyframe.webhook_events v
    left join keyframe.projects p on p.id = v.project_id and p.owner_id = v.owner_id
    where v.id = delivery.event_id);
end $$;

create function keyframe_private.own_delivery(delivery uuid, lock boolean default false)
returns keyframe.webhook_deliveries language plpgsql volatile set search_path = '' as $$
declare
  requested keyframe.webhook_deliveries;
begin
  perform keyframe_private.require_client_may('manage');
  if lock then
    perform from keyframe.webhook_deliveries d where d.id = delivery and keyframe_private.is_own(d.owner_id) for update;
  end if;
  select d.* into requested from keyframe.webhook_deliveries d
  where d.id = delivery and keyframe_private.is_own(d.owner_id)
    and exists (select from keyframe.webhook_endpoints e where e.id = d.endpoint_id);
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no delivery with this id.');
  return requested;
end $$;

create function keyframe.test_webhook_endpoint(endpoint_id uuid, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  endpoint keyframe.webhook_endpoints;
  event uuid;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  if not request.replayed then
    endpoint := keyframe_private.own_endpoint(endpoint_id, lock => true);
    perform keyframe_private.raise_if(not endpoint.enabled, 'invalid_request', 'This endpoint is disabled. Enable it, then test it.');
    insert into keyframe.webhook_events (type, owner_id, endpoint_id, payload)
    values ('webhook.test', endpoint.owner_id, endpoint.id, jsonb_build_object(
      'type', 'webhook.test', 'timestamp', keyframe_private.wire_time(now()), 'data', jsonb_build_object('endpointId', endpoint.id)))
    returning id into event;
    insert into keyframe.webhook_deliveries (id, event_id, endpoint_id, owner_id, event_type)
    values (request.resource_id, event, endpoint.id, endpoint.owner_id, 'webhook.test');
  end if;
  return jsonb_build_object('delivery', keyframe_private.delivery_json(keyframe_private.own_delivery(request.resource_id)),
    'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.test_webhook_endpoint is 'Sends webhook.test to one endpoint of the caller, also when its event_types exclude it, but not when it is disabled.';

create function keyframe.list_webhook_deliveries(
  endpoint_id uuid, status keyframe.delivery_status default null, max_rows integer default 20,
  before_created_at timestamptz default 'infinity', before_id uuid default 'ffffffff-ffff-ffff-ffff-ffffffffffff', event_type text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  page keyframe.webhook_deliveries[];
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_endpoint(endpoint_id);
  -- Walks the index once for each status and event type, a page each: few among a million are found as quickly as many.
  page := array(
    select w.delivery
    from unnest(case when list_webhook_deliveries.status is null then enum_range(null::keyframe.delivery_status)
      else array[list_webhook_deliveries.status] end) as s (status)
    cross join unnest(case when list_webhook_deliveries.event_type is null then keyframe_private.event_types()
      else array[list_webhook_deliveries.event_type] end) as t (event_type)
    cross join lateral (
      select d as delivery from keyframe.webhook_deliveries d
      where d.endpoint_id = list_webhook_deliveries.endpoint_id and d.status = s.status and d.event_type = t.event_type
        and (d.created_at, d.id) < (before_created_at, before_id)
      order by d.created_at desc, d.id desc
      limit least(max_rows, 101) -- a page of 100, and one more that shows whether there is a next page
    ) w
    order by (w.delivery).created_at desc, (w.delivery).id desc
    limit least(max_rows, 101));
  rate := keyframe_private.acquire_more_tokens(rate, cardinality(page), 25);
  return jsonb_build_object('rate', rate, 'deliveries', (
    select coalesce(jsonb_agg(keyframe_private.delivery_json(d) order by d.created_at desc, d.id desc), '[]') from unnest(page) d));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_webhook_deliveries is 'Deliveries of an endpoint of the caller with their attempts, newest first. The next page follows (before_created_at, before_id). Costs one token more for each 25.';

create function keyframe.read_webhook_delivery(delivery_id uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read');
  refused keyframe_private.refusal;
begin
  return jsonb_build_object(
    'delivery', keyframe_private.delivery_json(keyframe_private.own_delivery(delivery_id)), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.read_webhook_delivery is 'One delivery of the caller with its attempts.';

create function keyframe.redeliver_webhook(delivery_id uuid, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  again keyframe.webhook_deliveries;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  again := keyframe_private.own_delivery(delivery_id, lock => not request.replayed);
  if not request.replayed then
    -- A delivery that is being sent stays with its worker; its retries restart.
    update keyframe.webhook_deliveries d
    set status = 'pending', completed_at = null, retries_from = d.attempts, next_attempt_at = now()
    where d.id = again.id
    returning d.* into again;
  end if;
  return jsonb_build_object('delivery', keyframe_private.delivery_json(again), 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.redeliver_webhook is 'Sends one delivery of the caller again, whatever its outcome; its retry schedule begins again.';

-- Missed means without a delivery: the endpoint was disabled, or did not have the event's type yet. Skips events within a minute of their retention's end: waiting for a row that is being
-- pruned would end in an error. The oldest event is sent first.
create function keyframe.recover_webhook_endpoint(
  endpoint_id uuid, since timestamptz, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' set jit = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  request record;
  oldest constant timestamptz := greatest(
    since, now() - (select s.webhook_retention from keyframe_private.settings s) + interval '1 minute');
  endpoint keyframe.webhook_endpoints;
  recovered integer;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  perform keyframe_private.require_client_may('manage');
  if request.replayed then
    return request.answer || jsonb_build_object('replayed', true, 'rate', request.rate);
  end if;
  -- The deletion of the endpoint and its other recoveries wait.
  perform from keyframe.webhook_endpoints e
  where e.id = recover_webhook_endpoint.endpoint_id and keyframe_private.is_own(e.owner_id) for key share;
  endpoint := keyframe_private.own_endpoint(endpoint_id);
  perform keyframe_private.acquire_lock('recovery', endpoint.id);
  -- Added as exhausted: the update below then makes all of them pending at once, in the order of their events.
  insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, completed_at, next_attempt_at)
  select v.id, endpoint.id, endpoint.owner_id, v.type, 'exhausted', now(), v.created_at
  from keyframe.webhook_events v
  where v.created_at >= greatest(oldest, endpoint.created_at) and v.type <> 'webhook.test'
    and (endpoint.owner_id is null or v.owner_id = endpoint.owner_id)
    and (endpoint.event_types = '{}' or v.type = any (endpoint.event_types))
  on conflict on constraint webhook_deliveries_event_id_endpoint_id_key do nothing;
  -- In id order, as the recording of results locks them: otherwise the two could deadlock.
  with failed as materialized (
    select d.id, least(d.next_attempt_at, d.created_at) as due from keyframe.webhook_deliveries d
    where d.endpoint_id = endpoint.id and d.status = any (array['exhausted', 'pending']::keyframe.delivery_status[])
      and d.created_at >= oldest
      -- Due deliveries are sent anyway.
      and (d.status = 'exhausted' or d.attempts > d.retries_from and d.next_attempt_at > now())
    order by d.id
    for update
  )
  update keyframe.webhook_deliveries d
  set status = 'pending', completed_at = null, retries_from = d.attempts, next_attempt_at = least(d.next_attempt_at, d.created_at)
  -- By nested loops in this order, in which the trigger adds their work.
  from (select f.id from failed f order by f.due, f.id) o where d.id = o.id;
  get diagnostics recovered = row_count;
  update keyframe_private.idempotency_keys k set answer = jsonb_build_object('recovered', recovered)
    where k.resource_id = request.resource_id;
  return jsonb_build_object('recovered', recovered, 'replayed', false, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.recover_webhook_endpoint is 'Sends what failed since a time again, and events of the endpoint''s present types that have no delivery: it was disabled, or did not have the type yet.';

-- supabase/schemas/70_files/10_uploads.sql

-- Two private buckets: projects for uploads, keyframe-outputs for generated files. Neither takes SVG or HTML, which run scripts.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('projects', 'projects', false, 10485760, array['image/png', 'image/jpeg', 'image/webp']),
  ('keyframe-outputs', 'keyframe-outputs', false, 209715200, array[
    'image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif', 'image/bmp', 'image/x-icon',
    'video/mp4', 'video/webm', 'video/x-matroska', 'video/ogg', 'audio/mpeg', 'audio/wav', 'audio/flac', 'audio/aac']);

-- Uploads of reference images. `api` makes them with the secret key, which has no owner in Storage, and writes `user_metadata`: the pixels
-- and the owner. Users may write no file (98_policies.sql).

-- The name in the bucket of projects/<file_name>.
create function keyframe_private.file_name_of(path text)
returns text language plpgsql immutable strict set search_path = '' as $$
begin
  return substr(path, length('projects/') + 1);
end $$;

-- The pixels of an uploaded image as it is shown, which the upload read from its bytes. Null for a file that an administrator put there.
create function keyframe_private.upload_size(path text, out width integer, out height integer)
language plpgsql stable set search_path = '' as $$
begin
  select (o.user_metadata ->> 'width')::integer, (o.user_metadata ->> 'height')::integer into width, height
  from storage.objects o
  where o.bucket_id = 'projects' and o.name = keyframe_private.file_name_of(path)
    and o.user_metadata ->> 'width' ~ '^[1-9][0-9]{0,4}$' and o.user_metadata ->> 'height' ~ '^[1-9][0-9]{0,4}$';
end $$;

-- Called before the body is read, and with an Idempotency-Key again with its hash. Each request uses a token, even a refused one.
create function keyframe.admit_upload(idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  file uuid;
  replayed boolean := false;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('generate');
  if request_hash is not null then
    -- No row: the key is new, or an equal request has already set the hash.
    update keyframe_private.idempotency_keys k set request_hash = admit_upload.request_hash
    where k.owner_id = auth.uid() and k.client_id is not distinct from auth.jwt() ->> 'client_id' and k.key = idempotency_key
      and k.request_hash is null
    returning k.resource_id into file;
  end if;
  if file is null then
    select r.resource_id, r.replayed into file, replayed
      from keyframe_private.reserve_idempotency_key(
        idempotency_key, admit_upload.request_hash, replay_class => null) r;
    if request_hash is null or not replayed then
      perform keyframe_private.acquire_token('upload');
    end if;
  end if;
  return jsonb_build_object('file_id', file, 'replayed', replayed, 'rate', keyframe_private.rate_state('upload'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'upload');
end $$;
comment on function keyframe.admit_upload is 'Counts an upload of the caller and names its file.';

-- supabase/schemas/70_files/20_removals.sql

-- `generate` removes files that no row names, through Storage.

-- Storage deletes only through its own API, outside any transaction. Vacuum at 2 %: each task must skip the dead entries until it runs.
create table keyframe_private.file_removals (
  bucket text not null,
  name text not null,
  owner_id uuid not null default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  failures integer not null default 0,
  removed_by bigint,
  created_at timestamptz not null default now(),
  primary key (bucket, name)
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table keyframe_private.file_removals is 'Files to remove from Storage, retried until it works: Storage may be down for a day. Their work is a row of each owner.';
comment on column keyframe_private.file_removals.owner_id is 'The owner of the file. All-f, the default, means no owner.';
comment on column keyframe_private.file_removals.removed_by is 'The work that has begun to remove it: the file may already be gone.';
create index file_removals_owner_id_idx on keyframe_private.file_removals (owner_id, failures, bucket, name);
create index file_removals_created_at_idx on keyframe_private.file_removals (created_at);

-- Always a new row: a queued one may be read before this transaction commits.
create function keyframe_private.add_removal_work()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_work('ask', 'remove', o.owner_id, o.owner_id, 'remove') from (select distinct a.owner_id from added a) o;
  return null;
end $$;

-- All names that its output can have: until a worker reports it, nobody else knows which one it wrote.
create function keyframe_private.output_names(prediction keyframe.predictions)
returns setof text language sql stable set search_path = '' as $$
  select format('%s/%s/%s.%s', prediction.owner_id, prediction.project_id, prediction.id, extension)
  from unnest(array[
    'png', 'jpg', 'webp', 'gif', 'avif', 'bmp', 'ico', 'mp4', 'webm', 'mkv', 'ogv', 'mp3', 'wav', 'flac', 'aac']) as extension
$$;

-- Without a scan of all elements, which Postgres prefers to their index: it expects that one in 200 has any image.
create function keyframe_private.is_reference_used(path text)
returns boolean language plpgsql stable set search_path = '' set jit = off set enable_seqscan = off as $$
begin
  return exists (select from keyframe_private.prediction_images i where i.path = is_reference_used.path)
    or exists (select from keyframe.projects p where p.reference_image_path = is_reference_used.path)
    or exists (select from keyframe.elements e where e.image_paths @> array[is_reference_used.path])
    or exists (select from keyframe.predictions v where v.end_image_path = is_reference_used.path)
    or exists (
      select from keyframe.projects p
      where p.plan <> '{}' and keyframe_private.images_of_plan(p.plan) @> array[is_reference_used.path]);
end $$;

-- Called after a change of what used these images. An image that nothing uses is removed, so the change deletes it: raises if the caller is
-- a client that may not delete.
create function keyframe_private.require_may_remove(paths text[])
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may('manage')
    and exists (select from unnest(paths) i (path) where not keyframe_private.is_reference_used(i.path)) then
    perform keyframe_private.require_client_may('manage');
  end if;
end $$;

-- Adds removals of the files that a store may have written for a prediction that ended without its output.
create function keyframe_private.add_removals_of_partial_output(prediction uuid)
returns void language plpgsql volatile set search_path = '' as $$
declare
  written keyframe.predictions;
begin
  select p.* into written from keyframe.predictions p where p.id = prediction;
  if not found then
    select s.prediction_id, s.owner_id, s.project_id, 'canceled' into written.id, written.owner_id, written.project_id, written.status
    from keyframe_private.provider_submits s where s.prediction_id = prediction limit 1;
  end if;
  if written.status in ('failed', 'canceled') then
    insert into keyframe_private.file_removals (bucket, name, owner_id)
    select 'keyframe-outputs', name, written.owner_id from keyframe_private.output_names(written) as name
    on conflict do nothing;
  end if;
end $$;

-- Adds removals of those of an owner's uploaded images that nothing uses. Under the lock that a first use takes: a new prediction with the
-- same image is either visible here, or finds the removal recorded.
create function keyframe_private.add_removals_of_unused(owner uuid, paths text[])
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('references', owner);
  insert into keyframe_private.file_removals (bucket, name, owner_id)
  select 'projects', keyframe_private.file_name_of(i.path), owner from unnest(paths) i (path) where not keyframe_private.is_reference_used(i.path)
  on conflict do nothing;
end $$;

create function keyframe_private.add_removals_of_deleted()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.file_removals (bucket, name, owner_id)
  select 'keyframe-outputs', d.output_path, d.owner_id from deleted d where d.output_path is not null
  on conflict do nothing;
  perform keyframe_private.add_removals_of_unused(u.owner_id, u.paths)
  from (
    select d.owner_id, array_agg(distinct i.path) as paths
    from deleted d
    cross join lateral (select o.path from keyframe_private.images_of(d.input) o union all select d.end_image_path) i
    where i.path is not null group by d.owner_id order by d.owner_id) u;
  return null;
end $$;

create function keyframe_private.add_removals_of_element_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_removals_of_unused(old.owner_id, old.image_paths);
  perform keyframe_private.require_may_remove(old.image_paths); -- under the lock: an open transaction may have stopped using one
  return null;
end $$;

create function keyframe_private.images_of_project(project keyframe.projects)
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array_remove(keyframe_private.images_of_plan(project.plan) || project.reference_image_path, null);
end $$;

create function keyframe_private.add_removals_of_project_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.add_removals_of_unused(old.owner_id, keyframe_private.images_of_project(old));
  return null;
end $$;

create function keyframe_private.require_may_change_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.require_may_remove(array(
    select unnest(keyframe_private.images_of_project(old)) except select unnest(keyframe_private.images_of_project(new))));
  return null;
end $$;

-- For an image that a row begins to use: raises unless it is the owner's, and deletes its removal if it has one. Raises also if a worker has
-- begun that removal, because the file may already be gone.
create function keyframe_private.keep_reference(path text, owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.require_upload(path, owner);
  perform keyframe_private.acquire_lock('references', owner);
  delete from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = keyframe_private.file_name_of(path) and r.removed_by is null;
  perform keyframe_private.raise_if(
    exists (select from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = keyframe_private.file_name_of(path)), 'not_found',
    'This image is being removed because nothing used it. Upload it again.');
  perform keyframe_private.require_upload(path, owner); -- again, because it may have been removed before the lock
end $$;

create function keyframe_private.keep_reference_of_project()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if new.reference_image_path is distinct from old.reference_image_path then
    perform keyframe_private.keep_reference(new.reference_image_path, new.owner_id);
  end if;
  return new;
end $$;

create function keyframe_private.keep_element_images()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.keep_reference(i.path, new.owner_id) from unnest(new.image_paths) i (path)
  where new.owner_id is distinct from old.owner_id or array_position(old.image_paths, i.path) is null;
  return new;
end $$;

create function keyframe_worker.begin_removal(work_id bigint, lease_token uuid)
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
  files jsonb;
begin
  with due as (
    select r.bucket, r.name, r.bucket = 'projects' and keyframe_private.is_reference_used('projects/' || r.name) as is_needed
    from keyframe_private.file_removals r
    where r.owner_id = leased.subject and (r.removed_by is null or not exists (
      select from keyframe_private.work w where w.id = r.removed_by and w.id <> leased.id and w.state = 'leased'))
    order by r.failures, r.bucket, r.name limit 100 for update skip locked
  ), kept as (
    delete from keyframe_private.file_removals r using due where due.is_needed and r.bucket = due.bucket and r.name = due.name
  ), begun as (
    update keyframe_private.file_removals r set removed_by = leased.id
    from due where not due.is_needed and r.bucket = due.bucket and r.name = due.name
    returning r.bucket, r.name
  )
  select jsonb_agg(jsonb_build_object('bucket', b.bucket, 'name', b.name) order by b.bucket, b.name) into files from begun b;
  if files is not null then
    return files;
  elsif exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then -- they are locked
    perform keyframe_private.reschedule(leased, now() + keyframe_private.retry_delay(1), leased.failures, leased.last_error);
  else
    perform keyframe_private.finish_work(leased);
  end if;
  return null;
end $$;
comment on function keyframe_worker.begin_removal is 'The next files of an owner to remove, at most 100: [{ bucket, name }]. Null: there are none. Leaves out files that are used again.';

create function keyframe_worker.record_files_removed(work_id bigint, lease_token uuid, refused jsonb default '[]')
returns void language plpgsql volatile security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  leased constant keyframe_private.work := keyframe_private.lock_leased_work(work_id, lease_token);
begin
  update keyframe_private.file_removals r
  set removed_by = null, failures = r.failures + 1
  from jsonb_to_recordset(record_files_removed.refused) as f (bucket text, name text)
  where r.removed_by = leased.id and r.bucket = f.bucket and r.name = f.name;
  delete from keyframe_private.file_removals r where r.removed_by = leased.id and r.owner_id = leased.subject;
  if refused <> '[]' then
    perform keyframe_private.reschedule(leased, now() + keyframe_private.retry_delay(leased.failures + 1), leased.failures + 1, 'not_removed');
  elsif exists (select from keyframe_private.file_removals r where r.owner_id = leased.subject) then
    perform keyframe_private.reschedule(leased, now(), 0, null);
  else
    perform keyframe_private.finish_work(leased);
  end if;
end $$;
comment on function keyframe_worker.record_files_removed is 'Records a task that removes files: refused ones are retried later. `refused`: a list of {bucket, name}.';

-- Adds removals of uploads that nothing uses: unused_references_after their upload, or when the owner's account is deleted. Reads the whole
-- list of images, because we cannot add an index to Storage's table: call it rarely.
create function keyframe_private.add_removals_of_unused_uploads(max_images integer default 1000)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  owner uuid;
  paths text[];
begin
  for owner, paths in
    select u.id, array_agg('projects/' || u.name) from (
      select o.id, b.name from storage.objects b
      cross join lateral (
        select case when keyframe_private.is_uuid(b.user_metadata ->> 'ownerId') then (b.user_metadata ->> 'ownerId')::uuid end as id) o
      where b.bucket_id = 'projects' and o.id is not null -- a file without a user's id is an administrator's and is kept
        and (
          b.created_at < now() - (select s.unused_references_after from keyframe_private.settings s)
          or not exists (select from auth.users a where a.id = o.id))
        and not keyframe_private.is_reference_used('projects/' || b.name)
        and not exists (select from keyframe_private.file_removals r where r.bucket = 'projects' and r.name = b.name)
      -- in turn: an owner with thousands does not delay the others
      order by row_number() over (partition by o.id order by b.created_at)
      limit max_images) u
    group by u.id order by u.id
  loop
    continue when not keyframe_private.acquire_lock('references', owner, waits => false); -- an open transaction leaves them to the next run
    perform keyframe_private.add_removals_of_unused(owner, paths);
  end loop;
end $$;

-- supabase/schemas/80_jobs/10_pruning.sql

-- Pruning: deletes what is past its retention, gives up old searches for provider runs, and forgets the texts of submits.

-- Deletes a batch of what deleted endpoints left: deliveries first, then test events without deliveries, because a locked delivery would
-- block the deletion of its event. An endpoint is remembered for five minutes at least: a transaction that was open at its
-- deletion can add a delivery later.
create function keyframe_private.prune_deleted_endpoints(max_rows integer default 10000)
returns void language plpgsql volatile set search_path = '' as $$
declare
  -- Literals, because the planner has to see how few they are.
  gone constant uuid[] := array(select g.endpoint_id from keyframe_private.deleted_endpoints g order by g.deleted_at limit 1000);
  is_left constant text := format('o.endpoint_id = any (%L::uuid[])', gone);
begin
  if gone = '{}' then
    return;
  end if;
  -- Only from the index: an endpoint may have left a million.
  perform keyframe_private.run_in_batches('keyframe.webhook_deliveries', format(
    'o.id = any (array(select d.id from keyframe.webhook_deliveries d where d.endpoint_id = any (%L::uuid[]) limit %s))', gone, max_rows),
    max_rows);
  perform keyframe_private.run_in_batches('keyframe.webhook_events',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.event_id = o.id)', max_rows, 'delete tests in');
  perform keyframe_private.run_in_batches('keyframe_private.deleted_endpoints',
    is_left || ' and o.deleted_at < now() - interval ''5 minutes''
      and not exists (select from keyframe.webhook_deliveries d where d.endpoint_id = o.endpoint_id)
      and not exists (select from keyframe.webhook_events v where v.endpoint_id = o.endpoint_id)', max_rows);
end $$;

-- Deletes a batch of events past their retention, with their deliveries and attempts; also expired secrets, rows of webhook_hours older than
-- two days, and what deleted endpoints left.
create function keyframe_private.prune_webhooks(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.run_in_batches('keyframe_private.webhook_secrets', 'o.expires_at <= now() order by o.expires_at', max_rows);
  -- An endpoint's last hour is kept as long as events: it shows the latest attempt. Scalar subqueries, because joins would read all hours.
  perform keyframe_private.run_in_batches('keyframe_private.webhook_hours', $w$
    o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from keyframe_private.settings s)
      or (select true from keyframe_private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour$w$, max_rows * 5);
  perform keyframe_private.prune_deleted_endpoints();
  perform keyframe_private.run_in_batches('keyframe.webhook_events',
    'o.created_at < now() - (select s.webhook_retention from keyframe_private.settings s) order by o.created_at', max_rows);
end $$;

create function keyframe_private.prune(max_rows integer default 5000)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  name text;
  condition text;
begin
  -- No provider run takes longer than a day: one that was not found by then is lost.
  perform keyframe_private.run_in_batches('keyframe_private.provider_submits',
    $w$o.search_task is not null and o.submitted_at < now() - interval '1 day' order by o.submitted_at$w$,
    least(max_rows, 500), 'end', $w$select keyframe_private.end_submit(o.id, 'lost') from %s o where o.ctid = any ($1)$w$);
  -- is_only_submit_of_its_text reads up to two hours back.
  perform keyframe_private.run_in_batches('keyframe_private.provider_submits',
    $w$o.text_hash is not null and o.submitted_at < now() - interval '3 hours' order by o.submitted_at$w$,
    max_rows, 'forget the texts of', 'update %s o set text_hash = null where o.ctid = any ($1)');
  for name, condition in
    values
      ('quotes', $w$o.expires_at < now() - interval '1 minute' order by o.expires_at$w$),
      ('idempotency_keys', $w$o.created_at < now() - interval '24 hours' order by o.created_at$w$),
      ('provider_submits', $w$o.created_at < now() - interval '13 months' and o.ended_at is not null order by o.created_at$w$),
      ('cost_sums', $w$o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day$w$),
      ('film_shares', $w$o.expires_at < now() order by o.expires_at$w$),
      -- A key that has ended is kept for a while, so that its use gets a clear error.
      ('allowed_clients', $w$o.owner_id is not null and o.expires_at < now() - interval '30 days' order by o.expires_at$w$),
      ('limit_notes', $w$o.noted_at < now() - interval '13 months'$w$),
      ('kicks', $w$o.made_at < now() - interval '1 hour' order by o.id$w$),
      -- A row that is still due is tried again within minutes: these have ended, or are gone.
      ('skipped_rows', $w$o.next_try_at < now() - interval '1 hour' order by o.next_try_at$w$)
  loop
    perform keyframe_private.run_in_batches('keyframe_private.' || name, condition, max_rows);
  end loop;
  perform keyframe_private.prune_webhooks();
end $$;

-- Deletes full buckets unused for a day: a missing bucket is a full one. Reads all rows, one per active owner and class; an index on
-- refilled_at would end HOT updates.
create function keyframe_private.prune_rate_buckets(max_rows integer default 50000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.run_in_batches('keyframe_private.rate_buckets', $w$
    o.refilled_at < now() - interval '1 day' and (
      select o.tokens + l.per_second * extract(epoch from now() - o.refilled_at) < l.capacity
      from keyframe_private.rate_limits l where l.route_class = o.route_class) is not true$w$, max_rows);
end $$;

-- supabase/schemas/80_jobs/20_jobs.sql

-- Deployments schedule every job, and health watches it (job_figures). `late_after`: after this time without a success, it is late. Each has
-- a time limit, because an app's trigger may sleep. pg_cron's background workers do not enforce it, but batches check it (is_out_of_time).
create function keyframe_private.jobs()
returns table (name text, schedule text, command text, late_after interval) language sql immutable set search_path = '' as $$
  select j.name, j.schedule, 'set statement_timeout = ''' || j.time_limit || '''; ' || j.command, j.late_after::interval
  from (values
    ('keyframe-sweep', '5 seconds', '20s', 'select keyframe_private.sweep()', '1 minute'),
    ('keyframe-delete-parts', '5 seconds', '20s', 'select keyframe_private.delete_parts()', '1 minute'),
    ('keyframe-merge-costs', '5 seconds', '20s', 'select keyframe_private.merge_costs()', '1 minute'),
    -- Every minute: small batches then keep up with about 30 events a second.
    ('keyframe-prune', '* * * * *', '20s', 'select keyframe_private.prune()', '10 minutes'),
    ('keyframe-remove-unused-uploads', '37 * * * *', '2min', 'select keyframe_private.add_removals_of_unused_uploads()', '3 hours'),
    ('keyframe-add-lost-work', '53 * * * *', '2min', 'select keyframe_private.add_other_lost_work()', '3 hours'),
    ('keyframe-prune-rates', '23 * * * *', '2min', 'select keyframe_private.prune_rate_buckets()', '3 hours'),
    ('keyframe-prune-cron', '17 * * * *', '2min',
      'delete from cron.job_run_details d using cron.job j
        where j.jobid = d.jobid and j.jobname in (select w.name from keyframe_private.jobs() w)
          and (d.end_time < now() - interval ''1 day'' or d.status = ''failed'' and d.end_time is null)', '3 hours')
  ) j (name, schedule, time_limit, command, late_after)
$$;

-- The entries of each job in pg_cron, with the reason why an entry does not run in this database (null: it runs). pg_cron runs an entry as
-- its role, in its database, and connects to its node unless it uses background workers. A restored or renamed database keeps entries of
-- the former one. Two entries of one name have two roles.
create function keyframe_private.scheduled_jobs()
returns table (name text, schedule text, command text, late_after interval, jobid bigint, role text, obstacle text)
language sql stable set search_path = '' as $$
  select w.name, coalesce(c.schedule, w.schedule), w.command, w.late_after, c.jobid, o.owner,
    case
      when c.jobid is null then 'missing'
      when c.username <> o.owner then format('as entry %s of the role %s, not of %s', c.jobid, c.username, o.owner)
      when not c.active then 'switched off'
      when c.command <> w.command then 'with another command'
      when c.database <> current_database() then format('in the database %s, not in %s', c.database, current_database())
      when coalesce(current_setting('cron.use_background_workers', true), 'off') <> 'on'
          and (c.nodename, c.nodeport) <> (coalesce(nullif(current_setting('cron.host', true), ''), 'localhost'), current_setting('port')::integer)
        then format('at the server %s:%s, not at this one', c.nodename, c.nodeport)
    end
  from keyframe_private.jobs() w
  cross join (
    select pg_catalog.pg_get_userbyid(n.nspowner)::text as owner from pg_catalog.pg_namespace n where n.nspname = 'keyframe_private') o
  left join cron.job c on c.jobname = w.name
$$;

-- Makes each job run here. An entry that runs stays as it is, also with a schedule that an administrator has changed. Every other one is
-- removed, also one that is switched off (cron.schedule would change it, but not switch it on), and a job without an entry that runs is
-- scheduled, by the role of the migrations even if a superuser calls. Returns the entries that the caller may not remove.
create function keyframe_private.schedule_jobs()
returns text[] language plpgsql volatile set search_path = '' as $$
declare
  caller constant text := current_setting('role');
  entries constant jsonb := (select jsonb_agg(to_jsonb(j)) from keyframe_private.scheduled_jobs() j);
  kept text[] := '{}';
  entry record;
begin
  for entry in
    select e.* from jsonb_to_recordset(entries) as e (name text, jobid bigint, obstacle text) where e.obstacle is not null and e.jobid is not null
  loop
    begin
      perform cron.unschedule(entry.jobid);
    exception when others then
      kept := kept || format('%s is there %s: as that role or a superuser, select cron.unschedule(%s);', entry.name, entry.obstacle, entry.jobid);
    end;
  end loop;
  for entry in
    select distinct on (e.name) e.* from jsonb_to_recordset(entries) as e (name text, schedule text, command text, role text, obstacle text)
    order by e.name, e.obstacle is not null
  loop
    if entry.obstacle is not null then
      perform set_config('role', entry.role, true);
      perform cron.schedule(entry.name, entry.schedule, entry.command);
      perform set_config('role', caller, true);
    end if;
  end loop;
  return kept;
end $$;

-- Health names the entries that this could not remove.
select keyframe_private.schedule_jobs();

-- supabase/schemas/85_health/10_health.sql

-- Plain health, and the figures of the service for GET /api/health?deep=1 and GET /api/metrics; shared/contract/service.ts explains them.
-- Counts stop at 10,000 rows, and an oldest row is found by an index. More is read for `costs` (all changes that merge_costs has not merged),
-- `deliveries` (all endpoints), `kicks` (pg_net's queue) and `lastKicks` (the answers of some minutes).

-- Definer, because anyone may call it. Answers even if tables are locked: it waits for all locks together for 300 ms. `writes` is ok,
-- read_only, settings_missing or locked. locked: someone has locked a table that a new project, a start, a result or this function needs.
-- Volatile, because the Data API calls other functions in read-only transactions. read_only: sessions that take the default cannot write, so
-- jobs, kicks, Auth and Storage fail. The Data API begins its own transactions as read write.
create function keyframe.health()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  began constant timestamptz := clock_timestamp();
  version text;
  writes text;
  needed record;
begin
  begin
    version := (select i.version from keyframe_private.installation i order by string_to_array(i.version, '.')::int[] desc limit 1);
    -- What these writes would lock, without a write. test/db/service/health-locks.test.ts finds tables that are missing here.
    for needed in
      select t.name, l.mode from (values
        ('access share', '{keyframe_private.settings,keyframe.models,keyframe.step_defaults}'::text[]),
        ('row share', '{auth.users}'),
        ('row exclusive', '{keyframe.projects,keyframe.predictions,keyframe_private.prediction_images,keyframe_private.idempotency_keys}'),
        ('row exclusive', '{keyframe_private.rate_buckets,keyframe_private.provider_submits,keyframe_private.cost_changes}'),
        ('row exclusive', '{keyframe_private.work,keyframe_private.kicks,keyframe.webhook_events,keyframe.webhook_deliveries}'),
        ('row exclusive', '{keyframe.webhook_attempts,keyframe.webhook_endpoints,keyframe_private.webhook_hours}')
      ) l (mode, names), unnest(l.names) t (name)
    loop
      perform set_config('lock_timeout', greatest(1, 300 - floor(1000 * extract(epoch from clock_timestamp() - began)))::text, true);
      execute format('lock table %s in %s mode', needed.name, needed.mode);
    end loop;
    writes := case when current_setting('default_transaction_read_only')::boolean then 'read_only'
      when exists (select from keyframe_private.settings) then 'ok' else 'settings_missing' end;
  exception when lock_not_available then
    writes := 'locked';
  end;
  return jsonb_build_object('schema', version, 'writes', writes);
end $$;
comment on function keyframe.health is 'Answers when the database does, with the version of its schema.';

-- A future moment counts as 0.
create function keyframe_private.seconds_since(moment timestamptz)
returns numeric language sql stable set search_path = ''
return case when moment is not null then round(greatest(0, extract(epoch from now() - moment)), 3) end;

-- Reads each part on its own: one that is locked, fails or takes too long is null, and `unread` says why. Together they wait for locks for
-- 300 ms, and then for 10 ms each. Once the time limit has ended a part, nothing limits the next one, so none is read any more. That is why
-- the parts that may read many rows, or tables of extensions, are last. Definer: only the secret key may call it, and it needs no right on
-- the tables.
create function keyframe_worker.service_figures()
returns jsonb language plpgsql volatile security definer set search_path = '' set lock_timeout = '300ms' as $$
declare
  began constant timestamptz := clock_timestamp();
  figures jsonb := '{}';
  unread jsonb := '[]';
  part record;
  value jsonb;
begin
  for part in
    select * from (values
      ('workers', 'worker_figures'), ('due', 'due_figures'), ('skipped', 'skipped_figures'), ('predictions', 'prediction_figures'),
      ('events', 'event_figures'), ('fileRemovals', 'file_removal_figures'), ('unavailableModels', 'unavailable_models'),
      ('limitedOwners', 'limited_owners'), ('appTriggers', 'app_triggers'), ('calls', 'call_figures'), ('snapshots', 'snapshot_figures'),
      ('blockers', 'blocker_figures'), ('settings', 'setting_figures'), ('costs', 'cost_figures'), ('jobs', 'job_figures'),
      ('clockBackSeconds', 'clock_back_seconds'), ('deliveries', 'delivery_figures'), ('kicks', 'kick_figures'),
      ('lastKicks', 'last_kick_figures')
    ) p (name, function_name)
  loop
    begin
      if keyframe_private.is_out_of_time() then
        raise query_canceled using message = 'no time was left';
      end if;
      perform set_config('lock_timeout', greatest(10, 300 - floor(1000 * extract(epoch from clock_timestamp() - began)))::text, true);
      execute format('select keyframe_private.%I()', part.function_name) into value;
    exception when others or query_canceled then
      value := null;
      unread := unread || jsonb_build_object('part', part.name, 'code', sqlstate, 'reason', left(sqlerrm, 200));
    end;
    figures := figures || jsonb_build_object(part.name, value);
  end loop;
  return figures || jsonb_build_object('unread', unread);
end $$;
comment on function keyframe_worker.service_figures is 'The figures (docs/operate.md) for GET /api/health?deep=1 and GET /api/metrics.';

-- supabase/schemas/85_health/20_work_figures.sql

-- Due work that no claim has made ready yet: of each queue the 1,000 scheduled rows that have been due longest, which is what a claim makes
-- ready at once, and the work whose lease has expired.
create function keyframe_private.due_unready_work()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select d.* from unnest(enum_range(null::keyframe_private.work_queue)) q
  cross join lateral (
    (select w.* from keyframe_private.work w where w.queue = q and w.state = 'scheduled' and w.due_at <= now() order by w.due_at limit 1000)
    union all
    (select w.* from keyframe_private.work w where w.queue = q and w.state = 'leased' and w.due_at <= now() limit 1000)) d
$$;

-- Due work that no worker has leased, to count: of each queue at most 10,000 rows that are ready, by resource, and due_unready_work.
create function keyframe_private.due_work()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select d.* from unnest(enum_range(null::keyframe_private.work_queue)) q
  cross join lateral (
    select w.* from keyframe_private.work w where w.queue = q and w.state = 'ready' order by w.resource, w.lane, w.id limit 10000) d
  union all
  select s.* from keyframe_private.due_unready_work() s
$$;

-- The oldest ready delivery of each endpoint, one probe of an index for each of at most 10,000 endpoints, and due ones that are scheduled.
create function keyframe_private.oldest_due_deliveries()
returns setof keyframe_private.work language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  with recursive ready as (
    (select w.* from keyframe_private.work w where w.queue = 'deliver' and w.state = 'ready' order by w.lane, w.due_at limit 1)
    union all
    select n.* from ready r cross join lateral (
      select w.* from keyframe_private.work w
      where w.queue = 'deliver' and w.state = 'ready' and w.lane > r.lane order by w.lane, w.due_at limit 1) n
  )
  (select r.* from ready r limit 10000)
  union all
  select s.* from keyframe_private.due_unready_work() s where s.queue = 'deliver'
$$;

create function keyframe_private.prediction_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(a) || to_jsonb(w) || jsonb_build_object(
    'retrying', (
      select count(*) from (
        select from keyframe_private.work r where r.queue <> 'deliver' and r.failures > 0 and r.state = 'scheduled' limit 10000) r),
    'refusal', (
      select mode() within group (order by r.last_error) from (
        select r.last_error from keyframe_private.work r where r.queue <> 'deliver' and r.failures > 0 limit 10000) r
      where r.last_error in ('provider_unauthorized', 'provider_payment_required')),
    'runsToCancel', (
      select count(*) from (select from keyframe_private.work c where c.queue <> 'deliver' and c.kind = 'cancel' limit 10000) c),
    'largest', (
      select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
      from (
        select u.owner_id as "ownerId", mode() within group (order by p.model) as subject, count(*) as count, sum(count(*)) over () as "of"
        from (select d.subject, d.owner_id from keyframe_private.due_work() d where d.kind in ('submit', 'poll', 'store') limit 10000) u
        join keyframe.predictions p on p.id = u.subject group by u.owner_id order by count desc limit 3) l))
  from (
    select
      count(*) filter (where p.status = 'queued') as queued, count(*) filter (where p.status = 'starting') as starting,
      count(*) filter (where p.status = 'processing') as processing, count(*) filter (where p.status = 'storing') as storing
    from (select o.status from keyframe.predictions o where o.admitted_at is not null and o.completed_at is null limit 10000) p
  ) a
  cross join (
    select count(*) as waiting, keyframe_private.seconds_since(min(p.created_at)) as "oldestWaitingSeconds" from (
      select o.created_at from keyframe.predictions o
      where o.admitted_at is null and o.status = 'queued' and o.waits_for is null order by o.created_at limit 10000) p
  ) w
$$;

-- How long the oldest work of each kind has been due. Delivery: only to endpoints to which nothing is being sent (no lease is live); others
-- wait for their receiver. Slot: a prediction could start, because its owner has a free slot or because the previous shot has ended.
create function keyframe_private.due_figures()
returns jsonb language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  select jsonb_object_agg(f.name, keyframe_private.seconds_since(f.oldest))
  from (
    select case when k.kind in ('admit', 'continue') then 'slot' else k.kind end as name, least(min(r.due_at), min(s.due_at)) as oldest
    from unnest('{submit,poll,store,cancel,search,expire,remove,admit,continue}'::text[]) k (kind)
    left join lateral (
      select w.due_at from keyframe_private.work w
      where w.queue <> 'deliver' and w.state = 'ready' and w.kind = k.kind order by w.due_at limit 1) r on true
    left join keyframe_private.due_unready_work() s on s.queue <> 'deliver' and s.kind = k.kind
    group by 1
    union all
    select 'delivery', min(d.due_at) from keyframe_private.oldest_due_deliveries() d
    where not exists (
      select from keyframe_private.work l where l.queue = 'deliver' and l.lane = d.lane and l.state = 'leased' and l.due_at > now())) f
$$;

-- Rows that the database refuses, and that are skipped until their next try: those of jobs, and work of generate that has failed three times
-- in a row or more, the last time in the database (its last error is an SQLSTATE, not one of our codes).
create function keyframe_private.skipped_figures()
returns jsonb language sql stable set search_path = '' as $$
  with skipped as materialized (
    select 'job' as kind, u.subject, u.code, u.reason, u.failures
    from keyframe_private.skipped_rows u where u.next_try_at > now() - interval '1 minute'
    union all
    select w.kind, w.subject::text, w.last_error, null, w.failures
    from keyframe_private.work w where w.queue <> 'deliver' and w.failures > 2 and w.last_error ~ '^[0-9A-Z]{5}$'
    limit 10000
  )
  select jsonb_build_object(
    'count', (select count(*) from skipped),
    'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}') from (select s.kind, count(*) from skipped s group by s.kind) k),
    'worst', (select to_jsonb(s) from skipped s order by s.failures desc, s.subject limit 1))
$$;

-- Pending deliveries are counted from the indexes of the queue. The work of an endpoint that resumes counts as one.
create function keyframe_private.delivery_figures()
returns jsonb language sql stable set search_path = '' set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
  with counted as materialized (
    select w.lane, (array_agg(e.owner_id))[1] as owner_id, count(*) as pending
    from (
      (select r.lane from keyframe_private.work r where r.queue = 'deliver' and r.state = 'ready' limit 10000)
      union all (select s.lane from keyframe_private.work s where s.queue = 'deliver' and s.state = 'scheduled' limit 10000)
      union all (select l.lane from keyframe_private.work l where l.queue = 'deliver' and l.state = 'leased' limit 10000)
      limit 10000) w
    join keyframe.webhook_endpoints e on e.id = w.lane and e.enabled
    group by w.lane
  )
  select to_jsonb(c) || jsonb_build_object(
    'due', (select count(*) from (select from keyframe_private.due_work() u where u.queue = 'deliver' limit 10000) u),
    'oldestDueSeconds', (select keyframe_private.seconds_since(min(d.due_at)) from keyframe_private.oldest_due_deliveries() d),
    'sending', (
      select count(*) from (select from keyframe_private.work l where l.queue = 'deliver' and l.state = 'leased' limit 10000) l),
    'paused', (
      select count(*) from (
        select from keyframe.webhook_endpoints e
        cross join lateral (select from keyframe.webhook_deliveries d where d.endpoint_id = e.id and d.status = 'pending' limit 10000) d
        where not e.enabled limit 10000) p),
    'endpointsDisabled', (
      select count(*) from (
        select from keyframe.webhook_endpoints e
        where e.disabled_reason in ('gone', 'failing') and e.disabled_at > now() - interval '1 day' limit 10000) s),
    'unsignedEndpoints', (
      select count(distinct h.endpoint_id)
      from (
        select a.endpoint_id, a.hour, a.last_attempt from keyframe_private.webhook_hours a
        where a.hour >= date_trunc('hour', now(), 'UTC') - interval '1 hour' limit 10000) h
      join keyframe.webhook_endpoints u on u.id = h.endpoint_id and u.enabled
      where (h.last_attempt).error = 'not_signed'
        and not exists (select from keyframe_private.webhook_hours n where n.endpoint_id = h.endpoint_id and n.hour > h.hour)))
  from (
    select coalesce(sum(p.pending), 0) as pending,
      (
        select coalesce(jsonb_agg(to_jsonb(l) order by l.count desc), '[]')
        from (
          select q.owner_id as "ownerId", (array_agg(q.lane order by q.pending desc))[1] as subject, sum(q.pending) as count,
            sum(sum(q.pending)) over () as "of"
          from counted q group by q.owner_id order by count desc limit 3) l) as largest
    from counted p
  ) c
$$;

create function keyframe_private.event_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'projectCreated', count(*) filter (where v.type = 'project.created'),
    'generationSucceeded', count(*) filter (where v.type = 'generation.succeeded'),
    'generationFailed', count(*) filter (where v.type = 'generation.failed'))
  from (select o.type from keyframe.webhook_events o where o.created_at > now() - interval '5 minutes' order by o.created_at desc limit 10000) v
$$;

create function keyframe_private.file_removal_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object('pending', (select count(*) from (select from keyframe_private.file_removals f limit 10000) r),
    'oldestSeconds', (select keyframe_private.seconds_since(min(f.created_at)) from keyframe_private.file_removals f))
$$;

create function keyframe_private.unavailable_models()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'step', m.step, 'model', m.model, 'reason', case when m.refused_at is null then 'ended' else 'unknown' end,
    'isDefault', exists (select from keyframe.step_defaults d where d.step = m.step and d.model = m.model),
    'successor', keyframe_private.default_successor(m, now())
  ) order by m.step, m.position, m.model), '[]')
  from keyframe.models m
  where m.enabled and not keyframe_private.is_available(m, now())
$$;

create function keyframe_private.cost_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'spendingStopped', s.spending_stopped,
    'cheapestStartMicros', (
      select min((keyframe_private.default_cost(m, now())).most_micros) from keyframe.step_defaults d
      join keyframe.models m on m.step = d.step and m.model = d.model),
    'unknownSubmits', (
      select coalesce(sum(c.unknown_submits), 0) from keyframe_private.costs c
      where c.kind = 'service_day' and c.day >= date_trunc('month', t.today))) || f.figures
  from keyframe_private.settings s
  cross join (select (now() at time zone 'UTC')::date as today) t
  cross join lateral (
    select jsonb_object_agg(p.name, jsonb_build_object(
      'settledMicros', u.settled, 'heldMicros', u.held, 'unknownMicros', u.unknown, 'budgetMicros', p.budget,
      'leftMicros', p.budget - least(p.budget, u.settled + u.held + u.unknown))) as figures
    from (values
        ('today', t.today, s.service_day_micros), ('month', date_trunc('month', t.today)::date, s.service_month_micros)) p (name, begins, budget)
    cross join lateral (
      select keyframe_private.exact_sum(sum(c.settled_micros)) as settled, keyframe_private.exact_sum(sum(c.held_micros)) as held,
        keyframe_private.exact_sum(sum(c.unknown_micros)) as unknown
      from keyframe_private.costs c where c.kind = 'service_day' and c.day >= p.begins) u
  ) f
$$;

-- supabase/schemas/85_health/30_platform_figures.sql

-- Kicks in pg_net. In its queue, the header webhook-id marks ours; in its answers, the header keyframe-function marks those of our functions.
-- A request without an answer may belong to any user of pg_net in this project.
create function keyframe_private.kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(u) || to_jsonb(r) || jsonb_build_object(
    'othersUnsent', (
      select count(*) from (select from net.http_request_queue n where coalesce(n.headers ->> 'webhook-id', '') not like 'kick\_%' limit 10000) o),
    -- pg_net's worker serves one database of the server: in any other, nothing is ever sent.
    'servedDatabase', (
      select nullif(current_setting('pg_net.database_name', true), current_database())
      from pg_catalog.pg_extension e where e.extname = 'pg_net'))
  from (
    select count(*) as unsent,
      keyframe_private.seconds_since(to_timestamp(min((q.headers ->> 'webhook-timestamp')::double precision))) as "oldestUnsentSeconds"
    from (select n.headers from net.http_request_queue n where n.headers ->> 'webhook-id' like 'kick\_%' limit 10000) q
  ) u
  cross join (
    select
      count(*) filter (where n.status_code = 202 and n.headers ? 'keyframe-function') as accepted,
      count(*) filter (where n.status_code >= 400 and n.headers ? 'keyframe-function') as refused,
      count(*) filter (where n.status_code is null) as failed
    from (
      select a.status_code, a.headers from net._http_response a
      where a.created > now() - interval '5 minutes' order by a.created desc limit 10000) n
  ) r
$$;

-- Searches five minutes of answers: ids have no index there, and pg_net keeps the answers of all senders for hours.
create function keyframe_private.last_kick_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_object_agg(f.name, jsonb_build_object(
    'outcome', case
      when k.made_at is null then 'none'
      when k.request_id is null then 'not_made'
      when a.id is null then 'unanswered'
      when a.status_code = 202 and a.headers ? 'keyframe-function' then 'accepted'
      when a.status_code is not null then 'answered'
      else 'failed'
    end,
    'status', a.status_code,
    'error', left(coalesce(k.error, a.error_msg), 200),
    'madeSeconds', keyframe_private.seconds_since(k.made_at),
    -- A claim that waits may acknowledge a kick that was made after it began.
    'acknowledgedAfterSeconds', case when k.acknowledged_at is not null then
      round(greatest(0, extract(epoch from k.acknowledged_at - k.made_at)), 3) end))
  from (values ('generate'), ('deliver')) f (name)
  left join lateral (select m.* from keyframe_private.kicks m where m.function_name = f.name order by m.made_at desc limit 1) k on true
  left join lateral (
    select n.id, n.status_code, n.headers, n.error_msg
    from net._http_response n
    -- created is the start of pg_net's transaction, which may be before the kick.
    where n.created between k.made_at - interval '1 minute' and k.made_at + interval '5 minutes' and n.id = k.request_id
    limit 1
  ) a on true
$$;

-- Malformed figures of a report are left out. Slow: leased more than 10 s ago, for deliver more than 3 s; due_at is when the lease expires.
-- Each `of` is the capacity of all workers that have leased work, at least of one.
create function keyframe_private.worker_figures()
returns jsonb language sql stable set search_path = '' as $$
  with leased as materialized (
    select case w.queue when 'deliver' then 'deliver' else 'generate' end as name, w.queue, w.worker_id, w.resource,
      w.due_at - keyframe_private.lease_of(w.queue) < now() - make_interval(secs => case w.queue when 'deliver' then 3 else 10 end) as is_slow
    from keyframe_private.work w where w.queue = any (enum_range(null::keyframe_private.work_queue)) and w.state = 'leased' limit 10000
  )
  select jsonb_object_agg(f.name, jsonb_build_object(
    'claimedSeconds', keyframe_private.seconds_since(h.claimed_at),
    'isProcess', coalesce(h.report -> 'isProcess' = 'true', false),
    'callSeconds', round(keyframe_private.read_figure(h.report, 'callMs') / 1000, 3),
    'slowWork', (select count(*) from leased l where l.name = f.name and l.is_slow),
    'leased', jsonb_build_object(
      'of', f.capacity * o.workers,
      'open', o.count,
      'slow', (
        select coalesce(jsonb_agg(to_jsonb(s) order by s.open desc), '[]') from (
          select left(l.resource, 200) as name, count(*) as open, keyframe_private.capacity_of(l.queue) * o.workers as of
          from leased l where l.name = f.name and l.is_slow group by l.queue, l.resource order by count(*) desc limit 5) s)),
    'oldestKickSeconds', (
      select keyframe_private.seconds_since(min(k.made_at)) from keyframe_private.kicks k
      where k.function_name = f.name and k.acknowledged_at is null and k.error is null)))
  from (values
      ('generate', keyframe_private.capacity_of('ask') + keyframe_private.capacity_of('copy')),
      ('deliver', keyframe_private.capacity_of('deliver'))) f (name, capacity)
  cross join lateral (select count(*), greatest(1, count(distinct l.worker_id)) as workers from leased l where l.name = f.name) o
  left join keyframe_private.heartbeats h on h.function_name = f.name
$$;

-- Owners who have used up the rate of a class for ten seconds, the longest first, at most three; of more than 10,000 such buckets, those that
-- became low last. Only steady demand keeps a bucket low. Includes `wait`: an owner with too many waits is checked less often.
create function keyframe_private.limited_owners()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'ownerId', o.owner_id, 'routeClass', o.route_class, 'seconds', keyframe_private.seconds_since(o.low_since)) order by o.low_since), '[]')
  from (
    select b.owner_id, b.route_class, b.low_since
    from (
      select r.* from keyframe_private.rate_buckets r
      where r.low_since < now() - interval '10 seconds' order by r.low_since desc limit 10000) b
    join keyframe_private.rate_limits l on l.route_class = b.route_class
    where b.route_class <> 'shared' -- its owner_id is that of a link
      and b.tokens + l.per_second * abs(extract(epoch from now() - b.refilled_at)) < l.capacity / 10.0 -- abs: the clock was set back
    order by b.low_since limit 3) o
$$;

-- Lists enabled triggers on tables that serve all users; those of projects and films do not.
create function keyframe_private.app_triggers()
returns jsonb language sql stable set search_path = '' as $$
  select coalesce(jsonb_agg(t.name order by t.name), '[]')
  from (
    select format('%s on %s', t.tgname, t.tgrelid::regclass) as name
    from pg_catalog.pg_trigger t
    join pg_catalog.pg_class c on c.oid = t.tgrelid
    join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and t.tgenabled <> 'D' and p.pronamespace <> 'keyframe_private'::regnamespace
      and (c.relnamespace = 'keyframe_private'::regnamespace
        or c.relnamespace = 'keyframe'::regnamespace and c.relname ~ '^(predictions$|webhook_)')
    limit 20) t
$$;

-- Reads the last 10,000 runs of all jobs, over four hours of ours. A job is late only if the log is empty or older than its late_after. A run
-- that a restart ended has no end_time, and with an old pg_cron one that could not connect has no times at all: their order is that of runid.
create function keyframe_private.job_figures()
returns jsonb language sql stable set search_path = '' as $$
  with runs as materialized (
    select d.jobid, d.runid, d.status, d.return_message, d.start_time, d.end_time from cron.job_run_details d order by d.runid desc limit 10000
  ), ran as (
    select j.jobname, max(r.end_time) filter (where r.status = 'succeeded') as succeeded_at,
      max(r.runid) filter (where r.status = 'succeeded') as succeeded, max(r.runid) filter (where r.status = 'failed') as failed,
      (array_agg(r.return_message order by r.runid desc) filter (where r.status = 'failed'))[1] as error
    from runs r join cron.job j on j.jobid = r.jobid group by j.jobname
  )
  select jsonb_object_agg(substr(w.name, length('keyframe-') + 1), jsonb_build_object(
    'scheduled', w.scheduled,
    'obstacle', w.obstacle,
    'lastSuccessSeconds', keyframe_private.seconds_since(r.succeeded_at),
    'lastError', case when r.failed > coalesce(r.succeeded, 0) then left(split_part(r.error, E'\n', 1), 200) end,
    'isLate', coalesce(r.succeeded_at < now() - w.late_after, true)
      and coalesce((select min(l.start_time) from runs l) < now() - w.late_after, true)))
  from (
    select j.name, j.late_after, bool_or(j.obstacle is null) as scheduled, min(j.obstacle) as obstacle
    from keyframe_private.scheduled_jobs() j group by j.name, j.late_after) w
  left join ran r on r.jobname = w.name
$$;

-- Reads vault.secrets too, because read_secret returns null even if that table is locked or does not exist.
create function keyframe_private.setting_figures()
returns jsonb language sql stable set search_path = '' as $$
  select jsonb_build_object(
    'isReadOnly', current_setting('default_transaction_read_only')::boolean,
    'hasSettings', exists (select from keyframe_private.settings),
    'missingSecrets', (
      select coalesce(jsonb_agg(n.name order by n.name), '[]') from (values ('keyframe_functions_url'), ('keyframe_kick_secret')) n (name)
      where not exists (select from vault.secrets s where s.name = n.name) or keyframe_private.read_secret(n.name) is null),
    'address', keyframe_private.address())
$$;

-- How far the clock was set back, by times in the future.
create function keyframe_private.clock_back_seconds()
returns jsonb language sql stable set search_path = '' as $$
  select to_jsonb(round(extract(epoch from nullif(max(t.moment), '-infinity') - now()), 3))
  from (
    select w.claimed_at from keyframe_private.heartbeats w
    union all (select k.made_at from keyframe_private.kicks k order by k.id desc limit 1)
    union all select max(r.start_time) from (select d.start_time from cron.job_run_details d order by d.runid desc limit 1000) r) t (moment)
  where t.moment > now() + interval '5 seconds'
$$;

-- supabase/schemas/85_health/40_session_figures.sql

-- The transactions that keep work of ours waiting and wait for none themselves: at most five, those that block the most sessions first. The
-- query follows the chains of lock waits that begin at each session that
--
--   has waited for a second for a lock on a table that we use, for a row of it, or for an advisory lock, if it has used tables of Keyframe;
--   has been open for `locked_for`, and has locked or waits to lock a table that we use against writers; or
--   has been open for `held_for`, and has locked rows of a table of Keyframe. Workers skip such rows, so perhaps nobody waits for it.
--
-- A chain ends at a session that waits to lock a whole table, because all later ones queue behind it, and go on when it ends. Rows of other
-- tables, such as auth.users, may be held for long: only who waits for one counts.
--
-- Ordinary work waits for a row for less than a second. No transaction of ours locks a table for 0.3 s, which is how long plain health waits,
-- nor rows for 20 s, which is the time limit of its frequent jobs. A role that may not see the sessions of others gets an empty list.
create function keyframe_private.blocker_figures(locked_for interval default '300 milliseconds', held_for interval default '20 seconds')
returns jsonb language sql volatile set search_path = '' as $$
  with recursive our_tables as materialized (
    select c.oid, n.nspname in ('keyframe', 'keyframe_private') as is_keyframe
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    -- By name, because an extension may be missing.
    where c.relkind in ('r', 'p') and (n.nspname in ('keyframe', 'keyframe_private', 'net', 'cron')
      or (n.nspname, c.relname) in (('auth', 'users'), ('vault', 'secrets'), ('storage', 'objects')))
  ), sessions as materialized (
    select a.* from pg_catalog.pg_stat_activity a where a.datname = current_database()
  ), locks as materialized (
    -- pid is null for a prepared transaction, which virtualtransaction still tells apart.
    select l.*, t.oid is not null as is_ours, coalesce(t.is_keyframe, false) as is_keyframe, l.locktype = 'relation'
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') as stops_writes
    from pg_catalog.pg_locks l
    left join our_tables t on t.oid = l.relation
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())
    where l.pid is distinct from pg_backend_pid()
  ), table_locks as materialized (
    select l.pid, l.virtualtransaction, l.relation, l.is_keyframe, l.stops_writes, l.granted
    from locks l
    where l.is_ours and l.locktype = 'relation'
      and (l.stops_writes or l.granted and l.mode not in ('AccessShareLock', 'ShareUpdateExclusiveLock'))
  ), waiting as (
    -- Who waits for a row waits for its transaction, and mostly has a lock of the type tuple on it; not for an equal key of an index.
    select w.pid from locks w
    where not w.granted and w.waitstart < clock_timestamp() - interval '1 second' and case
      when w.locktype = 'advisory' then w.pid in (select u.pid from locks u where u.is_keyframe)
      when w.locktype <> 'transactionid' then w.is_ours
      when w.pid in (select r.pid from locks r where r.locktype = 'tuple') then w.pid in (
        select r.pid from locks r where r.locktype = 'tuple' and r.is_ours)
      else w.transactionid in (
        select x.transactionid from locks x join table_locks h on h.virtualtransaction = x.virtualtransaction
        where x.granted and x.locktype = 'transactionid') end
  ), table_waiters as materialized (
    select t.pid from table_locks t where not t.granted
  ), wait_chains as (
    (select a.pid as victim, a.pid,
       case when a.pid not in (select t.pid from table_waiters t) then pg_catalog.pg_blocking_pids(a.pid) else '{}' end as behind
     from sessions a
     where a.backend_type is distinct from 'autovacuum worker' and (
       exists (select from waiting w where w.pid = a.pid)
       or exists (
         select from table_locks t where t.pid = a.pid and (t.stops_writes or t.is_keyframe)
           and a.xact_start < clock_timestamp() - case when t.stops_writes then locked_for else held_for end))
     order by a.xact_start limit 50)
    union
    select c.victim, b.pid, case when b.pid not in (select t.pid from table_waiters t) then pg_catalog.pg_blocking_pids(b.pid) else '{}' end
    from wait_chains c cross join lateral unnest(c.behind) b (pid)
  ), worst as (
    select c.pid, count(distinct c.victim) filter (where c.victim <> c.pid) as blocks, s.usename, s.xact_start, s.state,
      bool_or(t.stops_writes) as locks_tables, string_agg(distinct t.relation::regclass::text, ', ') as tables
    from wait_chains c
    left join sessions s on s.pid = c.pid
    left join table_locks t on t.pid = c.pid
    where c.behind = '{}'
      and coalesce(s.xact_start < clock_timestamp() - locked_for, true) -- a young transaction is ordinary queueing, not a blocker
    group by c.pid, s.usename, s.xact_start, s.state
    order by blocks desc, s.xact_start limit 5
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'pid', n.pid, 'role', n.usename, 'seconds', keyframe_private.seconds_since(n.xact_start), 'isIdle', coalesce(n.state like 'idle%', false),
    'blocks', n.blocks, 'tables', n.tables, 'locksTables', coalesce(n.locks_tables, false),
    'waitsFor', case when n.pid in (select t.pid from table_waiters t) then (pg_catalog.pg_blocking_pids(n.pid))[1] end)
    order by n.blocks desc, n.xact_start), '[]')
  from worst n
$$;

-- What has long kept dead rows from being removed, at most three. Snapshots lock nothing: without this, health would be ok while tables
-- grow and each claim reads more dead rows. A standby with hot_standby_feedback keeps them by its slot or its walsender. A walsender, and a
-- slot before Postgres 17, does not say since when: then the number of transactions decides.
create function keyframe_private.snapshot_figures(held_for interval default '15 minutes', transactions_held integer default 1000000)
returns jsonb language sql volatile set search_path = '' as $$
  select coalesce(jsonb_agg(to_jsonb(s) order by s.transactions desc), '[]')
  from (
    select h.kind, h.name, h.role, keyframe_private.seconds_since(h.since) as seconds, h.transactions
    from (
      select case a.backend_type when 'walsender' then 'standby' else 'session' end as kind,
        case a.backend_type when 'walsender' then a.application_name else a.pid::text end as name, a.usename::text as role,
        case when a.backend_type <> 'walsender' then a.xact_start end as since, age(a.backend_xmin) as transactions
      from pg_catalog.pg_stat_activity a
      where a.backend_xmin is not null and a.backend_type <> 'autovacuum worker' and a.pid <> pg_backend_pid()
        and (a.datname = current_database() or a.backend_type = 'walsender')
      union all
      select 'prepared', p.gid, p.owner::text, p.prepared, age(p.transaction)
      from pg_catalog.pg_prepared_xacts p where p.database = current_database()
      union all
      select 'slot', r.slot_name::text, null, case when not r.active then (to_jsonb(r) ->> 'inactive_since')::timestamptz end,
        greatest(age(r.xmin), age(r.catalog_xmin))
      from pg_catalog.pg_replication_slots r where coalesce(r.xmin, r.catalog_xmin) is not null) h
    where h.since < clock_timestamp() - held_for or h.transactions > transactions_held
    order by h.transactions desc limit 3) s
$$;

-- Calls of our functions and tables that have run for over two seconds; a worker's call waits for a second at most. A call of an owner has
-- the owner's id as the name of its session (acquire_call_slot), which other roles can forge. Owners who use three connections or more, for
-- two seconds in total, are named, at most three.
create function keyframe_private.call_figures()
returns jsonb language sql stable set search_path = '' as $$
  with open as materialized (
    select a.state, a.query_start, a.xact_start, substring(a.query from 'keyframe(?:_worker)?"?\."?(\w+)') as called,
      case when pg_catalog.pg_has_role(a.usesysid, 'authenticated', 'member') then
        substring(a.application_name from '^keyframe ([0-9a-f-]{36})$') end as owner
    from pg_catalog.pg_stat_activity a
    where a.datname = current_database() and a.state <> 'idle' and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
  )
  select to_jsonb(s) || jsonb_build_object('owners', (
    select coalesce(jsonb_agg(to_jsonb(o) order by o.seconds desc), '[]')
    from (
      select w.owner as "ownerId", count(*) as calls, mode() within group (order by w.called) as called,
        round(sum(extract(epoch from clock_timestamp() - w.xact_start)), 3) as seconds
      from open w where w.owner is not null group by w.owner
      having count(*) >= 3 and sum(clock_timestamp() - w.xact_start) > interval '2 seconds'
      order by seconds desc limit 3) o))
  from (
    select count(*) as slow, mode() within group (order by c.called) as slowest,
      keyframe_private.seconds_since(min(c.query_start)) as "slowestSeconds"
    from open c where c.state = 'active' and c.query_start < now() - interval '2 seconds' and c.called is not null) s
$$;

-- supabase/schemas/88_admin_views.sql

-- Views for administrators in Studio. security_invoker: a mistaken grant on a view reveals nothing. Columns without a comment are those of
-- the tables.

-- Each part of the condition is that of a partial index: only active rows are read.
create view keyframe_private.admin_queue with (security_invoker = true) as
select
  p.id as prediction_id, p.owner_id, p.project_id, p.step, p.model, p.status,
  case
    when p.waits_for is not null then 'waits_for_shot'
    when p.admitted_at is null then 'in_line'
    when w.state = 'leased' and w.due_at > now() then 'worked_on'
    when w.state = 'leased' then 'lease_expired'
    when w.due_at <= now() then 'due'
    when w.last_error is not null then 'backing_off'
    when w.id is null then 'no_work'
    else 'at_the_provider'
  end as why,
  now() - p.created_at as since_created,
  case when p.admitted_at is null and p.waits_for is null then
    row_number() over (partition by p.owner_id, p.admitted_at is null, p.waits_for is null order by p.created_at, p.id) end as queue_position,
  p.attempt, w.failures, w.last_error,
  case when w.state = 'leased' then w.due_at end as leased_until,
  w.due_at, p.deadline_at, p.provider_prediction_id
from keyframe.predictions p
left join lateral (
  select o.* from keyframe_private.work o
  where p.admitted_at is not null and o.subject = p.id and o.queue <> 'deliver' and o.kind = case p.status
    when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end
  order by o.state desc, o.due_at limit 1) w on true
where p.admitted_at is not null and p.completed_at is null
  or p.admitted_at is null and p.status = 'queued' and p.waits_for is null
  or p.status = 'queued' and p.waits_for is not null;
comment on view keyframe_private.admin_queue is 'For administrators: every active prediction, its age, and why it waits.';
comment on column keyframe_private.admin_queue.why is 'worked_on: a worker holds its lease. lease_expired: the worker died; another will claim it. due: not claimed yet. backing_off: retried at due_at because of last_error. no_work: its work is lost; the sweep adds it after a minute. at_the_provider: running there, polled at due_at. in_line: its owner has max_active_per_owner predictions running. waits_for_shot: the previous shot''s video, or its end image, is missing.';
comment on column keyframe_private.admin_queue.queue_position is '1: the owner''s next prediction to run; null once it has a slot.';
comment on column keyframe_private.admin_queue.due_at is 'When its next task is due; null while it waits for a slot.';

create view keyframe_private.admin_webhook_health with (security_invoker = true) as
select
  e.id as endpoint_id, e.owner_id, e.url, e.description, e.event_types, e.enabled, e.disabled_reason, e.disabled_at, e.failing_since,
  h.delivered, h.retrying, h.exhausted, h.last_attempt_at,
  (h.last_failure).error as last_error, (h.last_failure).status_code as last_error_status, (h.last_failure).at as last_error_at,
  w.due, w.oldest_due_at
from keyframe.webhook_endpoints e
cross join lateral (
  select
    coalesce(sum(c.delivered), 0)::bigint as delivered, coalesce(sum(c.retrying), 0)::bigint as retrying,
    coalesce(sum(c.exhausted), 0)::bigint as exhausted, max((c.last_attempt).at) as last_attempt_at,
    (array_agg(c.last_failure order by c.last_failure desc nulls last))[1] as last_failure
  from keyframe_private.webhook_hours c
  where c.endpoint_id = e.id and c.hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
) h
cross join lateral (
  select count(*) as due, min(o.next_attempt_at) as oldest_due_at
  from (
    select d.next_attempt_at from keyframe.webhook_deliveries d
    where d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at <= now()
    order by d.next_attempt_at limit 10000
  ) o
) w;
comment on view keyframe_private.admin_webhook_health is 'For administrators: every webhook endpoint, the outcomes of its deliveries since the hour that began 23 hours ago, and what is due. Each delivery counts once, by its last attempt.';
comment on column keyframe_private.admin_webhook_health.last_attempt_at is 'The latest attempt in these hours; null: none.';
comment on column keyframe_private.admin_webhook_health.last_error is 'The latest error in these hours, even if a retry succeeded: http_status, timeout, connection, dns, tls, address, redirect, too_large, not_signed (its secret cannot be read).';
comment on column keyframe_private.admin_webhook_health.due is 'Deliveries that are due or being sent, counted up to 10,000. Those of a disabled endpoint wait until it is enabled.';

create view keyframe_private.admin_usage with (security_invoker = true) as
select
  (p.created_at at time zone 'UTC')::date as day,
  p.owner_id, p.step,
  count(*) as started,
  count(*) filter (where p.status = 'succeeded') as succeeded,
  count(*) filter (where p.status = 'failed') as failed,
  count(*) filter (where p.status = 'canceled') as canceled,
  count(*) filter (where p.completed_at is null) as active,
  coalesce(sum(p.output_bytes), 0)::bigint as stored_bytes,
  count(p.provider_prediction_id) as provider_runs,
  sum(p.attempt) as submits
from keyframe.predictions p
group by (p.created_at at time zone 'UTC')::date, p.owner_id, p.step;
comment on view keyframe_private.admin_usage is 'For administrators: the predictions that each owner started, by day (UTC) and step. Always filter by day: where day >= … reads only those days. Deleted predictions are not counted: admin_costs has them, with what they cost.';
comment on column keyframe_private.admin_usage.stored_bytes is 'The total size of their outputs in the bucket keyframe-outputs.';
comment on column keyframe_private.admin_usage.provider_runs is 'How many provider runs were accepted. The provider charges for those of deleted predictions too: admin_costs.';
comment on column keyframe_private.admin_usage.submits is 'How often they were submitted to the provider, including refused submits.';

create view keyframe_private.admin_costs with (security_invoker = true) as
select c.day, c.owner_id, c.step, c.model, sum(c.predictions) as predictions,
  round(sum(c.settled_micros) / 1e6, 6) as settled_usd, round(sum(c.held_micros) / 1e6, 6) as held_usd, round(sum(c.unknown_micros) / 1e6, 6) as unknown_usd,
  round(sum(c.settled_charge_micros) / 1e6, 6) as settled_charge_usd, round(sum(c.held_charge_micros) / 1e6, 6) as held_charge_usd,
  round(sum(c.unknown_charge_micros) / 1e6, 6) as unknown_charge_usd
from keyframe_private.costs c
where c.kind = 'owner_day'
group by c.day, c.owner_id, c.step, c.model;
comment on view keyframe_private.admin_costs is 'For administrators: what the provider bills for the submits of a day, and what their owners pay (charge), by owner, step and model, in US dollars.';

create view keyframe_private.admin_balances with (security_invoker = true) as
select c.owner_id, round(c.credits / 1e6, 6) as credits_usd, round(b.available_micros / 1e6, 6) as balance_usd,
  round(b.held_micros / 1e6, 6) as held_usd
from (select o.owner_id, sum(o.micros) as credits from keyframe_private.credits o group by 1) c
cross join lateral keyframe_private.balance_of(c.owner_id) b;
comment on view keyframe_private.admin_balances is 'For administrators: the balance of each owner who has credits, in US dollars.';
comment on column keyframe_private.admin_balances.held_usd is 'What is reserved for submits that have not ended; balance_usd is without it.';

-- supabase/schemas/90_triggers.sql

-- All triggers, table by table, in the order in which they fire: those before the change, then those after it.

create trigger _100_keep before delete or truncate on keyframe_private.settings
  for each statement execute function keyframe_private.refuse_change('settings_keep_their_row',
    'The row of keyframe_private.settings cannot be deleted: it has the budgets. To set a value: update keyframe_private.settings set … where only_row. To restore a shipped value, set it to default.');

create trigger _500_wait_for_changes after insert on keyframe_private.moved_owners
  for each row execute function keyframe_private.wait_for_changes();

create trigger _100_limit_changes before update or delete on keyframe.films
  for each statement execute function keyframe_private.limit_changes();
create trigger _110_limit before insert on keyframe.films for each row execute function keyframe_private.limit_inserts('create');
create trigger _120_complete_owner before insert on keyframe.films
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
create trigger _130_stamp before update on keyframe.films
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
create trigger _140_require_own_elements before insert or update of element_ids on keyframe.films
  for each row execute function keyframe_private.require_own_elements();

create trigger _100_stamp before update on keyframe.elements
  for each row when (old is distinct from new) execute function keyframe_private.move_version();
-- Not when an account is deleted: its films and projects go too.
create trigger _110_leave_lists before delete on keyframe.elements
  for each row when (pg_trigger_depth() = 0) execute function keyframe_private.leave_lists();
create trigger _120_keep_images before insert or update of owner_id, image_paths on keyframe.elements
  for each row execute function keyframe_private.keep_element_images();
create trigger _500_add_removals after update of image_paths on keyframe.elements
  for each row when (old.image_paths <> new.image_paths) execute function keyframe_private.add_removals_of_element_images();
create trigger _510_add_removals_of_deleted after delete on keyframe.elements
  for each row when (old.image_paths <> '{}') execute function keyframe_private.add_removals_of_element_images();

create trigger _100_limit_changes before update or delete on keyframe.projects
  for each statement execute function keyframe_private.limit_changes();
create trigger _110_limit before insert on keyframe.projects for each row execute function keyframe_private.limit_inserts('create');
create trigger _120_complete_owner before insert on keyframe.projects
  for each row when (new.owner_id is null) execute function keyframe_private.complete_owner();
create trigger _130_delete before delete on keyframe.projects for each row execute function keyframe_private.delete_by_user();
-- Not if only its position changes: the order of a film is the film's.
create trigger _140_stamp before update on keyframe.projects
  for each row when (to_jsonb(old) - 'film_position' <> to_jsonb(new) - 'film_position') execute function keyframe_private.move_version();
-- Before the film is locked: the deletion of an element locks the element, then its films.
create trigger _145_require_own_elements before insert or update of element_ids on keyframe.projects
  for each row when (new.element_ids is not null) execute function keyframe_private.require_own_elements();
-- Not if update_film has set the position.
create trigger _150_change_film before update of film_id on keyframe.projects
  for each row when (new.film_id is distinct from old.film_id and new.film_position is not distinct from old.film_position)
  execute function keyframe_private.change_film();
create trigger _160_enter_film before insert on keyframe.projects
  for each row when (new.film_id is not null and new.film_position is null) execute function keyframe_private.change_film();
create trigger _170_require_selected_takes
  before insert or update of selected_first_frame_id, selected_last_frame_id, selected_video_id on keyframe.projects
  for each row execute function keyframe_private.require_selected_takes();
create trigger _180_keep_reference before insert or update on keyframe.projects
  for each row when (new.reference_image_path is not null) execute function keyframe_private.keep_reference_of_project();
create trigger _190_require_plan before insert or update of plan on keyframe.projects
  for each row when (new.plan <> '{}') execute function keyframe_private.require_plan();
create trigger _500_stamp_film after delete on keyframe.projects
  for each row when (old.film_id is not null) execute function keyframe_private.change_film();
create trigger _505_require_may_remove after update of reference_image_path, plan on keyframe.projects
  for each row when (old.reference_image_path <> coalesce(new.reference_image_path, '') or old.plan <> '{}' and old.plan <> new.plan)
  execute function keyframe_private.require_may_change_images();
create trigger _510_add_removals after delete on keyframe.projects
  for each row when (old.reference_image_path is not null or old.plan <> '{}') execute function keyframe_private.add_removals_of_project_images();
create trigger _520_emit_created after insert on keyframe.projects for each row execute function keyframe_private.emit_project_created();

create trigger _100_require_well_formed before insert or update on keyframe.models
  for each row execute function keyframe_private.require_well_formed_model();
create trigger _110_keep_used before delete on keyframe.models for each row execute function keyframe_private.keep_used_model();
create trigger _120_refuse_disabled_default before update of enabled on keyframe.models
  for each row when (old.enabled and not new.enabled) execute function keyframe_private.refuse_disabled_default();
create trigger _130_clear_refusal before update on keyframe.models
  for each row when (old.refused_at is not null and new.refused_at = old.refused_at) execute function keyframe_private.clear_refusal();
create trigger _500_rename_prices after update of model on keyframe.models
  for each row when (new.model <> old.model) execute function keyframe_private.rename_prices();
create constraint trigger _510_rename_predictions after update of step, model on keyframe.models deferrable initially deferred
  for each row when ((old.step, old.model) <> (new.step, new.model)) execute function keyframe_private.rename_model();

create trigger _100_keep_deleted before delete on keyframe.step_defaults
  for each row execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
-- Not `update of step`: a model that gets another name updates both columns.
create trigger _110_keep_moved before update on keyframe.step_defaults
  for each row when (old.step <> new.step) execute function keyframe_private.refuse_change('every_step_keeps_a_default',
    'Every step needs a default. Choose another: update keyframe.step_defaults set model = ''…'' where step = ''…''.');
create trigger _120_require_enabled before insert or update on keyframe.step_defaults
  for each row execute function keyframe_private.require_enabled_default();

create trigger _100_require_well_formed before insert or update on keyframe_private.model_prices
  for each row execute function keyframe_private.require_well_formed_price();
create trigger _110_keep_changed before update on keyframe_private.model_prices
  for each row when (old.valid_from <= now()
    and (old.id, old.applies_to, old.metric, old.price_usd, old.valid_from) is distinct from
      (new.id, new.applies_to, new.metric, new.price_usd, new.valid_from))
  execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot change. Insert a row with the new price, which applies from its valid_from.');
create trigger _120_keep_deleted before delete on keyframe_private.model_prices
  for each row when (old.valid_from <= now()) execute function keyframe_private.refuse_change('price_in_force_stays',
    'Runs were started at this price, so it cannot be deleted. Insert a row with the new price, which applies from its valid_from.');

create trigger _100_require_known_model before insert or update on keyframe_private.model_markups
  for each row execute function keyframe_private.require_known_model();

create trigger _090_limit before insert on keyframe.predictions for each statement execute function keyframe_private.limit_inserts('generate');
create trigger _100_guard_move before update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status) execute function keyframe_private.guard_prediction_move();
create trigger _110_keep_history before update on keyframe.predictions
  for each row when (old.completed_at is not null or old.input <> new.input) execute function keyframe_private.keep_history();
create trigger _120_resolve before insert on keyframe.predictions for each row execute function keyframe_private.resolve_prediction();
create trigger _130_admit before insert on keyframe.predictions for each row execute function keyframe_private.admit_or_queue();
create trigger _500_refuse_used_id after insert on keyframe.predictions for each row execute function keyframe_private.refuse_used_id();
create trigger _505_require_valid_input after insert on keyframe.predictions
  for each row execute function keyframe_private.require_valid_input();
create trigger _506_require_sound_change after update on keyframe.predictions
  for each row when (old.input is distinct from new.input or old.step <> new.step) execute function keyframe_private.require_valid_input();
alter table keyframe.predictions enable always trigger _505_require_valid_input, enable always trigger _506_require_sound_change;
create trigger _520_give_back after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.error_code = 'failed_by_administrator') execute function keyframe_private.give_back_run();
create trigger _530_settle_by_file after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null) execute function keyframe_private.settle_by_file();
create trigger _540_settle_deleted after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.settle_by_file();
create trigger _550_abandon_deleted_submits after delete on keyframe.predictions
  for each row when (old.completed_at is null) execute function keyframe_private.abandon_submits();
create trigger _560_abandon_submits after update of status on keyframe.predictions
  for each row when (old.completed_at is null
    and (new.status in ('failed', 'canceled') or (old.status = 'queued' and new.status <> 'queued')))
  execute function keyframe_private.abandon_submits();
create trigger _570_unselect_deleted_take after delete on keyframe.predictions
  for each row when (old.status = 'succeeded') execute function keyframe_private.unselect_deleted_take();
create trigger _590_admit_next after update of status on keyframe.predictions
  for each row
  when (old.completed_at is null and new.completed_at is not null and old.admitted_at is not null)
  execute function keyframe_private.admit_next();
create trigger _595_continue after update of status on keyframe.predictions
  for each row when (old.completed_at is null and new.completed_at is not null and old.step = 'video')
  execute function keyframe_private.add_continue_work();
create trigger _596_continue_from_end_image after update of end_image_path on keyframe.predictions
  for each row when (new.end_image_path is not null and new.end_image_path is distinct from old.end_image_path)
  execute function keyframe_private.add_continue_work();
create trigger _600_emit_ended after update of status on keyframe.predictions
  for each row when (old.status is distinct from new.status and new.status in ('succeeded', 'failed'))
  execute function keyframe_private.emit_generation_ended();
create trigger _610_add_submit after update of admitted_at on keyframe.predictions
  for each row when (old.admitted_at is null and new.admitted_at is not null and new.status = 'queued')
  execute function keyframe_private.add_work_of_prediction();
create trigger _620_add_store after update of status on keyframe.predictions
  for each row when (old.status <> 'storing' and new.status = 'storing') execute function keyframe_private.add_work_of_prediction();
create trigger _640_add_removals after delete on keyframe.predictions
  referencing old table as deleted
  for each statement execute function keyframe_private.add_removals_of_deleted();
-- Before the price, which reveals the size of an image to others than its owner.
create trigger _650_write_images after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.write_prediction_images();
create trigger _660_begin after insert on keyframe.predictions
  referencing new table as started
  for each statement execute function keyframe_private.begin_starts();

create trigger _100_settle before update of outcome on keyframe_private.provider_submits
  for each row when (old.outcome is distinct from new.outcome) execute function keyframe_private.settle_ended();
create trigger _500_add_cost after insert on keyframe_private.provider_submits
  for each row execute function keyframe_private.add_cost_change();
create trigger _510_add_changed_cost after update on keyframe_private.provider_submits
  for each row when (
    (old.owner_id, old.project_id, old.created_at, old.step, old.model, old.is_first, old.most_micros, old.cost_micros, old.cost_state, old.markup)
    is distinct from
    (new.owner_id, new.project_id, new.created_at, new.step, new.model, new.is_first, new.most_micros, new.cost_micros, new.cost_state, new.markup))
  execute function keyframe_private.add_cost_change();
-- Its sums are deleted with it when both are 13 months old.
create trigger _520_add_removed_cost after delete on keyframe_private.provider_submits
  for each row when (old.created_at >= now() - interval '13 months') execute function keyframe_private.add_cost_change();

create trigger _100_keep before update of id, owner_id, micros, kind, key, created_at or delete or truncate on keyframe_private.credits
  for each statement execute function keyframe_private.refuse_change('credits_are_only_inserted',
    'A credit cannot change. Insert an adjustment with the difference.');
create trigger _110_open_balance before insert on keyframe_private.credits
  for each row execute function keyframe_private.open_balance();
create trigger _500_note_low after insert on keyframe_private.credits
  for each row when (new.micros < 0) execute function keyframe_private.note_low_after_credit();

create trigger _100_limit before insert on keyframe.webhook_endpoints
  for each row when (new.owner_id is not null) execute function keyframe_private.limit_endpoints();
create trigger _110_refuse_changed_owner before update of owner_id on keyframe.webhook_endpoints
  for each row when (new.owner_id is distinct from old.owner_id) execute function keyframe_private.refuse_change('endpoint_keeps_its_owner',
    'The owner of a webhook endpoint cannot be changed. Delete the endpoint, then add one for the new owner.');
create trigger _120_switch before insert or update of enabled, url, description, event_types, max_in_flight on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_enabled_change();
create trigger _500_create_secret after insert on keyframe.webhook_endpoints
  for each row execute function keyframe_private.create_endpoint_secret();
create trigger _510_record_deleted after delete on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_deleted_endpoint();
create trigger _520_resume after update of enabled on keyframe.webhook_endpoints
  for each row when (new.enabled and not old.enabled) execute function keyframe_private.resume_endpoint();

create trigger _500_delete_vault_secret after delete on keyframe_private.webhook_secrets
  for each row execute function keyframe_private.delete_vault_secret();

-- Workers record attempts themselves.
create trigger _500_add_changed after update of status, next_attempt_at on keyframe.webhook_deliveries
  for each row when (new.status = 'pending' and new.attempts <= old.attempts
    and (new.status <> old.status or new.next_attempt_at <> old.next_attempt_at))
  execute function keyframe_private.add_delivery();
create trigger _510_add_inserted after insert on keyframe.webhook_deliveries
  for each row when (new.status = 'pending') execute function keyframe_private.add_delivery();
create trigger _520_count_changed after update on keyframe.webhook_deliveries
  referencing old table as changed_from new table as changed_to
  for each statement execute function keyframe_private.count_deliveries();

create trigger _500_add_work after insert on keyframe_private.file_removals
  referencing new table as added
  for each statement execute function keyframe_private.add_removal_work();

-- supabase/schemas/95_shipped_rows.sql

-- The models, defaults and prices of a new database. They come after the triggers that check them.

-- Image models. A last frame gets its first frame as the first of its reference images. Sources and dates: docs/models.md.
insert into keyframe.models (step, position, model, label, vendor, shutdown_at, controls, fixed, notes)
select step, position, model, label, vendor, shutdown_at::timestamptz, controls::jsonb, fixed::jsonb, notes
from unnest(array['first-frame', 'last-frame']::keyframe.generation_step[]) as step
cross join (values
  (10, 'google/nano-banana-2', 'Nano Banana 2', 'Google', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "1K"}
  }', '{"output_format": "png", "google_search": false, "image_search": false}', ''),
  (20, 'black-forest-labs/flux-2-pro', 'FLUX.2 Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "input_images", "list": true, "max": 8},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5"]},
    "resolution": {"field": "resolution", "values": ["0.5 MP", "1 MP", "2 MP", "4 MP"], "default": "1 MP"},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', 'The price grows with the reference images.'),
  (30, 'bytedance/seedream-4.5', 'Seedream 4.5', 'ByteDance', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (40, 'google/nano-banana-pro', 'Nano Banana Pro', 'Google', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"output_format": "png", "allow_fallback_model": false}', ''),
  (50, 'bytedance/seedream-4', 'Seedream 4', 'ByteDance', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (60, 'black-forest-labs/flux-kontext-pro', 'FLUX.1 Kontext Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "input_image", "max": 1},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9", "9:21", "2:1", "1:2"]},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', ''),
  (70, 'google/nano-banana', 'Nano Banana', 'Google', '2027-03-15', '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]}
  }', '{"output_format": "png"}', 'Google ended it on its own API on 2026-10-02.')
) as image_models (position, model, label, vendor, shutdown_at, controls, fixed, notes);

-- Video models. Without firstFrame.required they also make a video from text, in the ratios of aspectRatio.
insert into keyframe.models (step, position, model, label, vendor, accepts_faces, controls, fixed, notes) values
  ('video', 10, 'kwaivgi/kling-v3-omni-video', 'Kling 3.0 Omni', 'Kuaishou', 'yes', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]}, "referenceImages": {"field": "reference_images", "list": true, "max": 7, "countsFrames": true},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'Takes seven images, the frames included. <<<image_1>>> in the prompt stands for the first reference image.'),
  ('video', 20, 'google/veo-3.1-fast', 'Veo 3.1 Fast', 'Google', 'yes', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', ''),
  ('video', 30, 'pixverse/pixverse-v6', 'PixVerse V6', 'PixVerse', 'unknown', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"]},
    "resolution": {"field": "quality", "values": ["360p", "540p", "720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 8, 10, 15], "default": 5},
    "audio": {"field": "generate_audio_switch", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"generate_multi_clip_switch": false}', ''),
  ('video', 40, 'kwaivgi/kling-v3-video', 'Kling 3.0', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"}, "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', ''),
  ('video', 50, 'kwaivgi/kling-v2.6', 'Kling 2.6', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'No last frame.'),
  ('video', 60, 'kwaivgi/kling-v2.5-turbo-pro', 'Kling 2.5 Turbo Pro', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"}, "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', ''),
  ('video', 70, 'kwaivgi/kling-v2.1', 'Kling 2.1', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image", "required": true},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"], "forces": {"resolution": "1080p"}},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro"}, "order": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', 'A last frame is only possible in 1080p.'),
  ('video', 80, 'minimax/hailuo-02', 'Hailuo 02', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000}, "firstFrame": {"field": "first_frame_image"},
    "lastFrame": {"field": "last_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'Ten seconds are only possible in 768p.'),
  ('video', 90, 'minimax/hailuo-2.3', 'Hailuo 2.3', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000}, "firstFrame": {"field": "first_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'No last frame. Ten seconds are only possible in 768p.'),
  ('video', 100, 'google/veo-3.1', 'Veo 3.1', 'Google', 'yes', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 3, "excludes": ["firstFrame", "lastFrame"],
      "forces": {"aspectRatio": "16:9", "durationSeconds": 8}},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', 'Twice the price of Veo 3.1 Fast. Reference images only without frames, in 16:9 and eight seconds.'),
  ('video', 110, 'prunaai/p-video', 'P-Video', 'Pruna AI', 'unknown', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "1:1"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 15, 20], "default": 5},
    "audio": {"field": "save_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"draft": false, "fps": 24}', 'The lowest price: for drafts.'),
  ('video', 120, 'bytedance/seedance-2.5', 'Seedance 2.5', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"aspect_ratio": "adaptive", "output_format": "mp4"}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.'),
  ('video', 130, 'bytedance/seedance-2.0', 'Seedance 2.0', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.'),
  ('video', 140, 'bytedance/seedance-2.0-fast', 'Seedance 2.0 Fast', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.');

insert into keyframe.step_defaults (step, model) values
  ('first-frame', 'google/nano-banana-2'), ('last-frame', 'google/nano-banana-2'), ('video', 'kwaivgi/kling-v3-omni-video');

-- Per second of video and per image, as public copies of Replicate's model pages of these days show them. docs/models.md has the same.
insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, checked_at, valid_from, source)
select model, applies_to::jsonb, metric, price_usd, checked_at::date, checked_at::timestamptz, 'https://replicate.com/' || model
from (values
  ('google/nano-banana-2', '{"resolution": "1K"}', 'image', 0.067, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "2K"}', 'image', 0.101, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "4K"}', 'image', 0.151, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'run', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'input_megapixel', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'output_megapixel', 0.015, '2026-09-16'),
  ('bytedance/seedream-4.5', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "1K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "2K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "4K"}', 'image', 0.30, '2026-09-16'),
  ('bytedance/seedream-4', '{}', 'image', 0.03, '2026-09-16'),
  ('black-forest-labs/flux-kontext-pro', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana', '{}', 'image', 0.039, '2026-09-16'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.28, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": false}', 'output_second', 0.10, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": true}', 'output_second', 0.15, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": false}', 'output_second', 0.05, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": true}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": true}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": false}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": true}', 'output_second', 0.12, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": false}', 'output_second', 0.18, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": true}', 'output_second', 0.23, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.252, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.336, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": true}', 'output_second', 0.14, '2026-10-05'),
  ('kwaivgi/kling-v2.5-turbo-pro', '{}', 'output_second', 0.07, '2026-10-01'),
  ('kwaivgi/kling-v2.1', '{"resolution": "720p"}', 'output_second', 0.05, '2026-10-05'),
  ('kwaivgi/kling-v2.1', '{"resolution": "1080p"}', 'output_second', 0.09, '2026-10-05'),
  ('minimax/hailuo-02', '{"resolution": "768p"}', 'output_second', 0.045, '2026-04-28'),
  ('minimax/hailuo-02', '{"resolution": "1080p"}', 'output_second', 0.08, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "768p", "durationSeconds": 6}', 'run', 0.28, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "1080p", "durationSeconds": 6}', 'run', 0.49, '2026-04-28'),
  ('google/veo-3.1', '{"audio": false}', 'output_second', 0.20, '2026-10-05'),
  ('google/veo-3.1', '{"audio": true}', 'output_second', 0.40, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "720p"}', 'output_second', 0.02, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "1080p"}', 'output_second', 0.04, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "480p"}', 'output_second', 0.1028, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "720p"}', 'output_second', 0.2312, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "480p"}', 'output_second', 0.08, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "720p"}', 'output_second', 0.18, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "1080p"}', 'output_second', 0.45, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "4k"}', 'output_second', 1.00, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "480p"}', 'output_second', 0.07, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "720p"}', 'output_second', 0.15, '2026-10-05')
) as prices (model, applies_to, metric, price_usd, checked_at);

-- supabase/schemas/98_policies.sql

-- Policies decide who sees and changes which rows; what of that an OAuth client or a key may change, triggers decide
-- (05_requests/10_oauth_clients.sql). They come last, because on the hosted platform each one locks all tables of Storage and Auth until
-- commit. None may raise outside a request of the Data API: Realtime reads the rows of many subscribers in one transaction, and Storage
-- also lists the app's files.

-- For every table that users read: <table>_all_client, restrictive, so that it stops OAuth clients even if a policy of the app opens all rows,
-- and <table>_select_owner: users see their own rows. A subquery in a condition runs once per statement.
do $$
declare
  seen record;
begin
  for seen in
    select * from (values
      ('models', null), ('step_defaults', null), -- everyone sees all rows
      ('films', ''), ('elements', ''), ('webhook_endpoints', ''),
      ('projects', ' and deleted_at is null'),
      ('predictions', ' and project_id <> all ((select keyframe_private.deleted_projects())::uuid[])'),
      -- Without those of deleted endpoints.
      ('webhook_events', ' and (endpoint_id is null or endpoint_id in (select e.id from keyframe.webhook_endpoints e))'),
      ('webhook_deliveries', ' and endpoint_id in (select e.id from keyframe.webhook_endpoints e)'),
      ('webhook_attempts', ' and exists (select from keyframe.webhook_deliveries d where d.id = delivery_id)')) v (name, condition)
  loop
    execute format(
      'create policy %1$s_all_client on keyframe.%1$s as restrictive to authenticated using ((select keyframe_private.client_may(%2$L)))',
      seen.name, case when seen.name like 'webhook_%' then 'manage' else 'read' end);
    execute format('create policy %1$s_select_%2$s on keyframe.%1$s for select to authenticated using (%3$s)', seen.name,
      case when seen.condition is null then 'everyone' else 'owner' end,
      coalesce('owner_id = (select keyframe_private.caller_id()) and (select keyframe_private.may_read())' || seen.condition, 'true'));
  end loop;
end $$;

create policy films_insert_owner on keyframe.films for insert to authenticated with check (owner_id = (select keyframe_private.caller_id()));
create policy films_update_owner on keyframe.films for update to authenticated
  using (owner_id = (select keyframe_private.caller_id())) with check (owner_id = (select keyframe_private.caller_id()));
create policy films_delete_owner on keyframe.films for delete to authenticated using (owner_id = (select keyframe_private.caller_id()));

create policy projects_insert_owner on keyframe.projects for insert to authenticated with check (owner_id = (select keyframe_private.caller_id()));
create policy projects_update_owner on keyframe.projects for update to authenticated
  using (owner_id = (select keyframe_private.caller_id()) and deleted_at is null) with check (owner_id = (select keyframe_private.caller_id()));
create policy projects_delete_owner on keyframe.projects for delete to authenticated
  using (owner_id = (select keyframe_private.caller_id()) and deleted_at is null);

-- keyframe.predictions: only a run that has not begun, even if a grant lets users name more columns.
create policy predictions_insert_owner on keyframe.predictions for insert to authenticated
  with check (owner_id = (select keyframe_private.caller_id()) and status = 'queued' and attempt = 0 and provider_output_url is null);

-- storage.objects. Users and their clients cannot write or delete files: `api` stores what it has measured, because a price counts pixels
-- and the metadata names the owner.
create policy keyframe_references_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'projects' and user_metadata ->> 'ownerId' = (select keyframe_private.caller_id()::text));
-- Names in keyframe-outputs are <owner_id>/<project_id>/<prediction_id>.<extension>.
create policy keyframe_outputs_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'keyframe-outputs' and (storage.foldername(name))[1] = (select keyframe_private.caller_id()::text));
-- Restrictive, because a policy of the app may open all buckets.
create policy keyframe_files_insert_nobody on storage.objects as restrictive for insert to anon, authenticated
  with check (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_update_nobody on storage.objects as restrictive for update to anon, authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_delete_nobody on storage.objects as restrictive for delete to anon, authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_all_client on storage.objects as restrictive to authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('read')));

-- supabase/schemas/99_rights.sql

-- All rights, on everything. Each version's migration ends with the files 99_*: an app's default privileges may have opened what it
-- created (docs/decisions/0025-rights-are-made-last.md).

-- First, all are taken from every role that the defaults of this database can have given them to: rights from default privileges cannot be
-- revoked for one schema. Rights that an administrator gave to another role stay. Every table has row-level security, so that one without a
-- policy is closed.
do $$
declare
  named text := (
    select string_agg(distinct format('%I', r.rolname), ', ')
    from pg_roles r
    where r.rolname <> current_user and (
      r.rolname in ('anon', 'authenticated', 'service_role')
      or r.oid in (
        select a.grantee from pg_default_acl d cross join aclexplode(d.defaclacl) a
        where d.defaclrole = current_user::regrole and d.defaclnamespace = 0)));
  objects text;
  name text;
begin
  foreach objects in array array['schema', 'all tables in schema', 'all sequences in schema', 'all routines in schema'] loop
    execute format('revoke all on %s keyframe, keyframe_worker, keyframe_private from public, %s cascade', objects, named);
  end loop;
  for name in
    select t.oid::regtype from pg_type t
    where t.typnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and t.typtype in ('e', 'd')
  loop
    execute format('revoke all on type %s from %s cascade', name, named); -- public may name a type, by default
  end loop;
  for name in
    select c.oid::regclass from pg_class c
    where c.relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind = 'r'
      and not c.relrowsecurity
  loop
    execute format('alter table %s enable row level security', name);
  end loop;
end $$;

grant usage on schema keyframe to anon, authenticated, service_role;
grant usage on schema keyframe_private to authenticated, service_role;
grant usage on schema keyframe_worker to service_role;

-- Tables. Users cannot set id: a reused id would get no event (docs/decisions/0020-postgres-makes-ids.md).
grant select on
  keyframe.elements, keyframe.films, keyframe.models, keyframe.predictions, keyframe.projects,
  keyframe.step_defaults, keyframe.webhook_attempts, keyframe.webhook_deliveries, keyframe.webhook_endpoints, keyframe.webhook_events
to authenticated, service_role;
grant insert (title, description, element_ids), update (title, description, element_ids), delete on keyframe.films to authenticated;
grant insert (project_id, step, input, model) on keyframe.predictions to authenticated;
grant
  insert (title, text_prompt, description, aspect_ratio, film_id, element_ids, plan),
  update (
    title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id, selected_video_id,
    film_id, element_ids, plan),
  delete
on keyframe.projects to authenticated;
-- Who is not signed in may ask the table that Realtime publishes, and no policy shows a row. Not its key: Realtime sends the keys of
-- deleted rows to everybody who may select them, and asks the policies once for each such subscriber and change.
grant select (created_at) on keyframe.predictions to anon;

-- The API: all with a user's token, health without a session, and webhooks also with the secret key, for service-wide endpoints.
grant execute on all functions in schema keyframe to authenticated;
grant execute on function keyframe.health to anon, service_role;
grant execute on function
  keyframe.rotate_webhook_secret, keyframe.create_webhook_endpoint, keyframe.delete_webhook_endpoint, keyframe.list_webhook_endpoints,
  keyframe.read_webhook_endpoint, keyframe.reveal_webhook_secret, keyframe.update_webhook_endpoint, keyframe.list_webhook_deliveries,
  keyframe.read_webhook_delivery, keyframe.recover_webhook_endpoint, keyframe.redeliver_webhook, keyframe.test_webhook_endpoint
to service_role;

-- Only with the secret key: workers, and calls of `api` that no user may make.
grant execute on all functions in schema keyframe_worker to service_role;

-- Functions that policies, checks and indexes call: they run with the rights of the role that reads or writes the row.
grant execute on function
  keyframe_private.caller_id, keyframe_private.client_may, keyframe_private.may_read, keyframe_private.deleted_projects,
  keyframe_private.has_visible_character, keyframe_private.images_of_plan, keyframe_private.is_one_line, keyframe_private.is_plain_text
to authenticated;
grant execute on function keyframe_private.claims_for_server, keyframe_private.claims_for_key to service_role; -- act_as runs with the rights of its caller

-- supabase/schemas/99_time_limits.sql

-- Time limits of a user's requests in the database, below the limit of the role (8 s on the hosted platform). A recovery, which may
-- write thousands of rows, has only the role's limit; health has its own. PostgREST applies a function's statement_timeout before it calls it;
-- Postgres alone would not.

do $$
declare
  without_limit constant regproc[] := array['keyframe.health', 'keyframe.recover_webhook_endpoint']::regproc[];
  called record;
begin
  for called in
    select p.oid::regprocedure as name, p.proname ~ '^(estimate|list|read)_|^webhook_health$' as is_read from pg_proc p
    where p.pronamespace = 'keyframe'::regnamespace and p.oid <> all (without_limit)
  loop
    execute format('alter function %s set statement_timeout = %L', called.name, case when called.is_read then '2s' else '5s' end);
    execute format('alter function %s set lock_timeout = ''2s''', called.name); -- what an owner's own open transaction holds
  end loop;
end $$;

insert into keyframe_private.installation (version) values ('0.1.0');
