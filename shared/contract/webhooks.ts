import { z } from "zod";
import { changeBody, id, line, nextCursor, pageFields, time } from "./fields.ts";
import { SAMPLE_DELIVERY, SAMPLE_WEBHOOK } from "./samples.ts";

/** The event types an endpoint can select. */
export const EVENT_TYPES = [
  "project.created",
  "generation.succeeded",
  "generation.failed",
  "budget.exhausted",
  "balance.low",
  "balance.exhausted",
] as const;

const url = line(1, 2048).describe("An https URL of a public address.");
const description = line(0, 500).describe("The purpose of the endpoint, in one line.");
const enabled = z
  .boolean({ error: (issue) => (issue.input === undefined ? undefined : "Must be true or false.") })
  .describe("Whether events are sent to it.");
const eventTypes = z
  .array(z.enum(EVENT_TYPES, { error: `Must be one of ${EVENT_TYPES.join(", ")}.` }))
  .transform((types) => [...new Set(types)])
  .describe("Which events to send; an empty list means all of them.");
const MAX_IN_FLIGHT = 8;
const maxInFlight = z
  .int()
  .min(1)
  .max(MAX_IN_FLIGHT)
  .describe("How many requests to it may be open at once. `1`: one after the other, oldest event first.");

/** shared/webhooks/check-url.ts checks the URL further. */
export const createWebhookBody = z
  .strictObject({
    url,
    description: description.default("").describe("The purpose of the endpoint. Default: empty."),
    eventTypes: eventTypes
      .default([])
      .describe("Which events to send. Default: an empty list, which means all of them."),
    enabled: enabled.default(true).describe("Whether events are sent to it. Default: `true`."),
    maxInFlight: maxInFlight
      .default(MAX_IN_FLIGHT)
      .describe(
        "How many requests to it may be open at once. `1`: one after the other, oldest event first. Default: `8`.",
      ),
  })
  .meta({ id: "CreateWebhook" });

export const changeWebhookBody = changeBody("ChangeWebhook", {
  url: url.optional(),
  description: description.optional(),
  eventTypes: eventTypes.optional(),
  enabled: enabled.optional(),
  maxInFlight: maxInFlight.optional(),
});

export const rotateSecretBody = z
  .strictObject({
    overlapHours: z
      .int()
      .min(0)
      .max(72)
      .default(24)
      .describe(
        "How many hours the old secret signs beside the new one; 0 revokes every old one at once. Default: `24`.",
      ),
  })
  .meta({ id: "RotateSecret" });

export const recoverWebhookBody = z
  .strictObject({
    since: z.iso
      .datetime({
        offset: true,
        error: (issue) =>
          issue.input === undefined
            ? undefined
            : "Must be a time in ISO 8601 with an offset, such as 2026-11-21T12:00:00Z.",
      })
      .describe("ISO 8601 with an offset."),
  })
  .meta({ id: "RecoverWebhook" });

const deliveryStatus = z
  .enum(["pending", "delivered", "exhausted"], {
    error: "Must be pending, delivered or exhausted.",
  })
  .meta({
    id: "DeliveryStatus",
    description: "pending: to be sent or retried; delivered: answered with 2xx; exhausted: every attempt failed.",
  });

export const listDeliveriesQuery = z.strictObject({
  status: deliveryStatus.optional(),
  eventType: z
    .enum([...EVENT_TYPES, "webhook.test"], { error: `Must be one of ${EVENT_TYPES.join(", ")}, webhook.test.` })
    .optional()
    .describe("Only deliveries of this event."),
  ...pageFields,
});

export const webhookPath = z.strictObject({ webhookId: id });
export const deliveryPath = z.strictObject({ deliveryId: id });

export const disabledReason = z.enum(["by_owner", "gone", "failing"]).meta({
  id: "DisabledReason",
  description:
    "by_owner: disabled by its owner. gone: it answered 410. failing: every attempt failed for five days, by default.",
});

/**
 * `failingSince`: when the failures began, or when the endpoint was enabled again after the service had disabled it; null after a success.
 * `serviceWide`: the endpoint has no owner and receives the events of all users.
 */
export const webhook = z
  .object({
    webhookId: id,
    url: z.string(),
    description: z.string(),
    eventTypes: z.array(z.string()),
    enabled: z.boolean(),
    maxInFlight: z.int(),
    disabledAt: time.nullable(),
    disabledReason: disabledReason.nullable(),
    failingSince: time.nullable(),
    serviceWide: z.boolean(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: "Webhook", examples: [SAMPLE_WEBHOOK] });
export type Webhook = z.infer<typeof webhook>;

export const webhookList = z.object({ webhooks: z.array(webhook) }).meta({ id: "WebhookList" });

export const webhookSecretAnswer = z
  .object({
    secret: z.string().describe("The current signing secret of Standard Webhooks: whsec_ and base64."),
  })
  .meta({ id: "WebhookSecret" });

export const createdWebhook = z
  .object({ ...webhook.shape, ...webhookSecretAnswer.shape })
  .meta({ id: "CreatedWebhook" });

/**
 * `error`: http_status, timeout, connection, dns, tls, address, redirect, too_large or not_signed. `responseExcerpt`: the first 1 KiB of
 * the answer.
 */
const deliveryAttempt = z
  .object({
    attempt: z.int(),
    startedAt: time,
    durationMs: z.int(),
    statusCode: z.int().nullable(),
    error: z.string().nullable(),
    responseExcerpt: z.string().nullable(),
    requestHeaders: z
      .object({
        "webhook-id": id,
        "webhook-timestamp": z.string(),
        "content-type": z.string(),
        "user-agent": z.string(),
      })
      .describe(
        "The headers of the request, without `webhook-signature`. Signatures are not stored: anyone who reads one could repeat the request for five minutes.",
      ),
  })
  .meta({ id: "DeliveryAttempt" });

/** `eventId` is the webhook-id of every attempt; `nextAttemptAt` is null unless pending. */
export const delivery = z
  .object({
    deliveryId: id,
    webhookId: id,
    eventId: id,
    eventType: z.string(),
    projectId: id.nullable().describe("The project of the event; null for `webhook.test`."),
    projectTitle: z.string().nullable().describe("Its current title; null when the project was deleted."),
    predictionId: id.nullable().describe("The prediction of the event; null for other events."),
    status: deliveryStatus,
    attempts: z.int(),
    nextAttemptAt: time.nullable(),
    lastAttemptAt: time.nullable(),
    lastStatusCode: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: time,
    completedAt: time.nullable(),
    attemptLog: z.array(deliveryAttempt),
    body: z.string().describe("The body of every attempt, byte for byte as it is signed and sent."),
  })
  .meta({ id: "Delivery", examples: [SAMPLE_DELIVERY] });
export type Delivery = z.infer<typeof delivery>;

export const deliveryPage = z.object({ deliveries: z.array(delivery), nextCursor }).meta({ id: "DeliveryPage" });

export const recoveredDeliveries = z.object({ recovered: z.int() }).meta({ id: "RecoveredDeliveries" });
