import type postgres from "postgres";
import { pause } from "../../shared/platform/pause.ts";
import { retry, type User } from "./world.ts";

/** A budget for about nine frames. */
const BUDGET_MICROS = 600_000;
/** Every such user has a budget. */
const EVERY = 3;

/** How an administrator lets nothing start, and what ends that. No sum has a part in it, so every start can be checked. */
const STOPS = {
  spending: { on: "spending_stopped = true", off: "spending_stopped = false" },
  budget: { on: "service_day_micros = 0", off: "service_day_micros = 1e12" },
} as const;

/**
 * Records, when it is added, each submit that takes its owner over the budget, has other prices than those in force, or
 * starts although its transaction began after a stop was committed. A submit in place of one that was released may cost
 * as much as that one. A second run of a submit exists already, so it is not checked.
 */
export async function checkAddedSubmits(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create table chaos.over_budget (broken text);
    create table chaos.wrong_prices (broken text);
    create table chaos.started_while_stopped (broken text);
    -- since: when it was committed; null until then.
    create table chaos.stops (id uuid primary key, kind text, since timestamptz);
    create function chaos.check_submit() returns trigger language plpgsql security definer set search_path = '' as $$
    declare
      used bigint;
      is_paid_for constant boolean := exists (
        select from keyframe_private.provider_submits s
        where s.prediction_id = new.prediction_id and s.attempt = new.attempt - 1 and s.cost_state = 'released'
          and s.most_micros >= new.most_micros);
    begin
      insert into chaos.started_while_stopped
      select format('submit %s of prediction %s, %s after the stop (%s)', new.attempt, new.prediction_id, now() - x.since, x.kind) from chaos.stops x
      where x.since < now() and case x.kind when 'spending' then new.attempt = 1 else not is_paid_for end;
      select sum(c.held_micros + c.settled_micros + c.unknown_micros) into used from keyframe_private.costs c
      where c.owner_id = new.owner_id and c.day >= date_trunc('month', new.created_at at time zone 'UTC');
      insert into chaos.over_budget
      select format('submit %s of prediction %s took owner %s to %s of %s', new.attempt, new.prediction_id, new.owner_id, used, b.month_micros)
      from keyframe_private.owner_budgets b
      where b.owner_id = new.owner_id and used > b.month_micros and not is_paid_for;
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
      for each row when (new.provider_prediction_id is null) execute function chaos.check_submit();
    create function chaos.check_admitted() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      insert into chaos.started_while_stopped
      select format('prediction %s got a slot, %s after the stop', new.id, now() - x.since) from chaos.stops x
      where x.since < now() and x.kind = 'spending';
      return null;
    end $$;
    create trigger _900_chaos_admitted after update of admitted_at on keyframe.predictions
      for each row when (old.admitted_at is null and new.admitted_at is not null) execute function chaos.check_admitted();`);
}

/** For so long nothing may start: spending is stopped, or the service's budget is 0. Two stops may overlap. */
export async function stopStarts(sql: postgres.Sql, kind: keyof typeof STOPS, forMs: number): Promise<void> {
  const id = crypto.randomUUID();
  await retry(() =>
    sql.begin(async (transaction) => {
      await transaction.unsafe(`update keyframe_private.settings set ${STOPS[kind].on} where only_row`);
      await transaction`insert into chaos.stops (id, kind) values (${id}, ${kind}) on conflict do nothing`;
    }),
  );
  await retry(() => sql`update chaos.stops set since = clock_timestamp() where id = ${id} and since is null`);
  await pause(forMs);
  await endStop(sql, kind, id);
}

const endStop = (sql: postgres.Sql, kind: keyof typeof STOPS, id: string | null): Promise<unknown> =>
  retry(() =>
    sql.begin(async (transaction) => {
      await transaction`select from keyframe_private.settings for update`; // another stop of this kind begins before or after
      await transaction`delete from chaos.stops where kind = ${kind} and id = coalesce(${id}, id)`;
      await transaction.unsafe(`
        update keyframe_private.settings set ${STOPS[kind].off}
        where only_row and not exists (select from chaos.stops where kind = '${kind}')`);
    }),
  );

/** Ends the stops that a fault could not end. */
export async function endStops(sql: postgres.Sql): Promise<void> {
  await endStop(sql, "spending", null);
  await endStop(sql, "budget", null);
}

/** More than a month. */
const MONTH_DAYS = 31;

/**
 * A month ends for all costs: each submit so far was added a month earlier, with its sums, and every budget begins anew. Not by the clock of
 * all tables, because after hours everything would be overdue. False when the next prune would delete submits.
 */
export async function endMonth(sql: postgres.Sql): Promise<boolean> {
  return await retry(() =>
    sql.begin(async (transaction) => {
      await transaction`select set_config('session_replication_role', 'replica', true), set_config('lock_timeout', '3s', true)`;
      await transaction`
        lock table keyframe_private.provider_submits, keyframe_private.daily_costs, keyframe_private.exhausted_budgets in share row exclusive mode`;
      const [oldest] = await transaction<{ isOld: boolean }[]>`
        select coalesce(min(created_at) < now() - interval '11 months', false) as "isOld" from keyframe_private.provider_submits`;
      if (oldest?.isOld) return false;
      await transaction.unsafe(`insert into chaos.miscounted ${MISCOUNTED_COSTS}`);
      await transaction`update keyframe_private.provider_submits set created_at = created_at - make_interval(days => ${MONTH_DAYS})`;
      await transaction`delete from keyframe_private.exhausted_budgets`;
      await transaction.unsafe(RECOUNT_COSTS);
      return true;
    }),
  );
}

/** Gives every third user a budget. The service's is never used up, but a fault sets it to 0 for a while. */
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
        await transaction`select keyframe_private.take_lock('slots', ${owner_id})`;
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
