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
