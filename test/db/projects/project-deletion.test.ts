import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { runsToCancel } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { isOver, STATUSES, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);

const remove = () => call(db, world.owner, "delete_project", { project_id: world.project });
const asUser = (statement: string) => db.asUser(world.owner, (sql) => sql.unsafe(statement));
const WAITS = { admitted_at: null, deadline_at: null, lease_token: null };
const left = async () => {
  const [row] = await db.sql`
    select (select count(*)::int from keyframe.projects where id = ${world.project}) as projects,
      (select count(*)::int from keyframe.predictions where project_id = ${world.project}) as predictions`;
  return row;
};

test.each(STATUSES)(
  "a project with a %s prediction is deleted → generation_in_progress until the prediction has ended",
  async (status) => {
    const columns = status === "queued" ? WAITS : {};
    await seedPrediction(db.sql, world, { status, columns });
    await seedPrediction(db.sql, world, { status: "succeeded" });
    if (!isOver(status)) {
      expect(await codeOf(remove())).toBe("generation_in_progress");
      expect(await codeOf(asUser(`delete from keyframe.projects where true`))).toBe("generation_in_progress");
      return expect(await left()).toEqual({ projects: 1, predictions: 2 });
    }
    await remove();
    expect(await left()).toEqual({ projects: 0, predictions: 0 });
  },
);

/** A function of an app by which users delete their own accounts, by one who has no token left. */
async function leave(): Promise<void> {
  await db.sql`
    create or replace function public.leave() returns void language sql security definer as
    'delete from auth.users where id = auth.uid()'`;
  await db.sql`update keyframe_private.rate_limits set capacity = 1, per_second = 0.001 where route_class = 'change'`;
  await asUser("update keyframe.projects set title = 'Quay' where true");
  await asUser("select public.leave()");
  await db.sql`update keyframe_private.rate_limits set capacity = 1000000 where route_class = 'change'`;
}

test.each<[how: string, end: () => PromiseLike<unknown>]>([
  ["delete from projects in Studio", () => db.sql`delete from keyframe.projects where id = ${world.project}`],
  ["delete from auth.users", () => db.sql`delete from auth.users where id = ${world.owner}`],
  ["an app's function by which users leave", leave],
])("%s, while everything runs → deleted, and the runs at the provider are canceled", async (_how, end) => {
  const running = [];
  await seedPrediction(db.sql, world, { status: "queued", columns: WAITS });
  for (const status of ["starting", "processing", "storing"] as const)
    running.push((await seedPrediction(db.sql, world, { status, step: "video" })).run ?? "");
  await end();
  expect(await left()).toEqual({ projects: 0, predictions: 0 });
  const canceled = await runsToCancel(db.sql);
  // The run of the one that is being stored is over.
  expect(running.map((run) => canceled.includes(run))).toEqual([true, true, false]);
});

const DELETE = "delete_project($1)";
const START = "start_prediction($1, 'first-frame')";
test.each<[first: string, second: () => Promise<unknown>, code: string, rows: number]>([
  [DELETE, remove, "not_found", 0],
  [DELETE, () => start(db, world), "not_found", 0],
  [START, remove, "generation_in_progress", 1],
])("a deletion or a start while %s is not committed → waits, then is refused", async (first, second, code, rows) => {
  const hold = async (sql: TransactionSql) => {
    await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
    await sql.unsafe(`select keyframe.${first}`, [world.project]);
  };
  expect(await whileOpen(db.sql, hold, () => codeOf(second()))).toBe(code);
  expect(await left()).toEqual({ projects: rows, predictions: rows });
});
