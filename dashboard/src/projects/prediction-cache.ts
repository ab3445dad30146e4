import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import {
  hasEnded,
  type ListedProject,
  type Output,
  type Prediction,
  type PredictionPage,
  type PredictionStatus,
  type ProjectPage,
  type ProjectWithPredictions,
  type Step,
} from "../../../client/index.ts";

/** Writes a prediction to every cached query that contains it. A take that succeeds stands for its step unless one is selected. */
export function storePrediction(queries: QueryClient, given: Prediction): void {
  const prediction = steadyPrediction(given);
  const { projectId, step } = prediction;
  queries.setQueryData<ProjectWithPredictions>(
    projectKeys.one(projectId),
    (project) => project && withPrediction(project, prediction),
  );
  editListed(queries, (projects) =>
    projects.map((project) => {
      const { predictions, takes } = project;
      return project.projectId === projectId && predictions && takes
        ? withPrediction({ ...project, predictions, takes }, prediction)
        : project;
    }),
  );
  queries.setQueriesData<InfiniteData<PredictionPage>>(
    { queryKey: projectKeys.predictions(projectId, step) },
    (history) =>
      history && {
        ...history,
        pages: history.pages.map((page, at) => historyWithPrediction(page, prediction, at === 0)),
      },
  );
  queries.setQueryData<Prediction | null>(
    projectKeys.prediction(prediction.predictionId),
    (known) => known && (laterPrediction(known, prediction) ?? known),
  );
  if (prediction.output !== null) void queries.invalidateQueries({ queryKey: filmKeys.all }); // it may be a take of a shot
}

export function withPrediction<Given extends Pick<ProjectWithPredictions, "selected" | "predictions" | "takes">>(
  project: Given,
  prediction: Prediction,
): Given {
  const { step, output } = prediction;
  const { predictions, takes } = project;
  const latest = laterPrediction(predictions[step], prediction);
  const isSame = takes[step]?.predictionId === prediction.predictionId; // its URL is new
  const isTake = isSame || (output !== null && !prediction.hidden && project.selected[step] === null);
  const take = isTake ? laterPrediction(takes[step], prediction) : takes[step];
  return { ...project, predictions: { ...predictions, [step]: latest }, takes: { ...takes, [step]: take } };
}

/**
 * The change that makes a take stand for its step. The latest run is not selected, because the runs after it would not be
 * used then; a hidden one has to be.
 */
export function selectionOf(
  { predictions }: Pick<ProjectWithPredictions, "predictions">,
  { step, predictionId, hidden }: Pick<Prediction, "step" | "predictionId" | "hidden">,
): Partial<Record<Step, string | null>> {
  return { [step]: predictions[step]?.predictionId === predictionId && !hidden ? null : predictionId };
}

/** Changes the projects of all lists that were read. */
export function editListed(queries: QueryClient, edit: (projects: ListedProject[]) => ListedProject[]): void {
  queries.setQueriesData<InfiniteData<ProjectPage>>(
    { queryKey: projectKeys.lists },
    (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, projects: edit(page.projects) })) },
  );
}

/** A prediction missing from the history was just started: it comes first. */
function historyWithPrediction(page: PredictionPage, prediction: Prediction, isFirst: boolean): PredictionPage {
  const [newest] = page.predictions;
  const isSame = ({ predictionId }: Prediction) => predictionId === prediction.predictionId;
  const isNew = isFirst && !page.predictions.some(isSame) && (newest?.createdAt ?? "") < prediction.createdAt;
  const known = page.predictions.map((one) => (isSame(one) ? (laterPrediction(one, prediction) ?? one) : one));
  return { ...page, predictions: isNew ? [prediction, ...known] : known };
}

export const projectKeys = {
  lists: ["projects"] as const,
  list: (search: string) => ["projects", search] as const,
  one: (projectId: string) => ["project", projectId] as const,
  /** Of all steps without one. */
  predictions: (projectId: string, ...step: [] | [step: Step]) => ["predictions", projectId, ...step] as const,
  prediction: (predictionId: string | null) => ["prediction", predictionId] as const,
  watch: (predictionId: string) => ["watch", predictionId] as const,
};

export const filmKeys = {
  all: ["films"] as const,
  list: ["films", "list"] as const,
  choice: ["films", "choice"] as const,
  one: (filmId: string | null) => ["films", "one", filmId] as const,
};

export const isRunning = (prediction: Prediction | null | undefined): prediction is Prediction =>
  prediction != null && !hasEnded(prediction);

export const runningOf = ({ predictions }: Pick<ListedProject, "predictions">): Prediction[] =>
  Object.values(predictions ?? {}).filter(isRunning);

/** State never moves backwards. */
const ORDER: Record<PredictionStatus, number> = {
  queued: 0,
  starting: 1,
  processing: 2,
  succeeded: 3,
  failed: 3,
  canceled: 3,
};

/**
 * The later of two states of a step. Answers overtake each other: a read that began earlier must not undo a start or an end.
 */
export function laterPrediction(before: Prediction | null, now: Prediction | null): Prediction | null {
  if (before === null || now === null) return now ?? before;
  if (before.predictionId !== now.predictionId) return before.createdAt > now.createdAt ? before : now;
  return ORDER[before.status] > ORDER[now.status] ? before : now;
}

/** A signed URL is replaced when it expires within this time. */
const LEAST_LEFT_MS = 10 * 60_000;

const kept = new Map<string, Output>();

/**
 * Each read signs URLs anew. An unchanged file keeps its URL until that expires: otherwise the browser reloads it and a video
 * starts over.
 */
function steadyOutput(output: Output): Output {
  const before = kept.get(output.path);
  const isGood = before?.sha256 === output.sha256 && Date.parse(before.expiresAt) - Date.now() > LEAST_LEFT_MS;
  if (isGood) return before;
  kept.set(output.path, output);
  return output;
}

/** For a URL that failed to load: the next read replaces it. */
export const forgetOutput = ({ path }: Output): void => void kept.delete(path);

export const steadyPrediction = (prediction: Prediction): Prediction =>
  prediction.output === null ? prediction : { ...prediction, output: steadyOutput(prediction.output) };

/** A value for each step. */
export const eachStep = <Value>(make: (step: Step) => Value): Record<Step, Value> => ({
  "first-frame": make("first-frame"),
  "last-frame": make("last-frame"),
  video: make("video"),
});

export const steadyTakes = (all: ProjectWithPredictions["takes"]): ProjectWithPredictions["takes"] =>
  eachStep((step) => all[step] && steadyPrediction(all[step]));

export function steadyProject<Given extends Pick<ListedProject, "predictions" | "takes">>(project: Given): Given {
  const { predictions, takes } = project;
  return predictions === undefined || takes === undefined
    ? project
    : { ...project, predictions: steadyTakes(predictions), takes: steadyTakes(takes) };
}
