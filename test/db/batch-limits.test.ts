import { afterAll, beforeEach, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/database/clone-database.ts";
import { claim } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { addEndpoint, exchange, seedDeliveries } from "../support/database/webhooks.ts";

// A limit in a subquery bounds a statement only while the subquery runs once. For a table that is believed to hold one row Postgres
// may join it row by row, and then runs the subquery anew for each: what it has just changed is skipped and the next rows follow.

const databases: ClonedDatabase[] = [];
let db: ClonedDatabase;
let world: World;
beforeEach(async () => {
  db = await cloneDatabase();
  databases.push(db);
  world = await addWorld(db);
});
afterAll(async () => {
  for (const database of databases) await database.drop();
});

/** Fills a table with 16 rows while Postgres believes that there is one. */
async function fillUnnoticed(table: string, addRow: () => Promise<unknown>): Promise<void> {
  await addRow();
  await db.sql.unsafe(`alter table ${table} set (autovacuum_enabled = false)`);
  await db.sql.unsafe(`analyze ${table}`);
  for (let row = 1; row < 16; row++) await addRow();
}

const countOf = async (rows: string) => (await db.sql.unsafe(`select from ${rows}`)).count;

const PREDICTIONS = "keyframe.predictions";
const waiting = { columns: { admitted_at: null, deadline_at: null, lease_token: null } };

test("sixteen predictions wait and two places are free → two are admitted", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 2`;
  await fillUnnoticed(PREDICTIONS, () => seedPrediction(db.sql, world, waiting));
  await db.sql`select keyframe_private.admit_waiting(${world.owner})`;
  expect(await countOf(`${PREDICTIONS} where admitted_at is not null`)).toBe(2);
});

test("sixteen predictions are past their deadline, two are to be failed → two are", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 100`;
  const overdue = { columns: { deadline_at: new Date(0) } };
  await fillUnnoticed(PREDICTIONS, () => seedPrediction(db.sql, world, overdue));
  await db.sql`select keyframe_private.fail_overdue(2)`;
  expect(await countOf(`${PREDICTIONS} where status = 'failed'`)).toBe(2);
});

const HOURS_AGO = new Date(Date.now() - 3_600_000);
const unanswered = { status: "failed", columns: { unanswered_since: HOURS_AGO, next_attempt_at: HOURS_AGO } } as const;

/** Rows that a claim hands out, and as which task. */
const CLAIMED: [what: string, table: string, addRow: () => Promise<unknown>][] = [
  ["submit", PREDICTIONS, () => seedPrediction(db.sql, world, { columns: { lease_token: null } })],
  ["search", PREDICTIONS, () => seedPrediction(db.sql, world, unanswered)],
  [
    "cancel",
    "keyframe_private.provider_runs",
    () => db.sql`
      insert into keyframe_private.provider_runs (provider_prediction_id, prediction_id, attempt, cancel_due_at)
      values (gen_random_uuid()::text, gen_random_uuid(), 1, now())`,
  ],
  [
    "search",
    "keyframe_private.unanswered_submits",
    () => db.sql`
      insert into keyframe_private.unanswered_submits (prediction_id, attempt, search_task, unanswered_since, next_search_at)
      values (gen_random_uuid(), 1, '{}', now(), now())`,
  ],
];
test.each(CLAIMED)("sixteen %s tasks are due in %s, two are claimed → two are leased", async (task, table, addRow) => {
  await fillUnnoticed(table, addRow);
  const claimed = await claim(db.sql, 2);
  expect(claimed.map((each) => each.task)).toEqual([task, task]);
  const again = await claim(db.sql, 100);
  expect(again.length).toBe(14);
});

test("a hundred and sixteen files are to be removed → a task has a hundred of them", async () => {
  const add = (count: number) => db.sql`
    insert into keyframe_private.file_removals (bucket, name) select 'projects', gen_random_uuid()::text from generate_series(1, ${count}::int)`;
  await fillUnnoticed("keyframe_private.file_removals", () => add(1));
  await add(100);
  const [task] = await claim(db.sql, 2);
  expect(task?.files).toHaveLength(100);
  expect(await countOf("keyframe_private.file_removals where lease_token is not null")).toBe(100);
});

