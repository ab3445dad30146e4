import type { TransactionSql } from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import * as calls from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { addWorld, type Row, type Status, seedPrediction, seedSubmit } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addReference, start } from "../../support/database/user.ts";
import { impatiently, letWait, untilSomebodyWaits } from "../../support/database/waiting.ts";
import { addEndpoint } from "../../support/database/webhooks.ts";

// Somebody's transaction stays open and holds rows of one owner, or what serves everybody. Whatever it holds, generate's claims and
// records, callbacks and the scheduled jobs go on for other owners; once it ends, its owner's turn comes.

const { begin, callWorker, claim, claimOnly, providerSays, readRow } = calls;
const db = useDatabase();
beforeEach(() => clearPredictions(db.sql));

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const LATER = { due_at: ago(-60) };
const DEAD = { failures: 7, last_error: "lease_expired" };
const YEARS_AGO = ago(2 * 365 * 86_400);

type Owner = Awaited<ReturnType<typeof addOwner>>;

/** An owner with one piece of each kind of work, all of it due, and of all that is pruned. */
async function addOwner() {
  const { owner, project } = await addWorld(db);
  const seed = async (status: Status, columns: Row = {}, unanswered?: Date) =>
    (await seedPrediction(db.sql, { owner, project }, { status, columns, ...(unanswered && { unanswered }) })).id;
  const submit = await seed("queued", { attempt: 0, lease_token: null });
  const ids = {
    late: await seed("processing", { ...LATER, deadline_at: ago(2) }),
    lateStoring: await seed("storing", { ...LATER, deadline_at: ago(1) }),
    dead: await seed("processing", DEAD),
    deadStoring: await seed("storing", DEAD),
    running: await seed("processing", LATER),
    storing: await seed("storing", LATER),
    searched: await seed("canceled", { provider_prediction_id: null }, ago(60)),
    deleted: await seed("queued", {}, ago(60)),
    submit,
    waiting: await seed("queued", { admitted_at: null, deadline_at: null, lease_token: null }),
  };
  await db.sql`delete from keyframe.predictions where id = ${ids.deleted}`;
  const run = `cancel-${crypto.randomUUID()}`;
  const ofOwner = { owner_id: owner, project_id: project };
  const ran = { ...ofOwner, submitted_at: ago(60), answered_at: ago(60) };
  await seedSubmit(db.sql, { ...ran, prediction_id: ids.searched, attempt: 2, provider_prediction_id: run });
  await db.sql`
    select keyframe_private.add_cancel(s) from keyframe_private.provider_submits s where s.provider_prediction_id = ${run}`;
  const old = { created_at: YEARS_AGO, ended_at: YEARS_AGO, outcome: "no_run" };
  await seedSubmit(db.sql, { ...ran, ...old, text_hash: 1 });
  await seedSubmit(db.sql, { ...ofOwner, submitted_at: YEARS_AGO, text_hash: 1 }, {});
  const endpoint = await addEndpoint(db.sql, owner);
  const at = `timestamptz '${YEARS_AGO.toISOString()}'`;
  await db.sql.unsafe(`
    select keyframe_private.replace_webhook_secret('${endpoint}', interval '1 hour');
    update keyframe_private.webhook_secrets set expires_at = ${at} where endpoint_id = '${endpoint}' and expires_at is not null;
    insert into keyframe_private.webhook_hours (endpoint_id, hour) values ('${endpoint}', ${at}), ('${endpoint}', ${at} + interval '1 day');
    insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id, created_at)
      values ('${owner}', 'old', repeat('a', 64), gen_random_uuid(), ${at});
    insert into keyframe_private.limit_notes (owner_id, type, once_for, noted_at) values ('${owner}', 'budget.exhausted', 'day', ${at});
    insert into keyframe_private.kicks (function_name, made_at, request_id) values ('deliver', ${at}, 1);
    insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values ('${owner}', 'create', 0, ${at})`);
  return { owner, project, image: await addReference(db, owner), endpoint, ...ids };
}

/** {name}: that of the owner. */
const hold = (sql: TransactionSql, statement: string, of: Owner) =>
  sql.unsafe(statement.replaceAll(/\{(\w+)\}/g, (_, name) => `'${of[name as keyof Owner]}'`));
const rowsOf = (table: string, column = "owner_id", of = "owner") =>
  `select from ${table} where ${column} = {${of}} for update`;
