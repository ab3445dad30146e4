import type postgres from "postgres";
import { afterEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { claim, complete, providerSays, readRow, sweepAndClaim } from "../../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../../support/database/predictions.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";

const db = useDatabase();
afterEach(async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = default`;
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits",
  );
});

const cancel = (world: World, id: string) =>
  db.asUser(world.owner, (sql) => sql`select keyframe.cancel_prediction(${world.project}, ${id})`);

const positions = async (world: World) => {
  const rows = await db.sql<{ position: number | null }[]>`
    select keyframe_private.queue_position(p) as position from keyframe.predictions p where owner_id = ${world.owner} order by created_at, id`;
  return rows.map(({ position }) => position);
};
const admitted = async (world: World) => {
  const rows = await db.sql`
    select from keyframe.predictions where owner_id = ${world.owner} and admitted_at is not null and completed_at is null`;
  return rows.length;
};

async function startMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await start(db, world)).prediction.id);
  return ids;
}

test("a line of 1,200 → its places are counted up to 1000, which means that or later", async () => {
  const world = await addWorld(db);
  const { id } = await seedPrediction(db.sql, world, {
    status: "queued",
    columns: { admitted_at: null, deadline_at: null },
  });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, created_at)
      select project_id, owner_id, step, input, model, created_at + i * interval '1 second'
      from keyframe.predictions, generate_series(1, 1199) i where id = ${id}`;
  });
  const places = await positions(world);
  expect([places.length, places[0], places[998], places[999], places[1199]]).toEqual([1200, 1, 999, 1000, 1000]);
});

test("the deadline counts from the admission: none while waiting, a frame's 15 minutes, a video's 60", async () => {
  const world = await addWorld(db);
  await seedPrediction(db.sql, world, { status: "succeeded" });
  const minutes = async (step: string) => {
    const { prediction } = await start(db, world, { step });
    const [row] = await db.sql`
      select extract(epoch from deadline_at - admitted_at) / 60 as minutes from keyframe.predictions where id = ${prediction.id}`;
    return row?.minutes === null ? null : Number(row?.minutes);
  };
  expect([
    await minutes("first-frame"),
    await minutes("last-frame"),
    await minutes("video"),
    await minutes("video"),
  ]).toEqual([15, 15, 60, 60]);
  expect(await minutes("video")).toBe(null);
});

test("one in each status that is no end → each has a slot, and a fifth waits", async () => {
  const world = await addWorld(db);
  const statuses = ["queued", "starting", "processing", "storing"] as const;
  for (const status of statuses) await seedPrediction(db.sql, world, { status });
  await start(db, world);
  expect(await admitted(world)).toBe(4);
});

test("one succeeds → the one that waited longest gets its slot, with a deadline, due at once", async () => {
  const world = await addWorld(db);
  const ids = await startMany(world, 6);
  const task = (await claim(db.sql, 100)).find(({ id }) => id === ids[0]);
  await providerSays(db.sql, { id: task?.id ?? "", run: "run-1", status: "succeeded" });
  expect(await positions(world)).toEqual([null, 0, 0, 0, 1, 2]);
  const [storing] = (await claim(db.sql, 100)).filter(({ id }) => id === task?.id);
  expect(await complete(db.sql, storing?.id ?? "", storing?.lease_token ?? null)).toBe(true);
  expect(await positions(world)).toEqual([null, 0, 0, 0, 0, 1]);
  const row = await readRow(db.sql, ids[4] ?? "");
  expect(row.deadline_at).toBeInstanceOf(Date);
  expect((await claim(db.sql)).map(({ id }) => id)).toEqual([ids[4]]);
});

