import type { LastKick, ServiceFigures, WorkerFigures } from "../../../../shared/contract/service.ts";
import type { Deps } from "../call.ts";
import { kickWorks, readFigures } from "./health.ts";
import { type Metric, prometheusText, type Sample } from "../http/prometheus-text.ts";

/** GET /api/metrics: the figures of health?deep=1 in the text format of Prometheus. Throws ApiError, as that does. */
export async function readMetrics(headers: Headers, deps: Deps): Promise<string> {
  return prometheusText(metricsOf(await readFigures(headers, deps)));
}

/** All are gauges. A missing age is 0 where that means the same (nothing waits); other missing values are left out. */
export function metricsOf(figures: ServiceFigures): Metric[] {
  const { predictions, deliveries, events, kicks, lastKicks, workers, transactions, sweep, prune, fileRemovals } =
    figures;
  const { unavailableModels, costs } = figures;
  const { queued, starting, processing, storing, waiting } = predictions;
  const jobs = { sweep, prune };
  const periods = { day: costs.today, month: costs.month };
  return [
    by("predictions", "Predictions that have not ended; waiting: for a slot of their owner.", "status", {
      waiting,
      queued,
      starting,
      processing,
      storing,
    }),
    one("predictions_due", "Predictions with a task that is due.", predictions.due),
    one(
      "predictions_oldest_due_seconds",
      "How long the oldest of them has been due.",
      predictions.oldestDueSeconds ?? 0,
    ),
    one(
      "predictions_oldest_waiting_seconds",
      "How long the first of them has waited for a slot.",
      predictions.oldestWaitingSeconds ?? 0,
    ),
    one("predictions_retrying", "Predictions whose present task failed and is tried again.", predictions.retrying),
    one("provider_runs_to_cancel", "Provider runs that are not canceled yet.", predictions.runsToCancel),
    by(
      "deliveries",
      "Webhook deliveries that have not ended; pending: at enabled endpoints, due and sending included; held: at others.",
      "state",
      {
        due: deliveries.due,
        sending: deliveries.sending,
        pending: deliveries.pending,
        held: deliveries.held,
      },
    ),
    one(
      "deliveries_oldest_due_seconds",
      "How long the oldest delivery has been due.",
      deliveries.oldestDueSeconds ?? 0,
    ),
    one("webhook_endpoints_failing", "Enabled endpoints that only fail.", deliveries.failingEndpoints),
    one(
      "webhook_endpoints_oldest_failing_seconds",
      "How long the first of them has been failing; at webhook_disable_after it is disabled.",
      deliveries.oldestFailingSeconds ?? 0,
    ),
    one(
      "webhook_endpoints_switched_off",
      "Endpoints that the service disabled in the last day.",
      deliveries.endpointsSwitchedOff,
    ),
    by("events_5m", "Events of the last five minutes.", "type", {
      "project.created": events.projectCreated,
      "generation.succeeded": events.generationSucceeded,
      "generation.failed": events.generationFailed,
    }),
    one("kicks_unsent", "Kicks that pg_net has not sent yet.", kicks.unsent),
    one("pg_net_others_unsent", "Requests of other senders that pg_net has not finished.", kicks.othersUnsent),
    one("kicks_oldest_unsent_seconds", "How long the oldest of them has been there.", kicks.oldestUnsentSeconds ?? 0),
    by(
      "kicks_5m",
      "Requests of pg_net in the last five minutes by outcome; failed: also those of other senders.",
      "outcome",
      {
        accepted: kicks.accepted,
        refused: kicks.refused,
        failed: kicks.failed,
      },
    ),
    one(
      "kicks_last_accepted_seconds",
      "Time since a kick was accepted; absent: not in the last hour.",
      kicks.lastAcceptedSeconds,
    ),
    perKick(
      "last_kick_ok",
      "1 when the last kick was acknowledged or accepted; absent: not known.",
      lastKicks,
      (kick, name) => {
        const works = kickWorks(kick, workers[name]);
        return works === null ? null : Number(works);
      },
    ),
    perKick("last_kick_status", "The HTTP status that it was answered with.", lastKicks, (kick) => kick.status),
    perKick("last_kick_made_seconds", "Time since it was made.", lastKicks, (kick) => kick.madeSeconds),
    perKick(
      "last_kick_acknowledged_after_seconds",
      "How long after that the function claimed work: hundredths of a second, more when pg_net is busy or it starts.",
      lastKicks,
      (kick) => kick.acknowledgedAfterSeconds,
    ),
    perWorker("worker_claimed_seconds", "Since the worker last claimed work.", workers, (of) => of.claimedSeconds),
    perWorker(
      "worker_oldest_kick_seconds",
      "Since the first kick that it has not acknowledged by a claim. Over 20: it does not work.",
      workers,
      (of) => of.oldestKickSeconds ?? 0,
    ),
    perWorker(
      "worker_slowest_kick_seconds",
      "The longest time from a kick of the last five minutes until it claimed.",
      workers,
      (of) => of.slowestKickSeconds,
    ),
    perWorker("worker_call_seconds", "How long its last call of the database took.", workers, (of) => of.callSeconds),
    perWorker(
      "worker_slow_requests",
      "Requests to receivers that have been open for over three seconds.",
      workers,
      (of) => of.slowRequests,
    ),
    one(
      "webhook_endpoints_unsigned",
      "Endpoints whose last attempt could not be signed.",
      deliveries.unsignedEndpoints,
    ),
    one(
      "oldest_transaction_seconds",
      "How long a transaction over 20 s old has held rows or tables of Keyframe.",
      transactions.oldestSeconds ?? 0,
    ),
    perJob("cron_scheduled", "1 when pg_cron has the job, switched on.", jobs, (job) => Number(job.scheduled)),
    perJob("cron_last_run_seconds", "Since the job began; absent: not recently.", jobs, (job) => job.lastRunSeconds),
    perJob(
      "cron_last_success_seconds",
      "Since the job succeeded; absent: not recently.",
      jobs,
      (job) => job.lastSuccessSeconds,
    ),
    perJob("cron_failures_5m", "Runs of the job that failed in the last five minutes.", jobs, (job) => job.failures),
    one("file_removals", "Files that are to be removed from Storage.", fileRemovals.pending),
    one("file_removals_due", "Those that are to be removed now.", fileRemovals.due),
    one("file_removals_failing", "Those that could not be removed so far.", fileRemovals.failing),
    one("file_removals_oldest_due_seconds", "How long the oldest has been due.", fileRemovals.oldestDueSeconds ?? 0),
    one("models_unavailable", "Enabled models that a start cannot use.", unavailableModels.length),
    by(
      "costs_today_micros",
      "What the submits of today cost, by UTC, in micro-dollars; held and unknown: at most.",
      "state",
      costsOf(costs.today),
    ),
    by(
      "costs_month_micros",
      "What those of this month cost, by UTC, in micro-dollars; held and unknown: at most.",
      "state",
      costsOf(costs.month),
    ),
    perPeriod("budget_micros", "The service's budget; absent: none.", periods, (of) => of.budgetMicros),
    perPeriod("budget_left_micros", "What is left of it; absent: there is none.", periods, (of) => of.leftMicros),
    one(
      "cheapest_start_micros",
      "What a start with the cheapest default model costs at most; absent: unknown.",
      costs.cheapestStartMicros,
    ),
    one("submits_unknown", "Submits of this month whose cost nobody knows.", costs.unknownSubmits),
    one("spending_stopped", "1 while new generations are stopped.", Number(costs.spendingStopped)),
  ];
}

const costsOf = ({ settledMicros, heldMicros, unknownMicros }: ServiceFigures["costs"]["today"]) => ({
  settled: settledMicros,
  held: heldMicros,
  unknown: unknownMicros,
});

const metric = (name: string, help: string, samples: Sample[]): Metric => ({ name: `keyframe_${name}`, help, samples });

const one = (name: string, help: string, value: number | null) => metric(name, help, [{ value }]);

/** A sample for each entry of a record, whose key is the value of a label. */
const per =
  <Of>(label: string) =>
  <Key extends string>(name: string, help: string, all: Record<Key, Of>, pick: (of: Of, key: Key) => number | null) =>
    metric(
      name,
      help,
      // The type of Object.entries forgets the keys.
      (Object.entries(all) as [Key, Of][]).map(([key, of]) => ({ labels: { [label]: key }, value: pick(of, key) })),
    );

const by = (name: string, help: string, label: string, values: Record<string, number>) =>
  per<number>(label)(name, help, values, (value) => value);

const perKick = per<LastKick>("function");
const perWorker = per<WorkerFigures>("function");
const perPeriod = per<ServiceFigures["costs"]["today"]>("period");
const perJob = per<ServiceFigures["sweep"]>("job");
