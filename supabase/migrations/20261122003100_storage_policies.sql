-- Owners read their files and upload reference images. A migration of its own: hosted, each policy locks all tables of Storage and Auth
-- until commit.

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
-- Restrictive, because a policy of the app's may open all buckets.
create policy keyframe_files_all_client on storage.objects as restrictive to authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('read')));
create policy keyframe_files_insert_client on storage.objects as restrictive for insert to authenticated
  with check (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('generate')));
create policy keyframe_files_update_client on storage.objects as restrictive for update to authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('generate')));
create policy keyframe_files_delete_client on storage.objects as restrictive for delete to authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('manage')));
