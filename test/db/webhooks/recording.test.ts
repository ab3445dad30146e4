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
  tokenOf,
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

describe("only the holder of the lane can record", () => {
  test("an expired lease that no worker has taken over → still counts: the request was made", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const { deliveries } = await exchange(db.sql, { leaseSeconds: 0 });
    expect((await record(deliveries.map((held) => resultOf(held, { status_code: 200 })))).recorded).toBe(1);
  });

  test("the same result sent twice (the first answer was lost) → counts once", async () => {
    const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const results = (await exchange(db.sql)).deliveries.map((held) => resultOf(held));
    expect((await exchange(db.sql, { results, leased: [] })).recorded).toBe(1);
    expect((await exchange(db.sql, { results, leased: [] })).recorded).toBe(0);
    expect((await attemptsOf(id)).length).toBe(1);
  });

  test("a delivery that an administrator gave up while it was sent → stays given up, the result is dropped, its lane is free", async () => {
    const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const { deliveries } = await exchange(db.sql);
    const results = deliveries.map((held) => resultOf(held));
    await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${id}`;
    expect((await record(results)).recorded).toBe(0);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "exhausted", attempts: 0 });
    expect(await tokenOf(db.sql, deliveries[0]?.endpoint_id ?? "")).toBeNull();
  });

  test("a delivery whose attempts an administrator set back to 0 → counts, and so does the rest of its batch", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 2);
    const first = (await exchange(db.sql)).deliveries.filter((one) => one.id === id);
    await record(first.map((held) => resultOf(held, { status_code: 200 })));
    await db.sql`update keyframe.webhook_deliveries set status = 'pending', completed_at = null, attempts = 0,
      next_attempt_at = now() where id = ${id}`;
    const { deliveries } = await exchange(db.sql);
    const results = deliveries.map((held) => resultOf(held, { status_code: 200 }));
    expect((await record(results)).recorded).toBe(2);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "delivered", attempts: 1 });
  });

  test("a result of a delivery that is gone → dropped, the others of its batch count", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 2);
    const { deliveries } = await exchange(db.sql);
    await db.sql`delete from keyframe.webhook_deliveries where id = ${deliveries[0]?.id ?? ""}`;
    const unknown = deliveries.slice(0, 1).map((held) => ({ ...held, id: crypto.randomUUID() }));
    const results = [...deliveries, ...unknown].map((held) => resultOf(held, { status_code: 200 }));
    expect((await record(results)).recorded).toBe(1);
  });
});

test("batches over the same endpoints in opposite order → no deadlock: each is recorded, or named as locked", async () => {
  const endpoints = await Promise.all(
    Array.from({ length: 8 }, () => addEndpoint(db.sql, null, { max_in_flight: 100 })),
  );
  for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 12);
  const { deliveries } = await exchange(db.sql);
  const batches = Array.from({ length: 6 }, (_, batch) => {
    const own = deliveries
      .filter((_, i) => i % 6 === batch)
      .map((held, i) => resultOf(held, { status_code: (i + batch) % 2 ? 200 : 500 }));
    return batch % 2 ? own.reverse() : own;
  });
  const give = (results: Result[]) => exchange(db.sql, { results, leased: [], maxLanes: 0 });
  const answers = await Promise.all(batches.map(give));
  expect(answers.map(({ recorded, unrecorded }) => recorded + unrecorded.length)).toEqual(Array(6).fill(16));
  const unrecorded = answers.flatMap((answer) => answer.unrecorded);
  for (const { reason } of unrecorded) expect(["locked", "55P03"]).toContain(reason);
  const again = batches.flat().filter(({ id }) => unrecorded.some((one) => one.id === id));
  expect((await give(again)).recorded).toBe(unrecorded.length);
});

test("a success and a failure of one endpoint in the same batch → it is not failing", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await seedDeliveries(db.sql, endpoint, 2);
  await sendNext(db.sql, (i) => ({ status_code: i ? 200 : 500 }));
  expect((await readEndpoint(db.sql, endpoint)).failing_since).toBe(null);
});
