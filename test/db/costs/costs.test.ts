import type { TransactionSql } from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { runState } from "../../../shared/replicate/provider-prediction.ts";
import { asAdministrator, fillIn, readRecipes } from "../../support/database/admin-recipes.ts";
import {
  begin,
  claim,
  claimOnly,
  complete,
  makeDue,
  makeSearchesDue,
  providerSays,
  readRow,
  retryLater,
  type Saying,
  submitsOf,
} from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import {
  addWorld,
  columnsIn,
  outputPathOf,
  type Row,
  seedPrediction,
  seedSubmit,
  useWorld,
} from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { addReference, start } from "../../support/database/user.ts";
import { letWait, whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// What submits hold and cost, and budgets. A first frame by the default model costs 67,000 micro-dollars.
const db = useDatabase();
const FRAME = 67_000;
const world = useWorld(db);
beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe_private.prediction_images, keyframe_private.provider_submits, keyframe_private.cost_changes, keyframe_private.cost_sums, keyframe_private.owner_budgets, keyframe_private.limit_notes, keyframe_private.work",
  );
  await db.sql`
    update keyframe_private.settings set owner_day_micros = null, owner_month_micros = null, service_day_micros = null,
      service_month_micros = null, spending_stopped = false, max_active_per_owner = 4`;
});

const budget = (month: number | null, day: number | null = null, owner = world.owner) =>
  db.sql`
    insert into keyframe_private.owner_budgets (owner_id, day_micros, month_micros) values (${owner}, ${day}, ${month})
    on conflict (owner_id) do update set day_micros = excluded.day_micros, month_micros = excluded.month_micros`;

/** The sums of an owner, by default of everybody. */
async function sums(owner: string | null = null) {
  const [row] = await db.sql`
    select sum(predictions)::integer as predictions, sum(held_micros)::integer as held, sum(settled_micros)::integer as settled,
      sum(unknown_micros)::integer as unknown,
      sum(unknown_submits)::integer as "unknownSubmits"
    from keyframe_private.costs
    where case when ${owner}::uuid is null then kind = 'service_day' else kind = 'owner_day' and owner_id = ${owner} end`;
  const { unknownSubmits, ...micros } = row ?? {};
  expect(unknownSubmits > 0).toBe(micros.unknown > 0);
  return micros;
}
const costOf = (id: string) => scalar(db.sql`select keyframe_private.cost_json(${id})`);
const usage = (group_by: string) =>
  call<{ groups: Row[]; budgets: Row[] }>(db, world.owner, "read_usage", { group_by });
const cost = (state: string, amountMicros: number | null, atMostMicros = amountMicros) => ({
  ...{ amountMicros, atMostMicros, currency: "USD", state },
});

/** The budget that a start is refused for. */
async function refusedBudget(whose = world): Promise<Record<string, unknown>> {
  const { message, hint } = await refusalOf(start(db, whose));
  expect(message).toBe("budget_exceeded");
  return JSON.parse(hint ?? "");
}

/** A started first frame whose submit a worker has claimed. */
async function submitted() {
  const { prediction } = await start(db, world);
  const [task] = (await claim(db.sql)).filter(({ id }) => id === prediction.id);
  return { id: prediction.id, lease: task?.lease_token ?? null };
}

const ONE_IMAGE = { image_output_count: 1 };
const OVER_BUDGET = { status: "failed", error_code: "budget_exceeded" };
/** What the events say of the owner's budgets that had no room. */
const exhausted = async () => {
  const events = await db.sql`
    select payload -> 'data' as data from keyframe.webhook_events where owner_id = ${world.owner} and type = 'budget.exhausted'
    order by payload -> 'data' ->> 'period'`;
  return events.map(({ data }) => data);
};
const succeed = (id: string, more: object = {}) =>
  providerSays(db.sql, { id, run: `run-${id}`, status: "succeeded", metrics: ONE_IMAGE, ...more });
async function store(id: string) {
  const [task] = await claim(db.sql);
  expect(await complete(db.sql, id, task?.lease_token ?? null)).toBe(true);
}

