import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addScene, makeRequest, type Scene } from "../../support/database/requests.ts";
import { impatiently, untilSomebodyWaits } from "../../support/database/waiting.ts";
import {
  addEndpoint,
  type Caller,
  call,
  clearWebhooks,
  exchange,
  type Leased,
  record,
  resultsOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

const db = useDatabase();
let scene: Scene;
/** An endpoint is remembered for five minutes: here each has been deleted earlier, unless a test says that it was just now. */
const letDeletionsBe = (when: string) =>
  db.sql.unsafe(`alter table keyframe_private.deleted_endpoints alter deleted_at set default ${when}`);
beforeEach(async () => {
  await letDeletionsBe("now() - interval '6 minutes'");
  await clearWebhooks(db.sql);
  scene = await addScene(db, await db.addUser());
});

const remove = (endpoint: string, caller: Caller = scene.caller) =>
  call(db, caller, "delete_webhook_endpoint", { endpoint_id: endpoint });
const pruneOnce = async (maxRows: number) =>
  void (await db.sql`select keyframe_private.prune_deleted_endpoints(${maxRows})`);
const countOf = async (table: string, where = "true") =>
  (await db.sql.unsafe(`select from ${table} where ${where}`)).count;
/** How many endpoints, deliveries, attempts and tests an owner sees through the Data API. */
const seenBy = (owner: string) =>
  db.asUser(owner, (sql) =>
    columnOf<number>(sql`
      select count(*)::int from keyframe.webhook_endpoints
      union all select count(*)::int from keyframe.webhook_deliveries
      union all select count(*)::int from keyframe.webhook_attempts
      union all select count(*)::int from keyframe.webhook_events where type = 'webhook.test'`),
  );
const NOTHING = [0, 0, 0, 0];
/** Deliveries, attempts, tests and endpoints that are deleted and left. */
const left = async () => [
  await countOf("keyframe.webhook_deliveries"),
  await countOf("keyframe.webhook_attempts"),
  await countOf("keyframe.webhook_events", "type = 'webhook.test'"),
  await countOf("keyframe_private.deleted_endpoints"),
];

/** Who deletes an endpoint: its owner, an administrator in Studio, the end of the account. */
const DELETIONS: Record<string, (scene: Scene) => Promise<unknown>> = {
  delete_webhook_endpoint: ({ endpoint }) => remove(endpoint),
  "a row deleted in Studio": ({ endpoint }) => db.sql`delete from keyframe.webhook_endpoints where id = ${endpoint}`,
  "the end of the account": ({ owner }) => db.sql`delete from auth.users where id = ${owner}`,
};

describe("a deleted endpoint with delivered, failed and waiting deliveries", () => {
  let other: string;
  beforeEach(async () => {
    other = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, other, 3);
    await sendNext(db.sql, { status_code: 500 });
    await makeRequest(db, scene, "test_webhook_endpoint");
  });

  test.each(Object.entries(DELETIONS))(
    "%s → the owner no longer sees the endpoint, its secrets leave the Vault, and nothing more is sent to it",
    async (_name, end) => {
      await db.sql`select keyframe_private.replace_webhook_secret(${scene.endpoint}, interval '1 hour')`;
      const secrets = await countOf("vault.secrets");
      expect(await seenBy(scene.owner)).toEqual([1, 2, 1, 1]);
      await end(scene);
      expect(await seenBy(scene.owner)).toEqual(NOTHING);
      expect(await countOf("vault.secrets")).toBe(secrets - 2);
      const { deliveries } = await exchange(db.sql, { at: new Date(Date.now() + 3_600_000) });
      expect(new Set(deliveries.map(({ endpoint_id }) => endpoint_id))).toEqual(new Set([other]));
      expect(await columnOf(db.sql`select endpoint_id from keyframe_private.admin_webhook_health`)).toEqual([other]);
      const [row] = await db.sql`select keyframe_worker.service_figures() -> 'deliveries' as figures`;
      expect(row?.figures).toMatchObject({ pending: 3, paused: 0 });
    },
  );

  test.each(["test_webhook_endpoint", "redeliver_webhook"])(
    "%s is repeated with its key after the endpoint was deleted → not_found",
    async (name) => {
      const key = { idempotency_key: `before-${name}`, request_hash: "a".repeat(64) };
      await makeRequest(db, scene, name, key);
      await remove(scene.endpoint);
      expect(await codeOf(makeRequest(db, scene, name, key))).toBe("not_found");
    },
  );
});

