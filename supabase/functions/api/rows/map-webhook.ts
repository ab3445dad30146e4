import { z } from "zod";
import { type Delivery, deliveryStatus, disabledReason, type Webhook } from "../../../../shared/contract/webhooks.ts";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";
import { isoTime } from "./map-prediction.ts";

/** A row of webhook_endpoints. */
export const endpointRow = z.object({
  id: z.string(),
  owner_id: z.string().nullable(),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  enabled: z.boolean(),
  max_in_flight: z.int(),
  disabled_at: isoTime.nullable(),
  disabled_reason: disabledReason.nullable(),
  failing_since: isoTime.nullable(),
  created_at: isoTime,
  updated_at: isoTime,
});

/** A delivery from keyframe_private.delivery_json. `created_at` keeps the format of Postgres, because a cursor needs its microseconds. */
export const deliveryRow = z.object({
  id: z.string(),
  endpoint_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  project_id: z.string().nullable(),
  project_title: z.string().nullable(),
  prediction_id: z.string().nullable(),
  status: deliveryStatus,
  attempts: z.int(),
  next_attempt_at: isoTime,
  last_attempt_at: isoTime.nullable(),
  last_status_code: z.int().nullable(),
  last_error: z.string().nullable(),
  created_at: z.iso.datetime({ offset: true }),
  completed_at: isoTime.nullable(),
  attempt_log: z.array(
    z.object({
      attempt: z.int(),
      started_at: isoTime,
      duration_ms: z.int(),
      status_code: z.int().nullable(),
      error: z.string().nullable(),
      response_excerpt: z.string().nullable(),
    }),
  ),
  body: z.string(),
});

export const mapEndpoint = (row: z.infer<typeof endpointRow>): Webhook => ({
  webhookId: row.id,
  url: row.url,
  description: row.description,
  eventTypes: row.event_types,
  enabled: row.enabled,
  maxInFlight: row.max_in_flight,
  disabledAt: row.disabled_at,
  disabledReason: row.disabled_reason,
  failingSince: row.failing_since,
  serviceWide: row.owner_id === null,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** With its attempts, first to last. */
export const mapDelivery = (row: z.infer<typeof deliveryRow>): Delivery => ({
  deliveryId: row.id,
  webhookId: row.endpoint_id,
  eventId: row.event_id,
  eventType: row.event_type,
  projectId: row.project_id,
  projectTitle: row.project_title,
  predictionId: row.prediction_id,
  status: row.status,
  attempts: row.attempts,
  nextAttemptAt: row.status === "pending" ? row.next_attempt_at : null,
  lastAttemptAt: row.last_attempt_at,
  lastStatusCode: row.last_status_code,
  lastError: row.last_error,
  createdAt: isoTime.parse(row.created_at),
  completedAt: row.completed_at,
  attemptLog: row.attempt_log.map((one) => ({
    attempt: one.attempt,
    startedAt: one.started_at,
    durationMs: one.duration_ms,
    statusCode: one.status_code,
    error: one.error,
    responseExcerpt: one.response_excerpt,
    requestHeaders: requestHeaders(row.event_id, new Date(one.started_at)),
  })),
  body: row.body,
});
