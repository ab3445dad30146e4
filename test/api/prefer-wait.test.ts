import { beforeAll, expect, test } from "vitest";
import { type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { uniquePrompt } from "../support/api/provider.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { download } from "../support/film/ending.ts";

const sql = openDatabase();
let user: User;
let projectId: string;
let done: Prediction;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  done = await user.finish(await user.start("first-frame", { projectId }));
});

const pathOf = ({ step, projectId, predictionId }: Prediction) =>
  `/api/projects/generate/${step}?${new URLSearchParams({ projectId, predictionId })}`;
const cancel = ({ projectId, predictionId }: Prediction) =>
  user.post("/api/projects/generate/cancel", { projectId, predictionId });

/** Reads with a preference; `seconds` is how long the answer took. */
async function read(of: Prediction, prefer: string, headers: Record<string, string> = {}) {
  const began = performance.now();
  const response = await sendToApi(pathOf(of), { token: user.token, headers: { prefer, ...headers } });
  const body = response.status === 304 ? undefined : await readReply(response);
  const seconds = (performance.now() - began) / 1000;
  return {
    seconds,
    status: response.status,
    applied: response.headers.get("preference-applied"),
    headers: response.headers,
    data: body === undefined ? undefined : prediction.parse(body.data),
  };
}

test("POST with Prefer: wait=20 → 202 with the ended prediction and its output: one request is all it takes", async () => {
  const body = { projectId, prompt: uniquePrompt() };
  const { status, headers, data } = await user.post("/api/projects/generate/first-frame", body, { prefer: "wait=20" });
  expect([status, headers.get("preference-applied"), headers.get("retry-after")]).toEqual([202, "wait=20", null]);
  expect(headers.get("ratelimit")).toMatch(/^"generate";r=\d+;t=\d+$/);
  const ended = prediction.parse(data);
  expect(ended).toMatchObject({ status: "succeeded", progress: 1 });
  await download(ended);
  const location = headers.get("location") ?? "";
  expect(location).toContain(ended.predictionId);
});

test("a POST that is refused → at once, whatever it would have waited", async () => {
  const began = performance.now();
  const body = { projectId: crypto.randomUUID() };
  const reply = await user.post("/api/projects/generate/first-frame", body, { prefer: "wait=25" });
  expect([reply.status, reply.headers.get("preference-applied")]).toEqual([404, null]);
  expect(performance.now() - began).toBeLessThan(5000);
});

test("GET with Prefer: wait=20 → held, and answered as soon as the status changes", async () => {
  const stuck = await startStuck(sql, user, "first-frame", projectId);
  const held = read(stuck, "wait=20");
  let isOver = false;
  held.then(() => (isOver = true));
  await read(stuck, "wait=1"); // a second in which nothing happens
  expect(isOver).toBe(false);
  await cancel(stuck);
  const { status, applied, seconds, data } = await held;
  expect([status, applied, data?.status]).toEqual([200, "wait=20", "canceled"]);
  expect(seconds).toBeLessThan(8);
});

test("GET with wait=1 of one that does not change → 200 after a second; with its ETag 304", async () => {
  const stuck = await startStuck(sql, user, "first-frame", projectId);
  const first = await read(stuck, "wait=1");
  const tag = first.headers.get("etag") ?? "";
  const second = await read(stuck, "wait=1", { "if-none-match": tag });
  expect([first.status, first.applied, first.data?.status]).toEqual([200, "wait=1", "starting"]);
  expect([second.status, second.applied, second.headers.get("etag")]).toEqual([304, "wait=1", tag]);
  expect([first, second].map(({ headers }) => headers.get("retry-after"))).toEqual(["1", "1"]);
  for (const { seconds } of [first, second]) {
    expect(seconds).toBeGreaterThan(0.95);
    expect(seconds).toBeLessThan(5);
  }
  await cancel(stuck);
});

test("GET with wait and the ETag of an earlier status → 200 at once, because the status has changed", async () => {
  const stuck = await startStuck(sql, user, "first-frame", projectId);
  const { headers } = await read(stuck, "");
  const earlier = (headers.get("etag") ?? "").replace(/^W\/"starting/, 'W/"queued');
  const { status, seconds, data } = await read(stuck, "wait=20", { "if-none-match": earlier });
  expect([status, data?.status]).toEqual([200, "starting"]);
  expect(seconds).toBeLessThan(5);
  await cancel(stuck);
});

// Which preferences are understood, and what fails during a wait: test/unit/api-prefer-wait.test.ts.
test.each([
  ["respond-async, wait=60", "wait=25"],
  ["wait=0", null],
])("Prefer: %s, of one that has ended → at once, with Preference-Applied: %s", async (prefer, applied) => {
  const answer = await read(done, prefer);
  expect([answer.status, answer.applied, answer.data?.status]).toEqual([200, applied, "succeeded"]);
  expect(answer.seconds).toBeLessThan(4);
});

test("a preference on other operations → no matter", async () => {
  for (const path of ["/api/projects", `/api/projects/${projectId}`, "/api/health"]) {
    const reply = await user.call(path, { headers: { prefer: "wait=20" } });
    expect([reply.status, reply.headers.get("preference-applied")]).toEqual([200, null]);
  }
});
