import type { z } from "zod";
import { type ServiceFigures, serviceFigures } from "../../../../shared/contract/service.ts";
import type { Deps } from "../call.ts";
import { kickWorks, readFigures } from "./health.ts";

/** GET /api/metrics: the figures of health?deep=1 in the text format of Prometheus. Throws ApiError, as that does. */
export async function readMetrics(headers: Headers, deps: Deps): Promise<string> {
  return metricsText(await readFigures(headers, deps));
}

export function metricsText(figures: ServiceFigures): string {
  const { shape } = serviceFigures;
  const { predictions, deliveries, events, kicks, lastKicks, workers, transactions, fileRemovals, costs } = figures;
  const { queued, starting, processing, storing, waiting } = predictions;
  const { due, sending, pending, held } = deliveries;
  const { accepted, refused, failed } = kicks;
  const jobs = { sweep: figures.sweep, prune: figures.prune };
  const periods = { day: costs.today, month: costs.month };
  const isOk = (name: keyof typeof lastKicks) => kickWorks(lastKicks[name], workers[name]);
  const byUtc = "by UTC, in micro-dollars; held and unknown: at most.";
  return [
    gauge("predictions", "Predictions that have not ended; waiting: for a slot of their owner.", "status", {
      ...{ waiting, queued, starting, processing, storing },
    }),
    gauge(
      "deliveries",
      "Webhook deliveries that have not ended; pending: at enabled endpoints, due and sending included; held: at others.",
      "state",
      { due, sending, pending, held },
    ),
    gauge("events_5m", "Events of the last five minutes.", "type", {
      "project.created": events.projectCreated,
      "generation.succeeded": events.generationSucceeded,
      "generation.failed": events.generationFailed,
    }),
    gauge("kicks_5m", "Kicks of the last five minutes by outcome; failed: also requests of others.", "outcome", {
      ...{ accepted, refused, failed },
    }),
    gauge("costs_today_micros", `What the submits of today cost, ${byUtc}`, "state", costsOf(costs.today)),
    gauge("costs_month_micros", `What the submits of this month cost, ${byUtc}`, "state", costsOf(costs.month)),
    gauge("last_kick_ok", "1 when the last kick was acknowledged or accepted; absent: not known.", "function", {
      generate: isOk("generate"),
      deliver: isOk("deliver"),
    }),
    gauge("models_unavailable", "Enabled models that a start cannot use.", "", alone(figures.unavailableModels.length)),
    ...gauges(shape.predictions, "", alone(predictions), {
      due: "predictions_due",
      oldestDueSeconds: "predictions_oldest_due_seconds",
      oldestWaitingSeconds: "predictions_oldest_waiting_seconds",
      retrying: "predictions_retrying",
      runsToCancel: "provider_runs_to_cancel",
    }),
    ...gauges(shape.deliveries, "", alone(deliveries), {
      oldestDueSeconds: "deliveries_oldest_due_seconds",
      failingEndpoints: "webhook_endpoints_failing",
      oldestFailingSeconds: "webhook_endpoints_oldest_failing_seconds",
      endpointsSwitchedOff: "webhook_endpoints_switched_off",
      unsignedEndpoints: "webhook_endpoints_unsigned",
    }),
    ...gauges(shape.kicks, "", alone(kicks), {
      unsent: "kicks_unsent",
      othersUnsent: "pg_net_others_unsent",
      oldestUnsentSeconds: "kicks_oldest_unsent_seconds",
      lastAcceptedSeconds: "kicks_last_accepted_seconds",
    }),
    ...gauges(shape.lastKicks.shape.generate, "function", lastKicks, {
      status: "last_kick_status",
      madeSeconds: "last_kick_made_seconds",
      acknowledgedAfterSeconds: "last_kick_acknowledged_after_seconds",
    }),
    ...gauges(shape.workers.shape.generate, "function", workers, {
      claimedSeconds: "worker_claimed_seconds",
      oldestKickSeconds: "worker_oldest_kick_seconds",
      slowestKickSeconds: "worker_slowest_kick_seconds",
      callSeconds: "worker_call_seconds",
      slowRequests: "worker_slow_requests",
    }),
    ...gauges(shape.transactions, "", alone(transactions), { oldestSeconds: "oldest_transaction_seconds" }),
    ...gauges(shape.sweep, "job", jobs, {
      scheduled: "cron_scheduled",
      lastRunSeconds: "cron_last_run_seconds",
      lastSuccessSeconds: "cron_last_success_seconds",
      failures: "cron_failures_5m",
    }),
    ...gauges(shape.fileRemovals, "", alone(fileRemovals), {
      pending: "file_removals",
      due: "file_removals_due",
      failing: "file_removals_failing",
      oldestDueSeconds: "file_removals_oldest_due_seconds",
    }),
    ...gauges(shape.costs.shape.today, "period", periods, {
      budgetMicros: "budget_micros",
      leftMicros: "budget_left_micros",
    }),
    ...gauges(shape.costs, "", alone(costs), {
      cheapestStartMicros: "cheapest_start_micros",
      unknownSubmits: "submits_unknown",
      spendingStopped: "spending_stopped",
    }),
  ].join("");
}

const costsOf = ({ settledMicros, heldMicros, unknownMicros }: ServiceFigures["costs"]["today"]) => ({
  settled: settledMicros,
  held: heldMicros,
  unknown: unknownMicros,
});

/**
 * A metric for each of these figures, by its name here; the help is the figure's description in the contract. The keys of `groups` are
 * the label's values. A missing age of the oldest is 0; other missing values are left out.
 */
function gauges<Group extends object>(
  { shape }: z.ZodObject,
  label: string,
  groups: Record<string, Group>,
  names: Partial<Record<keyof Group, string>>,
): string[] {
  return Object.entries<string>(names as Record<string, string>).map(([field, name]) => {
    const values = Object.entries(groups).map(([key, group]) => {
      const value = Reflect.get(group, field) as Value | undefined; // every field named here is one
      return [key, value ?? (field.startsWith("oldest") ? 0 : null)] as const;
    });
    return gauge(name, shape[field]?.meta()?.description ?? "", label, Object.fromEntries(values));
  });
}

/** For figures without a label. */
const alone = <Of>(of: Of): Record<string, Of> => ({ "": of });

type Value = number | boolean | null;

/**
 * One metric: https://prometheus.io/docs/instrumenting/exposition_formats. The keys of `values` are the values of its label, or "" without
 * one. Nothing is escaped: names, helps and labels are all written here and in the contract.
 */
function gauge(name: string, help: string, label: string, values: Record<string, Value>): string {
  const samples = Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : `keyframe_${name}${key === "" ? "" : `{${label}="${key}"}`} ${Number(value)}\n`,
  );
  if (samples.length === 0) return "";
  return `# HELP keyframe_${name} ${help}\n# TYPE keyframe_${name} gauge\n${samples.join("")}`;
}
