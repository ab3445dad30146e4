-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "53bd0d05dd8669ecb80ad07ffe919861e461a82ee0467046d83a07f54d01a39d",
  "rate_limits": "c5fe02d79bb2abfd9088b5171e68986224eca9e73eaf52f58f8412af4b05c2f4",
  "idempotency": "d9a5a8cb3b1ac069ddee566741693d677319a171669c32c07c86af4b4a2807be",
  "projects": "7bdaa17d1c82bc794c31c124bcbe39ae755a1b1590c10775e987d22b2ae050ff",
  "films": "db3ac2797aa633b0b4936040b227a0d92ae892cdcf73151b234f0578fdaa38a8",
  "models": "67a1a2fa13503d6f32210edf77ce4963987b8505f86e6f0d5b714dd13bea6dd9",
  "model_prices": "0ebe63493483104981c09d06e1d3a2b0f8c7579792df498f50cf405c89fd578d",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "3dae3aa378f34fb682defe10ab96e28e565b0b40a95591c7b0916d6a176cd35b",
  "prediction_slots": "d5894bd3760acfa615c2068d24b7137053f97ff5d94a2e2e83cdba5e4c370644",
  "run_costs": "09b246da0efd45c69d7b898b5cf5f8367fbf06d27f580eb202314020f05968c8",
  "prediction_inserts": "636d178cba78b8b496ea69ad1201303ab12c4462e60ae4867da860b862eec664",
  "provider_submits": "ffb869b2955c3c9a143c8112a79f8d8bf7b36d549fbac8e74d0229ac4ad18963",
  "budgets": "f629819b14fd2f5095ece5de32413d3580f120cf8e23dc0803e60f04a94bdda4",
  "settlement": "fdf24087099146a4f5e225e3f58d53d2e01fe4213f7d9e2ad54958d18cbb39d8",
  "prediction_transitions": "be1c918ce3031d336c0293ef3df9eb07214e82d908a73bb382550d8da070809c",
  "provider_states": "eb94b08af720e7ab46c5150c630fde0406f9301456b93ab3bc7924c4f05a233e",
  "kicks": "f0a4cef05fafee78aa4efa22d232220cf623ee4ec015f646333ccccc3d8fba02",
  "file_removals": "b8c2a6c607fc8ea13c3e8b152e42d397f1af884ad801337f10209b4b7a598440",
  "task_claims": "dc61e71ba32b13225a6a666b219ba4778932e475505ac52a71950bed2a40ac79",
  "prediction_functions": "9e07c794dc04e1b8fcedd218fb393b8caef88572d930eb8dea447c665f57ca01",
  "project_functions": "1e92168cbe96d92a64e1e2f75ca353301016dbe3407aeac24dd25949826df198",
  "film_functions": "df26f7b2bfcbc7c8dcf70fb2eaf85c6f0ce00d6dd2b71910d117bf72ceb99f4a",
  "webhook_endpoints": "cc6f85fd2b65095835335c8d840e3fc79196a11d07bfb331448c97ebb8081481",
  "webhook_events": "0319cd88f054bba38b9a261568369a5174822e7bc906993b7a28642b0c5bb0c3",
  "used_ids": "11dbf63c0dcc242d7fbd1deb72fcb1720017f62630dc69ee5ddb601ca93d447a",
  "webhook_hours": "bb656ce33046c0cf3380d096f6499faddb569cb26d121b4b792d2ebdcf7174ed",
  "lanes": "80110b55a066d067a319614517e2174d6919aa55244a2c7831f726ba9acd6811",
  "webhook_recording": "f5518e7ad6f63ed7532a590ad309e00a4bbaf3e8fe81fdd307ba82608364cada",
  "worker_calls": "65214d435f11bcc2b7be7938466bbb18046d7c6e36d1ddd3b5c3d3ea2711663e",
  "webhook_endpoint_functions": "703f6639a5da9cb6ada5624d1ba1d1e251c6d5f2c25848a82f363334efb226fc",
  "webhook_delivery_functions": "1b69fbdb33d7904b5aec059a45a765a4de8a48ee703f51d3d32c53781fdf4fd3",
  "webhook_health": "924db03f676c4c0a6a618f4e6eb9b1cb78a6aed8ccf558278f996b08ddd21c7f",
  "sweep": "5371ba0b3dab01efb522888d8cbda1dac3b02ae23b85c1917273d74a9c3fb4a4",
  "admin_views": "a89dc84ecaf8a49e941776cbf7cadcb4aa0909b3fa2e187361f00420547c425f",
  "observability": "ed1472d279d7d30712303376d142b787634a12c1ac24de9599142ca665670023",
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
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
