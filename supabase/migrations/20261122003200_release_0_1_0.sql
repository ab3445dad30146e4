-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "c197d276bdf13c83605c3d425b4a8918b5c1baf99cfce7c21a17b64ae75d6782",
  "clients": "497b3f4c3ff3289503a04976769184ece1dc7cb1b25c89be195fa3bcf13ce4ba",
  "rate_limits": "5c43c16f10c53690e69dc49649777f5335c5502539bc6c2689dd4a78650dc14f",
  "idempotency": "ccec73495b4644fcc6560cb03c7bdc754cadcfb2f11d1867767313df041e0c12",
  "projects": "96cbf9a3dc7c7d3bda61f3f3fbb8a78a9e3a78ea2404b85b876c62bbd6d36368",
  "films": "521b46ec653a68766b1356231a490319fc70b4575f87d9eb4b75f6746168a363",
  "models": "431fd2384457492eaf1ebfc28b1c5071e28bfac5b0d2ffd7d4663d3da47631e8",
  "model_prices": "7e47eee09c84cec575cef9fe74f41f471a9fc1a3e4e3e43a5ac6d0b4f4863a69",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "b1a2db79e792f458c42b39c7401bb718dc413dd7118b761f83665d2cbe0a8b83",
  "prediction_slots": "5b4338fc7b0516da3568112dbdbfd421428487853fdfb5c5fb9d8006603db677",
  "run_costs": "d7995fcf3fac72da11485dfd47df16fd832925cc4871d315c9d4e6eefce6b859",
  "prediction_inserts": "8afb206a5444bf39888e897180e2773341d62aed807e64cc871ad214038edd5c",
  "provider_submits": "909d1b3db9892b1070e66da38fa4fa21772ccf510a648469593839fb9e2b364b",
  "budgets": "6aa0b998f26678be34e9ebeeed59820a09c4cbab8340fa7155edc66b74c55ce1",
  "settlement": "2294dc782f55e7735b4f9bb417299980f26adb96ab751cc5e2e1a41b8993f320",
  "prediction_transitions": "bb54b88636f8ee98399b2558e450bf548e459c9ea2df2de0a041573e91088e88",
  "provider_states": "0d1601d4390797f35ccbe185cda0f95d3e466257320942c136dea80c18026e06",
  "kicks": "118385d82c350e86c57a3613f884ded2bd4cc232749c48ac9979adbf33280831",
  "file_removals": "f67bb0768d9882b5ccecf11d07b8bfaab1555ee6aae272a86f521271a85a39dc",
  "task_claims": "cc23fb64cd8c327ec400a48c71a5c5693b2da9eef4d88d5be92ad6e987d2e149",
  "prune_rows": "c3270ac7d795f64b42e03065459f7f10e245002add9908a375bc05b89d8a694e",
  "prediction_functions": "20387b320a01b76eb3de2e2f477fe23c632e2323cd165b0feb7d671d1b5fe529",
  "project_functions": "c37788a363e83c07c2af93694be4ce64562e4afe129f2d66f12968510adc9177",
  "film_functions": "8aa950a0aac9de3161a5317cd8c6cb3a8f1b5aa49cf290b2f62fdff511c1278c",
  "webhook_endpoints": "ab25d9dc98f52df3afd9be7eb237c6bf11b61b9d1a360326374cf34e5f711461",
  "webhook_events": "2538262401a84c7a15c3a8968f26b2761fcd659ddcb2ce5c36504ab62e10adab",
  "used_ids": "e010e173d34883d92fa97292bc4bf1a108d09c95b17f286ee2824c2ec7ba1fc0",
  "webhook_hours": "9acd0ed151aec57a92cb1660c949b70df4730db483910a5216f55549a7b20f8a",
  "lanes": "20e8d6a2c9ad8bc9dcae97b6efd0d348c06ac2b8d7ad28d17a81e3d0b5048d09",
  "webhook_recording": "a4d2b38c280386410fcb4bb16e42c8a9d36e86fbf77e47dc7d0507aba48ca024",
  "worker_calls": "a74cd5670cab4a8f451fa32cba621da017bae0e0cc8179ac3c7eb82f1ed9bbf9",
  "webhook_endpoint_functions": "65d393484d24fcfbf6741b88892c8287d31af032005e8294407b23fa9f0f070d",
  "webhook_delivery_functions": "c1fb9bd916e1e4ff65ea67dccc7c617013ddd66b2327d4026521dcc61f5679a3",
  "webhook_health": "e433cb9a15362985849c8d4b1877992bc9bd462a6ba0f8100d65c42bc0362412",
  "sweep": "4a125aaf4770dd46bb901df3a5b7aeaa22ed921f3586d59f55dff6d48fda8655",
  "admin_views": "dbbaea3b02f350fe3d4749296c6cd8e0f27f3523cd06a9e5a750d1d6cd5684a7",
  "observability": "a676e7366cf1877e665d4ecb97ed9ca29c0ffda21724fd298f49f2cb8a4f2ab7",
  "acting_servers": "c5d95c1059101ae3b77a5f33da883cee427be6482fe1a81d45eaa57781b1c7d7",
  "time_limits": "5076f4519ead4f2dfe6abadf249b3bb94c2851039c79df804587266d9db9c6b1",
  "realtime": "05058dbac67f6b55ff731ab783a8cb5332d2d8bdf608db05768bda21858af7c8",
  "storage_policies": "36734cce505b3f64f68f089bf6dda5366f8250e9ed78b7ff32a1a0a4584d4ddc"
}');

