import { z } from "zod";
import type { Step } from "../contract/fields.ts";

const control = z.looseObject({
  field: z.string(),
  /** Our value, or our value → the model's. */
  values: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).optional(),
  /** The images beside which this control is not sent. */
  omitWith: z.array(z.string()).optional(),
  /** The field takes a list of images. */
  list: z.boolean().optional(),
});

/** A model's row: how the model takes each of our inputs, and the inputs that it always gets (`fixed`). */
export const modelSettings = z.object({
  controls: z.object({ prompt: control }).catchall(control),
  fixed: z.record(z.string(), z.unknown()),
});
export type ModelSettings = z.infer<typeof modelSettings>;

/** A complete input, as Postgres keeps it, and the URLs of its images. */
export type CompleteInput = {
  step: Step;
  input: Readonly<Record<string, unknown>>;
  files: { firstFrame: string | null; lastFrame: string | null; references: readonly string[] };
};

/** The model's row has changed since Postgres accepted the input. The message is for the owner. */
export class UnsupportedInput extends Error {}

/**
 * Fields of an input that no control has: `files` has the images, and prompt and references include the elements. Postgres has the same list
 * (keyframe_private.image_fields); test/db/schema/shared-rules.test.ts compares both.
 */
export const NO_CONTROLS = [
  ...["firstFramePredictionId", "firstFrameImagePath", "lastFramePredictionId", "lastFrameImagePath"],
  ...["referenceImagePaths", "elements", "continuesPreviousShot", "continuesPredictionId"],
];
/** Values that need no control: a video has an aspect ratio even if its model follows the frames; a model without sound makes none. */
const isImplied = (name: string, value: unknown) => name === "aspectRatio" || (name === "audio" && value === false);

/** The provider's input object for an input that Postgres has completed and checked (keyframe_private.resolve_input). */
export function buildInput(
  { step, input, files }: CompleteInput,
  { controls, fixed }: ModelSettings,
): Record<string, unknown> {
  // A last frame keeps the look of the first frame, so the first frame is the first of its references.
  const isVideo = step === "video";
  const images: Record<string, readonly string[]> = {
    firstFrame: isVideo ? listOf(files.firstFrame) : [],
    lastFrame: isVideo ? listOf(files.lastFrame) : [],
    referenceImages: isVideo ? files.references : [...listOf(files.firstFrame), ...files.references],
  };
  const built = { ...fixed };
  for (const [name, urls] of Object.entries(images)) {
    if (urls.length === 0) continue;
    const taken = controls[name];
    if (!taken || (urls.length > 1 && !taken.list))
      throw new UnsupportedInput(`The model no longer takes this ${name}.`);
    built[taken.field] = taken.list ? urls : urls[0];
  }
  for (const [name, value] of Object.entries(input)) {
    if (value === null || NO_CONTROLS.includes(name)) continue;
    const taken = controls[name];
    if (!taken && isImplied(name, value)) continue;
    if (taken?.omitWith?.some((image) => images[image]?.length)) continue;
    const theirs = taken && (isMap(taken.values) ? taken.values[String(value)] : value);
    if (!taken || theirs === undefined) throw new UnsupportedInput(`The model no longer takes ${name} ${value}.`);
    built[taken.field] = theirs;
  }
  return built;
}

const listOf = (url: string | null) => (url === null ? [] : [url]);
const isMap = (values: unknown): values is Record<string, unknown> =>
  typeof values === "object" && values !== null && !Array.isArray(values);
