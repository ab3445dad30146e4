import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addProject, columnOf, type Row } from "../../support/database/predictions.ts";
import { impatiently, untilSomebodyWaits } from "../../support/database/waiting.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  exchange,
  readDelivery,
  record,
  resultsOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, owner);
});

const redeliver = async (delivery_id: string) =>
  (await call<{ delivery: Row }>(db, owner, "redeliver_webhook", { delivery_id })).delivery;
const recover = async (since: Date, caller = owner, endpoint_id = endpoint) =>
  (await call<{ recovered: number }>(db, caller, "recover_webhook_endpoint", { endpoint_id, since })).recovered;
const later = (hours: number) => new Date(Date.now() + hours * 3_600_000);
const ended = (status: "delivered" | "exhausted", columns: object = {}) => ({
  status,
  attempts: status === "exhausted" ? 10 : 1,
  completed_at: new Date(),
  next_attempt_at: later(100), // so that nothing but the redelivery makes it due
  ...columns,
});
const seed = async (columns: object = {}) => (await seedDeliveries(db.sql, endpoint, 1, columns))[0] ?? "";

describe("redeliver_webhook", () => {
  test("redelivery of an exhausted delivery that goes on failing → the whole schedule again: ten more attempts", async () => {
    const id = await seed(ended("exhausted"));
    await redeliver(id);
    for (let attempt = 11; attempt <= 20; attempt++) {
      const { status, next_attempt_at } = await readDelivery(db.sql, id);
      expect(status).toBe("pending");
      const due = new Date((next_attempt_at as Date).getTime() + 1); // dates carry milliseconds, Postgres microseconds
      expect(await sendNext(db.sql, { status_code: 500 }, due)).toEqual([id]);
    }
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "exhausted", attempts: 20 });
  });

  test("redelivery of one that waits for its next attempt → due at once, with the schedule from its beginning", async () => {
    const id = await seed({ attempts: 5, next_attempt_at: later(10) });
    await redeliver(id);
    expect(await sendNext(db.sql, { status_code: 500 })).toEqual([id]);
    const { next_attempt_at } = await readDelivery(db.sql, id);
    expect((next_attempt_at as Date).getTime()).toBeLessThan(later(0).getTime() + 60_000); // a date, as timestamptz is read
  });
});

test.each<[how: string, again: (id: string) => Promise<unknown>, answer: unknown]>([
  ["redelivered", redeliver, expect.objectContaining({ status: "pending" })],
  ["recovered", () => recover(later(-1)), 0],
])(
  "a delivery that is being sent is %s → stays with its worker, without a second request at the same time",
  async (_how, again, answer) => {
    const id = await seed({ attempts: 1 });
    const { deliveries } = await exchange(db.sql);
    expect(await again(id)).toEqual(answer);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    await record(db.sql, resultsOf(deliveries, { status_code: 200 }));
    expect((await readDelivery(db.sql, id)).status).toBe("delivered");
    expect((await exchange(db.sql)).deliveries).toEqual([]);
  },
);

