import { expect, test } from "vitest";
import type { Cost, Estimate, ExceededBudget, Usage } from "../../client/index.ts";
import {
  costWords,
  dollars,
  estimateWords,
  monthWords,
  overBudgetWords,
  refusalWords,
} from "../../dashboard/src/ui/money.ts";

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
  ...{ availableMicros: null, withinBudget: true, ...more },
});
test.each<[string, Partial<Estimate>, string, string | null]>([
  ["a known price", {}, "about $0.45", null],
  ["a ceiling", { estimateMicros: null, atMostMicros: 600_000 }, "at most $0.60", null],
  ["no price", { estimateMicros: null, atMostMicros: null }, "price unknown", null],
  [
    "less left than it can cost",
    { availableMicros: 200_000, withinBudget: false },
    "about $0.45",
    "Your budget has $0.20 left. Choose a cheaper model, resolution or length.",
  ],
  [
    "no price under a budget",
    { estimateMicros: null, atMostMicros: null, availableMicros: 200_000, withinBudget: false },
    "price unknown",
    "Your budget admits only known prices. Choose another model.",
  ],
  [
    "refused for another reason than the owner's budget",
    { withinBudget: false },
    "about $0.45",
    "The service admits no such start now. Try again later.",
  ],
])("an estimate with %s → %s", (_name, more, words, problem) => {
  expect(estimateWords(estimate(more))).toBe(words);
  expect(overBudgetWords(estimate(more))).toBe(problem);
});

const period = { period: "month", estimateMicros: 450_000, resetsAt: "2026-12-01T00:00:00.000Z" } as const;
test.each<[ExceededBudget, string]>([
  [
    { scope: "owner", ...period, limitMicros: 10_000_000, availableMicros: 333_000 },
    "Your budget for this month has $0.333 of $10.00 left; this start can cost $0.45.",
  ],
  [
    { scope: "service", ...period, period: "day" },
    "The budget of all users for today has not enough left; this start can cost $0.45.",
  ],
])("refused by the budget %j → %s", (budget, words) => {
  expect(refusalWords(budget)).toContain(words);
  expect(refusalWords(budget)).toMatch(/or wait until .*2026.*, when it begins anew\.$/);
});

test("a month with settled, held and unknown costs → their sum, against the budget of the month if there is one", () => {
  const groups = [
    { key: "2026-11-01", predictions: 3, settledMicros: 1_000_000, heldMicros: 67_000, unknownMicros: 1 },
  ];
  const budget = { settledMicros: 0, heldMicros: 0, availableMicros: 0, resetsAt: period.resetsAt };
  const usage: Usage = { from: "2026-11-01", to: "2026-11-23", currency: "USD", groupBy: "day", groups, budgets: [] };
  expect(monthWords(usage)).toBe("$1.067001");
  const day = { ...budget, period: "day", limitMicros: 5_000_000 } as const;
  const month = { ...budget, period: "month", limitMicros: 10_000_000 } as const;
  expect(monthWords({ ...usage, budgets: [day, month] })).toBe("$1.067001 of $10.00");
});
