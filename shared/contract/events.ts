import { z } from "zod";
import { MEDIA_EXTENSIONS } from "../media/media.ts";
import { cost } from "./costs.ts";
import { id, step } from "./fields.ts";
import { FAILURE_CODES } from "./predictions.ts";

/** ISO 8601 in UTC with milliseconds, as Postgres writes it: `2026-03-01T09:30:00.000Z`. */
const time = z.iso.datetime({ precision: 3 });

export const projectCreated = z.strictObject({
  type: z.literal("project.created"),
  /** When the project was created. */
  timestamp: time,
  data: z.strictObject({
    projectId: id,
    ownerId: id,
    /** Only if the project was created as a shot of a film. */
    filmId: id.optional(),
    title: z.string(),
    textPrompt: z.string(),
    description: z.string(),
    createdAt: time,
    /** Only if textPrompt and description were shortened, so that the body stays within 20 kB. Read them from the API. */
    truncated: z.literal(true).optional(),
  }),
});

/** The fields of every event about a prediction. */
const generation = {
  predictionId: id,
  projectId: id,
  ownerId: id,
  /** Only if the project was a shot of a film at that time. */
  filmId: id.optional(),
  step,
  /** The provider's name of the model: `owner/name`. */
  model: z.string(),
  /** The default model, if it was not available and `model` replaced it. */
  requestedModel: z.string().optional(),
  /** In millionths of a dollar. amountMicros is null while the cost is open or unknown: read the prediction later. */
  cost: z.strictObject(cost.shape).optional(),
  createdAt: time,
  completedAt: time,
};

export const generationSucceeded = z.strictObject({
  type: z.literal("generation.succeeded"),
  /** When the prediction ended: data.completedAt. */
  timestamp: time,
  data: z.strictObject({
    ...generation,
    output: z.strictObject({
      /** `<ownerId>/<projectId>/<predictionId>.<extension>` in the private bucket `keyframe-outputs`. */
      path: z.string(),
      /** Detected from the file's bytes. */
      contentType: z.enum(Object.keys(MEDIA_EXTENSIONS)),
      bytes: z.int().positive(),
      /** Lower-case hex of the stored file's SHA-256. */
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      /** Pixels. Left out when the file does not say them. */
      width: z.int().positive().optional(),
      height: z.int().positive().optional(),
      /** Only for a video whose file states it. */
      durationSeconds: z.number().positive().optional(),
      /** Whether the file has sound. Left out for images, and when the file does not say it. */
      hasAudio: z.boolean().optional(),
    }),
  }),
});

export const generationFailed = z.strictObject({
  type: z.literal("generation.failed"),
  /** When the prediction ended: data.completedAt. */
  timestamp: time,
  error: z.strictObject({
    code: z.enum(FAILURE_CODES),
    /** A sentence for a person. */
    message: z.string(),
    retryable: z.boolean(),
    /** Only for content_rejected: whether the provider rejected the inputs or its own output, where it says so. */
    stage: z.enum(["input", "output"]).optional(),
  }),
  data: z.strictObject(generation),
});

export const budgetExhausted = z.strictObject({
  type: z.literal("budget.exhausted"),
  timestamp: time,
  data: z.strictObject({
    /** Only for a budget of one owner. */
    ownerId: id.optional(),
    scope: z.enum(["owner", "service"]),
    period: z.enum(["day", "month"]),
    /** Millionths of a dollar. Only for a budget of one owner. */
    limitMicros: z.int().min(0).optional(),
    /** When the next period begins. */
    resetsAt: time,
  }),
});

export const balanceLow = z.strictObject({
  type: z.literal("balance.low"),
  timestamp: time,
  data: z.strictObject({
    ownerId: id,
    /** Millionths of a dollar, at that time. */
    availableMicros: z.int(),
    thresholdMicros: z.int().min(0),
  }),
});

export const balanceExhausted = z.strictObject({
  type: z.literal("balance.exhausted"),
  timestamp: time,
  data: z.strictObject({
    ownerId: id,
    availableMicros: z.int(),
    /** Upper bound for the cost of the refused start. */
    estimateMicros: z.int().min(0),
  }),
});

export const webhookTest = z.strictObject({
  type: z.literal("webhook.test"),
  timestamp: time,
  data: z.strictObject({ endpointId: id }),
});

/**
 * The body of every webhook, by its `type`; at most 20 kB of JSON. Strict: no other field is sent. openapi/events.ts says when each is sent.
 * Events about an owner's budget or balance go to the owner's endpoints and to service-wide ones.
 * The identifier of the event is in the header `webhook-id`, not in the body.
 */
export const webhookEvent = z.discriminatedUnion("type", [
  projectCreated,
  generationSucceeded,
  generationFailed,
  budgetExhausted,
  balanceLow,
  balanceExhausted,
  webhookTest,
]);
export type WebhookEvent = z.infer<typeof webhookEvent>;
