-- Secrets in the Vault, and the project that this database works for.

-- Returns null for a secret that is missing or cannot be decrypted, as after a restore under another key, and after any other error, such as
-- a lock: no caller may fail for it.
create function keyframe_private.read_secret(secret_name text)
returns text language plpgsql stable set search_path = '' as $$
begin
  return (select v.decrypted_secret from vault.decrypted_secrets v where v.name = secret_name);
exception when others then
  return null;
end $$;

-- The address of that project; null when the Vault does not say. A copy of a database, such as a restored dump, has the address of its
-- original: its kicks go there, and worker processes beside it are refused. It submits and sends nothing until set_address.
create function keyframe_private.address()
returns text language sql stable set search_path = '' as $$
  select substring(keyframe_private.read_secret('keyframe_functions_url') from '^(.*)/functions/v1$')
$$;

-- For administrators: makes this database work for the project at this address, after it was moved or copied.
create function keyframe_private.set_address(address text)
returns void language plpgsql volatile set search_path = '' as $$
declare
  base constant text := regexp_replace(set_address.address, '(/functions/v1)?/*$', '');
begin
  if base !~ '^https?://[^\s/]+' then
    raise exception 'An address looks like https://<ref>.supabase.co.' using errcode = 'invalid_parameter_value';
  end if;
  if base is distinct from keyframe_private.address() then
    delete from vault.secrets s where s.name = 'keyframe_functions_url'; -- one that cannot be decrypted too
    perform vault.create_secret(
      base || '/functions/v1', 'keyframe_functions_url', 'Where Keyframe kicks its functions: the project that this database works for');
  end if;
end $$;
