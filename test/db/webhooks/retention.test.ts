import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf } from "../../support/database/predictions.ts";
import { addEndpoint, clearWebhooks, readDelivery, seedDeliveries, sendNext } from "../../support/database/webhooks.ts";

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
  const [event = ""] = await columnOf(db.sql`
    update keyframe.webhook_events set created_at = now() - interval '1 day' * ${daysAgo}::float
    where id = (select event_id from keyframe.webhook_deliveries where id = ${delivery}) returning id`);
  return event;
}
const events = () => columnOf(db.sql`select id from keyframe.webhook_events order by created_at desc`);

test("events of more than 30 days → deleted with their deliveries and attempts; younger ones stay with theirs", async () => {
  const young = [await addEvent(0), await addEvent(29.9)];
  for (const days of [30.1, 31, 400]) await addEvent(days);
  await db.sql`select keyframe_private.prune()`;
  expect(await events()).toEqual(young);
  for (const table of ["webhook_deliveries", "webhook_attempts"])
    expect(await db.sql`select from keyframe.${db.sql(table)}`).toHaveLength(2);
});

describe("a recovery near the end of the retention, while the pruning runs", () => {
  let owner: string;
  beforeEach(async () => {
    owner = await db.addUser();
    endpoint = await addEndpoint(db.sql, owner, { created_at: ago(60 * DAY) });
  });
  const DAY = 86_400_000;
  const RETENTION = 30 * DAY;
  const ago = (milliseconds: number) => new Date(Date.now() - milliseconds);

  /** An event of that time which the endpoint missed. */
  async function addMissed(created_at: Date): Promise<string> {
    const [id = ""] = await columnOf(db.sql`
      insert into keyframe.webhook_events (type, owner_id, project_id, payload, created_at)
      values ('project.created', ${owner}, gen_random_uuid(), '{}', ${created_at}) returning id`);
    return id;
  }
  /** An event of that time whose delivery is in the given state. Returns the delivery's id. */
  async function addDelivery(created_at: Date, columns: object): Promise<string> {
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1, { created_at, ...columns });
    await db.sql`update keyframe.webhook_events set created_at = ${created_at} where id = (select event_id from keyframe.webhook_deliveries where id = ${id})`;
    return id;
  }
  /** Recovers all of 40 days. Whatever waits for a lock of another user fails. */
  const recover = () =>
    db.asUser(owner, async (sql) => {
      await sql`set local lock_timeout = '1s'`;
      const [row] = await sql<{ answer: { recovered: number } }[]>`
        select keyframe.recover_webhook_endpoint(${endpoint}, ${ago(40 * DAY)}) as answer`;
      return row?.answer.recovered;
    });
  const sent = () => columnOf(db.sql`select event_id from keyframe.webhook_deliveries`);

  test("a recovery while events past their retention are deleted → leaves out these events and their deliveries, without waiting", async () => {
    const exhausted = { status: "exhausted", attempts: 10, completed_at: new Date(), next_attempt_at: ago(RETENTION) };
    const retried = { attempts: 3, next_attempt_at: new Date(Date.now() + DAY) };
    const old = ago(RETENTION + 1_000);
    for (const columns of [exhausted, retried]) await addDelivery(old, columns);
    await addMissed(old);
    const young = [];
    for (const columns of [exhausted, retried]) young.push(await addDelivery(ago(RETENTION - DAY), columns));
    const missed = await addMissed(ago(RETENTION - DAY));
    await db.sql.begin(async (sql) => {
      await sql`select keyframe_private.prune_webhooks()`;
      expect((await sql`select from keyframe.webhook_events`).count).toBe(3);
      expect(await recover()).toBe(3);
    });
    expect(await sent()).toContain(missed);
    for (const [i, retries_from] of [10, 3].entries())
      expect(await readDelivery(db.sql, young[i] ?? "")).toMatchObject({ status: "pending", retries_from });
  });

  test("a recovery with events that the pruning will delete within a minute, or should have → leaves them out, too", async () => {
    await addMissed(ago(RETENTION - 30_000));
    await addMissed(ago(RETENTION + DAY));
    const young = await addMissed(ago(RETENTION - 120_000));
    expect(await recover()).toBe(1);
    expect(await sent()).toEqual([young]);
  });

  test("a recovery after an administrator has shortened the retention → leaves out events past the shorter retention", async () => {
    await addMissed(ago(8 * DAY));
    const young = await addMissed(ago(6 * DAY));
    await db.sql`update keyframe_private.settings set webhook_retention = '7 days'`;
    expect(await recover()).toBe(1);
    await db.sql`update keyframe_private.settings set webhook_retention = default`;
    expect(await sent()).toEqual([young]);
  });
});
