import { afterAll, expect, test } from "vitest";
import { failedBody, startApi } from "./api-fixture.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";

let healthy = true;
const api = await startApi(({ path }) =>
  healthy && path === "/rest/v1/rpc/health"
    ? Response.json({ now: "2026-11-21T12:00:00+00:00", schema: SCHEMA_VERSION })
    : Response.json({ code: "PGRST000" }, { status: 503 }),
);
afterAll(api.stop);

test.each([
  "/",
  "/api",
  "/api/",
  "/api/unknown",
  "/api/projects/",
  "/api/projects/generate/last",
  "/projects",
  "/api/projects/generate/first-frame/x",
  "/api/%ff",
])("GET %s → 404 not_found in the envelope, with an X-Request-Id and CORS", async (path) => {
  const response = await api.call(path, { headers: { authorization: "" } });
  const body = await failedBody(response);
  expect(response.status).toBe(404);
  expect(body).toMatchObject({ success: false, data: null, error: { code: "not_found" } });
  expect(response.headers.get("x-request-id")).toBe(body.error.requestId);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});

test("OPTIONS of any path → the preflight a browser needs, with no credentials", async () => {
  for (const path of ["/api/projects", "/api/projects/generate/video", "/api/unknown"]) {
    const response = await api.call(path, {
      method: "OPTIONS",
      headers: { origin: "https://app.test", "access-control-request-method": "POST" },
    });
    const header = (name: string) => response.headers.get(`access-control-${name}`);
    expect([response.status, header("allow-origin"), header("max-age"), header("allow-credentials")]).toEqual([
      204,
      "*",
      "86400",
      null,
    ]);
    expect(header("allow-headers")?.split(", ").sort()).toEqual([
      "apikey",
      "authorization",
      "content-type",
      "idempotency-key",
      "if-match",
      "if-none-match",
      "prefer",
      "x-client-info",
      "x-region",
      "x-request-id",
    ]);
    expect(header("allow-methods")).toBe("GET, HEAD, POST, PATCH, DELETE");
    expect(header("expose-headers")?.split(", ").sort()).toEqual([
      "etag",
      "idempotency-replayed",
      "location",
      "preference-applied",
      "ratelimit",
      "ratelimit-policy",
      "retry-after",
      "x-request-id",
    ]);
  }
});

test("X-Request-Id of 1 to 128 plain characters is echoed, in the error and the log too; any other is replaced", async () => {
  const given = await api.call("/api/unknown", { headers: { "x-request-id": "a.B_c-9" } });
  expect(given.headers.get("x-request-id")).toBe("a.B_c-9");
  expect((await failedBody(given)).error.requestId).toBe("a.B_c-9");
  expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ requestId: "a.B_c-9", status: 404, code: "not_found" });
  for (const bad of ["a".repeat(129), "a b", "a/b", '"']) {
    const response = await api.call("/api/unknown", { headers: { "x-request-id": bad } });
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test("GET and HEAD /api/health → 200 without a session, asked with the publishable key", async () => {
  const response = await api.call("/api/health", { headers: { authorization: "" } });
  expect([response.status, await response.json()]).toEqual([
    200,
    { success: true, data: { status: "ok", database: "ok", schemaVersion: SCHEMA_VERSION }, error: null },
  ]);
  expect(api.seen.at(-1)?.headers.get("apikey")).toBe("sb_publishable_test");
  const head = await api.call("/api/health", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("GET /api/health with the database away → 503 unavailable with Retry-After of 2 to 5 seconds", async () => {
  healthy = false;
  const response = await api.call("/api/health");
  healthy = true;
  expect([response.status, (await failedBody(response)).error.code]).toEqual([503, "unavailable"]);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(2);
  expect(Number(response.headers.get("retry-after"))).toBeLessThanOrEqual(5);
  expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({
    level: "error",
    cause: { code: "PGRST000", operation: "health" },
  });
});

test("a wrong session → 401 with WWW-Authenticate, and nothing reaches the platform", async () => {
  const before = api.seen.length;
  const response = await api.post("/api/projects", { title: "t", textPrompt: "p" }, { authorization: "Bearer x.y.z" });
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(api.seen.length).toBe(before);
});

test("a crash in a handler → 500 internal in the envelope; only the log has the cause", async () => {
  const crashing = await startApi(() => Response.json({ project: "not a project" }));
  const response = await crashing.post("/api/projects", { title: "my title", textPrompt: "my prompt" });
  await crashing.stop();
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(JSON.parse(text)).toMatchObject({ success: false, data: null, error: { code: "internal" } });
  expect(text).not.toMatch(/create_project|shape|at /);
  expect(JSON.parse(crashing.log.at(-1) ?? "")).toMatchObject({
    level: "error",
    code: "internal",
    cause: { message: expect.stringMatching("create_project") },
  });
  expect(crashing.log.at(-1)).not.toMatch(/my title|my prompt/);
});
