-- Token buckets: one per owner and route class, refilled by the clock, changed without a deploy.

create table private.rate_limits (
  route_class text primary key,
  capacity integer not null check (capacity > 0),
  per_second double precision not null check (per_second > 0)
);
comment on table private.rate_limits is 'How many requests of a class an owner may make: capacity at once, then per_second.';
insert into private.rate_limits (route_class, capacity, per_second) values
  ('create', 60, 1),
  ('generate', 60, 1),
  ('upload', 30, 0.5);
alter table private.rate_limits enable row level security;
revoke all on private.rate_limits from public, anon, authenticated, service_role;

-- Unlogged: a crash hands everybody a full bucket, which costs less than writing each request to the log.
-- The low fillfactor keeps the one hot row of an owner on its page (HOT updates, no index writes).
create unlogged table private.rate_buckets (
  owner_id uuid not null,
  route_class text not null references private.rate_limits on delete cascade,
  tokens double precision not null,
  refilled_at timestamptz not null,
  primary key (owner_id, route_class)
) with (fillfactor = 50);
comment on table private.rate_buckets is 'What is left in each bucket, as of refilled_at.';
create index rate_buckets_route_class_idx on private.rate_buckets (route_class);
alter table private.rate_buckets enable row level security;
revoke all on private.rate_buckets from public, anon, authenticated, service_role;

-- Takes one token of the caller's bucket, or raises rate_limited with the seconds to wait as hint.
create function private.take_token(route_class text)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  caller uuid := auth.uid();
  bucket_limit private.rate_limits;
  left_over double precision;
begin
  if caller is null then
    return; -- administrators and functions with the secret key are not limited
  end if;
  select l.* into bucket_limit from private.rate_limits l where l.route_class = take_token.route_class;
  if not found then
    return; -- a class without a row has no limit
  end if;
  insert into private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
  values (caller, take_token.route_class, bucket_limit.capacity - 1, now())
  on conflict (owner_id, route_class) do update
    set tokens = least(bucket_limit.capacity, b.tokens + bucket_limit.per_second * greatest(0, extract(epoch from now() - b.refilled_at))) - 1,
        refilled_at = greatest(b.refilled_at, now())
  returning b.tokens into left_over;
  if left_over < 0 then
    -- The exception takes the update back, so a refused request costs nothing.
    perform private.raise_error(
      'rate_limited',
      'Too many requests of this kind. Wait the seconds named in Retry-After, then try again.',
      ceil(-left_over / bucket_limit.per_second)::text
    );
  end if;
end
$$;
revoke execute on function private.take_token(text) from public, anon, service_role;
grant execute on function private.take_token(text) to authenticated;

-- What the RateLimit headers say: the class, its limit, what remains, seconds until it is full again.
create function private.rate_state(route_class text)
returns jsonb
language sql
stable
security definer
set search_path = ''
as $$
  select jsonb_build_object(
    'policy', l.route_class,
    'limit', l.capacity,
    'remaining', floor(coalesce(b.tokens, l.capacity)),
    'reset_seconds', ceil((l.capacity - coalesce(b.tokens, l.capacity)) / l.per_second),
    'window_seconds', ceil(l.capacity / l.per_second)
  )
  from private.rate_limits l
  left join private.rate_buckets b on b.route_class = l.route_class and b.owner_id = (select auth.uid())
  where l.route_class = rate_state.route_class
$$;
revoke execute on function private.rate_state(text) from public, anon, service_role;
grant execute on function private.rate_state(text) to authenticated;
