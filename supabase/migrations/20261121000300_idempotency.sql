-- Idempotency-Key: the same key and body give the first answer again. The primary key decides, not a look before.

create table private.idempotency_keys (
  owner_id uuid not null references auth.users on delete cascade,
  key text not null check (key ~ '^[\x21-\x7e]{1,255}$'),
  request_hash text not null check (request_hash ~ '^[0-9a-f]{64}$'),
  resource_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (owner_id, key)
);
comment on table private.idempotency_keys is 'Which resource a key made, for 24 hours. request_hash is the SHA-256 of method, path and body.';
create index idempotency_keys_created_at_idx on private.idempotency_keys (created_at);
alter table private.idempotency_keys enable row level security;
revoke all on private.idempotency_keys from public, anon, authenticated, service_role;

-- Reserves a key for the caller, or says what it made before. Runs in the transaction of the insert it guards,
-- so an equal request that comes at the same time waits here until the first has committed or failed.
create function private.remember_request(key text, request_hash text)
returns table (resource_id uuid, replayed boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  fresh uuid := gen_random_uuid();
  kept private.idempotency_keys;
begin
  insert into private.idempotency_keys as k (owner_id, key, request_hash, resource_id)
  values (auth.uid(), remember_request.key, remember_request.request_hash, fresh)
  on conflict (owner_id, key) do update
    set request_hash = excluded.request_hash, resource_id = excluded.resource_id, created_at = now()
    where k.created_at < now() - interval '24 hours';
  if found then
    return query select fresh, false;
    return;
  end if;
  select k.* into kept from private.idempotency_keys k where k.owner_id = auth.uid() and k.key = remember_request.key;
  if kept.request_hash <> remember_request.request_hash then
    perform private.raise_error(
      'idempotency_mismatch',
      'This Idempotency-Key was used for another request in the last 24 hours. Send a new key with a new request.'
    );
  end if;
  return query select kept.resource_id, true;
end
$$;
revoke execute on function private.remember_request(text, text) from public, anon, service_role;
grant execute on function private.remember_request(text, text) to authenticated;
