import type postgres from "postgres";
import { beforeEach, expect, test } from "vitest";
import { createDatabase } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import type { PredictionTask } from "../../../supabase/functions/keyframe-generate/tasks/task.ts";
import { createDirectDatabase } from "../../../worker/direct-database.ts";
import {
  claim,
  endSearch,
  fail,
  makeDue,
  makeSearchesDue,
  providerSays,
  readRow,
  retryLater,
  runsToCancel,
  submitsOf,
  sweepAndClaim,
} from "../../support/database/calls.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { clearPredictions } from "../../support/database/empty-tables.ts";
import { columnOf, useWorld, type Row, seedPrediction } from "../../support/database/predictions.ts";
import { letWait, whileOpen } from "../../support/database/waiting.ts";

// A submit without an answer may have been accepted: when its prediction ends, the run it may have made is still searched for.
const db = useDatabase();
const world = useWorld(db);
beforeEach(() => clearPredictions(db.sql));

const RECENTLY = new Date(Date.now() - 60_000);

/** A prediction whose submit had no answer and is not tried again yet. */
const seedUnanswered = (columns: Row = {}, unanswered = RECENTLY) =>
  seedPrediction(db.sql, world, { columns, unanswered });

const sweep = () => sweepAndClaim(db.sql);
const isUnanswered = async (id: string) => (await submitsOf(db.sql, id)).some((submit) => submit.is_unanswered);

const costsOf = async (id: string) =>
  (await submitsOf(db.sql, id)).map((one) => `${one.provider_prediction_id} ${one.cost_state}`).sort();

const LOST_LEASE = crypto.randomUUID();
const claimSearches = async () => {
  await makeSearchesDue(db.sql);
  return (await claim(db.sql)).filter(({ task }) => task === "search");
};
/** generate reports it as it does when its lease is lost. */
async function reportNoAnswer(id: string, attempt: number) {
  const { call, end } = createDirectDatabase({ url: new URL(db.url), connections: 1, statementMs: 1_000, timeoutMs: 10_000 }); // biome-ignore format: one line
  const task = { task: "submit", id, attempt, work_id: 0, lease_token: LOST_LEASE } as unknown as PredictionTask;
  const reason = { code: "provider_unreachable", message: "It is away." } as const;
  await createDatabase(call, call, null).retryPrediction(task, reason, { run: "possible" });
  await end();
}
/** Its submit of `attempt` is searched for, too, and has no run. */
async function cancelAndSearch(id: string, attempt: number) {
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  const [search] = await claimSearches();
  await endSearch(db.sql, id, { attempt, isUnproven: false, lease: search?.lease_token ?? null });
}

type AnySql = postgres.Sql | postgres.TransactionSql;
type End = (id: string, lease: string | null) => Promise<unknown>;
const answerLost: End = (id, lease) => retryLater(db.sql, id, lease, { answered: false });
const answered: End = (id, lease) => retryLater(db.sql, id, lease);
test.each<[how: string, isSearched: boolean, columns: Row, end: End]>([
  ["past its deadline", true, { deadline_at: new Date(0), lease_token: null }, sweep],
  ["its workers died too often", true, { failures: 7 }, sweep],
  ["its failures are used up", true, { failures: 7 }, answerLost],
  ["its failures are used up, and the last was an answer", false, { failures: 7 }, answered],
])(
  "%s → the prediction failed, and a submit without an answer is searched for: %s",
  async (_how, isSearched, columns, end) => {
    const { id, lease } = await seedUnanswered(columns);
    await end(id, lease);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "failed" });
    expect(await isUnanswered(id)).toBe(isSearched);
    await makeSearchesDue(db.sql);
    expect(await claim(db.sql)).toMatchObject(isSearched ? [{ task: "search", id }] : []);
  },
);

