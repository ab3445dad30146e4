import { beforeAll, expect, test } from "vitest";
import { emptyBucket, fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { createDataClient, type DataClient, signUp, type User } from "../support/api/user.ts";

// What users may do at the Data API itself, past our functions.

const sql = openDatabase();
let user: User;
let stranger: User;
let anonymous: DataClient;
let projectId: string;
let predictionId: string;
beforeAll(async () => {
  anonymous = createDataClient();
  [user, stranger] = await Promise.all([signUp(), signUp()]);
  projectId = await user.createProject();
  predictionId = (await startStuck(sql, user, "first-frame", projectId)).predictionId;
});

const DENIED = "42501";

test("select → each user sees their own projects and predictions, and no others", async () => {
  await stranger.createProject();
  for (const [reader, projects, predictions] of [
    [user, 1, 1],
    [stranger, 1, 0],
  ] as const) {
    const seen = await reader.supabase.from("projects").select("id, owner_id");
    expect(seen.error).toBeNull();
    expect(seen.data).toHaveLength(projects);
    expect(seen.data?.every(({ owner_id }) => owner_id === reader.id)).toBe(true);
    expect((await reader.supabase.from("predictions").select("id")).data).toHaveLength(predictions);
  }
});

test("select of another user's row by its identifier → nothing, not a refusal: existence is not revealed", async () => {
  const project = await stranger.supabase.from("projects").select().eq("id", projectId);
  expect([project.error, project.data]).toEqual([null, []]);
  const prediction = await stranger.supabase.from("predictions").select().eq("id", predictionId).maybeSingle();
  expect([prediction.error, prediction.data]).toEqual([null, null]);
});

test.each(["projects", "predictions", "models"])("anonymous select from %s → refused", async (table) => {
  const { data, error } = await anonymous.from(table).select();
  expect([data, error?.code]).toEqual([null, DENIED]);
});

test("insert of a project → the caller's own, for every caller", async () => {
  const row = { title: "Harbour", text_prompt: "Dawn" };
  const { data, error } = await user.supabase.from("projects").insert(row).select("owner_id").single();
  expect([error, data]).toEqual([null, { owner_id: user.id }]);
});

test("insert of a prediction → it runs like one that the API started", async () => {
  const row = { project_id: projectId, step: "first-frame" };
  const { data, error } = await user.supabase
    .from("predictions")
    .insert(row)
    .select("id, owner_id, status, model")
    .single();
  expect(error).toBeNull();
  expect(data).toMatchObject({ owner_id: user.id, status: "queued", model: "google/nano-banana" });
  const started = await user.read("first-frame", projectId, String(data?.id));
  expect((await user.finish(started)).status).toBe("succeeded");
});

test.each([
  ["projects", { owner_id: crypto.randomUUID() }],
  ["projects", { created_at: "2020-01-01T00:00:00Z" }],
  ["predictions", { owner_id: crypto.randomUUID() }],
  ["predictions", { status: "succeeded" }],
  ["predictions", { model: "google/nano-banana-pro" }],
  ["predictions", { attempt: 0 }],
  ["predictions", { provider_prediction_id: "mine" }],
  ["predictions", { output_path: "a/b/c.png" }],
  ["predictions", { next_attempt_at: "2020-01-01T00:00:00Z" }],
  ["predictions", { deadline_at: "2099-01-01T00:00:00Z" }],
  ["predictions", { lease_token: crypto.randomUUID() }],
])("insert into %s with %j → refused by the column grant, and nothing changed", async (table, field) => {
  const row = table === "projects" ? { title: "a", text_prompt: "b" } : { project_id: projectId, step: "first-frame" };
  const before = await footprint(sql, user.id);
  const { error } = await user.supabase.from(table).insert({ ...row, ...field });
  expect(error?.code).toBe(DENIED);
  expect(await footprint(sql, user.id)).toEqual(before);
});

test("insert of a prediction into another user's project → not_found, as for one that never was", async () => {
  const insert = async (project_id: string) =>
    (await stranger.supabase.from("predictions").insert({ project_id, step: "first-frame" })).error;
  const foreign = await insert(projectId);
  expect([foreign?.code, foreign?.message]).toEqual(["KEYFR", "not_found"]);
  expect(foreign).toEqual(await insert(crypto.randomUUID()));
});

const wholeProject = (id: string) => sql`select * from keyframe.projects where id = ${id}`;

test("update and delete of predictions and models, of the caller too → refused, and nothing changed", async () => {
  const before = [await wholeProject(projectId), await footprint(sql, user.id)];
  for (const { supabase } of [user, stranger]) {
    const errors = await Promise.all([
      supabase.from("predictions").update({ status: "succeeded" }).eq("id", predictionId),
      supabase.from("predictions").update({ prompt: "another" }).eq("id", predictionId),
      supabase.from("predictions").delete().eq("id", predictionId),
      supabase.from("models").update({ is_default: true }).eq("model", "google/veo-3.1"),
      supabase.from("models").insert({ step: "video", model: "a/b", first_frame_field: "x" }),
    ]);
    expect(errors.map(({ error }) => error?.code)).toEqual(errors.map(() => DENIED));
  }
  expect([await wholeProject(projectId), await footprint(sql, user.id)]).toEqual(before);
});

test("update of the caller's project → done, updated_at moves, and it takes a token as PATCH does", async () => {
  const own = await user.createProject();
  const [before] = await wholeProject(own);
  await fillBuckets(sql, user.id);
  const change = { title: "Lighthouse", text_prompt: "A lighthouse", description: "Storm" };
  const { data, error } = await user.supabase.from("projects").update(change).eq("id", own).select().single();
  expect(error).toBeNull();
  expect(data).toMatchObject({ id: own, owner_id: user.id, ...change });
  const [after] = await wholeProject(own);
  expect(after?.updated_at > before?.updated_at).toBe(true);
  expect(await tokensTaken(sql, user.id, "change")).toBe(1);
});

test.each([
  { id: crypto.randomUUID() },
  { owner_id: crypto.randomUUID() },
  { created_at: "2020-01-01T00:00:00Z" },
  { updated_at: "2020-01-01T00:00:00Z" },
])("update of the caller's project with %j → refused by the column grant", async (field) => {
  const before = await wholeProject(projectId);
  const { error } = await user.supabase.from("projects").update(field).eq("id", projectId);
  expect(error?.code).toBe(DENIED);
  expect(await wholeProject(projectId)).toEqual(before);
});

test.each([
  ["title", { title: "" }],
  ["text_prompt", { text_prompt: "p".repeat(4001) }],
  ["description", { description: "d".repeat(4001) }],
])("update of the caller's project with a %s of no allowed length → refused by its check", async (_column, change) => {
  const { error } = await user.supabase.from("projects").update(change).eq("id", projectId);
  expect(error?.code).toBe("23514");
});

test("delete of the caller's project → refused while something runs, then done, with its predictions", async () => {
  const own = await user.createProject();
  const running = await startStuck(sql, user, "first-frame", own);
  const remove = () => user.supabase.from("projects").delete().eq("id", own).select("id");
  const refused = await remove();
  expect([refused.error?.code, refused.error?.message]).toEqual(["KEYFR", "generation_in_progress"]);
  await user.post("/api/projects/generate/cancel", { projectId: own, predictionId: running.predictionId });
  expect(await remove()).toMatchObject({ error: null, data: [{ id: own }] });
  expect(await sql`select from keyframe.predictions where project_id = ${own}`).toEqual([]);
});

test("update, upsert and delete of another user's project → nothing is found, nothing changed", async () => {
  const before = [await wholeProject(projectId), await footprint(sql, user.id)];
  const projects = () => stranger.supabase.from("projects");
  expect((await projects().update({ title: "Mine now" }).eq("id", projectId).select()).data).toEqual([]);
  expect((await projects().delete().eq("id", projectId).select()).data).toEqual([]);
  const upsert = await projects().upsert({ id: projectId, title: "Mine now", text_prompt: "b" });
  expect(upsert.error?.code).toBe(DENIED);
  expect([await wholeProject(projectId), await footprint(sql, user.id)]).toEqual(before);
});

test("update, insert and delete without a session → refused", async () => {
  const before = await wholeProject(projectId);
  const refusals = await Promise.all([
    anonymous.from("projects").update({ title: "Mine now" }).eq("id", projectId),
    anonymous.from("projects").insert({ title: "a", text_prompt: "b" }),
    anonymous.from("projects").delete().eq("id", projectId),
  ]);
  expect(refusals.map(({ error }) => error?.code)).toEqual(refusals.map(() => DENIED));
  expect(await wholeProject(projectId)).toEqual(before);
});

test("the rate limit → holds for inserts, updates and deletions past the API too", async () => {
  const hasty = await signUp();
  const own = await hasty.createProject();
  await emptyBucket(sql, hasty.id, "change");
  for (const { error } of [
    await hasty.supabase.from("projects").update({ title: "b" }).eq("id", own),
    await hasty.supabase.from("projects").delete().eq("id", own),
  ]) {
    expect([error?.code, error?.message]).toEqual(["KEYFR", "rate_limited"]);
  }
  await sql`update keyframe_private.rate_buckets set tokens = -29, refilled_at = now() where owner_id = ${hasty.id}`;
  const { error } = await hasty.supabase.from("projects").insert({ title: "a", text_prompt: "b" });
  expect([error?.code, error?.message]).toEqual(["KEYFR", "rate_limited"]);
});

test("every SQL function of the service → refused to users and without a session", async () => {
  const forUsers = [
    "create_project",
    "list_projects",
    "read_project",
    "update_project",
    "delete_project",
    "list_predictions",
    "start_prediction",
    "read_prediction",
    "cancel_prediction",
    "admit_upload",
    "create_webhook_endpoint",
    "list_webhook_endpoints",
    "read_webhook_endpoint",
    "update_webhook_endpoint",
    "delete_webhook_endpoint",
    "reveal_webhook_secret",
    "rotate_webhook_secret",
    "test_webhook_endpoint",
    "list_webhook_deliveries",
    "read_webhook_delivery",
    "redeliver_webhook",
    "recover_webhook_endpoint",
    "webhook_health",
  ];
  const functions = await sql<{ schema: "keyframe" | "keyframe_worker"; name: string; names: string[] }[]>`
    select p.pronamespace::regnamespace::text as schema, p.proname as name, coalesce(p.proargnames[1:p.pronargs], '{}') as names
    from pg_proc p where p.pronamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace) order by 2`;
  expect(functions.map(({ name }) => name)).toEqual(expect.arrayContaining(["claim_predictions", ...forUsers]));
  for (const { schema, name, names } of functions) {
    if (name === "health") continue;
    const args = Object.fromEntries(names.map((argument) => [argument, null]));
    const callers = forUsers.includes(name) ? [anonymous] : [anonymous, user.supabase];
    for (const caller of callers) {
      const { data, error } = await caller.schema(schema).rpc(name, args);
      expect([name, data, error?.code]).toEqual([name, null, DENIED]);
    }
  }
});

test("cancel_prediction called as SQL function on another user's prediction → not_found, and it goes on", async () => {
  const { error } = await stranger.supabase.rpc("cancel_prediction", {
    project_id: projectId,
    prediction_id: predictionId,
  });
  expect([error?.code, error?.message]).toEqual(["KEYFR", "not_found"]);
  expect((await user.read("first-frame", projectId, predictionId)).status).toBe("starting");
});

test.each([
  ["keyframe_private", "settings"],
  ["keyframe_private", "idempotency_keys"],
  ["vault", "decrypted_secrets"],
  ["net", "http_request_queue"],
  ["cron", "job"],
  ["auth", "users"],
])("the schema %s → not reachable through the Data API", async (schema, table) => {
  for (const client of [anonymous, user.supabase]) {
    const { data, error } = await client.schema(schema).from(table).select();
    expect(data).toBeNull();
    expect(error).not.toBeNull();
  }
});
