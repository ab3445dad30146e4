-- Policies decide who sees and changes which rows; what of that an OAuth client or a key may change, triggers decide
-- (05_requests/10_oauth_clients.sql). They come last, because on the hosted platform each one locks all tables of Storage and Auth until
-- commit. None may raise outside a request of the Data API: Realtime reads the rows of many subscribers in one transaction, and Storage
-- also lists the app's files.

-- For every table that users read: <table>_all_client, restrictive, so that it stops OAuth clients even if a policy of the app opens all rows,
-- and <table>_select_owner: users see their own rows. A subquery in a condition runs once per statement.
do $$
declare
  seen record;
begin
  for seen in
    select * from (values
      ('models', null), ('step_defaults', null), -- everyone sees all rows
      ('films', ''), ('elements', ''), ('webhook_endpoints', ''),
      ('projects', ' and deleted_at is null'),
      ('predictions', ' and project_id <> all ((select keyframe_private.deleted_projects())::uuid[])'),
      -- Without those of deleted endpoints.
      ('webhook_events', ' and (endpoint_id is null or endpoint_id in (select e.id from keyframe.webhook_endpoints e))'),
      ('webhook_deliveries', ' and endpoint_id in (select e.id from keyframe.webhook_endpoints e)'),
      ('webhook_attempts', ' and exists (select from keyframe.webhook_deliveries d where d.id = delivery_id)')) v (name, condition)
  loop
    execute format(
      'create policy %1$s_all_client on keyframe.%1$s as restrictive to authenticated using ((select keyframe_private.client_may(%2$L)))',
      seen.name, case when seen.name like 'webhook_%' then 'manage' else 'read' end);
    execute format('create policy %1$s_select_%2$s on keyframe.%1$s for select to authenticated using (%3$s)', seen.name,
      case when seen.condition is null then 'everyone' else 'owner' end,
      coalesce('owner_id = (select keyframe_private.caller_id()) and (select keyframe_private.may_read())' || seen.condition, 'true'));
  end loop;
end $$;

create policy films_insert_owner on keyframe.films for insert to authenticated with check (owner_id = (select keyframe_private.caller_id()));
create policy films_update_owner on keyframe.films for update to authenticated
  using (owner_id = (select keyframe_private.caller_id())) with check (owner_id = (select keyframe_private.caller_id()));
create policy films_delete_owner on keyframe.films for delete to authenticated using (owner_id = (select keyframe_private.caller_id()));

create policy projects_insert_owner on keyframe.projects for insert to authenticated with check (owner_id = (select keyframe_private.caller_id()));
create policy projects_update_owner on keyframe.projects for update to authenticated
  using (owner_id = (select keyframe_private.caller_id()) and deleted_at is null) with check (owner_id = (select keyframe_private.caller_id()));
create policy projects_delete_owner on keyframe.projects for delete to authenticated
  using (owner_id = (select keyframe_private.caller_id()) and deleted_at is null);

-- keyframe.predictions: only a run that has not begun, even if a grant lets users name more columns.
create policy predictions_insert_owner on keyframe.predictions for insert to authenticated
  with check (owner_id = (select keyframe_private.caller_id()) and status = 'queued' and attempt = 0 and provider_output_url is null);

-- storage.objects. Users and their clients cannot write or delete files: `api` stores what it has measured, because a price counts pixels
-- and the metadata names the owner.
create policy keyframe_references_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'projects' and user_metadata ->> 'ownerId' = (select keyframe_private.caller_id()::text));
-- Names in keyframe-outputs are <owner_id>/<project_id>/<prediction_id>.<extension>.
create policy keyframe_outputs_select_owner on storage.objects for select to authenticated
  using (bucket_id = 'keyframe-outputs' and (storage.foldername(name))[1] = (select keyframe_private.caller_id()::text));
-- Restrictive, because a policy of the app may open all buckets.
create policy keyframe_files_insert_nobody on storage.objects as restrictive for insert to anon, authenticated
  with check (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_update_nobody on storage.objects as restrictive for update to anon, authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_delete_nobody on storage.objects as restrictive for delete to anon, authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs'));
create policy keyframe_files_all_client on storage.objects as restrictive to authenticated
  using (bucket_id not in ('projects', 'keyframe-outputs') or (select keyframe_private.client_may('read')));
