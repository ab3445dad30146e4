import type postgres from "postgres";
import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { addEndpoint, seedDeliveries } from "../support/database/webhooks.ts";

// What has ended is many, what is active few: every look must read the few alone.

const MANY = 20_000;
const db = useDatabase();
let world: World;
let endpoint: string;
beforeAll(async () => {
  world = await addWorld(db);
  endpoint = await addEndpoint(db.sql, world.owner);
  const { id } = await seedPrediction(db.sql, world, { status: "canceled" });
  await seedPrediction(db.sql, world, { status: "processing" });
  await seedPrediction(db.sql, world, { columns: { admitted_at: null, deadline_at: null, lease_token: null } });
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1, {
    status: "delivered",
    completed_at: new Date(),
    attempts: 1,
    last_attempt_at: new Date(),
  });
  await seedDeliveries(db.sql, endpoint, 3);
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at, created_at)
      select project_id, owner_id, step, input, model, status, completed_at, created_at - i * interval '10 minutes'
      from keyframe.predictions, generate_series(1, ${MANY}::int) i where id = ${id}`;
    await sql`
      insert into keyframe.webhook_events (type, payload, created_at)
      select 'project.created', '{}', now() - i * interval '10 minutes' from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, attempts, last_attempt_at, completed_at)
      select gen_random_uuid(), endpoint_id, owner_id, event_type, status, attempts, last_attempt_at - i * interval '10 minutes', completed_at
      from keyframe.webhook_deliveries, generate_series(1, ${MANY}::int) i where id = ${delivery}`;
    await sql`
      insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model, submitted_at, answered_at, ended_at, outcome, cost_state, provider_prediction_id)
      select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'video', 'a/b', now(), now(), now(), 'failed', 'released', 'many-' || i from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into cron.job_run_details (jobid, status, start_time, end_time)
      select jobid, 'succeeded', now() - i * interval '5 seconds', now() - i * interval '5 seconds'
      from cron.job, generate_series(${MANY}::int, 1, -1) i where jobname = 'keyframe-sweep'`;
    await sql`
      insert into net._http_response (id, status_code, headers, created)
      select i, 202, '{"keyframe-function":"keyframe-generate"}', now() - i * interval '1 second' from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into keyframe_private.kicks (function_name, made_at, request_id, acknowledged_at)
      select 'generate', now() - i * interval '1 second', i, now() - i * interval '1 second' from generate_series(1, ${MANY}::int) i`;
  });
  await db.sql`vacuum analyze net._http_response, keyframe.predictions, keyframe.webhook_deliveries, keyframe.webhook_events, keyframe_private.provider_submits, keyframe_private.kicks, cron.job_run_details`;
});

/** Rows of the widest scan that a statement made, and its plan for a failure. */
async function widest(work: (sql: postgres.Sql) => Promise<unknown>): Promise<[rows: number, plans: string]> {
  const plans = (await plansOf(db.url, work)).join("\n");
  const rows = [
    ...plans.matchAll(/Scan[^\n]*\(actual rows=(\d+)[^\n]*loops=(\d+)|Rows Removed by (?:Filter|Join Filter): (\d+)/g),
  ].map(([, read = "0", loops = "1", removed = "0"]) => Math.max(Number(read) * Number(loops), Number(removed)));
  expect(rows.length, plans).toBeGreaterThan(0);
  return [Math.max(...rows), plans];
}

test.each<[string, string, number]>([
  ["the whole queue", "select * from keyframe_private.admin_queue", 10],
  ["the queue of an owner", "select * from keyframe_private.admin_queue where owner_id = gen_random_uuid()", 10],
  ["the health of the webhooks", "select * from keyframe_private.admin_webhook_health", 200],
  ["the usage of a week", "select * from keyframe_private.admin_usage where day >= current_date - 6", 1200],
  ["the figures of the service", "select keyframe.service_figures()", 1100],
])("%s → reads no more rows than it returns, however many have ended", async (_, statement, most) => {
  const [rows, plans] = await widest((sql) => sql.unsafe(statement));
  expect(rows, plans).toBeLessThanOrEqual(most);
  expect(plans).not.toMatch(
    /Seq Scan on (predictions|webhook_deliveries|webhook_events|provider_submits|kicks|job_run_details|_http_response)/,
  );
});

test("an endpoint with a great many deliveries that are due → the figures stop counting at 10,000", async () => {
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, next_attempt_at)
      select gen_random_uuid(), ${endpoint}, 'project.created', now() - interval '1 hour' from generate_series(1, ${MANY}::int)`;
  });
  await db.sql`analyze keyframe.webhook_deliveries`;
  const [row] = await db.sql<{ due: number; oldest: number }[]>`
    select (f -> 'due')::int as due, (f -> 'oldestDueSeconds')::float as oldest from keyframe_private.delivery_figures() f`;
  expect(row?.due).toBe(10_000);
  expect(row?.oldest).toBeGreaterThanOrEqual(3600);
});
