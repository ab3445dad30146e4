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

/** The requested input. Absent files are null; `File` is a URL, or a value that stands for one. */
export type Wanted<File = string> = {
  step: Step;
  prompt: string;
  durationSeconds: number | null;
  reference: File | null;
  firstFrame: File | null;
  lastFrame: File | null;
};

/** The model cannot take the requested input. The message is for the owner. */
export class UnsupportedInput extends Error {}

/**
 * The provider's input object for a prediction. Throws UnsupportedInput instead of leaving anything out: the database refuses such
 * predictions, but an administrator may have changed the model's row since.
 */
export function buildInput(wanted: Wanted, model: ModelSettings): Record<string, unknown> {
  const references = referencesOf(wanted);
  const frames =
    wanted.step === "video" ? { first: wanted.firstFrame, last: wanted.lastFrame } : { first: null, last: null };
  requireSupported(references.length, frames, model);

  const input: Record<string, unknown> = { ...model.extras, ...(frames.last === null ? {} : model.last_frame_extras) };
  input[model.prompt_field] = wanted.prompt;
  if (model.reference_field !== null && references.length > 0) {
    input[model.reference_field] = model.reference_is_list ? references : references[0];
  }
  if (model.first_frame_field !== null && frames.first !== null) input[model.first_frame_field] = frames.first;
  if (model.last_frame_field !== null && frames.last !== null) input[model.last_frame_field] = frames.last;
  const seconds = wanted.durationSeconds ?? model.durations[0];
  if (model.duration_field !== null && seconds !== undefined) input[model.duration_field] = seconds;
  return input;
}

/** A last frame keeps the look of the first frame, so the first frame comes before the user's reference. */
function referencesOf<File>({ step, reference, firstFrame }: Wanted<File>): File[] {
  return [step === "last-frame" ? firstFrame : null, reference].filter((file) => file !== null);
}

type Frames = { first: string | null; last: string | null };

function requireSupported(references: number, frames: Frames, model: ModelSettings): void {
  const hasFrames = frames.first !== null || frames.last !== null;
  if (references > model.max_references) {
    throw new UnsupportedInput(
      `The model takes ${model.max_references} reference images, but there are ${references}.`,
    );
  }
  if (references > 0 && hasFrames && model.references_exclude_frames) {
    throw new UnsupportedInput("The model takes either reference images or frames, not both.");
  }
  if (frames.first !== null && model.first_frame_field === null) {
    throw new UnsupportedInput("The model takes no first frame.");
  }
  if (frames.last !== null && model.last_frame_field === null) {
    throw new UnsupportedInput("The model takes no last frame.");
  }
  if (frames.last !== null && frames.first === null && model.last_frame_needs_first) {
    throw new UnsupportedInput("The model takes a last frame only beside a first one.");
  }
}
