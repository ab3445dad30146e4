import { z } from "zod";
import { step } from "./fields.ts";

const natural = z.int().min(0);
const count = (description: string) => natural.describe(description);
const flag = (description: string) => z.boolean().describe(description);
const text = (description: string) => z.string().describe(description);
const textOrNull = (description: string) => z.string().nullable().describe(description);
const seconds = z.number().min(0).nullable();
const age = (description: string) => seconds.describe(`${description} In seconds.`);

const cronJob = z.object({
  scheduled: flag("Whether pg_cron has an entry of the job that runs in this database."),
  obstacle: textOrNull("Why an entry of the job does not run here, or “missing”; null: every entry runs here."),
  lastSuccessSeconds: age("Time since the job's last success; null: not recently."),
  lastError: textOrNull("Why its last run failed; null: it has succeeded since."),
  isLate: flag("Whether the job has not succeeded for longer than its schedule allows."),
});

const largest = (what: string, subject: string) =>
  z
    .array(
      z.object({
        ownerId: textOrNull("The owner; null: the service itself."),
        subject: text(`What most of them belong to: ${subject}`),
        count: count("Number for this owner."),
        of: count("Number for all owners."),
      }),
    )
    .describe(`The owners with the most ${what}, at most three.`);

const lastKick = z
  .object({
    outcome: z
      .enum(["none", "not_made", "unanswered", "accepted", "answered", "failed"])
      .describe(
        "none: no kick since the database started. not_made: it could not be made. unanswered: no answer yet, or pg_net no longer has it. accepted: the function accepted it. answered: another status, perhaps from another server. failed: no connection, or no complete answer in time.",
      ),
    status: z.int().nullable().describe("The HTTP status of the answer to the last kick."),
    error: textOrNull("Why it could not be made, or has no answer."),
    madeSeconds: age("Time since the last kick was made."),
    acknowledgedAfterSeconds: age("Time from the kick until the function claimed work; null: it has not."),
  })
  .meta({ id: "LastKick" });
export type LastKick = z.infer<typeof lastKick>;

const worker = z
  .object({
    claimedSeconds: age("Time since one of its workers last claimed work; null: not since the database started."),
    isProcess: flag("Whether that worker was in a process of npm run worker; false: an edge function, or no claim."),
    oldestKickSeconds: age("Age of the first kick that no claim has followed. Over 20: the function does not run."),
    callSeconds: age(
      "How long the last database call of that worker took, as it measured it, without waiting for work.",
    ),
    slowWork: count("Work leased more than three seconds ago (deliver), or ten (generate)."),
    leased: z
      .object({
        of: count("How many pieces of work its workers can lease at once: those that have leased some, at least one."),
        open: count("How many they have leased."),
        slow: z
          .array(
            z.object({
              name: text("A model, or a host."),
              open: count("Slow pieces of work that wait for it."),
              of: count("How many pieces of work of its queue the same workers can lease at once."),
            }),
          )
          .describe("The models and hosts that slow work waits for: at most five, most work first."),
      })
      .describe("What is leased now."),
  })
  .meta({ id: "WorkerFigures" });
export type WorkerFigures = z.infer<typeof worker>;

const micros = (description: string) => natural.describe(`${description} In micro-dollars.`);
const naturalOrNull = natural.nullable();
const microsOrNull = (description: string) => naturalOrNull.describe(`${description} In micro-dollars.`);

const costs = z.object({
  settledMicros: micros("Cost of ended submits."),
  heldMicros: micros("Upper bound for submits that have not ended."),
  unknownMicros: micros("Upper bound for submits whose cost is unknown."),
  budgetMicros: microsOrNull("The service's budget; null: none."),
  leftMicros: microsOrNull("What is left of the service's budget; null: there is none."),
});

const blocker = z
  .object({
    pid: z.int().describe("Its process, for pg_terminate_backend; 0: a prepared transaction."),
    role: textOrNull("Its database role."),
    seconds: age("How long it has been open."),
    isIdle: flag("Whether it is idle in its transaction."),
    blocks: count("Sessions that wait for it, directly or indirectly; at most 50 are examined."),
    tables: textOrNull(
      "What it has locked, waits to lock or has written to, of the tables that Keyframe uses: its own, and some of Supabase.",
    ),
    locksTables: flag("Whether its locks stop all other writes to one of these tables."),
    waitsFor: z
      .int()
      .nullable()
      .describe(
        "The process for which it waits, to lock a table: all later sessions wait behind it. 0: a prepared transaction. null: it waits for nobody.",
      ),
  })
  .meta({ id: "Blocker" });