test("a search ends without a run while its submit's answer is being recorded → the submit keeps its run", async () => {
  await letWait(db.sql, "record_search_ended");
  const { id } = await seedUnanswered();
  await whileOpen(
    db.sql,
    (open) => providerSays(open, { id, run: "run-1", status: "starting" }),
    () => endSearch(db.sql, id, { isUnproven: false }),
  );
  expect(await submitsOf(db.sql, id)).toMatchObject([
    { provider_prediction_id: "run-1", ended_at: null, outcome: null, cost_state: "held" },
  ]);
});

test.each([
  [49, "no_run"],
  [51, "lost"],
])(
  "no run is found %i minutes after the submit → %s: the provider deletes the inputs of runs",
  async (minutes, outcome) => {
    const { id } = await seedUnanswered({}, new Date(Date.now() - minutes * 60_000));
    await endSearch(db.sql, id, { isUnproven: false });
    expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome }]);
  },
);

test("the provider refuses a submit, which is an answer → no search, also when the prediction was canceled meanwhile", async () => {
  for (const isCanceled of [false, true]) {
    const { id, lease } = await seedUnanswered();
    if (isCanceled) await db.sql`select keyframe_private.mark_canceled(${id})`;
    expect(await fail(db.sql, id, lease, { code: "provider_rejected_input", withoutRun: 1 })).toBe(true);
    expect(await readRow(db.sql, id)).toMatchObject({ status: isCanceled ? "canceled" : "failed" });
    expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome: "no_run" }]);
    await makeSearchesDue(db.sql);
    expect(await claim(db.sql)).toEqual([]);
  }
});

test("the second submit is refused for good, and the first had no answer → the first is searched for", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  const [task] = await claim(db.sql);
  expect(task).toMatchObject({ task: "submit", attempt: 2, search_attempt: 1 });
  await fail(db.sql, id, task?.lease_token ?? null, { code: "provider_rejected_input", withoutRun: 2 });
  await makeSearchesDue(db.sql);
  expect(await claim(db.sql)).toMatchObject([{ task: "search", id, attempt: 1 }]);
});

test("the first submit's run calls back during the second → followed; the second's possible run is searched for", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  expect(await providerSays(db.sql, { id, run: "run-1", attempt: 1 })).toBe("recorded");
  await makeSearchesDue(db.sql);
  const [search] = (await claim(db.sql)).filter(({ task }) => task === "search");
  expect(search).toMatchObject({ id, attempt: 2 });
  expect(await providerSays(db.sql, { id, run: "run-2", attempt: 2, foundBy: "name" })).toBe("stale");
  expect(await submitsOf(db.sql, id)).toMatchObject([
    { attempt: 1, provider_prediction_id: "run-1" },
    { attempt: 2, provider_prediction_id: "run-2" },
  ]);
  expect(await runsToCancel(db.sql)).toEqual(["run-2"]);
});

test("two runs are found for two submits without an answer → each submit has one, and no third is counted", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  for (const run of ["run-a", "run-b"]) // the provider's list names no attempt
    expect(await providerSays(db.sql, { id, run, attempt: 1, foundBy: "name" })).toBe("ended");
  expect(await submitsOf(db.sql, id)).toMatchObject([
    { attempt: 1, provider_prediction_id: "run-a" },
    { attempt: 2, provider_prediction_id: "run-b" },
  ]);
});

test("a refusal of a submit whose run has called back → the submit keeps its run, and its possible cost stays held", async () => {
  const { id, run, lease } = await seedPrediction(db.sql, world, { status: "processing" });
  await fail(db.sql, id, lease, { code: "provider_rejected_input", withoutRun: 1 });
  const held = { provider_prediction_id: run, outcome: null, cost_state: "held" };
  expect(await submitsOf(db.sql, id)).toMatchObject([held]);
});

