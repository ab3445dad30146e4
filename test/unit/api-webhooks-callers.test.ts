import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { failedBody, OWNER, PROJECT, SECRET_KEY, startApi } from "./api-fixture.ts";
import { DELIVERY, deliveryRow, endpointRow, SECRET, WEBHOOK } from "./api-webhooks-rows.ts";

/** The secret key has no limit. */
const answer = (body: object) => Response.json({ ...body, rate: null });
const api = await startApi(({ path }) => {
  if (path.endsWith("/list_webhook_endpoints")) return answer({ endpoints: [] });
  if (path.endsWith("_secret")) return answer({ secret: SECRET });
  if (/redeliver|test_|read_webhook_delivery/.test(path)) return answer({ delivery: deliveryRow() });
  if (path.endsWith("/list_webhook_deliveries")) return answer({ deliveries: [] });
  if (path.endsWith("/recover_webhook_endpoint")) return answer({ recovered: 0 });
  return answer({ endpoint: endpointRow({ owner_id: null }), secret: SECRET, replayed: false });
});
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
  api.log.length = 0;
});

const NONE = Symbol("no such header");
type Given = { authorization?: string | typeof NONE; apikey?: string };
/** Calls with just these credentials. */
async function call({ authorization = NONE, apikey }: Given, path = "/api/webhooks", method = "GET", body?: unknown) {
  const headers = new Headers(apikey === undefined ? {} : { apikey });
  if (typeof authorization === "string") headers.set("authorization", authorization);
  if (body !== undefined) headers.set("content-type", "application/json");
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return api.app.fetch(new Request(`http://api.test${path}`, init));
}
const credentialsSent = () => api.seen.map(({ headers }) => [headers.get("apikey"), headers.get("authorization")]);
const asService = [SECRET_KEY, `Bearer ${SECRET_KEY}`];
const asUser = ["sb_publishable_test", `Bearer ${api.token}`];

describe("the project's secret key → the database is asked as the service role", () => {
  test.each<[string, Given]>([
    ["as apikey", { apikey: SECRET_KEY }],
    ["as Authorization", { authorization: `Bearer ${SECRET_KEY}` }],
    ["as both", { apikey: SECRET_KEY, authorization: `bearer ${SECRET_KEY}` }],
    [
      "as Authorization, beside the publishable key",
      { apikey: "sb_publishable_test", authorization: `Bearer ${SECRET_KEY}` },
    ],
  ])("%s", async (_where, given) => {
    expect((await call(given)).status).toBe(200);
    expect(credentialsSent()).toEqual([asService]);
  });

  test.each<[string, string, unknown]>([
    ["POST", "/api/webhooks", { url: "https://crm.example.com/hooks" }],
    ["GET", `/api/webhooks/${WEBHOOK}`, undefined],
    ["PATCH", `/api/webhooks/${WEBHOOK}`, { enabled: false }],
    ["DELETE", `/api/webhooks/${WEBHOOK}`, undefined],
    ["GET", `/api/webhooks/${WEBHOOK}/secret`, undefined],
    ["POST", `/api/webhooks/${WEBHOOK}/secret/rotate`, undefined],
    ["POST", `/api/webhooks/${WEBHOOK}/test`, undefined],
    ["GET", `/api/webhooks/${WEBHOOK}/deliveries`, undefined],
    ["POST", `/api/webhooks/${WEBHOOK}/recover`, { since: "2026-11-20T00:00:00Z" }],
    ["GET", `/api/webhooks/deliveries/${DELIVERY}/attempts`, undefined],
    ["POST", `/api/webhooks/deliveries/${DELIVERY}/redeliver`, undefined],
  ])("%s %s", async (method, path, body) => {
    const response = await call({ apikey: SECRET_KEY }, path, method, body);
    expect([200, 201, 202]).toContain(response.status);
    expect(credentialsSent()).toEqual([asService]);
  });

  test("an endpoint made with it is service-wide, and the answer has no limit", async () => {
    const response = await call({ apikey: SECRET_KEY }, "/api/webhooks", "POST", { url: "https://crm.example.com/" });
    expect((await response.json()).data).toMatchObject({ webhookId: WEBHOOK, serviceWide: true, secret: SECRET });
    expect(response.headers.get("ratelimit")).toBeNull();
  });

  test("the key stands neither in an answer nor in the log, which names no owner", async () => {
    const response = await call({ apikey: SECRET_KEY });
    expect(await response.text()).not.toContain(SECRET_KEY);
    expect(api.log.join()).not.toContain(SECRET_KEY);
    expect(JSON.parse(api.log[0] ?? "")).not.toHaveProperty("ownerId");
  });
});

