import { z } from "zod";
import { id, line, only, step, time, visibleAscii } from "./fields.ts";

const micros = z.int().min(0);
const currency = z.literal("USD");

export const cost = z
  .object({
    amountMicros: micros.nullable().describe("The actual cost. Null while it is open or unknown."),
    atMostMicros: micros.nullable().describe("Upper bound for the cost; null when no price is known."),
    currency,
    state: z
      .enum(["held", "settled", "released", "unknown"])
      .describe(
        "held: not known yet, atMostMicros is reserved. settled: charged amountMicros. released: not charged. unknown: not known yet, atMostMicros counts until an administrator settles it.",
      ),
  })
  .meta({ id: "Cost", description: "What the user pays, in millionths of a dollar." });

export const balance = z
  .object({
    availableMicros: z.int().describe("What is left of your credit; negative after a large refund."),
    heldMicros: micros.describe("Reserved for submits that have not ended; not in availableMicros."),
  })
  .meta({ id: "Balance", description: "Your prepaid balance in millionths of a dollar." });
const balanceOrNone = balance.nullable().describe("Your balance; null if you do not pay in advance.");

/** `balance` of the error balance_exhausted. */
export const exhaustedBalance = z
  .object({
    availableMicros: z.int().describe("What is left."),
    estimateMicros: micros.describe("Upper bound for the cost of the refused start."),
  })
  .meta({ id: "ExhaustedBalance" });

const KINDS = ["grant", "purchase", "refund", "adjustment", "expiry"] as const;
/** In micro-dollars. */
const MILLION_DOLLARS = 1_000_000_000_000;

const addedCredit = {
  key: visibleAscii
    .refine((key) => key !== "opening", "Must not be opening: Keyframe's own adjustment has this key.")
    .describe("The same key never adds credit twice. Use the id of the payment or the refund."),
  kind: z.enum(KINDS, { error: `Must be one of ${KINDS.join(", ")}.` }),
  amountMicros: z
    .int()
    .min(-MILLION_DOLLARS)
    .max(MILLION_DOLLARS)
    .describe("In millionths of a dollar. Negative for a refund or an expiry."),
};

const subtracts = (kind: string) => kind === "refund" || kind === "expiry";

/** Postgres has the same rule (check sign_is_that_of_the_kind of credits). */
export const addCreditBody = z
  .strictObject({ ...addedCredit, note: line(0, 500).optional().describe("For administrators.") })
  .refine(
    ({ kind, amountMicros }) => amountMicros !== 0 && (kind === "adjustment" || amountMicros < 0 === subtracts(kind)),
    {
      path: ["amountMicros"],
      error:
        "Must be above 0 for a grant or a purchase, below 0 for a refund or an expiry, and not 0 for an adjustment.",
    },
  )
  .meta({ id: "AddCredit" });

export const credit = z
  .object({
    ...addedCredit,
    note: z.string().nullable(),
    createdAt: time,
    balance: balance.describe("The balance, with this credit included."),
  })
  .meta({ id: "Credit" });

const period = z.enum(["day", "month"]).describe("By UTC.");

/** `budget` of the error budget_exceeded. */
export const exceededBudget = z
  .object({
    scope: z
      .enum(["owner", "client", "service"])
      .describe(
        "owner: your own budget. client: what this app (OAuth client) may spend for you in a day. service: the budget of all users together, without amounts.",
      ),
    period,
    estimateMicros: micros.describe("Upper bound for the cost of the refused start."),
    limitMicros: micros.optional(),
    settledMicros: micros.optional(),
    heldMicros: micros.optional(),
    availableMicros: micros.optional(),
    resetsAt: time,
  })
  .meta({ id: "ExceededBudget" });

export const estimate = z
  .object({
    model: z.string().describe("The model that the start would use."),
    requestedModel: z
      .string()
      .nullable()
      .describe("The default model, if it is not available and `model` would replace it; otherwise null."),
    estimateMicros: micros.nullable().describe("The expected cost in millionths of a dollar. Null: no price is known."),
    atMostMicros: micros
      .nullable()
      .describe(
        "Upper bound for the cost by the price list; what the provider measures is charged. Without a known price, the model's ceiling; null if it has none.",
      ),
    currency,
    availableMicros: micros
      .nullable()
      .describe("What is left of your budget, or for an app (OAuth client) of its own limit; null without one."),
    balance: balanceOrNone,
    withinBudget: z.boolean().describe("Whether the budgets and your balance would allow the start now."),
    elements: z.array(z.object({ elementId: id, name: z.string() })).describe("The elements that the start would use."),
    quoteId: id.nullable().describe("With `quote=true`: starts exactly this, once. Otherwise null."),
    quotedUntil: time.nullable().describe("When the quote expires, ten minutes from now; null without one."),
  })
  .meta({ id: "Estimate" });
export type Estimate = z.infer<typeof estimate>;

export const estimateQuery = z.strictObject({
  quote: only("true", "true: holds the price for ten minutes (`quoteId`), and fails with the errors of the start."),
});

export const startQuoteBody = z
  .strictObject({
    quoteId: id.describe("From an estimate with `quote=true`."),
    atMostMicros: micros.describe("The quote's atMostMicros, to which you agree."),
  })
  .meta({ id: "StartQuote" });

const day = z.iso.date({ error: "Must be a day such as 2026-03-01." });

const groupBy = z.enum(["day", "model", "step", "project"]);

export const usageQuery = z.strictObject({
  from: day.optional().describe("The first day, by UTC. Default: the first of the month of `to`."),
  to: day.optional().describe("The last day. Default: today."),
  groupBy: groupBy
    .default("day")
    .describe("project: the 1,000 projects that cost most; counts as one request per day of the range."),
});

const sums = { settledMicros: micros, heldMicros: micros, unknownMicros: micros };

export const usage = z
  .object({
    from: day,
    to: day,
    currency,
    groupBy,
    groups: z
      .array(
        z.object({
          key: z.union([z.string(), step, id]).describe("The day, model, step or projectId."),
          predictions: z.int().min(0).describe("Number of predictions started."),
          ...sums,
        }),
      )
      .describe("Sorted by key; projects by cost, at most 1,000."),
    budgets: z
      .array(
        z.object({
          period,
          limitMicros: micros,
          settledMicros: micros.describe("Includes the upper bound for submits whose cost is unknown."),
          heldMicros: micros,
          availableMicros: micros,
          resetsAt: time,
        }),
      )
      .describe("Your budgets, as of now; empty without one."),
    balance: balanceOrNone,
  })
  .meta({ id: "Usage" });
