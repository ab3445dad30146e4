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
