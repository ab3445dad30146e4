import { beforeAll, describe, expect, test } from "vitest";
import { asAdministrator, fillIn, readRecipes } from "../../support/database/admin-recipes.ts";
import { claim, complete, providerSays, readRow, runsToCancel } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  addWorld,
  type Row,
  type Step,
  seedPrediction,
  useWorld,
  type World,
} from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addReference, start } from "../../support/database/user.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  exchange,
  readDelivery,
  readEndpoint,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

// Every statement of docs/administer.md, run as the SQL editor of Studio runs it: as postgres, all of a block in one go.

const recipes = await readRecipes();

const db = useDatabase("shipped limits");
const world = useWorld(db);
beforeAll(async () => {
  await db.sql`
    select vault.create_secret('whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0', 'keyframe_kick_secret'),
      vault.create_secret('http://127.0.0.1:9/functions/v1', 'keyframe_functions_url')`;
});

/** Kicks that pg_net is to send to a function; the queue is emptied before each look. */
const kicksTo = async (name: string) =>
  (await db.sql`delete from net.http_request_queue returning url`).filter(({ url }) =>
    url.endsWith(`/keyframe-${name}`),
  ).length;
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);
const noLease = { lease_token: null };
/** A poll that the database has refused three times, and a row that a job skips. */
async function addFailing() {
  const columns = { ...noLease, failures: 3, last_error: "P0001", due_at: inSeconds(60) };
  const { id } = await seedPrediction(db.sql, world, { status: "processing", columns });
  await emptyTables(db.sql, "keyframe_private.skipped_rows");
  await db.sql`select keyframe_private.skip_row('delete keyframe.webhook_events x', 'P0001', 'An app keeps it.')`;
  return id;
}

/** The tables of ours that have a text anywhere. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await db.sql<{ name: string }[]>`
    select format('%s.%s', schemaname, tablename) as name from pg_tables where schemaname like 'keyframe%' order by 1`;
  const found = await Promise.all(
    tables.map(({ name }) => db.sql.unsafe(`select from ${name} t where strpos(t::text, $1) > 0 limit 1`, [text])),
  );
  return tables.flatMap(({ name }, at) => (found[at]?.count ? [name] : []));
}

const costOf = (id: string) => scalar(db.sql`select keyframe_private.cost_json(${id})`);
/** What a server does for a user. */
const actFor = ({ owner }: World) => db.sql`select keyframe_private.claims_for_server(${owner})`;
const emailOf = ({ owner }: World) => `${owner}@keyframe.local`;

const makeKey = async ({ owner }: World) =>
  (await call<{ created: { id: string } }>(db, owner, "create_key", { name: "Claude Code", may: "generate" })).created
    .id;

/** A first frame that has succeeded and was charged. */
async function addPaid(owner: World) {
  const { id, run: providerRun } = await seedPrediction(db.sql, owner, { status: "processing" });
  await db.sql`
    update keyframe_private.provider_submits set price_ids = array(
      select p.id from keyframe_private.model_prices p where p.model = 'google/nano-banana'), most_micros = 39000
    where prediction_id = ${id}`;
  const metrics = { image_output_count: 1 };
  await providerSays(db.sql, { id, run: String(providerRun), status: "succeeded", metrics });
  return { id };
}

