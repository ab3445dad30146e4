import { beforeEach, describe, expect, test } from "vitest";
import { claim, complete, makeDue, providerSays, retryLater, submitsOf } from "../support/database/calls.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { addProject, addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { addReference, liftRateLimits, start } from "../support/database/user.ts";

// What submits hold and cost, and budgets. A first frame by the default model costs 67,000 micro-dollars.
const db = useDatabase();
const FRAME = 67_000;
let world: World;
beforeEach(async () => {
  await liftRateLimits(db);
  await db.sql`truncate keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.daily_costs, keyframe_private.owner_budgets`;
  await db.sql`
    update keyframe_private.settings set owner_day_micros = null, owner_month_micros = null, service_day_micros = null,
      service_month_micros = null, spending_stopped = false, max_active_per_owner = 4`;
  world = await addWorld(db);
});

const budget = (month: number | null, day: number | null = null, owner = world.owner) =>
  db.sql`
    insert into keyframe_private.owner_budgets (owner_id, day_micros, month_micros) values (${owner}, ${day}, ${month})
    on conflict (owner_id) do update set day_micros = excluded.day_micros, month_micros = excluded.month_micros`;

/** The sums of an owner, by default of everybody. */
async function sums(owner = "00000000-0000-0000-0000-000000000000") {
  const [row] = await db.sql`
    select sum(predictions)::integer as predictions, sum(held_micros)::integer as held, sum(settled_micros)::integer as settled,
      sum(unknown_micros)::integer as unknown,
      sum(unknown_submits)::integer as "unknownSubmits"
    from keyframe_private.daily_costs where owner_id = ${owner}`;
  const { unknownSubmits, ...micros } = row ?? {};
  expect(unknownSubmits > 0).toBe(micros.unknown > 0);
  return micros;
}
async function costOf(id: string) {
  const [row] = await db.sql`select keyframe_private.cost_json(${id}) as cost`;
  return row?.cost;
}
const cost = (state: string, amountMicros: number | null, atMostMicros = amountMicros) => ({
  ...{ amountMicros, atMostMicros, currency: "USD", state },
});

/** Deletes a price that was in force. */
async function forgetPrice() {
  await db.sql`alter table keyframe_private.model_prices disable trigger user`;
  await db.sql`delete from keyframe_private.model_prices where source = 'https://example.com'`;
  await db.sql`alter table keyframe_private.model_prices enable trigger user`;
}

/** A started first frame whose submit a worker has claimed. */
async function submitted() {
  const { prediction } = await start(db, world);
  const [task] = (await claim(db.sql)).filter(({ id }) => id === prediction.id);
  return { id: prediction.id, lease: task?.lease_token ?? null };
}

