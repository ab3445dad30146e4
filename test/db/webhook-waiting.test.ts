import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addEndpoint, clearWebhooks, exchange, resultOf, seedDeliveries } from "../support/database/webhooks.ts";
import { untilACallWaits } from "../support/database/waiting.ts";

const db = useDatabase();
let endpoint: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
});

/** Far more than anything here takes: a call that takes so long has waited to its end. */
const LONG_MS = 20_000;

async function timed<T>(work: Promise<T>): Promise<{ ms: number; answer: T }> {
  const start = performance.now();
  const answer = await work;
  return { ms: performance.now() - start, answer };
}

test("nothing due → the call comes back empty when its time is up", async () => {
  // On a busy machine a slow check can end the wait before its time (keyframe_private.wait_for_due), but not each time.
  const calls = [];
  for (let time = 0; time < 5; time++) calls.push(await timed(exchange(db.sql, { waitMs: 200 })));
  expect(calls.flatMap(({ answer }) => answer.deliveries)).toEqual([]);
  expect(Math.max(...calls.map(({ ms }) => ms))).toBeGreaterThan(150);
  expect(Math.min(...calls.map(({ ms }) => ms))).toBeLessThan(LONG_MS);
});

test("something is committed meanwhile → the waiting call brings it", async () => {
  const waiting = timed(exchange(db.sql, { waitMs: LONG_MS }));
  await untilACallWaits(db.sql);
  const [id] = await seedDeliveries(db.sql, endpoint, 1);
  const { ms, answer } = await waiting;
  expect(answer.deliveries).toMatchObject([{ id, attempt: 1 }]);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("something becomes due meanwhile → the waiting call brings it", async () => {
  const at = Date.now() + 300;
  await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: new Date(at) });
  const { ms, answer } = await timed(exchange(db.sql, { waitMs: LONG_MS }));
  expect(answer.deliveries).toHaveLength(1);
  expect(Date.now()).toBeGreaterThanOrEqual(at);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("due at an endpoint whose lane is leased, or that is disabled → waits: there is nothing to bring", async () => {
  await seedDeliveries(db.sql, endpoint, 20);
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { enabled: false }), 3);
  expect((await exchange(db.sql)).deliveries).toHaveLength(16);
  const waiting = exchange(db.sql, { waitMs: 2_000 });
  await untilACallWaits(db.sql);
  expect((await waiting).deliveries).toEqual([]);
});

test("a second call that would wait → comes back at once: one connection is enough for waiting", async () => {
  const first = timed(exchange(db.sql, { waitMs: 1_000 }));
  await untilACallWaits(db.sql);
  const second = await timed(exchange(db.sql, { waitMs: LONG_MS }));
  expect(second.ms).toBeLessThan(LONG_MS / 2);
  expect((await first).answer.deliveries).toEqual([]);
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
  const waiting = exchange(db.sql, { heartbeatMs: 60_000, waitMs: 1_000 });
  await untilACallWaits(db.sql);
  // The row is not locked: another claim records its heartbeat too.
  await exchange(db.sql, { heartbeatMs: 0 });
  const [row] =
    await db.sql`select alive_until = '-infinity' as ended from keyframe_private.worker_heartbeats where function_name = 'deliver'`;
  expect(row?.ended).toBe(true);
  await waiting;
});
