-- Rate limits: one token bucket per owner and route class. An administrator changes a limit without a deploy.

create table keyframe_private.rate_limits (
  route_class text primary key,
  capacity integer not null check (capacity > 0),
  per_second double precision not null check (per_second > 0)
);
comment on table keyframe_private.rate_limits is 'How many requests of a class an owner may make: capacity at once, then per_second. A class without a row has no limit.';
comment on column keyframe_private.rate_limits.capacity is 'How many requests at once.';
comment on column keyframe_private.rate_limits.per_second is 'How many more each second.';
comment on column keyframe_private.rate_limits.route_class is 'create: projects, webhook endpoints and their tests. generate: starts of predictions. upload: reference images. change: changes, deletions, cancels, rotations, redeliveries, recoveries. read: every read through the functions.';
insert into keyframe_private.rate_limits (route_class, capacity, per_second) values
  ('create', 60, 1),
  ('generate', 60, 1),
  ('upload', 30, 0.5),
  ('change', 120, 2),
  ('read', 1200, 20);
alter table keyframe_private.rate_limits enable row level security;

-- Unlogged: a crash refills every bucket, which is cheaper than logging every request. The low fillfactor keeps an owner's row on
-- its page (HOT updates write no index).
create unlogged table keyframe_private.rate_buckets (
  owner_id uuid not null,
  route_class text not null references keyframe_private.rate_limits on delete cascade,
  tokens double precision not null,
  refilled_at timestamptz not null,
  primary key (owner_id, route_class)
) with (fillfactor = 50);
comment on table keyframe_private.rate_buckets is 'The tokens left in each bucket, as of refilled_at.';
comment on column keyframe_private.rate_buckets.owner_id is 'The user whose bucket it is.';
comment on column keyframe_private.rate_buckets.route_class is 'A class of rate_limits.';
comment on column keyframe_private.rate_buckets.tokens is 'How many requests were left at refilled_at.';
comment on column keyframe_private.rate_buckets.refilled_at is 'When tokens was computed.';
create index rate_buckets_route_class_idx on keyframe_private.rate_buckets (route_class);
alter table keyframe_private.rate_buckets enable row level security;

-- Takes one token from the caller's bucket and returns the state of the bucket, as rate_state does. An empty bucket raises
-- rate_limited, with {policy, limit, window_seconds, wait_seconds} as the hint. Without a caller or without a limit it takes
-- nothing and returns null.
--
-- An error later in the transaction returns the token. A flood of requests that find nothing therefore costs its sender no
-- tokens; it costs us one index probe each, one at a time because each holds the row of its bucket. An empty bucket refuses
-- before anything is read.
--
-- The row stays locked until the transaction ends. To avoid deadlocks every function takes its locks in this order:
-- Idempotency-Key, the user against the deletion of the account, token, then rows that others may hold. A request takes tokens of one
-- class only. Changes of one owner run one at a time, with a limit or without: they lock films and projects in any order. So a long
-- change, such as a large recovery, delays the other changes of the same owner only.
create function keyframe_private.take_token(route_class text)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  caller uuid := auth.uid(); -- null for administrators and for the secret key, which have no limit
  bucket record;
begin
  if take_token.route_class in ('create', 'generate', 'change') then
    perform from auth.users u where u.id = caller for key share;
  end if;
  with limited as (
    select l.* from keyframe_private.rate_limits l where l.route_class = take_token.route_class and caller is not null
  ), taken as (
    insert into keyframe_private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
    select caller, l.route_class, l.capacity - 1, now() from limited l
    on conflict (owner_id, route_class) do update
      set tokens = least(
            excluded.tokens, -- one less than the capacity
            b.tokens - 1 + (select l.per_second from limited l) * greatest(0, extract(epoch from now() - b.refilled_at))),
          -- A request that began later may have finished first, so refilled_at may be slightly ahead. More than a minute ahead
          -- means that the clock was set back: refilling restarts from now.
          refilled_at = case when b.refilled_at > now() + interval '1 minute' then now() else greatest(b.refilled_at, now()) end
    returning b.tokens
  )
  select l.*, t.tokens into bucket from limited l cross join taken t;
  if not found then
    if take_token.route_class = 'change' and caller is not null then
      perform keyframe_private.take_lock('changes', caller);
    end if;
    return null;
  elsif bucket.tokens < 0 then
    perform keyframe_private.raise_error(
      'rate_limited',
      'Too many requests of this kind. Wait the seconds named in Retry-After, then try again.',
      jsonb_build_object(
        'policy', bucket.route_class,
        'limit', bucket.capacity,
        'window_seconds', ceil(bucket.capacity / bucket.per_second),
        'wait_seconds', ceil(-bucket.tokens / bucket.per_second)
      )::text
    );
  end if;
  return keyframe_private.rate_state(take_token.route_class);
end
$$;
comment on function keyframe_private.take_token is 'Takes one token from the caller''s bucket and returns the state of the bucket, as rate_state does.';
grant execute on function keyframe_private.take_token(text) to authenticated;

-- The values of the RateLimit headers: class, limit, remaining, seconds until full. Null without a caller. Functions on a user's
-- request path are plpgsql: a session keeps their plans. A SQL function with a search_path cannot be inlined and is planned at
-- each call, which took half of the time of a start.
create function keyframe_private.rate_state(route_class text)
returns jsonb
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  caller uuid := auth.uid();
begin
  return (
    select jsonb_build_object(
      'policy', l.route_class,
      'limit', l.capacity,
      'remaining', floor(coalesce(b.tokens, l.capacity)),
      'reset_seconds', ceil((l.capacity - coalesce(b.tokens, l.capacity)) / l.per_second),
      'window_seconds', ceil(l.capacity / l.per_second)
    )
    from keyframe_private.rate_limits l
    left join keyframe_private.rate_buckets b on b.owner_id = caller and b.route_class = l.route_class
    where l.route_class = rate_state.route_class and caller is not null);
end
$$;
comment on function keyframe_private.rate_state is 'The values of the RateLimit headers: class, limit, remaining, seconds until full.';
grant execute on function keyframe_private.rate_state(text) to authenticated;
