import { beforeAll, beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { plansOf } from "../support/database/plans.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";

// A submit without an answer may have been accepted: when its prediction ends, the run it may have made is still searched for.
const db = useDatabase();
let world: World;
beforeAll(async () => {
  world = await addWorld(db);
});
beforeEach(
  () => db.sql`truncate keyframe.predictions, keyframe_private.prediction_images, keyframe_private.unanswered_submits`,
);

const RECENTLY = new Date(Date.now() - 60_000);

/** A prediction whose submit had no answer and is not tried again yet. */
async function seedUnanswered(columns: Record<string, Date | number | null> = {}) {
  return await seedPrediction(db.sql, world, { columns: { unanswered_since: RECENTLY, ...columns } });
}

const claimed = async (): Promise<{ task: string; id: string; search_since: string }[]> =>
  (await db.sql`select keyframe_worker.claim_predictions(10, 90) as task`).map(({ task }) => task);

const unansweredOf = async (id: string): Promise<Date | null> =>
  (await db.sql`select unanswered_since from keyframe.predictions where id = ${id}`)[0]?.unanswered_since;

test("cancelled with a submit unanswered → searched for once its lease has ended, until the search is recorded", async () => {
  const { id } = await seedUnanswered({ next_attempt_at: new Date(Date.now() + 60_000) });
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  expect(await claimed()).toEqual([]);
  await db.sql`update keyframe.predictions set next_attempt_at = now()`;
  const [task] = await claimed();
  expect(task).toMatchObject({
    task: "search",
    id,
    lease_token: null,
    model_settings: { controls: { prompt: { field: "prompt" } } },
  });
  expect(new Date(task?.search_since ?? "")).toEqual(RECENTLY);
  expect(await claimed()).toEqual([]);
  await db.sql`update keyframe.predictions set next_attempt_at = now()`;
  expect(await claimed()).toMatchObject([{ task: "search", id }]);
  expect(await db.sql`select keyframe_worker.record_search_ended(${id}) as done`).toEqual([{ done: true }]);
  await db.sql`update keyframe.predictions set next_attempt_at = now()`;
  expect(await claimed()).toEqual([]);
  expect(await db.sql`select keyframe_worker.record_search_ended(${id}) as done`).toEqual([{ done: false }]);
});

test("past its deadline with a submit unanswered → searched for", async () => {
  const { id } = await seedUnanswered({ deadline_at: new Date(0), lease_token: null });
  await db.sql`select keyframe_private.fail_overdue()`;
  expect(await claimed()).toMatchObject([{ task: "search", id }]);
});

test("its workers died too often over a submit → searched for", async () => {
  const { id } = await seedUnanswered({ failures: 7 });
  expect(await claimed()).toEqual([]);
  await db.sql`select keyframe_private.sweep()`;
  expect(await db.sql`select status, error_code from keyframe.predictions where id = ${id}`).toEqual([
    { status: "failed", error_code: "attempts_exhausted" },
  ]);
  await db.sql`update keyframe.predictions set next_attempt_at = now()`;
  expect(await claimed()).toMatchObject([{ task: "search", id }]);
});

test.for([
  [false, "searched for"],
  [true, "no search"],
] as const)("failures used up, the last submit answered: %s → %s", async ([answered]) => {
  const { id, lease } = await seedUnanswered({ failures: 7 });
  const [row] = await db.sql`
    select keyframe_worker.retry_prediction_later(${id}, ${lease}, 'provider_unavailable', 'Away.', null, ${answered}) as answer`;
  expect(row?.answer).toBe("failed");
  expect(await unansweredOf(id)).toEqual(answered ? null : RECENTLY);
});

test("refused by the provider, which is an answer → no search", async () => {
  const { id, lease } = await seedUnanswered();
  await db.sql`select keyframe_worker.fail_prediction(${id}, ${lease}, 'provider_rejected_input', 'No.', false)`;
  expect(await unansweredOf(id)).toBeNull();
});

test("unanswered for a day → given up, for no run goes on so long", async () => {
  const { id } = await seedUnanswered({ unanswered_since: new Date(Date.now() - 25 * 3_600_000) });
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  await db.sql`update keyframe.predictions set next_attempt_at = now()`;
  expect(await claimed()).toEqual([]);
});

const prune = () =>
  db.sql.begin(async (sql) => {
    await sql`set local lock_timeout = '1s'`; // what waits for anybody fails
    await sql`select keyframe_private.prune()`;
  });
/** As many predictions given up: unanswered for longer than a day when they ended. */
async function seedGivenUp(status: "failed" | "canceled", columns: Record<string, Date> = {}) {
  return await seedPrediction(db.sql, world, {
    status,
    columns: { unanswered_since: new Date(Date.now() - 25 * 3_600_000), ...columns },
  });
}

test.for(["failed", "canceled"] as const)(
  "given up, %s → the next pruning ends the search, and changes nothing else",
  async (status) => {
    const { id } = await seedGivenUp(status, { updated_at: new Date(0) });
    const rest = async () => {
      const [row] = await db.sql<{ row: object; events: number }[]>`
        select to_jsonb(p) - 'unanswered_since' as row, (select count(*)::int from keyframe.webhook_events) as events
        from keyframe.predictions p where id = ${id}`;
      return row;
    };
    const before = await rest();
    await prune();
    expect(await unansweredOf(id)).toBeNull();
    expect(await rest()).toEqual(before);
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    expect((await db.sql`select from keyframe_private.unanswered_submits`).count).toBe(0);
  },
);

test("not given up yet, being searched for, or still to be submitted → the pruning leaves it", async () => {
  const young = await seedGivenUp("failed", { unanswered_since: new Date(Date.now() - 23 * 3_600_000) });
  const sought = await seedGivenUp("canceled", { next_attempt_at: new Date(Date.now() + 60_000) });
  const queued = await seedUnanswered({ unanswered_since: new Date(Date.now() - 25 * 3_600_000) });
  await prune();
  for (const { id } of [young, sought, queued]) expect(await unansweredOf(id)).toBeInstanceOf(Date);
  await db.sql`update keyframe.predictions set next_attempt_at = now() where id = ${sought.id}`;
  await prune();
  expect(await unansweredOf(sought.id)).toBeNull();
});

test("given up, and its row is locked → the pruning passes it over and takes the others", async () => {
  const held = await seedGivenUp("failed");
  const free = await seedGivenUp("failed");
  await db.sql.begin(async (sql) => {
    await sql`select from keyframe.predictions where id = ${held.id} for update`;
    await prune();
  });
  expect(await unansweredOf(held.id)).toBeInstanceOf(Date);
  expect(await unansweredOf(free.id)).toBeNull();
});

test("3,000 given up among 5,000 that have ended → pruned through the index of unanswered submits; no claim steps over them any more", async () => {
  const [over, expired] = [await seedPrediction(db.sql, world, { status: "canceled" }), await seedGivenUp("canceled")];
  await db.sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      insert into keyframe.predictions (project_id, owner_id, step, input, model, status, completed_at, unanswered_since, next_attempt_at)
      select project_id, owner_id, step, input, model, status, completed_at, unanswered_since, next_attempt_at
      from keyframe.predictions, generate_series(1, 5000) i where id = ${over.id} or id = ${expired.id} and i < 3000`;
  });
  await db.sql`analyze keyframe.predictions`;
  const pruning = await plansOf(db.url, async (sql) => {
    for (let call = 0; call < 7; call++) await sql`select keyframe_private.prune(400)`;
    await sql`select keyframe_private.prune()`;
  });
  const clearing = pruning.filter((plan) => plan.includes("predictions p set unanswered_since"));
  expect(clearing.length).toBe(8);
  for (const plan of clearing) {
    expect(plan).toContain("predictions_unanswered_idx");
    expect(plan).not.toContain("Seq Scan on predictions");
  }

  const plans = await plansOf(db.url, (sql) => sql`select keyframe_worker.claim_predictions(10, 90)`);
  const searches = plans.filter((plan) => plan.includes("predictions_unanswered_idx") && plan.includes("LockRows"));
  expect(searches.length).toBe(1);
  for (const plan of searches) expect(plan).not.toContain("Rows Removed by Filter");
});
