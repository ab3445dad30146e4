import type { Invariant } from "./ledger-tables.ts";

const SUMS = `
  row(sum(predictions), sum(held_micros), sum(settled_micros), sum(unknown_micros), sum(unknown_submits),
    sum(held_charge_micros), sum(settled_charge_micros), sum(unknown_charge_micros))::text`;
/** The same of rows `s` of the ledger. A second run of a submit has the same attempt. */
const LEDGER_SUMS = `
  row(count(distinct s.prediction_id) filter (where s.attempt = 1),
    coalesce(sum(s.most_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(s.cost_micros), 0),
    coalesce(sum(s.most_micros) filter (where s.cost_state = 'unknown'), 0),
    count(*) filter (where s.cost_state = 'unknown'),
    coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'held'), 0),
    coalesce(sum(s.charge_micros), 0),
    coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0))::text`;
const NOTHING = "'(0,0,0,0,0,0,0,0)'";

export const costInvariants = {
  costs_are_what_was_billed: {
    sentence:
      "of each owner, deleted ones too: what was settled is what the provider billed, by the prices of its start; what was released it did not bill; what is unknown it billed at most",
    broken: `
      select format('submit %s of prediction %s of %s (%s, %s): %s %s of at most %s, and %s was billed', s.attempt, s.prediction_id, s.owner_id,
        s.model, s.outcome, s.cost_state, s.cost_micros, s.most_micros, r.billed_micros) as broken
      from keyframe_private.provider_submits s
      join chaos.runs r on r.id = s.provider_prediction_id
      cross join lateral (
        select coalesce((
          select substring(p.source from 'chaos (.)')::int from keyframe_private.model_prices p
          where p.id = any (s.price_ids) and p.source like 'chaos %'), 1) as factor) f
      where case s.cost_state when 'settled' then s.cost_micros = r.billed_micros * f.factor when 'released' then r.billed_micros = 0
        when 'unknown' then r.billed_micros <= s.most_micros end is not true
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
  balances_are_the_ledgers: {
    sentence:
      "of each owner with credits: credits - balance = what the owner pays, by the markup of each start, or can have to pay",
    broken: `
      select format('owner %s: %s of credits, %s are left, and the ledger has %s', c.owner_id, c.credits, b.available_micros, s.charges) as broken
      from (select o.owner_id, sum(o.micros) as credits from keyframe_private.credits o group by 1) c
      cross join lateral keyframe_private.balance_of(c.owner_id) b
      cross join lateral (
        select coalesce(sum(ceil(o.markup * case o.cost_state when 'settled' then o.cost_micros when 'released' then 0 else o.most_micros end)), 0)
          as charges
        from keyframe_private.provider_submits o where o.owner_id = c.owner_id) s
      where c.credits - b.available_micros <> s.charges`,
  },
  credits_are_what_servers_added: {
    sentence: "each credit that a server added is there once, also for a deleted user, and no other",
    broken: `
      select format('owner %s, %s: the server added %s, the row has %s', owner_id, key, c.micros, t.micros) as broken
      from chaos.credits c full join keyframe_private.credits t using (owner_id, key)
      where c.micros is distinct from t.micros`,
  },
  sums_are_the_ledgers: {
    sentence: "the sums of each owner and of everybody, by the day on which a submit was added, equal the ledger's",
    broken: `
      select format('owner %s, %s, %s by %s: counted %s, the ledger has %s', owner, day, step, model, c.sums, t.sums) as broken
      from (
        select case kind when 'service_day' then 'everybody' else owner_id::text end as owner, day, step, model, ${SUMS} as sums
        from keyframe_private.costs where kind in ('owner_day', 'service_day') group by 1, 2, 3, 4
      ) c
      full join (
        select o.owner, (s.created_at at time zone 'UTC')::date as day, s.step, s.model, ${LEDGER_SUMS} as sums
        from keyframe_private.provider_submits s
        cross join lateral (values (s.owner_id::text), ('everybody')) o (owner)
        group by 1, 2, 3, 4
      ) t using (owner, day, step, model)
      where coalesce(c.sums, ${NOTHING}) <> coalesce(t.sums, ${NOTHING})`,
  },
  owner_sums_are_the_ledgers: {
    sentence: "the sum of each owner over all days, merged or not, equals the ledger's",
    broken: `
      select format('owner %s: counted %s, the ledger has %s', owner_id, c.sums, t.sums) as broken
      from (
        select owner_id, ${SUMS} as sums from keyframe_private.costs where kind = 'owner_total' and owner_id is not null group by 1
      ) c
      full join (select s.owner_id, ${LEDGER_SUMS} as sums from keyframe_private.provider_submits s group by 1) t using (owner_id)
      where coalesce(c.sums, ${NOTHING}) <> coalesce(t.sums, ${NOTHING})`,
  },
  project_sums_are_the_ledgers: {
    sentence: "the sums of each project, merged or not, equal the ledger's",
    broken: `
      select format('project %s, %s: counted %s, the ledger has %s', project_id, day, c.sums, t.sums) as broken
      from (
        select project_id, day, row(sum(held_charge_micros), sum(settled_charge_micros), sum(unknown_charge_micros))::text as sums
        from keyframe_private.costs where kind = 'project_day' group by 1, 2
      ) c
      full join (
        select s.project_id, (s.created_at at time zone 'UTC')::date as day, row(
          coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'held'), 0),
          coalesce(sum(s.charge_micros), 0),
          coalesce(sum(s.most_charge_micros) filter (where s.cost_state = 'unknown'), 0))::text as sums
        from keyframe_private.provider_submits s
        group by 1, 2
      ) t using (project_id, day)
      where coalesce(c.sums, '(0,0,0)') <> coalesce(t.sums, '(0,0,0)')`,
  },
} satisfies Record<string, Invariant>;
