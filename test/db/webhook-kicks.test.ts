import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { fillVault } from "../../local/stack/apply-migrations.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { complete } from "../support/database/calls.ts";
import { addProject, useWorld, seedPrediction } from "../support/database/predictions.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  type Exchanged,
  exchange,
  record,
  resultOf,
  seedDeliveries,
} from "../support/database/webhooks.ts";

const { kickSecret } = inject("stack");
const FUNCTIONS_URL = "http://127.0.0.1:9/functions/v1";

const db = useDatabase();
const world = useWorld(db);
let endpoint: string;
beforeAll(async () => {
  await fillVault(db.sql, { keyframe_functions_url: FUNCTIONS_URL, keyframe_kick_secret: kickSecret });
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, world.owner);
  await db.sql`truncate keyframe_private.worker_heartbeats, net.http_request_queue`;
});

const kicks = () => db.sql`select from net.http_request_queue where url like '%/keyframe-deliver'`;
async function kicksOf(work: () => Promise<unknown>): Promise<number> {
  const before = (await kicks()).length;
  await db.sql`update keyframe_private.kicks set made_at = made_at - interval '1 second'`; // the last one stops others for 100 ms
  await work();
  return (await kicks()).length - before;
}
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);

test("a project, and the end of a prediction → a kick, if an endpoint gets the event", async () => {
  const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
  expect(await kicksOf(() => addProject(db, world.owner))).toBe(1);
  expect(await kicksOf(() => complete(db.sql, id, lease))).toBe(1);
  const other = await db.addUser();
  expect(await kicksOf(() => addProject(db, other))).toBe(0);
});

test("the owner's wishes, a test event, a redelivery, a recovery, an endpoint enabled again → one kick each", async () => {
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  const wish = (name: string, args: Record<string, string | boolean | Date>) => () => call(db, world.owner, name, args);
  expect(await kicksOf(wish("test_webhook_endpoint", { endpoint_id: endpoint }))).toBe(1);
  expect(await kicksOf(wish("redeliver_webhook", { delivery_id: delivery }))).toBe(1);
  await db.sql`update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now(), last_error = 'dns' where id = ${delivery}`;
  expect(await kicksOf(wish("recover_webhook_endpoint", { endpoint_id: endpoint, since: new Date(0) }))).toBe(1);
  expect(await kicksOf(wish("update_webhook_endpoint", { endpoint_id: endpoint, enabled: false }))).toBe(0);
  expect(await kicksOf(wish("update_webhook_endpoint", { endpoint_id: endpoint, enabled: true }))).toBe(1);
  expect(await kicksOf(wish("list_webhook_deliveries", { endpoint_id: endpoint }))).toBe(0);
});

describe("the sweep kicks deliver", () => {
  const sweep = () => db.sql`select keyframe_private.sweep()`;

  const dueAt = (seconds: number) => db.sql`update keyframe_private.lanes set due_at = ${fromNow(seconds)}`;
  const LATER = { next_attempt_at: fromNow(3600) };

  test.each<[string, object, claimed: () => Promise<unknown>, kicks: number]>([
    ["something is due that no worker has read (its kick was lost) → one kick", {}, async () => undefined, 1],
    ["its lease ran out (the function died) → one kick", {}, () => exchange(db.sql).then(() => dueAt(-1)), 1],
    ["what is due is being sent → none", {}, () => exchange(db.sql), 0],
    ["nothing is due yet → none", LATER, () => exchange(db.sql), 0],
    ["a retry's time has come → one kick", LATER, () => exchange(db.sql).then(() => dueAt(-1)), 1],
    ["all is delivered → none", { status: "delivered", completed_at: new Date() }, async () => undefined, 0],
    ["all is exhausted → none", { status: "exhausted", completed_at: new Date() }, async () => undefined, 0],
  ])("%s", async (_name, columns, claimed, count) => {
    await seedDeliveries(db.sql, endpoint, 3, columns);
    await claimed();
    expect(await kicksOf(sweep)).toBe(count);
  });

  test("what is due belongs to disabled endpoints → none, until one is enabled", async () => {
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    await seedDeliveries(db.sql, endpoint, 5);
    await exchange(db.sql);
    expect(await kicksOf(sweep)).toBe(0);
    await db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${endpoint}`;
    expect(await kicksOf(sweep)).toBe(1);
  });
});

describe("a worker that hands over", () => {
  const claim = (heartbeatMs: number, maxLanes = 100) => exchange(db.sql, { heartbeatMs, maxLanes });

  test("a last claim that leaves something due → a kick, so that a run whose time is up hands over; one with a heartbeat → none", async () => {
    for (let i = 0; i < 3; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 20);
    expect(await kicksOf(() => claim(300, 1))).toBe(0);
    expect(await kicksOf(() => claim(0, 1))).toBe(1);
  });

  test("the last results after it → a kick, if the lane that they release has more", async () => {
    await seedDeliveries(db.sql, endpoint, 20);
    let claimed: Exchanged | undefined;
    expect(
      await kicksOf(async () => {
        claimed = await claim(0);
      }),
    ).toBe(0);
    const results = claimed?.deliveries.map((delivery) => resultOf(delivery, { status_code: 200 })) ?? [];
    expect(await kicksOf(() => record(db.sql, results))).toBe(1);
  });

  test("a last claim that leaves nothing → no kick: what is being sent or waits is for its worker, or the sweep", async () => {
    expect(await kicksOf(() => claim(0))).toBe(0);
    await seedDeliveries(db.sql, endpoint, 20);
    await claim(300);
    expect(await kicksOf(() => claim(0))).toBe(0);
  });
});
