import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

const USER = ["authenticated"];
const SERVICE = ["service_role"];
const BOTH = ["authenticated", "service_role"];

/** Who may execute each function of our schemas; `definer` where it runs with its owner's rights. */
const EXPECTED: Record<string, { roles: string[]; definer?: true }> = {
  "keyframe.health": { roles: ["anon", ...BOTH], definer: true },
  // What the api function calls with the caller's own token.
  "keyframe.create_project": { roles: USER, definer: true },
  "keyframe.start_prediction": { roles: USER, definer: true },
  "keyframe.read_prediction": { roles: USER, definer: true },
  "keyframe.admit_upload": { roles: USER },
  "keyframe.list_projects": { roles: USER, definer: true },
  "keyframe.read_project": { roles: USER },
  "keyframe.update_project": { roles: USER },
  "keyframe.delete_project": { roles: USER },
  "keyframe.list_predictions": { roles: USER, definer: true },
  "keyframe.cancel_prediction": { roles: USER, definer: true },
  // The same for webhooks; with the secret key they manage the service-wide endpoints.
  "keyframe.create_webhook_endpoint": { roles: BOTH, definer: true },
  "keyframe.list_webhook_endpoints": { roles: BOTH, definer: true },
  "keyframe.read_webhook_endpoint": { roles: BOTH, definer: true },
  "keyframe.update_webhook_endpoint": { roles: BOTH, definer: true },
  "keyframe.delete_webhook_endpoint": { roles: BOTH, definer: true },
  "keyframe.reveal_webhook_secret": { roles: BOTH, definer: true },
  "keyframe.rotate_webhook_secret": { roles: BOTH, definer: true },
  "keyframe.test_webhook_endpoint": { roles: BOTH, definer: true },
  "keyframe.list_webhook_deliveries": { roles: BOTH, definer: true },
  "keyframe.read_webhook_delivery": { roles: BOTH, definer: true },
  "keyframe.redeliver_webhook": { roles: BOTH, definer: true },
  "keyframe.recover_webhook_endpoint": { roles: BOTH, definer: true },
  // What the dashboard calls through the Data API.
  "keyframe.webhook_health": { roles: USER, definer: true },
  // What the other functions call with the secret key.
  "keyframe_worker.claim_predictions": { roles: SERVICE, definer: true },
  "keyframe_worker.record_provider_state": { roles: SERVICE, definer: true },
  "keyframe_worker.record_run_canceled": { roles: SERVICE, definer: true },
  "keyframe_worker.complete_prediction": { roles: SERVICE, definer: true },
  "keyframe_worker.fail_prediction": { roles: SERVICE, definer: true },
  "keyframe_worker.retry_prediction_later": { roles: SERVICE, definer: true },
  "keyframe_worker.poll_prediction_later": { roles: SERVICE, definer: true },
  "keyframe_worker.record_search_ended": { roles: SERVICE, definer: true },
  "keyframe_worker.discard_output": { roles: SERVICE, definer: true },
  "keyframe_worker.record_files_removed": { roles: SERVICE, definer: true },
  "keyframe_worker.exchange_deliveries": { roles: SERVICE, definer: true },
  // What the api function calls for who has the secret key.
  "keyframe.service_figures": { roles: SERVICE, definer: true },
  // What the user's functions need below them.
  "keyframe_private.raise_error": { roles: BOTH },
  "keyframe_private.has_visible_character": { roles: BOTH },
  "keyframe_private.is_one_line": { roles: BOTH },
  "keyframe_private.is_plain_text": { roles: BOTH },
  "keyframe_private.prediction_json": { roles: BOTH },
  "keyframe_private.queue_position": { roles: BOTH },
  "keyframe_private.latest_predictions": { roles: USER, definer: true },
  "keyframe_private.take_token": { roles: USER, definer: true },
  "keyframe_private.rate_state": { roles: USER, definer: true },
  "keyframe_private.set_request_hash": { roles: USER, definer: true },
  "keyframe_private.reserve_idempotency_key": { roles: BOTH, definer: true },
  // Triggers, helpers and what cron runs: no role.
  "keyframe_private.add_webhook_secret": { roles: [], definer: true },
  "keyframe_private.emit_event": { roles: [], definer: true },
  "keyframe_private.emit_generation_ended": { roles: [], definer: true },
  "keyframe_private.emit_project_created": { roles: [], definer: true },
  "keyframe_private.create_endpoint_secret": { roles: [], definer: true },
  "keyframe_private.delete_vault_secret": { roles: [], definer: true },
  "keyframe_private.record_deleted_endpoint": { roles: [], definer: true },
  "keyframe_private.prepare_webhook_endpoint": { roles: [], definer: true },
  "keyframe_private.refuse_used_id": { roles: [], definer: true },
  "keyframe_private.prune_webhooks": { roles: [], definer: true },
  "keyframe_private.rotate_webhook_secret": { roles: [], definer: true },
  "keyframe_private.webhook_secret": { roles: [], definer: true },
  "keyframe_private.webhook_secrets_of": { roles: [], definer: true },
  "keyframe_private.live_webhook_secrets": { roles: [], definer: true },
  "keyframe_private.cron_figures": { roles: [] },
  "keyframe_private.delivery_figures": { roles: [] },
  "keyframe_private.event_figures": { roles: [] },
  "keyframe_private.file_figures": { roles: [] },
  "keyframe_private.kick_figures": { roles: [] },
  "keyframe_private.last_kick_figures": { roles: [] },
  "keyframe_private.prediction_figures": { roles: [] },
  "keyframe_private.require_user": { roles: [] },
  "keyframe_private.is_reference_path": { roles: BOTH },
  "keyframe_private.event_types": { roles: [] },
  "keyframe_private.search_horizon": { roles: [] },
  "keyframe_private.uuid_v7": { roles: [] },
  "keyframe_private.claim_active_predictions": { roles: [] },
  "keyframe_private.claim_cancellations": { roles: [] },
  "keyframe_private.claim_searches": { roles: [] },
  "keyframe_private.is_state_known": { roles: [] },
  "keyframe_private.lock_prediction": { roles: [] },
  "keyframe_private.record_run": { roles: [] },
  "keyframe_private.apply_provider_state": { roles: [] },
  "keyframe_private.lock_switched_endpoints": { roles: [] },
  "keyframe_private.seconds_since": { roles: [] },
  "keyframe_private.count_deliveries": { roles: [], definer: true },
  "keyframe_private.claim_deliveries": { roles: [] },
  "keyframe_private.wait_for_due": { roles: [] },
  "keyframe_private.has_due_task": { roles: [] },
  "keyframe_private.has_due_delivery": { roles: [] },
  "keyframe_private.require_max_in_flight": { roles: [] },
  "keyframe_private.held_deliveries": { roles: [] },
  "keyframe_private.next_lanes": { roles: [] },
  "keyframe_private.lock_free_lanes": { roles: [] },
  "keyframe_private.delivery_json": { roles: [] },
  "keyframe_private.endpoints_with_due": { roles: [] },
  "keyframe_private.owners_waiting": { roles: [] },
  "keyframe_private.expire_unanswered_submits": { roles: [] },
  "keyframe_private.prune_deleted_endpoints": { roles: [] },
  "keyframe_private.prune_rate_buckets": { roles: [] },
  "keyframe_private.failed_too_long": { roles: [] },
  "keyframe_private.is_managed": { roles: [] },
  "keyframe_private.managed_delivery": { roles: [] },
  "keyframe_private.managed_endpoint": { roles: [] },
  "keyframe_private.next_delivery_attempt": { roles: [] },
  "keyframe_private.record_kick": { roles: [] },
  "keyframe_private.record_endpoint_switch": { roles: [] },
  "keyframe_private.record_attempts": { roles: [] },
  "keyframe_private.store_idempotent_answer": { roles: [] },
  "keyframe_private.wire_time": { roles: [] },
  "keyframe_private.admit_all_waiting": { roles: [], definer: true },
  "keyframe_private.admit_next": { roles: [], definer: true },
  "keyframe_private.admit_waiting": { roles: [], definer: true },
  "keyframe_private.cancel_abandoned_run": { roles: [], definer: true },
  "keyframe_private.fail_overdue": { roles: [], definer: true },
  "keyframe_private.guard_prediction_move": { roles: [], definer: true },
  "keyframe_private.kick": { roles: [], definer: true },
  "keyframe_private.kick_generate": { roles: [], definer: true },
  "keyframe_private.kick_unless_running": { roles: [], definer: true },
  "keyframe_private.guard_project_deletion": { roles: [], definer: true },
  "keyframe_private.keep_reference": { roles: [], definer: true },
  "keyframe_private.is_only_submit_of_its_text": { roles: [] },
  "keyframe_private.limit_project_changes": { roles: [], definer: true },
  "keyframe_private.limit_projects": { roles: [], definer: true },
  "keyframe_private.queue_unused_references": { roles: [], definer: true },
  "keyframe_private.keep_unanswered_submit": { roles: [], definer: true },
  "keyframe_private.remove_deleted_files": { roles: [], definer: true },
  "keyframe_private.remove_deleted_reference": { roles: [], definer: true },
  "keyframe_private.remove_partial_output": { roles: [], definer: true },
  "keyframe_private.claim_removals": { roles: [] },
  "keyframe_private.claim_unanswered_submits": { roles: [] },
  "keyframe_private.stamp_project": { roles: [] },
  "keyframe_private.lock_references": { roles: [] },
  "keyframe_private.queue_partial_output": { roles: [] },
  "keyframe_private.output_names": { roles: [] },
  "keyframe_private.prepare_prediction": { roles: [], definer: true },
  "keyframe_private.prune": { roles: [], definer: true },
  "keyframe_private.sweep": { roles: [], definer: true },
  "keyframe_private.cancel_run": { roles: [] },
  "keyframe_private.deadline_of": { roles: [] },
  "keyframe_private.free_slots": { roles: [] },
  "keyframe_private.latest_succeeded": { roles: [] },
  "keyframe_private.lock_slots": { roles: [] },
  "keyframe_private.mark_canceled": { roles: [] },
  "keyframe_private.mark_failed": { roles: [] },
  "keyframe_private.mark_running": { roles: [] },
  "keyframe_private.record_heartbeat": { roles: [] },
  "keyframe_private.require_default": { roles: [] },
  "keyframe_private.require_frame": { roles: [] },
  "keyframe_private.require_selected_frames": { roles: [], definer: true },
  "keyframe_private.require_reference": { roles: [] },
  "keyframe_private.unselect_deleted_frame": { roles: [], definer: true },
  "keyframe_private.require_supported": { roles: [] },
  "keyframe_private.replace_default": { roles: [] },
};

