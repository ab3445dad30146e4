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

/** What is done to the rows of a run that went well, and the invariant that this breaks. */
const BREAKAGES: [string, keyof typeof INVARIANTS | "constraints_hold", string][] = [
  ["an accepted start without a row", "accepted_starts_are_there", `delete from keyframe.predictions ${SUCCEEDED}`],
  [
    "an accepted start whose project is said to be deleted and is there",
    "accepted_starts_are_there",
    `insert into chaos.deleted_projects select project_id from chaos.starts; delete from keyframe.predictions ${SUCCEEDED}`,
  ],
  [
    "a prediction that goes on",
    "starts_have_ended",
    "update keyframe.predictions set status = 'queued', completed_at = null where status = 'canceled'",
  ],
  [
    "an end without an event",
    "ends_have_one_event",
    "delete from keyframe.webhook_events where prediction_id is not null",
  ],
  [
    "an end with the other event",
    "ends_have_one_event",
    "update keyframe.webhook_events set type = 'generation.failed' where prediction_id is not null",
  ],
  [
    "an event of what was cancelled",
    "ends_have_one_event",
    "insert into keyframe.webhook_events (type, prediction_id, payload) select 'generation.failed', id, jsonb_build_object('data', jsonb_build_object('predictionId', id)) from keyframe.predictions where status = 'canceled'",
  ],
  [
    "two events of one end",
    "ends_have_one_event",
    "drop index keyframe.webhook_events_one_terminal_event_per_prediction; insert into keyframe.webhook_events (type, prediction_id, payload) select type, prediction_id, payload from keyframe.webhook_events where prediction_id is not null",
  ],
  [
    "a receiver that got both ends",
    "receivers_got_one_end",
    "drop index keyframe.webhook_events_one_terminal_event_per_prediction; with e as (insert into keyframe.webhook_events (type, prediction_id, payload) select 'generation.failed', prediction_id, payload from keyframe.webhook_events where prediction_id is not null returning id) insert into chaos.arrivals (hook, event_id) select 'steady-one', id from e",
  ],
  [
    "a project without its event",
    "projects_have_one_event",
    "delete from keyframe.webhook_events where type = 'project.created'",
  ],
  [
    "a key with two answers",
    "keys_have_one_effect",
    "insert into chaos.answers values ('key-2', 'prediction', 'another')",
  ],
  ["a key with two predictions", "keys_have_one_effect", "update keyframe.predictions set prompt = 'prompt-1'"],
  [
    "a key with two projects",
    "keys_have_one_effect",
    "insert into keyframe.projects (owner_id, title, text_prompt) select owner_id, title, text_prompt from keyframe.projects",
  ],
  ["a provider run in no row", "runs_have_a_row", "insert into chaos.runs values ('run-x', 'succeeded', 'prompt-2')"],
  [
    "a run that nobody knows, of a prediction that is gone",
    "runs_have_a_row",
    "insert into chaos.runs values ('run-x', 'canceled', 'prompt-gone')",
  ],
  [
    "a run that nobody knows, of a text that one user alone had",
    "runs_have_a_row",
    "delete from chaos.starts where key = 'key-6'",
  ],
  ["a provider run in no row, with a file", "runs_have_a_row", "update chaos.runs set has_file = true"],
  [
    "a run that nobody knows, with callbacks",
    "runs_have_a_row",
    "update chaos.runs set prompt = 'pair'; update chaos.starts set prompt = 'pair'",
  ],
  [
    "a run in a row of another's prediction",
    "runs_are_their_predictions",
    "update keyframe_private.provider_runs set prediction_id = gen_random_uuid()",
  ],
  [
    "a run of another's prediction",
    "runs_are_their_predictions",
    "delete from keyframe_private.provider_runs; update chaos.runs set made_for = gen_random_uuid()",
  ],
  [
    "a run that nobody knows, cancelled",
    "runs_are_their_predictions",
    "update chaos.runs set cancel_asked = true where id = 'run-pair'",
  ],
  [
    "a run that a prediction succeeded with, cancelled",
    "runs_are_their_predictions",
    "update chaos.runs set cancel_asked = true where id <> 'run-pair'",
  ],
  [
    "a run that the provider never made",
    "runs_are_real",
    "insert into keyframe_private.provider_runs (provider_prediction_id, prediction_id, attempt) select 'forged', id, 1 from keyframe.predictions limit 1",
  ],
  [
    "a callback that a wrong clock took",
    "wrong_clocks_take_nothing",
    "insert into chaos.wrong_clock_callbacks values ('taken', 'recorded')",
  ],
  [
    "a callback that a wrong clock refused for another reason",
    "wrong_clocks_take_nothing",
    "insert into chaos.wrong_clock_callbacks values ('refused', 'internal')",
  ],
  [
    "a status that goes back",
    "status_never_goes_back",
    "update chaos.status_answers set status = 'queued' where n = 2",
  ],
  [
    "an end that becomes another",
    "status_never_goes_back",
    "update chaos.status_answers set status = 'failed' where n = 2",
  ],
  [
    "a 304 for another answer",
    "status_never_goes_back",
    "update chaos.status_answers set status = 'another' where n = 2",
  ],
  ["a last status that is not the end", "last_status_is_final", "delete from chaos.status_answers where n = 3"],
  [
    "an end that is not the row's",
    "last_status_is_final",
    "update chaos.status_answers set status = 'failed' where n = 3",
  ],
  [
    "a prediction that ended and whose run nobody has looked for",
    "runs_have_ended",
    "update keyframe.predictions set unanswered_since = now() where status = 'canceled'",
  ],
  [
    "a prediction that is gone and whose run nobody has looked for",
    "runs_have_ended",
    "insert into keyframe_private.unanswered_submits values (gen_random_uuid(), 1, '{}', now(), now())",
  ],
  ["a run that goes on", "runs_have_ended", "update chaos.runs set status = 'processing'"],
  [
    "a run that nobody has cancelled yet",
    "runs_have_ended",
    "update keyframe_private.provider_runs set cancel_due_at = now()",
  ],
  [
    "a run in a prediction's row alone",
    "rows_are_possible",
    "update keyframe_private.provider_runs set provider_prediction_id = 'other'",
  ],
  [
    "success without a run",
    "rows_are_possible",
    `update keyframe.predictions set provider_prediction_id = null ${SUCCEEDED}`,
  ],
  [
    "a prediction of another's project",
    "rows_are_possible",
    "update keyframe.predictions set owner_id = gen_random_uuid()",
  ],
  [
    "an event of another prediction",
    "rows_are_possible",
    "update keyframe.webhook_events set prediction_id = (select id from keyframe.predictions where status = 'canceled') where prediction_id is not null",
  ],
  [
    "an event that was not for a subscriber",
    "endpoints_get_their_events",
    "delete from keyframe.webhook_deliveries where event_type = 'project.created'",
  ],
  [
    "an event that was not for a subscriber of its kind alone",
    "endpoints_get_their_events",
    "update keyframe.webhook_endpoints set url = 'http://127.0.0.1:1/hooks/changing-two?v=1', event_types = '{project.created}', updated_at = created_at where url like '%steady%'; delete from keyframe.webhook_deliveries where event_type = 'project.created'",
  ],
  [
    "a delivery of another user's event",
    "events_reach_their_own",
    "update keyframe.webhook_events set owner_id = gen_random_uuid()",
  ],
  [
    "an event seen at another's receiver",
    "events_reach_their_own",
    "delete from keyframe.webhook_deliveries; update keyframe.webhook_events set owner_id = gen_random_uuid()",
  ],
  [
    "an event of a kind that the endpoint never asked for",
    "events_reach_their_own",
    "update keyframe.webhook_endpoints set event_types = '{generation.failed}'",
  ],
  [
    "another endpoint's test",
    "events_reach_their_own",
    "update keyframe.webhook_events set type = 'webhook.test', endpoint_id = gen_random_uuid()",
  ],
  [
    "a delivery that waits",
    "deliveries_have_ended",
    "update keyframe.webhook_deliveries set status = 'pending', completed_at = null",
  ],
  ["delivered and never seen", "delivered_was_received", "delete from chaos.arrivals"],
  ["delivered and never answered 2xx", "delivered_was_received", "update chaos.arrivals set taken = 0, misbehaved = 1"],
  ["given up too early", "only_receivers_exhaust", EXHAUSTED.replace("10", "9")],
  [
    "given up without the receiver's fault",
    "only_receivers_exhaust",
    `${EXHAUSTED}; update chaos.arrivals set misbehaved = 9`,
  ],
  ["a signature that nothing makes", "signatures_hold", "insert into chaos.forged values ('steady-one', 'x')"],
  ["another body", "bodies_are_the_events", "update chaos.arrivals set body_md5 = 'other'"],
  ["an event that does not exist", "bodies_are_the_events", "update chaos.arrivals set event_id = gen_random_uuid()"],
  [
    "delivered after an answer that was no 2xx",
    "attempts_tell_the_outcome",
    "update keyframe.webhook_attempts set status_code = 500, error = 'http_status'",
  ],
  ["given up after a 2xx", "attempts_tell_the_outcome", "update keyframe.webhook_deliveries set status = 'exhausted'"],
  [
    "an hour that says too much",
    "hours_say_what_deliveries_say",
    "update keyframe_private.webhook_hours set delivered = delivered + 1",
  ],
  ["an hour that is missing", "hours_say_what_deliveries_say", "delete from keyframe_private.webhook_hours"],
  [
    "a delivery counted in another hour",
    "hours_say_what_deliveries_say",
    "update keyframe_private.webhook_hours set hour = hour - interval '1 hour'",
  ],
  [
    "a delivery counted as another outcome",
    "hours_say_what_deliveries_say",
    "update keyframe_private.webhook_hours set retrying = delivered, delivered = 0",
  ],
  [
    "an hour that was wrong before the clock jumped",
    "hours_say_what_deliveries_say",
    "insert into chaos.miscounted values ('x')",
  ],
  ["an attempt that is not on record", "attempts_are_on_record", "delete from keyframe.webhook_attempts"],
  ["attempts with a gap", "attempts_are_on_record", "update keyframe.webhook_attempts set attempt = 2"],
  [
    "an output without an object",
    "outputs_are_there",
    "delete from storage.objects where bucket_id = 'keyframe-outputs'",
  ],
  ["an object without a file", "outputs_are_there", "delete from chaos.files where bucket = 'keyframe-outputs'"],
  ["an output with other bytes", "outputs_are_there", "update chaos.files set sha256 = repeat('c', 64)"],
  ["half an output", "outputs_are_there", "update chaos.files set bytes = 512"],
  ["a reference that is gone", "references_are_there", "delete from storage.objects where bucket_id = 'projects'"],
  ["an upload that is gone", "uploads_are_there", "delete from storage.objects where name like '00000000%'"],
  ["an upload without a file", "uploads_are_there", "delete from chaos.files where name like '00000000%'"],
  [
    "an object in a bucket that nothing of ours uses",
    "objects_have_a_row",
    "insert into storage.buckets (id, name) values ('other', 'other'); insert into storage.objects (bucket_id, name) values ('other', 'x')",
  ],
  [
    "an output of nobody",
    "objects_have_a_row",
    "update keyframe.predictions set output_path = 'elsewhere' where output_path is not null",
  ],
  [
    "a reference of nobody",
    "objects_have_a_row",
    "delete from keyframe_private.idempotency_keys; update keyframe.predictions set reference_image_path = null",
  ],
  [
    "a reference whose prediction is gone",
    "objects_have_a_row",
    `update chaos.starts set reference = 'projects/' || (select name from chaos.files where bucket = 'projects' and name not like '00000000%'); delete from keyframe.predictions ${SUCCEEDED}`,
  ],
  [
    "a file whose object is gone",
    "objects_have_a_row",
    `${FILE_ALONE}; insert into chaos.recorded_objects values ('keyframe-outputs', 'o/p/x.png', now())`,
  ],
  [
    "an address that ends before its time",
    "urls_last_as_stated",
    "update chaos.addresses set stated = ends + interval '10 minutes'",
  ],
  [
    "a lease on a prediction",
    "no_lease_is_left",
    "alter table keyframe.predictions drop constraint lease_only_while_active; update keyframe.predictions set lease_token = gen_random_uuid()",
  ],
  [
    "a lease on a lane",
    "no_lease_is_left",
    "insert into keyframe_private.lanes (endpoint_id, token, leased_until) values (gen_random_uuid(), gen_random_uuid(), now() + interval '1 minute')",
  ],
  [
    "a lease on a removal",
    "no_lease_is_left",
    "insert into keyframe_private.file_removals (bucket, name, prediction_id, lease_token) values ('keyframe-outputs', 'x', gen_random_uuid(), gen_random_uuid())",
  ],
  [
    "a file still to be removed",
    "no_removal_is_left",
    "insert into keyframe_private.file_removals (bucket, name, prediction_id) values ('keyframe-outputs', 'x', gen_random_uuid())",
  ],
  [
    "a kick that waits",
    "no_kick_is_left",
    "insert into net.http_request_queue (method, url, timeout_milliseconds) values ('POST', 'http://127.0.0.1/keyframe-generate', 5000)",
  ],
  [
    "a heartbeat that is current",
    "no_kick_is_left",
    "insert into keyframe_private.worker_heartbeats values ('generate', now() + interval '1 hour')",
  ],
  [
    "a connection",
    "no_connection_is_left",
    "insert into chaos.connections values ('deliver', '1 connection to port 7')",
  ],
  ["an advisory lock", "no_lock_is_left", "select pg_advisory_xact_lock(4713)"],
  ["more slots than the limit", "no_owner_exceeds_its_slots", "insert into chaos.slot_counts values (5)"],
  [
    "an answer that took too long",
    "api_answers_or_says_when_to_retry",
    "insert into chaos.probes values (20001, 200, false)",
  ],
  ["a 500", "api_answers_or_says_when_to_retry", "insert into chaos.probes values (5, 500, true)"],
  [
    "a 503 that does not say when to come back",
    "api_answers_or_says_when_to_retry",
    "insert into chaos.probes values (5, 503, false)",
  ],
  ["a 500 to a user", "api_answers_or_says_when_to_retry", "insert into chaos.refusals values (500, true)"],
  [
    "a 503 to a user that does not say when to come back",
    "api_answers_or_says_when_to_retry",
    "insert into chaos.refusals values (503, false)",
  ],
  [
    "a row that no check would let in",
    "constraints_hold",
    "alter table keyframe.projects drop constraint title_has_1_to_200_characters; update keyframe.projects set title = repeat('x', 201); alter table keyframe.projects add constraint title_has_1_to_200_characters check (char_length(title) <= 200) not valid",
  ],
  [
    "a delivery of an endpoint that never was",
    "deliveries_of_deleted_endpoints_are_noted",
    "update keyframe.webhook_deliveries set endpoint_id = gen_random_uuid()",
  ],
  [
    "a row that refers to nothing",
    "constraints_hold",
    "update keyframe.webhook_deliveries set event_id = gen_random_uuid()",
  ],
];

test("a run that went well → every invariant holds", async () => {
  expect(await scene.broken()).toEqual([]);
});

test("a file whose upload failed at its row, also where the name had one before → no invariant is broken", async () => {
  expect(await scene.broken(FILE_ALONE)).toEqual([]);
  const before =
    "insert into chaos.recorded_objects values ('keyframe-outputs', 'o/p/x.png', now() - interval '2 seconds')";
  expect(await scene.broken(`${FILE_ALONE}; ${before}`)).toEqual([]);
});

test.for(BREAKAGES)("%s → %s is broken", async ([, name, statement]) => {
  const broken = await scene.broken(statement);
  expect(broken.map((verdict) => verdict.name)).toContain(name);
});

test("each invariant is broken by at least one of these", () => {
  const names = [...Object.keys(INVARIANTS), "constraints_hold"];
  expect(names.filter((name) => !BREAKAGES.some(([, broken]) => broken === name))).toEqual([]);
});
