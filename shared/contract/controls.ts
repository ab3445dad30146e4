import { z } from "zod";
import { elementIds, usedElement } from "./elements.ts";
import { id, imagePath, line, referenceImagePath, step, text, time } from "./fields.ts";

/** Width to height. Each model lists its ratios. */
export const aspectRatio = z.string().regex(/^[1-9]\d?:[1-9]\d?$/, "Must have the shape width:height, such as 16:9.");

/** The provider's name of a model. */
const modelName = z
  .string()
  .max(200)
  .regex(
    /^[a-z0-9._-]+\/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$/,
    "Must be the name of a model, such as google/nano-banana. GET /api/models lists them.",
  );

/** Null means the same as an absent field, so that `input` of an answer can be sent again. A description names each exception. */
const control = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.nullish().describe(description);

/**
 * The fields of a start, and of `input` in answers. These bounds hold for every model; Postgres checks the rest against the model's row.
 */
export const controls = {
  prompt: control(text(1, 4000), "What to generate. Default: the project's textPrompt."),
  negativePrompt: control(text(1, 4000), "What to avoid."),
  firstFramePredictionId: control(
    id,
    "A first or last frame from any of your projects. A video starts at it; a last frame keeps its look. Default: the project's selected first frame, else the latest that succeeded. Null: none; then a video is made from the text and the reference images, in `aspectRatio`.",
  ),
  firstFrameImagePath: control(imagePath, "An uploaded image, instead of firstFramePredictionId."),
  lastFramePredictionId: control(
    id,
    "A first or last frame from any of your projects, at which the video ends. Default: the project's selected last frame, else the latest that succeeded, if any. Null: none.",
  ),
  lastFrameImagePath: control(imagePath, "An uploaded image, instead of lastFramePredictionId."),
  continuesPreviousShot: control(
    z.boolean(),
    "True: the video starts on the end image of the film's previous shot, instead of firstFramePredictionId or firstFrameImagePath. It waits for that shot's video if that is being made, and for the end image (`endImagePath`) if it is not stored and the video was not made to end on a frame.",
  ),
  continuesPredictionId: control(
    id,
    "In `input` of a response: the video that it continues. Only a start with continuesPreviousShot uses it.",
  ),
  referenceImagePaths: control(z.array(referenceImagePath), "Images that set the look, as returned by the upload."),
  referenceImagePath: control(referenceImagePath, "One image, instead of referenceImagePaths."),
  elements: control(
    z.array(usedElement).max(20),
    "From `input` of a response, to repeat it: `prompt` and `referenceImagePaths` already have their texts and images, and no other element is added. An element whose text is no longer in the prompt is left out.",
  ),
  aspectRatio: control(aspectRatio, "Width to height. Default: the project's."),
  resolution: control(line(1, 40), "A resolution that the model offers, such as 1080p. Default: the model's."),
  durationSeconds: control(
    z.int().min(1).max(60),
    "The length of a video. The model lists the lengths that it offers. Default: the model's.",
  ),
  audio: control(
    z.boolean(),
    "Whether a video has sound. Default: the model's, which is false unless an administrator changed it.",
  ),
  seed: control(z.int(), "The same seed and the same other inputs give a similar result."),
};

const isAbsent = z
  .null("This step does not have this field. Leave it out.")
  .optional()
  .describe("This step does not have this field.");

/** The fields of a start, without those in `absent`. */
export const startFields = <Name extends keyof typeof controls = never>(...absent: Name[]) => ({
  projectId: id,
  model: modelName
    .optional()
    .describe(
      "A model from GET /api/models. Default: the default of the step. A model that you name is never replaced by another.",
    ),
  elementIds: control(
    elementIds(20),
    "The elements to use: their images join the references, their texts the prompt. An element that the prompt names as @name is used too. Default: the project's, else those that the prompt names, else all of its film; a video that starts at a frame then gets only their texts. Empty: no elements, and @ has no meaning.",
  ),
  count: z
    .int()
    .min(1)
    .max(8)
    .optional()
    .describe(
      "How many takes, all or none. With a seed, each has the next one. Default: one, without `predictions` in the answer.",
    ),
  ...controls,
  ...(Object.fromEntries(absent.map((name) => [name, isAbsent])) as Record<Name, typeof isAbsent>), // the keys are `absent`
});