describe("recover_webhook_endpoint", () => {
  const HOUR_AGO = later(-1);

  test("a recovery → deliveries that failed are due at once; untried, delivered and older ones are untouched", async () => {
    const failed = await seed({ attempts: 4, next_attempt_at: later(10) });
    const untried = await seed({ next_attempt_at: later(10) });
    const delivered = await seed(ended("delivered"));
    const older = await seed(ended("exhausted", { created_at: later(-2) }));
    expect(await recover(HOUR_AGO)).toBe(1);
    expect(await sendNext(db.sql, { status_code: 200 })).toEqual([failed]);
    expect(await readDelivery(db.sql, untried)).toMatchObject({ status: "pending", attempts: 0 });
    expect(await readDelivery(db.sql, delivered)).toMatchObject({ status: "delivered" });
    expect(await readDelivery(db.sql, older)).toMatchObject({ status: "exhausted" });
  });

  test("a recovery that takes long → results of the endpoint and of others are recorded meanwhile", async () => {
    const other = await addEndpoint(db.sql, null);
    for (const to of [endpoint, other]) await seedDeliveries(db.sql, to, 1);
    await seed(ended("exhausted"));
    const results = resultsOf((await exchange(db.sql)).deliveries);
    await db.asUser(owner, async (recovering) => {
      await recovering`select keyframe.recover_webhook_endpoint(${endpoint}, ${HOUR_AGO})`;
      const { unrecorded } = await impatiently(db.sql, (sql) => record(sql, results));
      expect([results.length, unrecorded]).toEqual([2, []]);
    });
  });

  test("a recovery while a batch is being recorded → waits for the batch, and locks nothing that the batch locks later", async () => {
    const ids = [await seed(ended("exhausted")), await seed(ended("exhausted"))].sort();
    const [first = "", second = ""] = ids;
    await db.sql`update keyframe.webhook_deliveries set created_at = created_at - interval '1 minute' where id = ${second}`;
    const { recovering } = await db.sql.begin(async (recording) => {
      await recording`select from keyframe.webhook_deliveries where id = ${first} for update`;
      const recovering = recover(HOUR_AGO);
      await untilSomebodyWaits(db.sql);
      await recording`select from keyframe.webhook_deliveries where id = ${second} for update nowait`;
      return { recovering };
    });
    expect(await recovering).toBe(2);
  });

  test("a recovery → does not send missed events of other types or owners, earlier events, and tests", async () => {
    await db.sql`update keyframe.webhook_endpoints set event_types = '{project.created,webhook.test}' where id = ${endpoint}`;
    const mine = await addProject(db, owner);
    await db.sql`delete from keyframe.webhook_deliveries`;
    await addProject(db, await db.addUser());
    await db.sql`
      insert into keyframe.webhook_events (type, owner_id, payload, created_at) values
        ('generation.failed', ${owner}, '{}', now()), ('webhook.test', ${owner}, '{}', now()),
        ('project.created', ${owner}, '{}', ${later(-2)})`;
    expect(await recover(HOUR_AGO)).toBe(1);
    const sent = db.sql`select project_id from keyframe.webhook_events where id in (select event_id from keyframe.webhook_deliveries)`;
    expect(await columnOf(sent)).toEqual([mine]);
  });

  test("recovery of an endpoint with one request at a time → the oldest event first, whether it failed or was missed", async () => {
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 1, created_at = ${later(-2)} where id = ${endpoint}`;
    await db.sql`
      with events as (
        insert into keyframe.webhook_events (type, owner_id, payload, created_at)
        select e.type, ${owner}, '{}', now() - interval '1 minute' * (10 - e.nth)
        from unnest('{project.created,generation.failed,generation.succeeded,project.created,project.created}'::text[]) with ordinality e (type, nth)
        returning *)
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, attempts, completed_at, created_at)
      select e.id, ${endpoint}, ${owner}, e.type, 'exhausted', 10, now(), e.created_at from events e
      where e.created_at <> now() - interval '8 minutes' order by e.type`;
    expect(await recover(HOUR_AGO)).toBe(5);
    const sent: string[] = [];
    for (let turn = 0; turn < 5; turn++) sent.push(...(await sendNext(db.sql, { status_code: 200 })));
    const inOrder = await columnOf(db.sql`
      select d.id from keyframe.webhook_deliveries d join keyframe.webhook_events v on v.id = d.event_id order by v.created_at`);
    expect(sent).toEqual(inOrder);
  });

  test("recovery of a service-wide endpoint → sends the missed events of all owners", async () => {
    const wide = await addEndpoint(db.sql, null, { enabled: false });
    for (let i = 0; i < 2; i++) await addProject(db, await db.addUser());
    expect(await recover(HOUR_AGO, "service_role", wide)).toBe(2);
    const owners = await columnOf(db.sql`select owner_id from keyframe.webhook_deliveries where endpoint_id = ${wide}`);
    expect(owners).toEqual([null, null]);
  });

  test("20 recoveries of an endpoint at once → no event is sent twice", async () => {
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    for (let i = 0; i < 5; i++) await addProject(db, owner);
    const answers = await Promise.all(Array.from({ length: 20 }, () => recover(HOUR_AGO)));
    expect(answers.reduce((sum, answer) => sum + answer)).toBe(5);
    expect((await db.sql`select from keyframe.webhook_deliveries`).count).toBe(5);
  });
});
