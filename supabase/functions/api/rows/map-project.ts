import { z } from "zod";
import { STEPS } from "../../../../shared/contract/fields.ts";
import type { LatestPredictions, Project } from "../../../../shared/contract/projects.ts";
import { isoTime, mapPrediction, predictionRow, toIso } from "./map-prediction.ts";
import type { SignedFile } from "./storage.ts";

/** A row of projects. `created_at` keeps the format of Postgres, because a cursor needs its microseconds. */
export const projectRow = z.object({
  id: z.string(),
  title: z.string(),
  text_prompt: z.string(),
  description: z.string(),
  reference_image_path: z.string().nullable(),
  selected_first_frame_id: z.string().nullable(),
  selected_last_frame_id: z.string().nullable(),
  created_at: z.iso.datetime({ offset: true }),
  updated_at: isoTime,
});

/** The latest prediction of each step, at most three. */
export const latestRows = z.array(predictionRow);

export const mapProject = (row: z.infer<typeof projectRow>): Project => ({
  projectId: row.id,
  title: row.title,
  textPrompt: row.text_prompt,
  description: row.description,
  referenceImagePath: row.reference_image_path,
  selected: { "first-frame": row.selected_first_frame_id, "last-frame": row.selected_last_frame_id },
  createdAt: toIso(row.created_at),
  updatedAt: row.updated_at,
});

/** `files` are the signed outputs by path. */
export function mapLatest(rows: z.infer<typeof latestRows>, files: Map<string, SignedFile>): LatestPredictions {
  const latest = STEPS.map((step) => {
    const row = rows.find((one) => one.step === step);
    return [step, row ? mapPrediction(row, files) : null];
  });
  return Object.fromEntries(latest); // complete, which the type of fromEntries cannot express
}
