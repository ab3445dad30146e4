import type { Input } from "./check-input.ts";
import type { FaultName } from "./faults.ts";

export const statuses = ["starting", "processing", "succeeded", "failed", "canceled", "aborted"] as const;
export type Status = (typeof statuses)[number];
export const eventTypes = ["start", "output", "logs", "completed"] as const;
export type EventType = (typeof eventTypes)[number];

/** What a run received and made, or was to make. */
export type Quantities = Record<"run" | "image" | "second" | "input_megapixel" | "output_megapixel", number>;

export type Prediction = {
  readonly id: string;
  readonly model: string;
  input: Input;
  output: string | string[] | null;
  logs: string;
  error: string | null;
  status: Status;
  dataRemoved: boolean;
  readonly createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  readonly deadline: Date | null;
  readonly webhook: string | null;
  /** The response to its create was lost. */
  readonly answerLost: boolean;
  /** A cancel was requested, before or after its end. */
  cancelAsked: boolean;
  readonly webhookEvents: readonly EventType[] | null;
  /** By the simulated clock; expiry counts from it. */
  endedAt: number | null;
  /** What it received and made, or was to make, as far as it got. */
  quantities: Quantities;
  /** Whether it is billed; false until it has ended. */
  isBilled: boolean;
  readonly faults: ReadonlyMap<FaultName, string>;
  /** Aborted with a {@link Stop} to end the run early. */
  readonly stop: AbortController;
  /** Resolves when the prediction has ended in any way. */
  readonly ended: Promise<void>;
  readonly markEnded: () => void;
};

/** Why a run ends early. */
export class Stop extends Error {
  readonly status: "canceled" | "aborted";
  constructor(status: "canceled" | "aborted") {
    super(`the prediction was ${status}`);
    this.status = status;
  }
}

export function hasEnded(prediction: Prediction): boolean {
  return prediction.status !== "starting" && prediction.status !== "processing";
}

/** The prediction as in the provider's API and callbacks. */
export function predictionJson(prediction: Prediction, baseUrl: string): Record<string, unknown> {
  const { startedAt, completedAt, isBilled, quantities } = prediction;
  const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
  return {
    id: prediction.id,
    model: prediction.model,
    version: "hidden",
    input: prediction.dataRemoved ? {} : prediction.input,
    output: prediction.output,
    logs: prediction.logs,
    error: prediction.error,
    status: prediction.status,
    source: "api",
    data_removed: prediction.dataRemoved,
    created_at: prediction.createdAt.toISOString(),
    started_at: startedAt?.toISOString() ?? null,
    completed_at: completedAt?.toISOString() ?? null,
    ...(prediction.deadline ? { deadline: prediction.deadline.toISOString() } : {}),
    metrics: completedAt
      ? {
          ...(startedAt ? { predict_time: seconds(startedAt, completedAt) } : {}),
          total_time: seconds(prediction.createdAt, completedAt),
          ...(isBilled && !prediction.faults.has("metrics_missing") ? figures(quantities) : {}),
        }
      : {},
    urls: {
      get: `${baseUrl}/v1/predictions/${prediction.id}`,
      cancel: `${baseUrl}/v1/predictions/${prediction.id}/cancel`,
      web: `${baseUrl}/p/${prediction.id}`,
    },
    ...(prediction.webhook ? { webhook: prediction.webhook } : {}),
    ...(prediction.webhookEvents ? { webhook_events_filter: prediction.webhookEvents } : {}),
  };
}

/** What the provider counted, under its names. */
function figures({ image, second }: Quantities): Record<string, number> {
  return second > 0 ? { video_output_count: 1, video_output_duration_seconds: second } : { image_output_count: image };
}
