import { afterAll, describe, expect, test } from "vitest";
import { answerHeaders } from "../../../shared/api/http/respond.ts";
import {
  failedBody,
  PREDICTION,
  PROJECT,
  predictionRow,
  rate,
  SECRET_KEY,
  startApi,
  succeededFields,
} from "./fixture.ts";

// Every code of PostgREST and Storage. That each route answers so, and what happens with no platform at all: test/api/outage.test.ts.

type Upstream = { status: number; body: unknown };
let upstream: Upstream = { status: 500, body: {} };
let storage: Upstream = { status: 200, body: {} };
const api = await startApi(async ({ path }) => {
  if (!path.startsWith("/storage/")) return Response.json(upstream.body, { status: upstream.status });
  return Response.json(storage.body, { status: storage.status });
});
afterAll(api.stop);

const start = () => api.post("/api/projects/generate/first-frame", { projectId: PROJECT, prompt: "my prompt" });
const startVideo = () => api.post("/api/projects/generate/video", { projectId: PROJECT });
const cancel = () => api.post("/api/projects/generate/cancel", { projectId: PROJECT, predictionId: PREDICTION });
const postgrest = (
  status: number,
  code: string,
  message = "words of the database",
  details: string | null = "Failing row contains (my prompt).",
  hint: string | null = null,
) => {
  upstream = { status, body: { code, message, details, hint } };
};
async function expectError(response: Response, status: number, code: string) {
  const body = await failedBody(response);
  expect([response.status, body.error.code]).toEqual([status, code]);
  expect(JSON.stringify(body)).not.toMatch(/words of the database|my prompt|Failing row/);
  expect(api.log.at(-1)).not.toMatch(/words of the database|my prompt|Failing row/);
  return body.error;
}

/** The hint of keyframe_private.acquire_token. */
const refusedBy = (policy: string, wait_seconds: number) =>
  JSON.stringify({ policy, limit: 60, window_seconds: 60, wait_seconds });

describe("errors that our SQL raises", () => {
  test.each([
    ["not_found", 404, start],
    ["frame_not_ready", 409, startVideo],
    ["generation_ended", 409, cancel],
    ["idempotency_mismatch", 422, start],
    ["unsupported_input", 422, start],
    ["price_unknown", 422, start],
    ["model_unavailable", 409, start],
    ["spending_stopped", 402, start],
    ["user_moved", 409, start],
    ["invalid_request", 400, start],
  ] as const)("the SQL error %s → %i, with its sentence", async (code, status, request) => {
    postgrest(400, "KEYFR", code, "A sentence for a person.", "");
    expect((await expectError(await request(), status, code)).message).toBe("A sentence for a person.");
  });
  test("rate_limited for less than a second → a Retry-After of 1, never 0", async () => {
    postgrest(400, "KEYFR", "rate_limited", "Wait.", refusedBy("generate", 0));
    const { headers } = await start();
    expect([headers.get("retry-after"), headers.get("ratelimit")]).toEqual(["1", '"generate";r=0;t=1']);
  });
  test("an error code that is not in the table → 500 internal, without its words", async () => {
    postgrest(400, "KEYFR", "no_such_code", "my prompt");
    await expectError(await start(), 500, "internal");
  });
});

test.each([
  [401, "PGRST301", 401, "unauthorized"],
  [401, "PGRST303", 401, "unauthorized"],
  [400, "22P02", 400, "invalid_request"],
  [400, "22001", 400, "invalid_request"],
  [400, "23514", 400, "invalid_request"],
  [409, "23503", 404, "not_found"],
  [503, "PGRST000", 503, "unavailable"],
  [503, "PGRST001", 503, "unavailable"],
  [503, "PGRST002", 503, "unavailable"],
  [504, "PGRST003", 503, "unavailable"],
  [503, "53300", 503, "unavailable"],
  [500, "57P01", 503, "unavailable"],
  [405, "25006", 503, "unavailable"],
  [500, "57P03", 503, "unavailable"],
  [500, "57014", 503, "unavailable"],
  [500, "40P01", 503, "unavailable"],
  [500, "55P03", 503, "unavailable"],
  [503, "08006", 503, "unavailable"],
  [404, "PGRST202", 503, "schema_outdated"],
  [406, "PGRST106", 503, "schema_outdated"],
  [403, "42501", 500, "internal"],
  [400, "P0001", 500, "internal"],
  [500, "XX000", 500, "internal"],
  [409, "23505", 500, "internal"],
  [400, "", 503, "unavailable"], // a connection of the pool whose backend has crashed
  [404, "", 503, "unavailable"],
])("PostgREST %i %s → %i %s; the log has the code", async (status, code, wireStatus, wireCode) => {
  postgrest(status, code);
  const response = await start();
  const { message } = await expectError(response, wireStatus, wireCode);
  if (wireCode === "schema_outdated")
    expect(message).toMatch(/supabase db push, or npm run deploy.*notify pgrst, 'reload schema'/);
  expect(JSON.parse(api.log.at(-1) ?? "").cause).toEqual({
    from: "database",
    operation: "start_prediction",
    status,
    code,
  });
  const retryAfter = Number(response.headers.get("retry-after") ?? 0);
  expect(retryAfter >= 2 && retryAfter <= 5).toBe(wireStatus === 503);
  expect(response.headers.get("www-authenticate")).toBe(wireCode === "unauthorized" ? "Bearer" : null);
});

