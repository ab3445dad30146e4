import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Prediction, PredictionPage, ProjectPage, ProjectWithPredictions } from "../../../client/index.ts";
import { laterRun } from "./later-run.ts";
import { projectKeys } from "./project-keys.ts";
import { steadyRun } from "./steady-output.ts";

/** Puts what has become known of a run wherever the run is shown. */
export function storeRun(queries: QueryClient, given: Prediction): void {
  const run = steadyRun(given);
  const { projectId, step } = run;
  queries.setQueryData<ProjectWithPredictions>(
    projectKeys.one(projectId),
    (project) => project && withRun(project, run),
  );
  queries.setQueryData<InfiniteData<ProjectPage>>(
    projectKeys.list,
    (list) => list && { ...list, pages: list.pages.map((page) => pageWithRun(page, run)) },
  );
  queries.setQueryData<InfiniteData<PredictionPage>>(
    projectKeys.runs(projectId, step),
    (runs) => runs && { ...runs, pages: runs.pages.map((page, at) => historyWithRun(page, run, at === 0)) },
  );
}

function withRun<Given extends Pick<ProjectWithPredictions, "predictions">>(project: Given, run: Prediction): Given {
  const latest = laterRun(project.predictions[run.step], run);
  return { ...project, predictions: { ...project.predictions, [run.step]: latest } };
}

function pageWithRun(page: ProjectPage, run: Prediction): ProjectPage {
  const projects = page.projects.map((project) => {
    const { projectId, predictions } = project;
    return projectId === run.projectId && predictions ? withRun({ ...project, predictions }, run) : project;
  });
  return { ...page, projects };
}

/** A run that is not in the history yet comes first: it was started just now. */
function historyWithRun(page: PredictionPage, run: Prediction, isFirst: boolean): PredictionPage {
  const { predictions } = page;
  const isThere = predictions.some(({ predictionId }) => predictionId === run.predictionId);
  if (isThere) {
    const kept = predictions.map((known) =>
      known.predictionId === run.predictionId ? (laterRun(known, run) ?? run) : known,
    );
    return { ...page, predictions: kept };
  }
  const isNewest = isFirst && (predictions[0]?.createdAt ?? "") < run.createdAt;
  return isNewest ? { ...page, predictions: [run, ...predictions] } : page;
}