const db = useDatabase();

type Found = {
  name: string;
  roles: string[];
  definer: boolean;
  settings: string[] | null;
  owner: string;
  open: boolean;
};
const functions = () => db.sql<Found[]>`
  select n.nspname || '.' || p.proname as name, p.prosecdef as definer, p.proconfig as settings, pg_get_userbyid(p.proowner) as owner,
    array(select r from unnest(array['anon', 'authenticated', 'service_role']) as r where has_function_privilege(r, p.oid, 'execute')) as roles,
    exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee = 0) as open
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')`;

test("every function of our schemas → may be executed by exactly these roles, with the caller's or the owner's rights", async () => {
  const found = await functions();
  expect(new Set(found.map(({ name }) => name)).size).toBe(found.length); // no overloads, which have the same name
  const actual = Object.fromEntries(
    found.map(({ name, roles, definer }) => [name, definer ? { roles, definer } : { roles }]),
  );
  expect(actual).toEqual(EXPECTED);
});

test("no function → is open to public, which every new role would inherit", async () => {
  expect((await functions()).filter(({ open }) => open)).toEqual([]);
});

test("every function → has an empty search_path, so that no other table can take a name", async () => {
  expect((await functions()).filter(({ settings }) => !settings?.includes('search_path=""'))).toEqual([]);
});

