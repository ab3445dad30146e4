import type { ModelSettings } from "../../shared/replicate/build-input.ts";

/** The settings of google/nano-banana. */
export const NANO_BANANA: ModelSettings = {
  controls: {
    prompt: { field: "prompt" },
    referenceImages: { field: "image_input", list: true, max: 10 },
    aspectRatio: { field: "aspect_ratio", values: ["16:9", "9:16", "1:1"] },
  },
  fixed: { output_format: "png" },
};

/** The settings of kwaivgi/kling-v2.1. */
export const KLING: ModelSettings = {
  controls: {
    prompt: { field: "prompt", maxLength: 2500 },
    negativePrompt: { field: "negative_prompt", maxLength: 2500 },
    firstFrame: { field: "start_image", required: true },
    lastFrame: { field: "end_image", needs: ["firstFrame"], forces: { resolution: "1080p" } },
    resolution: { field: "mode", values: { "720p": "standard", "1080p": "pro" }, default: "720p" },
    durationSeconds: { field: "duration", values: [5, 10], default: 5 },
  },
  fixed: {},
};
