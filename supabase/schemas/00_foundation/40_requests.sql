-- OAuth clients: apps and agents that a user approved at Supabase Auth. Their scopes limit nothing, so an administrator allows each one.
-- Every table that users read has a restrictive policy for them; functions and triggers ask through take_token or reserve_idempotency_key.

create type keyframe_private.client_right as enum ('read', 'generate', 'manage');
comment on type keyframe_private.client_right is 'Each has those before it. read: films, projects, elements, predictions, files, prices, costs. generate: create and change them, upload images, start and cancel runs, which spends the user''s money. manage: delete them, share films by link, and everything about webhooks.';

create table keyframe_private.allowed_clients (
  client_id text primary key constraint client_id_is_not_empty check (btrim(client_id) <> ''),
  name text not null constraint name_is_not_empty check (btrim(name) <> ''),
  may keyframe_private.client_right not null,
  owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991)
);
comment on table keyframe_private.allowed_clients is 'The OAuth clients that may act for users who approved them. Every other client is refused.';
comment on column keyframe_private.allowed_clients.client_id is 'The claim client_id of its tokens, as Authentication › OAuth Apps shows it.';
comment on column keyframe_private.allowed_clients.name is 'For administrators.';
comment on column keyframe_private.allowed_clients.may is 'read, generate or manage; each has those before it.';
comment on column keyframe_private.allowed_clients.owner_day_micros is 'The most it may spend for each user in a day (UTC), in micro-dollars, within the user''s budgets; null: no limit of its own.';

-- A token with any client_id, also an empty one, null or no text, is a client's; every other token may do everything.
create function keyframe_private.client_may(needed keyframe_private.client_right)
returns boolean language plpgsql stable security definer set search_path = '' as $$
declare
  claims constant jsonb := auth.jwt();
begin
  if claims is null or not claims ? 'client_id' then
    return true; -- without a query: each request asks
  end if;
  return exists (
    select from keyframe_private.allowed_clients c
    where c.client_id = claims ->> 'client_id' and jsonb_typeof(claims -> 'client_id') = 'string' and c.may >= needed);
end $$;
comment on function keyframe_private.client_may is 'Whether the caller''s token may do this.';

create function keyframe_private.require_client_may(needed keyframe_private.client_right)
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may(needed) then
    perform keyframe_private.raise_error('client_not_allowed',
      format('This app (OAuth client) may not %s here. Sign in to the service itself, or ask its administrator to allow the app.', needed));
  end if;
end $$;
comment on function keyframe_private.require_client_may is 'Raises client_not_allowed unless the caller''s token may do this.';

-- One token bucket per owner and route class. An administrator changes a limit without a deploy.

create table keyframe_private.rate_limits (
  route_class text primary key,
  capacity integer not null check (capacity > 0),
  per_second double precision not null check (per_second > 0)
);
comment on table keyframe_private.rate_limits is 'How many tokens of a class an owner has: capacity at once, then per_second more. A request takes one, or more where it costs more. A class without a row has no limit.';
comment on column keyframe_private.rate_limits.route_class is 'create: projects, films, elements, shares, quotes, webhook endpoints and their tests. generate: starts, one token for each prediction. upload: reference images. change: changes, deletions, cancels, rotations, redeliveries, recoveries. read: every read through the functions. wait: each look of a request that waits (Prefer: wait); without a token it is answered at once. shared: reads of a shared film, which has a bucket for each link.';
comment on column keyframe_private.rate_limits.capacity is 'How many requests at once.';
comment on column keyframe_private.rate_limits.per_second is 'How many more each second.';
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
  route_class text not null, -- no foreign key: everybody's first token would wait for a transaction that holds the limit
  tokens double precision not null,
  refilled_at timestamptz not null,
  low_since timestamptz,
  primary key (owner_id, route_class)
) with (fillfactor = 50);
comment on table keyframe_private.rate_buckets is 'The tokens left in each bucket, as of refilled_at.';
comment on column keyframe_private.rate_buckets.owner_id is 'The user whose bucket it is; of the class shared, the id of the link.';
comment on column keyframe_private.rate_buckets.route_class is 'A class of rate_limits.';
comment on column keyframe_private.rate_buckets.tokens is 'How many requests were left at refilled_at.';
comment on column keyframe_private.rate_buckets.refilled_at is 'When tokens was computed.';
comment on column keyframe_private.rate_buckets.low_since is 'Since when each request has left less than a tenth of the capacity; a full bucket begins anew. Null: the last request left more.';
create index rate_buckets_low_since_idx on keyframe_private.rate_buckets (low_since) where low_since is not null;

-- Raises rate_limited at once: a call that waited would keep a connection of the Data API from other owners.
create function keyframe_private.take_call()
returns boolean language plpgsql volatile security definer set search_path = '' as $$
declare
  caller constant uuid := auth.uid();
  slots integer;
  slot integer;