test("definer functions → belong to the role that runs migrations, not to an API role", async () => {
  const owners = new Set((await functions()).filter(({ definer }) => definer).map(({ owner }) => owner));
  expect(owners.size).toBe(1);
  for (const role of ["anon", "authenticated", "service_role", "authenticator"]) expect(owners).not.toContain(role);
});

test("the schema keyframe_private → closed to anon; no role of the API may create in any of ours", async () => {
  const rows = await db.sql`
    select r as role, has_schema_privilege(r, 'keyframe_private', 'usage') as usage,
      (select bool_or(has_schema_privilege(r, s, 'create')) from unnest(array['keyframe', 'keyframe_worker', 'keyframe_private']) as s) as creates
    from unnest(array['anon', 'authenticated', 'service_role']) as r`;
  expect([...rows]).toEqual([
    { role: "anon", usage: false, creates: false },
    { role: "authenticated", usage: true, creates: false },
    { role: "service_role", usage: true, creates: false },
  ]);
});

test.each([
  ["anon", "select keyframe_worker.claim_predictions(1, 60)"],
  ["authenticated", "select keyframe_worker.claim_predictions(1, 60)"],
  ["authenticated", "select keyframe_worker.record_provider_state(gen_random_uuid(), 1, 'run', 'failed')"],
  ["authenticated", "select keyframe_private.sweep()"],
  ["authenticated", "update keyframe.models set is_default = true where step = 'video'"],
  ["service_role", "select keyframe_private.store_idempotent_answer(gen_random_uuid(), '{}')"],
  ["service_role", "select keyframe_private.mark_failed(gen_random_uuid(), 'x', 'x', true)"],
  ["anon", "select keyframe_private.take_token('create')"],
  ["anon", "select keyframe.create_project('t', 'p')"],
  ["anon", "select keyframe.create_webhook_endpoint('https://example.com')"],
  ["authenticated", "select keyframe_worker.exchange_deliveries('[]', 1, 60)"],
  ["authenticated", "select keyframe_private.webhook_secret(gen_random_uuid())"],
  ["anon", "select keyframe.service_figures()"],
  ["authenticated", "select keyframe.service_figures()"],
  ["service_role", "select keyframe_private.webhook_secrets_of(gen_random_uuid())"],
  ["service_role", "select keyframe_private.emit_event('project.created', null, null, null, now(), '{}')"],
])("%s: %s → permission denied", async (role, statement) => {
  const sub = await db.addUser();
  expect((await refusalOf(db.as({ role, sub }, (sql) => sql.unsafe(statement)))).sqlstate).toBe("42501");
});

