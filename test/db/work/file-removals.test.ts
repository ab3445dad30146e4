import type { Sql, TransactionSql } from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { MEDIA_EXTENSIONS } from "../../../shared/media/media.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { callWorker, claim, complete, fail, makeDue, type Task, workOf } from "../../support/database/calls.ts";
import {
  addProject,
  addWorld,
  columnOf,
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
beforeEach(() => clearPredictions(db.sql));

/** What is to be removed, by name. */
const files = () => columnOf(db.sql`select bucket || '/' || name from keyframe_private.file_removals order by 1`);
const DAY = 24 * 3_600_000;
const upload = async (days: number, owner: string | null = world.owner, name = `${crypto.randomUUID()}.png`) => {
  await db.sql`
    insert into storage.objects (bucket_id, name, user_metadata, created_at)
    values ('projects', ${name}, ${db.sql.json({ width: 16, height: 9, ownerId: owner })}, ${new Date(Date.now() - days * DAY)})`;
  return `projects/${name}`;
};
const clearStorage = () =>
  db.sql.begin(async (sql) => {
    await sql`set local storage.allow_delete_query = 'true'`;
    await sql`delete from storage.objects`;
  });
const NOBODY = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const deleteProject = (project = world.project, sql: Sql | TransactionSql = db.sql) =>
  sql`delete from keyframe.projects where id = ${project}`;
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
  callWorker(db.sql, "record_files_removed", {
    ...{ work_id: task?.work_id, lease_token: task?.lease_token, refused: db.sql.json(refused) },
  });
const fileOf = (path: string): File => ({ bucket: "projects", name: path.slice("projects/".length) });

test("a project is deleted → its outputs are queued for removal at once, and its images unless another project uses them", async () => {
  const [own, shared] = [await addReference(db, world.owner), await addReference(db, world.owner)];
  const second = { ...world, project: await addProject(db, world.owner) };
  const seedWith = (path: string, of = world) => seedOutput(of, { referenceImagePaths: [path] });
  const outputs = [await seedWith(own), await seedWith(own)];
  await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [shared] } });
  const another = await seedWith(shared, second);
  await deleteProject();
  const first = [...outputs.sort(), own];
  expect(await files()).toEqual(first);
  expect(await workOf(db.sql, world.owner)).toMatchObject([{ kind: "remove", state: "ready" }, { kind: "remove" }]);
  await deleteProject(second.project);
  expect(await files()).toEqual([...first, another, shared].sort());
});

