import { beforeAll, expect, test } from "vitest";
import type { Task } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { plansOf, readBy } from "../../support/database/plans.ts";
import { addWorld, seedPrediction, seedSubmit, type World } from "../../support/database/predictions.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// What may begin is what a worker has places for (room). Whatever waits for a model, host or owner without one hides nobody else's task.

const MANY = 20_000;
const FULL = "google/nano-banana";
const OTHER = "bytedance/seedream-4";
const NEW = { attempt: 0, lease_token: null };

const db = useDatabase();
let world: World;
let crowd: World;
let ids: { other: string; stored: string; late: string };
beforeAll(async () => {
  [world, crowd] = [await addWorld(db), await addWorld(db)];
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
  const { id } = await seedPrediction(db.sql, crowd, { columns: { ...NEW, next_attempt_at: ago(900) } });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    // Of many owners, all due before the others' tasks, with their waiting submits.
    await sql`
      with many as (
        insert into keyframe.predictions (project_id, owner_id, step, input, model, admitted_at, deadline_at, next_attempt_at)
        select project_id, gen_random_uuid(), step, input, model, admitted_at, deadline_at, next_attempt_at
        from keyframe.predictions, generate_series(2, ${MANY}::int) i where id = ${id} returning *)
      insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, step, model)
      select owner_id, project_id, id, 1, step, model from many`;
  });
  ids = {
    other: (await seedPrediction(db.sql, world, { columns: { ...NEW, model: OTHER, next_attempt_at: ago(1) } })).id,
    stored: (
      await seedPrediction(db.sql, world, {
        status: "storing",
        columns: { lease_token: null, next_attempt_at: ago(1), provider_output_url: "https://files.example/out.png" },
      })
    ).id,
    late: (await seedPrediction(db.sql, world, { columns: { ...NEW, next_attempt_at: ago(1) } })).id,
  };
  await db.sql`vacuum analyze`;
});

const none = { all: 0, new: 0, each: 0, owners: {} };
const entry = (all: number, owners: Record<string, number> = {}, each = 4) => ({ all, new: all, each, owners });

/** What a claim with this room brings, taken back, and how many rows its widest scan reads. */
async function claimWith(room: Record<string, unknown>, most = 10): Promise<{ tasks: Task[]; read: number }> {
  let tasks: Task[] = [];
  const plans = await plansOf(db.url, (sql) =>
    rolledBack(sql, async (open) => {
      const rows = await open<{ task: Task }[]>`
        select t as task from keyframe_worker.claim_predictions(${most}, 60, room => ${db.sql.json(room as never)}) t`;
      tasks = rows.map(({ task }) => task);
    }),
  );
  return { tasks, read: Math.max(...plans.map((plan) => readBy(plan).rows)) };
}

test("a model is full → its 20,000 due tasks are not read, and those of another model and of an output are handed out", async () => {
  const { tasks, read } = await claimWith({ [FULL]: none, "": entry(8) });
  expect(tasks.map(({ id }) => id).toSorted()).toEqual([ids.other, ids.stored].toSorted());
  expect(tasks.map(({ resource }) => resource).toSorted()).toEqual([OTHER, `files.example ${FULL}`]);
  expect(read).toBeLessThan(150);
});

test("outputs have no place, and models have some → tasks of models alone; and the other way round", async () => {
  const room = { [FULL]: none, "": entry(8), " ": none };
  expect((await claimWith(room)).tasks.map(({ id }) => id)).toEqual([ids.other]);
  expect((await claimWith({ ...room, "": none, " ": entry(8) })).tasks.map(({ id }) => id)).toEqual([ids.stored]);
});

test("a model has places for one owner alone, whose task is behind 20,000 → that task, and few rows are read", async () => {
  const { tasks, read } = await claimWith({ [FULL]: { ...entry(4), new: 0, owners: { [world.owner]: 2 } }, "": none });
  expect(tasks.map(({ id }) => id)).toEqual([ids.late]);
  expect(read).toBeLessThan(150);
});

test("a model has room for three, of which one owner has none → three of other owners, those due longest", async () => {
  const { tasks, read } = await claimWith({ [FULL]: entry(3, { [crowd.owner]: 0 }), "": none });
  expect(tasks).toHaveLength(3);
  expect(tasks.map(({ owner_id }) => owner_id)).not.toContain(crowd.owner);
  expect(read).toBeLessThan(150);
});

test("without limits → a model with 20,000 due tasks leaves parts of a claim to the others", async () => {
  const { tasks, read } = await claimWith({});
  expect(tasks.length).toBeGreaterThanOrEqual(8);
  expect(tasks.map(({ id }) => id)).toEqual(expect.arrayContaining([ids.other, ids.stored]));
  expect(read).toBeLessThan(150);
});

test("many runs of one owner to cancel, who has no place → not handed out, and another owner's is", async () => {
  const ran = { submitted_at: new Date(), answered_at: new Date() };
  for (let run = 0; run < 5; run++)
    await seedSubmit(db.sql, {
      ...ran,
      owner_id: crowd.owner,
      provider_prediction_id: `crowd-${run}`,
      cancel_due_at: new Date(0),
    });
  await seedSubmit(db.sql, { ...ran, owner_id: world.owner, provider_prediction_id: "one", cancel_due_at: new Date() });
  const { tasks } = await claimWith({ cancel: entry(3, { [crowd.owner]: 0 }), "": none });
  expect(tasks).toMatchObject([
    { task: "cancel", owner_id: world.owner, provider_prediction_id: "one", resource: "cancel" },
  ]);
});
