import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/clone-database.ts";
import { refusalOf } from "../support/db-refusal.ts";

const USER = ["authenticated"];
const SERVICE = ["service_role"];
const BOTH = ["authenticated", "service_role"];

/** Who may execute each function of public and private; `definer` where it runs with its owner's rights. */
const EXPECTED: Record<string, { roles: string[]; definer?: true }> = {
  "public.health": { roles: ["anon", ...BOTH] },
  // What the api function calls with the caller's own token.
  "public.create_project": { roles: USER, definer: true },
  "public.start_prediction": { roles: USER, definer: true },
  "public.read_prediction": { roles: USER, definer: true },
  "public.admit_upload": { roles: USER },
  "public.list_projects": { roles: USER, definer: true },
  "public.read_project": { roles: USER },
  "public.update_project": { roles: USER },
  "public.delete_project": { roles: USER },
  "public.list_predictions": { roles: USER, definer: true },
  "public.cancel_prediction": { roles: USER, definer: true },
  // The same for webhooks; with the secret key they manage the service-wide endpoints.
  "public.create_webhook_endpoint": { roles: BOTH, definer: true },
  "public.list_webhook_endpoints": { roles: BOTH, definer: true },
  "public.read_webhook_endpoint": { roles: BOTH, definer: true },
  "public.update_webhook_endpoint": { roles: BOTH, definer: true },
  "public.delete_webhook_endpoint": { roles: BOTH, definer: true },
  "public.reveal_webhook_secret": { roles: BOTH, definer: true },
  "public.rotate_webhook_secret": { roles: BOTH, definer: true },
  "public.test_webhook_endpoint": { roles: BOTH, definer: true },
  "public.list_webhook_deliveries": { roles: BOTH, definer: true },
  "public.redeliver_webhook": { roles: BOTH, definer: true },
  "public.recover_webhook_endpoint": { roles: BOTH, definer: true },
  // What the dashboard calls through the Data API.
  "public.webhook_health": { roles: USER, definer: true },
  // What the other functions call with the secret key.
  "public.claim_predictions": { roles: SERVICE, definer: true },
  "public.record_provider_state": { roles: SERVICE, definer: true },
  "public.record_run_canceled": { roles: SERVICE, definer: true },
  "public.complete_prediction": { roles: SERVICE, definer: true },
  "public.fail_prediction": { roles: SERVICE, definer: true },
  "public.retry_prediction_later": { roles: SERVICE, definer: true },
  "public.poll_prediction_later": { roles: SERVICE, definer: true },
  "public.record_search_ended": { roles: SERVICE, definer: true },
  "public.give_up_output": { roles: SERVICE, definer: true },
  "public.record_files_removed": { roles: SERVICE, definer: true },
  "public.exchange_deliveries": { roles: SERVICE, definer: true },
  // What the api function calls for who has the secret key.
  "public.service_figures": { roles: SERVICE, definer: true },
  // What the user's functions need below them.
  "private.raise_error": { roles: BOTH },
  "private.has_visible_character": { roles: BOTH },
  "private.is_one_line": { roles: BOTH },
  "private.is_plain_text": { roles: BOTH },
  "private.prediction_json": { roles: BOTH },
  "private.queue_position": { roles: BOTH },
  "private.latest_predictions": { roles: USER, definer: true },
  "private.take_token": { roles: USER, definer: true },
  "private.rate_state": { roles: USER, definer: true },
  "private.complete_request": { roles: USER, definer: true },
  "private.remember_request": { roles: BOTH, definer: true },
  // Triggers, helpers and what cron runs: nobody's.
  "private.add_webhook_secret": { roles: [], definer: true },
  "private.emit_event": { roles: [], definer: true },
  "private.emit_generation_ended": { roles: [], definer: true },
  "private.emit_project_created": { roles: [], definer: true },
  "private.equip_webhook_endpoint": { roles: [], definer: true },
  "private.forget_webhook_secret": { roles: [], definer: true },
  "private.note_deleted_endpoint": { roles: [], definer: true },
  "private.prepare_webhook_endpoint": { roles: [], definer: true },
  "private.refuse_used_id": { roles: [], definer: true },
  "private.prune_webhooks": { roles: [], definer: true },
  "private.rotate_webhook_secret": { roles: [], definer: true },
  "private.webhook_secret": { roles: [], definer: true },
  "private.webhook_secrets_of": { roles: [], definer: true },
  "private.live_webhook_secrets": { roles: [], definer: true },
  "private.cron_figures": { roles: [] },
  "private.delivery_figures": { roles: [] },
  "private.event_figures": { roles: [] },
  "private.file_figures": { roles: [] },
  "private.kick_figures": { roles: [] },
  "private.last_kick_figures": { roles: [] },
  "private.prediction_figures": { roles: [] },
  "private.require_user": { roles: [] },
  "private.seconds_since": { roles: [] },
  "private.count_delivery": { roles: [], definer: true },
  "private.count_deliveries": { roles: [] },
  "private.delivery_outcome": { roles: [] },
  "private.free_slot": { roles: [] },
  "private.claim_deliveries": { roles: [] },
  "private.wait_for_due": { roles: [] },
  "private.wait_for_task": { roles: [] },
  "private.endpoint_places": { roles: [] },
  "private.delivery_json": { roles: [] },
  "private.endpoints_with_due": { roles: [] },
  "private.leased_deliveries": { roles: [] },
  "private.owners_waiting": { roles: [] },
  "private.forget_unheard": { roles: [] },
  "private.prune_deleted_endpoints": { roles: [] },
  "private.prune_rate_buckets": { roles: [] },
  "private.failed_too_long": { roles: [] },
  "private.is_managed": { roles: [] },
  "private.managed_delivery": { roles: [] },
  "private.managed_endpoint": { roles: [] },
  "private.next_delivery_attempt": { roles: [] },
  "private.note_kick": { roles: [] },
  "private.note_endpoint_switch": { roles: [] },
  "private.record_attempts": { roles: [] },
  "private.remember_answer": { roles: [] },
  "private.wire_time": { roles: [] },
  "private.admit_all_waiting": { roles: [], definer: true },
  "private.admit_next": { roles: [], definer: true },
  "private.admit_waiting": { roles: [], definer: true },
  "private.cancel_abandoned_run": { roles: [], definer: true },
  "private.fail_overdue": { roles: [], definer: true },
  "private.guard_prediction_move": { roles: [], definer: true },
  "private.kick": { roles: [], definer: true },
  "private.kick_generate": { roles: [], definer: true },
  "private.kick_unless_looking": { roles: [], definer: true },
  "private.guard_project_deletion": { roles: [], definer: true },
  "private.keep_reference": { roles: [], definer: true },
  "private.is_only_submit_of_its_text": { roles: [] },
  "private.limit_project_changes": { roles: [], definer: true },
  "private.limit_projects": { roles: [], definer: true },
  "private.note_unused_references": { roles: [], definer: true },
  "private.remember_unanswered_submit": { roles: [], definer: true },
  "private.remove_deleted_files": { roles: [], definer: true },
  "private.remove_partial_output": { roles: [], definer: true },
  "private.claim_removals": { roles: [] },
  "private.claim_unanswered_submits": { roles: [] },
  "private.date_project": { roles: [] },
  "private.lock_references": { roles: [] },
  "private.note_partial_output": { roles: [] },
  "private.output_names": { roles: [] },
  "private.prepare_prediction": { roles: [], definer: true },
  "private.prune": { roles: [], definer: true },
  "private.sweep": { roles: [], definer: true },
  "private.cancel_run": { roles: [] },
  "private.deadline_of": { roles: [] },
  "private.free_places": { roles: [] },
  "private.latest_succeeded": { roles: [] },
  "private.lock_places": { roles: [] },
  "private.mark_canceled": { roles: [] },
  "private.mark_failed": { roles: [] },
  "private.mark_processing": { roles: [] },
  "private.mark_starting": { roles: [] },
  "private.mark_storing": { roles: [] },
  "private.note_lookout": { roles: [] },
  "private.require_default": { roles: [] },
  "private.require_frame": { roles: [] },
  "private.require_reference": { roles: [] },
  "private.require_supported": { roles: [] },
  "private.take_default": { roles: [] },
};

