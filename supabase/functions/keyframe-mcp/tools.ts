import { z } from "zod";
import { id, step, time } from "../../../shared/contract/fields.ts";
import { changeFilmBody, filmPath } from "../../../shared/contract/films.ts";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { predictionPath } from "../../../shared/contract/predictions.ts";
import { projectPath } from "../../../shared/contract/projects.ts";

/** One operation of the API as a tool. Its fields come from the contract; so does its title, if none is given here. */
export type Tool = {
  operation: OperationId;
  description: string;
  title?: string;
  /** Fields of every call, which the agent does not give. */
  fixedFields?: Record<string, string>;
  /** The fields that the agent gives; by default all but those in NOT_FOR_AGENTS. */
  fields?: string[];
  /** Fields that replace those of the operation. */
  input?: z.ZodObject;
  /** The arguments of the operation; by default what the agent gave. */
  toArguments?: (given: Record<string, unknown>) => Record<string, unknown>;
  /** The answer shows pictures, and links to the files. */
  showsFiles?: true;
  /** A repeated call has the same effect as the first. */
  repeats?: true;
  /** It replaces what a user wrote. */
  overwrites?: true;
  /** The effect is visible to people without an account, or costs money. */
  reachesOut?: true;
  /** It is read again until the prediction ends. */
  waits?: true;
};

/**
 * In this order: another name of referenceImagePaths; two that repeat an input exactly; one that makes the answer too long for an agent; one
 * that select_take sets.
 */
const NOT_FOR_AGENTS = ["referenceImagePath", "elements", "continuesPredictionId", "include", "selected"];

const priced = (name: string, operation: OperationId): Tool => ({
  operation,
  fixedFields: { quote: "true" },
  title: `Price of ${name}`,
  description: `What ${name} costs, the elements that it will use, and a quoteId that holds the price for ten minutes. Nothing is started or charged: tell the user, then call start. It fails with every error that start would return.`,
});

