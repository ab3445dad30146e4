import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";

const USER = ["authenticated"];
const SERVICE = ["service_role"];
const BOTH = ["authenticated", "service_role"];

type Granted = { schema?: string; roles: string[]; definer?: true; names: string };
/** The functions that a role of the API may execute; `definer` where they run with their owner's rights. Every other is closed. */
const GRANTED: Granted[] = [
  { roles: ["anon", ...BOTH], definer: true, names: "health" },
  // What the api function calls with the caller's own token, and the dashboard through the Data API.
  { roles: USER, names: "admit_upload read_project update_project delete_project read_film" },
  {
    ...{ roles: USER, definer: true },
    names:
      "create_project list_projects list_models start_prediction estimate_prediction read_prediction list_predictions cancel_prediction " +
      "update_prediction delete_prediction webhook_health read_usage " +
      "create_film list_films update_film delete_film",
  },
  // The same for webhooks; with the secret key they manage the service-wide endpoints.
  {
    ...{ roles: BOTH, definer: true },
    names:
      "create_webhook_endpoint list_webhook_endpoints read_webhook_endpoint update_webhook_endpoint delete_webhook_endpoint " +
      "reveal_webhook_secret rotate_webhook_secret test_webhook_endpoint list_webhook_deliveries read_webhook_delivery " +
      "redeliver_webhook recover_webhook_endpoint",
  },
  // What is called with the secret key, by the api function and by the workers.
  { roles: SERVICE, definer: true, names: "service_figures" },
  // What it calls for a server that acts for a user. act_as calls as the user what users may execute.
  { schema: "keyframe_worker", roles: SERVICE, names: "act_as" },
  { roles: SERVICE, names: "assign_upload" },
  { schema: "keyframe_private", roles: SERVICE, definer: true, names: "claims_for_server" },
  {
    ...{ schema: "keyframe_worker", roles: SERVICE, definer: true },
    names:
      "claim_predictions record_provider_state record_model_refused record_run_not_canceled complete_prediction fail_prediction retry_prediction_later " +
      "poll_prediction_later record_search_ended discard_output record_files_removed exchange_deliveries",
  },
  // What the user's functions and checks need below them.
  {
    ...{ schema: "keyframe_private", roles: BOTH },
    names:
      "raise_error has_visible_character is_one_line is_plain_text is_reference_path prediction_json queue_position",
  },
  { schema: "keyframe_private", roles: USER, names: "refuse_changed_project shots_of film_json" },
  { schema: "keyframe_private", roles: BOTH, definer: true, names: "reserve_idempotency_key cost_json" },
  {
    ...{ schema: "keyframe_private", roles: USER, definer: true },
    names: "step_predictions take_token rate_state set_request_hash",
  },
];
const EXPECTED = Object.fromEntries(
  GRANTED.flatMap(({ schema = "keyframe", names, ...rights }) =>
    names.split(" ").map((name) => [`${schema}.${name}`, rights]),
  ),
);

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

test("every function of our schemas → may be executed by exactly these roles, with the caller's or the owner's rights, or by none; never by public", async () => {
  const found = await functions();
  expect(new Set(found.map(({ name }) => name)).size).toBe(found.length); // no overloads, which have the same name
  const granted = found.filter(({ roles }) => roles.length > 0);
  const actual = granted.map(({ name, roles, definer }) => [name, definer ? { roles, definer } : { roles }]);
  expect(Object.fromEntries(actual)).toEqual(EXPECTED);
  expect(found.filter(({ open }) => open)).toEqual([]); // public, whose rights every new role has
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
