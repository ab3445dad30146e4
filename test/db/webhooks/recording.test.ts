import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  record as recordIn,
  type Result,
  readDelivery,
  readEndpoint,
  resultOf,
  seedDeliveries,
  sendNext,
  leasedOf,
} from "../../support/database/webhooks.ts";

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));

const record = (results: Result[]) => recordIn(db.sql, results);
const attemptsOf = (id: string) => db.sql`
  select attempt, started_at, duration_ms, status_code, error, response_excerpt from keyframe.webhook_attempts where delivery_id = ${id} order by id`;

test("each attempt → a row of its own with number, start, duration, status or error, and the answer's beginning", async () => {
  const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);
  const started_at = "2026-03-01T12:00:00.123Z";
  await sendNext(db.sql, {
    started_at,
    duration_ms: 340,
    status_code: 500,
    error: "too_large",
    response_excerpt: "Oops, 語 😀",
  });
  await sendNext(db.sql, { started_at, duration_ms: 15000, error: "timeout" }, at(1));
  await sendNext(db.sql, { started_at, duration_ms: 9, status_code: 204, response_excerpt: "" }, at(2));
  const started = new Date(started_at);
  expect((await attemptsOf(id)).map((row) => Object.values(row))).toEqual([
    [1, started, 340, 500, "too_large", "Oops, 語 😀"],
    [2, started, 15000, null, "timeout", null],
    [3, started, 9, 204, null, ""],
  ]);
  const delivered = { status: "delivered", attempts: 3, last_attempt_at: started, last_error: null };
  expect(await readDelivery(db.sql, id)).toMatchObject(delivered);
});

describe("a result counts once", () => {
  test("of an expired lease → counts: the request was made", async () => {
    const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const { deliveries } = await exchange(db.sql);
    await db.sql`update keyframe_private.work set due_at = now() - interval '1 second'`;
    expect((await record(deliveries.map((held) => resultOf(held, { status_code: 200 })))).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "delivered" });
    expect((await exchange(db.sql)).deliveries).toEqual([]);
  });

  test("sent twice (the first answer was lost) → counts once", async () => {
    const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const results = (await exchange(db.sql)).deliveries.map((held) => resultOf(held));
    for (let time = 0; time < 2; time++) expect((await record(results)).unrecorded).toEqual([]);
    expect((await attemptsOf(id)).length).toBe(1);
  });

  test("of a delivery that an administrator gave up meanwhile → it stays given up, and leaves the queue after its lease", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const results = (await exchange(db.sql)).deliveries.map((held) => resultOf(held));
    await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${id}`;
    expect((await record(results)).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "exhausted", attempts: 0 });
    expect((await exchange(db.sql, { at: new Date(Date.now() + 60_000) })).deliveries).toEqual([]);
    expect(await leasedOf(db.sql, endpoint)).toEqual([]);
  });

  test("of a delivery whose attempts an administrator set back to 0 → counts, and so does the rest of its batch", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 1 });
    const [id = "", other = ""] = await seedDeliveries(db.sql, endpoint, 2);
    expect(await sendNext(db.sql, { status_code: 200 })).toEqual([id]);
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 8`;
    await db.sql`update keyframe.webhook_deliveries set status = 'pending', completed_at = null, attempts = 0,
      next_attempt_at = now() where id = ${id}`;
    expect(await sendNext(db.sql, { status_code: 200 })).toEqual([other, id]);
    for (const one of [id, other])
      expect(await readDelivery(db.sql, one)).toMatchObject({ status: "delivered", attempts: 1 });
  });

  test("of a delivery that is gone → dropped, the others of its batch count", async () => {
    const [gone = "", left = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 2);
    const { deliveries } = await exchange(db.sql);
    await db.sql`delete from keyframe.webhook_deliveries where id = ${gone}`;
    expect((await record(deliveries.map((held) => resultOf(held, { status_code: 200 })))).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, left)).toMatchObject({ status: "delivered" });
  });
});

test("batches over the same endpoints in opposite order → no deadlock: each is recorded, or given again", async () => {
  const endpoints = await Promise.all(
    Array.from({ length: 8 }, () => addEndpoint(db.sql, null, { max_in_flight: 100 })),
  );
  for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 12);
  const { deliveries } = await exchange(db.sql);
  expect(deliveries).toHaveLength(96);
  const batches = Array.from({ length: 6 }, (_, batch) => {
    const own = deliveries
      .filter((_, i) => i % 6 === batch)
      .map((held, i) => resultOf(held, { status_code: (i + batch) % 2 ? 200 : 500 }));
    return batch % 2 ? own.reverse() : own;
  });
  const failed: unknown[] = [];
  await Promise.all(batches.map((results) => record(results).catch((error) => failed.push(error.code))));
  for (const code of failed) expect(code).toBe("55P03");
  expect((await record(batches.flat())).unrecorded).toEqual([]);
  expect((await db.sql`select from keyframe.webhook_attempts`).count).toBe(96);
});

test("a success and a failure of one endpoint in the same batch → it is not failing", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await seedDeliveries(db.sql, endpoint, 2);
  await sendNext(db.sql, (i) => ({ status_code: i ? 200 : 500 }));
  expect((await readEndpoint(db.sql, endpoint)).failing_since).toBe(null);
});
