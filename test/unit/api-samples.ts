import { createCanvas } from "@napi-rs/canvas";
import type { OperationId } from "../../shared/contract/operations/index.ts";
import { OWNER, PREDICTION, PROJECT, predictionRow, projectRow, signedFiles, succeededFields } from "./api-fixture.ts";
import { DELIVERY, deliveryRow, endpointRow, SECRET, WEBHOOK } from "./api-webhooks-rows.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";

/** Stands in everything that callers and the database may keep to themselves. No log line may ever hold it. */
export const CANARY = "canary";

/** A request of one operation with all it can carry, the one call of the database it becomes, and what that answers. */
type Sample = {
  path: string;
  /** JSON, or the bytes of an image. */
  body?: unknown;
  sql: { name: string; args: Record<string, unknown> };
  rows: Record<string, unknown>;
};

const canvas = createCanvas(8, 8);
canvas.getContext("2d").fillRect(0, 0, 4, 4);
export const PNG = Uint8Array.from(canvas.toBuffer("image/png"));

const words = (of: string) => `${CANARY} ${of}`;
const url = `https://${CANARY}.example.com/hooks?key=${CANARY}`;
const referenceImagePath = `projects/${CANARY}.png`;
const AFTER = { created_at: "2026-11-21T12:00:00.123456+00:00", id: PREDICTION };
const cursor = btoa(`${AFTER.created_at} ${AFTER.id}`).replaceAll("=", "");
const after = { before_created_at: AFTER.created_at, before_id: AFTER.id };

const project = projectRow({ title: words("title"), text_prompt: words("prompt"), description: words("description") });
const prediction = predictionRow({
  ...succeededFields,
  prompt: words("prompt"),
  output_path: `${OWNER}/${PROJECT}/${CANARY}.png`,
});
const endpoint = endpointRow({ url, description: words("description") });
const delivery = deliveryRow({
  attempt_log: [
    {
      attempt: 1,
      started_at: "2026-11-21T12:00:00.5+00:00",
      duration_ms: 41,
      status_code: 500,
      error: "http_status",
      response_excerpt: words("excerpt"),
    },
  ],
});

const start = (step: string, body: object, args: object): Sample => ({
  path: `/api/projects/generate/${step}`,
  body: { projectId: PROJECT, prompt: words("prompt"), ...body },
  sql: { name: "start_prediction", args: { project_id: PROJECT, step, prompt: words("prompt"), ...args } },
  rows: { prediction, replayed: false },
});
const read = (step: string): Sample => ({
  path: `/api/projects/generate/${step}?projectId=${PROJECT}&predictionId=${PREDICTION}`,
  sql: { name: "read_prediction", args: { project_id: PROJECT, step, prediction_id: PREDICTION } },
  rows: { prediction },
});
const webhook = `/api/webhooks/${WEBHOOK}`;