describe("a wrong key → 401, never taken for none, and nothing reaches the platform", () => {
  test.each<[string, Given]>([
    ["as apikey", { apikey: "sb_secret_guess" }],
    ["as Authorization", { authorization: "Bearer sb_secret_guess" }],
    ["cut short", { apikey: SECRET_KEY.slice(0, -1) }],
    ["one character longer", { apikey: `${SECRET_KEY}x` }],
    ["no more than the prefix", { apikey: "sb_secret_" }],
    ["in capitals", { authorization: `Bearer ${SECRET_KEY.toUpperCase()}` }],
    ["beside the right one", { apikey: SECRET_KEY, authorization: "Bearer sb_secret_guess" }],
    ["before the right one", { apikey: "sb_secret_guess", authorization: `Bearer ${SECRET_KEY}` }],
    ["two in one header", { apikey: `${SECRET_KEY}, ${SECRET_KEY}` }],
    ["beside a good session", { apikey: "sb_secret_guess", authorization: `Bearer ${api.token}` }],
    ["the right one, beside a bad session", { apikey: SECRET_KEY, authorization: "Bearer x.y.z" }],
    [
      "the right one, beside the publishable key as session",
      { apikey: SECRET_KEY, authorization: "Bearer sb_publishable_test" },
    ],
    ["the right one, by another scheme", { authorization: `Basic ${SECRET_KEY}` }],
    ["the right one, beside an empty Authorization", { apikey: SECRET_KEY, authorization: "" }],
    ["the publishable key alone", { apikey: "sb_publishable_test" }],
    ["none at all", {}],
  ])("%s", async (_what, given) => {
    const response = await call(given);
    const text = await response.clone().text();
    expect([response.status, (await failedBody(response)).error.code]).toEqual([401, "unauthorized"]);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(text + api.log.join()).not.toMatch(/sb_secret_[a-z]/);
    expect(api.seen).toEqual([]);
  });
});

test("a session, also beside the right key or the publishable one → the user, not the service role", async () => {
  const authorization = `Bearer ${api.token}`;
  for (const given of [
    { authorization },
    { authorization, apikey: SECRET_KEY },
    { authorization, apikey: "sb_publishable_x" },
  ]) {
    expect((await call(given)).status).toBe(200);
  }
  expect(credentialsSent()).toEqual([asUser, asUser, asUser]);
  expect(JSON.parse(api.log[1] ?? "")).toMatchObject({ ownerId: OWNER });
});

test.each([
  ["POST", "/api/projects", { title: "t", textPrompt: "p" }],
  ["GET", `/api/projects/generate/video?projectId=${PROJECT}`, undefined],
  ["POST", "/api/projects/generate/cancel", { projectId: PROJECT, predictionId: PROJECT }],
  ["POST", "/api/projects/reference-images", undefined],
])("%s %s with the secret key → 401: it is good for webhooks alone", async (method, path, body) => {
  for (const given of [{ apikey: SECRET_KEY }, { authorization: `Bearer ${SECRET_KEY}` }]) {
    expect((await call(given, path, method, body)).status).toBe(401);
  }
  expect(api.seen).toEqual([]);
});
