import { z } from "zod";
import { STEPS } from "../../contract/fields.ts";
import { type PredictionOfEachStep, type Project, project } from "../../contract/projects.ts";
import { fromRow, position } from "./rows.ts";
import { mapPrediction, predictionRow } from "./map-prediction.ts";
import type { SignedFile } from "./storage.ts";

export const projectFields = project.omit({ projectId: true, selected: true }).extend({
  ...position,
  selectedFirstFrameId: z.string().nullable(),
  selectedLastFrameId: z.string().nullable(),
  selectedVideoId: z.string().nullable(),
  plan: z.record(z.string(), z.unknown()),
});
export const projectRow = fromRow(projectFields);

/** Rows of keyframe_private.step_predictions: at most one latest prediction and one take of each step. */
export const stepRows = z.array(z.object({ is_latest: z.boolean(), is_take: z.boolean(), prediction: predictionRow }));
type StepRows = z.infer<typeof stepRows>;

export function mapProject({ id, created_at, ...row }: z.infer<typeof projectFields>): Project {
  const { selectedFirstFrameId, selectedLastFrameId, selectedVideoId, ...fields } = row;
  const selected = { "first-frame": selectedFirstFrameId, "last-frame": selectedLastFrameId, video: selectedVideoId };
  return { projectId: id, ...fields, plan: fields.plan as Project["plan"], selected }; // Postgres has checked its fields
}

/** `files` are the signed outputs by path. */
export const mapSteps = (rows: StepRows, files: Map<string, SignedFile>) => ({
  predictions: ofEachStep(
    rows.filter(({ is_latest }) => is_latest),
    files,
  ),
  takes: ofEachStep(
    rows.filter(({ is_take }) => is_take),
    files,
  ),
});

function ofEachStep(rows: StepRows, files: Map<string, SignedFile>): PredictionOfEachStep {
  const entries = STEPS.map((step) => {
    const row = rows.find(({ prediction }) => prediction.step === step);
    return [step, row ? mapPrediction(row.prediction, files) : null];
  });
  return Object.fromEntries(entries); // complete, which the type of fromEntries cannot express
}
