import { STEPS, type Step } from "../../../shared/contract/fields.ts";
import type { Film, Shot } from "../../../shared/contract/films.ts";
import type { AnswerOf, OperationId } from "../../../shared/contract/operations/index.ts";
import type { Prediction } from "../../../shared/contract/predictions.ts";
import type { Project } from "../../../shared/contract/projects.ts";
import { isJsonObject } from "../../../shared/platform/json-text.ts";
import { dollars } from "./results.ts";
import { orNull, type Short, shortModels } from "./shorten-models.ts";

// The part of an answer that an agent needs, because clients cut long ones. Empty fields are left out, and only a single prediction is
// complete and has signed URLs.

type Args = Record<string, unknown>;

/** In code points, for the texts of one of many. */
const MAX_TEXT_CHARACTERS = 300;
const MAX_SHOTS = 20;
const MAX_GROUPS = 100;

function cut(text: string): string {
  const characters = [...text];
  return characters.length > MAX_TEXT_CHARACTERS ? `${characters.slice(0, MAX_TEXT_CHARACTERS).join("")}…` : text;
}

const shortCost = (cost: Prediction["cost"]) =>
  cost && {
    amountMicros: cost.amountMicros,
    atMostMicros: orNull(cost.atMostMicros, cost.amountMicros === null),
    state: cost.state,
  };

/** A prediction as one of many. */
const shortPrediction = ({ predictionId, status, model, cost, error, output, ...rest }: Omit<Prediction, "input">) => ({
  predictionId,
  status,
  progress: orNull(rest.progress, rest.completedAt === null),
  queuePosition: rest.queuePosition,
  waitsFor: rest.waitsFor,
  model,
  requestedModel: rest.requestedModel,
  hidden: orNull(true, rest.hidden),
  outdated: orNull(true, rest.outdated),
  changedElements: orNull(rest.changedElements, rest.changedElements.length > 0),
  cost: shortCost(cost),
  durationSeconds: output?.durationSeconds,
  error,
});

const alone = (one: Prediction) => ({ projectId: one.projectId, step: one.step, ...shortPrediction(one) });

/** A complete prediction. */
function wholePrediction(one: Prediction): Short {
  const { elements, referenceImagePath: _, ...input } = one.input; // the first of referenceImagePaths
  const { path: __, sha256: ___, ...output } = one.output ?? {};
  const running = `It is ${one.status}. Call wait again with the same arguments.`;
  const waits =
    "It waits for the previous shot's video and its end image. If that video has ended, ask the user to open the film.";
  const next = one.completedAt !== null ? null : one.waitsFor === null ? running : waits;
  return {
    ...alone(one),
    input: { ...input, elements: elements.map(({ elementId, name }) => ({ elementId, name })) },
    output,
    createdAt: one.createdAt,
    completedAt: one.completedAt,
    next,
  };
}

type WithSteps = Pick<Shot, "predictions" | "takes"> & Pick<Project, "selected">;

/** Each step's selected take, and its latest prediction if that is another one. */
function shortSteps({ takes, predictions, selected }: WithSteps): Short {
  const ofEach = (make: (name: Step) => Short | null) =>
    Object.fromEntries(STEPS.map((name) => [name, make(name)] as const));
  return {
    takes: ofEach((name) => {
      const take = takes[name];
      return take && { ...shortPrediction(take), selected: orNull(true, selected[name] === take.predictionId) };
    }),
    predictions: ofEach((name) => {
      const latest = predictions[name];
      return latest && latest.predictionId !== takes[name]?.predictionId ? shortPrediction(latest) : null;
    }),
  };
}

/** A project or a film as one of many. `elements` is their number; absent, a project uses its film's. */
const shortProject = ({ projectId, title, textPrompt, description, aspectRatio, filmId, elementIds }: Project) => ({
  projectId,
  title,
  textPrompt: cut(textPrompt),
  description: cut(description),
  aspectRatio,
  filmId,
  elements: elementIds?.length,
});
const shortFilm = ({ filmId, title, description, elementIds, projectIds, updatedAt }: Film) => ({
  filmId,
  title,
  description: cut(description),
  elements: elementIds.length,
  shots: projectIds.length,
  updatedAt,
});
const wholeProject = ({ createdAt: _, updatedAt: __, ...rest }: Project) => rest;
const wholeFilm = ({ createdAt: _, projectIds, ...rest }: Film) => ({ ...rest, shots: projectIds.length });

/** The price of a quote, and what to do with it. */
const shortEstimate = ({ currency: _, estimateMicros: __, ...rest }: AnswerOf<"estimateVideo">): Short => ({
  ...rest,
  next: `Nothing was started. It costs ${dollars(rest.atMostMicros)} at most by the price list; what the provider measures is charged. If the user agrees, call start with this quoteId and atMostMicros.`,
});

