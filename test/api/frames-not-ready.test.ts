import { beforeAll, expect, test } from "vitest";
import { footprint, openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
let running: string;
let failed: string;
let canceled: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  const failing = await user.start("first-frame", { projectId, prompt: uniquePrompt("[[fault:failed]]") });
  running = (await startStuck(sql, user, "first-frame", projectId)).predictionId;
  canceled = (await startStuck(sql, user, "first-frame", projectId)).predictionId;
  await user.post("/api/projects/generate/cancel", { projectId, predictionId: canceled });
  failed = (await user.finish(failing)).predictionId;
});

async function refusal(step: string, body: Record<string, unknown>) {
  const before = await footprint(sql, user.id);
  const { status, error } = await user.post(`/api/projects/generate/${step}`, body);
  expect((await footprint(sql, user.id)).tokens).toEqual(before.tokens);
  const [rows] = await sql<{ count: number }[]>`
    select count(*)::int as count from keyframe.predictions where owner_id = ${user.id} and step::text = ${step}`;
  expect(rows?.count).toBe(0);
  return [status, error?.code];
}

test("a video of a project whose first frames run, failed or were canceled → 409 frame_not_ready", async () => {
  expect(await refusal("video", { projectId })).toEqual([409, "frame_not_ready"]);
});

test("a video of a project without any frame → 409 frame_not_ready", async () => {
  expect(await refusal("video", { projectId: await user.createProject() })).toEqual([409, "frame_not_ready"]);
});

test("a frame named that runs, failed or was canceled → 409 frame_not_ready, for the last frame and the video", async () => {
  for (const firstFramePredictionId of [running, failed, canceled]) {
    expect(await refusal("last-frame", { projectId, firstFramePredictionId })).toEqual([409, "frame_not_ready"]);
    expect(await refusal("video", { projectId, firstFramePredictionId })).toEqual([409, "frame_not_ready"]);
  }
});

test("a first frame named as the last one, or of another project → 404", async () => {
  const other = await user.createProject();
  expect(await refusal("video", { projectId, lastFramePredictionId: running })).toEqual([404, "not_found"]);
  expect(await refusal("last-frame", { projectId: other, firstFramePredictionId: running })).toEqual([
    404,
    "not_found",
  ]);
});

test.each([
  ["first-frame", { firstFramePredictionId: crypto.randomUUID() }, "firstFramePredictionId"],
  ["first-frame", { durationSeconds: 5 }, "durationSeconds"],
  ["last-frame", { lastFramePredictionId: crypto.randomUUID() }, "lastFramePredictionId"],
  ["last-frame", { durationSeconds: 5 }, "durationSeconds"],
  ["video", { durationSeconds: 0 }, "durationSeconds"],
  ["video", { durationSeconds: 61 }, "durationSeconds"],
  ["video", { durationSeconds: 5.5 }, "durationSeconds"],
  ["video", { durationSeconds: "5" }, "durationSeconds"],
  ["video", { firstFramePredictionId: "latest" }, "firstFramePredictionId"],
  ["video", { model: "google/veo-3.1" }, "model"],
  ["video", { prompt: "" }, "prompt"],
  ["video", { prompt: "x".repeat(4001) }, "prompt"],
  ["video", { prompt: null }, "prompt"],
  ["video", { status: "succeeded" }, "status"],
])("POST %s with %j → 400 invalid_request that names %s", async (step, fields, path) => {
  const { status, error } = await user.post(`/api/projects/generate/${step}`, { projectId, ...fields });
  expect([status, error?.code, error?.details?.map((detail) => detail.path)]).toEqual([400, "invalid_request", [path]]);
});
