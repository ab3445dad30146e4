import { z } from "zod";
import { id, text } from "./fields.ts";

/** The events an endpoint can ask for; none asked for means all of them. */
export const EVENT_TYPES = ["project.created", "generation.succeeded", "generation.failed"] as const;

const url = text(1, 2048);
const description = text(0, 500);
const enabled = z.boolean({ error: (issue) => (issue.input === undefined ? undefined : "Must be true or false.") });
const eventTypes = z
  .array(z.enum(EVENT_TYPES, { error: `Must be one of ${EVENT_TYPES.join(", ")}.` }))
  .transform((types) => [...new Set(types)]);

/** Body of POST /api/webhooks. Which addresses may be used is decided beyond this schema (shared/webhooks). */
export const createWebhookBody = z.strictObject({
  url,
  description: description.default(""),
  eventTypes: eventTypes.default([]),
  enabled: enabled.default(true),
});

/** Body of PATCH /api/webhooks/:id: what is absent stays as it is. Enabling makes what has waited due at once. */
export const changeWebhookBody = z
  .strictObject({
    url: url.optional(),
    description: description.optional(),
    eventTypes: eventTypes.optional(),
    enabled: enabled.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    error: "Must hold at least one of url, description, eventTypes, enabled.",
  });

/** Body of POST /api/webhooks/:id/secret/rotate: for how long the old secret signs beside the new one; 0 revokes all old ones. */
export const rotateSecretBody = z.strictObject({ overlapHours: z.int().min(0).max(72).default(24) });

/** Body of POST /api/webhooks/:id/recover: what failed, or was missed while disabled, since this time (ISO 8601 with its offset). */
export const recoverWebhookBody = z.strictObject({
  since: z.iso.datetime({
    offset: true,
    error: (issue) =>
      issue.input === undefined ? undefined : "Must be a time in ISO 8601 with its offset, as 2026-11-21T12:00:00Z.",
  }),
});

/** pending: to be sent, or sent again; delivered: answered with 2xx; exhausted: every attempt failed. */
export const deliveryStatus = z.enum(["pending", "delivered", "exhausted"], {
  error: "Must be pending, delivered or exhausted.",
});

/** Query of GET /api/webhooks/:id/deliveries. `cursor` is the nextCursor of the page before. */
export const listDeliveriesQuery = z.strictObject({
  status: deliveryStatus.optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, "Must be a whole number from 1 to 100.")
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 100, "Must be a whole number from 1 to 100.")
    .default(20),
  cursor: z.string().optional(),
});

/** Why an endpoint gets nothing: its owner said so, it answered 410, or it did nothing but fail for five days. */
export const disabledReason = z.enum(["by_owner", "gone", "failing"]);

/**
 * Where a receiver listens, on the wire. Times are ISO 8601 in UTC. An empty `eventTypes` means all events; `failingSince`
 * is the time since which every attempt failed. `serviceWide`: it belongs to nobody and gets everybody's events.
 */
export const webhook = z.object({
  webhookId: id,
  url: z.string(),
  description: z.string(),
  eventTypes: z.array(z.string()),
  enabled: z.boolean(),
  disabledAt: z.iso.datetime().nullable(),
  disabledReason: disabledReason.nullable(),
  failingSince: z.iso.datetime().nullable(),
  serviceWide: z.boolean(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Webhook = z.infer<typeof webhook>;

/** Answer of GET /api/webhooks, newest first. There are so few that they come in one page. */
export const webhookList = z.object({ webhooks: z.array(webhook) });

/** Answer of GET /api/webhooks/:id/secret and of its rotation: the secret that signs now, whsec_ and base64. */
export const webhookSecretAnswer = z.object({ secret: z.string() });

/** Answer of POST /api/webhooks. */
export const createdWebhook = webhook.extend(webhookSecretAnswer.shape);

/**
 * One request of a delivery. `error` is a class (http_status, timeout, connection, dns, tls, address, redirect, too_large),
 * `responseExcerpt` the first 1 KiB of the answer.
 */
export const deliveryAttempt = z.object({
  attempt: z.int(),
  startedAt: z.iso.datetime(),
  durationMs: z.int(),
  statusCode: z.int().nullable(),
  error: z.string().nullable(),
  responseExcerpt: z.string().nullable(),
});

/** One event for one endpoint, on the wire. `eventId` is the webhook-id of every attempt; `nextAttemptAt` null unless pending. */
export const delivery = z.object({
  deliveryId: id,
  webhookId: id,
  eventId: id,
  eventType: z.string(),
  status: deliveryStatus,
  attempts: z.int(),
  nextAttemptAt: z.iso.datetime().nullable(),
  lastAttemptAt: z.iso.datetime().nullable(),
  lastStatusCode: z.int().nullable(),
  lastError: z.string().nullable(),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
  attemptLog: z.array(deliveryAttempt),
});
export type Delivery = z.infer<typeof delivery>;

/** Answer of GET /api/webhooks/:id/deliveries, newest first; `nextCursor` null on the last page. */
export const deliveryPage = z.object({ deliveries: z.array(delivery), nextCursor: z.string().nullable() });

/** Answer of POST /api/webhooks/:id/recover: how many deliveries were set going. */
export const recoveredDeliveries = z.object({ recovered: z.int() });
