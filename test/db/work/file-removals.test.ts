import { beforeEach, describe, expect, test } from "vitest";
import { MEDIA_EXTENSIONS } from "../../../shared/media/media.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { callWorker, claim, complete, fail, makeDue, type Task, workOf } from "../../support/database/calls.ts";
import {
  addProject,
  useWorld,
  outputPathOf,
  type Input,
  type Row,
  seedPrediction,
  type Step,
  type World,
} from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { addReference, start } from "../../support/database/user.ts";
import { untilSomebodyWaits, whileOpen } from "../../support/database/waiting.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.file_removals, keyframe_private.provider_submits",
  );
});

/** What is to be removed, by name. */
const files = async () =>
  (
    await db.sql<{ file: string }[]>`
    select bucket || '/' || name as file from keyframe_private.file_removals order by 1`
  ).map(({ file }) => file);
const NOBODY = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const deleteProject = (project = world.project) => db.sql`delete from keyframe.projects where id = ${project}`;
/** Seeds a prediction that succeeded; returns its file. */
const seedOutput = async (of: World, input: Partial<Input> = {}) =>
  `keyframe-outputs/${outputPathOf((await seedPrediction(db.sql, of, { status: "succeeded", input })).id, of)}`;
const namesOf = (id: string, { owner, project } = world) =>
  Object.values(MEDIA_EXTENSIONS)
    .map((extension) => `keyframe-outputs/${owner}/${project}/${id}.${extension}`)
    .sort();

/** The tasks to remove files that are due. */
const claimAllRemovals = async () =>
  (await claim(db.sql)).filter(({ task }) => task === "remove") as (Task & { files: File[] })[];
/** The only one; null when there is none. */
const claimRemovals = async () => {
  const tasks = await claimAllRemovals();
  expect(tasks.length).toBeLessThan(2);
  return tasks[0] ?? null;
};
type File = { bucket: string; name: string };
/** A worker has removed the files of its task, but for these. */
const record = (task: Task | null, refused: File[] = []) =>
  callWorker(db.sql, "record_files_removed", { work_id: task?.work_id, lease_token: task?.lease_token, refused: db.sql.json(refused) }); // biome-ignore format: one line

test("a project is deleted → its outputs are queued, due at once, and its images unless another project uses them", async () => {
  const [own, shared] = [await addReference(db, world.owner), await addReference(db, world.owner)];
  const second = { ...world, project: await addProject(db, world.owner) };
  const outputs = [
    await seedOutput(world, { referenceImagePaths: [own] }),
    await seedOutput(world, { referenceImagePaths: [own] }),
  ];
  await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [shared] } });
  const another = await seedOutput(second, { referenceImagePaths: [shared] });
  await deleteProject();
  const first = [...outputs.sort(), own];
  expect(await files()).toEqual(first);
  expect(await workOf(db.sql, world.owner)).toMatchObject([{ kind: "remove", state: "ready" }, { kind: "remove" }]);
  await deleteProject(second.project);
  expect(await files()).toEqual([...first, another, shared].sort());
});

describe("an output that may lie in Storage although its prediction did not succeed", () => {
  const seedStoring = (columns: Row = {}, step: Step = "first-frame") => {
    const inAMinute = new Date(Date.now() + 60_000);
    return seedPrediction(db.sql, world, {
      status: "storing",
      step,
      columns: { due_at: inAMinute, ...columns },
    });
  };

  /** The lease of the worker that copies it expires, and its task is found to be over. */
  const leaseExpires = async (id: string) => {
    expect(await files()).toEqual([]);
    await makeDue(db.sql, id);
    await claim(db.sql);
  };

  test("deleted while it is copied → every name it may have, once the worker's lease has ended", async () => {
    const { id } = await seedStoring();
    await deleteProject();
    await leaseExpires(id);
    expect(await files()).toEqual(namesOf(id));
  });

  test("canceled while it is copied → the same, though the prediction stays", async () => {
    const { id } = await seedStoring();
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    await leaseExpires(id);
    expect(await files()).toEqual(namesOf(id));
    await deleteProject();
    expect(await files()).toEqual(namesOf(id));
  });

  test("the worker that copies it says that it failed → the same at once", async () => {
    const { id, lease } = await seedStoring();
    await fail(db.sql, id, lease);
    expect(await files()).toEqual(namesOf(id));
  });

  test("a video that no worker is copying → each name it may have, at the next claim", async () => {
    const { id } = await seedStoring({ lease_token: null, due_at: new Date(0) }, "video");
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    await claim(db.sql);
    expect(await files()).toEqual(namesOf(id));
  });

  test("it has succeeded → nothing", async () => {
    const { id, lease } = await seedStoring();
    expect(await complete(db.sql, id, lease)).toBe(true);
    expect(await files()).toEqual([]);
  });
});

