-- All rights, on everything. Each version's migration ends with the files 99_*: an app's default privileges may have opened what it
-- created (docs/decisions/0025-rights-are-made-last.md).

select keyframe_private.revoke_all_rights();

-- Every table has row-level security, so that a table without a policy is closed.
do $$
declare
  name regclass;
begin
  for name in
    select c.oid from pg_class c
    where c.relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind = 'r'
      and not c.relrowsecurity
  loop
    execute format('alter table %s enable row level security', name);
  end loop;
end $$;

grant usage on schema keyframe to anon, authenticated, service_role;
grant usage on schema keyframe_private to authenticated, service_role;
grant usage on schema keyframe_worker to service_role;

-- Tables. Users cannot set id: a reused id would get no event (docs/decisions/0020-postgres-makes-ids.md).
grant select on
  keyframe.elements, keyframe.element_images, keyframe.films, keyframe.models, keyframe.predictions, keyframe.projects,
  keyframe.step_defaults, keyframe.webhook_attempts, keyframe.webhook_deliveries, keyframe.webhook_endpoints, keyframe.webhook_events
to service_role;
grant select on
  keyframe.elements, keyframe.element_images, keyframe.models, keyframe.step_defaults, keyframe.webhook_attempts,
  keyframe.webhook_deliveries, keyframe.webhook_endpoints, keyframe.webhook_events
to authenticated;
grant select, insert (title, description, element_ids), update (title, description, element_ids), delete on keyframe.films to authenticated;
grant select, insert (project_id, step, input, model) on keyframe.predictions to authenticated;
grant
  select,
  insert (title, text_prompt, description, aspect_ratio, film_id, element_ids, plan),
  update (
    title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id, selected_video_id,
    film_id, element_ids, plan),
  delete
on keyframe.projects to authenticated;
-- Who is not signed in may ask the table that Realtime publishes, and no policy shows a row. Not its key: Realtime sends the keys of
-- deleted rows to everybody who may select them, and asks the policies once for each such subscriber and change.
grant select (created_at) on keyframe.predictions to anon;

-- The API. Without a session only health is open.
grant execute on function keyframe.health to anon, authenticated, service_role;

-- With a user's token.
grant execute on function
  keyframe.create_project, keyframe.delete_project, keyframe.list_projects, keyframe.read_project, keyframe.update_project,
  keyframe.create_film, keyframe.delete_film, keyframe.list_films, keyframe.read_film, keyframe.update_film,
  keyframe.create_element, keyframe.delete_element, keyframe.list_elements, keyframe.read_element, keyframe.update_element,
  keyframe.estimate_film, keyframe.start_film,
  keyframe.share_film, keyframe.list_film_shares, keyframe.revoke_film_share,
  keyframe.create_key, keyframe.list_keys, keyframe.revoke_key,
  keyframe.list_models,
  keyframe.cancel_prediction, keyframe.delete_prediction, keyframe.estimate_prediction, keyframe.list_predictions, keyframe.read_prediction,
  keyframe.start_prediction, keyframe.start_quote, keyframe.update_prediction,
  keyframe.read_usage,
  keyframe.webhook_health,
  keyframe.admit_upload
to authenticated;

-- With a user's token, or with the secret key for service-wide endpoints.
grant execute on function
  keyframe.rotate_webhook_secret, keyframe.create_webhook_endpoint, keyframe.delete_webhook_endpoint, keyframe.list_webhook_endpoints,
  keyframe.read_webhook_endpoint, keyframe.reveal_webhook_secret, keyframe.update_webhook_endpoint, keyframe.list_webhook_deliveries,
  keyframe.read_webhook_delivery, keyframe.recover_webhook_endpoint, keyframe.redeliver_webhook, keyframe.test_webhook_endpoint
to authenticated, service_role;

-- Only with the secret key: workers, and calls of `api` that no user may make.
grant execute on all functions in schema keyframe_worker to service_role;

-- Functions that policies, checks and indexes call: they run with the rights of the role that reads or writes the row.
grant execute on function
  keyframe_private.caller_id, keyframe_private.client_may, keyframe_private.may_read, keyframe_private.deleted_projects,
  keyframe_private.has_visible_character, keyframe_private.images_of_plan, keyframe_private.is_one_line, keyframe_private.is_plain_text
to authenticated;
grant execute on function keyframe_private.claims_for_server, keyframe_private.claims_for_key to service_role; -- act_as runs with the rights of its caller
