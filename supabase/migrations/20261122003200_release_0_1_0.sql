-- Made by `npm run schema` after all other migrations of this version; never edited by hand.
insert into keyframe_private.installation (version, migrations) values ('0.1.0', '{
  "foundation": "5fb7024d9c9c3b2bc27ce6d365a1624214f1829726d163234ab53817618e9a71",
  "clients": "72954f844e37300d6ff1183e8f57e2f6ae3bc2aff41be1cf23843bbd3c771389",
  "rate_limits": "66526fc34f3cf6efcbd1499bf8d0ecb5c93f91c57c67bdaa76089a7c286d9f37",
  "idempotency": "273691b44be124910f82a96c21e502b58545b5f6d73487d7b2c856bdce5eb905",
  "projects": "3ff5ecb397da9ffd9dcc128d03d83c26bccc58e923c9b4644de770636258ed8d",
  "films": "521b46ec653a68766b1356231a490319fc70b4575f87d9eb4b75f6746168a363",
  "models": "5ee349d7238186d8090c4d7fb600ad3c1105296950d52aa36573eae4ae7e4ac8",
  "model_prices": "f2cf0ace2b39abf4222f2a1daccb88b918a4cb954321522b63ed57ea0e4d3961",
  "storage_buckets": "dc10d366383617004ebe90d07d691a1c888325066113dc5e35d0a5d9ec179924",
  "predictions": "8d9492c83150395fd8bf9dc72cfeefe45b062d4f26318df02cf1b03dc2f4fe51",
  "prediction_slots": "288a98cdf457ddc292fb8e0f17c4f8f412444a8c6cfa7cd73f5fca52ba166482",
  "run_costs": "f1065a87b336a58818ab82c410008fb8d9f40e6bdca1b4c8508977991a97b08d",
  "prediction_inserts": "756c06aa0fd43c5d403dcda2567ec37bb42e083cd75d4f1193206a28c6ea2497",
  "provider_submits": "3e384ccf3a0924c132f565edea2b41f559b91fc9a54dbd500f6fb707ac7646e5",
  "budgets": "f1401e60cf9aebb9614097841ca8e789243243f0a6a515071d2e024eed91fe79",
  "settlement": "c23b747fb12792e62dbe1672e06ec41d96ac8fd788fd66245b4e307b5937d810",
  "prediction_transitions": "0990fa3ce7c42176a82d422a5533bb8262de85e6bf1a3558399f368f5d27e3a8",
  "provider_states": "75a742b3a0b9e2bab6bae35ba914e75b57c17c0d8500399e8d758a89859e525a",
  "kicks": "d551b08338aee816acec59fcd52b300d2a16fd869b8680da34720cf94e9ded23",
  "file_removals": "ccafa8cc138afedc572034d7714307c51cde3f1e770252945ba9bb9913baaa9a",
  "task_claims": "d554c1c88772c793b4eb32933541dedff95d41e9c6862b135ef75de9070286e2",
  "prune_rows": "d2b7648361099d0d434b9b99c8644e6e0ad530e9cc0ffc033f8f66581ce8fe06",
  "prediction_functions": "5a9a8af49d689f48eb5e0328528a68817bf9f743eda867d7776b64b6f6981a38",
  "project_functions": "2a35eaab79a0c294c25152736248cf1ac4fd3d82d1944826b088586aa9fd8826",
  "film_functions": "1f13a041c27bab06fb93ab8f551222f7ec2be3515aab7232b818324973f788c5",
  "webhook_endpoints": "1e56a422e25465e078987e7c2b96bf0f8aac6fad26729bd3f8e09c7287a01582",
  "webhook_events": "8dcd1a7920bad0a7a0dae2c6def17a118ae5d93e0de3d3699433771ff4c18f8b",
  "used_ids": "e010e173d34883d92fa97292bc4bf1a108d09c95b17f286ee2824c2ec7ba1fc0",
  "webhook_hours": "9acd0ed151aec57a92cb1660c949b70df4730db483910a5216f55549a7b20f8a",
  "lanes": "4a4fe9de0e9866e1ec697c98e97551a0220da4b747612da84823733f49593103",
  "webhook_recording": "e9abfd73949ef393c377135f08afd31c53dc3c8d3e30e52f59ecec8543251ec0",
  "worker_calls": "da5c8b507dec954af8f21311458d4a9bddd4e5ccc79714bdaa765369ca2812c6",
  "webhook_endpoint_functions": "e18a144a9a6f169db708ce1fd993dcba52e043967df68688b4c2a1ed9c81eed6",
  "webhook_delivery_functions": "d84fc47d2e7a636018c99382152034a2a9c6025b49178318c6c8bfe392a8922d",
  "webhook_health": "e433cb9a15362985849c8d4b1877992bc9bd462a6ba0f8100d65c42bc0362412",
  "sweep": "96c1605130ecaedd946e77842a5d1517fe2e5113a2c582bab9587038d04aa34f",
  "admin_views": "ab31174d0cb9af24d7e598d6d278156a540286efadf336b710af2cf3b7587f13",
  "observability": "a036ba98a088d8d7dadc0c8ba2d4708bbfc66f22b71121e16ff1879e0f6e674e",
  "acting_servers": "7f19bbfd51a6a35d96789dd4dc5651a33d2dc719138c3d7a9712489c6c94065c",
  "time_limits": "5076f4519ead4f2dfe6abadf249b3bb94c2851039c79df804587266d9db9c6b1",
  "realtime": "05058dbac67f6b55ff731ab783a8cb5332d2d8bdf608db05768bda21858af7c8",
  "storage_policies": "36734cce505b3f64f68f089bf6dda5366f8250e9ed78b7ff32a1a0a4584d4ddc"
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
  keyframe_private.prediction_json(keyframe.predictions, uuid[]),
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
  keyframe_worker.claim_predictions(integer, integer, integer, integer, jsonb, jsonb, boolean),
  keyframe_worker.complete_prediction(uuid, uuid, text, text, bigint, text, integer, integer, double precision, boolean),
  keyframe_worker.exchange_deliveries(jsonb, jsonb, integer, integer, integer, timestamp with time zone, integer, jsonb, integer, integer, boolean),
  keyframe_worker.fail_prediction(uuid, uuid, text, text, boolean, text, integer),
  keyframe_worker.poll_prediction_later(uuid, uuid, double precision),
  keyframe_worker.record_files_removed(uuid, jsonb),
  keyframe_worker.record_model_refused(uuid, uuid, text, integer),
  keyframe_worker.record_provider_state(uuid, integer, text, text, text, real, text, double precision, text, text, text, jsonb, integer, jsonb),
  keyframe_worker.record_run_not_canceled(text, boolean),
  keyframe_worker.record_search_ended(uuid, integer, integer, boolean),
  keyframe_worker.retry_prediction_later(uuid, uuid, text, text, double precision, integer)
to service_role;
