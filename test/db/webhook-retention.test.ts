import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addEndpoint, clearWebhooks, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

const db = useDatabase();
let endpoint: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, null);
});

/** An event of so many days ago, with a delivery and an attempt. Returns the event's id. */
async function addEvent(daysAgo: number): Promise<string> {
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  await sendNext(db.sql, { status_code: 200 });
  const [event] = await db.sql<{ id: string }[]>`
    update keyframe.webhook_events set created_at = now() - interval '1 day' * ${daysAgo}::float
    where id = (select event_id from keyframe.webhook_deliveries where id = ${delivery}) returning id`;
  return event?.id ?? "";
}
const left = async () => {
  const [row] = await db.sql<{ events: string[]; deliveries: number; attempts: number }[]>`
    select array(select id from keyframe.webhook_events order by created_at desc) as events,
      (select count(*)::int from keyframe.webhook_deliveries) as deliveries, (select count(*)::int from keyframe.webhook_attempts) as attempts`;
  return row;
};
const prune = async (maxRows: number) =>
  (await db.sql<{ deleted: number }[]>`select keyframe_private.prune_webhooks(${maxRows}) as deleted`)[0]?.deleted;

test("events of more than 30 days → deleted with their deliveries and attempts; younger ones stay with theirs", async () => {
  const young = [await addEvent(0), await addEvent(29.9)];
  for (const days of [30.1, 31, 400]) await addEvent(days);
  await db.sql`select keyframe_private.prune()`;
  expect(await left()).toEqual({ events: young, deliveries: 2, attempts: 2 });
});

test("more than a batch → the oldest go first, no more than the batch, the rest next time", async () => {
  const events: string[] = [];
  for (const days of [31, 32, 33, 34, 35]) events.push(await addEvent(days));
  expect(await prune(2)).toBe(2);
  expect(await left()).toEqual({ events: events.slice(0, 3), deliveries: 3, attempts: 3 });
  expect([await prune(2), await prune(2), await prune(2)]).toEqual([2, 1, 0]);
});

test("a retention that an administrator has set → holds with the next run", async () => {
  const young = await addEvent(1);
  await addEvent(8);
  await db.sql`update keyframe_private.settings set webhook_retention = '7 days'`;
  await db.sql`select keyframe_private.prune()`;
  expect((await left())?.events).toEqual([young]);
  await db.sql`update keyframe_private.settings set webhook_retention = default`;
});

test("an endpoint with a long past → stays, with its secret", async () => {
  await addEvent(400);
  await db.sql`update keyframe.webhook_endpoints set created_at = now() - interval '500 days' where id = ${endpoint}`;
  await db.sql`select keyframe_private.prune()`;
  const [row] = await db.sql`select keyframe_private.webhook_secret(${endpoint}) as secret`;
  expect(row?.secret).toMatch(/^whsec_/);
});
