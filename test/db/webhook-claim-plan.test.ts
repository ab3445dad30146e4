import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { addEndpoint, exchange, seedDeliveries } from "../support/database/webhooks.ts";

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

test("a claim among 30,000 delivered and 10,000 due → goes through the index of what is due, and reads a few rows", async () => {
  for (const endpoint of quiet) await seedDeliveries(db.sql, endpoint, 2);
  const plans = await plansOf(db.url, async (sql) => {
    // Later calls of a session may run with a plan made for any values: it has to be as good.
    for (let call = 0; call < 8; call++) {
      const { deliveries } = await exchange(sql);
      const others = deliveries.filter(({ endpoint_id }) => endpoint_id !== flood);
      expect([deliveries.length, others.length]).toEqual([36, 20]);
      await db.sql`truncate keyframe_private.lanes`;
    }
  });
  const claims = plans.filter((plan) => plan.includes("Update on lanes"));
  // One statement for all endpoints.
  expect(claims.length).toBe(8);
  for (const plan of claims) expect(plan).toContain("webhook_deliveries_due_idx");
  for (const plan of plans) expect(plan).not.toContain("Seq Scan on webhook_deliveries");
  expect(plans.filter((plan) => plan.includes("lanes_pkey")).length).toBeGreaterThan(0);
});

test("the sweep over it → finds due ones through the index", async () => {
  const plans = await plansOf(db.url, (sql) => sql`select keyframe_private.sweep()`);
  expect(plans.some((plan) => plan.includes("webhook_deliveries_due_idx"))).toBe(true);
  for (const plan of plans) expect(plan).not.toContain("Seq Scan on webhook_deliveries");
});
