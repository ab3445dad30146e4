import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  exchange,
  record as recordIn,
  type Result,
  readDelivery,
  readEndpoint,
  type Outcome,
  resultOf,
  resultsOf,
  seedDeliveries,
  sendNext,
  leasedOf,
} from "../../support/database/webhooks.ts";
import { until } from "../../support/until.ts";

const db = useDatabase();
let endpoint: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
});

const OK: Outcome = { status_code: 200 };
const record = (results: Result[]) => recordIn(db.sql, results);
const attemptsOf = (id: string) => db.sql`
  select attempt, started_at, duration_ms, status_code, error, response_excerpt from keyframe.webhook_attempts where delivery_id = ${id} order by id`;

test("two workers record results of one endpoint while an app's trigger on attempts is slow → both are recorded", async () => {
  const [slow = ""] = await seedDeliveries(db.sql, endpoint, 2);
  await db.sql.unsafe(`
    create function public.wait_for_app() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return new; end $$;
    create trigger wait_for_app before insert on keyframe.webhook_attempts for each row
      when (new.delivery_id = '${slow}') execute function public.wait_for_app()`);
  try {
    const { deliveries } = await exchange(db.sql);
    const [first, second] = [deliveries.filter(({ id }) => id === slow), deliveries.filter(({ id }) => id !== slow)];
    const recording = record(resultsOf(first, OK));
    await until("the app's trigger waits", async () => {
      const waiting =
        await db.sql`select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      return waiting.length > 0;
    });
    expect((await record(resultsOf(second, OK))).unrecorded).toEqual([]);
    expect((await recording).unrecorded).toEqual([]);
  } finally {
    await db.sql`drop function public.wait_for_app cascade`;
  }
});

test("each attempt → has a row with number, start, duration, status or error, and the beginning of the answer", async () => {
  const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
  const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);
  const started_at = "2026-03-01T12:00:00.123Z";
  const said = { status_code: 500, error: "too_large", response_excerpt: "Oops, 語 😀" };
  await sendNext(db.sql, { started_at, duration_ms: 340, ...said });
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
  test("a result of an expired lease → counts, since the request was made", async () => {
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const { deliveries } = await exchange(db.sql);
    await db.sql`update keyframe_private.work set due_at = now() - interval '1 second'`;
    expect((await record(resultsOf(deliveries, OK))).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "delivered" });
    expect((await exchange(db.sql)).deliveries).toEqual([]);
  });

  test("a result recorded twice, because the first answer was lost → counts once", async () => {
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const results = resultsOf((await exchange(db.sql)).deliveries);
    expect((await record(results)).unrecorded).toEqual([]);
    const once = await readDelivery(db.sql, id);
    expect(once).toMatchObject({ status: "pending", attempts: 1 });
    expect((await record(results)).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, id)).toEqual(once);
    expect((await attemptsOf(id)).length).toBe(1);
  });

  test("a result of a delivery that an administrator gave up meanwhile → the delivery stays given up, and leaves the queue", async () => {
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const results = resultsOf((await exchange(db.sql)).deliveries);
    await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now() where id = ${id}`;
    expect((await record(results)).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "exhausted", attempts: 0 });
    expect((await exchange(db.sql, { at: new Date(Date.now() + 60_000) })).deliveries).toEqual([]);
    expect(await leasedOf(db.sql, endpoint)).toEqual([]);
  });

  test("a result of a delivery whose attempts an administrator reset to 0 → counts, as do all others of the batch", async () => {
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 1`;
    const [id = "", other = ""] = await seedDeliveries(db.sql, endpoint, 2);
    expect(await sendNext(db.sql, OK)).toEqual([id]);
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 8`;
    await db.sql`update keyframe.webhook_deliveries set status = 'pending', completed_at = null, attempts = 0,
      next_attempt_at = now() where id = ${id}`;
    expect(await sendNext(db.sql, OK)).toEqual([other, id]);
    for (const one of [id, other])
      expect(await readDelivery(db.sql, one)).toMatchObject({ status: "delivered", attempts: 1 });
  });

  test("a result of a deleted delivery → dropped; the other results of the batch count", async () => {
    const [gone = "", left = ""] = await seedDeliveries(db.sql, endpoint, 2);
    const { deliveries } = await exchange(db.sql);
    await db.sql`delete from keyframe.webhook_deliveries where id = ${gone}`;
    expect((await record(resultsOf(deliveries, OK))).unrecorded).toEqual([]);
    expect(await readDelivery(db.sql, left)).toMatchObject({ status: "delivered" });
  });
});

