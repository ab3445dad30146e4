-- Token buckets: one per owner and route class, refilled by the clock, changed without a deploy.

create table keyframe_private.rate_limits (
  route_class text primary key,
  capacity integer not null check (capacity > 0),
  per_second double precision not null check (per_second > 0)
);
comment on table keyframe_private.rate_limits is 'How many requests of a class an owner may make: capacity at once, then per_second. A class without a row has no limit.';
comment on column keyframe_private.rate_limits.route_class is 'create: projects, webhook endpoints and their tests. generate: starts of predictions. upload: reference images. change: changes, deletions, cancels, rotations, redeliveries, recoveries. read: every read through the functions.';
insert into keyframe_private.rate_limits (route_class, capacity, per_second) values
  ('create', 60, 1),
  ('generate', 60, 1),
  ('upload', 30, 0.5),
  ('change', 120, 2),
  ('read', 1200, 20);
alter table keyframe_private.rate_limits enable row level security;

-- Unlogged: a crash hands everybody a full bucket, which costs less than writing each request to the log.
-- The low fillfactor keeps the one hot row of an owner on its page (HOT updates, no index writes).
create unlogged table keyframe_private.rate_buckets (
  owner_id uuid not null,
  route_class text not null references keyframe_private.rate_limits on delete cascade,
  tokens double precision not null,
  refilled_at timestamptz not null,
  primary key (owner_id, route_class)
) with (fillfactor = 50);
comment on table keyframe_private.rate_buckets is 'What is left in each bucket, as of refilled_at.';
create index rate_buckets_route_class_idx on keyframe_private.rate_buckets (route_class);
alter table keyframe_private.rate_buckets enable row level security;

-- Takes one token of the caller's bucket and says how the bucket then stands, as rate_state does. When it is empty: rate_limited,
-- with {policy, limit, window_seconds, wait_seconds} as hint. Null, and nothing taken, without a caller or without a limit.
--
-- What is refused later in the same transaction is taken back with it, its token too, and so is the token of a request that was
-- refused for want of one. So a flood of requests that find nothing costs its sender no tokens; it costs us an index probe each,
-- and they come one after the other, because each holds the bucket's row while it looks. An empty bucket refuses before anything
-- is looked at.
--
-- The row stays locked to the end of the transaction. Hence the order in every function: Idempotency-Key, token, and only then
-- rows that others may hold. A request takes the tokens of one class only, so nobody waits for a token while holding what the
-- holder of that token may wait for. (A start has locked its project against deletion by then: whoever deletes it waits for no
-- token any more.) What one owner's long change (a big recovery) keeps waiting is that owner's other changes.
create function keyframe_private.take_token(route_class text)
returns jsonb
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  caller uuid := auth.uid(); -- null: administrators, and functions with the secret key, which are not limited
  bucket record;
begin
  with limited as (
    select l.* from keyframe_private.rate_limits l where l.route_class = take_token.route_class and caller is not null
  ), taken as (
    insert into keyframe_private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
    select caller, l.route_class, l.capacity - 1, now() from limited l
    on conflict (owner_id, route_class) do update
      set tokens = least(
            excluded.tokens, -- one less than the capacity
            b.tokens - 1 + (select l.per_second from limited l) * greatest(0, extract(epoch from now() - b.refilled_at))),
          -- A little ahead: another request began later and was faster. More: the clock was set back, and refilling goes on from
          -- now.
          refilled_at = case when b.refilled_at > now() + interval '1 minute' then now() else greatest(b.refilled_at, now()) end
    returning b.tokens
  )
  select l.*, t.tokens into bucket from limited l cross join taken t;
  if not found then
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
  return jsonb_build_object(
    'policy', bucket.route_class,
    'limit', bucket.capacity,
    'remaining', floor(bucket.tokens),
    'reset_seconds', ceil((bucket.capacity - bucket.tokens) / bucket.per_second),
    'window_seconds', ceil(bucket.capacity / bucket.per_second)
  );
end
$$;
grant execute on function keyframe_private.take_token(text) to authenticated;

-- What the RateLimit headers say: the class, its limit, what remains, seconds until it is full again. Null without a caller.
-- This, and whatever else a user's request calls, is plpgsql: a session keeps its plans, while a function in SQL that cannot be
-- inlined (none with a search_path can) is parsed and planned anew at each call, which was half of the time of a start.
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
    left join keyframe_private.rate_buckets b on b.route_class = l.route_class and b.owner_id = caller
    where l.route_class = rate_state.route_class and caller is not null
  );
end
$$;
grant execute on function keyframe_private.rate_state(text) to authenticated;
