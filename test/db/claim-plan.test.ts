import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim } from "../support/database/calls.ts";
import { plansOf } from "../support/database/plans.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";

const db = useDatabase();
let busy: World;
let other: World;
beforeAll(async () => {
  busy = await addWorld(db);
  other = await addWorld(db);
  const { id } = await seedPrediction(db.sql, busy, {
    columns: { admitted_at: null, deadline_at: null, lease_token: null },
  });
  const done = await seedPrediction(db.sql, busy, { status: "canceled" });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model)
      select project_id, owner_id, step, input, model from keyframe.predictions, generate_series(1, 10000) where id = ${id}`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at)
      select project_id, owner_id, step, input, model, status, completed_at
      from keyframe.predictions, generate_series(1, 5000) where id = ${done.id}`;
  });
  await db.sql`analyze keyframe.predictions, keyframe.models, keyframe_private.provider_submits`;
});

test("10,000 waiting predictions of one owner → another owner's is claimed at once, through the index of what is due", async () => {
  const { id } = await seedPrediction(db.sql, other, { columns: { attempt: 0, lease_token: null } });
  const plans = await plansOf(db.url, async (sql) => {
    expect((await claim(sql)).map((task) => task.id)).toEqual([id]);
    // Later calls of a session may run with a plan made for any number of rows: it has to be as good.
    for (let call = 0; call < 7; call++) {
      await db.sql`update keyframe.predictions set lease_token = null, next_attempt_at = now() where id = ${id}`;
      expect((await claim(sql)).map((task) => task.id)).toEqual([id]);
    }
  });
  const claims = plans.filter((plan) => plan.includes("lease_expired") && plan.includes("LockRows"));
  expect(claims.length).toBe(8);
  for (const plan of claims) {
    expect(plan).toContain("predictions_due_idx");
    expect(plan).not.toContain("Seq Scan on predictions");
  }
});

test("the sweep over 10,000 waiting predictions → finds due and overdue ones through indexes", async () => {
  await seedPrediction(db.sql, other, { columns: { deadline_at: new Date(0) } });
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
  const plans = await plansOf(db.url, (sql) => sql`select keyframe_private.sweep()`);
  expect(plans.some((plan) => plan.includes("predictions_deadline_idx"))).toBe(true);
  for (const plan of plans) expect(plan).not.toContain("Seq Scan on predictions");
});

test("10,000 waiting predictions of one owner → a waiting call reads the index of due ones", async () => {
  await claim(db.sql, 100); // what is left of the tests above
  const plans = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) expect(await claim(sql, 10, 60, 0, 5)).toEqual([]);
  });
  const looks = plans.filter((plan) => plan.includes("predictions_due_idx") && !plan.includes("LockRows"));
  expect(looks.length).toBeGreaterThanOrEqual(7);
  expect(plans.filter((plan) => /Seq Scan on (keyframe\.)?predictions/.test(plan))).toEqual([]);
});
