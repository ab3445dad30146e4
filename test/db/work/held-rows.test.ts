import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  callWorker,
  claim,
  claimOnly,
  begin,
  complete,
  endSearch,
  fail,
  makeDue,
  providerSays,
  readRow,
  retryLater,
  workOf,
} from "../../support/database/calls.ts";
import type { Task } from "../../support/database/calls.ts";
import { addWorld, type Row, type Status, seedPrediction, seedSubmit } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { start } from "../../support/database/user.ts";
import { addEndpoint } from "../../support/database/webhooks.ts";

// Somebody's transaction stays open and holds rows of one owner, or what serves everybody. Whatever it holds, generate's claims and
// records, callbacks and the scheduled jobs go on for other owners; once it ends, its owner's turn comes.

const db = useDatabase();

const clear = () =>
  emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.file_removals",
  );

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const LATER = { due_at: ago(-60) };
const DEAD = { failures: 7, last_error: "lease_expired" };
const WAITS = { admitted_at: null, deadline_at: null, lease_token: null };

type Owner = Awaited<ReturnType<typeof addOwner>>;

/** An owner with one piece of each kind of work, all of it due. */
async function addOwner() {
  const world = await addWorld(db);
  const seed = async (status: Status, columns: Row = {}, unanswered?: Date) =>
    (await seedPrediction(db.sql, world, { status, columns, ...(unanswered && { unanswered }) })).id;
  const image = `${crypto.randomUUID()}.png`;
  await db.sql`
    insert into storage.objects (bucket_id, name, user_metadata)
    values ('projects', ${image}, jsonb_build_object('width', 16, 'height', 9, 'ownerId', ${world.owner}::text))`;
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
    waiting: await seed("queued", { ...WAITS }),
  };
  await db.sql`delete from keyframe.predictions where id = ${ids.deleted}`;
  const run = `cancel-${crypto.randomUUID()}`;
  const ofOwner = { owner_id: world.owner, project_id: world.project };
  const ran = { ...ofOwner, submitted_at: ago(60), answered_at: ago(60) };
  await seedSubmit(db.sql, {
    ...{ ...ran, prediction_id: ids.searched, attempt: 2, provider_prediction_id: run },
  });
  await db.sql`
    select keyframe_private.add_cancel(s) from keyframe_private.provider_submits s where s.provider_prediction_id = ${run}`;
  const YEARS = 2 * 365 * 86_400;
  await seedSubmit(db.sql, { ...ran, created_at: ago(YEARS), ended_at: ago(YEARS), outcome: "no_run", text_hash: 1 });
  const lost = { ...ofOwner, submitted_at: ago(YEARS), text_hash: 1 };
  await seedSubmit(db.sql, lost, {});
  const endpoint = await addEndpoint(db.sql, world.owner);
  await db.sql`select keyframe_private.replace_webhook_secret(${endpoint}, interval '1 hour')`;
  await db.sql`update keyframe_private.webhook_secrets set expires_at = ${ago(1)} where endpoint_id = ${endpoint} and expires_at is not null`;
  await db.sql`
    insert into keyframe_private.webhook_hours (endpoint_id, hour) select ${endpoint}, now() - interval '1 day' * day from generate_series(3, 4) day`;
  await db.sql`
    insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id, created_at)
    values (${world.owner}, 'old', repeat('a', 64), gen_random_uuid(), ${ago(YEARS)})`;
  await db.sql`
    insert into keyframe_private.limit_notes (owner_id, type, once_for, noted_at) values (${world.owner}, 'budget.exhausted', 'day', ${ago(YEARS)})`;
  await db.sql`insert into keyframe_private.kicks (function_name, made_at, request_id) values ('deliver', ${ago(YEARS)}, 1)`;
  await db.sql`
    insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values (${world.owner}, 'create', 0, ${ago(YEARS)})`;
  return { ...world, ids, image, run, endpoint };
}

type Hold = (sql: TransactionSql, owner: Owner) => Promise<unknown>;
const rowsOf =
  (table: string): Hold =>
  (sql, { owner }) =>
    sql`select from ${sql(table)} where owner_id = ${owner} for update`;
