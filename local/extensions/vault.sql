-- Stand-in for the extension supabase_vault (0.3), with the same schema, functions, view and privileges. Secrets are
-- encrypted with a key in the same database: this protects a copied table, not a copied data folder.
-- May be applied repeatedly; the data is kept.
create schema if not exists extensions;
create extension if not exists pgcrypto with schema extensions;
create schema if not exists vault;

-- Only the superuser may read it.
create table if not exists vault._key (
  single boolean primary key default true constraint there_is_one_key check (single),
  key text not null
);
revoke all on vault._key from public;
insert into vault._key (key)
  values (encode(extensions.gen_random_bytes(32), 'hex')) on conflict do nothing;

create table if not exists vault.secrets (
  id uuid primary key default gen_random_uuid(),
  name text,
  description text not null default '',
  secret text not null,
  key_id uuid,
  nonce bytea,
  created_at timestamptz not null default current_timestamp,
  updated_at timestamptz not null default current_timestamp
);
create unique index if not exists secrets_name_idx on vault.secrets (name) where name is not null;
comment on table vault.secrets is 'Table with encrypted `secret` column for storing sensitive information on disk.';

-- The key is random, so the default key stretching (s2k-mode 3) would only cost time.
create or replace function vault._encrypt(plain text) returns text
language sql volatile security definer set search_path = '' as $$
  select pg_catalog.encode(
    extensions.pgp_sym_encrypt(plain, (select key from vault._key), 'cipher-algo=aes256, s2k-mode=1'), 'base64')
$$;

-- This function has the name of the extension's function, whose grants it gets (install-extensions.ts).
create or replace function vault._crypto_aead_det_decrypt(secret text) returns text
language plpgsql stable security definer set search_path = '' as $$
begin
  return extensions.pgp_sym_decrypt(pg_catalog.decode(secret, 'base64'), (select key from vault._key));
end
$$;

create or replace view vault.decrypted_secrets as
  select id, name, description, secret, vault._crypto_aead_det_decrypt(secret) as decrypted_secret, key_id, nonce, created_at, updated_at
  from vault.secrets;

create or replace function vault.create_secret(
  new_secret text,
  new_name text default null,
  new_description text default '',
  new_key_id uuid default null -- not used, as in the extension
) returns uuid
language sql volatile security definer set search_path = '' as $$
  insert into vault.secrets (secret, name, description)
  values (vault._encrypt(new_secret), new_name, new_description)
  returning id
$$;

create or replace function vault.update_secret(
  secret_id uuid,
  new_secret text default null,
  new_name text default null,
  new_description text default null,
  new_key_id uuid default null -- not used, as in the extension
) returns void
language sql volatile security definer set search_path = '' as $$
  update vault.secrets set
    secret = case when new_secret is null then secret else vault._encrypt(new_secret) end,
    name = coalesce(new_name, name),
    description = coalesce(new_description, description),
    updated_at = pg_catalog.now()
  where id = secret_id
$$;

revoke all on all functions in schema vault from public;
