import type postgres from "postgres";
import { beforeAll, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim } from "../support/database/calls.ts";
import { plansOf } from "../support/database/plans.ts";
import { addProject, addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { addReference } from "../support/database/user.ts";

const MANY = 10_000;
const db = useDatabase();
let world: World;
let crowded: World;
beforeAll(async () => {
  world = await addWorld(db);
  crowded = { ...world, project: await addProject(db, world.owner) };
  const { id } = await seedPrediction(db.sql, crowded, {
    status: "canceled",
    input: { referenceImagePaths: [await addReference(db, world.owner)] },
  });
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    // Half of them the caller's.
    await sql`
      insert into keyframe.projects (owner_id, title, text_prompt, created_at)
      select case when i % 2 = 0 then ${world.owner}::uuid else gen_random_uuid() end, 'Harbour', 'p', now() - i * interval '1 minute'
      from generate_series(1, ${MANY}::int) i`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at, created_at)
      select project_id, owner_id, case when i % 1000 = 0 then 'last-frame' else step end, input, model, status, completed_at,
        created_at - i * interval '1 minute'
      from keyframe.predictions, generate_series(1, ${MANY}::int) i where id = ${id}`;
    await sql`
      insert into keyframe_private.prediction_images (prediction_id, role, path)
      select id, 'reference', 'projects/' || row_number() over () || '.png' from keyframe.predictions
      where id not in (select prediction_id from keyframe_private.prediction_images)`;
    await sql`
      insert into keyframe_private.file_removals (bucket, name, prediction_id, due_at)
      select 'keyframe-outputs', 'file-' || i, gen_random_uuid(), now() + interval '1 hour' from generate_series(1, ${MANY}::int) i`;
  });
  await db.sql`analyze keyframe.projects, keyframe.predictions, keyframe_private.prediction_images, keyframe_private.file_removals`;
});

/** The plans of a user's two calls: one with a plan for its arguments, one for any, which later calls of a session may have. */
const plansAsUser = (statement: string, args: (string | null)[]) =>
  plansOf(db.url, async (sql) => {
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await sql`select set_config('plan_cache_mode', ${mode}, false)`;
      await sql.begin(async (transaction) => {
        await transaction`select set_config('request.jwt.claims', ${JSON.stringify({ sub: world.owner })}, true)`;
        await transaction`set local role authenticated`;
        await transaction.unsafe(statement, args);
      });
    }
  });

/** What a plan read through an index: its name, how many rows it gave, and how many it read for nothing. */
function walks(plan: string): { index: string; rows: number; removed: number }[] {
  return [
    ...plan.matchAll(
      /Index (?:Only )?Scan(?: Backward)? using (\w+) .*?\(actual rows=([\d.]+)[^\n]*\n((?:(?!->)[^\n]*\n)*)/g,
    ),
  ].map(([, index = "", rows, details = ""]) => ({
    index,
    rows: Number(rows),
    removed: Number(/Rows Removed by Filter: (\d+)/.exec(details)?.[1] ?? 0),
  }));
}

/** Each plan that pages through a table read no more of it than the page, by this index. */
function expectPageWalk(plans: string[], table: string, index: string): void {
  const pages = plans.filter((plan) => plan.includes("(p.created_at, p.id) <") && plan.includes(` on ${table} p`));
  expect(pages.length).toBeGreaterThanOrEqual(2);
  for (const plan of plans) expect(plan).not.toContain(`Seq Scan on ${table}`);
  for (const plan of pages) {
    const [walk] = walks(plan).filter((found) => found.index === index);
    expect(walk, plan).toMatchObject({ index, removed: 0 });
    expect(walk?.rows).toBeLessThanOrEqual(101);
    expect(plan).toMatch(/Index Cond: .*ROW\(created_at, id\) < ROW/);
  }
}

const deep = async (sql: postgres.Sql, table: "projects" | "predictions") => {
  const [row] = await sql<{ at: string }[]>`
    select created_at::text as at from ${sql(`keyframe.${table}`)} order by created_at offset ${MANY / 2} limit 1`;
  return row?.at ?? null;
};

test.each([false, true])(
  "list_projects among 10,000, first page and far down, with predictions %s → reads the page and no more",
  async (withPredictions) => {
    const statement = `select keyframe.list_projects(101, $1::text::timestamptz, null, ${withPredictions})`;
    for (const at of [null, await deep(db.sql, "projects")]) {
      const plans = await plansAsUser(statement, [at]);
      expectPageWalk(plans, "projects", "projects_owner_id_created_at_idx");
      for (const plan of plans) expect(plan).not.toContain("Seq Scan on predictions");
    }
  },
);

test("list_projects that searches for what nobody has → walks at most 5,000 of the caller's projects, and says how far it came", async () => {
  const plans = await plansAsUser("select keyframe.list_projects(search => $1)", ["lighthouse"]);
  const rows = plans.flatMap(walks).filter(({ index }) => index === "projects_owner_id_created_at_idx");
  expect(rows.length).toBeGreaterThanOrEqual(4); // with each plan: the search, and where it ended
  for (const walk of rows) expect(walk.rows).toBeLessThanOrEqual(5000);
  for (const plan of plans) expect(plan).not.toContain("Seq Scan on projects");
});

test.each([
  ["null", "predictions_project_id_owner_id_idx"],
  ["'first-frame'", "predictions_project_id_step_idx"],
  ["'last-frame'", "predictions_project_id_step_idx"],
])("list_predictions of a project with 10,000, step %s → reads the page and no more", async (step, index) => {
  const statement = `select keyframe.list_predictions('${crowded.project}', ${step}, 101, $1::text::timestamptz)`;
  for (const at of [null, await deep(db.sql, "predictions")]) {
    expectPageWalk(await plansAsUser(statement, [at]), "predictions", index);
  }
});

test.each(["null", "'last-frame'"])(
  "list_predictions of the takes of a project with 10,000 that did not succeed, step %s → reads the page and no more",
  async (step) => {
    const takes = { ...world, project: await addProject(db, world.owner) };
    await seedPrediction(db.sql, takes, { step: "last-frame", status: "succeeded" });
    const statement = `select keyframe.list_predictions($1::text::uuid, ${step}, 101, only_takes => true)`;
    for (const project of [crowded.project, takes.project]) {
      const pages = (await plansAsUser(statement, [project])).filter((plan) => plan.includes("(p.created_at, p.id) <"));
      expect(pages.length).toBeGreaterThanOrEqual(2);
      const rows = project === takes.project ? 1 : 0;
      for (const plan of pages) {
        for (const walk of walks(plan)) {
          expect([walk.index, walk.removed], plan).toEqual(["predictions_succeeded_idx", 0]);
          expect(walk.rows).toBeLessThanOrEqual(rows);
        }
      }
    }
  },
);

test("read_prediction of a step that is rare among 10,000, with and without an identifier → reads one row", async () => {
  const [rare] = await db.sql<{ id: string }[]>`
    select id from keyframe.predictions where project_id = ${crowded.project} and step = 'last-frame' order by created_at desc limit 1`;
  for (const prediction of [null, rare?.id ?? null]) {
    const statement = `select keyframe.read_prediction('${crowded.project}', 'last-frame', $1)`;
    const looks = (await plansAsUser(statement, [prediction])).filter((plan) => plan.includes(" on predictions p"));
    expect(looks).toHaveLength(2);
    for (const plan of looks) {
      const index = prediction === null ? "predictions_project_id_step_idx" : "predictions_pkey";
      expect(walks(plan), plan).toEqual([{ index, rows: 1, removed: 0 }]);
    }
  }
});

test("a project is deleted among 10,000 predictions → its own are found by indexes, and so are those that share its image", async () => {
  const reference = await addReference(db, world.owner);
  await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [reference] } });
  const plans = await plansOf(db.url, (sql) => sql`delete from keyframe.projects where id = ${world.project}`);
  expect(plans.some((plan) => plan.includes("prediction_images_path_idx"))).toBe(true);
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on prediction/);
  await db.sql`delete from keyframe_private.file_removals where due_at <= now()`;
});

test("a claim with 10,000 files that are not due → one look at the index; with one that is due → that one", async () => {
  const looking = (plan: string) =>
    plan.includes("keyframe_private.file_removals") || plan.includes("on file_removals");
  const idle = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) expect(await claim(sql)).toEqual([]);
  });
  const looks = idle.filter((plan) => looking(plan) && !plan.includes("claim_predictions"));
  expect(looks).toHaveLength(7);
  for (const plan of looks) {
    expect(plan).toContain("file_removals_due_at_idx");
    expect(plan).not.toContain("Seq Scan on file_removals");
  }
  await db.sql`update keyframe_private.file_removals set due_at = now() where name = 'file-77'`;
  const busy = await plansOf(db.url, async (sql) => {
    expect(await claim(sql)).toEqual([expect.objectContaining({ task: "remove" })]);
  });
  for (const plan of busy) expect(plan).not.toContain("Seq Scan on file_removals");
});
