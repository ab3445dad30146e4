import { expect, test } from "vitest";
import { readEnvironment } from "../../shared/platform/environment.ts";
import type { CallDatabase } from "../../shared/platform/call-database.ts";
import { type AttemptResult, createExchange } from "../../supabase/functions/keyframe-deliver/lanes/database.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";

const RESULT: AttemptResult = {
  id: "d1",
  attempt: 1,
  lane_token: "l1",
  started_at: "2026-02-03T04:05:06.789Z",
  duration_ms: 12,
  status_code: 503,
  error: "http_status",
  response_excerpt: "later",
  retry_after_seconds: 30,
};

const LIMITS = { maxLanes: 100, leaseSeconds: 15, heartbeatMs: 300, waitMs: 100 };
const HELD = { endpoint_id: "e2", token: "l2", sending: ["d9"], more: true };

test("an exchange → one call with results, held lanes and limits, and each delivery with its endpoint's URL and secrets", async () => {
  const calls: [string, Record<string, unknown>][] = [];
  const lane = { endpoint_id: "e1", token: "l1", owner_id: "o1", max_open: 8 };
  const call: CallDatabase = async (name, args) => {
    calls.push([name, args]);
    const deliveries = [
      { id: "d2", attempt: 1, event_id: "v2", body: '{"a": 1}' },
      { id: "d3", attempt: 4, event_id: "v3", body: "{}" },
    ];
    const address = { url: "https://hooks.example.com/", secrets: ["whsec_new", "whsec_old"] };
    return { recorded: 1, lanes: [{ ...lane, ...address, deliveries }], ended: ["e2"] };
  };
  expect(await createExchange(call)([RESULT], [HELD], LIMITS)).toEqual({
    ended: ["e2"],
    lanes: [
      {
        ...{ endpointId: "e1", token: "l1", ownerId: "o1", maxOpen: 8 },
        deliveries: [
          {
            ...{ id: "d2", attempt: 1, laneToken: "l1", endpointId: "e1", eventId: "v2", body: '{"a": 1}' },
            ...{ url: "https://hooks.example.com/", secrets: ["whsec_new", "whsec_old"] },
          },
          expect.objectContaining({ id: "d3", attempt: 4, eventId: "v3", url: "https://hooks.example.com/" }),
        ],
      },
    ],
  });
  const limits = { max_lanes: 100, lease_seconds: 15, heartbeat_ms: 300, wait_ms: 100 };
  expect(calls).toEqual([["exchange_deliveries", { results: [RESULT], held: [HELD], ...limits }]]);
});

test.each([null, [], { lanes: [{ endpoint_id: "e1" }], ended: [] }])(
  "the database answers %j → rejected",
  async (odd) => {
    await expect(createExchange(async () => odd)([], [], LIMITS)).rejects.toThrow();
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
