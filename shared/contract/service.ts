import { z } from "zod";
import { step } from "./fields.ts";

const count = (description: string) => z.int().min(0).meta({ description });
const age = (description: string) =>
  z
    .number()
    .min(0)
    .nullable()
    .meta({ description: `${description} In seconds.` });

const cronJob = z.object({
  scheduled: z.boolean().meta({ description: "Whether the job is active in pg_cron." }),
  lastRunSeconds: age("Time since the job's last start; null: not recently."),
  lastSuccessSeconds: age("Time since the job's last success; null: not recently."),
  failures: count("Runs of the job that failed in the last five minutes."),
});

const lastKick = z
  .object({
    outcome: z.enum(["none", "not_made", "unanswered", "accepted", "answered", "failed"]).meta({
      description:
        "none: no kick since the database started. not_made: it could not be made. unanswered: no answer yet, or pg_net no longer has it. accepted: the function accepted it. answered: another status, perhaps from another server. failed: no connection, or no complete answer in time.",
    }),
    status: z.int().nullable().meta({ description: "The HTTP status of the answer to the last kick." }),
    error: z.string().nullable().meta({ description: "Why it could not be made, or has no answer." }),
    madeSeconds: age("Time since the last kick was made."),
    acknowledgedAfterSeconds: age("Time from the kick until the function claimed work; null: it has not."),
  })
  .meta({ id: "LastKick" });
export type LastKick = z.infer<typeof lastKick>;

const worker = z
  .object({
    claimedSeconds: age("Time since the worker last claimed work; null: not since the database started."),
    oldestKickSeconds: age(
      "Time since the first kick that the worker has not acknowledged by a claim. Over 20: it does not work.",
    ),
    slowestKickSeconds: age("The longest time from a kick of the last five minutes until the worker claimed."),
    callSeconds: age("How long the worker's last call of the database took, as it saw it."),
    slowRequests: count("Open requests to receivers that have taken over three seconds."),
  })
  .meta({ id: "WorkerFigures" });
export type WorkerFigures = z.infer<typeof worker>;

