import { type Estimate, hasEnded, type ShotPrediction } from "../../../client/index.ts";
import { apart, balanceSentence, cheaper, dollars, type Start } from "../ui/money.ts";
import { capitalized } from "../ui/words.ts";

export const aboutWords = (micros: number | null): string =>
  micros === null ? "price unknown" : `about ${dollars(micros)}`;

export const estimateWords = ({ estimateMicros, atMostMicros }: Estimate): string =>
  estimateMicros === null && atMostMicros !== null ? `at most ${dollars(atMostMicros)}` : aboutWords(estimateMicros);

export const takesOf = (count: number): Start =>
  count === 1 ? { what: "This take" } : { what: `${count} takes`, fewer: "fewer takes" };

type Limits = Pick<Estimate, "withinBudget" | "availableMicros" | "atMostMicros" | "balance">;

export const exceedsBalance = ({ balance, atMostMicros }: Limits): boolean =>
  balance !== null && (atMostMicros ?? 0) > balance.availableMicros;

const exceedsBudget = ({ availableMicros, atMostMicros }: Limits): boolean =>
  availableMicros !== null && (atMostMicros ?? 0) > availableMicros;

/** The limits for a part of the estimate. Whether the service's budget allows the part is then unknown. */
export function ofPart<All extends Limits>(all: All, atMostMicros: number | null): All {
  const part = { ...all, atMostMicros };
  const isByUser = exceedsBalance(all) || exceedsBudget(all);
  return { ...part, withinBudget: all.withinBudget || (isByUser && !exceedsBalance(part) && !exceedsBudget(part)) };
}

/** Why the budgets or the balance would refuse a start now. Null if they would not. */
export function overBudgetWords(limits: Limits, start: Start): string | null {
  const { withinBudget, availableMicros, atMostMicros, balance } = limits;
  if (withinBudget) return null;
  if (balance !== null && exceedsBalance(limits))
    return balanceSentence(balance.availableMicros, atMostMicros ?? 0, start);
  if (availableMicros === 0) return "Your budget is used up for now.";
  if (availableMicros !== null && atMostMicros === null)
    return "Your budget requires a known price. Choose another model.";
  if (availableMicros === null || atMostMicros === null || !exceedsBudget(limits))
    return "The service's budget does not allow this start now. Try again later.";
  const amount = apart(availableMicros, atMostMicros);
  return `${start.what} can cost ${amount(atMostMicros)}, and your budget has ${amount(availableMicros)} left. Choose ${cheaper(start)}.`;
}

export function cancelWords(running: Pick<ShotPrediction, "status" | "cost">[]): string {
  const begun = running.filter(({ status }) => status !== "queued");
  if (begun.length === 0) return "Canceling before generation begins costs nothing.";
  const most = begun.reduce((sum, { cost }) => sum + (cost?.atMostMicros ?? 0), 0);
  const waits = begun.length < running.length ? " What has not begun is not charged." : "";
  return `If you cancel, the provider may still charge for what has begun${most > 0 ? `, up to ${dollars(most)}` : ""}.${waits}`;
}

/** The cost of a take. Without a result, whether it was charged. Empty if the cost is no longer kept. */
export function costWords(prediction: Pick<ShotPrediction, "status" | "cost">): string {
  const { status, cost } = prediction;
  if (cost === null) return "";
  const { state, amountMicros, atMostMicros } = cost;
  const isTake = status === "succeeded";
  if (state === "released" || (state === "settled" && amountMicros === 0 && !isTake)) return "not charged";
  if (state === "settled" && amountMicros !== null) return `${isTake ? "" : "charged "}${dollars(amountMicros)}`;
  const most = atMostMicros === null ? "" : dollars(atMostMicros);
  if (!hasEnded(prediction)) return most === "" ? "cost unknown" : `up to ${most}`;
  return `${isTake ? "cost" : "charge"} not known yet${most === "" ? "" : `, at most ${most}`}`;
}

export const costSentence = (prediction: Pick<ShotPrediction, "status" | "cost">): string => {
  const words = costWords(prediction);
  return words === "" ? "" : `${capitalized(words)}.`;
};
