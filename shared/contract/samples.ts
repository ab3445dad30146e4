/** The identifiers in examples. Replace them with real ones before you send an example. */
export const SAMPLE = {
  filmId: "3a6e1d2c-8b4f-4f1e-9c7d-2e5f8a9b0c01",
  elementId: "7c4e2b1a-5d3f-4a6b-8c9d-0e1f2a3b4c01",
  shareId: "7d4e2b1a-9c3f-4a6e-8b5d-0f1e2d3c4b81",
  shareToken: "Zm9yIHRoZSBleGFtcGxlIG9mIGEgdG9rZW4gb25seS4",
  keyId: "kf_4f1d2c3b5a6e7980",
  projectId: "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11",
  firstFrameId: "8b1f6a3e-2d57-4f0a-9a86-2f6a2f5f7e21",
  lastFrameId: "c0a5b7d4-93f1-4b7e-8a52-6f1f0f9f9a31",
  videoId: "2b9a1c6e-7f43-4d0e-b1b8-1d5c2e7a4f41",
  webhookId: "e1d2c3b4-a596-4788-8990-0a1b2c3d4e51",
  deliveryId: "a7c1e5d3-4b2f-4c6d-9e8f-7a6b5c4d3e61",
  eventId: "f3b8d2a6-1c9e-4e7b-8d5a-9c0b1a2d3e71",
  quoteId: "d4e8a1f7-5c3b-4a92-8e6d-7b0c9f1a2e81",
  ownerId: "9d8c7b6a-5f4e-4d3c-8b2a-1f0e9d8c7b91",
  referenceImagePath: "projects/6d3f2b1a-0e9c-4b8d-8f7a-5c4e3d2b1a81.png",
} as const;

const TIMES = { createdAt: "2026-11-21T12:00:00.000Z", updatedAt: "2026-11-21T12:00:00.000Z" };
const path = `${SAMPLE.ownerId}/${SAMPLE.projectId}/${SAMPLE.firstFrameId}.png`;

export const SAMPLE_PROJECT = {
  projectId: SAMPLE.projectId,
  title: "Harbour",
  textPrompt: "A harbour at dawn, fog, one red boat",
  description: "Keep the colours of the reference image.",
  referenceImagePath: SAMPLE.referenceImagePath,
  aspectRatio: "16:9",
  filmId: SAMPLE.filmId as string | null,
  elementIds: null as string[] | null,
  plan: { video: { durationSeconds: 5 } },
  selected: { "first-frame": null, "last-frame": null, video: null },
  ...TIMES,
};

export const SAMPLE_FILM = {
  filmId: SAMPLE.filmId,
  title: "The pier",
  description: "",
  projectIds: [SAMPLE.projectId] as string[],
  elementIds: [SAMPLE.elementId] as string[],
  ...TIMES,
};

export const SAMPLE_ELEMENT = {
  elementId: SAMPLE.elementId,
  kind: "character",
  name: "Anna",
  text: "A woman of 30 in a red coat",
  imagePaths: [SAMPLE.referenceImagePath] as string[],
  ...TIMES,
};

export const SAMPLE_SHARE = {
  shareId: SAMPLE.shareId,
  filmId: SAMPLE.filmId,
  createdAt: "2026-11-21T12:00:00.000Z",
  expiresAt: null as string | null,
};

export const SAMPLE_KEY = {
  keyId: SAMPLE.keyId,
  name: "Claude Code",
  may: "generate" as const,
  dayLimitMicros: 5_000_000 as number | null,
  createdAt: "2026-11-21T12:00:00.000Z",
  expiresAt: null as string | null,
  lastUsedAt: "2026-11-21T12:05:00.000Z" as string | null,
};

export const SAMPLE_PREDICTION = {
  predictionId: SAMPLE.firstFrameId,
  projectId: SAMPLE.projectId,
  step: "first-frame",
  status: "succeeded",
  progress: 1,
  queuePosition: null,
  waitsFor: null,
  model: "google/nano-banana",
  requestedModel: null,
  input: {
    prompt: SAMPLE_PROJECT.textPrompt,
    negativePrompt: null,
    firstFramePredictionId: null,
    firstFrameImagePath: null,
    lastFramePredictionId: null,
    lastFrameImagePath: null,
    continuesPreviousShot: null,
    continuesPredictionId: null,
    referenceImagePaths: [SAMPLE.referenceImagePath] as string[],
    referenceImagePath: SAMPLE.referenceImagePath as string | null,
    elements: [],
    aspectRatio: "16:9",
    resolution: null,
    durationSeconds: null,
    audio: null,
    seed: null,
  },
  hidden: false,
  outdated: false,
  changedElements: [],
  attempt: 1,
  cost: {
    amountMicros: 39_000 as number | null,
    atMostMicros: 39_000,
    currency: "USD" as const,
    state: "settled" as const,
  },
  createdAt: "2026-11-21T12:00:01.000Z",
  startedAt: "2026-11-21T12:00:01.200Z",
  completedAt: "2026-11-21T12:00:09.500Z",
  output: {
    url: `https://abcdefghijklmnopqrst.supabase.co/storage/v1/object/sign/keyframe-outputs/${path}?token=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl`,
    path,
    contentType: "image/png",
    bytes: 1_483_223,
    sha256: "3b7e0f2c4d5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
    width: 1344,
    height: 768,
    expiresAt: "2026-11-21T13:00:10.000Z",
  },
  endImagePath: null,
  error: null,
};

export const SAMPLE_WEBHOOK = {
  webhookId: SAMPLE.webhookId,
  url: "https://crm.example.com/keyframe",
  description: "",
  eventTypes: [],
  enabled: true,
  maxInFlight: 8,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  serviceWide: false,
  ...TIMES,
};

export const SAMPLE_DELIVERY = {
  deliveryId: SAMPLE.deliveryId,
  webhookId: SAMPLE.webhookId,
  eventId: SAMPLE.eventId,
  eventType: "generation.succeeded",
  projectId: SAMPLE.projectId,
  projectTitle: SAMPLE_PROJECT.title,
  predictionId: SAMPLE.firstFrameId,
  status: "delivered",
  attempts: 1,
  nextAttemptAt: null,
  lastAttemptAt: "2026-11-21T12:00:09.600Z",
  lastStatusCode: 204,
  lastError: null,
  createdAt: "2026-11-21T12:00:09.500Z",
  completedAt: "2026-11-21T12:00:09.640Z",
  attemptLog: [
    {
      attempt: 1,
      startedAt: "2026-11-21T12:00:09.600Z",
      durationMs: 38,
      statusCode: 204,
      error: null,
      responseExcerpt: "",
      requestHeaders: {
        "webhook-id": SAMPLE.eventId,
        "webhook-timestamp": "1795262409",
        "content-type": "application/json",
        "user-agent": "Keyframe-Webhooks/1",
      },
    },
  ],
  body: '{"type":"generation.succeeded","timestamp":"2026-11-21T12:00:09.500Z","data":{}}',
};
