import { beforeEach, describe, expect, test } from "vitest";
import { type ServiceFigures, serviceFigures } from "../../shared/contract/service.ts";
import type { CallDatabase } from "../../shared/platform/call-database.ts";
import { createDatabase } from "../../supabase/functions/keyframe-generate/database.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { useWorld, seedPrediction } from "../support/database/predictions.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { addEndpoint, call, clearWebhooks, exchange, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await db.sql`truncate keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.daily_costs, keyframe_private.file_removals, net.http_request_queue, net._http_response, cron.job_run_details, keyframe_private.kicks, keyframe_private.worker_heartbeats`;
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

/** As GET /api/health?deep=1 reads them; the contract holds. */
const read = async (): Promise<ServiceFigures> =>
  serviceFigures.parse(await call(db, "service_role", "service_figures"));

/** About so many seconds: what a busy machine adds is not the figure's fault. */
function expectAge(age: number | null, seconds: number): void {
  expect(age).toBeGreaterThanOrEqual(seconds);
  expect(age).toBeLessThan(seconds + 30);
}

const NO_KICK = { outcome: "none", status: null, error: null, madeSeconds: null, acknowledgedAfterSeconds: null };

const NEVER_CLAIMED = {
  ...{ claimedSeconds: null, callSeconds: null, slowRequests: 0 },
  ...{ oldestKickSeconds: null, slowestKickSeconds: null },
};
const NO_COSTS = { settledMicros: 0, heldMicros: 0, unknownMicros: 0, budgetMicros: null, leftMicros: null };
const FRAME_MICROS = 67_000;
const NO_TRANSACTION = { oldestSeconds: null, pid: null, role: null, tables: null };

test("models that a start cannot use → each with its reason and the model that takes its place; none that is switched off", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`
      insert into keyframe.models (step, model, label, vendor, position, shutdown_at, enabled, controls)
      select 'video', model, 'Test', 'Test', position, shutdown_at, model <> 'test/off', '{"prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}}'
      from (values ('test/default', -3, null), ('test/ended', -2, now()), ('test/off', -1, now()), ('test/next', 0, null)) m (model, position, shutdown_at)`;
    await sql`update keyframe.step_defaults set model = 'test/default' where step = 'video'`;
    await sql`update keyframe.models set refused_at = now() where model = 'test/default'`;
    const [row] = await sql`select keyframe.service_figures() -> 'unavailableModels' as models`;
    const gone = { step: "video", successor: "test/next" };
    expect(row?.models).toEqual([
      { ...gone, model: "test/default", reason: "unknown", isDefault: true },
      { ...gone, model: "test/ended", reason: "ended", isDefault: false },
    ]);
  });
});

test("nothing has happened yet → zeros, nothing oldest, and every name the contract has", async () => {
  const figures = await call<Record<string, object>>(db, "service_role", "service_figures");
  expect(figures).toEqual({
    predictions: {
      ...{ queued: 0, starting: 0, processing: 0, storing: 0, retrying: 0, waiting: 0, due: 0, runsToCancel: 0 },
      ...{ oldestDueSeconds: null, oldestWaitingSeconds: null },
    },
    deliveries: {
      ...{ due: 0, sending: 0, pending: 0, held: 0, oldestDueSeconds: null },
      ...{ failingEndpoints: 0, oldestFailingSeconds: null, endpointsSwitchedOff: 0, unsignedEndpoints: 0 },
    },
    events: { projectCreated: 0, generationSucceeded: 0, generationFailed: 0 },
    kicks: {
      ...{ unsent: 0, oldestUnsentSeconds: null, accepted: 0, refused: 0, failed: 0, lastAcceptedSeconds: null },
      ...{ othersUnsent: 0, servedDatabase: null },
    },
    lastKicks: { generate: NO_KICK, deliver: NO_KICK },
    workers: { generate: NEVER_CLAIMED, deliver: NEVER_CLAIMED },
    transactions: NO_TRANSACTION,
    sweep: { scheduled: true, lastRunSeconds: null, lastSuccessSeconds: null, failures: 0 },
    prune: { scheduled: true, lastRunSeconds: null, lastSuccessSeconds: null, failures: 0 },
    fileRemovals: { pending: 0, due: 0, failing: 0, oldestDueSeconds: null },
    unavailableModels: [],
    costs: {
      ...{ today: NO_COSTS, month: NO_COSTS, unknownSubmits: 0, spendingStopped: false },
      cheapestStartMicros: FRAME_MICROS,
    },
  });
  expect(serviceFigures.strict().safeParse(figures).success).toBe(true);
});

