import { type InputSchema, readInputSchema, readRecordedSchemas } from "./model-schemas.ts";

/** A rule of a model that its published schema does not contain. */
export type Rule =
  | { rule: "needs"; field: string; other: string; value?: string | number }
  | { rule: "excludes"; fields: readonly string[]; others: readonly string[] }
  | { rule: "limits"; field: string; value: string; other: string; allowed: readonly (string | number)[] }
  /** The maximum number of items in a list, in which images of other fields count too. */
  | { rule: "at most"; field: string; items: number; with?: readonly string[] }
  /** The model accepts the field but ignores it when the other one is set. */
  | { rule: "ignores"; field: string; when: string };

/** What the simulator needs to know about a model besides its published schema. */
type Behaviour = {
  /** The form of `output`: the URL of an image, an array of such URLs, or, by default, the URL of a video. */
  output?: "image" | "images" | "video";
  /** The fields with the first and last frame of a video, and with the references. */
  firstFrame?: string;
  lastFrame?: string;
  references?: string;
  rules?: readonly Rule[];
};

export type Model = Required<Pick<Behaviour, "output">> &
  Behaviour & {
    input: InputSchema;
    /** The OpenAPI document the API shows. */
    openapi: object;
  };

const klingFrames = { firstFrame: "start_image", lastFrame: "end_image" };
const frames = { firstFrame: "image", lastFrame: "last_frame_image" };
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
/** The most items of each list. */
const atMost = (lists: Record<string, number>): Rule[] =>
  Object.entries(lists).map(([field, items]) => ({ rule: "at most", field, items }));
const seedance: Behaviour = {
  ...frames,
  references: "reference_images",
  rules: [
    ...atMost({ reference_images: 9, reference_videos: 3, reference_audios: 3 }),
    lastNeedsFirst,
    framesOrReferences,
  ],
};
const image = (references: string, most?: number): Behaviour => ({
  output: "image",
  references,
  rules: most === undefined ? [] : atMost({ [references]: most }),
});
const images = (references: string, most: number): Behaviour => ({ ...image(references, most), output: "images" });

const behaviours: Readonly<Record<string, Behaviour>> = {
  "kwaivgi/kling-v3-omni-video": {
    ...klingFrames,
    references: "reference_images",
    rules: [
      endNeedsStart,
      { rule: "at most", field: "reference_images", items: 7, with: ["start_image", "end_image"] },
    ],
  },
  "kwaivgi/kling-v2.6": { firstFrame: "start_image" },
  "pixverse/pixverse-v6": { ...frames, rules: [lastNeedsFirst] },
  "prunaai/p-video": { ...frames, rules: [lastNeedsFirst] },
  "bytedance/seedance-2.5": {
    ...frames,
    references: "reference_images",
    rules: [
      ...atMost({ reference_images: 30, reference_videos: 10, reference_audios: 10 }),
      lastNeedsFirst,
      { rule: "needs", field: "last_frame_image", other: "aspect_ratio", value: "adaptive" },
      framesOrReferences,
    ],
  },
  "google/nano-banana-2": image("image_input", 14),
  "kwaivgi/kling-v2.1": {
    ...klingFrames,
    rules: [{ rule: "needs", field: "end_image", other: "mode", value: "pro" }],
  },
  "kwaivgi/kling-v2.5-turbo-pro": { ...klingFrames, rules: [endNeedsStart] },
  "kwaivgi/kling-v3-video": { ...klingFrames, rules: [endNeedsStart] },
  "minimax/hailuo-02": {
    firstFrame: "first_frame_image",
    lastFrame: "last_frame_image",
    rules: [longHailuoIsSmall],
  },
  "minimax/hailuo-2.3": { firstFrame: "first_frame_image", rules: [longHailuoIsSmall] },
  "google/veo-3.1": {
    firstFrame: "image",
    lastFrame: "last_frame",
    references: "reference_images",
    rules: [
      ...atMost({ reference_images: 3 }),
      { rule: "needs", field: "reference_images", other: "aspect_ratio", value: "16:9" },
      { rule: "needs", field: "reference_images", other: "duration", value: 8 },
      { rule: "ignores", field: "last_frame", when: "reference_images" },
    ],
  },
  "google/veo-3.1-fast": { firstFrame: "image", lastFrame: "last_frame" },
  "bytedance/seedance-2.0": seedance,
  "bytedance/seedance-2.0-fast": seedance,
  "google/nano-banana": image("image_input"),
  "google/nano-banana-pro": image("image_input", 14),
  "bytedance/seedream-4": images("image_input", 10),
  "bytedance/seedream-4.5": images("image_input", 14),
  "black-forest-labs/flux-kontext-pro": image("input_image"),
  "black-forest-labs/flux-2-pro": image("input_images", 8),
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
  return { output: "video", ...behaviour, openapi, input: readInputSchema(openapi) };
}
