import { beforeAll, expect, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { createApiApp } from "../support/api/app.ts";
import { type CallOptions, requestInit } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { OPERATION_IDS, prepare, REQUESTS, type Scene, setScene } from "../support/api/requests.ts";

// The function's own code in front of the running platform, with a fetch that notes each call and passes it on.

const sql = openDatabase();
const calls: string[] = [];
const startApp = () =>
  createApiApp({
    fetcher: (input, init) => {
      const request = new Request(input, init);
      calls.push(`${request.method} ${new URL(request.url).pathname}`);
      return fetch(request);
    },
  });

let scene: Scene;
beforeAll(async () => {
  scene = await setScene(sql);
});

/** By default to a function that has just started and has kept nothing. */
async function send(path: string, options: CallOptions = {}, app = startApp()): Promise<Response> {
  calls.length = 0;
  return await app.fetch(new Request(`http://api.test${path}`, requestInit({ token: scene.user.token, ...options })));
}

async function callsOf(path: string, options: CallOptions = {}) {
  const { status } = await readReply(await send(path, options));
  return { status, calls: [...calls] };
}

const rpc = (name: string) => `POST /rest/v1/rpc/${name}`;
const SIGN = "POST /storage/v1/object/sign/keyframe-outputs";
const statusOf = (predictionId: string) => {
  const query = new URLSearchParams({ projectId: scene.projectId, predictionId });
  return `/api/projects/generate/first-frame?${query}`;
};

/** What an operation needs of Storage beside its one call of the database. */
const STORES: Partial<Record<OperationId, RegExp>> = {
  readProject: new RegExp(`^${SIGN}$`),
  readFirstFrame: new RegExp(`^${SIGN}$`),
  uploadReferenceImage: /^POST \/storage\/v1\/object\/projects\//,
};

test.each(OPERATION_IDS)("%s → one call of the database, and of Storage only what it needs there", async (id) => {
  const { path, options } = await prepare(id, scene);
  const answer = await callsOf(path, options);
  expect([answer.status, answer.calls[0]]).toEqual([OPERATIONS[id].status, rpc(REQUESTS[id].calls)]);
  const stores = STORES[id];
  if (stores) expect(answer.calls[1]).toMatch(stores);
  expect(answer.calls.length).toBe(stores ? 2 : 1);
});

const POSTS = OPERATION_IDS.filter((id) => OPERATIONS[id].method === "POST");

/** An upload takes its token before the body is read, and compares the body when it has come. */
const COMPARES: Partial<Record<OperationId, string[]>> = { uploadReferenceImage: [rpc("admit_upload")] };

test.each(POSTS)("%s with an Idempotency-Key, and when replayed → as many calls of the database", async (id) => {
  const { path, options } = await prepare(id, scene);
  const headers = { ...options.headers, "idempotency-key": crypto.randomUUID() };
  for (const _ of ["first", "replayed"]) {
    const answer = await callsOf(path, { ...options, headers });
    expect(answer.status).toBe(OPERATIONS[id].status);
    expect(answer.calls.filter((call) => !call.startsWith("POST /storage/"))).toEqual([
      rpc(REQUESTS[id].calls),
      ...(COMPARES[id] ?? []),
    ]);
  }
});

test("GET of a prediction that succeeded → one call, and one that signs its output", async () => {
  expect(await callsOf(statusOf(scene.finishedId))).toEqual({ status: 200, calls: [rpc("read_prediction"), SIGN] });
});

test("GET of a prediction whose output was signed minutes ago → one call", async () => {
  const app = startApp();
  await send(statusOf(scene.finishedId), {}, app);
  const { status } = await send(statusOf(scene.finishedId), {}, app);
  expect([status, calls]).toEqual([200, [rpc("read_prediction")]]);
});

test("GET of one that succeeded, with a current ETag → 304 after one call: nothing is signed", async () => {
  const ETag = (await send(statusOf(scene.finishedId))).headers.get("etag") ?? "";
  const response = await send(statusOf(scene.finishedId), { headers: { "if-none-match": ETag } });
  expect([response.status, calls]).toEqual([304, [rpc("read_prediction")]]);
});

test("lists → one call, and one that signs all outputs of the page together", async () => {
  const { user } = scene;
  const projectId = await user.createProject();
  for (const step of ["first-frame", "last-frame"] as const) await user.finish(await user.start(step, { projectId }));
  expect(await callsOf("/api/projects?include=predictions")).toEqual({
    status: 200,
    calls: [rpc("list_projects"), SIGN],
  });
  const path = `/api/projects/${projectId}/predictions`;
  expect(await callsOf(path)).toEqual({ status: 200, calls: [rpc("list_predictions"), SIGN] });
});

test("GET of one that does not exist → one call", async () => {
  expect(await callsOf(statusOf(crypto.randomUUID()))).toEqual({ status: 404, calls: [rpc("read_prediction")] });
});

test("what can be refused without the database → no call: session, path, method, body, query, cursor", async () => {
  const token = "a.b.c";
  for (const [path, options] of [
    ["/api/projects", { token, json: { title: "a", textPrompt: "b" } }],
    ["/api/projects", { token }],
    [statusOf(scene.finishedId), { token }],
    ["/api/nothing", {}],
    ["/api/projects/none", {}],
    ["/api/projects", { method: "DELETE" }],
    ["/api/projects", { json: { title: "" } }],
    ["/api/projects?cursor=x", {}],
    [`/api/projects/${scene.projectId}`, { method: "PATCH", json: {} }],
    ["/api/projects/generate/first-frame", {}],
    ["/api/projects/reference-images", { body: "no image", headers: { "content-type": "text/plain" } }],
  ] as const) {
    const { status, calls } = await callsOf(path, options);
    expect(status).toBeGreaterThanOrEqual(400);
    expect([path, calls]).toEqual([path, []]);
  }
});
