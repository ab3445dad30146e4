-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "6f65f0c726fb1ec73211811393e1b8607bbd6d49e3e48347933b14362a70b10d",
  "rate_limits": "b7b799c66ef26ea525bc63d5ce0df1b76e64d0f1b7b5b37e7bb880ef1fa5aae6",
  "idempotency": "96d0960d440083f55e422b5596782c2a5e39ff576062471bbe95ee37366de91f",
  "projects": "364e83f5accd422559fbbbe01c9143f0022da4a6bf1de9de0ceb11e82dc893a0",
  "models": "7ae90d9389d08eff58ecb1571c2dbdf7037d8e244193ea3685c8b707f8e27f1d",
  "storage_buckets": "2b520eea9507bbc55f43c2b253dcee885c3ca2dee189a48095cda10dfb1b5891",
  "predictions": "f29e2a41d313af5c658ee0d45d7d354547da14b65a55146f69665e1ad86981b4",
  "prediction_slots": "64b253c1dd5b5203c333ddd0ec8fca6a6e2ba4bfb0e8c44ffb4a5b87dd3fd47c",
  "prediction_inserts": "1a71256ac0800b44a9d967da7973e071cb5439d1f10ec6687ac74d4487703fd8",
  "prediction_transitions": "688d58f0c199219dfb3917e83d3df26c109caa4bdbf2a22b12da6a067168a4df",
  "unanswered_submits": "1602042b473e234e6d934a87a97f1a705ac7d227a6e3f64bdc30d0179f6eea64",
  "provider_states": "3399aefad1277d2d173e88449b6ffc480cc2373727d61882c891eb204fcc023b",
  "kicks": "4c05b1f28d0ac34678462b54aeb6174d8a2175516c082b628dced3fb347de61c",
  "file_removals": "8cb372f631bd6d13863deccc17b4e24bd1b9793874d716b952b42a7f74f9250e",
  "task_claims": "875d8a964275ee9f6c79ff66ca9896c3caaeecdbfc3704bb5571094626e9d2ac",
  "prediction_functions": "2ee35936f20996c9aaf6c8b564bca488f6c80125ca7faeae24ea96559904c695",
  "project_functions": "975c8dec088ae09981066e99014bb47ff21486746b00908a5225365c22aaba70",
  "webhook_endpoints": "814d0c41020f6b6e808a2bdf6411f00e05680ba93caf5ae2ba8a20f6fb1ae497",
  "webhook_events": "6b549a0006038993108f677ef25449f24fce13b7e3410d0640e41c64256d2711",
  "webhook_hours": "bb656ce33046c0cf3380d096f6499faddb569cb26d121b4b792d2ebdcf7174ed",
  "lanes": "4556e60ea425e482922b4c0ab1a3484f3ca2d094a29e673dbbb1ec6b3ff87228",
  "webhook_recording": "76ce30e67b6473317936dd211ce088ceeb03ffdea53db14233a0aa255c484a30",
  "worker_calls": "850bf272b884df635e7b9afb07524a65ac69f56f7bcdce82d608b1287a380d1e",
  "webhook_endpoint_functions": "87601132d6fb05321c154a14d3d9633c2448c90946622cee89f12bee8e50b862",
  "webhook_delivery_functions": "fca0073ef8f85ac9ffbca0127fbec78cae8b722e920a7acd88a029383936cc0b",
  "webhook_health": "924db03f676c4c0a6a618f4e6eb9b1cb78a6aed8ccf558278f996b08ddd21c7f",
  "sweep": "3271d1eb97a80503bb2fd524cda8bf6840dfc1f422fdbf6c06d5005413164f46",
  "admin_views": "4bd2199f09b2684f940af84db93c33e2b94c23068f8eee42d76d2d05c807ebc7",
  "observability": "3634ad3fd6ee385a5908814b8a6e484106c746aa37b4f4968bc4ec96b1eda360",
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
grant delete, insert (title, text_prompt, description), select, update (title, text_prompt, description, reference_image_path, selected_first_frame_id, selected_last_frame_id) on table
  keyframe.projects
to authenticated;
grant insert (project_id, step, prompt, reference_image_path, first_frame_prediction_id, last_frame_prediction_id, duration_seconds), select on table
  keyframe.predictions
to authenticated;
grant select on table
  keyframe.models,
  keyframe.webhook_attempts,
  keyframe.webhook_deliveries,
  keyframe.webhook_endpoints,
  keyframe.webhook_events
to authenticated, service_role;
grant select on table
  keyframe.predictions,
  keyframe.projects
to service_role;
grant execute on function
  keyframe.health()
to anon, authenticated, service_role;
grant execute on function
  keyframe.admit_upload(text, text),
  keyframe.cancel_prediction(uuid, uuid, text, text),
  keyframe.create_project(text, text, text, text, text),
  keyframe.delete_project(uuid, timestamp with time zone[]),
  keyframe.list_predictions(uuid, keyframe.generation_step, integer, timestamp with time zone, uuid),
  keyframe.list_projects(integer, timestamp with time zone, uuid, boolean, text),
  keyframe.read_prediction(uuid, keyframe.generation_step, uuid),
  keyframe.read_project(uuid),
  keyframe.start_prediction(uuid, keyframe.generation_step, text, text, uuid, uuid, integer, text, text),
  keyframe.update_project(uuid, jsonb, timestamp with time zone[]),
  keyframe.webhook_health(uuid),
  keyframe_private.rate_state(text),
  keyframe_private.refuse_changed_project(uuid),
  keyframe_private.set_request_hash(text, text),
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
  keyframe_private.prediction_json(keyframe.predictions),
  keyframe_private.queue_position(keyframe.predictions),
  keyframe_private.raise_error(text, text, text),
  keyframe_private.reserve_idempotency_key(text, text)
to authenticated, service_role;
grant execute on function
  keyframe.service_figures(),
  keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb),
  keyframe_worker.complete_prediction(uuid, uuid, text, text, bigint, text, integer, integer, double precision),
  keyframe_worker.discard_output(uuid),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, jsonb),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, text, double precision, text, boolean),
  keyframe_worker.record_run_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, boolean)
to service_role;
