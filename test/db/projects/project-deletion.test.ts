import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { runsToCancel } from "../../support/database/calls.ts";
import { useWorld, isOver, STATUSES, seedPrediction } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { addReference, start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

const db = useDatabase();
const world = useWorld(db);

const remove = () => call(db, world.owner, "delete_project", { project_id: world.project });
const asUser = (statement: string) => db.asUser(world.owner, (sql) => sql.unsafe(statement));
const left = async () => {
  const [row] = await db.sql`
    select (select count(*)::int from keyframe.projects where id = ${world.project}) as projects,
      (select count(*)::int from keyframe.predictions where project_id = ${world.project}) as predictions`;
  return row;
};

test.each(STATUSES)(
  "a project with a prediction that is %s → deleted, or generation_in_progress while it runs",
  async (status) => {
    const columns = status === "queued" ? { admitted_at: null, deadline_at: null, lease_token: null } : {};
    await seedPrediction(db.sql, world, { status, columns });
    await seedPrediction(db.sql, world, { status: "succeeded" });
    if (!isOver(status)) {
      const { message, sqlstate } = await refusalOf(remove());
      expect([sqlstate, message]).toEqual(["KEYFR", "generation_in_progress"]);
      expect(await codeOf(asUser(`delete from keyframe.projects where true`))).toBe("generation_in_progress");
      return expect(await left()).toEqual({ projects: 1, predictions: 2 });
    }
    await remove();
    expect(await left()).toEqual({ projects: 0, predictions: 0 });
  },
);

describe("an administrator, or the end of the account", () => {
  const ENDS: [string, () => PromiseLike<unknown>][] = [
    ["delete from projects in Studio", () => db.sql`delete from keyframe.projects where id = ${world.project}`],
    ["delete from auth.users", () => db.sql`delete from auth.users where id = ${world.owner}`],
    [
      "a function of the app's author by which users delete their own account",
      async () => {
        await db.sql`
          create or replace function public.leave() returns void language sql security definer as
          'delete from auth.users where id = auth.uid()'`;
        await db.sql`update keyframe_private.rate_limits set capacity = 1, per_second = 0.001 where route_class = 'change'`;
        await asUser("update keyframe.projects set title = 'Quay' where true"); // the last token
        await asUser("select public.leave()");
        await db.sql`update keyframe_private.rate_limits set capacity = 1000000 where route_class = 'change'`;
      },
    ],
  ];
  test.each(ENDS)("%s, while everything runs → gone, and the runs at the provider are canceled", async (_how, end) => {
    const running = [];
    const columns = { admitted_at: null, deadline_at: null, lease_token: null };
    await seedPrediction(db.sql, world, { status: "queued", columns });
    for (const status of ["starting", "processing", "storing"] as const) {
      running.push((await seedPrediction(db.sql, world, { status, step: "video" })).run ?? "");
    }
    await end();
    expect(await left()).toEqual({ projects: 0, predictions: 0 });
    const canceled = await runsToCancel(db.sql);
    // The run of the one that is being stored is over.
    expect(running.map((run) => canceled.includes(run))).toEqual([true, true, false]);
  });
});

test("two deletions at once → the second waits, then finds no project", async () => {
  const first = (open: TransactionSql) => open`delete from keyframe.projects where id = ${world.project}`;
  expect(await whileOpen(db.sql, first, () => codeOf(remove()))).toBe("not_found");
});

describe("a start and a deletion at the same moment", () => {
  const asOwner = async (sql: TransactionSql, statement: string) => {
    await sql`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
    await sql.unsafe(statement);
  };

  test("the start is first and has not committed → the deletion waits, then is refused", async () => {
    const path = await addReference(db, world.owner);
    const begin = `select keyframe.start_prediction('${world.project}', 'first-frame', '{"referenceImagePath": "${path}"}')`;
    expect(
      await whileOpen(
        db.sql,
        (sql) => asOwner(sql, begin),
        () => codeOf(remove()),
      ),
    ).toBe("generation_in_progress");
    expect(await left()).toEqual({ projects: 1, predictions: 1 });
  });

  test("the deletion is first and has not committed → the start waits, then finds no project", async () => {
    const reference = await addReference(db, world.owner);
    const begin = `select keyframe.delete_project('${world.project}')`;
    expect(
      await whileOpen(
        db.sql,
        (sql) => asOwner(sql, begin),
        () => codeOf(start(db, world, { reference })),
      ),
    ).toBe("not_found");
    expect(await left()).toEqual({ projects: 0, predictions: 0 });
  });
});
