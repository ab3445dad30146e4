import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { readRow } from "../support/database/calls.ts";
import { addProject, addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { addReference, start, type Wanted } from "../support/database/user.ts";

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

const frame = (
  step: "first-frame" | "last-frame" = "first-frame",
  status: "succeeded" | "processing" | "storing" | "failed" = "succeeded",
  of = world,
) => seedPrediction(db.sql, of, { step, status });

/** The code of the refusal; also makes sure that it left no row and took no token. */
async function refusalCode(wanted: Wanted): Promise<string> {
  const state = async () => {
    const [row] = await db.sql`
      select (select count(*) from keyframe.predictions)::int as predictions,
        (select count(*) from keyframe_private.rate_buckets)::int as buckets,
        (select coalesce(sum(tokens), 0) from keyframe_private.rate_buckets) as tokens`;
    return row;
  };
  const before = await state();
  const code = await codeOf(start(db, world, wanted));
  expect(await state()).toEqual(before);
  return code;
}

/** Makes another model the default of its step for one test. */
async function withModel(step: string, model: string, work: () => Promise<void>): Promise<void> {
  const [before] =
    await db.sql`select model from keyframe.models where step = ${step}::keyframe.generation_step and is_default`;
  const use = (name: string) => db.sql`
    update keyframe.models set is_default = true where step = ${step}::keyframe.generation_step and model = ${name}`;
  await use(model);
  try {
    await work();
  } finally {
    await use(before?.model);
  }
}

describe("not_found", () => {
  test("a project that does not exist", async () => {
    expect(await refusalCode({ project: crypto.randomUUID() })).toBe("not_found");
  });

  test("another user's project, refused as one that does not exist", async () => {
    const other = await addWorld(db);
    const foreign = await refusalOf(start(db, world, { project: other.project }));
    expect(foreign).toEqual(await refusalOf(start(db, world, { project: crypto.randomUUID() })));
    expect(await refusalCode({ project: other.project })).toBe("not_found");
  });

  test("a first frame of another project of the same owner", async () => {
    const elsewhere = await frame("first-frame", "succeeded", {
      owner: world.owner,
      project: await addProject(db, world.owner),
    });
    expect(await refusalCode({ step: "video", firstFrame: elsewhere.id })).toBe("not_found");
  });

  test("frames of the wrong step", async () => {
    const [first, last] = [await frame(), await frame("last-frame")];
    expect(await refusalCode({ step: "video", firstFrame: last.id })).toBe("not_found");
    expect(await refusalCode({ step: "video", lastFrame: first.id })).toBe("not_found");
  });

  test("a reference that was never uploaded, or that another user uploaded", async () => {
    expect(await refusalCode({ reference: `projects/${crypto.randomUUID()}.png` })).toBe("not_found");
    const theirs = await addReference(db, (await addWorld(db)).owner);
    expect(await refusalCode({ reference: theirs })).toBe("not_found");
  });
});

describe("frame_not_ready", () => {
  test("a video of a project without a first frame", async () => {
    expect(await refusalCode({ step: "video" })).toBe("frame_not_ready");
  });

  test.each(["processing", "storing", "failed"] as const)("a named frame that is %s", async (status) => {
    const first = await frame("first-frame", status);
    expect(await refusalCode({ step: "video", firstFrame: first.id })).toBe("frame_not_ready");
    const last = await frame("last-frame", status);
    await frame();
    expect(await refusalCode({ step: "video", lastFrame: last.id })).toBe("frame_not_ready");
  });
});

describe("invalid_request: a reference path that is no projects/<file_name>", () => {
  test.each([
    "mine.png",
    "/projects/mine.png",
    "keyframe-outputs/mine.png",
    "projects/",
    "projects/../keyframe-outputs/mine.png",
    "projects/a..png",
    "projects/.hidden.png",
    "projects/folder/mine.png",
    "projects/mine.png?x=1",
    "projects/mine png",
    "projects/mine%2epng",
    "PROJECTS/mine.png",
    "projects/mine.png\n",
    `projects/${"a".repeat(201)}`,
    "",
  ])("%j", async (reference) => {
    expect(await refusalCode({ reference })).toBe("invalid_request");
  });
});

describe("unsupported_input: what the model would drop is refused before any charge", () => {
  test("a reference for a video model that takes none", async () => {
    await frame();
    expect(await refusalCode({ step: "video", reference: await addReference(db, world.owner) })).toBe(
      "unsupported_input",
    );
  });

  test("a first frame and a reference for a last frame, when the model takes one image", async () => {
    await withModel("last-frame", "black-forest-labs/flux-kontext-pro", async () => {
      const reference = await addReference(db, world.owner);
      expect((await start(db, world, { step: "last-frame", reference })).prediction.model).toBe(
        "black-forest-labs/flux-kontext-pro",
      );
      await frame();
      expect(await refusalCode({ step: "last-frame", reference })).toBe("unsupported_input");
    });
  });

  test("a last frame for a model that has none, named or taken by default", async () => {
    await withModel("video", "minimax/hailuo-2.3", async () => {
      await frame();
      expect((await start(db, world, { step: "video" })).prediction.model).toBe("minimax/hailuo-2.3");
      const last = await frame("last-frame");
      expect(await refusalCode({ step: "video", lastFrame: last.id })).toBe("unsupported_input");
      expect(await refusalCode({ step: "video" })).toBe("unsupported_input");
    });
  });

  test("a last frame for a step that makes an image", async () => {
    const last = await frame("last-frame");
    expect(await refusalCode({ lastFrame: last.id })).toBe("unsupported_input");
    expect(await refusalCode({ step: "last-frame", lastFrame: last.id })).toBe("unsupported_input");
  });

  test("a duration that the model does not offer", async () => {
    await frame();
    expect(await refusalCode({ step: "video", duration: 7 })).toBe("unsupported_input");
    expect(await refusalCode({ duration: 5 })).toBe("unsupported_input");
  });

  test("a reference beside frames, when the model takes only one of the two", async () => {
    await db.sql`
      insert into keyframe.models (step, model, first_frame_field, reference_field, max_references, reference_is_list, references_exclude_frames)
      values ('video', 'test/either-or', 'image', 'reference_images', 3, true, true), ('video', 'test/both', 'image', 'reference_images', 3, true, false)`;
    await frame();
    const reference = await addReference(db, world.owner);
    await withModel("video", "test/either-or", async () => {
      expect(await refusalCode({ step: "video", reference })).toBe("unsupported_input");
    });
    await withModel("video", "test/both", async () => {
      const { prediction } = await start(db, world, { step: "video", reference });
      expect(await readRow(db.sql, prediction.id)).toMatchObject({ reference_image_path: reference });
    });
  });
});

describe("what makes no sense for a step is refused by a named rule", () => {
  test.each([
    ["a prompt that is empty", { prompt: "" }, "prompt_has_1_to_4000_characters"],
    ["a prompt that is too long", { prompt: "x".repeat(4001) }, "prompt_has_1_to_4000_characters"],
  ])("%s", async (_name, wanted, constraint) => {
    expect(await refusalOf(start(db, world, wanted))).toMatchObject({ sqlstate: "23514", constraint });
  });

  test("a first frame that builds on a frame", async () => {
    const first = await frame();
    expect((await refusalOf(start(db, world, { firstFrame: first.id }))).constraint).toBe(
      "first_frame_builds_on_no_frame",
    );
  });
});

test("no default model for a step → an error of ours, nothing is inserted", async () => {
  // The rule that a step keeps a default is passed by, as a restore of a dump would.
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`update keyframe.models set is_default = false where step = 'video'`;
  });
  await frame();
  expect(await refusalOf(start(db, world, { step: "video" }))).toMatchObject({ sqlstate: "P0001" });
  await db.sql`update keyframe.models set is_default = true where step = 'video' and model = 'kwaivgi/kling-v2.1'`;
});

