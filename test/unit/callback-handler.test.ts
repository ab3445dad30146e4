import { expect, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { type CallDatabase, DatabaseError } from "../../shared/platform/call-database.ts";
import { createSignedHandler } from "../../shared/webhooks/signed-handler.ts";
import { sign } from "../../shared/webhooks/signature.ts";
import { createCallbackHandler } from "../../supabase/functions/keyframe-replicate-webhook/handle-callback.ts";

const SECRET = `whsec_${btoa("a".repeat(32))}`;
const PREDICTION = "0d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a01";
const ADDRESS = `http://localhost/keyframe-replicate-webhook?prediction=${PREDICTION}&attempt=2`;
const RUN = {
  id: "run1",
  status: "processing",
  output: null,
  error: null,
  logs: " 25%|██▌       | 12/48 [00:03<00:09]",
};

type Sent = {
  body?: string;
  url?: string;
  method?: string;
  headers?: Record<string, string>;
  secret?: string;
  now?: Date;
};

async function send(sent: Sent = {}, answer: CallDatabase = async () => "recorded") {
  const calls: [string, Record<string, unknown>][] = [];
  const lines: string[] = [];
  const log = createLog({}, (line) => void lines.push(line));
  const call: CallDatabase = (name, args) => {
    calls.push([name, args]);
    return answer(name, args);
  };
  const handler = createSignedHandler({
    path: "/keyframe-replicate-webhook",
    secret: SECRET,
    maxBytes: 1024 * 1024,
    log,
    handle: createCallbackHandler(call, log),
  });
  const body = sent.body ?? JSON.stringify(RUN);
  const method = sent.method ?? "POST";
  const headers = sent.headers ?? sign(sent.secret ?? SECRET, "msg_1", sent.now ?? new Date(), body);
  const request = new Request(sent.url ?? ADDRESS, { method, headers, ...(method === "GET" ? {} : { body }) });
  const response = await handler(request);
  return { response, envelope: await response.json(), calls, lines };
}

const refused = (code: string) => ({
  success: false,
  data: null,
  error: expect.objectContaining({ code, requestId: expect.any(String) }),
});

test("a signed callback → one SQL call with what it says, and 200", async () => {
  const { response, envelope, calls } = await send();
  expect(response.status).toBe(200);
  expect(envelope).toEqual({ success: true, data: { outcome: "recorded" }, error: null });
  expect(calls).toEqual([
    [
      "record_provider_state",
      {
        prediction_id: PREDICTION,
        attempt: 2,
        provider_prediction_id: "run1",
        provider_status: "processing",
        output_url: null,
        progress: 0.25,
        error_message: null,
        callback_id: "msg_1",
        poll_after_seconds: null,
        found_by: null,
      },
    ],
  ]);
});

test("a callback about a prediction whose id its owner chose → recorded like any other", async () => {
  const chosen = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"; // neither version nor variant of RFC 9562
  const { response, calls } = await send({ url: ADDRESS.replace(PREDICTION, chosen) });
  expect([response.status, calls[0]?.[1].prediction_id]).toEqual([200, chosen]);
});

test("a failed run → its own words without addresses", async () => {
  const { calls } = await send({
    body: JSON.stringify({ ...RUN, status: "failed", error: "no https://x.test/?t=1 there" }),
  });
  expect(calls[0]?.[1]).toMatchObject({
    provider_status: "failed",
    error_message: "no [address] there",
    progress: null,
  });
});

test.each(["recorded", "unchanged", "duplicate", "ended", "stale"])(
  "the database says %s → 200, it is settled",
  async (outcome) => {
    const { response, envelope } = await send({}, async () => outcome);
    expect(response.status).toBe(200);
    expect(envelope.data).toEqual({ outcome });
  },
);

test("the database knows no such prediction → 404", async () => {
  const { response, envelope } = await send({}, async () => "unknown");
  expect(response.status).toBe(404);
  expect(envelope).toEqual(refused("not_found"));
});

test("the database is away → 503 with Retry-After, so that the provider repeats it", async () => {
  const { response, envelope, lines } = await send({}, async (name) => {
    throw new DatabaseError(name, 0, "");
  });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("5");
  expect(envelope).toEqual(refused("unavailable"));
  expect(lines.join()).toContain("record_provider_state failed with status 0");
});

test("an unknown answer of the database → 500 without details", async () => {
  const { response, envelope } = await send({}, async () => "perhaps");
  expect(response.status).toBe(500);
  expect(envelope).toEqual(refused("internal"));
});

const now = Date.now();
const good = sign(SECRET, "msg_1", new Date(now), JSON.stringify(RUN));
test.each<[string, Sent]>([
  ["without a signature", { headers: {} }],
  ["without a webhook-id", { headers: { ...good, "webhook-id": "" } }],
  ["with another webhook-id than was signed", { headers: { ...good, "webhook-id": "msg_2" } }],
  [
    "with another time than was signed",
    { headers: { ...good, "webhook-timestamp": String(Math.floor(now / 1000) - 1) } },
  ],
  ["with another body than was signed", { headers: good, body: JSON.stringify({ ...RUN, status: "failed" }) }],
  ["signed with another secret", { secret: `whsec_${btoa("b".repeat(32))}` }],
  ["signed six minutes ago", { now: new Date(now - 360_000) }],
  ["signed six minutes ahead", { now: new Date(now + 360_000) }],
  [
    "with a signature of another version",
    { headers: { ...good, "webhook-signature": good["webhook-signature"].replace("v1,", "v2,") } },
  ],
])("a callback %s → 401, nothing is called", async (_name, sent) => {
  const { response, envelope, calls } = await send(sent);
  expect(response.status).toBe(401);
  expect(envelope).toEqual(refused("unauthorized"));
  expect(calls).toEqual([]);
});

const here = "http://localhost/keyframe-replicate-webhook";
test.each<[string, Sent, number, string]>([
  ["GET", { method: "GET" }, 405, "method_not_allowed"],
  ["another path", { url: "http://localhost/keyframe-replicate-webhook/more" }, 404, "not_found"],
  ["a body that is no JSON", { body: "{" }, 400, "invalid_json"],
  ["an empty body", { body: "" }, 400, "invalid_json"],
  ["a status nobody knows", { body: JSON.stringify({ ...RUN, status: "paused" }) }, 400, "invalid_request"],
  ["a body without an id", { body: JSON.stringify({ status: "failed" }) }, 400, "invalid_request"],
  ["no prediction in the query", { url: `${here}?attempt=1` }, 400, "invalid_request"],
  ["a prediction that is no uuid", { url: `${here}?prediction=1&attempt=1` }, 400, "invalid_request"],
  ["attempt 0", { url: `${here}?prediction=${PREDICTION}&attempt=0` }, 400, "invalid_request"],
  ["an attempt that is no number", { url: `${here}?prediction=${PREDICTION}&attempt=x` }, 400, "invalid_request"],
  [
    "a body of more than 1 MiB",
    { body: JSON.stringify({ ...RUN, logs: "x".repeat(1024 * 1024) }) },
    413,
    "payload_too_large",
  ],
])("a callback with %s → %i %s, nothing is called", async (_name, sent, status, code) => {
  const { response, envelope, calls } = await send(sent);
  expect(response.status).toBe(status);
  expect(envelope).toEqual(refused(code));
  expect(calls).toEqual([]);
});

test("405 → says what is allowed", async () => {
  expect((await send({ method: "GET" })).response.headers.get("allow")).toBe("POST");
});

test("a callback with 900 KB of logs → accepted", async () => {
  const { response } = await send({ body: JSON.stringify({ ...RUN, logs: "x".repeat(900_000) }) });
  expect(response.status).toBe(200);
});

test("an endless body without a length → no more than 1 MiB of it is read", async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1;
      controller.enqueue(new Uint8Array(64 * 1024));
    },
  });
  const handler = createSignedHandler({
    path: "/keyframe-replicate-webhook",
    secret: SECRET,
    maxBytes: 1024 * 1024,
    log: createLog({}, () => {}),
    handle: () => new Response("handled"),
  });
  const response = await handler(new Request(ADDRESS, { method: "POST", body }));
  expect(response.status).toBe(413);
  expect(pulled).toBeLessThan(25);
});

test("the request's own identifier → echoed in header and error; a harmful one is replaced", async () => {
  const own = await send({ headers: { "x-request-id": "req-7" } });
  expect(own.response.headers.get("x-request-id")).toBe("req-7");
  expect(own.envelope.error.requestId).toBe("req-7");
  const other = await send({ headers: { "x-request-id": "a b".repeat(100) } });
  expect(other.envelope.error.requestId).toMatch(/^[0-9a-f-]{36}$/);
});
