-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "f94041871ab422848e167632b582e2b194799e7f4d786c8aa7bde4a056ee0a82",
  "rate_limits": "9d11441bdddcacee39419985c7f8172e97daa6a6932a561d10d007441a147f8d",
  "idempotency": "2c57ad74629c253f4c417675bbc137a941d88b0cc5159cd252c43074b48feab5",
  "projects": "9f46bdc03290fed278466a996787ae9cbfb5e520329fc723b1d5ee6d585ef283",
  "films": "1296e33253a1b0a5198469e7e1240289d924e64ae7dc7f904f76b2dd321fe982",
  "models": "c81d003bf264b05f98363ff1fac5c164c0bf6c409c8a4ca8983aa222c7bdae1d",
  "model_prices": "75508705f9dae363d1924622444573652d29e597a89e36dfa228e154863346f6",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "9e1e51e66798a8af1412c0d11c250922c4cc05b7f66caa8e7cbf16eb51a5540d",
  "prediction_slots": "0d866221de1b2ea838956eb3aabeb5117ab3fee0524ef69c142c8ef198353b1c",
  "run_costs": "0c8e01aa1c6c364a3083f68bbcc86381b76622953cd7aa352abfd78ead5d1657",
  "prediction_inserts": "a956a98aced9b99c810e0d0ec089420bd92dc1f0c183bd4d05425d0d9aacf0c8",
  "provider_submits": "ffb869b2955c3c9a143c8112a79f8d8bf7b36d549fbac8e74d0229ac4ad18963",
  "budgets": "b12c4d1562ae868ba0441d9c9f5d90ba7360fb6e2a17c3821502f37680f0bbf1",
  "settlement": "00dfafc5ffe54b5751801f8d0fca952296c650412d6afe4301ed6ee3a46b58ed",
  "prediction_transitions": "d48724824df880958481feaaca1ddf8472bf38bb073e2bd836a868dc4e9bf0fa",
  "provider_states": "cc1fdc7a53144315c5a379fc2dd8b93f1ee5360a06a7eba0ea9149ef63a11f77",
  "kicks": "90bbd99d48edba9173b532056d3d84210b489d1e5910a52a303aa18bd93f297c",
  "file_removals": "3982b7bfc0efacfafbfb17d8ddf6e07895ee14b683516479dd42d59bdf93321a",
  "task_claims": "c4d67864c7e38782d8d6ca2d46995504ebbd61f1b488c0437fc80fa0d4885cac",
  "prediction_functions": "a026099974c14fe1f3bb19cdf0e4a98698736148754cc7483bb7f3890de44aa5",
  "project_functions": "5210d89cf5d4680c1eef254455f0ae23c9b270c0d773d69722d94d3d1f5368df",
  "film_functions": "292b654ed1a17ddf337adca68dfd243452902192ac8cd4f8f0161a788d804ff6",
  "webhook_endpoints": "d1e453224da75226017ba20d7c640e0b5a57d0b179f03a117a8435dc7f08d3d8",
  "webhook_events": "f338ad4a74b6c0d25304bd0a2f15b2a22bc77f85dc5f7a28b008e4b08d499e95",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "58591f6de20b5a82db89c4768b85c2b6423bce61b467e3adcf53f3c3bb999a3e",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "1fd8f4ebe86eb76f39a47df17f9922103df1c5688078d66349d842c632d3b3b3",
  "webhook_endpoint_functions": "9d98dd662af346b03eef1580ecaf98557688e7470cd019e0c2692925794c1928",
  "webhook_delivery_functions": "b030e4e7f85a522ea48c4154781f14041bb95c21d473f9bcaa3bf3d911d8bdb3",
  "webhook_health": "b3f040b1bbc50c428beaeb412e2aa56da77007052d562a13ea885929b281c311",
  "sweep": "03e1e8b4c35db9a89a3fb25c48085c7e25b49a5f1e33a32c0d0bad09d31e823b",
  "admin_views": "0a16d0e08caf3a3cbb04c0c377ee631944cb2416f32e62d280c013dd6adc590a",
  "observability": "b51b9426e0c5941deb0fdb75c7c62f7dad3f8bc7afa18ebcfa36380db6d00e49",
  "acting_servers": "d884e5fdc003ddd4f11b99875067356535e5629e587e9d660691a7eda33612fc",
  "time_limits": "5076f4519ead4f2dfe6abadf249b3bb94c2851039c79df804587266d9db9c6b1",
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
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid, boolean),
  keyframe.read_project(uuid),
  keyframe.read_usage(date, date, text),
  keyframe.start_prediction(uuid, keyframe.generation_step, jsonb, text, text, text),
  keyframe.update_film(uuid, jsonb, uuid[], timestamp with time zone[]),
  keyframe.update_prediction(uuid, uuid, boolean),
  keyframe.update_project(uuid, jsonb, timestamp with time zone[]),
  keyframe.webhook_health(uuid),
  keyframe_private.deleted_projects(),
  keyframe_private.film_json(keyframe.films),
  keyframe_private.may_read(),
  keyframe_private.projects_per_token(),
  keyframe_private.rate_state(text),
  keyframe_private.refuse_changed(text, boolean),
  keyframe_private.shots_of(uuid),
  keyframe_private.step_predictions(keyframe.projects[]),
  keyframe_private.take_token(text, integer)
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
  keyframe_private.refuse(keyframe_private.refusal, text)
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
