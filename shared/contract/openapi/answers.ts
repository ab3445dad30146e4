import type { OperationId } from "../operations/index.ts";
import {
  SAMPLE,
  SAMPLE_DELIVERY,
  SAMPLE_ELEMENT,
  SAMPLE_FILM,
  SAMPLE_KEY,
  SAMPLE_PREDICTION,
  SAMPLE_PROJECT,
  SAMPLE_SHARE,
  SAMPLE_WEBHOOK,
} from "../samples.ts";

const { projectId, firstFrameId, lastFrameId, videoId, ownerId, referenceImagePath } = SAMPLE;

/** A succeeded prediction with a file for its own step. */
function succeeded(step: string, predictionId: string, extension = "png", video: object = {}) {
  const { output } = SAMPLE_PREDICTION;
  const path = `${ownerId}/${projectId}/${predictionId}.${extension}`;
  const url = output.url.replace(output.path, path);
  return { ...SAMPLE_PREDICTION, predictionId, step, output: { ...output, url, path, ...video } };
}

const firstFrame = succeeded("first-frame", firstFrameId);
const lastFrame = succeeded("last-frame", lastFrameId);
const video = {
  ...succeeded("video", videoId, "mp4", {
    contentType: "video/mp4",
    width: 1280,
    height: 720,
    durationSeconds: 5,
    hasAudio: false,
  }),
  model: "kwaivgi/kling-v2.1",
  input: {
    ...SAMPLE_PREDICTION.input,
    firstFramePredictionId: firstFrameId,
    lastFramePredictionId: lastFrameId,
    referenceImagePaths: [],
    referenceImagePath: null,
    resolution: "1080p",
    durationSeconds: 5,
  },
};
const sharedVideo = {
  url: video.output.url,
  contentType: "video/mp4",
  width: 1280,
  height: 720,
  durationSeconds: 5,
  expiresAt: video.output.expiresAt,
};
const models = {
  steps: [
    {
      step: "video",
      models: [
        {
          model: "kwaivgi/kling-v2.1",
          label: "Kling 2.1",
          vendor: "Kuaishou",
          isDefault: true,
          available: true,
          acceptsFaces: "unknown",
          shutdownAt: null,
          successor: null,
          promptMaxLength: 2500,
          prices: [
            { appliesTo: { resolution: "720p" }, metric: "output_second", priceUsd: 0.05, checkedAt: "2026-10-05" },
            { appliesTo: { resolution: "1080p" }, metric: "output_second", priceUsd: 0.09, checkedAt: "2026-10-05" },
          ],
          billedWhen: { failed: "unknown", rejected: "unknown", canceled: "yes" },
          controls: {
            prompt: { maxLength: 2500 },
            firstFrame: { required: true },
            lastFrame: { needs: ["firstFrame"], forces: { resolution: "1080p" } },
            resolution: { values: ["720p", "1080p"], default: "720p" },
            durationSeconds: { values: [5, 10], default: 5 },
          },
        },
      ],
    },
  ],
};
const amountsOf = (micros: number) => ({
  estimateMicros: micros,
  atMostMicros: micros,
  currency: "USD",
  availableMicros: 8_120_000,
  balance: null,
  withinBudget: true,
  quoteId: null,
  quotedUntil: null,
});
const elements = [{ elementId: SAMPLE.elementId, name: SAMPLE_ELEMENT.name }];
const estimateOf = (model: string, micros: number) => ({ model, requestedModel: null, elements, ...amountsOf(micros) });
const held = { amountMicros: null, atMostMicros: 39_000, currency: "USD", state: "held" };
const begun = { status: "queued", progress: null, queuePosition: 0, attempt: 0, output: null, cost: held };
const queued = <Prediction extends object>(prediction: Prediction) => ({
  ...prediction,
  ...begun,
  startedAt: null,
  completedAt: null,
});

const predictions = { "first-frame": firstFrame, "last-frame": lastFrame, video };
const ofShot = Object.fromEntries(
  Object.entries(predictions).map(
    ([
      step,
      {
        input: { elements: _, ...input },
        ...take
      },
    ]) => [step, { ...take, input }],
  ),
);
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const pending = {
  ...SAMPLE_DELIVERY,
  status: "pending",
  nextAttemptAt: SAMPLE_DELIVERY.createdAt,
  completedAt: null,
};
const test = {
  ...pending,
  eventType: "webhook.test",
  projectId: null,
  projectTitle: null,
  predictionId: null,
  attempts: 0,
  lastAttemptAt: null,
  lastStatusCode: null,
  attemptLog: [],
  body: `{"data": {"endpointId": "${SAMPLE.webhookId}"}, "type": "webhook.test", "timestamp": "2026-11-21T12:00:09.500Z"}`,
};

