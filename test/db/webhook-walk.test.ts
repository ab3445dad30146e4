import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { addEndpoint, clearWebhooks, lease, seedDeliveries } from "../support/database/webhooks.ts";

// endpoints_with_due: who has something due, in the falling order of the identifiers, from anywhere on.

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));

const NOUGHT = "00000000-0000-0000-0000-000000000000";
const idOf = (number: number) => `${String(number).padStart(8, "0")}${NOUGHT.slice(8)}`;
const walk = async (start: string, most: number) =>
  (await db.sql<{ id: string }[]>`select keyframe_private.endpoints_with_due(${start}, ${most}, now()) as id`).map(
    ({ id }) => id,
  );
const addDue = async (number: number) => {
  const id = await addEndpoint(db.sql, null, { id: idOf(number) });
  await seedDeliveries(db.sql, id, 2);
};

test("from anywhere → those before it, round to it again, each once; no more than wanted", async () => {
  for (const number of [1, 2, 3, 4]) await addDue(number);
  expect(await walk(NOUGHT, 10)).toEqual([4, 3, 2, 1].map(idOf));
  expect(await walk(idOf(3), 10)).toEqual([2, 1, 4, 3].map(idOf));
  expect(await walk(idOf(1), 10)).toEqual([4, 3, 2, 1].map(idOf));
  expect(await walk(idOf(9), 10)).toEqual([4, 3, 2, 1].map(idOf));
  expect(await walk(idOf(3), 3)).toEqual([2, 1, 4].map(idOf));
  expect(await walk(idOf(3), 1)).toEqual([idOf(2)]);
});

test("nothing pending, nothing due, its lane leased, switched off → left out", async () => {
  await addDue(2);
  await addEndpoint(db.sql, null, { id: idOf(1) });
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { id: idOf(3), enabled: false }), 1);
  const later = { next_attempt_at: new Date(Date.now() + 60_000) };
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { id: idOf(4) }), 1, later);
  const sent = await addEndpoint(db.sql, null, { id: idOf(6) });
  await seedDeliveries(db.sql, sent, 1);
  await lease(db.sql, sent, new Date(Date.now() + 60_000));
  const over = { status: "delivered", completed_at: new Date() };
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { id: idOf(5) }), 1, over);
  expect(await walk(idOf(2), 10)).toEqual([idOf(2)]);
});

test("one due among 500 dead endpoints with 10 pending each → found with three probes for each, not a row for each delivery", async () => {
  await addDue(7);
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_endpoints (url, failing_since, enabled, disabled_at, disabled_reason)
      select 'https://dead.example/', now(), i % 2 = 0, case when i % 2 = 1 then now() end, case when i % 2 = 1 then 'gone' end
      from generate_series(1, 500) i`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, attempts, next_attempt_at)
      select gen_random_uuid(), e.id, 'project.created', 3, now() + case when e.enabled then interval '1 hour' else '-1 hour' end
      from keyframe.webhook_endpoints e, generate_series(1, 10) where e.failing_since is not null`;
  });
  await db.sql`vacuum analyze keyframe.webhook_deliveries, keyframe.webhook_endpoints`;
  const plans = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) {
      const found = await sql`select keyframe_private.endpoints_with_due(gen_random_uuid(), 100, now()) as id`;
      expect(found.map(({ id }) => id)).toEqual([idOf(7)]);
    }
  });
  const walks = plans.filter((plan) => plan.includes("webhook_deliveries_due_idx"));
  expect(walks).toHaveLength(7); // one statement each
  for (const plan of walks) {
    expect(plan).not.toMatch(/Seq Scan|Hash|Sort/);
    const rows = [...plan.matchAll(/Scan(?: Backward)? using \w+ on \w+[^\n]*actual rows=(\d+) loops=(\d+)/g)].map(
      ([, each, loops]) => Number(each) * Number(loops),
    );
    expect(rows.length, plan).toBeGreaterThanOrEqual(4);
    expect(Math.max(...rows), plan).toBeLessThanOrEqual(503); // with the end of either part of the round
  }
});