export type Blocker = z.infer<typeof blocker>;

const parts = {
  settings: z
    .object({
      isReadOnly: flag("Whether the database refuses writes."),
      hasSettings: flag("Whether keyframe_private.settings has its row."),
      missingSecrets: z
        .array(z.string())
        .describe("Secrets that are missing from the Vault, or that it cannot decrypt, by name."),
      address: textOrNull("The project that the database works for, by its Vault; null: that does not say."),
    })
    .describe("What an installation needs."),
  clockBackSeconds: age("How far the database's clock has been set back; null: not at all, if it was read."),
  due: z
    .object({
      submit: age("Submits to the provider."),
      poll: age("Polls of provider runs."),
      store: age("Outputs to copy."),
      cancel: age("Provider runs to cancel."),
      search: age("Searches for the provider run of an unanswered submit."),
      expire: age("Predictions past their deadline."),
      remove: age("Files to remove."),
      delivery: age("Deliveries to endpoints to which nothing is being sent."),
      slot: age("Waiting predictions that could start: their owner has a free slot, or the previous shot has ended."),
    })
    .describe(
      "How long the oldest due work of each kind has been due; null: none. Work that became due behind 1,000 pieces that no claim has made ready does not count.",
    ),
  predictions: z.object({
    queued: count("Have a slot, and are not yet accepted by the provider."),
    starting: count("Accepted by the provider."),
    processing: count("Running at the provider."),
    storing: count("Their output is being copied."),
    retrying: count("Tasks that failed and are tried again later."),
    refusal: textOrNull(
      "Why the provider refuses the service: provider_unauthorized or provider_payment_required; null: it does not.",
    ),
    waiting: count("Waiting, because their owner has no free slot."),
    oldestWaitingSeconds: age("How long the oldest prediction without a slot has waited."),
    runsToCancel: count("Provider runs to cancel."),
    largest: largest("due predictions", "their model."),
  }),
  deliveries: z.object({
    due: count("Due, and not leased yet."),
    sending: count("Leased by workers: being sent, or next."),
    pending: count("Not ended, at enabled endpoints: due, being sent, or to be retried."),
    paused: count("Waiting until their endpoint is enabled."),
    oldestDueSeconds: age("How long the oldest due delivery that is not leased yet has been due."),
    endpointsDisabled: count("Endpoints that the service disabled in the last day: gone, or failing for too long."),
    unsignedEndpoints: count("Enabled endpoints whose last attempt could not be signed, in this hour or the last."),
    largest: largest("pending deliveries", "the id of their endpoint."),
  }),
  events: z
    .object({
      projectCreated: count("project.created."),
      generationSucceeded: count("generation.succeeded."),
      generationFailed: count("generation.failed."),
    })
    .describe("Events of the last five minutes."),
  kicks: z
    .object({
      unsent: count("Kicks that pg_net has not sent yet."),
      othersUnsent: count("Requests of other senders that pg_net has not finished yet."),
      oldestUnsentSeconds: age("How long the oldest unsent kick has been there."),
      accepted: count("Kicks that a function accepted."),
      refused: count(
        "Kicks that a function answered with an error: 4xx, usually for another keyframe_kick_secret, or 5xx.",
      ),
      failed: count("Requests of pg_net without an answer, of all senders."),
      servedDatabase: textOrNull(
        "The database that pg_net serves, if it is not this one: then no kick is sent. Otherwise null.",
      ),
    })
    .describe("From pg_net's tables, of the last five minutes."),
  lastKicks: z.object({ generate: lastKick, deliver: lastKick }),
  workers: z.object({ generate: worker, deliver: worker }),
  calls: z
    .object({
      slow: count("How many."),
      slowest: textOrNull("The function or table that most of them use."),
      slowestSeconds: age("How long the longest has run."),
      owners: z
        .array(
          z.object({
            ownerId: text("The user."),
            calls: count("How many."),
            called: textOrNull("The function or table that most of them use."),
            seconds: z.number().describe("Their total time so far."),
          }),
        )
        .describe("Owners with at least three running calls that have taken two seconds in total; at most three."),
    })
    .describe("Database calls of Keyframe that have run for over two seconds."),
  limitedOwners: z
    .array(
      z.object({
        ownerId: text("The user."),
        routeClass: text("The class of keyframe_private.rate_limits."),
        seconds: age("How long each request has left less than a tenth of the owner's tokens."),
      }),
    )
    .describe("Owners who have used up a rate limit for ten seconds or more; at most three."),
  snapshots: z
    .array(
      z.object({
        kind: z.enum(["session", "prepared", "slot", "standby"]),
        name: text("Its process, its gid, the slot, or the standby's application_name."),
        role: textOrNull("Its database role."),
        seconds: age("Since when; null: Postgres does not say."),
        transactions: count("How many transactions ago."),
      }),
    )
    .describe("What has kept dead rows from being removed for long; at most three."),
  appTriggers: z
    .array(z.string())
    .describe("Triggers of the app on Keyframe's tables that serve all users, each with its table; at most 20."),
  skipped: z
    .object({
      count: count("How many rows."),
      kinds: z.record(z.string(), z.int()).describe("How many of each kind of work."),
      worst: z
        .object({
          kind: text("The kind of work; job: a row of keyframe_private.skipped_rows."),
          subject: text("What it is about: the id of a prediction or owner, or a row."),
          code: text("The SQLSTATE of the last error."),
          reason: textOrNull("Its message; null: the log of keyframe-generate has it."),
          failures: count("How often it has failed in a row."),
        })
        .nullable()
        .describe("The row that has failed most often."),
    })
    .describe(
      "Rows that the database refuses, and that are skipped until their next try: those of jobs, and work of generate that it has refused three times in a row or more.",
    ),
  jobs: z.record(z.string(), cronJob).describe("The jobs of pg_cron, by their names without keyframe-."),
  fileRemovals: z.object({
    pending: count("Files to remove from Storage."),
    oldestSeconds: age("Time since the oldest of them was requested."),
  }),
  unavailableModels: z
    .array(
      z.object({
        step,
        model: z.string(),
        reason: z
          .enum(["ended", "unknown"])
          .describe("ended: its shutdown_at has passed. unknown: the provider refused it as unknown."),
        isDefault: flag("Whether a start that names no model would use it."),
        successor: textOrNull("The first model that takes its place; null: none is available."),
      }),
    )
    .describe("Enabled models that a start cannot use."),
  costs: z
    .object({
      today: costs,
      month: costs,
      unknownSubmits: count("Submits of this month whose cost is unknown."),
      cheapestStartMicros: microsOrNull("Upper bound for a start with the cheapest default model; null: unknown."),
      spendingStopped: flag("Whether an administrator has stopped new generations."),
    })
    .describe("Costs of all owners' submits, by UTC. docs/costs.md."),
  blockers: z
    .array(blocker)
    .describe(
      "Transactions for which a session has waited for a second to use what Keyframe uses, or that have been open for 20 s and have locked rows of Keyframe, or for 0.3 s and have locked, or wait to lock, tables that Keyframe uses. At most five; others that wait are left out.",
    ),
};

