import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addServiceScene, makeRequest, REQUESTS, WEBHOOK_REQUESTS } from "../../support/database/requests.ts";
import { scalar } from "../../support/database/scalar.ts";
import { setSettings } from "../../support/database/settings.ts";
import { create } from "../../support/database/user.ts";
import { call } from "../../support/database/webhooks.ts";

// How a bucket fills and empties. What each request of the API takes and is told: test/api.

const db = useDatabase("shipped limits");
const world = useWorld(db);
beforeEach(async () => {
  await db.sql`update keyframe_private.rate_limits set capacity = 3, per_second = 0.001`; // none comes back during a test
});
afterEach(() => emptyTables(db.sql, "keyframe_private.rate_buckets"));

type Admitted = { rate: { remaining: number; reset_seconds: number } };
const upload = (args = {}) => call<Admitted>(db, world.owner, "admit_upload", args);
/** Owners whom health names as limited. */
const named = () => scalar(db.sql`select keyframe_worker.service_figures() -> 'limitedOwners'`);
const remaining = async () => (await upload()).rate.remaining;

/** What a busy machine takes off is not the bucket's fault. */
function expectAbout(seconds: number, most: number): void {
  expect(seconds).toBeLessThanOrEqual(most);
  expect(seconds).toBeGreaterThan(most - 60);
}

/** As if so much time had gone by. */
const pass = (interval: string) =>
  db.sql`update keyframe_private.rate_buckets set refilled_at = refilled_at - ${interval}::interval, low_since = low_since - ${interval}::interval`;

test("time passes → tokens come back at per_second, never more than the capacity", async () => {
  for (let i = 0; i < 3; i++) await upload();
  await pass("900 seconds");
  expectAbout(JSON.parse((await refusalOf(upload())).hint ?? "").wait_seconds, 100);
  await pass("200 seconds");
  expect(await remaining()).toBe(0);
  await pass("1 day");
  const { rate } = await upload();
  expect(rate.remaining).toBe(2);
  expectAbout(rate.reset_seconds, 1000);
});

test("an owner has less than a tenth of a bucket left for ten seconds → health names the owner, until tokens come back", async () => {
  await db.sql`update keyframe_private.rate_limits set capacity = 20 where route_class = 'read'`;
  const look = () => call(db, world.owner, "list_projects");
  for (let i = 0; i < 3; i++) await upload();
  for (let i = 0; i < 18; i++) await look(); // a tenth is left
  expect(await named()).toEqual([]);
  await pass("11 seconds");
  expect(await codeOf(upload())).toBe("rate_limited");
  const [owner, ...others] = await named();
  expect(owner).toMatchObject({ ownerId: world.owner, routeClass: "upload" });
  expect(others).toEqual([]);
  expectAbout(-owner.seconds, -11);
  await pass("500 seconds");
  expect(await named()).toEqual([]);
  await pass("2500 seconds");
  for (let i = 0; i < 3; i++) await upload();
  expect(await named()).toEqual([]); // a new burst
});

test("an owner waits for ten seconds with more calls than are allowed at once → health names the owner", async () => {
  const video = { project_id: world.project, step: "video", waiting: true };
  for (let i = 0; i < 3; i++) expect(await codeOf(call(db, world.owner, "read_prediction", video))).toBe("not_found");
  await pass("11 seconds");
  expect(await named()).toMatchObject([{ ownerId: world.owner, routeClass: "wait" }]);
});

test("a bucket of one token is used up now and then, or its clock was set back → named only from when it was used up", async () => {
  await db.sql`update keyframe_private.rate_limits set capacity = 1, per_second = 0.01 where route_class = 'upload'`;
  for (let i = 0; i < 3; i++) {
    await upload();
    await pass("1 hour"); // it is full again
  }
  await upload();
  expect(await named()).toEqual([]);
  await db.sql`update keyframe_private.rate_limits set capacity = 3 where route_class = 'upload'`;
  await pass("-1 hour"); // the clock was set back
  await db.sql`update keyframe_private.rate_buckets set tokens = 1`;
  await upload();
  await pass("11 seconds");
  expect(await named()).toMatchObject([{ ownerId: world.owner, routeClass: "upload" }]);
});