test.each(["/api/health", "/api/health?deep=1", "/api/metrics"])(
  "GET %s while its SQL function is missing → 503 schema_outdated",
  async (path) => {
    postgrest(404, "PGRST202");
    const response = await api.call(path, { headers: { authorization: `Bearer ${SECRET_KEY}` } });
    await expectError(response, 503, "schema_outdated");
  },
);

// Seen on hosted projects for 19 days: PostgREST's clock was behind that of what signed the token.
test.each([
  ["JWT issued at future", start],
  ["JWT not yet valid", start],
  ["JWT issued at future", () => api.call("/api/webhooks", { headers: { authorization: `Bearer ${SECRET_KEY}` } })],
])(
  "PGRST303 %j, of a session and of the secret key → 503 with Retry-After: nobody can sign in against a clock",
  async (message, request) => {
    postgrest(401, "PGRST303", message);
    const response = await request();
    await expectError(response, 503, "unavailable");
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(2);
  },
);

test("a value that breaks a constraint → the message names the rule", async () => {
  postgrest(400, "23514", 'new row for relation "projects" violates check constraint "title_has_1_to_200_characters"');
  expect((await expectError(await start(), 400, "invalid_request")).message).toMatch("title has 1 to 200 characters");
});

test("a platform's answer that stops half way → 503 once the time is up", async () => {
  const begun = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"a"')) });
  const stuck = await startApi(() => new Response(begun()), { timeoutMs: 100 });
  expect((await stuck.post("/api/projects/generate/first-frame", { projectId: PROJECT })).status).toBe(503);
  await stuck.stop();
});

test("a row with a wrong field, or without the rate → 500; the log names the field, not its value", async () => {
  const prediction = predictionRow({ attempt: ["my prompt"] });
  for (const [body, field] of [
    [{ prediction, rate }, "prediction.attempt"],
    [{ prediction: predictionRow() }, "rate"],
    ["words of the database", ""],
  ] as const) {
    upstream = { status: 200, body };
    await expectError(await start(), 500, "internal");
    const { level, cause } = JSON.parse(api.log.at(-1) ?? "");
    expect([level, cause.message]).toEqual(["error", expect.stringMatching(`start_prediction .*${field} \\(`)]);
  }
});

describe("Storage, when a read signs its output", () => {
  const read = () => {
    upstream = { status: 200, body: { prediction: predictionRow(succeededFields), rate: null } };
    return api.call(`/api/projects/generate/first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`);
  };
  const said = (statusCode: string, message = "words of the database") => ({ statusCode, error: "any", message });
  test.each<[number, object, number, string]>([
    [503, { message: "words of the database" }, 503, "unavailable"],
    [500, said("500"), 503, "unavailable"],
    [400, said("403", '"exp" claim timestamp check failed'), 401, "unauthorized"],
    [401, { message: "words of the database" }, 401, "unauthorized"],
    [400, said("403", '"nbf" claim timestamp check failed'), 503, "unavailable"],
    [400, said("404"), 500, "internal"],
  ])("Storage answers %i %j → %i %s", async (from, body, status, code) => {
    storage = { status: from, body };
    await expectError(await read(), status, code);
    expect(JSON.parse(api.log.at(-1) ?? "").cause).toMatchObject({ from: "storage", operation: "sign" });
  });
});

test("the RateLimit header → what remains and when it is full again, never below zero", () => {
  expect(answerHeaders({ rate: { ...rate, remaining: -3, reset_seconds: -1 } })).toEqual({
    "RateLimit-Policy": '"generate";q=60;w=60',
    RateLimit: '"generate";r=0;t=0',
  });
});
