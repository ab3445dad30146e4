import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";
import {
  addScene,
  addServiceScene,
  makeRequest,
  REQUESTS,
  type Scene,
  WEBHOOK_REQUESTS,
} from "../support/database/requests.ts";

// Which token each request takes: one, of its own class, and none when nothing is done.

let db: ClonedDatabase;
let scene: Scene;
beforeAll(async () => {
  db = await cloneDatabase();
  // So slow that none comes back during a test.
  await db.sql`update keyframe_private.rate_limits set capacity = 10, per_second = 0.0001`;
});
beforeEach(async () => {
  scene = await addScene(db, await db.addUser());
});
afterAll(() => db.drop());

const KEY = { idempotency_key: "once", request_hash: "a".repeat(64) };
type Rate = { policy: string; limit: number; remaining: number };
type Answer = { rate: Rate | null; replayed?: boolean };

/** A project with something running is not deleted. */
const readyFor = async (name: string) => {
  if (name === "delete_project") await makeRequest(db, scene, "cancel_prediction");
};
const bucketsOf = async (owner: string) =>
  Object.fromEntries(
    (
      await db.sql<{ route_class: string; taken: number }[]>`
        select route_class, round(10 - tokens)::int as taken from keyframe_private.rate_buckets where owner_id = ${owner}`
    ).map(({ route_class, taken }) => [route_class, taken]),
  );

describe.each(Object.entries(REQUESTS))("%s", (name, { takes, post }) => {
  test(`takes one token of ${takes} and says what is left`, async () => {
    await readyFor(name);
    const before = await bucketsOf(scene.owner);
    const { rate } = await makeRequest<Answer>(db, scene, name);
    const taken = (before[takes] ?? 0) + 1;
    expect(rate).toMatchObject({ policy: takes, limit: 10, remaining: 10 - taken });
    expect(await bucketsOf(scene.owner)).toEqual({ ...before, [takes]: taken });
  });

  test(`with no token of ${takes} left → rate_limited, nothing is done, the other classes do not help`, async () => {
    await db.sql`
      insert into keyframe_private.rate_buckets (owner_id, route_class, tokens, refilled_at)
      select ${scene.owner}, route_class, case route_class when ${takes} then 0 else 10 end, now() from keyframe_private.rate_limits`;
    const everything = () => db.sql`
      select (select jsonb_agg(to_jsonb(p) order by p.id) from keyframe.projects p) as projects,
        (select jsonb_agg(to_jsonb(p) order by p.id) from keyframe.predictions p) as predictions,
        (select jsonb_agg(to_jsonb(e) order by e.id) from keyframe.webhook_endpoints e) as endpoints,
        (select jsonb_agg(to_jsonb(d) order by d.id) from keyframe.webhook_deliveries d) as deliveries,
        (select jsonb_agg(to_jsonb(s) order by s.id) from keyframe_private.webhook_secrets s) as secrets,
        (select jsonb_agg(to_jsonb(k) order by k.key) from keyframe_private.idempotency_keys k) as keys,
        (select count(*) from keyframe_private.rate_buckets where owner_id = ${scene.owner} and tokens < 10) as taken`;
    const before = await everything();
    const refusal = await refusalOf(makeRequest(db, scene, name, post ? KEY : {}));
    expect(refusal.message).toBe("rate_limited");
    expect(JSON.parse(refusal.hint ?? "")).toMatchObject({ policy: takes, limit: 10, wait_seconds: 10_000 });
    expect(await everything()).toEqual(before);
  });

  test("is volatile, for PostgREST runs other functions in a transaction that can only read", async () => {
    const [row] =
      await db.sql`select provolatile from pg_proc where pronamespace = 'keyframe'::regnamespace and proname = ${name}`;
    expect(row?.provolatile).toBe("v");
  });
});

describe.each(Object.entries(REQUESTS).filter(([, { post }]) => post))("%s, replayed", (name) => {
  test("→ takes no token, not even when none is left", async () => {
    const first = await makeRequest<Answer>(db, scene, name, KEY);
    const taken = await bucketsOf(scene.owner);
    const again = await makeRequest<Answer>(db, scene, name, KEY);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.rate).toEqual(first.rate);
    expect(await bucketsOf(scene.owner)).toEqual(taken);
    await db.sql`update keyframe_private.rate_buckets set tokens = 0 where owner_id = ${scene.owner}`;
    expect((await makeRequest<Answer>(db, scene, name, KEY)).replayed).toBe(true);
  });
});

describe.each(Object.keys(WEBHOOK_REQUESTS))("%s with the secret key", (name) => {
  test("→ is not limited and returns no rate", async () => {
    const service = await addServiceScene(db);
    const before = await db.sql`select owner_id, route_class, tokens from keyframe_private.rate_buckets order by 1, 2`;
    expect((await makeRequest<Answer>(db, service, name)).rate).toBe(null);
    expect(await db.sql`select owner_id, route_class, tokens from keyframe_private.rate_buckets order by 1, 2`).toEqual(
      before,
    );
  });
});

test("every function of public that a user may call, but for health → stands in the table of requests", async () => {
  const rows = await db.sql<{ name: string }[]>`
    select proname as name from pg_proc
    where pronamespace = 'keyframe'::regnamespace and has_function_privilege('authenticated', oid, 'execute') and proname <> 'health'`;
  expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(REQUESTS).sort());
});

test("every POST, and nothing else → takes an Idempotency-Key", async () => {
  const rows = await db.sql<{ name: string }[]>`
    select proname as name from pg_proc where pronamespace = 'keyframe'::regnamespace and 'idempotency_key' = any (proargnames)`;
  const posts = Object.entries(REQUESTS).filter(([, { post }]) => post);
  expect(rows.map(({ name }) => name).sort()).toEqual(posts.map(([name]) => name).sort());
});

test("what is read and is not there → not_found, and with an empty bucket rate_limited before anything is read", async () => {
  const missing = { ...scene, project: crypto.randomUUID() };
  expect((await refusalOf(makeRequest(db, missing, "read_prediction"))).message).toBe("not_found");
  await makeRequest(db, scene, "read_prediction");
  await db.sql`update keyframe_private.rate_buckets set tokens = 0 where owner_id = ${scene.owner}`;
  expect((await refusalOf(makeRequest(db, missing, "read_prediction"))).message).toBe("rate_limited");
});

test("the shipped limits → are these", async () => {
  const fresh = await cloneDatabase();
  try {
    const rows = await fresh.sql`select route_class, capacity, per_second from keyframe_private.rate_limits order by 1`;
    expect(rows.map((row) => Object.values(row))).toEqual([
      ["change", 120, 2],
      ["create", 60, 1],
      ["generate", 60, 1],
      ["read", 1200, 20],
      ["upload", 30, 0.5],
    ]);
  } finally {
    await fresh.drop();
  }
});

test("reads of one owner → change the bucket's row in place (HOT): no index entry each", async () => {
  await makeRequest(db, scene, "read_prediction");
  const counted = await db.as({ role: "authenticated", sub: scene.owner }, async (sql) => {
    await sql`
      select keyframe.read_prediction(${scene.project}, 'first-frame') from generate_series(1, 5)`;
    const [row] = await sql`
      select n_tup_upd::int as updated, n_tup_hot_upd::int as in_place from pg_stat_xact_user_tables
      where relid = (select oid from pg_class where relname = 'rate_buckets')`;
    return row;
  });
  expect(counted?.updated).toBeGreaterThanOrEqual(5); // with what this connection did before
  expect(counted?.in_place).toBe(counted?.updated);
});
