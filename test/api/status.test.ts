import { beforeAll, expect, test } from "vitest";
import { output as outputSchema, prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { uniquePrompt } from "../support/api/provider.ts";
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

async function downloaded(url: string) {
  const response = await fetch(url);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  return { status: response.status, contentType: response.headers.get("content-type"), bytes, sha256 };
}

test("POST first-frame → 202 with a queued prediction of the default model, and how soon to poll", async () => {
  const { status, headers, data } = await user.post("/api/projects/generate/first-frame", { projectId });
  expect([status, headers.get("retry-after")]).toEqual([202, "1"]);
  expect(prediction.parse(data)).toMatchObject({
    projectId,
    step: "first-frame",
    status: "queued",
    progress: null,
    queuePosition: 0,
    model: "google/nano-banana",
    attempt: 0,
    startedAt: null,
    completedAt: null,
    output: null,
    error: null,
  });
});

test("a first frame that succeeded → its output downloads, with the stated size and SHA-256", async () => {
  const done = await user.finish(await user.start("first-frame", { projectId }));
  expect(done).toMatchObject({ status: "succeeded", progress: 1, queuePosition: null, attempt: 1, error: null });
  const output = outputSchema.parse(done.output);
  const file = await downloaded(output.url);
  expect([file.status, file.contentType]).toEqual([200, "image/png"]);
  expect([file.bytes.length, file.sha256]).toEqual([output.bytes, output.sha256]);
  const view = new DataView(file.bytes.buffer);
  expect([view.getUint32(16), view.getUint32(20)]).toEqual([output.width, output.height]);
  expect(output.path).toBe(`${user.id}/${projectId}/${done.predictionId}.png`);
  expect("durationSeconds" in output).toBe(false);

  const [created, started, completed] = [done.createdAt, done.startedAt, done.completedAt].map((at) =>
    Date.parse(at ?? ""),
  );
  expect(created).toBeLessThanOrEqual(started ?? Number.NaN);
  expect(started).toBeLessThanOrEqual(completed ?? Number.NaN);
});

test("reads in a row → the same signed address, valid for an hour at first; an altered one is refused", async () => {
  const done = await user.finish(await user.start("first-frame", { projectId }));
  const again = await user.read("first-frame", projectId, done.predictionId);
  const { url, expiresAt } = outputSchema.parse(again.output);
  expect(url).toBe(done.output?.url);
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(58);
  expect(minutes).toBeLessThanOrEqual(60.1);
  expect((await fetch(url.replace(done.predictionId, crypto.randomUUID()))).ok).toBe(false);
  expect((await fetch(url.slice(0, url.indexOf("?")))).ok).toBe(false);
});

test("first frame, last frame and video → a video with its duration, from the frames that succeeded last", async () => {
  const own = await user.createProject();
  const first = await user.finish(await user.start("first-frame", { projectId: own }));
  const last = await user.finish(await user.start("last-frame", { projectId: own, prompt: uniquePrompt("Night") }));
  const { status, headers, data } = await user.post("/api/projects/generate/video", { projectId: own });
  expect([status, headers.get("retry-after")]).toEqual([202, "2"]);
  const done = await user.finish(prediction.parse(data));
  expect(done).toMatchObject({ step: "video", status: "succeeded", model: "kwaivgi/kling-v2.1" });
  const output = outputSchema.parse(done.output);
  expect(output).toMatchObject({ contentType: "video/mp4" });
  expect(output.durationSeconds).toBeCloseTo(5, 0);
  expect((await downloaded(output.url)).sha256).toBe(output.sha256);
  const [row] = await sql`
    select first_frame_prediction_id as first, last_frame_prediction_id as last
    from keyframe.predictions where id = ${done.predictionId}`;
  expect(row).toEqual({ first: first.predictionId, last: last.predictionId });
});

test("without predictionId → the latest run of that step, whatever became of it", async () => {
  const own = await user.createProject();
  expect((await user.call(`/api/projects/generate/first-frame?projectId=${own}`)).error?.code).toBe("not_found");
  const failing = await user.start("first-frame", { projectId: own, prompt: uniquePrompt("[[fault:failed]]") });
  expect((await user.read("first-frame", own)).predictionId).toBe(failing.predictionId);
  const latest = await user.start("first-frame", { projectId: own });
  expect((await user.read("first-frame", own)).predictionId).toBe(latest.predictionId);
  await user.start("last-frame", { projectId: own });
  expect((await user.read("first-frame", own)).predictionId).toBe(latest.predictionId);
});

test("a prediction asked for under another step → 404", async () => {
  const { predictionId } = await user.start("first-frame", { projectId });
  const query = new URLSearchParams({ projectId, predictionId });
  for (const step of ["last-frame", "video"]) {
    expect((await user.call(`/api/projects/generate/${step}?${query}`)).error?.code).toBe("not_found");
  }
});

test("a generation that failed → 200, success: true, with the provider's reason as data.error", async () => {
  const prompt = uniquePrompt("[[fault:failed=The sea was too rough. (E003)]]");
  const { predictionId } = await user.finish(await user.start("first-frame", { projectId, prompt }));
  const query = new URLSearchParams({ projectId, predictionId });
  const { status, headers, data, error } = await user.call(`/api/projects/generate/first-frame?${query}`);
  expect([status, error, headers.get("retry-after")]).toEqual([200, null, null]);
  expect(prediction.parse(data)).toMatchObject({
    status: "failed",
    output: null,
    error: { code: "provider_failed", message: "The sea was too rough. (E003)", retryable: true },
  });
});

test("while the output is being stored → processing with Retry-After: `storing` is ours alone", async () => {
  const prompt = uniquePrompt("[[fault:output_slow=1500]]");
  const { predictionId } = await user.start("first-frame", { projectId, prompt });
  await until("the database to store", async () => {
    const [row] = await sql<{ status: string }[]>`select status from keyframe.predictions where id = ${predictionId}`;
    return row?.status === "storing" ? true : undefined;
  });
  const query = new URLSearchParams({ projectId, predictionId });
  const { headers, data } = await user.call(`/api/projects/generate/first-frame?${query}`);
  const [row] = await sql<{ status: string }[]>`select status from keyframe.predictions where id = ${predictionId}`;
  expect(row?.status).toBe("storing"); // still, so that is what the read between has seen
  expect(prediction.parse(data)).toMatchObject({ status: "processing", output: null, completedAt: null });
  expect(headers.get("retry-after")).toBe("1");
});

test("while it waits for the provider → starting, with Retry-After; and 50 reads change nothing", async () => {
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  const row = () => sql`select p, xmin from keyframe.predictions p where id = ${predictionId}`;
  const before = await row();
  const query = new URLSearchParams({ projectId, predictionId });
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => user.call(`/api/projects/generate/first-frame?${query}`)),
  );
  for (const { headers, data } of replies) {
    expect([prediction.parse(data).status, headers.get("retry-after")]).toEqual(["starting", "1"]);
  }
  expect(await row()).toEqual(before);
});

test("beyond four at once → the fifth waits in line with its position, and gets its turn when one ends", async () => {
  const busy = await signUp();
  const own = await busy.createProject();
  const running = await Promise.all(Array.from({ length: 4 }, () => startStuck(sql, busy, "first-frame", own)));
  const fifth = await busy.start("first-frame", { projectId: own });
  const sixth = await busy.start("first-frame", { projectId: own });
  expect([fifth.status, fifth.queuePosition]).toEqual(["queued", 1]);
  expect([sixth.status, sixth.queuePosition]).toEqual(["queued", 2]);
  const predictionId = running[0]?.predictionId;
  await busy.post("/api/projects/generate/cancel", { projectId: own, predictionId });
  expect((await busy.finish(fifth)).status).toBe("succeeded");
  expect((await busy.finish(sixth)).status).toBe("succeeded");
});
