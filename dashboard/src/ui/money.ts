import type { Balance, Cost, Estimate, ExceededBudget, Usage } from "../../../client/index.ts";
import { exactTime } from "./format-time.ts";

const DOLLARS = new Intl.NumberFormat(undefined, {
  style: "currency",
  currency: "USD",
  currencyDisplay: "narrowSymbol",
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** Micro-dollars with every digit, so that a small cost is not shown as zero. */
export const dollars = (micros: number): string => DOLLARS.format(micros / 1_000_000);

/** The cost of a start, to show beside its button. */
export function estimateWords({ estimateMicros, atMostMicros }: Estimate): string {
  if (estimateMicros !== null) return `about ${dollars(estimateMicros)}`;
  return atMostMicros === null ? "price unknown" : `at most ${dollars(atMostMicros)}`;
}

/** Why the budgets or the balance would refuse a start now; null if they would not. */
export function overBudgetWords({
  withinBudget,
  availableMicros,
  atMostMicros,
  balance,
}: Pick<Estimate, "atMostMicros" | "availableMicros" | "balance" | "withinBudget">): string | null {
  if (withinBudget) return null;
  if (balance !== null && (atMostMicros ?? 0) > balance.availableMicros)
    return `Your balance is ${dollars(balance.availableMicros)}. Add credit, or choose a cheaper model, resolution or length.`;
  if (availableMicros === 0) return "Your budget is used up for now.";
  if (availableMicros !== null && atMostMicros === null)
    return "Your budget needs a known price. Choose another model.";
  return availableMicros !== null && (atMostMicros ?? 0) > availableMicros
    ? `Your budget has ${dollars(availableMicros)} left. Choose a cheaper model, resolution or length.`
    : "The service's budget does not admit this start now. Try again later.";
}

/** Of a prediction. */
export function costWords({ state, amountMicros, atMostMicros }: Cost): string {
  if (state === "released") return "not billed";
  if (state === "settled" && amountMicros !== null) return dollars(amountMicros);
  if (atMostMicros === null) return "cost unknown";
  return state === "held" ? `up to ${dollars(atMostMicros)}` : `cost unknown, at most ${dollars(atMostMicros)}`;
}

/** The budget that refused a start: what is left of it, and from when it can be used again. */
export function refusalWords({ scope, period, estimateMicros, resetsAt, ...owner }: ExceededBudget): string {
  const { limitMicros = 0, availableMicros = 0 } = owner;
  const name = period === "day" ? "today" : "this month";
  const left =
    scope === "owner"
      ? `Your budget for ${name} has ${dollars(availableMicros)} of ${dollars(limitMicros)} left`
      : `The budget of all users for ${name} does not have enough left`;
  return `${left}; this start can cost ${dollars(estimateMicros)}. Choose a cheaper model, resolution or length, or wait until ${exactTime(resetsAt)}, when it resets.`;
}

type Sums = Pick<Usage["groups"][number], "settledMicros" | "heldMicros" | "unknownMicros">;

/** Upper bound for what may still be billed. */
export const openOf = ({ heldMicros, unknownMicros }: Sums): number => heldMicros + unknownMicros;

/** The sum of all groups, with the upper bound for open costs. */
export const sumWords = ({ groups }: Usage): string =>
  dollars(groups.reduce((sum, group) => sum + group.settledMicros + openOf(group), 0));

/** What is left of a prepaid balance. */
export const balanceWords = ({ availableMicros, heldMicros }: Balance): string =>
  `Your balance is ${dollars(availableMicros)}${heldMicros > 0 ? `, and ${dollars(heldMicros)} is reserved for open runs` : ""}.`;

/** The sum of this month against its budget. */
export function monthWords(usage: Usage): string {
  const budget = usage.budgets.find(({ period }) => period === "month");
  return sumWords(usage) + (budget === undefined ? "" : ` of ${dollars(budget.limitMicros)}`);
}
