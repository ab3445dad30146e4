import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { useRuns } from "./use-runs.ts";

export type LatestSuccess = {
  run: Prediction | null;
  /** True once it is sure that the step has never succeeded. */
  isNone: boolean;
};

/** The latest run of a step that has a file: the latest of all, or else one before it. */
export function useLatestSuccess({ projectId, predictions }: ProjectWithPredictions, step: Step): LatestSuccess {
  const latest = predictions[step];
  const hasSucceeded = latest !== null && latest.output !== null;
  const { data } = useRuns(projectId, step, latest !== null && !hasSucceeded);
  if (latest === null || hasSucceeded) return { run: latest, isNone: latest === null };
  const run = data?.pages.flatMap((page) => page.predictions).find(({ output }) => output !== null) ?? null;
  return { run, isNone: run === null && data?.pages.at(-1)?.nextCursor === null };
}
