import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { claim } from "../../support/database/calls.ts";
import { addWorld, useWorld, seedPrediction } from "../../support/database/predictions.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";

// A reference image that no prediction uses has an end: a month after its upload, or with its owner's account.
const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await db.sql.begin(async (sql) => {
    await sql`set local storage.allow_delete_query = 'true'`;
    await sql`delete from storage.objects`;
  });
  await emptyTables(db.sql, "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.file_removals");
});

const DAY = 24 * 3_600_000;
const upload = async (days: number, owner: string | null = world.owner, name = `${crypto.randomUUID()}.png`) => {
  await db.sql`
    insert into storage.objects (bucket_id, name, user_metadata, created_at)
    values ('projects', ${name}, ${db.sql.json({ width: 16, height: 9, ownerId: owner })}, ${new Date(Date.now() - days * DAY)})`;
  return `projects/${name}`;
};
const note = async (most = 1000) =>
  (await db.sql<{ queued: number }[]>`select keyframe_private.queue_unused_references(${most}) as queued`)[0]?.queued;
const files = async () =>
  (await db.sql`select bucket || '/' || name as file from keyframe_private.file_removals order by 1`).map(
    ({ file }) => file,
  );

test("uploaded 31 days ago and never used → queued, due at once, and handed out to be removed", async () => {
  const old = await upload(31);
  await upload(29);
  expect(await note()).toBe(1);
  expect(await files()).toEqual([old]);
  const [task] = await claim(db.sql);
  expect(task).toMatchObject({ task: "remove", files: [{ bucket: "projects", name: old.slice("projects/".length) }] });
  expect(await note()).toBe(0);
});

test.each(["succeeded", "canceled", "queued"] as const)("used by a prediction that is %s → stays", async (status) => {
  await seedPrediction(db.sql, world, { status, input: { referenceImagePaths: [await upload(400)] } });
  expect(await note()).toBe(0);
});

test("its owner's account is gone → queued, however new; with all else of the account", async () => {
  const [unused, used] = [await upload(0), await upload(0)];
  await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [used] } });
  const stays = await upload(0, (await addWorld(db)).owner);
  await db.sql`delete from auth.users where id = ${world.owner}`;
  expect(await files()).toEqual([used]);
  expect(await note()).toBe(1);
  expect(await files()).toEqual([unused, used].toSorted());
  expect(await files()).not.toContain(stays);
});

test("outputs, and files that an administrator put there → stay", async () => {
  await upload(400, null);
  await upload(400, "somebody from elsewhere");
  await db.sql`
    insert into storage.objects (bucket_id, name, owner_id, created_at) values
      ('keyframe-outputs', 'o/p/x.png', null, now() - interval '1 year'),
      ('projects', 'y.png', ${world.owner}, now() - interval '1 year')`;
  expect(await note()).toBe(0);
});

test("more than one call takes → the rest by the next calls; an administrator has another time → that one", async () => {
  for (let i = 0; i < 5; i++) await upload(31);
  await upload(3);
  expect([await note(2), await note(2), await note(2), await note(2)]).toEqual([2, 2, 1, 0]);
  await db.sql`update keyframe_private.settings set unused_references_after = '2 days'`;
  expect(await note()).toBe(1);
  await db.sql`update keyframe_private.settings set unused_references_after = default`;
});

test("one owner has more than a call takes → another's image goes with the same call", async () => {
  for (let i = 0; i < 3; i++) await upload(40);
  const other = await upload(31, (await addWorld(db)).owner);
  expect(await note(2)).toBe(2);
  expect(await files()).toContain(other);
});

test("a start uses it at that moment → it stays, and the check of others does not wait", async () => {
  const reference = await upload(31);
  await db.asUser(world.owner, async (sql) => {
    await sql`select keyframe.start_prediction(${world.project}, 'first-frame', jsonb_build_object('referenceImagePath', ${reference}::text))`;
    expect(await note()).toBe(0);
  });
  expect(await note()).toBe(0);
  expect(await files()).toEqual([]);
});

test("a start uses it a moment later → the start waits, and removes the entry", async () => {
  const reference = await upload(31);
  await whileOpen(
    db.sql,
    (sql) => sql`select keyframe_private.queue_unused_references()`,
    () => start(db, world, { reference }),
  );
  expect(await files()).toEqual([]);
});
