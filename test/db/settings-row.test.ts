import { afterAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { readRow } from "../support/database/calls.ts";
import { useWorld } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { start } from "../support/database/user.ts";

// The one row of settings holds the budgets.

const db = useDatabase();
const world = useWorld(db);

test("the row of settings is deleted, or its table truncated → refused, and the budgets hold", async () => {
  await db.sql`update keyframe_private.settings set owner_day_micros = 0 where only_row`;
  for (const statement of [
    "delete from keyframe_private.settings where only_row",
    "truncate keyframe_private.settings",
  ]) {
    const { constraint, message } = await refusalOf(db.sql.unsafe(statement));
    expect([statement, constraint]).toEqual([statement, "settings_keep_their_row"]);
    expect(message).toMatch(/update keyframe_private\.settings/);
  }
  expect(await codeOf(start(db, world))).toBe("budget_exceeded");
  await db.sql`update keyframe_private.settings set owner_day_micros = null where only_row`;
});

test("a database without the row, as after a restore → starts are refused, nothing runs; a new row begins stopped", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
  const [{ prediction: running }, { prediction: waiting }] = [await start(db, world), await start(db, world)];
  await db.sql`alter table keyframe_private.settings disable trigger user`;
  afterAll(() => db.sql`alter table keyframe_private.settings enable trigger user`);
  await db.sql`delete from keyframe_private.settings where only_row`;
  expect(await codeOf(start(db, world))).toBe("spending_stopped");
  await db.sql`delete from keyframe.predictions where id = ${running.id}`;
  await db.sql`select keyframe_private.admit_waiting(${world.owner})`;
  expect((await readRow(db.sql, waiting.id)).admitted_at).toBeNull();
  const { estimate } = await db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
    const [row] = await sql`select keyframe.estimate_prediction(${world.project}, 'first-frame') as answer`;
    return row?.answer;
  });
  expect(estimate.withinBudget).toBe(false);

  await db.sql`insert into keyframe_private.settings default values`;
  expect(await codeOf(start(db, world))).toBe("spending_stopped");
  await db.sql`update keyframe_private.settings set spending_stopped = false where only_row`;
  expect((await start(db, world)).prediction.id).toBeTruthy();
});
