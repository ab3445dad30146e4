import { z } from "zod";
import { id, referenceImagePath, step, text, time } from "./fields.ts";
import { SAMPLE_PREDICTION } from "./samples.ts";

const prompt = text(1, 4000).optional().meta({ description: "What to generate; absent: the project's textPrompt." });

/** Body of POST /api/projects/generate/first-frame. Without a prompt the project's textPrompt is used. */
export const startFirstFrameBody = z
  .strictObject({ projectId: id, referenceImagePath: referenceImagePath.optional(), prompt })
  .meta({ id: "StartFirstFrame" });

/** Body of POST /api/projects/generate/last-frame. The first frame (default: the selected one, else the latest that succeeded) keeps the look. */
export const startLastFrameBody = z
  .strictObject({
    ...startFirstFrameBody.shape,
    firstFramePredictionId: id.optional().meta({
      description:
        "The first frame whose look to keep; absent: the project's selected one, else the latest that succeeded, if any.",
    }),
  })
  .meta({ id: "StartLastFrame" });

/** Body of POST /api/projects/generate/video. Frames default to the selected ones, else the latest that succeeded; the duration to the model's own. */
export const startVideoBody = z
  .strictObject({
    projectId: id,
    prompt,
    durationSeconds: z
      .int()
      .min(1)
      .max(60)
      .optional()
      .meta({ description: "One of the durations the model offers; absent: its usual one." }),
    firstFramePredictionId: id.optional().meta({
      description:
        "Where the video starts; absent: the project's selected first frame, else the latest that succeeded.",
    }),
    lastFramePredictionId: id.optional().meta({
      description:
        "Where the video ends; absent: the project's selected last frame, else the latest that succeeded, if any.",
    }),
  })
  .meta({ id: "StartVideo" });

/** Query of GET /api/projects/generate/:step. Without predictionId: the latest run of that step. */
export const readPredictionQuery = z.strictObject({
  projectId: id,
  predictionId: id.optional().meta({ description: "Absent: the latest run of the step." }),
});

/** Body of POST /api/projects/generate/cancel. */
export const cancelPredictionBody = z
  .strictObject({ projectId: id, predictionId: id })
  .meta({ id: "CancelPrediction" });

/** The states an app sees; the database's `storing` reads `processing` here. */
export const predictionStatus = z
  .enum(["queued", "starting", "processing", "succeeded", "failed", "canceled"])
  .meta({ id: "PredictionStatus", description: "succeeded, failed and canceled are final." });
export type PredictionStatus = z.infer<typeof predictionStatus>;

/** A generated file. `url` is signed and works until `expiresAt`; each read makes a fresh one. */
export const output = z
  .object({
    url: z.url().meta({ description: "Signed; works until expiresAt. Each read makes a fresh one." }),
    path: z.string().meta({
      description: "<ownerId>/<projectId>/<predictionId>.<extension> in the private bucket keyframe-outputs.",
    }),
    contentType: z.string(),
    bytes: z.int(),
    sha256: z.string().meta({ description: "Of the stored file, in lower-case hex." }),
    width: z.int().meta({ description: "Pixels." }),
    height: z.int().meta({ description: "Pixels." }),
    durationSeconds: z.number().optional().meta({ description: "Of a video, and only of a video." }),
    expiresAt: time,
  })
  .meta({ id: "Output" });
export type Output = z.infer<typeof output>;

/** What a prediction was made with, to understand and to repeat it. */
export const predictionInput = z
  .object({
    prompt: z.string().meta({ description: "The prompt of the request, or the project's textPrompt of that time." }),
    referenceImagePath: referenceImagePath.nullable(),
    firstFramePredictionId: id.nullable().meta({
      description: "Where the video starts, or whose look the last frame keeps; null: none, or deleted since.",
    }),
    lastFramePredictionId: id.nullable().meta({ description: "Where the video ends; null: none, or deleted since." }),
    durationSeconds: z.int().nullable().meta({ description: "Of a video; null: the model's default." }),
  })
  .meta({ id: "PredictionInput", description: "What it was made with." });
export type PredictionInput = z.infer<typeof predictionInput>;

/** A prediction on the wire. `progress` is 0 to 1; `queuePosition` 0 once it has its place, then 1 for the next in line. */
export const prediction = z
  .object({
    predictionId: id,
    projectId: id,
    step,
    status: predictionStatus,
    progress: z.number().min(0).max(1).nullable(),
    queuePosition: z.int().nullable().meta({
      description:
        "While queued: 0 once it has its place, 1 for the next in line; 1000 means that or later. Otherwise null.",
    }),
    model: z.string(),
    input: predictionInput,
    attempt: z.int().meta({ description: "How often the run was handed to the provider." }),
    createdAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    output: output.nullable().meta({ description: "If and only if it succeeded." }),
    error: z
      .object({ code: z.string(), message: z.string(), retryable: z.boolean() })
      .meta({ id: "GenerationError" })
      .nullable()
      .meta({ description: "If and only if it failed; retryable says whether starting the step again can help." }),
  })
  .meta({ id: "Prediction", examples: [SAMPLE_PREDICTION] });
export type Prediction = z.infer<typeof prediction>;

/** Answer of POST /api/projects/reference-images. */
export const uploadedReferenceImage = z.object({ referenceImagePath }).meta({ id: "UploadedReferenceImage" });
export type UploadedReferenceImage = z.infer<typeof uploadedReferenceImage>;
