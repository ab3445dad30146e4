import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  exchange,
  type Outcome,
  readEndpoint,
  record,
  resultOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

const START = new Date("2026-03-01T00:00:00Z");
const days = (count: number) => new Date(START.getTime() + count * 86_400_000);

const db = useDatabase();
let endpoint: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
});

/** One more delivery is attempted at this moment. */
async function attempt(outcome: Outcome, at: Date): Promise<void> {
  await db.sql`delete from keyframe.webhook_deliveries`;
  await emptyTables(db.sql, "keyframe_private.work");
  await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: at });
  expect((await sendNext(db.sql, outcome, at)).length).toBe(1);
}

const ON = { enabled: true, disabled_at: null, disabled_reason: null };

describe("410", () => {
  const GONE = { enabled: false, disabled_reason: "gone" };

  test("→ disables the endpoint at once, with the reason gone", async () => {
    await attempt({ status_code: 410 }, START);
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ ...GONE, disabled_at: START });
  });

  test("beside a success in the same batch → still gone", async () => {
    await seedDeliveries(db.sql, endpoint, 2);
    await sendNext(db.sql, (i) => ({ status_code: i ? 410 : 200 }));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(GONE);
  });

  test("from a request that was under way when its owner disabled it → the owner's reason and time stay", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    const { deliveries } = await exchange(db.sql);
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    const disabled = await readEndpoint(db.sql, endpoint);
    expect(disabled.disabled_reason).toBe("by_owner");
    const results = deliveries.map((held) => resultOf(held, { status_code: 410 }));
    await record(db.sql, results);
    const { enabled, disabled_at, disabled_reason } = await readEndpoint(db.sql, endpoint);
    expect(disabled).toMatchObject({ enabled, disabled_at, disabled_reason });
  });
});

const FAILING = { enabled: false, disabled_reason: "failing" };

describe("nothing but failures", () => {
  test.each<[string, failures: number[], success: number | null, expected: object]>([
    ["→ failing since the first", [0, 1, 4.999], null, { ...ON, failing_since: START }],
    [
      "for five days → disabled by the one that completes them",
      [0, 4.999, 5],
      null,
      { ...FAILING, disabled_at: days(5) },
    ],
    ["but a success → counted again from the next one", [0, 4, 6], 3, { ...ON, failing_since: days(4) }],
    ["but a success, then five days of failures → disabled", [0, 4, 9], 3, FAILING],
    ["and then a success as the five days are over → enabled", [0], 6, { ...ON, failing_since: null }],
  ])("%s", async (_name, failures, success, expected) => {
    const other = await addEndpoint(db.sql, null);
    const attempts = [...failures, ...(success === null ? [] : [success])].toSorted((a, b) => a - b);
    for (const day of attempts) await attempt({ status_code: day === success ? 200 : 500 }, days(day));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(expected);
    expect(await readEndpoint(db.sql, other)).toMatchObject({ ...ON, failing_since: null });
  });

  test("after an administrator set two days → two days", async () => {
    await db.sql`update keyframe_private.settings set webhook_disable_after = '2 days'`;
    await attempt({ status_code: 500 }, START);
    await attempt({ status_code: 500 }, days(2));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject(FAILING);
    await db.sql`update keyframe_private.settings set webhook_disable_after = default`;
  });
});

const enable = () => db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${endpoint}`;

describe("enabled again after the service disabled it", () => {
  test.each([
    ["failing", { status_code: 500 }],
    ["gone", { status_code: 410 }],
  ] as const)("as %s → no reason is left; five days count from now, one request at a time", async (reason, outcome) => {
    await attempt({ status_code: 500 }, START);
    await attempt(outcome, days(5));
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ enabled: false, disabled_reason: reason });
    await enable();
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
  });
});

test("switched off and on by its owner while it only fails → failing_since stays, and the five days go on", async () => {
  const owner = await db.addUser();
  endpoint = await addEndpoint(db.sql, owner);
  await attempt({ status_code: 500 }, START);
  for (const enabled of [false, true, false, true])
    await call(db, owner, "update_webhook_endpoint", { endpoint_id: endpoint, enabled });
  expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ ...ON, failing_since: START });
  await attempt({ status_code: 500 }, days(5));
  expect(await readEndpoint(db.sql, endpoint)).toMatchObject(FAILING);
});