describe("predictions", () => {
  test("some of each status, one of them due for long → counted, and how long", async () => {
    const later = { lease_token: null, next_attempt_at: ago(-60) };
    await seedPrediction(db.sql, world, { columns: { lease_token: null, next_attempt_at: ago(90) } });
    await seedPrediction(db.sql, world, { columns: { ...later, retry_reason: "provider_rate_limited" } });
    await seedPrediction(db.sql, world, { status: "starting", columns: later });
    await seedPrediction(db.sql, world, { status: "processing", columns: later });
    await seedPrediction(db.sql, world, { status: "processing", columns: { next_attempt_at: ago(20) } });
    await seedPrediction(db.sql, world, { status: "storing", columns: later });
    await seedPrediction(db.sql, world, { status: "succeeded", columns: { next_attempt_at: ago(9000) } });
    await db.sql`
      update keyframe_private.provider_submits set cancel_due_at = now()
      where prediction_id = (select id from keyframe.predictions where status = 'starting')`;
    const { predictions } = await read();
    expect(predictions).toMatchObject({
      ...{ queued: 2, starting: 1, processing: 2, storing: 1, runsToCancel: 1 },
      ...{ retrying: 1, due: 2, waiting: 0, oldestWaitingSeconds: null },
    });
    expectAge(predictions.oldestDueSeconds, 90);
  });

  test("a line → how many and how long the first of them waits; they are neither queued nor due", async () => {
    const inLine = { admitted_at: null, deadline_at: null, lease_token: null };
    await seedPrediction(db.sql, world, { columns: { ...inLine, created_at: ago(300) } });
    await seedPrediction(db.sql, world, { columns: { ...inLine, created_at: ago(20) } });
    // One that was cancelled in line never had a slot either.
    await seedPrediction(db.sql, world, { status: "canceled", columns: { ...inLine, created_at: ago(900) } });
    const { predictions } = await read();
    expect(predictions).toMatchObject({ queued: 0, due: 0, waiting: 2 });
    expectAge(predictions.oldestWaitingSeconds, 300);
  });
});

