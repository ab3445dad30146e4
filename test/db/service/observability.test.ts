import postgres from "postgres";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { problemsOf } from "../../../shared/api/runbook/problems.ts";
import { type ServiceFigures, serviceFigures } from "../../../shared/contract/service.ts";
import { createClaim } from "../../../supabase/functions/keyframe-generate/tasks/claim.ts";
import { callWorker, claimOnly } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { addWorld, type Row, type Status, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addEndpoint, clearWebhooks, exchange, seedDeliveries, sendNext } from "../../support/database/webhooks.ts";
import { until } from "../../support/until.ts";
import { type AllFigures, sampleFigures } from "../../unit/api/figures.ts";

const db = useDatabase();
const world = useWorld(db);
beforeAll(async () => {
  await db.sql`update cron.job set database = current_database()`; // those of a clone are still the template's
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.cost_changes, keyframe_private.cost_sums, keyframe_private.file_removals, net.http_request_queue, net._http_response, cron.job_run_details, keyframe_private.kicks, keyframe_private.heartbeats, keyframe_private.work, keyframe_private.skipped_rows",
  );
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

const callFigures = () =>
  db.as({ role: "service_role" }, (sql) => scalar(sql`select keyframe_worker.service_figures()`));
/** One part of the figures. */
const partOf = (name: string, sql: postgres.Sql | postgres.TransactionSql = db.sql) =>
  scalar(sql`select keyframe_worker.service_figures() -> ${name}`);
/** As GET /api/health?deep=1 reads them; the contract holds. */
const read = async (): Promise<AllFigures> => {
  const figures = serviceFigures.parse(await callFigures());
  expect(figures.unread).toEqual([]);
  return figures as AllFigures;
};

/** About so many seconds: what a busy machine adds is not the figure's fault. */
const about = (seconds: number) =>
  expect.toSatisfy((age: unknown) => typeof age === "number" && age >= seconds && age < seconds + 30);

const NO_KICK = { outcome: "none", status: null, error: null, madeSeconds: null, acknowledgedAfterSeconds: null };

const NEVER_CLAIMED = {
  ...{ claimedSeconds: null, isProcess: false, callSeconds: null, slowWork: 0 },
  ...{ leased: { of: 132, open: 0, slow: [] } },
  oldestKickSeconds: null,
};
const FRAME_MICROS = 67_000;

test("figures of models that a start cannot use → each with its reason and replacement, and none that is switched off", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`
      insert into keyframe.models (step, model, label, vendor, position, shutdown_at, enabled, controls)
      select 'video', model, 'Test', 'Test', position, shutdown_at, model <> 'test/off', '{"prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}}'
      from (values ('test/default', -3, null), ('test/ended', -2, now()), ('test/off', -1, now()), ('test/next', 0, null)) m (model, position, shutdown_at)`;
    await sql`update keyframe.step_defaults set model = 'test/default' where step = 'video'`;
    await sql`update keyframe.models set refused_at = now() where model = 'test/default'`;
    const gone = { step: "video", successor: "test/next" };
    expect(await partOf("unavailableModels", sql)).toEqual([
      { ...gone, model: "test/default", reason: "unknown", isDefault: true },
      { ...gone, model: "test/ended", reason: "ended", isDefault: false },
    ]);
  });
});

test("figures before anything has happened → zeros, nothing oldest, and every name that the contract has", async () => {
  const figures = await callFigures();
  expect(serviceFigures.strict().safeParse(figures).success).toBe(true);
  const named: Record<string, unknown> = {};
  JSON.stringify(figures, function (this: unknown, key, value) {
    if (typeof value !== "object" && value !== 0 && value !== false) named[key] = [named[key] ?? [], value].flat();
    return value;
  });
  const settings = { hasSettings: [true], 0: ["keyframe_functions_url"], 1: ["keyframe_kick_secret"] };
  const jobs = { scheduled: Array(8).fill(true), isLate: Array(8).fill(true) }; // an empty log: pg_cron does not run
  expect(named).toEqual({
    ...settings,
    ...jobs,
    of: [440, 132],
    outcome: ["none", "none"],
    cheapestStartMicros: [FRAME_MICROS],
  });
});

test("three calls of an owner that take over two seconds together → the owner is named, with their main function; two → not", async () => {
  const ends: (() => void)[] = [];
  const hold = (owner: string) =>
    db.asUser(owner, async (sql) => {
      await sql`select set_config('request.method', 'GET', true)`;
      await sql`select from keyframe.projects`;
      await new Promise<void>((end) => ends.push(end));
    });
  const other = await db.addUser();
  const held = [world.owner, world.owner, world.owner, other, other].map(hold);
  const readOwners = async () => (await read()).calls.owners;
  try {
    await until("the owner is named", async () => (await readOwners()).length > 0);
    const seconds = expect.toSatisfy((held) => held > 2);
    expect(await readOwners()).toEqual([{ ownerId: world.owner, calls: 3, called: "projects", seconds }]);
  } finally {
    for (const end of ends) end();
  }
  await Promise.all(held);
  expect(await readOwners()).toEqual([]);
});

