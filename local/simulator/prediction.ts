import type { Input } from "./check-input.ts";
import type { FaultName } from "./faults.ts";

export type Status = "starting" | "processing" | "succeeded" | "failed" | "canceled" | "aborted";
export const EVENT_TYPES = ["start", "output", "logs", "completed"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The input and output of a run. */
export type Quantities = Record<"run" | "image" | "second" | "input_megapixel" | "output_megapixel", number>;

export type Prediction = {
  readonly id: string;
  readonly model: string;
  input: Input;
  output: unknown;
  logs: string;
  error: string | null;
  status: Status;
  dataRemoved: boolean;
  readonly createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  readonly deadline: Date | null;
  readonly webhook: string | null;
  readonly webhookEvents: readonly EventType[] | null;
  /** Whether the response to the create was lost. */
  readonly answerLost: boolean;
  /** Whether a cancel was requested, before or after the run's end. */
  cancelRequested: boolean;
  /** Whether one of its callbacks was answered 2xx. */
  callbackAccepted: boolean;
  /** The end by the simulated clock; expiry counts from here. */
  endedAt: number | null;
  /** What the run used, for its bill. */
  quantities: Quantities;
  /** The run's bill, in micro-dollars. Null when no price applies, or until the run has ended. */
  micros: number | null;
  readonly faults: ReadonlyMap<FaultName, string>;
  /** Aborted with a {@link Stop} to end the run early. */
  readonly stop: AbortController;
  /** Resolved when the run has ended in any way. */
  readonly ended: PromiseWithResolvers<void>;
};

/** Why a run ends early. */
export class Stop extends Error {
  constructor(readonly status: "canceled" | "aborted") {
    super(`the prediction was ${status}`);
  }
}

/** The prediction as in the provider's API and callbacks. */
export function predictionJson(prediction: Prediction, baseUrl: string): Record<string, unknown> {
  const { id, startedAt, createdAt, completedAt, deadline, quantities, dataRemoved } = prediction;
  const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
  // The provider's metrics, with its names.
  const { image, second } = quantities;
  const figures =
    second > 0 ? { video_output_count: 1, video_output_duration_seconds: second } : { image_output_count: image };
  return {
    id,
    model: prediction.model,
    version: "hidden",
    input: dataRemoved ? {} : prediction.input,
    output: prediction.output,
    logs: prediction.logs,
    error: prediction.error,
    status: prediction.status,
    source: "api",
    data_removed: dataRemoved,
    created_at: createdAt.toISOString(),
    started_at: startedAt?.toISOString() ?? null,
    completed_at: completedAt?.toISOString() ?? null,
    ...(deadline ? { deadline: deadline.toISOString() } : {}),
    metrics: completedAt
      ? {
          ...(startedAt ? { predict_time: seconds(startedAt, completedAt) } : {}),
          total_time: seconds(createdAt, completedAt),
          ...(prediction.micros !== 0 && !prediction.faults.has("metrics_missing") ? figures : {}),
        }
      : {},
    urls: {
      get: `${baseUrl}/v1/predictions/${id}`,
      cancel: `${baseUrl}/v1/predictions/${id}/cancel`,
      web: `${baseUrl}/p/${id}`,
    },
    ...(prediction.webhook ? { webhook: prediction.webhook } : {}),
    ...(prediction.webhookEvents ? { webhook_events_filter: prediction.webhookEvents } : {}),
  };
}
