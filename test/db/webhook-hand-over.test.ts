import { beforeAll, beforeEach, expect, inject, test } from "vitest";
import { fillVault } from "../../local/stack/apply-migrations.ts";
import { useDatabase } from "../support/clone-database.ts";
import { addEndpoint, clearWebhooks, exchange, seedDeliveries } from "../support/db-webhooks.ts";

const db = useDatabase();
let endpoint: string;
beforeAll(async () => {
  await fillVault(db.sql, {
    keyframe_functions_url: "http://127.0.0.1:9/functions/v1",
    keyframe_kick_secret: inject("stack").kickSecret,
  });
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
  await db.sql`truncate keyframe_private.worker_heartbeats, net.http_request_queue`;
});

const kicks = async () => (await db.sql`select from net.http_request_queue where url like '%/keyframe-deliver'`).count;

test("a last look that still finds something → a kick, so that a run whose time is up hands over", async () => {
  await seedDeliveries(db.sql, endpoint, 12);
  expect((await exchange(db.sql, { heartbeatMs: 0 })).deliveries).toHaveLength(8);
  expect(await kicks()).toBe(1);
});

test("a last look that finds nothing → no kick: what hangs or waits is for the sweep", async () => {
  expect((await exchange(db.sql, { heartbeatMs: 0 })).deliveries).toEqual([]);
  await seedDeliveries(db.sql, endpoint, 12);
  await exchange(db.sql, { heartbeatMs: 300 });
  expect((await exchange(db.sql, { heartbeatMs: 0 })).deliveries).toEqual([]);
  expect(await kicks()).toBe(0);
});

test("a claim with a heartbeat → no kick", async () => {
  await seedDeliveries(db.sql, endpoint, 12);
  expect((await exchange(db.sql, { heartbeatMs: 300 })).deliveries).toHaveLength(8);
  expect(await kicks()).toBe(0);
});
