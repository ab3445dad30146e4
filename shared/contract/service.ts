import { z } from "zod";

const count = (description: string) => z.int().min(0).meta({ description });
const age = (description: string) =>
  z
    .number()
    .min(0)
    .nullable()
    .meta({ description: `${description} In seconds.` });

const cronJob = z.object({
  scheduled: z.boolean().meta({ description: "Whether pg_cron has the job, switched on." }),
  lastRunSeconds: age("Since it last began; null: not lately."),
  lastSuccessSeconds: age("Since it last ended well; null: not lately."),
  failures: count("Runs that failed in the last five minutes."),
});

const lastKick = z
  .object({
    outcome: z.enum(["none", "not_made", "unanswered", "accepted", "answered", "timed_out", "failed"]).meta({
      description:
        "none: there was none since the database started. not_made: it could not be made. unanswered: not yet, or the answer is not kept any more. accepted: by the function. answered: with another status, by whoever. timed_out: no answer in time. failed: nobody could be reached, or the answer broke off.",
    }),
    status: z.int().nullable().meta({ description: "The HTTP status of its answer." }),
    error: z.string().nullable().meta({ description: "Why it could not be made, or was not answered." }),
    madeSeconds: age("Since it was made."),
    acknowledgedAfterSeconds: age("How long after that the function looked for work; null: it has not."),
  })
  .meta({ id: "LastKick" });
export type LastKick = z.infer<typeof lastKick>;

/** How the service fares. Ages are by the database's clock; null where there is nothing. docs/operate.md says what is normal. */
export const serviceFigures = z
  .object({
    predictions: z.object({
      queued: count("Have their place, and are not yet with the provider."),
      starting: count("Accepted by the provider."),
      processing: count("The provider works on them."),
      storing: count("Their output is being copied."),
      retrying: count("Of these: their present task failed, and is tried again."),
      due: count("Of these: somebody should be looking at them now."),
      oldestDueSeconds: age("How long the oldest of those has been due."),
      waiting: count("Wait in line, because their owner has as many running as allowed."),
      oldestWaitingSeconds: age("How long the oldest of those has waited."),
      runsToCancel: count("Runs that the provider is yet to be asked to cancel."),
    }),
    deliveries: z.object({
      due: count("Should be sent now. Counts of one endpoint stop at 10,000."),
      sending: count("Are being sent."),
      pending: count("Have not ended: due, being sent, or tried again later."),
      held: count("Wait for their endpoint to be enabled."),
      oldestDueSeconds: age("How long the oldest has been due."),
      failingEndpoints: count("Enabled endpoints of which nothing but failures is known since the last success."),
      oldestFailingSeconds: age("How long the first of those has been failing."),
      endpointsSwitchedOff: count(
        "Endpoints that the service has disabled in the last day: gone, or failing for too long.",
      ),
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
        oldestUnsentSeconds: age("How long the oldest of those has been there."),
        accepted: count("Kicks that a function accepted."),
        refused: count("Kicks that a function refused: most often another keyframe_kick_secret."),
        failed: count("Requests of pg_net without an answer, from all callers."),
        lastAcceptedSeconds: age("Since the last kick was accepted; null: none in the last hour."),
        servedDatabase: z.string().nullable().meta({
          description:
            "The database that pg_net works for, when it is not this one: then no kick is ever sent. Null: it is.",
        }),
      })
      .meta({ description: "As far as pg_net tells, of the last five minutes." }),
    lastKicks: z.object({ generate: lastKick, deliver: lastKick }),
    sweep: cronJob,
    prune: cronJob,
    fileRemovals: z.object({
      pending: count("Files to remove from Storage. Counts stop at 10,000."),
      due: count("Of these: now."),
      failing: count("Of these: could not be removed so far."),
      oldestDueSeconds: age("How long the oldest has been due."),
    }),
  })
  .meta({ id: "ServiceFigures" });
export type ServiceFigures = z.infer<typeof serviceFigures>;

export const healthQuery = z.strictObject({
  deep: z.enum(["1"]).optional().meta({
    description: "1: with figures. Takes the project's secret key (sb_secret_…) as `apikey` or as bearer token.",
  }),
});

/** Answer of GET /api/health; without a database it is 503. */
export const health = z
  .object({
    status: z
      .enum(["ok", "degraded"])
      .meta({ description: "degraded: it answers, but `problems` says what does not work." }),
    database: z.literal("ok"),
    problems: z
      .array(z.string())
      .optional()
      .meta({ description: "With deep=1: what does not work, and what to do about it, a sentence or two each." }),
    figures: serviceFigures.optional().meta({ description: "With deep=1." }),
  })
  .meta({ id: "Health" });
export type Health = z.infer<typeof health>;

/** The Content-Type of GET /api/metrics: the text format of Prometheus. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
