import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { claimOnly } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { type SeedOptions, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

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
const prediction = (options: SeedOptions) => (sql: TransactionSql) => seedPrediction(sql, world, options);
const [P, WORK, COSTS] = ["keyframe.predictions", "keyframe_private.work", "keyframe_private.cost_changes"];
const KEYS = "keyframe_private.idempotency_keys";
const insert = (into: string, values: string) => (sql: TransactionSql) =>
  sql.unsafe(`insert into ${into} values ${values}`);
const waiting = prediction({ columns: { admitted_at: null, deadline_at: null, lease_token: null } });
const overdue = prediction({ columns: { deadline_at: new Date(0) } });
const key = insert(
  `${KEYS} (resource_id, key, request_hash, created_at)`,
  "(gen_random_uuid(), gen_random_uuid()::text, repeat('a', 64), '2025-01-01')",
);
const cost = insert(`${COSTS} (owner_id, day, step, model)`, "(gen_random_uuid(), current_date, 'video', 'a')");

/** Which rows there are once a batch of two is done. All that is pruned goes through run_in_batches, as the keys do. */
const BATCHES: [batch: string, table: string, addRow: Work, rows: string, count: number][] = [
  ["admit_in_line", P, waiting, `${P} where admitted_at is not null`, 2],
  ["sweep", P, overdue, `${WORK} where kind = 'expire'`, 2],
  ["prune", KEYS, key, KEYS, 14],
  ["merge_costs", COSTS, cost, COSTS, 14],
];
test.each(BATCHES)(
  "%s with a limit of two while sixteen are due in %s → two are done",
  async (batch, table, addRow, rows, count) => {
    await withSixteen(table, addRow, async (sql) => {
      await sql`update keyframe_private.settings set max_active_per_owner = ${batch === "admit_in_line" ? 2 : 100}`;
      const most = batch === "admit_in_line" ? `'${world.owner}'` : 2;
      await sql.unsafe(`select keyframe_private.${batch}(${most})`);
      expect(await countOf(sql, rows)).toBe(count);
    });
  },
);

test("sixteen tasks are due and two are claimed → two are leased, the other fourteen by the next claim", async () => {
  await withSixteen(WORK, prediction({ columns: { lease_token: null } }), async (sql) => {
    expect(await claimOnly(sql, 2)).toHaveLength(2);
    expect(await countOf(sql, `${WORK} where state = 'leased'`)).toBe(2);
    expect(await claimOnly(sql, 100)).toHaveLength(14);
  });
});

test("a limited subquery in our functions → never after “in”: = any (array(…)) runs it once, whatever the plan", async () => {
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
