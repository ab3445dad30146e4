import { afterAll, expect, test } from "vitest";
import { SAMPLE_PREDICTION, SAMPLE_PROJECT } from "../../shared/contract/samples.ts";
import { checkAnswer } from "../support/openapi/check.ts";
import { takeFaults, watched } from "../support/openapi/watch.ts";

// What is held against every answer of the whole test run has to notice each way of being wrong.

const created = { success: true, data: SAMPLE_PROJECT, error: null };
const headers = { "content-type": "application/json", "x-request-id": "a" };

type Change = { method?: string; path?: string; status?: number; headers?: Record<string, string>; body?: unknown };

/** The faults of a right answer to POST /api/projects, changed. */
function faults(change: Change = {}): string[] {
  const own = change.path === undefined ? { ...headers, etag: '"a"' } : headers;
  const { body, ...rest } = {
    method: "POST",
    path: "/api/projects",
    status: 201,
    headers: own,
    body: created,
    ...change,
  };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return checkAnswer({ ...rest, headers: new Headers(rest.headers), text });
}

const failure = (code: string) => ({ success: false, data: null, error: { code, message: "Wait.", requestId: "a" } });

test("an answer as the document has it → nothing to say", () => {
  expect(faults()).toEqual([]);
  expect(faults({ status: 404, body: failure("not_found") })).toEqual([]);
  expect(faults({ path: "/api/films", status: 404, body: failure("not_found") })).toEqual([]);
  const allow = { ...headers, allow: "GET" };
  expect(faults({ method: "PUT", status: 405, headers: allow, body: failure("method_not_allowed") })).toEqual([]);
  expect(faults({ method: "HEAD", status: 200, body: "" })).toEqual([]);
});

test.each<[string, Change, RegExp]>([
  ["a status that is not documented", { status: 200 }, /status 200 is not documented/],
  ["a success of another status", { status: 202 }, /status 202 is not documented/],
  ["an unknown path that succeeds", { path: "/api/films" }, /status 201 is not documented/],
  ["an unknown path with another error", { path: "/api/films", status: 404, body: failure("internal") }, /not_found/],
  ["a method that is not taken, and is", { method: "PUT" }, /status 201 is not documented/],
  ["a missing header", { headers: { "content-type": "application/json" } }, /header X-Request-Id is missing/],
  ["a missing Retry-After", { status: 429, body: failure("rate_limited") }, /header Retry-After is missing/],
  ["another content type", { headers: { ...headers, "content-type": "text/plain" } }, /text\/plain is not documented/],
  ["no JSON", { body: "{" }, /not JSON/],
  ["a field too many", { body: { ...created, data: { ...SAMPLE_PROJECT, owner_id: "x" } } }, /owner_id/],
  ["a field too few", { body: { ...created, data: { ...SAMPLE_PROJECT, title: undefined } } }, /title/],
  [
    "a field of another type",
    { body: { ...created, data: { ...SAMPLE_PROJECT, title: null } } },
    /title must be string/,
  ],
  [
    "a time without its zone",
    { body: { ...created, data: { ...SAMPLE_PROJECT, createdAt: "2026-11-21" } } },
    /createdAt/,
  ],
  ["no envelope", { body: SAMPLE_PROJECT }, /success/],
  ["both data and error", { body: { ...created, error: failure("internal").error } }, /error must be null/],
  ["an error of another status", { status: 404, body: failure("unauthorized") }, /not_found/],
  ["a body of a HEAD", { method: "HEAD", status: 200 }, /there is a body/],
  ["a preflight that is refused", { method: "OPTIONS", status: 405 }, /a preflight is 204/],
])("%s → it is told", (_, change, told) => {
  expect(faults(change).join("; ")).toMatch(told);
});

test("the path that is written out comes before the template that fits it too", () => {
  const body = { success: true, data: SAMPLE_PREDICTION, error: null };
  const started = { path: "/api/projects/generate/first-frame", status: 202, body };
  expect(faults({ ...started, headers: { ...headers, etag: 'W/"a"', location: "/x" } })).toEqual([]);
  expect(faults(started)).toEqual(["the header ETag is missing", "the header Location is missing"]);
  expect(faults({ ...started, method: "GET", status: 200, headers: { ...headers, etag: 'W/"a"' } })).toEqual([]);
});

test("a 304 with its headers and no body → nothing to say", () => {
  const unchanged = { method: "GET", path: "/api/projects/generate/video", status: 304 };
  expect(faults({ ...unchanged, headers: { "x-request-id": "a", etag: 'W/"a"' }, body: "" })).toEqual([]);
  expect(faults({ ...unchanged, headers: { "x-request-id": "a" }, body: "" })).toEqual(["the header ETag is missing"]);
});

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, (request) => {
  const gateway: Record<string, string> = request.url.includes("gateway") ? { "sb-error-code": "BOOT_ERROR" } : {};
  return Response.json({ wrong: true }, { headers: gateway });
});
afterAll(() => server.shutdown());
const address = (path: string) => `http://127.0.0.1:${server.addr.port}${path}`;

// The setup file of every test watches here too.
test("a wrong answer that any code of a test gets → a fault, and the answer is still there to read", async () => {
  const answer = await fetch(address("/functions/v1/api/health"));
  await fetch(new Request(address("/functions/v1/api/films?a=b"), { method: "PATCH" })).then((other) =>
    other.body?.cancel(),
  );
  expect(await answer.json()).toEqual({ wrong: true });
  expect((await takeFaults()).toSorted()).toEqual([
    expect.stringMatching(/^GET \/api\/health → 200: .*X-Request-Id/),
    expect.stringMatching(/^PATCH \/api\/films → 200: .*not documented/),
  ]);
  expect(await takeFaults()).toEqual([]);
});

test("what is not the API, or not its own answer → not looked at", async () => {
  for (const path of ["/rest/v1/projects", "/functions/v1/keyframe-generate", "/functions/v1/api/health?gateway"]) {
    await (await fetch(address(path))).body?.cancel();
  }
  expect(await takeFaults()).toEqual([]);
});

test("a wrong answer of the API's code in the test itself → a fault", async () => {
  const request = new Request("http://api.test/api/health");
  expect(await watched(request, Response.json({ wrong: true })).json()).toEqual({ wrong: true });
  expect(await takeFaults()).toEqual([expect.stringMatching(/^GET \/api\/health/)]);
});
