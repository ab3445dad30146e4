import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld } from "../../support/database/predictions.ts";
import { refusalOf } from "../../support/database/refusal.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";

// What an administrator does in Studio: each statement is a transaction of its own.

const db = useDatabase();

const defaults = async () => {
  const rows = await db.sql<{ step: string; model: string }[]>`select step, model from keyframe.step_defaults`;
  return Object.fromEntries(rows.map(({ step, model }) => [step, model]));
};
const use = (step: string, model: string) =>
  db.sql`update keyframe.step_defaults set model = ${model} where step = ${step}::keyframe.generation_step`;
const SHIPPED = {
  "first-frame": "google/nano-banana-2",
  "last-frame": "google/nano-banana-2",
  video: "kwaivgi/kling-v3-omni-video",
};

afterEach(async () => {
  for (const [step, model] of Object.entries(SHIPPED)) await use(step, model);
  await db.sql`delete from keyframe.predictions`;
  await db.sql`delete from keyframe.models where model like 'test/%'`;
});

const addModel = (model: string, enabled = true) => db.sql`
  insert into keyframe.models (step, model, label, vendor, enabled, controls)
  values ('first-frame', ${model}, 'Test', 'Test', ${enabled}, '{"prompt": {"field": "prompt"}}')`;

describe("a step without a default that a start can use", () => {
  test.each<[statement: string, words: string]>([
    [
      "delete from keyframe.step_defaults where step = 'video'",
      "Every step needs a default. Choose another: update keyframe.step_defaults set model = '…' where step = '…'.",
    ],
    ["update keyframe.step_defaults set step = 'video' where step = 'last-frame'", "Every step needs a default"],
    [
      `update keyframe.models set enabled = false where model = '${SHIPPED.video}'`,
      "is the default of the step video. Choose another first: update keyframe.step_defaults",
    ],
    [`delete from keyframe.models where model = '${SHIPPED.video}'`, "violates foreign key"],
    [
      "update keyframe.step_defaults set model = 'test/none' where step = 'video'",
      "has no enabled model test/none. Insert it into keyframe.models, or set enabled on its row, first.",
    ],
  ])("default of a step: %s → refused, with what to do instead", async (statement, words) => {
    expect((await refusalOf(db.sql.unsafe(statement))).message).toContain(words);
    expect(await defaults()).toEqual(SHIPPED);
  });

  test("default of a step: a disabled model → refused; enabled → accepted, and the former default may then be disabled", async () => {
    await addModel("test/one", false);
    expect((await refusalOf(use("first-frame", "test/one"))).constraint).toBe("default_is_enabled");
    await db.sql`update keyframe.models set enabled = true where model = 'test/one'`;
    await use("first-frame", "test/one");
    await db.sql`update keyframe.models set enabled = false where step = 'first-frame' and model = 'google/nano-banana-2'`;
    expect((await defaults())["first-frame"]).toBe("test/one");
    await db.sql`update keyframe.models set enabled = true where step = 'first-frame' and model = 'google/nano-banana-2'`;
  });

  test("a model is made default while another administrator disables it → one of the two is refused", async () => {
    await addModel("test/one");
    const refusal = await whileOpen(
      db.sql,
      (sql) => sql`update keyframe.models set enabled = false where model = 'test/one'`,
      () => refusalOf(use("first-frame", "test/one")),
    );
    expect(refusal.constraint).toBe("default_is_enabled");
  });
});

test("a model gets the provider's new name → default and predictions follow; a model in use cannot be deleted", async () => {
  await addModel("test/one");
  await use("first-frame", "test/one");
  const { prediction } = await start(db, await addWorld(db));
  await db.sql`update keyframe.models set model = 'test/two' where model = 'test/one'`;
  const [renamed] = await db.sql`select model from keyframe.predictions where id = ${prediction.id}`;
  expect([renamed?.model, (await defaults())["first-frame"]]).toEqual(["test/two", "test/two"]);
  await use("first-frame", SHIPPED["first-frame"]);
  const refused = await refusalOf(db.sql`delete from keyframe.models where model = 'test/two'`);
  expect(refused.constraint).toBe("model_in_use_stays");
});
