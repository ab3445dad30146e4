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
