-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "c921f83f7bbd5c00e75d69a4a579a899a2922f5078df6dc1a959835148340b45",
  "clients": "d6f6e2b7c8a42bf24758ea52fdd5de18b926c6c14c25551c32b26b5c26e36aed",
  "rate_limits": "4283e9f89f72bcb63ed804416c531a9ec6b7048b867669bf57c666ef6803b21a",
  "idempotency": "8c2f71169c1de4dd59354793076fb1928194c0f8de0e7b58b8a15d20bbb13220",
  "projects": "93de10bf9798e52ba62bd42c06958c004d1a26ac7e997e61be0a4dab8f82a53f",
  "films": "ca095602f4b6846d3788125103b87ef4fd13026a625f24e144f2f7ada3a19e74",
  "models": "161c391d4041874219dd2f0159eabdbdb5718bc31dddab83dc3b0bf3b2dd2726",
  "model_prices": "75508705f9dae363d1924622444573652d29e597a89e36dfa228e154863346f6",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "2559e4307ab92520c6b6984998ac3ba2f03097ba91076b159710c751fa5ed8f5",
  "prediction_slots": "0d866221de1b2ea838956eb3aabeb5117ab3fee0524ef69c142c8ef198353b1c",
  "run_costs": "0c8e01aa1c6c364a3083f68bbcc86381b76622953cd7aa352abfd78ead5d1657",
  "prediction_inserts": "5f33fdb747e060c9c363c12994595c3a79c50407e6b260a3100a734dcdc03782",
  "provider_submits": "ffb869b2955c3c9a143c8112a79f8d8bf7b36d549fbac8e74d0229ac4ad18963",
  "budgets": "9f4bcf1b1bc31fa47afc92c3c8b35859168a072b69fca15d11462f67addb6fe5",
  "settlement": "fdf24087099146a4f5e225e3f58d53d2e01fe4213f7d9e2ad54958d18cbb39d8",
  "prediction_transitions": "d48724824df880958481feaaca1ddf8472bf38bb073e2bd836a868dc4e9bf0fa",
  "provider_states": "cc1fdc7a53144315c5a379fc2dd8b93f1ee5360a06a7eba0ea9149ef63a11f77",
  "kicks": "90bbd99d48edba9173b532056d3d84210b489d1e5910a52a303aa18bd93f297c",
  "file_removals": "3982b7bfc0efacfafbfb17d8ddf6e07895ee14b683516479dd42d59bdf93321a",
  "task_claims": "c4d67864c7e38782d8d6ca2d46995504ebbd61f1b488c0437fc80fa0d4885cac",
  "prediction_functions": "42c9e906e76b23ed771770d1b57608787f0f9cbc6938856a1e590811716e6871",
  "project_functions": "cf7b33a5a4fdd6c1204cfff93f1c6d2167861595bea5caf753198988ffafcab8",
  "film_functions": "23c9de6832db72da596d5d748d3475d9eb3fd5ba890e08a31418ee5640950bcd",
  "webhook_endpoints": "3dbbc3da893054e9bedf1748649fca70e7407acf966279b52ddaaca194354933",
  "webhook_events": "76d805c1db984f5596616a9624d1405c759b3f57bd01c67414d704d52473ad3f",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "58591f6de20b5a82db89c4768b85c2b6423bce61b467e3adcf53f3c3bb999a3e",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "1fd8f4ebe86eb76f39a47df17f9922103df1c5688078d66349d842c632d3b3b3",
  "webhook_endpoint_functions": "46225c2ce40df0c954ba5f7ac1b7c9ea0255c5958aca5c1d5efaf24be64f9c42",
  "webhook_delivery_functions": "745aae5004d136312353b8c7231324d083b8e3491b4f3b834b049b6924e8c881",
  "webhook_health": "80dd04a67a0a2398b986dea6b91768cee7bc919833a980072594ed94ee1565f7",
  "sweep": "154e6ac75df76ffc5bfe172fd172c818ace769de03ac912490ca18ef9b63d01f",
  "admin_views": "0a16d0e08caf3a3cbb04c0c377ee631944cb2416f32e62d280c013dd6adc590a",
  "observability": "b51b9426e0c5941deb0fdb75c7c62f7dad3f8bc7afa18ebcfa36380db6d00e49",
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
