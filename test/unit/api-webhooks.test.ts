import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { failedBody, rate, startApi } from "./api-fixture.ts";
import {
  DELIVERY,
  deliveryOnWire,
  deliveryRow,
  endpointOnWire,
  endpointRow,
  SECRET,
  WEBHOOK,
} from "./api-webhooks-rows.ts";

let upstream: { status: number; body: unknown } = { status: 200, body: {} };
const api = await startApi(() => Response.json(upstream.body, { status: upstream.status }));
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
  api.log.length = 0;
});

/** Answers with what a SQL function gives; beside it stands how the caller's limit is. */
const answers = (body: object) => {
  upstream = { status: 200, body: { rate, ...body } };
};
/** The one call that reached the platform: which SQL function, with which arguments, on whose behalf. */
function theCall() {
  expect(api.seen.length).toBe(1);
  const [seen] = api.seen;
  const body: unknown = JSON.parse(new TextDecoder().decode(seen?.body) || "{}");
  expect(seen?.headers.get("authorization")).toBe(`Bearer ${api.token}`);
  expect(seen?.headers.get("apikey")).toBe("sb_publishable_test");
  return { name: seen?.path.replace("/rest/v1/rpc/", ""), args: body };
}
const send = (method: string, path: string, body?: unknown) =>
  api.call(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
const dataOf = async (response: Response): Promise<unknown> => (await response.json()).data;
const url = "https://hooks.example.com/keyframe";

type Route = [method: string, path: string, body: unknown, row: object, status: number, call: object, data: unknown];
const endpoint = endpointRow();
const ROUTES: Route[] = [
  [
    "GET",
    "/api/webhooks",
    undefined,
    { endpoints: [endpoint] },
    200,
    { name: "list_webhook_endpoints", args: {} },
    { webhooks: [endpointOnWire] },
  ],
  [
    "GET",
    `/api/webhooks/${WEBHOOK}`,
    undefined,
    { endpoint },
    200,
    { name: "read_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    endpointOnWire,
  ],
  [
    "PATCH",
    `/api/webhooks/${WEBHOOK}`,
    { enabled: true },
    { endpoint },
    200,
    { name: "update_webhook_endpoint", args: { endpoint_id: WEBHOOK, enabled: true } },
    endpointOnWire,
  ],
  [
    "DELETE",
    `/api/webhooks/${WEBHOOK}`,
    undefined,
    { endpoint },
    200,
    { name: "delete_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    endpointOnWire,
  ],
  [
    "GET",
    `/api/webhooks/${WEBHOOK}/secret`,
    undefined,
    { secret: SECRET },
    200,
    { name: "reveal_webhook_secret", args: { endpoint_id: WEBHOOK } },
    { secret: SECRET },
  ],
  [
    "POST",
    `/api/webhooks/${WEBHOOK}/secret/rotate`,
    { overlapHours: 0 },
    { secret: SECRET },
    200,
    { name: "rotate_webhook_secret", args: { endpoint_id: WEBHOOK, overlap_hours: 0 } },
    { secret: SECRET },
  ],
  [
    "POST",
    `/api/webhooks/${WEBHOOK}/secret/rotate`,
    undefined,
    { secret: SECRET },
    200,
    { name: "rotate_webhook_secret", args: { endpoint_id: WEBHOOK, overlap_hours: 24 } },
    { secret: SECRET },
  ],
  [
    "POST",
    `/api/webhooks/${WEBHOOK}/test`,
    undefined,
    { delivery: deliveryRow() },
    202,
    { name: "test_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    deliveryOnWire,
  ],
  [
    "POST",
    `/api/webhooks/${WEBHOOK}/test`,
    {},
    { delivery: deliveryRow() },
    202,
    { name: "test_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    deliveryOnWire,
  ],
  [
    "GET",
    `/api/webhooks/deliveries/${DELIVERY}/attempts`,
    undefined,
    { delivery: deliveryRow() },
    200,
    { name: "read_webhook_delivery", args: { delivery_id: DELIVERY } },
    deliveryOnWire,
  ],
  [
    "POST",
    `/api/webhooks/deliveries/${DELIVERY}/redeliver`,
    undefined,
    { delivery: deliveryRow() },
    202,
    { name: "redeliver_webhook", args: { delivery_id: DELIVERY } },
    deliveryOnWire,
  ],
  [
    "POST",
    `/api/webhooks/${WEBHOOK}/recover`,
    { since: "2026-11-20T00:00:00+01:00" },
    { recovered: 7 },
    202,
    { name: "recover_webhook_endpoint", args: { endpoint_id: WEBHOOK, since: "2026-11-20T00:00:00+01:00" } },
    { recovered: 7 },
  ],
];

test.each(ROUTES)(
  "%s %s %j → one call of the database with the caller's session, and its row on the wire",
  async (method, path, body, row, status, call, data) => {
    answers(row);
    const response = await send(method, path, body);
    expect([response.status, await dataOf(response)]).toEqual([status, data]);
    expect(theCall()).toEqual(call);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("ratelimit")).toBe('"generate";r=59;t=1');
  },
);

describe("POST /api/webhooks", () => {
  const made = { endpoint: endpointRow(), secret: SECRET, replayed: false, rate: { ...rate, policy: "create" } };

  test("an address alone → 201 with the endpoint, its secret, and the RateLimit of creating", async () => {
    answers(made);
    const response = await api.post("/api/webhooks", { url });
    expect([response.status, await dataOf(response)]).toEqual([201, { ...endpointOnWire, secret: SECRET }]);
    expect(response.headers.get("ratelimit")).toBe('"create";r=59;t=1');
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(theCall()).toEqual({
      name: "create_webhook_endpoint",
      args: { url, description: "", event_types: [], enabled: true, max_in_flight: 8 },
    });
  });

  test("repeated with its Idempotency-Key → 201 with the secret again, marked as a replay", async () => {
    answers({ ...made, replayed: true });
    const response = await api.post("/api/webhooks", { url }, { "idempotency-key": "once" });
    expect([response.status, await dataOf(response)]).toEqual([201, { ...endpointOnWire, secret: SECRET }]);
    expect(response.headers.get("idempotency-replayed")).toBe("true");
    expect(theCall().args).toMatchObject({
      idempotency_key: "once",
      request_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("the 21st endpoint → the sentence of the database, as invalid_request", async () => {
    const details = "You have 20 webhook endpoints already. Delete one first.";
    upstream = { status: 400, body: { code: "KEYFR", message: "invalid_request", details, hint: null } };
    const response = await api.post("/api/webhooks", { url });
    expect([response.status, (await failedBody(response)).error]).toMatchObject([400, { message: details }]);
  });

  test("too many at once → 429 of the class that the database names", async () => {
    const hint = JSON.stringify({ policy: "create", limit: 60, window_seconds: 60, wait_seconds: 7 });
    upstream = { status: 400, body: { code: "KEYFR", message: "rate_limited", details: "Wait.", hint } };
    for (const path of ["/api/webhooks", `/api/webhooks/${WEBHOOK}/test`]) {
      const response = await api.post(path, path === "/api/webhooks" ? { url } : {});
      expect([response.status, response.headers.get("ratelimit")]).toEqual([429, '"create";r=0;t=7']);
    }
  });
});

describe("an address no webhook may be sent to → 400 that names url and says why, before the database is asked", () => {
  test.each([
    "http://hooks.example.com/",
    "https://127.0.0.1/",
    "https://me:word@hooks.example.com/",
    "hooks",
    "ftp://hooks.example.com/",
  ])("%s", async (bad) => {
    for (const [method, path] of [
      ["POST", "/api/webhooks"],
      ["PATCH", `/api/webhooks/${WEBHOOK}`],
    ] as const) {
      const { error } = await failedBody(await send(method, path, { url: bad }));
      expect(error).toMatchObject({ code: "invalid_request", details: [{ path: "url" }] });
      expect(error.details?.[0]?.message).toMatch(/^\S.{10,}\.$/);
    }
    expect(api.seen).toEqual([]);
  });
});

describe("what does not fit → 400 with the field, before the database is asked", () => {
  test.each<[string, string, unknown, string]>([
    ["POST", "/api/webhooks", {}, "url"],
    ["POST", "/api/webhooks", { url, eventTypes: ["project.deleted"] }, "eventTypes.0"],
    ["POST", "/api/webhooks", { url, eventTypes: ["project.created", "webhook.test"] }, "eventTypes.1"],
    ["POST", "/api/webhooks", { url, enabled: 1 }, "enabled"],
    ["POST", "/api/webhooks", { url, secret: SECRET }, "secret"],
    ["POST", "/api/webhooks?url=x", { url }, "url"],
    ["PATCH", `/api/webhooks/${WEBHOOK}`, {}, ""],
    ["PATCH", `/api/webhooks/${WEBHOOK}`, { enabled: true, ownerId: null }, "ownerId"],
    ["GET", "/api/webhooks?limit=5", undefined, "limit"],
    ["DELETE", `/api/webhooks/${WEBHOOK}?force=1`, undefined, "force"],
    ["GET", `/api/webhooks/${WEBHOOK}/secret?old=1`, undefined, "old"],
    ["POST", `/api/webhooks/${WEBHOOK}/secret/rotate`, { overlapHours: 73 }, "overlapHours"],
    ["POST", `/api/webhooks/${WEBHOOK}/secret/rotate`, { overlapHours: 0.5 }, "overlapHours"],
    ["POST", `/api/webhooks/${WEBHOOK}/test`, { eventType: "project.created" }, "eventType"],
    ["POST", `/api/webhooks/deliveries/${DELIVERY}/redeliver`, { now: true }, "now"],
    ["POST", `/api/webhooks/${WEBHOOK}/recover`, {}, "since"],
    ["POST", `/api/webhooks/${WEBHOOK}/recover`, { since: "yesterday" }, "since"],
  ])("%s %s %j → %s", async (method, path, body, field) => {
    const response = await send(method, path, body);
    const { error } = await failedBody(response);
    expect([response.status, error.code, error.details?.map((detail) => detail.path)]).toEqual([
      400,
      "invalid_request",
      [field],
    ]);
    expect(api.seen).toEqual([]);
  });

  test.each([
    ["/api/webhooks", { url }],
    [`/api/webhooks/${WEBHOOK}/secret/rotate`, {}],
    [`/api/webhooks/${WEBHOOK}/test`, {}],
    [`/api/webhooks/${WEBHOOK}/recover`, { since: "2026-11-20T00:00:00Z" }],
    [`/api/webhooks/deliveries/${DELIVERY}/redeliver`, {}],
  ])("POST %s with a malformed Idempotency-Key → 400", async (path, body) => {
    const { error } = await failedBody(await api.post(path, body, { "idempotency-key": "a b" }));
    expect(error.details).toMatchObject([{ path: "Idempotency-Key" }]);
    expect(api.seen).toEqual([]);
  });

  test("a body that is no JSON, where none is needed → 415, and one that is too large → 413", async () => {
    const path = `/api/webhooks/${WEBHOOK}/test`;
    const text = await api.call(path, { method: "POST", body: "go", headers: { "content-type": "text/plain" } });
    const large = await api.post(path, { x: "x".repeat(65_536) });
    expect([text.status, large.status]).toEqual([415, 413]);
    expect(api.seen).toEqual([]);
  });
});

describe("paths", () => {
  test.each([
    "/api/webhooks/",
    "/api/webhooks/x",
    "/api/webhooks/deliveries",
    `/api/webhooks/${WEBHOOK}x`,
    `/api/webhooks/x${WEBHOOK}`,
    `/api/webhooks/${WEBHOOK.slice(1)}`,
    `/api/webhooks/${WEBHOOK}/secrets`,
    `/api/webhooks/${WEBHOOK}/redeliver`,
    `/api/webhooks/deliveries/${DELIVERY}`,
    "/api/webhooks/deliveries/x/redeliver",
    "/api/webhooks/deliveries/secret/rotate",
    `/api/webhooks/deliveries/${WEBHOOK}/test`,
    `/api/webhooks/${WEBHOOK}%2Fsecret`,
    `/api/webhooks/${WEBHOOK}%0A`,
  ])("GET, POST and DELETE %s → 404 not_found, and nothing reaches the platform", async (path) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const response = await api.call(path, { method });
      expect([response.status, (await failedBody(response)).error.code]).toEqual([404, "not_found"]);
    }
    expect(api.seen).toEqual([]);
  });

  test.each([
    ["PUT", "/api/webhooks", "GET, HEAD, POST, OPTIONS"],
    ["DELETE", "/api/webhooks", "GET, HEAD, POST, OPTIONS"],
    ["POST", `/api/webhooks/${WEBHOOK}`, "GET, HEAD, PATCH, DELETE, OPTIONS"],
    ["POST", `/api/webhooks/${WEBHOOK}/secret`, "GET, HEAD, OPTIONS"],
    ["GET", `/api/webhooks/${WEBHOOK}/secret/rotate`, "POST, OPTIONS"],
    ["GET", `/api/webhooks/${WEBHOOK}/test`, "POST, OPTIONS"],
    ["DELETE", `/api/webhooks/${WEBHOOK}/deliveries`, "GET, HEAD, OPTIONS"],
    ["PATCH", `/api/webhooks/${WEBHOOK}/recover`, "POST, OPTIONS"],
    ["GET", `/api/webhooks/deliveries/${DELIVERY}/redeliver`, "POST, OPTIONS"],
  ])("%s %s → 405 with Allow", async (method, path, allow) => {
    const response = await api.call(path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
  });

  test("an identifier in capitals is the same one to the database", async () => {
    answers({ endpoint: endpointRow() });
    expect((await api.call(`/api/webhooks/${WEBHOOK.toUpperCase()}`)).status).toBe(200);
    expect(theCall().args).toEqual({ endpoint_id: WEBHOOK.toUpperCase() });
  });

  test("a browser's preflight → PATCH and DELETE are among the methods", async () => {
    const response = await api.call(`/api/webhooks/${WEBHOOK}`, { method: "OPTIONS" });
    expect(response.headers.get("access-control-allow-methods")).toMatch(/PATCH.*DELETE/);
  });
});

test("an endpoint that was disabled and one that is service-wide → shown as such", async () => {
  const disabled = { enabled: false, disabled_at: "2026-11-21T12:00:00+00:00", disabled_reason: "gone" };
  answers({
    endpoints: [endpointRow(disabled), endpointRow({ owner_id: null, failing_since: "2026-11-21T11:00:00+00:00" })],
  });
  expect(await dataOf(await api.call("/api/webhooks"))).toEqual({
    webhooks: [
      { ...endpointOnWire, enabled: false, disabledAt: "2026-11-21T12:00:00.000Z", disabledReason: "gone" },
      { ...endpointOnWire, serviceWide: true, failingSince: "2026-11-21T11:00:00.000Z" },
    ],
  });
});

test("no secret and no address is written to the log, also when the database answers in another shape", async () => {
  answers({ endpoint: { ...endpointRow(), enabled: "maybe" }, secret: SECRET, replayed: false, rate: null });
  expect((await api.post("/api/webhooks", { url })).status).toBe(500);
  answers({ secret: SECRET });
  expect((await api.call(`/api/webhooks/${WEBHOOK}/secret`)).status).toBe(200);
  expect(api.log.length).toBe(2);
  expect(JSON.parse(api.log[1] ?? "")).toMatchObject({ route: "/api/webhooks/:webhookId/secret", status: 200 });
  expect(api.log.join()).not.toMatch(/whsec_|hooks\.example|MfKQ9r8/);
});