/** The default model has another price from now on, for as long as a test runs. */
async function withPrice(usd: number, work: () => Promise<unknown>) {
  await db.sql`
    insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, source)
    values ('google/nano-banana-2', '{"resolution": "1K"}', 'image', ${usd}, 'https://example.com')`;
  await work();
  await db.sql`alter table keyframe_private.model_prices disable trigger user`; // it has been in force
  await db.sql`delete from keyframe_private.model_prices where source = 'https://example.com'`;
  await db.sql`alter table keyframe_private.model_prices enable trigger user`;
}

describe("what a prediction costs", () => {
  test("a prediction is started → the most that it can cost is held, also while it waits for a slot", async () => {
    await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
    const { prediction } = await start(db, world);
    await start(db, world);
    expect(prediction.cost).toEqual(cost("held", null, FRAME));
    expect(await sums(world.owner)).toEqual({ predictions: 2, held: 2 * FRAME, settled: 0, unknown: 0 });
    expect(await sums()).toEqual(await sums(world.owner));
  });

  test("a run succeeds → its cost is settled at once, by the prices of its start", async () => {
    const { id } = await submitted();
    await withPrice(0.5, () => succeed(id));
    expect(await costOf(id)).toEqual(cost("settled", FRAME));
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: FRAME, unknown: 0 });
  });

  const FAILED = { status: "failed" };
  const REJECTED = { ...FAILED, failure: "content_rejected", error: "It was flagged." } as const;
  const NO_IMAGE = { image_output_count: 0 };
  test.each<[says: Omit<Saying, "id" | "run">, expected: object]>([
    [FAILED, cost("unknown", null, FRAME)],
    [REJECTED, cost("unknown", null, FRAME)],
    [{ status: "canceled" }, cost("settled", FRAME)],
    [{ status: "aborted" }, cost("released", 0)],
    [{ ...FAILED, metrics: NO_IMAGE }, cost("settled", 0)],
    [{ ...REJECTED, metrics: NO_IMAGE }, cost("settled", 0)],
    [{ ...REJECTED, metrics: ONE_IMAGE }, cost("unknown", null, FRAME)],
  ])(
    "a run ends with %j → settled as billed_when says; what the provider counts as nothing costs nothing",
    async (says, is) => {
      const { id } = await submitted();
      await providerSays(db.sql, { id, run: "run-1", ...says });
      expect(await costOf(id)).toEqual(is);
    },
  );

  test("an administrator inserts an ended prediction and its account is deleted → no cost is ever held, settled or counted", async () => {
    await budget(0);
    for (const status of ["succeeded", "failed", "canceled"] as const) {
      const id = crypto.randomUUID();
      const columns = columnsIn(status, "first-frame", outputPathOf(id, world));
      const ended = { id, project_id: world.project, step: "first-frame", ...columns };
      await db.sql`insert into keyframe.predictions ${db.sql(ended)}`;
      expect(await submitsOf(db.sql, id)).toEqual([]);
    }
    await db.sql`delete from auth.users where id = ${world.owner}`;
    expect(await db.sql`select from keyframe_private.costs`).toHaveLength(0);
  });

  test.each([
    ["5.04 s", 5.04, 1],
    ["2.5 s", 2.5, 0.5],
    ["a week", 604_800, 1],
  ])(
    "a video of %s, for which the provider gives no figures → held until stored, then settled as 5 s at most",
    async (_, seconds, share) => {
      await seedPrediction(db.sql, world, { status: "succeeded" });
      const wanted = { step: "video", model: "kwaivgi/kling-v2.1", input: { durationSeconds: 5 } };
      const { id } = (await start(db, world, wanted)).prediction;
      await claim(db.sql);
      await providerSays(db.sql, { id, run: "run-v", status: "succeeded" });
      const held = await costOf(id);
      expect(held).toMatchObject({ state: "held" });
      const [task] = await claim(db.sql);
      await db.sql`
      select keyframe_worker.complete_prediction(${Number(task?.work_id)}, ${task?.lease_token ?? null},
        ${`${world.owner}/${world.project}/${id}.mp4`}, 'video/mp4', 10, ${"a".repeat(64)}, 1280, 720, ${seconds}, false)`;
      expect(await costOf(id)).toEqual(cost("settled", share * held.atMostMicros));
    },
  );

  test("a prediction is canceled while its submit begins → nothing is sent, and nothing stays held", async () => {
    await letWait(db.sql, "begin_submit");
    const { prediction } = await start(db, world);
    const [task] = await claimOnly(db.sql);
    const cancel = (open: TransactionSql) => open`select keyframe_private.mark_canceled(${prediction.id})`;
    expect(await whileOpen(db.sql, cancel, async () => task && (await begin(db.sql, task)))).toBeNull();
    expect(await sums(world.owner)).toMatchObject({ held: 0 });
  });

  test("a canceled video is made after all, without figures from the provider → its cost is unknown: no file says its length", async () => {
    const { id: firstFrame } = await seedPrediction(db.sql, world, { status: "succeeded" });
    const { prediction } = await start(db, world, { step: "video", firstFrame });
    await claim(db.sql);
    await call(db, world.owner, "cancel_prediction", { project_id: world.project, prediction_id: prediction.id });
    await succeed(prediction.id, { metrics: {} });
    expect(await costOf(prediction.id)).toMatchObject({ state: "unknown" });
  });

  test("a prediction is deleted with its project while it runs, and the run ends later → its cost is settled all the same", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1" });
    await db.sql`delete from auth.users where id = ${world.owner}`;
    await providerSays(db.sql, { id, run: "run-1", status: "succeeded" });
    expect(await sums(world.owner)).toEqual({ predictions: 1, held: 0, settled: FRAME, unknown: 0 });
  });
});

