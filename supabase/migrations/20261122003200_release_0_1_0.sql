-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "ac3db65efae6463de0512813d80c8192f8be283a798c654efac5dc92023a3ed5",
  "rate_limits": "b7b799c66ef26ea525bc63d5ce0df1b76e64d0f1b7b5b37e7bb880ef1fa5aae6",
  "idempotency": "d9a5a8cb3b1ac069ddee566741693d677319a171669c32c07c86af4b4a2807be",
  "projects": "7bdaa17d1c82bc794c31c124bcbe39ae755a1b1590c10775e987d22b2ae050ff",
  "films": "d12eddaf1a3ba156a0c5f3da2cb1ee6788d24f30b29bb56818a3f5a2f9b0c303",
  "models": "62e1209241aa2633103219c3ede477540f2b3d3ce15957bbb1123b57b35486c1",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "b78733478902a84c5b57b172ee7845016daa9620b686fe876224b3473f8888d9",
  "prediction_slots": "64b253c1dd5b5203c333ddd0ec8fca6a6e2ba4bfb0e8c44ffb4a5b87dd3fd47c",
  "prediction_inserts": "26e7a3bd1a14583fd4da15e748559a262275eae6863b14dbb6236e57dbe6634b",
  "prediction_transitions": "942fc2fa9ee97b49b9d399008d092cd23165d05f3adb20efc3d3fba2f0f950c0",
  "unanswered_submits": "64dcf66b9e982f5c2d83187a1b33ef123b5e2f9f05b43ddfc8bad9b5ee4f48c0",
  "provider_states": "2f9eda46e224d82ee2ffb2e2a185831c472041f8e73e7e37bdb18553871c01b7",
  "kicks": "b4135d6304d986493c79bfc2c9074b1465c425d6975be2ff4c5b20a4296bbd08",
  "file_removals": "31f99936ab253ec0841fde05216b6a102cf0f486f1221733b47130af5eb5d185",
  "task_claims": "4dd7195d9f1b8f246665d8650fb33ad801eb1df781a250d682923ace82eaa8fb",
  "prediction_functions": "3ec79afec496886400a6543f959800b4e0fd9e7989fa3f5b4b5a6058ebcf79fd",
  "project_functions": "1e92168cbe96d92a64e1e2f75ca353301016dbe3407aeac24dd25949826df198",
  "film_functions": "e3e7bfd6324eac99bdaccfff369d94e00bd3755ae5d7ddbfb2a2a87068e375fd",
  "webhook_endpoints": "7a521cb8c991d926c0266802c087067a36ba2703d995b1dcdc13cbb9dc47ca1a",
  "webhook_events": "db68ff7c82a7109c8136e98912474a04fe56d3b0b564468f8819257116feff2d",
  "used_ids": "82b106c8f8ebfa91edd2654c3a76c6b722c79aa2d3b12aa93c5f38c366d960c1",
  "webhook_hours": "bb656ce33046c0cf3380d096f6499faddb569cb26d121b4b792d2ebdcf7174ed",
  "lanes": "4ba674c64dbf5f7f1ce9aaa807b27d8e6ca32f36ef7913e7a0d339108a3846dd",
  "webhook_recording": "f5518e7ad6f63ed7532a590ad309e00a4bbaf3e8fe81fdd307ba82608364cada",
  "worker_calls": "b2fe4d42bf4d9971856869e0c370378c2cb8bf1f6199ed59640884895b88a46c",
  "webhook_endpoint_functions": "703f6639a5da9cb6ada5624d1ba1d1e251c6d5f2c25848a82f363334efb226fc",
  "webhook_delivery_functions": "1b69fbdb33d7904b5aec059a45a765a4de8a48ee703f51d3d32c53781fdf4fd3",
  "webhook_health": "924db03f676c4c0a6a618f4e6eb9b1cb78a6aed8ccf558278f996b08ddd21c7f",
  "sweep": "3271d1eb97a80503bb2fd524cda8bf6840dfc1f422fdbf6c06d5005413164f46",
  "admin_views": "4bd2199f09b2684f940af84db93c33e2b94c23068f8eee42d76d2d05c807ebc7",
  "observability": "e00f7093bc521192d9046caa3c76fd2eafc3b19e7342d81207c3cacbc3d30de5",
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
  keyframe.list_films(integer, timestamp with time zone, uuid),
  keyframe.list_models(),
  keyframe.list_predictions(uuid, keyframe.generation_step, integer, timestamp with time zone, uuid, boolean, boolean),
  keyframe.list_projects(integer, timestamp with time zone, uuid, boolean, text),
  keyframe.read_film(uuid),
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid),
  keyframe.read_project(uuid),
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
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, boolean),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, text, double precision, text, text, text),
  keyframe_worker.record_run_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, boolean)
to service_role;
