-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "bf682c1d7820ca5fcb5a667a7bbb49f67071d141513ced36a67844015d47910b",
  "clients": "99e24dd7e27907995821ec39ef98910b2362d92f4ad7725f559905791dbe781e",
  "rate_limits": "352666e021e2f7ea9502ae5bca873b866e1ae934c7c28ca3deeac4a4d517a319",
  "idempotency": "d9cb0de58c4254778525417f61f508fe5972a2c6421be4ba00dbf8384900e93e",
  "projects": "3581bb7b276aa36f402fa7c54461a36e63805e4b8364fc88a3c0b7c7f3ddea09",
  "films": "ca095602f4b6846d3788125103b87ef4fd13026a625f24e144f2f7ada3a19e74",
  "models": "161c391d4041874219dd2f0159eabdbdb5718bc31dddab83dc3b0bf3b2dd2726",
  "model_prices": "75508705f9dae363d1924622444573652d29e597a89e36dfa228e154863346f6",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "6ce426b9a28b17f1e2306f7a4e3cb7498fa366aa122cbba056dac675abf2d919",
  "prediction_slots": "f8f3daa7f421c5aab28b8e831d05a37e732d470f87a7c1bfef2074f34e579ccb",
  "run_costs": "1d45cfe77339623b4b9b3ed59fc846e00d9656e383fd8f785fd1d30d5edc06ce",
  "prediction_inserts": "d3236f3e93bc9c13ba8322f8638affc538e16e71ed583144a0c05dd0491dd89f",
  "provider_submits": "d54b34228a2bd2c8df13d18b545cbe59ded4f9127744719db2e9dc2f5adeae6e",
  "budgets": "23e5f5bace11016d11324fa2439aa2b1d1c08f49cd751e30c898f6def75aa437",
  "settlement": "308ea2b7dd73807cba4d514bfe379cc7b5c1472d9d2f8076b4e44283ddee65b9",
  "prediction_transitions": "d48724824df880958481feaaca1ddf8472bf38bb073e2bd836a868dc4e9bf0fa",
  "provider_states": "cc1fdc7a53144315c5a379fc2dd8b93f1ee5360a06a7eba0ea9149ef63a11f77",
  "kicks": "90bbd99d48edba9173b532056d3d84210b489d1e5910a52a303aa18bd93f297c",
  "file_removals": "3982b7bfc0efacfafbfb17d8ddf6e07895ee14b683516479dd42d59bdf93321a",
  "task_claims": "20c207a5afaa61ad9535e9298ab837a3e1afabad773cb3d7ce4f5796fe92817c",
  "prediction_functions": "84d715d81b590403c44d74dc491cdb8b1a3659debf1257b681c78467ca58d44c",
  "project_functions": "cf7b33a5a4fdd6c1204cfff93f1c6d2167861595bea5caf753198988ffafcab8",
  "film_functions": "9c8d178e2d7b6640b7b80682fbcc666b77c2e0e7663a4920eea43caecdfca680",
  "webhook_endpoints": "3dbbc3da893054e9bedf1748649fca70e7407acf966279b52ddaaca194354933",
  "webhook_events": "37b6de6469bec287c9105c0cd912c26fca8654cead797c1c2258f8bc8e556dc6",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "58591f6de20b5a82db89c4768b85c2b6423bce61b467e3adcf53f3c3bb999a3e",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "1fd8f4ebe86eb76f39a47df17f9922103df1c5688078d66349d842c632d3b3b3",
  "webhook_endpoint_functions": "e0a64a9686232e132fd245825ca170cce981ddac25681e684b2f1cc5d4ede01f",
  "webhook_delivery_functions": "115ade0137e4d632d77fb8a8cf017af2ec4fd549daf2fcacb647812943f2aaad",
  "webhook_health": "e433cb9a15362985849c8d4b1877992bc9bd462a6ba0f8100d65c42bc0362412",
  "sweep": "1ca74f7967fa7593fb8e098f99d1ec424fc02e56f6e1f3294b1006d046cf6330",
  "admin_views": "6477e3a27c8771511b97897873505372189544cb0892d673ef9db6b55d89ff2f",
  "observability": "d1b833613bcd8740946abe01958ad12d0f2624bbeb12e4704da3ab74d7ef6f2a",
  "acting_servers": "d884e5fdc003ddd4f11b99875067356535e5629e587e9d660691a7eda33612fc",
  "realtime": "05058dbac67f6b55ff731ab783a8cb5332d2d8bdf608db05768bda21858af7c8",
  "storage_policies": "24189183ea11d4a939e8e98c7dc03bec2db984d122068ccf08c4572f12fb7b68"
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
  keyframe_private.client_may(keyframe_private.client_right),
  keyframe_private.film_json(keyframe.films),
  keyframe_private.rate_state(text),
  keyframe_private.refuse_changed(text, boolean),
  keyframe_private.shots_of(uuid),
  keyframe_private.step_predictions(keyframe.projects),
  keyframe_private.take_token(text, keyframe_private.client_right)
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
