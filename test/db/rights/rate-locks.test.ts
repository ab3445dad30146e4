import { beforeEach, describe, expect, test } from "vitest";
import { claim, complete, providerSays } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { addScene, makeRequest, REQUESTS, type Scene } from "../../support/database/requests.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import { addEndpoint, exchange, resultOf } from "../../support/database/webhooks.ts";

// A token's row stays locked to the end of its transaction. A transaction that waits for one must hold nothing that its holder may need.

const db = useDatabase();
let scene: Scene;
beforeEach(async () => {
  scene = await addScene(db, await db.addUser());
});

const TABLES = ["projects", "films", "predictions", "webhook_endpoints", "webhook_deliveries", "webhook_events"];

/** The tables with rows that somebody has locked; the lock that only keeps a row from being deleted is left out. */
async function lockedTables(): Promise<string[]> {
  const isLocked = async (table: string) =>
    (await db.sql.unsafe(`select from ${table}`)).count >
    (await db.sql.unsafe(`select from ${table} for no key update skip locked`)).count;
  const names = [...TABLES.map((name) => `keyframe.${name}`), "keyframe_private.webhook_secrets"];
  const locked = await Promise.all(names.map(isLocked));
  return names.filter((_, at) => locked[at]);
}

describe.each(Object.entries(REQUESTS))("%s, while another request of its owner has the token", (name, { takes }) => {
  test("→ waits with no row and no advisory lock in its hands, then goes through", async () => {
    if (name === "delete_project" || name === "delete_prediction") await makeRequest(db, scene, "cancel_prediction");
    const waited = await db.sql.begin(async (sql) => {
      await sql`
        insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at) values (${scene.owner}, ${takes}, 100, now())
        on conflict (owner_id, route_class) do update set tokens = 100`;
      const outcome = makeRequest(db, scene, name);
      await untilSomebodyWaits(db.sql);
      expect(await lockedTables()).toEqual([]);
      const advisory = await db.sql`
        select from pg_locks join pg_database d on d.oid = database
        where locktype = 'advisory' and granted and datname = current_database()
          -- nobody waits for the place of a call
          and (classid::bigint << 32 | objid::bigint) <> hashtextextended(${`keyframe call 1 of ${scene.owner}`}, 0)`;
      expect(advisory.count).toBe(0);
      return { outcome };
    });
    expect(await waited.outcome).toEqual(expect.any(Object));
  });
});

test("requests of all kinds by one owner at once, eight of each, next to the workers → no deadlock, only named refusals", async () => {
  const scenes = [scene];
  while (scenes.length < 4) scenes.push({ ...(await addScene(db, scene.owner)) });
  for (let i = 0; i < 4; i++) await addEndpoint(db.sql, scene.owner);
  const names = Object.keys(REQUESTS);
  const requests = Array.from({ length: names.length * 8 }, (_, i) => async () => {
    // Steps of 7 mix the names; two equal requests follow each other with one key.
    const name = names[(Math.floor(i / 2) * 7) % names.length] ?? "";
    const key = { idempotency_key: `${name}-${Math.floor(i / 2)}`, request_hash: "a".repeat(64) };
    const of = scenes[Math.floor(i / 3) % scenes.length] ?? scene;
    await makeRequest(db, of, name, REQUESTS[name]?.post ? key : {});
  });
  const workers = Array.from({ length: 24 }, (_, i) => async () => {
    if (i % 3 === 0) {
      const { deliveries } = await exchange(db.sql);
      await exchange(db.sql, { results: deliveries.map((one) => resultOf(one)), maxRows: 0 });
    } else if (i % 3 === 1) {
      for (const { id, lease_token, task } of await claim(db.sql, 5)) {
        if (task === "submit") await providerSays(db.sql, { id, run: `run-${id}`, status: "succeeded" });
        else if (task === "store") await complete(db.sql, id, lease_token);
      }
    } else {
      await db.sql`select keyframe_private.sweep(), keyframe_private.prune()`;
    }
  });
  const all = requests.flatMap((request, i) => (i % 8 === 7 ? [request, workers[(i - 7) / 8]] : [request]));
  const outcomes = await Promise.allSettled(all.map((work) => work?.()));
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  const codes = await Promise.all(refused.map((reason) => refusalOf(Promise.reject(reason))));
  // 55P03: it waited for its owner's others for longer than it may.
  expect(codes.filter(({ sqlstate }) => !["KEYFR", "55P03"].includes(sqlstate))).toEqual([]);
  expect(outcomes.length - refused.length).toBeGreaterThan(100); // most were answered
});