begin
  if caller is null or current_setting('keyframe.call_of', true) = caller::text then
    return true;
  end if;
  if not keyframe_private.take_lock('call 1', caller, waits => false) then
    slots := (select s.max_calls_per_owner from keyframe_private.settings s);
    slot := 2;
    while slot <= slots and not keyframe_private.take_lock('call ' || slot, caller, waits => false) loop
      slot := slot + 1;
    end loop;
  end if;
  if slots is null or slot <= slots then
    perform set_config('keyframe.call_of', caller::text, true);
    perform set_config('application_name', 'keyframe ' || caller, true); -- for pg_stat_activity, and the log of Postgres
    return true;
  end if;
  perform keyframe_private.raise_error('rate_limited',
    'As many requests of yours as may be are being answered at this moment. Wait the seconds named in Retry-After, then try again.',
    jsonb_build_object('policy', 'calls', 'limit', slots, 'window_seconds', 1, 'wait_seconds', 1)::text);
end $$;
comment on function keyframe_private.take_call is 'Gives this transaction one of the call slots of its caller (settings.max_calls_per_owner), until it ends.';

-- Reads straight through the Data API cannot take a token: they may not write. Two of an owner run at a time, the others wait for them.
-- Only in a request of the Data API: an error would end Realtime's transaction, which reads the rows of many users.
create function keyframe_private.may_read()
returns boolean language plpgsql volatile security definer set search_path = '' set lock_timeout = '2s' as $$
declare
  caller constant uuid := auth.uid();
begin
  if caller is null or coalesce(current_setting('request.method', true), '') = '' then
    return true;
  end if;
  perform keyframe_private.take_call();
  -- Not in a transaction that writes: it may hold a row that a reader waits for.
  if current_setting('transaction_read_only') = 'on' and current_setting('keyframe.read_of', true) is distinct from caller::text then
    if not keyframe_private.take_lock('read 0', caller, waits => false)
      and not keyframe_private.take_lock('read 1', caller, waits => false) then
      perform keyframe_private.take_lock('read ' || pg_backend_pid() % 2, caller);
    end if;
    perform set_config('keyframe.read_of', caller::text, true);
  end if;
  return true;
end $$;
comment on function keyframe_private.may_read is 'Takes one of the caller''s call slots for a read straight through the Data API.';

-- Without enough tokens it raises rate_limited; without a caller or a limit it returns null. A call never costs more than a full bucket.
-- An error that ends the transaction returns the tokens, so the functions that users call answer refusals instead of raising (refuse).
-- Against deadlocks, locks are taken in this order: call, Idempotency-Key, user, token, then rows that others may hold. A request takes
-- tokens of one class. Changes of one owner run one at a time, because they lock films and projects in any order.
create function keyframe_private.take_token(
  route_class text, cost integer default 1, needed keyframe_private.client_right default null, holder uuid default auth.uid())
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  caller constant uuid := holder; -- null for administrators and for the secret key, which have no limit
  bucket record;
