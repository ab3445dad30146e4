import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { providerSays } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, columnOf, seedPrediction } from "../../support/database/predictions.ts";
import { addEndpoint, call, exchange, record, resultsOf, seedDeliveries } from "../../support/database/webhooks.ts";

const db = useDatabase();

describe("rows that are written again and again", () => {
  /** Updates of a table while something is done, and how many of them were HOT. */
  const updates = async (table: string, work: (sql: TransactionSql) => Promise<unknown>) => {
    const { found } = await db.sql.begin(async (sql) => {
      const read = () =>
        columnOf<number>(sql`
          select unnest(array[n_tup_upd, n_tup_hot_upd]::integer[]) from pg_stat_xact_user_tables where relid = ${table}::regclass`);
      const before = await read(); // what this session did before may still be in them
      await work(sql);
      return { found: (await read()).map((count, at) => count - (before[at] ?? 0)) };
    });
    return found;
  };

  test("an endpoint's hourly count, raised 20 times → updated in place, without an index write", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { max_in_flight: 100 }), 21);
    const { deliveries } = await exchange(db.sql);
    const results = resultsOf(deliveries, { status_code: 200, started_at: new Date().toISOString() });
    await record(db.sql, results.slice(0, 1));
    const found = await updates("keyframe_private.webhook_hours", async (sql) => {
      for (const result of results.slice(1)) await record(sql, [result]);
    });
    expect(found).toEqual([20, 20]);
  });

  test("the bucket of an owner who reads five times → updated in place, without an index write", async () => {
    const world = await addWorld(db);
    await call(db, world.owner, "list_projects", {});
    const found = await updates("keyframe_private.rate_buckets", async (sql) => {
      await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
      await sql`select keyframe.list_projects() from generate_series(1, 5)`;
    });
    expect(found).toEqual([5, 5]);
  });

  test("a prediction's run, reported 10 times → its ledger row is not written at all", async () => {
    const { id, run } = await seedPrediction(db.sql, await addWorld(db), { status: "processing" });
    const found = await updates("keyframe_private.provider_submits", async (sql) => {
      for (let said = 1; said <= 10; said++) await providerSays(sql, { id, run: run ?? "", progress: said / 20 });
    });
    expect(found).toEqual([0, 0]);
  });
});

test("events and deliveries → have ids of UUID version 7, in the order in which they were made", async () => {
  const before = Date.now();
  const endpoint = await addEndpoint(db.sql, null);
  for (let i = 0; i < 2; i++) {
    await seedDeliveries(db.sql, endpoint, 1);
    await db.sql`select pg_sleep(0.002)`; // the clock they are made of ticks in milliseconds
  }
  for (const table of ["keyframe.webhook_events", "keyframe.webhook_deliveries"]) {
    const ids = await columnOf(db.sql`select id from ${db.sql(table)} order by created_at desc limit 2`);
    expect(ids.toSorted()).toEqual(ids.toReversed());
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const at = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
      expect([at >= before - 1, at <= Date.now() + 1]).toEqual([true, true]);
    }
  }
});
