-- A server acts for a user: with the secret key it calls one function as that user. It creates no token for the user. `api` does the same
-- for a key of the user (70_keys.sql).

-- Without the claims of a sign-in (aal, amr, session_id): a policy that requires them refuses. Definer: service_role cannot read users.
create function keyframe_private.claims_for_server(user_id uuid)
returns jsonb language plpgsql stable security definer set search_path = '' as $$
declare
  claims jsonb;
begin
  select jsonb_build_object(
    'sub', u.id, 'role', 'authenticated', 'aud', 'authenticated', 'email', u.email, 'phone', u.phone,
    'app_metadata', u.raw_app_meta_data, 'user_metadata', u.raw_user_meta_data, 'is_anonymous', u.is_anonymous,
    'keyframe_actor', 'server') into claims
  from auth.users u
  where u.id = claims_for_server.user_id and u.role = 'authenticated' and u.deleted_at is null
    and (u.banned_until is null or u.banned_until <= now());
  perform keyframe_private.raise_if(not found, 'user_not_found',
    'No user with this id can sign in: it is unknown, or the account was deleted or banned.');
  return claims;
end $$;

-- Calls only functions that users may execute, with named arguments. Role and claims are local to the transaction. Invoker, because a
-- definer function cannot change its role.
create function keyframe_worker.act_as(user_id uuid, function_name text, args jsonb default '{}', key_id text default null)
returns json language plpgsql volatile security invoker set search_path = '' as $$
declare
  claims constant jsonb := case when key_id is null then keyframe_private.claims_for_server(user_id)
    else keyframe_private.claims_for_key(user_id, key_id) end;
  statement text;
  answer json;
begin
  select format(
      'select to_json(keyframe.%I(%s))%s', p.proname,
      string_agg(format('%1$I => given.%1$I', a.name), ', ') filter (where a.name is not null),
      ' from jsonb_to_record($1) as given (' || string_agg(format('%I %s', a.name, a.type::regtype), ', ') filter (where a.name is not null) || ')')
  into statement
  from pg_proc p
  left join unnest(p.proargnames, p.proargtypes::oid[]) as a (name, type) on args ? a.name
  where p.pronamespace = 'keyframe'::regnamespace and p.proname = function_name and p.prokind = 'f'
    and p.prorettype in ('json'::regtype, 'jsonb'::regtype) and not p.proretset
    and has_function_privilege('authenticated', p.oid, 'execute')
  group by p.oid, p.proname
  having count(a.name) = (select count(*) from jsonb_object_keys(args));
  if statement is null then
    raise exception 'Users cannot call a function % with these arguments.', function_name using errcode = 'undefined_function';
  end if;
  -- auth.uid() and auth.role() prefer the settings of single claims, which older versions of the Data API make.
  perform
    set_config('request.jwt.claims', claims::text, true),
    set_config('request.jwt.claim', '', true),
    set_config('request.jwt.claim.sub', user_id::text, true),
    set_config('request.jwt.claim.role', 'authenticated', true),
    set_config('request.jwt.claim.email', coalesce(claims ->> 'email', ''), true),
    set_config('role', 'authenticated', true);
  execute statement into answer using args;
  return answer;
end $$;
comment on function keyframe_worker.act_as is 'Calls a function of keyframe as a user: for a server that sends the secret key and Keyframe-User, or with key_id as that key of the user.';