const SLOTS = "select keyframe_private.acquire_lock('slots', {owner})";
const HELD: Record<string, string> = {
  predictions: rowsOf("keyframe.predictions"),
  "a project": rowsOf("keyframe.projects"),
  "a project that is being deleted": "delete from keyframe.projects where id = {project}",
  "an account that is being deleted": "delete from auth.users where id = {owner}",
  "every model": "select from keyframe.models for update",
  "the settings": "update keyframe_private.settings set max_failures = max_failures",
  submits: rowsOf("keyframe_private.provider_submits"),
  "submits that are being changed":
    "update keyframe_private.provider_submits set attempt = attempt where owner_id = {owner}",
  "files to remove": `
    insert into keyframe_private.file_removals (bucket, name) select 'keyframe-outputs', keyframe_private.output_names(p)
    from keyframe.predictions p where p.id in ({lateStoring}, {deadStoring})`,
  "the slots, by a start": "insert into keyframe.predictions (project_id, step) values ({project}, 'first-frame')",
  "a reference image, by a project that takes it":
    "update keyframe.projects set reference_image_path = {image} where id = {project}",
  "a stored file": "select from storage.objects where bucket_id || '/' || name = {image} for update",
  "an endpoint": rowsOf("keyframe.webhook_endpoints"),
  "the old secret of an endpoint": rowsOf("keyframe_private.webhook_secrets", "endpoint_id", "endpoint"),
  "the hours of an endpoint": rowsOf("keyframe_private.webhook_hours", "endpoint_id", "endpoint"),
  "its work": rowsOf("keyframe_private.work"),
  "an old Idempotency-Key": rowsOf("keyframe_private.idempotency_keys"),
  "a budget that was exhausted": rowsOf("keyframe_private.limit_notes"),
  "every kick": "select from keyframe_private.kicks for update",
  "a full bucket of a rate limit": rowsOf("keyframe_private.rate_buckets"),
  "events of the predictions": `
    insert into keyframe.webhook_events (type, owner_id, prediction_id, payload)
    select 'generation.failed', {owner}, unnest(array[{late}, {dead}, {lateStoring}, {deadStoring}]::uuid[]), '{}'`,
  "all that a sweep by hand has taken": "select keyframe_private.sweep()",
};

const bounded = <T>(work: (sql: TransactionSql) => Promise<T>) => impatiently(db.sql, work);

async function runJobs(): Promise<void> {
  for (const job of ["sweep", "prune", "add_removals_of_unused_uploads", "prune_rate_buckets"])
    await bounded((sql) => sql.unsafe(`select keyframe_private.${job}()`));
}

/** What a worker claims and begins, each in a call of its own; what the database refuses is given back. */
async function workAll(): Promise<calls.Task[]> {
  const begun: calls.Task[] = [];
  for (let claims = 0; claims < 5; claims++) {
    for (const task of await bounded((sql) => claimOnly(sql, 100, { worker: crypto.randomUUID() }))) {
      const lease = { work_id: task.work_id, lease_token: task.lease_token };
      const done = await bounded((sql) => begin(sql, task)).catch(async ({ code }) => {
        await callWorker(db.sql, "retry_work", { ...lease, code }).catch(() => undefined);
        return null;
      });
      if (done) begun.push(done);
    }
  }
  return begun;
}

test.each(Object.entries(HELD))(
  "%s locked by an open transaction → other owners' work goes on, and its owner's does afterwards",
  async (what, statement) => {
    const slow = await addOwner();
    const endedOf = ({ late, lateStoring, dead, deadStoring }: Owner) => [late, lateStoring, dead, deadStoring];
    await db.sql.begin(async (open) => {
      await hold(open, statement, slow);
      const other = await addOwner();
      for (const id of [other.deleted, other.searched]) await calls.makeDue(db.sql, id);
      await runJobs();
      const tasks = await workAll();
      const of = (id: string) => tasks.filter((task) => task.id === id).map(({ task }) => task);
      expect(of(other.submit)).toEqual(["submit"]);
      expect(of(other.deleted)).toEqual(["search"]);
      expect(of(other.searched).toSorted()).toEqual(["cancel", "search"]);
      for (const id of endedOf(other)) expect((await readRow(db.sql, id)).status).toBe("failed");

      const { provider_prediction_id: run } = await readRow(db.sql, other.running);
      const says = { id: other.running, run: String(run), status: "succeeded" };
      expect(await bounded((sql) => providerSays(sql, says))).toBe("recorded");
      const { lease_token: lease } = await readRow(db.sql, other.storing);
      expect(await bounded((sql) => calls.complete(sql, other.storing, String(lease)))).toBe(true);
    });
    await db.sql`delete from keyframe.webhook_events where payload::text = '{}'`;
    for (const id of endedOf(slow)) await calls.makeDue(db.sql, id);
    await runJobs();
    await workAll();
    const left = await db.sql`select status from keyframe.predictions where id = any (${endedOf(slow)})`;
    expect(left.map(({ status }) => status)).toEqual(what.includes("deleted") ? [] : Array(4).fill("failed"));
  },
);

