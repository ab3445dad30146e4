import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { claim, complete, providerSays, readRow, sweepAndClaim, workOf } from "../../support/database/calls.ts";
import { addWorld, columnOf, seedPrediction, type World } from "../../support/database/predictions.ts";
import { start } from "../../support/database/user.ts";
import { setSettings } from "../../support/database/settings.ts";

const db = useDatabase();
afterEach(() => clearPredictions(db.sql));

const cancel = (world: World, id: string) =>
  db.asUser(world.owner, (sql) => sql`select keyframe.cancel_prediction(${world.project}, ${id})`);

const positions = ({ owner }: World) =>
  columnOf<number | null>(db.sql`
    select keyframe_private.queue_position(p) from keyframe.predictions p where owner_id = ${owner} order by created_at, id`);
const admitted = async ({ owner }: World) =>
  (
    await db.sql`select from keyframe.predictions where owner_id = ${owner} and admitted_at is not null and completed_at is null`
  ).count;
const WAITS = { admitted_at: null, deadline_at: null, lease_token: null };

async function startMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await start(db, world)).prediction.id);
  return ids;
}

test("1,200 predictions of an owner wait → positions are counted up to 1000, which means 1000 or later", async () => {
  const world = await addWorld(db);
  const { id } = await seedPrediction(db.sql, world, { columns: WAITS });
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

test("the deadline of a prediction → none while it waits; from its admission, 15 minutes for a frame, 60 for a video", async () => {
  const world = await addWorld(db);
  await seedPrediction(db.sql, world, { status: "succeeded" });
  const minutes = async (step: string) => {
    const { deadline_at, admitted_at } = await readRow(db.sql, (await start(db, world, { step })).prediction.id);
    return deadline_at && (Number(deadline_at) - Number(admitted_at)) / 60_000;
  };
  const steps = ["first-frame", "last-frame", "video", "video", "video"];
  const found: unknown[] = [];
  for (const step of steps) found.push(await minutes(step));
  expect(found).toEqual([15, 15, 60, 60, null]);
});

test("an owner's predictions in each of the four active statuses → each has a slot, and a fifth waits", async () => {
  const world = await addWorld(db);
  for (const status of ["queued", "starting", "processing", "storing"] as const)
    await seedPrediction(db.sql, world, { status });
  await start(db, world);
  expect(await admitted(world)).toBe(4);
});

test.each(["succeeds", "fails", "is canceled", "is past its deadline"])(
  "a prediction %s → the one that waited longest gets its slot, with a deadline and its work",
  async (how) => {
    const world = await addWorld(db);
    const [first = "", , , , next = ""] = await startMany(world, 6);
    await claim(db.sql, 100);
    const says = (status: string) => providerSays(db.sql, { id: first, run: "run-1", status });
    if (how === "is canceled") await cancel(world, first);
    if (how === "fails") await says("failed");
    if (how === "is past its deadline") {
      await db.sql`update keyframe.predictions set deadline_at = now() where id = ${first}`;
      await sweepAndClaim(db.sql);
    }
    if (how === "succeeds") {
      await says("succeeded");
      expect(await positions(world)).toEqual([null, 0, 0, 0, 1, 2]);
      const [storing] = (await claim(db.sql, 100)).filter(({ id }) => id === first);
      expect(await complete(db.sql, first, storing?.lease_token ?? null)).toBe(true);
    }
    expect(await positions(world)).toEqual([null, 0, 0, 0, 0, 1]);
    expect((await readRow(db.sql, next)).deadline_at).toBeInstanceOf(Date);
    expect(await workOf(db.sql, next)).toMatchObject([{ kind: "submit" }]);
  },
);

test("a slot becomes free while the next in line is being canceled → the one after it gets the slot", async () => {
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

test("max_active_per_owner is lowered → what runs goes on, and none is admitted until fewer run", async () => {
  const world = await addWorld(db);
  const [first = "", second = "", third = "", fourth = ""] = await startMany(world, 5);
  await setSettings(db.sql, { max_active_per_owner: 2 });
  for (const id of [first, second]) await cancel(world, id);
  await db.sql`select keyframe_private.sweep()`;
  expect(await positions(world)).toEqual([null, null, 0, 0, 1]);
  for (const id of [third, fourth]) await cancel(world, id);
  expect(await positions(world)).toEqual([null, null, null, null, 0]);
});

test("a new prediction while others wait → goes behind them, even when a slot is free", async () => {
  const world = await addWorld(db);
  await startMany(world, 6);
  await setSettings(db.sql, { max_active_per_owner: 5 });
  await startMany(world, 1);
  expect(await positions(world)).toEqual([0, 0, 0, 0, 1, 2, 3]);
});

describe("the sweep and owners with a free slot", () => {
  /** So many owners with one prediction in line, and one running, from the identifier `first` on. */
  const addOwners = (count: number, first: number, runs: boolean) =>
    db.sql.begin(async (sql) => {
      const world = await addWorld(db);
      const states = [{ columns: WAITS }, ...(runs ? [{ status: "processing" as const }] : [])];
      for (const state of states) {
        const { id } = await seedPrediction(sql, world, state);
        await sql`set local session_replication_role = replica`;
        await sql`
          insert into keyframe.predictions select copy.* from keyframe.predictions p, generate_series(${first}::bigint, ${first + count - 1}) i
          cross join lateral jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'provider_prediction_id', p.provider_prediction_id || i,
            'owner_id', lpad(to_hex(i), 8, '0') || '-0000-0000-0000-000000000000')) copy where p.id = ${id}`;
        await sql`delete from keyframe.predictions where id = ${id}`;
      }
    });
  const waiting = async () =>
    (await db.sql`select from keyframe.predictions where status = 'queued' and admitted_at is null`).count;

  test("500 owners without a free slot are in line before an owner with one, and 500 after → that owner is soon admitted", async () => {
    await setSettings(db.sql, { max_active_per_owner: 1 });
    for (const first of [1, 0xfffffe00]) await addOwners(500, first, true);
    const world = { ...(await addWorld(db)), owner: "80000000-0000-4000-8000-000000000000" };
    await seedPrediction(db.sql, world, { columns: WAITS });
    // Each second sweep begins between those after and this one: forty without it are no accident.
    for (let sweep = 0; sweep < 40 && (await admitted(world)) === 0; sweep++) await sweepAndClaim(db.sql);
    expect([await admitted(world), await waiting()]).toEqual([1, 1000]);
  });

  test("more owners than one sweep reads, each with a free slot → limited work for each sweep, until none waits", async () => {
    await addOwners(7, 1, false);
    for (let sweep = 0; sweep < 40 && (await waiting()) > 0; sweep++) {
      await db.sql`select keyframe_private.add_admissions(3)`;
      expect((await db.sql`select from keyframe_private.work where kind = 'admit'`).count).toBeLessThanOrEqual(3);
      await claim(db.sql);
    }
    expect(await waiting()).toBe(0);
  });
});
