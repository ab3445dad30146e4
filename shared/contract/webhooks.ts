import { z } from "zod";
import { id, line, time } from "./fields.ts";
import { nextCursor, pageQuery } from "./pages.ts";
import { SAMPLE_DELIVERY, SAMPLE_WEBHOOK } from "./samples.ts";

/** The events an endpoint can ask for; none asked for means all of them. */
export const EVENT_TYPES = ["project.created", "generation.succeeded", "generation.failed"] as const;

const url = line(1, 2048).meta({ description: "https, to a public address." });
const description = line(0, 500).meta({ description: "What the endpoint is for, in one line." });
const enabled = z
  .boolean({ error: (issue) => (issue.input === undefined ? undefined : "Must be true or false.") })
  .meta({ description: "Whether events are sent to it." });
const eventTypes = z
  .array(z.enum(EVENT_TYPES, { error: `Must be one of ${EVENT_TYPES.join(", ")}.` }))
  .transform((types) => [...new Set(types)])
  .meta({ description: "Which events to send; an empty list means all of them." });

/** Body of POST /api/webhooks. Which addresses may be used is decided beyond this schema (shared/webhooks). */
export const createWebhookBody = z
  .strictObject({
    url,
    description: description.default("").meta({ description: "What the endpoint is for. Default: empty." }),
    eventTypes: eventTypes
      .default([])
      .meta({ description: "Which events to send. Default: an empty list, which means all of them." }),
    enabled: enabled.default(true).meta({ description: "Whether events are sent to it. Default: `true`." }),
  })
  .meta({ id: "CreateWebhook" });

/** Body of PATCH /api/webhooks/:webhookId: what is absent stays as it is. Enabling makes what has waited due at once. */
export const changeWebhookBody = z
  .strictObject({
    url: url.optional(),
    description: description.optional(),
    eventTypes: eventTypes.optional(),
    enabled: enabled.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    error: "Must hold at least one of url, description, eventTypes, enabled.",
  })
  .meta({ id: "ChangeWebhook", minProperties: 1 });

/** Body of POST /api/webhooks/:webhookId/secret/rotate: for how long the old secret signs beside the new one; 0 revokes all old ones. */
export const rotateSecretBody = z
  .strictObject({
    overlapHours: z.int().min(0).max(72).default(24).meta({
      description:
        "For how long the old secret signs beside the new one; 0 revokes every old one at once. Default: `24`.",
    }),
  })
  .meta({ id: "RotateSecret" });

/** Body of POST /api/webhooks/:webhookId/recover: what failed, or was missed while disabled, since this time (ISO 8601 with its offset). */
export const recoverWebhookBody = z
  .strictObject({
    since: z.iso
      .datetime({
        offset: true,
        error: (issue) =>
          issue.input === undefined
            ? undefined
            : "Must be a time in ISO 8601 with its offset, as 2026-11-21T12:00:00Z.",
      })
      .meta({ description: "ISO 8601 with its offset." }),
  })
  .meta({ id: "RecoverWebhook" });

/** pending: to be sent, or sent again; delivered: answered with 2xx; exhausted: every attempt failed. */
export const deliveryStatus = z
  .enum(["pending", "delivered", "exhausted"], {
    error: "Must be pending, delivered or exhausted.",
  })
  .meta({
    id: "DeliveryStatus",
    description: "pending: to be sent, or sent again; delivered: answered with 2xx; exhausted: every attempt failed.",
  });

/** Query of GET /api/webhooks/:webhookId/deliveries. */
export const listDeliveriesQuery = z.strictObject({
  status: deliveryStatus.optional(),
  eventType: z
    .enum([...EVENT_TYPES, "webhook.test"], { error: `Must be one of ${EVENT_TYPES.join(", ")}, webhook.test.` })
    .optional()
    .meta({ description: "Only deliveries of this event." }),
  ...pageQuery,
});

/** Path of what concerns one endpoint, or one delivery. */
export const webhookPath = z.strictObject({ webhookId: id });
export const deliveryPath = z.strictObject({ deliveryId: id });

