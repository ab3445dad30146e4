import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { claim, providerSays, readRow, retryLater } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { addWorld, seedSubmit, useWorld, type World } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { scalar } from "../../support/database/scalar.ts";
import { start } from "../../support/database/user.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import { call } from "../../support/database/webhooks.ts";

// Prepaid balances and markups. A first frame by the default model costs 67,000 micro-dollars. Each test has an owner of its own, because
// credits are never deleted.
const db = useDatabase();
const FRAME = 67_000;
const MODEL = "google/nano-banana-2";
const world = useWorld(db);
beforeEach(async () => {
  await db.sql`
    update keyframe_private.settings set service_month_micros = null, prepaid_by_default = false, balance_low_micros = 0, markup = 1,
      max_active_per_owner = 4`;
  await db.sql`delete from keyframe_private.model_markups where true`;
  await db.sql`delete from keyframe_private.owner_budgets where true`;
});

const addCredit = (micros: number, kind: string, key: string = crypto.randomUUID(), owner = world.owner) =>
  db.sql`select (keyframe_private.add_credit(${owner}, ${micros}, ${kind}, ${key})).*`;
const grant = (frames: number, key?: string) => addCredit(frames * FRAME, "grant", key);
const refund = (frames: number) => addCredit(-frames * FRAME, "refund");
/** In frames; null for an owner who is not prepaid. */
async function balance(owner = world.owner) {
  const [row] = await db.sql`select * from keyframe_private.balance_of(${owner})`;
  const frames = (micros: string | null) => (micros === null ? null : Number(micros) / FRAME);
  return { available: frames(row?.available_micros), held: frames(row?.held_micros) };
}
const readUsage = (args = {}) => call<{ groups: object[]; balance: object }>(db, world.owner, "read_usage", args);
const onFrame = () => ({ project_id: world.project, step: "first-frame" });
const estimate = async () =>
  (await call<{ estimate: { model: string } }>(db, world.owner, "estimate_prediction", onFrame())).estimate;
const costOf = (id: string) => scalar(db.sql`select keyframe_private.cost_json(${id})`);
const events = async (type: string) => {
  const rows = await db.sql`
    select payload -> 'data' as data from keyframe.webhook_events where owner_id = ${world.owner} and type = ${type} order by created_at`;
  return rows.map(({ data }) => data);
};
/** A started first frame whose submit a worker has claimed. */
async function submitted() {
  const { prediction } = await start(db, world);
  const [task] = (await claim(db.sql)).filter(({ id }) => id === prediction.id);
  return { id: prediction.id, lease: task?.lease_token ?? null };
}
const succeed = (id: string, run = `run-${id}`) =>
  providerSays(db.sql, { id, run, status: "succeeded", metrics: { image_output_count: 1 } });
const merge = () => db.sql`select keyframe_private.merge_costs()`;

