import { z } from "zod";
import type { Step } from "../contract/fields.ts";

const fields = z.record(z.string(), z.unknown());

/** A row of models: how our inputs map to the fields of a model. */
export const modelSettings = z.object({
  prompt_field: z.string(),
  reference_field: z.string().nullable(),
  max_references: z.int(),
  reference_is_list: z.boolean(),
  first_frame_field: z.string().nullable(),
  last_frame_field: z.string().nullable(),
  last_frame_needs_first: z.boolean(),
  last_frame_extras: fields,
  references_exclude_frames: z.boolean(),
  duration_field: z.string().nullable(),
  durations: z.array(z.int()),
  extras: fields,
});
export type ModelSettings = z.infer<typeof modelSettings>;

/** The requested input. Files are URLs, or null. */
export type Wanted = {
  step: Step;
  prompt: string;
  durationSeconds: number | null;
  reference: string | null;
  firstFrame: string | null;
  lastFrame: string | null;
};

/** The model cannot take the requested input. The message is for the owner. */
export class UnsupportedInput extends Error {}

/**
 * The provider's input object for a prediction. Throws UnsupportedInput instead of leaving anything out: the database refuses such
 * predictions (keyframe_private.require_supported, with the same checks), but an administrator may have changed the model's row since.
 */
export function buildInput(wanted: Wanted, model: ModelSettings): Record<string, unknown> {
  const isVideo = wanted.step === "video";
  // A last frame keeps the look of the first frame, so the first frame comes before the user's reference.
  const references = [wanted.step === "last-frame" ? wanted.firstFrame : null, wanted.reference].filter(
    (file) => file !== null,
  );
  const first = isVideo ? wanted.firstFrame : null;
  const last = isVideo ? wanted.lastFrame : null;
  const seconds = wanted.durationSeconds ?? model.durations[0];
  if (references.length > model.max_references) {
    throw new UnsupportedInput(
      `The model takes ${model.max_references} reference images, but there are ${references.length}.`,
    );
  }
  if (isVideo && references.length > 0 && model.references_exclude_frames) {
    throw new UnsupportedInput("The model takes either reference images or frames, not both.");
  }
  if (last !== null && model.last_frame_field === null) throw new UnsupportedInput("The model takes no last frame.");
  if (wanted.durationSeconds !== null && !model.durations.includes(wanted.durationSeconds)) {
    throw new UnsupportedInput(`The model makes no videos of ${wanted.durationSeconds} seconds.`);
  }

  const input: Record<string, unknown> = { ...model.extras, ...(last === null ? {} : model.last_frame_extras) };
  input[model.prompt_field] = wanted.prompt;
  if (model.reference_field !== null && references.length > 0) {
    input[model.reference_field] = model.reference_is_list ? references : references[0];
  }
  if (model.first_frame_field !== null && first !== null) input[model.first_frame_field] = first;
  if (model.last_frame_field !== null && last !== null) input[model.last_frame_field] = last;
  if (model.duration_field !== null && seconds !== undefined) input[model.duration_field] = seconds;
  return input;
}