describe("budgets", () => {
  test("an owner's own budget without a daily or monthly limit → the limit in the settings does not apply", async () => {
    await db.sql`update keyframe_private.settings set owner_day_micros = 0, owner_month_micros = 0`;
    expect(await codeOf(start(db, world))).toBe("budget_exceeded");
    await budget(FRAME);
    await start(db, world);
    expect(await refusedBudget()).toMatchObject({ period: "month", limitMicros: FRAME });
    await budget(null, FRAME);
    expect(await refusedBudget()).toMatchObject({ period: "day", limitMicros: FRAME });
  });

  test("the service's budget is used up → a start is refused, without revealing what others have spent", async () => {
    await db.sql`update keyframe_private.settings set service_day_micros = ${FRAME}`;
    await start(db, world);
    const other = await addWorld(db);
    expect(Object.keys(await refusedBudget(other)).sort()).toEqual(["estimateMicros", "period", "resetsAt", "scope"]);
  });

  test("spending is stopped → starts are refused, predictions in line wait, and those that run end", async () => {
    await db.sql`update keyframe_private.settings set max_active_per_owner = 1`;
    const { id } = await submitted();
    const { prediction: waiting } = await start(db, world);
    await db.sql`update keyframe_private.settings set spending_stopped = true`;
    expect(await codeOf(start(db, world))).toBe("spending_stopped");
    await succeed(id);
    await store(id);
    expect(await claim(db.sql)).toEqual([]);
    await db.sql`update keyframe_private.settings set spending_stopped = false`;
    await db.sql`select keyframe_private.sweep()`;
    expect(await claim(db.sql)).toMatchObject([{ id: waiting.id }]);
  });

  test("a start is refused for its budget → one event for each budget and period, and the same key can start later", async () => {
    await budget(FRAME, FRAME);
    await start(db, world);
    for (const wanted of [{ key: "k", hash: "a".repeat(64) }, {}])
      expect(await codeOf(start(db, world, wanted))).toBe("budget_exceeded");
    const of = { ownerId: world.owner, scope: "owner", limitMicros: FRAME };
    expect(await exhausted()).toMatchObject(["day", "month"].map((period) => ({ ...of, period })));
    await budget(10 * FRAME);
    expect((await start(db, world, { key: "k", hash: "a".repeat(64) })).replayed).toBe(false);
  });

  test("the lease of a submit expires → the next submit needs a hold of its own; without budget the prediction fails", async () => {
    await budget(2 * FRAME);
    const { id } = await submitted();
    await makeDue(db.sql, id);
    expect(await claim(db.sql)).toMatchObject([{ id, attempt: 2, search_attempt: 1 }]);
    expect(await sums(world.owner)).toMatchObject({ held: 2 * FRAME });
    await makeDue(db.sql, id);
    await claim(db.sql); // it fails; the search for the second submit waits until its lease is over
    await makeSearchesDue(db.sql);
    expect((await claim(db.sql)).map(({ task }) => task)).toEqual(["search", "search"]);
    expect(await readRow(db.sql, id)).toMatchObject(OVER_BUDGET);
    expect(await sums(world.owner)).toMatchObject({ held: 2 * FRAME });
  });

  test("the budget was lowered when a refused submit is made again → the admitted prediction goes on", async () => {
    await budget(FRAME);
    const { id, lease } = await submitted();
    await budget(0);
    expect(await refusedBudget()).toMatchObject({ heldMicros: FRAME, limitMicros: 0, availableMicros: 0 });
    expect(await retryLater(db.sql, id, lease)).toBe("later");
    expect(await sums(world.owner)).toMatchObject({ held: FRAME });
  });

  test("a submit's refusal comes after its lease, then another start → the prediction's next submit needs budget of its own", async () => {
    await budget(FRAME);
    const { id, lease } = await submitted();
    await makeDue(db.sql, id);
    const tasks = await claimOnly(db.sql);
    expect(await retryLater(db.sql, id, lease)).toBe("too_late");
    await start(db, world); // it holds what the refused submit had held
    for (const task of tasks) expect(await begin(db.sql, task)).toBeNull();
    expect(await readRow(db.sql, id)).toMatchObject(OVER_BUDGET);
    expect(await sums(world.owner)).toMatchObject({ held: FRAME });
  });
});