describe("an output that may be in Storage although its prediction did not succeed", () => {
  const seedStoring = (columns: Row = { due_at: new Date(Date.now() + 60_000) }, step: Step = "first-frame") =>
    seedPrediction(db.sql, world, { status: "storing", step, columns });

  test.each([
    ["deleted", () => deleteProject()],
    ["canceled", (id: string) => db.sql`select keyframe_private.mark_canceled(${id})`],
  ])(
    "a prediction is %s while its output is copied → each possible file name is removed, after the worker's lease",
    async (_how, end) => {
      const { id } = await seedStoring();
      await end(id);
      expect(await files()).toEqual([]);
      await makeDue(db.sql, id);
      await claim(db.sql); // its task is found to be over
      expect(await files()).toEqual(namesOf(id));
      await deleteProject();
      expect(await files()).toEqual(namesOf(id));
    },
  );

  test("a worker says that it could not copy an output → each possible file name is queued for removal at once", async () => {
    const { id, lease } = await seedStoring();
    await fail(db.sql, id, lease);
    expect(await files()).toEqual(namesOf(id));
  });

  test("a deleted video's output that no worker is copying → each possible file name is queued, at the next claim", async () => {
    const { id } = await seedStoring({ lease_token: null, due_at: new Date(0) }, "video");
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    await claim(db.sql);
    expect(await files()).toEqual(namesOf(id));
  });

  test("an output whose prediction succeeded → none of its files is queued for removal", async () => {
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

  test("250 files to remove → three tasks one after the other, each file once", async () => {
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

  test("more files are queued while others are being removed → a second task at once, with none of the first files", async () => {
    await note(150);
    const first = await claimRemovals();
    await note(30, NOBODY, "later");
    const second = await claimRemovals();
    const names = [first, second].flatMap((task) => task?.files.map(({ name }) => name) ?? []);
    expect([names.length, new Set(names).size]).toEqual([180, 180]);
  });

  test("an owner has 1,000 files queued earlier → another owner's file is in the same claim", async () => {
    await note(1_000, world.owner);
    await note(1, NOBODY, "other");
    const tasks = await claimAllRemovals();
    expect(tasks.flatMap(({ files }) => files.map(({ name }) => name))).toContain("other-1");
  });

  test("every file that is queued for removal → has the owner's id", async () => {
    const [used, unused] = [await addReference(db, world.owner), await addReference(db, world.owner)];
    await seedOutput(world, { referenceImagePaths: [used] });
    await seedPrediction(db.sql, world, { status: "storing" });
    await db.sql`update keyframe.projects set reference_image_path = ${unused} where id = ${world.project}`;
    await deleteProject();
    await upload(400);
    await db.sql`select keyframe_private.add_removals_of_unused_uploads()`;
    await claim(db.sql); // nobody copies the output any longer
    expect(await files()).toHaveLength(1 + 1 + Object.keys(MEDIA_EXTENSIONS).length + 1 + 1);
    expect(await columnOf(db.sql`select distinct owner_id from keyframe_private.file_removals`)).toEqual([world.owner]);
  });

  test("a worker dies during a removal → the files are claimed again after the lease; a late report changes nothing", async () => {
    await note(1);
    const dead = await claimRemovals();
    await makeDue(db.sql, NOBODY);
    const task = await claimRemovals();
    expect(task?.files).toEqual(dead?.files);
    await record(dead, dead?.files);
    await record(dead);
    const now = await db.sql`select failures, removed_by is not null as begun from keyframe_private.file_removals`;
    expect(now).toEqual([{ failures: 0, begun: true }]);
    await record(task);
    expect(await files()).toEqual([]);
  });

  test("Storage refuses to remove one of three files → only that file is tried again, after a growing time", async () => {
    await note(3);
    const task = await claimRemovals();
    await db.sql`update keyframe_private.work set failures = 4 where subject = ${NOBODY}`;
    await record(task, [...(task?.files.slice(1, 2) ?? []), { bucket: "projects", name: "another.png" }]);
    expect(await files()).toEqual(["keyframe-outputs/file-2"]);
    const [later] = await workOf(db.sql, NOBODY);
    expect(later).toMatchObject({ state: "scheduled", failures: 5, last_error: "not_removed" });
    expect(Number(later?.due_at) - Date.now()).toBeGreaterThan(10_000); // about 32 s
  });
});

describe("a reference image that is used again", () => {
  /** An image whose only prediction has been deleted. */
  const unused = async () => {
    const reference = await addReference(db, world.owner);
    const input = { referenceImagePaths: [reference] };
    const { id } = await seedPrediction(db.sql, world, { status: "failed", input });
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    expect(await files()).toEqual([reference]);
    return reference;
  };
  const beginStart = (reference: string, meanwhile: () => Promise<void>) =>
    db.asUser(world.owner, async (sql) => {
      await sql`select keyframe.start_prediction(${world.project}, 'first-frame', jsonb_build_object('referenceImagePath', ${reference}::text))`;
      await meanwhile();
    });

  test.each([true, false])(
    "an image queued for removal that an open transaction uses → not claimed; kept only if that is committed: %s",
    async (commits) => {
      const reference = await unused();
      const started = beginStart(reference, async () => {
        expect(await claimRemovals()).toBeNull();
        if (!commits) throw new Error("undone");
      });
      if (commits) await started;
      else await expect(started).rejects.toThrow("undone");
      await makeDue(db.sql, world.owner);
      expect((await claimRemovals())?.files).toEqual(commits ? undefined : [fileOf(reference)]);
    },
  );

  test("a start with an image that is being removed → not_found, even after the lease; the removal is postponed → it stays", async () => {
    const reference = await unused();
    const task = await claimRemovals();
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await makeDue(db.sql, world.owner);
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await record(task, task?.files);
    await start(db, world, { reference });
    expect(await files()).toEqual([]);
  });

  test("a prediction inserted in another way uses an image queued for removal → the image stays all the same", async () => {
    const reference = await unused();
    const input = { referenceImagePaths: [reference] };
    await seedPrediction(db.sql, world, { columns: { lease_token: null }, input });
    expect(await claimRemovals()).toBeNull();
    expect(await files()).toEqual([]);
  });

  test("a start with an image at the moment when its last prediction is deleted → the second waits, and the image stays", async () => {
    const reference = await addReference(db, world.owner);
    const seedSecond = async () => {
      const second = { ...world, project: await addProject(db, world.owner) };
      await seedPrediction(db.sql, second, { status: "failed", input: { referenceImagePaths: [reference] } });
      return second.project;
    };
    const first = await seedSecond();
    await whileOpen(db.sql, (sql) => deleteProject(first, sql), () => start(db, world, { reference })); // biome-ignore format: one line
    expect(await files()).toEqual([]);
    await db.sql`delete from keyframe.predictions where project_id = ${world.project}`;
    await db.sql`delete from keyframe_private.file_removals`;
    const second = await seedSecond();
    let deletion: PromiseLike<unknown> = Promise.resolve();
    await beginStart(reference, async () => {
      deletion = deleteProject(second).execute();
      await untilSomebodyWaits(db.sql);
    });
    await deletion;
    expect(await files()).toEqual([]);
  });

  test("a start waits and its image disappears from Storage → not_found", async () => {
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

describe("a reference image that no prediction uses", () => {
  beforeEach(clearStorage);
  /** How many it has queued. */
  const note = async (most = 1000) => {
    const queued = async () => (await files()).length;
    const before = await queued();
    await db.sql`select keyframe_private.add_removals_of_unused_uploads(${most})`;
    return (await queued()) - before;
  };

  test("an image uploaded 31 days ago and never used → queued, due at once, and claimed for removal", async () => {
    const old = await upload(31);
    await upload(29);
    expect(await note()).toBe(1);
    expect(await files()).toEqual([old]);
    const [task] = await claim(db.sql);
    expect(task).toMatchObject({ task: "remove", files: [fileOf(old)] });
    expect(await note()).toBe(0);
  });

  test.each(["succeeded", "canceled", "queued"] as const)(
    "an old image used by a prediction that is %s → stays",
    async (status) => {
      await seedPrediction(db.sql, world, { status, input: { referenceImagePaths: [await upload(400)] } });
      expect(await note()).toBe(0);
    },
  );

  test("an image whose owner's account is deleted → queued, however new, with all other files of the account", async () => {
    const [unused, used] = [await upload(0), await upload(0)];
    await seedPrediction(db.sql, world, { status: "failed", input: { referenceImagePaths: [used] } });
    const stays = await upload(0, (await addWorld(db)).owner);
    await db.sql`delete from auth.users where id = ${world.owner}`;
    expect(await files()).toEqual([used]);
    expect(await note()).toBe(1);
    expect(await files()).toEqual([unused, used].toSorted());
    expect(await files()).not.toContain(stays);
  });

  test("old outputs, and files that an administrator stored → stay", async () => {
    await upload(400, null);
    await upload(400, "somebody from elsewhere");
    await db.sql`
      insert into storage.objects (bucket_id, name, owner_id, created_at) values
        ('keyframe-outputs', 'o/p/x.png', null, now() - interval '1 year'),
        ('projects', 'y.png', ${world.owner}, now() - interval '1 year')`;
    expect(await note()).toBe(0);
  });

  test("more unused images than one call takes → the next calls take the rest; unused_references_after sets another age", async () => {
    for (const days of [31, 31, 31, 3]) await upload(days);
    expect([await note(2), await note(2), await note(2)]).toEqual([2, 1, 0]);
    await db.sql`update keyframe_private.settings set unused_references_after = '2 days'`;
    expect(await note()).toBe(1);
    await db.sql`update keyframe_private.settings set unused_references_after = default`;
  });

  test("one owner has more unused images than a call takes → another owner's image is in the same call", async () => {
    for (let i = 0; i < 3; i++) await upload(40);
    const other = await upload(31, (await addWorld(db)).owner);
    expect(await note(2)).toBe(2);
    expect(await files()).toContain(other);
  });

  test("a start uses an old image during or right after the check for unused ones → the image stays, and the check does not wait", async () => {
    const reference = await upload(31);
    await db.asUser(world.owner, async (sql) => {
      await sql`select keyframe.start_prediction(${world.project}, 'first-frame', jsonb_build_object('referenceImagePath', ${reference}::text))`;
      expect(await note()).toBe(0);
    });
    expect(await note()).toBe(0);
    const later = await upload(31);
    const queue = (sql: Sql | TransactionSql) => sql`select keyframe_private.add_removals_of_unused_uploads()`;
    await whileOpen(db.sql, queue, () => start(db, world, { reference: later }));
    expect(await files()).toEqual([]);
  });
});
