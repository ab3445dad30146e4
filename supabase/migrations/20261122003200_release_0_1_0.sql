-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "393bd78042af410f012f5f25ccc15884c96612122719820ca1fe0edbe43d703b",
  "rate_limits": "8e9bb30fbc7bd9fa47465ffe41a94b1c76303b35a108fd06b991d45dec07a3a6",
  "idempotency": "35ee99332b175b8354c0c3fd81f1c726b41243e112e713ddb98a5e405e4d70e9",
  "projects": "c0c04e40cd7a262d153022df27b54d2f5d4628b12f09fe1d14e46aadd125818f",
  "films": "ea66eee57c92cd50334ef56f5706cb3c9fea0c698bb764e22826679f83ab808f",
  "models": "fe4e7b20d55b70f05df1330d92c3592ea014c2f584942a0bf1c21a8db3f43d9e",
  "model_prices": "7e47eee09c84cec575cef9fe74f41f471a9fc1a3e4e3e43a5ac6d0b4f4863a69",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "fae89a1ef291c4d77a3acbba495103cb47b35713c2446c054edadaea2a6d1208",
  "prediction_slots": "05bf4402bbcd61966077ed542ca6b98efe1bd63d8019b07534b8ed80626f9697",
  "run_costs": "e4f38e66ef25982efb10f6c769e698a67c630d0bc62892d9aa6884300d48d658",
  "prediction_inserts": "844f1bbf356519ca0d7888f72f4547e827abd5de30922fe5c684a2cffb7d1da0",
  "provider_submits": "b04fe96e3d64e3f1a5edc381bf2261db023a5c5a53593544df7b6f685738feff",
  "budgets": "4eabf8b8a7277b270686ecd2d99fce77fb7da3ccde6ab4566ce8f3a63e7430a3",
  "settlement": "8f3b0de28c15a4e0df2e619728160bfa1105104f0c4c76cb203d2fbfe9cf45ef",
  "prediction_transitions": "057b0377f606e99ae01e28aff3a3384fa772fca220de0ba3b8c25c518e848b8f",
  "provider_states": "3fe17988500dbf52b3938e66813fdae4aaf4308e9f1844ecd3186e00ac80201b",
  "kicks": "97e3ac4b6faf4c74dc6f53dd4f5aaa1f24e70d78d2d665212180cadac651211b",
  "file_removals": "65a9189ad13ad2f4f78c9dcccdaf62402b0e5ceb01dc11ba28bca2da44d549f7",
  "task_claims": "fb438a79024fdb915771cdd577e0c55d26eada44be3cd68d0ea2dd240bbe98e0",
  "prediction_functions": "182778a9b6f5ef527fefc57761208cf0a015c62a61d82d2682f3d47ca0ddcaab",
  "project_functions": "8b1c9ec2033e960c3967a8e25f03694ae13fc563b485ba7ea270c2f86a69dfe7",
  "film_functions": "50f358b9daf3ef1f09180a377fc49f330969e9d04f4864b72e30e1326f8696a4",
  "webhook_endpoints": "ebecfbebce7ba56ff8fbcdc37a160fc222fc5d7306ac8aa6338fbc20a4304507",
  "webhook_events": "e60281d97532190da6aad1538dafa1eefc60beb7446e1170745c9433e967223b",
  "used_ids": "e010e173d34883d92fa97292bc4bf1a108d09c95b17f286ee2824c2ec7ba1fc0",
  "webhook_hours": "9acd0ed151aec57a92cb1660c949b70df4730db483910a5216f55549a7b20f8a",
  "lanes": "3a8d6183d670744b79fd608cdcf4cc0a2fcba7f0fb64dc1e6e10c8b69a959a7f",
  "webhook_recording": "a4d2b38c280386410fcb4bb16e42c8a9d36e86fbf77e47dc7d0507aba48ca024",
  "worker_calls": "ab447532ed07623873c438787be63c936fadf946c94628c21f0aeb2ca7e1b3a2",
  "webhook_endpoint_functions": "23a44af9f9609f7778cf517c3325efecb77f0ca13afb3de2e71dd47ac0f80144",
  "webhook_delivery_functions": "cb80d7d336a73d312cef761b24b103133f73b95898c852b3d7d3bab256e7c495",
  "webhook_health": "b3f040b1bbc50c428beaeb412e2aa56da77007052d562a13ea885929b281c311",
  "sweep": "bde03db95cb818c0dc0fcfc103e272b3fe9be193a128583c540ea3056812a1ad",
  "admin_views": "ce535df81ca76c6613cb0b18b69624bc5271b846432f17357c9107e8930a73e3",
  "observability": "0715803ee1642521343ef617e275dfb5fdd9789e8be1ac471bc2445ce9524ebe",
  "acting_servers": "c5d95c1059101ae3b77a5f33da883cee427be6482fe1a81d45eaa57781b1c7d7",
  "realtime": "05058dbac67f6b55ff731ab783a8cb5332d2d8bdf608db05768bda21858af7c8",
  "storage_policies": "2e05a2441b5e06391eabf67f5df4bcddb7a765f3f23c9952b6d856d2b88f39cd"
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
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid),
  keyframe.read_project(uuid),
  keyframe.read_usage(date, date, text),
  keyframe.start_prediction(uuid, keyframe.generation_step, jsonb, text, text, text),
  keyframe.update_film(uuid, jsonb, uuid[], timestamp with time zone[]),
  keyframe.update_prediction(uuid, uuid, boolean),
  keyframe.update_project(uuid, jsonb, timestamp with time zone[]),
  keyframe.webhook_health(uuid),
  keyframe_private.film_json(keyframe.films),
  keyframe_private.rate_state(text),
  keyframe_private.refuse_changed(text, boolean),
  keyframe_private.shots_of(uuid),
  keyframe_private.step_predictions(keyframe.projects),
  keyframe_private.take_token(text)
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
  keyframe_private.raise_error(text, text, text)
to authenticated, service_role;
grant execute on function
  keyframe.assign_upload(uuid, text),
  keyframe.service_figures(),
  keyframe_private.claims_for_server(uuid),
  keyframe_worker.act_as(uuid, text, jsonb),
  keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb),
  keyframe_worker.complete_prediction(uuid, uuid, text, text, bigint, text, integer, integer, double precision, boolean),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, integer),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text, integer),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, integer),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, double precision, text, text, text, jsonb, integer),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
