import { beforeAll, expect, test } from "vitest";
import { emptyBucket, fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

// What users may do at the Data API itself, past our functions. What they may not: test/security/columns-rest.test.ts, rest-tricks.test.ts.

const sql = openDatabase();
let user: User;
let stranger: User;
let projectId: string;
beforeAll(async () => {
  [user, stranger] = await Promise.all([signUp(), signUp()]);
  projectId = await user.createProject();
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

test("insert of a prediction into another user's project → not_found, as for one that never was", async () => {
  const insert = async (project_id: string) =>
    (await stranger.supabase.from("predictions").insert({ project_id, step: "first-frame" })).error;
  const foreign = await insert(projectId);
  expect([foreign?.code, foreign?.message]).toEqual(["KEYFR", "not_found"]);
  expect(foreign).toEqual(await insert(crypto.randomUUID()));
});

const wholeProject = (id: string) => sql`select * from keyframe.projects where id = ${id}`;

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
