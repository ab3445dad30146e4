import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf } from "../../support/database/predictions.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  exchange,
  resultOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

const HOUR_MS = 3_600_000;
const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await db.sql`delete from keyframe_private.webhook_hours`;
  endpoint = await addEndpoint(db.sql, owner, { max_in_flight: 100 });
});

type Counted = { endpoint: string; hour: string; delivered: number; retrying: number; exhausted: number };

/** What was counted is what the deliveries themselves say, one by one; the sums of the hours. Hours in which nothing is left count as none. */
async function agreedSums() {
  const counted = await db.sql<Counted[]>`
    select endpoint_id as endpoint, hour::text, delivered, retrying, exhausted
    from keyframe_private.webhook_hours where (delivered, retrying, exhausted) <> (0, 0, 0) order by 1, 2`;
  const there = await db.sql<Counted[]>`
    select endpoint_id as endpoint, date_trunc('hour', last_attempt_at, 'UTC')::text as hour,
      count(*) filter (where status = 'delivered')::int as delivered,
      count(*) filter (where status = 'pending' and last_error is not null)::int as retrying,
      count(*) filter (where status = 'exhausted')::int as exhausted
    from keyframe.webhook_deliveries where last_attempt_at is not null group by endpoint_id, 2
    having bool_or(status <> 'pending' or last_error is not null) order by 1, 2`;
  expect([...counted]).toEqual([...there]);
  const sum = (of: "delivered" | "retrying" | "exhausted") => counted.reduce((total, row) => total + row[of], 0);
  return { delivered: sum("delivered"), retrying: sum("retrying"), exhausted: sum("exhausted") };
}

describe("hourly counts: a delivery is counted in the hour of its last attempt", () => {
  test("a delivery fails twice, hours apart, then is delivered → counted only in the last hour, as delivered", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    for (const [hours, outcome] of [
      [0, { status_code: 500 }],
      [3, { error: "timeout" }],
      [30, { status_code: 200 }],
    ] as const) {
      const at = new Date(Date.now() + hours * HOUR_MS);
      expect(await sendNext(db.sql, { ...outcome, started_at: at.toISOString() }, at)).toHaveLength(1);
      await agreedSums();
    }
    expect(await agreedSums()).toEqual({ delivered: 1, retrying: 0, exhausted: 0 });
  });

  test("deliveries are exhausted, resent, recovered and changed by hand → the hourly counts follow", async () => {
    await db.sql`update keyframe_private.settings set webhook_retry_schedule = '{1 second}'`;
    await seedDeliveries(db.sql, endpoint, 3);
    for (const seconds of [0, 5, 5, 5])
      await sendNext(db.sql, { status_code: 500 }, new Date(Date.now() + seconds * 1000));
    expect(await agreedSums()).toEqual({ delivered: 0, retrying: 0, exhausted: 3 });
    const [first] = await db.sql<{ id: string }[]>`select id from keyframe.webhook_deliveries limit 1`;
    await call(db, owner, "redeliver_webhook", { delivery_id: first?.id ?? "" });
    expect(await agreedSums()).toEqual({ delivered: 0, retrying: 1, exhausted: 2 });
    await call(db, owner, "recover_webhook_endpoint", { endpoint_id: endpoint, since: new Date(0) });
    expect(await agreedSums()).toEqual({ delivered: 0, retrying: 3, exhausted: 0 });
    for (const _one of ["alone", "the others"]) await sendNext(db.sql, { status_code: 204 });
    await db.sql`update keyframe.webhook_deliveries set last_attempt_at = last_attempt_at - interval '5 hours'`;
    await agreedSums();
    await call(db, owner, "redeliver_webhook", { delivery_id: first?.id ?? "" });
    expect(await agreedSums()).toEqual({ delivered: 2, retrying: 0, exhausted: 0 });
    await db.sql`update keyframe_private.settings set webhook_retry_schedule = default`;
  });
});

test("owners resend and recover while many results of the endpoint are recorded → every change is counted", async () => {
  const at = new Date();
  const given_up = { status: "exhausted", attempts: 10, last_attempt_at: at, last_error: "dns", completed_at: at };
  const ended = await seedDeliveries(db.sql, endpoint, 20, given_up);
  await seedDeliveries(db.sql, endpoint, 40);
  const { deliveries } = await exchange(db.sql);
  expect(deliveries).toHaveLength(40);
  const batches = Array.from({ length: 10 }, (_, i) => deliveries.slice(4 * i, 4 * i + 4));
  const recording = batches.map(async (batch, i) => {
    let results = batch.map((each, j) => resultOf(each, { status_code: (i + j) % 2 ? 200 : 500 }));
    // What is locked, and all after a call that failed for a lock, comes again, as a worker gives it again.
    for (let given = 0; results.length > 0 && given < 100; given++) {
      const answer = await exchange(db.sql, { results, maxRows: 0 }).catch(() => null);
      if (answer) results = results.filter(({ id }) => answer.unrecorded.includes(id));
    }
  });
  const resending = ended.map((delivery_id) => call(db, owner, "redeliver_webhook", { delivery_id }));
  const recovering = call(db, owner, "recover_webhook_endpoint", { endpoint_id: endpoint, since: new Date(0) });
  await Promise.all([...recording, ...resending, recovering]);
  expect(await agreedSums()).toEqual({ delivered: 20, retrying: 40, exhausted: 0 });
});

