import { useDidUpdate, usePrevious } from "@mantine/hooks";
import { type MutationMeta, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  hasEnded,
  type KeyframeClient,
  type Prediction,
  type Project,
  type ProjectWithPredictions,
  type Shot,
  type ShotPrediction,
  type Step,
} from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { isGone } from "../ui/errors.ts";
import { projectKey, readAgain } from "./query-client.ts";

/** Polls while a prediction runs, at the service's pace. */
export const WHILE_RUNNING_MS = 1_000;
/** Shows predictions started elsewhere within this time. A hidden page does not ask. */
const LOOK_MS = 4_000;

export const isRunning = <One extends ShotPrediction>(prediction: One | null | undefined): prediction is One =>
  prediction != null && !hasEnded(prediction);

export const runningOf = ({ predictions }: { predictions?: Shot["predictions"] | undefined }): ShotPrediction[] =>
  Object.values(predictions ?? {}).filter(isRunning);

export function useProject(projectId: string) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: projectKey(projectId),
    queryFn: ({ signal }) => keyframe.readProject(projectId, { signal }),
    refetchInterval: ({ state: { data, error } }) =>
      isGone(error) ? false : data && runningOf(data).length > 0 ? WHILE_RUNNING_MS : LOOK_MS,
  });
}

/** The end of a run changes other data too: sums, histories, films, estimates, the offered models. */
export function useReadAgainAtEnds(running: ShotPrediction[]): void {
  const queries = useQueryClient();
  const ids = running.map(({ predictionId }) => predictionId);
  const before = usePrevious(ids);
  const hasEnded = before?.some((id) => !ids.includes(id)) ?? false;
  useDidUpdate(() => void (hasEnded && readAgain(queries)), [ids.join()]);
}

type Change = {
  change: Parameters<KeyframeClient["changeProject"]>[1];
  /** The project that the change is based on. Without it the change is made even if the project has changed. */
  unchangedSince?: Pick<Project, "updatedAt">;
};

export function useChangeProject(projectId: string, meta: MutationMeta = {}) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    meta,
    mutationFn: ({ change, unchangedSince }: Change) => keyframe.changeProject(projectId, change, { unchangedSince }),
    // Also while it cannot be read again. A new selection shows with its takes, which only a read brings.
    onSuccess: async (changed) => {
      const queryKey = projectKey(projectId);
      await queries.cancelQueries({ queryKey }); // a read that began before would bring the project as it was
      queries.setQueryData<ProjectWithPredictions>(
        queryKey,
        (known) => known && { ...known, ...changed, selected: known.selected },
      );
    },
  });
}

/**
 * The change that makes its step show a take. The latest run is not selected, because later runs would not be
 * used then; a hidden one must be.
 */
export function selectionOf(
  { predictions }: Pick<ProjectWithPredictions, "predictions">,
  { step, predictionId, hidden }: Pick<Prediction, "step" | "predictionId" | "hidden">,
): Partial<Record<Step, string | null>> {
  return { [step]: predictions[step]?.predictionId === predictionId && !hidden ? null : predictionId };
}
