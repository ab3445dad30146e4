import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import type { Operation } from "../../shared/contract/operations/operation.ts";
import { OWNER, PROJECT, rate, SECRET_KEY, sessionToken, startApi } from "./api-fixture.ts";
import { answerSample, CANARY, initOf, SAMPLES } from "./api-samples.ts";
import { SECRET } from "./api-webhooks-rows.ts";

type Request = { path: string; body: Uint8Array<ArrayBuffer> };
const well = (request: Request): Response | Promise<Response> => answerSample(request, rate);
let answer = well;
const api = await startApi((request) => answer(request));
afterAll(api.stop);
beforeEach(() => {
  answer = well;
  api.log.length = 0;
});

// The keys of OPERATIONS are the OperationIds, but Object.keys returns strings.
const IDS = Object.keys(OPERATIONS) as OperationId[];
const operationOf = (id: OperationId): Operation => OPERATIONS[id];

/** Everything beside path and body that a request can carry; X-Request-Id alone is meant for the log. */
const CARRIED = {
  "x-request-id": "r-1",
  apikey: `sb_publishable_${CANARY}`,
  "idempotency-key": CANARY,
  prefer: `wait=0, ${CANARY}`,
  "if-none-match": `W/"${CANARY}"`,
  "x-client-info": CANARY,
  "user-agent": CANARY,
  cookie: `sb=${CANARY}`,
  referer: `https://app.test/?token=${CANARY}`,
  "x-forwarded-for": CANARY,
};
const send = (id: OperationId, headers: Record<string, string> = {}, suffix = "") =>
  api.call(
    SAMPLES[id].path + suffix,
    initOf(operationOf(id).method, SAMPLES[id], { ...CARRIED, "x-real-ip": CANARY, ...headers }),
  );

/** What never stands in a log line, whatever happens. Words of values that callers do not choose are among them. */
const NEVER = [
  CANARY,
  api.token,
  ...api.token.split("."),
  SECRET,
  SECRET_KEY,
  "whsec_",
  "sb_",
  "token=",
  "?",
  "example.com",
];
function theLine(): Record<string, unknown> {
  expect(api.log.length).toBe(1);
  const line = api.log[0] ?? "";
  expect(line).not.toContain("\n");
  for (const word of NEVER) expect(line).not.toContain(word);
  return JSON.parse(line);
}
const routeOf = (id: OperationId) => `/api${operationOf(id).at}`;
const ownerOf = (id: OperationId) => (operationOf(id).caller === "nobody" ? {} : { ownerId: OWNER });

describe("what worked → one line with these fields and no other", () => {
  test.each(IDS)("%s", async (id) => {
    expect((await send(id)).status).toBe(operationOf(id).status);
    expect(theLine()).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: "info",
      event: "request",
      function: "api",
      requestId: "r-1",
      method: operationOf(id).method,
      route: routeOf(id),
      status: operationOf(id).status,
      duration_ms: expect.any(Number),
      ...ownerOf(id),
    });
  });

  test.each(IDS.filter((id) => operationOf(id).method === "GET"))("HEAD of %s → logged as HEAD", async (id) => {
    await api.call(SAMPLES[id].path, { method: "HEAD", headers: CARRIED });
    expect(theLine()).toMatchObject({ method: "HEAD", route: routeOf(id), status: 200 });
  });

  test("a webhook path with the secret key → no owner, no key", async () => {
    await send("listWebhooks", { authorization: `Bearer ${SECRET_KEY}`, apikey: SECRET_KEY });
    expect(theLine()).not.toHaveProperty("ownerId");
  });
});

const failure = (status: number, code: string, message = CANARY) =>
  Response.json({ code, message, details: `Failing row contains (${CANARY}).`, hint: CANARY }, { status });
/** SQL functions answer; what Storage does is the test's. */
const storageAnswers =
  (given: () => Response) =>
  (request: Request): Response =>
    request.path.startsWith("/storage/") ? given() : answerSample(request, rate);

