import { beforeAll, expect, test } from "vitest";
import { INVARIANTS } from "../../lab/chaos/invariants/invariants.ts";
import { type ChaosScene, setChaosScene } from "../support/lab/chaos-scene.ts";
import { useDatabase } from "../support/database/clone-database.ts";

// A check that cannot fail proves nothing: here each invariant is broken, one way at a time.
const db = useDatabase();
let scene: ChaosScene;
beforeAll(async () => {
  scene = await setChaosScene(db);
});

const SUCCEEDED = "where status = 'succeeded'";
const EXHAUSTED =
  "update keyframe.webhook_deliveries set status = 'exhausted', attempts = 10, completed_at = now() where event_type = 'project.created'";

/** On the disk, with no row in Storage. */
const FILE_ALONE =
  "insert into chaos.files values ('keyframe-outputs', 'o/p/x.png', 1, 'x', now() - interval '1 second')";

/** By invariant, what is done to the rows of a run that went well, and breaks it. */
const BREAKAGES: Record<string, Record<string, string>> = {
  accepted_starts_are_there: {
    "an accepted start without a row": `delete from keyframe.predictions ${SUCCEEDED}`,
    "an accepted start whose project is said to be deleted and is there": `insert into chaos.deleted_projects select project_id from chaos.starts; delete from keyframe.predictions ${SUCCEEDED}`,
  },
  starts_have_ended: {
    "a prediction that goes on":
      "update keyframe.predictions set status = 'queued', completed_at = null where status = 'canceled'",
  },
  ends_have_one_event: {
    "an end without an event": "delete from keyframe.webhook_events where prediction_id is not null",
    "an end with the other event":
      "update keyframe.webhook_events set type = 'generation.failed' where prediction_id is not null",
    "an event of what was cancelled":
      "insert into keyframe.webhook_events (type, prediction_id, payload) select 'generation.failed', id, jsonb_build_object('data', jsonb_build_object('predictionId', id)) from keyframe.predictions where status = 'canceled'",
    "two events of one end":
      "drop index keyframe.webhook_events_one_terminal_event_per_prediction; insert into keyframe.webhook_events (type, prediction_id, payload) select type, prediction_id, payload from keyframe.webhook_events where prediction_id is not null",
  },
  receivers_got_one_end: {
    "a receiver that got both ends":
      "drop index keyframe.webhook_events_one_terminal_event_per_prediction; with e as (insert into keyframe.webhook_events (type, prediction_id, payload) select 'generation.failed', prediction_id, payload from keyframe.webhook_events where prediction_id is not null returning id) insert into chaos.arrivals (hook, event_id) select 'steady-one', id from e",
  },
  projects_have_one_event: {
    "a project without its event": "delete from keyframe.webhook_events where type = 'project.created'",
  },
  keys_have_one_effect: {
    "a key with two answers": "insert into chaos.answers values ('key-2', 'prediction', 'another')",
    "a key with two predictions": "update keyframe.predictions set prompt = 'prompt-1'",
    "a key with two projects":
      "insert into keyframe.projects (owner_id, title, text_prompt) select owner_id, title, text_prompt from keyframe.projects",
  },
  runs_have_a_row: {
    "a provider run in no row": "insert into chaos.runs values ('run-x', 'succeeded', 'prompt-2')",
    "a run that nobody knows, of a prediction that is gone":
      "insert into chaos.runs values ('run-x', 'canceled', 'prompt-gone')",
    "a run that nobody knows, of a text that one user alone had": "delete from chaos.starts where key = 'key-6'",
    "a provider run in no row, with a file": "update chaos.runs set has_file = true",
    "a run that nobody knows, with callbacks":
      "update chaos.runs set prompt = 'pair'; update chaos.starts set prompt = 'pair'",
  },
  runs_are_their_predictions: {
    "a run in a row of another's prediction":
      "update keyframe_private.provider_runs set prediction_id = gen_random_uuid()",
    "a run of another's prediction":
      "delete from keyframe_private.provider_runs; update chaos.runs set made_for = gen_random_uuid()",
    "a run that nobody knows, cancelled": "update chaos.runs set cancel_asked = true where id = 'run-pair'",
    "a run that a prediction succeeded with, cancelled":
      "update chaos.runs set cancel_asked = true where id <> 'run-pair'",
  },
  runs_are_real: {
    "a run that the provider never made":
      "insert into keyframe_private.provider_runs (provider_prediction_id, prediction_id, attempt) select 'forged', id, 1 from keyframe.predictions limit 1",
  },
  wrong_clocks_take_nothing: {
    "a callback that a wrong clock took": "insert into chaos.wrong_clock_callbacks values ('taken', 'recorded')",
    "a callback that a wrong clock refused for another reason":
      "insert into chaos.wrong_clock_callbacks values ('refused', 'internal')",
  },
  status_never_goes_back: {
    "a status that goes back": "update chaos.status_answers set status = 'queued' where n = 2",
    "an end that becomes another": "update chaos.status_answers set status = 'failed' where n = 2",
    "a 304 for another answer": "update chaos.status_answers set status = 'another' where n = 2",
  },
  last_status_is_final: {
    "a last status that is not the end": "delete from chaos.status_answers where n = 3",
    "an end that is not the row's": "update chaos.status_answers set status = 'failed' where n = 3",
  },
  runs_have_ended: {
    "a prediction that ended and whose run nobody has looked for":
      "update keyframe.predictions set unanswered_since = now() where status = 'canceled'",
    "a prediction that is gone and whose run nobody has looked for":
      "insert into keyframe_private.unanswered_submits values (gen_random_uuid(), 1, '{}', now(), now())",
    "a run that goes on": "update chaos.runs set status = 'processing'",
    "a run that nobody has cancelled yet": "update keyframe_private.provider_runs set cancel_due_at = now()",
  },
  rows_are_possible: {
    "a run in a prediction's row alone": "update keyframe_private.provider_runs set provider_prediction_id = 'other'",
    "success without a run": `update keyframe.predictions set provider_prediction_id = null ${SUCCEEDED}`,
    "a prediction of another's project":
      "update keyframe.predictions set owner_id = gen_random_uuid() where status = 'canceled'",
    "an event of another prediction":
      "update keyframe.webhook_events set prediction_id = (select id from keyframe.predictions where status = 'canceled') where prediction_id is not null",
  },
  endpoints_get_their_events: {
    "an event that was not for a subscriber":
      "delete from keyframe.webhook_deliveries where event_type = 'project.created'",
    "an event that was not for a subscriber of its kind alone":
      "update keyframe.webhook_endpoints set url = 'http://127.0.0.1:1/hooks/changing-two?v=1', event_types = '{project.created}', updated_at = created_at where url like '%steady%'; delete from keyframe.webhook_deliveries where event_type = 'project.created'",
  },
  events_reach_their_own: {
    "a delivery of another user's event": "update keyframe.webhook_events set owner_id = gen_random_uuid()",
    "an event seen at another's receiver":
      "delete from keyframe.webhook_deliveries; update keyframe.webhook_events set owner_id = gen_random_uuid()",
    "an event of a kind that the endpoint never asked for":
      "update keyframe.webhook_endpoints set event_types = '{generation.failed}'",
    "another endpoint's test":
      "update keyframe.webhook_events set type = 'webhook.test', endpoint_id = gen_random_uuid()",
  },
  deliveries_have_ended: {
    "a delivery that waits": "update keyframe.webhook_deliveries set status = 'pending', completed_at = null",
  },
  delivered_was_received: {
    "delivered and never seen": "delete from chaos.arrivals",
    "delivered and never answered 2xx": "update chaos.arrivals set taken = 0, misbehaved = 1",
  },
  only_receivers_exhaust: {
    "given up too early": EXHAUSTED.replace("10", "9"),
    "given up without the receiver's fault": `${EXHAUSTED}; update chaos.arrivals set misbehaved = 9`,
  },
  signatures_hold: {
    "a signature that nothing makes": "insert into chaos.forged values ('steady-one', 'x')",
  },
  bodies_are_the_events: {
    "another body": "update chaos.arrivals set body_md5 = 'other'",
    "an event that does not exist": "update chaos.arrivals set event_id = gen_random_uuid()",
  },
  attempts_tell_the_outcome: {
    "delivered after an answer that was no 2xx":
      "update keyframe.webhook_attempts set status_code = 500, error = 'http_status'",
    "given up after a 2xx": "update keyframe.webhook_deliveries set status = 'exhausted'",
  },
  hours_say_what_deliveries_say: {
    "an hour that says too much": "update keyframe_private.webhook_hours set delivered = delivered + 1",
    "an hour that is missing": "delete from keyframe_private.webhook_hours",
    "a delivery counted in another hour": "update keyframe_private.webhook_hours set hour = hour - interval '1 hour'",
    "a delivery counted as another outcome":
      "update keyframe_private.webhook_hours set retrying = delivered, delivered = 0",
    "an hour that was wrong before the clock jumped": "insert into chaos.miscounted values ('x')",
  },
  attempts_are_on_record: {
    "an attempt that is not on record": "delete from keyframe.webhook_attempts",
    "attempts with a gap": "update keyframe.webhook_attempts set attempt = 2",
  },
  outputs_are_there: {
    "an output without an object": "delete from storage.objects where bucket_id = 'keyframe-outputs'",
    "an object without a file": "delete from chaos.files where bucket = 'keyframe-outputs'",
    "an output with other bytes": "update chaos.files set sha256 = repeat('c', 64)",
    "half an output": "update chaos.files set bytes = 512",
  },
  references_are_there: {
    "a reference that is gone": "delete from storage.objects where bucket_id = 'projects'",
  },
  uploads_are_there: {
    "an upload that is gone": "delete from storage.objects where name like '00000000%'",
    "an upload without a file": "delete from chaos.files where name like '00000000%'",
  },
  objects_have_a_row: {
    "an object in a bucket that nothing of ours uses":
      "insert into storage.buckets (id, name) values ('other', 'other'); insert into storage.objects (bucket_id, name) values ('other', 'x')",
    "an output of nobody":
      "alter table keyframe.predictions drop constraint output_path_is_its_own; update keyframe.predictions set output_path = 'elsewhere' where output_path is not null",
    "a reference of nobody":
      "delete from keyframe_private.idempotency_keys; delete from keyframe_private.prediction_images",
    "a reference whose prediction is gone": `update chaos.starts set reference = 'projects/' || (select name from chaos.files where bucket = 'projects' and name not like '00000000%'); delete from keyframe.predictions ${SUCCEEDED}`,
    "a file whose object is gone": `${FILE_ALONE}; insert into chaos.recorded_objects values ('keyframe-outputs', 'o/p/x.png', now())`,
  },
  urls_last_as_stated: {
    "an address that ends before its time": "update chaos.addresses set stated = ends + interval '10 minutes'",
  },
  no_lease_is_left: {
    "a lease on a prediction":
      "alter table keyframe.predictions drop constraint lease_only_while_active; update keyframe.predictions set lease_token = gen_random_uuid()",
    "a lease on a lane":
      "insert into keyframe_private.lanes (id, token, due_at) values (gen_random_uuid(), gen_random_uuid(), now() + interval '1 minute')",
    "a lease on a removal":
      "insert into keyframe_private.file_removals (bucket, name, prediction_id, lease_token) values ('keyframe-outputs', 'x', gen_random_uuid(), gen_random_uuid())",
  },
  no_removal_is_left: {
    "a file still to be removed":
      "insert into keyframe_private.file_removals (bucket, name, prediction_id) values ('keyframe-outputs', 'x', gen_random_uuid())",
  },
  no_kick_is_left: {
    "a kick that waits":
      "insert into net.http_request_queue (method, url, timeout_milliseconds) values ('POST', 'http://127.0.0.1/keyframe-generate', 5000)",
    "a heartbeat that is current":
      "insert into keyframe_private.worker_heartbeats values ('generate', now() + interval '1 hour', now())",
  },
  no_connection_is_left: {
    "a connection": "insert into chaos.connections values ('deliver', '1 connection to port 7')",
  },
  no_lock_is_left: {
    "an advisory lock": "select pg_advisory_xact_lock(4713)",
  },
  no_owner_exceeds_its_slots: {
    "more slots than the limit": "insert into chaos.slot_counts values (5)",
  },
  api_answers_or_says_when_to_retry: {
    "an answer that took too long": "insert into chaos.probes values (20001, 200, false)",
    "a 500": "insert into chaos.probes values (5, 500, true)",
    "a 503 that does not say when to come back": "insert into chaos.probes values (5, 503, false)",
    "a 500 to a user": "insert into chaos.refusals values (500, true)",
    "a 503 to a user that does not say when to come back": "insert into chaos.refusals values (503, false)",
  },
  constraints_hold: {
    "a row that no check would let in":
      "alter table keyframe.projects drop constraint title_has_1_to_200_characters; update keyframe.projects set title = repeat('x', 201); alter table keyframe.projects add constraint title_has_1_to_200_characters check (char_length(title) <= 200) not valid",
    "a row that refers to nothing": "update keyframe.webhook_deliveries set event_id = gen_random_uuid()",
  },
  deliveries_of_deleted_endpoints_are_noted: {
    "a delivery of an endpoint that never was":
      "update keyframe.webhook_deliveries set endpoint_id = gen_random_uuid()",
  },
};

test("a run that went well → every invariant holds", async () => {
  expect(await scene.broken()).toEqual([]);
});

test("a file whose upload failed at its row, also where the name had one before → no invariant is broken", async () => {
  expect(await scene.broken(FILE_ALONE)).toEqual([]);
  const before =
    "insert into chaos.recorded_objects values ('keyframe-outputs', 'o/p/x.png', now() - interval '2 seconds')";
  expect(await scene.broken(`${FILE_ALONE}; ${before}`)).toEqual([]);
});

const breakages = Object.entries(BREAKAGES).flatMap(([name, ways]) =>
  Object.entries(ways).map(([what, statement]) => [what, name, statement] as const),
);
test.for(breakages)("%s → %s is broken", async ([, name, statement]) => {
  expect((await scene.broken(statement)).map((verdict) => verdict.name)).toContain(name);
});

test("each invariant is broken by at least one of these", () => {
  expect(Object.keys(BREAKAGES).sort()).toEqual([...Object.keys(INVARIANTS), "constraints_hold"].sort());
});
