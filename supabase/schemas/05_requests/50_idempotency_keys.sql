-- Idempotency-Key: the same key and body return the first result again. A unique key decides, so simultaneous requests are safe.

create table keyframe_private.idempotency_keys (
  resource_id uuid primary key,
  owner_id uuid references auth.users on delete cascade,
  client_id text default auth.jwt() ->> 'client_id',
  key text not null check (key ~ '^[\x21-\x7e]{1,255}$'),
  request_hash text check (request_hash ~ '^[0-9a-f]{64}$'),
  answer jsonb,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_owner_id_client_id_key_key unique nulls not distinct (owner_id, client_id, key)
);
comment on table keyframe_private.idempotency_keys is 'Which resource a key created, kept for 24 hours.';
comment on column keyframe_private.idempotency_keys.resource_id is 'The resource that the request created; a random value when it created none.';
comment on column keyframe_private.idempotency_keys.owner_id is 'The owner of the key; null for the secret key.';
comment on column keyframe_private.idempotency_keys.client_id is 'The OAuth client or key that sent it; null: the owner''s session, or a server. A client cannot use the keys of another.';
comment on column keyframe_private.idempotency_keys.request_hash is 'The SHA-256 of method, path and body; null until the body of an upload has been read.';
comment on column keyframe_private.idempotency_keys.answer is 'The answer to the first request, when no row can reproduce it (for a recovery, the count). Never a secret: secrets stay in the Vault.';
create index idempotency_keys_created_at_idx on keyframe_private.idempotency_keys (created_at);

-- Reserves a key for the caller, or returns the resource that the key created before (a replay). If the same request is in progress, this
-- call waits until that one has ended. A request without a key is always new. A request without a hash has a body that is not read yet, so
-- it is not compared with the first one. A replay counts as a read: it uses a token of replay_class. The insert below sets an existing row
-- to the values that it has, so that one statement both reserves a key and reads an existing one.
create function keyframe_private.reserve_idempotency_key(
  key text, request_hash text, route_class text default null, replay_class text default 'read', out resource_id uuid, out replayed boolean, out answer jsonb, out rate jsonb)
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
  perform keyframe_private.acquire_call_slot(); -- an equal request waits below
  if reserve_idempotency_key.key is not null then
    -- Keys without a user belong to the secret key. A session that names no user must not use them.
    perform keyframe_private.raise_if(caller is null and auth.role() is distinct from 'service_role', 'unauthorized',
      'An Idempotency-Key belongs to a signed-in user. Sign in, then try again.');
    insert into keyframe_private.idempotency_keys as k (resource_id, owner_id, key, request_hash)
    values (fresh, caller, reserve_idempotency_key.key, reserve_idempotency_key.request_hash)
    on conflict (owner_id, client_id, key) do update set key = excluded.key
    returning k.* into kept;
    perform keyframe_private.raise_if(
      reserve_idempotency_key.request_hash is not null and kept.request_hash is distinct from reserve_idempotency_key.request_hash,
      'idempotency_mismatch', 'This Idempotency-Key was used for another request in the last 24 hours. Send a new key with a new request.');
    resource_id := kept.resource_id;
    replayed := kept.resource_id <> fresh;
    answer := kept.answer;
  end if;
  route_class := case when replayed then replay_class else route_class end;
  if route_class is not null then
    rate := keyframe_private.acquire_token(route_class);
  end if;
end $$;