describe("days and months, by UTC", () => {
  const seedCost = (createdAt: string, columns: Row = {}) =>
    seedSubmit(db.sql, { owner_id: world.owner, created_at: createdAt, most_micros: FRAME, ...columns });
  /** What is left of the owner's budgets at a time, and until when, by a session in another time zone. */
  const left = (at: string) =>
    db.sql.begin(async (sql) => {
      await sql`set local timezone = 'Pacific/Auckland'`;
      const rows = await sql`
        select period, available_micros::integer as available, resets_at from keyframe_private.budgets_of(${world.owner}, ${at}) order by period`;
      return rows.map(({ period, available, resets_at }) => [period, available, resets_at.toISOString().slice(0, 13)]);
    });
  const admit = (at: string) =>
    db.sql`
      select keyframe_private.require_budget(
        ${world.owner}, row(null, 1, ${FRAME}::bigint, ${FRAME}::bigint, ${FRAME}::bigint, ${FRAME}::bigint), ${at}::timestamptz)`;

  test("a run across midnight at the end of a year → its cost counts on the day of its start", async () => {
    await budget(3 * FRAME, 2 * FRAME);
    await seedCost("2026-12-30T00:00:00Z");
    await seedCost("2026-12-31T23:59:59.999999Z");
    const lastMoment = "2026-12-31T23:59:59.999999Z";
    expect(await left(lastMoment)).toEqual([
      ["day", FRAME, "2027-01-01T00"],
      ["month", FRAME, "2027-01-01T00"],
    ]);
    await seedCost("2026-12-31T00:00:00Z");
    expect(await codeOf(admit(lastMoment))).toBe("budget_exceeded");
    await admit("2027-01-01T00:00:00Z");
    await seedCost("2027-01-01T00:00:00Z");
    await db.sql`
      update keyframe_private.provider_submits set ended_at = '2027-01-01', outcome = 'aborted' where created_at < '2027-01-01T00:00:00Z'`;
    expect(await left("2027-01-01T12:00:00Z")).toEqual([
      ["day", FRAME, "2027-01-02T00"],
      ["month", 2 * FRAME, "2027-02-01T00"],
    ]);
    expect(await left(lastMoment)).toEqual([
      ["day", 2 * FRAME, "2027-01-01T00"],
      ["month", 3 * FRAME, "2027-01-01T00"],
    ]);
    expect(await sums(world.owner)).toMatchObject({ held: FRAME });
  });

  test("a submit is refused after midnight → the next submit of the prediction counts on the day of the start", async () => {
    await budget(null, FRAME);
    const { id, lease } = await submitted();
    await db.sql`update keyframe_private.provider_submits set created_at = created_at - interval '1 day'`;
    await start(db, world);
    await retryLater(db.sql, id, lease);
    const days = await db.sql`
      select (day - (now() at time zone 'UTC')::date) as day, sum(held_micros)::integer as held
      from keyframe_private.costs where kind = 'owner_day' and owner_id = ${world.owner} group by 1 order by 1`;
    expect([...days]).toEqual([
      { day: -1, held: FRAME },
      { day: 0, held: FRAME },
    ]);
  });
});