/** Why an endpoint gets nothing: its owner said so, it answered 410, or it did nothing but fail for five days. */
export const disabledReason = z.enum(["by_owner", "gone", "failing"]).meta({
  id: "DisabledReason",
  description: "Its owner said so, it answered 410, or it did nothing but fail for five days.",
});

/**
 * Where a receiver listens, on the wire. Times are ISO 8601 in UTC. An empty `eventTypes` means all events; `failingSince`
 * is the time since which every attempt failed, or when it was enabled again after the service had disabled it, until the
 * first success. `serviceWide`: it belongs to nobody and gets everybody's events.
 */
export const webhook = z
  .object({
    webhookId: id,
    url: z.string(),
    description: z.string(),
    eventTypes: z.array(z.string()),
    enabled: z.boolean(),
    disabledAt: time.nullable(),
    disabledReason: disabledReason.nullable(),
    failingSince: time.nullable(),
    serviceWide: z.boolean(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: "Webhook", examples: [SAMPLE_WEBHOOK] });
export type Webhook = z.infer<typeof webhook>;

/** Answer of GET /api/webhooks, newest first. There are so few that they come in one page. */
export const webhookList = z.object({ webhooks: z.array(webhook) }).meta({ id: "WebhookList" });
export type WebhookList = z.infer<typeof webhookList>;

/** Answer of GET /api/webhooks/:webhookId/secret and of its rotation: the secret that signs now, whsec_ and base64. */
export const webhookSecretAnswer = z
  .object({ secret: z.string().meta({ description: "whsec_ and base64, as Standard Webhooks has it." }) })
  .meta({ id: "WebhookSecret" });
export type WebhookSecret = z.infer<typeof webhookSecretAnswer>;

/** Answer of POST /api/webhooks. */
export const createdWebhook = z
  .object({ ...webhook.shape, ...webhookSecretAnswer.shape })
  .meta({ id: "CreatedWebhook" });
export type CreatedWebhook = z.infer<typeof createdWebhook>;

/**
 * One request of a delivery. `error` is a class (http_status, timeout, connection, dns, tls, address, redirect, too_large),
 * `responseExcerpt` the first 1 KiB of the answer.
 */
export const deliveryAttempt = z
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
      .meta({
        description:
          "The headers of the request, without `webhook-signature`. Signatures are not stored: for five minutes, whoever reads one could send the request again.",
      }),
  })
  .meta({ id: "DeliveryAttempt" });

/** One event for one endpoint, on the wire. `eventId` is the webhook-id of every attempt; `nextAttemptAt` null unless pending. */
export const delivery = z
  .object({
    deliveryId: id,
    webhookId: id,
    eventId: id,
    eventType: z.string(),
    projectId: id.nullable().meta({ description: "The project of the event; null for `webhook.test`." }),
    projectTitle: z.string().nullable().meta({ description: "Its present title; null when the project was deleted." }),
    predictionId: id.nullable().meta({ description: "The prediction of the event; null for other events." }),
    status: deliveryStatus,
    attempts: z.int(),
    nextAttemptAt: time.nullable(),
    lastAttemptAt: time.nullable(),
    lastStatusCode: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: time,
    completedAt: time.nullable(),
    attemptLog: z.array(deliveryAttempt),
    body: z.string().meta({ description: "The body of every attempt, byte for byte as it is signed and sent." }),
  })
  .meta({ id: "Delivery", examples: [SAMPLE_DELIVERY] });
export type Delivery = z.infer<typeof delivery>;

/** Answer of GET /api/webhooks/:webhookId/deliveries, newest first; `nextCursor` null on the last page. */
export const deliveryPage = z.object({ deliveries: z.array(delivery), nextCursor }).meta({ id: "DeliveryPage" });
export type DeliveryPage = z.infer<typeof deliveryPage>;

/** Answer of POST /api/webhooks/:webhookId/recover: how many deliveries were set going. */
export const recoveredDeliveries = z.object({ recovered: z.int() }).meta({ id: "RecoveredDeliveries" });
export type RecoveredDeliveries = z.infer<typeof recoveredDeliveries>;
