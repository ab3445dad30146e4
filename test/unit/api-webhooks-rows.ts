import { OWNER, PROJECT } from "./api-fixture.ts";

export const WEBHOOK = "3f0c6a7b-8801-4b1c-9a52-0d43d0ea4fe3";
export const DELIVERY = "9d0b0a4f-6f3f-4c11-8d3f-1c525a0e4f6e";
export const EVENT = "1a2b3c4d-5e6f-4a1b-8c7d-0e8a1f3c2a1b";
export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";

/** A row of webhook_endpoints as PostgREST gives it; `fields` replaces some. */
export const endpointRow = (fields: Record<string, unknown> = {}) => ({
  id: WEBHOOK,
  owner_id: OWNER,
  url: "https://hooks.example.com/keyframe",
  description: "The studio's own",
  event_types: ["generation.failed"],
  enabled: true,
  max_in_flight: 8,
  disabled_at: null,
  disabled_reason: null,
  failing_since: null,
  created_at: "2026-11-21T13:00:00.123456+01:00",
  updated_at: "2026-11-21T12:00:01+00:00",
  ...fields,
});

/** The same on the wire. */
export const endpointOnWire = {
  webhookId: WEBHOOK,
  url: "https://hooks.example.com/keyframe",
  description: "The studio's own",
  eventTypes: ["generation.failed"],
  enabled: true,
  maxInFlight: 8,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  serviceWide: false,
  createdAt: "2026-11-21T12:00:00.123Z",
  updatedAt: "2026-11-21T12:00:01.000Z",
};

/** A delivery as keyframe_private.delivery_json gives it. */
export const deliveryRow = (fields: Record<string, unknown> = {}) => ({
  id: DELIVERY,
  event_id: EVENT,
  endpoint_id: WEBHOOK,
  owner_id: OWNER,
  event_type: "generation.succeeded",
  project_id: PROJECT,
  project_title: "Harbour",
  prediction_id: null,
  status: "pending",
  attempts: 1,
  next_attempt_at: "2026-11-21T12:05:00+00:00",
  last_attempt_at: "2026-11-21T12:00:00.5+00:00",
  last_status_code: 500,
  last_error: "http_status",
  created_at: "2026-11-21T12:00:00.123456+00:00",
  completed_at: null,
  attempt_log: [
    {
      attempt: 1,
      started_at: "2026-11-21T12:00:00.5+00:00",
      duration_ms: 41,
      status_code: 500,
      error: "http_status",
      response_excerpt: "Oops",
    },
  ],
  body: '{"type": "generation.succeeded"}',
  ...fields,
});

/** The same on the wire. */
export const deliveryOnWire = {
  deliveryId: DELIVERY,
  webhookId: WEBHOOK,
  eventId: EVENT,
  eventType: "generation.succeeded",
  projectId: PROJECT,
  projectTitle: "Harbour",
  predictionId: null,
  status: "pending",
  attempts: 1,
  nextAttemptAt: "2026-11-21T12:05:00.000Z",
  lastAttemptAt: "2026-11-21T12:00:00.500Z",
  lastStatusCode: 500,
  lastError: "http_status",
  createdAt: "2026-11-21T12:00:00.123Z",
  completedAt: null,
  attemptLog: [
    {
      attempt: 1,
      startedAt: "2026-11-21T12:00:00.500Z",
      durationMs: 41,
      statusCode: 500,
      error: "http_status",
      responseExcerpt: "Oops",
      requestHeaders: {
        "webhook-id": EVENT,
        "webhook-timestamp": "1795262400",
        "content-type": "application/json",
        "user-agent": "Keyframe-Webhooks/1",
      },
    },
  ],
  body: '{"type": "generation.succeeded"}',
};
