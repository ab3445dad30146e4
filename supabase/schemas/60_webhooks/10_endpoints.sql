-- Webhook endpoints: with owner_id, for that user's events; without it service-wide (a CRM), for all events.

-- shared/contract/webhooks.ts has the same list for the API; test/db/schema/shared-rules.test.ts compares both.
create function keyframe_private.event_types()
returns text[] language plpgsql immutable set search_path = '' as $$
begin
  return array['project.created', 'generation.succeeded', 'generation.failed', 'budget.exhausted', 'balance.low', 'balance.exhausted',
    'webhook.test'];
end $$;

create type keyframe_private.endpoint_standing as enum ('new', 'tried', 'quick', 'slow');
comment on type keyframe_private.endpoint_standing is 'new: no answer yet. tried: all answers were quick, but there are fewer than five. quick: five answers in a row took under three seconds. slow: an answer took longer, or a request had none for three seconds, and fewer than five quick answers have followed.';

create table keyframe.webhook_endpoints (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid references auth.users on delete cascade,
  url text not null,
  description text not null default '',
  event_types text[] not null default '{}',
  enabled boolean not null default true,
  max_in_flight integer not null default 8,
  disabled_at timestamptz,
  disabled_reason text,
  failing_since timestamptz,
  standing keyframe_private.endpoint_standing not null default 'new',
  quick_answers smallint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint url_is_http_without_user_or_fragment check (url ~ '^https?://[^\s#@]+$' and char_length(url) <= 2048),
  constraint description_has_at_most_500_characters check (char_length(description) <= 500),
  constraint description_is_one_line check (keyframe_private.is_one_line(description)),
  constraint event_types_are_known check (event_types <@ keyframe_private.event_types()),
  constraint event_types_are_a_list_without_excess check (coalesce(array_ndims(event_types), 1) = 1
    and cardinality(event_types) <= cardinality(keyframe_private.event_types())),
  constraint disabled_reason_is_known check (disabled_reason in ('by_owner', 'gone', 'failing')),
  constraint max_in_flight_is_1_to_100 check (max_in_flight between 1 and 100),
  constraint times_are_in_years_of_four_digits check (
    least(disabled_at, failing_since, created_at, updated_at) >= '1970-01-01 00:00Z'
      and greatest(disabled_at, failing_since, created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint disabled_if_and_only_if_not_enabled check (enabled = (disabled_at is null) and (disabled_at is null) = (disabled_reason is null))
);
comment on table keyframe.webhook_endpoints is 'Receivers of events. A row inserted by hand works too: a trigger creates its secret (select keyframe_private.webhook_secret(id) shows it).';
comment on column keyframe.webhook_endpoints.id is 'Named by webhookId in the API.';
comment on column keyframe.webhook_endpoints.url is 'Where events are sent: https, or http on a local stack.';
comment on column keyframe.webhook_endpoints.description is 'One line, for people.';
comment on column keyframe.webhook_endpoints.enabled is 'Whether events are sent to it.';
comment on column keyframe.webhook_endpoints.disabled_at is 'When it was disabled; null while enabled.';
comment on column keyframe.webhook_endpoints.owner_id is 'Whose events it gets; null: everyone''s.';
comment on column keyframe.webhook_endpoints.event_types is 'Which events it gets; empty: all.';
comment on column keyframe.webhook_endpoints.max_in_flight is 'How many requests to it may be open at once; one while it only fails.';
comment on column keyframe.webhook_endpoints.disabled_reason is 'Why it gets no events: by_owner, gone (it answered 410), failing (only failures for webhook_disable_after).';
comment on column keyframe.webhook_endpoints.failing_since is 'When the failures began, or when it was enabled again after the service had disabled it; null after a success.';
comment on column keyframe.webhook_endpoints.standing is 'How quickly it answers: new, tried, quick or slow.';
comment on column keyframe.webhook_endpoints.quick_answers is 'How many answers in a row took under three seconds, counted up to five. A request without an answer counts as slow after three seconds, and otherwise not at all.';
create index webhook_endpoints_owner_id_idx on keyframe.webhook_endpoints (owner_id, created_at desc);
-- The few endpoints that the service has disabled.
create index webhook_endpoints_disabled_idx on keyframe.webhook_endpoints (disabled_at) where disabled_reason in ('gone', 'failing');

-- Deliveries, possibly millions, and test events have no foreign key: they are deleted in batches
-- (docs/decisions/0019-deleted-endpoints-leave-deliveries.md).
create table keyframe_private.deleted_endpoints (
  endpoint_id uuid primary key,
  deleted_at timestamptz not null default now()
);
comment on table keyframe_private.deleted_endpoints is 'Deleted endpoints that may still have deliveries. The job keyframe-prune deletes those first, then the row.';

create function keyframe_private.record_deleted_endpoint()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into keyframe_private.deleted_endpoints (endpoint_id) values (old.id) on conflict do nothing;
  return null;
end $$;

create function keyframe_private.limit_endpoints()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.acquire_lock('endpoints', new.owner_id);
  perform keyframe_private.raise_if((select count(*) from keyframe.webhook_endpoints e where e.owner_id = new.owner_id) >= 20,
    'invalid_request', 'You have 20 webhook endpoints already. Delete one first.');
  return new;
end $$;

-- Changing `enabled` in Studio is enough. failing_since survives disabling and enabling, so that the owner cannot evade automatic disabling. An
-- endpoint that the service disabled gets webhook_disable_after once more, with one request at a time until its first success.
create function keyframe_private.record_enabled_change()
returns trigger language plpgsql volatile set search_path = '' as $$
begin
  if new.enabled then
    new.disabled_at := null;
    new.disabled_reason := null;
    if tg_op = 'UPDATE' and old.disabled_reason in ('gone', 'failing') then
      new.failing_since := now();
    end if;
  else
    new.disabled_at := coalesce(new.disabled_at, now());
    new.disabled_reason := coalesce(new.disabled_reason, 'by_owner');
  end if;
  if tg_op = 'INSERT' or (new.enabled, new.url, new.description, new.event_types, new.max_in_flight) is distinct from
    (old.enabled, old.url, old.description, old.event_types, old.max_in_flight) then
    new.updated_at := now();
  end if;
  return new;
end $$;

-- The secrets that sign deliveries, stored in the Vault.

create table keyframe_private.webhook_secrets (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null references keyframe.webhook_endpoints on delete cascade,
  vault_secret_id uuid not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
comment on table keyframe_private.webhook_secrets is 'The Vault entries that sign for an endpoint: the current one (expires_at is null), and older ones until expires_at.';
comment on column keyframe_private.webhook_secrets.expires_at is 'Until when it still signs; null: it is the current one.';
create unique index webhook_secrets_one_current on keyframe_private.webhook_secrets (endpoint_id) where expires_at is null;
create index webhook_secrets_endpoint_id_idx on keyframe_private.webhook_secrets (endpoint_id, created_at);
create index webhook_secrets_expires_at_idx on keyframe_private.webhook_secrets (expires_at) where expires_at is not null;

create function keyframe_private.add_webhook_secret(endpoint uuid, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
declare
  secret text := keyframe_private.random_secret();
begin
  insert into keyframe_private.webhook_secrets (id, endpoint_id, vault_secret_id)
  values (add_webhook_secret.id, endpoint,
    vault.create_secret(secret, 'keyframe_webhook_' || gen_random_uuid()::text, 'Signs events for webhook endpoint ' || endpoint::text));
end $$;

create function keyframe_private.delete_vault_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.secrets s where s.id = old.vault_secret_id;
  return null;
end $$;

-- An identifier whose deliveries are still being deleted is refused: the new endpoint would inherit them.
create function keyframe_private.create_endpoint_secret()
returns trigger language plpgsql volatile security definer set search_path = '' as $$
begin
  perform keyframe_private.raise_if(exists (select from keyframe_private.deleted_endpoints d where d.endpoint_id = new.id),
    'invalid_request', 'An endpoint with this id is being deleted. Use another id, or wait a few minutes.');
  perform keyframe_private.add_webhook_secret(new.id);
  return null;
end $$;

-- The live secrets, newest first, at most three. Empty if one cannot be decrypted, as after a restore under another key: then nothing is
-- sent to this endpoint.
create function keyframe_private.webhook_secrets_of(endpoint uuid, at timestamptz default now())
returns text[] language plpgsql stable security definer set search_path = '' as $$
begin
  -- created_at cannot order two simultaneous rotations; the row without expires_at is the current one.
  return array_remove(array(
    select v.decrypted_secret
    from keyframe_private.webhook_secrets s
    join vault.decrypted_secrets v on v.id = s.vault_secret_id
    where s.endpoint_id = endpoint and (s.expires_at is null or s.expires_at > at)
    order by (s.expires_at is null) desc, s.created_at desc), null);
exception when others then
  raise warning 'The secrets of webhook endpoint % cannot be decrypted: %', endpoint, sqlstate;
  return '{}';
end $$;

-- For administrators: the secret that signs for an endpoint now.
create function keyframe_private.webhook_secret(endpoint uuid)
returns text language sql stable security definer set search_path = '' as $$
  select (keyframe_private.webhook_secrets_of(endpoint))[1]
$$;

-- The old secret also signs for overlap (0: it stops at once). Three are live at most: a fourth ends the oldest.
create function keyframe_private.replace_webhook_secret(endpoint uuid, overlap interval, id uuid default gen_random_uuid())
returns void language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from keyframe.webhook_endpoints e where e.id = endpoint for no key update;
  delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint and s.expires_at <= now();
  if overlap <= interval '0' or keyframe_private.webhook_secret(endpoint) is null then
    -- Without an overlap every old secret is deleted: one may have leaked, and one that cannot be decrypted would block the new one.
    delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint;
  else
    delete from keyframe_private.webhook_secrets s where s.id in (
      select o.id from keyframe_private.webhook_secrets o where o.endpoint_id = endpoint
      order by (o.expires_at is null) desc, o.created_at desc offset 2);
    update keyframe_private.webhook_secrets s set expires_at = now() + overlap where s.endpoint_id = endpoint and s.expires_at is null;
  end if;
  perform keyframe_private.add_webhook_secret(endpoint, id);
end $$;
