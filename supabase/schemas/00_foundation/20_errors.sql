-- Errors of the API: a stable code, a sentence for people, and what the caller can do about it.

-- The SQLSTATE KEYFR marks the error as ours, the message is the stable code, the detail is a sentence for people. Volatile: `supabase db
-- lint` runs immutable functions while it plans their callers, and would report each raise as an error.
create function keyframe_private.raise_error(code text, sentence text, hint text default '')
returns void language plpgsql volatile set search_path = '' as $$
begin
  raise exception using errcode = 'KEYFR', message = code, detail = sentence, hint = raise_error.hint;
end $$;
comment on function keyframe_private.raise_error is 'Raises an API error.';

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