const lockSlots: Hold = (sql, { owner }) => sql`select keyframe_private.acquire_lock('slots', ${owner})`;
const HELD: [what: string, hold: Hold][] = [
  ["predictions", rowsOf("keyframe.predictions")],
  ["a project", rowsOf("keyframe.projects")],
  ["a project that is being deleted", (sql, { project }) => sql`delete from keyframe.projects where id = ${project}`],
  ["an account that is being deleted", (sql, { owner }) => sql`delete from auth.users where id = ${owner}`],
  ["every model", (sql) => sql`select from keyframe.models for update`],
  ["the settings", (sql) => sql`update keyframe_private.settings set max_failures = max_failures`],
  ["submits", rowsOf("keyframe_private.provider_submits")],
  [
    "submits that are being changed",
    (sql, { owner }) => sql`update keyframe_private.provider_submits set attempt = attempt where owner_id = ${owner}`,
  ],
  [
    "files to remove",
    (sql, { ids }) => sql`
      insert into keyframe_private.file_removals (bucket, name)
      select 'keyframe-outputs', keyframe_private.output_names(p) from keyframe.predictions p where p.id in (${ids.lateStoring}, ${ids.deadStoring})`,
  ],
  [
    "the slots, by a start",
    (sql, { project }) => sql`insert into keyframe.predictions (project_id, step) values (${project}, 'first-frame')`,
  ],
  [
    "a reference image, by a project that takes it",
    (sql, { project, image }) =>
      sql`update keyframe.projects set reference_image_path = ${`projects/${image}`} where id = ${project}`,
  ],
  ["a stored file", (sql, { image }) => sql`select from storage.objects where name = ${image} for update`],
  ["an endpoint", rowsOf("keyframe.webhook_endpoints")],
  [
    "the old secret of an endpoint",
    (sql, { endpoint }) => sql`select from keyframe_private.webhook_secrets where endpoint_id = ${endpoint} for update`,
  ],
  [
    "the hours in which an endpoint's deliveries are counted",
    (sql, { endpoint }) => sql`select from keyframe_private.webhook_hours where endpoint_id = ${endpoint} for update`,
  ],
  ["its work", rowsOf("keyframe_private.work")],
  ["an old Idempotency-Key", rowsOf("keyframe_private.idempotency_keys")],
  ["a budget that was exhausted", rowsOf("keyframe_private.limit_notes")],
  ["every kick", (sql) => sql`select from keyframe_private.kicks for update`],
  ["a full bucket of a rate limit", rowsOf("keyframe_private.rate_buckets")],
  [
    "events of the predictions",
    (sql, { owner, ids }) => sql`
      insert into keyframe.webhook_events (type, owner_id, prediction_id, payload)
      select 'generation.failed', ${owner}, unnest(${[ids.late, ids.dead, ids.lateStoring, ids.deadStoring]}::uuid[]), '{}'`,
  ],
  ["all that a sweep by hand has taken", (sql) => sql`select keyframe_private.sweep()`],
];

/** In a transaction of its own, which would wait for longer than anything here takes. */
const bounded = <T>(work: (sql: TransactionSql) => Promise<T>) =>
  db.sql.begin(async (sql) => {
    await sql`set local statement_timeout = '15s'`;
    return { value: await work(sql) };
  }) as Promise<{ value: T }>;

/** What the scheduled jobs do. */
const JOBS = ["sweep", "prune", "queue_unused_references", "prune_rate_buckets"];
async function runJobs(): Promise<void> {
  for (const job of JOBS) await bounded((sql) => sql.unsafe(`select keyframe_private.${job}()`));
}

/** What a worker claims and begins, each in a call of its own; what the database refuses is given back. */
async function workAll(): Promise<Task[]> {
  const begun: Task[] = [];
  for (let claims = 0; claims < 5; claims++) {
    for (const task of (await bounded((sql) => claimOnly(sql, 100, 60, 0, 0, crypto.randomUUID()))).value) {
      const lease = { work_id: task.work_id, lease_token: task.lease_token };
      const done = await bounded((sql) => begin(sql, task)).catch(async ({ code }) => {
        await callWorker(db.sql, "retry_work", { ...lease, code }).catch(() => undefined);
        return { value: null };
      });
      if (done.value) begun.push(done.value);
    }
  }
  return begun;
}

const statusOf = async (id: string) => (await readRow(db.sql, id)).status;

