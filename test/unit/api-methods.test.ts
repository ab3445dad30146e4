import { afterAll, describe, expect, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { failedBody, startApi } from "./api-fixture.ts";

const api = await startApi(() => Response.json({}));
afterAll(api.stop);

const ID = "3f0c6a7b-8801-4b1c-9a52-0d43d0ea4fe3";
/** What each path takes. */
const PATHS: [path: string, allow: string][] = [
  ["/projects", "GET, HEAD, POST, OPTIONS"],
  [`/projects/${ID}`, "GET, HEAD, PATCH, DELETE, OPTIONS"],
  [`/projects/${ID}/predictions`, "GET, HEAD, OPTIONS"],
  ["/projects/reference-images", "POST, OPTIONS"],
  ["/projects/generate/first-frame", "GET, HEAD, POST, OPTIONS"],
  ["/projects/generate/last-frame", "GET, HEAD, POST, OPTIONS"],
  ["/projects/generate/video", "GET, HEAD, POST, OPTIONS"],
  ["/projects/generate/cancel", "POST, OPTIONS"],
  ["/webhooks", "GET, HEAD, POST, OPTIONS"],
  [`/webhooks/${ID}`, "GET, HEAD, PATCH, DELETE, OPTIONS"],
  [`/webhooks/${ID}/secret`, "GET, HEAD, OPTIONS"],
  [`/webhooks/${ID}/secret/rotate`, "POST, OPTIONS"],
  [`/webhooks/${ID}/test`, "POST, OPTIONS"],
  [`/webhooks/${ID}/deliveries`, "GET, HEAD, OPTIONS"],
  [`/webhooks/${ID}/recover`, "POST, OPTIONS"],
  [`/webhooks/deliveries/${ID}/attempts`, "GET, HEAD, OPTIONS"],
  [`/webhooks/deliveries/${ID}/redeliver`, "POST, OPTIONS"],
  ["/health", "GET, HEAD, OPTIONS"],
  ["/openapi.json", "GET, HEAD, OPTIONS"],
];
// The last ones are names that every object of JavaScript has.
const METHODS = ["GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "QUERY", "constructor", "toString", "__proto__"];

test("every path of the contract is here, and no other but openapi.json", () => {
  const written = Object.values(OPERATIONS).map(({ at }) => at.replaceAll(/:\w+/g, ID));
  expect(PATHS.map(([path]) => path).sort()).toEqual([...new Set([...written, "/openapi.json"])].sort());
});

describe.each(PATHS)("%s takes %s", (path, allow) => {
  const wrong = METHODS.filter((method) => !allow.split(", ").includes(method));
  test.each(wrong)("%s → 405 with Allow, before any session is asked for", async (method) => {
    const before = api.log.length;
    const response = await api.call(`/api${path}`, { method, headers: { authorization: "" } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    if (method === "HEAD") expect(await response.text()).toBe("");
    else expect((await failedBody(response)).error.code).toBe("method_not_allowed");
    expect(api.log.length).toBe(before + 1);
    expect(api.seen).toEqual([]);
  });
});

test.each(["constructor", "__proto__", "QUERY"])(
  "the method %s on an unknown path → 404 in the envelope",
  async (method) => {
    const response = await api.call("/api/unknown", { method, headers: { "x-request-id": "r-1" } });
    expect([response.status, (await failedBody(response)).error]).toMatchObject([
      404,
      { code: "not_found", requestId: "r-1" },
    ]);
    expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ method: "OTHER", status: 404, requestId: "r-1" });
  },
);