/** In the order in which a film is made. Tools that delete are left out. */
export const TOOLS: Record<string, Tool> = {
  list_models: {
    operation: "listModels",
    input: z.strictObject({
      step: step.optional().describe("Only this step's models."),
      model: z.string().optional().describe("Everything about this model."),
    }),
    toArguments: () => ({}),
    description:
      "The models of each step, the controls they accept, and their prices. With model: everything about one, such as its ratios and what its controls require or exclude.",
  },
  list_elements: {
    operation: "listElements",
    description:
      "The characters, places, props and styles that shots have in common, newest first. Look here before you create one. Give their elementIds to create_film, create_project or an estimate.",
  },
  create_element: {
    operation: "createElement",
    description:
      "Saves a character, a place, a prop or a style with a text that description what it looks like. Give its elementId to create_film, create_project or an estimate, in elementIds: it is used there, and a prompt there can name it as @name. Users upload its images in the app.",
  },
  list_films: { operation: "listFilms", description: "Each with the number of its shots." },
  read_film: {
    operation: "readFilm",
    input: filmPath.extend({
      from: z.int().min(1).optional().describe("The number of the first shot to read. Default: 1."),
    }),
    toArguments: ({ filmId }) => ({ filmId }),
    description:
      "The shots in order, 20 at a time: the take that each step shows and, if it is another, the latest prediction. Long prompts are cut: read_project has a whole shot, wait a whole prediction.",
  },
  create_film: {
    operation: "createFilm",
    description: "Saves a film without shots. create_project with its filmId adds one. Nothing is charged.",
  },
  change_film: {
    operation: "changeFilm",
    input: filmPath.extend({
      ...changeFilmBody.shape,
      updatedAt: time.optional().describe("The value that you read. The call fails if the film has changed since."),
    }),
    toArguments: ({ updatedAt: _, ...given }) => given,
    title: "Change a film: texts, cast, order of its shots",
    description:
      "Fields that you leave out keep their value. Call read_film first and pass its updatedAt: projectIds and elementIds replace the whole list.",
    overwrites: true,
  },
  list_projects: { operation: "listProjects", description: "All shots, in a film or not. Long prompts are cut." },
  read_project: {
    operation: "readProject",
    description:
      "A shot with the take that each step shows and, if it is another, the latest prediction. Shows the pictures.",
    showsFiles: true,
  },
  create_project: {
    operation: "createProject",
    fields: ["title", "textPrompt", "description", "filmId", "elementIds", "aspectRatio"],
    title: "Create a project, which is one shot",
    description:
      "Saves a title and the prompt of the scene; with filmId, as the last shot of that film. change_project plans how its steps are made. Nothing is started or charged.",
  },
  change_project: {
    operation: "changeProject",
    title: "Change a project: texts, ratio, elements, film, plan",
    description:
      "Fields that you leave out keep their value; in `plan`, a step is replaced as a whole. Takes keep the inputs they were made with. To use the change, start the step again.",
    overwrites: true,
  },
  estimate_first_frame: priced("a first frame", "estimateFirstFrame"),
  estimate_last_frame: priced("a last frame", "estimateLastFrame"),
  estimate_video: priced("a video between the frames", "estimateVideo"),
  generate_film: {
    operation: "estimateFilm",
    fixedFields: { quote: "true" },
    fields: ["filmId", "step", "projectIds", "outdated", "model", "resolution", "durationSeconds", "audio"],
    title: "Generate a step for all shots of a film that lack it: the price",
    description:
      "The price of each of these shots, or why it cannot start, and one quoteId for all that can. Nothing is started or charged: tell the user, then call start, which starts them all or none. At most 60 shots at once. outdated=true: also shots whose take is outdated.",
  },
  start: {
    operation: "startQuote",
    description:
      "Starts exactly what an estimate or generate_film returned, or nothing. This is the only tool that spends money: ask the user first. Calling it again returns the same answer and charges nothing.",
    repeats: true,
    reachesOut: true,
  },
  wait: {
    operation: "readVideo",
    input: predictionPath.extend({ step }),
    title: "Wait until a prediction ends, or read a whole prediction",
    description:
      "Returns when the prediction has ended, with its input, its cost and its picture or a link to its video; after 25 seconds, with its state at that time. While its status is queued, starting or processing, call it again with the same arguments: waiting costs nothing.",
    showsFiles: true,
    waits: true,
  },
  cancel: {
    operation: "cancelPrediction",
    description: "The provider may charge for the time until it is canceled.",
    repeats: true,
  },
  list_takes: {
    operation: "listPredictions",
    fixedFields: { status: "succeeded" },
    title: "List the takes of a project, newest first",
    description:
      "The frames and videos that succeeded, with what each cost. The pictures of the first four are included. wait shows any other.",
    showsFiles: true,
  },
  select_take: {
    operation: "changeProject",
    input: projectPath.extend({
      step,
      predictionId: id.nullable().describe("One from list_takes. Null: the latest that succeeded."),
    }),
    toArguments: ({ projectId, step: name, predictionId }) => ({
      projectId,
      selected: { [String(name)]: predictionId },
    }),
    title: "Select the take of a step",
    description:
      "The selected take stands for its step: the next last frame and video are made from the selected frames.",
  },
  hide_take: {
    operation: "changePrediction",
    input: predictionPath.extend({ hidden: z.boolean().describe("False: shows it again.") }),
    title: "Hide a take, or show it again",
    description: "Lists leave a hidden take out, and its step shows another one unless this one is selected.",
  },
  share_film: {
    operation: "shareFilm",
    title: "Share a film by a link",
    description:
      "Anyone who has the token can watch the current state of the film. Ask the user first. Keyframe's dashboard opens it at #/shared/<token>. Users revoke a link in the app.",
    reachesOut: true,
  },
  read_usage: {
    operation: "readUsage",
    description: "By day, model, step or project, and what is left of the budgets and balance.",
  },
};

const objects = (schemas: unknown[]) => schemas.filter((one) => one instanceof z.ZodObject);

/** Path, query and body of the operation, or the tool's own fields. No two have a field of the same name. */
export function partsOf({ operation, input }: Tool): z.ZodObject[] {
  const { path, query, body }: Operation = OPERATIONS[operation];
  return objects(input ? [input] : [path, query, body]);
}

export function inputOf(tool: Tool): z.ZodObject {
  const { fixedFields = {}, fields, input } = tool;
  const all = partsOf(tool).flatMap(({ shape }) => Object.entries(shape));
  const isGiven = (name: string) => input !== undefined || (fields?.includes(name) ?? !NOT_FOR_AGENTS.includes(name));
  return z.strictObject(Object.fromEntries(all.filter(([name]) => !(name in fixedFields) && isGiven(name))));
}

/** The names of a tool's arguments. */
export const fieldsOf = (tool: Tool): string[] => Object.keys(inputOf(tool).shape);
