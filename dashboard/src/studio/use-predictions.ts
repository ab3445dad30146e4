import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
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
    staleTime: 0, // read at each opening: a state that is written into the list makes all of it look new
  });
}

/** Half the life of a signed URL. */
const RENEW_MS = 30 * 60_000;

/** The prediction of this id; null without an id, and until it is read. */
export function usePrediction(
  { projectId, predictions }: ProjectWithPredictions,
  step: Step,
  predictionId: string | null,
): Prediction | null {
  const keyframe = useKeyframe();
  const latest = predictions[step];
  const isLatest = latest !== null && latest.predictionId === predictionId;
  const { data } = useQuery({
    queryKey: projectKeys.prediction(predictionId),
    queryFn: async ({ signal }) =>
      steadyPrediction(
        await keyframe.readPrediction({ projectId, step, predictionId: predictionId ?? undefined }, { signal }),
      ),
    enabled: predictionId !== null && !isLatest,
    staleTime: RENEW_MS,
    refetchInterval: RENEW_MS,
  });
  if (predictionId === null) return null;
  return isLatest ? latest : (data ?? null);
}

export type FrameStep = "first-frame" | "last-frame";

export type Take = {
  /** The selected take, else the latest. Null while it is unknown. */
  prediction: Prediction | null;
  isSelected: boolean;
  /** True once it is known that the step never succeeded. */
  isNone: boolean;
};

/** The take of a step that is shown and, if it is a frame, used for the next video. */
export function useTake(project: ProjectWithPredictions, step: Step): Take {
  const { projectId, predictions } = project;
  const latest = predictions[step];
  const selectedId = step === "video" ? null : project.selected[step];
  const selected = usePrediction(project, step, selectedId);
  const hasSucceeded = latest !== null && latest.output !== null;
  const { data } = usePredictions(projectId, step, latest !== null && !hasSucceeded && selectedId === null);
  if (selectedId !== null) return { prediction: selected, isSelected: true, isNone: false };
  if (latest === null || hasSucceeded) return { prediction: latest, isSelected: false, isNone: latest === null };
  const prediction = data?.pages.flatMap((page) => page.predictions).find(({ output }) => output !== null) ?? null;
  return { prediction, isSelected: false, isNone: prediction === null && data?.pages.at(-1)?.nextCursor === null };
}
