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