describe("a balance", () => {
  test("credits, a start, its end, a merge → the balance is what was added, less what is held, less what was settled", async () => {
    expect(await balance()).toEqual({ available: null, held: null });
    await grant(3);
    const { id } = await submitted();
    await start(db, world);
    expect(await balance()).toEqual({ available: 1, held: 2 });
    await merge();
    await succeed(id);
    expect(await balance()).toEqual({ available: 1, held: 1 });
    await merge();
    expect(await balance()).toEqual({ available: 1, held: 1 });
    expect((await readUsage()).balance).toEqual({ availableMicros: FRAME, heldMicros: FRAME });
  });

  test("a start that costs more than the balance → balance_exhausted with what is left and needed, one event, nothing held", async () => {
    await grant(1.5);
    await start(db, world);
    const amounts = { availableMicros: FRAME / 2, estimateMicros: FRAME };
    for (const _ of ["first", "again"]) {
      const { message, hint } = await refusalOf(start(db, world));
      expect(message).toBe("balance_exhausted");
      expect(JSON.parse(hint ?? "")).toEqual(amounts);
    }
    expect(await events("balance.exhausted")).toEqual([{ ownerId: world.owner, ...amounts }]);
    expect(await balance()).toEqual({ available: 0.5, held: 1 });
    expect(await estimate()).toMatchObject({ balance: { availableMicros: FRAME / 2 }, withinBudget: false });
    await grant(1);
    expect(await estimate()).toMatchObject({ withinBudget: true });
  });

  test("credit arrives between a refusal and its event → no event about a balance that covers the start", async () => {
    await grant(1);
    const hint = JSON.stringify({ availableMicros: 0, estimateMicros: FRAME });
    await db.sql`select keyframe_private.note_exhausted(${world.owner}, 'balance_exhausted', ${hint})`;
    expect(await events("balance.exhausted")).toEqual([]);
  });

  test("the provider refuses a submit and the prediction is canceled → the amount stays held until then, and is available again", async () => {
    await grant(1);
    const { id, lease } = await submitted();
    expect(await retryLater(db.sql, id, lease)).toBe("later");
    expect(await balance()).toEqual({ available: 0, held: 1 });
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await balance()).toEqual({ available: 1, held: 0 });
  });

  test("a run fails, and its cost is unknown → the most that it can have cost is off the balance, before and after the merge", async () => {
    await grant(2);
    const { id } = await submitted();
    await providerSays(db.sql, { id, run: `run-${id}`, status: "failed" });
    expect(await balance()).toEqual({ available: 1, held: 0 });
    await merge();
    expect(await balance()).toEqual({ available: 1, held: 0 });
  });

  test("prepaid_by_default is on → an owner without credit starts nothing, and reads a balance of 0", async () => {
    await db.sql`update keyframe_private.settings set prepaid_by_default = true`;
    expect(await codeOf(start(db, world))).toBe("balance_exhausted");
    expect((await readUsage()).balance).toEqual({ availableMicros: 0, heldMicros: 0 });
    expect(await events("balance.exhausted")).toHaveLength(1);
  });

  test("a first credit after earlier runs → costs already settled are not taken off the balance, amounts still held are", async () => {
    for (const _ of ["merged", "not merged"]) {
      await succeed((await submitted()).id);
      if (_ === "merged") await merge();
    }
    const { id } = await submitted();
    await grant(5);
    expect(await balance()).toEqual({ available: 4, held: 1 });
    await db.sql`select keyframe_private.mark_canceled(${id})`;
    await providerSays(db.sql, { id, run: "run-late", status: "aborted" });
    expect(await balance()).toEqual({ available: 5, held: 0 });
  });

  test("an owner who started nothing for two years → the costs from before still count against the balance", async () => {
    await grant(2);
    await succeed((await submitted()).id);
    await merge();
    await db.sql`update keyframe_private.cost_sums set day = day - 800 where owner_id = ${world.owner}`;
    await seedSubmit(db.sql, { owner_id: world.owner, created_at: "2020-01-01T00:00:00Z", most_micros: FRAME });
    await db.sql`select keyframe_private.prune()`;
    expect(await balance()).toEqual({ available: 0, held: 1 });
    await merge();
    await db.sql`select keyframe_private.prune()`;
    expect(await balance()).toEqual({ available: 0, held: 1 });
  });
});