export const SAMPLES: Record<OperationId, Sample> = {
  createProject: {
    path: "/api/projects",
    body: { title: words("title"), textPrompt: words("prompt"), description: words("description") },
    sql: {
      name: "create_project",
      args: { title: words("title"), text_prompt: words("prompt"), description: words("description") },
    },
    rows: { project, replayed: false },
  },
  listProjects: {
    path: `/api/projects?limit=1&include=predictions&cursor=${cursor}`,
    sql: { name: "list_projects", args: { max_rows: 2, ...after, with_predictions: true } },
    rows: { projects: [{ ...project, predictions: [prediction] }, project] },
  },
  readProject: {
    path: `/api/projects/${PROJECT}`,
    sql: { name: "read_project", args: { project_id: PROJECT } },
    rows: { project, predictions: [prediction] },
  },
  changeProject: {
    path: `/api/projects/${PROJECT}`,
    body: { title: words("title"), textPrompt: words("prompt"), description: words("description") },
    sql: {
      name: "update_project",
      args: {
        project_id: PROJECT,
        changes: { title: words("title"), text_prompt: words("prompt"), description: words("description") },
      },
    },
    rows: { project },
  },
  deleteProject: {
    path: `/api/projects/${PROJECT}`,
    sql: { name: "delete_project", args: { project_id: PROJECT } },
    rows: { project },
  },
  listPredictions: {
    path: `/api/projects/${PROJECT}/predictions?step=first-frame&limit=1&cursor=${cursor}`,
    sql: { name: "list_predictions", args: { project_id: PROJECT, step: "first-frame", max_rows: 2, ...after } },
    rows: { predictions: [prediction, prediction] },
  },
  uploadReferenceImage: {
    path: "/api/projects/reference-images",
    body: PNG,
    sql: { name: "admit_upload", args: {} },
    rows: { file_id: "c2b7a0de-6f3a-4c55-9d4c-0f6f7d1a2b3c", replayed: false },
  },
  startFirstFrame: start("first-frame", { referenceImagePath }, { reference_image_path: referenceImagePath }),
  startLastFrame: start(
    "last-frame",
    { referenceImagePath, firstFramePredictionId: PREDICTION },
    { reference_image_path: referenceImagePath, first_frame_prediction_id: PREDICTION },
  ),
  startVideo: start(
    "video",
    { durationSeconds: 5, firstFramePredictionId: PREDICTION, lastFramePredictionId: PREDICTION },
    { duration_seconds: 5, first_frame_prediction_id: PREDICTION, last_frame_prediction_id: PREDICTION },
  ),
  readFirstFrame: read("first-frame"),
  readLastFrame: read("last-frame"),
  readVideo: read("video"),
  cancelPrediction: {
    path: "/api/projects/generate/cancel",
    body: { projectId: PROJECT, predictionId: PREDICTION },
    sql: { name: "cancel_prediction", args: { project_id: PROJECT, prediction_id: PREDICTION } },
    rows: { prediction, replayed: false },
  },
  createWebhook: {
    path: "/api/webhooks",
    body: { url, description: words("description"), eventTypes: ["project.created"], enabled: false, maxInFlight: 1 },
    sql: {
      name: "create_webhook_endpoint",
      args: {
        url,
        description: words("description"),
        event_types: ["project.created"],
        enabled: false,
        max_in_flight: 1,
      },
    },
    rows: { endpoint, secret: SECRET, replayed: false },
  },
  listWebhooks: {
    path: "/api/webhooks",
    sql: { name: "list_webhook_endpoints", args: {} },
    rows: { endpoints: [endpoint] },
  },
  readWebhook: {
    path: webhook,
    sql: { name: "read_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    rows: { endpoint },
  },
  changeWebhook: {
    path: webhook,
    body: { url, description: words("description"), eventTypes: [], enabled: true, maxInFlight: 8 },
    sql: {
      name: "update_webhook_endpoint",
      args: {
        endpoint_id: WEBHOOK,
        url,
        description: words("description"),
        event_types: [],
        enabled: true,
        max_in_flight: 8,
      },
    },
    rows: { endpoint },
  },
  deleteWebhook: {
    path: webhook,
    sql: { name: "delete_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    rows: { endpoint },
  },
  revealSecret: {
    path: `${webhook}/secret`,
    sql: { name: "reveal_webhook_secret", args: { endpoint_id: WEBHOOK } },
    rows: { secret: SECRET },
  },
  rotateSecret: {
    path: `${webhook}/secret/rotate`,
    body: { overlapHours: 3 },
    sql: { name: "rotate_webhook_secret", args: { endpoint_id: WEBHOOK, overlap_hours: 3 } },
    rows: { secret: SECRET, replayed: false },
  },
  testWebhook: {
    path: `${webhook}/test`,
    body: {},
    sql: { name: "test_webhook_endpoint", args: { endpoint_id: WEBHOOK } },
    rows: { delivery, replayed: false },
  },
  listDeliveries: {
    path: `${webhook}/deliveries?status=exhausted&eventType=webhook.test&limit=1&cursor=${cursor}`,
    sql: {
      name: "list_webhook_deliveries",
      args: { endpoint_id: WEBHOOK, status: "exhausted", event_type: "webhook.test", max_rows: 2, ...after },
    },
    rows: { deliveries: [delivery, delivery] },
  },
  readDelivery: {
    path: `/api/webhooks/deliveries/${DELIVERY}/attempts`,
    sql: { name: "read_webhook_delivery", args: { delivery_id: DELIVERY } },
    rows: { delivery },
  },
  redeliver: {
    path: `/api/webhooks/deliveries/${DELIVERY}/redeliver`,
    body: {},
    sql: { name: "redeliver_webhook", args: { delivery_id: DELIVERY } },
    rows: { delivery, replayed: false },
  },
  recoverWebhook: {
    path: `${webhook}/recover`,
    body: { since: "2026-11-20T00:00:00Z" },
    sql: { name: "recover_webhook_endpoint", args: { endpoint_id: WEBHOOK, since: "2026-11-20T00:00:00Z" } },
    rows: { recovered: 7, replayed: false },
  },
  readHealth: {
    path: "/api/health",
    sql: { name: "health", args: {} },
    rows: { now: "2026-11-21T12:00:00+00:00", schema: SCHEMA_VERSION },
  },
};

/** The request of a sample as fetch takes it. */
export function initOf(method: string, { body }: Pick<Sample, "body">, headers: HeadersInit = {}): RequestInit {
  const all = new Headers(headers);
  if (body === undefined) return { method, headers: all };
  const bytes = body instanceof Uint8Array;
  all.set("content-type", bytes ? "image/png" : "application/json");
  return { method, headers: all, body: bytes ? Uint8Array.from(body) : JSON.stringify(body) };
}

/** A platform that answers every sample: Storage signs and stores, each SQL function gives its rows and how the limit stands. */
export function answerSample(request: { path: string; body: Uint8Array<ArrayBuffer> }, rate: unknown): Response {
  if (request.path.startsWith("/storage/v1/object/sign/")) return signedFiles(request);
  if (request.path.startsWith("/storage/")) return Response.json({ Id: "1", Key: "projects/x" });
  const name = request.path.replace("/rest/v1/rpc/", "");
  const sample = Object.values(SAMPLES).find(({ sql }) => sql.name === name);
  return Response.json({ ...sample?.rows, rate });
}
