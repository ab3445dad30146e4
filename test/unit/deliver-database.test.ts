import { expect, test } from "vitest";
import { readEnvironment } from "../../shared/platform/environment.ts";
import { createExchange } from "../../supabase/functions/keyframe-deliver/lanes/database.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";

const LIMITS = { maxLanes: 100, leaseSeconds: 15, heartbeatMs: 300, waitMs: 100 };

test("an exchange → the limits go to the database by their names", async () => {
  const calls: unknown[] = [];
  const exchange = createExchange(async (...call) => {
    calls.push(call);
    return { recorded: 0, lanes: [], ended: ["e2"] };
  });
  expect(await exchange([], [], LIMITS)).toEqual({ lanes: [], ended: ["e2"] });
  const limits = { max_lanes: 100, lease_seconds: 15, heartbeat_ms: 300, wait_ms: 100 };
  expect(calls).toEqual([["exchange_deliveries", { results: [], held: [], ...limits }]]);
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

test.each<[string | undefined, boolean | "refused"]>([
  [undefined, false],
  ["", false],
  ["0", false],
  ["1", true],
  ["true", "refused"],
  [" 1", "refused"],
])("KEYFRAME_ALLOW_LOCAL_WEBHOOKS=%s → local receivers allowed: %s", (value, allowed) => {
  const read = () =>
    readEnvironment(deliverEnvironment, (name) => (name === "KEYFRAME_ALLOW_LOCAL_WEBHOOKS" ? value : GIVEN[name]));
  if (allowed === "refused") expect(read).toThrow("KEYFRAME_ALLOW_LOCAL_WEBHOOKS is wrong (must be 0 or 1)");
  else expect(read().KEYFRAME_ALLOW_LOCAL_WEBHOOKS).toBe(allowed);
});