/** What is kept for a while, and past that: a batch of two goes. */
const PRUNED: [table: string, addRow: () => Promise<unknown>][] = [
  [
    "keyframe_private.provider_callbacks",
    () => db.sql`insert into keyframe_private.provider_callbacks values (gen_random_uuid()::text, '2026-01-01')`,
  ],
  [
    "keyframe_private.idempotency_keys",
    () => db.sql`
      insert into keyframe_private.idempotency_keys (resource_id, owner_id, key, request_hash, created_at)
      values (gen_random_uuid(), ${world.owner}, gen_random_uuid()::text, repeat('a', 64), '2026-01-01')`,
  ],
  [
    "keyframe_private.provider_runs",
    () => db.sql`
      insert into keyframe_private.provider_runs (provider_prediction_id, prediction_id, attempt, seen_at)
      values (gen_random_uuid()::text, gen_random_uuid(), 1, '2026-01-01')`,
  ],
  [
    "keyframe_private.unanswered_submits",
    () => db.sql`
      insert into keyframe_private.unanswered_submits (prediction_id, attempt, unanswered_since)
      values (gen_random_uuid(), 1, '2026-01-01')`,
  ],
];
test.each(PRUNED)("sixteen rows of %s are past their time → a batch of two deletes two", async (table, addRow) => {
  await fillUnnoticed(table, addRow);
  await db.sql`select keyframe_private.prune(2)`;
  expect(await countOf(table)).toBe(14);
});

test("sixteen ended predictions have been unanswered for a day → a batch of two ends the search for two", async () => {
  const forgotten = { ...unanswered, columns: { ...unanswered.columns, unanswered_since: new Date(0) } };
  await fillUnnoticed(PREDICTIONS, () => seedPrediction(db.sql, world, forgotten));
  await db.sql`select keyframe_private.prune(2)`;
  expect(await countOf(`${PREDICTIONS} where unanswered_since is not null`)).toBe(14);
});

test("sixteen events are past their retention → a batch of two deletes two", async () => {
  await fillUnnoticed(
    "keyframe.webhook_events",
    () => db.sql`
      insert into keyframe.webhook_events (type, project_id, payload, created_at)
      values ('project.created', gen_random_uuid(), '{}', '2026-01-01')`,
  );
  const [row] = await db.sql<{ deleted: number }[]>`select keyframe_private.prune_webhooks(2) as deleted`;
  expect(row?.deleted).toBe(2);
});

test("a deleted endpoint left sixteen deliveries → a batch of two deletes two", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await fillUnnoticed("keyframe.webhook_deliveries", () => seedDeliveries(db.sql, endpoint, 1));
  await db.sql`delete from keyframe.webhook_endpoints where id = ${endpoint}`;
  await db.sql`select keyframe_private.prune_deleted_endpoints(2)`;
  expect(await countOf("keyframe.webhook_deliveries")).toBe(14);
});

test("an endpoint with two requests at once has sixteen deliveries due → four are claimed", async () => {
  const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 2 });
  await fillUnnoticed("keyframe.webhook_deliveries", () => seedDeliveries(db.sql, endpoint, 1));
  expect((await exchange(db.sql)).deliveries).toHaveLength(4);
});

test("sixteen endpoints have something due, two lanes are wanted → two are taken, new ones and used ones", async () => {
  const addDue = async () => seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
  await fillUnnoticed("keyframe_private.lanes", async () => {
    await addDue();
    await exchange(db.sql, { leaseSeconds: 0 });
  });
  for (let i = 0; i < 16; i++) await addDue();
  const leased = "keyframe_private.lanes where leased_until > now()";
  for (const taken of [2, 4, 6]) {
    expect((await exchange(db.sql, { maxLanes: 2 })).lanes).toHaveLength(2);
    expect(await countOf(leased)).toBe(taken);
  }
});

test("no function compares with a limited subquery by in: = any (array(…)) runs it once, whatever the plan", async () => {
  const functions = await db.sql<{ name: string; source: string }[]>`
    select oid::regprocedure::text as name, prosrc as source from pg_proc
    where pronamespace::regnamespace::text like 'keyframe%'`;
  expect(functions.length).toBeGreaterThan(80);
  const limited = functions.filter(({ source }) => subqueriesAfterIn(source).some((text) => /\blimit\b/i.test(text)));
  expect(limited.map(({ name }) => name)).toEqual([]);
});

/** The text of each `in (select …)`, to its closing parenthesis. */
function subqueriesAfterIn(source: string): string[] {
  return [...source.matchAll(/\bin\s*\(\s*select\b/gi)].map(({ index }) => {
    const from = source.indexOf("(", index);
    let depth = 0;
    for (let at = from; at < source.length; at++) {
      if (source[at] === "(") depth++;
      if (source[at] === ")" && --depth === 0) return source.slice(from, at);
    }
    return source.slice(from);
  });
}
