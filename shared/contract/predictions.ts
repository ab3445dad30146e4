import { z } from "zod";
import { predictionInput, startFields } from "./controls.ts";
import { cost } from "./costs.ts";
import { changeBody, id, referenceImagePath, step, time } from "./fields.ts";
import { SAMPLE_PREDICTION } from "./samples.ts";

const LAST_FRAME = ["lastFramePredictionId", "lastFrameImagePath"] as const;
const OF_VIDEOS = ["continuesPreviousShot", "continuesPredictionId", "durationSeconds", "audio"] as const;

export const startFirstFrameBody = z
  .strictObject(startFields("firstFramePredictionId", "firstFrameImagePath", ...LAST_FRAME, ...OF_VIDEOS))
  .meta({ id: "StartFirstFrame" });

export const startLastFrameBody = z
  .strictObject(startFields(...LAST_FRAME, ...OF_VIDEOS))
  .meta({ id: "StartLastFrame" });

export const startVideoBody = z.strictObject(startFields()).meta({ id: "StartVideo" });

/** Every code with which a prediction can fail. The prediction, the row, the event and the log have the same one. */
export const FAILURE_CODES = [
  "content_rejected",
  "provider_rejected_input",
  "provider_failed",
  "provider_aborted",
  "provider_canceled",
  "provider_lost",
  "provider_no_output",
  "output_expired",
  "output_not_usable",
  "input_unreachable",
  "input_file_missing",
  "output_too_large",
  "model_unavailable",
  "deadline_exceeded",
  "attempts_exhausted",
  "provider_unreachable",
  "provider_unavailable",
  "storage_unavailable",
  "provider_unauthorized",
  "provider_payment_required",
  "budget_exceeded",
  "balance_exhausted",
  "spending_stopped",
  "price_unknown",
  "unsupported_input",
  "previous_shot_failed",
  "provider_refused_setup",
  "failed_by_administrator",
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

export const readPredictionQuery = z.strictObject({
  projectId: id,
  predictionId: id.optional().describe("Default: the latest prediction of the step."),
});

export const predictionPath = z.strictObject({ projectId: id, predictionId: id });
export const cancelPredictionBody = predictionPath.meta({ id: "CancelPrediction" });

const endImagePath = referenceImagePath
  .nullable()
  .describe(
    "The end image of a video, its last picture, as an uploaded image: the next shot starts there if it continues this one. `lastFrameOf` of `keyframe-client` reads the picture. Null: it is not stored.",
  );

export const changePredictionBody = changeBody("ChangePrediction", {
  hidden: z
    .boolean()
    .optional()
    .describe("True: lists leave it out, and its step shows another take unless this one is selected."),
  endImagePath: endImagePath.optional(),
});

/** The database's status `storing` is `processing` in the API, and so is `queued` once a provider run was accepted. */
export const predictionStatus = z
  .enum(["queued", "starting", "processing", "succeeded", "failed", "canceled"])
  .meta({ id: "PredictionStatus", description: "succeeded, failed and canceled are final." });
export type PredictionStatus = z.infer<typeof predictionStatus>;

export const output = z
  .object({
    url: z.url().describe("Signed; valid until expiresAt, at least for the next 15 minutes."),
    path: z
      .string()
      .describe("<ownerId>/<projectId>/<predictionId>.<extension> in the private bucket keyframe-outputs."),
    contentType: z
      .string()
      .describe(
        "Detected from the file's bytes: usually image/png, image/jpeg, image/webp or video/mp4; else another type that browsers can show or play (docs/models.md, \"What is stored\"). It can differ from the step's kind: some video models return a GIF.",
      ),
    bytes: z.int(),
    sha256: z.string().describe("The SHA-256 of the file in lower-case hex."),
    width: z.int().optional().describe("Pixels, as the file is shown. Left out when the file does not say it."),
    height: z.int().optional().describe("Pixels, as the file is shown. Left out when the file does not say it."),
    durationSeconds: z.number().optional().describe("Only for a video whose file states it."),
    hasAudio: z
      .boolean()
      .optional()
      .describe("Whether the file has sound. Left out for images, and when the file does not say it."),
    expiresAt: time,
  })
  .meta({ id: "Output" });

export const prediction = z
  .object({
    predictionId: id,
    projectId: id,
    step,
    status: predictionStatus,
    progress: z.number().min(0).max(1).nullable(),
    queuePosition: z
      .int()
      .nullable()
      .describe(
        "While queued: 0 when it has a slot, 1 for the next in the queue; 1000 means 1000 or later. Otherwise null.",
      ),
    waitsFor: id
      .nullable()
      .describe(
        "While queued: the previous shot's video, for whose end image it waits. It fails with `previous_shot_failed` if that shot then has no other video, made or being made.",
      ),
    model: z.string(),
    requestedModel: z
      .string()
      .nullable()
      .describe("The default model, if it was not available and `model` replaced it; otherwise null."),
    input: predictionInput,
    hidden: z.boolean().describe("Whether you have hidden it."),
    outdated: z
      .boolean()
      .describe(
        "For a take: whether a frame that it was made with was deleted, or is no longer the one that its project shows. Frames of other projects and uploads do not count. Also true if it continues a video that the previous shot no longer shows, or if an element that it was made with has changed.",
      ),
    changedElements: z
      .array(
        z
          .object({
            elementId: id,
            name: z.string().describe("Its name at that time."),
            changed: z.array(z.enum(["name", "text", "imagePaths", "deleted"])),
          })
          .meta({ id: "ChangedElement" }),
      )
      .describe("For a take: the elements that it was made with and that have changed since."),
    attempt: z.int().describe("How often it was submitted to the provider."),
    cost: cost.nullable().describe("The cost of all its submits to the provider. Null after 13 months."),
    createdAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    output: output.nullable().describe("Null unless it succeeded."),
    endImagePath,
    error: z
      .object({
        code: z.enum(FAILURE_CODES),
        message: z.string(),
        retryable: z.boolean(),
        stage: z
          .enum(["input", "output"])
          .optional()
          .describe("Only for content_rejected: whether the provider rejected the inputs or its own output."),
      })
      .meta({ id: "GenerationError" })
      .nullable()
      .describe("Null unless it failed. retryable: whether starting the step again can help."),
  })
  .meta({ id: "Prediction", examples: [SAMPLE_PREDICTION] });
export type Prediction = z.infer<typeof prediction>;

export const startedPrediction = z
  .object({
    ...prediction.shape,
    predictions: z
      .array(prediction)
      .optional()
      .describe("All takes, the first one included. Only with `count`, and for the quote of a film."),
  })
  .meta({ id: "StartedPrediction", examples: [SAMPLE_PREDICTION] });

export const uploadedReferenceImage = z.object({ referenceImagePath }).meta({ id: "UploadedReferenceImage" });
