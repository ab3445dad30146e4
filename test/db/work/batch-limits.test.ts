import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { claim, claimOnly } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import {
  useWorld,
  type Row,
  type SeedOptions,
  seedPrediction,
  seedSubmit,
} from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { addEndpoint, seedDeliveries } from "../../support/database/webhooks.ts";

// A limit in a subquery bounds a statement only while the subquery runs once. For a table that is believed to hold one row Postgres
// may join it row by row, and then runs the subquery again for each: what it has just changed is skipped and the next rows follow.

const db = useDatabase();
const world = useWorld(db);

type Work = (sql: TransactionSql) => Promise<unknown>;

/** Adds 16 rows to a table while Postgres believes that there is one, for one test. */
const withSixteen = (table: string, addRow: Work, then: (sql: TransactionSql) => Promise<void>) =>
  rolledBack(db.sql, async (sql) => {
    await addRow(sql);
    await sql.unsafe(`analyze ${table}`);
    for (let row = 1; row < 16; row++) await addRow(sql);
    await then(sql);
  });

const countOf = async (sql: TransactionSql, rows: string) => (await sql.unsafe(`select from ${rows}`)).count;
const run = (statement: string) => (sql: TransactionSql) => sql.unsafe(statement);
const prediction = (options: SeedOptions) => (sql: TransactionSql) => seedPrediction(sql, world, options);

const P = "keyframe.predictions";
const EVENTS = "keyframe.webhook_events";
const HOURS = "keyframe_private.webhook_hours";
const SECRETS = "keyframe_private.webhook_secrets";
const COSTS = "keyframe_private.daily_costs";
const SUBMITS = "keyframe_private.provider_submits";
const WORK = "keyframe_private.work";
const unanswered = (since: Date): SeedOptions => ({
  status: "failed",
  columns: { provider_prediction_id: null },
  unanswered: since,
});
const OLD = "'2025-01-01'";
const LONG_AGO = new Date(0);
const ANSWERED = { submitted_at: LONG_AGO, answered_at: LONG_AGO };
const submit = (columns: Row) => (sql: TransactionSql) => seedSubmit(sql, columns);
const key = run(`
  insert into keyframe_private.idempotency_keys (resource_id, key, request_hash, created_at)
  values (gen_random_uuid(), gen_random_uuid()::text, repeat('a', 64), ${OLD})`);
const event = run(`
  insert into keyframe.webhook_events (type, project_id, payload, created_at)
  values ('project.created', gen_random_uuid(), '{}', ${OLD})`);
const costs = (day: string, isMerged: boolean) =>
  run(
    `insert into ${COSTS} (owner_id, day, step, model, is_merged) values (gen_random_uuid(), ${day}, 'video', 'a', ${isMerged})`,
  );
const [oldCosts, newCosts] = [costs(OLD, true), costs("current_date", false)];
const budget = run(`
  insert into keyframe_private.limit_notes (owner_id, type, once_for, noted_at) values (gen_random_uuid(), 'budget.exhausted', 'day', ${OLD})`);
const kick = run(
  `insert into keyframe_private.kicks (function_name, made_at, request_id) values ('deliver', ${OLD}, 1)`,
);
const bucket = run(`
  insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values (gen_random_uuid(), 'create', 0, ${OLD})`);
const hour = run(`insert into keyframe_private.webhook_hours (endpoint_id, hour) values (gen_random_uuid(), ${OLD})`);
const secret: Work = async (sql) => {
  const endpoint = await addEndpoint(sql, null);
  await sql`select keyframe_private.replace_webhook_secret(${endpoint}, interval '1 hour')`;
  await sql`update keyframe_private.webhook_secrets set expires_at = now() where expires_at is not null`;
};
const waiting = prediction({ columns: { admitted_at: null, deadline_at: null, lease_token: null } });
const overdue = prediction({ columns: { deadline_at: new Date(0) } });
const forgotten = prediction(unanswered(new Date(0)));

/** Which rows there are once a batch of two is done. */
const BATCHES: [batch: string, table: string, addRow: Work, rows: string, count: number][] = [
  ["admit_waiting", P, waiting, `${P} where admitted_at is not null`, 2],
  ["add_overdue", P, overdue, `${WORK} where kind = 'expire'`, 2],
  ["prune", SUBMITS, forgotten, `${SUBMITS} where outcome = 'lost'`, 2],
  ["prune", SUBMITS, submit({ submitted_at: LONG_AGO, text_hash: 1 }), `${SUBMITS} where text_hash is null`, 2],
  ["prune", SUBMITS, submit({ ...ANSWERED, created_at: LONG_AGO, ended_at: LONG_AGO, outcome: "failed" }), SUBMITS, 14],
  ["prune", "keyframe_private.idempotency_keys", key, "keyframe_private.idempotency_keys", 14],
  ["prune", COSTS, oldCosts, `${COSTS} where day = ${OLD}`, 14],
  ["merge_costs", COSTS, newCosts, `${COSTS} where not is_merged`, 14],
  ["prune", "keyframe_private.limit_notes", budget, "keyframe_private.limit_notes", 14],
  ["prune", "keyframe_private.kicks", kick, `keyframe_private.kicks where made_at = ${OLD}`, 14],
  ["prune_rate_buckets", "keyframe_private.rate_buckets", bucket, "keyframe_private.rate_buckets", 14],
  ["prune_webhooks", HOURS, hour, HOURS, 6],
  ["prune_webhooks", SECRETS, secret, `${SECRETS} where expires_at is not null`, 14],
  ["prune_webhooks", EVENTS, event, `${EVENTS} where created_at = ${OLD}`, 14],
];
test.each(BATCHES)("%s of two, sixteen are due in %s → two are done", async (batch, table, addRow, rows, count) => {
  await withSixteen(table, addRow, async (sql) => {
    await sql`update keyframe_private.settings set max_active_per_owner = ${batch === "admit_waiting" ? 2 : 100}`;
    const most = batch === "admit_waiting" ? `'${world.owner}'` : 2;
    await sql.unsafe(`select keyframe_private.${batch}(${most})`);
    expect(await countOf(sql, rows)).toBe(count);
  });
});

test("sixteen tasks are due, two are claimed → two are leased, then the others", async () => {
  await withSixteen(WORK, prediction({ columns: { lease_token: null } }), async (sql) => {
    expect(await claimOnly(sql, 2)).toHaveLength(2);
    expect(await countOf(sql, `${WORK} where state = 'leased'`)).toBe(2);
    expect(await claimOnly(sql, 100)).toHaveLength(14);
  });
});

test("a hundred and sixteen files of an owner are to be removed → a task has a hundred of them", async () => {
  const add = (count: number) =>
    run(`insert into keyframe_private.file_removals (bucket, name)
      select 'projects', gen_random_uuid()::text from generate_series(1, ${count})`);
  await withSixteen("keyframe_private.file_removals", add(1), async (sql) => {
    await add(100)(sql);
    const [task] = await claim(sql, 1);
    expect(task?.files).toHaveLength(100);
    expect(await countOf(sql, "keyframe_private.file_removals where removed_by is not null")).toBe(100);
  });
});

test("sixteen deliveries of a deleted endpoint, two are to be deleted → two are", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await withSixteen(
    "keyframe.webhook_deliveries",
    (sql) => seedDeliveries(sql, endpoint, 1),
    async (sql) => {
      await sql`delete from keyframe.webhook_endpoints where id = ${endpoint}`;
      await sql`select keyframe_private.prune_deleted_endpoints(2)`;
      expect(await countOf(sql, "keyframe.webhook_deliveries")).toBe(14);
    },
  );
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
