import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyframeClient, type KeyframeClient } from "../../client/index.ts";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { REF, type ScriptedServer, startScriptedServer } from "../support/client/server.ts";

let server: ScriptedServer;
let keyframe: KeyframeClient;
beforeAll(async () => {
  server = await startScriptedServer();
  keyframe = server.client();
});
afterAll(() => server.stop());

const { projectId, predictionId } = REF;
const webhookId = "e1d2c3b4-a596-4788-8990-0a1b2c3d4e51";
const KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const page = { projects: [], predictions: [], deliveries: [], nextCursor: null };
const project = { title: "Harbour", textPrompt: "A harbour" };
const image = new Uint8Array([137, 80, 78, 71]);

/** Every method: what it is called with, the operation it must be, its path and query, its JSON. */
const METHODS: [
  name: string,
  call: (client: KeyframeClient) => Promise<unknown>,
  id: keyof typeof OPERATIONS,
  url: string,
  json?: unknown,
][] = [
  ["createProject", (one) => one.createProject(project), "createProject", "/projects", project],
  ["listProjects", (one) => one.listProjects(), "listProjects", "/projects"],
  [
    "listProjects",
    (one) => one.listProjects({ limit: 5, cursor: "a+/=", include: "predictions" }),
    "listProjects",
    "/projects?limit=5&cursor=a%2B%2F%3D&include=predictions",
  ],
  ["readProject", (one) => one.readProject(projectId), "readProject", `/projects/${projectId}`],
  [
    "changeProject",
    (one) => one.changeProject(projectId, { title: "b" }),
    "changeProject",
    `/projects/${projectId}`,
    { title: "b" },
  ],
  ["deleteProject", (one) => one.deleteProject(projectId), "deleteProject", `/projects/${projectId}`],
  [
    "listPredictions",
    (one) => one.listPredictions(projectId, { step: "video" }),
    "listPredictions",
    `/projects/${projectId}/predictions?step=video`,
  ],
  [
    "uploadReferenceImage",
    (one) => one.uploadReferenceImage(image),
    "uploadReferenceImage",
    "/projects/reference-images",
  ],
  [
    "generate first-frame",
    (one) => one.generate("first-frame", { projectId }),
    "startFirstFrame",
    "/projects/generate/first-frame",
    { projectId },
  ],
  [
    "generate last-frame",
    (one) => one.generate("last-frame", { projectId }),
    "startLastFrame",
    "/projects/generate/last-frame",
    { projectId },
  ],
  [
    "generate video",
    (one) => one.generate("video", { projectId, durationSeconds: 5 }),
    "startVideo",
    "/projects/generate/video",
    { projectId, durationSeconds: 5 },
  ],
  [
    "readPrediction",
    (one) => one.readPrediction(REF),
    "readVideo",
    `/projects/generate/video?projectId=${projectId}&predictionId=${predictionId}`,
  ],
  [
    "readPrediction of the latest run",
    (one) => one.readPrediction({ projectId, step: "first-frame" }),
    "readFirstFrame",
    `/projects/generate/first-frame?projectId=${projectId}`,
  ],
  [
    "readPrediction of a last frame",
    (one) => one.readPrediction({ ...REF, step: "last-frame" }),
    "readLastFrame",
    `/projects/generate/last-frame?projectId=${projectId}&predictionId=${predictionId}`,
  ],
  ["cancel", (one) => one.cancel(REF), "cancelPrediction", "/projects/generate/cancel", { projectId, predictionId }],
  [
    "webhooks.create",
    ({ webhooks }) => webhooks.create({ url: "https://a.example" }),
    "createWebhook",
    "/webhooks",
    { url: "https://a.example" },
  ],
  ["webhooks.list", ({ webhooks }) => webhooks.list(), "listWebhooks", "/webhooks"],
  ["webhooks.read", ({ webhooks }) => webhooks.read(webhookId), "readWebhook", `/webhooks/${webhookId}`],
  [
    "webhooks.change",
    ({ webhooks }) => webhooks.change(webhookId, { enabled: false }),
    "changeWebhook",
    `/webhooks/${webhookId}`,
    { enabled: false },
  ],
  ["webhooks.delete", ({ webhooks }) => webhooks.delete(webhookId), "deleteWebhook", `/webhooks/${webhookId}`],
  ["webhooks.secret", ({ webhooks }) => webhooks.secret(webhookId), "revealSecret", `/webhooks/${webhookId}/secret`],
  [
    "webhooks.rotate",
    ({ webhooks }) => webhooks.rotate(webhookId),
    "rotateSecret",
    `/webhooks/${webhookId}/secret/rotate`,
    {},
  ],
  ["webhooks.test", ({ webhooks }) => webhooks.test(webhookId), "testWebhook", `/webhooks/${webhookId}/test`, {}],
  [
    "webhooks.deliveries",
    ({ webhooks }) => webhooks.deliveries(webhookId, { status: "exhausted", limit: 1 }),
    "listDeliveries",
    `/webhooks/${webhookId}/deliveries?status=exhausted&limit=1`,
  ],
  [
    "webhooks.readDelivery",
    ({ webhooks }) => webhooks.readDelivery(predictionId),
    "readDelivery",
    `/webhooks/deliveries/${predictionId}/attempts`,
  ],
  [
    "webhooks.redeliver",
    ({ webhooks }) => webhooks.redeliver(predictionId),
    "redeliver",
    `/webhooks/deliveries/${predictionId}/redeliver`,
    {},
  ],
  [
    "webhooks.recover",
    ({ webhooks }) => webhooks.recover(webhookId, { since: "2026-11-21T12:00:00Z" }),
    "recoverWebhook",
    `/webhooks/${webhookId}/recover`,
    { since: "2026-11-21T12:00:00Z" },
  ],
];

