-- Deletes what is kept for a limited time. A row that cannot be deleted, because an app's trigger or foreign key raises, stops no other.

create table keyframe_private.skipped_rows (
  subject text primary key,
  code text not null,
  reason text not null,
  failures integer not null default 1,
  since timestamptz not null default now(),
  next_try_at timestamptz not null
);
comment on table keyframe_private.skipped_rows is 'Rows that pruning skips until next_try_at, because their deletion or merge raised an error. Empty in a healthy service.';
comment on column keyframe_private.skipped_rows.subject is 'The operation, the table and the row''s key. Without a key: the operation as a whole, of which no row is skipped.';
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
  raise warning 'Not pruned: %: % (%)', subject, reason, code;
  insert into keyframe_private.skipped_rows as u (subject, code, reason, next_try_at)
  values (skip_row.subject, skip_row.code, left(skip_row.reason, 300), clock_timestamp() + keyframe_private.retry_delay(1))
  on conflict on constraint skipped_rows_pkey do update
    set code = excluded.code, reason = excluded.reason, failures = least(u.failures + 1, 1000000),
      next_try_at = clock_timestamp() + keyframe_private.retry_delay(u.failures + 1);
end $$;

-- Whether 80 % of this statement's statement_timeout has passed. Once the timer has fired and was caught, nothing limits the statement. Not
-- 100 %, because the timer may start before statement_timestamp().
create function keyframe_private.is_out_of_time()
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  most constant interval := current_setting('statement_timeout')::interval;
begin
  return most > interval '0' and clock_timestamp() - statement_timestamp() > most * 0.8;
end $$;

-- Does the action on the rows of a table (alias o) that fulfil the condition, except locked rows and those that failed lately. All rows are one
-- batch; after an error the batch is halved, after a success doubled:
--
--   1 2 3 4   raises
--   1 2       done
--   3 4       raises
--   3         raises: recorded in skipped_rows, and skipped by the next runs; if it only waited for a lock, the next run tries it again
--   4         done
--
-- An error two seconds after the start ends the run. When a batch used all the time of the call, the next run does one row at a time, to
-- find the slow one.
create function keyframe_private.work_through_rows(
  name text, condition text, max_rows integer, verb text default 'delete', action text default 'delete from %s o where o.ctid = any ($1)')
returns void language plpgsql volatile set search_path = '' set lock_timeout = '10ms' as $$
declare
  ends constant timestamptz := clock_timestamp() + interval '2 seconds';
  operation constant text := verb || ' ' || name;
  -- A subquery, because the planner reads whole small tables when it sees how many rows there are.
  statement constant text := replace(format(action, name), '$1', 'array(select unnest($1))');
  one_by_one constant boolean := exists (
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
  size := case when one_by_one then 1 else cardinality(rows) end;
  while first <= cardinality(rows) loop
    if keyframe_private.is_out_of_time() then
      return;
    end if;
    begin
      execute statement using rows[first : first + size - 1];
      delete from keyframe_private.skipped_rows u where u.subject = any (array(select unnest(subjects[first : first + size - 1])));
      first := first + size;
      size := case when one_by_one then 1 else least(size * 2, cardinality(rows) - first + 1) end;
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

-- Deletes a batch: deliveries first, then test events without deliveries, because a locked delivery would block the deletion of its event.
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
  perform keyframe_private.work_through_rows('keyframe.webhook_deliveries',
    format('o.id = any (array(select d.id from keyframe.webhook_deliveries d where d.endpoint_id = any (%L::uuid[]) limit %s))', gone, max_rows), max_rows);
  perform keyframe_private.work_through_rows('keyframe.webhook_events',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.event_id = o.id)', max_rows, 'delete tests in');
  perform keyframe_private.work_through_rows('keyframe_private.deleted_endpoints',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.endpoint_id = o.endpoint_id)
      and not exists (select from keyframe.webhook_events v where v.endpoint_id = o.endpoint_id)', max_rows);
end $$;

-- Deletes a batch of events past their retention, with their deliveries and attempts; also what deleted endpoints left, hours after two
-- days, and expired secrets.
create function keyframe_private.prune_webhooks(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.work_through_rows('keyframe_private.webhook_secrets', 'o.expires_at <= now() order by o.expires_at', max_rows);
  -- An endpoint's last hour shows its latest attempt. Scalar subqueries, because joins would read all hours.
  perform keyframe_private.work_through_rows('keyframe_private.webhook_hours', $w$
    o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from keyframe_private.settings s)
      or (select true from keyframe_private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour$w$, max_rows * 5);
  perform keyframe_private.prune_deleted_endpoints();
  perform keyframe_private.work_through_rows('keyframe.webhook_events',
    'o.created_at < now() - (select s.webhook_retention from keyframe_private.settings s) order by o.created_at', max_rows);
end $$;

create function keyframe_private.prune(max_rows integer default 5000)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  name text;
  condition text;
begin
  -- No run takes longer than a day.
  perform keyframe_private.work_through_rows('keyframe_private.provider_submits',
    $w$o.search_task is not null and o.submitted_at < now() - interval '1 day' order by o.submitted_at$w$,
    least(max_rows, 500), 'end', $w$select keyframe_private.end_submit(o.id, 'lost') from %s o where o.ctid = any ($1)$w$);
  -- is_only_submit_of_its_text reads up to two hours back.
  perform keyframe_private.work_through_rows('keyframe_private.provider_submits',
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
    perform keyframe_private.work_through_rows('keyframe_private.' || name, condition, max_rows);
  end loop;
  perform keyframe_private.prune_webhooks();
end $$;

-- Deletes full buckets unused for a day: a missing bucket is a full one. Reads all rows, one per active owner and class; an index on
-- refilled_at would end HOT updates.
create function keyframe_private.prune_rate_buckets(max_rows integer default 50000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.work_through_rows('keyframe_private.rate_buckets', $w$
    o.refilled_at < now() - interval '1 day' and (
      select o.tokens + l.per_second * extract(epoch from now() - o.refilled_at) < l.capacity
      from keyframe_private.rate_limits l where l.route_class = o.route_class) is not true$w$, max_rows);
end $$;