test.each([
  ["anon", "select decrypted_secret from vault.decrypted_secrets"],
  ["authenticated", "select decrypted_secret from vault.decrypted_secrets"],
  ["authenticated", "select vault.create_secret('x', 'keyframe_functions_url')"],
  ["anon", "select * from cron.job"],
  ["authenticated", "select cron.schedule('mine', '* * * * *', 'select 1')"],
  ["service_role", "select cron.schedule('mine', '* * * * *', 'select 1')"],
  ["authenticated", "select * from auth.users"],
])("%s: %s → permission denied", async (role, statement) => {
  expect((await refusalOf(db.as({ role }, (sql) => sql.unsafe(statement)))).sqlstate).toBe("42501");
});

test("pg_net's queue is everyone's, as hosted → so a kick in it holds no secret", async () => {
  await db.sql`select vault.create_secret('whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', 'keyframe_kick_secret'), vault.create_secret('http://127.0.0.1:9/functions/v1', 'keyframe_functions_url')`;
  await db.sql`select keyframe_private.kick('generate')`;
  const queued = await db.as({ role: "anon" }, async (sql) => {
    const [row] =
      await sql`select url, headers::text as headers, convert_from(body, 'UTF8') as body from net.http_request_queue`;
    return JSON.stringify(row);
  });
  expect(queued).toContain("webhook-signature");
  expect(queued).not.toContain("whsec_");
  expect(queued).not.toContain("c2VjcmV0");
  expect(queued).not.toMatch(/authorization|apikey|sb_secret/i);
});
