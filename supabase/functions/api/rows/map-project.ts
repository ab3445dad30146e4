import { z } from "zod";
import { STEPS } from "../../../../shared/contract/fields.ts";
import type { PredictionOfEachStep, Project } from "../../../../shared/contract/projects.ts";
import { isoTime, mapPrediction, predictionRow, toIso } from "./map-prediction.ts";
import type { SignedFile } from "./storage.ts";

/** A row of projects. `created_at` keeps the format of Postgres, because a cursor needs its microseconds. */
export const projectRow = z.object({
  id: z.string(),
  title: z.string(),
  text_prompt: z.string(),
  description: z.string(),
  reference_image_path: z.string().nullable(),
  aspect_ratio: z.string(),
  selected_first_frame_id: z.string().nullable(),
  selected_last_frame_id: z.string().nullable(),
  selected_video_id: z.string().nullable(),
  film_id: z.string().nullable(),
  created_at: z.iso.datetime({ offset: true }),
  updated_at: isoTime,
});

/** From keyframe_private.step_predictions: of each step at most one latest prediction and one take. */
export const stepRows = z.array(z.object({ is_latest: z.boolean(), is_take: z.boolean(), prediction: predictionRow }));
type StepRows = z.infer<typeof stepRows>;

export const mapProject = (row: z.infer<typeof projectRow>): Project => ({
  projectId: row.id,
  title: row.title,
  textPrompt: row.text_prompt,
  description: row.description,
  referenceImagePath: row.reference_image_path,
  aspectRatio: row.aspect_ratio,
  filmId: row.film_id,
  selected: {
    "first-frame": row.selected_first_frame_id,
    "last-frame": row.selected_last_frame_id,
    video: row.selected_video_id,
  },
  createdAt: toIso(row.created_at),
  updatedAt: row.updated_at,
});

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
