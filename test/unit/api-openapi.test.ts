import { afterAll, describe, expect, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { createDocumentText } from "../../supabase/functions/api/http/openapi-text.ts";
import { failedBody, startApi } from "./api-fixture.ts";

const api = await startApi(() => Response.json({}));
afterAll(api.stop);
const read = (init: RequestInit = {}) =>
  api.call("/api/openapi.json", { ...init, headers: { authorization: "", ...Object(init.headers) } });

test("GET → 200 without a session: JSON that is no envelope, any web page may read it", async () => {
  const response = await read({ headers: { "x-request-id": "r-1" } });
  const { headers } = response;
  expect([response.status, headers.get("content-type"), headers.get("x-request-id")]).toEqual([
    200,
    "application/json",
    "r-1",
  ]);
  expect([headers.get("access-control-allow-origin"), headers.get("x-content-type-options")]).toEqual(["*", "nosniff"]);
  const document = await response.json();
  expect(document).not.toHaveProperty("success");
  expect(document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(document.servers).toEqual([{ url: `${api.supabaseUrl}/functions/v1` }]);
  expect(api.seen).toEqual([]);
});

test("it has every operation of the contract, each once, under its name", async () => {
  const { paths }: { paths: Record<string, Record<string, { operationId?: string }>> } = await (await read()).json();
  const named = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId }) => operationId ?? []),
  );
  expect(named).toEqual(expect.arrayContaining(Object.keys(OPERATIONS)));
  expect(new Set(named).size).toBe(named.length);
});

test("deployed as films → its paths follow that name, the server of the document names it, and paths without api are unknown", async () => {
  const read = async (path: string) => (await api.call(path)).json();
  expect((await read("/films/api/openapi.json")).servers).toEqual([{ url: `${api.supabaseUrl}/functions/v1/films` }]);
  expect((await api.call("/films/api/nothing")).status).toBe(404);
  expect((await api.call("/films/api/projects", { method: "PUT" })).status).toBe(405);
  expect((await api.call("/films/projects")).status).toBe(404);
});

test("HEAD → 200, the same headers, no body", async () => {
  const response = await read({ method: "HEAD" });
  expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
    200,
    "application/json",
    "",
  ]);
});

test.each(["POST", "PUT", "PATCH", "DELETE"])("%s → 405 in the envelope, with Allow", async (method) => {
  const response = await read({ method });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  expect((await failedBody(response)).error.code).toBe("method_not_allowed");
});

test("OPTIONS → the preflight", async () => {
  const response = await read({ method: "OPTIONS", headers: { origin: "https://app.test" } });
  expect([response.status, response.headers.get("access-control-max-age")]).toEqual([204, "86400"]);
});

test("each request of it is a log line", async () => {
  const before = api.log.length;
  await read({ headers: { "x-request-id": "r-2" } });
  expect(api.log.slice(before).map((line) => JSON.parse(line))).toMatchObject([
    { requestId: "r-2", method: "GET", route: "/api/openapi.json", status: 200 },
  ]);
});

describe("the text", () => {
  test("names the address where apps find the service, each time", async () => {
    const text = createDocumentText("https://films.example/functions/v1");
    expect(text("")).toBe(text(""));
    expect(JSON.parse(await text("")).servers).toEqual([{ url: "https://films.example/functions/v1" }]);
  });
});
