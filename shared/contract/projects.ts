import { z } from "zod";
import { aspectRatio } from "./controls.ts";
import { elementIds } from "./elements.ts";
import {
  changeBody,
  id,
  line,
  nextCursor,
  only,
  pageFields,
  referenceImagePath,
  STEPS,
  type Step,
  step,
  text,
  time,
  title,
} from "./fields.ts";
import { prediction, startFirstFrameBody, startLastFrameBody, startVideoBody } from "./predictions.ts";
import { SAMPLE_PROJECT } from "./samples.ts";

const textPrompt = text(1, 4000).describe(
  "The prompt of the scene; a step may have its own prompt. No control characters except tabs and line breaks.",
);
const descriptionText = "Free text, for example notes on the look. Not sent to the provider.";
const description = text(0, 4000).describe(descriptionText);

const projectRatio = aspectRatio.describe(
  "Width to height of its frames and videos, such as 9:16. A start can set another. Default: 16:9.",
);

const ownElements = elementIds(50)
  .nullable()
  .describe("The elements that it is made with. Null, the default: those of its film. A start can name others.");

export const ofEachStep = <Schema extends z.ZodType>(schema: Schema) =>
  Object.fromEntries(STEPS.map((name) => [name, schema.nullable()])) as Record<Step, z.ZodNullable<Schema>>;

/** Fields that a plan cannot have: the project's own, and those that would make all takes alike. */
const NOT_PLANNED = {
  projectId: true,
  count: true,
  elementIds: true,
  elements: true,
  referenceImagePath: true,
  seed: true,
  continuesPredictionId: true,
} as const;
export const planOfStep = {
  "first-frame": startFirstFrameBody.omit(NOT_PLANNED).meta({ id: "FirstFramePlan" }),
  "last-frame": startLastFrameBody.omit(NOT_PLANNED).meta({ id: "LastFramePlan" }),
  video: startVideoBody.omit(NOT_PLANNED).meta({ id: "VideoPlan" }),
};
const planText =
  "How its steps are made: fields of a start that apply when a start leaves them out. A start that names another model than the plan takes only its prompt and images.";
const plan = z.strictObject(planOfStep).partial().meta({ id: "ShotPlan", description: planText });

export const createProjectBody = z
  .strictObject({
    title,
    textPrompt,
    description: description.default("").describe(`${descriptionText} Default: empty.`),
    filmId: id.optional().describe("Adds it to this film, as the last shot. Default: none."),
    elementIds: ownElements.optional(),
    plan: plan.optional(),
    aspectRatio: projectRatio.optional(), // no default here: a retry by a client that does not know the field must stay the same request
  })
  .meta({ id: "CreateProject" });

const projectReference = referenceImagePath
  .nullable()
  .describe(
    "The look of the next frames: a start of a frame uses it, if its model accepts one, unless the start or the plan has references. `referenceImagePaths: []`: none.",
  );
const selectedText =
  "The selected take of each step; the next video and last frame are made from the selected frames. Null: the latest that succeeded and is not hidden.";

export const changeProjectBody = changeBody("ChangeProject", {
  title: title.optional(),
  textPrompt: textPrompt.optional(),
  description: description.optional(),
  referenceImagePath: projectReference.optional(),
  aspectRatio: projectRatio.optional(),
  filmId: id
    .nullable()
    .optional()
    .describe("Moves it to this film, as the last shot; null: removes it from its film. Its own film: no change."),
  elementIds: ownElements.optional(),
  plan: z
    .strictObject({
      "first-frame": planOfStep["first-frame"].nullish(),
      "last-frame": planOfStep["last-frame"].nullish(),
      video: planOfStep.video.nullish(),
    })
    .optional()
    .describe(`${planText} A step is replaced as a whole. An omitted step stays as it is; null: no plan.`),
  selected: z
    .strictObject(ofEachStep(id))
    .partial()
    .optional()
    .describe(`${selectedText} An omitted step stays as it is.`),
});

export const projectPath = z.strictObject({ projectId: id });

const fields = {
  projectId: id,
  title: z.string(),
  textPrompt: z.string(),
  description: z.string(),
  referenceImagePath: projectReference,
  aspectRatio: projectRatio,
  filmId: id.nullable().describe("The film whose shot it is; null: none."),
  elementIds: z.array(id).nullable().describe("The elements that it is made with; null: those of its film."),
  plan,
  selected: z.object(ofEachStep(id)).meta({ id: "SelectedTakes", description: selectedText }),
  createdAt: time,
  updatedAt: time.describe("Updated by every change; the ETag is this value in quotes."),
};

export const project = z.object(fields).meta({ id: "Project", examples: [SAMPLE_PROJECT] });
export type Project = z.infer<typeof project>;

export const predictionsText = "The latest prediction of each step; null where none was started.";
const predictions = z.object(ofEachStep(prediction)).meta({ id: "LatestPredictions", description: predictionsText });
export const takesText =
  "The take that each step shows: the selected one, otherwise the latest that succeeded and is not hidden, even if a later prediction failed. Null where there is none.";
const takes = z.object(ofEachStep(prediction)).meta({ id: "ShownTakes", description: takesText });
export type PredictionOfEachStep = z.infer<typeof predictions>;

export const projectWithPredictions = z
  .object({ ...fields, predictions, takes })
  .meta({ id: "ProjectWithPredictions" });

export const listProjectsQuery = z.strictObject({
  ...pageFields,
  search: line(1, 200).optional().describe("Only projects whose title contains this text; case is ignored."),
  include: only(
    "predictions",
    "predictions: adds `predictions` and `takes` to each project, as its own read returns them.",
  ),
});

export const projectPage = z
  .object({
    projects: z.array(
      z
        .object({ ...fields, predictions: predictions.optional(), takes: takes.optional() })
        .meta({ id: "ListedProject" }),
    ),
    nextCursor,
  })
  .meta({ id: "ProjectPage" });

export const listPredictionsQuery = z.strictObject({
  step: step.optional().describe("Only predictions of this step."),
  status: only("succeeded", "succeeded: only takes."),
  hidden: only("true", "true: hidden ones too. They are left out otherwise."),
  ...pageFields,
});

export const predictionPage = z.object({ predictions: z.array(prediction), nextCursor }).meta({ id: "PredictionPage" });