describe("a worker records a result while somebody locks a row that it needs", () => {
  const [PREDICTION, WORK] = [rowsOf("keyframe.predictions"), rowsOf("keyframe_private.work")];
  const SUBMITS = rowsOf("keyframe_private.provider_submits");
  /** The lease of the work of a kind. */
  const held = async (id: string, kind: string) => {
    const row = (await calls.workOf(db.sql, id)).find((each) => each.kind === kind);
    return { work_id: row?.id ?? 0, lease_token: row?.lease_token ?? crypto.randomUUID() };
  };
  type Record = (sql: TransactionSql, of: Owner) => Promise<unknown>;
  const ofStore =
    (record: (sql: TransactionSql, id: string, lease: string) => Promise<unknown>): Record =>
    async (sql, { storing }) =>
      await record(sql, storing, String((await readRow(db.sql, storing)).lease_token));
  const ofPoll =
    (name: string, args: object = {}): Record =>
    async (sql, { running }) =>
      await callWorker(sql, name, { ...(await held(running, "poll")), ...args });
  const ofSubmit =
    (name: string, args: (id: string) => object = () => ({})): Record =>
    async (sql, { submit }) =>
      await callWorker(sql, name, { ...(await held(submit, "submit")), ...args(submit) });
  const refused = (prediction_id: string) => ({ prediction_id, message: "It is gone.", attempt_without_run: 1 });
  const RECORDS: { [name: string]: [statement: string, record: Record] } = {
    complete_prediction: [SLOTS, ofStore(calls.complete)],
    fail_prediction: [PREDICTION, ofStore(calls.fail)],
    retry_prediction_later: [PREDICTION, ofStore(calls.retryLater)],
    begin_submit: [PREDICTION, ofSubmit("begin_submit")],
    record_model_refused: [PREDICTION, ofSubmit("record_model_refused", refused)],
    expire_prediction: [PREDICTION, ofPoll("expire_prediction")],
    admit_predictions: [SLOTS, ofPoll("admit_predictions")],
    begin_removal: [WORK, ofPoll("begin_removal")],
    retry_work: [WORK, ofPoll("retry_work", { code: "P0001" })],
    record_run_not_canceled: [SUBMITS, ofPoll("record_run_not_canceled", { is_unknown: true })],
    record_files_removed: [WORK, ofPoll("record_files_removed")],
    report_run: [
      PREDICTION,
      async (sql, { running: id }) =>
        await providerSays(sql, { id, run: "another", lease: String((await held(id, "poll")).lease_token) }),
    ],
    record_search_ended: [
      PREDICTION,
      async (sql, { searched: id }) =>
        await calls.endSearch(sql, id, { lease: String((await held(id, "search")).lease_token) }),
    ],
  };

  test.each(Object.entries(RECORDS))(
    "%s → 55P03 within a second, so that the connection is free again",
    async (_name, [statement, record]) => {
      const owner = await addOwner();
      await claimOnly(db.sql, 100);
      await db.sql.begin(async (open) => {
        await hold(open, statement, owner);
        expect(await refusalOf(bounded((sql) => record(sql, owner)))).toMatchObject({ sqlstate: "55P03" });
      });
    },
  );

  const afterPrediction = Object.entries(RECORDS).filter(([, [statement]]) => statement === PREDICTION);
  test.each([
    ...Object.keys(RECORDS).map((name) => [name, "work", WORK, [PREDICTION, SUBMITS]] as const),
    ...afterPrediction.map(([name]) => [name, "prediction", PREDICTION, [SUBMITS]] as const),
  ])(
    "%s waits for its %s → has not locked what comes later: no two calls deadlock",
    async (name, _what, first, later) => {
      const [, record] = RECORDS[name] ?? [];
      const owner = await addOwner();
      await claimOnly(db.sql, 100);
      await letWait(db.sql, name);
      const { waiting } = await db.sql.begin(async (open) => {
        await hold(open, first, owner);
        const waiting = bounded(async (sql) => await record?.(sql, owner));
        waiting.catch(() => undefined); // it is awaited below
        await untilSomebodyWaits(db.sql);
        for (const statement of later) await hold(open, `${statement} nowait`, owner);
        return { waiting };
      });
      await waiting;
    },
  );

  test("a callback with more progress while its prediction is locked → “unchanged” at once: the next callback repeats it", async () => {
    const owner = await addOwner();
    const { provider_prediction_id: run } = await readRow(db.sql, owner.running);
    const says = { id: owner.running, run: String(run), progress: 0.7 };
    await db.sql.begin(async (open) => {
      await hold(open, PREDICTION, owner);
      expect(await bounded((sql) => providerSays(sql, says))).toBe("unchanged");
    });
    expect(await providerSays(db.sql, says)).toBe("recorded");
  });

  test("every worker function, except claims, health's figures and the API's calls → is in the table above", async () => {
    const functions = await db.sql<{ name: string }[]>`
      select proname as name from pg_proc where pronamespace = 'keyframe_worker'::regnamespace
        and proname not in ('claim_tasks', 'exchange_deliveries', 'act_as', 'add_credit', 'describe_database', 'read_shared_film',
          'service_figures', 'verify_key')
      order by 1`;
    expect(Object.keys(RECORDS).toSorted()).toEqual(functions.map(({ name }) => name));
  });
});

