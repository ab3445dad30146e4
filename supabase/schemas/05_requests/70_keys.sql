-- Keys of a user, for agents and scripts: kf_, 16 hexadecimal digits that name it, 48 of a secret, and 8 of a checksum. Each is a client of
-- its user (allowed_clients), so rights, limits, costs and Idempotency-Keys treat it as an OAuth client that was approved.

create function keyframe_private.require_no_client()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.require_user();
  perform keyframe_private.raise_if(auth.jwt() ? 'client_id', 'client_not_allowed',
    'Only you can make, list and revoke your keys, signed in to the service itself. A key or an app (OAuth client) cannot.');
end $$;

create function keyframe_private.key_json(client keyframe_private.allowed_clients)
returns jsonb language sql stable set search_path = ''
return jsonb_build_object(
  'id', client.client_id, 'name', client.name, 'may', client.may, 'day_limit_micros', client.owner_day_micros,
  'created_at', client.created_at, 'expires_at', client.expires_at, 'last_used_at', client.last_used_at);

-- The random bits are those of UUIDs: 60 in the name, 190 in the secret. A repeated request gets a new secret, which replaces the first one.
create function keyframe.create_key(
  name text, may text, day_limit_micros bigint default null, expires_at timestamptz default null,
  idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  most constant integer := 50;
  request record;
  key_id text;
  secret text;
  hash bytea;
  made keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  key_id := 'kf_' || left(replace(request.resource_id::text, '-', ''), 16);
  secret := key_id || left(encode(sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'), 48);
  secret := secret || left(encode(sha256(convert_to(secret, 'UTF8')), 'hex'), 8);
  hash := sha256(convert_to(secret, 'UTF8'));
  perform keyframe_private.acquire_lock('keys', auth.uid()); -- to count them
  if request.replayed then
    update keyframe_private.allowed_clients c set secret_hash = hash
    where c.client_id = key_id and c.owner_id = auth.uid() and (c.expires_at > now()) is not false
    returning c.* into made;
    perform keyframe_private.raise_if(not found, 'not_found',
      'The key this Idempotency-Key created has ended or was revoked since. Send a new Idempotency-Key.');
  else
    perform keyframe_private.raise_if(create_key.expires_at <= now(), 'invalid_request', 'expiresAt must be in the future.');
    -- By the index: tens of thousands may have ended.
    perform keyframe_private.raise_if((
      select (c.expires_at > now()) is not false from keyframe_private.allowed_clients c
      where c.owner_id = auth.uid() order by c.expires_at desc nulls first offset most - 1 limit 1
    ), 'invalid_request', format('You have %s keys, which is the most. Revoke one first.', most));
    insert into keyframe_private.allowed_clients (client_id, name, may, owner_day_micros, owner_id, secret_hash, expires_at)
    values (key_id, create_key.name, create_key.may::keyframe_private.client_right, create_key.day_limit_micros, auth.uid(), hash,
      create_key.expires_at)
    returning * into made;
  end if;
  return json_build_object(
    'created', keyframe_private.key_json(made), 'key', secret, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.create_key is 'Makes a key of the caller, and returns it once.';

create function keyframe.list_keys()
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  rate := keyframe_private.acquire_token('read');
  return json_build_object('rate', rate, 'keys', (
    select coalesce(json_agg(keyframe_private.key_json(c) order by c.created_at desc, c.client_id), '[]')
    from (
      select k.* from keyframe_private.allowed_clients k where k.owner_id = auth.uid()
      order by k.expires_at desc nulls first limit 100) c));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'read');
end $$;
comment on function keyframe.list_keys is 'The keys of the caller, also those that ended lately, newest first; at most 100.';

create function keyframe.revoke_key(key_id text)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb;
  ended keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_no_client();
  rate := keyframe_private.acquire_token('change');
  update keyframe_private.allowed_clients c set expires_at = least(c.expires_at, now())
  where c.client_id = key_id and c.owner_id = auth.uid()
  returning c.* into ended;
  perform keyframe_private.raise_if(not found, 'not_found', 'You have no key with this keyId.');
  return json_build_object('ended', keyframe_private.key_json(ended), 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.revoke_key is 'Ends a key of the caller.';

-- The claims of a token of an OAuth client of the user, with the id of the key as client. For a key that was found good before: it may have
-- ended since.
create function keyframe_private.claims_for_key(user_id uuid, key_id text)
returns jsonb language plpgsql stable security definer set search_path = '' as $$
declare
  ends timestamptz;
begin
  select c.expires_at into ends from keyframe_private.allowed_clients c
  where c.client_id = claims_for_key.key_id and c.owner_id = claims_for_key.user_id;
  perform keyframe_private.raise_if(not found, 'unauthorized', 'This key is not valid. Make another one.');
  perform keyframe_private.raise_if(ends <= now(), 'key_ended', 'This key was revoked or has expired. Make another one.');
  return keyframe_private.claims_for_server(user_id) - 'keyframe_actor' || jsonb_build_object('client_id', key_id);
end $$;

-- Takes no token: nobody's requests are spent by guesses. An unknown id is compared as a wrong secret is. The digests get a random prefix,
-- so that the time of the comparison says nothing about the stored one.
create function keyframe_worker.verify_key(key_id text, key_hash text)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '2s' set lock_timeout = '2s' as $$
declare
  salt constant bytea := uuid_send(gen_random_uuid());
  minute constant timestamptz := date_trunc('minute', now());
  kept keyframe_private.allowed_clients;
  refused keyframe_private.refusal;
begin
  select c.* into kept from keyframe_private.allowed_clients c where c.client_id = verify_key.key_id;
  perform keyframe_private.raise_if(
    sha256(salt || coalesce(kept.secret_hash, sha256(salt))) <> sha256(salt || decode(verify_key.key_hash, 'hex')),
    'unauthorized', 'This key is not valid. Make another one.');
  perform keyframe_private.claims_for_key(kept.owner_id, key_id);
  update keyframe_private.allowed_clients c set last_used_at = minute
  where c.client_id = verify_key.key_id and (c.last_used_at < minute) is not false;
  return json_build_object('owner_id', kept.owner_id, 'rate', null);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe_worker.verify_key is 'Whose key it is, by the SHA-256 of the whole key in hex. Notes the minute in which it was used.';
