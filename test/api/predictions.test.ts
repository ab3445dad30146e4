import { beforeAll, expect, test } from "vitest";
import { output as outputSchema, type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { listPredictions } from "../support/api/projects.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const startFrame = (fault = "") => user.start("first-frame", { projectId, prompt: uniquePrompt(fault) });
const pathOf = ({ step, projectId, predictionId }: Prediction) =>
  `/api/projects/generate/${step}?${new URLSearchParams({ projectId, predictionId })}`;
const cancel = (by: User, { projectId, predictionId }: Prediction) =>
  by.post("/api/projects/generate/cancel", { projectId, predictionId });

// Which predictions can be canceled: test/db/predictions/transition-matrix.test.ts.

test("POST first-frame, and a slower video → 202 with a queued prediction and a fitting Retry-After", async () => {
  const first = await user.post("/api/projects/generate/first-frame", { projectId });
  expect([first.status, first.headers.get("retry-after")]).toEqual([202, "1"]);
  expect(first.data).toMatchObject({
    projectId,
    step: "first-frame",
    status: "queued",
    queuePosition: 0,
    attempt: 0,
  });
  await user.finish(prediction.parse(first.data));
  const video = await user.post("/api/projects/generate/video", { projectId, prompt: "[[fault:rejected]]" });
  expect([video.status, video.headers.get("retry-after")]).toEqual([202, "2"]);
});

test("reads of an output in a row → the same signed URL, first valid for an hour; an altered URL is refused", async () => {
  const done = await user.finish(await startFrame());
  const again = await user.read("first-frame", projectId, done.predictionId);
  const { url, expiresAt } = outputSchema.parse(again.output);
  expect(url).toBe(done.output?.url);
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(58);
  expect(minutes).toBeLessThanOrEqual(60.1);
  expect((await fetch(url.replace(done.predictionId, crypto.randomUUID()))).ok).toBe(false);
  expect((await fetch(url.slice(0, url.indexOf("?")))).ok).toBe(false);
});

test("GET of a step without predictionId → its latest run, whatever its status; the list has all runs, newest first", async () => {
  const own = await user.createProject();
  expect((await user.call(`/api/projects/generate/first-frame?projectId=${own}`)).error?.code).toBe("not_found");
  const done = await user.finish(await user.start("first-frame", { projectId: own }));
  const prompt = uniquePrompt("[[fault:failed]]");
  const failed = await user.finish(await user.start("last-frame", { projectId: own, prompt }));
  expect((await user.read("first-frame", own)).predictionId).toBe(done.predictionId);
  const running = await startStuck(sql, user, "first-frame", own);
  expect((await user.read("first-frame", own)).predictionId).toBe(running.predictionId);
  const { predictions, nextCursor } = await listPredictions(user, own);
  const ids = [running, failed, done].map(({ predictionId }) => predictionId);
  expect([predictions.map((one) => one.predictionId), nextCursor]).toEqual([ids, null]);
  expect([predictions[0]?.status, predictions[1]]).toEqual(["starting", failed]);
  if (predictions[2]) await download(predictions[2]);
  expect((await listPredictions(user, own, { step: "last-frame" })).predictions).toEqual([failed]);
  expect((await listPredictions(user, own, { step: "video" })).predictions).toEqual([]);
});

test("GET of a failed generation → 200, success: true, with the provider's reason as data.error", async () => {
  const failed = await user.finish(await startFrame("[[fault:failed=The sea was too rough. (E1001)]]"));
  const { status, headers, data, error } = await user.call(pathOf(failed));
  expect([status, error, headers.get("retry-after")]).toEqual([200, null, null]);
  expect(prediction.parse(data)).toMatchObject({
    status: "failed",
    output: null,
    error: {
      code: "provider_failed",
      message: expect.stringContaining("The sea was too rough. (E1001)"),
      retryable: true,
    },
  });
});

test("GET while a prediction waits for the provider → starting, with Retry-After; 20 reads change nothing", async () => {
  const stuck = await startStuck(sql, user, "first-frame", projectId);
  const row = () => sql`select p, xmin from keyframe.predictions p where id = ${stuck.predictionId}`;
  const before = await row();
  const replies = await Promise.all(Array.from({ length: 20 }, () => user.call(pathOf(stuck))));
  for (const { headers, data } of replies) {
    expect([prediction.parse(data).status, headers.get("retry-after")]).toEqual(["starting", "1"]);
  }
  expect(await row()).toEqual(before);
  await cancel(user, stuck);
});
