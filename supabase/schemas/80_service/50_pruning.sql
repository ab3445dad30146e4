-- Deletes what is kept for a limited time. A row that cannot be deleted, because an app's trigger or foreign key raises, stops no other.

-- A row that fails is set aside; one that only waits for a lock is left to the next run. Failing work takes two seconds at most. When several
-- rows took all the time of the call, the next run does them one by one, to find the slow one.
create function keyframe_private.work_in_parts(part text, candidates text, work text)
returns void language plpgsql volatile set search_path = '' set lock_timeout = '10ms' as $$
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
      if keyframe_private.is_any_aside('prune') then
        perform keyframe_private.forget_aside('{prune}', subjects[first : first + size - 1]);
      end if;
      first := first + size;
      size := case when one_by_one then 1 else size * 2 end;
    exception when query_canceled then
      perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
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
end $$;
comment on function keyframe_private.work_in_parts is 'Does the work on the rows that `candidates` selects (ctid, subject): on all at once, after an error on fewer, down to the one that fails.';

create function keyframe_private.prune_rows(
  name text, key text, condition text, max_rows integer, verb text default 'delete',
  work text default 'delete from %s o where o.ctid = any ($1)')
returns void language plpgsql volatile set search_path = '' as $$
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
end $$;
comment on function keyframe_private.prune_rows is 'Works in parts on the rows of a table (alias o) that fulfil the condition, without those that others hold or that are set aside. Deletes them by default. `key` is an SQL expression.';

-- Deliveries first, then test events that have none any more: a locked delivery would hold up the deletion of its event.
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
  -- From the index alone: an endpoint may have left a million.
  perform keyframe_private.prune_rows('keyframe.webhook_deliveries', 'o.id',
    format('o.id = any (array(select d.id from keyframe.webhook_deliveries d where d.endpoint_id = any (%L::uuid[]) limit %s))', gone, max_rows), max_rows);
  perform keyframe_private.prune_rows('keyframe.webhook_events', 'o.id',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.event_id = o.id)', max_rows, 'delete tests in');
  perform keyframe_private.prune_rows('keyframe_private.deleted_endpoints', 'o.endpoint_id',
    is_left || ' and not exists (select from keyframe.webhook_deliveries d where d.endpoint_id = o.endpoint_id)
      and not exists (select from keyframe.webhook_events v where v.endpoint_id = o.endpoint_id)', max_rows);
end $$;
comment on function keyframe_private.prune_deleted_endpoints is 'Deletes a batch of what deleted endpoints left.';

-- Also what deleted endpoints left, hours after two days, lanes unused for a day, and expired secrets.
create function keyframe_private.prune_webhooks(max_rows integer default 2000)
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.prune_rows('keyframe_private.webhook_secrets', 'o.id', 'o.expires_at <= now() order by o.expires_at', max_rows);
  -- An endpoint's last hour shows its latest attempt. Scalar subqueries, because joins would read all hours.
  perform keyframe_private.prune_rows('keyframe_private.webhook_hours', 'o.endpoint_id, o.hour', $w$
    o.hour < now() - interval '2 days' and (
      o.hour < now() - (select s.webhook_retention from keyframe_private.settings s)
      or (select true from keyframe_private.webhook_hours n where n.endpoint_id = o.endpoint_id and n.hour > o.hour limit 1))
    order by o.hour$w$, max_rows * 5);
  perform keyframe_private.prune_deleted_endpoints();
  perform keyframe_private.prune_rows('keyframe.webhook_events', 'o.id',
    'o.created_at < now() - (select s.webhook_retention from keyframe_private.settings s) order by o.created_at', max_rows);
  -- Last: a claim leaves a locked lane alone until this transaction ends.
  perform keyframe_private.prune_rows('keyframe_private.lanes', 'o.id', $w$o.due_at = 'infinity' and o.served_at < now() - interval '1 day'$w$, max_rows);
end $$;
comment on function keyframe_private.prune_webhooks is 'Deletes a batch of events, deliveries and attempts past their retention.';

create function keyframe_private.prune(max_rows integer default 5000)
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  name text;
  key text;
  condition text;
begin
  -- No run takes longer than a day.
  perform keyframe_private.prune_rows('keyframe_private.provider_submits', 'o.id',
    $w$o.search_due_at <= now() and o.submitted_at < now() - interval '1 day' order by o.search_due_at$w$,
    least(max_rows, 500), 'end', $w$select keyframe_private.end_submit(o.id, 'lost') from %s o where o.ctid = any ($1)$w$);
  -- is_only_submit_of_its_text reads up to two hours back.
  perform keyframe_private.prune_rows('keyframe_private.provider_submits', 'o.id',
    $w$o.text_hash is not null and o.submitted_at < now() - interval '3 hours' order by o.submitted_at$w$,
    max_rows, 'forget the texts of', 'update %s o set text_hash = null where o.ctid = any ($1)');
  for name, key, condition in
    values
      ('quotes', 'o.id', $w$o.kept_until < now() order by o.kept_until$w$),
      ('idempotency_keys', 'o.resource_id', $w$o.created_at < now() - interval '24 hours' order by o.created_at$w$),
      ('provider_submits', 'o.id', $w$o.created_at < now() - interval '13 months' and o.ended_at is not null order by o.created_at$w$),
      ('daily_costs', 'o.id', $w$o.is_merged and o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day$w$),
      ('project_costs', 'o.id', $w$o.day < (now() at time zone 'UTC')::date - interval '13 months' order by o.day$w$),
      ('film_shares', 'o.id', $w$o.expires_at < now() order by o.expires_at$w$),
      ('exhausted_budgets', 'o.id', $w$o.resets_at < now() - interval '13 months'$w$),
      ('balance_notes', 'o.id', $w$o.noted_at < now() - interval '13 months'$w$),
      ('kicks', 'o.id', $w$o.made_at < now() - interval '1 hour' order by o.id$w$),
      -- A row that is still due is tried again within minutes: these have ended, or are gone.
      ('set_aside', 'o.kind, o.subject', $w$o.next_try_at < now() - interval '1 hour' order by o.next_try_at$w$)
  loop
    perform keyframe_private.prune_rows('keyframe_private.' || name, key, condition, max_rows);
  end loop;
  perform keyframe_private.prune_webhooks();
end $$;
comment on function keyframe_private.prune is 'Deletes what is kept for a limited time, in small batches. Leaves out what others hold, and what fails (set_aside).';

-- Reads all rows, one per active owner and class; an index on refilled_at would end HOT updates.
create function keyframe_private.prune_rate_buckets(max_rows integer default 50000)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform keyframe_private.prune_rows('keyframe_private.rate_buckets', 'o.owner_id, o.route_class', $w$
    o.refilled_at < now() - interval '1 day' and (
      select o.tokens + l.per_second * extract(epoch from now() - o.refilled_at) < l.capacity
      from keyframe_private.rate_limits l where l.route_class = o.route_class) is not true$w$, max_rows);
end $$;
comment on function keyframe_private.prune_rate_buckets is 'Deletes full buckets unused for a day: a missing bucket is a full one.';