describe("credits", () => {
  test("a credit repeated with its key → adds nothing; another amount → idempotency_mismatch; another user may use the key", async () => {
    expect(await grant(1, "payment-1")).toEqual(await grant(1, "payment-1"));
    expect(await codeOf(grant(2, "payment-1"))).toBe("idempotency_mismatch");
    expect(await codeOf(addCredit(FRAME, "purchase", "payment-1"))).toBe("idempotency_mismatch");
    await addCredit(FRAME, "grant", "payment-1", (await addWorld(db)).owner);
    expect(await balance()).toEqual({ available: 1, held: 0 });
  });

  test("a refund of more than is left → the balance is negative, starts are refused, and predictions that run go on", async () => {
    await grant(3);
    const { id } = await submitted();
    await refund(3);
    expect(await balance()).toEqual({ available: -1, held: 1 });
    expect(await codeOf(start(db, world))).toBe("balance_exhausted");
    await db.sql`insert into keyframe_private.model_markups values (${MODEL}, 0)`;
    expect(await codeOf(start(db, world))).toBe("balance_exhausted"); // also where it costs nothing
    await succeed(id);
    expect(await balance()).toEqual({ available: -1, held: 0 });
  });

  test("credit for an unknown user → user_not_found; for a deleted user who has credits → added", async () => {
    expect(await codeOf(addCredit(FRAME, "grant", "k", crypto.randomUUID()))).toBe("user_not_found");
    await grant(1);
    await db.sql`delete from auth.users where id = ${world.owner}`;
    await refund(1);
    expect(await balance()).toEqual({ available: 0, held: 0 });
  });

  test("a credit that is changed, deleted or has the wrong sign → refused", async () => {
    await grant(1);
    for (const change of ["update {} set micros = 1 where true", "delete from {} where true", "truncate {}"]) {
      const statement = change.replace("{}", "keyframe_private.credits");
      expect((await refusalOf(db.sql.unsafe(statement))).constraint).toBe("credits_are_only_inserted");
    }
    for (const [micros, kind] of [
      [-1, "grant"],
      [0, "adjustment"],
      [1, "refund"],
      [1, "expiry"],
    ] as const)
      expect((await refusalOf(addCredit(micros, kind))).constraint).toBe("sign_is_that_of_the_kind");
  });

  test("two first credits at once → both are added, and costs settled before are taken off once", async () => {
    await succeed((await submitted()).id);
    const first = (open: postgres.TransactionSql) =>
      open`select keyframe_private.add_credit(${world.owner}, ${FRAME}, 'grant', 'first')`;
    await whileOpen(db.sql, first, () => grant(1, "second"));
    expect(await balance()).toEqual({ available: 2, held: 0 });
  });
});

describe("balance.low", () => {
  test("a start or a refund leaves less than the threshold → one balance.low event, and one more after the next credit", async () => {
    await db.sql`update keyframe_private.settings set balance_low_micros = ${2 * FRAME}`;
    await grant(3);
    await start(db, world);
    expect(await events("balance.low")).toEqual([]);
    await start(db, world);
    await start(db, world);
    const low = { ownerId: world.owner, availableMicros: FRAME, thresholdMicros: 2 * FRAME };
    expect(await events("balance.low")).toEqual([low]);
    await grant(3);
    await refund(2);
    await refund(2);
    expect(await events("balance.low")).toEqual([low, low]);
  });

  test("of two first credits at once, the earlier one is committed after a balance.low event → the next event still comes", async () => {
    await db.sql`update keyframe_private.settings set balance_low_micros = ${10 * FRAME}`;
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.add_credit(${world.owner}, ${FRAME}, 'grant', 'earlier')`;
      await grant(1);
      await start(db, world);
    });
    await start(db, world);
    expect(await events("balance.low")).toHaveLength(2);
  });

  test("a start while another transaction writes balance.low → the start does not wait", async () => {
    await db.sql`update keyframe_private.settings set balance_low_micros = ${2 * FRAME}`;
    await grant(2);
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.note_once(${world.owner}, 'balance.low', b.credits::text, '{}')
        from keyframe_private.balance_of(${world.owner}) b`;
      await start(db, world);
    });
    expect(await events("balance.low")).toHaveLength(1);
  });
});