test("another role's sessions use the name of a user's call → no owner is named", async () => {
  await db.sql`create role test_reporter login password 'reporter'`;
  onTestFinished(async () => void (await db.sql`drop role test_reporter`));
  const url = new URL(db.url);
  Object.assign(url, { username: "test_reporter", password: "reporter" });
  const sql = postgres(url.href, { max: 3, connection: { application_name: `keyframe ${world.owner}` } });
  const sleeps = [1, 2, 3].map(() => sql`select pg_sleep(60)`.execute().catch(() => undefined));
  const open = () =>
    db.sql`select from pg_stat_activity where usename = 'test_reporter' and now() - query_start > interval '1 second'`;
  await until("its calls are open for a second", async () => (await open()).length === 3);
  const { owners } = (await read()).calls;
  await db.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'test_reporter'`;
  await sql.end({ timeout: 1 });
  await Promise.all(sleeps);
  expect(owners).toEqual([]);
});

test.each<[what: string, report: object]>([
  ["of words", { callMs: "slow", isProcess: "yes" }],
  ["of huge numbers", { callMs: 1e300, isProcess: 1 }],
  ["of other shapes", { callMs: [], isProcess: {} }],
])("a worker's report $0 → unreadable figures are left out; the other worker's stay", async (_what, report) => {
  await db.sql`select keyframe_worker.claim_tasks(gen_random_uuid(), 0, report => '{"callMs": 1500}')`;
  await claims(report);
  const { workers } = await read();
  expect(workers.generate.callSeconds).toBe(1.5);
  expect(workers.deliver).toMatchObject({ isProcess: false, claimedSeconds: about(0) });
});

test("an app's triggers on shared tables → named; Keyframe's own, and an app's on projects → not", async () => {
  await rolledBack(db.sql, async (sql) => {
    expect(await partOf("appTriggers", sql)).toEqual([]);
    await sql.unsafe(`
      create function public.app_keeps() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger app_mirror after insert on keyframe.projects for each row execute function public.app_keeps();
      create trigger app_skip before update on keyframe.predictions for each row execute function public.app_keeps();
      create trigger app_off after insert on keyframe.webhook_deliveries for each row execute function public.app_keeps();
      alter table keyframe.webhook_deliveries disable trigger app_off;
      create trigger app_log after insert on keyframe_private.kicks for each row execute function public.app_keeps()`);
    const named = ["app_log on keyframe_private.kicks", "app_skip on keyframe.predictions"];
    expect(await partOf("appTriggers", sql)).toEqual(named);
  });
});

test("due predictions and pending deliveries → figures name who has most of them, of which model or to which endpoint", async () => {
  const endpoint = await addEndpoint(db.sql, world.owner);
  await seedDeliveries(db.sql, endpoint, 2);
  await seedDeliveries(db.sql, await addEndpoint(db.sql, world.owner), 1);
  await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
  for (const model of ["a/fast", "a/slow", "a/slow"])
    await prediction("queued", { lease_token: null, due_at: ago(9), model });
  const { deliveries, predictions } = await read();
  expect(deliveries.largest).toEqual([
    { ownerId: world.owner, subject: endpoint, count: 3, of: 4 },
    { ownerId: null, subject: expect.any(String), count: 1, of: 4 },
  ]);
  expect(predictions.largest).toEqual([{ ownerId: world.owner, subject: "a/slow", count: 3, of: 3 }]);
});

const LATER = { lease_token: null, due_at: ago(-60) };
const IN_LINE = { admitted_at: null, deadline_at: null, lease_token: null };
const OURS = { "keyframe-function": "keyframe-generate" };

const DUE = { lease_token: null, due_at: ago(9) };
/** Work of generate that has been due for so many seconds. */
const addWork = (kind: string, seconds: number) =>
  db.sql`select keyframe_private.add_work('ask', ${kind}, gen_random_uuid(), ${world.owner}, ${kind}, ${ago(seconds)})`;
const prediction = (status: Status, columns: Row) => seedPrediction(db.sql, world, { status, columns });
/** A kick to generate that was made so many seconds ago, and an answer of pg_net. */
const kicked = (seconds: number, columns: object = {}) =>
  db.sql`insert into keyframe_private.kicks ${db.sql({ function_name: "generate", made_at: ago(seconds), request_id: 7, ...columns })}`;
const answered = (seconds: number, columns: object) =>
  db.sql`insert into net._http_response ${db.sql({ id: 7, created: ago(seconds), ...columns })}`;
const ran = (name: string, status: string, began: number | null, ended: number | null, message = "1 row") => db.sql`
  insert into cron.job_run_details (jobid, status, start_time, end_time, return_message)
  select jobid, ${status}, ${began === null ? null : ago(began)}, ${ended === null ? null : ago(ended)}, ${message} from cron.job where jobname = ${name}`;
const claims = (report: object) =>
  db.sql`select keyframe_worker.exchange_deliveries('[]', gen_random_uuid(), 0, heartbeat_ms => 0, report => ${db.sql.json({ ...report })})`;

test.each<[what: string, seed: () => Promise<unknown>, figures: object]>([
  [
    "predictions of each status, one of them due for long → counted, and how long; those in line are neither queued nor due",
    async () => {
      await prediction("queued", { lease_token: null, due_at: ago(90) });
      await prediction("queued", { ...LATER, last_error: "provider_unauthorized", failures: 1 });
      await prediction("starting", LATER);
      await prediction("processing", LATER);
      await prediction("processing", { lease_token: null, due_at: ago(20) });
      await prediction("storing", LATER);
      await prediction("succeeded", {});
      await addWork("cancel", -1);
      await prediction("queued", { ...IN_LINE, created_at: ago(300) });
      await prediction("queued", { ...IN_LINE, created_at: ago(20) });
      await prediction("canceled", { ...IN_LINE, created_at: ago(900) }); // it never had a slot either
    },
    {
      predictions: {
        ...{
          queued: 2,
          starting: 1,
          processing: 2,
          storing: 1,
          runsToCancel: 1,
          retrying: 1,
          refusal: "provider_unauthorized",
        },
        ...{ waiting: 2, oldestWaitingSeconds: about(300) },
      },
    },
  ],
  [
    "deliveries that are due, being sent, tried again, of a disabled endpoint → counted apart; the oldest is one that may be sent",
    async () => {
      const [first, second] = [await addEndpoint(db.sql, world.owner), await addEndpoint(db.sql, null)];
      await seedDeliveries(db.sql, first, 2);
      const disabled = await addEndpoint(db.sql, world.owner, { enabled: false });
      await seedDeliveries(db.sql, disabled, 3, { next_attempt_at: ago(5000) });
      await exchange(db.sql); // it drops the work of a disabled endpoint
      await seedDeliveries(db.sql, first, 1, { next_attempt_at: ago(30) });
      await seedDeliveries(db.sql, second, 1, { next_attempt_at: ago(45) });
      await seedDeliveries(db.sql, second, 1, { next_attempt_at: ago(-600), attempts: 1 });
      const delivered = { status: "delivered", completed_at: new Date() };
      await seedDeliveries(db.sql, second, 1, { ...delivered, next_attempt_at: ago(900) });
    },
    { deliveries: { due: 2, sending: 2, pending: 5, paused: 3, oldestDueSeconds: about(45) } },
  ],
  [
    "events of the last five minutes → by type; older ones and tests are left out",
    () => db.sql`
      insert into keyframe.webhook_events (type, payload, created_at) values
        ('project.created', '{}', now()), ('generation.succeeded', '{}', now() - interval '4 minutes'),
        ('generation.failed', '{}', now()), ('generation.failed', '{}', now() - interval '6 minutes'),
        ('webhook.test', '{}', now())`,
    { events: { projectCreated: 1, generationSucceeded: 1, generationFailed: 1 } },
  ],
  [
    "a kick that pg_net has not sent → counted, with the time it was signed; other requests are not ours",
    async () => {
      await db.sql`
        select vault.create_secret('whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', 'keyframe_kick_secret'),
          vault.create_secret('http://127.0.0.1:9/functions/v1', 'keyframe_functions_url')`;
      await db.sql`select keyframe_private.kick('generate')`;
      await db.sql`select net.http_post(url := 'http://127.0.0.1:9/other')`;
      await db.sql`
        update net.http_request_queue set headers = headers || jsonb_build_object('webhook-timestamp', ${String(Math.floor(Date.now() / 1000) - 70)}::text)
        where headers ? 'webhook-id'`;
    },
    { kicks: { unsent: 1, othersUnsent: 1, oldestUnsentSeconds: about(70) } },
  ],
  [
    "answers of the last five minutes → accepted, refused, without an answer; others' answers are not ours",
    async () => {
      await answered(40, { id: 1, status_code: 202, headers: OURS });
      await answered(1200, { id: 2, status_code: 202, headers: OURS });
      await answered(0, { id: 3, status_code: 401, headers: OURS });
      await answered(0, { id: 4, error_msg: "Timeout was reached" });
      await answered(0, { id: 5, status_code: 202, headers: {} });
      await answered(0, { id: 6, status_code: 401, headers: {} });
    },
    { kicks: { accepted: 1, refused: 1, failed: 1 } },
  ],
  [
    "the last kick is acknowledged → how long after",
    () => kicked(40, { acknowledged_at: new Date(Date.now() - 38_500) }),
    { lastKicks: { generate: { outcome: "unanswered", acknowledgedAfterSeconds: expect.closeTo(1.5, 1) } } },
  ],
  [
    "the last kick could not be made → why",
    async () => [await kicked(30, { request_id: null, error: "The Vault lacks it." }), await kicked(35)],
    { lastKicks: { generate: { outcome: "not_made", error: "The Vault lacks it." } } },
  ],
  [
    "answers with the kick's id from long before it or long after, and with another id → another's: ids start again when pg_net is created again",
    async () => {
      await kicked(1200);
      await answered(1200 + 90, { status_code: 401 });
      await answered(1200 - 330, { status_code: 500 });
      await answered(1200, { status_code: 404, id: 8 });
    },
    { lastKicks: { generate: { outcome: "unanswered", status: null } } },
  ],
  [
    "an answer 200 seconds after the kick → its own",
    async () => [await kicked(1200), await answered(1000, { status_code: 202, headers: OURS })],
    { lastKicks: { generate: { outcome: "accepted" } } },
  ],
  [
    "a worker claims, and says how long its calls take → since when, and what it said last; a kick changes neither",
    async () => {
      await claims({ callMs: 3 });
      await claims({ isProcess: true, callMs: 2_400 });
      await db.sql`update keyframe_private.heartbeats set claimed_at = ${ago(50)}`;
      await db.sql`select keyframe_private.kick('deliver')`;
    },
    {
      workers: { deliver: { callSeconds: 2.4, claimedSeconds: about(50), isProcess: true }, generate: NEVER_CLAIMED },
    },
  ],
  [
    "two processes have leased work, some of it long ago → how much is open, and what the slow work waits for",
    async () => {
      for (let i = 0; i < 3; i++)
        await seedPrediction(db.sql, await addWorld(db), { columns: { ...DUE, model: "a/slow" } });
      for (const worker of [1, 2]) await claimOnly(db.sql, worker, { worker: crypto.randomUUID() });
      await db.sql`update keyframe_private.work set due_at = due_at - interval '11 seconds' where id in (
        select id from keyframe_private.work where state = 'leased' order by id limit 1)`;
      await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 2);
      await exchange(db.sql);
      await db.sql`update keyframe_private.work set due_at = due_at - interval '4 seconds' where queue = 'deliver'`;
    },
    {
      workers: {
        generate: { slowWork: 1, leased: { of: 264, open: 3, slow: [{ name: "a/slow", open: 1, of: 192 }] } },
        deliver: {
          slowWork: 2,
          leased: { of: 440, open: 2, slow: [{ name: "receiver.example new", open: 2, of: 440 }] },
        },
      },
    },
  ],
  [
    "the database has refused work three times, and a job skips a row → counted, with the worst; other failures are not",
    async () => {
      await prediction("processing", { ...LATER, failures: 3, last_error: "P0001" });
      await prediction("storing", { ...LATER, failures: 9, last_error: "provider_unavailable" });
      await prediction("queued", { ...LATER, failures: 2, last_error: "P0001" });
      for (let i = 0; i < 4; i++)
        await db.sql`select keyframe_private.skip_row('delete x 1', 'P0002', 'An app keeps it.')`;
    },
    {
      skipped: {
        ...{ count: 2, kinds: { poll: 1, job: 1 } },
        worst: { kind: "job", subject: "delete x 1", code: "P0002", reason: "An app keeps it.", failures: 4 },
      },
    },
  ],
  [
    "kicks → the age of the oldest that no claim of that worker has followed",
    async () => {
      const of = { function_name: "deliver" };
      await kicked(90, { acknowledged_at: null });
      await kicked(95, of);
      await exchange(db.sql, { heartbeatMs: 0 });
      await db.sql`update keyframe_private.kicks set acknowledged_at = ${ago(90)} where acknowledged_at is not null`;
      await kicked(400, { ...of, acknowledged_at: ago(100) }); // too long ago
      await kicked(40, { ...of, acknowledged_at: ago(31) });
      await kicked(30, { ...of, acknowledged_at: ago(29) });
      await kicked(20, of);
      await kicked(10, of);
      await kicked(25, { ...of, request_id: null, error: "The Vault lacks it." }); // nothing was sent
    },
    {
      workers: {
        deliver: { oldestKickSeconds: about(20) },
        generate: { oldestKickSeconds: about(90) },
      },
    },
  ],
  [
    "runs of jobs → of each its last good one, the last error, and whether it is late",
    async () => {
      await ran("keyframe-sweep", "failed", 900, 900);
      await ran("keyframe-prune-rates", "failed", 800, 800, "ERROR:  it broke once\nCONTEXT:  there");
      await ran("keyframe-sweep", "succeeded", 71, 70);
      await ran("keyframe-delete-parts", "failed", 50, 50, "ERROR:  it broke");
      await ran("keyframe-delete-parts", "succeeded", 31, 30);
      await ran("keyframe-prune", "succeeded", 31, 30);
      await ran("keyframe-sweep", "failed", null, null, "connection failed"); // of an old pg_cron
      await ran("keyframe-sweep", "running", 10, null);
    },
    {
      jobs: {
        sweep: {
          ...{ scheduled: true, lastSuccessSeconds: about(70), lastError: "connection failed", isLate: true },
        },
        prune: { lastSuccessSeconds: about(30), lastError: null, isLate: false },
        "delete-parts": { lastError: null, isLate: false },
        "merge-costs": { scheduled: true, lastSuccessSeconds: null, isLate: true },
        // The log begins a quarter of an hour ago, so an hourly job is not missed yet.
        "prune-rates": { lastSuccessSeconds: null, lastError: "ERROR:  it broke once", isLate: false },
        "remove-unused-uploads": { lastSuccessSeconds: null, isLate: false },
      },
    },
  ],
  [
    "files to remove → how many, since when",
    () => db.sql`
      insert into keyframe_private.file_removals (bucket, name, created_at, failures) values
        ('keyframe-outputs', 'a', ${ago(200)}, 3), ('keyframe-outputs', 'b', ${ago(5)}, 0),
        ('keyframe-outputs', 'c', ${ago(60)}, 1)`,
    { fileRemovals: { pending: 3, oldestSeconds: about(200) } },
  ],
])("figures of the service: %s", async (_what, seed, figures) => {
  await seed();
  expect(await read()).toMatchObject(figures);
});

test.each<
  [answer: { status_code?: number; headers?: object; error_msg?: string }, outcome: string, error: string | null]
>([
  [{ status_code: 202, headers: OURS }, "accepted", null],
  [{ status_code: 401, headers: OURS }, "answered", null],
  [{ status_code: 202, headers: {} }, "answered", null],
  [{ status_code: 503 }, "answered", null],
  [{ error_msg: "Timeout".padEnd(5000) }, "failed", "Timeout".padEnd(200)],
])("the last kick is answered %j → health says $1, and how long ago it was made", async (answer, outcome, error) => {
  await kicked(40);
  await answered(39, answer);
  const generate = { outcome, status: answer.status_code ?? null, error, madeSeconds: about(40) };
  const { lastKicks } = await read();
  expect(lastKicks).toEqual({ generate: { ...generate, acknowledgedAfterSeconds: null }, deliver: NO_KICK });
});

test("an endpoint that the service disabled → counted; one that its owner disabled → not counted", async () => {
  const gone = await addEndpoint(db.sql, world.owner);
  await seedDeliveries(db.sql, gone, 1);
  await sendNext(db.sql, { status_code: 410 });
  await addEndpoint(db.sql, world.owner, { enabled: false });
  expect((await read()).deliveries.endpointsDisabled).toBe(1);
  await db.sql`update keyframe.webhook_endpoints set disabled_at = ${ago(90_000)} where id = ${gone}`;
  expect((await read()).deliveries.endpointsDisabled).toBe(0);
});

test("endpoints whose last delivery could not be signed → counted, unless disabled or signed since", async () => {
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

test("generate claims → figures have its call's time, also when it has no capacity for work", async () => {
  const claim = createClaim((called, args) => callWorker(db.sql, called, Object(args)), null);
  await claim({ free: 0, isStopping: false, heartbeatMs: 0, waitMs: 0, callMs: 1_499.6 });
  expect((await read()).workers.generate).toMatchObject({ callSeconds: 1.5, slowWork: 0 });
});

test("each scheduled job → watched; one that does not run here → the reason, until a permitted role schedules it again", async () => {
  const jobs = async (sql: postgres.Sql | postgres.TransactionSql = db.sql) => [
    ...(await sql`select jobname, schedule, command, active, username, database from cron.job order by jobname`),
  ];
  const before = await jobs();
  expect(Object.keys((await read()).jobs).toSorted()).toEqual(
    before.map(({ jobname }) => jobname.replace("keyframe-", "")),
  );
  const breakJobs = async () => {
    await db.sql`update cron.job set active = false where jobname = 'keyframe-merge-costs'`;
    await db.sql`delete from cron.job where jobname = 'keyframe-delete-parts'`;
    await db.sql`update cron.job set command = 'select 1', schedule = '7 seconds' where jobname = 'keyframe-sweep'`;
    await db.sql`update cron.job set database = 'film' where jobname = 'keyframe-prune'`;
    await db.sql`update cron.job set nodename = 'db.example', nodeport = 1 where jobname = 'keyframe-prune-cron'`;
  };
  await breakJobs();
  const obstacles = async () =>
    Object.fromEntries(Object.entries((await read()).jobs).filter(([, { obstacle }]) => obstacle !== null));
  const off = (obstacle: string) => expect.objectContaining({ scheduled: false, obstacle });
  const here = new URL(db.url).pathname.slice(1);
  expect(await obstacles()).toEqual({
    "delete-parts": off("missing"),
    "merge-costs": off("switched off"),
    prune: off(`in the database film, not in ${here}`),
    "prune-cron": off("at the server db.example:1, not at this one"),
    sweep: off("with another command"),
  });
  // A schedule that an administrator has changed stays.
  const after = before.map((job) => (job.jobname === "keyframe-sweep" ? { ...job, schedule: "7 seconds" } : job));
  const schedule = () =>
    db.as({ role: "postgres" }, (sql) => scalar(sql`select keyframe_private.schedule_jobs() as kept`));
  expect(await schedule()).toEqual([]);
  expect(await jobs()).toEqual(after);
  await rolledBack(db.sql, async (sql) => {
    await breakJobs();
    await sql`update cron.job set username = 'supabase_admin' where jobname = 'keyframe-sweep'`;
    await sql`select keyframe_private.schedule_jobs()`; // as a superuser
    const [role] = await sql`select current_setting('role') as role`;
    expect([await jobs(sql), role]).toEqual([after, { role: "none" }]);
  });
  expect(await schedule()).toEqual([]);

  const [theirs] = await db.sql`
    update cron.job set username = 'supabase_admin', schedule = '5 seconds' where jobname = 'keyframe-sweep' returning jobid`;
  const beside = `as entry ${theirs?.jobid} of the role supabase_admin, not of postgres`;
  expect(await schedule()).toEqual([
    `keyframe-sweep is there ${beside}: as that role or a superuser, select cron.unschedule(${theirs?.jobid});`,
  ]);
  expect(await obstacles()).toEqual({ sweep: expect.objectContaining({ scheduled: true, obstacle: beside }) });
  await db.sql`select cron.unschedule(${theirs?.jobid}::bigint)`;
  expect(await obstacles()).toEqual({});
});

test("a session that holds an old snapshot → figures say who and since when; below the limits → none", async () => {
  const held = (limits: string) => scalar(db.sql.unsafe(`select keyframe_private.snapshot_figures(${limits})`));
  const session = await db.sql.reserve();
  await session`begin isolation level repeatable read`;
  const [its] = await session`select pg_backend_pid() as pid, current_user as role`;
  try {
    const mine = { kind: "session", name: String(its?.pid), role: its?.role, seconds: expect.any(Number) };
    expect(await held("'0'")).toContainEqual(expect.objectContaining(mine));
    expect(await held("")).toEqual([]);
  } finally {
    await session`rollback`;
    session.release();
  }
});

test("pg_net works for another database → figures name that database; a stand-in works for its own", async () => {
  expect((await read()).kicks.servedDatabase).toBeNull();
  await rolledBack(db.sql, async (sql) => {
    // This is how the real one is recognised.
    await sql`
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (1, 'pg_net', 10, 'net'::regnamespace, false, '0.20.4')`;
    const served = async () => (await partOf("kicks", sql)).servedDatabase;
    const given = await scalar(sql`select current_setting('pg_net.database_name', true)`);
    if (given) return expect(await served()).toBe(given); // a real one is loaded, and works for another database
    await sql`select set_config('pg_net.database_name', 'elsewhere', true)`;
    expect(await served()).toBe("elsewhere");
    await sql`select set_config('pg_net.database_name', current_database(), true)`;
    expect(await served()).toBeNull();
  });
});

test("due work of each kind → how long the oldest has been due, without leased or later work", async () => {
  await prediction("queued", { lease_token: null, due_at: ago(90) });
  await prediction("processing", { lease_token: null, due_at: ago(80) });
  await prediction("storing", { lease_token: null, due_at: ago(70) });
  await prediction("storing", { due_at: ago(-70) });
  await addWork("cancel", 60);
  await addWork("search", 50);
  await addWork("expire", 45);
  await addWork("remove", 40);
  await addWork("admit", 35);
  const [mine, busy] = [await addEndpoint(db.sql, world.owner), await addEndpoint(db.sql, null)];
  await seedDeliveries(db.sql, busy, 1, { next_attempt_at: ago(900) });
  await exchange(db.sql); // one is being sent there
  await seedDeliveries(db.sql, busy, 9, { next_attempt_at: ago(900) });
  await seedDeliveries(db.sql, mine, 2, { next_attempt_at: ago(30) });
  const ages = { submit: about(90), poll: about(80), store: about(70), cancel: about(60), search: about(50) };
  const others = { expire: about(45), remove: about(40), delivery: about(30), slot: about(35) };
  expect((await read()).due).toEqual({ ...ages, ...others });
});

test("12,000 newer rows in front of the oldest of each kind → the figures have the age of the oldest", async () => {
  const [first, last] = ["00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"];
  const { id } = await prediction("queued", { ...IN_LINE, created_at: ago(5) });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, created_at)
      select project_id, owner_id, step, input, model, created_at from keyframe.predictions, generate_series(1, 12000) where id = ${id}`;
    await sql`
      insert into keyframe_private.file_removals (bucket, name, created_at)
      select 'keyframe-outputs', i, ${ago(5)} from generate_series(1, 12000) i`;
  });
  await prediction("queued", { ...IN_LINE, created_at: ago(2_000) });
  await db.sql`insert into keyframe_private.file_removals (bucket, name, created_at) values ('keyframe-outputs', 'last', ${ago(2_100)})`;
  const add = (queue: string, kind: string, lane: string, seconds: number, count = 1) => db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
    select ${queue}::keyframe_private.work_queue, ${kind}, gen_random_uuid(), ${lane}, ${lane}, ${kind} || left(${lane}, 1), 'ready', ${ago(seconds)}
    from generate_series(1, ${count}::int)`;
  const kinds = ["submit", "poll", "cancel", "search", "expire", "remove"];
  await add("ask", "admit", first, 5, 12_000);
  await add("copy", "store", first, 5, 12_000);
  await add("deliver", "deliver", first, 5, 12_000);
  for (const [place, kind] of kinds.entries()) await add("ask", kind, last, 1_000 + 100 * place);
  await add("ask", "continue", last, 1_600);
  await add("copy", "store", last, 1_700);
  await add("deliver", "deliver", last, 1_800);
  const { due, deliveries, predictions, fileRemovals } = await read();
  const ages = Object.fromEntries(kinds.map((kind, place) => [kind, about(1_000 + 100 * place)]));
  expect(due).toEqual({ ...ages, slot: about(1_600), store: about(1_700), delivery: about(1_800) });
  expect(deliveries.oldestDueSeconds).toEqual(about(1_800));
  expect(predictions.oldestWaitingSeconds).toEqual(about(2_000));
  expect(fileRemovals.oldestSeconds).toEqual(about(2_100));
});

test("more than 10,000 rows fail, or are due → counting stops at 10,000, and includes what jobs skip", async () => {
  await db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at, failures, last_error)
    select 'ask', 'poll', gen_random_uuid(), ${world.owner}, ${world.owner}, 'poll', 'scheduled', now() + interval '1 hour', 3, 'P0001'
    from generate_series(1, 10000)`;
  await db.sql`select keyframe_private.skip_row('delete x 1', 'P0002', 'An app keeps it.')`;
  await db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
    select 'deliver', 'deliver', gen_random_uuid(), ${world.owner}, ${world.owner}, 'x', state, now() - interval '1 hour'
    from generate_series(1, 10000), unnest('{ready,scheduled}'::keyframe_private.work_state[]) state`;
  await answered(1, { id: 1, error_msg: "Timeout was reached" });
  await db.sql`insert into net._http_response (id, created) select i, now() from generate_series(2, 10001) i`;
  const { skipped, deliveries, kicks } = await read();
  expect([skipped.count, skipped.kinds.job, deliveries.due, kicks.failed]).toEqual([10_000, 1, 10_000, 10_000]);
});

test("the only worker died with the lease of a poll → the poll is due since its lease expired", async () => {
  await prediction("processing", { due_at: ago(40) });
  expect((await read()).due.poll).toEqual(about(40));
});

test("a worker died with the lease of a delivery → the others of its endpoint are due once the lease has expired", async () => {
  const endpoint = await addEndpoint(db.sql, world.owner, { max_in_flight: 1 });
  await seedDeliveries(db.sql, endpoint, 2, { next_attempt_at: ago(300) });
  await exchange(db.sql);
  expect((await read()).due.delivery).toBeNull();
  await db.sql`update keyframe_private.work set due_at = now() where state = 'leased'`;
  expect((await read()).due.delivery).toEqual(about(300));
});

test("a database that refuses writes or lacks settings, or a clock that was set back → figures and health say so", async () => {
  const ask = async (statement: string) => {
    let answer: unknown;
    await rolledBack(db.sql, async (sql) => {
      await sql.unsafe(statement);
      const [row] = await sql`
        select keyframe_private.setting_figures() - '{missingSecrets,address}'::text[] as figures,
          keyframe_private.clock_back_seconds() as back, keyframe.health() ->> 'writes' as writes`;
      answer = [row?.figures, row?.back, row?.writes];
    });
    return answer;
  };
  const well = { isReadOnly: false, hasSettings: true };
  expect(await ask("select 1")).toEqual([well, null, "ok"]);
  const readOnly = "set local default_transaction_read_only = on";
  expect(await ask(readOnly)).toEqual([{ ...well, isReadOnly: true }, null, "read_only"]);
  const emptied = "set local session_replication_role = replica; delete from keyframe_private.settings where true";
  expect(await ask(emptied)).toEqual([{ ...well, hasSettings: false }, null, "settings_missing"]);
  const ahead =
    "insert into keyframe_private.kicks (function_name, made_at, request_id) values ('deliver', now() + interval '1 hour', 1)";
  expect(await ask(ahead)).toEqual([well, 3600, "ok"]);
});

test.each([
  [
    "cron",
    ["jobs", "clockBackSeconds"],
    'These figures cannot be read: jobs (relation "cron.job_run_details" does not exist)',
  ],
  [
    "net",
    ["kicks", "lastKicks"],
    'These figures cannot be read: kicks (relation "net.http_request_queue" does not exist)',
  ],
  ["vault", ["settings"], 'These figures cannot be read: settings (relation "vault.secrets" does not exist)'],
])("the schema %s is missing → deep health says so, and the other parts are read", async (schema, parts, sentence) => {
  await rolledBack(db.sql, async (sql) => {
    await sql`alter schema ${sql(schema)} rename to gone`;
    const figures = serviceFigures.parse(await scalar(sql`select keyframe_worker.service_figures()`));
    expect(figures.unread.map(({ part }) => part)).toEqual(parts);
    expect(problemsOf(figures)).toContainEqual(expect.stringContaining(sentence));
    expect(figures).toMatchObject({ predictions: { queued: 0 }, blockers: [] });
  });
});

test("the blockers cannot be read → the part is unread, and the other parts are read", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql.unsafe(`
      create or replace function keyframe_private.blocker_figures(locked_for interval default '300 milliseconds', held_for interval default '20 seconds')
      returns jsonb language plpgsql as $$ begin raise 'it broke'; end $$`);
    const figures = serviceFigures.parse(await scalar(sql`select keyframe_worker.service_figures()`));
    expect(figures.unread).toEqual([{ part: "blockers", code: "P0001", reason: "it broke" }]);
    expect(figures).toMatchObject({ blockers: null, predictions: { queued: 0 }, lastKicks: { generate: NO_KICK } });
  });
});

/** The figures within two seconds, while the costs take so long. */
async function figuresWithSlowCosts(seconds: number): Promise<ServiceFigures> {
  let figures: unknown;
  await rolledBack(db.sql, async (sql) => {
    await sql.unsafe(`
      create or replace function keyframe_private.cost_figures() returns jsonb language plpgsql stable as $$ begin
        perform pg_sleep(${seconds});
        return null;
      end $$`);
    await sql`set local statement_timeout = '2s'`;
    figures = await scalar(sql`select keyframe_worker.service_figures()`);
  });
  return serviceFigures.parse(figures);
}

test("a part takes a second of the call's two → all parts are read", async () => {
  expect((await figuresWithSlowCosts(1)).unread).toEqual([]);
});

test("a part takes all the time of the call → it is named, those before it are read, and those after it had no time", async () => {
  const began = Date.now();
  const figures = await figuresWithSlowCosts(60);
  expect(Date.now() - began).toBeLessThan(4_000);
  const [slow, ...others] = figures.unread;
  expect(slow).toEqual({ part: "costs", code: "57014", reason: "canceling statement due to statement timeout" });
  expect(new Set(others.map(({ code, reason }) => `${code} ${reason}`))).toEqual(new Set(["57014 no time was left"]));
  expect(figures).toMatchObject({ predictions: { queued: 0 }, due: { submit: null }, kicks: null, blockers: [] });
});

test("health names statements for lost settings and a clock set back → they run, and do what health says", async () => {
  const [named, clock] = problemsOf({
    ...sampleFigures(),
    settings: { isReadOnly: false, hasSettings: false, missingSecrets: [], address: null },
    clockBackSeconds: 3600,
  });
  const insert = named?.match(/: (insert into [^.]*\.settings default values)\. It starts with spending stopped/)?.[1];
  const start = clock?.match(/: (update keyframe_private\.work .*)\.$/)?.[1];
  const { id } = await prediction("processing", { ...LATER, due_at: ago(-3600), updated_at: ago(-3600) });
  await rolledBack(db.sql, async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`delete from keyframe_private.settings where true`;
    await sql.unsafe(insert ?? "");
    expect(await sql`select spending_stopped, owner_day_micros from keyframe_private.settings`).toEqual([
      { spending_stopped: true, owner_day_micros: null },
    ]);
    await sql.unsafe(start ?? "");
    expect((await claimOnly(sql)).map((task) => [task.task, task.id])).toEqual([["poll", id]]);
  });
});

test("new sessions are read-only → the statements that health names, run in one of them, end it", async () => {
  const settings = { isReadOnly: true, hasSettings: true, missingSecrets: [], address: null };
  const [problem] = problemsOf({ ...sampleFigures(), settings });
  const statements = problem?.match(/then: (begin read write; .*; commit)\./)?.[1] ?? "";
  const name = new URL(db.url).pathname.slice(1);
  const inNewSession = async (statement: string) => {
    const sql = postgres(db.url, { max: 1 });
    const [row] = await sql.unsafe(statement);
    await sql.end();
    return row?.default_transaction_read_only;
  };
  const setting = "show default_transaction_read_only";
  await db.sql.unsafe(`alter database ${name} set default_transaction_read_only = on`);
  expect(await inNewSession(setting)).toBe("on");
  await inNewSession(statements.replace("<database>", name));
  expect(await inNewSession(setting)).toBe("off");
});

test("calls of ours that run for over two seconds → figures say how many, and of which function most", async () => {
  await db.sql.unsafe("select 'keyframe.list_models', pg_sleep(0.1)");
  const calls = [1, 2].map(() => db.sql.unsafe(`select '"keyframe"."read_usage"', pg_sleep(20)`).execute());
  const figures = await until("two slow calls", async () => {
    const { calls } = await read();
    return calls.slow === 2 && calls;
  });
  for (const call of calls) call.cancel();
  expect(figures).toEqual({ owners: [], slow: 2, slowest: "read_usage", slowestSeconds: about(2) });
  await Promise.allSettled(calls);
});

test("submits of today and older ones → what they cost all owners today and this month, and what is left of the budgets", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`
      with days as (
        select distinct day from (select (now() at time zone 'UTC')::date as today) t
        cross join lateral (values (today), (date_trunc('month', today)::date), (today - 40)) d (day)
      ), held as (
        insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model, created_at, most_micros)
        select ${world.owner}, gen_random_uuid(), gen_random_uuid(), 1, 'video', 'm', day::timestamp at time zone 'UTC', 1 from days
      )
      insert into keyframe_private.cost_sums (kind, owner_id, day, step, model, settled_micros, unknown_micros, unknown_submits)
      select kind::keyframe_private.cost_sum_kind, owner, day, 'video', 'm', 10, 100, 2
      from days cross join (values ('service_day', null), ('owner_day', ${world.owner}::uuid)) o (kind, owner)`;
    await sql`update keyframe_private.settings set service_day_micros = 50, service_month_micros = 1000, spending_stopped = true`;
    const [row] = await sql`
      select keyframe_worker.service_figures() -> 'costs' as costs, extract(day from now() at time zone 'UTC') = 1 as "isFirst"`;
    const [days, ofToday] = row?.isFirst ? [1, 1] : [2, 1];
    const sums = (n: number) => ({ settledMicros: 10 * n, heldMicros: n, unknownMicros: 100 * n });
    expect(row?.costs).toEqual({
      today: { ...sums(ofToday), budgetMicros: 50, leftMicros: 0 },
      month: { ...sums(days), budgetMicros: 1000, leftMicros: 1000 - 111 * days },
      ...{ unknownSubmits: 2 * days, spendingStopped: true, cheapestStartMicros: FRAME_MICROS },
    });
  });
});
