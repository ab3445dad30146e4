import { type InputSchema, readInputSchema, readRecordedSchemas } from "./model-schemas.ts";

/** A rule of a model that its published schema does not contain. */
export type Rule =
  | { rule: "needs"; field: string; other: string; value?: string }
  | { rule: "excludes"; fields: readonly string[]; others: readonly string[] }
  | { rule: "limits"; field: string; value: string; other: string; allowed: readonly (string | number)[] }
  /** The maximum number of items in a list, in which images of other fields count too. */
  | { rule: "at most"; field: string; items: number; with?: readonly string[] }
  /** The model accepts the field but ignores it when the other one is set. */
  | { rule: "ignores"; field: string; when: string };

/** What the simulator needs to know about a model besides its published schema. */
type Behaviour = {
  /** The form of `output`: the URL of an image, an array of such URLs, or the URL of a video. */
  output: "image" | "images" | "video";
  /** The fields with the first and last frame of a video, and with the references of an image. */
  firstFrame?: string;
  lastFrame?: string;
  references?: string;
  rules?: readonly Rule[];
};

export type Model = Behaviour & {
  input: InputSchema;
  /** The OpenAPI document the API shows. */
  openapi: object;
};

const klingFrames = { firstFrame: "start_image", lastFrame: "end_image" };
const endNeedsStart: Rule = { rule: "needs", field: "end_image", other: "start_image" };
const lastNeedsFirst: Rule = { rule: "needs", field: "last_frame_image", other: "image" };
const framesOrReferences: Rule = {
  rule: "excludes",
  fields: ["image", "last_frame_image"],
  others: ["reference_images"],
};
const longHailuoIsSmall: Rule = {
  rule: "limits",
  field: "resolution",
  value: "1080p",
  other: "duration",
  allowed: [6],
};
const seedance: Behaviour = {
  output: "video",
  firstFrame: "image",
  lastFrame: "last_frame_image",
  rules: [
    { rule: "at most", field: "reference_images", items: 9 },
    { rule: "at most", field: "reference_videos", items: 3 },
    { rule: "at most", field: "reference_audios", items: 3 },
    lastNeedsFirst,
    framesOrReferences,
  ],
};
const manyReferences = { reference_images: 30, reference_videos: 10, reference_audios: 10 };
const images = (field: string, items: number): Pick<Behaviour, "references" | "rules"> => ({
  references: field,
  rules: [{ rule: "at most", field, items }],
});

const behaviours: Readonly<Record<string, Behaviour>> = {
  "kwaivgi/kling-v3-omni-video": {
    output: "video",
    ...klingFrames,
    references: "reference_images",
    rules: [
      endNeedsStart,
      { rule: "at most", field: "reference_images", items: 7, with: ["start_image", "end_image"] },
    ],
  },
  "kwaivgi/kling-v2.6": {
    output: "video",
    firstFrame: "start_image",
  },
  "pixverse/pixverse-v6": {
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame_image",
    rules: [lastNeedsFirst],
  },
  "prunaai/p-video": {
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame_image",
    rules: [lastNeedsFirst],
  },
  "bytedance/seedance-2.5": {
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame_image",
    rules: [
      ...Object.entries(manyReferences).map(([field, items]): Rule => ({ rule: "at most", field, items })),
      lastNeedsFirst,
      { rule: "needs", field: "last_frame_image", other: "aspect_ratio", value: "adaptive" },
      framesOrReferences,
    ],
  },
  "google/nano-banana-2": {
    output: "image",
    ...images("image_input", 14),
  },
  "kwaivgi/kling-v2.1": {
    output: "video",
    ...klingFrames,
    rules: [{ rule: "needs", field: "end_image", other: "mode", value: "pro" }],
  },
  "kwaivgi/kling-v2.5-turbo-pro": {
    output: "video",
    ...klingFrames,
    rules: [endNeedsStart],
  },
  "kwaivgi/kling-v3-video": {
    output: "video",
    ...klingFrames,
    rules: [endNeedsStart],
  },
  "minimax/hailuo-02": {
    output: "video",
    firstFrame: "first_frame_image",
    lastFrame: "last_frame_image",
    rules: [longHailuoIsSmall],
  },
  "minimax/hailuo-2.3": {
    output: "video",
    firstFrame: "first_frame_image",
    rules: [longHailuoIsSmall],
  },
  "google/veo-3.1": {
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame",
    rules: [
      { rule: "at most", field: "reference_images", items: 3 },
      { rule: "ignores", field: "last_frame", when: "reference_images" },
    ],
  },
  "google/veo-3.1-fast": {
    output: "video",
    firstFrame: "image",
    lastFrame: "last_frame",
  },
  "bytedance/seedance-2.0": seedance,
  "bytedance/seedance-2.0-fast": seedance,
  "google/nano-banana": {
    output: "image",
    references: "image_input",
  },
  "google/nano-banana-pro": {
    output: "image",
    ...images("image_input", 14),
  },
  "bytedance/seedream-4": {
    output: "images",
    ...images("image_input", 10),
  },
  "bytedance/seedream-4.5": {
    output: "images",
    ...images("image_input", 14),
  },
  "black-forest-labs/flux-kontext-pro": {
    output: "image",
    references: "input_image",
  },
  "black-forest-labs/flux-2-pro": {
    output: "image",
    ...images("input_images", 8),
  },
};

const recorded = readRecordedSchemas();

/**
 * The simulator's models: their recorded schemas and their behaviour beyond them. They represent the provider and must not be
 * derived from the project's table `models`.
 */
export const models: Readonly<Record<string, Model>> = Object.fromEntries(
  Object.entries(behaviours).map(([name, behaviour]) => [name, modelOf(name, behaviour)]),
);

function modelOf(name: string, behaviour: Behaviour): Model {
  const document = recorded[name];
  if (!document) throw new Error(`schemas/${name}.json is missing: the simulator has no schema of ${name}`);
  const { "x-source": _source, ...openapi } = document;
  return { ...behaviour, openapi, input: readInputSchema(openapi) };
}