describe("what a prediction costs", () => {
  test("started → holds the most that it can cost, and so does one that waits for a slot", async () => {
    await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
    const { prediction } = await start(db, world);
    await start(db, world);
    expect(prediction.cost).toEqual(cost("held", null, FRAME));
    expect(await sums(world.owner)).toEqual({ predictions: 2, held: 2 * FRAME, settled: 0, unknown: 0 });
    expect(await sums()).toEqual(await sums(world.owner));
  });

  test("its run succeeds → settled at once, by the prices of its start", async () => {
    const { id } = await submitted();
    await db.sql`
      insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, source)
      values ('google/nano-banana-2', '{"resolution": "1K"}', 'image', 0.5, 'https://example.com')`;
    await providerSays(db.sql, { id, run: "run-1", status: "succeeded", metrics: { image_output_count: 1 } });
    expect(await costOf(id)).toEqual(cost("settled", FRAME));
    await forgetPrice();
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: FRAME, unknown: 0 });
  });

  test.each([
    ["failed", undefined, cost("unknown", null, FRAME)],
    ["failed", "content_rejected" as const, cost("unknown", null, FRAME)],
    ["canceled", undefined, cost("settled", FRAME)],
    ["aborted", undefined, cost("released", 0)],
  ])("its run ends as %s (%s) → what billed_when says", async (status, failure, expected) => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1", status, ...(failure ? { failure, error: "It was flagged." } : {}) });
    expect(await costOf(id)).toEqual(expected);
  });

  test("cancelled before a worker takes it → released", async () => {
    const { prediction } = await start(db, world);
    await db.sql`select keyframe_private.mark_canceled(${prediction.id})`;
    expect(await costOf(prediction.id)).toEqual(cost("released", 0));
    expect(await sums()).toEqual({ predictions: 1, held: 0, settled: 0, unknown: 0 });
  });

  test("the provider refuses a submit → that is released, and the next one holds the same", async () => {
    const { id, lease } = await submitted();
    expect(await retryLater(db.sql, id, lease)).toBe("later");
    expect((await submitsOf(db.sql, id)).map(({ cost_state }) => cost_state)).toEqual(["released", "held"]);
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: FRAME, settled: 0, unknown: 0 });
    await makeDue(db.sql, id);
    await claim(db.sql);
    expect(await submitsOf(db.sql, id)).toHaveLength(2);
  });

  test("a video without figures of the provider → held until its file is stored, then settled by its length", async () => {
    await seedPrediction(db.sql, world, { status: "succeeded" });
    const { prediction } = await start(db, world, {
      step: "video",
      model: "kwaivgi/kling-v2.1",
      input: { durationSeconds: 5 },
    });
    await claim(db.sql);
    await providerSays(db.sql, { id: prediction.id, run: "run-v", status: "succeeded" });
    expect(await costOf(prediction.id)).toMatchObject({ state: "held" });
    const [task] = await claim(db.sql);
    await db.sql`
      select keyframe_worker.complete_prediction(${prediction.id}, ${task?.lease_token ?? null},
        ${`${world.owner}/${world.project}/${prediction.id}.mp4`}, 'video/mp4', 10, ${"a".repeat(64)}, 1280, 720, 5.04, false)`;
    expect(await costOf(prediction.id)).toMatchObject({ state: "settled" });
  });

  test("deleted with its project while it runs, and the run ends later → settled all the same", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1" });
    await db.sql`delete from auth.users where id = ${world.owner}`;
    await providerSays(db.sql, { id, run: "run-1", status: "succeeded" });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: FRAME, unknown: 0 });
  });

  test("a submit has a second run → that costs as much, and the prediction counts once", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1" });
    await providerSays(db.sql, { id, run: "run-2" });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 2 * FRAME, settled: 0, unknown: 0 });
    await providerSays(db.sql, { id, run: "run-2", status: "canceled" });
    await providerSays(db.sql, { id, run: "run-1", status: "succeeded" });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: 2 * FRAME, unknown: 0 });
  });

  test("the provider counts other things than the megapixels of the input → those of the start count", async () => {
    const image = await addReference(db, world.owner, { width: 2048, height: 1024 });
    const { prediction } = await start(db, world, {
      ...{ model: "black-forest-labs/flux-2-pro", input: { referenceImagePaths: [image] } },
    });
    await claim(db.sql);
    await providerSays(db.sql, { id: prediction.id, run: "run-f", status: "succeeded", metrics: { predict_time: 3 } });
    const [task] = await claim(db.sql);
    await complete(db.sql, prediction.id, task?.lease_token ?? null);
    expect(await costOf(prediction.id)).toEqual(cost("settled", 60_000));
  });

  test("an administrator settles a submit whose cost is unknown → the sums follow", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1", status: "failed" });
    await db.sql`update keyframe_private.provider_submits set cost_state = 'settled', cost_micros = 1000 where prediction_id = ${id}`;
    expect(await sums()).toEqual({ predictions: 1, held: 0, settled: 1000, unknown: 0 });
  });
});

