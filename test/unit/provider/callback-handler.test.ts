import { expect, test } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { type CallDatabase, DatabaseError } from "../../../shared/platform/call-database.ts";
import { sign } from "../../../local/sign.ts";
import { createSignedHandler } from "../../../shared/webhooks/signed-handler.ts";
import { createCallbackHandler } from "../../../supabase/functions/keyframe-replicate-webhook/handle-callback.ts";

// What the database may answer. Signatures, methods, paths and sizes: test/security/signatures; bodies: test/faults/forged-callbacks.

const SECRET = `whsec_${btoa("a".repeat(32))}`;
/** As its owner may have chosen it in Postgres: neither version nor variant of RFC 9562. */
const PREDICTION = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99";
const RUN = { id: "run1", status: "processing", output: null, error: null, logs: "" };

async function send(call: CallDatabase) {
  const lines: string[] = [];
  const log = createLog({}, (line) => void lines.push(line));
  const path = "/keyframe-replicate-webhook";
  const handle = createCallbackHandler(call, log);
  const handler = createSignedHandler({ path, secret: SECRET, maxBytes: 1024 * 1024, log, handle });
  const body = JSON.stringify(RUN);
  const headers = sign(SECRET, "msg_1", new Date(), body);
  const url = `http://localhost${path}?prediction=${PREDICTION}&attempt=2`;
  const response = await handler(new Request(url, { method: "POST", headers, body }));
  return { response, envelope: await response.json(), lines };
}

test.each(["recorded", "unchanged", "ended", "stale", "given_up"])(
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
