import process from "node:process";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createDocumentText } from "../../../shared/api/create-api.ts";
import { explainNotFound } from "../../../shared/api/routes/routes.ts";
import { failedBody, lastArguments, rate, startApi } from "./fixture.ts";

// Bounds and traps of what reads path, method, query, body and key before a handler is asked. Which field is refused, and how:
// test/api/bad-input.test.ts.

const ID = "3f0c6a7b-8801-4b1c-9a52-0d43d0ea4fe3";
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const api = await startApi(() => Response.json({ secret: SECRET, replayed: false, rate }));
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
  api.log.length = 0;
});

const JSON_TYPE = { "content-type": "application/json" };
const create = (body: BodyInit) => api.call("/api/projects", { method: "POST", body, headers: JSON_TYPE });
const namedIn = async (response: Response) => {
  const { error } = await failedBody(response);
  return [response.status, error.details?.map(({ path }) => path)];
};

test.each(["constructor", "toString", "__proto__", "hasOwnProperty", "unknown"])(
  "an unknown parameter or field called %s → 400 that names it, before the database is asked",
  async (name) => {
    for (const path of ["/api/projects", `/api/projects/${ID}`, `/api/webhooks/${ID}/deliveries`, "/api/health"]) {
      expect(await namedIn(await api.call(`${path}?${name}=x`))).toEqual([400, [name]]);
    }
    const body = `{"title":"t","textPrompt":"p","${name}":{"admin":true}}`;
    expect(await namedIn(await create(body))).toEqual([400, [name]]);
    expect("admin" in {}).toBe(false);
    expect(api.seen).toEqual([]);
  },
);

test("unknown paths, one after the other → the second is explained without making a regular expression", () => {
  explainNotFound("/projects/one");
  const made = vi.spyOn(globalThis, "RegExp");
  onTestFinished(() => made.mockRestore());
  expect(explainNotFound("/films/two")).toContain("filmId must be a UUID");
  expect(made).not.toHaveBeenCalled();
});

/** The least processor time of such requests: what the clock says depends on what else the machine does. */
async function processorTime(query: string, times = 1): Promise<number> {
  const taken: number[] = [];
  for (let time = 0; time < times; time++) {
    const before = process.cpuUsage();
    const response = await api.call(`/api/projects?${query}`);
    expect([response.status, (await response.text()).length < 5000]).toEqual([400, true]);
    const { user, system } = process.cpuUsage(before);
    taken.push(user + system);
  }
  return Math.min(...taken);
}

test.each([
  ["different", (count: number) => Array.from({ length: count }, (_, at) => at.toString(36)).join("&")],
  ["the same", (count: number) => "a&".repeat(count)],
])("sixty thousand parameters, all %s → a small 400, in about ten times the time of six thousand", async (_, query) => {
  const few = await processorTime(query(6_000), 3);
  expect((await processorTime(query(60_000))) / few).toBeLessThan(40); // a hundred where each is compared with each
});

test("a hundred unknown fields with names of 500 characters → an answer that stays small", async () => {
  const many = Array.from({ length: 100 }, (_, index) => [`${index}${"x".repeat(500)}`, 1]);
  const response = await create(JSON.stringify(Object.fromEntries(many)));
  expect([response.status, (await response.text()).length < 5000]).toEqual([400, true]);
});

test("broken JSON → the message does not repeat it", async () => {
  const { error } = await failedBody(await create('{"textPrompt": my private words'));
  expect([error.code, /private/.test(error.message)]).toEqual(["invalid_json", false]);
});