/** Each part is read on its own. A part that could not be read is null. */
const readable = {} as { [Part in keyof typeof parts]: z.ZodNullable<(typeof parts)[Part]> };
for (const [name, part] of Object.entries(parts)) Object.assign(readable, { [name]: part.nullable() });

/** Ages are by the database's clock; null where there is nothing. Counts stop at 10,000 rows. docs/operate.md has the alerts. */
export const serviceFigures = z
  .object({
    ...readable,
    unread: z
      .array(
        z.object({
          part: text("The name of the part, which is null in the figures."),
          code: text("The SQLSTATE; 55P03: a lock was in the way. 57014: it took too long, or no time was left."),
          reason: text("The message of the error."),
        }),
      )
      .describe("Parts that could not be read."),
  })
  .meta({ id: "ServiceFigures" });
export type ServiceFigures = z.infer<typeof serviceFigures>;
/** One part that could be read. */
export type Part<Name extends keyof typeof parts> = NonNullable<ServiceFigures[Name]>;

export const healthQuery = z.strictObject({
  deep: z
    .enum(["1"])
    .optional()
    .describe("1: with figures. Requires the project's secret key (sb_secret_…) as `apikey` or as bearer token."),
});

export const health = z
  .object({
    status: z.enum(["ok", "degraded"]).describe("degraded: the service answers, but has `problems`."),
    database: z.literal("ok"),
    schemaVersion: z
      .string()
      .nullable()
      .meta({
        description: "The version whose migrations the database has; null, with deep=1 only: it could not be read.",
        examples: ["0.1.0"],
      }),
    problems: z.array(z.string()).optional().describe("With deep=1: what does not work, and what to do."),
    notices: z
      .array(z.string())
      .optional()
      .describe(
        "With deep=1: what may explain a slow or missing answer although the service works. They leave `status` as it is.",
      ),
    figures: serviceFigures.optional().describe("With deep=1."),
  })
  .meta({ id: "Health" });
export type Health = z.infer<typeof health>;

/** The Content-Type of GET /api/metrics: the text format of Prometheus. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
