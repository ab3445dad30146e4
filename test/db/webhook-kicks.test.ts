import { Webhook } from "standardwebhooks";
import { beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { fillVault } from "../../local/stack/apply-migrations.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { complete } from "../support/database/calls.ts";
import { addProject, addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { addEndpoint, call, clearWebhooks, exchange, lease, seedDeliveries } from "../support/database/webhooks.ts";

const { kickSecret } = inject("stack");
const FUNCTIONS_URL = "http://127.0.0.1:9/functions/v1";

const db = useDatabase();
let world: World;
let endpoint: string;
beforeAll(async () => {
  await fillVault(db.sql, { keyframe_functions_url: FUNCTIONS_URL, keyframe_kick_secret: kickSecret });
});
beforeEach(async () => {
  world = await addWorld(db);
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, world.owner);
  await db.sql`truncate keyframe_private.worker_heartbeats, net.http_request_queue`;
});

type Kick = { url: string; headers: Record<string, string>; body: string };
const kicks = () => db.sql<Kick[]>`
  select url, headers, convert_from(body, 'UTF8') as body from net.http_request_queue where url like '%/keyframe-deliver' order by id`;
async function kicksOf(work: () => Promise<unknown>): Promise<number> {
  const before = (await kicks()).length;
  await work();
  return (await kicks()).length - before;
}
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);