describe("Idempotency-Key", () => {
  const hashOf = async (body: string | null, id = ID) => {
    const headers = { "idempotency-key": "!~key", ...(body === null ? {} : JSON_TYPE) };
    const path = `/api/webhooks/${id}/secret/rotate`;
    expect((await api.call(path, { method: "POST", body, headers })).status).toBe(200);
    const sent = lastArguments(api) as { idempotency_key: string; request_hash: string }; // checked here
    expect([sent.idempotency_key, sent.request_hash]).toEqual(["!~key", expect.stringMatching(/^[0-9a-f]{64}$/)]);
    return sent.request_hash;
  };

  test("requests with one key that differ in an empty body, white space or defaults → one request; in a value or path → another", async () => {
    const hash = await hashOf(null);
    for (const same of ["", "{}", " { } ", '{"overlapHours":24}']) expect(await hashOf(same)).toBe(hash);
    expect(await hashOf('{"overlapHours":23}')).not.toBe(hash);
    expect(await hashOf(null, ID.replace(/^3/, "4"))).not.toBe(hash);
  });

  // A retry by a client that does not know the newer fields must match its first request, across an update of the service.
  test.each<[path: string, body: object, hash: string]>([
    [
      "/api/projects",
      { title: "Harbour", textPrompt: "Dawn" },
      "e0b7a8077c4f1fa3c7d8dd65d61eb82c51e388a48c82d41716abe20cf6687076",
    ],
    [
      "/api/projects/generate/first-frame",
      { projectId: ID, referenceImagePath: "projects/a.png", prompt: "Dawn" },
      "21c44ea678357b5f19f2863db55253ca44062c56e124bfea40a375278cc41747",
    ],
    [
      "/api/projects/generate/video",
      { projectId: ID, durationSeconds: 5, firstFramePredictionId: ID },
      "ed7a0960a0f571504834d0e014051084ccd7d5383f8ed1e8d8b7dd53cfd076c4",
    ],
  ])("POST %s with the fields of the first version → the request hash of that version", async (path, body, hash) => {
    await api.post(path, body, { "idempotency-key": "key" });
    expect(lastArguments(api)).toMatchObject({ request_hash: hash });
  });

  test("an invalid Idempotency-Key where none is used, as with GET and DELETE → ignored", async () => {
    for (const method of ["GET", "DELETE"]) {
      await api.call(`/api/webhooks/${ID}`, { method, headers: { "idempotency-key": "no key at all" } });
      expect(lastArguments(api)).toEqual({ endpoint_id: ID });
    }
  });
});

const CANARY = "canary";

test.each([
  ...[
    "/",
    "/projects",
    "/api",
    "/api/",
    "/api//projects",
    "/api/projects/",
    "/api/%ff",
    "/api/../api/none",
    "/api/health/",
  ],
  ...["third-frame", "First-Frame", "first_frame", "first-frame%20", "..%2fcancel", "constructor"].map(
    (step) => `/api/projects/generate/${step}`,
  ),
  "/api/projects/generate/first-frame/x",
  `/api/films/${ID}/generate/middle-frame`,
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
])("the path %s → 404 not_found with any method, and nothing reaches the platform", async (path) => {
  for (const method of ["GET", "POST", "PATCH", "DELETE", "constructor"]) {
    const response = await api.call(path, { method });
    expect([response.status, (await failedBody(response)).error.code]).toEqual([404, "not_found"]);
  }
  expect(api.seen).toEqual([]);
});

test.each([
  ["/api/projects/nope", "projectId must be a UUID"],
  [`/api/projects/${ID}/predictions/nope`, "predictionId must be a UUID"],
  ["/api/films/nope/shares", "filmId must be a UUID"],
  ["/api/elements/nope", "elementId must be a UUID"],
  ["/api/webhooks/nope/test", "webhookId must be a UUID"],
  ["/api/webhooks/deliveries/nope/attempts", "deliveryId must be a UUID"],
  ["/api/keys/nope", "keyId must be the first 19 characters of a key"],
  ["/api/shared/nope", "token must be the 43 characters at the end of a film's link"],
  [`/api/films/${ID}/generate/nope`, "step must be first-frame, last-frame or video"],
])("the path %s → 404, whose message says: %s", async (path, rule) => {
  const { error } = await failedBody(await api.call(path));
  expect(error.message).toBe(`This path does not exist. Check its spelling: ${rule}.`);
});

test("a path with more or fewer parts than any → 404, whose message asks for its spelling", async () => {
  for (const path of ["/api/nothing", "/api/projects/generate/nope", `/api/projects/${ID}/nope`, "/api/projects/"]) {
    const { error } = await failedBody(await api.call(path));
    expect(error.message).toBe("This path does not exist. Check its spelling.");
  }
});

test.each(["QUERY", "constructor", "toString", "__proto__", CANARY])(
  "the method %s → 405 with Allow before any session is required, and the log does not repeat it",
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

test("an id with a percent-encoded character → found", async () => {
  expect((await api.call(`/api/projects/${ID.replace(/^3/, "%33")}`)).status).toBe(500); // the platform's {} is not a project
  expect(JSON.parse(new TextDecoder().decode(api.seen[0]?.body))).toEqual({ project_id: ID });
});

test("deployed as films → paths follow that name, openapi.json names it as the server, and paths without api are unknown", async () => {
  const server = async (path: string) => (await (await api.call(path)).json()).servers[0].url;
  expect(await server("/films/api/openapi.json")).toBe(`${api.supabaseUrl}/functions/v1/films`);
  expect(await server("/api/openapi.json")).toBe(`${api.supabaseUrl}/functions/v1`);
  expect((await api.call("/films/api/nothing")).status).toBe(404);
  expect((await api.call("/films/api/projects", { method: "PUT" })).status).toBe(405);
  expect((await api.call("/films/projects")).status).toBe(404);
});

test("openapi.json is requested again → the same text, made once", () => {
  const text = createDocumentText("https://films.example/functions/v1");
  expect(text("")).toBe(text(""));
});
