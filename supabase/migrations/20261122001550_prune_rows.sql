-- Pruning in parts: a row that cannot be deleted or changed, because an app's trigger or foreign key raises, must not stop the others.

-- The row that fails is set aside, unless somebody has only locked what it needs: then the next run takes it. Work that fails takes two
-- seconds at most. When several rows took all the time of the call, the next run does them one by one, to find the one that does.
create function keyframe_private.work_in_parts(part text, candidates text, work text)
returns void
language plpgsql
volatile
set search_path = ''
set lock_timeout = '10ms'
as $$
declare
  ends constant timestamptz := clock_timestamp() + interval '2 seconds';
  rows tid[];
  subjects text[];
  first integer := 1;
  size integer;
  one_by_one constant boolean := exists (
    select from keyframe_private.set_aside a where a.kind = 'prune' and a.subject = part and a.code = '57014');
begin
  if keyframe_private.is_out_of_time() then
    return; -- what was done before has used it up
  end if;
  execute format('select array_agg(c.ctid), array_agg(c.subject) from (%s) c', candidates) into rows, subjects;
  size := case when one_by_one then 1 else cardinality(rows) end;
  while first <= cardinality(rows) loop
    if keyframe_private.is_out_of_time() then
      return;
    end if;
    begin
      execute work using rows[first : first + size - 1];
      if exists (select from keyframe_private.set_aside a where a.kind = 'prune') then
        perform keyframe_private.forget_aside('{prune}', subjects[first : first + size - 1]);
      end if;
      first := first + size;
      size := case when one_by_one then 1 else size * 2 end;
    exception when query_canceled then
      if not keyframe_private.is_out_of_time() then
        raise;
      end if;
      perform keyframe_private.set_aside('prune', case when size = 1 then subjects[first] else part end, sqlstate, sqlerrm);
      return;
    when others or assert_failure then
      if size > 1 then
        size := size / 2;
      else
        if not keyframe_private.is_lock_wait(sqlstate) then
          perform keyframe_private.set_aside('prune', subjects[first], sqlstate, sqlerrm);
        end if;
        first := first + 1;
      end if;
      exit when clock_timestamp() > ends;
    end;
  end loop;
  perform keyframe_private.forget_aside('{prune}', array[part]);
exception when others then
  perform keyframe_private.set_aside('prune', part, sqlstate, sqlerrm);
end
$$;
comment on function keyframe_private.work_in_parts is 'Does the work on the rows that `candidates` selects (ctid, subject): on all at once, after an error on fewer, down to the one that fails.';

-- By default it deletes them. `key` is an expression.
create function keyframe_private.prune_rows(
  name text, key text, condition text, max_rows integer, verb text default 'delete', work text default 'delete from %s o where o.ctid = any ($1)'
)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  part constant text := verb || ' ' || name;
  subject constant text := format('concat_ws('' '', %L, %s)', part, key);
begin
  perform keyframe_private.work_in_parts(
    part,
    format(
      'select o.ctid, %s as subject from %s o where not keyframe_private.is_set_aside(''prune'', %s, now()) and %s limit %s for update of o skip locked',
      subject, name, subject, condition, max_rows),
    -- A subquery, because the planner reads whole small tables when it sees how many rows there are.
    replace(format(work, name), '$1', 'array(select unnest($1))'));
end
$$;
comment on function keyframe_private.prune_rows is 'Works in parts on the rows of a table (alias o) that fulfil the condition, without those that others hold or that are set aside.';
