import { expect, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { type CallDatabase, DatabaseError } from "../../shared/platform/call-database.ts";
import { createSignedHandler, sign } from "../../shared/webhooks/signed-handler.ts";
import { createCallbackHandler } from "../../supabase/functions/keyframe-replicate-webhook/handle-callback.ts";

// What the database may answer. Signatures, methods, paths and sizes: test/security/signatures; bodies: test/faults/forged-callbacks.

const SECRET = `whsec_${btoa("a".repeat(32))}`;
/** As its owner may have chosen it in Postgres: neither version nor variant of RFC 9562. */
const PREDICTION = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99";
const RUN = {
  id: "run1",
  status: "processing",
  output: null,
  error: null,
  logs: " 25%|██▌       | 12/48 [00:03<00:09]",
};

async function send(answer: CallDatabase, run: object = RUN, more: Record<string, string> = {}) {
  const calls: [string, Record<string, unknown>][] = [];
  const lines: string[] = [];
  const log = createLog({}, (line) => void lines.push(line));
  const call: CallDatabase = (name, args) => {
    calls.push([name, args]);
    return answer(name, args);
  };
  const handle = createCallbackHandler(call, log);
  const path = "/keyframe-replicate-webhook";
  const handler = createSignedHandler({ path, secret: SECRET, maxBytes: 1024 * 1024, log, handle });
  const body = JSON.stringify(run);
  const headers = { ...sign(SECRET, "msg_1", new Date(), body), ...more };
  const url = `http://localhost${path}?prediction=${PREDICTION}&attempt=2`;
  const response = await handler(new Request(url, { method: "POST", headers, body }));
  return { response, envelope: await response.json(), calls, lines };
}

const refused = (code: string) => ({
  success: false,
  data: null,
  error: expect.objectContaining({ code, requestId: expect.any(String) }),
});

test("a signed callback → one SQL call with what it says, and 200", async () => {
  const { response, envelope, calls } = await send(async () => "recorded");
  expect(response.status).toBe(200);
  expect(envelope).toEqual({ success: true, data: { outcome: "recorded" }, error: null });
  expect(calls).toEqual([
    [
      "record_provider_state",
      {
        ...{ prediction_id: PREDICTION, attempt: 2, provider_prediction_id: "run1", provider_status: "processing" },
        ...{ output_url: null, progress: 0.25, error_message: null },
        ...{ poll_after_seconds: null, found_by: null, failure: null, stage: null },
        ...{ metrics: null, attempt_without_run: null },
      },
    ],
  ]);
});

test.each(["unchanged", "ended", "stale", "given_up"])("the database says %s → 200, it is settled", async (outcome) => {
  const { response, envelope } = await send(async () => outcome);
  expect([response.status, envelope.data]).toEqual([200, { outcome }]);
});

test("the database is away → 503 with Retry-After, so that the provider repeats it", async () => {
  const { response, envelope, lines } = await send(async (name) => {
    throw new DatabaseError(name, 0, "");
  });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(envelope).toEqual(refused("unavailable"));
  expect(lines.join()).toContain("record_provider_state failed with status 0");
});

test("an unknown answer of the database → 500 without details", async () => {
  const { response, envelope } = await send(async () => "perhaps");
  expect(response.status).toBe(500);
  expect(envelope).toEqual(refused("internal"));
});

test("the request's own identifier → echoed in header and error; a harmful one is replaced", async () => {
  const own = await send(async () => "unknown", RUN, { "x-request-id": "req-7" });
  expect([own.response.headers.get("x-request-id"), own.envelope.error.requestId]).toEqual(["req-7", "req-7"]);
  const other = await send(async () => "unknown", RUN, { "x-request-id": "a b".repeat(100) });
  expect(other.envelope.error.requestId).toMatch(/^[0-9a-f-]{36}$/);
});
