import { MISCOUNTED_COSTS, RAISED } from "../costs.ts";
import type { Invariant } from "./ledger-tables.ts";

/** What the provider billed for a run, at the prices of its submit. The simulator bills at the first prices. */
const BILLED = `
  ceil(r.billed_micros * coalesce((
    select max(p.price_usd / f.price_usd) from keyframe_private.model_prices p
    join keyframe_private.model_prices f
      on f.model = p.model and f.metric = p.metric and f.applies_to = p.applies_to and f.source <> '${RAISED}'
    where p.id = any (s.price_ids)), 1))`;

export const costInvariants = {
  costs_are_what_was_billed: {
    sentence:
      "of each owner, deleted ones too: what was settled is what the provider billed; what was released it did not bill; what is unknown it billed at most",
    broken: `
      select format('submit %s of prediction %s of %s (%s, %s): %s %s of at most %s, and %s was billed', s.attempt, s.prediction_id, s.owner_id,
        s.model, s.outcome, s.cost_state, s.cost_micros, s.most_micros, ${BILLED}) as broken
      from keyframe_private.provider_submits s
      join chaos.runs r on r.id = s.provider_prediction_id
      where case s.cost_state when 'settled' then s.cost_micros = ${BILLED} when 'released' then r.billed_micros = 0
        when 'unknown' then ${BILLED} <= s.most_micros end is not true
      union all
      select format('submit %s of prediction %s is settled, and has no run', attempt, prediction_id) from keyframe_private.provider_submits
      where provider_prediction_id is null and cost_state = 'settled'`,
  },
  owners_pay_for_their_own: {
    sentence: "each submit belongs to the owner who started its prediction",
    broken: `
      select format('submit %s of prediction %s of %s is in a row of %s', s.attempt, s.prediction_id, t.owner_id, s.owner_id) as broken
      from keyframe_private.provider_submits s join chaos.starts t on t.prediction_id = s.prediction_id where t.owner_id <> s.owner_id`,
  },
  unproven_runs_are_counted: {
    sentence: "what was billed for runs that are in no row is counted at the most, as unknown, for their predictions",
    broken: `
      select format('prediction %s: %s was billed for runs in no row, and %s is unknown', r.made_for, r.billed, coalesce(s.most, 0)) as broken
      from (
        select r.made_for, sum(r.billed_micros) as billed from chaos.runs r
        where not exists (select from keyframe_private.provider_submits o where o.provider_prediction_id = r.id)
        group by 1
      ) r
      left join lateral (
        select sum(s.most_micros) as most from keyframe_private.provider_submits s
        where s.prediction_id = r.made_for and s.cost_state = 'unknown' and s.provider_prediction_id is null
      ) s on true
      where r.billed > coalesce(s.most, 0)`,
  },
  holds_have_a_living_submit: {
    sentence: "no hold is left, and each submit has ended",
    broken: `
      select format('submit %s of prediction %s (%s, added %s) is %s', attempt, prediction_id, outcome, created_at, cost_state) as broken
      from keyframe_private.provider_submits where cost_state = 'held' or ended_at is null`,
  },
  sums_are_the_ledgers: {
    sentence:
      "the sums of each owner and of everybody equal the ledger's, now, at each end of a month and before each jump of the clock",
    broken: `${MISCOUNTED_COSTS} union all select broken from chaos.miscounted where broken like 'owner %'`,
  },
  budgets_hold: {
    sentence: "no submit took its owner over the budget of the moment",
    broken: "select broken from chaos.over_budget",
  },
  stops_hold: {
    sentence:
      "while spending was stopped nothing started or got a slot, and while the service's budget was 0 nothing was submitted that costs more",
    broken: "select broken from chaos.started_while_stopped",
  },
  submits_have_their_prices: {
    sentence: "each submit has the prices that held when it was added",
    broken: "select broken from chaos.wrong_prices",
  },
} satisfies Record<string, Invariant>;