/** `input` of an answer has the same fields as a start. */
export const predictionInput = z
  .object(controls)
  .required()
  .extend({
    prompt: z.string().describe("The prompt of the request, or the project's textPrompt at that time."),
    firstFramePredictionId: id.nullable().describe("It may have been deleted."),
    lastFramePredictionId: id.nullable().describe("It may have been deleted."),
    referenceImagePaths: z.array(referenceImagePath),
    referenceImagePath: referenceImagePath.nullable().describe("The first of referenceImagePaths."),
    elements: z
      .array(usedElement)
      .describe(
        "The elements that it was made with: their texts are in `prompt`, their images in `referenceImagePaths`.",
      ),
    durationSeconds: z.int().nullable().describe("Only for a video."),
  })
  .meta({
    id: "PredictionInput",
    description: "The complete input, defaults included. Send it again to repeat the prediction. Null: not set.",
  });
export type PredictionInput = z.infer<typeof predictionInput>;

const value = z.union([z.string(), z.number(), z.boolean()]);
const names = z.array(z.string()).optional();
const forced = z.record(z.string(), value);

export const modelControl = z
  .object({
    values: z.array(value).optional().describe("The allowed values, in order."),
    min: z.number().optional(),
    max: z.number().optional().describe("The largest value; for referenceImages, the maximum number."),
    default: value.optional().describe("Used when a start leaves it out."),
    maxLength: z.int().optional().describe("For texts: the maximum, in characters."),
    required: z.boolean().optional().describe("The model needs this image."),
    countsFrames: z.boolean().optional().describe("For referenceImages: the frames of a video count towards max."),
    needs: names.describe("Controls that must be used too."),
    excludes: names.describe("Controls that cannot be used with it."),
    forces: forced.optional().describe("The values that other controls get when this one is used."),
    forcesByValue: z
      .record(z.string(), forced)
      .optional()
      .describe("For each value of this control, the values that other controls get."),
  })
  .meta({ id: "ModelControl" });

const yesNoOrUnknown = z.enum(["yes", "no", "unknown"]);

const modelPrice = z
  .object({
    appliesTo: z
      .record(z.string(), value)
      .describe(
        "The control values for which the price applies. If several prices apply, the one with the most values is used.",
      ),
    metric: z
      .enum(["run", "image", "output_second", "input_megapixel", "output_megapixel", "hardware_second"])
      .describe("The unit that is priced. The metrics of a model add up."),
    priceUsd: z.number(),
    checkedAt: z.iso.date().describe("When the price was last checked against its source."),
  })
  .meta({ id: "ModelPrice" });

const model = z
  .object({
    model: modelName,
    label: z.string(),
    vendor: z.string(),
    isDefault: z.boolean().describe("True: used when a start names no model."),
    available: z.boolean().describe("False: the vendor has retired it, or the provider does not know it."),
    acceptsFaces: yesNoOrUnknown.describe("Whether it accepts images that show people's faces."),
    shutdownAt: time.nullable().describe("When the vendor retires it, if announced."),
    successor: modelName
      .nullable()
      .describe("The model that is used instead when this one is not available and a start sets no options."),
    promptMaxLength: z.int().describe("In characters."),
    notes: z.string().optional(),
    prices: z.array(modelPrice).describe("Current prices; empty when none is known."),
    billedWhen: z
      .object({ failed: yesNoOrUnknown, rejected: yesNoOrUnknown, canceled: yesNoOrUnknown })
      .describe("Whether the provider bills a run that failed, whose content was rejected, or that was canceled."),
    controls: z
      .record(z.string(), modelControl)
      .describe(
        "The controls that it supports, by name: fields of a start, plus firstFrame, lastFrame and referenceImages. A missing control cannot be used.",
      ),
  })
  .meta({ id: "Model" });

export const modelList = z
  .object({ steps: z.array(z.object({ step, models: z.array(model) }).meta({ id: "ModelsOfStep" })) })
  .meta({ id: "ModelList" });
export type ModelList = z.infer<typeof modelList>;
