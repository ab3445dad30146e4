import { beforeAll, expect, test } from "vitest";
import { type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { providerRuns, uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const cancel = (by: User, { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">) =>
  by.post("/api/projects/generate/cancel", { projectId, predictionId });

test("a prediction that waits in line → 200 canceled; the provider gets no request", async () => {
  const busy = await signUp();
  const own = await busy.createProject();
  await Promise.all(Array.from({ length: 4 }, () => startStuck(sql, busy, "first-frame", own)));
  const prompt = uniquePrompt();
  const waiting = await busy.start("first-frame", { projectId: own, prompt });
  expect(waiting.queuePosition).toBe(1);
  const { status, data, headers } = await cancel(busy, waiting);
  const canceled = prediction.parse(data);
  expect([status, headers.get("retry-after")]).toEqual([200, null]);
  expect(canceled).toMatchObject({
    status: "canceled",
    queuePosition: null,
    startedAt: null,
    output: null,
    error: null,
  });
  expect(canceled.completedAt).not.toBeNull();
  expect(await providerRuns(prompt)).toEqual([]);
  expect(await busy.read("first-frame", own, waiting.predictionId)).toEqual(canceled);
});

test("a prediction that runs → 200 canceled at once, and the provider is asked to cancel its run", async () => {
  const running = await startStuck(sql, user, "first-frame", projectId);
  const { status, data } = await cancel(user, running);
  expect([status, prediction.parse(data).status]).toEqual([200, "canceled"]);
  await until("the provider to have been asked", async () => {
    const [run] = await sql<{ due: Date | null }[]>`
      select cancel_due_at as due from keyframe_private.provider_runs where prediction_id = ${running.predictionId}`;
    return run && run.due === null ? true : undefined;
  });
  expect((await user.read("first-frame", projectId, running.predictionId)).status).toBe("canceled");
});

test("a prediction that is canceled already → 200 again, unchanged", async () => {
  const running = await startStuck(sql, user, "first-frame", projectId);
  const first = await cancel(user, running);
  const second = await cancel(user, running);
  expect([second.status, second.data]).toEqual([200, first.data]);
});

test("20 cancels at once → 20 × 200, canceled once", async () => {
  const running = await startStuck(sql, user, "first-frame", projectId);
  const replies = await Promise.all(Array.from({ length: 20 }, () => cancel(user, running)));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(replies.map(({ data }) => prediction.parse(data).completedAt)).size).toBe(1);
});

test.each([
  ["succeeded", ""],
  ["failed", "[[fault:failed]]"],
])("a prediction that has %s → 409 generation_ended, and it stays so", async (status, fault) => {
  const done = await user.finish(await user.start("first-frame", { projectId, prompt: uniquePrompt(fault) }));
  expect(done.status).toBe(status);
  const reply = await cancel(user, done);
  expect([reply.status, reply.error?.code]).toEqual([409, "generation_ended"]);
  expect(reply.error?.message).toContain(status);
  const { output: _, ...after } = await user.read("first-frame", projectId, done.predictionId);
  expect(done).toMatchObject(after);
});

test("a canceled first frame → the next video has none to start from, and the step can be run again", async () => {
  const own = await user.createProject();
  const running = await startStuck(sql, user, "first-frame", own);
  await cancel(user, running);
  const video = await user.post("/api/projects/generate/video", { projectId: own });
  expect(video.error?.code).toBe("frame_not_ready");
  expect((await user.finish(await user.start("first-frame", { projectId: own }))).status).toBe("succeeded");
});