const recipes = await readRecipes("costs");

/** In dollars. */
const balance = () =>
  scalar(db.sql`select available_micros / 1e6::float from keyframe_private.balance_of(${world.owner})`);

/** The most that a run can cost, in dollars, and the expected amount. */
async function mostOf(model: string, input: object) {
  const [row] = await db.sql`
    select c.most_micros / 1e6::float as most, c.estimate_micros / 1e6::float as estimate
    from keyframe_private.estimate_cost(${model}, ${JSON.stringify(input)}::text::jsonb, now()) c`;
  return [row?.most, row?.estimate];
}

/** What each recipe does, in the page's order. */
const EFFECTS: Record<string, (run: (values?: Record<string, string>) => Promise<Row[]>) => Promise<void>> = {
  "Give a user ten dollars a month": async (run) => {
    await run({ owner_id: world.owner });
    await run({ owner_id: world.owner });
    const input = { durationSeconds: 15, resolution: "1080p" };
    const video = { step: "video", model: "kwaivgi/kling-v3-video", input };
    await seedPrediction(db.sql, world, { status: "succeeded" });
    await start(db, world, video);
    await start(db, world, video);
    expect(await codeOf(start(db, world, video))).toBe("budget_exceeded");
    expect(await scalar(db.sql`select month_micros::integer from keyframe_private.owner_budgets`)).toBe(10_000_000);
  },
  "Set budgets for every user and for the service": async (run) => {
    await run();
    const rows =
      await db.sql`select scope, limit_micros::integer as micros from keyframe_private.budgets_of(${world.owner}, now()) order by 1`;
    expect([...rows]).toEqual([
      { scope: "owner", micros: 10_000_000 },
      { scope: "service", micros: 500_000_000 },
    ]);
  },
  "Stop all spending now": async (run) => {
    await run();
    expect(await codeOf(start(db, world))).toBe("spending_stopped");
    await db.sql`update keyframe_private.settings set spending_stopped = false`;
    expect(await start(db, world)).toHaveProperty("prediction");
  },
  "Highest spending this month": async (run) => {
    await start(db, await addWorld(db));
    const { id } = await submitted();
    await start(db, world);
    await providerSays(db.sql, { id, run: "run-1", status: "failed" });
    const [most, ...rest] = await run();
    expect(rest).toHaveLength(1);
    const sums = { predictions: "2", settled_usd: "0.000000", held_usd: "0.067000", unknown_usd: "0.067000" };
    expect(most).toMatchObject({ email: `${world.owner}@keyframe.local`, owner_id: world.owner, ...sums });
  },
  "Find what has an unknown cost": async (run) => {
    await submitted();
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1", status: "failed" });
    const unknown = { prediction_id: id, outcome: "failed", provider_prediction_id: "run-1" };
    expect(await run()).toMatchObject([{ ...unknown, most_micros: String(FRAME) }]);
  },
  "Settle an unknown cost": async (run) => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-1", status: "failed" });
    const [submit] = await submitsOf(db.sql, id);
    await run({ submit_id: String(submit?.id) });
    expect(await costOf(id)).toEqual(cost("settled", 45_000));
    expect(await sums()).toEqual({ predictions: 1, held: 0, settled: 45_000, unknown: 0 });
  },
  "Correct what a wrong price has settled": async (run) => {
    await submitted();
    const { id } = await submitted();
    await succeed(id);
    const [submit] = await db.sql`
      select price_ids[1] as price, (created_at at time zone 'UTC')::date::text as day from keyframe_private.provider_submits limit 1`;
    const { price, day } = Object(submit);
    const values = { wrong_price_id: `${price}`, right_price_id: `${price}0`, first_day: day, last_day: day };
    await run({ ...values, wrong_price_id: "0" });
    expect(await costOf(id)).toEqual(cost("settled", FRAME));
    const corrected = Math.ceil((FRAME * 0.35) / 0.4);
    for (const _ of ["once", "again"]) {
      await run(values);
      expect(await costOf(id)).toEqual(cost("settled", corrected));
    }
    expect(await sums(world.owner)).toEqual({ predictions: 2, held: FRAME, settled: corrected, unknown: 0 });
  },
  "Compare the sums with the ledger": async (run) => {
    const { id } = await submitted();
    await succeed(id);
    await db.sql`select keyframe_private.merge_costs()`;
    await start(db, world);
    await start(db, await addWorld(db));
    expect(await run()).toEqual([]);
    await db.sql`update keyframe_private.cost_sums set settled_micros = settled_micros + 1 where kind = 'owner_day'`;
    expect(await run()).toMatchObject([{ owner_id: world.owner, too_much: "1" }]);
  },
  "Give a user five dollars": async (run) => {
    for (const _ of ["once", "again"]) await run({ owner_id: world.owner });
    expect(await balance()).toBe(5);
  },
  "Take back a payment": async (run) => {
    await run({ owner_id: world.owner, refund_id: "re_1" });
    expect(await balance()).toBe(-10);
    expect(await codeOf(start(db, world))).toBe("balance_exhausted");
  },
  "Give every user two dollars": async (run) => {
    for (const _ of ["once", "again"]) await run();
    expect(await balance()).toBe(2);
  },
  "Charge 30 % more than the provider": async (run) => {
    await run();
    const { prediction } = await start(db, world);
    expect(prediction.cost).toEqual(cost("held", null, FRAME * 1.3));
    await db.sql`update keyframe_private.settings set markup = default`;
  },
  "Charge double for one model": async (run) => {
    for (const _ of ["once", "again"]) await run();
    expect(await scalar(db.sql`select keyframe_private.markup_of('google/veo-3.1')::float`)).toBe(2);
  },
  "Lowest balances": async (run) => {
    await db.sql`select keyframe_private.add_credit(${world.owner}, -12345678, 'adjustment')`;
    const [least] = await run();
    const row = { email: `${world.owner}@keyframe.local`, owner_id: world.owner, credits_usd: "-12.345678" };
    expect(least).toEqual({ ...row, balance_usd: "-12.345678", held_usd: "0.000000" });
  },
  "Change a price": async (run) => {
    await run();
    expect(await mostOf("google/veo-3.1", { resolution: "720p", durationSeconds: 8, audio: true })).toEqual([2.8, 2.8]);
  },
  "Set a ceiling where no price is known": async (run) => {
    await run();
    expect(await mostOf("minimax/hailuo-2.3", { resolution: "768p", durationSeconds: 10 })).toEqual([0.6, null]);
  },
  "Record what the provider bills": async (run) => {
    await run();
    const billed = await scalar(db.sql`select billed_when from keyframe.models where model = 'google/veo-3.1'`);
    expect(billed).toEqual({ failed: "no", rejected: "no", canceled: "yes" });
  },
};

