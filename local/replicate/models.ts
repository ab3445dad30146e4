import type { Field, Model } from "./model-types.ts";

const prompt: Field = { type: "string", required: true };
const text: Field = { type: "string" };
const file: Field = { type: "file" };
const flag: Field = { type: "boolean" };
const seed: Field = { type: "integer" };
const files = (maxItems: number): Field => ({ type: "files", maxItems });
const oneOf = (values: readonly string[], preset?: string): Field => ({
  type: "string",
  values,
  ...(preset === undefined ? {} : { default: preset }),
});
const seconds = (values: readonly number[], preset: number): Field => ({ type: "integer", values, default: preset });
const whole = (min: number, max: number, preset?: number): Field => ({
  type: "integer",
  min,
  max,
  ...(preset === undefined ? {} : { default: preset }),
});

const filmRatios = ["16:9", "9:16", "1:1"];
const bananaRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
const dreamRatios = ["1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3", "21:9"];
const fluxRatios = ["1:1", "16:9", "3:2", "2:3", "4:5", "5:4", "9:16", "3:4", "4:3"];
const matched = (ratios: readonly string[], preset = "match_input_image"): Field =>
  oneOf(["match_input_image", ...ratios], preset);

const klingFrames = { firstFrame: "start_image", lastFrame: "end_image" };
const endNeedsStart = { rule: "needs", field: "end_image", other: "start_image" } as const;

const hailuo: Readonly<Record<string, Field>> = {
  prompt,
  first_frame_image: file,
  duration: seconds([6, 10], 6),
  prompt_optimizer: flag,
};
const longHailuoIsSmall = {
  rule: "limits",
  field: "resolution",
  value: "1080p",
  other: "duration",
  allowed: [6],
} as const;

const veo: Readonly<Record<string, Field>> = {
  prompt,
  image: file,
  last_frame: file,
  aspect_ratio: oneOf(["16:9", "9:16"], "16:9"),
  duration: seconds([4, 6, 8], 8),
  negative_prompt: text,
  resolution: oneOf(["720p", "1080p"], "1080p"),
  generate_audio: flag,
  seed,
};

