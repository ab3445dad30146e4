import { expect, test } from "vitest";
import { readEnvironment } from "../../shared/platform/environment.ts";
import type { CallDatabase } from "../../shared/platform/call-database.ts";
import { type AttemptResult, createExchange } from "../../supabase/functions/keyframe-deliver/queue/database.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";

const RESULT: AttemptResult = {
  id: "d1",
  lease_token: "l1",
  started_at: "2026-02-03T04:05:06.789Z",
  duration_ms: 12,
  status_code: 503,
  error: "http_status",
  response_excerpt: "later",
  retry_after_seconds: 30,
};

test("an exchange → one call with results and limits, and each delivery with its endpoint's URL and secrets", async () => {
  const calls: [string, Record<string, unknown>][] = [];
  const call: CallDatabase = async (name, args) => {
    calls.push([name, args]);
    return {
      recorded: 1,
      deliveries: [
        { id: "d2", lease_token: "l2", attempt: 1, endpoint_id: "e1", event_id: "v2", body: '{"a": 1}' },
        { id: "d3", lease_token: "l3", attempt: 4, endpoint_id: "e1", event_id: "v3", body: "{}" },
      ],
      endpoints: { e1: { url: "https://hooks.example.com/", secrets: ["whsec_new", "whsec_old"] } },
    };
  };
  expect(await createExchange(call)([RESULT], 200, 30, 300, 100)).toEqual([
    {
      id: "d2",
      leaseToken: "l2",
      endpointId: "e1",
      eventId: "v2",
      body: '{"a": 1}',
      url: "https://hooks.example.com/",
      secrets: ["whsec_new", "whsec_old"],
    },
    expect.objectContaining({ id: "d3", eventId: "v3", url: "https://hooks.example.com/" }),
  ]);
  expect(calls).toEqual([
    ["exchange_deliveries", { results: [RESULT], max_rows: 200, lease_seconds: 30, heartbeat_ms: 300, wait_ms: 100 }],
  ]);
});

test.each([null, [], { deliveries: [{ id: "d1" }], endpoints: {} }])(
  "the database answers %j → rejected",
  async (odd) => {
    await expect(createExchange(async () => odd)([], 1, 30, 0, 0)).rejects.toThrow();
  },
);

const GIVEN: Record<string, string> = {
  SUPABASE_URL: "https://ref.supabase.co/",
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
  KEYFRAME_KICK_SECRET: `whsec_${btoa("a".repeat(32))}`,
};

test.each<[string | undefined, boolean]>([
  [undefined, false],
  ["", false],
  ["0", false],
  ["1", true],
])("KEYFRAME_ALLOW_LOCAL_WEBHOOKS=%s → local receivers allowed: %s", (value, allowed) => {
  const read = (name: string) => (name === "KEYFRAME_ALLOW_LOCAL_WEBHOOKS" ? value : GIVEN[name]);
  expect(readEnvironment(deliverEnvironment, read).KEYFRAME_ALLOW_LOCAL_WEBHOOKS).toBe(allowed);
});

test.each(["true", "yes", " 1"])("KEYFRAME_ALLOW_LOCAL_WEBHOOKS=%s → refused by name", (value) => {
  const read = (name: string) => (name === "KEYFRAME_ALLOW_LOCAL_WEBHOOKS" ? value : GIVEN[name]);
  expect(() => readEnvironment(deliverEnvironment, read)).toThrow(
    "KEYFRAME_ALLOW_LOCAL_WEBHOOKS is wrong (must be 0 or 1)",
  );
});

test("no environment → each missing variable is named", () => {
  expect(() => readEnvironment(deliverEnvironment, () => undefined)).toThrow(
    "SUPABASE_URL is missing; SUPABASE_SECRET_KEYS is missing; KEYFRAME_KICK_SECRET is missing",
  );
});
