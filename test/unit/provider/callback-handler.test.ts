import { expect, test } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { type CallDatabase, DatabaseError } from "../../../shared/platform/call-database.ts";
import { sign } from "../../../local/sign.ts";
import { createSignedHandler } from "../../../shared/webhooks/signed-handler.ts";
import { createCallbackHandler } from "../../../supabase/functions/keyframe-replicate-webhook/handle-callback.ts";

// What a signed callback may say, and the database answer. Signatures, methods, paths and sizes: test/security/signatures.

const SECRET = `whsec_${btoa("a".repeat(32))}`;
/** As its owner may have chosen it in Postgres: neither version nor variant of RFC 9562. */
const PREDICTION = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99";
const QUERY = `prediction=${PREDICTION}&attempt=2`;
const RUN = { id: "run1", status: "processing", output: null, error: null, logs: "" };

async function send(call: CallDatabase, { body = JSON.stringify(RUN), query = QUERY, wrongFirst = "" } = {}) {
  const lines: string[] = [];
  const log = createLog({}, (line) => void lines.push(line));
  const path = "/keyframe-replicate-webhook";
  const handle = createCallbackHandler(call, log);
  const handler = createSignedHandler({ path, secret: SECRET, maxBytes: 1024 * 1024, log, handle });
  const { "webhook-signature": signature, ...signed } = sign(SECRET, "msg_1", new Date(), body);
  const headers = { ...signed, "webhook-signature": wrongFirst + signature };
  const response = await handler(new Request(`http://localhost${path}?${query}`, { method: "POST", headers, body }));
  return { response, envelope: await response.json(), lines };
}

test.each(["recorded", "unchanged", "ended", "stale", "replaced"])(
  "the database says %s → 200, the callback is settled",
  async (outcome) => {
    const { response, envelope } = await send(async () => outcome);
    expect(response.status).toBe(200);
    expect(envelope).toEqual({ success: true, data: { outcome }, error: null });
  },
);

test("the database is down → 503 with Retry-After, so that the provider repeats its callback", async () => {
  const { response, envelope, lines } = await send(async (name) => {
    throw new DatabaseError(name, 0, "");
  });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(envelope).toMatchObject({ success: false, data: null, error: { code: "unavailable" } });
  expect(lines.join()).toContain("report_run failed with status 0");
});

test("an unknown answer of the database → 500 without details", async () => {
  const { response, envelope } = await send(async () => "perhaps");
  expect(response.status).toBe(500);
  const error = { code: "internal", message: expect.any(String), requestId: expect.any(String) };
  expect(envelope).toEqual({ success: false, data: null, error });
});

test("a prediction that the database does not know, or an attempt that was not made → 404 not_found", async () => {
  const { response, envelope } = await send(async () => "unknown");
  expect([response.status, envelope.error.code]).toEqual([404, "not_found"]);
});

const says = (change: object) => ({ body: JSON.stringify({ ...RUN, ...change }) });

test.each<[what: string, code: string, change: { query?: string; body?: string }]>([
  ["attempt 0", "invalid_request", { query: `prediction=${PREDICTION}&attempt=0` }],
  ["an attempt that is not a number", "invalid_request", { query: `prediction=${PREDICTION}&attempt=1;drop` }],
  ["no attempt", "invalid_request", { query: `prediction=${PREDICTION}` }],
  ["a prediction that is not a UUID", "invalid_request", { query: "prediction=../../keyframe-generate&attempt=1" }],
  ["a body that is not JSON", "invalid_json", { body: "status=failed" }],
  ["an empty body", "invalid_json", { body: "" }],
  ["a list", "invalid_request", { body: JSON.stringify([RUN]) }],
  ["an unknown status", "invalid_request", says({ status: "exploded" })],
  ["a run that is a path", "invalid_request", says({ id: "../predictions/1" })],
  ["logs that are not text", "invalid_request", says({ logs: 5 })],
])("a signed callback with %s → 400 %s, and the database is not asked", async (_what, code, change) => {
  const asked: string[] = [];
  const { response, envelope } = await send(async (name) => asked.push(name), change);
  expect([response.status, envelope.error.code, asked]).toEqual([400, code, []]);
});

test("a callback with a wrong and a right signature, as during a rotation, and 900 KB of logs → recorded", async () => {
  const { response } = await send(async () => "recorded", {
    ...says({ logs: "x".repeat(900_000) }),
    wrongFirst: "v1,d3Jvbmc= ",
  });
  expect(response.status).toBe(200);
});