test("every column but the ones that say what to generate → a user cannot set it", async () => {
  const columns = await db.sql<{ name: string }[]>`
    select attname as name from pg_attribute
    where attrelid = 'keyframe.predictions'::regclass and attnum > 0 and not attisdropped
      and attname not in ('project_id', 'step', 'prompt', 'reference_image_path', 'first_frame_prediction_id', 'last_frame_prediction_id', 'duration_seconds')`;
  expect(columns.length).toBeGreaterThan(25);
  for (const { name } of columns) {
    const insert = db.as(
      { role: "authenticated", sub: world.owner },
      (sql) => sql`
      insert into keyframe.predictions (project_id, step, ${sql(name)}) values (${world.project}, 'first-frame', default)`,
    );
    expect([name, (await refusalOf(insert)).sqlstate]).toEqual([name, "42501"]);
  }
});

test("a project's owner → is the caller, whatever the row names", async () => {
  const other = await db.addUser();
  const insert = db.as(
    { role: "authenticated", sub: world.owner },
    (sql) => sql`
    insert into keyframe.projects (owner_id, title, text_prompt) values (${other}, 't', 'p')`,
  );
  expect((await refusalOf(insert)).sqlstate).toBe("42501");
});

test("a session without a user → unauthorized, and nothing is inserted", async () => {
  const before = await db.sql`select from keyframe.projects union all select from keyframe.predictions`;
  const asNobody = (statement: string) => codeOf(db.as({ role: "authenticated" }, (sql) => sql.unsafe(statement)));
  expect(await asNobody("select keyframe.create_project('t', 'p')")).toBe("unauthorized");
  expect(await asNobody(`select keyframe.start_prediction('${world.project}', 'first-frame')`)).toBe("unauthorized");
  expect(await db.sql`select from keyframe.projects union all select from keyframe.predictions`).toHaveLength(
    before.length,
  );
});