describe("budgets", () => {
  test("more than is left → budget_exceeded with the figures, and nothing is kept", async () => {
    await budget(1.5 * FRAME);
    await start(db, world);
    const { message, hint } = await refusalOf(start(db, world));
    expect(message).toBe("budget_exceeded");
    expect(JSON.parse(hint ?? "")).toMatchObject({
      ...{ scope: "owner", period: "month", limitMicros: 1.5 * FRAME, heldMicros: FRAME, settledMicros: 0 },
      ...{ estimateMicros: FRAME, availableMicros: FRAME / 2 },
    });
    expect(await sums(world.owner)).toMatchObject({ predictions: 1 });
  });

  test("two hundred starts at once against a budget for ten → ten", async () => {
    await budget(10 * FRAME);
    const results = await Promise.allSettled(Array.from({ length: 200 }, () => start(db, world)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
    expect(await sums(world.owner)).toMatchObject({ predictions: 10, held: 10 * FRAME });
  });

  test("the service's budget is used up → refused, without what others have spent", async () => {
    await db.sql`update keyframe_private.settings set service_day_micros = ${FRAME}`;
    await start(db, world);
    const other = await addWorld(db);
    const { message, hint } = await refusalOf(start(db, other));
    expect(message).toBe("budget_exceeded");
    expect(Object.keys(JSON.parse(hint ?? "")).sort()).toEqual(["estimateMicros", "period", "resetsAt", "scope"]);
  });

  test("no price under a budget → price_unknown; without a budget → started", async () => {
    await db.sql`update keyframe.models set cost_ceiling_micros = null`;
    const hailuo = { step: "video", model: "minimax/hailuo-2.3", input: { durationSeconds: 10 } };
    await seedPrediction(db.sql, world, { status: "succeeded" });
    const { prediction } = await start(db, world, hailuo);
    expect(prediction.cost).toEqual(cost("held", null, null));
    await budget(1_000_000_000);
    expect(await codeOf(start(db, world, hailuo))).toBe("price_unknown");
  });

  test("spending is stopped → starts are refused, those in line wait, and what runs ends", async () => {
    await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
    const { id } = await submitted();
    const { prediction: waiting } = await start(db, world);
    await db.sql`update keyframe_private.settings set spending_stopped = true`;
    expect(await codeOf(start(db, world))).toBe("spending_stopped");
    await providerSays(db.sql, { id, run: "run-1", status: "succeeded" });
    const [task] = await claim(db.sql);
    expect(await complete(db.sql, id, task?.lease_token ?? null)).toBe(true);
    expect(await claim(db.sql)).toEqual([]);
    await db.sql`update keyframe_private.settings set spending_stopped = false`;
    await db.sql`select keyframe_private.sweep()`;
    expect(await claim(db.sql)).toMatchObject([{ id: waiting.id }]);
  });

  test("another owner's start is not committed → nobody waits", async () => {
    await db.sql`update keyframe_private.settings set service_month_micros = ${100 * FRAME}`;
    const other = { ...(await addWorld(db)) };
    other.project = await addProject(db, other.owner);
    await db.sql.begin(async (open) => {
      await open`insert into keyframe.predictions (project_id, step) values (${other.project}, 'first-frame')`;
      await start(db, world);
      expect(await sums()).toMatchObject({ predictions: 1 });
    });
    expect(await sums()).toMatchObject({ predictions: 2, held: 2 * FRAME });
  });

  test("the lease of a submit expires → the next one needs a hold of its own; without budget the prediction fails", async () => {
    await budget(2 * FRAME);
    const { id } = await submitted();
    await makeDue(db.sql, id);
    expect(await claim(db.sql)).toMatchObject([{ id, attempt: 2, search_attempt: 1 }]);
    expect(await sums(world.owner)).toMatchObject({ held: 2 * FRAME });
    await makeDue(db.sql, id);
    expect((await claim(db.sql)).map(({ task }) => task)).toEqual(["search", "search"]);
    const [row] = await db.sql`select status, error_code from keyframe.predictions where id = ${id}`;
    expect(row).toEqual({ status: "failed", error_code: "budget_exceeded" });
    expect(await sums(world.owner)).toMatchObject({ held: 2 * FRAME });
  });

  test("the price has risen when a refused submit is made again → its hold is the new price, if that is left", async () => {
    await budget(FRAME);
    const { id, lease } = await submitted();
    await db.sql`
      insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, source)
      values ('google/nano-banana-2', '{"resolution": "1K"}', 'image', 0.068, 'https://example.com')`;
    await retryLater(db.sql, id, lease);
    await forgetPrice();
    const [row] = await db.sql`select status, error_code from keyframe.predictions where id = ${id}`;
    expect(row).toEqual({ status: "failed", error_code: "budget_exceeded" });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: 0, unknown: 0 });
  });

  test("the budget was lowered when a refused submit is made again → what was admitted goes on", async () => {
    await budget(FRAME);
    const { id, lease } = await submitted();
    await budget(0);
    expect(await retryLater(db.sql, id, lease)).toBe("later");
    expect(await sums(world.owner)).toMatchObject({ held: FRAME });
  });

  test("an interrupted run is made again → a hold of its own; without budget the prediction fails", async () => {
    await budget(FRAME);
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1", status: "failed", failure: "interrupted" });
    const [row] = await db.sql`select status, error_code from keyframe.predictions where id = ${id}`;
    expect(row).toEqual({ status: "failed", error_code: "budget_exceeded" });
    await budget(3 * FRAME);
    const again = await submitted();
    await providerSays(db.sql, { id: again.id, run: "run-2", status: "failed", failure: "interrupted" });
    expect((await submitsOf(db.sql, again.id)).map(({ cost_state }) => cost_state)).toEqual(["unknown", "held"]);
  });
});
