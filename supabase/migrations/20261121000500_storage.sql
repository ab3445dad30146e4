-- Two private buckets: projects for uploads, keyframe-outputs for what provider runs made. Only owners read them.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('projects', 'projects', false, 10485760, array['image/png', 'image/jpeg', 'image/webp']),
  ('keyframe-outputs', 'keyframe-outputs', false, 209715200, array['image/png', 'image/jpeg', 'image/webp', 'video/mp4']);

create policy keyframe_references_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'projects' and owner_id = (select auth.uid()::text));
create policy keyframe_references_insert_owner on storage.objects for insert to authenticated
  with check (
    bucket_id = 'projects'
    and owner_id = (select auth.uid()::text)
    and name ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(png|jpg|webp)$'
  );
-- Names in keyframe-outputs are <owner_id>/<project_id>/<prediction_id>.<extension>; only the functions write there.
create policy keyframe_outputs_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'keyframe-outputs' and (storage.foldername(name))[1] = (select auth.uid()::text));
