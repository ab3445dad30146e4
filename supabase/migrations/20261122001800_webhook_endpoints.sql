-- Webhook endpoints. With owner_id an endpoint gets that user's events; without it, it is service-wide (a CRM) and gets all
-- events.

-- shared/contract/webhooks.ts has the same list for the API; test/db/shared-rules.test.ts compares both.
create function keyframe_private.event_types()
returns text[]
language plpgsql
immutable
set search_path = ''
as $$
begin
  return array['project.created', 'generation.succeeded', 'generation.failed', 'budget.exhausted', 'webhook.test'];
end
$$;
comment on function keyframe_private.event_types is 'Every type of event.';

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
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint url_is_https_or_local_http check (url ~ '^https?://[^\s#@]+$' and char_length(url) <= 2048),
  constraint description_has_at_most_500_characters check (char_length(description) <= 500),
  constraint description_is_one_line check (keyframe_private.is_one_line(description)),
  constraint event_types_are_known check (event_types <@ keyframe_private.event_types()),
  constraint event_types_are_a_list_of_at_most_5 check (coalesce(array_ndims(event_types), 1) = 1 and cardinality(event_types) <= 5),
  constraint disabled_reason_is_known check (disabled_reason in ('by_owner', 'gone', 'failing')),
  constraint max_in_flight_is_1_to_100 check (max_in_flight between 1 and 100),
  constraint times_are_in_years_of_four_digits check (
    least(disabled_at, failing_since, created_at, updated_at) >= '1970-01-01 00:00Z' and greatest(disabled_at, failing_since, created_at, updated_at) < '9999-01-01 00:00Z'),
  constraint disabled_if_and_only_if_not_enabled check (enabled = (disabled_at is null) and (disabled_at is null) = (disabled_reason is null))
);
comment on table keyframe.webhook_endpoints is 'Receivers of events. A row inserted by hand works too: a trigger creates its secret (select keyframe_private.webhook_secret(id) shows it).';
comment on column keyframe.webhook_endpoints.id is 'Named by webhookId in the API.';
comment on column keyframe.webhook_endpoints.url is 'Where events are sent: https, or http on a local stack.';
comment on column keyframe.webhook_endpoints.description is 'One line, for people.';
comment on column keyframe.webhook_endpoints.enabled is 'Whether events are sent to it.';
comment on column keyframe.webhook_endpoints.disabled_at is 'Since when it gets none; null while enabled.';
comment on column keyframe.webhook_endpoints.created_at is 'When it was registered.';
comment on column keyframe.webhook_endpoints.updated_at is 'When it last changed.';
comment on column keyframe.webhook_endpoints.owner_id is 'Whose events it gets; null: everyone''s.';
comment on column keyframe.webhook_endpoints.event_types is 'Which events it gets; empty: all.';
comment on column keyframe.webhook_endpoints.max_in_flight is 'How many requests to it may be open at once; one while it does nothing but fail.';
comment on column keyframe.webhook_endpoints.disabled_reason is 'Why it gets no events: by_owner, gone (it answered 410), failing (nothing but failures for webhook_disable_after).';
comment on column keyframe.webhook_endpoints.failing_since is 'Since when every attempt failed, or since it was enabled again after the service had disabled it; null after a success.';
create index webhook_endpoints_owner_id_idx on keyframe.webhook_endpoints (owner_id, created_at desc);

alter table keyframe.webhook_endpoints enable row level security;
create policy webhook_endpoints_all_client on keyframe.webhook_endpoints as restrictive to authenticated
  using ((select keyframe_private.client_may('manage')));
comment on policy webhook_endpoints_all_client on keyframe.webhook_endpoints is 'Hides the rows from OAuth clients that may not see them.';
create policy webhook_endpoints_select_owner on keyframe.webhook_endpoints for select to authenticated
  using (owner_id = (select auth.uid()) and (select keyframe_private.may_read()));
comment on policy webhook_endpoints_select_owner on keyframe.webhook_endpoints is 'Users see their own rows.';
grant select on keyframe.webhook_endpoints to authenticated, service_role;

