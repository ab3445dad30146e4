import { z } from "zod";
import { step } from "../../../../shared/contract/fields.ts";
import { type PredictionInput, predictionInput } from "../../../../shared/contract/controls.ts";
import { cost } from "../../../../shared/contract/costs.ts";
import type { Output, Prediction, PredictionStatus } from "../../../../shared/contract/predictions.ts";
import type { SignedFile } from "./storage.ts";

/** Converts a time of Postgres to ISO 8601 in UTC with milliseconds. */
export const toIso = (time: string): string => new Date(time).toISOString();

/** A timestamptz in JSON of Postgres, converted by toIso. */
export const isoTime = z.iso.datetime({ offset: true }).transform(toIso);

const common = {
  id: z.string(),
  project_id: z.string(),
  step,
  progress: z.number().min(0).max(1).nullable(),
  queue_position: z.int().nullable(),
  model: z.string(),
  requested_model: z.string().nullable(),
  input: z.looseObject({ referenceImagePaths: z.array(z.string()).nullish() }),
  hidden: z.boolean(),
  outdated: z.boolean(),
  attempt: z.int(),
  cost: cost.nullable(),
  /** In the format of Postgres, because a cursor needs its microseconds. */
  created_at: z.iso.datetime({ offset: true }),
  started_at: isoTime.nullable(),
  completed_at: isoTime.nullable(),
};

/** A prediction from keyframe_private.prediction_json. */
export const predictionRow = z.discriminatedUnion("status", [
  z.object({ ...common, status: z.enum(["queued", "starting", "processing", "storing", "canceled"]) }),
  z.object({
    ...common,
    status: z.literal("succeeded"),
    output_path: z.string(),
    output_content_type: z.string(),
    output_bytes: z.int(),
    output_sha256: z.string(),
    output_width: z.int(),
    output_height: z.int(),
    output_duration_seconds: z.number().nullable(),
    output_has_audio: z.boolean().nullable(),
  }),
  z.object({
    ...common,
    status: z.literal("failed"),
    error_code: z.string(),
    error_message: z.string(),
    error_retryable: z.boolean(),
    error_stage: z.enum(["input", "output"]).nullable(),
  }),
]);
export type PredictionRow = z.infer<typeof predictionRow>;

/** The status in the API, which never goes back: a prediction that is queued again, for another provider run, is processing. */
export const wireStatus = ({ status, started_at }: PredictionRow): PredictionStatus =>
  status === "storing" || (status === "queued" && started_at !== null) ? "processing" : status;

/** The paths of the outputs. */
export const outputPaths = (rows: PredictionRow[]): string[] =>
  rows.flatMap((row) => (row.status === "succeeded" ? [row.output_path] : []));

/** `files` are the signed outputs by path; a missing one has been removed from Storage. */
export function mapPrediction(row: PredictionRow, files: Map<string, SignedFile>): Prediction {
  const file = row.status === "succeeded" ? files.get(row.output_path) : undefined;
  return {
    predictionId: row.id,
    projectId: row.project_id,
    step: row.step,
    status: wireStatus(row),
    progress: row.progress,
    queuePosition: row.queue_position,
    model: row.model,
    requestedModel: row.requested_model,
    input: mapInput(row.input),
    hidden: row.hidden,
    outdated: row.outdated,
    attempt: row.attempt,
    cost: row.cost,
    createdAt: toIso(row.created_at),
    startedAt: row.started_at,
    completedAt: row.completed_at,
    output: row.status === "succeeded" && file ? mapOutput(row, file) : null,
    error:
      row.status === "failed"
        ? {
            code: row.error_code,
            message: row.error_message,
            retryable: row.error_retryable,
            ...(row.error_stage === null ? {} : { stage: row.error_stage }),
          }
        : null,
  };
}

const INPUT_FIELDS = Object.keys(predictionInput.shape);

/** All fields of the contract. The cast is safe: Postgres has checked each when it stored the input, and every start has a prompt. */
function mapInput(stored: PredictionRow["input"]): PredictionInput {
  const paths = stored.referenceImagePaths ?? [];
  const input = { ...stored, referenceImagePaths: paths, referenceImagePath: paths[0] };
  return Object.fromEntries(INPUT_FIELDS.map((name) => [name, Reflect.get(input, name) ?? null])) as PredictionInput;
}

const mapOutput = (row: Extract<PredictionRow, { status: "succeeded" }>, file: SignedFile): Output => ({
  url: file.url,
  path: row.output_path,
  contentType: row.output_content_type,
  bytes: row.output_bytes,
  sha256: row.output_sha256,
  width: row.output_width,
  height: row.output_height,
  ...(row.output_duration_seconds === null ? {} : { durationSeconds: row.output_duration_seconds }),
  ...(row.output_has_audio === null ? {} : { hasAudio: row.output_has_audio }),
  expiresAt: file.expiresAt,
});
