import { expect, test } from "vitest";
import type { Cost, Estimate, Usage } from "../../../client/index.ts";
import {
  costWords,
  dollars,
  estimateWords,
  monthWords,
  overBudgetWords,
  refusalWords,
} from "../../../dashboard/src/ui/money.ts";

// Known and unknown prices, and a budget of one's own: test/e2e/dashboard-costs.test.ts.

test.each([
  [0, "$0.00"],
  [1, "$0.000001"],
  [67_000, "$0.067"],
  [1_500_000, "$1.50"],
  [1_234_567_891, "$1,234.567891"],
])("%i micro-dollars → %s", (micros, words) => {
  expect(dollars(micros)).toBe(words);
});

const cost = (state: Cost["state"], amountMicros: number | null, atMostMicros: number | null): Cost => ({
  ...{ state, amountMicros, atMostMicros, currency: "USD" },
});
test.each<[Cost, string]>([
  [cost("held", null, 67_000), "up to $0.067"],
  [cost("held", null, null), "cost unknown"],
  [cost("settled", 67_000, 67_000), "$0.067"],
  [cost("settled", 0, 67_000), "$0.00"],
  [cost("released", 0, 67_000), "not billed"],
  [cost("unknown", null, 67_000), "cost unknown, at most $0.067"],
  [cost("unknown", null, null), "cost unknown"],
])("a prediction's cost %j → %s", (given, words) => {
  expect(costWords(given)).toBe(words);
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
    "refused for another reason than the owner's budget",
    { withinBudget: false },
    "about $0.45",
    "The service's budget does not admit this start now. Try again later.",
  ],
  [
    "less balance than it can cost",
    { withinBudget: false, balance: { availableMicros: -1_000_000, heldMicros: 0 } },
    "about $0.45",
    "Your balance is -$1.00. Add credit, or choose a cheaper model, resolution or length.",
  ],
])("an estimate with %s → %s", (_name, more, words, problem) => {
  expect(estimateWords(estimate(more))).toBe(words);
  expect(overBudgetWords(estimate(more))).toBe(problem);
});

test("refused by the service's budget → said without what others have spent, and until when", () => {
  const resetsAt = "2026-12-01T00:00:00.000Z";
  const words = refusalWords({ scope: "service", period: "day", estimateMicros: 450_000, resetsAt });
  expect(words).toContain("The budget of all users for today does not have enough left; this start can cost $0.45.");
  expect(words).toMatch(/or wait until .*2026.*, when it resets\.$/);
});

test("a month with settled, held and unknown costs → their sum, against the budget of the month, not of the day", () => {
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
  expect(monthWords(usage)).toBe("$1.067001 of $10.00");
});
