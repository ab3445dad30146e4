-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "c921f83f7bbd5c00e75d69a4a579a899a2922f5078df6dc1a959835148340b45",
  "rate_limits": "6f121a4139e9dfd59764b889d1ead5676eae720404f14512de22b7717098acfe",
  "idempotency": "627cd4c441f90eb1778e8f2b7ff43cd7cc6bbe65aa5cb10b161b2411000062c2",
  "projects": "1cfb2d415538773410a39407b9e577fe0c8d686db206a07db6dccb9507cb3e7b",
  "films": "adfa9a629f64f85bfe740df68cc8df26ced43dd0483ce7e20ad110e13f0f72e1",
  "models": "c81d003bf264b05f98363ff1fac5c164c0bf6c409c8a4ca8983aa222c7bdae1d",
  "model_prices": "75508705f9dae363d1924622444573652d29e597a89e36dfa228e154863346f6",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "e27760f5cd705379d8d8c8bf5ad881e3cfb2084f816e2115bf86a782a31be20a",
  "prediction_slots": "0d866221de1b2ea838956eb3aabeb5117ab3fee0524ef69c142c8ef198353b1c",
  "run_costs": "0c8e01aa1c6c364a3083f68bbcc86381b76622953cd7aa352abfd78ead5d1657",
  "prediction_inserts": "5f33fdb747e060c9c363c12994595c3a79c50407e6b260a3100a734dcdc03782",
  "provider_submits": "ffb869b2955c3c9a143c8112a79f8d8bf7b36d549fbac8e74d0229ac4ad18963",
  "budgets": "9f4bcf1b1bc31fa47afc92c3c8b35859168a072b69fca15d11462f67addb6fe5",
  "settlement": "fdf24087099146a4f5e225e3f58d53d2e01fe4213f7d9e2ad54958d18cbb39d8",
  "prediction_transitions": "0300d323935c57c723fd15862fd751f3ccb8c4a86990855d999c580f7d0cf95d",
  "provider_states": "cc1fdc7a53144315c5a379fc2dd8b93f1ee5360a06a7eba0ea9149ef63a11f77",
  "kicks": "90bbd99d48edba9173b532056d3d84210b489d1e5910a52a303aa18bd93f297c",
  "file_removals": "2a4440d2cf9710bb1662eb9c4a11fbbf1beaa546750127ccd943b646b465d192",
  "task_claims": "348a7ade86813b728770db8f3abb07ce8bb0d91a98bee6c7f6d5dcc512e2b319",
  "prediction_functions": "dd3ed7c4ae107fb7c369b16c63f1fa161991870b9f43f9b9a6a4f789b0493212",
  "project_functions": "cf7b33a5a4fdd6c1204cfff93f1c6d2167861595bea5caf753198988ffafcab8",
  "film_functions": "552951b8c006e5485a47b20974f18c64307791589714ecf3fdfd62759dd9304e",
  "webhook_endpoints": "bfc72131b16992ba556f8819d79996332a65064c639fd9a4e1ecb53004e48fb9",
  "webhook_events": "c71faef93240cf8b757e5678156da9be2c06e9900ff9e7bcd48eed49a3f6711c",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "0f6ba129cd864d04fed6b5a49318c76e1c3f9b59542b30583b9aaa65ecb8e4cb",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "249f5233c28493f0a0723b581428eb414ab54ddea32216daaea5ce5ab0c15566",
  "webhook_endpoint_functions": "31370930c410b5003e64f064a142a08ca7a0b565341f48914211a694c99fed5d",
  "webhook_delivery_functions": "933146f33eb3ecb0c1c3917413af7a5c960f06806d00cebfaf0d699647123142",
  "webhook_health": "b3f040b1bbc50c428beaeb412e2aa56da77007052d562a13ea885929b281c311",
  "sweep": "44e2038407df5541e46363bf5f838b53426b2023f5a9e2a5b649d97bab4dca12",
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
  keyframe_private.raise_error(text, text, text),
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
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, double precision, text, text, text, jsonb, integer),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