const seedance = (resolutions: readonly string[]): Readonly<Record<string, Field>> => ({
  prompt,
  image: file,
  last_frame_image: file,
  reference_images: files(9),
  reference_videos: files(3),
  reference_audios: files(3),
  duration: { type: "integer", values: [-1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], default: 5 },
  resolution: oneOf(resolutions, "720p"),
  aspect_ratio: oneOf(["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "9:21", "adaptive"], "16:9"),
  generate_audio: flag,
  seed,
});
const seedanceRules = [
  { rule: "needs", field: "last_frame_image", other: "image" },
  { rule: "excludes", fields: ["image", "last_frame_image"], others: ["reference_images"] },
] as const;

const seedream = (sizes: readonly string[], references: number): Readonly<Record<string, Field>> => ({
  prompt,
  image_input: files(references),
  size: oneOf(sizes, "2K"),
  aspect_ratio: matched(dreamRatios),
  width: whole(1024, 4096, 2048),
  height: whole(1024, 4096, 2048),
  sequential_image_generation: oneOf(["disabled", "auto"], "disabled"),
  max_images: whole(1, 15, 1),
});

/**
 * The models the simulator serves, each with the input fields it has on Replicate.
 * This table is the simulator's own: it stands for the provider, and must not be derived from the project's `generation_models`.
 */
export const models: Readonly<Record<string, Model>> = {
  "kwaivgi/kling-v2.1": {
    about: "Video of 5 or 10 seconds from a start image, and in pro mode to an end image.",
    output: "video",
    ...klingFrames,
    fields: {
      prompt,
      start_image: { type: "file", required: true },
      end_image: file,
      mode: oneOf(["standard", "pro"], "standard"),
      duration: seconds([5, 10], 5),
      negative_prompt: text,
    },
    rules: [{ rule: "needs", field: "end_image", other: "mode", value: "pro" }],
  },
  "kwaivgi/kling-v2.5-turbo-pro": {
    about: "Video of 5 or 10 seconds from text, a start image, or between a start and an end image.",
    output: "video",
    ...klingFrames,
    fields: {
      prompt,
      start_image: file,
      end_image: file,
      aspect_ratio: oneOf(filmRatios, "16:9"),
      duration: seconds([5, 10], 5),
      negative_prompt: text,
    },
    rules: [endNeedsStart],
  },
  "kwaivgi/kling-v3-video": {
    about: "Video of 3 to 15 seconds from text, a start image, or between a start and an end image.",
    output: "video",
    ...klingFrames,
    fields: {
      prompt,
      start_image: file,
      end_image: file,
      mode: oneOf(["standard", "pro", "4k"], "pro"),
      aspect_ratio: oneOf(filmRatios, "16:9"),
      duration: whole(3, 15, 5),
      generate_audio: flag,
      negative_prompt: text,
      multi_prompt: text,
    },
    rules: [endNeedsStart],
  },
  "minimax/hailuo-02": {
    about: "Video of 6 or 10 seconds with first and last frame.",
    output: "video",
    firstFrame: "first_frame_image",
    lastFrame: "last_frame_image",
    fields: { ...hailuo, last_frame_image: file, resolution: oneOf(["512p", "768p", "1080p"], "1080p") },
    rules: [longHailuoIsSmall],
  },
  "minimax/hailuo-2.3": {
    about: "Video of 6 or 10 seconds from a first frame; it has no last frame.",
    output: "video",
    firstFrame: "first_frame_image",
    fields: { ...hailuo, resolution: oneOf(["768p", "1080p"], "768p") },
    rules: [longHailuoIsSmall],
  },
  "google/veo-3.1": {
    about: "Video of 4, 6 or 8 seconds with first and last frame, or from reference images.",
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame",
    fields: { ...veo, reference_images: files(3) },
    rules: [{ rule: "ignores", field: "last_frame", when: "reference_images" }],
  },
  "google/veo-3.1-fast": {
    about: "The faster Veo 3.1.",
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame",
    fields: { ...veo, reference_images: files(3) },
    rules: [{ rule: "ignores", field: "last_frame", when: "reference_images" }],
  },
  "bytedance/seedance-2.0": {
    about: "Video of 4 to 15 seconds with first and last frame, or from references.",
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame_image",
    fields: seedance(["480p", "720p", "1080p", "4k"]),
    rules: seedanceRules,
  },
  "bytedance/seedance-2.0-fast": {
    about: "The faster Seedance 2.0.",
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame_image",
    fields: seedance(["480p", "720p"]),
    rules: seedanceRules,
  },
  "google/nano-banana": {
    about: "Image from text and reference images.",
    output: "image",
    references: "image_input",
    fields: {
      prompt,
      image_input: { type: "files" },
      aspect_ratio: matched(bananaRatios),
      output_format: oneOf(["jpg", "png"], "jpg"),
    },
  },
  "google/nano-banana-pro": {
    about: "Image of up to 4K from text and up to 14 reference images.",
    output: "image",
    references: "image_input",
    fields: {
      prompt,
      image_input: files(14),
      aspect_ratio: matched(bananaRatios),
      resolution: oneOf(["1K", "2K", "4K"], "2K"),
      output_format: oneOf(["jpg", "png"], "jpg"),
      safety_filter_level: oneOf(
        ["block_low_and_above", "block_medium_and_above", "block_only_high"],
        "block_only_high",
      ),
      allow_fallback_model: flag,
    },
  },
  "bytedance/seedream-4": {
    about: "Images of up to 4K from text and up to 10 reference images.",
    output: "images",
    references: "image_input",
    fields: { ...seedream(["1K", "2K", "4K", "custom"], 10), enhance_prompt: flag },
  },
  "bytedance/seedream-4.5": {
    about: "Images of up to 4K from text and up to 14 reference images.",
    output: "images",
    references: "image_input",
    fields: { ...seedream(["2K", "4K", "custom"], 14), disable_safety_checker: flag },
  },
  "black-forest-labs/flux-kontext-pro": {
    about: "Image from text, or an edit of one input image.",
    output: "image",
    references: "input_image",
    fields: {
      prompt,
      input_image: file,
      aspect_ratio: matched([...fluxRatios, "21:9", "9:21", "2:1", "1:2"]),
      prompt_upsampling: flag,
      seed,
      output_format: oneOf(["jpg", "png"], "png"),
      safety_tolerance: whole(0, 6, 2),
    },
  },
  "black-forest-labs/flux-2-pro": {
    about: "Image of up to 4 megapixels from text and up to 8 input images.",
    output: "image",
    references: "input_images",
    fields: {
      prompt,
      input_images: files(8),
      aspect_ratio: matched(["custom", ...fluxRatios], "1:1"),
      resolution: oneOf(["match_input_image", "0.5 MP", "1 MP", "2 MP", "4 MP"], "1 MP"),
      width: whole(256, 2048),
      height: whole(256, 2048),
      safety_tolerance: whole(1, 5, 2),
      seed,
      output_format: oneOf(["webp", "jpg", "png"], "webp"),
      output_quality: whole(0, 100, 80),
    },
  },
};
