import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { untilACallWaits } from "../support/database/waiting.ts";
import { addEndpoint, clearWebhooks, exchange, resultOf, seedDeliveries } from "../support/database/webhooks.ts";

const db = useDatabase();
let world: World;
let endpoint: string;
beforeEach(async () => {
  await db.sql`truncate keyframe.predictions`;
  await clearWebhooks(db.sql);
  world = await addWorld(db);
  endpoint = await addEndpoint(db.sql, null);
});

/** Far more than anything here takes: a call that takes so long has waited to its end. */
const LONG_MS = 20_000;

async function timed<T>(work: Promise<T>): Promise<{ ms: number; answer: T }> {
  const start = performance.now();
  const answer = await work;
  return { ms: performance.now() - start, answer };
}

/** The two calls that wait: how each comes by work, and what it brings. */
const CALLS = {
  claim_predictions: {
    makeDue: async (next_attempt_at: Date) =>
      (await seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null, next_attempt_at } })).id,
    call: (waitMs: number): Promise<object[]> => claim(db.sql, 10, 60, 0, waitMs),
  },
  exchange_deliveries: {
    makeDue: async (next_attempt_at: Date) => (await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at }))[0],
    call: async (waitMs: number): Promise<object[]> => (await exchange(db.sql, { waitMs })).deliveries,
  },
};

describe.each(Object.entries(CALLS))("%s", (_name, { makeDue, call }) => {
  test("nothing due → comes back empty when its time is up", async () => {
    // On a busy machine a slow check can end the wait before its time (keyframe_private.wait_for_due), but not each time.
    let longest = 0;
    for (let time = 0; time < 5 && longest <= 150; time++) {
      const { ms, answer } = await timed(call(200));
      expect(answer).toEqual([]);
      expect(ms).toBeLessThan(LONG_MS);
      longest = Math.max(longest, ms);
    }
    expect(longest).toBeGreaterThan(150);
  });

  test("something is due already → no wait", async () => {
    const id = await makeDue(new Date(Date.now() - 1_000));
    const { ms, answer } = await timed(call(LONG_MS));
    expect(answer).toMatchObject([{ id, attempt: 1 }]);
    expect(ms).toBeLessThan(LONG_MS / 2);
  });

  test("something is committed meanwhile → brings it", async () => {
    const waiting = timed(call(LONG_MS));
    await untilACallWaits(db.sql);
    const id = await makeDue(new Date(Date.now() - 1_000));
    const { ms, answer } = await waiting;
    expect(answer).toMatchObject([{ id, attempt: 1 }]);
    expect(ms).toBeLessThan(LONG_MS / 2);
  });

  test("something becomes due meanwhile → brings it then", async () => {
    const at = Date.now() + 300;
    const id = await makeDue(new Date(at));
    const { ms, answer } = await timed(call(LONG_MS));
    expect(answer).toMatchObject([{ id }]);
    expect(Date.now()).toBeGreaterThanOrEqual(at);
    expect(ms).toBeLessThan(LONG_MS / 2);
  });

  test("a second call that would wait → comes back at once: one connection is enough for waiting", async () => {
    const first = call(LONG_MS);
    await untilACallWaits(db.sql);
    expect((await timed(call(LONG_MS))).ms).toBeLessThan(LONG_MS / 2);
    const id = await makeDue(new Date(Date.now() - 1_000));
    expect(await first).toMatchObject([{ id }]);
  });
});

test("a prediction that became due during the wait → leased from then on, its first submit with nothing to search for", async () => {
  const id = await CALLS.claim_predictions.makeDue(new Date(Date.now() + 300));
  expect(await CALLS.claim_predictions.call(LONG_MS)).toMatchObject([{ id, task: "submit", search_since: null }]);
  const [row] = await db.sql<{ left: number }[]>`
    select extract(epoch from next_attempt_at - updated_at)::float8 as left from keyframe.predictions where id = ${id}`;
  expect(row?.left).toBe(60);
});

test("due at an endpoint whose lane is leased, or that is disabled → waits on for something else", async () => {
  await seedDeliveries(db.sql, endpoint, 20);
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { enabled: false }), 3);
  expect((await exchange(db.sql)).deliveries).toHaveLength(16);
  const waiting = exchange(db.sql, { waitMs: LONG_MS });
  await untilACallWaits(db.sql);
  const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
  expect((await waiting).deliveries).toMatchObject([{ id }]);
});

test("with results → they are recorded without a wait", async () => {
  await seedDeliveries(db.sql, endpoint, 1);
  const { deliveries } = await exchange(db.sql);
  const results = deliveries.map((delivery) => resultOf(delivery, { status_code: 200 }));
  const { ms, answer } = await timed(exchange(db.sql, { results, waitMs: LONG_MS }));
  expect(answer.recorded).toBe(1);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("the heartbeat → is not delayed by the wait of the call that recorded it", async () => {
  await exchange(db.sql, { heartbeatMs: 60_000 });
  const waiting = exchange(db.sql, { heartbeatMs: 60_000, waitMs: LONG_MS });
  await untilACallWaits(db.sql);
  // The row is not locked: another claim records its heartbeat too.
  await exchange(db.sql, { heartbeatMs: 0 });
  const [row] =
    await db.sql`select alive_until = '-infinity' as ended from keyframe_private.worker_heartbeats where function_name = 'deliver'`;
  expect(row?.ended).toBe(true);
  await seedDeliveries(db.sql, endpoint, 1);
  expect((await waiting).deliveries).toHaveLength(1);
});
