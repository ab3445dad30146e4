import { z } from "zod";
import { id, referenceImagePath, step, text } from "./fields.ts";

const prompt = text(1, 4000).optional();

/** Body of POST /api/projects/generate/first-frame. Without a prompt the project's textPrompt is used. */
export const startFirstFrameBody = z.strictObject({
  projectId: id,
  referenceImagePath: referenceImagePath.optional(),
  prompt,
});

/** Body of POST /api/projects/generate/last-frame. The first frame (default: the latest that succeeded) keeps the look. */
export const startLastFrameBody = startFirstFrameBody.extend({ firstFramePredictionId: id.optional() });

/** Body of POST /api/projects/generate/video. Frames default to the latest that succeeded; the duration to the model's own. */
export const startVideoBody = z.strictObject({
  projectId: id,
  prompt,
  durationSeconds: z.int().min(1).max(60).optional(),
  firstFramePredictionId: id.optional(),
  lastFramePredictionId: id.optional(),
});

/** Query of GET /api/projects/generate/:step. Without predictionId: the latest run of that step. */
export const readPredictionQuery = z.strictObject({ projectId: id, predictionId: id.optional() });

/** Body of POST /api/projects/generate/cancel. */
export const cancelPredictionBody = z.strictObject({ projectId: id, predictionId: id });

/** The states an app sees; the database's `storing` reads `processing` here. */
export const predictionStatus = z.enum(["queued", "starting", "processing", "succeeded", "failed", "canceled"]);

/** A generated file. `url` is signed and works until `expiresAt`; each read makes a fresh one. */
export const output = z.object({
  url: z.url(),
  path: z.string(),
  contentType: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  width: z.int(),
  height: z.int(),
  durationSeconds: z.number().optional(),
  expiresAt: z.iso.datetime(),
});
export type Output = z.infer<typeof output>;

/** A prediction on the wire. `progress` is 0 to 1; `queuePosition` 0 once it has its place, then 1 for the next in line. */
export const prediction = z.object({
  predictionId: id,
  projectId: id,
  step,
  status: predictionStatus,
  progress: z.number().min(0).max(1).nullable(),
  queuePosition: z.int().nullable(),
  model: z.string(),
  attempt: z.int(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  completedAt: z.iso.datetime().nullable(),
  output: output.nullable(),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
});
export type Prediction = z.infer<typeof prediction>;

/** Answer of POST /api/projects/reference-images. */
export const uploadedReferenceImage = z.object({ referenceImagePath });
