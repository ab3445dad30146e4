import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, type Row, seedPrediction, useWorld, type World } from "../../support/database/predictions.ts";
import { addEndpoint, clearWebhooks, seedDeliveries, sendNext } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await db.sql`delete from keyframe.predictions`;
});

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
const lease = () => crypto.randomUUID();

describe("admin_queue", () => {
  const WAITS = { lease_token: null, admitted_at: null, deadline_at: null };
  const inTime = (seconds: number) => ({ lease_token: null, due_at: inSeconds(seconds) });
  const limited = { last_error: "provider_rate_limited" };
  test.each<[why: string, status: "queued" | "processing" | "storing", columns: Row]>([
    ["worked_on", "queued", { lease_token: lease(), due_at: inSeconds(30) }],
    ["lease_expired", "storing", { lease_token: lease(), due_at: inSeconds(-1) }],
    ["due", "queued", inTime(-1)],
    ["due", "queued", { ...inTime(-1), ...limited }],
    ["backing_off", "queued", { ...inTime(30), ...limited, failures: 0 }],
    ["at_the_provider", "processing", inTime(30)],
    ["in_line", "queued", WAITS],
    ["waits_for_shot", "queued", { ...WAITS, waits_for: crypto.randomUUID() }],
  ])("admin_queue, %s: %s → says so", async (why, status, columns) => {
    const { id } = await seedPrediction(db.sql, world, { status, columns });
    const is_leased = columns.lease_token !== null;
    const rows = await db.sql`
      select why, leased_until is not null as is_leased from keyframe_private.admin_queue where prediction_id = ${id}`;
    expect(rows).toEqual([{ why, is_leased }]);
  });

  test.each(["queued", "processing", "storing"] as const)(
    "admin_queue, %s, its work is lost → no_work",
    async (status) => {
      const { id } = await seedPrediction(db.sql, world, { status });
      await db.sql`delete from keyframe_private.work where subject = ${id}`;
      const rows = await db.sql`select why, due_at from keyframe_private.admin_queue where prediction_id = ${id}`;
      expect(rows).toEqual([{ why: "no_work", due_at: null }]);
    },
  );

  test("admin_queue → lists every prediction that has not ended, once, and none that has", async () => {
    const there = await Promise.all(
      (["queued", "starting", "processing", "storing"] as const).map((status) =>
        seedPrediction(db.sql, world, { status }),
      ),
    );
    for (const status of ["succeeded", "failed", "canceled"] as const) await seedPrediction(db.sql, world, { status });
    await seedPrediction(db.sql, world, { status: "canceled", columns: WAITS });
    const rows = await db.sql<{ id: string }[]>`select prediction_id as id from keyframe_private.admin_queue`;
    expect(rows.map(({ id }) => id).toSorted()).toEqual(there.map(({ id }) => id).toSorted());
  });

  test("admin_queue with waiting predictions → each owner's are numbered by age, and each has its age", async () => {
    const other = await addWorld(db);
    const waiting = (of: World, ago: number) =>
      seedPrediction(db.sql, of, { columns: { ...WAITS, created_at: inSeconds(-ago) } });
    const [second, first, others] = [await waiting(world, 10), await waiting(world, 600), await waiting(other, 5)];
    const rows = await db.sql<{ id: string; position: string; minutes: number }[]>`
      select prediction_id as id, queue_position as position, extract(epoch from since_created)::int / 60 as minutes
      from keyframe_private.admin_queue order by since_created desc`;
    expect([...rows]).toEqual([
      { id: first.id, position: "1", minutes: 10 },
      { id: second.id, position: "2", minutes: 0 },
      { id: others.id, position: "1", minutes: 0 },
    ]);
  });
});