describe("the remains of deleted endpoints", () => {
  test("the pruning job after an endpoint's deletion → deletes its deliveries, attempts and tests; events and other data stay", async () => {
    await makeRequest(db, scene, "test_webhook_endpoint");
    await sendNext(db.sql, { status_code: 500 });
    const other = await addEndpoint(db.sql, scene.owner);
    await db.sql`
      insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type)
      select event_id, ${other}, owner_id, event_type from keyframe.webhook_deliveries where event_type <> 'webhook.test'`;
    await call(db, scene.caller, "test_webhook_endpoint", { endpoint_id: other });
    await sendNext(db.sql, { status_code: 200 });
    expect(await left()).toEqual([4, 4, 2, 0]);
    const events = await countOf("keyframe.webhook_events", "type = 'project.created'");
    await remove(scene.endpoint);
    expect(await left()).toEqual([4, 4, 2, 1]);
    await db.sql`select keyframe_private.prune()`;
    expect(await left()).toEqual([2, 2, 1, 0]);
    expect(await countOf("keyframe.webhook_events", "type = 'project.created'")).toBe(events);
  });

  test("more test events of a deleted endpoint than a batch holds → deleted in batches, too", async () => {
    for (let i = 0; i < 3; i++) await makeRequest(db, scene, "test_webhook_endpoint");
    await db.sql`delete from keyframe.webhook_deliveries`;
    await remove(scene.endpoint);
    await pruneOnce(2);
    expect(await left()).toEqual([0, 0, 1, 1]);
    await pruneOnce(2);
    expect(await left()).toEqual(NOTHING);
  });

  test("an administrator inserts an endpoint with a deleted one's id → refused until nothing of the deleted one is left", async () => {
    const again = () => addEndpoint(db.sql, scene.owner, { id: scene.endpoint });
    await remove(scene.endpoint);
    expect(await codeOf(again())).toBe("invalid_request");
    await db.sql`select keyframe_private.prune_webhooks()`;
    await again();
    expect((await seenBy(scene.owner)).slice(0, 2)).toEqual([1, 0]);
  });

  test("an event that was open at the deletion commits after the pruning → its delivery is pruned as well", async () => {
    await letDeletionsBe("now()");
    await db.sql.begin(async (open) => {
      await open`insert into keyframe.projects (owner_id, title, text_prompt) values (${scene.owner}, 'Open', 'A harbour')`;
      await remove(scene.endpoint);
      await pruneOnce(100);
    });
    expect(await left()).toEqual([1, 0, 0, 1]);
    await pruneOnce(100);
    await db.sql`update keyframe_private.deleted_endpoints set deleted_at = now() - interval '6 minutes'`;
    await pruneOnce(100);
    expect(await left()).toEqual(NOTHING);
  });

  test("ready work of a deleted endpoint is locked → a claim drops the rest without waiting, and that later", async () => {
    await seedDeliveries(db.sql, scene.endpoint, 3);
    await remove(scene.endpoint);
    await db.sql.begin(async (open) => {
      await open`select from keyframe_private.work where queue = 'deliver' order by id limit 1 for update`;
      await impatiently(db.sql, (other) => exchange(other));
      expect(await countOf("keyframe_private.work", "queue = 'deliver'")).toBe(1);
    });
    await exchange(db.sql);
    expect(await countOf("keyframe_private.work", "queue = 'deliver'")).toBe(0);
  });
});

