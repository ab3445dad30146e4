import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  type Outcome,
  readDelivery,
  record,
  resultOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

// Time is an argument, so the whole schedule of more than three days runs at once.

const [SECOND, MINUTE, HOUR] = [1, 60, 3600];
const SCHEDULE = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
const START = new Date("2026-03-01T00:00:00Z");
const plus = (at: Date, seconds: number) => new Date(at.getTime() + seconds * 1000);

const db = useDatabase();
let endpoint: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
});

const seedAt = async (at: Date, columns: object = {}) =>
  (await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: at, ...columns }))[0] ?? "";

/** Sends at each due moment until it ends, and returns how many seconds lay between the attempts. */
async function waitsOf(id: string, outcome: Outcome): Promise<number[]> {
  const waits: number[] = [];
  for (let at = START; waits.length < 20; ) {
    expect(await sendNext(db.sql, outcome, at)).toEqual([id]);
    const { status, next_attempt_at } = await readDelivery(db.sql, id);
    if (status !== "pending") return waits;
    const next = next_attempt_at as Date; // timestamptz columns are read as dates
    waits.push((next.getTime() - at.getTime()) / 1000);
    expect(await sendNext(db.sql, outcome, plus(next, -2))).toEqual([]); // a call adds the time that it has taken itself
    at = new Date(next.getTime() + 1); // dates carry milliseconds, Postgres microseconds
  }
  throw new Error("The retries have no end.");
}

describe("a receiver that always answers 500", () => {
  test("→ ten attempts by the schedule, each wait within 20 %, then exhausted", async () => {
    const id = await seedAt(START);
    const waits = await waitsOf(id, { status_code: 500 });
    expect(waits.length).toBe(SCHEDULE.length);
    for (const [i, wait] of waits.entries()) {
      const planned = SCHEDULE[i] ?? Number.NaN;
      expect(wait).toBeGreaterThanOrEqual(planned * 0.8 - 0.001);
      expect(wait).toBeLessThanOrEqual(planned * 1.2 + 0.001);
    }
    expect(await readDelivery(db.sql, id)).toMatchObject({
      status: "exhausted",
      attempts: 10,
      last_status_code: 500,
      last_error: "http_status",
      completed_at: expect.any(Date),
    });
    expect(await sendNext(db.sql, { status_code: 500 }, plus(START, 365 * 24 * HOUR))).toEqual([]);
  });

  test("→ the waits of many differ: a receiver that comes back does not meet them all at once", async () => {
    const [row] = await db.sql`
      select count(distinct wait) > 450 as different, min(wait) >= 240 as above, max(wait) <= 360 as below, max(wait) - min(wait) > 60 as spread
      from (select extract(epoch from keyframe_private.next_delivery_attempt(2, 500, null, now()) - now()) as wait from generate_series(1, 500)) w`;
    expect(row).toEqual({ different: true, above: true, below: true, spread: true });
  });
});

test("2xx → delivered at once; every other status, and no answer → tried again, and the row says why", async () => {
  const again = [100, 199, 300, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503];
  const outcomes: Outcome[] = [
    ...[200, 201, 202, 204, 299, ...again].map((status_code) => ({ status_code })),
    ...["timeout", "connection", "dns", "tls", "address", "too_large"].map((error) => ({ error })),
  ];
  for (const _one of outcomes.slice(1)) await addEndpoint(db.sql, null);
  const endpoints = await db.sql<{ id: string }[]>`select id from keyframe.webhook_endpoints`;
  for (const { id } of endpoints) await seedDeliveries(db.sql, id, 1, { next_attempt_at: START });
  const { deliveries } = await exchange(db.sql, { at: START });
  const results = outcomes.flatMap((outcome, i) => deliveries.slice(i, i + 1).map((one) => resultOf(one, outcome)));
  expect([results.length, (await record(db.sql, results, START)).unrecorded]).toEqual([24, []]);
  for (const { id, status_code = null, error = null } of results) {
    const isDelivered = status_code !== null && status_code >= 200 && status_code < 300;
    const last_error = isDelivered ? null : (error ?? "http_status");
    expect(await readDelivery(db.sql, id)).toMatchObject({
      ...{ status: isDelivered ? "delivered" : "pending", attempts: 1, completed_at: isDelivered ? START : null },
      ...{ last_status_code: status_code, last_error },
    });
  }
});

test.each<[string, status: number, retryAfter: number | null, attempts: number, least: number, most: number]>([
  ["on 429 → waited out to the second", 429, 1234, 0, 1234, 1234],
  ["on 503 → waited out to the second", 503, 1234, 0, 1234, 1234],
  ["of more than a day → a day", 503, 30 * 24 * HOUR, 0, 24 * HOUR, 24 * HOUR],
  ["shorter than the schedule's step → the step", 429, 1, 2, 30 * MINUTE * 0.8, 30 * MINUTE * 1.2],
  ["absent on 429 → the schedule", 429, null, 0, 4, 6],
  ["on 500 → not heeded", 500, 1234, 0, 4, 6],
  ["on 301 → not heeded", 301, 1234, 0, 4, 6],
])("Retry-After %s", async (_what, status_code, retry_after_seconds, attempts, least, most) => {
  const id = await seedAt(START, { attempts });
  await sendNext(db.sql, { status_code, retry_after_seconds }, START);
  const { next_attempt_at } = await readDelivery(db.sql, id);
  const wait = ((next_attempt_at as Date).getTime() - START.getTime()) / 1000; // timestamptz columns are read as dates
  expect([wait, wait >= least - 0.001 && wait <= most + 0.001]).toEqual([wait, true]);
});

test("Retry-After on the last attempt → exhausted all the same", async () => {
  const id = await seedAt(START, { attempts: 9 });
  await sendNext(db.sql, { status_code: 429, retry_after_seconds: 60 }, START);
  expect((await readDelivery(db.sql, id)).status).toBe("exhausted");
});
