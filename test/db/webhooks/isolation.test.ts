import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import {
  addEndpoint,
  clearWebhooks,
  type Exchanged,
  exchange,
  leasedLanes,
  type Result,
  readEndpoint,
  readDelivery,
  record,
  resultOf,
  seedDeliveries,
} from "../../support/database/webhooks.ts";

// A transaction of somebody else stays open: deliver's calls wait for nothing of it.

const AT = new Date().toISOString();
const db = useDatabase();
let scene: Scene;
let claimed: Exchanged;
let results: Result[];
beforeEach(async () => {
  await clearWebhooks(db.sql);
  const [owner, other] = [await db.addUser(), await db.addUser()];
  const [endpoint, others, wide] = [
    await addEndpoint(db.sql, owner),
    await addEndpoint(db.sql, other),
    await addEndpoint(db.sql, null),
  ];
  const [earlier = ""] = await seedDeliveries(db.sql, endpoint, 1);
  await record(db.sql, resultsOf(await exchange(db.sql, { heartbeatMs: 0 })));
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  for (const id of [others, wide]) await seedDeliveries(db.sql, id, 1);
  await db.sql`insert into keyframe_private.kicks (function_name, request_id) values ('deliver', 1)`;
  await db.sql`
    insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id)
    values (${owner}, 'a', repeat('a', 64), gen_random_uuid())`;
  scene = { owner, other, endpoint, others, wide, earlier, delivery };
  claimed = await exchange(db.sql);
  results = resultsOf(claimed);
});

/** An owner with an endpoint and a delivery that is being sent, another owner, and a service-wide endpoint, with one each too. */
type Scene = Record<"owner" | "other" | "endpoint" | "others" | "wide" | "earlier" | "delivery", string>;
type Hold = (sql: postgres.TransactionSql, of: Scene) => Promise<unknown>;

const resultsOf = ({ deliveries }: Exchanged) =>
  deliveries.map((each) => resultOf(each, { status_code: 200, started_at: AT }));
