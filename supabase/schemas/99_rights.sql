-- All rights, on everything. Each version's migration ends with the files 99_*: an app's default privileges may have opened what it
-- created (docs/decisions/0025-rights-are-made-last.md).

-- First, all are taken from every role that the defaults of this database can have given them to: rights from default privileges cannot be
-- revoked for one schema. Rights that an administrator gave to another role stay. Every table has row-level security, so that one without a
-- policy is closed.
do $$
declare
  named text := (
    select string_agg(distinct format('%I', r.rolname), ', ')
    from pg_roles r
    where r.rolname <> current_user and (
      r.rolname in ('anon', 'authenticated', 'service_role')
      or r.oid in (
        select a.grantee from pg_default_acl d cross join aclexplode(d.defaclacl) a
        where d.defaclrole = current_user::regrole and d.defaclnamespace = 0)));
  objects text;
  name text;
begin
  foreach objects in array array['schema', 'all tables in schema', 'all sequences in schema', 'all routines in schema'] loop
    execute format('revoke all on %s keyframe, keyframe_worker, keyframe_private from public, %s cascade', objects, named);
  end loop;
  for name in
    select t.oid::regtype from pg_type t
    where t.typnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and t.typtype in ('e', 'd')
  loop
    execute format('revoke all on type %s from %s cascade', name, named); -- public may name a type, by default
  end loop;
  for name in
    select c.oid::regclass from pg_class c
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
  keyframe.elements, keyframe.films, keyframe.models, keyframe.predictions, keyframe.projects,
  keyframe.step_defaults, keyframe.webhook_attempts, keyframe.webhook_deliveries, keyframe.webhook_endpoints, keyframe.webhook_events
to authenticated, service_role;
grant insert (title, description, element_ids), update (title, description, element_ids), delete on keyframe.films to authenticated;
grant insert (project_id, step, input, model) on keyframe.predictions to authenticated;
grant
  insert (title, text_prompt, description, aspect_ratio, film_id, element_ids, plan),
  update (
    title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id, selected_video_id,
    film_id, element_ids, plan),
  delete
on keyframe.projects to authenticated;
-- Who is not signed in may ask the table that Realtime publishes, and no policy shows a row. Not its key: Realtime sends the keys of
-- deleted rows to everybody who may select them, and asks the policies once for each such subscriber and change.
grant select (created_at) on keyframe.predictions to anon;

-- The API: all with a user's token, health without a session, and webhooks also with the secret key, for service-wide endpoints.
grant execute on all functions in schema keyframe to authenticated;
grant execute on function keyframe.health to anon, service_role;
grant execute on function
  keyframe.rotate_webhook_secret, keyframe.create_webhook_endpoint, keyframe.delete_webhook_endpoint, keyframe.list_webhook_endpoints,
  keyframe.read_webhook_endpoint, keyframe.reveal_webhook_secret, keyframe.update_webhook_endpoint, keyframe.list_webhook_deliveries,
  keyframe.read_webhook_delivery, keyframe.recover_webhook_endpoint, keyframe.redeliver_webhook, keyframe.test_webhook_endpoint
to service_role;

-- Only with the secret key: workers, and calls of `api` that no user may make.
grant execute on all functions in schema keyframe_worker to service_role;

-- Functions that policies, checks and indexes call: they run with the rights of the role that reads or writes the row.
grant execute on function
  keyframe_private.caller_id, keyframe_private.client_may, keyframe_private.may_read, keyframe_private.deleted_projects,
  keyframe_private.has_visible_character, keyframe_private.images_of_plan, keyframe_private.is_one_line, keyframe_private.is_plain_text
to authenticated;
grant execute on function keyframe_private.claims_for_server, keyframe_private.claims_for_key to service_role; -- act_as runs with the rights of its caller
