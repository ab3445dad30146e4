-- Errors of the API: a stable code, a sentence for people, and what the caller can do about it.

-- The SQLSTATE KEYFR marks the error as ours, the message is the stable code, the detail is a sentence for people. Volatile: `supabase db
-- lint` runs immutable functions while it plans their callers, and would report each raise as an error.
create function keyframe_private.raise_error(code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  raise exception using errcode = 'KEYFR', message = code, detail = sentence, hint = raise_error.hint;
end $$;
comment on function keyframe_private.raise_error is 'Raises an API error.';

-- For work that stops early, and for handlers of query_canceled: once the timer has fired and was caught, nothing limits the statement any
-- more. Four fifths, because statement_timestamp() may be later than the start of the timer. A cancel by hand comes earlier.
create function keyframe_private.is_out_of_time()
returns boolean language plpgsql volatile set search_path = '' as $$
declare
  most constant interval := current_setting('statement_timeout')::interval;
begin
  return most > interval '0' and clock_timestamp() - statement_timestamp() > most * 0.8;
end $$;
comment on function keyframe_private.is_out_of_time is 'Whether this statement has used up its statement_timeout, but for a fifth.';

-- The cause is another transaction, not the row that waited: lock_not_available, serialization_failure, deadlock_detected.
create function keyframe_private.is_lock_wait(code text)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return code in ('55P03', '40001', '40P01');
end $$;
comment on function keyframe_private.is_lock_wait is 'Whether an SQLSTATE says that only somebody else''s lock was in the way.';

-- An error that a function answers instead of raising it.
create type keyframe_private.refusal as (code text, sentence text, hint text);

-- What was done before the refusal is undone, but the token stays taken. With a route class it takes the token that was undone too.
create function keyframe_private.refuse(refused keyframe_private.refusal, route_class text default null)
returns json language plpgsql volatile set search_path = '' as $$
begin
  if route_class is not null and refused.code <> 'rate_limited' then
    perform keyframe_private.take_token(route_class);
  end if;
  perform set_config('response.status', '400', true); -- as the Data API answers KEYFR
  return json_build_object('code', 'KEYFR', 'message', refused.code, 'details', refused.sentence, 'hint', refused.hint);
end $$;
comment on function keyframe_private.refuse is 'The answer of a function to a refusal that it has caught: the one that the Data API makes of the error.';

-- Shows only what looks like a number, a size or a ratio: Postgres logs refusals, and a prompt may be in any field.
create function keyframe_private.quote_value(value text)
returns text language plpgsql immutable strict set search_path = '' as $$
begin
  return case when value ~ '^(true|false|-?[0-9][0-9A-Za-z:. ]{0,9})$' then value else format('%s characters', char_length(value)) end;
end $$;
comment on function keyframe_private.quote_value is 'Quotes a caller''s value in an error message.';
