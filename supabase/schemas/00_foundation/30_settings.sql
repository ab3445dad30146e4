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
