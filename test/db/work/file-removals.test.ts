import { beforeEach, describe, expect, test } from "vitest";
import { MEDIA_EXTENSIONS } from "../../../shared/media/media.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { claim, complete, fail, type Task } from "../../support/database/calls.ts";
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

type Removal = { file: string; seconds: number; failures: number; leased: boolean };
/** What is to be removed, by name, and in how many seconds. */
const queued = () => db.sql<Removal[]>`
  select bucket || '/' || name as file, extract(epoch from due_at - now())::int as seconds, failures, lease_token is not null as leased
  from keyframe_private.file_removals order by 1`;
const files = async () => (await queued()).map(({ file }) => file);
const deleteProject = (project = world.project) => db.sql`delete from keyframe.projects where id = ${project}`;
/** Seeds a prediction that succeeded; returns its file. */
const seedOutput = async (of: World, input: Partial<Input> = {}) =>
  `keyframe-outputs/${outputPathOf((await seedPrediction(db.sql, of, { status: "succeeded", input })).id, of)}`;
const namesOf = (id: string, { owner, project } = world) =>
  Object.values(MEDIA_EXTENSIONS)
    .map((extension) => `keyframe-outputs/${owner}/${project}/${id}.${extension}`)
    .sort();

/** The one task to remove files that is due; null when there is none. */
const claimRemovals = async (leaseSeconds = 60) => {
  const tasks = (await claim(db.sql, 10, leaseSeconds)).filter(({ task }) => task === "remove");
  expect(tasks.length).toBeLessThan(2);
  return (tasks[0] as (Task & { files: File[] }) | undefined) ?? null;
};
type File = { bucket: string; name: string };
/** How many files are done, when Storage refused these. */
const record = async (lease: string, refused: File[] = []) => {
  const [row] = await db.sql<{ files: number }[]>`
    select keyframe_worker.record_files_removed(${lease}, ${db.sql.json(refused)}) as files`;
  return row?.files;
};
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
  expect((await queued()).map(({ file, seconds }) => [file, seconds])).toEqual(first.map((file) => [file, 0]));
  await deleteProject(second.project);
  expect(await files()).toEqual([...first, another, shared].sort());
});

describe("an output that may lie in Storage although its prediction did not succeed", () => {
  const seedStoring = (columns: Row = {}, step: Step = "first-frame") => {
    const inAMinute = new Date(Date.now() + 60_000);
    return seedPrediction(db.sql, world, {
      status: "storing",
      step,
      columns: { next_attempt_at: inAMinute, ...columns },
    });
  };

  test("deleted while it is copied → every name it may have, due when the worker's lease ends", async () => {
    const { id } = await seedStoring();
    await deleteProject();
    const rows = await queued();
    expect(rows.map(({ file }) => file)).toEqual(namesOf(id));
    for (const { seconds } of rows) expect(seconds).toBeGreaterThan(55);
  });

  test.each(["canceled", "failed"])("%s while it is copied → the same, though the prediction stays", async (status) => {
    const { id, lease } = await seedStoring();
    if (status === "failed") await fail(db.sql, id, lease);
    else await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await files()).toEqual(namesOf(id));
    expect((await queued())[0]?.seconds).toBeGreaterThan(55);
    await deleteProject();
    expect(await files()).toEqual(namesOf(id));
  });

  test("a video → each name it may have; no worker is copying → due at once", async () => {
    const { id } = await seedStoring({ lease_token: null }, "video");
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    const due = { seconds: 0, failures: 0, leased: false };
    expect(await queued()).toEqual(namesOf(id).map((file) => ({ file, ...due })));
  });

  test("it has succeeded → nothing", async () => {
    const { id, lease } = await seedStoring();
    expect(await complete(db.sql, id, lease)).toBe(true);
    expect(await files()).toEqual([]);
  });
});