begin
  perform keyframe_private.require_client_may(coalesce(needed,
    case route_class when 'read' then 'read' else 'generate' end::keyframe_private.client_right));
  perform keyframe_private.take_call();
  if take_token.route_class in ('create', 'generate', 'change') then
    perform from auth.users u where u.id = caller for key share;
  end if;
  with limited as (
    select l.*, greatest(0, least(take_token.cost, l.capacity)) as taken from keyframe_private.rate_limits l
    where l.route_class = take_token.route_class and caller is not null
  ), taken as (
    insert into keyframe_private.rate_buckets as b (owner_id, route_class, tokens, refilled_at)
    select caller, l.route_class, l.capacity - l.taken, now() from limited l
    on conflict (owner_id, route_class) do update
      set (tokens, low_since) = (
            -- Since now, where the bucket was full, and where the clock was set back.
            select n.tokens,
              case when n.tokens < l.capacity / 10.0 then least(now(), case when n.tokens < excluded.tokens then b.low_since end) end
            from limited l
            cross join lateral (select least(
              excluded.tokens, -- what a full bucket would have left
              b.tokens + l.per_second * greatest(0, extract(epoch from now() - b.refilled_at)) - l.taken) as tokens) n),
          -- A request that began later may have finished first. More than a minute ahead means that the clock was set back.
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
    perform keyframe_private.raise_error('rate_limited',
      'Too many requests of this kind. Wait the seconds named in Retry-After, then try again.',
      jsonb_build_object(
        'policy', bucket.route_class, 'limit', bucket.capacity, 'window_seconds', ceil(bucket.capacity / bucket.per_second),
        'wait_seconds', ceil(-bucket.tokens / bucket.per_second))::text);
  end if;
  if take_token.route_class = 'change' then
    perform set_config('keyframe.change_of', caller::text, true);
  end if;
  return keyframe_private.rate_json(bucket.route_class, bucket.capacity, bucket.per_second, bucket.tokens);
end $$;
comment on function keyframe_private.take_token is 'Takes tokens from the bucket of its holder, by default the caller, and returns the state of the bucket, as rate_json.';

create function keyframe_private.rate_json(route_class text, capacity integer, per_second double precision, tokens double precision)
returns jsonb language plpgsql immutable set search_path = '' as $$
begin
  return jsonb_build_object(
    'policy', route_class, 'limit', capacity, 'remaining', floor(tokens), 'reset_seconds', ceil((capacity - tokens) / per_second),
    'window_seconds', ceil(capacity / per_second));
end $$;
comment on function keyframe_private.rate_json is 'The values of the RateLimit headers: class, limit, remaining, seconds until full.';

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
comment on function keyframe_private.rate_state is 'The state of the caller''s bucket, as rate_json; null without a caller or a limit.';

create function keyframe_private.limit_creations()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.take_token('create');
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
    perform keyframe_private.take_token('change');
  end if;
  return null;
end $$;

create function keyframe_private.require_user()
returns void language plpgsql stable set search_path = '' as $$
begin
  if auth.uid() is null then
    perform keyframe_private.raise_error('unauthorized', 'This session names no user. Sign in, then try again.');
  end if;
end $$;
comment on function keyframe_private.require_user is 'Refuses a session that names no user: the triggers treat an insert without a caller as an administrator''s.';

-- The functions of the API are definers, so each asks this of a row that it finds by its id. Lists compare owner_id with auth.uid() instead,
-- to use an index; the planner never uses one for this.
create function keyframe_private.is_own(owner uuid)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return case when auth.role() = 'service_role' then owner is null else coalesce(owner = auth.uid(), false) end;
end $$;
comment on function keyframe_private.is_own is 'Whether a row of this owner is the caller''s: users have their own, the secret key has webhook endpoints without an owner.';

-- Idempotency-Key: the same key and body return the first result again. A unique key decides, so simultaneous requests are safe.

create table keyframe_private.idempotency_keys (
  resource_id uuid primary key,
  owner_id uuid references auth.users on delete cascade,
  key text not null check (key ~ '^[\x21-\x7e]{1,255}$'),
  request_hash text check (request_hash ~ '^[0-9a-f]{64}$'),
  answer jsonb,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_owner_id_key_key unique nulls not distinct (owner_id, key)
);
comment on table keyframe_private.idempotency_keys is 'Which resource a key created, kept for 24 hours.';
comment on column keyframe_private.idempotency_keys.key is 'The Idempotency-Key as it was sent.';
comment on column keyframe_private.idempotency_keys.created_at is 'When it was first used.';
comment on column keyframe_private.idempotency_keys.request_hash is 'The SHA-256 of method, path and body; null until the body of an upload has been read.';
comment on column keyframe_private.idempotency_keys.owner_id is 'The owner of the key; null for the secret key.';
comment on column keyframe_private.idempotency_keys.resource_id is 'The resource that the request created; a random value when it created none.';
comment on column keyframe_private.idempotency_keys.answer is 'The answer to the first request, when no row can reproduce it (for a recovery, the count). Never a secret: secrets stay in the Vault.';
create index idempotency_keys_created_at_idx on keyframe_private.idempotency_keys (created_at);

-- In the transaction of the effect that it guards: an equal simultaneous request waits until the first has ended. Without a hash (the
-- body is not read yet) it compares nothing. A replay updates the row to its own values, so that one statement reserves and reads; it
-- takes no token. Without a key every request is new.
create function keyframe_private.reserve_idempotency_key(
  key text, request_hash text, route_class text default null, out resource_id uuid, out replayed boolean, out answer jsonb, out rate jsonb)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  caller uuid := auth.uid();
  fresh uuid := gen_random_uuid();
  kept keyframe_private.idempotency_keys;
begin
  perform keyframe_private.require_client_may('generate');
  resource_id := fresh;
  replayed := false;
  perform keyframe_private.take_call(); -- an equal request waits below
  if reserve_idempotency_key.key is not null then
    -- Keys without a user belong to the secret key. A session that names no user must not use them.
    perform keyframe_private.raise_if(caller is null and auth.role() is distinct from 'service_role', 'unauthorized',
      'An Idempotency-Key belongs to a signed-in user. Sign in, then try again.');
    insert into keyframe_private.idempotency_keys as k (resource_id, owner_id, key, request_hash)
    values (fresh, caller, reserve_idempotency_key.key, reserve_idempotency_key.request_hash)
    on conflict (owner_id, key) do update
      set (resource_id, request_hash, answer, created_at) = (
        select
          case when was.expired then excluded.resource_id else k.resource_id end,
          case when was.expired then excluded.request_hash else k.request_hash end,
          case when not was.expired then k.answer end,
          case when was.expired then excluded.created_at else k.created_at end
        from (select k.created_at < now() - interval '24 hours' as expired) was
      )
    returning k.* into kept;
    perform keyframe_private.raise_if(
      reserve_idempotency_key.request_hash is not null and kept.request_hash is distinct from reserve_idempotency_key.request_hash,
      'idempotency_mismatch', 'This Idempotency-Key was used for another request in the last 24 hours. Send a new key with a new request.');
    resource_id := kept.resource_id;
    replayed := kept.resource_id <> fresh;
    answer := kept.answer;
  end if;
  if replayed then
    rate := keyframe_private.rate_state(route_class);
  elsif route_class is not null then
    rate := keyframe_private.take_token(route_class);
  end if;
end $$;
comment on function keyframe_private.reserve_idempotency_key is 'Reserves a key for the caller, or returns the resource that it created before.';
