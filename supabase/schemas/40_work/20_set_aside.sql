-- Rows whose work raises are set aside and tried again later, so that one bad row stops no other.

-- An app's trigger, a lock that it waits for, a value out of range; or it took the time of the whole call (57014).
create table keyframe_private.set_aside (
  kind text not null,
  subject text not null,
  code text not null,
  reason text not null,
  failures integer not null default 1,
  lock_waits integer not null default 0,
  since timestamptz not null default now(),
  next_try_at timestamptz not null,
  primary key (kind, subject),
  constraint kind_is_known check (kind in ('claim', 'cancel', 'search', 'remove', 'resubmit', 'fail', 'admit', 'prune', 'lane', 'delivery'))
);
comment on table keyframe_private.set_aside is 'Rows that are left out until next_try_at, because an error was raised when something was to be done with them. Empty in a healthy service.';
comment on column keyframe_private.set_aside.since is 'When it first raised.';
comment on column keyframe_private.set_aside.kind is 'What was to be done: claim (submit, poll or store a prediction), cancel or search for a provider run, remove a file, resubmit or fail a prediction, admit an owner''s waiting predictions, prune (delete or merge old rows), take or give back a lane, record the attempt of a delivery.';
comment on column keyframe_private.set_aside.subject is 'The id of the prediction, of the row of provider_submits, of the owner, of the lane or of the delivery; <bucket>/<name> of a file; for prune, what was to be done, the table and the row''s key.';
comment on column keyframe_private.set_aside.code is 'The SQLSTATE of the last error.';
comment on column keyframe_private.set_aside.reason is 'The message of the last error.';
comment on column keyframe_private.set_aside.failures is 'How often in a row. After settings.max_failures without lock_waits the prediction fails with attempts_exhausted.';
comment on column keyframe_private.set_aside.lock_waits is 'How many of the failures only waited for somebody else''s lock. They fail no prediction: its deadline does.';
comment on column keyframe_private.set_aside.next_try_at is 'When it is tried again.';
create index set_aside_next_try_at_idx on keyframe_private.set_aside (next_try_at);
create index set_aside_failures_idx on keyframe_private.set_aside ((failures - lock_waits)) where kind in ('claim', 'resubmit');

-- A function, so that no plan joins the tables: the rows are read in the order in which they are due.
create function keyframe_private.is_set_aside(kind text, subject text, at timestamptz)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return exists (
    select from keyframe_private.set_aside a
    where a.kind = is_set_aside.kind and a.subject = is_set_aside.subject and a.next_try_at > at);
end $$;
comment on function keyframe_private.is_set_aside is 'Whether a row is set aside now.';

-- In the order of the index: a plan for many rows would read those of other kinds.
create function keyframe_private.is_any_aside(kind text)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return coalesce((select true from keyframe_private.set_aside a where a.kind = is_any_aside.kind order by a.subject limit 1), false);
end $$;
comment on function keyframe_private.is_any_aside is 'Whether a row of this kind is set aside, or was.';

-- Returns what its worker logs: no message, which may contain data. It never raises, because it stands between one row and all others:
-- what cannot be noted now is noted when the row raises again.
create function keyframe_private.set_aside(kind text, subject text, code text, reason text)
returns jsonb language plpgsql volatile set search_path = '' set lock_timeout = '10ms' as $$
declare
  counted integer;
  waited constant integer := case when keyframe_private.is_lock_wait(code) then 1 else 0 end;
begin
  raise warning 'Set aside (%) %: % (%)', kind, subject, reason, code;
  update keyframe_private.set_aside a
  set code = set_aside.code, reason = left(set_aside.reason, 300), failures = least(a.failures + 1, 1000000),
      lock_waits = least(a.lock_waits + waited, 1000000), next_try_at = clock_timestamp() + keyframe_private.retry_delay(a.failures + 1)
  where (a.kind, a.subject) in (
    select o.kind, o.subject from keyframe_private.set_aside o where o.kind = set_aside.kind
      and o.subject = set_aside.subject for update skip locked)
  returning a.failures into counted;
  if counted is null then
    insert into keyframe_private.set_aside (kind, subject, code, reason, lock_waits, next_try_at)
    values (set_aside.kind, set_aside.subject, set_aside.code, left(set_aside.reason, 300), waited, clock_timestamp() + keyframe_private.retry_delay(1))
    on conflict do nothing;
    counted := 1;
  end if;
  return jsonb_build_object('task', 'set_aside', 'kind', kind, 'id', subject, 'code', code, 'failures', counted);
exception when others or query_canceled or assert_failure then
  perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
  raise warning 'Not set aside (%) %: % (%)', kind, subject, sqlerrm, sqlstate;
  return jsonb_build_object('task', 'set_aside', 'kind', kind, 'id', subject, 'code', code, 'failures', 1);
end $$;
comment on function keyframe_private.set_aside is 'Sets a row aside, for longer each time.';

-- It never raises: what was done stays done. A row that stays is deleted by pruning.
create function keyframe_private.forget_aside(kinds text[], subjects text[])
returns void language plpgsql volatile set search_path = '' set lock_timeout = '10ms' as $$
begin
  delete from keyframe_private.set_aside a where (a.kind, a.subject) in (
    select o.kind, o.subject from keyframe_private.set_aside o where o.kind = any (kinds)
      and o.subject = any (subjects) for update skip locked);
exception when others or query_canceled or assert_failure then
  perform keyframe_private.raise_if_canceled(sqlstate, sqlerrm);
  raise warning 'Still set aside (%): % (%)', kinds, sqlerrm, sqlstate;
end $$;
comment on function keyframe_private.forget_aside is 'What was set aside has been done, or ended.';

-- For health and metrics. What was not tried again for a minute is over: its row has ended or is gone, and pruning deletes it here.
create function keyframe_private.aside_figures()
returns jsonb language sql stable set search_path = '' as $$
  with present as (
    select a.* from keyframe_private.set_aside a where a.next_try_at > now() - interval '1 minute' order by a.next_try_at limit 10000
  )
  select jsonb_build_object(
    'count', (select count(*) from present),
    'kinds', (select coalesce(jsonb_object_agg(k.kind, k.count), '{}') from (select p.kind, count(*) from present p group by p.kind) k),
    'oldest', (
      select jsonb_build_object('kind', p.kind, 'subject', p.subject, 'code', p.code, 'reason', p.reason, 'failures', p.failures,
        'seconds', round(greatest(0, extract(epoch from now() - p.since)), 3))
      from present p order by p.since limit 1))
$$;
comment on function keyframe_private.aside_figures is 'The rows that are set aside, for health and metrics.';
