-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "572e0c799203e84b62174f4a151a5fc66399f6e36280ddd8c409321cd2623962",
  "clients": "99e24dd7e27907995821ec39ef98910b2362d92f4ad7725f559905791dbe781e",
  "rate_limits": "17753daa6f00eff3af669d3bc7c5bc0bb46d48a47d0ffa8f336eb210e0db8465",
  "idempotency": "fd5476feef75c25913a0379ae4004e3ec930b6a283b1d22cbfd688b4c3eb27ad",
  "projects": "9b5b2f2eb932a64b07846e6f2405dda2d938562282eb8e889b87d38adc1b975b",
  "films": "5d19a74a262f81c619592620597acc0bfbce35fd173db3d70c807e44b9f49387",
  "models": "003f82629c46781854fb98a7353af8b1648882bebee8aa4aa522918f7707dad3",
  "model_prices": "75508705f9dae363d1924622444573652d29e597a89e36dfa228e154863346f6",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "27f06aff1d4fe89f9ebbd9b273cae75757740b33e19451601e9297409760c1bc",
  "prediction_slots": "432035e3d2be9c5f2e800cff4e8ce3075a84dfa175eb6f916050913b9cd8c838",
  "run_costs": "1d45cfe77339623b4b9b3ed59fc846e00d9656e383fd8f785fd1d30d5edc06ce",
  "prediction_inserts": "6f1deb15bf9e64f6ec359c47ce8a960920f677e1819922bc953eebd76954d077",
  "provider_submits": "d54b34228a2bd2c8df13d18b545cbe59ded4f9127744719db2e9dc2f5adeae6e",
  "budgets": "9116b64576226cfbb20dfb07cf896991c247059c877b267b219054b14d81180f",
  "settlement": "bf17707a74efde8619f306a3749ee1cb02bb5929ac500bc6ab9b793baeaef22c",
  "prediction_transitions": "51757fd726001b43af0b1b90cd5a764a11315a2aa39d45477dce33f09fb31e33",
  "provider_states": "f27c7e0bc8be0a510d68f50c170229dcf43b9ca226b0cd048b12a8586b7be438",
  "kicks": "96472cf2e7636ea31abc4d95fc30bf294cfa6786ba15999996c30825b3125adb",
  "file_removals": "2a4440d2cf9710bb1662eb9c4a11fbbf1beaa546750127ccd943b646b465d192",
  "task_claims": "9a3f925c0ecec38a4dc24983617934aeb7feef9f3a682cef9d0a5cc6eea9c6a7",
  "prune_rows": "4ce2fe5d7f34facae6f223ea92dcf25f0aa5cc9ed6cb57e38fc1a47ff047a90b",
  "prediction_functions": "2a78be2fcc902188247ccd19c3550568269ab92115e7fab11e9cfbc28ff31c3c",
  "project_functions": "bef88804158da314ed3d48fd3cef0a371fe8982d63c1ea7ebf7e09ff9a7299b9",
  "film_functions": "c1f19a1b7d0128de09ec429e0e047a65e6c92884d60d39f39039d520adde8e5b",
  "webhook_endpoints": "9f5863863f9a59330ae27eb1a3abacb321817f87bb5832b4d78397bab8a8926b",
  "webhook_events": "f27530b7ab66f316e4a4271ec6d2914b2b7aa31a099acc2abe2eee68edd8b022",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "3a20d37620811499d4746851c902f66583d8d60fa1bdb3a332139fde6f1d84d0",
  "lanes": "3a0e7b19882726ffc95f4275709f147ce4f5e64be691ee649cd5c83ea7481506",
  "webhook_recording": "c68045bd549aaedb0c61ab3ad369b590ee6d52fc8f63213261b9be1a094928f5",
  "worker_calls": "4db441abfdaedbc52d0d69f15479975737fae32a1e747609129f14409f9924f0",
  "webhook_endpoint_functions": "4461fdd0cac83cea1f6d64f513231f10be743540c3d83401e9a8f9253924f027",
  "webhook_delivery_functions": "7514dfe4cb7573ab5f86cf8326b63fe81eecb7ff41b9698d3ffaedfaca2581cc",
  "webhook_health": "e433cb9a15362985849c8d4b1877992bc9bd462a6ba0f8100d65c42bc0362412",
  "sweep": "2de664f451df903601d14cccbb3e27fc7ba2198145882864714381708721d931",
  "admin_views": "9e437d46c8786f79d1fd5e73bcf81364f499fa46fed04a3cf2d0179ee119f6d4",
  "observability": "4d64e96143f0f530cf30c07b608feb45804734b6b44f9a107e6cd17cc59a7bac",
  "acting_servers": "d884e5fdc003ddd4f11b99875067356535e5629e587e9d660691a7eda33612fc",
  "time_limits": "5076f4519ead4f2dfe6abadf249b3bb94c2851039c79df804587266d9db9c6b1",
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
  keyframe_private.prediction_json(keyframe.predictions, uuid[], json),
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
