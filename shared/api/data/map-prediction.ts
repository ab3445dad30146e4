import { z } from "zod";
import { type PredictionInput, predictionInput } from "../../contract/controls.ts";
import {
  output,
  type Prediction,
  type PredictionStatus,
  prediction,
  predictionStatus,
} from "../../contract/predictions.ts";
import { isJsonObject } from "../../platform/json-text.ts";
import { fromRow, position } from "./rows.ts";
import type { SignedFile } from "./storage.ts";

/** The columns that begin with this prefix, named without it. Null columns are left out. */
const withPrefix = (row: object, prefix: string) =>
  Object.fromEntries(
    Object.entries(row).flatMap(([column, value]) =>
      column.startsWith(prefix) && value !== null ? [[column.slice(prefix.length), value]] : [],
    ),
  );

/** A prediction from keyframe_private.prediction_json: with `output` if it succeeded, and `error` if it failed. */
export const predictionRow = z.preprocess(
  (row) =>
    isJsonObject(row)
      ? {
          ...row,
          output: row.status === "succeeded" ? withPrefix(row, "output_") : null,
          error: row.status === "failed" ? withPrefix(row, "error_") : null,
        }
      : row,
  fromRow(
    prediction.omit({ predictionId: true }).extend({
      ...position,
      status: z.enum([...predictionStatus.options, "storing"]),
      input: z.looseObject({ referenceImagePaths: z.array(z.string()).nullish() }),
      output: fromRow(output.omit({ url: true, expiresAt: true })).nullable(),
    }),
  ),
);
export type PredictionRow = z.infer<typeof predictionRow>;

/** The status in the API never goes back: a prediction that is queued again, for another provider run, is processing. */
export const wireStatus = ({ status, startedAt }: PredictionRow): PredictionStatus =>
  status === "storing" || (status === "queued" && startedAt !== null) ? "processing" : status;

export const outputPaths = (rows: PredictionRow[]): string[] => rows.flatMap(({ output }) => output?.path ?? []);

/** `files` are the signed outputs by path; a missing one has been removed from Storage. */
export function mapPrediction(row: PredictionRow, files: Map<string, SignedFile>): Prediction {
  const { id, created_at, ...fields } = row;
  const file = row.output && files.get(row.output.path);
  return {
    predictionId: id,
    ...fields,
    status: wireStatus(row),
    input: mapInput(row.input),
    output: row.output && file ? { ...row.output, ...file } : null,
  };
}

const INPUT_FIELDS = Object.keys(predictionInput.shape);

/** Returns all fields of the contract. The cast is safe: Postgres checked each when it stored the input, and every start has a prompt. */
function mapInput(stored: PredictionRow["input"]): PredictionInput {
  const paths = stored.referenceImagePaths ?? [];
  const input = { elements: [], ...stored, referenceImagePaths: paths, referenceImagePath: paths[0] };
  return Object.fromEntries(INPUT_FIELDS.map((name) => [name, Reflect.get(input, name) ?? null])) as PredictionInput;
}
