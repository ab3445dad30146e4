import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addWorld } from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { rolledBack } from "../support/database/rolled-back.ts";
import { start } from "../support/database/user.ts";
import { untilSomebodyWaits } from "../support/database/waiting.ts";

// What an administrator does in Studio: each statement is a transaction of its own.

const db = useDatabase();

const SHIPPED = {
  "first-frame": "google/nano-banana",
  "last-frame": "google/nano-banana",
  video: "kwaivgi/kling-v2.1",
};
const defaults = async () => {
  const rows = await db.sql<{ step: string; model: string }[]>`
    select step, model from keyframe.models where is_default order by step`;
  return rows.map(({ step, model }) => `${step} ${model}`);
};
/** The defaults when some differ from the shipped ones. */
const shippedBut = (changed: Partial<typeof SHIPPED> = {}) =>
  Object.entries({ ...SHIPPED, ...changed }).map(([step, model]) => `${step} ${model}`);
const use = (step: string, model: string) =>
  db.sql`update keyframe.models set is_default = true where step = ${step}::keyframe.generation_step and model = ${model}`;

afterEach(async () => {
  for (const [step, model] of Object.entries(SHIPPED)) await use(step, model);
  await db.sql`delete from keyframe.models where model like 'test/%'`;
});

describe("one update of is_default", () => {
  test("→ switches that step alone; again, and back, is no error", async () => {
    await db.sql`update keyframe.models set is_default = true where step = 'video' and model = 'google/veo-3.1'`;
    expect(await defaults()).toEqual(shippedBut({ video: "google/veo-3.1" }));
    await use("video", "google/veo-3.1");
    await use("first-frame", "bytedance/seedream-4");
    expect(await defaults()).toEqual(shippedBut({ video: "google/veo-3.1", "first-frame": "bytedance/seedream-4" }));
    await use("video", "kwaivgi/kling-v2.1");
    await use("first-frame", "google/nano-banana");
    expect(await defaults()).toEqual(shippedBut());
  });

  test("of a row that gets another name at the same time → switches", async () => {
    await rolledBack(db.sql, async (sql) => {
      await sql`
        update keyframe.models set is_default = true, model = 'google/veo-4'
        where step = 'video' and model = 'google/veo-3.1'`;
      const rows = await sql`select model from keyframe.models where step = 'video' and is_default`;
      expect(rows.map(({ model }) => model)).toEqual(["google/veo-4"]);
    });
  });
});

describe("a new row with is_default", () => {
  const add = () => db.sql`
    insert into keyframe.models (step, model, is_default, first_frame_field) values ('video', 'test/new', true, 'image')
    on conflict (step, model) do update set is_default = excluded.is_default`;

  test("→ takes the default from the other row; inserted over itself it keeps it", async () => {
    await add();
    expect(await defaults()).toEqual(shippedBut({ video: "test/new" }));
    await add();
    expect(await defaults()).toEqual(shippedBut({ video: "test/new" }));
  });

  test("that is there already and is skipped → refused, for it took the default and brought none", async () => {
    const skipped = db.sql`
      insert into keyframe.models (step, model, is_default, first_frame_field) values ('video', 'google/veo-3.1', true, 'image')
      on conflict do nothing`;
    expect((await refusalOf(skipped)).constraint).toBe("every_step_keeps_a_default");
    expect(await defaults()).toEqual(shippedBut());
  });
});

describe("a step without a default", () => {
  const LEAVING: Record<string, string> = {
    "is_default taken away": `update keyframe.models set is_default = false where step = 'video' and is_default`,
    "the default deleted": `delete from keyframe.models where step = 'video' and is_default`,
    "all rows of a step deleted": `delete from keyframe.models where step = 'last-frame'`,
    "the default moved to another step": `update keyframe.models set step = 'last-frame', model = 'test/moved' where step = 'first-frame' and is_default`,
  };

  test.each(Object.entries(LEAVING))("%s → refused, with what to do instead", async (_name, statement) => {
    const refusal = await refusalOf(db.sql.unsafe(statement));
    expect(refusal).toMatchObject({ sqlstate: "23514", constraint: "every_step_keeps_a_default" });
    expect(refusal.message).toMatch(
      /^The step (video|first-frame|last-frame) would have no default model\. Set is_default on/,
    );
    expect(await defaults()).toEqual(shippedBut());
  });

  test("for a moment within a transaction → allowed, in whichever order the two rows are changed", async () => {
    await db.sql.begin(async (sql) => {
      await sql`update keyframe.models set is_default = false where step = 'video' and is_default`;
      await sql`update keyframe.models set is_default = true where step = 'video' and model = 'google/veo-3.1'`;
    });
    expect(await defaults()).toEqual(shippedBut({ video: "google/veo-3.1" }));
  });
});

test("two switches at once → the later one waits and wins, with one default", async () => {
  const second = await db.sql.begin(async (sql) => {
    await sql`update keyframe.models set is_default = true where step = 'video' and model = 'google/veo-3.1'`;
    const outcome = use("video", "minimax/hailuo-02").then(
      () => "switched",
      (error) => error.message,
    );
    await Promise.race([outcome, untilSomebodyWaits(db.sql)]);
    return { outcome };
  });
  expect(await second.outcome).toBe("switched");
  expect(await defaults()).toEqual(shippedBut({ video: "minimax/hailuo-02" }));
});

test("two defaults of a step, past the trigger that takes the first one's → refused all the same", async () => {
  const second = db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`update keyframe.models set is_default = true where model = 'google/veo-3.1'`;
  });
  expect((await refusalOf(second)).constraint).toBe("models_one_default_per_step");
});

test("a model whose name changes at the provider → predictions keep pointing at its row; one in use cannot be deleted", async () => {
  await db.sql`insert into keyframe.models (step, model, is_default) values ('first-frame', 'test/one', true)`;
  const { prediction } = await start(db, await addWorld(db));
  await db.sql`update keyframe.models set model = 'test/two' where model = 'test/one'`;
  const [renamed] = await db.sql`select model from keyframe.predictions where id = ${prediction.id}`;
  expect(renamed?.model).toBe("test/two");
  await use("first-frame", SHIPPED["first-frame"]);
  const refused = await refusalOf(db.sql`delete from keyframe.models where model = 'test/two'`);
  expect(refused.constraint).toBe("predictions_model_fkey");
  await db.sql`delete from keyframe.predictions`;
});