test("the methods → every operation of the contract that is an app's", () => {
  const app = Object.entries(OPERATIONS).filter(([, { tag }]) => tag !== "Service");
  expect([...new Set(METHODS.map(([, , id]) => id))].sort()).toEqual(app.map(([id]) => id).sort());
});

test.each(METHODS)(
  "%s → the method, path, query and body of the contract, and its data",
  async (_, call, id, url, json) => {
    const { method, status } = OPERATIONS[id];
    const data = { ...page, answer: id };
    server.play({ status, data });
    expect(await call(keyframe)).toEqual(data);
    const [request] = server.seen;
    expect([request?.method, request?.url]).toEqual([method, `/functions/v1/api${url}`]);
    expect(request?.headers.authorization).toBe("Bearer token-1");
    const body = new TextDecoder().decode(request?.body);
    if (json !== undefined)
      expect([request?.headers["content-type"], JSON.parse(body)]).toEqual(["application/json", json]);
    if (method === "GET" || method === "DELETE") expect(body).toBe("");
    if (method === "POST") expect(request?.headers["idempotency-key"]).toMatch(KEY);
    else expect(request?.headers["idempotency-key"]).toBeUndefined();
  },
);

test.each([
  ["a Uint8Array", image],
  ["a part of a larger buffer", new Uint8Array([0, ...image, 0]).subarray(1, 5)],
  ["an ArrayBuffer", image.buffer],
  ["a Blob", new Blob([image])],
  ["a File whose type is wrong", new File([image], "look.gif", { type: "image/gif" })],
])("uploadReferenceImage of %s → its bytes, their kind left to the service", async (_, given) => {
  server.play({ status: 201, data: { referenceImagePath: "projects/a.png" } });
  expect(await keyframe.uploadReferenceImage(given)).toEqual({ referenceImagePath: "projects/a.png" });
  expect([...(server.seen[0]?.body ?? [])]).toEqual([...image]);
  expect(server.seen[0]?.headers["content-type"]).toBe("application/octet-stream");
});

test("changeProject with unchangedSince → If-Match with the ETag of that project; without → none", async () => {
  server.play({ data: project }, { data: project });
  const unchangedSince = { updatedAt: "2026-11-21T12:00:00.000Z" };
  await keyframe.changeProject(projectId, { title: "b" }, { unchangedSince });
  await keyframe.changeProject(projectId, { title: "b" });
  expect(server.seen.map(({ headers }) => headers["if-match"])).toEqual(['"2026-11-21T12:00:00.000Z"', undefined]);
});

