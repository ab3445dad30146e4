import { z } from "zod";

const fields = z.record(z.string(), z.unknown());

/** A row of models: how our inputs map onto a model's fields. */
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