describe("deliveries", () => {
  test("due, being sent, tried again, of a disabled endpoint → counted apart; the oldest is one that may be sent", async () => {
    const first = await addEndpoint(db.sql, world.owner);
    const second = await addEndpoint(db.sql, null);
    const disabled = await addEndpoint(db.sql, world.owner, { enabled: false });
    await seedDeliveries(db.sql, first, 2);
    await exchange(db.sql, { leaseSeconds: 60 });
    await seedDeliveries(db.sql, first, 1, { next_attempt_at: ago(30) });
    await seedDeliveries(db.sql, second, 1, { next_attempt_at: ago(45) });
    await seedDeliveries(db.sql, second, 1, { next_attempt_at: ago(-600), attempts: 1 });
    const delivered = { status: "delivered", completed_at: new Date() };
    await seedDeliveries(db.sql, second, 1, { ...delivered, next_attempt_at: ago(900) });
    await seedDeliveries(db.sql, disabled, 3, { next_attempt_at: ago(5000) });
    const { deliveries } = await read();
    expect(deliveries).toMatchObject({ due: 4, sending: 0, pending: 5, held: 3 });
    expectAge(deliveries.oldestDueSeconds, 45);
  });

  test("an endpoint that fails, and one that the service switched off → counted; one that its owner disabled is not", async () => {
    const failing = await addEndpoint(db.sql, world.owner);
    await seedDeliveries(db.sql, failing, 1);
    await sendNext(db.sql, { status_code: 500 });
    await db.sql`update keyframe.webhook_endpoints set failing_since = ${ago(120)} where id = ${failing}`;
    const gone = await addEndpoint(db.sql, world.owner);
    await seedDeliveries(db.sql, gone, 1);
    await sendNext(db.sql, { status_code: 410 });
    await addEndpoint(db.sql, world.owner, { enabled: false });
    const { deliveries } = await read();
    expect(deliveries).toMatchObject({ failingEndpoints: 1, endpointsSwitchedOff: 1 });
    expectAge(deliveries.oldestFailingSeconds, 120);
    await db.sql`update keyframe.webhook_endpoints set disabled_at = ${ago(90_000)} where id = ${gone}`;
    expect((await read()).deliveries.endpointsSwitchedOff).toBe(0);
  });

  test("endpoints whose last delivery could not be signed → counted, but not when disabled, or signed since", async () => {
    const endpoints = [];
    for (let i = 0; i < 3; i++) endpoints.push(await addEndpoint(db.sql, null));
    for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 1);
    await sendNext(db.sql, { error: "not_signed" });
    expect((await read()).deliveries.unsignedEndpoints).toBe(3);
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoints[0] ?? ""}`;
    await seedDeliveries(db.sql, endpoints[1] ?? "", 1);
    await sendNext(db.sql, { status_code: 200, started_at: new Date(Date.now() + 1_000).toISOString() });
    expect((await read()).deliveries.unsignedEndpoints).toBe(1);
  });
});

test("events of the last five minutes → by type; older ones and tests are left out", async () => {
  await db.sql`
    insert into keyframe.webhook_events (type, payload, created_at) values
      ('project.created', '{}', now()), ('generation.succeeded', '{}', now() - interval '4 minutes'),
      ('generation.failed', '{}', now()), ('generation.failed', '{}', now() - interval '6 minutes'),
      ('webhook.test', '{}', now())`;
  expect((await read()).events).toEqual({ projectCreated: 1, generationSucceeded: 1, generationFailed: 1 });
});

describe("kicks", () => {
  test("a kick that pg_net has not sent → counted, with the time it was signed; other requests are not ours", async () => {
    await db.sql`
      select vault.create_secret('whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', 'keyframe_kick_secret'),
        vault.create_secret('http://127.0.0.1:9/functions/v1', 'keyframe_functions_url')`;
    await db.sql`select keyframe_private.kick('generate')`;
    await db.sql`select net.http_post(url := 'http://127.0.0.1:9/other')`;
    expect((await read()).kicks).toMatchObject({ unsent: 1, othersUnsent: 1 });
    await db.sql`
      update net.http_request_queue set headers = headers || jsonb_build_object('webhook-timestamp', ${String(Math.floor(Date.now() / 1000) - 70)}::text)
      where headers ? 'webhook-id'`;
    expectAge((await read()).kicks.oldestUnsentSeconds, 70);
  });

  test("answers of the last five minutes → accepted, refused, without an answer; others' answers are not ours", async () => {
    const ours = db.sql.json({ "keyframe-function": "keyframe-generate" });
    await db.sql`
      insert into net._http_response (id, status_code, headers, error_msg, created) values
        (1, 202, ${ours}, null, now() - interval '40 seconds'), (2, 202, ${ours}, null, now() - interval '20 minutes'),
        (3, 401, ${ours}, null, now()), (4, null, null, 'Timeout was reached', now()), (5, 202, '{}', null, now()), (6, 401, '{}', null, now())`;
    const { kicks } = await read();
    expect(kicks).toMatchObject({ accepted: 1, refused: 1, failed: 1 });
    expectAge(kicks.lastAcceptedSeconds, 40);
  });
});

test("a database that pg_net does not work for → the one that it works for; a stand-in works where it is", async () => {
  expect((await read()).kicks.servedDatabase).toBeNull();
  await rolledBack(db.sql, async (sql) => {
    // This is how the real one is recognised.
    await sql`
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (1, 'pg_net', 10, 'net'::regnamespace, false, '0.20.4')`;
    const served = async () => {
      const [row] = await sql<{ figures: ServiceFigures }[]>`select keyframe.service_figures() as figures`;
      return row?.figures.kicks.servedDatabase;
    };
    const [set] = await sql<{ given: string | null }[]>`select current_setting('pg_net.database_name', true) as given`;
    if (set?.given) return expect(await served()).toBe(set.given); // a real one is loaded, and works for another database
    await sql`select set_config('pg_net.database_name', 'elsewhere', true)`;
    expect(await served()).toBe("elsewhere");
    await sql`select set_config('pg_net.database_name', current_database(), true)`;
    expect(await served()).toBeNull();
  });
});

describe("the last kick of a function", () => {
  /** A kick that was made so many seconds ago. */
  const made = (seconds: number, columns: Record<string, unknown> = {}) =>
    db.sql`insert into keyframe_private.kicks ${db.sql({ function_name: "generate", made_at: ago(seconds), request_id: 7, ...columns })}`;
  const answered = (columns: Record<string, unknown>, id = 7) =>
    db.sql`insert into net._http_response ${db.sql({ id, ...columns })}`;
  const OURS = { "keyframe-function": "keyframe-generate" };

  test.each<[string, Record<string, unknown>, object]>([
    ["accepted", { status_code: 202, headers: OURS }, { outcome: "accepted", status: 202, error: null }],
    ["refused", { status_code: 401, headers: OURS }, { outcome: "answered", status: 401 }],
    ["answered 202 by another server", { status_code: 202, headers: {} }, { outcome: "answered", status: 202 }],
    ["answered without headers", { status_code: 503 }, { outcome: "answered", status: 503 }],
    ["late", { timed_out: true, error_msg: "Timeout of 5000 ms reached." }, { outcome: "failed", status: null }],
    ["reset", { error_msg: "Failure when receiving data from the peer" }, { outcome: "failed", status: null }],
  ])("%s → that, and how long ago it was made", async (_, answer, expected) => {
    await made(40);
    await answered({ ...answer, created: ago(39) });
    const { lastKicks } = await read();
    if ("error_msg" in answer) expect(lastKicks.generate.error).toBe(answer.error_msg);
    expect(lastKicks.generate).toMatchObject({ ...expected, acknowledgedAfterSeconds: null });
    expectAge(lastKicks.generate.madeSeconds, 40);
    expect(lastKicks.deliver).toEqual(NO_KICK);
  });

  test("acknowledged → how long after; could not be made → why", async () => {
    await made(40);
    await db.sql`update keyframe_private.kicks set acknowledged_at = made_at + interval '1.5 seconds'`;
    expect((await read()).lastKicks.generate).toMatchObject({ outcome: "unanswered", acknowledgedAfterSeconds: 1.5 });
    await made(30, { request_id: null, error: "The Vault lacks it." });
    await made(35);
    expect((await read()).lastKicks.generate).toMatchObject({ outcome: "not_made", error: "The Vault lacks it." });
  });

  test("an answer with its id from long before it, or long after → another's: ids begin anew when pg_net is created again", async () => {
    await made(1200);
    await answered({ status_code: 401, created: ago(1200 + 90) });
    await answered({ status_code: 500, created: ago(1200 - 330) });
    await answered({ status_code: 404, created: ago(1200) }, 8);
    expect((await read()).lastKicks.generate).toMatchObject({ outcome: "unanswered", status: null });
    await answered({ status_code: 202, headers: OURS, created: ago(1200 - 200) });
    expect((await read()).lastKicks.generate.outcome).toBe("accepted");
  });

  test("a very long error → its beginning", async () => {
    await made(5);
    await answered({ error_msg: "x".repeat(5000), content: "y".repeat(1_000_000), created: ago(5) });
    expect((await read()).lastKicks.generate.error).toHaveLength(200);
  });
});

describe("a worker", () => {
  const kicked = (madeAgo: number, acknowledgedAgo: number | null, columns: object = {}) =>
    db.sql`
      insert into keyframe_private.kicks ${db.sql({
        ...{ function_name: "deliver", request_id: 7, made_at: ago(madeAgo) },
        ...{ acknowledged_at: acknowledgedAgo === null ? null : ago(acknowledgedAgo), ...columns },
      })}`;

  test("claims, and says how long its calls take → since when, and what it said last; a kick changes neither", async () => {
    const claim = (report: object) =>
      db.sql`select keyframe_worker.exchange_deliveries('[]', '[]', 10, 15, 0, report => ${db.sql.json({ ...report })})`;
    await claim({ callMs: 2_400, openRequests: 9, slowRequests: 7 });
    await db.sql`update keyframe_private.worker_heartbeats set claimed_at = ${ago(50)}`;
    await db.sql`select keyframe_private.kick('deliver')`;
    const { deliver, generate } = (await read()).workers;
    expect(deliver).toMatchObject({ callSeconds: 2.4, slowRequests: 7 });
    expectAge(deliver.claimedSeconds, 50);
    expect(generate).toEqual(NEVER_CLAIMED);
    await claim({ callMs: 3, slowRequests: 0 });
    expect((await read()).workers.deliver).toMatchObject({ callSeconds: 0.003, slowRequests: 0 });
    expectAge((await read()).workers.deliver.claimedSeconds, 0);
  });

  test("generate claims → its call's time, too, also without room for work", async () => {
    const calls: Parameters<CallDatabase>[] = [];
    const { claim } = createDatabase(async (...call) => {
      calls.push(call);
      return [];
    }, null);
    await claim(0, 0, 0, 1_499.6);
    const [[called, args] = []] = calls;
    expect(called).toBe("claim_predictions");
    await db.sql`
      select keyframe_worker.claim_predictions(max_rows => ${Object(args).max_rows}, lease_seconds => 90, report => ${db.sql.json(Object(args).report)})`;
    expect((await read()).workers.generate).toMatchObject({ callSeconds: 1.5, slowRequests: 0 });
  });

  test("kicks → the age of the oldest that no claim has followed, and the slowest acknowledged one of five minutes", async () => {
    await kicked(400, 100); // too long ago
    await kicked(40, 31);
    await kicked(30, 29);
    await kicked(20, null);
    await kicked(10, null);
    await kicked(25, null, { request_id: null, error: "The Vault lacks it." }); // nothing was sent
    await kicked(90, null, { function_name: "generate" });
    const { deliver, generate } = (await read()).workers;
    expectAge(deliver.oldestKickSeconds, 20);
    expect(deliver.slowestKickSeconds).toBe(9);
    expectAge(generate.oldestKickSeconds, 90);
    await exchange(db.sql, { heartbeatMs: 0 });
    expect((await read()).workers.deliver.oldestKickSeconds).toBeNull();
  });
});

test("a transaction that holds rows of ours for over 20 s → how long, whose, and a table; shorter ones and readers → none", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await db.sql.begin(async (sql) => {
    await sql`update keyframe.webhook_endpoints set description = 'x' where id = ${endpoint}`;
    const [{ pid, role } = {}] = await sql`select pg_backend_pid()::text as pid, current_user as role`;
    expect((await read()).transactions).toEqual(NO_TRANSACTION);
    // As if it had begun earlier: pg_stat_activity cannot be told so, the bound can.
    const figures = await rolledBackFigures("0 seconds");
    expect(figures).toMatchObject({ pid, role, tables: "keyframe.webhook_endpoints" });
    expectAge(figures.oldestSeconds, 0);
  });
});

/** transaction_figures with another bound than 20 seconds. */
async function rolledBackFigures(bound: string): Promise<ServiceFigures["transactions"]> {
  let answer = NO_TRANSACTION as ServiceFigures["transactions"];
  await rolledBack(db.sql, async (sql) => {
    const [row] = await sql<{ text: string }[]>`
      select replace(pg_get_functiondef('keyframe_private.transaction_figures'::regproc), '20 seconds', ${bound}) as text`;
    await sql.unsafe(row?.text ?? "");
    const [figures] = await sql<{ f: ServiceFigures["transactions"] }[]>`
      select keyframe_private.transaction_figures() as f`;
    if (figures) answer = figures.f;
  });
  return answer;
}

describe("cron", () => {
  const run = (name: string, status: string, began: number, ended: number | null) => db.sql`
    insert into cron.job_run_details (jobid, status, start_time, end_time)
    select jobid, ${status}, ${ago(began)}, ${ended === null ? null : ago(ended)} from cron.job where jobname = ${name}`;

  test("runs of the sweep and of others → its own last one, its last good one, and those that failed of late", async () => {
    await run("keyframe-sweep", "failed", 900, 900);
    await run("keyframe-sweep", "succeeded", 61, 60);
    await run("keyframe-prune", "succeeded", 31, 30);
    await run("keyframe-sweep", "failed", 15, 15);
    await run("keyframe-sweep", "running", 10, null);
    const { sweep, prune } = await read();
    expect(sweep).toMatchObject({ scheduled: true, failures: 1 });
    expectAge(sweep.lastRunSeconds, 10);
    expectAge(sweep.lastSuccessSeconds, 60);
    expectAge(prune.lastSuccessSeconds, 30);
    expect(prune.failures).toBe(0);
  });

  test("a job that is switched off, or gone → scheduled is false", async () => {
    await db.sql`update cron.job set active = false where jobname = 'keyframe-sweep'`;
    await db.sql`update cron.job set jobname = 'other' where jobname = 'keyframe-prune'`;
    const { sweep, prune } = await read();
    await db.sql`update cron.job set jobname = 'keyframe-prune' where jobname = 'other'`;
    await db.sql`update cron.job set active = true where jobname = 'keyframe-sweep'`;
    expect([sweep.scheduled, prune.scheduled]).toEqual([false, false]);
  });
});

test("files to remove → how many, how many now, how many have failed so far, since when", async () => {
  await db.sql`
    insert into keyframe_private.file_removals (bucket, name, due_at, failures) values
      ('keyframe-outputs', 'a', ${ago(200)}, 3), ('keyframe-outputs', 'b', ${ago(5)}, 0),
      ('keyframe-outputs', 'c', ${ago(-60)}, 1)`;
  const { fileRemovals } = await read();
  expect(fileRemovals).toMatchObject({ pending: 3, due: 2, failing: 2 });
  expectAge(fileRemovals.oldestDueSeconds, 200);
});

test("submits of today, and older ones → what they cost all owners, today and this month, and what is left of the budgets", async () => {
  await rolledBack(db.sql, async (sql) => {
    const everybody = "00000000-0000-0000-0000-000000000000";
    await sql`
      with days as (
        select day from (select (now() at time zone 'UTC')::date as today) t
        cross join lateral (values (today), (date_trunc('month', today)::date), (today - 40)) d (day)
      ), held as (
        insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model, created_at, most_micros)
        select ${world.owner}, gen_random_uuid(), gen_random_uuid(), 1, 'video', 'm', day::timestamp at time zone 'UTC', 1 from days
      )
      insert into keyframe_private.daily_costs (owner_id, day, step, model, settled_micros, unknown_micros, unknown_submits, is_merged)
      select owner, day, 'video', 'm', 10, 100, 2, true
      from days cross join (values (${everybody}::uuid), (${world.owner}::uuid)) o (owner)`;
    await sql`update keyframe_private.settings set service_day_micros = 50, service_month_micros = 1000, spending_stopped = true`;
    const [row] = await sql`
      select keyframe.service_figures() -> 'costs' as costs, extract(day from now() at time zone 'UTC') = 1 as "isFirst"`;
    const [days, ofToday] = row?.isFirst ? [2, 2] : [2, 1];
    const sums = (n: number) => ({ settledMicros: 10 * n, heldMicros: n, unknownMicros: 100 * n });
    expect(row?.costs).toEqual({
      today: { ...sums(ofToday), budgetMicros: 50, leftMicros: 0 },
      month: { ...sums(days), budgetMicros: 1000, leftMicros: 1000 - 111 * days },
      ...{ unknownSubmits: 2 * days, spendingStopped: true, cheapestStartMicros: FRAME_MICROS },
    });
  });
});
