import { afterAll, beforeEach, expect, test } from "vitest";
import { createDocumentText } from "../../supabase/functions/api/http/openapi-text.ts";
import { failedBody, startApi } from "./api-fixture.ts";

// What every router has to get right before a handler is asked. What each path takes and answers: test/api.

const api = await startApi(() => Response.json({}));
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
  api.log.length = 0;
});

const ID = "3f0c6a7b-8801-4b1c-9a52-0d43d0ea4fe3";
const CANARY = "canary";

test.each([
  "/",
  "/projects",
  "/api/projects/generate/first-frame/x",
  "/api/projects/1",
  `/api/projects/${ID}x`,
  `/api/projects/x${ID}`,
  `/api/projects/${ID.slice(1)}`,
  `/api/projects/${ID.replaceAll("-", "")}`,
  `/api/projects/${ID}/`,
  `/api/projects/${ID}%0A`,
  `/api/projects/${ID}%2Fpredictions`,
  `/api/projects/{${ID}}`,
  "/api/projects/:projectId",
  "/api/projects/constructor",
  "/api/projects/__proto__",
  "/api/projects/%00",
  "/api/webhooks/deliveries",
  `/api/webhooks/${ID}%2Fsecret`,
  `/api/webhooks/${ID}/redeliver`,
  `/api/webhooks/deliveries/${ID}`,
  `/api/webhooks/deliveries/${ID}/test`,
  "/api/webhooks/deliveries/secret/rotate",
])("%s → 404 not_found whatever the method, and nothing reaches the platform", async (path) => {
  for (const method of ["GET", "POST", "PATCH", "DELETE", "constructor"]) {
    const response = await api.call(path, { method });
    expect([response.status, (await failedBody(response)).error.code]).toEqual([404, "not_found"]);
  }
  expect(api.seen).toEqual([]);
});

test.each(["QUERY", "constructor", "toString", "__proto__", CANARY])(
  "the method %s → 405 with Allow before any session is asked for, and the log does not repeat it",
  async (method) => {
    for (const [path, allow] of [
      ["/api/projects", "GET, HEAD, POST, OPTIONS"],
      [`/api/webhooks/${ID}/secret/rotate`, "POST, OPTIONS"],
      ["/api/openapi.json", "GET, HEAD, OPTIONS"],
    ] as const) {
      const response = await api.call(`${path}?${CANARY}`, { method, headers: { authorization: "" } });
      expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
      expect((await failedBody(response)).error.code).toBe("method_not_allowed");
      expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ method: "OTHER", status: 405 });
    }
    expect(api.log.join()).not.toContain(CANARY);
  },
);

test("an identifier with an escape that means the same → found, as it was sent otherwise", async () => {
  expect((await api.call(`/api/projects/${ID.replace(/^3/, "%33")}`)).status).toBe(500); // the platform's {} is no project
  expect(JSON.parse(new TextDecoder().decode(api.seen[0]?.body))).toEqual({ project_id: ID });
});

test("deployed as films → its paths follow that name, its document names it as the server, and paths without api are unknown", async () => {
  const server = async (path: string) => (await (await api.call(path)).json()).servers[0].url;
  expect(await server("/films/api/openapi.json")).toBe(`${api.supabaseUrl}/functions/v1/films`);
  expect(await server("/api/openapi.json")).toBe(`${api.supabaseUrl}/functions/v1`);
  expect((await api.call("/films/api/nothing")).status).toBe(404);
  expect((await api.call("/films/api/projects", { method: "PUT" })).status).toBe(405);
  expect((await api.call("/films/projects")).status).toBe(404);
});

test("openapi.json is asked for again → the text that was made before", () => {
  const text = createDocumentText("https://films.example/functions/v1");
  expect(text("")).toBe(text(""));
});
