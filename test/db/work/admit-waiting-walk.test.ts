import { afterEach, expect, test } from "vitest";
import { claim, sweepAndClaim } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { plansOf } from "../../support/database/plans.ts";
import { useWorld, seedPrediction } from "../../support/database/predictions.ts";

// owners_waiting: who has a prediction in line, in the falling order of the owners. The sweep admits by it.

const db = useDatabase();
const world = useWorld(db);
afterEach(async () => {
  await emptyTables(db.sql, "keyframe.predictions, keyframe_private.prediction_images");
  await db.sql`update keyframe_private.settings set max_active_per_owner = default`;
});

const NOUGHT = "00000000-0000-0000-0000-000000000000";
const idOf = (number: number) => `${number.toString(16).padStart(8, "0")}${NOUGHT.slice(8)}`;
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const WAITS = { admitted_at: null, deadline_at: null, lease_token: null };

const addWaiting = (owner: string, columns: object = {}) =>
  seedPrediction(db.sql, { ...world, owner }, { columns: { ...WAITS, ...columns } });
/** So many owners from `first` on, each with so many predictions in line, and one running where they have no slot. */
async function addOwners(count: number, { first = 1, lines = 1, runs = false } = {}): Promise<void> {
  const { id: waiting } = await addWaiting(world.owner);
  const { id: running } = await seedPrediction(db.sql, world, { status: "processing" });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    const owner = sql`(lpad(to_hex(i), 8, '0') || right(${NOUGHT}, 28))::uuid`;
    const numbers = sql`generate_series(${first}::bigint, ${first + count - 1}::bigint)`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model)
      select project_id, ${owner}, step, input, model
      from keyframe.predictions, ${numbers} i, generate_series(1, ${lines}::int) where id = ${waiting}`;
    if (runs) {
      await sql`
        insert into keyframe.predictions
          (project_id, owner_id, step, input, model, status, provider_prediction_id, admitted_at, deadline_at, started_at)
        select project_id, ${owner}, step, input, model, status, 'run-of-' || i, admitted_at, deadline_at, started_at
        from keyframe.predictions, ${numbers} i where id = ${running}`;
    }
    await sql`delete from keyframe.predictions where id in (${waiting}, ${running})`;
  });
}
const walk = async (start: string, most: number) =>
  (await db.sql<{ id: string }[]>`select keyframe_private.owners_waiting(${start}, ${most}) as id`).map(({ id }) => id);
const isAdmitted = async (id: string) =>
  (await db.sql`select from keyframe.predictions where id = ${id} and admitted_at is not null`).count === 1;

test("500 owners without a free slot are in line before one who has one, and after → a sweep soon begins with that one", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
  await addOwners(500, { runs: true });
  await addOwners(500, { runs: true, first: 0xfffffe00 });
  const { id } = await addWaiting("80000000-0000-4000-8000-000000000000");
  // Each second sweep begins between those after and this one: forty without it are no accident.
  for (let sweep = 0; sweep < 40 && !(await isAdmitted(id)); sweep++) await sweepAndClaim(db.sql);
  expect(await isAdmitted(id)).toBe(true);
  const { count } = await db.sql`select from keyframe.predictions where status = 'queued' and admitted_at is null`;
  expect(count).toBe(1000);
});

test("more owners than one sweep reads, all with a slot → no more work than that for each sweep, until none waits", async () => {
  await addOwners(7);
  const waiting = async () =>
    (await db.sql`select from keyframe.predictions where status = 'queued' and admitted_at is null`).count;
  for (let sweep = 0; sweep < 40 && (await waiting()) > 0; sweep++) {
    await db.sql`select keyframe_private.add_admissions(3)`;
    expect((await db.sql`select from keyframe_private.work where kind = 'admit'`).count).toBeLessThanOrEqual(3);
    await claim(db.sql);
  }
  expect(await waiting()).toBe(0);
});

test("from anywhere → it and those below it, each once; no more than wanted", async () => {
  await addOwners(4, { lines: 3 });
  await addWaiting(LAST);
  const owners = (...numbers: number[]) => numbers.map(idOf);
  expect(await walk(LAST, 10)).toEqual([LAST, ...owners(4, 3, 2, 1)]);
  expect(await walk(idOf(3), 10)).toEqual(owners(3, 2, 1));
  expect(await walk(idOf(3), 2)).toEqual(owners(3, 2));
  expect(await walk(NOUGHT, 10)).toEqual([]);
});

test("admitted, ended, or no prediction → left out", async () => {
  expect(await walk(LAST, 10)).toEqual([]);
  await addWaiting(idOf(2));
  await seedPrediction(db.sql, { ...world, owner: idOf(1) });
  await seedPrediction(db.sql, { ...world, owner: idOf(3) }, { status: "canceled", columns: WAITS });
  expect(await walk(LAST, 10)).toEqual([idOf(2)]);
});

test("300 owners with 40 in line each → one probe for each owner that is wanted, not a row for each prediction", async () => {
  await db.sql`alter table keyframe.predictions set (autovacuum_enabled = off)`; // the statistics are those of the test
  await addOwners(3); // a plan that was made while the table was small has to be as good
  const plans = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) await sql`select keyframe_private.owners_waiting(${LAST}, 500)`;
    await emptyTables(db.sql, "keyframe.predictions, keyframe_private.prediction_images");
    await addOwners(300, { lines: 40 });
    expect(await sql`select keyframe_private.owners_waiting(${LAST}, 500)`).toHaveLength(300);
    await db.sql`analyze keyframe.predictions`;
    expect(await sql`select keyframe_private.owners_waiting(${LAST}, 500)`).toHaveLength(300);
    expect(await sql`select keyframe_private.owners_waiting(${LAST}, 20)`).toHaveLength(20);
  });
  const probes = plans.filter((plan) => plan.includes("predictions w") && plan.includes("Limit"));
  // Each owner that is wanted, and the end of the walk.
  expect(probes.length).toBe(7 * (3 + 1) + 2 * (300 + 1) + 20);
  for (const plan of probes) {
    expect(plan).toMatch(/Scan Backward using predictions_waiting_idx [^\n]*actual rows=[01](\.00)? loops=1\)/);
  }
});
