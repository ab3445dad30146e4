import type { TransactionSql } from "postgres";
import { beforeEach, expect, test } from "vitest";
import { claim, makeDue, providerSays, readRow, retryLater } from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { columnOf, seedPrediction, useWorld } from "../../support/database/predictions.ts";
import { codeOf } from "../../support/database/refusal.ts";
import { call } from "../../support/database/webhooks.ts";

// However a submit is added, it must fit every limit. A first frame by the default model costs 67,000 micro-dollars.
const db = useDatabase();
const world = useWorld(db);
const FRAME = 67_000;
const APP = "An app";
const client = () => ({ role: "authenticated", sub: world.owner, client_id: APP });

beforeEach(async () => {
  await emptyTables(
    db.sql,
    "keyframe.predictions, keyframe.webhook_events, keyframe_private.provider_submits, keyframe_private.cost_changes, keyframe_private.cost_sums, keyframe_private.limit_notes, keyframe_private.allowed_clients",
  );
  await db.sql`insert into keyframe_private.allowed_clients (client_id, name, may) values (${APP}, ${APP}, 'generate')`;
  await db.sql`update keyframe_private.settings set service_month_micros = null`;
});

/** What sets a limit of so many micro-dollars, the code of a refusal, and the event about it. */
const LIMITS: Record<string, [set: (micros: number) => PromiseLike<unknown>, code: string, event: string | null]> = {
  "an owner's budget": [
    (micros) =>
      db.sql`insert into keyframe_private.owner_budgets (owner_id, month_micros) values (${world.owner}, ${micros})`,
    "budget_exceeded",
    "budget.exhausted",
  ],
  "the service's budget": [
    (micros) => db.sql`update keyframe_private.settings set service_month_micros = ${micros}`,
    "budget_exceeded",
    "budget.exhausted",
  ],
  "a client's limit": [
    (micros) => db.sql`update keyframe_private.allowed_clients set owner_day_micros = ${micros}`,
    "budget_exceeded",
    null,
  ],
  "a prepaid balance": [
    (micros) => db.sql`select keyframe_private.add_credit(${world.owner}, ${micros}, 'grant')`,
    "balance_exhausted",
    "balance.exhausted",
  ],
};

const start = (more: object = {}) =>
  call<{ prediction: { id: string } }>(db, client(), "start_prediction", {
    ...{ project_id: world.project, step: "first-frame", ...more },
  });
const insert = (sql: TransactionSql) =>
  sql`insert into keyframe.predictions (project_id, step) values (${world.project}, 'first-frame')`;
/** Starts one and claims its submit; the code with which it has failed after that. */
const failureAfter = async (then: (id: string, lease: string | null) => Promise<unknown>) => {
  const { id } = (await start()).prediction;
  const [task] = await claim(db.sql);
  await then(id, task?.lease_token ?? null);
  return (await readRow(db.sql, id)).error_code;
};

/** How one submit too many is added, after as many as fit, and the code with which it is refused or its prediction fails. */
const WAYS: Record<string, [fitting: number, exceed: () => Promise<unknown>]> = {
  "a start": [0.5, () => codeOf(start())],
  "a row by the Data API": [0.5, () => codeOf(db.as(client(), insert))],
  "several takes at once": [2, () => codeOf(start({ count: 3 }))],
  "the last of several starts in one transaction": [
    2,
    () =>
      db.as(client(), async (sql) => {
        await insert(sql);
        await insert(sql);
        return await codeOf(sql.savepoint(insert));
      }),
  ],
  "the next submit after an interrupted run": [
    1,
    () => failureAfter((id) => providerSays(db.sql, { id, run: id, status: "failed", failure: "interrupted" })),
  ],
  "the next submit after an expired lease": [
    1,
    () => failureAfter(async (id) => [await makeDue(db.sql, id), await claim(db.sql)]),
  ],
  "the next submit after a refused one, at a higher price": [
    1,
    () =>
      failureAfter(async (id, lease) => {
        await db.sql.unsafe(raise(0.068));
        await retryLater(db.sql, id, lease);
        await db.sql.unsafe(raise(FRAME / 1e6)); // a price cannot be taken back
      }),
  ],
};
const raise = (usd: number) => `
  insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source)
  values ('google/nano-banana-2', '{"resolution": "1K"}', 'image', ${usd}, clock_timestamp(), 'a test')`;

/** A transaction of a user that is refused writes no event: it is undone. */
const BY_ROWS = ["a row by the Data API", "the last of several starts in one transaction"];

const CASES = Object.keys(LIMITS).flatMap((limit) => Object.keys(WAYS).map((way) => [limit, way] as const));
test.each(CASES)("%s has no room for %s → refused with one event, and nothing is held for it", async (limit, way) => {
  const [set, code, event] = LIMITS[limit] ?? [];
  const [fitting, exceed] = WAYS[way] ?? [];
  const micros = Number(fitting) * FRAME;
  await set?.(micros);
  expect(await exceed?.()).toBe(code);
  const [row] = await db.sql`
    select coalesce(sum(held_micros + unknown_micros), 0)::int as micros from keyframe_private.costs where kind = 'owner_day'`;
  expect(row?.micros).toBeLessThanOrEqual(micros);
  const events = await columnOf(db.sql`select type from keyframe.webhook_events where type like '%.exhausted'`);
  expect(events).toEqual(event === null || BY_ROWS.includes(way) ? [] : [event]);
});

test.each(Object.keys(LIMITS))(
  "a model without a known price under %s → price_unknown; without a limit → it starts",
  async (limit) => {
    await seedPrediction(db.sql, world, { status: "succeeded" });
    const unpriced = { step: "video", model: "minimax/hailuo-2.3", input: { durationSeconds: 10 } };
    await start(unpriced);
    await LIMITS[limit]?.[0](100 * FRAME);
    expect(await codeOf(start(unpriced))).toBe("price_unknown");
  },
);