describe("docs/costs.md, as an administrator does it in Studio", () => {
  test("docs/costs.md → every recipe is tried in this test, in the page's order", () => {
    expect(recipes.map(({ title }) => title)).toEqual(Object.keys(EFFECTS));
  });

  test.each(recipes)("recipe “$title” of docs/costs.md → does what the page says", async ({ title, sql }) => {
    await EFFECTS[title]?.((values = {}) => asAdministrator(db.sql, fillIn(sql, values)));
  });
});

describe("costs under unusual reports and edits", () => {
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
      await succeed(prediction.id, { attempt: isSecond ? 2 : 1 });
      await store(prediction.id);
      expect(await costOf(prediction.id)).toEqual(cost("settled", 15_000 * (1 + 16 + 1))); // a run, its input, its output
    }
  });

  test("a submit has two runs, or one that a search missed → the other run counts with the same maximum, and not as a start", async () => {
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: "run-a" });
    expect(await providerSays(db.sql, { id, run: "run-b" })).toBe("stale");
    expect(await sums()).toEqual({ predictions: 1, held: 2 * FRAME, settled: 0, unknown: 0 });
    await providerSays(db.sql, { id, run: "run-b", status: "canceled", metrics: ONE_IMAGE });
    expect(await sums()).toEqual({ predictions: 1, held: FRAME, settled: FRAME, unknown: 0 });
    await succeed(id, { run: "run-a" });
    expect(await costOf(id)).toEqual(cost("settled", 2 * FRAME));
    expect((await usage("project")).groups).toMatchObject([
      { key: world.project, predictions: 1, settledMicros: 2 * FRAME },
    ]);

    const late = await submitted();
    await makeDue(db.sql, late.id);
    await claim(db.sql);
    await db.sql`select keyframe_worker.record_search_ended(${late.id}, 1, 1, false)`;
    await succeed(late.id);
    expect(await sums()).toMatchObject({ predictions: 2, settled: 3 * FRAME });
  });

  test("a model gets another name in one of its steps → both names have its prices", async () => {
    await db.sql`update keyframe.models set model = 'google/renamed' where step = 'first-frame' and model = 'google/nano-banana'`;
    const priced =
      await db.sql`select distinct model from keyframe_private.model_prices where model in ('google/renamed', 'google/nano-banana')`;
    expect(priced).toHaveLength(2);
    await db.sql`update keyframe.models set model = 'google/renamed' where model = 'google/nano-banana'`;
    await db.sql`update keyframe.models set model = 'google/nano-banana' where model = 'google/renamed'`;
  });

  test("a model gets another name before its run fails → what a failed run bills is still known", async () => {
    const model = "google/nano-banana";
    await db.sql`update keyframe.models set billed_when = '{"failed": "no", "rejected": "no", "canceled": "no"}' where model = ${model}`;
    const { prediction } = await start(db, world, { model });
    await claim(db.sql);
    await db.sql`update keyframe.models set model = 'google/renamed' where model = ${model}`;
    await providerSays(db.sql, { id: prediction.id, run: "run-renamed", status: "failed" });
    await db.sql`update keyframe.models set model = ${model}, billed_when = default where model = 'google/renamed'`;
    expect(await costOf(prediction.id)).toEqual(cost("released", 0));
  });

  test("metrics with characters that Postgres does not store → those metrics are left out, and the run ends", async () => {
    const { id } = await submitted();
    const said = { a: "\u0000", b: "\ud800", ...ONE_IMAGE };
    const { metrics } = runState({ id: "run-odd", status: "succeeded", metrics: said });
    expect(metrics).toEqual(ONE_IMAGE);
    await succeed(id, { metrics });
    expect(await costOf(id)).toEqual(cost("settled", FRAME));
  });

  test("cost rows are merged while somebody holds some → the merge does not wait; a later one leaves one row for each sum", async () => {
    const merge = () => db.sql`select keyframe_private.merge_costs()`;
    for (const _ of ["first", "second"]) {
      await succeed((await submitted()).id);
      await db.sql.begin(async (open) => {
        await open`select from keyframe_private.cost_sums for update`;
        await open`select from keyframe_private.cost_changes where id % 2 = 0 for update`;
        await merge();
      });
      await merge();
    }
    expect(await sums()).toEqual({ predictions: 2, held: 0, settled: 2 * FRAME, unknown: 0 });
    const left =
      await db.sql`select kind from keyframe_private.cost_sums union all select null from keyframe_private.cost_changes order by 1`;
    expect(left.map(({ kind }) => kind)).toEqual(["owner_day", "service_day", "project_day", "owner_total"]);
  });

  test("usage of 1,001 projects → the 1,000 that cost most, most expensive first", async () => {
    await db.sql`
      insert into keyframe_private.cost_sums (kind, owner_id, day, project_id, settled_charge_micros)
      select 'project_day', ${world.owner}, (now() at time zone 'UTC')::date, gen_random_uuid(), i from generate_series(1, 1001) i`;
    const settled = (await usage("project")).groups.map(({ settledMicros }) => settledMicros);
    expect(settled).toEqual(Array.from({ length: 1000 }, (_, i) => 1001 - i));
  });

  test("an administrator moves, corrects or deletes submits → the sums of costs follow", async () => {
    const other = await addWorld(db);
    const { id } = await submitted();
    await succeed(id);
    await start(db, world);
    await db.sql`select keyframe_private.merge_costs()`;
    await db.sql`update keyframe_private.provider_submits set owner_id = ${other.owner}`;
    const moved = { predictions: 2, held: FRAME, settled: FRAME, unknown: 0 };
    expect([await sums(other.owner), await sums()]).toEqual([moved, moved]);
    const none = { predictions: 0, held: 0, settled: 0, unknown: 0 };
    expect(await sums(world.owner)).toEqual(none);
    await db.sql`delete from keyframe_private.provider_submits`;
    expect([await sums(other.owner), await sums()]).toEqual([none, none]);
  });

  test("an event about a budget exhausted 13 months ago → forgotten", async () => {
    await db.sql`
      insert into keyframe_private.limit_notes (owner_id, type, once_for, noted_at)
      values (${world.owner}, 'budget.exhausted', 'day', now() - interval '14 months')`;
    await db.sql`select keyframe_private.prune()`;
    expect(await db.sql`select from keyframe_private.limit_notes`).toHaveLength(0);
  });
});

