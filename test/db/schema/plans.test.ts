import type postgres from "postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { callWorker, claim } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { plansOf, readBy } from "../../support/database/plans.ts";
import { addProject, addWorld, seedPrediction, type World } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addReference } from "../../support/database/user.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  record,
  resultOf,
  resultsOf,
  seedDeliveries,
} from "../../support/database/webhooks.ts";
import { LONGER } from "../../support/longer.ts";

// A great deal has ended or waits, and little is due: every statement reads the little alone. What counts is how many rows its widest scan
// reads, those that it discards included, with a plan for its values and with one for any, which later calls of a session may have.

const MANY = 12_000 * LONGER;
const db = useDatabase();
let world: World;
let crowded: World;
let other: World;
let endpoint: string;
/** Also predictions: a first frame that was submitted without an answer, and one that is rare among those of its project. */
let ids: Record<string, string | undefined>;
beforeAll(async () => {
  world = await addWorld(db);
  crowded = { ...world, project: await addProject(db, world.owner) };
  other = await addWorld(db);
  const image = await addReference(db, world.owner);
  const { id } = await seedPrediction(db.sql, crowded, { status: "canceled", input: { referenceImagePaths: [image] } });
  await seedPrediction(db.sql, world, { status: "processing" });
  await seedPrediction(db.sql, other, { columns: { attempt: 0, lease_token: null } });
  await seedPrediction(db.sql, other, { columns: { deadline_at: new Date(0) } });
  const { id: unanswered } = await seedPrediction(db.sql, other, {
    columns: { lease_token: null, due_at: new Date(Date.now() + 3_600_000) },
    unanswered: new Date(),
  });
  await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [image] } });
  endpoint = await addEndpoint(db.sql, world.owner);
  await addEndpoint(db.sql, null);
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1, {
    ...{ status: "delivered", completed_at: new Date(), attempts: 1, last_attempt_at: new Date() },
  });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    // Half of them the caller's.
    await sql`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      select case when i % 2 = 0 then ${world.owner}::uuid else gen_random_uuid() end, 'Harbour', 'p', now() - i * interval '1 minute'
      from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at, created_at)
      select project_id, owner_id, case when i % 1000 = 0 then 'last-frame' else step end, input, model, status, completed_at,
        created_at - i * interval '10 minutes'
      from keyframe.predictions, generate_series(1, ${MANY}::int) i where id = ${id}`;
    await sql`
      insert into keyframe_private.prediction_images (prediction_id, role, path)
      select id, 'reference', 'projects/' || row_number() over () || '.png' from keyframe.predictions
      where id not in (select prediction_id from keyframe_private.prediction_images)`;
    await sql`
      insert into keyframe_private.file_removals (bucket, name, owner_id)
      select 'keyframe-outputs', 'file-' || i, gen_random_uuid() from generate_series(1, ${MANY}::int) i`;
    // Polls and deliveries that are due later.
    await sql`
      insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
      select queue, case queue when 'ask' then 'poll' else 'deliver' end, gen_random_uuid(), owner, owner, 'poll', 'scheduled',
        now() + interval '1 day'
      from unnest('{ask,deliver}'::keyframe_private.work_queue[]) queue, generate_series(1, ${MANY}::int), gen_random_uuid() owner`;
    await sql`
      insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model, submitted_at, ended_at, outcome, cost_state, provider_prediction_id, text_hash)
      select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'video', 'a/b', now(), now(), 'no_run', 'released', null, i
      from generate_series(1, ${MANY}::int) i`;
    // The oldest of an endpoint: four that were given up, four that are pending, and three of another type.
    await sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, completed_at, attempts, last_attempt_at, created_at, next_attempt_at)
      select gen_random_uuid(), ${endpoint}, ${world.owner}, case when i between ${MANY - 11}::int and ${MANY - 9}::int then 'generation.failed' else 'project.created' end,
        s.status::keyframe.delivery_status, case when s.status <> 'pending' then now() end, 1, now() - i * interval '10 minutes', now() - i * interval '1 minute', now() + interval '1 day'
      from generate_series(1, ${MANY}::int) i
      cross join lateral (
        select case when i > ${MANY - 4}::int then 'exhausted' when i > ${MANY - 8}::int then 'pending' else 'delivered' end as status) s`;
    await sql`
      insert into keyframe.webhook_attempts (delivery_id, attempt, started_at, duration_ms, status_code)
      select id, 1, now(), 1, 500 from keyframe.webhook_deliveries where id <> ${delivery}`;
    await sql`
      insert into keyframe.webhook_events (type, payload, created_at)
      select 'project.created', '{}', now() - i * interval '1 minute' from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into keyframe_private.webhook_hours (endpoint_id, hour, delivered, last_attempt)
      select e.id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', 400, row(now() - h * interval '1 hour', 200, null)::keyframe_private.attempt_outcome
      from (select ${endpoint}::uuid as id union all select gen_random_uuid() from generate_series(1, 300)) e, generate_series(0, 47) h
      on conflict do nothing`;
    await sql`
      insert into keyframe_private.skipped_rows (subject, code, reason, next_try_at)
      select gen_random_uuid(), 'P0001', 'r', now() + interval '1 hour' from generate_series(1, ${MANY}::int)`;
    await sql`
      insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
      select gen_random_uuid(), 'read', 1, now() from generate_series(1, ${MANY}::int)`;
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
    await sql`
      insert into auth.users (id, email) select gen_random_uuid(), 'many-' || i || '@keyframe.local' from generate_series(1, 2000) i`;
    await sql`
      insert into storage.objects (bucket_id, name, user_metadata)
      select 'projects', gen_random_uuid() || '.png', jsonb_build_object('ownerId', u.id) from auth.users u`;
  });
  await db.sql`vacuum analyze`;
  const [row] = await db.sql<{ id: string }[]>`
    select id from keyframe.predictions where project_id = ${crowded.project} and step = 'last-frame' limit 1`;
  ids = { unanswered, endpoint, rare: row?.id, world: world.project, crowded: crowded.project };
});

type Work = (sql: postgres.Sql | postgres.TransactionSql) => Promise<unknown>;
const USER = { role: "authenticated" };
const SERVICE = { role: "service_role" };

/** The widest scan of what is done, as a role of the Data API or as the superuser, and everything taken back. */
async function widest(work: Work, as?: { role: string }): Promise<[rows: number, plan: string]> {
  const plans = await plansOf(db.url, async (sql) => {
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await sql`select set_config('plan_cache_mode', ${mode}, false)`;
      await rolledBack(sql, async (transaction) => {
        if (as) {
          const claims = { ...as, ...(as === USER && { sub: world.owner }) };
          await transaction`
            select set_config('request.jwt.claims', ${JSON.stringify(claims)}, true), set_config('request.jwt.claim.role', ${as.role}, true)`;
          await transaction.unsafe(`set local role ${as.role}`);
        }
        await work(transaction);
      });
    }
  });
  // A scan that is off counts 1e10: a function that turns it off turns JIT off too (advisors.test.ts).
  for (const plan of plans) expect(readBy(plan).cost % 1e10, plan).toBeLessThan(50_000);
  const found = plans.map((plan) => [readBy(plan).rows, plan] as const).toSorted(([one], [next]) => next - one);
  expect(found.length).toBeGreaterThan(2);
  return [found[0]?.[0] ?? 0, found[0]?.[1] ?? ""];
}

const DEEP = "now() - interval '7 days'";

/** The classes of rate limits: that table is read whole. */
const LITTLE = 7;

/** What is asked, how many rows its widest scan may read, and who asks. A statement says {crowded}, {endpoint} and so on for an id. */
type Asked = [what: string, statement: string, most: number, as?: { role: string }];
const STATEMENTS: Asked[] = [
  ["projects", "keyframe.list_projects(101)", 110, USER],
  ["projects far down, with predictions", `keyframe.list_projects(101, ${DEEP}, with_predictions => true)`, 320, USER], // three steps each
  ["a search for what nobody has", "keyframe.list_projects(search => 'lighthouse')", 5000, USER],
  ["predictions", "keyframe.list_predictions({crowded}, null, 101)", 120, USER],
  ["a rare step, far down", `keyframe.list_predictions({crowded}, 'last-frame', 101, ${DEEP})`, 25, USER],
  ["takes among many", "keyframe.list_predictions({crowded}, 'last-frame', 101, only_takes => true)", LITTLE, USER],
  ["the latest prediction of a rare step", "keyframe.read_prediction({crowded}, 'last-frame')", LITTLE, USER],
  ["a prediction by its identifier", "keyframe.read_prediction({crowded}, 'last-frame', {rare})", LITTLE, USER],
  ["deliveries", "keyframe.list_webhook_deliveries({endpoint}, null, 21)", 50, USER],
  ["deliveries far down", `keyframe.list_webhook_deliveries({endpoint}, null, 21, ${DEEP}, {endpoint})`, 315, USER],
  ["a rare type", "keyframe.list_webhook_deliveries({endpoint}, event_type => 'generation.failed')", LITTLE, USER],
  ["a rare status", "keyframe.list_webhook_deliveries({endpoint}, 'exhausted', 21)", 7, USER],
  ["a recovery", "keyframe.recover_webhook_endpoint({endpoint}, now() - interval '30 days')", 8, USER],
  ["the health of a user's endpoints", "keyframe.webhook_health()", 24, USER],
  ["a claim", "keyframe_worker.claim_tasks(gen_random_uuid(), 10)", 60],
  ["the look of a call that waits", "keyframe_private.has_due_work('{copy,ask}', '-infinity')", 1],
  ["the sweep", "keyframe_private.sweep()", 60],
  ["the pruning", "keyframe_private.prune()", 5000],
  ["the search for unused images", "keyframe_private.add_removals_of_unused_uploads()", 2100],
  [
    "a run that was found by its text",
    `keyframe_worker.report_run({unanswered}, 1, '{"id": "run-a", "status": "starting"}', found_by => 'text')`,
    5,
  ],
  ["a cancellation", "keyframe_private.mark_canceled({unanswered})", 60],
  ["a deleted project, whose image others use", "delete from keyframe.projects where id = {world}", 60],
  ["a deleted endpoint with many deliveries", "delete from keyframe.webhook_endpoints where id = {endpoint}", 1],
  ["the queue", "* from keyframe_private.admin_queue", 10],
  ["the queue of an owner", "* from keyframe_private.admin_queue where owner_id = gen_random_uuid()", 10],
  ["the health of the webhooks", "* from keyframe_private.admin_webhook_health", 200],
  ["the usage of a week", "* from keyframe_private.admin_usage where day >= current_date - 6", 1200],
  ["the figures of the service, which stop counting at 10,000", "keyframe_worker.service_figures()", 10_000],
];

const expectNarrow = async (...[, statement, most, as]: Asked) => {
  const text = statement.replaceAll(/\{(\w+)\}/g, (_, name) => `'${ids[name]}'`);
  const [rows, plan] = await widest((sql) => sql.unsafe(text.startsWith("delete") ? text : `select ${text}`), as);
  expect(rows, plan).toBeLessThanOrEqual(most);
};

test.each(STATEMENTS)("the statement for %s → its widest scan reads few rows", expectNarrow);

test("the sweep and the pruning → find overdue and old rows through indexes of their own", async () => {
  const plans = await plansOf(db.url, (sql) => sql`select keyframe_private.sweep(), keyframe_private.prune()`);
  for (const index of ["predictions_deadline_idx", "provider_submits_created_at_idx"])
    expect([index, plans.some((plan) => plan.includes(index))]).toEqual([index, true]);
});

describe("10,000 waiting predictions of one owner, 12,000 due deliveries of one endpoint, 12,000 idle endpoints", () => {
  const quiet: string[] = [];
  beforeAll(async () => {
    const [flood, gone] = [await addEndpoint(db.sql, null), await addEndpoint(db.sql, null)];
    ids.gone = gone;
    await seedDeliveries(db.sql, gone, 200);
    for (let i = 0; i < 10; i++) quiet.push(await addEndpoint(db.sql, null));
    const waits = { admitted_at: null, deadline_at: null, lease_token: null };
    const { id: waiting } = await seedPrediction(db.sql, other, { columns: waits });
    const [delivery = ""] = await seedDeliveries(db.sql, flood, 1);
    await db.sql`
      insert into keyframe_private.file_removals (bucket, name, owner_id)
      select 'keyframe-outputs', 'due-' || i, case when i = 1 then ${world.owner} else ${other.owner} end::uuid from generate_series(1, 10000) i`;
    await db.sql.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      await sql`
        insert into keyframe.predictions (project_id, owner_id, step, input, model)
        select project_id, owner_id, step, input, model from keyframe.predictions, generate_series(1, 10000) where id = ${waiting}`;
      // Of one event, so that their bodies are found; as many deliveries of one event exist in no real table.
      await sql`alter table keyframe.webhook_deliveries drop constraint webhook_deliveries_event_id_endpoint_id_key`;
      await sql`
        insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type, next_attempt_at)
        select event_id, endpoint_id, event_type, now() - interval '1 hour' from keyframe.webhook_deliveries, generate_series(1, 12000) where id = ${delivery}`;
      await sql`
        with idle as (
          insert into keyframe.webhook_endpoints (owner_id, url, enabled, disabled_at, disabled_reason)
          select gen_random_uuid(), 'https://idle.example/', i % 2 = 0, case when i % 2 = 1 then now() end, case when i % 2 = 1 then 'gone' end
          from generate_series(1, ${MANY}::int) i returning *
        ), later as (
          insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, next_attempt_at)
          select gen_random_uuid(), id, owner_id, 'project.created', now() + interval '1 day' from idle
        )
        select from idle`;
      await sql`
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'deliver', 'deliver', d.id, coalesce(d.owner_id, d.endpoint_id), d.endpoint_id, 'receiver.example new',
          'ready', now() - interval '1 hour'
        from keyframe.webhook_deliveries d where d.status = 'pending' and d.next_attempt_at <= now()`;
      await sql`
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'ask', 'poll', gen_random_uuid(), ${world.owner}, ${world.owner}, 'poll', 'scheduled', now() - interval '1 hour'
        from generate_series(1, 10000)`;
    });
    await db.sql`vacuum analyze`;
  });

  test.each<Asked>([
    ["a user's endpoints", "keyframe.list_webhook_endpoints()", 20, USER],
    ["the service-wide endpoints", "keyframe.list_webhook_endpoints()", 20, SERVICE],
    ["a claim, which makes a thousand rows ready", "keyframe_worker.claim_tasks(gen_random_uuid(), 10)", 1000],
    ["a call's look", "keyframe_private.has_due_work(array['deliver'::keyframe_private.work_queue], '-infinity')", 1],
    ["the sweep", "keyframe_private.sweep()", 60],
    [
      "a batch of what a deleted endpoint leaves",
      "delete from keyframe.webhook_endpoints where id = {gone}; select keyframe_private.prune_deleted_endpoints(100)",
      100,
    ],
  ])("the statement for %s, in crowded tables → its widest scan reads few rows", expectNarrow);

  test("claims and records of deliveries in large tables → read a few rows each, and are too cheap for JIT", async () => {
    const work: Work = async (sql) => {
      for (const id of quiet) await seedDeliveries(db.sql, id, 2);
      const { deliveries } = await exchange(sql, { maxRows: 30 }); // its results are compared with each other, in memory
      expect(deliveries.length).toBeGreaterThanOrEqual(20);
      expect(new Set(deliveries.map(({ endpoint_id }) => endpoint_id)).size).toBeGreaterThan(quiet.length);
      const results = deliveries.map((delivery) => resultOf(delivery, { status_code: 200 }));
      expect((await record(sql, results)).unrecorded).toEqual([]);
    };
    const [rows, plan] = await widest(work);
    expect(rows, plan).toBeLessThanOrEqual(1000);
  });

  test("the figures of more than 10,000 due deliveries → stop counting at 10,000", async () => {
    const [row] = await db.sql<{ due: number; oldest: number }[]>`
      select (f -> 'due')::int as due, (f -> 'oldestDueSeconds')::float as oldest from keyframe_private.delivery_figures() f`;
    expect(row?.due).toBe(10_000);
    expect(row?.oldest).toBeGreaterThanOrEqual(3600);
  });
});

describe("a queue that was empty when statistics and plans were made, and has 100,000 rows now", () => {
  const own = useDatabase();

  test("tables that grew from empty to 100,000 rows since statistics were made → claims, tasks and sweep still use indexes", async () => {
    const { owner, project } = await addWorld(own);
    const add = () => seedPrediction(own.sql, { owner, project }, { columns: { attempt: 0, lease_token: null } });
    const work = async (sql: postgres.Sql) => {
      await add();
      const [task] = await claim(sql);
      if (!task) throw new Error("There is no task.");
      const { id, work_id, lease_token, attempt } = task;
      const run = { id: `run-${id}`, status: "processing" };
      await callWorker(sql, "report_run", { prediction_id: id, attempt, run, work_id, lease_token });
      await sql`select keyframe_private.sweep()`;
      await sql`select keyframe_private.add_lost_work_of_predictions(10)`;
    };
    await own.sql`vacuum analyze keyframe_private.work`;
    const plans = await plansOf(own.url, async (sql) => {
      await sql`select set_config('plan_cache_mode', 'force_generic_plan', false)`;
      await work(sql);
      // Autovacuum may take a minute to make new statistics.
      await own.sql`
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'ask', 'poll', gen_random_uuid(), ${owner}, ${owner}, 'poll', 'scheduled', now() + interval '1 day' from generate_series(1, 100000)`;
      await work(sql);
    });
    for (const plan of plans) expect(readBy(plan).rows, plan).toBeLessThan(1000);
  });
});

describe("5,000 pending deliveries since statistics were made for none", () => {
  const own = useDatabase();

  test("5,000 deliveries pending since statistics were made for none → claims and records still use indexes", async () => {
    const { owner } = await addWorld(own);
    const endpoint = await addEndpoint(own.sql, owner, { standing: "quick" });
    const delivered = { status: "delivered", completed_at: new Date(), attempts: 1, last_attempt_at: new Date() };
    await seedDeliveries(own.sql, endpoint, 5_000, delivered);
    await own.sql`vacuum analyze`;
    await seedDeliveries(own.sql, endpoint, 5_000);
    const plans = await plansOf(own.url, async (sql) => {
      const { deliveries } = await exchange(sql);
      expect(deliveries.length).toBeGreaterThan(10);
      const [returned, ...sent] = deliveries;
      await exchange(sql, { results: resultsOf(sent, { status_code: 200 }), returned: [returned?.work_id ?? 0] });
    });
    for (const plan of plans) expect(readBy(plan).rows, plan).toBeLessThan(1000);
  });
});

describe("many endpoints at one host with a delivery each", () => {
  const own = useDatabase();

  /** The pages that a claim reads when so many endpoints have a due delivery. */
  async function pagesOfClaim(endpoints: number): Promise<number> {
    await clearWebhooks(own.sql);
    await own.sql.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      await sql`
        with event as (
          insert into keyframe.webhook_events (type, project_id, payload) values ('project.created', gen_random_uuid(), '{}') returning id
        ), endpoint as (
          insert into keyframe.webhook_endpoints (url, standing)
          select 'https://receiver.example/' || i, 'quick' from generate_series(1, ${endpoints}::int) i returning *
        ), delivery as (
          insert into keyframe.webhook_deliveries (event_id, endpoint_id, event_type)
          select event.id, endpoint.id, 'project.created' from event, endpoint returning id, endpoint_id
        )
        insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
        select 'deliver', 'deliver', id, endpoint_id, endpoint_id, 'receiver.example quick', 'ready', now() from delivery`;
    });
    await own.sql`vacuum analyze`;
    const call = "select keyframe_worker.exchange_deliveries('[]', gen_random_uuid(), 440)";
    let pages = 0;
    await rolledBack(own.sql, async (sql) => {
      await sql.unsafe(call); // the first call in a session also reads the catalog
      const [row] = await sql.unsafe(`explain (analyze, buffers, format json) ${call}`);
      const plan = row?.["QUERY PLAN"][0].Plan;
      pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    });
    return pages;
  }

  test("a claim with 6,000 endpoints at one host → reads as many pages as with 600", async () => {
    const [few, many] = [await pagesOfClaim(600), await pagesOfClaim(6_000)];
    expect(few).toBeGreaterThan(100);
    expect(many).toBeLessThan(1.5 * few);
  });
});