let db: ClonedDatabase;
beforeAll(async () => {
  db = await cloneDatabase();
});
afterAll(() => db.drop());

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
  where n.nspname in ('public', 'private')`;

test("every function of public and private → may be executed by exactly these roles, with the caller's or the owner's rights", async () => {
  const found = await functions();
  expect(new Set(found.map(({ name }) => name)).size).toBe(found.length); // no overloads, which the names above could not tell apart
  const actual = Object.fromEntries(
    found.map(({ name, roles, definer }) => [name, definer ? { roles, definer } : { roles }]),
  );
  expect(actual).toEqual(EXPECTED);
});

test("no function → is open to public, which every new role would inherit", async () => {
  expect((await functions()).filter(({ open }) => open)).toEqual([]);
});

test("every function → has an empty search_path, so nobody can slip another table under it", async () => {
  expect((await functions()).filter(({ settings }) => !settings?.includes('search_path=""'))).toEqual([]);
});

test("definer functions → belong to the role that runs migrations, not to an API role", async () => {
  const owners = new Set((await functions()).filter(({ definer }) => definer).map(({ owner }) => owner));
  expect(owners.size).toBe(1);
  for (const role of ["anon", "authenticated", "service_role", "authenticator"]) expect(owners).not.toContain(role);
});

test("the schema private → closed to anon, nobody of the API may create in it or in public", async () => {
  const rows = await db.sql`
    select r as role, has_schema_privilege(r, 'private', 'usage') as usage,
      has_schema_privilege(r, 'private', 'create') or has_schema_privilege(r, 'public', 'create') as creates
    from unnest(array['anon', 'authenticated', 'service_role']) as r`;
  expect([...rows]).toEqual([
    { role: "anon", usage: false, creates: false },
    { role: "authenticated", usage: true, creates: false },
    { role: "service_role", usage: true, creates: false },
  ]);
});

test.each([
  ["anon", "select public.claim_predictions(1, 60)"],
  ["authenticated", "select public.claim_predictions(1, 60)"],
  ["authenticated", "select public.record_provider_state(gen_random_uuid(), 1, 'run', 'failed')"],
  ["authenticated", "select private.sweep()"],
  ["authenticated", "update public.generation_models set is_default = true where step = 'video'"],
  ["service_role", "select private.remember_answer(gen_random_uuid(), '{}')"],
  ["service_role", "select private.mark_failed(gen_random_uuid(), 'x', 'x', true)"],
  ["anon", "select private.take_token('create')"],
  ["anon", "select public.create_project('t', 'p')"],
  ["anon", "select public.create_webhook_endpoint('https://example.com')"],
  ["authenticated", "select public.exchange_deliveries('[]', 1, 60)"],
  ["authenticated", "select private.webhook_secret(gen_random_uuid())"],
  ["anon", "select public.service_figures()"],
  ["authenticated", "select public.service_figures()"],
  ["service_role", "select private.webhook_secrets_of(gen_random_uuid())"],
  ["service_role", "select private.emit_event('project.created', null, null, null, now(), '{}')"],
])("%s: %s → permission denied", async (role, statement) => {
  const sub = await db.addUser();
  expect((await refusalOf(db.as({ role, sub }, (sql) => sql.unsafe(statement)))).sqlstate).toBe("42501");
});

test.each([
  ["anon", "select decrypted_secret from vault.decrypted_secrets"],
  ["authenticated", "select decrypted_secret from vault.decrypted_secrets"],
  ["authenticated", "select vault.create_secret('x', 'functions_url')"],
  ["anon", "select * from cron.job"],
  ["authenticated", "select cron.schedule('mine', '* * * * *', 'select 1')"],
  ["service_role", "select cron.schedule('mine', '* * * * *', 'select 1')"],
  ["authenticated", "select * from auth.users"],
])("%s: %s → permission denied", async (role, statement) => {
  expect((await refusalOf(db.as({ role }, (sql) => sql.unsafe(statement)))).sqlstate).toBe("42501");
});

test("pg_net's queue is everyone's, as hosted → so a kick in it holds no secret", async () => {
  await db.sql`select vault.create_secret('whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', 'kick_secret'), vault.create_secret('http://127.0.0.1:9/functions/v1', 'functions_url')`;
  await db.sql`select private.kick('generate')`;
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
