import { z } from "zod";
import { id, referenceImagePath, step, text, time } from "./fields.ts";
import { SAMPLE_PREDICTION } from "./samples.ts";

const prompt = text(1, 4000).optional().meta({ description: "What to generate. Default: the project's textPrompt." });

export const startFirstFrameBody = z
  .strictObject({ projectId: id, referenceImagePath: referenceImagePath.optional(), prompt })
  .meta({ id: "StartFirstFrame" });

export const startLastFrameBody = z
  .strictObject({
    ...startFirstFrameBody.shape,
    firstFramePredictionId: id.optional().meta({
      description:
        "The first frame that serves as a reference. Default: the project's selected one, else the latest that succeeded.",
    }),
  })
  .meta({ id: "StartLastFrame" });

export const startVideoBody = z
  .strictObject({
    projectId: id,
    prompt,
    durationSeconds: z
      .int()
      .min(1)
      .max(60)
      .optional()
      .meta({ description: "One of the durations that the model offers. Default: the model's default." }),
    firstFramePredictionId: id.optional().meta({
      description:
        "The frame at which the video starts. Default: the project's selected one, else the latest that succeeded.",
    }),
    lastFramePredictionId: id.optional().meta({
      description:
        "The frame at which the video ends. Default: the project's selected one, else the latest that succeeded, if any.",
    }),
  })
  .meta({ id: "StartVideo" });

export const readPredictionQuery = z.strictObject({
  projectId: id,
  predictionId: id.optional().meta({ description: "Default: the latest prediction of the step." }),
});

export const cancelPredictionBody = z
  .strictObject({ projectId: id, predictionId: id })
  .meta({ id: "CancelPrediction" });

/** What a prediction was made with, to understand and to repeat it. */
export const predictionInput = z
  .object({
    prompt: z.string().meta({ description: "The prompt of the request, or the project's textPrompt of that time." }),
    referenceImagePath: referenceImagePath.nullable(),
    firstFramePredictionId: id.nullable().meta({ description: "Null: none, or deleted since." }),
    lastFramePredictionId: id.nullable().meta({ description: "Null: none, or deleted since." }),
    durationSeconds: z.int().nullable().meta({ description: "Of a video. Null: the model's default." }),
  })
  .meta({ id: "PredictionInput", description: "What it was made with." });
export type PredictionInput = z.infer<typeof predictionInput>;

/** The database's status `storing` is `processing` in the API, and so is `queued` once a provider run was accepted. */
export const predictionStatus = z
  .enum(["queued", "starting", "processing", "succeeded", "failed", "canceled"])
  .meta({ id: "PredictionStatus", description: "succeeded, failed and canceled are final." });
export type PredictionStatus = z.infer<typeof predictionStatus>;

export const output = z
  .object({
    url: z.url().meta({ description: "Signed; valid until expiresAt, at least for the next 15 minutes." }),
    path: z.string().meta({
      description: "<ownerId>/<projectId>/<predictionId>.<extension> in the private bucket keyframe-outputs.",
    }),
    contentType: z.string(),
    bytes: z.int(),
    sha256: z.string().meta({ description: "The SHA-256 of the file in lower-case hex." }),
    width: z.int().meta({ description: "Pixels." }),
    height: z.int().meta({ description: "Pixels." }),
    durationSeconds: z.number().optional().meta({ description: "Only for a video." }),
    expiresAt: time,
  })
  .meta({ id: "Output" });
export type Output = z.infer<typeof output>;

export const prediction = z
  .object({
    predictionId: id,
    projectId: id,
    step,
    status: predictionStatus,
    progress: z.number().min(0).max(1).nullable(),
    queuePosition: z.int().nullable().meta({
      description:
        "While queued: 0 when it has a slot, 1 for the next in line; 1000 means 1000 or later. Otherwise null.",
    }),
    model: z.string(),
    input: predictionInput,
    attempt: z.int().meta({ description: "How often it was submitted to the provider." }),
    createdAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    output: output.nullable().meta({ description: "Null unless it succeeded." }),
    error: z
      .object({ code: z.string(), message: z.string(), retryable: z.boolean() })
      .meta({ id: "GenerationError" })
      .nullable()
      .meta({ description: "Null unless it failed. retryable: whether starting the step again can help." }),
  })
  .meta({ id: "Prediction", examples: [SAMPLE_PREDICTION] });
export type Prediction = z.infer<typeof prediction>;

export const uploadedReferenceImage = z.object({ referenceImagePath }).meta({ id: "UploadedReferenceImage" });
export type UploadedReferenceImage = z.infer<typeof uploadedReferenceImage>;
