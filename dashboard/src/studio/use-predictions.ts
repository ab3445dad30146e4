import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Prediction, ProjectWithPredictions, Step } from "../../../client/index.ts";
import { projectKeys, selectedOf, steadyPrediction } from "../projects/prediction-cache.ts";
import { useFrameBefore } from "../films/film-queries.ts";
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
    staleTime: 0, // read at each opening: a state that is written into the list makes all of it look new
  });
}

/** Half the life of a signed URL. */
const RENEW_MS = 30 * 60_000;

/** The prediction of this id; null without an id, and until it is read. */
export function usePrediction(
  project: ProjectWithPredictions,
  step: Step,
  predictionId: string | null,
): Prediction | null {
  const { projectId, predictions, takes } = project;
  const keyframe = useKeyframe();
  const before = useFrameBefore(project);
  const known = [predictions[step], takes[step], before].find((one) => one?.predictionId === predictionId);
  const { data } = useQuery({
    queryKey: projectKeys.prediction(predictionId),
    queryFn: async ({ signal }) =>
      steadyPrediction(
        await keyframe.readPrediction({ projectId, step, predictionId: predictionId ?? undefined }, { signal }),
      ),
    enabled: predictionId !== null && known == null && before !== undefined,
    staleTime: RENEW_MS,
    refetchInterval: RENEW_MS,
  });
  return predictionId === null ? null : (known ?? data ?? null);
}

export type Take = {
  /** The selected frame, else the latest take. Null while it is read, and when there is none. */
  prediction: Prediction | null;
  isSelected: boolean;
  isNone: boolean;
  /** The latest take, if it is later than the selected one. */
  newer: Prediction | null;
};

/** The take of a step that is shown and, if it is a frame, used for the next video. */
export function useTake(project: ProjectWithPredictions, step: Step): Take {
  const { projectId, predictions, takes } = project;
  const latest = predictions[step];
  const selectedId = selectedOf(project, step);
  const selected = usePrediction(project, step, selectedId);
  const hasSucceeded = latest !== null && latest.output !== null;
  const { data } = usePredictions(projectId, step, selectedId !== null && latest !== null && !hasSucceeded);
  if (selectedId === null) {
    return { prediction: takes[step], isSelected: false, isNone: takes[step] === null, newer: null };
  }
  const earlier = data?.pages.flatMap((page) => page.predictions).find(({ output }) => output !== null);
  const newest = hasSucceeded ? latest : (earlier ?? null);
  const isNewer = newest !== null && selected !== null && newest.createdAt > selected.createdAt;
  return { prediction: selected, isSelected: true, isNone: false, newer: isNewer ? newest : null };
}
