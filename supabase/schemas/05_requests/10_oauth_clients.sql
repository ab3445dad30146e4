-- OAuth clients: apps and agents that a user approved at Supabase Auth. Their scopes limit nothing, so an administrator allows each one.
-- Every table that users read has a restrictive policy for them; functions and triggers ask through acquire_token or
-- reserve_idempotency_key.

create type keyframe_private.client_right as enum ('read', 'generate', 'manage');
comment on type keyframe_private.client_right is 'Each includes the previous ones. read: films, projects, elements, predictions, files, prices, costs. generate: create and change them, upload images, start and cancel runs, which spends the user''s money. manage: delete them and their files, share films by link, and everything about webhooks.';

create table keyframe_private.allowed_clients (
  client_id text primary key constraint client_id_is_not_empty check (btrim(client_id) <> ''),
  name text not null constraint name_is_not_empty check (btrim(name) <> ''),
  may keyframe_private.client_right not null,
  owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991)
);
comment on table keyframe_private.allowed_clients is 'The OAuth clients that may act for users who approved them. Every other client is refused.';
comment on column keyframe_private.allowed_clients.client_id is 'The claim client_id of its tokens, as Authentication › OAuth Apps shows it.';
comment on column keyframe_private.allowed_clients.name is 'For administrators.';
comment on column keyframe_private.allowed_clients.may is 'read, generate or manage; each includes the previous ones.';
comment on column keyframe_private.allowed_clients.owner_day_micros is 'The most it may spend for each user in a day (UTC), in micro-dollars, within the user''s budgets; null: no additional limit.';

-- A token with any client_id, also an empty one, null or no text, is a client's; every other token may do everything.
create function keyframe_private.client_may(needed keyframe_private.client_right)
returns boolean language plpgsql stable security definer set search_path = '' as $$
declare
  claims constant jsonb := keyframe_private.claims();
begin
  if claims is null or not claims ? 'client_id' then
    return true; -- without a query: each request asks
  end if;
  return exists (
    select from keyframe_private.allowed_clients c
    where c.client_id = claims ->> 'client_id' and jsonb_typeof(claims -> 'client_id') = 'string' and c.may >= needed);
end $$;
comment on function keyframe_private.client_may is 'Whether the caller''s token may do this.';

create function keyframe_private.require_client_may(needed keyframe_private.client_right)
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may(needed) then
    perform keyframe_private.raise_error('client_not_allowed',
      format('This app (OAuth client) may not %s here. Sign in to the service itself, or ask its administrator to allow the app.', needed));
  end if;
end $$;
comment on function keyframe_private.require_client_may is 'Raises client_not_allowed unless the caller''s token may do this.';
