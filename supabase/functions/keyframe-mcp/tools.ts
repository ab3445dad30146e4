import { z } from "zod";
import { step } from "../../../shared/contract/fields.ts";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { cancelPredictionBody, prediction } from "../../../shared/contract/predictions.ts";

/** One operation of the API as a tool. Its input, its answer and, where nothing is said here, its words are the contract's. */
type Tool = {
  of: OperationId;
  /** Fields of every call, which the agent does not give. */
  fixed?: Record<string, string>;
  /** The fields that the agent gives; by default all. */
  only?: string[];
  title?: string;
  says?: string;
  /** The answer shows pictures, not only their URLs. */
  shows?: true;
  /** A repeated call has the same effect as the first. */
  repeats?: true;
  /** It is read again until the prediction ends. */
  waits?: true;
};

const priced = (name: string, of: OperationId): Tool => ({
  of,
  fixed: { quote: "true" },
  title: `Price of ${name}`,
  says: `What ${name} costs, in millionths of a dollar, and a quoteId that holds this price for ten minutes. Show the price to the user, then call start with both. Nothing is started or charged here, and what start would refuse is refused here.`,
});

/** In the order in which a shot is made. Tools that delete are left out. */
export const TOOLS: Record<string, Tool> = {
  list_models: { of: "listModels" },
  list_elements: {
    of: "listElements",
    says: "The characters, places, props and styles that shots have in common, newest first: give their elementIds to create_film, create_project or an estimate. Look here before you create one. Pass nextCursor as cursor for the next page.",
  },
  create_element: {
    of: "createElement",
    says: "Saves a character, a place, a prop or a style with a text that says what it looks like. Give its elementId to create_film, create_project or an estimate, in elementIds: it is used there, and @name in a prompt works there only. Users upload its images in the app.",
  },
  list_films: { of: "listFilms" },
  read_film: { of: "readFilm" },
  create_film: { of: "createFilm" },
  list_projects: { of: "listProjects" },
  read_project: { of: "readProject", shows: true },
  create_project: { of: "createProject", title: "Create a project, which is one shot" },
  estimate_first_frame: priced("a first frame", "estimateFirstFrame"),
  estimate_last_frame: priced("a last frame", "estimateLastFrame"),
  estimate_video: priced("a video between the frames", "estimateVideo"),
  start: { of: "startQuote", repeats: true },
  wait: {
    of: "readVideo",
    title: "Wait for the end of a prediction",
    says: "Returns the prediction when it has ended, with its picture or a link to its video, and what it cost; after 25 seconds as it is then. While its status is queued, starting or processing, call it again with the same arguments: waiting costs nothing.",
    shows: true,
    waits: true,
  },
  cancel: { of: "cancelPrediction", repeats: true },
  list_takes: {
    of: "listPredictions",
    fixed: { status: "succeeded" },
    title: "List the takes of a project, newest first",
    says: "The frames and videos that succeeded, with what each cost; the first pictures are shown, to compare them. Pass nextCursor as cursor for the next page.",
    shows: true,
  },
  select_take: {
    of: "changeProject",
    only: ["projectId", "selected"],
    title: "Select the take of a step",
    says: "The selected take stands for its step: the next last frame and video are made from the selected frames. Null: the latest that succeeded.",
  },
  hide_take: { of: "changePrediction", title: "Hide a take, or show it again" },
  read_usage: { of: "readUsage" },
};

const shapeOf = (schema: z.ZodType | "image" | undefined) => (schema instanceof z.ZodObject ? schema.shape : {});

/** The arguments: the fields of path, query and body together, of which no two have one name. */
function inputOf({ of, fixed = {}, only, waits }: Tool): z.ZodObject {
  const { path, query, body }: Operation = OPERATIONS[of];
  if (waits) return cancelPredictionBody.extend({ step });
  const shape = { ...shapeOf(path), ...shapeOf(query), ...shapeOf(body) };
  const given = Object.entries(shape).filter(([name]) => !(name in fixed) && (only?.includes(name) ?? true));
  return z.strictObject(Object.fromEntries(given));
}

/** The names of a tool's arguments. */
export const fieldsOf = (tool: Tool): string[] => Object.keys(inputOf(tool).shape);

type JsonSchema = Record<string, unknown> & { type: "object" };

/** What an agent reads of an answer needs no bounds, and may get fields. */
const BOUNDS = ["pattern", "minLength", "maxLength", "minimum", "maximum", "additionalProperties"] as const;

function toJson(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      const { override } = Object(z.globalRegistry.get(zodSchema)); // as zod-openapi applies it
      if (typeof override === "function") override({ jsonSchema });
      if (typeof jsonSchema.description === "string") jsonSchema.description = inTools(jsonSchema.description);
      delete jsonSchema.examples;
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (io === "output")
        for (const bound of BOUNDS) if (Object(jsonSchema[bound]) !== jsonSchema[bound]) delete jsonSchema[bound];
      // A field of another step.
      const fields = Object.entries(jsonSchema.properties ?? {});
      for (const [name, field] of fields) if (Object(field).type === "null") delete jsonSchema.properties?.[name];
    },
  });
  // Some clients read one type only, and Zod makes a list of types at the end.
  const split = JSON.stringify(json, (_name, part) => {
    if (!Array.isArray(part?.type)) return part;
    const { type, ...rest } = part;
    return { ...rest, anyOf: type.map((one: string) => ({ type: one })) };
  });
  return { ...JSON.parse(split), type: "object" };
}

/** A sentence of the API with the names of tools in place of its paths. */
export const inTools = (sentence: string): string =>
  sentence.replaceAll(/`?(GET|POST|PATCH) \/api(\/[\w:/-]*\w)`?/g, (found, method, at) => {
    const tool = Object.entries(TOOLS).find(
      ([, { of }]) => OPERATIONS[of].method === method && OPERATIONS[of].at === at,
    );
    return tool?.[0] ?? found;
  });

/** As tools/list answers it. */
function describe(name: string, tool: Tool) {
  const { method, summary, description, answer, changesNothing }: Operation = OPERATIONS[tool.of];
  const [about = ""] = description.split("\n\n");
  const title = tool.title ?? summary;
  return {
    name,
    title,
    description: tool.says ?? inTools(about),
    inputSchema: toJson(inputOf(tool), "input"),
    outputSchema: toJson(tool.waits ? prediction : answer, "output"),
    annotations: {
      title,
      // A quote is stored, but it changes nothing that the user has.
      readOnlyHint: method === "GET" || changesNothing === true,
      destructiveHint: false,
      idempotentHint: method !== "POST" || changesNothing === true || tool.repeats === true,
      openWorldHint: tool.of === "startQuote",
    },
  };
}

let described: ReturnType<typeof describe>[] | undefined;
/** Made at the first list: a call needs none of it. */
export function listTools(): ReturnType<typeof describe>[] {
  described ??= Object.entries(TOOLS).map(([name, tool]) => describe(name, tool));
  return described;
}