describe("admin_webhook_health", () => {
  const healthOf = async (endpoint: string) => {
    const [row] = await db.sql`select * from keyframe_private.admin_webhook_health where endpoint_id = ${endpoint}`;
    return row;
  };

  test("admin_webhook_health of one endpoint → counts deliveries delivered, retried, given up and due; shows the latest error", async () => {
    const endpoint = await addEndpoint(db.sql, world.owner);
    for (const [ago, outcome] of [
      [60, { status_code: 200 }],
      [50, { status_code: 503 }],
      [40, { error: "timeout" }],
    ] as const) {
      await seedDeliveries(db.sql, endpoint, 1);
      await sendNext(db.sql, { ...outcome, started_at: inSeconds(-ago).toISOString() });
    }
    const end = { status: "exhausted", completed_at: new Date(), attempts: 10 };
    await seedDeliveries(db.sql, endpoint, 1, { ...end, last_attempt_at: inSeconds(-45), last_error: "dns" });
    await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: inSeconds(-120) });
    const row = await healthOf(endpoint);
    expect(row).toMatchObject({
      ...{ owner_id: world.owner, delivered: "1", retrying: "2", exhausted: "1", due: "1" },
      ...{ last_error: "timeout", last_error_status: null },
    });
    expect(row?.failing_since).toBeInstanceOf(Date);
    expect(Date.now() - Number(row?.oldest_due_at)).toBeGreaterThan(119_000);
    expect(Date.now() - Number(row?.last_error_at)).toBeLessThan(50_000);
  });

  test("admin_webhook_health after three different failures, recorded out of order → shows the latest one", async () => {
    const endpoint = await addEndpoint(db.sql, world.owner);
    const latest = inSeconds(-7_200);
    for (const [error, at] of [
      ["tls", latest],
      ["dns", new Date(latest.getTime() - 10)],
      ["timeout", inSeconds(-18_000)],
    ] as const) {
      await seedDeliveries(db.sql, endpoint, 1);
      await sendNext(db.sql, { error, started_at: at.toISOString() });
    }
    expect(await healthOf(endpoint)).toMatchObject({ retrying: "3", last_error: "tls", last_error_at: latest });
    expect((await healthOf(endpoint))?.last_attempt_at).toEqual(latest);
    // Those of the day before yesterday are not counted.
    await db.sql`update keyframe_private.webhook_hours set hour = hour - interval '24 hours'`;
    expect(await healthOf(endpoint)).toMatchObject({ retrying: "0", last_attempt_at: null, last_error: null });
  });
});

test("admin_usage of two days, steps and owners → a row each, with outcomes, bytes and runs", async () => {
  const other = await addWorld(db);
  const at = (day: string): Row => ({ created_at: new Date(`${day}T23:59:59Z`) });
  const [first, second] = [at("2026-10-31"), at("2026-11-01")];
  await seedPrediction(db.sql, world, { status: "succeeded", columns: { ...first, attempt: 3 } });
  await seedPrediction(db.sql, world, { status: "succeeded", columns: first });
  await seedPrediction(db.sql, world, { status: "failed", columns: { ...first, provider_prediction_id: null } });
  await seedPrediction(db.sql, world, { status: "canceled", step: "last-frame", columns: first });
  await seedPrediction(db.sql, world, { status: "processing", columns: second });
  await seedPrediction(db.sql, other, { status: "succeeded", columns: second });
  const rows = await db.sql<Row[]>`
    select to_char(day, 'YYYY-MM-DD') as day, owner_id, step, started, succeeded, failed,
      canceled, active, stored_bytes, provider_runs, submits
    from keyframe_private.admin_usage order by day, step, active desc`;
  const none = { succeeded: "0", failed: "0", canceled: "0", active: "0", stored_bytes: "0" };
  const october = { day: "2026-10-31", owner_id: world.owner };
  const november = { day: "2026-11-01", step: "first-frame", started: "1", submits: "1" };
  expect([...rows]).toEqual([
    {
      ...{ ...october, ...none, step: "first-frame", started: "3", succeeded: "2", failed: "1" },
      ...{ stored_bytes: "2048", provider_runs: "2", submits: "5" },
    },
    { ...october, ...none, step: "last-frame", started: "1", canceled: "1", provider_runs: "0", submits: "1" },
    { ...november, ...none, owner_id: world.owner, active: "1", provider_runs: "1" },
    { ...november, ...none, owner_id: other.owner, succeeded: "1", stored_bytes: "1024", provider_runs: "1" },
  ]);
});