test("an idempotencyKey → sent as it is; two calls without one → two keys", async () => {
  server.play(...Array.from({ length: 3 }, () => ({ status: 201, data: project })));
  await keyframe.createProject(project, { idempotencyKey: "draft-1" });
  await keyframe.createProject(project);
  await keyframe.createProject(project);
  const keys = server.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(keys[0]).toBe("draft-1");
  expect(new Set(keys).size).toBe(3);
});

test.each(["", "a b", "é", "a\nb", "x".repeat(256)])("the idempotencyKey %j → TypeError, nothing sent", async (key) => {
  server.play();
  await expect(keyframe.createProject(project, { idempotencyKey: key })).rejects.toThrow(TypeError);
  expect(server.seen).toEqual([]);
});

test.each(["", ".", ".."])("the identifier %j, which would be another path → TypeError, nothing sent", async (id) => {
  server.play();
  await expect(keyframe.deleteProject(id)).rejects.toThrow("projectId must be an identifier");
  expect(server.seen).toEqual([]);
});

test("an identifier with a slash → stays one part of the path", async () => {
  server.play({ data: {} });
  await keyframe.readProject("../webhooks?x#y");
  expect(server.seen[0]?.url).toBe("/functions/v1/api/projects/..%2Fwebhooks%3Fx%23y");
});

test("wait → Prefer: wait, of a start and of a read; more than the service holds → TypeError", async () => {
  server.play({ status: 202, data: { ...REF } }, { data: { ...REF } });
  await keyframe.generate("first-frame", { projectId }, { wait: 25 });
  await keyframe.readPrediction(REF, { wait: 5 });
  expect(server.seen.map(({ headers }) => headers.prefer)).toEqual(["wait=25", "wait=5"]);
  for (const wait of [0, 26, 1.5]) await expect(keyframe.readPrediction(REF, { wait })).rejects.toThrow(TypeError);
});

test("apikey → sent with each request", async () => {
  server.play({ data: page });
  await server.client({ apikey: "sb_publishable_1" }).listProjects();
  expect(server.seen[0]?.headers.apikey).toBe("sb_publishable_1");
});

test("a url with a path before it, as self-hosted projects have → kept", async () => {
  server.play({ data: page });
  await server.client({ url: `${server.url}/supabase/` }).listProjects();
  expect(server.seen[0]?.url).toBe("/supabase/functions/v1/api/projects");
});

test.each([
  "",
  "abc.supabase.co",
  "ftp://abc.supabase.co",
  "https://abc.supabase.co/functions/v1",
  "https://abc.supabase.co/functions/v1/api/",
  "https://user:secret@abc.supabase.co",
  "https://abc.supabase.co/?apikey=1",
])("the url %j → TypeError that says what it must be", (url) => {
  expect(() => createKeyframeClient({ url, getToken: () => null })).toThrow(/url must be the project's Supabase URL/);
});

test.each([{ retries: -1 }, { retries: 0.5 }, { requestTimeoutMs: 0 }, { apikey: "a\nb" }])(
  "the option %j → TypeError that names it",
  (option) => {
    const [name] = Object.keys(option);
    expect(() => server.client(option)).toThrow(`${name} must be`);
  },
);

test("methods taken out of the client → work: they need no this", async () => {
  const { readProject, webhooks } = keyframe;
  const { list } = webhooks;
  server.play({ data: project }, { data: { webhooks: [] } });
  expect([await readProject(projectId), await list()]).toEqual([project, { webhooks: [] }]);
});

test("a redirect → not an answer of the service, and not followed", async () => {
  server.play((response) => response.writeHead(307, { location: `${server.url}/elsewhere` }).end());
  await expect(server.client({ retries: 0 }).listProjects()).rejects.toMatchObject({ code: "network" });
  expect(server.seen).toHaveLength(1);
});
