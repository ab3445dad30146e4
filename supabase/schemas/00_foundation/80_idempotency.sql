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
alter table keyframe_private.idempotency_keys enable row level security;

-- It runs in the transaction of the effect that it guards, so an equal simultaneous request waits here until the first has committed or
-- failed. Without a hash (the body is not read yet) it reserves the key and compares nothing until admit_upload sets the hash. A replay
-- updates the row to its own values, so that one statement reserves and reads. Without a key every request is new. With a route class it
-- takes a token of the caller, unless it is a replay. An OAuth client needs the right to generate, for a replay too.
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
    if caller is null and auth.role() is distinct from 'service_role' then
      perform keyframe_private.raise_error('unauthorized', 'An Idempotency-Key belongs to a signed-in user. Sign in, then try again.');
    end if;
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
    if reserve_idempotency_key.request_hash is not null and kept.request_hash is distinct from reserve_idempotency_key.request_hash then
      perform keyframe_private.raise_error(
        'idempotency_mismatch',
        'This Idempotency-Key was used for another request in the last 24 hours. Send a new key with a new request.'
      );
    end if;
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
