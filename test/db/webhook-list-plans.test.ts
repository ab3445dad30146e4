import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { addEndpoint } from "../support/database/webhooks.ts";

// 20,000 delivered, and among the oldest of them four that were given up, four that are pending and three of another event.

const MANY = 20_000;
const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
  endpoint = await addEndpoint(db.sql, owner);
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, completed_at, attempts, created_at, next_attempt_at)
      select gen_random_uuid(), ${endpoint}, ${owner}, case when i between ${MANY - 11}::int and ${MANY - 9}::int then 'generation.failed' else 'project.created' end, s.status::keyframe.delivery_status,
        case when s.status <> 'pending' then now() end, 1, now() - i * interval '1 minute', now() + interval '1 day'
      from generate_series(1, ${MANY}::int) i
      cross join lateral (
        select case when i > ${MANY - 4}::int then 'exhausted' when i > ${MANY - 8}::int then 'pending' else 'delivered' end as status) s`;
  });
  await db.sql`analyze keyframe.webhook_deliveries`;
});

/** The plans of a user's two calls: one with a plan for its arguments, one for any, which later calls of a session may have. */
const plansAsUser = (
  statement: string,
  claims: { role: string; sub?: string } = { role: "authenticated", sub: owner },
) =>
  plansOf(db.url, async (sql) => {
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await sql`select set_config('plan_cache_mode', ${mode}, false)`;
      await rolledBack(sql, async (transaction) => {
        await transaction`
          select set_config('request.jwt.claims', ${JSON.stringify(claims)}, true),
            set_config('request.jwt.claim.sub', ${claims.sub ?? ""}, true), set_config('request.jwt.claim.role', ${claims.role}, true)`;
        await transaction.unsafe(`set local role ${claims.role}`);
        await transaction.unsafe(statement);
      });
    }
  });

/** Rows of deliveries that a plan read, discarded ones included. */
function readBy(plan: string): number {
  const reads = plan.matchAll(
    /Scan[^\n]* on webhook_deliveries[^\n]*actual rows=([\d.]+) loops=(\d+)\)(?:\n(?!\s*->)[^\n]*)*?(?:Rows Removed by Filter: (\d+)|(?=\n\s*->|$))/g,
  );
  return [...reads].reduce(
    (sum, [, rows, loops, removed = 0]) => sum + (Number(rows) + Number(removed)) * Number(loops),
    0,
  );
}

test.each([
  ["null", "", 15 * 21],
  ["null", ", now() - interval '7 days', gen_random_uuid()", 15 * 21],
  ["null", ", event_type => 'project.created'", 3 * 21],
  ["null", ", event_type => 'generation.failed'", 3],
  ["'delivered'", ", event_type => 'generation.failed'", 3],
  ["'delivered'", "", 25],
  ["'exhausted'", "", 5],
  ["'pending'", "", 5],
])(
  "list_webhook_deliveries of status %s among 20,000%s → reads %i rows at most, by one index",
  async (status, cursor, most) => {
    const plans = await plansAsUser(`select keyframe.list_webhook_deliveries('${endpoint}', ${status}, 21${cursor})`);
    const pages = plans.filter((plan) => plan.includes("on webhook_deliveries"));
    expect(pages).toHaveLength(2);
    for (const plan of pages) {
      expect(plan).toContain("webhook_deliveries_endpoint_id_status_idx");
      expect(plan).not.toContain("Seq Scan on webhook_deliveries");
      expect(readBy(plan), plan).toBeGreaterThan(0);
      expect(readBy(plan), plan).toBeLessThanOrEqual(most);
    }
  },
);

test("a recovery of everything among 20,000 → reads what failed and what is pending, and none that was delivered", async () => {
  const plans = await plansAsUser(
    `select keyframe.recover_webhook_endpoint('${endpoint}', now() - interval '30 days')`,
  );
  const again = plans.filter((plan) => plan.includes("Update on webhook_deliveries"));
  expect(again).toHaveLength(2);
  for (const plan of again) {
    expect(readBy(plan), plan).toBe(2 * 8); // to lock them in order, then to change them
  }
});

test("the endpoints of a user, and the service-wide ones, among 5,000 of others → by the index of their owners", async () => {
  await addEndpoint(db.sql, null);
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_endpoints (owner_id, url)
      select gen_random_uuid(), 'https://receiver.example/' from generate_series(1, 5000)`;
  });
  await db.sql`analyze keyframe.webhook_endpoints`;
  for (const claims of [{ role: "authenticated", sub: owner }, { role: "service_role" }]) {
    const plans = await plansAsUser("select keyframe.list_webhook_endpoints()", claims);
    const lists = plans.filter((plan) => plan.includes(" on webhook_endpoints e"));
    expect(lists).toHaveLength(2);
    for (const plan of lists) expect(plan).not.toContain("Seq Scan on webhook_endpoints");
  }
});

test("the health of an owner's endpoint among 300 others → reads 24 hours, and no delivery", async () => {
  await db.sql`
    insert into keyframe_private.webhook_hours (endpoint_id, hour, delivered, last_attempt_at)
    select e.id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', 400, now() - h * interval '1 hour'
    from (select ${endpoint}::uuid as id union all select gen_random_uuid() from generate_series(1, 300)) e, generate_series(0, 47) h`;
  await db.sql`analyze keyframe_private.webhook_hours`;
  const plans = await plansAsUser("select keyframe.webhook_health()");
  const counting = plans.filter((plan) => plan.includes("webhook_hours"));
  expect(counting).toHaveLength(2);
  for (const plan of counting) {
    expect(plan).not.toMatch(/webhook_deliveries|Seq Scan on webhook_hours/);
    const read = plan.matchAll(/Scan[^\n]* on webhook_hours[^\n]*actual rows=(\d+)/g);
    expect(Math.max(...[...read].map(([, rows]) => Number(rows))), plan).toBe(24);
  }
});