describe("a task to remove files", () => {
  const note = (count: number, owner = NOBODY, prefix = "file") =>
    db.sql`
      insert into keyframe_private.file_removals (bucket, name, owner_id)
      select 'keyframe-outputs', ${prefix} || '-' || i, ${owner} from generate_series(1, ${count}::int) i`;

  test("250 files → three tasks one after the other, each file once", async () => {
    await note(250);
    const seen: string[] = [];
    for (const count of [100, 100, 50]) {
      const task = await claimRemovals();
      expect(task?.files).toHaveLength(count);
      expect(await claimRemovals()).toBeNull();
      seen.push(...(task?.files.map(({ name }) => name) ?? []));
      await record(task);
    }
    expect(new Set(seen).size).toBe(250);
    expect([await claimRemovals(), await files()]).toEqual([null, []]);
  });

  test("more files are listed while others are being removed → another task at once, with none of those", async () => {
    await note(150);
    const first = await claimRemovals();
    await note(30, NOBODY, "later");
    const second = await claimRemovals();
    const names = [first, second].flatMap((task) => task?.files.map(({ name }) => name) ?? []);
    expect([names.length, new Set(names).size]).toEqual([180, 180]);
    for (const task of [second, first]) await record(task);
    expect(await files()).toEqual([]);
  });

  test("an owner has 1,000 files that were listed before → another's file goes with the same claim", async () => {
    await note(1_000, world.owner);
    await note(1, NOBODY, "other");
    const tasks = await claimAllRemovals();
    expect(tasks.flatMap(({ files }) => files.map(({ name }) => name))).toContain("other-1");
  });

  test("every file that is queued → has its owner", async () => {
    const [used, unused] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    await seedOutput(world, { referenceImagePaths: [used] });
    await seedPrediction(db.sql, world, { status: "storing" });
    await db.sql`update keyframe.projects set reference_image_path = ${unused} where id = ${world.project}`;
    await deleteProject();
    await db.sql`
      insert into storage.objects (bucket_id, name, user_metadata, created_at)
      values ('projects', 'old.png', jsonb_build_object('ownerId', ${world.owner}::text), '2020-01-01')`;
    await db.sql`select keyframe_private.queue_unused_references()`;
    await claim(db.sql); // nobody copies the output any longer
    const owners = await db.sql`select owner_id from keyframe_private.file_removals group by 1`;
    expect([(await files()).length, owners]).toMatchObject([
      1 + 1 + Object.keys(MEDIA_EXTENSIONS).length + 1 + 1,
      [{ owner_id: world.owner }],
    ]);
    await db.sql`set storage.allow_delete_query = 'true'`;
    await db.sql`delete from storage.objects where name = 'old.png'`;
  });

  test("a worker dies over it → handed out again when the lease ends, and its late word changes nothing", async () => {
    await note(1);
    const dead = await claimRemovals();
    await makeDue(db.sql, NOBODY);
    const task = await claimRemovals();
    expect(task?.files).toEqual(dead?.files);
    await record(dead, dead?.files);
    await record(dead);
    expect(await db.sql`select failures, removed_by is not null as begun from keyframe_private.file_removals`).toEqual([{ failures: 0, begun: true }]); // biome-ignore format: one line
    await record(task);
    expect(await files()).toEqual([]);
  });

  test("Storage is away → tried again after 2 s, 4 s, each ±20 %, up to two minutes, however often", async () => {
    await note(1);
    for (const [attempt, planned] of [2, 4, 8, 16, 32, 64, 128, 256, 512].entries()) {
      const task = await claimRemovals();
      await db.sql.begin(async (sql) => {
        const lease = { work_id: task?.work_id, lease_token: task?.lease_token };
        await callWorker(sql, "record_files_removed", { ...lease, refused: db.sql.json(task?.files ?? []) });
        const [row] = await sql`
          select failures, extract(epoch from due_at - now())::float8 as seconds from keyframe_private.work where subject = ${NOBODY}`;
        expect(row?.failures).toBe(attempt + 1);
        expect(row?.seconds).toBeGreaterThanOrEqual(Math.min(120, planned * 0.8));
        expect(row?.seconds).toBeLessThanOrEqual(Math.min(120, planned * 1.2));
      });
      await makeDue(db.sql, NOBODY);
    }
  });

  test("one of three is refused → it alone is tried again", async () => {
    await note(3);
    const task = await claimRemovals();
    await record(task, [...(task?.files.slice(1, 2) ?? []), { bucket: "projects", name: "another.png" }]);
    expect(await files()).toEqual(["keyframe-outputs/file-2"]);
    expect(await workOf(db.sql, NOBODY)).toMatchObject([
      { state: "scheduled", failures: 1, last_error: "not_removed" },
    ]);
  });
});

