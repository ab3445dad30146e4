-- Clients act for users: apps and agents that a user approved at Supabase Auth (OAuth), and keys that a user made (70_keys.sql). An OAuth
-- client's scopes limit nothing, so an administrator allows each one. Every table that users read has a restrictive policy for clients;
-- functions and triggers ask through acquire_token or reserve_idempotency_key.

create type keyframe_private.client_right as enum ('read', 'generate', 'manage');
comment on type keyframe_private.client_right is 'Each includes the previous ones. read: films, projects, elements, predictions, files, prices, costs. generate: create and change them, upload images, start and cancel runs, which spends the user''s money. manage: delete them and their files, share films by link, and everything about webhooks.';

create table keyframe_private.allowed_clients (
  client_id text primary key constraint client_id_is_not_empty check (btrim(client_id) <> ''),
  name text not null constraint name_is_not_empty check (btrim(name) <> ''),
  may keyframe_private.client_right not null,
  owner_day_micros bigint constraint owner_day_is_exact_in_json check (owner_day_micros between 0 and 9007199254740991),
  owner_id uuid references auth.users on delete cascade,
  secret_hash bytea constraint secret_hash_is_sha256 check (length(secret_hash) = 32),
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint key_has_an_owner_and_a_secret check (case when owner_id is null
    then client_id !~ '^kf_' and secret_hash is null
    else client_id ~ '^kf_[0-9a-f]{16}$' and secret_hash is not null end),
  constraint key_name_is_one_line_of_at_most_80 check (
    owner_id is null
    or (char_length(name) <= 80 and keyframe_private.is_one_line(name) and keyframe_private.has_visible_character(name))),
  constraint times_are_in_years_of_four_digits check (
    least(created_at, expires_at, last_used_at) >= '1970-01-01 00:00Z' and greatest(created_at, expires_at, last_used_at) < '9999-01-01 00:00Z')
);
comment on table keyframe_private.allowed_clients is 'The OAuth clients that may act for users who approved them, and the keys that users have made for agents and scripts. Every other client is refused.';
comment on column keyframe_private.allowed_clients.client_id is 'Of an OAuth client: the claim client_id of its tokens, as Authentication › OAuth Apps shows it. Of a key: kf_ and the 16 characters that follow it, which are no secret.';
comment on column keyframe_private.allowed_clients.name is 'Of an OAuth client, for administrators. Of a key, as its user named it.';
comment on column keyframe_private.allowed_clients.owner_day_micros is 'The most it may spend for each user in a day (UTC), in micro-dollars, within the user''s budgets; null: no additional limit.';
comment on column keyframe_private.allowed_clients.secret_hash is 'The SHA-256 of the whole key, which is stored nowhere; null for an OAuth client.';
comment on column keyframe_private.allowed_clients.expires_at is 'When it ends; null: never. To revoke a key, set it to now().';
comment on column keyframe_private.allowed_clients.last_used_at is 'The minute in which a key was last used; null: never, or an OAuth client.';
create index allowed_clients_owner_id_idx on keyframe_private.allowed_clients (owner_id, expires_at) where owner_id is not null;
create index allowed_clients_expires_at_idx on keyframe_private.allowed_clients (expires_at) where owner_id is not null;

-- Whether the caller has a right. A token with the claim client_id is a client's, even if the claim is empty, null or no text. A token
-- without the claim is a user's own session, which may do everything.
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
    where c.client_id = claims ->> 'client_id' and jsonb_typeof(claims -> 'client_id') = 'string' and c.may >= needed
      and (c.expires_at > now()) is not false and (c.owner_id is null or c.owner_id = keyframe_private.caller_id()));
end $$;

create function keyframe_private.require_client_may(needed keyframe_private.client_right)
returns void language plpgsql stable set search_path = '' as $$
begin
  if not keyframe_private.client_may(needed) then
    perform keyframe_private.raise_error('client_not_allowed',
      case when auth.jwt() ->> 'client_id' ~ '^kf_'
        then format('This key may not %s. Make one that may, or sign in.', needed)
        else format('This app (OAuth client) may not %s here. Sign in to the service itself, or ask its administrator to allow the app.', needed)
      end);
  end if;
end $$;