describe("amounts that are mistyped, or sums that no JSON number holds exactly", () => {
  const MOST = 2 ** 53 - 1;

  test("an administrator types a cost or a hold of more than a million dollars → refused", async () => {
    const { id } = await submitted();
    const set = (columns: Row) =>
      refusalOf(db.sql`update keyframe_private.provider_submits set ${db.sql(columns)} where prediction_id = ${id}`);
    for (const columns of [{ most_micros: MOST }, { cost_micros: 1_000_000_000_001, cost_state: "settled" }])
      expect((await set(columns)).constraint).toBe("amounts_are_at_most_a_million_dollars");
  });

  test("a price so high that a run costs more than a million dollars → the run holds and costs a million dollars", async () => {
    await db.sql`update keyframe.models set model = 'test/dear' where step = 'video' and model = 'prunaai/p-video'`;
    const [price] = await db.sql`
      insert into keyframe_private.model_prices (model, metric, price_usd, source) values ('test/dear', 'output_second', 1000, 's') returning id`;
    const [row] = await db.sql`
      select (keyframe_private.estimate_cost('test/dear', '{"durationSeconds": 999999}', now())).most_micros::text as most,
        keyframe_private.settled_cost(array[${price?.id}::bigint], '{"video_output_duration_seconds": 999999}', null)::text as settled`;
    expect(row).toEqual({ most: "1000000000000", settled: "1000000000000" });
    await db.sql`update keyframe.models set model = 'prunaai/p-video' where model = 'test/dear'`;
  });

  test("sums of costs beyond what JSON holds exactly → the largest number that it holds", async () => {
    await budget(MOST);
    await db.sql`
      insert into keyframe_private.cost_changes (owner_id, day, step, model, project_id, settled_charge_micros, unknown_charge_micros)
      select ${world.owner}, (now() at time zone 'UTC')::date, 'video', 'm', ${world.project}, ${MOST}, ${MOST} from generate_series(1, 3)`;
    for (const group of ["day", "model", "step", "project"]) {
      const { groups, budgets } = await usage(group);
      const amounts = [...groups, ...budgets].flatMap(Object.entries).filter(([field]) => field.endsWith("Micros"));
      expect(
        amounts.filter(([, value]) => !Number.isSafeInteger(value)),
        group,
      ).toEqual([]);
      expect(amounts.length).toBeGreaterThan(3);
    }
    expect(await refusedBudget()).toMatchObject({ settledMicros: MOST, availableMicros: 0 });
  });
});