/** What each recipe does. In the page's order; one that is missing here, or there, fails. */
const EFFECTS: Record<string, (run: (values?: Record<string, string>) => Promise<Row[]>) => Promise<void>> = {
  "Start a prediction by hand": async (run) => {
    const [row] = await run({ project_id: world.project });
    expect(row).toMatchObject({ owner_id: world.owner, status: "queued", model: expect.stringContaining("/") });
    await db.sql`delete from keyframe.predictions where id = ${String(row?.id)}`;
  },

  "See what waits, and why": async (run) => {
    const { id } = await seedPrediction(db.sql, world, { columns: { ...noLease, due_at: inSeconds(-1) } });
    expect(await run()).toMatchObject([{ prediction_id: id, why: "due" }]);
  },

  "Find what is stuck": async (run) => {
    const seed = (seconds: number, more: object = {}) =>
      seedPrediction(db.sql, world, { columns: { ...noLease, due_at: inSeconds(seconds), ...more } });
    const [stuck, failing] = [await seed(-180), await seed(60, { failures: 3 })];
    await seed(20);
    const poll = (step: Step, minutesLeft: number) => {
      const columns = { ...noLease, due_at: inSeconds(20), deadline_at: inSeconds(minutesLeft * 60) };
      return seedPrediction(db.sql, world, { step, status: "processing", columns });
    };
    const [frame, video] = [await poll("first-frame", 7), await poll("video", 29)];
    await poll("first-frame", 8);
    await poll("video", 31);
    const rows = await run();
    const found = [stuck, failing, frame, video].map(({ id }) => id);
    expect(new Set(rows.map(({ prediction_id }) => prediction_id))).toEqual(new Set(found));
    const hangs = { why: "at_the_provider", provider_prediction_id: video.run };
    expect(rows).toContainEqual(expect.objectContaining({ prediction_id: video.id, ...hangs }));
  },

  "See what fails again and again": async (run) => {
    const failing = await addFailing();
    const rows = await run();
    for (const row of [
      { kind: "poll", subject: failing, error: "P0001", failures: 3 },
      { kind: "job", error: "P0001 An app keeps it.", failures: 1 },
    ])
      expect(rows).toContainEqual(expect.objectContaining(row));
  },

  "Retry everything that keeps failing": async (run) => {
    const failing = await addFailing();
    await run();
    expect(await db.sql`select from keyframe_private.skipped_rows where next_try_at > now()`).toHaveLength(0);
    expect((await claim(db.sql)).map(({ id }) => id)).toContain(failing);
  },

  "Retry one now": async (run) => {
    await db.sql`delete from keyframe.predictions`;
    await emptyTables(db.sql, "keyframe_private.work");
    const later = { due_at: inSeconds(60), last_error: "provider_unavailable", failures: 2 };
    const { id } = await seedPrediction(db.sql, world, { columns: { ...noLease, ...later } });
    const busy = await seedPrediction(db.sql, world, { columns: later });
    await kicksTo("generate");
    await run({ prediction_id: id });
    expect(await kicksTo("generate")).toBe(1);
    await run({ prediction_id: busy.id });
    const submits = (await claim(db.sql)).filter(({ task }) => task === "submit");
    expect(submits.map((task) => task.id)).toEqual([id]); // the other has its worker
  },

  "Fail one": async (run) => {
    const { id } = await seedPrediction(db.sql, world, { status: "processing" });
    for (const mark_failed of [true, false]) expect(await run({ prediction_id: id })).toEqual([{ mark_failed }]);
    const ended = { status: "failed", error_code: "failed_by_administrator", error_retryable: true };
    expect(await readRow(db.sql, id)).toMatchObject(ended);
    expect(await costOf(id)).toMatchObject({ state: "released", amountMicros: 0 });
  },

  "Run one again that failed": async (run) => {
    const input = { prompt: "One red boat", referenceImagePaths: [await addReference(db, world.owner)] };
    const failed = await seedPrediction(db.sql, world, { status: "failed", input });
    const [again] = await run({ prediction_id: failed.id });
    expect(again).toMatchObject({ owner_id: world.owner, status: "queued" });
    expect(await readRow(db.sql, String(again?.id))).toMatchObject({ input, attempt: 0 });
    const succeeded = await seedPrediction(db.sql, world, { status: "succeeded" });
    expect(await run({ prediction_id: succeeded.id })).toEqual([]);
  },

  "Let each owner run more at once": async (run) => {
    await db.sql`delete from keyframe.predictions`;
    for (let i = 0; i < 9; i++) await start(db, world);
    const running = () => db.sql`select from keyframe.predictions where admitted_at is not null`;
    expect((await running()).count).toBe(4);
    await run();
    await db.sql`select keyframe_private.sweep()`;
    await claim(db.sql);
    expect((await running()).count).toBe(8);
  },

  "Change how many requests an owner may make": async (run) => {
    await run();
    const owner = await addWorld(db);
    expect((await start(db, owner)).rate).toMatchObject({ limit: 120, remaining: 119, window_seconds: 60 });
  },

  "Give an owner a full bucket": async (run) => {
    const owner = await addWorld(db);
    await start(db, owner);
    await db.sql`update keyframe_private.rate_buckets set tokens = 0 where owner_id = ${owner.owner}`;
    await run({ owner_id: owner.owner });
    expect((await start(db, owner)).rate).toMatchObject({ remaining: 119 });
  },

  "See the health of the endpoints": async (run) => {
    const well = await addEndpoint(db.sql, world.owner);
    const failing = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, failing, 1);
    await sendNext(db.sql, { error: "timeout" });
    expect(await run()).toMatchObject([
      { endpoint_id: failing, retrying: "1", last_error: "timeout" },
      { endpoint_id: well, retrying: "0", last_error: null },
    ]);
  },

  "Disable an endpoint": async (run) => {
    const endpoint = await addEndpoint(db.sql, world.owner);
    await run({ endpoint_id: endpoint });
    expect(await readEndpoint(db.sql, endpoint)).toMatchObject({ enabled: false, disabled_reason: "by_owner" });
  },

  "Add an endpoint for a CRM": async (run) => {
    const [row] = await run();
    const secret = expect.stringMatching(/^whsec_[\w+/]{43}=$/);
    expect(row).toMatchObject({ url: "https://crm.example.com/keyframe", secret });
    const made = await readEndpoint(db.sql, String(row?.id));
    expect(made).toMatchObject({ owner_id: null, event_types: ["project.created"] });
  },

  "Replay a day to an endpoint": async (run) => {
    await clearWebhooks(db.sql);
    const endpoint = await addEndpoint(db.sql, world.owner, { event_types: ["project.created"] });
    const ended = { status: "delivered", completed_at: new Date(), attempts: 3 };
    const [delivered = ""] = await seedDeliveries(db.sql, endpoint, 1, ended);
    await db.sql`update keyframe.webhook_events set created_at = '2026-11-20T12:00:00Z'`;
    const add = async (owner: string, type: string, at: string) => {
      const [row] = await db.sql<{ id: string }[]>`
        insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload, created_at)
        values (${type}, ${owner}, gen_random_uuid(), gen_random_uuid(), '{}', ${at}::timestamptz) returning id`;
      return row?.id ?? "";
    };
    const missed = await add(world.owner, "project.created", "2026-11-20T00:00:00Z");
    await add(world.owner, "project.created", "2026-11-21T00:00:00Z");
    await add(world.owner, "project.created", "2026-11-19T23:59:59Z");
    await add(world.owner, "generation.failed", "2026-11-20T12:00:00Z");
    await add((await addWorld(db)).owner, "project.created", "2026-11-20T12:00:00Z");
    await kicksTo("deliver");
    await emptyTables(db.sql, "keyframe_private.kicks"); // the last one stops others for 100 ms
    await run({ endpoint_id: endpoint, day: "2026-11-20" });
    expect(await kicksTo("deliver")).toBe(1);
    const again = await readDelivery(db.sql, delivered);
    expect(again).toMatchObject({ status: "pending", attempts: 3, retries_from: 3, completed_at: null });
    const sent = (await exchange(db.sql)).deliveries.map(({ event_id }) => event_id);
    expect(sent.toSorted()).toEqual([missed, again.event_id].toSorted());
  },

  "Rotate the secret of an endpoint": async (run) => {
    const endpoint = await addEndpoint(db.sql, null);
    const secrets = () => scalar(db.sql`select keyframe_private.webhook_secrets_of(${endpoint})`);
    const [before] = await secrets();
    const [row] = await run({ endpoint_id: endpoint });
    expect(row?.secret).not.toBe(before);
    expect(await secrets()).toEqual([row?.secret, before]);
  },

  "Rotate the kick secret": async (run) => {
    const [row] = await run();
    expect(row?.decrypted_secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(await scalar(db.sql`select keyframe_private.kick('generate')`)).toBe(true);
  },

  "Usage of each owner this month": async (run) => {
    const owner = await addWorld(db);
    await seedPrediction(db.sql, owner, { status: "succeeded" });
    await seedPrediction(db.sql, owner, { status: "failed" });
    await seedPrediction(db.sql, owner, { status: "succeeded", columns: { created_at: new Date(0) } });
    const rows = await run();
    expect(rows.filter(({ owner_id }) => owner_id === owner.owner)).toMatchObject([
      {
        ...{ email: emailOf(owner), step: "first-frame" },
        ...{ started: "2", succeeded: "1", failed: "1", provider_runs: "2", stored_bytes: "1024" },
      },
    ]);
  },

  "What was sent to the provider for a prediction": async (run) => {
    const { id, run: providerRun } = await seedPrediction(db.sql, world, { status: "succeeded" });
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    expect(await run({ prediction_id: id })).toMatchObject([
      { attempt: 1, model: "google/nano-banana", outcome: "succeeded", provider_prediction_id: providerRun },
    ]);
  },

  "Find the account behind a file": async (run) => {
    const [kept, gone] = ["c".repeat(64), "d".repeat(64)] as const;
    const made = async (sha256?: string) => {
      const owner = await addWorld(db);
      const { id, lease } = await seedPrediction(db.sql, owner, { status: "storing" });
      expect(await complete(db.sql, id, lease, sha256)).toBe(true);
      return { ...owner, id };
    };
    const [one, two] = [await made(kept), await made(gone)];
    await made();
    await db.sql`delete from keyframe.predictions where id = ${two.id}`;
    for (const [sha256, { id, owner }, file] of [
      [kept, one, "stored"],
      [gone, two, "deleted"],
    ] as const) {
      expect(await run({ sha256 })).toMatchObject([
        { prediction_id: id, owner_id: owner, email: `${owner}@keyframe.local`, model: "google/nano-banana", file },
      ]);
    }
  },

  "Keep events for longer, or shorter": async (run) => {
    await run();
    expect(await scalar(db.sql`select webhook_retention::text from keyframe_private.settings`)).toBe("90 days");
  },

  "See what a user paid for, and when": async (run) => {
    const owner = await addWorld(db);
    const { id } = await addPaid(owner);
    await addPaid(await addWorld(db));
    const before = await addPaid(owner);
    await db.sql`
      update keyframe_private.provider_submits set created_at = now() - interval '32 days' where prediction_id = ${before.id}`;
    const settled = { outcome: "succeeded", cost_state: "settled", paid_usd: "0.039000" };
    const paid = { prediction_id: id, step: "first-frame", ...settled };
    const email = emailOf(owner).toUpperCase();
    expect(await run({ email })).toMatchObject([{ ...paid, shot: "Harbour" }]);
    await db.sql`delete from keyframe.projects where id = ${owner.project}`;
    expect(await run({ email })).toMatchObject([{ ...paid, shot: null }]);
  },

  "Refund one run": async (run) => {
    const owner = await addWorld(db);
    const [kept, given] = [await addPaid(owner), await addPaid(owner)];
    await db.sql`select keyframe_private.add_credit(${owner.owner}, 100000, 'grant', 'a')`;
    const balance = () => scalar(db.sql`select available_micros::int from keyframe_private.balance_of(${owner.owner})`);
    const before = await balance();
    for (let time = 0; time < 2; time++) {
      const rows = await run({ prediction_id: given.id });
      expect(rows).toMatchObject([{ outcome: "succeeded", cost_state: "settled", provider_bills_usd: "0.039000" }]);
    }
    expect(await balance()).toBe(before + 39_000);
    expect(await costOf(given.id)).toMatchObject({ state: "released", amountMicros: 0, atMostMicros: 0 });
    expect(await costOf(kept.id)).toMatchObject({ state: "settled", amountMicros: 39_000 });
    const [month] = await db.sql`
      select sum(settled_usd)::float as provider, sum(settled_charge_usd)::float as owner from keyframe_private.admin_costs
      where owner_id = ${owner.owner}`;
    expect(month).toEqual({ provider: 0.078, owner: 0.039 });
  },

  "Block a user": async (run) => {
    const [blocked, other] = [await addWorld(db), await addWorld(db)];
    const waiting = await start(db, blocked);
    const running = await seedPrediction(db.sql, blocked, { status: "processing" });
    const ended = await seedPrediction(db.sql, blocked, { status: "succeeded" });
    const foreign = await start(db, other);
    const rows = await run({ email: emailOf(blocked) });
    const canceled = [waiting.prediction.id, running.id];
    expect(new Set(rows.map((row) => row.prediction_id))).toEqual(new Set(canceled));
    for (const id of canceled) expect(await readRow(db.sql, id)).toMatchObject({ status: "canceled" });
    expect(await readRow(db.sql, ended.id)).toMatchObject({ status: "succeeded" });
    expect(await readRow(db.sql, foreign.prediction.id)).toMatchObject({ status: "queued" });
    expect(await runsToCancel(db.sql)).toContain(running.run);
    expect(await codeOf(actFor(blocked))).toBe("user_not_found");
    await actFor(other);
    await db.sql`update auth.users set banned_until = null where id = ${blocked.owner}`;
    await actFor(blocked);
  },

  "Let an OAuth client act for users": async (run) => {
    const client_id = crypto.randomUUID();
    const claims = { role: "authenticated", sub: world.owner, client_id };
    const rows = async () => (await db.as(claims, (sql) => sql`select from keyframe.projects`)).count;
    expect(await rows()).toBe(0);
    for (let time = 0; time < 2; time++) await run({ client_id });
    expect(await rows()).toBe(1);
  },

  "List the keys of a user": async (run) => {
    const [owner, other] = [await addWorld(db), await addWorld(db)];
    const id = await makeKey(owner);
    await makeKey(other);
    const rows = await run({ email: emailOf(owner) });
    expect(rows).toMatchObject([{ client_id: id, name: "Claude Code", may: "generate", expires_at: null }]);
  },

  "Revoke a key": async (run) => {
    const [id, other] = [await makeKey(world), await makeKey(world)];
    const claims = (key: string) => db.sql`select keyframe_private.claims_for_key(${world.owner}, ${key})`;
    const ended = { owner_id: world.owner, name: "Claude Code", last_used_at: null };
    expect(await run({ key_id: id })).toEqual([ended]);
    expect(await run({ key_id: id })).toEqual([]);
    expect(await codeOf(claims(id))).toBe("key_ended");
    await claims(other);
  },

  "Delete a user with everything": async (run) => {
    const [gone, stays] = [await addWorld(db), await addWorld(db)];
    const unused = await addReference(db, gone.owner);
    await addReference(db, stays.owner);
    const { run: running } = await seedPrediction(db.sql, gone, { status: "processing" });
    await Promise.all([start(db, gone), start(db, stays)]);
    const { owner } = gone;
    await db.sql`insert into keyframe_private.owner_budgets (owner_id, note) values (${owner}, 'Jane Roe')`;
    await db.sql`select keyframe_private.add_credit(${owner}, 5, 'grant', 'payment-1', 'Jane Roe')`;
    await db.sql`insert into keyframe_private.limit_notes (owner_id, type, once_for) values (${owner}, 'balance.low', '1')`;
    const left = async ({ owner }: World) => {
      const [row] = await db.sql`
        select (select count(*)::int from auth.users where id = ${owner}) as users,
          (select count(*)::int from keyframe.predictions where owner_id = ${owner}) as predictions,
          (select count(*)::int from keyframe.webhook_events where owner_id = ${owner}) as events,
          (select count(*)::int from keyframe_private.rate_buckets where owner_id = ${owner}) as buckets`;
      return row;
    };
    await db.sql`delete from keyframe_private.file_removals`;
    await kicksTo("generate");
    await run({ owner_id: gone.owner });
    expect(await left(gone)).toEqual({ users: 0, predictions: 0, events: 0, buckets: 0 });
    expect(await left(stays)).toEqual({ users: 1, predictions: 1, events: 1, buckets: 1 });
    expect(await tablesWith("Jane Roe")).toEqual([]);
    const ledger = ["cost_changes", "credits", "provider_submits"];
    // Until generate has removed the files and canceled the runs.
    expect(await tablesWith(owner)).toEqual([...ledger, "work"].map((name) => `keyframe_private.${name}`));
    const files = await db.sql`select bucket || '/' || name as file from keyframe_private.file_removals`;
    expect(files.map(({ file }) => file)).toEqual([unused]);
    expect(await runsToCancel(db.sql)).toContain(running);
    expect(await kicksTo("generate")).toBeGreaterThan(0);
  },
};

test("docs/administer.md → each of its recipes is tried in this file, in the page's order, and no other", () => {
  expect(recipes.map(({ title }) => title)).toEqual(Object.keys(EFFECTS));
});

describe("docs/administer.md", () => {
  test.each(recipes)("recipe “$title” of docs/administer.md → does what the page says", async ({ title, sql }) => {
    await EFFECTS[title]?.((values = {}) => asAdministrator(db.sql, fillIn(sql, values)));
  });
});
