import type postgres from "postgres";
import { retry, type User } from "./world.ts";

/** A budget for about nine frames. */
const BUDGET_MICROS = 600_000;
/** Every such user has a budget. */
const EVERY = 3;

/**
 * Records, when it is added, each submit that takes its owner over the budget or has other prices than those in force. A
 * submit in place of one that was released may cost as much as that one. A second run of a submit exists already, so it
 * is not checked.
 */
export async function checkAddedSubmits(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table chaos.over_budget (broken text);
    create table chaos.wrong_prices (broken text);
    create function chaos.check_submit() returns trigger language plpgsql security definer set search_path = '' as $$
    declare
      used bigint;
    begin
      select sum(c.held_micros + c.settled_micros + c.unknown_micros) into used from keyframe_private.costs c
      where c.owner_id = new.owner_id and c.day >= date_trunc('month', new.created_at at time zone 'UTC');
      insert into chaos.over_budget
      select format('submit %s of prediction %s took owner %s to %s of %s', new.attempt, new.prediction_id, new.owner_id, used, b.month_micros)
      from keyframe_private.owner_budgets b
      where b.owner_id = new.owner_id and used > b.month_micros and not exists (
        select from keyframe_private.provider_submits s
        where s.prediction_id = new.prediction_id and s.attempt = new.attempt - 1 and s.cost_state = 'released'
          and s.most_micros >= new.most_micros);
      insert into chaos.wrong_prices
      select format('submit %s of prediction %s, added %s: price %s, from %s', new.attempt, new.prediction_id, clock_timestamp(), p.id, p.valid_from)
      from keyframe_private.model_prices p
      where p.id = any (new.price_ids) and (p.valid_from > clock_timestamp() or exists (
        select from keyframe_private.model_prices n
        where n.model = p.model and n.metric = p.metric and n.applies_to = p.applies_to and n.valid_from > p.valid_from
          and n.valid_from <= clock_timestamp() - interval '1 second'));
      return null;
    end $$;
    create trigger _900_chaos after insert on keyframe_private.provider_submits
      for each row when (new.provider_prediction_id is null) execute function chaos.check_submit();`);
}

/** Gives every third user a budget. The service's is never used up. */
export async function setBudgets(sql: postgres.Sql, users: readonly User[]): Promise<void> {
  await sql`update keyframe_private.settings set service_day_micros = 1e12, service_month_micros = 1e12`;
  for (const { userId } of users.filter((_, number) => number % EVERY === 0)) {
    await sql`
      insert into keyframe_private.owner_budgets (owner_id, day_micros, month_micros)
      values (${userId}, ${BUDGET_MICROS}, ${BUDGET_MICROS})`;
  }
}

/** Takes a quarter off each budget. A start holds the same lock, so each start sees one budget. */
export async function lowerBudgets(sql: postgres.Sql): Promise<void> {
  const budgets = await sql<{ owner_id: string }[]>`select owner_id from keyframe_private.owner_budgets`;
  for (const { owner_id } of budgets) {
    await retry(() =>
      sql.begin(async (transaction) => {
        await transaction`select keyframe_private.lock_slots(${owner_id})`;
        await transaction`
          update keyframe_private.owner_budgets set day_micros = day_micros * 3 / 4, month_micros = month_micros * 3 / 4
          where owner_id = ${owner_id}`;
      }),
    );
  }
}

/** The source of the prices that a run inserts. */
export const RAISED = "https://chaos.test/";
/** The insert must be committed before its prices hold. */
const AHEAD_S = 5;

/** From in a moment on, the default models cost so many times as much as first. */
export async function raisePrices(sql: postgres.Sql, times: number): Promise<void> {
  await retry(
    () => sql`
      insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, valid_from, source)
      select p.model, p.applies_to, p.metric, p.price_usd * ${times}::int, now() + make_interval(secs => ${AHEAD_S}), ${RAISED}
      from keyframe_private.model_prices p
      where p.source <> ${RAISED} and p.model in (select d.model from keyframe.step_defaults d)`,
  );
}

/** The right sums: for each owner, and for everybody, by the day on which a submit was added. */
const ACTUAL_COSTS = `
  select o.owner_id, (s.created_at at time zone 'UTC')::date as day, s.step, s.model,
    -- A second run of a submit has the same attempt.
    count(distinct s.prediction_id) filter (where s.attempt = 1) as predictions,
    coalesce(sum(s.most_micros) filter (where s.cost_state = 'held'), 0) as held_micros, coalesce(sum(s.cost_micros), 0) as settled_micros,
    coalesce(sum(s.most_micros) filter (where s.cost_state = 'unknown'), 0) as unknown_micros,
    count(*) filter (where s.cost_state = 'unknown') as unknown_submits
  from keyframe_private.provider_submits s
  cross join lateral (values (s.owner_id), (keyframe_private.everybody())) o (owner_id)
  group by 1, 2, 3, 4`;

/** A row for each sum in keyframe_private.costs that differs from the ledger. */
export const MISCOUNTED_COSTS = `
  select format('owner %s, %s, %s by %s: counted %s, held %s, settled %s, unknown %s of %s; the ledger has %s, %s, %s, %s of %s', owner_id, day, step, model,
    c.predictions, c.held_micros, c.settled_micros, c.unknown_micros, c.unknown_submits,
    t.predictions, t.held_micros, t.settled_micros, t.unknown_micros, t.unknown_submits) as broken
  from (
    select owner_id, day, step, model, sum(predictions) as predictions, sum(held_micros) as held_micros, sum(settled_micros) as settled_micros,
      sum(unknown_micros) as unknown_micros, sum(unknown_submits) as unknown_submits
    from keyframe_private.costs group by 1, 2, 3, 4
  ) c
  full join (${ACTUAL_COSTS}) t using (owner_id, day, step, model)
  where (coalesce(c.predictions, 0), coalesce(c.held_micros, 0), coalesce(c.settled_micros, 0), coalesce(c.unknown_micros, 0), coalesce(c.unknown_submits, 0))
    <> (coalesce(t.predictions, 0), coalesce(t.held_micros, 0), coalesce(t.settled_micros, 0), coalesce(t.unknown_micros, 0), coalesce(t.unknown_submits, 0))`;

/** Counts again, once times have been moved: some are in another day. */
export const RECOUNT_COSTS = `
  delete from keyframe_private.daily_costs;
  select keyframe_private.add_cost(s, 1) from keyframe_private.provider_submits s`;