create table keyframe_private.webhook_secrets (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null references keyframe.webhook_endpoints on delete cascade,
  vault_secret_id uuid not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
comment on table keyframe_private.webhook_secrets is 'The Vault entries that sign for an endpoint: the current one (expires_at is null), and older ones until expires_at.';
comment on column keyframe_private.webhook_secrets.id is 'Names the row alone.';
comment on column keyframe_private.webhook_secrets.endpoint_id is 'The endpoint that it signs for.';
comment on column keyframe_private.webhook_secrets.vault_secret_id is 'Its id in vault.secrets.';
comment on column keyframe_private.webhook_secrets.created_at is 'When it became the current one.';
comment on column keyframe_private.webhook_secrets.expires_at is 'Until when it still signs; null: it is the current one.';
create unique index webhook_secrets_one_current on keyframe_private.webhook_secrets (endpoint_id) where expires_at is null;
create index webhook_secrets_endpoint_id_idx on keyframe_private.webhook_secrets (endpoint_id, created_at);
create index webhook_secrets_expires_at_idx on keyframe_private.webhook_secrets (expires_at) where expires_at is not null;
alter table keyframe_private.webhook_secrets enable row level security;

-- Deleting an endpoint deletes its row and its secrets within milliseconds. Its deliveries, possibly millions, and its test
-- events have no foreign key to it: they are neither sent nor visible, and prune_webhooks deletes them in batches
-- (docs/decisions/0022-deleted-endpoints-leave-deliveries.md).
create table keyframe_private.deleted_endpoints (
  endpoint_id uuid primary key,
  deleted_at timestamptz not null default now()
);
comment on table keyframe_private.deleted_endpoints is 'Deleted endpoints that may still have deliveries. The job keyframe-prune deletes those first, then the row.';
comment on column keyframe_private.deleted_endpoints.endpoint_id is 'Its former id in webhook_endpoints.';
comment on column keyframe_private.deleted_endpoints.deleted_at is 'When it was deleted.';
alter table keyframe_private.deleted_endpoints enable row level security;

-- Runs for every deletion: by the owner, by an administrator, or with the account.
create function keyframe_private.record_deleted_endpoint()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  insert into keyframe_private.deleted_endpoints (endpoint_id) values (old.id) on conflict do nothing;
  return null;
end
$$;
create trigger _500_record_deleted after delete on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_deleted_endpoint();
comment on trigger _500_record_deleted on keyframe.webhook_endpoints is 'Lists it, so that its deliveries are deleted.';

create function keyframe_private.add_webhook_secret(endpoint uuid, id uuid default gen_random_uuid())
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  secret text := keyframe_private.random_secret();
begin
  insert into keyframe_private.webhook_secrets (id, endpoint_id, vault_secret_id)
  values (add_webhook_secret.id, endpoint, vault.create_secret(secret, 'keyframe_webhook_' || gen_random_uuid()::text, 'Signs events for webhook endpoint ' || endpoint::text));
end
$$;
comment on function keyframe_private.add_webhook_secret is 'Creates the current secret of an endpoint, stored only in the Vault.';

-- Deletes a secret from the Vault with its row.
create function keyframe_private.delete_vault_secret()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  delete from vault.secrets s where s.id = old.vault_secret_id;
  return null;
end
$$;
create trigger _500_delete_vault_secret after delete on keyframe_private.webhook_secrets
  for each row execute function keyframe_private.delete_vault_secret();
comment on trigger _500_delete_vault_secret on keyframe_private.webhook_secrets is 'Deletes the secret from the Vault.';

-- Limits an owner to 20 endpoints.
create function keyframe_private.limit_endpoints()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform keyframe_private.take_lock('endpoints', new.owner_id);
  if (select count(*) from keyframe.webhook_endpoints e where e.owner_id = new.owner_id) >= 20 then
    perform keyframe_private.raise_error('invalid_request', 'You have 20 webhook endpoints already. Delete one first.');
  end if;
  return new;
end
$$;
create trigger _200_limit before insert on keyframe.webhook_endpoints
  for each row when (new.owner_id is not null) execute function keyframe_private.limit_endpoints();
comment on trigger _200_limit on keyframe.webhook_endpoints is 'Refuses more than 20 endpoints of an owner.';

-- Its deliveries belong to its owner and wait in his lane, which a worker may be sending.
create function keyframe_private.refuse_changed_owner()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform keyframe_private.raise_error('invalid_request', 'The owner of a webhook endpoint cannot be changed. Delete the endpoint, and add one for the other owner.');
  return null;
end
$$;
create trigger _200_refuse_changed_owner before update of owner_id on keyframe.webhook_endpoints
  for each row when (new.owner_id is distinct from old.owner_id) execute function keyframe_private.refuse_changed_owner();
comment on trigger _200_refuse_changed_owner on keyframe.webhook_endpoints is 'Refuses another owner: its deliveries belong to this one.';

-- Creates the secret of a new endpoint. Refuses the identifier of an endpoint whose deliveries are still being deleted: the new
-- one would inherit them.
create function keyframe_private.create_endpoint_secret()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if exists (select from keyframe_private.deleted_endpoints d where d.endpoint_id = new.id) then
    perform keyframe_private.raise_error('invalid_request', 'An endpoint with this identifier is being deleted. Take another one, or wait some minutes.');
  end if;
  perform keyframe_private.add_webhook_secret(new.id);
  return null;
end
$$;
create trigger _500_create_secret after insert on keyframe.webhook_endpoints
  for each row execute function keyframe_private.create_endpoint_secret();
comment on trigger _500_create_secret on keyframe.webhook_endpoints is 'Creates its signing secret; refuses an id whose deliveries are still being deleted.';

-- Keeps enabled, disabled_at and disabled_reason consistent, so that one tick in Studio is enough. Switching an endpoint off and
-- on keeps failing_since: otherwise its owner could evade the limit of one request at a time and the disabling. An endpoint that
-- the service disabled gets webhook_disable_after once more, with one request at a time until its first success.
create function keyframe_private.record_endpoint_switch()
returns trigger
language plpgsql
volatile
set search_path = ''
as $$
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
  new.updated_at := now();
  return new;
end
$$;
create trigger _300_switch before insert or update of enabled, url, description, event_types, max_in_flight on keyframe.webhook_endpoints
  for each row execute function keyframe_private.record_endpoint_switch();
comment on trigger _300_switch on keyframe.webhook_endpoints is 'Keeps enabled, disabled_at and disabled_reason consistent.';

-- Empty when one cannot be decrypted, as after a restore under another key: then this endpoint alone is not sent to.
create function keyframe_private.webhook_secrets_of(endpoint uuid, at timestamptz default now())
returns text[]
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
  -- created_at is the start of a transaction, so it cannot order two simultaneous rotations; the row without expires_at is the
  -- current one.
  return array_remove(array(
    select v.decrypted_secret
    from keyframe_private.webhook_secrets s
    join vault.decrypted_secrets v on v.id = s.vault_secret_id
    where s.endpoint_id = endpoint and (s.expires_at is null or s.expires_at > at)
    order by (s.expires_at is null) desc, s.created_at desc), null);
exception when others then
  raise warning 'The secrets of webhook endpoint % cannot be decrypted: %', endpoint, sqlstate;
  return '{}';
end
$$;
comment on function keyframe_private.webhook_secrets_of is 'The live secrets of an endpoint, newest first, at most three.';

create function keyframe_private.webhook_secret(endpoint uuid)
returns text
language sql
stable
security definer
set search_path = ''
as $$
  select (keyframe_private.webhook_secrets_of(endpoint))[1]
$$;
comment on function keyframe_private.webhook_secret is 'For administrators: the secret that signs for an endpoint now.';

-- The old one keeps signing beside it for overlap (0: it stops at once). At most three are live at a time.
create function keyframe_private.rotate_webhook_secret(endpoint uuid, overlap interval, id uuid default gen_random_uuid())
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform from keyframe.webhook_endpoints e where e.id = endpoint for no key update;
  delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint and s.expires_at <= now();
  if overlap <= interval '0' or keyframe_private.webhook_secret(endpoint) is null then
    -- Without an overlap every old secret goes: the owner fears that one has leaked. So do secrets that cannot be decrypted: beside them the
    -- new one could not sign either.
    delete from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint;
  else
    if (select count(*) from keyframe_private.webhook_secrets s where s.endpoint_id = endpoint) >= 3 then
      perform keyframe_private.raise_error('invalid_request', 'Three secrets of this endpoint are live already. Wait until an overlap has ended, or rotate with overlapHours 0 to revoke them at once.');
    end if;
    update keyframe_private.webhook_secrets s set expires_at = now() + overlap where s.endpoint_id = endpoint and s.expires_at is null;
  end if;
  perform keyframe_private.add_webhook_secret(endpoint, id);
end
$$;
comment on function keyframe_private.rotate_webhook_secret is 'Replaces the current secret by one with this id.';