describe("a markup", () => {
  const markup = (factor: number) => db.sql`update keyframe_private.settings set markup = ${factor}`;

  test("a markup → estimate, hold, cost, usage and prices show what the user pays; administrators see both amounts", async () => {
    await markup(1.3);
    const charge = Math.ceil(FRAME * 1.3);
    await addCredit(charge, "purchase");
    const estimated = { estimateMicros: charge, atMostMicros: charge, withinBudget: true };
    expect(await estimate()).toMatchObject({ ...estimated, balance: { availableMicros: charge } });
    const { id } = await submitted();
    expect((await readUsage()).groups).toMatchObject([{ heldMicros: charge }]);
    await succeed(id);
    expect(await costOf(id)).toMatchObject({ amountMicros: charge, atMostMicros: charge, state: "settled" });
    await merge();
    for (const group_by of ["day", "model", "step", "project"])
      expect((await readUsage({ group_by })).groups).toMatchObject([{ settledMicros: charge, heldMicros: 0 }]);
    expect(await balance()).toEqual({ available: 0, held: 0 });
    const [admin] = await db.sql`
      select settled_usd::float as billed, settled_charge_usd::float as paid from keyframe_private.admin_costs where owner_id = ${world.owner}`;
    expect(admin).toEqual({ billed: FRAME / 1e6, paid: charge / 1e6 });
    type Model = { model: string; prices: { priceUsd: number }[] };
    const { steps } = await call<{ steps: { models: Model[] }[] }>(db, world.owner, "list_models");
    const { prices = [] } = steps.flatMap(({ models }) => models).find(({ model }) => model === MODEL) ?? {};
    const least = await scalar(
      db.sql`select min(price_usd)::float from keyframe_private.model_prices where model = ${MODEL}`,
    );
    expect(Math.min(...prices.map(({ priceUsd }) => priceUsd))).toBeCloseTo(least * 1.3, 9);
  });

  test("a markup changed while a run goes on, or a second run of it appears → settled with the markup of the start", async () => {
    await markup(2);
    const { id } = await submitted();
    await markup(3);
    await providerSays(db.sql, { id, run: "run-a" });
    expect(await providerSays(db.sql, { id, run: "run-b" })).toBe("stale");
    for (const run of ["run-a", "run-b"]) await succeed(id, run);
    expect(await costOf(id)).toMatchObject({ amountMicros: 2 * 2 * FRAME });
  });

  test("a markup that rose before a refused submit is made again → the new amount must be covered", async () => {
    await grant(1);
    const { id, lease } = await submitted();
    await markup(1.5);
    expect(await retryLater(db.sql, id, lease)).toBe("failed");
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed", error_code: "balance_exhausted" });
  });

  test("a markup for one model that gets another name → renamed with it; while another step has the old name, under both", async () => {
    const factors = async () =>
      await Promise.all(
        ["google/nano-banana", "test/renamed", MODEL].map((model) =>
          scalar(db.sql`select keyframe_private.markup_of(${model})::float`),
        ),
      );
    await markup(2);
    await db.sql`insert into keyframe_private.model_markups values ('google/nano-banana', 5)`;
    await db.sql`update keyframe.models set model = 'test/renamed' where step = 'first-frame' and model = 'google/nano-banana'`;
    expect(await factors()).toEqual([5, 5, 2]);
    await db.sql`update keyframe.models set model = 'test/renamed' where model = 'google/nano-banana'`;
    expect(await factors()).toEqual([2, 5, 2]);
    await db.sql`update keyframe.models set model = 'google/nano-banana' where model = 'test/renamed'`;
    expect(await factors()).toEqual([5, 2, 2]);
    const unknown = db.sql`insert into keyframe_private.model_markups values ('test/none', 5)`;
    expect((await refusalOf(unknown)).constraint).toBe("model_is_known");
  });

  test.each(["30", "10.01", "-0.1", "NaN"])(
    "a markup of %s → refused, with an explanation of what a markup is",
    async (factor) => {
      for (const statement of [
        `update keyframe_private.settings set markup = '${factor}'`,
        `insert into keyframe_private.model_markups values ('${MODEL}', '${factor}')`,
      ])
        expect((await refusalOf(db.sql.unsafe(statement))).constraint).toBe("markup_is_between_0_and_10");
    },
  );

  test("budgets with a markup → a user's budget counts what the user pays, the service's what the provider bills", async () => {
    await markup(10);
    await db.sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${world.owner}, ${9 * FRAME})`;
    const { message, hint } = await refusalOf(start(db, world));
    expect([message, JSON.parse(hint ?? "")]).toMatchObject(["budget_exceeded", { estimateMicros: 10 * FRAME }]);
    await db.sql`update keyframe_private.owner_budgets set month_micros = ${10 * FRAME}`;
    const [used] = await db.sql`
      select coalesce(sum(settled_micros + held_micros + unknown_micros), 0)::int as used from keyframe_private.costs where kind = 'service_day'`;
    await db.sql`update keyframe_private.settings set service_month_micros = ${Number(used?.used) + FRAME}`;
    await start(db, world);
    const other = await addWorld(db);
    const refused = await refusalOf(start(db, other));
    expect(JSON.parse(refused.hint ?? "")).toMatchObject({ scope: "service", estimateMicros: 10 * FRAME });
  });

  test("a default model becomes unavailable → its replacement costs neither the provider nor the user more", async () => {
    await db.sql`update keyframe.models set refused_at = now() where step = 'first-frame' and model = ${MODEL}`;
    const taken = (await estimate()).model;
    await db.sql`insert into keyframe_private.model_markups values (${taken}, 10)`;
    const next = await estimate().catch(({ message }: Error) => ({ model: message }));
    await db.sql`update keyframe.models set refused_at = null where step = 'first-frame'`;
    expect(next.model).not.toBe(taken);
  });
});

describe("a run that an administrator fails", () => {
  const free = { amountMicros: 0, atMostMicros: 0, currency: "USD", state: "released" };
  /** In frames: what the provider bills for it, and what its owner pays. */
  const billed = async () => {
    const [row] = await db.sql`
      select sum(settled_usd)::float as provider, sum(settled_charge_usd + held_charge_usd + unknown_charge_usd)::float as owner
      from keyframe_private.admin_costs where owner_id = ${world.owner}`;
    return { provider: (row?.provider * 1e6) / FRAME, owner: row?.owner };
  };
  const none = async () => {};
  test.each<[when: string, runs: string[], reach: (id: string) => Promise<unknown>]>([
    ["before it was submitted", [], none],
    ["while it runs", ["a"], (id) => providerSays(db.sql, { id, run: `a-${id}` })],
    ["while its file is copied", ["a"], (id) => succeed(id, `a-${id}`)],
    ["before its two runs are found", ["a", "b"], none],
  ])(
    "%s → its owner pays nothing, and what the provider bills is a cost of the service",
    async (_when, runs, reach) => {
      await grant(1);
      const { id } = (await start(db, world)).prediction;
      if (runs.length > 0) await claim(db.sql);
      await reach(id);
      expect(await balance()).toMatchObject({ available: 0 });
      const expectFree = async () => {
        expect(await costOf(id)).toEqual(free);
        expect(await balance()).toEqual({ available: 1, held: 0 });
      };
      await db.sql`select keyframe_private.mark_failed(${id}, 'failed_by_administrator', 'It hung.', true)`;
      await expectFree();
      expect(await events("generation.failed")).toMatchObject([{ cost: free }]);
      for (const run of runs) await providerSays(db.sql, { id, run: `${run}-${id}`, status: "canceled" });
      await merge();
      await expectFree();
      expect(await billed()).toEqual({ provider: runs.length, owner: 0 });
    },
  );
});

describe("credits and starts at the same moment", () => {
  test("a start while another owner's start and credits are not committed → nobody waits", async () => {
    const other: World = await addWorld(db);
    await db.sql`update keyframe_private.settings set service_month_micros = ${1_000 * FRAME}`;
    await grant(2);
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.add_credit(${other.owner}, ${FRAME}, 'grant', 'same')`;
      await open`insert into keyframe.predictions (project_id, step) values (${other.project}, 'first-frame')`;
      await grant(1, "same");
      await start(db, world);
      await merge();
    });
    expect(await balance(other.owner)).toEqual({ available: 0, held: 1 });
  });

  test("a server repeats a credit whose first request is not committed → it is told to try again soon", async () => {
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.add_credit(${world.owner}, ${FRAME}, 'grant', 'k')`;
      const again = db.sql`select keyframe_worker.add_credit(${world.owner}, ${FRAME}, 'grant', 'k')`;
      expect((await refusalOf(again)).sqlstate).toBe("55P03");
    });
    expect(await balance()).toEqual({ available: 1, held: 0 });
  });

  test("a start while the owner's own refund is not committed → does not wait, and the balance is negative afterwards", async () => {
    await grant(1);
    await db.sql.begin(async (open) => {
      await open`select keyframe_private.add_credit(${world.owner}, ${-FRAME}, 'refund', 'r')`;
      await start(db, world);
    });
    expect(await balance()).toEqual({ available: -1, held: 1 });
  });
});