test("a success and a failure of one endpoint in the same batch → the endpoint does not count as failing", async () => {
  await seedDeliveries(db.sql, endpoint, 2);
  await sendNext(db.sql, (i) => ({ status_code: i ? 200 : 500 }));
  expect((await readEndpoint(db.sql, endpoint)).failing_since).toBe(null);
});

// Of the schedule and of what disables an endpoint, time is an argument: days pass at once.

const [SECOND, MINUTE, HOUR] = [1, 60, 3600];
const SCHEDULE = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
const START = new Date("2026-03-01T00:00:00Z");
const plus = (at: Date, seconds: number) => new Date(at.getTime() + seconds * 1000);

const days = (count: number) => plus(START, count * 24 * HOUR);
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
  test("a receiver always answers 500 → ten attempts by the schedule, each wait within 20 %, then exhausted", async () => {
    const id = await seedAt(START);
    const waits = await waitsOf(id, { status_code: 500 });
    expect(waits.length).toBe(SCHEDULE.length);
    for (const [i, wait] of waits.entries()) expect(Math.abs(wait / (SCHEDULE[i] ?? 0) - 1)).toBeLessThan(0.2002);
    const exhausted = { status: "exhausted", attempts: 10, last_status_code: 500, last_error: "http_status" };
    expect(await readDelivery(db.sql, id)).toMatchObject({ ...exhausted, completed_at: expect.any(Date) });
    expect(await sendNext(db.sql, { status_code: 500 }, plus(START, 365 * 24 * HOUR))).toEqual([]);
  });

  test("many deliveries to a receiver that answers 500 → their waits differ, so that they do not all come back at once", async () => {
    const [row] = await db.sql`
      select count(distinct wait) > 450 as different, min(wait) >= 240 as above, max(wait) <= 360 as below, max(wait) - min(wait) > 60 as spread
      from (select extract(epoch from keyframe_private.next_delivery_attempt(2, 500, null, now()) - now()) as wait from generate_series(1, 500)) w`;
    expect(row).toEqual({ different: true, above: true, below: true, spread: true });
  });
});

test("a receiver answers 2xx → delivered at once; another status, or no answer → tried again, and the row says why", async () => {
  const again = [100, 199, 300, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503];
  const outcomes: Outcome[] = [
    ...[200, 201, 202, 204, 299, ...again].map((status_code) => ({ status_code })),
    ...["timeout", "connection", "dns", "tls", "address", "too_large"].map((error) => ({ error })),
  ];
  for (const _one of outcomes.slice(1)) await addEndpoint(db.sql, null);
  const endpoints = await db.sql<{ id: string }[]>`select id from keyframe.webhook_endpoints`;
  for (const { id } of endpoints) await seedDeliveries(db.sql, id, 1, { next_attempt_at: START });
  const { deliveries } = await exchange(db.sql, { at: START });
  const results = deliveries.map((one, i) => resultOf(one, outcomes[i]));
  expect([results.length, (await recordIn(db.sql, results, START)).unrecorded]).toEqual([24, []]);
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

test("Retry-After in the answer to the last attempt → exhausted all the same", async () => {
  const id = await seedAt(START, { attempts: 9 });
  await sendNext(db.sql, { status_code: 429, retry_after_seconds: 60 }, START);
  expect((await readDelivery(db.sql, id)).status).toBe("exhausted");
});

/** One more delivery is attempted at this moment. */
async function attempt(outcome: Outcome, at: Date): Promise<void> {
  await db.sql`delete from keyframe.webhook_deliveries`;
  await emptyTables(db.sql, "keyframe_private.work");
  await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: at });
  expect((await sendNext(db.sql, outcome, at)).length).toBe(1);
}

const ON = { enabled: true, disabled_at: null, disabled_reason: null };

