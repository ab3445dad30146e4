import { beforeAll, expect, test } from "vitest";
import { emptyBucket } from "../support/api/buckets.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";

// What users may do at the Data API itself, past our functions. What they may not: test/security/rest-tricks.test.ts; which rows of
// others they reach: there, too.

const sql = openDatabase();
let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

test("insert of a prediction → it runs like one that the API started", async () => {
  const row = { project_id: projectId, step: "first-frame" };
  const columns = "id, owner_id, status, model";
  const { data, error } = await user.supabase.from("predictions").insert(row).select(columns).single();
  expect(error).toBeNull();
  expect(data).toMatchObject({ owner_id: user.id, status: "queued", model: "google/nano-banana-2" });
  const started = await user.read("first-frame", projectId, String(data?.id));
  expect((await user.finish(started)).status).toBe("succeeded");
});

test("insert, update and delete of the caller's project → done; rate_limited when there are no tokens left", async () => {
  const table = user.supabase.from("projects");
  const row = { title: "Lighthouse", text_prompt: "A lighthouse" };
  const requests = [
    () => table.insert(row).select("owner_id, title").single(),
    () => table.update({ title: "Storm" }).eq("id", projectId).select("owner_id, title").single(),
    () => table.delete().eq("id", projectId).select("owner_id, title").single(),
  ];
  for (const rateClass of ["create", "change"] as const) await emptyBucket(sql, user.id, rateClass);
  for (const request of requests) {
    expect((await request()).error).toMatchObject({ code: "KEYFR", message: "rate_limited" });
  }
  await sql`delete from keyframe_private.rate_buckets where owner_id = ${user.id}`;
  for (const [index, title] of ["Lighthouse", "Storm", "Storm"].entries()) {
    expect(await requests[index]?.()).toMatchObject({ error: null, data: { owner_id: user.id, title } });
  }
  expect(await sql`select from keyframe.predictions where project_id = ${projectId}`).toEqual([]);
});