/** Realistic `data` per operation: sample generators see only the schema, which several operations share. */
export const ANSWERS: Partial<Record<OperationId, unknown>> = {
  createProject: SAMPLE_PROJECT,
  listProjects: { projects: [SAMPLE_PROJECT], nextCursor: null },
  readProject: { ...SAMPLE_PROJECT, predictions, takes: predictions },
  changeProject: { ...SAMPLE_PROJECT, title: "Harbour, second draft" },
  deleteProject: SAMPLE_PROJECT,
  listPredictions: { predictions: [video, lastFrame, firstFrame], nextCursor: null },
  changePrediction: { ...firstFrame, hidden: true },
  deletePrediction: { ...firstFrame, output: null },
  createFilm: { ...SAMPLE_FILM, projectIds: [] },
  listFilms: { films: [SAMPLE_FILM], nextCursor: null },
  readFilm: { ...SAMPLE_FILM, shots: [{ ...SAMPLE_PROJECT, predictions: ofShot, takes: ofShot }] },
  changeFilm: { ...SAMPLE_FILM, title: "The pier, second draft" },
  deleteFilm: SAMPLE_FILM,
  createElement: SAMPLE_ELEMENT,
  listElements: { elements: [SAMPLE_ELEMENT], nextCursor: null },
  readElement: SAMPLE_ELEMENT,
  changeElement: { ...SAMPLE_ELEMENT, text: "A woman of 30 in a yellow coat" },
  deleteElement: SAMPLE_ELEMENT,
  startFilm: { predictions: [queued(video)] },
  estimateFilm: {
    shots: [{ projectId, model: video.model, estimateMicros: 450_000, atMostMicros: 450_000, elements, error: null }],
    ...amountsOf(450_000),
  },
  shareFilm: { ...SAMPLE_SHARE, token: SAMPLE.shareToken },
  listShares: { shares: [SAMPLE_SHARE] },
  revokeShare: SAMPLE_SHARE,
  readShared: { title: SAMPLE_FILM.title, shots: [{ title: SAMPLE_PROJECT.title, video: sharedVideo }] },
  uploadReferenceImage: { referenceImagePath },
  listModels: models,
  readUsage: {
    from: "2026-11-01",
    to: "2026-11-21",
    currency: "USD",
    groupBy: "day",
    groups: [{ key: "2026-11-21", predictions: 24, settledMicros: 1_841_000, heldMicros: 39_000, unknownMicros: 0 }],
    balance: null,
    budgets: [
      {
        period: "month",
        limitMicros: 10_000_000,
        settledMicros: 1_841_000,
        heldMicros: 39_000,
        availableMicros: 8_120_000,
        resetsAt: "2026-12-01T00:00:00.000Z",
      },
    ],
  },
  startFirstFrame: queued(firstFrame),
  startLastFrame: queued(lastFrame),
  startVideo: queued(video),
  estimateFirstFrame: estimateOf(firstFrame.model, 67_000),
  estimateLastFrame: estimateOf(firstFrame.model, 67_000),
  estimateVideo: estimateOf(video.model, 450_000),
  startQuote: queued(firstFrame),
  createKey: { ...SAMPLE_KEY, lastUsedAt: null, key: `${SAMPLE.keyId}${"0123456789abcdef".repeat(3)}00000000` },
  listKeys: { keys: [SAMPLE_KEY] },
  revokeKey: { ...SAMPLE_KEY, expiresAt: "2026-11-21T12:10:00.000Z" },
  addCredit: {
    key: "pi_3PxT",
    kind: "purchase",
    amountMicros: 10_000_000,
    note: null,
    createdAt: "2026-11-21T12:00:00.000Z",
    balance: { availableMicros: 10_450_000, heldMicros: 67_000 },
  },
  readFirstFrame: firstFrame,
  readLastFrame: lastFrame,
  readVideo: video,
  cancelPrediction: { ...video, status: "canceled", progress: null, output: null },
  createWebhook: { ...SAMPLE_WEBHOOK, secret },
  listWebhooks: { webhooks: [SAMPLE_WEBHOOK] },
  readWebhook: SAMPLE_WEBHOOK,
  changeWebhook: { ...SAMPLE_WEBHOOK, eventTypes: ["generation.succeeded", "generation.failed"] },
  deleteWebhook: SAMPLE_WEBHOOK,
  revealSecret: { secret },
  rotateSecret: { secret },
  testWebhook: test,
  listDeliveries: { deliveries: [SAMPLE_DELIVERY], nextCursor: null },
  readDelivery: SAMPLE_DELIVERY,
  redeliver: pending,
  recoverWebhook: { recovered: 3 },
};
