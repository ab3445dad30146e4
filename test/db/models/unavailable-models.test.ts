import { beforeEach, describe, expect, test } from "vitest";
import { callWorker, claim, complete, readRow, submitsOf, type Task } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { start, type Wanted } from "../../support/database/user.ts";

const db = useDatabase();
const world = useWorld(db);
beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.model_prices, keyframe_private.work",
  );
  await addModels();
});

const taskOf = async (id: string) => (await claim(db.sql, 100)).find((one) => one.id === id);

/** The answer of the database when the provider has refused the model of a submit. */
async function refuseModel(task: Task | undefined, message = "No."): Promise<string> {
  if (!task) throw new Error("There is no submit.");
  const { work_id, lease_token, id, attempt } = task;
  const refused = { work_id, lease_token, prediction_id: id, message, attempt_without_run: attempt };
  return await callWorker(db.sql, "record_model_refused", refused);
}

/** Four models of the step first-frame: the default, and those after it. Only test/seed takes a seed. */
async function addModels(): Promise<void> {
  const prompt = { prompt: { field: "prompt" } };
  const seed = { ...prompt, seed: { field: "seed", min: 0, max: 9 } };
  const rows = [
    ["test/default", 1, seed],
    ["test/next", 2, prompt],
    ["test/seed", 3, seed],
  ] as const;
  for (const [model, position, controls] of rows) {
    await db.sql`
      insert into keyframe.models (step, model, label, vendor, position, controls)
      values ('first-frame', ${model}, 'Test', 'Test', ${position}, ${db.sql.json(controls)})
      on conflict (step, model) do update set shutdown_at = null, enabled = true, cost_ceiling_micros = null`;
  }
  await db.sql`update keyframe.step_defaults set model = 'test/default' where step = 'first-frame'`;
  await db.sql`update keyframe.models set enabled = false where step = 'first-frame' and model not like 'test/%'`;
}

/** Each way in which a model goes away. */
const WAYS = ["past its shutdown_at", "refused by the provider"] as const;
async function takeAway(model: string, way: (typeof WAYS)[number] = "past its shutdown_at"): Promise<void> {
  await (way === "past its shutdown_at"
    ? db.sql`update keyframe.models set shutdown_at = now() where model = ${model}`
    : db.sql`update keyframe.models set refused_at = now() where model = ${model}`);
}
const refusedAt = (model: string) => scalar(db.sql`select refused_at from keyframe.models where model = ${model}`);

const startFrame = async (wanted: Wanted = {}) => (await start(db, world, wanted)).prediction;

describe.each(WAYS)("the default of the step is %s:", (way) => {
  test("a start without a model, whose default is unavailable → made by the next model that takes the input, naming the default", async () => {
    await takeAway("test/default", way);
    expect(await startFrame()).toMatchObject({ model: "test/next", requested_model: "test/default" });
    const seeded = await startFrame({ input: { seed: 7 } });
    expect(seeded).toMatchObject({ model: "test/seed", requested_model: "test/default", input: { seed: 7 } });
  });

  test("a start that names an unavailable model → model_unavailable, and nothing is started", async () => {
    await takeAway("test/default", way);
    const { message, detail } = await refusalOf(startFrame({ model: "test/default" }));
    expect(message).toBe("model_unavailable");
    expect(detail).toMatch(/test\/default .*GET \/api\/models/);
    expect(await db.sql`select from keyframe.predictions`).toHaveLength(0);
  });

  test("a start whose default is unavailable and whose input no other model takes → model_unavailable", async () => {
    await takeAway("test/default", way);
    await takeAway("test/seed", way);
    expect(await codeOf(startFrame({ input: { seed: 7 } }))).toBe("model_unavailable");
  });
});

describe("a model with a known price, and its replacement:", () => {
  const addPrice = (model: string, usd: number) => db.sql`
    insert into keyframe_private.model_prices (model, metric, price_usd, source)
    values (${`test/${model}`}, 'run', ${usd}, 'https://example.org')`;
  beforeEach(() => addPrice("default", 0.05));

  test("the replacement would cost more → the one after it is used; if that costs more too → model_unavailable", async () => {
    await takeAway("test/default");
    await addPrice("next", 0.06);
    await addPrice("seed", 0.05);
    expect(await startFrame()).toMatchObject({ model: "test/seed", requested_model: "test/default" });
    await takeAway("test/seed");
    const { message, detail } = await refusalOf(startFrame());
    expect(message).toBe("model_unavailable");
    expect(detail).toMatch(/accepts this input at the same or a lower price/);
  });

  test("the price of the replacement is unknown → not used, unless its ceiling is no more", async () => {
    await takeAway("test/default");
    await addPrice("seed", 0.01);
    expect(await startFrame()).toMatchObject({ model: "test/seed" });
    await db.sql`update keyframe.models set cost_ceiling_micros = 50000 where model = 'test/next'`;
    expect(await startFrame()).toMatchObject({ model: "test/next" });
  });

  test("the provider refuses a submit's model → the submit goes to a replacement that costs no more", async () => {
    await addPrice("next", 0.06);
    await addPrice("seed", 0.04);
    const { id } = await startFrame();
    await refuseModel(await taskOf(id));
    expect(await readRow(db.sql, id)).toMatchObject({ model: "test/seed", requested_model: "test/default" });
  });
});

