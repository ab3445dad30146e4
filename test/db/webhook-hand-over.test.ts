import { beforeAll, beforeEach, expect, inject, test } from "vitest";
import { fillVault } from "../../local/stack/apply-migrations.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  record,
  resultOf,
  seedDeliveries,
} from "../support/database/webhooks.ts";

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

const two = async () => {
  for (const id of [endpoint, await addEndpoint(db.sql, null)]) await seedDeliveries(db.sql, id, 20);
};

test("a last claim that leaves something due → a kick, so that a run whose time is up hands over", async () => {
  await two();
  expect((await exchange(db.sql, { heartbeatMs: 0, maxLanes: 1 })).lanes).toHaveLength(1);
  expect(await kicks()).toBe(1);
});

test("the last results after it → a kick, if the lane that they release has more", async () => {
  await seedDeliveries(db.sql, endpoint, 20);
  const { deliveries } = await exchange(db.sql, { heartbeatMs: 0 });
  expect(await kicks()).toBe(0);
  const results = deliveries.map((delivery) => resultOf(delivery, { status_code: 200 }));
  await record(db.sql, results);
  expect(await kicks()).toBe(1);
});

test("a last claim that leaves nothing → no kick: what is being sent or waits is for its worker, or the sweep", async () => {
  expect((await exchange(db.sql, { heartbeatMs: 0 })).deliveries).toEqual([]);
  await seedDeliveries(db.sql, endpoint, 20);
  await exchange(db.sql, { heartbeatMs: 300 });
  expect((await exchange(db.sql, { heartbeatMs: 0 })).deliveries).toEqual([]);
  expect(await kicks()).toBe(0);
});

test("a claim with a heartbeat → no kick", async () => {
  await two();
  expect((await exchange(db.sql, { heartbeatMs: 300, maxLanes: 1 })).lanes).toHaveLength(1);
  expect(await kicks()).toBe(0);
});