describe("a reference image that is used again", () => {
  /** An image whose only prediction has been deleted. */
  const unused = async () => {
    const reference = await addReference(db, world.owner);
    const { id } = await seedPrediction(db.sql, world, {
      status: "failed",
      input: { referenceImagePaths: [reference] },
    });
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    expect(await files()).toEqual([reference]);
    return reference;
  };
  const beginStart = (reference: string, meanwhile: () => Promise<void>) =>
    db.asUser(world.owner, async (sql) => {
      await sql`select keyframe.start_prediction(${world.project}, 'first-frame', jsonb_build_object('referenceImagePath', ${reference}::text))`;
      await meanwhile();
    });

  test("in a transaction that has not committed → it is not handed out meanwhile", async () => {
    const reference = await unused();
    await beginStart(reference, async () => expect(await claimRemovals()).toBeNull());
    expect(await files()).toEqual([]);
  });

  test("in a transaction that is rolled back → it is handed out afterwards", async () => {
    const reference = await unused();
    const undone = beginStart(reference, async () => {
      expect(await claimRemovals()).toBeNull();
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    await makeDue(db.sql, world.owner);
    expect((await claimRemovals())?.files).toEqual([{ bucket: "projects", name: reference.slice("projects/".length) }]);
  });

  test("while it is being removed → not_found, also when that has failed or its outcome is unknown; postponed → it stays", async () => {
    const reference = await unused();
    const task = await claimRemovals();
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await makeDue(db.sql, world.owner);
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await record(task, task?.files);
    await start(db, world, { reference });
    expect(await files()).toEqual([]);
  });

  test("by a prediction that came another way, with the removal queued → it stays all the same", async () => {
    const reference = await unused();
    await seedPrediction(db.sql, world, {
      columns: { lease_token: null },
      input: { referenceImagePaths: [reference] },
    });
    expect(await claimRemovals()).toBeNull();
    expect(await files()).toEqual([]);
  });

  describe("when its last prediction goes", () => {
    let reference: string;
    let second: World;
    beforeEach(async () => {
      reference = await addReference(db, world.owner);
      second = { ...world, project: await addProject(db, world.owner) };
      await seedPrediction(db.sql, second, { status: "failed", input: { referenceImagePaths: [reference] } });
    });

    test("at the moment after a start → the deletion waits and sees the new one", async () => {
      let deletion: PromiseLike<unknown> = Promise.resolve();
      await beginStart(reference, async () => {
        deletion = deleteProject(second.project).execute();
        await untilSomebodyWaits(db.sql);
      });
      await deletion;
      expect(await files()).toEqual([]);
    });

    test("at the moment before a start → the start waits and takes the image back", async () => {
      await whileOpen(
        db.sql,
        (sql) => sql`delete from keyframe.projects where id = ${second.project}`,
        () => start(db, world, { reference }),
      );
      expect(await files()).toEqual([]);
    });
  });

  test("that has gone from Storage while the start waited → not_found", async () => {
    const reference = await addReference(db, world.owner);
    let outcome: Promise<string> = Promise.resolve("");
    await db.sql.begin(async (sql) => {
      await sql`select keyframe_private.acquire_lock('references', ${world.owner})`;
      outcome = codeOf(start(db, world, { reference }));
      await untilSomebodyWaits(db.sql);
      await sql`set local storage.allow_delete_query = 'true'`;
      await sql`delete from storage.objects where name = ${reference.slice("projects/".length)}`;
    });
    expect(await outcome).toBe("not_found");
  });
});