describe("open requests of a deleted endpoint", () => {
  let deliveries: Leased[];
  beforeEach(async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    ({ deliveries } = await exchange(db.sql));
    await remove(scene.endpoint);
  });

  test.each([200, 410, 500])(
    "open requests of a deleted endpoint end with %i → their results are discarded; others in the batch count",
    async (status_code) => {
      expect(deliveries.length).toBe(2);
      await record(db.sql, resultsOf(deliveries, { status_code }));
      const counted = await columnOf(db.sql`
        select attempts from keyframe.webhook_deliveries where endpoint_id in (select id from keyframe.webhook_endpoints)`);
      expect(counted).toEqual([1]);
      expect(await seenBy(scene.owner)).toEqual(NOTHING);
    },
  );

  test("a deleted endpoint's deliveries are pruned during its requests → their results are dropped without waiting; others count", async () => {
    const theirs = deliveries.filter(({ endpoint_id }) => endpoint_id === scene.endpoint).map(({ id }) => id);
    await db.sql.begin(async (sql) => {
      await sql`select keyframe_private.prune_deleted_endpoints()`;
      await impatiently(db.sql, async (other) =>
        expect((await record(other, resultsOf(deliveries))).unrecorded).toEqual(theirs),
      );
    });
    expect((await record(db.sql, resultsOf(deliveries))).unrecorded).toEqual([]);
    expect(await countOf("keyframe.webhook_attempts")).toBe(1);
  });
});

test("a batch of a deleted endpoint is being deleted → no write waits for a lock, its owner's included", async () => {
  const wide = await addEndpoint(db.sql, null);
  await seedDeliveries(db.sql, scene.endpoint, 50);
  await seedDeliveries(db.sql, wide, 1);
  await remove(scene.endpoint);
  await db.sql.begin(async (sql) => {
    await sql`select keyframe_private.prune_webhooks()`;
    await makeRequest(db, scene, "create_project");
    await makeRequest(db, scene, "create_webhook_endpoint");
    expect((await sendNext(db.sql, { status_code: 200 })).length).toBeGreaterThan(0);
  });
  expect(await countOf("keyframe.webhook_deliveries", `endpoint_id = '${scene.endpoint}'`)).toBe(0);
});

test("a project is created while its owner's endpoint is deleted → no wait; its delivery is not sent, and is pruned", async () => {
  await db.sql`delete from keyframe.webhook_events`;
  await db.sql.begin(async (sql) => {
    await sql`delete from keyframe.webhook_endpoints where id = ${scene.endpoint}`;
    await makeRequest(db, scene, "create_project");
  });
  expect(await countOf("keyframe.webhook_events", `owner_id = '${scene.owner}'`)).toBe(1);
  expect((await exchange(db.sql)).deliveries).toEqual([]);
  await db.sql`select keyframe_private.prune_webhooks()`;
  expect(await countOf("keyframe.webhook_deliveries")).toBe(0);
});

test.each([
  ["update_webhook_endpoint", "endpoint"],
  ["delete_webhook_endpoint", "endpoint"],
  ["rotate_webhook_secret", "endpoint"],
  ["test_webhook_endpoint", "endpoint"],
  ["recover_webhook_endpoint", "endpoint"],
  ["redeliver_webhook", "delivery"],
] as const)("%s while its %s is being deleted → waits, then not_found", async (name, what) => {
  const table = what === "endpoint" ? "webhook_endpoints" : "webhook_deliveries";
  const { outcome } = await db.sql.begin(async (sql) => {
    await sql.unsafe(`delete from keyframe.${table} where id = '${scene[what]}'`);
    const outcome = codeOf(makeRequest(db, scene, name));
    await Promise.race([outcome, untilSomebodyWaits(db.sql)]);
    return { outcome };
  });
  expect(await outcome).toBe("not_found");
});
