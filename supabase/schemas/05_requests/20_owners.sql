-- The claims of the caller's token; null without one. For policies and the functions they call, which must not raise: auth.jwt() raises if
-- the claims are not JSON.
create function keyframe_private.claims()
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return auth.jwt();
exception when data_exception then
  return null;
end $$;

-- The user whose token this is; null for a token without a user of this project's Auth. Policies and the functions they call must not
-- raise, but auth.uid() raises if the sub is not a UUID, as in another service's sessions.
create function keyframe_private.caller_id()
returns uuid language plpgsql stable security definer set search_path = '' as $$
declare
  sub constant text := coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''), keyframe_private.claims() ->> 'sub');
begin
  return case when keyframe_private.is_uuid(lower(sub)) then sub::uuid end;
end $$;

-- The triggers treat an insert without a caller as an administrator's.
create function keyframe_private.require_user()
returns void language plpgsql stable set search_path = '' as $$
begin
  perform keyframe_private.raise_if(auth.uid() is null, 'unauthorized',
    'This session names no user. Sign in, then try again.');
end $$;

-- Whether a row of this owner is the caller's: users have their own, the secret key has webhook endpoints without an owner. The functions
-- of the API are definers, so each checks this for a row that it finds by its id. Lists compare owner_id with auth.uid() instead, to use an
-- index; the planner never uses one for this.
create function keyframe_private.is_own(owner uuid)
returns boolean language plpgsql stable set search_path = '' as $$
begin
  return case when auth.role() = 'service_role' then owner is null else coalesce(owner = auth.uid(), false) end;
end $$;

-- Owners who live in another project of the service (docs/scale.md, "Move an owner"): changes and payments here would be lost.

create table keyframe_private.moved_owners (
  owner_id uuid primary key,
  moved_at timestamptz not null default now()
);
comment on table keyframe_private.moved_owners is 'Users who were moved to another project of the service, or are being moved. Their changes and credits are refused here (user_moved). Kept for good: a refund may come after a year.';
comment on column keyframe_private.moved_owners.owner_id is 'The user, also when the account is deleted.';

create function keyframe_private.wait_for_changes()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from auth.users u where u.id = new.owner_id for update; -- require_not_moved locks its key
  return null;
end $$;

-- Locks the key of the user until the transaction ends: a mark of a move is visible here, or its transaction waits for this one.
create function keyframe_private.require_not_moved(owner uuid)
returns void language plpgsql volatile set search_path = '' as $$
begin
  perform from auth.users u where u.id = owner for key share;
  perform keyframe_private.raise_if(exists (select from keyframe_private.moved_owners m where m.owner_id = owner), 'user_moved',
    'This user has moved to another project of the service. Send the request there, with the same key.');
end $$;