test("an unavailable model whose price is unknown → replaced by the next model, whatever that costs", async () => {
  await takeAway("test/default");
  await db.sql`
    insert into keyframe_private.model_prices (model, metric, price_usd, source) values ('test/next', 'run', 9, 'https://example.org')`;
  expect(await startFrame()).toMatchObject({ model: "test/next" });
});

test("a wrong input while the default is available → unsupported_input, and no other model is tried", async () => {
  expect(await codeOf(startFrame({ input: { seed: 10 } }))).toBe("unsupported_input");
});

describe("a submit whose model the provider does not know", () => {
  async function refuse(wanted: Wanted = {}) {
    const { id } = await startFrame(wanted);
    const answer = await refuseModel(await taskOf(id), "It said: not found");
    expect((await submitsOf(db.sql, id))[0]).toMatchObject({ outcome: "no_run", cost_state: "released" });
    return { id, answer, row: await readRow(db.sql, id) };
  }

  test("the provider does not know a submit's model → the model is unavailable; the next one that fits is submitted at once", async () => {
    const { id, answer, row } = await refuse({ input: { seed: 7 } });
    expect(answer).toBe("moved");
    expect(row).toMatchObject({
      ...{ status: "queued", model: "test/seed", requested_model: "test/default", lease_token: null, failures: 0 },
      input: expect.objectContaining({ seed: 7 }),
    });
    expect(await refusedAt("test/default")).toEqual(expect.any(Date));
    expect(await taskOf(id)).toMatchObject({ task: "submit", attempt: 2, model: "test/seed", search_since: null });
    expect(await startFrame()).toMatchObject({ model: "test/next", requested_model: "test/default" });
  });

  test("the provider refuses the replacement as well → the one after it is submitted, and requested_model is still the first", async () => {
    const { id } = await refuse();
    await refuseModel(await taskOf(id));
    expect(await readRow(db.sql, id)).toMatchObject({ model: "test/seed", requested_model: "test/default" });
  });

  test("the provider does not know a model that the caller named → failed, model_unavailable, not retryable, nothing to search", async () => {
    const { answer, row } = await refuse({ model: "test/next" });
    expect(answer).toBe("failed");
    expect(row).toMatchObject({
      ...{ status: "failed", model: "test/next", error_code: "model_unavailable", error_retryable: false },
      error_message: "It said: not found",
    });
    expect(await refusedAt("test/next")).toEqual(expect.any(Date));
  });

  test("the provider does not know a submit's model, and no other takes its input → failed with model_unavailable", async () => {
    await takeAway("test/seed");
    const { answer, row } = await refuse({ input: { seed: 7 } });
    expect(answer).toBe("failed");
    expect(row.error_code).toBe("model_unavailable");
  });

  test("the provider does not know a submit's model, and the next one does not fit the owner's budget → failed", async () => {
    const task = await taskOf((await startFrame()).id);
    await db.sql`insert into keyframe_private.owner_budgets (owner_id, day_micros) values (${world.owner}, 0)`;
    expect(await refuseModel(task)).toBe("failed");
    expect(await readRow(db.sql, task?.id ?? "")).toMatchObject({ status: "failed", error_code: "price_unknown" });
    await db.sql`delete from keyframe_private.owner_budgets where owner_id = ${world.owner}`;
  });

  test("the provider refuses a model while an administrator holds its row → the submit moves to the next one all the same", async () => {
    const task = await taskOf((await startFrame()).id);
    await db.sql.begin(async (holder) => {
      await holder`update keyframe.models set notes = 'x' where model = 'test/default'`;
      expect(await refuseModel(task)).toBe("moved");
    });
  });

  test("a refusal of a model with a lease that is not the prediction's → too_late, and nothing changes", async () => {
    const task = await taskOf((await startFrame()).id);
    expect(await refuseModel(task && { ...task, lease_token: crypto.randomUUID() })).toBe("too_late");
    expect(await refusedAt("test/default")).toBeNull();
  });
});

describe("a model that the provider refused is available again", () => {
  test("an administrator changes the row of a refused model in any way → the model is available again", async () => {
    await takeAway("test/default", "refused by the provider");
    await db.sql`update keyframe.models set notes = 'It is back.' where model = 'test/default'`;
    expect(await startFrame()).toMatchObject({ model: "test/default", requested_model: null });
  });

  test("a refused model: a run that began later succeeds → available again; one that began before → still unavailable", async () => {
    await takeAway("test/default", "refused by the provider");
    for (const [startedAt, again] of [
      [new Date(Date.now() - 3_600_000), false],
      [new Date(Date.now() + 3_600_000), true],
    ] as const) {
      const columns = { model: "test/default", started_at: startedAt };
      const { id, lease } = await seedPrediction(db.sql, world, { status: "storing", columns });
      expect(await complete(db.sql, id, lease)).toBe(true);
      expect((await refusedAt("test/default")) === null).toBe(again);
    }
  });
});
