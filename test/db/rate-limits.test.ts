import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, type World } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { create, start } from "../support/database/user.ts";

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
  await db.sql`update keyframe_private.rate_limits set capacity = 3, per_second = 0.1`;
});
afterEach(() => db.sql`truncate keyframe_private.rate_buckets`);

const upload = (owner: string) =>
  db.as({ role: "authenticated", sub: owner }, async (sql) => {
    const [row] = await sql`select keyframe.admit_upload() as admitted`;
    return row?.admitted;
  });

/** As if so much time had gone by. */
const pass = (interval: string) =>
  db.sql`update keyframe_private.rate_buckets set refilled_at = refilled_at - ${interval}::interval`;

/** The hint of a refusal. */
const told = (policy: string, wait_seconds: number) => ({
  policy,
  limit: 3,
  window_seconds: 30,
  wait_seconds,
});
const hintOf = async (refused: Promise<unknown>) => {
  const { sqlstate, message, hint } = await refusalOf(refused);
  return { sqlstate, message, hint: JSON.parse(hint ?? "null") };
};

const REQUESTS: Record<string, () => Promise<{ rate: Record<string, unknown> }>> = {
  create: () => create(db, world.owner),
  generate: () => start(db, world),
  upload: () => upload(world.owner),
};

describe.each(Object.entries(REQUESTS))("%s", (policy, request) => {
  test("counts down, then rate_limited with policy, limit and the seconds to wait as hint, and it changes nothing", async () => {
    for (const remaining of [2, 1, 0]) {
      expect((await request()).rate).toMatchObject({ policy, limit: 3, remaining, window_seconds: 30 });
    }
    const refusal = { sqlstate: "KEYFR", message: "rate_limited", hint: told(policy, 10) };
    expect(await hintOf(request())).toEqual(refusal);
    expect(await hintOf(request())).toEqual(refusal);
    const [made] = await db.sql`
      select (select count(*) from keyframe.projects where owner_id = ${world.owner})::int as projects,
        (select count(*) from keyframe.predictions where owner_id = ${world.owner})::int as predictions`;
    expect(made).toEqual({ projects: policy === "create" ? 4 : 1, predictions: policy === "generate" ? 3 : 0 });
  });
});

test("time passes → tokens come back at per_second, never more than the capacity", async () => {
  for (let i = 0; i < 3; i++) await upload(world.owner);
  await pass("9 seconds");
  expect(await hintOf(upload(world.owner))).toMatchObject({ message: "rate_limited", hint: told("upload", 1) });
  await pass("2 seconds");
  expect((await upload(world.owner)).rate.remaining).toBe(0);
  await pass("1 day");
  expect((await upload(world.owner)).rate.remaining).toBe(2);
});

test("the state says how long until the bucket is full again", async () => {
  expect((await upload(world.owner)).rate).toMatchObject({ reset_seconds: 10 });
  expect((await upload(world.owner)).rate).toMatchObject({ reset_seconds: 20 });
});

test("a clock that was set back an hour → takes no tokens away, and refilling goes on at once", async () => {
  await upload(world.owner);
  await pass("-1 hour");
  expect((await upload(world.owner)).rate.remaining).toBe(1);
  expect((await upload(world.owner)).rate.remaining).toBe(0);
  await pass("11 seconds");
  expect((await upload(world.owner)).rate.remaining).toBe(0);
});

test("a request that began a moment earlier than one that was faster → no time is counted twice", async () => {
  await upload(world.owner);
  await pass("-5 seconds");
  expect((await upload(world.owner)).rate.remaining).toBe(1);
  await pass("5 seconds");
  expect((await upload(world.owner)).rate.remaining).toBe(0);
});

test("a changed limit → holds from the next request on", async () => {
  for (let i = 0; i < 3; i++) await upload(world.owner);
  await db.sql`update keyframe_private.rate_limits set per_second = 100 where route_class = 'upload'`;
  await pass("1 second");
  expect((await upload(world.owner)).rate.remaining).toBe(2);
  await db.sql`update keyframe_private.rate_limits set capacity = 1 where route_class = 'upload'`;
  await upload(world.owner);
  expect(
    await codeOf(
      db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
        await sql`select keyframe_private.take_token('upload')`;
        await sql`select keyframe_private.take_token('upload')`;
      }),
    ),
  ).toBe("rate_limited");
});

test("classes and owners → each has a bucket of its own", async () => {
  for (let i = 0; i < 3; i++) await upload(world.owner);
  expect((await create(db, world.owner)).rate.remaining).toBe(2);
  expect((await start(db, world)).rate.remaining).toBe(2);
  expect((await upload((await addWorld(db)).owner)).rate.remaining).toBe(2);
});

test("20 requests of one owner at once → exactly the capacity goes through", async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => create(db, world.owner)));
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBe(3);
});

test("rows straight through the Data API → are counted one by one like calls of the functions", async () => {
  const rows = Array.from({ length: 4 }, () => ({ title: "t", text_prompt: "p" }));
  const insert = db.as(
    { role: "authenticated", sub: world.owner },
    (sql) => sql`insert into keyframe.projects ${sql(rows)}`,
  );
  expect(await codeOf(insert)).toBe("rate_limited");
  expect((await create(db, world.owner)).rate.remaining).toBe(2);
});

test("take_token → says how the bucket then stands, as rate_state does afterwards", async () => {
  const states = await db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
    const [taken] = await sql`select keyframe_private.take_token('upload') as state`;
    const [then] = await sql`select keyframe_private.rate_state('upload') as state`;
    return [taken?.state, then?.state];
  });
  expect(states[0]).toEqual({ policy: "upload", limit: 3, remaining: 2, reset_seconds: 10, window_seconds: 30 });
  expect(states[1]).toEqual(states[0]);
});

test("without a session → nothing is taken, and no rate is returned", async () => {
  const [row] = await db.as(
    { role: "authenticated" },
    (sql) => sql`select keyframe_private.take_token('upload') as taken, keyframe_private.rate_state('upload') as state`,
  );
  expect(row).toEqual({ taken: null, state: null });
  expect((await db.sql`select from keyframe_private.rate_buckets`).count).toBe(0);
});

test("a class without a row → has no limit", async () => {
  await db.sql`delete from keyframe_private.rate_limits where route_class = 'upload'`;
  for (let i = 0; i < 5; i++) expect((await upload(world.owner)).rate).toBe(null);
  await db.sql`insert into keyframe_private.rate_limits values ('upload', 3, 0.1)`;
});

test("an administrator's insert → is not limited and takes no tokens", async () => {
  for (let i = 0; i < 5; i++) {
    await db.sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame')`;
  }
  expect((await start(db, world)).rate.remaining).toBe(2);
});