test.each(["fails", "is canceled", "is past its deadline"])("one %s → the next in line gets its slot", async (how) => {
  const world = await addWorld(db);
  const [first = ""] = await startMany(world, 5);
  if (how === "is canceled") await cancel(world, first);
  if (how === "fails") {
    const task = (await claim(db.sql, 100)).find(({ id }) => id === first);
    await providerSays(db.sql, { id: first, attempt: task?.attempt ?? 0, run: "run-x", status: "failed" });
  }
  if (how === "is past its deadline") {
    await db.sql`update keyframe.predictions set deadline_at = now() where id = ${first}`;
    await sweepAndClaim(db.sql);
  }
  expect(await positions(world)).toEqual([null, 0, 0, 0, 0]);
});

test("the next in line is being canceled while a slot frees → the one after it gets the slot", async () => {
  const world = await addWorld(db);
  const [first = "", , , , fifth = "", sixth = ""] = await startMany(world, 6);
  await db.sql.begin(async (canceling) => {
    await canceling`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
    await canceling`select keyframe.cancel_prediction(${world.project}, ${fifth})`;
    // Not by another cancel: those of one owner come one after the other.
    await db.sql`update keyframe.predictions set deadline_at = now() where id = ${first}`;
    await sweepAndClaim(db.sql);
  });
  expect(await readRow(db.sql, fifth)).toMatchObject({ status: "canceled", admitted_at: null });
  expect(await readRow(db.sql, sixth)).toMatchObject({ status: "queued", admitted_at: expect.any(Date) });
});

test("max_active_per_owner lowered → what runs goes on, and no new one is admitted until below it", async () => {
  const world = await addWorld(db);
  const [first = "", second = "", third = "", fourth = ""] = await startMany(world, 5);
  await db.sql`update keyframe_private.settings set max_active_per_owner = 2`;
  for (const id of [first, second]) await cancel(world, id);
  await db.sql`select keyframe_private.sweep()`;
  expect(await positions(world)).toEqual([null, null, 0, 0, 1]);
  for (const id of [third, fourth]) await cancel(world, id);
  expect(await positions(world)).toEqual([null, null, null, null, 0]);
});

test("20 rows in one insert through the Data API → exactly four are admitted", async () => {
  const world = await addWorld(db);
  const rows = Array.from({ length: 20 }, () => ({ project_id: world.project, step: "first-frame" }));
  await db.asUser(world.owner, (sql) => sql`insert into keyframe.predictions ${sql(rows)}`);
  expect(await admitted(world)).toBe(4);
});

test("an insert while another of the same owner is not committed → waits for it, and counts its slot", async () => {
  const world = await addWorld(db);
  await startMany(world, 3);
  // An administrator's inserts: they take no token, so nothing but the count itself keeps them apart.
  const insert = (sql: postgres.Sql | postgres.TransactionSql) =>
    sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame')`;
  await whileOpen(db.sql, insert, () => insert(db.sql));
  expect(await admitted(world)).toBe(4);
  expect(await positions(world)).toEqual([0, 0, 0, 0, 1]);
});

test("a prediction ends while a sweep is admitting others → the places are filled, not overfilled", async () => {
  const world = await addWorld(db);
  const [first = ""] = await startMany(world, 10);
  await db.sql`update keyframe_private.settings set max_active_per_owner = 6`;
  await whileOpen(db.sql, sweepAndClaim, () => cancel(world, first));
  expect(await admitted(world)).toBe(6);
});

test("a new request while others wait → goes behind them, even when a slot is free", async () => {
  const world = await addWorld(db);
  await startMany(world, 6);
  await db.sql`update keyframe_private.settings set max_active_per_owner = 5`;
  await startMany(world, 1);
  expect(await positions(world)).toEqual([0, 0, 0, 0, 1, 2, 3]);
});

test("one owner's insert that is not committed yet → does not hold another owner's insert up", async () => {
  const [slow, other] = [await addWorld(db), await addWorld(db)];
  await db.asUser(slow.owner, async (sql) => {
    await sql`select keyframe.start_prediction(${slow.project}, 'first-frame')`;
    expect((await start(db, other)).prediction.status).toBe("queued");
  });
});