/** On a session whose waits fail. Not by lock_timeout: what sets its own would go on without it. */
const impatiently = async <T>(work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T> =>
  (
    await db.sql.begin(async (sql) => {
      await sql`set local statement_timeout = '10 s'`;
      return { value: await work(sql) };
    })
  ).value as T;
const createProject = (sql: postgres.TransactionSql, owner: string) =>
  sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, 't', 'p')`;

/** What is held; why a result of that endpoint is not recorded meanwhile, and how many are after it was committed. */
const HELD: [what: string, hold: Hold, own?: "locked" | "55P03", later?: number][] = [
  [
    "an update of an endpoint",
    (sql, { endpoint }) => sql`update keyframe.webhook_endpoints set description = 'x' where id = ${endpoint}`,
  ],
  [
    "a delete of an endpoint",
    (sql, { endpoint }) => sql`delete from keyframe.webhook_endpoints where id = ${endpoint}`,
  ],
  ["a delete of an account", (sql, { owner }) => sql`delete from auth.users where id = ${owner}`],
  [
    "an update of a delivery",
    (sql, { delivery }) => sql`update keyframe.webhook_deliveries set next_attempt_at = now() where id = ${delivery}`,
    "locked",
    1,
  ],
  [
    "a delete of an event",
    (sql, { delivery }) => sql`
      delete from keyframe.webhook_events v using keyframe.webhook_deliveries d where d.event_id = v.id and d.id = ${delivery}`,
    "locked",
    0,
  ],
  [
    "an update of another delivery, counted in the same hour of the endpoint",
    (sql, { earlier }) => sql`update keyframe.webhook_deliveries set last_attempt_at = ${AT} where id = ${earlier}`,
    "55P03",
    1,
  ],
  ["an update of the settings", (sql) => sql`update keyframe_private.settings set max_failures = max_failures`],
  [
    "a project whose insert kicked, with an event for its owner and for everybody",
    (sql, { owner }) => createProject(sql, owner),
  ],
  [
    "an update of the secrets of all endpoints",
    async (sql) => {
      await sql`update keyframe_private.webhook_secrets set expires_at = expires_at`;
      await sql`update vault.secrets set description = description`;
    },
  ],
  [
    "an update of the heartbeats",
    (sql) => sql`update keyframe_private.worker_heartbeats set alive_until = alive_until`,
  ],
  ["an update of the kicks", (sql) => sql`update keyframe_private.kicks set made_at = made_at`],
  ["an update of the idempotency keys", (sql) => sql`update keyframe_private.idempotency_keys set answer = null`],
];

test.each(HELD)(
  "%s stays open → what is others' is recorded and sent without waiting",
  async (_, hold, own, later = 0) => {
    const { owner, other, endpoint, others, wide, delivery } = scene;
    const leased = leasedLanes(claimed);
    await db.sql.begin(async (sql) => {
      await hold(sql, scene);
      await impatiently((session) => createProject(session, other));
      const answer = await impatiently((session) => exchange(session, { results, leased, heartbeatMs: 300 }));
      expect(answer.deliveries.map(({ endpoint_id }) => endpoint_id).toSorted()).toEqual([others, wide].toSorted());
      const unrecorded = { id: delivery, endpoint_id: endpoint, reason: own };
      expect([answer.recorded, answer.unrecorded]).toEqual(own ? [2, [unrecorded]] : [3, []]);
      // A worker that has lost its memory of it, and one that names it in its next call: it is not sent anew.
      expect((await impatiently((session) => exchange(session))).deliveries).toEqual([]);
      const holding = [{ ...leased.find(({ lane_id }) => lane_id === owner), sending: [delivery] }];
      const next = await impatiently((session) => exchange(session, { leased: holding as typeof leased }));
      expect(next.deliveries).toEqual([]);
    });
    const again = results.filter(({ id }) => id === delivery);
    expect((await record(db.sql, again)).recorded).toBe(later);
    expect((await record(db.sql, again)).recorded).toBe(0);
  },
);

test("an endpoint whose row is held while it fails → its result is recorded; its next one marks it as failing", async () => {
  const fail = (of: Exchanged) => of.deliveries.map((each) => resultOf(each, { status_code: 500 }));
  await db.sql.begin(async (sql) => {
    await sql`update keyframe.webhook_endpoints set description = 'x' where id = ${scene.endpoint}`;
    expect((await impatiently((session) => record(session, fail(claimed)))).recorded).toBe(3);
    expect(await readEndpoint(db.sql, scene.others)).toMatchObject({ failing_since: expect.any(Date) });
  });
  expect(await readEndpoint(db.sql, scene.endpoint)).toMatchObject({ failing_since: null });
  await seedDeliveries(db.sql, scene.endpoint, 1);
  await record(db.sql, fail(await exchange(db.sql)));
  expect(await readEndpoint(db.sql, scene.endpoint)).toMatchObject({ failing_since: expect.any(Date) });
});

test("a result that Postgres refuses → its lane alone is kept back, with the SQLSTATE; the others are recorded", async () => {
  const broken = results.map((result) => (result.id === scene.delivery ? { ...result, duration_ms: null } : result));
  const answer = await record(db.sql, broken as Result[]);
  expect([answer.recorded, answer.unrecorded]).toMatchObject([2, [{ id: scene.delivery, reason: "23502" }]]);
});

test("no lane can be claimed → the results are recorded all the same, and the answer says why", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`alter table keyframe_private.lanes rename to gone`;
    await expect(exchange(sql, { results, leased: leasedLanes(claimed) })).rejects.toThrow(
      "The claim failed with 42P01",
    );
    expect(await readDelivery(sql, scene.delivery)).toMatchObject({ status: "delivered" });
  });
});

test("a claim that makes no sense → the results are recorded all the same, and the answer says why", async () => {
  const claim = { lanes: [{ lane_id: "none", sending: [] }], max_lanes: 1 };
  const [row] = await db.sql`
    select keyframe_worker.exchange_deliveries(${JSON.stringify(results)}::text::jsonb, ${JSON.stringify(claim)}::text::jsonb) as answer`;
  expect(row?.answer).toMatchObject({ recorded: 3, unrecorded: [], claim: null, claim_error: "22P02" });
  expect(await readDelivery(db.sql, scene.delivery)).toMatchObject({ status: "delivered" });
});
