import { costInvariants } from "../../../lab/chaos/invariants/costs.ts";
import { shiftTime } from "../../../lab/chaos/database-faults.ts";
import { deliveryInvariants } from "../../../lab/chaos/invariants/deliveries.ts";
import { type Invariant, writeTables } from "../../../lab/chaos/invariants/ledger-tables.ts";
import { storageInvariants, workInvariants } from "../../../lab/chaos/invariants/leftovers.ts";
import { predictionInvariants } from "../../../lab/chaos/invariants/predictions.ts";
import { isOver, stateOf } from "./provider.ts";
import { BUDGET, SLOTS, type Walk } from "./walk.ts";
import { callBack, claimInto, deliver, proceed, recordDeliveries } from "./workers.ts";

const { no_kick_is_left: _, ...work } = workInvariants; // nothing is kicked here
/** The images are not files here: those of ends alone are there, and their addresses are random. */
const { images_are_there: __, ...storage } = storageInvariants;
const AT_THE_END = { ...work, ...predictionInvariants, ...costInvariants, ...deliveryInvariants, ...storage };

/** What a budget or a balance must bear. A second run of one submit was never asked for: it counts when it is known. */
const CHARGED = `
  select s.owner_id, sum(case s.cost_state when 'settled' then s.charge_micros when 'released' then 0 else s.most_charge_micros end) as micros
  from keyframe_private.provider_submits s
  where not exists (select from keyframe_private.provider_submits o
    where o.prediction_id = s.prediction_id and o.attempt = s.attempt and o.id < s.id)
  group by 1`;

/** These hold in every moment. */
const ALWAYS: Record<string, Invariant> = {
  slots_are_enough: {
    sentence: "no owner has more predictions with a slot than there are slots",
    broken: `
      select format('owner %s has %s', owner_id, count(*)) as broken from keyframe.predictions
      where admitted_at is not null and completed_at is null group by owner_id having count(*) > ${SLOTS}`,
  },
  budgets_are_kept: {
    sentence: "no owner has been charged, or can be, more than the budget",
    broken: `
      select format('owner %s: %s of %s', c.owner_id, c.micros, b.month_micros) as broken from (${CHARGED}) c
      join keyframe_private.owner_budgets b using (owner_id) where c.micros > ${BUDGET}`,
  },
  balances_are_kept: {
    sentence: "no prepaid owner has been charged, or can be, more than was paid",
    broken: `
      select format('owner %s: %s of %s', owner_id, c.micros, p.micros) as broken from (${CHARGED}) c
      join (select owner_id, sum(micros) as micros from keyframe_private.credits where micros > 0 group by 1) p using (owner_id)
      where c.micros > p.micros`,
  },
  active_predictions_have_work: {
    sentence: "each prediction with a slot has work, so it goes on without a sweep",
    broken: `
      select format('prediction %s is %s', p.id, p.status) as broken from keyframe.predictions p
      where p.admitted_at is not null and p.completed_at is null and not exists (
        select from keyframe_private.work w where w.subject = p.id and w.kind in ('submit', 'poll', 'store', 'expire'))`,
  },
  sums_are_the_ledgers: costInvariants.sums_are_the_ledgers,
  owner_sums_are_the_ledgers: costInvariants.owner_sums_are_the_ledgers,
  project_sums_are_the_ledgers: costInvariants.project_sums_are_the_ledgers,
  balances_are_the_ledgers: costInvariants.balances_are_the_ledgers,
};

/** Asks all in one query: a walk has hundreds of turns. */
async function require({ db }: Walk, invariants: Record<string, Invariant>): Promise<void> {
  const queries = Object.entries(invariants).map(
    ([name, { broken }]) => `select '${name}' as name, q.broken from (${broken}) q`,
  );
  const rows = await db.sql.unsafe<{ name: string; broken: string }[]>(queries.join(" union all "));
  if (rows.length === 0) return;
  throw new Error(rows.map(({ name, broken }) => `${name} (${invariants[name]?.sentence}): ${broken}`).join("\n"));
}

/** What must hold after each turn. */
export const checkMoment = (walk: Walk): Promise<void> => require(walk, ALWAYS);

const DAY_S = 90_000;

/** All that is left is done: workers and receivers work well, and time passes, until nothing is left. */
export async function settle(walk: Walk): Promise<void> {
  const { db, provider, workers } = walk;
  await db.sql`update keyframe_private.settings set spending_stopped = false`;
  for (const worker of workers) Object.assign(worker, { tasks: [], deliveries: [] });
  const [worker] = workers;
  if (!worker) return;
  for (let round = 0; round < 60; round++) {
    await db.sql`select keyframe_private.sweep()`;
    await claimInto(walk, worker, 100);
    while (worker.tasks[0]) await proceed(walk, worker, worker.tasks[0], 0);
    const followed = await db.sql<{ id: string }[]>`
      select provider_prediction_id as id from keyframe.predictions where completed_at is null and provider_prediction_id is not null`;
    for (const run of provider.runs.filter(({ id }) => followed.some((one) => one.id === id))) {
      provider.succeed(run);
      if (round % 2 === 0) await callBack(walk, run, run.states.length - 1);
    }
    await deliver(walk, worker, 100, 0);
    await recordDeliveries(walk, worker, false);
    const left = await Promise.all(Object.values(work).map(({ broken }) => db.sql.unsafe(broken)));
    if (left.every(({ length }) => length === 0)) return;
    // What waits for the shot before waits for a day, and so do files that somebody held.
    await shiftTime(db.sql, round < 15 || round % 5 > 0 ? 120 : DAY_S);
  }
}

/** What must hold when nothing is left to do. */
export async function checkEnd(walk: Walk): Promise<void> {
  await walk.db.sql`select keyframe_private.merge_costs()`;
  await walk.db.sql`create schema chaos`;
  await writeTables(walk.db.sql, {
    starts: walk.starts,
    answers: walk.answers,
    deletions: walk.deletions,
    statuses: walk.statuses,
    credits: walk.credits,
    arrivals: [...walk.arrivals.values()],
    files: [...walk.files.values()],
    runs: walk.provider.runs.map((run) => ({
      ...{ id: run.id, status: stateOf(run).status, prompt: run.prompt, made_for: run.prediction, has_file: false },
      cancel_requested: run.cancelRequested,
      ...{ callback_accepted: true, billed_micros: run.billed, is_over: isOver(run) },
    })),
  });
  await require(walk, AT_THE_END);
}
