-- Stand-in for the extension pg_net (0.20), with the same schema, functions, tables and privileges. The worker that sends is
-- local/extensions/pg-net-worker.ts. May be applied repeatedly; the data is kept.
create schema if not exists net;

do $$
begin
  if to_regtype('net.http_method') is null then
    create domain net.http_method as text
      constraint http_method_is_known check (lower(value) in ('get', 'post', 'delete'));
    create type net.request_status as enum ('PENDING', 'SUCCESS', 'ERROR');
    create type net.http_response as (status_code integer, headers jsonb, body text);
    create type net.http_response_result as (status net.request_status, message text, response net.http_response);
  end if;
end
$$;

-- Unlogged as in the extension: a crash of the database empties both and the ids start at 1 again.
create unlogged table if not exists net.http_request_queue (
  id bigserial,
  method net.http_method not null,
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

-- The worker holds this lock while it serves this database, so there is never a second one.
create or replace function net.check_worker_is_up() returns void
language plpgsql stable set search_path = '' as $$
begin
  if not exists (
    select from pg_catalog.pg_locks
    where locktype = 'advisory' and granted and classid = 0 and objid = 5470001 and objsubid = 1
      and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
  ) then
    raise exception 'the pg_net background worker is not up'
      using hint = 'The scheduler (local/extensions/main.ts) is not running on this database.';
  end if;
end
$$;

create or replace function net.wait_until_running() returns void
language plpgsql volatile set search_path = '' as $$
begin
  loop
    begin
      perform net.check_worker_is_up();
      return;
    exception when raise_exception then
      perform pg_catalog.pg_sleep(0.05);
    end;
  end loop;
end
$$;

-- NOTIFY reaches the worker at commit, and never after a rollback.
create or replace function net.wake() returns void
language sql volatile set search_path = '' as $$
  select pg_catalog.pg_notify('pg_net', '')
$$;

-- The extension's worker finishes its batch, restarts and reads the queue: for a caller the same as a wake.
create or replace function net.worker_restart() returns boolean
language sql volatile set search_path = '' as $$
  select net.wake();
  select true
$$;

create or replace function net._urlencode_string(string varchar) returns text
language sql immutable set search_path = '' as $$
  select pg_catalog.string_agg(
    case
      when byte between 48 and 57 or byte between 65 and 90 or byte between 97 and 122 or byte in (45, 46, 95, 126)
        then pg_catalog.chr(byte)
      else '%' || pg_catalog.upper(pg_catalog.lpad(pg_catalog.to_hex(byte), 2, '0'))
    end, '' order by i)
  from (
    select i, pg_catalog.get_byte(pg_catalog.convert_to(string, 'UTF8'), i) as byte
    from pg_catalog.generate_series(0, pg_catalog.octet_length(pg_catalog.convert_to(string, 'UTF8')) - 1) as i
  ) as bytes
$$;

-- Raises in the caller's transaction for a URL that libcurl's parser refuses. A scheme that libcurl knows but pg_net does not
-- allow (ftp) passes and ends as an error row.
create or replace function net._encode_url_with_params_array(url text, params_array text[]) returns text
language plpgsql immutable set search_path = '' as $$
declare
  scheme text := pg_catalog.lower(pg_catalog.substring(url, '^([A-Za-z0-9][A-Za-z0-9+.-]*):'));
begin
  if url is null then
    return null; -- the queue's not-null constraint raises
  end if;
  if scheme is null then
    raise exception 'invalid URL "%": Bad scheme', url;
  end if;
  if scheme not in (
    'dict', 'file', 'ftp', 'ftps', 'gopher', 'gophers', 'http', 'https', 'imap', 'imaps', 'ldap', 'ldaps', 'mqtt', 'pop3',
    'pop3s', 'rtmp', 'rtmpe', 'rtmps', 'rtmpt', 'rtmpte', 'rtmpts', 'rtsp', 'scp', 'sftp', 'smb', 'smbs', 'smtp', 'smtps',
    'telnet', 'tftp'
  ) then
    raise exception 'invalid URL "%": Unsupported URL scheme', url;
  end if;
  if url !~ '^[^:]*:/{1,3}[^/]' then
    raise exception 'invalid URL "%": No host part in the URL', url;
  end if;
  if url ~ '[[:space:][:cntrl:]]' then
    raise exception 'invalid URL "%": Bad path', url;
  end if;
  if scheme = 'file' or coalesce(pg_catalog.cardinality(params_array), 0) = 0 then
    return url;
  end if;
  return pg_catalog.split_part(url, '#', 1)
    || case when pg_catalog.strpos(url, '?') = 0 then '?' else '&' end
    || pg_catalog.array_to_string(params_array, '&');
end
$$;

create or replace function net._enqueue(
  method text, url text, params jsonb, headers jsonb, body jsonb, timeout_milliseconds integer
) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  request_id bigint;
begin
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (
    _enqueue.method,
    net._encode_url_with_params_array(_enqueue.url, array(
      select net._urlencode_string(key) || '=' || net._urlencode_string(value)
      from pg_catalog.jsonb_each_text(_enqueue.params)
    )),
    _enqueue.headers,
    pg_catalog.convert_to(_enqueue.body::text, 'UTF8'),
    _enqueue.timeout_milliseconds
  )
  returning id into request_id;
  perform net.wake();
  return request_id;
end
$$;

create or replace function net.http_get(
  url text,
  params jsonb default '{}'::jsonb,
  headers jsonb default '{}'::jsonb,
  timeout_milliseconds integer default 5000
) returns bigint
language sql volatile set search_path = '' as $$
  select net._enqueue('GET', url, params, headers, null, timeout_milliseconds)
$$;

create or replace function net.http_post(
  url text,
  body jsonb default '{}'::jsonb,
  params jsonb default '{}'::jsonb,
  headers jsonb default '{"Content-Type": "application/json"}'::jsonb,
  timeout_milliseconds integer default 5000
) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  content_type text;
begin
  select value into content_type
  from pg_catalog.jsonb_each_text(coalesce(http_post.headers, '{}'::jsonb))
  where pg_catalog.lower(key) = 'content-type'
  limit 1;
  if content_type is null then
    -- null headers stay null, and the request is sent as a form, as by the extension
    http_post.headers := http_post.headers || '{"Content-Type": "application/json"}'::jsonb;
  elsif content_type <> 'application/json' then
    raise exception 'Content-Type header must be "application/json"';
  end if;
  return net._enqueue('POST', url, params, headers, body, timeout_milliseconds);
end
$$;

create or replace function net.http_delete(
  url text,
  params jsonb default '{}'::jsonb,
  headers jsonb default '{}'::jsonb,
  timeout_milliseconds integer default 5000,
  body jsonb default null
) returns bigint
language sql volatile set search_path = '' as $$
  select net._enqueue('DELETE', url, params, headers, body, timeout_milliseconds)
$$;

-- With async = false it waits for the row, which a request of an uncommitted transaction never gets.
create or replace function net._await_response(request_id bigint) returns boolean
language plpgsql volatile set search_path = '' as $$
begin
  while not exists (select from net._http_response where id = request_id) loop
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return true;
end
$$;

create or replace function net._http_collect_response(request_id bigint, async boolean default true)
returns net.http_response_result
language plpgsql volatile set search_path = '' as $$
declare
  answer net._http_response;
begin
  if not async then
    perform net._await_response(request_id);
  end if;
  select * into answer from net._http_response where id = request_id;
  if answer.id is null or answer.error_msg is not null then
    return row(
      'ERROR', coalesce(answer.error_msg, 'request matching request_id not found'), null
    )::net.http_response_result;
  end if;
  return row(
    'SUCCESS', 'ok', row(answer.status_code, answer.headers, answer.content)::net.http_response
  )::net.http_response_result;
end
$$;

-- As hosted, public has all rights. It is safe only because the Data API does not expose the schema.
grant usage on schema net to public;
grant all on all sequences in schema net to public;
grant all on all tables in schema net to public;