test("a submit's run is found before the next submit → that is not sent, even if this answer is lost; none found → it is sent", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2, search_attempt: 1 }]);
  const found = { id, run: "run-found", attempt: 1, foundBy: "name", attemptWithoutRun: 2 } as const;
  const failed = { ...found, status: "failed", failure: "interrupted" } as const;
  expect([await providerSays(db.sql, failed), await providerSays(db.sql, failed)]).toEqual(["recorded", "replaced"]);
  expect(await submitsOf(db.sql, id)).toMatchObject([
    { attempt: 1, provider_prediction_id: "run-found" },
    { attempt: 2, provider_prediction_id: null, outcome: "no_run" },
    { attempt: 3, outcome: null },
  ]);
  expect(await endSearch(db.sql, id, { isUnproven: false })).toBe(false);
  const other = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ id: other.id, attempt: 2, search_attempt: 1 }]);
  expect(await endSearch(db.sql, other.id, { isUnproven: false })).toBe(true);
});

// Chaos finds this where a worker dies while its submit waits at a provider that hangs, and the clock ends its lease at once.
test("the provider makes a submit's run after the search for it → counted from its first callback on, and canceled", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2, search_attempt: 1 }]);
  expect(await endSearch(db.sql, id, { isUnproven: false })).toBe(true);
  expect(await providerSays(db.sql, { id, run: "run-2", attempt: 2 })).toBe("recorded");
  expect(await costsOf(id)).toEqual(["null released", "run-2 held"]);
  expect(await providerSays(db.sql, { id, run: "run-late", attempt: 1 })).toBe("stale");
  expect(await costsOf(id)).toEqual(["null released", "run-2 held", "run-late held"]);
  expect(await runsToCancel(db.sql)).toEqual(["run-late"]);
});

// A worker reports that no answer came only after the lease of its submit has expired, because it was frozen or the clock has jumped. Its
// request may have waited at the provider all that time, so that a search could not find its run.
type Meanwhile = (id: string) => Promise<unknown>;
test.each<[what: string, costs: string[], meanwhile: Meanwhile]>([
  ["the next submit is being sent", ["late held", "null held"], async () => undefined],
  [
    "the next submit has a run",
    ["late held", "run-2 held"],
    (id) => providerSays(db.sql, { id, run: "run-2", attempt: 2 }),
  ],
  ["the prediction was canceled", ["late held", "null released"], (id) => cancelAndSearch(id, 2)],
])(
  "a worker reports no answer after the search for its run, meanwhile %s → searched again, and the run is counted",
  async (_what, costs, meanwhile) => {
    const { id } = await seedUnanswered({ lease_token: null });
    expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2, search_attempt: 1 }]);
    expect(await endSearch(db.sql, id, { isUnproven: false })).toBe(true);
    await meanwhile(id);
    await reportNoAnswer(id, 1);
    await reportNoAnswer(id, 1); // said twice
    const [search, ...others] = await claimSearches();
    expect([search, others]).toMatchObject([{ task: "search", id, attempt: 1, search_attempt: 1 }, []]);
    await providerSays(db.sql, { id, run: "late", attempt: 1, foundBy: "name" });
    await endSearch(db.sql, id, { isUnproven: false, lease: search?.lease_token ?? null });
    expect(await costsOf(id)).toEqual(costs);
  },
);

test("a submit's worker reports no answer while its run is searched for → that search does not end it, the next one does", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2, search_attempt: 1 }]); // and searches
  await retryLater(db.sql, id, LOST_LEASE, { answered: false, attempt: 1 });
  expect(await endSearch(db.sql, id, { isUnproven: false })).toBe(true);
  expect(await isUnanswered(id)).toBe(true);
  const [first] = await claimSearches();
  await retryLater(db.sql, id, LOST_LEASE, { answered: false, attempt: 1 }); // while the second search is under way
  await endSearch(db.sql, id, { isUnproven: false, lease: first?.lease_token ?? null });
  expect(await submitsOf(db.sql, id)).toMatchObject([{ attempt: 1, is_unanswered: true }, { attempt: 2 }]);
  const [second] = await claimSearches();
  await endSearch(db.sql, id, { isUnproven: false, lease: second?.lease_token ?? null });
  expect(await submitsOf(db.sql, id)).toMatchObject([{ attempt: 1, outcome: "no_run" }, { attempt: 2 }]);
  expect(await claimSearches()).toEqual([]);
});

