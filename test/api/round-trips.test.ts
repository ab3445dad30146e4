import { beforeAll, expect, test } from "vitest";
import { createApiApp } from "../support/api-app.ts";
import { type CallOptions, requestInit } from "../support/api-call.ts";
import { openDatabase } from "../support/api-database.ts";
import { readReply } from "../support/api-envelope.ts";
import { drawImage } from "../support/api-images.ts";
import { startStuck } from "../support/api-stuck.ts";
import { signUp, type User } from "../support/api-user.ts";

// The function's own code in front of the running platform, with a fetch that notes each call and passes it on.

const sql = openDatabase();
const calls: string[] = [];
const app = createApiApp({
  fetcher: (input, init) => {
    const request = new Request(input, init);
    calls.push(`${request.method} ${new URL(request.url).pathname}`);
    return fetch(request);
  },
});

let user: User;
let projectId: string;
let finished: string;
let running: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  finished = (await user.finish(await user.start("first-frame", { projectId }))).predictionId;
  running = (await startStuck(sql, user, "first-frame", projectId)).predictionId;
});

async function callsOf(path: string, options: CallOptions = {}) {
  calls.length = 0;
  const request = new Request(`http://api.test${path}`, requestInit({ token: user.token, ...options }));
  const reply = await readReply(await app.fetch(request));
  return { status: reply.status, calls: [...calls] };
}

const rpc = (name: string) => `POST /rest/v1/rpc/${name}`;
const statusOf = (predictionId: string) =>
  `/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;

test("POST /api/projects → one call", async () => {
  const json = { title: "Harbour", textPrompt: "Dawn" };
  expect(await callsOf("/api/projects", { json })).toEqual({ status: 201, calls: [rpc("create_project")] });
});

test("POST /api/projects, with an Idempotency-Key and when replayed → one call", async () => {
  const json = { title: "Harbour", textPrompt: "Dawn" };
  const headers = { "idempotency-key": crypto.randomUUID() };
  for (const _ of ["first", "replayed"]) {
    expect(await callsOf("/api/projects", { json, headers })).toEqual({ status: 201, calls: [rpc("create_project")] });
  }
});

test.each(["first-frame", "last-frame", "video"])("POST %s → one call", async (step) => {
  const prompt = "[[fault:rejected]]"; // what becomes of it is no matter here
  const answer = await callsOf(`/api/projects/generate/${step}`, { json: { projectId, prompt } });
  expect(answer).toEqual({ status: 202, calls: [rpc("start_prediction")] });
});

test("GET of a prediction that runs → one call, and none of them to the provider", async () => {
  expect(await callsOf(statusOf(running))).toEqual({ status: 200, calls: [rpc("read_prediction")] });
});

test("GET of one that succeeded → one call, and one that signs its output", async () => {
  const { status, calls } = await callsOf(statusOf(finished));
  expect([status, calls[0], calls.length]).toEqual([200, rpc("read_prediction"), 2]);
  expect(calls[1]).toMatch(/^POST \/storage\/v1\/object\/sign\/generations\//);
});

test("GET of one that does not exist → one call", async () => {
  expect(await callsOf(statusOf(crypto.randomUUID()))).toEqual({ status: 404, calls: [rpc("read_prediction")] });
});

test("POST cancel → one call", async () => {
  const json = { projectId, predictionId: running };
  const answer = await callsOf("/api/projects/generate/cancel", { json });
  expect(answer).toEqual({ status: 200, calls: [rpc("cancel_prediction")] });
});

test("POST reference-images → one call, and one that stores the image", async () => {
  const options = { body: await drawImage(), headers: { "content-type": "image/png" } };
  const { status, calls } = await callsOf("/api/projects/reference-images", options);
  expect([status, calls[0], calls.length]).toEqual([201, rpc("admit_upload"), 2]);
  expect(calls[1]).toMatch(/^POST \/storage\/v1\/object\/projects\//);
});

test("what can be refused without the database → no call: session, path, method, body, query", async () => {
  const token = "a.b.c";
  for (const [path, options] of [
    ["/api/projects", { token, json: { title: "a", textPrompt: "b" } }],
    [statusOf(finished), { token }],
    ["/api/nothing", {}],
    ["/api/projects", { method: "DELETE" }],
    ["/api/projects", { json: { title: "" } }],
    ["/api/projects/generate/first-frame", {}],
    ["/api/projects/reference-images", { body: "no image", headers: { "content-type": "image/png" } }],
  ] as const) {
    const { status, calls } = await callsOf(path, options);
    expect(status).toBeGreaterThanOrEqual(400);
    expect([path, calls]).toEqual([path, []]);
  }
});

test("GET /api/health → one call", async () => {
  expect(await callsOf("/api/health")).toEqual({ status: 200, calls: [rpc("health")] });
});