test.each(HELD)(
  "%s held by an open transaction → everybody else's work goes on, and its owner's afterwards",
  async (what, hold) => {
    await clear();
    const slow = await addOwner();
    await db.sql.begin(async (open) => {
      await hold(open, slow);
      const { ids } = await addOwner();
      for (const id of [ids.deleted, ids.searched]) await makeDue(db.sql, id);
      await runJobs();
      const tasks = await workAll();
      const of = (id: string) => tasks.filter((task) => task.id === id).map(({ task }) => task);
      expect(of(ids.submit)).toEqual(["submit"]);
      expect(of(ids.deleted)).toEqual(["search"]);
      expect(of(ids.searched).toSorted()).toEqual(["cancel", "search"]);
      const ended = [ids.late, ids.lateStoring, ids.dead, ids.deadStoring];
      expect(await Promise.all(ended.map(statusOf))).toEqual(Array(4).fill("failed"));

      const { provider_prediction_id: run } = await readRow(db.sql, ids.running);
      const says = { id: ids.running, run: String(run), status: "succeeded" };
      expect((await bounded((sql) => providerSays(sql, says))).value).toBe("recorded");
      const { lease_token: lease } = await readRow(db.sql, ids.storing);
      expect((await bounded((sql) => complete(sql, ids.storing, String(lease)))).value).toBe(true);
    });
    const { late, lateStoring, dead, deadStoring } = slow.ids;
    await db.sql`delete from keyframe.webhook_events where payload::text = '{}'`;
    for (const id of [late, lateStoring, dead, deadStoring]) await makeDue(db.sql, id);
    await runJobs();
    await workAll();
    const left =
      await db.sql`select status from keyframe.predictions where id in (${late}, ${lateStoring}, ${dead}, ${deadStoring})`;
    expect(left.map(({ status }) => status)).toEqual(what.includes("deleted") ? [] : Array(4).fill("failed"));
  },
);

describe("a worker records a result while somebody holds what it needs", () => {
  const lockPrediction = rowsOf("keyframe.predictions");
  const lockSubmits: Hold = (sql) => sql`select from keyframe_private.provider_submits for update`;
  const leaseOf = async (id: string) => String((await readRow(db.sql, id)).lease_token);
  const lockWork: Hold = (sql) => sql`select from keyframe_private.work for update`;
  /** The lease of the work of a kind. */
  const held = async (id: string, kind: string) => {
    const row = (await workOf(db.sql, id)).find((each) => each.kind === kind);
    return { work_id: row?.id ?? 0, lease_token: row?.lease_token ?? crypto.randomUUID() };
  };
  const ofLease = (name: string, kind: string, hold: Hold, args: object = {}) =>
    [hold, async (sql: TransactionSql, { ids }: Owner) =>
      callWorker(sql, name, { ...(await held(kind === "submit" ? ids.submit : ids.running, kind)), ...args })] as const; // biome-ignore format: one line
  const RECORDS: Record<
    string,
    readonly [hold: Hold, record: (sql: TransactionSql, owner: Owner) => Promise<unknown>]
  > = {
    complete_prediction: [lockSlots, async (sql, { ids }) => complete(sql, ids.storing, await leaseOf(ids.storing))],
    fail_prediction: [lockPrediction, async (sql, { ids }) => fail(sql, ids.storing, await leaseOf(ids.storing))],
    retry_prediction_later: [
      lockPrediction,
      async (sql, { ids }) => retryLater(sql, ids.storing, await leaseOf(ids.storing)),
    ],
    begin_submit: ofLease("begin_submit", "submit", lockPrediction),
    expire_prediction: ofLease("expire_prediction", "poll", lockPrediction),
    admit_predictions: ofLease("admit_predictions", "poll", lockSlots),
    begin_removal: ofLease("begin_removal", "poll", lockWork),
    retry_work: ofLease("retry_work", "poll", lockWork, { code: "P0001" }),
    record_run_not_canceled: ofLease("record_run_not_canceled", "poll", lockSubmits, { is_unknown: true }),
    record_files_removed: ofLease("record_files_removed", "poll", lockWork),
    record_model_refused: [
      lockPrediction,
      async (sql, { ids }) =>
        callWorker(sql, "record_model_refused", { ...(await held(ids.submit, "submit")), prediction_id: ids.submit, message: "It is gone.", attempt_without_run: 1 }), // biome-ignore format: one line
    ],
    record_provider_state: [lockPrediction, (sql, { ids }) => providerSays(sql, { id: ids.running, run: "another" })],
    record_search_ended: [lockSubmits, (sql, { ids }) => endSearch(sql, ids.searched)],
  };

  test.each(Object.entries(RECORDS))(
    "%s → 55P03 within a second: it does not keep its connection",
    async (_name, [hold, record]) => {
      await clear();
      const owner = await addOwner();
      await claimOnly(db.sql, 100);
      await db.sql.begin(async (open) => {
        await hold(open, owner);
        const { sqlstate } = await refusalOf(bounded((sql) => record(sql, owner)));
        expect(sqlstate).toBe("55P03");
      });
    },
  );

  test("a callback with more progress → unchanged at once: the next one says it again", async () => {
    await clear();
    const owner = await addOwner();
    const { provider_prediction_id: run } = await readRow(db.sql, owner.ids.running);
    const says = { id: owner.ids.running, run: String(run), progress: 0.7 };
    await db.sql.begin(async (open) => {
      await lockPrediction(open, owner);
      expect((await bounded((sql) => providerSays(sql, says))).value).toBe("unchanged");
    });
    expect(await providerSays(db.sql, says)).toBe("recorded");
  });

  test("every function of the workers but claims, health's figures and what api asks → is in the table above", async () => {
    const functions = await db.sql<{ name: string }[]>`
      select proname as name from pg_proc where pronamespace = 'keyframe_worker'::regnamespace
        and proname not in ('claim_tasks', 'exchange_deliveries', 'act_as', 'add_credit', 'describe_database', 'read_shared_film',
          'service_figures', 'verify_key')
      order by 1`;
    expect(Object.keys(RECORDS).toSorted()).toEqual(functions.map(({ name }) => name));
  });
});

