import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { claim, complete, makeDue, providerSays, readRow, retryLater, submitsOf } from "../support/database/calls.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { providerState } from "../../shared/replicate/provider-prediction.ts";
import { addProject, addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { codeOf, refusalOf } from "../support/database/refusal.ts";
import { addReference, liftRateLimits, start } from "../support/database/user.ts";

// What submits hold and cost, and budgets. A first frame by the default model costs 67,000 micro-dollars.
const db = useDatabase();
const FRAME = 67_000;
let world: World;
beforeEach(async () => {
  await liftRateLimits(db);
  await db.sql`truncate keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.daily_costs, keyframe_private.owner_budgets, keyframe_private.exhausted_budgets`;
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
      sum(unknown_micros)::integer as unknown
    from keyframe_private.daily_costs where owner_id = ${owner}`;
  return row;
}
async function costOf(id: string) {
  const [row] = await db.sql`select keyframe_private.cost_json(${id}) as cost`;
  return row?.cost;
}
const cost = (state: string, amountMicros: number | null, atMostMicros = amountMicros) => ({
  ...{ amountMicros, atMostMicros, currency: "USD", state },
});

/** The budget that a start is refused for. */
async function refusedBudget(whose = world): Promise<Record<string, unknown>> {
  const answer = await start(db, whose);
  return "refused" in answer ? (answer.refused as { budget: Record<string, unknown> }).budget : {};
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
    await db.sql`alter table keyframe_private.model_prices disable trigger user`;
    await db.sql`delete from keyframe_private.model_prices where source = 'https://example.com'`;
    await db.sql`alter table keyframe_private.model_prices enable trigger user`;
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
    expect(await refusedBudget()).toMatchObject({
      ...{ scope: "owner", period: "month", limitMicros: 1.5 * FRAME, heldMicros: FRAME, settledMicros: 0 },
      ...{ estimateMicros: FRAME, availableMicros: FRAME / 2 },
    });
    expect(await sums(world.owner)).toMatchObject({ predictions: 1 });
  });

  test("two hundred starts at once against a budget for ten → ten", async () => {
    await budget(10 * FRAME);
    const results = await Promise.all(Array.from({ length: 200 }, () => start(db, world)));
    expect(results.filter((result) => "prediction" in result)).toHaveLength(10);
    expect(await sums(world.owner)).toMatchObject({ predictions: 10, held: 10 * FRAME });
  });

  test("the service's budget is used up → refused, without what others have spent", async () => {
    await db.sql`update keyframe_private.settings set service_day_micros = ${FRAME}`;
    await start(db, world);
    const other = await addWorld(db);
    expect(Object.keys(await refusedBudget(other)).sort()).toEqual(["estimateMicros", "period", "resetsAt", "scope"]);
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

  test("a start is refused → one event for each budget and period, and the same key can start later", async () => {
    await budget(FRAME, FRAME);
    await start(db, world);
    await start(db, world, { key: "k", hash: "a".repeat(64) });
    await start(db, world);
    const events =
      await db.sql`select payload -> 'data' as data from keyframe.webhook_events where owner_id = ${world.owner} and type = 'budget.exhausted'`;
    expect(events.map(({ data }) => [data.ownerId, data.scope, data.period, data.limitMicros]).sort()).toEqual([
      [world.owner, "owner", "day", FRAME],
      [world.owner, "owner", "month", FRAME],
    ]);
    await budget(10 * FRAME);
    expect((await start(db, world, { key: "k", hash: "a".repeat(64) })).replayed).toBe(false);
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

describe("attacked", () => {
  const PAIR = "black-forest-labs/flux-2-pro";

  test("the provider counts no images of the input → they are still billed, also in the submit after an expired lease", async () => {
    const reference = await addReference(db, world.owner, { width: 4000, height: 4000 }); // 16 MP
    for (const isSecond of [false, true]) {
      const { prediction } = await start(db, world, { model: PAIR, reference });
      await claim(db.sql);
      if (isSecond) {
        await makeDue(db.sql, prediction.id);
        await claim(db.sql);
        await db.sql`select keyframe_worker.record_search_ended(${prediction.id}, 1, 1, false)`;
      }
      const metrics = { predict_time: 2.5, image_output_count: 1 };
      await providerSays(db.sql, {
        id: prediction.id,
        attempt: isSecond ? 2 : 1,
        run: prediction.id,
        status: "succeeded",
        metrics,
      });
      const [task] = await claim(db.sql);
      expect(await complete(db.sql, prediction.id, task?.lease_token ?? null)).toBe(true);
      expect(await costOf(prediction.id)).toEqual(cost("settled", 15_000 * (1 + 16 + 1))); // a run, its input, its output
    }
  });

  test("the size of an image is unknown → the cost is unknown, not that of no image", async () => {
    await db.sql`update keyframe.models set cost_ceiling_micros = 900000 where model = ${PAIR}`;
    const reference = await addReference(db, world.owner, null);
    const { prediction } = await start(db, world, { model: PAIR, reference });
    await claim(db.sql);
    await providerSays(db.sql, { id: prediction.id, run: prediction.id, status: "succeeded" });
    const [task] = await claim(db.sql);
    await complete(db.sql, prediction.id, task?.lease_token ?? null);
    await db.sql`update keyframe.models set cost_ceiling_micros = null where model = ${PAIR}`;
    expect(await costOf(prediction.id)).toEqual(cost("unknown", null, 900_000));
  });

  test("the provider refuses a submit after its price has risen → the hold that goes over does not exceed the budget", async () => {
    await budget(FRAME);
    const { id, lease } = await submitted();
    await raisePrice(10);
    await retryLater(db.sql, id, lease, { code: "provider_rate_limited", answered: true });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: 0, unknown: 0 });
    expect((await readRow(db.sql, id)).error_code).toBe("budget_exceeded");
  });

  test("the provider refuses a submit of yesterday → today's budget has to admit its hold", async () => {
    await budget(null, FRAME);
    const { id, lease } = await submitted();
    await db.sql`update keyframe_private.provider_submits set created_at = created_at - interval '1 day'`;
    await db.sql`update keyframe_private.daily_costs set day = day - 1`;
    await start(db, world);
    await retryLater(db.sql, id, lease, { answered: true });
    expect(await sums(world.owner)).toEqual({ predictions: 2, held: FRAME, settled: 0, unknown: 0 });
  });

  test("a submit turns out to have two runs, or one although a search found none → the other run counts with the same most, and no start", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-a" });
    expect(await providerSays(db.sql, { id, run: "run-b" })).toBe("stale");
    expect(await sums()).toEqual({ predictions: 1, held: 2 * FRAME, settled: 0, unknown: 0 });
    await providerSays(db.sql, { id, run: "run-b", status: "canceled", metrics: { image_output_count: 1 } });
    expect(await sums()).toEqual({ predictions: 1, held: FRAME, settled: FRAME, unknown: 0 });
    expect(await usageByProject()).toMatchObject([{ predictions: 1 }]);

    const late = await submitted();
    await makeDue(db.sql, late.id);
    await claim(db.sql);
    await db.sql`select keyframe_worker.record_search_ended(${late.id}, 1, 1, false)`;
    await providerSays(db.sql, {
      id: late.id,
      run: "run-late",
      status: "succeeded",
      metrics: { image_output_count: 1 },
    });
    expect(await sums()).toMatchObject({ predictions: 2, settled: 2 * FRAME });
  });

  test("the lease of a submit expires and there is no budget for another → the prediction fails, and nothing more is held", async () => {
    await budget(FRAME);
    const { id } = await submitted();
    await makeDue(db.sql, id);
    expect((await claim(db.sql)).map(({ task }) => task)).toEqual(["search"]);
    expect((await readRow(db.sql, id)).error_code).toBe("budget_exceeded");
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: FRAME, settled: 0, unknown: 0 });
  });

  test("a model has another name in one of its steps → both steps have its prices", async () => {
    await db.sql`update keyframe.models set model = 'google/renamed' where step = 'first-frame' and model = 'google/nano-banana'`;
    const priced =
      await db.sql`select distinct model from keyframe_private.model_prices where model in ('google/renamed', 'google/nano-banana')`;
    expect(priced).toHaveLength(2);
    await db.sql`update keyframe.models set model = 'google/renamed' where model = 'google/nano-banana'`;
    await db.sql`update keyframe.models set model = 'google/nano-banana' where model = 'google/renamed'`;
  });

  test("a model has another name when its run fails → what it bills is still known", async () => {
    const model = "google/nano-banana";
    await db.sql`update keyframe.models set billed_when = '{"failed": "no", "rejected": "no", "canceled": "no"}' where model = ${model}`;
    const { prediction } = await start(db, world, { model });
    await claim(db.sql);
    await db.sql`update keyframe.models set model = 'google/renamed' where model = ${model}`;
    await providerSays(db.sql, { id: prediction.id, run: "run-renamed", status: "failed" });
    await db.sql`update keyframe.models set model = ${model}, billed_when = default where model = 'google/renamed'`;
    expect(await costOf(prediction.id)).toEqual(cost("released", 0));
  });

  test("metrics with characters that Postgres does not store → they are left out, and the run ends", async () => {
    const { id } = await submitted();
    const run = {
      id: "run-odd",
      status: "succeeded" as const,
      metrics: { a: "\u0000", b: "\ud800", image_output_count: 1 },
    };
    const { metrics } = providerState(run);
    expect(metrics).toEqual({ image_output_count: 1 });
    await providerSays(db.sql, { id, run: run.id, status: run.status, metrics: metrics as Record<string, number> });
    expect(await costOf(id)).toEqual(cost("settled", FRAME));
  });

  test("a budget or a ceiling that JSON cannot carry → refused", async () => {
    const max = "9223372036854775807";
    for (const statement of [
      `update keyframe_private.settings set service_day_micros = ${max}`,
      `update keyframe_private.settings set owner_month_micros = ${max}`,
      `insert into keyframe_private.owner_budgets (owner_id, day_micros) values (gen_random_uuid(), ${max})`,
      `update keyframe.models set cost_ceiling_micros = ${max} where model = '${PAIR}'`,
    ]) {
      expect((await refusalOf(db.sql.unsafe(statement))).sqlstate).toBe("23514");
    }
  });

  test("sums older than 13 months → pruned with their submits, and so are budgets that were exhausted then", async () => {
    await start(db, world);
    await db.sql`update keyframe_private.daily_costs set day = day - 500`;
    await db.sql`
      insert into keyframe_private.exhausted_budgets (owner_id, period, resets_at, limit_micros)
      values (${world.owner}, 'day', now() - interval '14 months', 1)`;
    await db.sql`select keyframe_private.prune()`;
    expect(await db.sql`select from keyframe_private.daily_costs`).toHaveLength(0);
    expect(await db.sql`select from keyframe_private.exhausted_budgets`).toHaveLength(0);
  });

  /** The default model of first frames costs so many dollars for the rest of this test. */
  async function raisePrice(usd: number) {
    const rows = await db.sql`
      insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source)
      select model, applies_to, metric, ${usd}, now(), 'https://example.com'
      from keyframe_private.model_prices where model = 'google/nano-banana-2' returning id`;
    onTestFinished(async () => {
      await db.sql.begin(async (sql) => {
        await sql`set local session_replication_role = replica`;
        await sql`delete from keyframe_private.model_prices where id = any (${rows.map(({ id }) => id as string)})`;
      });
    });
  }

  async function usageByProject() {
    return await db.as({ role: "authenticated", sub: world.owner }, async (sql) => {
      const [row] = await sql`select keyframe.read_usage(group_by => 'project') as usage`;
      return row?.usage.groups;
    });
  }
});