test("hourly counts of more than two days → pruned, except the latest of each endpoint, which has its last attempt", async () => {
  const add = (endpoint: string, daysAgo: number) => db.sql`
    insert into keyframe_private.webhook_hours (endpoint_id, hour, delivered, last_attempt)
    select ${endpoint}, at, 1, row(at, 200, null)::keyframe_private.attempt_outcome from date_trunc('hour', now() - interval '1 day' * ${daysAgo}::float, 'UTC') at`;
  const left = () =>
    columnOf(db.sql`
      select round(extract(epoch from now() - hour) / 86400)::int from keyframe_private.webhook_hours order by hour desc`);

  for (const days of [0, 1, 4, 5]) await add(endpoint, days);
  const silent = crypto.randomUUID();
  for (const days of [7, 8]) await add(silent, days);
  await add(crypto.randomUUID(), 31); // longer than the retention
  await db.sql`select keyframe_private.prune_webhooks()`;
  expect(await left()).toEqual([0, 1, 7]);
});

type Hour = { hour: string; delivered: number; retrying: number; exhausted: number };
type Health = {
  since: string;
  endpoints: {
    endpoint_id: string;
    last: { at: string; status_code: number | null; error: string | null } | null;
    hours: Hour[];
  }[];
};

const ask = (caller: string, args: { endpoint_id?: string } = {}) => call<Health>(db, caller, "webhook_health", args);
const read = async () => (await ask(owner)).endpoints.find(({ endpoint_id }) => endpoint_id === endpoint);
const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS);
const hourOf = (at: Date) => Math.floor(at.getTime() / HOUR_MS) * HOUR_MS;
const delivered = (at: Date) => ({
  ...{ status: "delivered", last_attempt_at: at, last_error: null, attempts: 1, completed_at: at },
});

describe("webhook_health", () => {
  test("webhook_health of many hours → in order, with the last attempt; hours before the window are left out", async () => {
    const { since } = await ask(owner);
    const first = new Date(since);
    expect(first.getTime()).toBe(hourOf(hoursAgo(23)));
    await seedDeliveries(db.sql, endpoint, 1, delivered(new Date(first.getTime() - 1)));
    await seedDeliveries(db.sql, endpoint, 2, delivered(hoursAgo(1)));
    await seedDeliveries(db.sql, endpoint, 3, delivered(first));
    const health = await read();
    expect(health?.last).toEqual({ at: expect.any(String), status_code: null, error: null });
    expect(hourOf(new Date(health?.last?.at ?? 0))).toBe(hourOf(hoursAgo(1)));
    expect(health?.hours.map((hour) => [Date.parse(hour.hour), hour.delivered])).toEqual([
      [first.getTime(), 3],
      [hourOf(hoursAgo(1)), 2],
    ]);
  });

  test("webhook_health in a session of any time zone → the hours are in UTC", async () => {
    const at = hoursAgo(2);
    await seedDeliveries(db.sql, endpoint, 1, delivered(at));
    const answer = await db.asUser(owner, async (sql) => {
      await sql`set local timezone = 'Asia/Kathmandu'`; // UTC+5:45
      const [row] = await sql<{ answer: Health }[]>`select keyframe.webhook_health() as answer`;
      return row?.answer;
    });
    expect(answer?.endpoints.flatMap(({ hours }) => hours.map(({ hour }) => Date.parse(hour)))).toEqual([hourOf(at)]);
    expect(Date.parse(answer?.since ?? "")).toBe(hourOf(hoursAgo(23)));
  });
});

test("webhook_health → all endpoints of the caller, newest first, or the named one; none of other owners or the service", async () => {
  const newer = await addEndpoint(db.sql, owner, { created_at: new Date(Date.now() + 1_000) });
  const [other, wide] = [await db.addUser(), await addEndpoint(db.sql, null)];
  const ids = async (caller: string, args = {}) =>
    (await ask(caller, args)).endpoints.map(({ endpoint_id }) => endpoint_id);
  expect(await ids(owner)).toEqual([newer, endpoint]);
  expect(await ids(owner, { endpoint_id: endpoint })).toEqual([endpoint]);
  for (const args of [{}, { endpoint_id: endpoint }, { endpoint_id: wide }]) expect(await ids(other, args)).toEqual([]);
});