describe("an administrator's transaction stays open → everybody's starts go on", () => {
  const DEFAULT = "google/nano-banana-2";
  test.each([
    ["renames the model", `update keyframe.models set model = 'test/renamed' where model = '${DEFAULT}'`],
    ["holds every model", "select from keyframe.models for update"],
    ["holds every default", "select from keyframe.step_defaults for update"],
    ["holds every rate limit", "select from keyframe_private.rate_limits for update"],
    ["takes a rate limit away", "delete from keyframe_private.rate_limits where route_class = 'generate'"],
    ["holds the settings", "select from keyframe_private.settings for update"],
    ["holds every price", "select from keyframe_private.model_prices for update"],
  ])("%s", async (_what, hold) => {
    await clear();
    const world = await addWorld(db);
    await rolledBack(db.sql, async (open) => {
      await open.unsafe(hold);
      const started = await db.asUser(world.owner, async (sql) => {
        await sql`set local statement_timeout = '4s'`;
        const [row] = await sql`select keyframe.start_prediction(${world.project}, 'first-frame') as answer`;
        return row?.answer.prediction;
      });
      expect(started.model).toBe(DEFAULT);
    });
  });

  test("a start commits before the name of its model does → it has the new name, and runs", async () => {
    await clear();
    const world = await addWorld(db);
    let id = "";
    await db.sql.begin(async (open) => {
      await open`update keyframe.models set model = 'test/renamed' where model = ${DEFAULT}`;
      id = (await start(db, world)).prediction.id;
    });
    expect((await claim(db.sql)).map((task) => [task.id, task.task, task.model])).toEqual([
      [id, "submit", "test/renamed"],
    ]);
    await db.sql`update keyframe.models set model = ${DEFAULT} where model = 'test/renamed'`;
  });

  test("a start commits after it → it fails when it is claimed, without a run or a cost, and the others are claimed", async () => {
    await clear();
    const [late, other] = [await addWorld(db), await addWorld(db)];
    const open = await db.sql.reserve();
    await open`begin`;
    const [row] = await open`
      insert into keyframe.predictions (project_id, step) values (${late.project}, 'first-frame') returning id`;
    await db.sql`update keyframe.models set model = 'test/renamed' where model = ${DEFAULT}`;
    await open`commit`;
    open.release();
    const { prediction } = await start(db, other);
    expect((await claim(db.sql)).map((task) => task.id)).toContain(prediction.id);
    expect(await readRow(db.sql, row?.id)).toMatchObject({
      status: "failed",
      error_code: "model_unavailable",
      error_retryable: true,
    });
    const [submit] =
      await db.sql`select outcome, cost_state from keyframe_private.provider_submits where prediction_id = ${row?.id}`;
    expect(submit).toEqual({ outcome: "no_run", cost_state: "released" });
    await db.sql`update keyframe.models set model = ${DEFAULT} where model = 'test/renamed'`;
  });
});
