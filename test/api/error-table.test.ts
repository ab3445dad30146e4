import { beforeAll, expect, test } from "vitest";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

// One test per row of the error table. `callApi` also holds each answer against the envelope, requestId = X-Request-Id
// and the header of its code. internal and unavailable: outage.test.ts;
// request_timeout: test/security/unfinished-bodies.test.ts.

const sql = openDatabase();
let user: User;
let projectId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const PROJECT = { title: "Harbour", textPrompt: "A harbour at dawn" };

test("a body that is no JSON → 400 invalid_json", async () => {
  const headers = { "content-type": "application/json" };
  const { status, error } = await user.call("/api/projects", { body: '{"title": "Harbour",}', headers });
  expect([status, error?.code, error?.details]).toEqual([400, "invalid_json", undefined]);
});

test("a body that does not fit → 400 invalid_request with each field in details", async () => {
  const { status, error } = await user.post("/api/projects", { title: 7, colour: "red" });
  expect([status, error?.code]).toEqual([400, "invalid_request"]);
  expect(error?.details).toEqual([
    { path: "title", message: "Must be text." },
    { path: "textPrompt", message: "Is required." },
    { path: "colour", message: "There is no such field. Leave it out." },
  ]);
});

test("no session token → 401 unauthorized with WWW-Authenticate: Bearer", async () => {
  const { status, error, headers } = await callApi("/api/projects", { json: PROJECT });
  expect([status, error?.code, headers.get("www-authenticate")]).toEqual([401, "unauthorized", "Bearer"]);
});

test("a project that does not exist → 404 not_found", async () => {
  const { status, error } = await user.post("/api/projects/generate/first-frame", { projectId: crypto.randomUUID() });
  expect([status, error?.code]).toEqual([404, "not_found"]);
});

test("a path that does not exist → 404 not_found, also without a session", async () => {
  const { status, error } = await callApi("/api/films");
  expect([status, error?.code]).toEqual([404, "not_found"]);
});

test("a method the path does not take → 405 method_not_allowed with Allow", async () => {
  const { status, error, headers } = await user.call("/api/projects", { method: "DELETE" });
  expect([status, error?.code, headers.get("allow")]).toEqual([405, "method_not_allowed", "GET, HEAD, POST, OPTIONS"]);
});

test("a video before a first frame succeeded → 409 frame_not_ready", async () => {
  const { status, error } = await user.post("/api/projects/generate/video", { projectId });
  expect([status, error?.code]).toEqual([409, "frame_not_ready"]);
});

test("deleting a project while something of it runs → 409 generation_in_progress", async () => {
  const own = await user.createProject();
  await startStuck(sql, user, "first-frame", own);
  const { status, error } = await user.call(`/api/projects/${own}`, { method: "DELETE" });
  expect([status, error?.code]).toEqual([409, "generation_in_progress"]);
});

test("cancelling what has ended → 409 generation_ended", async () => {
  const started = await user.start("first-frame", { projectId, prompt: "[[fault:failed]] a storm" });
  await user.finish(started);
  const { predictionId } = started;
  const { status, error } = await user.post("/api/projects/generate/cancel", { projectId, predictionId });
  expect([status, error?.code]).toEqual([409, "generation_ended"]);
});

test("a JSON body of more than 64 KiB → 413 payload_too_large", async () => {
  const { status, error } = await user.post("/api/projects", { ...PROJECT, description: "x".repeat(64 * 1024) });
  expect([status, error?.code]).toEqual([413, "payload_too_large"]);
});

test("a body that is not sent as JSON → 415 unsupported_media_type", async () => {
  const headers = { "content-type": "text/plain" };
  const { status, error } = await user.call("/api/projects", { body: JSON.stringify(PROJECT), headers });
  expect([status, error?.code]).toEqual([415, "unsupported_media_type"]);
});

test("an Idempotency-Key with another body → 422 idempotency_mismatch", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() };
  await user.post("/api/projects", PROJECT, headers);
  const { status, error } = await user.post("/api/projects", { ...PROJECT, title: "Lighthouse" }, headers);
  expect([status, error?.code]).toEqual([422, "idempotency_mismatch"]);
});

test("a duration the model does not make → 422 unsupported_input, before any charge", async () => {
  const frame = await user.finish(await user.start("first-frame", { projectId }));
  expect(frame.status).toBe("succeeded");
  const { status, error } = await user.post("/api/projects/generate/video", { projectId, durationSeconds: 7 });
  expect([status, error?.code]).toEqual([422, "unsupported_input"]);
  expect(error?.message).toContain("5 or 10 seconds");
});

test("an empty token bucket → 429 rate_limited with Retry-After and RateLimit; other users and other routes go on", async () => {
  const hasty = await signUp();
  const ownProject = await hasty.createProject();
  await sql`
    update keyframe_private.rate_buckets set tokens = -29, refilled_at = now()
    where owner_id = ${hasty.id} and route_class = 'create'`;
  const { status, error, headers } = await hasty.post("/api/projects", PROJECT);
  expect([status, error?.code]).toEqual([429, "rate_limited"]);
  const seconds = Number(headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(15);
  expect(seconds).toBeLessThanOrEqual(30);
  expect(headers.get("ratelimit")).toBe(`"create";r=0;t=${seconds}`);

  expect((await hasty.post("/api/projects/generate/first-frame", { projectId: ownProject })).status).toBe(202);
  expect((await user.post("/api/projects", PROJECT)).status).toBe(201);
});

test("a refused request costs no token of the bucket", async () => {
  const hasty = await signUp();
  await hasty.createProject();
  await sql`update keyframe_private.rate_buckets set tokens = -29, refilled_at = now() where owner_id = ${hasty.id}`;
  const bucket = () => sql`select tokens, refilled_at from keyframe_private.rate_buckets where owner_id = ${hasty.id}`;
  const before = await bucket();
  expect((await hasty.post("/api/projects", PROJECT)).status).toBe(429);
  expect(await bucket()).toEqual(before);
});
