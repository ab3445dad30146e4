-- What several subjects use: locks, times, secrets, identifiers, exact sums.

-- Postgres itself has SHA-256 only, and pgcrypto may be in any schema of the app's.
create function keyframe_private.hmac_sha256(message bytea, key bytea)
returns bytea language plpgsql immutable strict set search_path = '' as $$
declare
  short bytea := case when length(key) > 64 then sha256(key) else key end;
  inner_key bytea := short || decode(repeat('00', 64 - length(short)), 'hex');
  outer_key bytea := inner_key;
begin
  for i in 0..63 loop
    outer_key := set_byte(outer_key, i, get_byte(inner_key, i) # 92);
    inner_key := set_byte(inner_key, i, get_byte(inner_key, i) # 54);
  end loop;
  return sha256(outer_key || sha256(inner_key || message));
end $$;
comment on function keyframe_private.hmac_sha256 is 'HMAC with SHA-256 (RFC 2104).';

-- Each UUID has 122 bits of the operating system's secure random numbers.
create function keyframe_private.random_secret()
returns text language sql volatile set search_path = '' as $$
  select 'whsec_' || encode(sha256(
    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64')
$$;
comment on function keyframe_private.random_secret is 'A signing secret of Standard Webhooks: whsec_ and the base64 of 32 random bytes.';

-- Without waiting it returns false when somebody else holds the lock.
create function keyframe_private.take_lock(name text, id uuid, waits boolean default true)
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  key constant bigint := hashtextextended(format('keyframe %s of %s', name, id), 0);
begin
  if waits then
    perform pg_advisory_xact_lock(key);
    return true;
  end if;
  return pg_try_advisory_xact_lock(key);
end $$;
comment on function keyframe_private.take_lock is 'Holds the lock of this name, such as `slots` of an owner, until the transaction ends.';

create function keyframe_private.wire_time(at timestamptz)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;
comment on function keyframe_private.wire_time is 'The format of times in events and errors: ISO 8601 in UTC with milliseconds.';

-- `at` continues a path.
create function keyframe_private.json_entries(value jsonb)
returns table (at text, key text, item jsonb) language plpgsql immutable set search_path = '' as $$
begin
  return query
    select '.' || e.key, e.key, e.value from jsonb_each(case jsonb_typeof(json_entries.value) when 'object' then json_entries.value else '{}' end) e
    union all
    select format('[%s]', e.place - 1), null, e.value
    from jsonb_array_elements(case jsonb_typeof(json_entries.value) when 'array' then json_entries.value else '[]' end) with ordinality e (value, place);
end $$;
comment on function keyframe_private.json_entries is 'What a JSON value contains: of an object each key, of a list each place, of anything else nothing.';

-- JSON numbers are exact to 2^53, and a read never fails for the size of a sum.
create function keyframe_private.exact_sum(amount numeric)
returns bigint language plpgsql immutable set search_path = '' as $$
begin
  return least(coalesce(amount, 0), 9007199254740991);
end $$;
comment on function keyframe_private.exact_sum is 'A sum as the API returns it.';

-- Recent rows lie together in every index that begins with such an id, in pages that are in memory; random ids would touch a different page
-- each, of an index of a month. Pruning leaves whole pages empty. (Postgres has uuidv7() from version 18.)
create function keyframe_private.uuid_v7()
returns uuid language plpgsql volatile set search_path = '' as $$
declare
  microseconds constant bigint := extract(epoch from clock_timestamp()) * 1000000;
  fraction constant integer := (microseconds % 1000) * 4096 / 1000;
begin
  return encode(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(microseconds / 1000) from 3) || int2send((28672 + fraction)::smallint) from 1 for 8), 'hex')::uuid; -- 0x7000
end $$;
comment on function keyframe_private.uuid_v7 is 'A UUID of version 7: 48 bits of milliseconds, 12 bits of their fraction, then random bits.';
