-- Stand-in for the extension pg_net (0.20): what Keyframe, its tests and its messages use of it, with the same tables and privileges. The
-- worker that sends is local/extensions/pg-net-worker.ts. May be applied repeatedly; the data is kept.
create schema if not exists net;

-- Unlogged as in the extension: a crash of the database empties both and the ids start at 1 again.
create unlogged table if not exists net.http_request_queue (
  id bigserial,
  method text not null,
  url text not null,
  headers jsonb,
  body bytea,
  timeout_milliseconds integer not null
);

create unlogged table if not exists net._http_response (
  id bigint,
  status_code integer,
  content_type text,
  headers jsonb,
  content text,
  timed_out boolean,
  error_msg text,
  created timestamptz not null default now()
);
create index if not exists _http_response_created_idx on net._http_response (created);

-- NOTIFY reaches the worker at commit, and never after a rollback.
create or replace function net.wake() returns void
language sql volatile set search_path = '' as $$
  select pg_catalog.pg_notify('pg_net', '')
$$;

-- The extension's worker finishes its batch, restarts and reads the queue. For a caller this equals a wake.
create or replace function net.worker_restart() returns boolean
language sql volatile set search_path = '' as $$
  select net.wake();
  select true
$$;

-- As in the extension, an invalid URL raises in the caller's transaction, and a null URL breaks the queue's constraint.
create or replace function net._enqueue(
  method text, url text, params jsonb, headers jsonb, body jsonb, timeout_milliseconds integer
) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  request_id bigint;
begin
  if url !~* '^https?:/{1,3}[^/[:space:][:cntrl:]][^[:space:][:cntrl:]]*$' then
    raise exception 'invalid URL "%"', url;
  end if;
  if params <> '{}' then
    raise exception 'params are not supported by this stand-in for pg_net: write them into the URL'
      using errcode = 'feature_not_supported';
  end if;
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (method, url, headers, pg_catalog.convert_to(body::text, 'UTF8'), timeout_milliseconds)
  returning id into request_id;
  perform net.wake();
  return request_id;
end
$$;

create or replace function net.http_post(
  url text,
  body jsonb default '{}'::jsonb,
  params jsonb default '{}'::jsonb,
  headers jsonb default '{"Content-Type": "application/json"}'::jsonb,
  timeout_milliseconds integer default 5000
) returns bigint
language plpgsql volatile set search_path = '' as $$
begin
  if exists (
    select from pg_catalog.jsonb_each_text(headers) where pg_catalog.lower(key) = 'content-type' and value <> 'application/json'
  ) then
    raise exception 'Content-Type header must be "application/json"';
  end if;
  return net._enqueue(
    'POST', url, params, '{"Content-Type": "application/json"}'::jsonb || coalesce(headers, '{}'), body, timeout_milliseconds);
end
$$;

-- As hosted, public has all rights. This is safe only because the Data API does not expose the schema.
grant usage on schema net to public;
grant all on all sequences in schema net to public;
grant all on all tables in schema net to public;