test("the clock is set back an hour → no tokens are lost, and refilling goes on at once", async () => {
  await upload();
  await pass("-1 hour");
  expect([await remaining(), await remaining()]).toEqual([1, 0]);
  await pass("1100 seconds");
  expect(await remaining()).toBe(0);
});

test("a request that began earlier finishes after a faster one → no time is counted twice for refilling", async () => {
  await db.sql`update keyframe_private.rate_limits set per_second = 0.02`;
  await upload();
  await pass("-55 seconds");
  expect(await remaining()).toBe(1);
  await pass("55 seconds");
  expect(await remaining()).toBe(0);
});

test("a rate limit is changed → applies from the next request on; a class without a row has no limit", async () => {
  for (let i = 0; i < 3; i++) await upload();
  await db.sql`update keyframe_private.rate_limits set per_second = 100 where route_class = 'upload'`;
  await pass("1 second");
  expect(await remaining()).toBe(2);
  await db.sql`update keyframe_private.rate_limits set capacity = 1, per_second = 0.001 where route_class = 'upload'`;
  expect(await remaining()).toBe(0);
  expect(await codeOf(upload())).toBe("rate_limited");
  await db.sql`delete from keyframe_private.rate_limits where route_class = 'upload'`;
  for (let i = 0; i < 5; i++) expect((await upload()).rate).toBe(null);
  await db.sql`insert into keyframe_private.rate_limits values ('upload', 3, 0.001)`;
});

test("uploads with one Idempotency-Key → each costs a token before its body is read, and none after it", async () => {
  const admit = (request_hash: string | null) => upload({ idempotency_key: "k", request_hash });
  const left = async (hash: string | null) => (await admit(hash)).rate.remaining;
  const hash = "a".repeat(64);
  expect([await left(null), await left(null), await left(hash), await left(null)]).toEqual([2, 1, 1, 0]);
  expect(await codeOf(admit(null))).toBe("rate_limited");
  expect(await left(hash)).toBe(0);
});

test("20 requests of one owner at once → exactly the capacity succeeds", async () => {
  await setSettings(db.sql, { max_calls_per_owner: 20 });
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => create(db, world.owner)));
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(3);
});

test("rows by the Data API → are counted one by one, like calls of the functions", async () => {
  const rows = Array.from({ length: 4 }, () => ({ title: "t", text_prompt: "p" }));
  const insert = db.asUser(world.owner, (sql) => sql`insert into keyframe.projects ${sql(rows)}`);
  expect(await codeOf(insert)).toBe("rate_limited");
  expect((await create(db, world.owner)).rate.remaining).toBe(2);
});

test("a request without a session → costs nothing and returns no rate; an administrator's insert costs nothing either", async () => {
  const [row] = await db.as({ role: "authenticated" }, async (sql) => {
    await sql`reset role`; // only functions of ours call them, for the caller of the claims
    return await sql`select keyframe_private.acquire_token('upload') as taken, keyframe_private.rate_state('upload') as state`;
  });
  expect(row).toEqual({ taken: null, state: null });
  await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame')`;
  expect((await db.sql`select from keyframe_private.rate_buckets`).count).toBe(0);
});

type Answer = { rate: object | null; replayed?: boolean };

describe("each function that a user may call, but for health", () => {
  test("each function that users may call → is in the table of requests, takes an Idempotency-Key only as POST, is volatile", async () => {
    const rows = await db.sql<{ name: string; keyed: boolean; volatility: string }[]>`
      select proname as name, 'idempotency_key' = any (proargnames) as keyed, provolatile as volatility from pg_proc
      where pronamespace = 'keyframe'::regnamespace and has_function_privilege('authenticated', oid, 'execute') and proname <> 'health'`;
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(REQUESTS).sort());
    expect(rows.filter(({ name, keyed }) => Boolean(keyed) !== (REQUESTS[name]?.post ?? false))).toEqual([]);
    expect(rows.filter(({ volatility }) => volatility !== "v")).toEqual([]);
  });

  test("webhook functions called with the secret key → are not limited and return no rate", async () => {
    for (const name of Object.keys(WEBHOOK_REQUESTS)) {
      expect((await makeRequest<Answer>(db, await addServiceScene(db), name)).rate).toBe(null);
    }
    expect((await db.sql`select from keyframe_private.rate_buckets`).count).toBe(0);
  });
});