test("a submit's worker reports no answer after its run has called back, or before the next submit → nothing more is searched", async () => {
  const called = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  await endSearch(db.sql, called.id, { isUnproven: false });
  await providerSays(db.sql, { id: called.id, run: "run-1", attempt: 1 });
  await retryLater(db.sql, called.id, LOST_LEASE, { answered: false, attempt: 1 });
  const waiting = await seedUnanswered();
  await retryLater(db.sql, waiting.id, waiting.lease, { answered: false, attempt: 1 });
  expect((await claimSearches()).map(({ attempt }) => attempt)).toEqual([2]); // the second submit of the first
  expect(await costsOf(called.id)).toEqual(["null held", "null released", "run-1 held"]);
});

test("a submit is found to have no run, its prediction is deleted, and its worker reports no answer → its cost is unknown", async () => {
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  await endSearch(db.sql, id, { isUnproven: false });
  await db.sql`delete from keyframe.predictions where id = ${id}`;
  await retryLater(db.sql, id, LOST_LEASE, { answered: false, attempt: 1 });
  expect(await submitsOf(db.sql, id)).toMatchObject([{ outcome: "lost", cost_state: "unknown" }, { attempt: 2 }]);
});

test("a submit's worker reports no answer while the end of the search for its run is being recorded → searched again", async () => {
  await letWait(db.sql, "retry_prediction_later");
  const { id } = await seedUnanswered({ lease_token: null });
  expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
  await whileOpen(
    db.sql,
    (open) => endSearch(open, id, { isUnproven: false }),
    () => retryLater(db.sql, id, LOST_LEASE, { answered: false, attempt: 1 }),
  );
  expect(await submitsOf(db.sql, id)).toMatchObject([{ attempt: 1, is_unanswered: true }, { attempt: 2 }]);
  expect(await claimSearches()).toMatchObject([{ id, attempt: 1 }]);
});

/** The first submit's run has called back and is interrupted: its prediction, of `attempt`, is queued again. */
async function interruptFirstRun(id: string, attempt: number) {
  const run = { id, run: `run-${id}`, attempt: 1 };
  expect(await providerSays(db.sql, run)).toBe("recorded");
  const searches = await claimSearches();
  expect(await providerSays(db.sql, { ...run, status: "failed", failure: "interrupted" })).toBe("recorded");
  expect(await readRow(db.sql, id)).toMatchObject({ status: "queued", attempt });
  return searches[0]?.lease_token ?? null;
}

test.each(["during", "after"])(
  "a worker reports no answer %s the search for its run, its prediction was queued again → the next submit searches too",
  async (when) => {
    const { id } = await seedUnanswered({ lease_token: null });
    expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
    await endSearch(db.sql, id, { isUnproven: false });
    const search = await interruptFirstRun(id, 2);
    if (when === "after") await endSearch(db.sql, id, { attempt: 2, isUnproven: false, lease: search });
    await retryLater(db.sql, id, LOST_LEASE, { answered: false, attempt: 2 });
    if (when === "during") await endSearch(db.sql, id, { attempt: 2, isUnproven: false, lease: search });
    await makeDue(db.sql, id);
    const [submit] = (await claim(db.sql)).filter(({ task }) => task === "submit");
    expect(submit).toMatchObject({ attempt: 3, search_attempt: 2 });
  },
);

test("a worker reports no answer, and a submit of the same number was never sent → nothing more is held for that one", async () => {
  const { id, lease } = await seedUnanswered();
  await retryLater(db.sql, id, lease, { answered: false });
  await interruptFirstRun(id, 1); // before the second submit was sent
  await makeDue(db.sql, id);
  const [submit] = (await claim(db.sql)).filter(({ task }) => task === "submit");
  expect(submit).toMatchObject({ attempt: 2 });
  await db.sql`select keyframe_private.mark_canceled(${id})`;
  await retryLater(db.sql, id, submit?.lease_token ?? null, { answered: false, attempt: 2 });
  const [search] = await claimSearches();
  await endSearch(db.sql, id, { attempt: 2, isUnproven: false, lease: search?.lease_token ?? null });
  expect(await costsOf(id)).toEqual(["null released", "null released", expect.stringContaining("unknown")]);
});