select keyframe_private.revoke_all_rights();
grant usage on schema
  keyframe
to anon, authenticated, service_role;
grant usage on schema
  keyframe_private
to authenticated, service_role;
grant usage on schema
  keyframe_worker
to service_role;
grant delete, insert (title, description), select, update (title, description) on table
  keyframe.films
to authenticated;
grant delete, insert (title, text_prompt, description, aspect_ratio, film_id), select, update (title, text_prompt, description, reference_image_path, aspect_ratio, selected_first_frame_id, selected_last_frame_id, selected_video_id, film_id) on table
  keyframe.projects
to authenticated;
grant insert (project_id, step, input, model), select on table
  keyframe.predictions
to authenticated;
grant select on table
  keyframe.models,
  keyframe.step_defaults,
  keyframe.webhook_attempts,
  keyframe.webhook_deliveries,
  keyframe.webhook_endpoints,
  keyframe.webhook_events
to authenticated, service_role;
grant select on table
  keyframe.films,
  keyframe.predictions,
  keyframe.projects
to service_role;
grant execute on function
  keyframe.health()
to anon, authenticated, service_role;
grant execute on function
  keyframe.admit_upload(text, text),
  keyframe.cancel_prediction(uuid, uuid, text, text),
  keyframe.create_film(text, text, text, text),
  keyframe.create_project(text, text, text, text, text, text, uuid),
  keyframe.delete_film(uuid, boolean, timestamp with time zone[]),
  keyframe.delete_prediction(uuid, uuid),
  keyframe.delete_project(uuid, timestamp with time zone[]),
  keyframe.estimate_prediction(uuid, keyframe.generation_step, jsonb, text),
  keyframe.list_films(integer, timestamp with time zone, uuid),
  keyframe.list_models(),
  keyframe.list_predictions(uuid, keyframe.generation_step, integer, timestamp with time zone, uuid, boolean, boolean),
  keyframe.list_projects(integer, timestamp with time zone, uuid, boolean, text),
  keyframe.read_film(uuid),
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid, boolean),
  keyframe.read_project(uuid),
  keyframe.read_usage(date, date, text),
  keyframe.start_prediction(uuid, keyframe.generation_step, jsonb, text, text, text),
  keyframe.update_film(uuid, jsonb, uuid[], timestamp with time zone[]),
  keyframe.update_prediction(uuid, uuid, boolean),
  keyframe.update_project(uuid, jsonb, timestamp with time zone[]),
  keyframe.webhook_health(uuid),
  keyframe_private.client_may(keyframe_private.client_right),
  keyframe_private.deleted_projects(),
  keyframe_private.film_json(keyframe.films),
  keyframe_private.may_read(),
  keyframe_private.projects_per_token(),
  keyframe_private.rate_state(text),
  keyframe_private.refuse_changed(text, boolean),
  keyframe_private.shots_of(uuid),
  keyframe_private.step_predictions(keyframe.projects[]),
  keyframe_private.take_token(text, integer, keyframe_private.client_right)
to authenticated;
grant execute on function
  keyframe.create_webhook_endpoint(text, text, text[], boolean, integer, text, text),
  keyframe.delete_webhook_endpoint(uuid),
  keyframe.list_webhook_deliveries(uuid, keyframe.delivery_status, integer, timestamp with time zone, uuid, text),
  keyframe.list_webhook_endpoints(),
  keyframe.read_webhook_delivery(uuid),
  keyframe.read_webhook_endpoint(uuid),
  keyframe.recover_webhook_endpoint(uuid, timestamp with time zone, text, text),
  keyframe.redeliver_webhook(uuid, text, text),
  keyframe.reveal_webhook_secret(uuid),
  keyframe.rotate_webhook_secret(uuid, integer, text, text),
  keyframe.test_webhook_endpoint(uuid, text, text),
  keyframe.update_webhook_endpoint(uuid, text, text, text[], boolean, integer),
  keyframe_private.cost_json(uuid),
  keyframe_private.has_visible_character(text),
  keyframe_private.is_one_line(text),
  keyframe_private.is_plain_text(text),
  keyframe_private.is_reference_path(text),
  keyframe_private.prediction_json(keyframe.predictions, uuid[]),
  keyframe_private.queue_position(keyframe.predictions),
  keyframe_private.raise_error(text, text, text),
  keyframe_private.refuse(keyframe_private.refusal, text),
  keyframe_private.resource_of(keyframe.prediction_status, text, text)
to authenticated, service_role;
grant execute on function
  keyframe.assign_upload(uuid, text),
  keyframe.service_figures(),
  keyframe_private.claims_for_server(uuid),
  keyframe_worker.act_as(uuid, text, jsonb),
  keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb, jsonb),
  keyframe_worker.complete_prediction(uuid, uuid, text, text, bigint, text, integer, integer, double precision, boolean),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, integer, integer),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text, integer),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, integer),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, double precision, text, text, text, jsonb, integer, jsonb),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
