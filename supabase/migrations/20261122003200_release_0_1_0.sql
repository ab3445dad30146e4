-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "c921f83f7bbd5c00e75d69a4a579a899a2922f5078df6dc1a959835148340b45",
  "rate_limits": "48b8d4e67cd4fadffe5a1008f3f3053953326211980a142636751a1f49b33e2f",
  "idempotency": "627cd4c441f90eb1778e8f2b7ff43cd7cc6bbe65aa5cb10b161b2411000062c2",
  "projects": "7bdaa17d1c82bc794c31c124bcbe39ae755a1b1590c10775e987d22b2ae050ff",
  "films": "db3ac2797aa633b0b4936040b227a0d92ae892cdcf73151b234f0578fdaa38a8",
  "models": "67a1a2fa13503d6f32210edf77ce4963987b8505f86e6f0d5b714dd13bea6dd9",
  "model_prices": "9a74bf2d74c67fc6d4f10fb1facd11287c1fdfc3d1edf86adda863055ee2f5dd",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "3dae3aa378f34fb682defe10ab96e28e565b0b40a95591c7b0916d6a176cd35b",
  "prediction_slots": "0d866221de1b2ea838956eb3aabeb5117ab3fee0524ef69c142c8ef198353b1c",
  "run_costs": "2e5f782e0e70db4569dffb985fa2d5d69108e61fa74e5c13ecd5052b36ed1610",
  "prediction_inserts": "5b9f16e5dc52dc6f8a666de750b9fd7f992dbfd6688e7894038d8198383ae11d",
  "provider_submits": "ffb869b2955c3c9a143c8112a79f8d8bf7b36d549fbac8e74d0229ac4ad18963",
  "budgets": "f629819b14fd2f5095ece5de32413d3580f120cf8e23dc0803e60f04a94bdda4",
  "settlement": "fdf24087099146a4f5e225e3f58d53d2e01fe4213f7d9e2ad54958d18cbb39d8",
  "prediction_transitions": "9d8c4d148de9406747bd162bbba937ed9079042e00354ae16e2be7ecb7b0eef7",
  "provider_states": "f005783389a0308c21a4f62c2f6d2f907d3a38c509397cb2fdf1d9118577c4e7",
  "kicks": "710637155f287d06a4c477ef0933f3c56d4419a3676e36e9c164d88a74ab4312",
  "file_removals": "930bc9ebdb49f6db072e21f24bbbba4c1d416a77679058b122f8a23a945c1f5c",
  "task_claims": "b2865d02d845f6db1566e61344f9b138a415d405f2fc285a3e4e525eada2ac9c",
  "prediction_functions": "dd3ed7c4ae107fb7c369b16c63f1fa161991870b9f43f9b9a6a4f789b0493212",
  "project_functions": "0e8db84598dcb93c5706456fa8db636d4b55d5dda0faa23333051a98a5b310e7",
  "film_functions": "552951b8c006e5485a47b20974f18c64307791589714ecf3fdfd62759dd9304e",
  "webhook_endpoints": "c305cbb24519afdc54f60c7df79fe741fd0a874325405e9aaf3257b81065c422",
  "webhook_events": "0319cd88f054bba38b9a261568369a5174822e7bc906993b7a28642b0c5bb0c3",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "e2beab811e7de5438da49baaf3c984bc6b9851d03a87b58f91eaee44d0ba28e1",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "e49c4a4ee2473815792f8f049061df432f290afb326f70b8fb8269ba046f0de3",
  "webhook_endpoint_functions": "31370930c410b5003e64f064a142a08ca7a0b565341f48914211a694c99fed5d",
  "webhook_delivery_functions": "933146f33eb3ecb0c1c3917413af7a5c960f06806d00cebfaf0d699647123142",
  "webhook_health": "b3f040b1bbc50c428beaeb412e2aa56da77007052d562a13ea885929b281c311",
  "sweep": "1dfd16b544a85fac8db6561695ae13c7d73538300c0b80c1ea419c91b4ab09f8",
  "admin_views": "0a16d0e08caf3a3cbb04c0c377ee631944cb2416f32e62d280c013dd6adc590a",
  "observability": "b51b9426e0c5941deb0fdb75c7c62f7dad3f8bc7afa18ebcfa36380db6d00e49",
  "acting_servers": "d884e5fdc003ddd4f11b99875067356535e5629e587e9d660691a7eda33612fc",
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
  keyframe_worker.discard_output(uuid),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, integer),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text, integer),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, integer),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, text, double precision, text, text, text, jsonb, integer),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
