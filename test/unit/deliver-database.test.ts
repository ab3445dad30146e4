import { expect, test } from "vitest";
import { createExchange } from "../../supabase/functions/keyframe-deliver/lanes/database.ts";

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