test.each(["report", "callback"])(
  "a late report and the run's callback, %s first, of a deleted prediction at once → the run is counted once",
  async (first) => {
    await letWait(db.sql, "retry_prediction_later", "report_run");
    const { id } = await seedUnanswered({ lease_token: null });
    expect(await claim(db.sql)).toMatchObject([{ task: "submit", attempt: 2 }]);
    await endSearch(db.sql, id, { isUnproven: false });
    await db.sql`delete from keyframe.predictions where id = ${id}`;
    const report = (sql: AnySql) => retryLater(sql, id, LOST_LEASE, { answered: false, attempt: 1 });
    const callBack = (sql: AnySql) => providerSays(sql, { id, run: "run-late", attempt: 1 });
    const [one, other] = first === "report" ? [report, callBack] : [callBack, report];
    await whileOpen(db.sql, one, () => other(db.sql));
    const counted = (await submitsOf(db.sql, id)).filter(
      (submit) => submit.attempt === 1 && submit.outcome !== "no_run",
    );
    expect(counted).toMatchObject([{ provider_prediction_id: "run-late", cost_state: "held" }]);
  },
);

const prune = () => db.sql`select keyframe_private.prune()`;
const LONG_AGO = new Date(Date.now() - 25 * 3_600_000);
/** A prediction that ended with a submit that is unanswered for longer than a day. */
const seedGivenUp = (status: "failed" | "canceled", columns: Row = {}, unanswered = LONG_AGO) =>
  seedPrediction(db.sql, world, { status, columns: { provider_prediction_id: null, ...columns }, unanswered });

test("a submit unanswered for a day → lost, and its prompt is deleted; a run that calls back later is canceled", async () => {
  const [failed, { id }] = [await seedGivenUp("failed"), await seedGivenUp("canceled")];
  await prune();
  for (const one of [failed.id, id])
    expect(await submitsOf(db.sql, one)).toMatchObject([{ outcome: "lost", search_task: null }]);
  expect(await claim(db.sql)).toEqual([]);
  expect(await providerSays(db.sql, { id, run: "run-late" })).toBe("ended");
  const late = { provider_prediction_id: "run-late", outcome: null, ended_at: null, cost_state: "held" };
  expect(await submitsOf(db.sql, id)).toMatchObject([late]);
  expect(await runsToCancel(db.sql)).toEqual(["run-late"]);
});

test("a submit unanswered for less than a day, or to be submitted again → pruning leaves it", async () => {
  const young = await seedGivenUp("failed", {}, new Date(Date.now() - 23 * 3_600_000));
  const queued = await seedUnanswered({}, LONG_AGO);
  await prune();
  for (const { id } of [young, queued]) expect(await isUnanswered(id)).toBe(true);
});

test("submits older than 13 months → pruned, unless they have not ended", async () => {
  const { id } = await seedPrediction(db.sql, world, { status: "succeeded" });
  const open = await seedPrediction(db.sql, world, { status: "processing" });
  const age = (interval: string) =>
    db.sql`update keyframe_private.provider_submits set created_at = now() - ${interval}::interval`;
  await age("394 days");
  await prune();
  expect(await submitsOf(db.sql, id)).toHaveLength(1);
  await age("398 days");
  await prune();
  expect([await submitsOf(db.sql, id), await submitsOf(db.sql, open.id)]).toMatchObject([[], [{ outcome: null }]]);
});

test("sums of costs older than 13 months → pruned, younger ones never", async () => {
  await db.sql`
    insert into keyframe_private.cost_sums (kind, owner_id, day, step, model)
    select 'owner_day', ${world.owner}, (now() at time zone 'UTC')::date - age, 'video', 'm' from unnest(array[394, 398]) age`;
  await prune();
  const left = db.sql`
    select (now() at time zone 'UTC')::date - day from keyframe_private.cost_sums where model = 'm'`;
  expect(await columnOf(left)).toEqual([394]);
});
