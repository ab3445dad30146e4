-- Errors of the API: a stable code, a sentence for people, and what the caller can do about it.

-- SQLSTATE KEYFR marks our errors. Volatile: `supabase db lint` runs immutable functions while it plans, and would report each raise.
create function keyframe_private.raise_error(code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  raise exception using errcode = 'KEYFR', message = code, detail = sentence, hint = raise_error.hint;
end $$;

create function keyframe_private.raise_if(condition boolean, code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  if condition then
    perform keyframe_private.raise_error(code, sentence, hint);
  end if;
end $$;

-- The trigger names the rule, and says what to do instead.
create function keyframe_private.refuse_change()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  raise exception '%', tg_argv[1] using errcode = 'check_violation', constraint = tg_argv[0];
end $$;

-- Whether an SQLSTATE says that only another transaction's lock was in the way: lock_not_available, serialization_failure, deadlock_detected.
create function keyframe_private.is_lock_wait(code text)
returns boolean language sql immutable set search_path = '' return code in ('55P03', '40001', '40P01');

-- An error that a function returns instead of raising it.
create type keyframe_private.refusal as (code text, sentence text, hint text);

-- Returns a caught refusal as an answer, in the form that the Data API gives to an error. A raised error would undo the whole transaction,
-- and with it the token that the request has used. Catching it undoes only the body of the function:
--
--   where the function takes its token   what happens to the token      route_class
--   in `declare`                         it stays taken                 none
--   in the body                          it is undone with the body     its class, so that refuse takes the token again
--
-- Each function that users call ends with the same handler, unless nothing in its body can refuse (docs/decisions/0035-a-share-for-every-owner.md).
create function keyframe_private.refuse(refused keyframe_private.refusal, route_class text default null)
returns json language plpgsql volatile set search_path = '' as $$
begin
  if route_class is not null and refused.code <> 'rate_limited' then
    perform keyframe_private.acquire_token(route_class);
  end if;
  perform set_config('response.status', '400', true); -- as the Data API answers KEYFR
  return json_build_object('code', 'KEYFR', 'message', refused.code, 'details', refused.sentence, 'hint', refused.hint);
end $$;

-- Quotes a caller's value in an error message, if it looks like a number, a size or a ratio: Postgres logs refusals, and a prompt may be in
-- any field.
create function keyframe_private.quote_value(value text)
returns text language sql immutable strict set search_path = ''
return case when value ~ '^(true|false|-?[0-9][0-9A-Za-z:. ]{0,9})$' then value else format('%s characters', char_length(value)) end;

-- Used by several subjects: locks, times, secrets, identifiers, exact sums.

-- RFC 2104. Postgres itself has SHA-256 only, and pgcrypto may be in any schema of the app's.
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

-- A signing secret of Standard Webhooks: whsec_ and the base64 of 32 random bytes. A UUID has 122 random bits.
create function keyframe_private.random_secret()
returns text language sql volatile set search_path = ''
return 'whsec_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'base64');

-- Settings of a transaction record what it has already done, so that it does it once. None identifies the caller. Rolling back a savepoint
-- undoes them, with the work that they record.
--   keyframe.call_of, keyframe.read_of: it has a call slot of this user (acquire_call_slot), or one of two slots to read (may_read).
--   keyframe.change_of: it has used its token: the statements of one change count once (acquire_token, limit_changes).
--   keyframe.deleted_predictions: how many it has deleted with their projects, at most 1,000 (delete_by_user).
--   keyframe.kicked_<function>: it has kicked this function (kick_unless_running).

-- Holds the lock of this name, such as `slots` of an owner, until the transaction ends. Without waiting it returns false if the lock is taken.
create function keyframe_private.acquire_lock(name text, id uuid, waits boolean default true)
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

-- The times of events and errors: ISO 8601 in UTC with milliseconds.
create function keyframe_private.wire_time(at timestamptz)
returns text language plpgsql immutable set search_path = '' as $$
begin
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;

-- The entries of a JSON object or list; none of another value. `at` continues a path.
create function keyframe_private.json_entries(value jsonb)
returns table (at text, key text, item jsonb) language plpgsql immutable set search_path = '' as $$
begin
  return query
    select '.' || e.key, e.key, e.value
      from jsonb_each(case jsonb_typeof(json_entries.value) when 'object' then json_entries.value else '{}' end) e
    union all
    select format('[%s]', e.place - 1), null, e.value
    from jsonb_array_elements(case jsonb_typeof(json_entries.value) when 'array' then json_entries.value else '[]' end)
      with ordinality e (value, place);
end $$;

-- A figure of a provider, a file or a worker, up to a million; null for anything else, so that a malformed figure never blocks a result.
create function keyframe_private.read_figure(figures jsonb, name text)
returns numeric language plpgsql immutable set search_path = '' as $$
begin
  if jsonb_typeof(figures -> name) = 'number' and (figures -> name)::numeric between 0 and 1000000 then
    return (figures -> name)::numeric;
  end if;
  return null;
end $$;

-- A sum as the API returns it: JSON numbers are exact to 2^53, and a read never fails for the size of a sum.
create function keyframe_private.exact_sum(amount numeric)
returns bigint language plpgsql immutable set search_path = '' as $$
begin
  return least(coalesce(amount, 0), 9007199254740991);
end $$;

-- Whether a text is a UUID in the form in which Postgres writes it: texts of this form are compared with id::text.
create function keyframe_private.is_uuid(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
end $$;

-- A UUID of version 7: 48 bits of milliseconds, 12 bits of their fraction, then random bits. Recent rows share index pages, which stay in
-- memory, and pruning empties whole pages. (Postgres has uuidv7() from version 18.)
create function keyframe_private.uuid_v7()
returns uuid language plpgsql volatile set search_path = '' as $$
declare
  microseconds constant bigint := extract(epoch from clock_timestamp()) * 1000000;
  fraction constant integer := (microseconds % 1000) * 4096 / 1000;
begin
  return encode(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(microseconds / 1000) from 3) || int2send((28672 + fraction)::smallint) from 1 for 8), 'hex')::uuid; -- 0x7000
end $$;

-- Rules for texts, used in checks. shared/contract/fields.ts has the same for the API; test/db/projects/texts.test.ts compares both.

-- Zero-width characters, fillers, variation selectors and tags are allowed beside a visible one: Persian, Hindi and emoji need them.
create function keyframe_private.has_visible_character(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value ~ '[^\u0001-\u0020\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]';
end $$;

-- Refuses control characters, which form terminal escapes, except tabs and line breaks.
create function keyframe_private.is_plain_text(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]';
end $$;

-- Refuses control characters, line breaks, and bidirectional overrides, which change the direction of the text that follows.
create function keyframe_private.is_one_line(value text)
returns boolean language plpgsql immutable strict set search_path = '' as $$
begin
  return value !~ '[\u0001-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]';
end $$;
