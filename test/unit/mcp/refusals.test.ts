import { expect, test } from "vitest";
import { refuse } from "../../../supabase/functions/keyframe-mcp/results.ts";

const micros = { availableMicros: 40_000, estimateMicros: 67_000 };
const resetsAt = "2026-12-01T00:00:00.000Z";

test.each([
  ["budget_exceeded", { budget: { ...micros, limitMicros: 5_000_000, resetsAt } }, ["$0.0400 of $5.0000", resetsAt]],
  ["balance_exhausted", { balance: micros }, ["$0.0400 is left, and it can cost $0.0670."]],
  ["price_unknown", {}, ["(price_unknown, request r)"]],
] as const)(
  "the error %s in a tool → a sentence with what is left and what the start can cost",
  (code, figures, parts) => {
    const [{ text } = { text: "" }] = refuse({ code, message: "Not now.", requestId: "r", ...figures }, null).content;
    for (const part of ["Not now.", ...parts]) expect(text).toContain(part);
  },
);
