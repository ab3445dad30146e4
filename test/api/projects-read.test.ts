import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { readProject } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
let user: User;
beforeAll(async () => {
  user = await signUp();
});

test("GET of a new project → 200 with what it was made of, and null for each step", async () => {
  const fields = { title: "Harbour", textPrompt: "Fog, 🚤", description: "As in the reference" };
  const projectId = await user.createProject(fields);
  const { createdAt, updatedAt, ...rest } = await readProject(user, projectId);
  expect(rest).toEqual({
    projectId,
    ...fields,
    referenceImagePath: null,
    selected: { "first-frame": null, "last-frame": null },
    predictions: { "first-frame": null, "last-frame": null, video: null },
  });
  expect(updatedAt).toBe(createdAt);
  expect(Math.abs(Date.now() - Date.parse(createdAt))).toBeLessThan(60_000);
});

test("GET of a project in the making → the latest of each step, whatever became of it: succeeded, failed, running", async () => {
  const projectId = await user.createProject();
  const older = await user.finish(await user.start("first-frame", { projectId }));
  const newer = await user.finish(await user.start("first-frame", { projectId, prompt: uniquePrompt() }));
  const prompt = uniquePrompt("[[fault:failed=The sea was too rough.]]");
  const failed = await user.finish(await user.start("last-frame", { projectId, prompt }));
  const video = await startStuck(sql, user, "video", projectId);
  const { predictions } = await readProject(user, projectId);
  expect(predictions["first-frame"]).toMatchObject({ predictionId: newer.predictionId, status: "succeeded" });
  expect(predictions["first-frame"]?.predictionId).not.toBe(older.predictionId);
  if (predictions["first-frame"]) await download(predictions["first-frame"]);
  expect(predictions["last-frame"]).toEqual(failed);
  expect(predictions.video).toMatchObject({ predictionId: video.predictionId, output: null, completedAt: null });
});

test("a newer run that failed or was canceled → shown in place of the older one that succeeded", async () => {
  const projectId = await user.createProject();
  await user.finish(await user.start("first-frame", { projectId }));
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  await user.post("/api/projects/generate/cancel", { projectId, predictionId });
  expect((await readProject(user, projectId)).predictions["first-frame"]).toMatchObject({
    predictionId,
    status: "canceled",
    output: null,
  });
});

test.each(["x", "latest", "00000000-0000-0000-0000-00000000000g", "%20", "reference-image"])(
  "GET, PATCH and DELETE of the project %j → 404: no identifier looks so",
  async (id) => {
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const json = method === "PATCH" ? { json: { title: "a" } } : {};
      const { status, error } = await user.call(`/api/projects/${id}`, { method, ...json });
      expect([method, status, error?.code]).toEqual([method, 404, "not_found"]);
    }
  },
);

test("GET with an identifier in capitals → the same project", async () => {
  const projectId = await user.createProject();
  expect((await readProject(user, projectId.toUpperCase())).projectId).toBe(projectId);
});
