-- The secrets that sign deliveries. The Vault keeps them.

create table keyframe_private.webhook_secrets (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null references keyframe.webhook_endpoints on delete cascade,
  vault_secret_id uuid not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
comment on table keyframe_private.webhook_secrets is 'The Vault entries that sign for an endpoint: the current one (expires_at is null), and older ones until expires_at.';
comment on column keyframe_private.webhook_secrets.id is 'Names the row alone.';
comment on column keyframe_private.webhook_secrets.endpoint_id is 'The endpoint that it signs for.';
comment on column keyframe_private.webhook_secrets.vault_secret_id is 'Its id in vault.secrets.';
comment on column keyframe_private.webhook_secrets.created_at is 'When it became the current one.';
comment on column keyframe_private.webhook_secrets.expires_at is 'Until when it still signs; null: it is the current one.';
create unique index webhook_secrets_one_current on keyframe_private.webhook_secrets (endpoint_id) where expires_at is null;
create index webhook_secrets_endpoint_id_idx on keyframe_private.webhook_secrets (endpoint_id, created_at);
create index webhook_secrets_expires_at_idx on keyframe_private.webhook_secrets (expires_at) where expires_at is not null;
alter table keyframe_private.webhook_secrets enable row level security;

create function keyframe_private.add_webhook_secret(endpoint uuid, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  secret text := keyframe_private.random_secret();
begin
  insert into keyframe_private.webhook_secrets (id, endpoint_id, vault_secret_id)
  values (add_webhook_secret.id, endpoint, vault.create_secret(secret, 'keyframe_webhook_' || gen_random_uuid()::text, 'Signs events for webhook endpoint ' || endpoint::text));
end $$;
comment on function keyframe_private.add_webhook_secret is 'Creates the current secret of an endpoint, stored only in the Vault.';

-- Deletes a secret from the Vault with its row.
create function keyframe_private.delete_vault_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.secrets s where s.id = old.vault_secret_id;
  return null;
end $$;

-- Creates the secret of a new endpoint. Refuses the identifier of an endpoint whose deliveries are still being deleted: the new
-- one would inherit them.
create function keyframe_private.create_endpoint_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  if exists (select from keyframe_private.deleted_endpoints d where d.endpoint_id = new.id) then
    perform keyframe_private.raise_error('invalid_request', 'An endpoint with this identifier is being deleted. Take another one, or wait some minutes.');
  end if;
  perform keyframe_private.add_webhook_secret(new.id);
  return null;
end $$;

-- Empty when one cannot be decrypted, as after a restore under another key: then this endpoint alone is not sent to.
create function keyframe_private.webhook_secrets_of(endpoint uuid, at timestamptz default now())
returns text[] language plpgsql stable security definer set search_path = '' as $$
begin
  -- created_at is the start of a transaction, so it cannot order two simultaneous rotations; the row without expires_at is the
  -- current one.
  return array_remove(array(
    select v.decrypted_secret
    from keyframe_private.webhook_secrets s
    join vault.decrypted_secrets v on v.id = s.vault_secret_id
    where s.endpoint_id = endpoint and (s.expires_at is null or s.expires_at > at)
    order by (s.expires_at is null) desc, s.created_at desc), null);
exception when others then
  raise warning 'The secrets of webhook endpoint % cannot be decrypted: %', endpoint, sqlstate;
  return '{}';
end $$;
comment on function keyframe_private.webhook_secrets_of is 'The live secrets of an endpoint, newest first, at most three.';

create function keyframe_private.webhook_secret(endpoint uuid)
returns text language sql stable security definer set search_path = '' as $$
  select (keyframe_private.webhook_secrets_of(endpoint))[1]
$$;
comment on function keyframe_private.webhook_secret is 'For administrators: the secret that signs for an endpoint now.';

-- The old one keeps signing beside it for overlap (0: it stops at once). At most three are live at a time.
create function keyframe_private.rotate_webhook_secret(endpoint uuid, overlap interval, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from keyframe.webhook_endpoints e where e.id = endpoint for no key update;
  delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint and s.expires_at <= now();
  if overlap <= interval '0' or keyframe_private.webhook_secret(endpoint) is null then
    -- Without an overlap every old secret goes: the owner fears that one has leaked. So do secrets that cannot be decrypted: beside them
    -- the new one could not sign either.
    delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint;
  else
    if (select count(*) from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint) >= 3 then
      perform keyframe_private.raise_error('invalid_request', 'Three secrets of this endpoint are live already. Wait until an overlap has ended, or rotate with overlapHours 0 to revoke them at once.');
    end if;
    update keyframe_private.webhook_secrets s set expires_at = now() + overlap where s.endpoint_id = endpoint and s.expires_at is null;
  end if;
  perform keyframe_private.add_webhook_secret(endpoint, id);
end $$;
comment on function keyframe_private.rotate_webhook_secret is 'Replaces the current secret by one with this id.';

create function keyframe.rotate_webhook_secret(
  endpoint_id uuid, overlap_hours integer default 24, idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  request record;
  endpoint keyframe.webhook_endpoints;
  secret text;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'change');
  endpoint := keyframe_private.managed_endpoint(endpoint_id, lock => not request.replayed);
  if overlap_hours is null or overlap_hours not between 0 and 72 then
    perform keyframe_private.raise_error('invalid_request', 'overlapHours must be from 0 to 72.');
  end if;
  if not request.replayed then
    perform keyframe_private.rotate_webhook_secret(endpoint.id, make_interval(hours => overlap_hours), request.resource_id);
  end if;
  -- The secret that this rotation made, which may no longer be the current one.
  select v.decrypted_secret into secret
  from keyframe_private.webhook_secrets s
  join vault.decrypted_secrets v on v.id = s.vault_secret_id
  where s.id = request.resource_id and s.endpoint_id = endpoint.id and (s.expires_at is null or s.expires_at > now());
  if not found then
    perform keyframe_private.raise_error('not_found', 'The secret this Idempotency-Key made signs no longer: it has been rotated away since. Read the current one: GET /api/webhooks/:id/secret.');
  end if;
  return jsonb_build_object('secret', secret, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'change');
end $$;
comment on function keyframe.rotate_webhook_secret is 'Gives an endpoint of the caller a new secret; the old one keeps signing beside it for overlap_hours (0: every old one stops at once).';
