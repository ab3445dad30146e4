import { useInfiniteQuery } from "@tanstack/react-query";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { projectKeys, steadyPrediction } from "../projects/prediction-cache.ts";
import { useKeyframe } from "../services.ts";

const A_PAGE = 10;

/** All predictions of a step, newest first. */
export function usePredictions(projectId: string, step: Step, enabled: boolean) {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: projectKeys.predictions(projectId, step),
    queryFn: async ({ pageParam: cursor, signal }) => {
      const page = await keyframe.listPredictions(projectId, { step, limit: A_PAGE, cursor }, { signal });
      return { ...page, predictions: page.predictions.map(steadyPrediction) };
    },
    initialPageParam: undefined as string | undefined, // the first page has no cursor
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled,
  });
}

export type LatestSuccess = {
  prediction: Prediction | null;
  /** True once it is known that the step never succeeded. */
  isNone: boolean;
};

/** The latest take of a step. */
export function useLatestSuccess({ projectId, predictions }: ProjectWithPredictions, step: Step): LatestSuccess {
  const latest = predictions[step];
  const hasSucceeded = latest !== null && latest.output !== null;
  const { data } = usePredictions(projectId, step, latest !== null && !hasSucceeded);
  if (latest === null || hasSucceeded) return { prediction: latest, isNone: latest === null };
  const prediction = data?.pages.flatMap((page) => page.predictions).find(({ output }) => output !== null) ?? null;
  return { prediction, isNone: prediction === null && data?.pages.at(-1)?.nextCursor === null };
}
