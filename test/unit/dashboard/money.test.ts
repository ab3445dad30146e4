import { expect, test } from "vitest";
import type { Cost, Estimate, PredictionStatus, Usage } from "../../../client/index.ts";
import { costWords, estimateWords, overBudgetWords, takesOf } from "../../../dashboard/src/takes/cost-words.ts";
import { dollars, monthWords, refusalWords } from "../../../dashboard/src/ui/money.ts";

// Known and unknown prices, and a budget of one's own: test/e2e/dashboard-takes.test.ts.

test.each([
  [0, "$0.00"],
  [1, "$0.000001"],
  [3_333, "$0.0033"],
  [9_999, "$0.01"],
  [67_000, "$0.07"],
  [-1_500_000, "-$1.50"],
  [1_234_567_891, "$1,234.57"],
])("%i micro-dollars → %s", (micros, words) => {
  expect(dollars(micros)).toBe(words);
});

type Row = [PredictionStatus, Cost["state"], amountMicros: number | null, atMostMicros: number | null, words: string];
test.each<Row>([
  ["processing", "held", null, 67_000, "up to $0.07"],
  ["processing", "held", null, null, "cost unknown"],
  ["succeeded", "settled", 67_000, 67_000, "$0.07"],
  ["succeeded", "settled", 0, 67_000, "$0.00"],
  ["succeeded", "unknown", null, 67_000, "cost not known yet, at most $0.07"],
  ["failed", "released", 0, 67_000, "not charged"],
  ["failed", "settled", 0, 67_000, "not charged"],
  ["failed", "settled", 67_000, 67_000, "charged $0.07"],
  ["failed", "unknown", null, 67_000, "charge not known yet, at most $0.07"],
  ["canceled", "held", null, 67_000, "charge not known yet, at most $0.07"],
  ["canceled", "unknown", null, null, "charge not known yet"],
])("a take that is %s, its cost %s: %s of at most %s → %s", (status, state, amountMicros, atMostMicros, words) => {
  expect(costWords({ status, cost: { state, amountMicros, atMostMicros, currency: "USD" } })).toBe(words);
});

const estimate = (more: Partial<Estimate>): Estimate => ({
  ...{ model: "maker/model", requestedModel: null, estimateMicros: 450_000, atMostMicros: 450_000, currency: "USD" },
  ...{
    availableMicros: null,
    balance: null,
    withinBudget: true,
    elements: [],
    quoteId: null,
    quotedUntil: null,
    ...more,
  },
});
test.each<[string, Partial<Estimate>, string, string | null]>([
  ["a ceiling", { estimateMicros: null, atMostMicros: 600_000 }, "at most $0.60", null],
  [
    "no known price, and a budget",
    { estimateMicros: null, atMostMicros: null, withinBudget: false, availableMicros: 10_000_000 },
    "price unknown",
    "Your budget requires a known price. Choose another model.",
  ],
  [
    "refused for another reason than the owner's budget",
    { withinBudget: false },
    "about $0.45",
    "The service's budget does not allow this start now. Try again later.",
  ],
  [
    "less balance than it can cost",
    { withinBudget: false, balance: { availableMicros: -1_000_000, heldMicros: 0 } },
    "about $0.45",
    "3 takes can cost $0.45, and your balance is -$1.00. Add credit, or choose fewer takes, a cheaper model, resolution or length.",
  ],
  [
    "a budget that is less than it can cost by a part of a cent",
    { withinBudget: false, availableMicros: 449_900 },
    "about $0.45",
    "3 takes can cost $0.45, and your budget has $0.4499 left. Choose fewer takes, a cheaper model, resolution or length.",
  ],
])("an estimate with %s → %s", (_name, more, words, problem) => {
  expect(estimateWords(estimate(more))).toBe(words);
  expect(overBudgetWords(estimate(more), takesOf(3))).toBe(problem);
});

test("a start refused by the service's budget → says until when, without what others have spent", () => {
  const resetsAt = "2026-12-01T00:00:00.000Z";
  const words = refusalWords({ scope: "service", period: "day", estimateMicros: 450_000, resetsAt });
  expect(words).toContain("The service's budget for today does not have enough left; this start can cost $0.45.");
  expect(words).toMatch(/or wait until .*2026.*, when it resets\.$/);
});

test("a month with settled, held and unknown costs → their sum, next to the month's budget, not the day's", () => {
  const sums = { predictions: 3, settledMicros: 1_000_000, heldMicros: 67_000, unknownMicros: 1 };
  const rest = { settledMicros: 0, heldMicros: 0, availableMicros: 0, resetsAt: "2026-12-01T00:00:00.000Z" };
  const usage: Usage = {
    ...{ from: "2026-11-01", to: "2026-11-23", currency: "USD", groupBy: "day" },
    groups: [{ key: "2026-11-01", ...sums }],
    budgets: [
      { ...rest, period: "day", limitMicros: 5_000_000 },
      { ...rest, period: "month", limitMicros: 10_000_000 },
    ],
    balance: null,
  };
  expect(monthWords(usage)).toBe("$1.07 of $10.00");
});
