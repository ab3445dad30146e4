import { useDidUpdate, usePrevious } from "@mantine/hooks";
import { type MutationMeta, type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
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
import type { Ids } from "../session/UserMemory.tsx";
import { isGone, unless } from "../ui/errors.ts";
import { useSelectShown } from "./delete-later.ts";
import { readAgain } from "./query-client.ts";
import { queryKeys } from "./query-keys.ts";

/** The pause between reads while a prediction runs: the service's pace. */
export const WHILE_RUNNING_MS = 1_000;
/** The page shows predictions started elsewhere within this time. A hidden page does not poll. */
const REFRESH_MS = 4_000;

/** People call a project of a film a shot. */
export const projectNoun = ({ filmId }: Pick<Project, "filmId">) => (filmId === null ? "project" : "shot");

export const isRunning = <One extends ShotPrediction>(prediction: One | null | undefined): prediction is One =>
  prediction != null && !hasEnded(prediction);

export const runningOf = ({ predictions }: { predictions?: Shot["predictions"] | undefined }): ShotPrediction[] =>
  Object.values(predictions ?? {}).filter(isRunning);

/** A project or shot without the takes that are deleted, or about to be. */
export function withoutDeleted<One extends Pick<Shot, "predictions" | "takes">>(project: One, deleted: Ids): One {
  const each = (all: Shot["takes"], changed: (one: ShotPrediction) => ShotPrediction | null) =>
    Object.fromEntries(
      Object.entries(all).map(([step, one]) => [step, one && deleted.has(one.predictionId) ? changed(one) : one]),
    );
  return {
    ...project,
    predictions: each(project.predictions, (one) => ({ ...one, hidden: true })),
    takes: each(project.takes, () => null),
  };
}

export function useProject(projectId: string) {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.project(projectId),
    queryFn: ({ signal }) => keyframe.projects.read(projectId, { signal }),
    select: useSelectShown<ProjectWithPredictions, ProjectWithPredictions>(withoutDeleted),
    refetchInterval: ({ state: { data, error } }) =>
      isGone(error) ? false : data && runningOf(data).length > 0 ? WHILE_RUNNING_MS : REFRESH_MS,
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

/** Cancels the running takes of these steps, from the last shot to the first: a take that waits for a shot is canceled before that shot. */
export function useCancel() {
  const keyframe = useKeyframe();
  return useMutation({
    mutationFn: async (steps: Pick<ShotPrediction, "projectId" | "step">[]) => {
      for (const { projectId, step } of steps.toReversed()) {
        const { predictions } = await keyframe.predictions.list(projectId, { step, hidden: "true" });
        const running = predictions.filter(isRunning);
        await Promise.all(running.map((one) => keyframe.cancel(one).catch(unless("generation_ended"))));
      }
    },
  });
}

type Change = {
  change: Parameters<KeyframeClient["projects"]["change"]>[1];
  /** The project that the change is based on. Without it the change is made even if the project has changed. */
  unchangedSince?: Pick<Project, "updatedAt">;
};

/** Shows a changed project even if it cannot be read again. A new selection shows after a read, which brings its takes. */
export async function showChanged(queries: QueryClient, changed: Project): Promise<void> {
  const queryKey = queryKeys.project(changed.projectId);
  await queries.cancelQueries({ queryKey }); // a read that began before would bring the old project
  queries.setQueryData<ProjectWithPredictions>(
    queryKey,
    (known) => known && { ...known, ...changed, selected: known.selected },
  );
}

export function useChangeProject(projectId: string, meta: MutationMeta = {}) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    meta,
    mutationFn: ({ change, unchangedSince }: Change) => keyframe.projects.change(projectId, change, { unchangedSince }),
    onSuccess: (changed) => showChanged(queries, changed),
  });
}

/** The change that makes a step show a take. Null for the latest visible run: with a selection, later runs would not be used. */
export function selectionOf(
  { predictions }: Pick<ProjectWithPredictions, "predictions">,
  { step, predictionId, hidden }: Pick<Prediction, "step" | "predictionId" | "hidden">,
): Partial<Record<Step, string | null>> {
  return { [step]: predictions[step]?.predictionId === predictionId && !hidden ? null : predictionId };
}
