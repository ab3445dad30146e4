import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { withFailing } from "../../support/database/failing.ts";
import { impatiently } from "../../support/database/waiting.ts";
import {
  addEndpoint,
  clearWebhooks,
  type Exchanged,
  exchange,
  type Result,
  readEndpoint,
  record,
  resultsOf,
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
  await record(db.sql, resultsOf((await exchange(db.sql, { heartbeatMs: 0 })).deliveries, OK));
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  for (const id of [others, wide]) await seedDeliveries(db.sql, id, 1);
  await db.sql`insert into keyframe_private.kicks (function_name, request_id) values ('deliver', 1)`;
  await db.sql`
    insert into keyframe_private.idempotency_keys (owner_id, key, request_hash, resource_id)
    values (${owner}, 'a', repeat('a', 64), gen_random_uuid())`;
  scene = { owner, other, endpoint, others, wide, earlier, delivery };
  claimed = await exchange(db.sql);
  results = resultsOf(claimed.deliveries, OK);
});

/** An owner with an endpoint and a delivery that is being sent, another owner, and a service-wide endpoint, with one each too. */
type Scene = Record<"owner" | "other" | "endpoint" | "others" | "wide" | "earlier" | "delivery", string>;

const OK = { status_code: 200, started_at: AT };
const createProject = (sql: postgres.TransactionSql, owner: string) =>
  sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, 't', 'p')`;

/**
 * What is held ({name}: that of the scene); how the results of that endpoint are recorded meanwhile: "locked" ones are named, after a failed
 * call all are given one by one; and how many are recorded after it was committed.
 */
const HELD: [what: string, statement: string, own?: "locked" | "55P03", later?: number][] = [
  ["an update of an endpoint", "update keyframe.webhook_endpoints set description = 'x' where id = {endpoint}"],
  ["a delete of an endpoint", "delete from keyframe.webhook_endpoints where id = {endpoint}"],
  ["a delete of an account", "delete from auth.users where id = {owner}"],
  [
    "an update of a delivery",
    "update keyframe.webhook_deliveries set next_attempt_at = now() where id = {delivery}",
    "locked",
    1,
  ],
  [
    "a delete of an event",
    "delete from keyframe.webhook_events v using keyframe.webhook_deliveries d where d.event_id = v.id and d.id = {delivery}",
    "locked",
    0,
  ],
  [
    "an update of another delivery, counted in the same hour of the endpoint",
    `update keyframe.webhook_deliveries set last_attempt_at = '${AT}' where id = {earlier}`,
    "55P03",
    1,
  ],
  ["an update of the settings", "update keyframe_private.settings set max_failures = max_failures"],
  [
    "a project whose insert kicked, with an event for its owner and for everybody",
    "insert into keyframe.projects (owner_id, title, text_prompt) values ({owner}, 't', 'p')",
  ],
  [
    "an update of the secrets of all endpoints",
    "update keyframe_private.webhook_secrets set expires_at = expires_at; update vault.secrets set description = description",
  ],
  ["an update of the heartbeats", "update keyframe_private.heartbeats set alive_until = alive_until"],
  ["an update of the kicks", "update keyframe_private.kicks set made_at = made_at"],
  ["an update of the idempotency keys", "update keyframe_private.idempotency_keys set answer = null"],
];

/** Records results as a worker does: one by one after a call that failed. Returns the ids of those that are not recorded, and why. */
async function give(all: Result[]): Promise<[id: string, reason: string][]> {
  const giveOnce = async (some: Result[]): Promise<[string, string][]> => {
    const { unrecorded } = await impatiently(db.sql, (session) => record(session, some));
    return unrecorded.map((id) => [id, "locked"]);
  };
  const codeOf = (error: unknown) => (error as postgres.PostgresError).code;
  try {
    return await giveOnce(all);
  } catch {
    const each = all.map((one) => giveOnce([one]).catch((error) => [[one.id, codeOf(error)] as [string, string]]));
    return (await Promise.all(each)).flat();
  }
}
const attemptsOf = async (id: string) =>
  (await db.sql`select from keyframe.webhook_attempts where delivery_id = ${id}`).count;

test.each(HELD)(
  "%s stays open → other owners' results are recorded and their events sent without waiting",
  async (_, statement, own, later = 0) => {
    const { other, others, wide, delivery } = scene;
    await db.sql.begin(async (sql) => {
      await sql.unsafe(statement.replaceAll(/\{(\w+)\}/g, (_, name) => `'${scene[name as keyof Scene]}'`));
      await impatiently(db.sql, (session) => createProject(session, other));
      expect(await give(results)).toEqual(own ? [[delivery, own]] : []);
      const { deliveries } = await impatiently(db.sql, (session) => exchange(session, { heartbeatMs: 300 }));
      expect(deliveries.map(({ endpoint_id }) => endpoint_id).toSorted()).toEqual([others, wide].toSorted());
    });
    const again = results.filter(({ id }) => id === delivery);
    for (let time = 0; time < 2; time++) await give(again);
    if (own) expect(await attemptsOf(delivery)).toBe(later);
    expect((await exchange(db.sql)).deliveries.map(({ id }) => id)).not.toContain(delivery);
  },
);

test("an endpoint whose row is locked fails → the result is recorded; the next failure marks the endpoint as failing", async () => {
  const failed = ({ deliveries }: Exchanged) => resultsOf(deliveries, { status_code: 500 });
  await db.sql.begin(async (sql) => {
    await sql`update keyframe.webhook_endpoints set description = 'x' where id = ${scene.endpoint}`;
    expect(await give(failed(claimed))).toEqual([]);
    expect(await readEndpoint(db.sql, scene.others)).toMatchObject({ failing_since: expect.any(Date) });
  });
  expect(await readEndpoint(db.sql, scene.endpoint)).toMatchObject({ failing_since: null });
  await seedDeliveries(db.sql, scene.endpoint, 1);
  await record(db.sql, failed(await exchange(db.sql)));
  expect(await readEndpoint(db.sql, scene.endpoint)).toMatchObject({ failing_since: expect.any(Date) });
});

test.each([
  ["that Postgres refuses", "23502", undefined],
  ["whose delivery an app's trigger refuses", "P0001", "raise 'It cannot be written.'"],
  ["whose delivery an app's trigger holds up for a minute", "57014", "perform pg_sleep(60)"],
])("a result %s → only this result is not recorded", async (_what, code, does) => {
  const given = results.map((each) => (each.id === scene.delivery && !does ? { ...each, duration_ms: null } : each));
  const condition = does ? `new.id = '${scene.delivery}'` : "false";
  await withFailing(
    db.sql,
    "keyframe.webhook_deliveries",
    condition,
    async () => expect(await give(given as Result[])).toEqual([[scene.delivery, code]]),
    does,
  );
});
