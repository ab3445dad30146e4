-- Two private buckets: projects for uploads, keyframe-outputs for generated files. Neither takes SVG or HTML, which run scripts.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('projects', 'projects', false, 10485760, array['image/png', 'image/jpeg', 'image/webp']),
  ('keyframe-outputs', 'keyframe-outputs', false, 209715200, array[
    'image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif', 'image/bmp', 'image/x-icon',
    'video/mp4', 'video/webm', 'video/x-matroska', 'video/ogg', 'audio/mpeg', 'audio/wav', 'audio/flac', 'audio/aac']);

-- Uploads of reference images. `api` makes them with the secret key, which has no owner in Storage, and writes `user_metadata`: the pixels
-- and the owner. Users may write no file (98_policies.sql).

-- The name in the bucket of projects/<file_name>.
create function keyframe_private.file_name_of(path text)
returns text language plpgsql immutable strict set search_path = '' as $$
begin
  return substr(path, length('projects/') + 1);
end $$;

-- The pixels of an uploaded image as it is shown, which the upload read from its bytes. Null for a file that an administrator put there.
create function keyframe_private.upload_size(path text, out width integer, out height integer)
language plpgsql stable set search_path = '' as $$
begin
  select (o.user_metadata ->> 'width')::integer, (o.user_metadata ->> 'height')::integer into width, height
  from storage.objects o
  where o.bucket_id = 'projects' and o.name = keyframe_private.file_name_of(path)
    and o.user_metadata ->> 'width' ~ '^[1-9][0-9]{0,4}$' and o.user_metadata ->> 'height' ~ '^[1-9][0-9]{0,4}$';
end $$;

-- Called before the body is read, and with an Idempotency-Key again with its hash. Each request uses a token, even a refused one.
create function keyframe.admit_upload(idempotency_key text default null, request_hash text default null)
returns jsonb language plpgsql volatile security definer set search_path = '' as $$
declare
  file uuid;
  replayed boolean := false;
  refused keyframe_private.refusal;
begin
  perform keyframe_private.require_client_may('generate');
  if request_hash is not null then
    -- No row: the key is new, or an equal request has already set the hash.
    update keyframe_private.idempotency_keys k set request_hash = admit_upload.request_hash
    where k.owner_id = auth.uid() and k.client_id is not distinct from auth.jwt() ->> 'client_id' and k.key = idempotency_key
      and k.request_hash is null
    returning k.resource_id into file;
  end if;
  if file is null then
    select r.resource_id, r.replayed into file, replayed
      from keyframe_private.reserve_idempotency_key(
        idempotency_key, admit_upload.request_hash, replay_class => null) r;
    if request_hash is null or not replayed then
      perform keyframe_private.acquire_token('upload');
    end if;
  end if;
  return jsonb_build_object('file_id', file, 'replayed', replayed, 'rate', keyframe_private.rate_state('upload'));
exception when sqlstate 'KEYFR' then
  get stacked diagnostics refused.code = message_text, refused.sentence = pg_exception_detail, refused.hint = pg_exception_hint;
  return keyframe_private.refuse(refused, 'upload');
end $$;
comment on function keyframe.admit_upload is 'Counts an upload of the caller and names its file.';
