import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { call } from "../support/database/webhooks.ts";

// What the API never asks of these functions, but a user may through the Data API. The rest: test/api.

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

test("more rows than a page may have → 101 of projects and of predictions, and 20 when nothing is said", async () => {
  const frame = await seedPrediction(db.sql, world, { status: "canceled" });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.projects (owner_id, title, text_prompt)
      select ${world.owner}, 'Harbour', 'p' from generate_series(1, 120)`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, prompt, model, status, completed_at)
      select project_id, owner_id, step, prompt, model, status, completed_at from keyframe.predictions, generate_series(1, 120)
      where id = ${frame.id}`;
  });
  const sizes = async (args: object) => {
    const projects = await call<{ projects: object[] }>(db, world.owner, "list_projects", { ...args });
    const of = { project_id: world.project, ...args };
    const predictions = await call<{ predictions: object[] }>(db, world.owner, "list_predictions", of);
    return [projects.projects.length, predictions.predictions.length];
  };
  expect(await sizes({ max_rows: 1000 })).toEqual([101, 101]);
  expect(await sizes({})).toEqual([20, 20]);
});

test("keyframe_private.latest_predictions of another user's project → none, though it is a definer", async () => {
  await seedPrediction(db.sql, world);
  const latest = (owner: string) =>
    db.as({ role: "authenticated", sub: owner }, async (sql) => {
      const [row] = await sql<
        { found: object[] }[]
      >`select keyframe_private.latest_predictions(${world.project}) as found`;
      return row?.found;
    });
  expect(await latest(world.owner)).toHaveLength(1);
  expect(await latest((await addWorld(db)).owner)).toEqual([]);
});

test("the search for projects → takes % and _ as plain characters", async () => {
  for (const title of ["Harbour 100%", "Quay"]) {
    await db.sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${world.owner}, ${title}, 'p')`;
  }
  const found = async (search: string) => {
    const { projects } = await call<{ projects: { title: string }[] }>(db, world.owner, "list_projects", { search });
    return projects.map(({ title }) => title);
  };
  expect(await found("100%")).toEqual(["Harbour 100%"]);
  expect([await found("%u%"), await found("Qu_y")]).toEqual([[], []]);
});