describe("an event wakes deliver", () => {
  test("with a kick that is signed, carries no ids and no secret, and goes to deliver alone", async () => {
    await addProject(db, world.owner);
    const [kick] = await kicks();
    expect(kick).toMatchObject({ url: `${FUNCTIONS_URL}/keyframe-deliver`, body: "{}" });
    expect(new Webhook(kickSecret).verify(kick?.body ?? "", kick?.headers ?? {})).toEqual({});
    expect((await db.sql`select from net.http_request_queue`).count).toBe(1);
  });

  test("with an endpoint → one kick; without → none", async () => {
    expect(await kicksOf(() => addProject(db, world.owner))).toBe(1);
    const other = await db.addUser();
    expect(await kicksOf(() => addProject(db, other))).toBe(0);
  });

  test("the end of a prediction → one kick", async () => {
    const { id, lease } = await seedPrediction(db.sql, world, { status: "storing" });
    expect(await kicksOf(() => complete(db.sql, id, lease))).toBe(1);
  });

  test("twenty projects in one statement, for three endpoints → one kick", async () => {
    for (let i = 0; i < 2; i++) await addEndpoint(db.sql, null);
    const rows = Array.from({ length: 20 }, () => ({ owner_id: world.owner, title: "t", text_prompt: "p" }));
    expect(await kicksOf(() => db.sql`insert into keyframe.projects ${db.sql(rows)}`)).toBe(1);
    expect((await db.sql`select from keyframe.webhook_deliveries`).count).toBe(60);
  });

  test("several statements in one transaction → one kick", async () => {
    const work = () =>
      db.sql.begin(async (sql) => {
        for (let i = 0; i < 3; i++)
          await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, 't', 'p')`;
      });
    expect(await kicksOf(work)).toBe(1);
  });

  test("another transaction while the first is not committed → one kick for both, and neither waits", async () => {
    const work = () =>
      db.sql.begin(async (sql) => {
        await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, 't', 'p')`;
        await addProject(db, world.owner);
      });
    expect(await kicksOf(work)).toBe(1);
  });

  test("a transaction that is rolled back → no kick", async () => {
    const work = () =>
      rolledBack(db.sql, async (sql) => {
        await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, 't', 'p')`;
      });
    expect(await kicksOf(work)).toBe(0);
  });
});

describe("while the heartbeat of deliver is live", () => {
  test("→ no kick", async () => {
    await exchange(db.sql, { heartbeatMs: 60_000 });
    expect(await kicksOf(() => addProject(db, world.owner))).toBe(0);
  });

  test("and made its final claim → a kick again", async () => {
    await exchange(db.sql, { heartbeatMs: 60_000 });
    await exchange(db.sql, { heartbeatMs: 0 });
    await db.sql`delete from keyframe.webhook_deliveries`;
    expect(await kicksOf(() => addProject(db, world.owner))).toBe(1);
  });

  test("and the time has passed (it died) → a kick again", async () => {
    await exchange(db.sql, { heartbeatMs: 60_000 });
    await db.sql`update keyframe_private.worker_heartbeats set alive_until = clock_timestamp() - interval '1 millisecond'`;
    expect(await kicksOf(() => addProject(db, world.owner))).toBe(1);
  });

  test("generate's heartbeat → is not deliver's", async () => {
    await db.sql`select keyframe_worker.claim_predictions(1, 60, 60000)`;
    expect(await kicksOf(() => addProject(db, world.owner))).toBe(1);
  });
});

describe("the owner's wishes wake deliver too", () => {
  test("a test event, a redelivery, a recovery, an endpoint enabled again → one kick each", async () => {
    const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const wish = (name: string, args: Record<string, string | boolean | Date>) => () =>
      call(db, world.owner, name, args);
    expect(await kicksOf(wish("test_webhook_endpoint", { endpoint_id: endpoint }))).toBe(1);
    expect(await kicksOf(wish("redeliver_webhook", { delivery_id: delivery }))).toBe(1);
    expect(await kicksOf(wish("recover_webhook_endpoint", { endpoint_id: endpoint, since: new Date(0) }))).toBe(1);
    expect(await kicksOf(wish("update_webhook_endpoint", { endpoint_id: endpoint, enabled: false }))).toBe(0);
    expect(await kicksOf(wish("update_webhook_endpoint", { endpoint_id: endpoint, enabled: true }))).toBe(1);
    expect(await kicksOf(wish("list_webhook_deliveries", { endpoint_id: endpoint }))).toBe(0);
  });
});

describe("the sweep kicks deliver", () => {
  const sweep = () => db.sql`select keyframe_private.sweep()`;

  test("something is due (its kick was lost, or its retry's time has come) → one kick", async () => {
    await seedDeliveries(db.sql, endpoint, 3);
    expect(await kicksOf(sweep)).toBe(1);
  });

  test("a lease that ran out (the function died) → one kick", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    await lease(db.sql, endpoint, fromNow(-1));
    expect(await kicksOf(sweep)).toBe(1);
  });

  test.each([
    ["nothing is due yet", { next_attempt_at: fromNow(3600) }],
    ["all is delivered", { status: "delivered", completed_at: new Date() }],
    ["all is exhausted", { status: "exhausted", completed_at: new Date() }],
  ])("%s → none", async (_name, columns) => {
    await seedDeliveries(db.sql, endpoint, 1, columns);
    expect(await kicksOf(sweep)).toBe(0);
  });

  test("what is due is being sent → none", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    await lease(db.sql, endpoint, fromNow(3600));
    expect(await kicksOf(sweep)).toBe(0);
  });

  test("what is due belongs to disabled endpoints → none, until one is enabled", async () => {
    await seedDeliveries(db.sql, endpoint, 5);
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    expect(await kicksOf(sweep)).toBe(0);
    await db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${endpoint}`;
    expect(await kicksOf(sweep)).toBe(1);
  });

  test("the heartbeat of deliver is live → none", async () => {
    await exchange(db.sql, { heartbeatMs: 60_000 });
    await seedDeliveries(db.sql, endpoint, 1);
    expect(await kicksOf(sweep)).toBe(0);
  });

  test("predictions due as well → a kick for each of the two functions", async () => {
    await seedDeliveries(db.sql, endpoint, 1);
    await seedPrediction(db.sql, world, { columns: { lease_token: null } });
    await sweep();
    const urls = await db.sql<{ url: string }[]>`select url from net.http_request_queue order by url`;
    expect(urls.map(({ url }) => url)).toEqual([
      `${FUNCTIONS_URL}/keyframe-deliver`,
      `${FUNCTIONS_URL}/keyframe-generate`,
    ]);
  });
});

describe("a kick that cannot be made → the project is saved, its event and delivery too", () => {
  test.each([
    ["the Vault has no address", "delete from vault.secrets where name = 'keyframe_functions_url'"],
    ["the Vault is gone", "drop schema vault cascade"],
    [
      "the address is no URL",
      "select vault.update_secret((select id from vault.secrets where name = 'keyframe_functions_url'), 'not a url')",
    ],
    ["net.http_post is gone", "drop function net.http_post"],
    ["pg_net is gone", "drop schema net cascade"],
    ["pgcrypto is gone", "drop extension pgcrypto cascade"],
  ])("%s", async (_name, breakage) => {
    await rolledBack(db.sql, async (sql) => {
      await sql.unsafe(breakage);
      await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
      await sql`set local role authenticated`;
      await sql`select keyframe.create_project('t', 'p')`;
      await sql`reset role`;
      const [row] = await sql`
        select count(*)::int as events, (select count(*)::int from keyframe.webhook_deliveries) as deliveries from keyframe.webhook_events`;
      expect(row).toEqual({ events: 1, deliveries: 1 });
    });
  });
});
