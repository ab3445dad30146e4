import type { ModelSettings } from "../../shared/replicate/build-input.ts";

/** The settings of google/nano-banana. */
export const NANO_BANANA: ModelSettings = {
  prompt_field: "prompt",
  reference_field: "image_input",
  max_references: 10,
  reference_is_list: true,
  first_frame_field: null,
  last_frame_field: null,
  last_frame_needs_first: false,
  last_frame_extras: {},
  references_exclude_frames: false,
  duration_field: null,
  durations: [],
  extras: { aspect_ratio: "16:9", output_format: "png" },
};

/** The settings of kwaivgi/kling-v2.1. */
export const KLING: ModelSettings = {
  ...NANO_BANANA,
  reference_field: null,
  max_references: 0,
  reference_is_list: false,
  first_frame_field: "start_image",
  last_frame_field: "end_image",
  last_frame_needs_first: true,
  last_frame_extras: { mode: "pro" },
  duration_field: "duration",
  durations: [5, 10],
  extras: {},
};