describe("an administrator's open transaction", () => {
  const DEFAULT = "google/nano-banana-2";
  const rename = (sql: typeof db.sql | TransactionSql, from: string, to: string) =>
    sql`update keyframe.models set model = ${to} where model = ${from}`;

  test.each([
    ["renames the model", `update keyframe.models set model = 'test/renamed' where model = '${DEFAULT}'`],
    ["holds every model", "select from keyframe.models for update"],
    ["holds every default", "select from keyframe.step_defaults for update"],
    ["holds every rate limit", "select from keyframe_private.rate_limits for update"],
    ["takes a rate limit away", "delete from keyframe_private.rate_limits where route_class = 'generate'"],
    ["holds the settings", "select from keyframe_private.settings for update"],
    ["holds every price", "select from keyframe_private.model_prices for update"],
  ])("an administrator's open transaction %s → everybody's starts go on", async (_what, statement) => {
    const world = await addWorld(db);
    await rolledBack(db.sql, async (open) => {
      await open.unsafe(statement);
      const started = await db.asUser(world.owner, async (sql) => {
        await sql`set local statement_timeout = '4s'`;
        const [row] = await sql`select keyframe.start_prediction(${world.project}, 'first-frame') as answer`;
        return row?.answer.prediction;
      });
      expect(started.model).toBe(DEFAULT);
    });
  });

  test("a start commits before a model's new name does → the prediction has the new name, and runs", async () => {
    const world = await addWorld(db);
    let id = "";
    await db.sql.begin(async (open) => {
      await rename(open, DEFAULT, "test/renamed");
      id = (await start(db, world)).prediction.id;
    });
    expect(await claim(db.sql)).toMatchObject([{ id, task: "submit", model: "test/renamed" }]);
    await rename(db.sql, "test/renamed", DEFAULT);
  });

  test("a start commits after a model's new name → it fails when it is claimed, without a run or a cost; others are claimed", async () => {
    const [late, other] = [await addWorld(db), await addWorld(db)];
    let id = "";
    await db.sql.begin(async (open) => {
      const [row] = await open`
        insert into keyframe.predictions (project_id, step) values (${late.project}, 'first-frame') returning id`;
      id = row?.id;
      await rename(db.sql, DEFAULT, "test/renamed");
    });
    const { prediction } = await start(db, other);
    expect((await claim(db.sql)).map((task) => task.id)).toContain(prediction.id);
    const failed = { status: "failed", error_code: "model_unavailable", error_retryable: true };
    expect(await readRow(db.sql, id)).toMatchObject(failed);
    expect(await calls.submitsOf(db.sql, id)).toMatchObject([{ outcome: "no_run", cost_state: "released" }]);
    await rename(db.sql, "test/renamed", DEFAULT);
  });
});