describe("what fails at the platform → one line with the code, and none of the platform's words", () => {
  test.each<[string, () => Response]>([
    ["a rule is broken", () => failure(400, "23514", `violates check constraint "${CANARY}_rule"`)],
    ["a value that cannot be stored", () => failure(400, "22P02")],
    ["a row that is there already", () => failure(409, "23505")],
    ["a refusal with a sentence", () => failure(400, "KEYFR", "invalid_request")],
    ["a refusal for the rate, with a hint that does not parse", () => failure(400, "KEYFR", "rate_limited")],
    ["a refusal with a code of no table", () => failure(400, "KEYFR", CANARY)],
    ["the session is refused", () => failure(401, "PGRST301")],
    ["the database is away", () => failure(503, "PGRST000")],
    ["the function is not there", () => failure(404, "PGRST202")],
    ["a gateway's page", () => new Response(`<html>${CANARY}</html>`, { status: 502 })],
    [
      "half of JSON",
      () => new Response(`{"project":{"title":"${CANARY}`, { headers: { "content-type": "application/json" } }),
    ],
    ["text in the place of JSON", () => new Response(CANARY)],
    ["another shape", () => Response.json({ [CANARY]: CANARY, rate })],
    ["nothing", () => Response.json(null)],
  ])("%s, for every operation", async (_what, given) => {
    answer = given;
    for (const id of IDS) {
      api.log.length = 0;
      const { status } = await send(id);
      expect(status).toBeGreaterThanOrEqual(400);
      const line = theLine();
      expect(line).toMatchObject({
        requestId: "r-1",
        route: routeOf(id),
        status,
        code: expect.any(String),
        ...ownerOf(id),
      });
      expect(line.level).toBe(status >= 500 ? "error" : "info");
    }
  });

  test.each(IDS)("%s: a row with one field of another kind", async (id) => {
    const spoil = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(spoil);
      if (value !== null && typeof value === "object") {
        return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, spoil(inner)]));
      }
      return [value, CANARY];
    };
    answer = () => Response.json(spoil({ ...SAMPLES[id].rows, rate }));
    expect((await send(id)).status).toBeGreaterThanOrEqual(500);
    expect(theLine()).toMatchObject({ level: "error", route: routeOf(id) });
  });

  const usingStorage = IDS.filter(
    (id) => id === "uploadReferenceImage" || JSON.stringify(SAMPLES[id].rows).includes("output_path"),
  );
  test.each<[string, () => Response]>([
    ["refuses", () => Response.json({ statusCode: "403", error: CANARY, message: `token=${CANARY}` }, { status: 400 })],
    ["refuses the session", () => Response.json({ message: `"exp" claim ${CANARY}` }, { status: 401 })],
    ["is away", () => new Response(CANARY, { status: 503 })],
    [
      "answers with another shape",
      () => new Response(`"${CANARY}`, { headers: { "content-type": "application/json" } }),
    ],
  ])("Storage %s, for every operation that needs it", async (_what, given) => {
    answer = storageAnswers(given);
    expect(usingStorage.length).toBeGreaterThan(5);
    for (const id of usingStorage) {
      api.log.length = 0;
      expect((await send(id)).status).toBeGreaterThanOrEqual(400);
      theLine();
    }
  });

  test("nothing listens → no address", async () => {
    const gone = await startApi(() => new Response());
    await gone.stop();
    for (const id of IDS) {
      gone.log.length = 0;
      await gone.call(SAMPLES[id].path, initOf(operationOf(id).method, SAMPLES[id], CARRIED));
      expect(gone.log.length).toBe(1);
      for (const word of [...NEVER, "127.0.0.1", gone.token]) expect(gone.log[0]).not.toContain(word);
    }
  });
});

describe("what is refused before → one line with the code", () => {
  test.each(IDS)("%s with an unknown parameter", async (id) => {
    const { status } = await send(id, {}, `${SAMPLES[id].path.includes("?") ? "&" : "?"}${CANARY}=${CANARY}`);
    expect([status, theLine()]).toMatchObject([400, { route: routeOf(id), code: "invalid_request", ...ownerOf(id) }]);
  });

  test.each(IDS.filter((id) => operationOf(id).caller !== "nobody"))("%s with no session that counts", async (id) => {
    const foreign = await sessionToken(`https://${CANARY}.test/auth/v1`);
    for (const given of [
      "",
      `Bearer ${CANARY}`,
      `Basic ${CANARY}`,
      `Bearer ${foreign}`,
      `Bearer sb_secret_${CANARY}`,
    ]) {
      api.log.length = 0;
      expect((await send(id, { authorization: given })).status).toBe(401);
      const line = theLine();
      expect(line).toMatchObject({ route: routeOf(id), code: "unauthorized" });
      expect(line).not.toHaveProperty("ownerId");
      expect(api.log[0]).not.toContain(foreign.split(".")[1]);
    }
  });

  const withBody = IDS.filter((id) => operationOf(id).body !== undefined);
  test.each(withBody)("%s with a body that does not fit", async (id) => {
    const { method } = operationOf(id);
    const json = { ...CARRIED, "content-type": "application/json" };
    const wrong: RequestInit[] = [
      { body: JSON.stringify({ [CANARY]: CANARY }), headers: json },
      { body: `{"title": ${CANARY}`, headers: json },
      { body: `"${CANARY}"`, headers: json },
      { body: CANARY, headers: { ...CARRIED, "content-type": `text/${CANARY}` } },
      { body: CANARY.repeat(2_000_000), headers: json },
    ];
    for (const init of wrong) {
      api.log.length = 0;
      const { status } = await api.call(SAMPLES[id].path, { method, ...init });
      expect([400, 413, 415]).toContain(status);
      expect(theLine()).toMatchObject({ route: routeOf(id), status, ownerId: OWNER, code: expect.any(String) });
    }
  });

  test.each([
    ["an unknown path", `/api/${CANARY}?${CANARY}=1`, "GET", 404, undefined],
    ["another function's path", `/${CANARY}`, "POST", 404, undefined],
    ["an identifier that is none", `/api/projects/${CANARY}`, "DELETE", 404, undefined],
    ["a wrong method", `/api/projects/${PROJECT}?${CANARY}`, "PUT", 405, "/api/projects/:projectId"],
    ["a word as method", "/api/projects", CANARY, 405, "/api/projects"],
    ["a preflight", `/api/projects?${CANARY}`, "OPTIONS", 204, undefined],
    ["the document", `/api/openapi.json?${CANARY}`, "GET", 200, "/api/openapi.json"],
  ])("%s", async (_what, path, method, status, route) => {
    await api.call(path, { method, headers: { ...CARRIED, origin: `https://${CANARY}.test` } });
    expect(theLine()).toMatchObject({ requestId: "r-1", status });
    expect(JSON.parse(api.log[0] ?? "").route).toBe(route);
  });
});