describe("a task to remove files", () => {
  const note = (count: number) =>
    db.sql`
      insert into keyframe_private.file_removals (bucket, name, due_at)
      select 'keyframe-outputs', 'file-' || i, ${new Date(Date.now() - 1000)}
      from generate_series(1, ${count}::int) i`;

  test("250 files → three tasks one after the other, never two at once, each file once", async () => {
    await note(250);
    const seen: string[] = [];
    for (const count of [100, 100, 50]) {
      const task = await claimRemovals();
      expect(task?.files).toHaveLength(count);
      expect(task?.id).toBe(task?.lease_token);
      expect(await claimRemovals()).toBeNull();
      seen.push(...(task?.files.map(({ name }) => name) ?? []));
      expect(await record(task?.lease_token ?? "")).toBe(count);
    }
    expect(new Set(seen).size).toBe(250);
    expect(await claimRemovals()).toBeNull();
    expect(await files()).toEqual([]);
  });

  test("an owner has 1,000 files that have been due for longer → a file that is nobody's is in the first task all the same", async () => {
    await db.sql`
      insert into keyframe_private.file_removals (bucket, name, owner_id, due_at)
      select 'keyframe-outputs', 'owned-' || i, ${world.owner}, ${new Date(Date.now() - 3_600_000)} from generate_series(1, 1000) i`;
    await note(1);
    expect((await claimRemovals())?.files.map(({ name }) => name)).toContain("file-1");
  });

  test("an owner has 1,000 files that have been due for longer → each task has files of others too, then only the owner's", async () => {
    const add = (owner: string, count: number, seconds: number) => db.sql`
      insert into keyframe_private.file_removals (bucket, name, owner_id, due_at)
      select 'keyframe-outputs', ${owner} || '/' || i, ${owner}, ${new Date(Date.now() - seconds * 1000)} from generate_series(1, ${count}::int) i`;
    const others = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await add(world.owner, 1_000, 3600);
    for (const other of others) await add(other, 30, 1);
    const ofWhom = async () => {
      const task = await claimRemovals();
      await record(task?.lease_token ?? "");
      const owners = task?.files.map(({ name }) => name.split("/")[0]) ?? [];
      return [world.owner, ...others].map((owner) => owners.filter((each) => each === owner).length);
    };
    expect([await ofWhom(), await ofWhom(), await ofWhom()]).toEqual([
      [25, 25, 25, 25],
      [25, 5, 5, 5],
      [100, 0, 0, 0],
    ]);
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
    const dead = await claimRemovals(90);
    expect((await queued())[0]).toMatchObject({ leased: true, seconds: 90 });
    await db.sql`update keyframe_private.file_removals set due_at = now()`;
    const task = await claimRemovals();
    expect(task?.files).toEqual(dead?.files);
    expect(await record(dead?.lease_token ?? "", dead?.files)).toBe(0);
    expect(await record(dead?.lease_token ?? "")).toBe(0);
    expect(await files()).toHaveLength(1);
    expect(await record(task?.lease_token ?? "")).toBe(1);
  });

  test("Storage is away → tried again after 2 s, 4 s, each ±20 %, up to two minutes, however often", async () => {
    await note(1);
    for (const [attempt, planned] of [2, 4, 8, 16, 32, 64, 128, 256, 512].entries()) {
      const task = await claimRemovals();
      expect(await record(task?.lease_token ?? "", task?.files)).toBe(0);
      const [row] = await queued();
      expect(row).toMatchObject({ failures: attempt + 1, leased: false });
      expect(row?.seconds).toBeGreaterThanOrEqual(Math.floor(Math.min(120, planned * 0.8)));
      expect(row?.seconds).toBeLessThanOrEqual(Math.ceil(Math.min(120, planned * 1.2)));
      await db.sql`update keyframe_private.file_removals set due_at = now()`;
    }
    await db.sql`update keyframe_private.file_removals set failures = 100000`;
    const task = await claimRemovals();
    expect(await record(task?.lease_token ?? "", task?.files)).toBe(0);
    expect((await queued())[0]?.seconds).toBe(120);
  });

  test("one of three is refused → it alone is tried again", async () => {
    await note(3);
    const task = await claimRemovals();
    const refused = task?.files.slice(1, 2) ?? [];
    expect(await record(task?.lease_token ?? "", [...refused, { bucket: "projects", name: "another.png" }])).toBe(2);
    expect(await queued()).toEqual([{ file: "keyframe-outputs/file-2", seconds: 2, failures: 1, leased: false }]);
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

  test("while it is being removed → not_found, also when that has failed or its outcome is unknown; postponed → it stays", async () => {
    const reference = await unused();
    const task = await claimRemovals();
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await db.sql`update keyframe_private.file_removals set due_at = now()`;
    expect(await codeOf(start(db, world, { reference }))).toBe("not_found");
    await record(task?.lease_token ?? "", task?.files);
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
      await sql`select keyframe_private.take_lock('references', ${world.owner})`;
      outcome = codeOf(start(db, world, { reference }));
      await untilSomebodyWaits(db.sql);
      await sql`set local storage.allow_delete_query = 'true'`;
      await sql`delete from storage.objects where name = ${reference.slice("projects/".length)}`;
    });
    expect(await outcome).toBe("not_found");
  });
});