test.each(["week", null])("usage grouped by %j → refused, with the four groups", async (group_by) => {
  expect(await refusalOf(call(db, world.owner, "read_usage", { group_by }))).toMatchObject({
    ...{ message: "invalid_request", detail: "groupBy must be day, model, step or project." },
  });
});

test("a user whose id is all zeros → has their own costs and budgets, and sees no other user's", async () => {
  const nil = "00000000-0000-0000-0000-000000000000";
  await start(db, world);
  await db.sql`
    insert into auth.users (id, email) values (${nil}, 'nil@keyframe.local') on conflict do nothing`;
  expect(await call(db, nil, "read_usage")).toMatchObject({ groups: [] });
  await db.sql`update keyframe_private.settings set service_day_micros = ${FRAME}, owner_day_micros = ${FRAME}`;
  const project = crypto.randomUUID();
  await db.sql`insert into keyframe.projects (id, owner_id, title, text_prompt) values (${project}, ${nil}, 't', 'p')`;
  expect(await refusedBudget({ owner: nil, project })).toMatchObject({ scope: "service" });
  await db.sql`update keyframe_private.settings set service_day_micros = ${2 * FRAME}`;
  expect((await start(db, { owner: nil, project })).prediction.id).toBeTruthy();
  await db.sql`select keyframe_private.merge_costs(1000)`;
  expect(await sums()).toMatchObject({ predictions: 2, held: 2 * FRAME });
  expect(await sums(nil)).toMatchObject({ predictions: 1, held: FRAME });
});
