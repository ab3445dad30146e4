import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { prediction } from "../../shared/contract/predictions.ts";
import { sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { loggedRequests, readLogs } from "../support/api/log.ts";
import { OPERATION_IDS, prepare, type Scene, setScene } from "../support/api/requests.ts";
import { register, revealSecret } from "../support/api/webhooks.ts";

const sql = openDatabase();
let scene: Scene;
beforeAll(async () => {
  scene = await setScene(sql);
});

/** The only fields that a line may have. */
const requestLine = z.strictObject({
  time: z.iso.datetime(),
  level: z.enum(["info", "error"]),
  event: z.literal("request"),
  function: z.literal("api"),
  requestId: z.string(),
  method: z.string(),
  route: z.string().optional(),
  status: z.int(),
  ownerId: z.uuid().optional(),
  duration_ms: z.number().nonnegative(), // a preflight may take less than the precision
  code: z.string().optional(),
  cause: z.unknown().optional(),
});

/** The one line of each of these requests. */
async function linesOf(requestIds: string[]) {
  const logged = await loggedRequests(requestIds);
  return requestIds.map((id) => {
    const lines = logged.get(id) ?? [];
    expect(lines).toHaveLength(1);
    return requestLine.parse(lines[0]);
  });
}

const newId = (what: string) => `log-${what.replaceAll(/[^A-Za-z0-9]/g, "")}-${crypto.randomUUID()}`;

test("each operation → one line with requestId, method, route as the contract has it, status, duration and owner", async () => {
  const ids: string[] = [];
  for (const id of OPERATION_IDS) {
    const { path, options } = await prepare(id, scene);
    const requestId = newId(id);
    ids.push(requestId);
    const response = await sendToApi(path, { ...options, headers: { ...options.headers, "x-request-id": requestId } });
    await response.body?.cancel();
  }
  const lines = await linesOf(ids);
  for (const [index, id] of OPERATION_IDS.entries()) {
    const { method, at, status, caller } = OPERATIONS[id];
    const route = `/api${at}`;
    const ownerId = caller === "nobody" ? {} : { ownerId: scene.user.id };
    expect(lines[index]).toMatchObject({ level: "info", method, route, status, ...ownerId });
    expect(lines[index]?.ownerId).toBe(ownerId.ownerId);
    expect(lines[index]?.duration_ms).toBeLessThan(30_000);
  }
});

test.each<[what: string, path: string, options: Parameters<typeof sendToApi>[1], told: object]>([
  ["an unknown path", "/api/films/42?token=abc", {}, { status: 404, code: "not_found", route: undefined }],
  [
    "no session",
    "/api/projects",
    {},
    { status: 401, code: "unauthorized", route: "/api/projects", ownerId: undefined },
  ],
  ["a wrong method", "/api/health", { method: "PUT" }, { status: 405, code: "method_not_allowed" }],
  ["a preflight", "/api/projects", { method: "OPTIONS" }, { status: 204, method: "OPTIONS", code: undefined }],
  ["HEAD", "/api/health", { method: "HEAD" }, { status: 200, method: "HEAD", route: "/api/health" }],
  ["openapi.json", "/api/openapi.json", {}, { status: 200, route: "/api/openapi.json" }],
])("%s → one line with these fields", async (what, path, options, told) => {
  const requestId = newId(what);
  const response = await sendToApi(path, { ...options, headers: { ...options?.headers, "x-request-id": requestId } });
  await response.body?.cancel();
  const [line] = await linesOf([requestId]);
  expect(line).toMatchObject(Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)));
  for (const [field, value] of Object.entries(told)) {
    if (value === undefined) expect(line).not.toHaveProperty(field);
  }
});

test("a refusal of the database, and 304 → logged as such, with the owner", async () => {
  const { user, projectId, runningId } = scene;
  const [missing, unchanged] = [newId("missing"), newId("unchanged")];
  const path = `/api/projects/generate/last-frame?${new URLSearchParams({ projectId, predictionId: runningId })}`;
  await user.call(`/api/projects/${crypto.randomUUID()}`, { headers: { "x-request-id": missing } });
  // It may have been canceled by the request of an operation above; then it stays so.
  const tag = (await user.call(path)).headers.get("etag") ?? "";
  await sendToApi(path, { token: user.token, headers: { "if-none-match": tag, "x-request-id": unchanged } });
  const [one, two] = await linesOf([missing, unchanged]);
  expect(one).toMatchObject({ status: 404, code: "not_found", route: "/api/projects/:projectId", ownerId: user.id });
  expect(two).toMatchObject({ status: 304, route: "/api/projects/generate/last-frame", ownerId: user.id });
});

test("the secret key → a line without an owner", async () => {
  const requestId = newId("project");
  const headers = { apikey: inject("stack").secretKey, "x-request-id": requestId };
  await (await sendToApi("/api/webhooks", { headers })).body?.cancel();
  const [line] = await linesOf([requestId]);
  expect(line).toMatchObject({ status: 200, route: "/api/webhooks" });
  expect(line).not.toHaveProperty("ownerId");
});

test("tokens, prompts, texts, keys, secrets, signed addresses, of requests that succeed and that fail → in no log of the stack", async () => {
  const { user } = scene;
  const word = (what: string) => `canary-${what}-${crypto.randomUUID()}`;
  const [title, textPrompt, description, prompt, key, badKey, query, etag] = [
    ...["title", "textPrompt", "description", "prompt", "key", "badKey", "query", "etag"].map(word),
  ] as [string, string, string, string, string, string, string, string]; // as many as are named
  const projectId = await user.createProject({ title, textPrompt, description });
  const headers = { "idempotency-key": key };
  const path = "/api/projects/generate/first-frame";
  const started = prediction.parse(
    (await user.post(path, { projectId, prompt }, { ...headers, prefer: "wait=20" })).data,
  );
  const url = new URL(started.output?.url ?? "");
  const failing = `${prompt} [[fault:failed]]`;
  await user.finish(await user.start("last-frame", { projectId, prompt: failing }));

  await user.post(path, { projectId, prompt: `${prompt} else` }, headers); // 422
  await user.post("/api/projects", { title, textPrompt: "", description }, { "idempotency-key": badKey }); // 400
  await user.post("/api/projects", { title: prompt.repeat(40), textPrompt, description }); // 400
  await user.call(`/api/projects?cursor=${query}`); // 400
  await user.call(`/api/${query}`); // 404
  await user.call(`/api/projects/${projectId}`, { headers: { "if-none-match": etag, prefer: etag } });
  await user.call("/api/projects", { token: `${user.token}x` }); // 401
  const { webhookId } = await register(user, { url: `http://127.0.0.1:65535/${query}`, description });
  const secret = await revealSecret(user, webhookId);
  const last = newId("last");
  await user.call("/api/projects", { headers: { "x-request-id": last } });
  await linesOf([last]);

  const canaries = [title, textPrompt, description, prompt, key, badKey, query, etag, secret];
  const session = user.token.split(".");
  const signature = url.searchParams.get("token") ?? "";
  expect([signature.length > 20, session.length]).toEqual([true, 3]);
  const { secretKey, kickSecret, replicateToken } = inject("stack");
  const secrets = [...canaries, user.token, session[2] ?? "", signature, secretKey, kickSecret, replicateToken];
  for (const [name, log] of readLogs()) {
    for (const one of secrets) expect([name, one, log.includes(one)]).toEqual([name, one, false]);
  }
});