function shortFilmEstimate({ currency: _, estimateMicros: __, shots, ...rest }: AnswerOf<"estimateFilm">): Short {
  const able = shots.filter(({ error }) => error === null).length;
  const others = shots.length > able ? ` ${shots.length - able} cannot start; error says why.` : "";
  const next =
    able === 0
      ? `Nothing was started.${others || " No shot lacks this step."}`
      : `Nothing was started. ${able} ${able === 1 ? "shot costs" : "shots cost"} ${dollars(rest.atMostMicros)} at most by the price list; what the provider measures is charged.${others} If the user agrees, call start with this quoteId and atMostMicros.`;
  return {
    shots: shots.map(({ projectId, model, atMostMicros, elements, error }) => ({
      projectId,
      model,
      atMostMicros,
      error,
      elements: orNull(
        elements.map(({ name }) => name),
        elements.length > 0,
      ),
    })),
    ...rest,
    atMostMicros: orNull(rest.atMostMicros, able > 0),
    next,
  };
}

function startedOf({ predictions, ...first }: AnswerOf<"startQuote">): Short {
  const next = `Call wait with projectId, predictionId and step${predictions ? " of each. For a film, read_film shows the progress of all" : ""}.`;
  return predictions ? { predictions: predictions.map(alone), next } : { ...alone(first), next };
}

/** For clients that show their model neither pictures nor links. */
const LINKS = "wait with a predictionId and its step has the link of its file.";

const ANSWERS: { [Id in OperationId]?: (answer: AnswerOf<Id>, args: Args) => Short } = {
  listModels: shortModels,
  listElements: ({ elements, nextCursor }) => ({
    elements: elements.map(({ elementId, kind, name, text, imagePaths }) => ({
      elementId,
      kind,
      name,
      text,
      images: imagePaths.length,
    })),
    nextCursor,
  }),
  listFilms: ({ films, nextCursor }) => ({ films: films.map(shortFilm), nextCursor }),
  createFilm: wholeFilm,
  changeFilm: wholeFilm,
  readFilm: ({ shots, ...film }, { from }) => {
    const first = typeof from === "number" ? from : 1;
    const end = first - 1 + MAX_SHOTS;
    return {
      ...wholeFilm(film),
      shots: shots.slice(first - 1, end).map((shot, index) => ({
        place: first + index,
        ...shortProject({ ...shot, filmId: null }),
        ...shortSteps(shot),
      })),
      next:
        shots.length > end
          ? `It has ${shots.length} shots. Call read_film with from: ${end + 1} for more.`
          : orNull(`It has ${shots.length} shots.`, first > shots.length),
    };
  },
  listProjects: ({ projects, nextCursor }) => ({ projects: projects.map(shortProject), nextCursor }),
  createProject: wholeProject,
  changeProject: wholeProject,
  readProject: ({ predictions, takes, selected, ...project }) => ({
    ...wholeProject({ ...project, selected }),
    selected: null,
    ...shortSteps({ predictions, takes, selected }),
    next: orNull(
      LINKS,
      STEPS.some((name) => takes[name]),
    ),
  }),
  estimateFirstFrame: shortEstimate,
  estimateLastFrame: shortEstimate,
  estimateVideo: shortEstimate,
  estimateFilm: shortFilmEstimate,
  startQuote: startedOf,
  readVideo: wholePrediction,
  cancelPrediction: alone,
  changePrediction: alone,
  listPredictions: ({ predictions, nextCursor }) => ({
    takes: predictions.map((one) => ({ step: one.step, ...shortPrediction(one), createdAt: one.createdAt })),
    nextCursor,
    next: orNull(LINKS, predictions.length > 0),
  }),
  readUsage: ({ groups, ...usage }) => ({
    ...usage,
    groups: groups.slice(0, MAX_GROUPS),
    next: orNull(`It has ${groups.length} groups: ask for fewer days.`, groups.length > MAX_GROUPS),
  }),
};

/** An operation's answer, as its tool gives it. */
export function shorten(of: OperationId, answer: unknown, args: Args): Short {
  // An answer is of its operation's contract.
  const make = (ANSWERS[of] ?? ((whole: Short) => whole)) as (answer: unknown, args: Args) => Short;
  return withoutEmpty(make(answer, args));
}

/** Removes nulls, empty texts, and objects of such values. An empty list stays, because it says that there are none. */
function withoutEmpty(value: Short): Short {
  const shown = Object.entries(value).flatMap(([name, part]): [string, unknown][] => {
    const short = Array.isArray(part)
      ? part.map((one: unknown) => (isJsonObject(one) ? withoutEmpty(one) : one))
      : isJsonObject(part)
        ? withoutEmpty(part)
        : part;
    const isEmpty =
      short === null || short === undefined || short === "" || (isJsonObject(short) && Object.keys(short).length === 0);
    return isEmpty ? [] : [[name, short]];
  });
  return Object.fromEntries(shown);
}