const micros = (description: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${description} In micro-dollars.` });
const microsOrNull = (description: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .meta({ description: `${description} In micro-dollars.` });

const costs = z.object({
  settledMicros: micros("What those have cost that have ended."),
  heldMicros: micros("The most that the others can cost."),
  unknownMicros: micros("The most that those have cost of which nobody knows it."),
  budgetMicros: microsOrNull("The service's budget; null: none."),
  leftMicros: microsOrNull("What is left of the service's budget; null: there is none."),
});

/** Ages are by the database's clock; null where there is nothing. docs/operate.md has the alerts. */
export const serviceFigures = z
  .object({
    predictions: z.object({
      queued: count("Have a slot, and are not yet accepted by the provider."),
      starting: count("Accepted by the provider."),
      processing: count("Running at the provider."),
      storing: count("Their output is being copied."),
      retrying: count("Predictions whose current task failed and is retried."),
      due: count("Predictions whose next task is due."),
      oldestDueSeconds: age("How long the oldest due prediction has been due."),
      waiting: count("Waiting, because their owner has no free slot."),
      oldestWaitingSeconds: age("How long the first prediction without a slot has waited."),
      runsToCancel: count("Provider runs to cancel."),
    }),
    deliveries: z.object({
      due: count("Due to be sent, or being sent. Counts of one endpoint stop at 10,000."),
      sending: count("Open requests, as the worker said at its last claim."),
      pending: count("Not ended: due, being sent, or to be retried."),
      held: count("Waiting until their endpoint is enabled."),
      oldestDueSeconds: age("How long the oldest delivery has been due."),
      failingEndpoints: count("Enabled endpoints without a success since their first failure."),
      oldestFailingSeconds: age(
        "How long the first failing endpoint has been failing; at webhook_disable_after it is disabled.",
      ),
      endpointsSwitchedOff: count(
        "Endpoints that the service disabled in the last day: gone, or failing for too long.",
      ),
      unsignedEndpoints: count("Enabled endpoints whose last attempt could not be signed, in this hour or the last."),
    }),
    events: z
      .object({
        projectCreated: count("project.created."),
        generationSucceeded: count("generation.succeeded."),
        generationFailed: count("generation.failed."),
      })
      .meta({ description: "Events of the last five minutes." }),
    kicks: z
      .object({
        unsent: count("Kicks that pg_net has not sent yet."),
        othersUnsent: count("Requests of other senders that pg_net has not finished yet."),
        oldestUnsentSeconds: age("How long the oldest unsent kick has been there."),
        accepted: count("Kicks that a function accepted."),
        refused: count("Kicks that a function refused; the usual cause is another keyframe_kick_secret."),
        failed: count("Requests of pg_net without an answer, of all senders."),
        lastAcceptedSeconds: age("Time since the last kick was accepted; null: none in the last hour."),
        servedDatabase: z.string().nullable().meta({
          description: "The database that pg_net serves, when it is another one: then no kick is sent. Otherwise null.",
        }),
      })
      .meta({ description: "From pg_net's tables, of the last five minutes." }),
    lastKicks: z.object({ generate: lastKick, deliver: lastKick }),
    workers: z.object({ generate: worker, deliver: worker }),
    transactions: z
      .object({
        oldestSeconds: age(
          "How long the oldest transaction that holds rows or tables of ours has been open, from 20 s on.",
        ),
        pid: z.string().nullable().meta({ description: "Its process, for pg_terminate_backend." }),
        role: z.string().nullable().meta({ description: "Whose it is." }),
        tables: z.string().nullable().meta({ description: "The tables that it has locked or written to." }),
      })
      .meta({ description: "The transaction that has held rows or tables of ours for longest; nulls: none for 20 s." }),
    sweep: cronJob,
    prune: cronJob,
    fileRemovals: z.object({
      pending: count("Files to remove from Storage. Counts stop at 10,000."),
      due: count("Files whose removal is due."),
      failing: count("Files whose removal has failed."),
      oldestDueSeconds: age("How long the oldest removal has been due."),
    }),
    unavailableModels: z
      .array(
        z.object({
          step,
          model: z.string(),
          reason: z.enum(["ended", "unknown"]).meta({
            description: "ended: its shutdown_at has passed. unknown: the provider refused it as unknown.",
          }),
          isDefault: z.boolean().meta({ description: "Whether a start that names no model would use it." }),
          successor: z.string().nullable().meta({
            description: "The first model that takes its place; null: none is available.",
          }),
        }),
      )
      .meta({ description: "Enabled models that a start cannot use." }),
    costs: z
      .object({
        today: costs,
        month: costs,
        unknownSubmits: count("Submits of this month of which nobody knows what they have cost."),
        cheapestStartMicros: microsOrNull("What a start with the cheapest default model costs at most; null: unknown."),
        spendingStopped: z.boolean().meta({ description: "Whether an administrator has stopped new generations." }),
      })
      .meta({ description: "Of the submits of all owners, by UTC. docs/costs.md." }),
  })
  .meta({ id: "ServiceFigures" });
export type ServiceFigures = z.infer<typeof serviceFigures>;

export const healthQuery = z.strictObject({
  deep: z.enum(["1"]).optional().meta({
    description: "1: with figures. Requires the project's secret key (sb_secret_…) as `apikey` or as bearer token.",
  }),
});

export const health = z
  .object({
    status: z.enum(["ok", "degraded"]).meta({ description: "degraded: the service answers, but has `problems`." }),
    database: z.literal("ok"),
    schemaVersion: z
      .string()
      .meta({ description: "The version whose migrations the database has.", examples: ["0.1.0"] }),
    problems: z.array(z.string()).optional().meta({ description: "With deep=1: what does not work, and what to do." }),
    figures: serviceFigures.optional().meta({ description: "With deep=1." }),
  })
  .meta({ id: "Health" });
export type Health = z.infer<typeof health>;

/** The Content-Type of GET /api/metrics: the text format of Prometheus. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
