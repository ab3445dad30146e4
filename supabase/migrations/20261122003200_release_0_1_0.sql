-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "53bd0d05dd8669ecb80ad07ffe919861e461a82ee0467046d83a07f54d01a39d",
  "rate_limits": "866ee6adf105e9871290481b98119a9a724740137e10c818b55497f000bf84ed",
  "idempotency": "d9a5a8cb3b1ac069ddee566741693d677319a171669c32c07c86af4b4a2807be",
  "projects": "7bdaa17d1c82bc794c31c124bcbe39ae755a1b1590c10775e987d22b2ae050ff",
  "films": "d12eddaf1a3ba156a0c5f3da2cb1ee6788d24f30b29bb56818a3f5a2f9b0c303",
  "models": "67a1a2fa13503d6f32210edf77ce4963987b8505f86e6f0d5b714dd13bea6dd9",
  "model_prices": "4a4ce29f0331236a9f0ae2f26c0472ee626690fd48cd96e7eb576bdc0ed8cdb0",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "4a369c76fb2ef0a3c65c96777ce977ce43564f9a57781b5b4b0a6594ca497499",
  "prediction_slots": "d5894bd3760acfa615c2068d24b7137053f97ff5d94a2e2e83cdba5e4c370644",
  "run_costs": "e51828249c0d3ec1d891b200c373bc75a75c787834d3fce261ff03a593c7302f",
  "budgets": "bf703f27591f82a485ff5dfa6fb8395c84985a3a75646c0759b541c5c4effe17",
  "prediction_inserts": "e5fc39f425b9cace1a59861e9cb26195e45020f7172a2cec4f399f0879a32197",
  "provider_submits": "ffb2344936c87a3880a4c88613d0e717e776f86c61fdba9684573f16670e4da5",
  "settlement": "ea2255782b2affd34a9876f3519f5150b8b8eb066288bf33918b24ea22df2e13",
  "prediction_transitions": "0a50c89a60d06a40ac6916b339ea7d9235f508708b433fc16bd3f828da552034",
  "provider_states": "f7e73bc59762356131a7b0491ed372d75c06f259c6a5e4e5adb3408cae5ebc0f",
  "kicks": "91f7ff7bda858dd4433842e2939e6d663e632eb4e19eba5c0824808dfed4f4c4",
  "file_removals": "31f99936ab253ec0841fde05216b6a102cf0f486f1221733b47130af5eb5d185",
  "task_claims": "6a94dc7ea07bc054ce1dc2c2982a29080fc6fd0deb01655e7631109e30b0b69c",
  "prediction_functions": "39a37b5b199c08e2d0e60ab7a0e662898b6286dad4f8929df8077c2dcd902926",
  "project_functions": "1e92168cbe96d92a64e1e2f75ca353301016dbe3407aeac24dd25949826df198",
  "film_functions": "e3e7bfd6324eac99bdaccfff369d94e00bd3755ae5d7ddbfb2a2a87068e375fd",
  "webhook_endpoints": "7a521cb8c991d926c0266802c087067a36ba2703d995b1dcdc13cbb9dc47ca1a",
  "webhook_events": "d407984fb19f2a26027fd5a085f058b6b4f51e7e3084c1caa86c0390b6bf92d5",
  "used_ids": "54ea5324da6e95fa819cac1b301d1aac8b65dadb1d186817620574a8debe07b6",
  "webhook_hours": "bb656ce33046c0cf3380d096f6499faddb569cb26d121b4b792d2ebdcf7174ed",
  "lanes": "4ba674c64dbf5f7f1ce9aaa807b27d8e6ca32f36ef7913e7a0d339108a3846dd",
  "webhook_recording": "f5518e7ad6f63ed7532a590ad309e00a4bbaf3e8fe81fdd307ba82608364cada",
  "worker_calls": "65214d435f11bcc2b7be7938466bbb18046d7c6e36d1ddd3b5c3d3ea2711663e",
  "webhook_endpoint_functions": "703f6639a5da9cb6ada5624d1ba1d1e251c6d5f2c25848a82f363334efb226fc",
  "webhook_delivery_functions": "1b69fbdb33d7904b5aec059a45a765a4de8a48ee703f51d3d32c53781fdf4fd3",
  "webhook_health": "924db03f676c4c0a6a618f4e6eb9b1cb78a6aed8ccf558278f996b08ddd21c7f",
  "sweep": "db3e80c2aa06a41672dba3f899fa4197d95abf5e7da1f1c7e02f3389a90304b1",
  "admin_views": "72240e5b1c764e3a985fc9738b22e78e51eb39041985d38c46dc98f4524eab5b",
  "observability": "c62042620bc3b52d50617bd8b38680def220dc40d6b535d77ba5fc9a46ba1ab1",
  "acting_servers": "3069810740fa714af2b11a1643d222afeb6b53c42af67cdcd91f6d9da75963aa",
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
  keyframe_private.refuse_changed_project(uuid),
  keyframe_private.set_request_hash(text, text),
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
  keyframe_private.raise_error(text, text, text),
  keyframe_private.reserve_idempotency_key(text, text)
to authenticated, service_role;
grant execute on function
  keyframe.assign_upload(uuid, text),
  keyframe.service_figures(),
  keyframe_private.claims_for_server(uuid),
  keyframe_worker.act_as(uuid, text, jsonb),
  keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb),
  keyframe_worker.complete_prediction(uuid, uuid, text, text, bigint, text, integer, integer, double precision, boolean),
  keyframe_worker.discard_output(uuid),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, integer),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text, integer),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, integer),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, text, double precision, text, text, text, jsonb, integer),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