describe("a receiver that answers 410", () => {
  test("a receiver answers 410 → the endpoint is disabled at once as gone, also with a success in the same batch", async () => {
    await seedDeliveries(db.sql, endpoint, 2, { next_attempt_at: START });
    await sendNext(db.sql, (i) => ({ status_code: i ? 410 : 200 }), START);
    const gone = { enabled: false, disabled_reason: "gone", disabled_at: START };
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(gone);
  });

  test("a 410 for a request that was open when its owner disabled the endpoint → the owner's reason and time stay", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    const { deliveries } = await exchange(db.sql);
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    const disabled = await readEndpoint(db.sql, endpoint);
    expect(disabled.disabled_reason).toBe("by_owner");
    await record(resultsOf(deliveries, { status_code: 410 }));
    const { enabled, disabled_at, disabled_reason } = await readEndpoint(db.sql, endpoint);
    expect(disabled).toMatchObject({ enabled, disabled_at, disabled_reason });
  });
});

const FAILING = { enabled: false, disabled_reason: "failing" };

describe("an endpoint that only fails", () => {
  test.each<[string, failures: number[], success: number | null, expected: object]>([
    ["→ failing since the first", [0, 1, 4.999], null, { ...ON, failing_since: START }],
    ["for five days → disabled by the last", [0, 4.999, 5], null, { ...FAILING, disabled_at: days(5) }],
    ["but a success → counted again from the next one", [0, 4, 6], 3, { ...ON, failing_since: days(4) }],
    ["but a success, then five days of failures → disabled", [0, 4, 9], 3, FAILING],
    ["and then a success as the five days are over → enabled", [0], 6, { ...ON, failing_since: null }],
  ])("an endpoint with nothing but failures %s", async (_name, failures, success, expected) => {
    const other = await addEndpoint(db.sql, null);
    const attempts = [...failures, ...(success === null ? [] : [success])].toSorted((a, b) => a - b);
    for (const day of attempts) await attempt({ status_code: day === success ? 200 : 500 }, days(day));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(expected);
    expect(await readEndpoint(db.sql, other)).toMatchObject({ ...ON, failing_since: null });
  });

  test("an administrator sets webhook_disable_after to two days → an endpoint that only fails is disabled after two days", async () => {
    await db.sql`update keyframe_private.settings set webhook_disable_after = '2 days'`;
    await attempt({ status_code: 500 }, START);
    await attempt({ status_code: 500 }, days(2));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(FAILING);
    await db.sql`update keyframe_private.settings set webhook_disable_after = default`;
  });
});

test.each([
  ["failing", { status_code: 500 }],
  ["gone", { status_code: 410 }],
] as const)(
  "an endpoint that the service disabled as %s is enabled → no reason; five more days, one request at a time",
  async (reason, outcome) => {
    await attempt({ status_code: 500 }, START);
    await attempt(outcome, days(5));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ enabled: false, disabled_reason: reason });
    await db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${endpoint}`;
    const { failing_since, ...enabled } = await readEndpoint(db.sql, endpoint);
    expect(enabled).toMatchObject(ON);
    expect(failing_since).toBeInstanceOf(Date);
    const since = (failing_since as Date).getTime();
    expect(Math.abs(since - Date.now())).toBeLessThan(60_000);

    await seedDeliveries(db.sql, endpoint, 3);
    const claimed = await exchange(db.sql);
    expect(claimed.endpoints).toMatchObject([{ max_open: 1 }]);
    await exchange(db.sql, { returned: claimed.deliveries.map(({ work_id }) => work_id), maxRows: 0 });
    await attempt({ status_code: 500 }, new Date(since + 5 * 86_400_000 - 1000));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ ...ON, failing_since });
    await attempt({ status_code: 500 }, new Date(since + 5 * 86_400_000 + 1)); // Postgres counts in microseconds
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(FAILING);
  },
);

test("an owner switches an endpoint that only fails off and on → failing_since stays, and the five days go on", async () => {
  const owner = await db.addUser();
  endpoint = await addEndpoint(db.sql, owner);
  await attempt({ status_code: 500 }, START);
  for (const enabled of [false, true, false, true])
    await call(db, owner, "update_webhook_endpoint", { endpoint_id: endpoint, enabled });
  expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ ...ON, failing_since: START });
  await attempt({ status_code: 500 }, days(5));
  expect(await readEndpoint(db.sql, endpoint)).toMatchObject(FAILING);
});
