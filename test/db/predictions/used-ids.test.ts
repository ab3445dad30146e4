import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { claim, complete, fail, makeDue, providerSays, readRow } from "../../support/database/calls.ts";
import { addProject, addWorld, columnOf, type World } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";

// Events are unique by the id of their project or prediction. One that lives a second time would get none.

const db = useDatabase();
let world: World;
beforeEach(async () => {
  await db.sql`truncate keyframe.projects, keyframe.webhook_events, keyframe_private.provider_submits, keyframe_private.file_removals cascade`;
  world = await addWorld(db);
});

const eventsOf = (id: string) =>
  columnOf(db.sql`
    select type from keyframe.webhook_events where project_id = ${id} and prediction_id is null or prediction_id = ${id}`);

const CREATED = ["project.created"];
const REFUSED = { sqlstate: "KEYFR", message: "invalid_request" };

const insert = (id: string, owner = world.owner) =>
  db.sql`insert into keyframe.projects (id, owner_id, title, text_prompt) values (${id}, ${owner}, 'Again', 'p')`;

test("a deleted project's id is used by another user → refused while the earlier event is kept, then it gets its own event", async () => {
  const id = await addProject(db, world.owner);
  await db.sql`delete from keyframe.projects where id = ${id}`;
  const other = await db.addUser();
  expect(await refusalOf(insert(id, other))).toMatchObject(REFUSED);
  expect((await db.sql`select from keyframe.projects where id = ${id}`).count).toBe(0);
  await db.sql`update keyframe.webhook_events set created_at = now() - interval '31 days' where project_id = ${id}`;
  await db.sql`select keyframe_private.prune_webhooks()`;
  await insert(id, other);
  expect(await eventsOf(id)).toEqual(CREATED);
});

describe("an administrator inserts a prediction with an id", () => {
  const insert = (id: string, project = world.project) =>
    db.sql`insert into keyframe.predictions (id, project_id, step) values (${id}, ${project}, 'first-frame')`;
  /** A prediction that ran, up to its output. */
  const store = async () => {
    const { id } = (await start(db, world)).prediction;
    await claim(db.sql);
    await providerSays(db.sql, { id, run: `run-of-${id}`, status: "succeeded" });
    const task = (await claim(db.sql)).find((each) => each.id === id);
    return { id, lease: task?.lease_token ?? "" };
  };
  const remove = (id: string) => db.sql`delete from keyframe.predictions where id = ${id}`;
  /** What 14 months leave of it. */
  const forget = async () => {
    await db.sql`delete from keyframe_private.file_removals`;
    await db.sql`select keyframe_private.end_submit(id, 'lost') from keyframe_private.provider_submits`;
    await db.sql`update keyframe_private.provider_submits set created_at = now() - interval '14 months'`;
    await db.sql`update keyframe.webhook_events set created_at = now() - interval '31 days'`;
    await db.sql`select keyframe_private.prune()`;
  };

  const begin = async () => {
    const { id } = (await start(db, world)).prediction;
    const [task] = await claim(db.sql);
    return { id, lease: task?.lease_token ?? "" };
  };
  type Life = { id: string; lease: string };
  test.each<[string, () => Promise<Life>, (life: Life) => unknown]>([
    ["that succeeded, which has its event", store, ({ id, lease }) => complete(db.sql, id, lease)],
    ["that failed, which has its event", begin, ({ id, lease }) => fail(db.sql, id, lease)],
    ["whose run is known, and may call back", begin, ({ id }) => providerSays(db.sql, { id, run: "run-known" })],
    ["whose submit has no answer yet, so that a run may call back", begin, () => undefined],
  ])(
    "the id of a deleted prediction %s → refused until that is deleted, then it gets its own",
    async (_what, live, end) => {
      const life = await live();
      await end(life);
      const { id } = life;
      await remove(id);
      const other = await addWorld(db);
      expect(await refusalOf(insert(id, other.project))).toMatchObject(REFUSED);
      expect((await db.sql`select from keyframe.predictions where id = ${id}`).count).toBe(0);
      await forget();
      await insert(id, other.project);
      await db.sql`select keyframe_private.mark_failed(${id}, 'failed_by_administrator', 'Ended.', true)`;
      expect(await eventsOf(id)).toEqual(["generation.failed"]);
    },
  );

  test("the id of a deleted prediction whose output is still to be removed → refused: the removal would take the new file", async () => {
    const { id } = await store();
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    await remove(id);
    await makeDue(db.sql, id);
    await claim(db.sql); // nobody writes its output any longer
    await db.sql`delete from keyframe_private.provider_submits`;
    expect(await refusalOf(insert(id))).toMatchObject(REFUSED);
    await db.sql`delete from keyframe_private.file_removals`;
    await insert(id);
  });

  test("the id of a prediction that is being deleted at this moment → the insert waits for the deletion, and is refused", async () => {
    const { id, lease } = await store();
    await complete(db.sql, id, lease);
    const refusal = await whileOpen(
      db.sql,
      (sql) => sql`delete from keyframe.predictions where id = ${id}`,
      () => refusalOf(insert(id)),
    );
    expect(refusal).toMatchObject(REFUSED);
  });

  test("the id of a deleted prediction that was never handed out → accepted", async () => {
    const { id } = (await start(db, world)).prediction;
    await remove(id);
    await insert(id);
    expect((await readRow(db.sql, id)).status).toBe("queued");
  });
});
