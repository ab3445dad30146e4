import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, seedPrediction } from "../support/database/predictions.ts";
import { addEndpoint, call, exchange, resultOf, seedDeliveries } from "../support/database/webhooks.ts";

const db = useDatabase();

/** The specification: what differs from Postgres' defaults, and for which table. The migrations say why. */
const PARAMETERS: Record<string, string[]> = {
  "keyframe_private.file_removals": ["autovacuum_vacuum_scale_factor=0.02"],
  "keyframe_private.lanes": ["autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=2000", "fillfactor=40"],
  "keyframe_private.last_kicks": ["fillfactor=50"],
  "keyframe_private.worker_heartbeats": ["fillfactor=50"],
  "keyframe_private.rate_buckets": ["fillfactor=50"],
  "keyframe_private.webhook_hours": ["fillfactor=50"],
  "keyframe.predictions": [
    "autovacuum_analyze_scale_factor=0.02",
    "autovacuum_vacuum_scale_factor=0.02",
    "fillfactor=80",
  ],
  "keyframe.webhook_attempts": ["autovacuum_vacuum_scale_factor=0.05"],
  "keyframe.webhook_deliveries": ["autovacuum_analyze_scale_factor=0.02", "autovacuum_vacuum_scale_factor=0.02"],
  "keyframe.webhook_events": ["autovacuum_vacuum_scale_factor=0.05"],
};

test("the storage parameters of the tables → are these and no others", async () => {
  const rows = await db.sql<{ name: string; parameters: string[] }[]>`
    select c.oid::regclass::text as name, array(select unnest(c.reloptions) order by 1) as parameters
    from pg_class c
    where c.relkind = 'r' and c.reloptions is not null and c.relnamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace)`;
  expect(Object.fromEntries(rows.map(({ name, parameters }) => [name, parameters]))).toEqual(PARAMETERS);
});

describe("what is written again and again is updated in place, so that no index is written", () => {
  /** Updates of a table while something is done, and how many of them were HOT. */
  async function updates(
    table: string,
    work: (sql: Parameters<Parameters<typeof db.sql.begin>[1]>[0]) => Promise<unknown>,
  ) {
    return await db.sql.begin(async (sql) => {
      const read = async () => {
        const [row] = await sql<{ all: number; hot: number }[]>`
          select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_xact_user_tables where relid = ${table}::regclass`;
        return row ?? { all: 0, hot: 0 };
      };
      const before = await read(); // what this session did before may still be in them
      await work(sql);
      const after = await read();
      return { all: after.all - before.all, hot: after.hot - before.hot };
    });
  }

  test("the hour of an endpoint, counted up 20 times", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 100 });
    await seedDeliveries(db.sql, endpoint, 21);
    const { deliveries } = await exchange(db.sql);
    const started_at = new Date().toISOString();
    const record = (sql: Parameters<typeof exchange>[0], of: typeof deliveries) =>
      exchange(sql, {
        results: of.map((delivery) => resultOf(delivery, { status_code: 200, started_at })),
        held: [],
        maxLanes: 0,
      });
    await record(db.sql, deliveries.slice(0, 1));
    const found = await updates("keyframe_private.webhook_hours", async (sql) => {
      for (const delivery of deliveries.slice(1)) await record(sql, [delivery]);
    });
    expect(found).toEqual({ all: 20, hot: 20 });
  });

  test("the bucket of an owner who reads five times", async () => {
    const world = await addWorld(db);
    await call(db, world.owner, "list_projects", {});
    const found = await updates("keyframe_private.rate_buckets", async (sql) => {
      await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
      await sql`select keyframe.list_projects() from generate_series(1, 5)`;
    });
    expect(found).toEqual({ all: 5, hot: 5 });
  });

  test("the run that a prediction follows, spoken of 10 times → is not written at all", async () => {
    const world = await addWorld(db);
    const { id, run } = await seedPrediction(db.sql, world, { status: "processing" });
    const found = await updates("keyframe_private.provider_runs", async (sql) => {
      for (let said = 1; said <= 10; said++)
        await sql`select keyframe_worker.record_provider_state(${id}, 1, ${run}, 'processing', null, ${said / 20})`;
    });
    expect(found).toEqual({ all: 0, hot: 0 });
  });
});

test("events and deliveries → have identifiers of version 7, in the order in which they were made", async () => {
  const before = Date.now();
  const endpoint = await addEndpoint(db.sql, null);
  const [first] = await seedDeliveries(db.sql, endpoint, 1);
  await db.sql`select pg_sleep(0.002)`; // the clock they are made of ticks in milliseconds
  const [second] = await seedDeliveries(db.sql, endpoint, 1);
  const events = await db.sql<{ id: string }[]>`
    select v.id from keyframe.webhook_events v join keyframe.webhook_deliveries d on d.event_id = v.id
    where d.endpoint_id = ${endpoint} order by v.created_at`;
  const made = [first ?? "", second ?? "", ...events.map(({ id }) => id)];
  for (const id of made) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const at = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
    expect(at).toBeGreaterThanOrEqual(before - 1);
    expect(at).toBeLessThanOrEqual(Date.now() + 1);
  }
  expect(made.slice(0, 2)).toEqual(made.slice(0, 2).toSorted());
  expect(made.slice(2)).toEqual(made.slice(2).toSorted());
});
