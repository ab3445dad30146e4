import { z } from "zod";
import { type Part, type ServiceFigures, serviceFigures } from "../../contract/service.ts";
import { kickWorks } from "../runbook/kick-problems.ts";
import type { Deps } from "./handler.ts";
import { readFigures } from "./health.ts";

/** GET /api/metrics: the figures of health?deep=1 in the text format of Prometheus. Throws ApiError: unauthorized, unavailable. */
export async function readMetrics(headers: Headers, deps: Deps): Promise<string> {
  return metricsText(await readFigures(await deps.verifyProject(headers), deps));
}

const BY_UTC = "by UTC, in micro-dollars; held and unknown are upper bounds.";

/** Figures that could not be read are left out. */
export function metricsText(figures: ServiceFigures): string {
  const { shape } = serviceFigures;
  const { predictions, deliveries, due, events, kicks, lastKicks, workers, costs, blockers } = figures;
  const isOk = (name: "generate" | "deliver") => lastKicks && workers && kickWorks(lastKicks[name], workers[name]);
  return [
    gauge(
      "predictions",
      "Predictions that have not ended; waiting: for a slot of their owner.",
      "status",
      pick(predictions, "waiting", "queued", "starting", "processing", "storing"),
    ),
    gauge(
      "deliveries",
      "Webhook deliveries that have not ended; pending: at enabled endpoints, and counts due and sending again; paused: at disabled ones.",
      "state",
      pick(deliveries, "due", "sending", "pending", "paused"),
    ),
    gauge(
      "due_seconds",
      "How long the oldest due work of each kind has been due.",
      "kind",
      ofEach(due, (seconds) => seconds ?? 0),
    ),
    gauge(
      "events_5m",
      "Events of the last five minutes.",
      "type",
      events && {
        "project.created": events.projectCreated,
        "generation.succeeded": events.generationSucceeded,
        "generation.failed": events.generationFailed,
      },
    ),
    gauge(
      "kicks_5m",
      "Kicks of the last five minutes by outcome; failed: also requests of others.",
      "outcome",
      pick(kicks, "accepted", "refused", "failed"),
    ),
    gauge("costs_today_micros", `Costs of the submits of today, ${BY_UTC}`, "state", costs && costsOf(costs.today)),
    gauge(
      "costs_month_micros",
      `Costs of the submits of this month, ${BY_UTC}`,
      "state",
      costs && costsOf(costs.month),
    ),
    gauge(
      "last_kick_ok",
      "1: the last kick was acknowledged, or accepted and no earlier one waits for 20 s; 0: not; absent: not known.",
      "function",
      { generate: isOk("generate"), deliver: isOk("deliver") },
    ),
    single("models_unavailable", "Enabled models that a start cannot use.", figures.unavailableModels?.length),
    single(
      "rows_skipped",
      "Rows that the database refuses, and that are skipped until their next try.",
      figures.skipped?.count,
    ),
    single(
      "oldest_transaction_seconds",
      "Age of the oldest of the transactions that Keyframe's work waits for, or may wait for; at most five are examined.",
      blockers && Math.max(0, ...blockers.map(({ seconds }) => seconds ?? 0)),
    ),
    single(
      "sessions_blocked",
      "Sessions that wait for such a transaction.",
      blockers && sum(blockers.map(({ blocks }) => blocks)),
    ),
    single(
      "clock_back_seconds",
      "How far the database's clock has been set back, in seconds.",
      figures.clockBackSeconds,
    ),
    single("figures_unread", "Parts of these figures that could not be read.", figures.unread.length),
    ...gauges(shape.settings, "", alone(figures.settings), {
      isReadOnly: "database_read_only",
      hasSettings: "settings_exist",
    }),
    ...gauges(shape.calls, "", alone(figures.calls), { slow: "calls_slow", slowestSeconds: "calls_slowest_seconds" }),
    ...gauges(shape.predictions, "", alone(predictions), {
      oldestWaitingSeconds: "predictions_oldest_waiting_seconds",
      retrying: "predictions_retrying",
      runsToCancel: "provider_runs_to_cancel",
    }),
    ...gauges(shape.deliveries, "", alone(deliveries), {
      oldestDueSeconds: "deliveries_oldest_due_seconds",
      endpointsDisabled: "webhook_endpoints_disabled",
      unsignedEndpoints: "webhook_endpoints_unsigned",
    }),
    ...gauges(shape.kicks, "", alone(kicks), {
      unsent: "kicks_unsent",
      othersUnsent: "pg_net_others_unsent",
      oldestUnsentSeconds: "kicks_oldest_unsent_seconds",
    }),
    ...gauges(shape.lastKicks.unwrap().shape.generate, "function", lastKicks ?? {}, {
      status: "last_kick_status",
      madeSeconds: "last_kick_made_seconds",
      acknowledgedAfterSeconds: "last_kick_acknowledged_after_seconds",
    }),
    ...gauges(shape.workers.unwrap().shape.generate, "function", workers ?? {}, {
      claimedSeconds: "worker_claimed_seconds",
      isProcess: "worker_is_process",
      oldestKickSeconds: "worker_oldest_kick_seconds",
      callSeconds: "worker_call_seconds",
      slowWork: "worker_slow_work",
    }),
    gauge(
      "worker_leased",
      "Pieces of work that are leased.",
      "function",
      ofEach(workers, ({ leased }) => leased.open),
    ),
    gauge(
      "worker_leased_slow",
      "Pieces of work that wait for something slow.",
      "function",
      ofEach(workers, ({ leased }) => sum(leased.slow.map(({ open }) => open))),
    ),
    ...gauges(shape.jobs.unwrap().valueType, "job", figures.jobs ?? {}, {
      scheduled: "cron_scheduled",
      lastSuccessSeconds: "cron_last_success_seconds",
      isLate: "cron_late",
    }),
    ...gauges(shape.fileRemovals, "", alone(figures.fileRemovals), {
      pending: "file_removals",
      oldestSeconds: "file_removals_oldest_seconds",
    }),
    ...gauges(shape.costs.unwrap().shape.today, "period", costs ? { day: costs.today, month: costs.month } : {}, {
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

const costsOf = ({ settledMicros, heldMicros, unknownMicros }: Part<"costs">["today"]) => ({
  settled: settledMicros,
  held: heldMicros,
  unknown: unknownMicros,
});

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

const pick = <Name extends string>(part: Record<Name, Value> | null, ...names: Name[]): Values | null =>
  part && Object.fromEntries(names.map((name) => [name, part[name]]));

const ofEach = <Of>(part: Record<string, Of> | null, toValue: (of: Of) => Value): Values | null =>
  part && Object.fromEntries(Object.entries(part).map(([key, of]) => [key, toValue(of)]));

/** Wraps a value that has no label. */
const alone = <Of>(of: Of): Record<string, Of> => ({ "": of });
const single = (name: string, help: string, value: Value): string => gauge(name, help, "", alone(value));

/**
 * A metric for each figure in `names`, under the name given there. The help is the figure's description in the contract. The keys of `groups`
 * are the label's values; a group that could not be read is null. A missing age of the oldest is 0; other missing values are left out.
 */
function gauges<Group extends object>(
  schema: z.ZodType,
  label: string,
  groups: Record<string, Group | null>,
  names: Partial<Record<keyof Group, string>>,
): string[] {
  const object = schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  const shape = object instanceof z.ZodObject ? object.shape : {};
  return Object.entries<string>(names as Record<string, string>).map(([field, name]) => {
    const values = ofEach(groups, (group) => {
      const value = group && (Reflect.get(group, field) as Value); // every field named here is a figure
      return group === null ? null : (value ?? (field.startsWith("oldest") ? 0 : null));
    });
    return gauge(name, shape[field]?.meta()?.description ?? "", label, values);
  });
}

type Value = number | boolean | null | undefined;
type Values = Record<string, Value>;

/**
 * One metric: https://prometheus.io/docs/instrumenting/exposition_formats. The keys of `values` are the values of its label, or "" without a
 * label. What could not be read is left out. Nothing is escaped, because names, helps and labels are all written here, in the contract and in
 * keyframe_private.jobs.
 */
function gauge(name: string, help: string, label: string, values: Values | null): string {
  const samples = Object.entries(values ?? {}).flatMap(([key, value]) =>
    value == null ? [] : `keyframe_${name}${key === "" ? "" : `{${label}="${key}"}`} ${Number(value)}\n`,
  );
  if (samples.length === 0) return "";
  return `# HELP keyframe_${name} ${help}\n# TYPE keyframe_${name} gauge\n${samples.join("")}`;
}
