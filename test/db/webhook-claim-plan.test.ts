import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { addEndpoint, exchange, heldLanes, record, resultOf, seedDeliveries } from "../support/database/webhooks.ts";

// 30,000 delivered, 10,000 due at one endpoint, and a few at ten others.

const db = useDatabase();
let flood: string;
const quiet: string[] = [];
beforeAll(async () => {
  flood = await addEndpoint(db.sql, null);
  for (let i = 0; i < 10; i++) quiet.push(await addEndpoint(db.sql, null));
  const [id = ""] = await seedDeliveries(db.sql, flood, 1);
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, status, completed_at)
      select gen_random_uuid(), (${quiet}::uuid[])[1 + i % 10], 'project.created', 'delivered', now() from generate_series(1, 30000) i`;
    // Of the event of the first one, so that their bodies are found; as many deliveries of one event exist in no real table.
    await sql`alter table keyframe.webhook_deliveries drop constraint webhook_deliveries_event_id_endpoint_id_key`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, next_attempt_at)
      select event_id, endpoint_id, event_type, now() - interval '1 hour' from keyframe.webhook_deliveries, generate_series(1, 10000) where id = ${id}`;
  });
  await db.sql`analyze keyframe.webhook_deliveries, keyframe.webhook_events, keyframe.webhook_endpoints, keyframe.webhook_attempts`;
});

/** The highest estimate of a plan: JIT compiles what is over 100,000, which takes longer than the statement. */
const costOf = (plan: string) =>
  Math.max(0, ...[...plan.matchAll(/cost=[\d.]+\.\.([\d.]+)/g)].map(([, cost]) => Number(cost)));

test("claims and records among 30,000 delivered and 10,000 due → through the indexes, a few rows each, and too cheap for JIT", async () => {
  const plans = await plansOf(db.url, async (sql) => {
    // Later calls of a session may run with a plan made for any values: it has to be as good.
    for (let call = 0; call < 8; call++) {
      for (const endpoint of quiet) await seedDeliveries(db.sql, endpoint, 2);
      const { deliveries } = await exchange(sql);
      const others = deliveries.filter(({ endpoint_id }) => endpoint_id !== flood);
      expect([deliveries.length, others.length]).toEqual([36, 20]);
      const results = deliveries.map((delivery) => resultOf(delivery, { status_code: 200 }));
      expect((await record(sql, results)).recorded).toBe(36);
    }
  });
  const fills = plans.filter((plan) => plan.includes("row_number() over (partition by e.lane_id"));
  expect(fills).toHaveLength(8); // one statement for all lanes
  for (const plan of fills) expect(plan).toContain("webhook_deliveries_due_idx");
  for (const plan of plans) {
    expect(plan).not.toContain("Seq Scan on webhook_deliveries");
    expect(costOf(plan), plan).toBeLessThan(50_000);
  }
});

test("20,000 endpoints that are disabled or whose retry is tomorrow → a claim reads none of them", async () => {
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_endpoints (id, url, enabled, disabled_at, disabled_reason)
      select gen_random_uuid(), 'https://idle.example/', i % 2 = 0, case when i % 2 = 1 then now() end, case when i % 2 = 1 then 'gone' end
      from generate_series(1, 20000) i`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, next_attempt_at)
      select gen_random_uuid(), e.id, 'project.created', now() + interval '1 day' from keyframe.webhook_endpoints e where e.url = 'https://idle.example/'`;
    await sql`
      insert into keyframe_private.lanes (id, due_at, served_at)
      select e.id, case when e.enabled then now() + interval '1 day' else 'infinity' end, now()
      from keyframe.webhook_endpoints e where e.url = 'https://idle.example/'`;
  });
  await db.sql`vacuum analyze keyframe_private.lanes, keyframe.webhook_deliveries, keyframe.webhook_endpoints`;
  await exchange(db.sql);
  const [endpoint = ""] = quiet;
  const plans = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) {
      await seedDeliveries(db.sql, endpoint, 2);
      const { lanes, deliveries } = await exchange(sql);
      expect(lanes).toMatchObject([{ lane_id: endpoint }]);
      expect((await exchange(sql, { held: heldLanes({ lanes }) })).lost).toEqual([]);
      await record(
        sql,
        deliveries.map((delivery) => resultOf(delivery, { status_code: 200 })),
      );
    }
  });
  for (const plan of plans) {
    const read = [...plan.matchAll(/Scan[^\n]*\(actual rows=(\d+)[^\n]*loops=(\d+)|Rows Removed by Filter: (\d+)/g)];
    const rows = read.map(([, each = "0", loops = "1", removed = "0"]) =>
      Math.max(Number(each) * Number(loops), Number(removed)),
    );
    expect(Math.max(0, ...rows), plan).toBeLessThanOrEqual(1_000);
    expect(costOf(plan), plan).toBeLessThan(50_000);
  }
});

test("the sweep over it → finds due ones through the lanes' index, and reads no delivery", async () => {
  const plans = await plansOf(db.url, (sql) => sql`select keyframe_private.sweep()`);
  expect(plans.some((plan) => plan.includes("lanes_due_at_idx"))).toBe(true);
  for (const plan of plans) expect(plan).not.toContain("on webhook_deliveries");
});
