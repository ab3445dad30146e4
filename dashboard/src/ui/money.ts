import type { Balance, ExceededBudget, ExhaustedBalance, Usage } from "../../../client/index.ts";
import { exactTime } from "./format-time.ts";

/** Micro-dollars with two decimals. An amount below a cent has more, so that it does not show as zero. `isExact` shows all. */
export function dollars(micros: number, isExact = false): string {
  const isSmall = micros !== 0 && Math.abs(micros) < 10_000;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    ...(isExact ? { minimumFractionDigits: 2, maximumFractionDigits: 6 } : isSmall && { maximumSignificantDigits: 2 }),
  }).format(micros / 1_000_000);
}

/** Formats a cost and what is left. If both round to the same amount, all digits show. */
export const apart = (left: number, cost: number) => (micros: number) =>
  dollars(micros, dollars(left) === dollars(cost));

/** What a start makes, such as “8 takes”, and what would make it cheaper, such as “fewer takes”. */
export type Start = { what: string; fewer?: string | undefined };

export const cheaper = ({ fewer }: Start): string =>
  `${fewer === undefined ? "" : `${fewer}, `}a cheaper model, resolution or length`;

export const balanceSentence = (left: number, cost: number, start: Start): string => {
  const amount = apart(left, cost);
  return `${start.what} can cost ${amount(cost)}, and your balance is ${amount(left)}. Add credit, or choose ${cheaper(start)}.`;
};

/** Says that the balance refused a start. */
export const exhaustedWords = ({ availableMicros, estimateMicros }: ExhaustedBalance): string =>
  balanceSentence(availableMicros, estimateMicros, { what: "This start", fewer: "fewer takes" });

/** Says which budget refused a start, what is left of it, and when it resets. */
export function refusalWords({ scope, period, estimateMicros, resetsAt, ...owner }: ExceededBudget): string {
  const { limitMicros = 0, availableMicros = 0 } = owner;
  const amount = scope === "owner" ? apart(availableMicros, estimateMicros) : dollars;
  const name = period === "day" ? "today" : "this month";
  const left =
    scope === "owner"
      ? `Your budget for ${name} has ${amount(availableMicros)} of ${dollars(limitMicros)} left`
      : `The service's budget for ${name} does not have enough left`;
  return `${left}; this start can cost ${amount(estimateMicros)}. Choose a cheaper model, resolution or length, or wait until ${exactTime(resetsAt)}, when it resets.`;
}

type Sums = Pick<Usage["groups"][number], "settledMicros" | "heldMicros" | "unknownMicros">;

/** The most that may still be billed. */
export const openOf = ({ heldMicros, unknownMicros }: Sums): number => heldMicros + unknownMicros;

/** The sum of all groups, with the upper bound for open costs. */
export const sumWords = ({ groups }: Usage): string =>
  dollars(groups.reduce((sum, group) => sum + group.settledMicros + openOf(group), 0));

export const balanceWords = ({ availableMicros, heldMicros }: Balance): string =>
  `Your balance is ${dollars(availableMicros)}${heldMicros > 0 ? `, and ${dollars(heldMicros)} is reserved for what is running` : ""}.`;

export function monthWords(usage: Usage): string {
  const budget = usage.budgets.find(({ period }) => period === "month");
  return sumWords(usage) + (budget === undefined ? "" : ` of ${dollars(budget.limitMicros)}`);
}
