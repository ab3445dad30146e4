import { beforeAll, expect, inject, test } from "vitest";
import { type Prediction, prediction } from "../../shared/contract/predictions.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { callApi, sendToApi } from "../support/api/call.ts";
import { expectOpenHeaders, readReply } from "../support/api/envelope.ts";
import { drawImage } from "../support/media/images.ts";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
let projectId: string;
let frame: Prediction;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  frame = await user.start("first-frame", { projectId });
});

const list = (header: string | null) => (header ?? "").split(/, */).map((name) => name.toLowerCase());

test.each(["/api/projects", "/api/projects/generate/first-frame", "/api/projects/reference-images", "/api/nothing"])(
  "OPTIONS %s from a browser → 204 without a session: any origin, and every header an app sends",
  async (path) => {
    const wanted =
      "authorization,apikey,content-type,idempotency-key,if-match,if-none-match,prefer,x-client-info,x-region,x-request-id";
    const response = await sendToApi(path, {
      method: "OPTIONS",
      headers: {
        origin: "https://films.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": wanted,
      },
    });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expectOpenHeaders(response.headers);
    expect(list(response.headers.get("access-control-allow-headers"))).toEqual(
      expect.arrayContaining(wanted.split(",")),
    );
    expect(list(response.headers.get("access-control-allow-methods"))).toEqual([
      "get",
      "head",
      "post",
      "patch",
      "delete",
    ]);
    expect(response.headers.get("access-control-max-age")).toBe("86400");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  },
);

test("every answer, a refusal too → a page may read the headers that matter", async () => {
  for (const response of [
    await sendToApi("/api/health"),
    await sendToApi("/api/projects", { json: {} }),
    await sendToApi("/api/nothing"),
  ]) {
    const exposed = list(response.headers.get("access-control-expose-headers"));
    expect(exposed).toEqual(
      expect.arrayContaining([
        ...["x-request-id", "retry-after", "location", "etag", "preference-applied"],
        ...["ratelimit", "ratelimit-policy", "idempotency-replayed"],
      ]),
    );
    await readReply(response);
  }
});

test("a proper X-Request-Id → echoed in the header, and in the error", async () => {
  const headers = { "x-request-id": "film-42_a.B" };
  expect((await user.post("/api/projects", { title: "a", textPrompt: "b" }, headers)).headers.get("x-request-id")).toBe(
    "film-42_a.B",
  );
  expect((await callApi("/api/nothing", { headers })).error?.requestId).toBe("film-42_a.B");
});

test.each(["", "a b", "a/b", "<script>", "x".repeat(129), 'a","code":"x', "é"])(
  "the X-Request-Id %j → a UUID in its place",
  async (given) => {
    const { error } = await callApi("/api/nothing", { headers: { "x-request-id": given } });
    expect(error?.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  },
);

test("no X-Request-Id → a new one for each request", async () => {
  const ids = await Promise.all([1, 2].map(async () => (await callApi("/api/health")).headers.get("x-request-id")));
  expect(new Set(ids).size).toBe(2);
});

test.each<[policy: string, limit: number, window: number, call: (one: User) => Promise<{ headers: Headers }>]>([
  ["create", 60, 60, (one) => one.post("/api/projects", { title: "a", textPrompt: "b" })],
  [
    "generate",
    60,
    60,
    async (one) => {
      const body = { projectId: await one.createProject() };
      return await one.post("/api/projects/generate/first-frame", body);
    },
  ],
  [
    "upload",
    30,
    60,
    async (one) => {
      const headers = { "content-type": "image/png" };
      return await one.call("/api/projects/reference-images", { body: await drawImage(), headers });
    },
  ],
])(
  "the first request of the class %s → RateLimit headers with its limit and what is left",
  async (policy, limit, window, call) => {
    const { headers } = await call(await signUp());
    expect(headers.get("ratelimit-policy")).toBe(`"${policy}";q=${limit};w=${window}`);
    expect(headers.get("ratelimit")).toMatch(new RegExp(`^"${policy}";r=${limit - 1};t=[12]$`));
  },
);

test("POST of a step → Location is where to poll it", async () => {
  const reply = await user.post("/api/projects/generate/first-frame", { projectId });
  const started = prediction.parse(reply.data);
  const location = new URL(
    reply.headers.get("location") ?? "",
    `${inject("stack").url}/functions/v1/api/projects/generate/first-frame`,
  );
  const response = await fetch(location, { headers: { authorization: `Bearer ${user.token}` } });
  expect(prediction.parse((await readReply(response)).data).predictionId).toBe(started.predictionId);
});

test("HEAD → the status and headers of GET, and no body", async () => {
  const query = new URLSearchParams({ projectId, predictionId: frame.predictionId });
  for (const [path, status] of [
    ["/api/health", 200],
    [`/api/projects/generate/first-frame?${query}`, 200],
    [`/api/projects/generate/video?${query}`, 404],
    ["/api/projects", 200],
    [`/api/projects/${projectId}`, 200],
    [`/api/projects/${projectId}/predictions`, 200],
    ["/api/projects/generate/cancel", 405],
    ["/api/nothing", 404],
  ] as const) {
    const response = await sendToApi(path, { method: "HEAD", token: user.token });
    expect([path, response.status, await response.text()]).toEqual([path, status, ""]);
    expectOpenHeaders(response.headers);
  }
});

test.each([
  "/api",
  "/api/",
  "/api/projects/",
  "/api//projects",
  "/api/projects/generate/first-frame/",
  "/api/%ff",
  "/api/../api/none",
  "/api/health/",
  "/api/projects/reference-images/x",
])("GET and POST %s → 404 not_found in the envelope", async (path) => {
  expect((await callApi(path, { token: user.token })).error?.code).toBe("not_found");
  expect((await user.post(path, { title: "a", textPrompt: "b" })).error?.code).toBe("not_found");
});

test.each([
  ["PUT", "/api/projects", "GET, HEAD, POST, OPTIONS"],
  ["PATCH", "/api/projects", "GET, HEAD, POST, OPTIONS"],
  ["PROPFIND", "/api/projects", "GET, HEAD, POST, OPTIONS"],
  ["POST", "/api/projects/5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["POST", "/api/projects/5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11/predictions", "GET, HEAD, OPTIONS"],
  ["DELETE", "/api/webhooks", "GET, HEAD, POST, OPTIONS"],
  ["PUT", "/api/webhooks/5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["POST", "/api/openapi.json", "GET, HEAD, OPTIONS"],
  ["GET", "/api/projects/reference-images", "POST, OPTIONS"],
  ["GET", "/api/projects/generate/cancel", "POST, OPTIONS"],
  ["PATCH", "/api/projects/generate/first-frame", "GET, HEAD, POST, OPTIONS"],
  ["DELETE", "/api/projects/generate/video", "GET, HEAD, POST, OPTIONS"],
  ["POST", "/api/health", "GET, HEAD, OPTIONS"],
])("%s %s → 405 with what it takes in Allow", async (method, path, allow) => {
  const { status, error, headers } = await user.call(path, { method });
  expect([status, error?.code, headers.get("allow")]).toEqual([405, "method_not_allowed", allow]);
});

test("GET /api/health → 200, database included", async () => {
  const { status, data } = await callApi("/api/health");
  expect([status, data]).toEqual([200, { status: "ok", database: "ok", schemaVersion: SCHEMA_VERSION }]);
});
