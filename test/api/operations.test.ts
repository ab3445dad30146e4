import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { openApiDocument } from "../../shared/contract/openapi/index.ts";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import { takesKey } from "../../shared/contract/operations/operation.ts";
import { createApiApp } from "../support/api/app.ts";
import { fillBuckets, tokensTaken } from "../support/api/buckets.ts";
import { type CallOptions, requestInit, sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { makeKey } from "../support/api/keys.ts";
import { OPERATION_IDS, prepare, RATE_CLASSES, REQUESTS, type Scene, setScene } from "../support/api/requests.ts";
import type { User } from "../support/api/user.ts";

// Each operation of the contract, by the function's own code in front of the running platform, with a fetch that notes each call
// and passes it on.

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
const ask = async (...request: Parameters<typeof send>) => readReply(await send(...request));

const rpc = (name: string) => `POST /rest/v1/rpc/${name}`;
const SIGN = "POST /storage/v1/object/sign/keyframe-outputs";
/** What an operation needs of Storage beside its one call of the database. */
const STORES: Partial<Record<OperationId, unknown[]>> = {
  readProject: [SIGN],
  readFilm: [SIGN],
  readFirstFrame: [SIGN],
  changePrediction: [SIGN],
  uploadReferenceImage: [expect.stringMatching(/^POST \/storage\/v1\/object\/projects\//)],
};

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
  clientId: z.string().optional(),
  actor: z.literal("server").optional(),
  duration_ms: z.number().nonnegative().max(30_000), // a preflight may take less than the precision
  code: z.string().optional(),
  cause: z.unknown().optional(),
});

test.each(OPERATION_IDS)(
  "%s → its success with one database call, no needless Storage call, one token and one log line",
  async (id) => {
    const { calls: name, takes } = REQUESTS[id];
    const app = startApp();
    const { path, options } = await prepare(id, scene);
    await fillBuckets(sql, scene.user.id);
    const { status, headers } = await ask(
      path,
      { ...options, headers: { ...options.headers, "x-request-id": `log-${id}` } },
      app,
    );
    expect([status, calls[0]]).toEqual([OPERATIONS[id].status, rpc(name)]);
    expect(calls.slice(1)).toEqual(STORES[id] ?? []);
    const [limit] = await sql<{ policy: string; state: string }[]>`
      select format('"%s";q=%s;w=%s', route_class, capacity, ceil(capacity / per_second)) as policy,
        format('"%s";r=%s;t=%s', route_class, capacity - 1, ceil(1 / per_second)) as state
      from keyframe_private.rate_limits where route_class = ${takes}`;
    expect([headers.get("ratelimit-policy"), headers.get("ratelimit")]).toEqual(
      takes === null ? [null, null] : [limit?.policy, limit?.state],
    );
    const taken = await Promise.all(RATE_CLASSES.map((one) => tokensTaken(sql, scene.user.id, one)));
    expect(taken).toEqual(RATE_CLASSES.map((one) => (one === takes ? 1 : 0)));

    expect(app.log).toHaveLength(1);
    const line = requestLine.parse(JSON.parse(app.log[0] ?? ""));
    const { method, at, caller } = OPERATIONS[id];
    expect(line).toMatchObject({ level: "info", requestId: `log-${id}`, method, route: `/api${at}`, status });
    const [ownerId, actor] = [
      caller === "nobody" ? undefined : scene.user.id,
      caller === "server" ? caller : undefined,
    ];
    expect([line.ownerId, line.actor]).toEqual([ownerId, actor]);
  },
);

/** Not addCredit (test/api/credits.test.ts). */
const OF_USERS = OPERATION_IDS.filter((id) => ["session", "manager"].includes(OPERATIONS[id].caller));
const actsFor = async ({ id }: User) => ({ apikey: inject("stack").secretKey, "keyframe-user": id });
const withKey = async (user: User) => ({ authorization: `Bearer ${(await makeKey(user, { may: "manage" })).key}` });

/** The quote of the scene is the session's, not a key's. */
const takesKeys = (id: OperationId) => OPERATIONS[id].tag !== "Keys" && id !== "startQuote";

test.each([
  ...OF_USERS.map((id) => [id, "a server for the user", actsFor, []] as const),
  ...OF_USERS.filter(takesKeys).map((id) => [id, "a key", withKey, [rpc("verify_key")]] as const),
])(
  "%s by %s → succeeds for the user with one database call and one token, and the log says who called",
  async (id, who, headersOf, before) => {
    const { takes } = REQUESTS[id];
    const app = startApp();
    const { path, options } = await prepare(id, scene);
    const credential = await headersOf(scene.user);
    await fillBuckets(sql, scene.user.id);
    calls.length = 0;
    const init = requestInit({ ...options, headers: { ...options.headers, ...credential } });
    const { status } = await readReply(await app.fetch(new Request(`http://api.test${path}`, init)));
    const ofDatabase = calls.filter((call) => !call.startsWith("POST /storage/"));
    expect([status, ofDatabase]).toEqual([OPERATIONS[id].status, [...before, rpc("act_as")]]);
    const taken = await Promise.all(RATE_CLASSES.map((one) => tokensTaken(sql, scene.user.id, one)));
    expect(taken).toEqual(RATE_CLASSES.map((one) => (one === takes ? 1 : 0)));
    const lines = app.log.map((text) => requestLine.parse(JSON.parse(text)));
    const clientId = "authorization" in credential ? credential.authorization.slice("Bearer ".length, 26) : undefined;
    expect(lines).toMatchObject([{ level: "info", status, ownerId: scene.user.id }]);
    expect([lines[0]?.actor, lines[0]?.clientId]).toEqual(
      who === "a key" ? [undefined, clientId] : ["server", undefined],
    );
    if (clientId !== undefined) await scene.user.call(`/api/keys/${clientId}`, { method: "DELETE" });
  },
);

/** An upload takes its token before the body is read, and compares the body when it has come. */
const COMPARES: Partial<Record<OperationId, string[]>> = { uploadReferenceImage: [rpc("admit_upload")] };

test.each(OPERATION_IDS.filter((id) => takesKey(OPERATIONS[id])))(
  "%s with an Idempotency-Key, first and replayed → as many database calls as without one",
  async (id) => {
    const { path, options } = await prepare(id, scene);
    const headers = { ...options.headers, "idempotency-key": crypto.randomUUID() };
    for (const _ of ["first", "replayed"]) {
      expect((await ask(path, { ...options, headers })).status).toBe(OPERATIONS[id].status);
      const ofDatabase = calls.filter((call) => !call.startsWith("POST /storage/"));
      expect(ofDatabase).toEqual([rpc(REQUESTS[id].calls), ...(COMPARES[id] ?? [])]);
    }
  },
);

const keyHeaders = (key: string) => ({ apikey: key, authorization: `Bearer ${key}` });

test.each(OF_USERS)(
  "%s without a session, or with a key in place of a session → 401, and the database is not asked",
  async (id) => {
    const { publishableKey, secretKey } = inject("stack");
    const { path, options } = await prepare(id, scene);
    const callers = [
      {},
      keyHeaders(publishableKey),
      ...(OPERATIONS[id].caller === "session" ? [keyHeaders(secretKey)] : []),
    ];
    for (const caller of callers) {
      calls.length = 0;
      const init = requestInit({ ...options, headers: { ...options.headers, ...caller } });
      const { status, error } = await readReply(await startApp().fetch(new Request(`http://api.test${path}`, init)));
      expect([status, error?.code, calls]).toEqual([401, "unauthorized", []]);
    }
  },
);

test.each(OPERATION_IDS)(
  "%s with an unknown parameter or field → 400 that names it, and the database is not asked",
  async (id) => {
    const { path, options } = await prepare(id, scene);
    const { error } = await ask(`${path}${path.includes("?") ? "&" : "?"}draft=1`, options);
    expect([error?.code, error?.details?.map((one) => one.path), calls]).toEqual(["invalid_request", ["draft"], []]);
    if (typeof options.json !== "object") return;
    const more = await ask(path, { ...options, json: { ...options.json, colour: "red" } });
    expect([more.error?.code, more.error?.details?.map((one) => one.path), calls]).toEqual([
      "invalid_request",
      ["colour"],
      [],
    ]);
  },
);

const statusOf = (predictionId: string) =>
  `/api/projects/generate/first-frame?${new URLSearchParams({ projectId: scene.projectId, predictionId })}`;

test("GET /api/openapi.json without a session → the bare document of this server and this version, without an envelope", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(new URL("../../package.json", import.meta.url)));
  const made = openApiDocument(`${inject("stack").url}/functions/v1`, version);
  expect(await (await sendToApi("/api/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(made)));
});

test.each<[what: string, path: string, options: CallOptions, line: Partial<z.infer<typeof requestLine>>]>([
  ["an unknown path", "/api/films/42?token=abc", {}, { status: 404, code: "not_found", method: "GET" }],
  ["a wrong token", "/api/projects", { token: "a.b.c" }, { status: 401, code: "unauthorized", route: "/api/projects" }],
  ["a wrong method", "/api/health", { method: "PUT" }, { status: 405, code: "method_not_allowed" }],
  ["a preflight", "/api/projects", { method: "OPTIONS" }, { status: 204, method: "OPTIONS" }],
  ["HEAD", "/api/health", { method: "HEAD" }, { status: 200, method: "HEAD", route: "/api/health" }],
  ["openapi.json", "/api/openapi.json", {}, { status: 200, route: "/api/openapi.json" }],
])(
  "a request with %s → one log line, without an owner or the request's content",
  async (_what, path, options, line) => {
    const app = startApp();
    await (await send(path, options, app)).body?.cancel();
    const [logged, ...others] = app.log.map((text) => requestLine.parse(JSON.parse(text)));
    expect([logged, logged?.ownerId, logged?.code, others]).toEqual([
      expect.objectContaining(line),
      undefined,
      line.code,
      [],
    ]);
    expect(app.log.join()).not.toMatch(/films|token=|a\.b\.c/);
  },
);

test("a refusal by the database, and a 304 → logged with status, route and owner, and nothing is signed for the 304", async () => {
  const app = startApp();
  const { headers } = await ask(statusOf(scene.finishedId), {}, app);
  await send(statusOf(scene.finishedId), { headers: { "if-none-match": headers.get("etag") ?? "" } }, app);
  expect(calls).toEqual([rpc("read_prediction")]);
  await ask(`/api/projects/${crypto.randomUUID()}`, {}, app);
  const ownerId = scene.user.id;
  expect(app.log.slice(1).map((text) => requestLine.parse(JSON.parse(text)))).toMatchObject([
    { status: 304, route: "/api/projects/generate/first-frame", ownerId },
    { status: 404, code: "not_found", route: "/api/projects/:projectId", ownerId },
  ]);
});
