-- Shares are links to a film. Anyone who has the token of a share can read the film's titles, order and videos, without a session.

create table keyframe_private.film_shares (
  id uuid primary key,
  film_id uuid not null references keyframe.films on delete cascade,
  token_hash bytea not null constraint film_shares_token_hash_key unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  constraint times_are_in_years_of_four_digits check (
    least(created_at, expires_at) >= '1970-01-01 00:00Z' and greatest(created_at, expires_at) < '9999-01-01 00:00Z')
);
comment on table keyframe_private.film_shares is 'Links to films. To revoke one, delete its row.';
comment on column keyframe_private.film_shares.token_hash is 'The SHA-256 of the token. The token itself is stored nowhere.';
comment on column keyframe_private.film_shares.expires_at is 'When the link expires; null: never, until it is revoked.';
create index film_shares_film_id_created_at_idx on keyframe_private.film_shares (film_id, created_at desc);
create index film_shares_expires_at_idx on keyframe_private.film_shares (expires_at) where expires_at is not null;

-- A repeated request gets a new token, which replaces the first one, because only its hash is stored.
create function keyframe.share_film(
  film_id uuid, expires_at timestamptz default null, idempotency_key text default null, request_hash text default null)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  token constant text := translate(substr(keyframe_private.random_secret(), 7), '+/=', '-_'); -- 43 characters of base64url
  hash constant bytea := sha256(convert_to(token, 'UTF8'));
  most constant integer := 20;
  request record;
  made keyframe_private.film_shares;
  refused keyframe_private.refusal;
begin
  request := keyframe_private.reserve_idempotency_key(idempotency_key, request_hash, 'create');
  perform keyframe_private.require_client_may('manage');
  perform from keyframe.films f where f.id = share_film.film_id and keyframe_private.is_own(f.owner_id) for no key update; -- to count its shares
  perform keyframe_private.own_film(film_id);
  if request.replayed then
    update keyframe_private.film_shares s set token_hash = hash
    where s.id = request.resource_id and s.film_id = share_film.film_id and (s.expires_at > now()) is not false
    returning s.* into made;
    perform keyframe_private.raise_if(not found, 'not_found',
      'The share that this Idempotency-Key created has expired or was revoked. Send a new key.');
  else
    perform keyframe_private.raise_if(share_film.expires_at <= now(), 'invalid_request', 'expiresAt must be in the future.');
    perform keyframe_private.raise_if((
      select count(*) >= most from keyframe_private.film_shares s
      where s.film_id = share_film.film_id and (s.expires_at > now()) is not false
    ), 'invalid_request', format('A film has at most %s shares. Revoke one first.', most));
    insert into keyframe_private.film_shares (id, film_id, token_hash, expires_at)
    values (request.resource_id, share_film.film_id, hash, share_film.expires_at)
    returning * into made;
  end if;
  return json_build_object(
    'share', to_jsonb(made) - 'token_hash', 'token', token, 'replayed', request.replayed, 'rate', request.rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'create');
end $$;
comment on function keyframe.share_film is 'Creates a share of the caller''s film, and returns its token once.';

create function keyframe.list_film_shares(film_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('read', needed => 'manage');
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_film(film_id);
  return json_build_object('rate', rate, 'shares', (
    select coalesce(json_agg(to_jsonb(s) - 'token_hash' order by s.created_at desc, s.id), '[]')
    from keyframe_private.film_shares s
    where s.film_id = list_film_shares.film_id and (s.expires_at > now()) is not false));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.list_film_shares is 'The shares of the caller''s film that have not ended, newest first.';

create function keyframe.revoke_film_share(film_id uuid, share_id uuid)
returns json language plpgsql volatile security definer set search_path = '' as $$
declare
  rate jsonb := keyframe_private.acquire_token('change', needed => 'manage');
  gone keyframe_private.film_shares;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.own_film(film_id);
  delete from keyframe_private.film_shares s where s.id = share_id and s.film_id = revoke_film_share.film_id returning s.* into gone;
  perform keyframe_private.raise_if(not found, 'not_found', 'This film has no share with this shareId.');
  return json_build_object('share', to_jsonb(gone) - 'token_hash', 'rate', rate);
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe.revoke_film_share is 'Ends a share of the caller''s film.';

-- Open to anyone, through `api`. All links of an owner together have two calls at a time, and each link has its own bucket.
create function keyframe_worker.read_shared_film(token_hash text)
returns json language plpgsql volatile security definer set search_path = '' set statement_timeout = '2s' set lock_timeout = '2s' as $$
declare
  shared record;
  shots keyframe.projects[];
  refused keyframe_private.refusal;
begin
  select s.id, s.film_id, f.title, f.owner_id into shared
  from keyframe_private.film_shares s
  join keyframe.films f on f.id = s.film_id
  join auth.users u on u.id = f.owner_id
  where s.token_hash = decode(read_shared_film.token_hash, 'hex') and (s.expires_at > now()) is not false
    and u.deleted_at is null and (u.banned_until <= now()) is not false;
  perform keyframe_private.raise_if(not found, 'not_found', 'This link does not work: it is incomplete, has expired, or was revoked.');
  if not keyframe_private.acquire_lock('shared call 1', shared.owner_id, waits => false)
    and not keyframe_private.acquire_lock('shared call 2', shared.owner_id, waits => false) then
    perform keyframe_private.raise_error('rate_limited',
      'Too many people are opening this owner''s links. Wait for the time in Retry-After, then try again.',
      jsonb_build_object('policy', 'calls', 'limit', 2, 'window_seconds', 1, 'wait_seconds', 1)::text);
  end if;
  shots := array(select p from keyframe.projects p where p.film_id = shared.film_id order by p.film_position);
  perform keyframe_private.acquire_token('shared', 1 + cardinality(shots) / keyframe_private.projects_per_token(), holder => shared.id);
  return json_build_object('owner_id', shared.owner_id, 'title', shared.title, 'rate', null, 'shots', (
    select coalesce(json_agg(json_build_object('title', p.title, 'video', case when v.id is not null then json_strip_nulls(
      json_build_object('path', v.output_path, 'content_type', v.output_content_type, 'width', v.output_width, 'height', v.output_height,
        'duration_seconds', v.output_duration_seconds)) end) order by p.film_position), '[]')
    from unnest(shots) p
    left join keyframe.predictions v on v.id = keyframe_private.shown_take(p, 'video')));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused);
end $$;
comment on function keyframe_worker.read_shared_film is 'The film of a link, by the SHA-256 of its token in hex: titles and shown videos of the shots, in order.';
