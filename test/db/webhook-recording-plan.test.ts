import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addEndpoint, exchange, resultOf, seedDeliveries } from "../support/database/webhooks.ts";

const db = useDatabase();

// Postgres keeps a function's plan for the life of a session: one made while the table was small must not read all of it later.
test("recording, planned on a table with a few rows → through the primary key, no scan of all deliveries", async () => {
  for (let call = 0; call < 7; call++)
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { max_in_flight: 100 }), 10);
  await db.sql.begin(async (sql) => {
    for (let call = 0; call < 7; call++) {
      const { deliveries } = await exchange(sql, { maxLanes: 1 });
      const results = deliveries.map((delivery) => resultOf(delivery, { status_code: call % 2 ? 200 : 500 }));
      const scans = async () => {
        const [row] = await sql<{ scans: number }[]>`
          select seq_scan::int as scans from pg_stat_xact_user_tables where relid = 'keyframe.webhook_deliveries'::regclass`;
        return row?.scans ?? 0;
      };
      const before = await scans();
      expect((await exchange(sql, { results, maxLanes: 0 })).recorded).toBe(10);
      expect(await scans()).toBe(before);
    }
  });
});
