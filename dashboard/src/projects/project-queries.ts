import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { KeyframeClient, ListedProject, Project, ProjectWithPredictions } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { isChangedElsewhere, isGone } from "../ui/errors.ts";
import {
  eachStep,
  editListed,
  filmKeys,
  laterPrediction,
  projectKeys,
  steadyProject,
  withPrediction,
} from "./prediction-cache.ts";

/** Shows predictions started elsewhere within this time. A hidden page does not ask. */
const LOOK_MS = 4_000;

export function useProject(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useQuery({
    queryKey: projectKeys.one(projectId),
    queryFn: async ({ signal }) => {
      const read = () => queries.getQueryData<ProjectWithPredictions>(projectKeys.one(projectId));
      const before = read();
      const fresh = steadyProject(await keyframe.readProject(projectId, { signal }));
      const known = read();
      // What was stored during the read may be later. Nothing was: a prediction that is missing now is hidden or deleted.
      return known === undefined || known === before ? fresh : merge(known, fresh);
    },
    refetchInterval: ({ state }) => (isGone(state.error) ? false : LOOK_MS),
  });
}

/** Fresh texts and selection; per step the later of the known and the read prediction. */
function merge(known: ProjectWithPredictions, fresh: ProjectWithPredictions): ProjectWithPredictions {
  const predictions = eachStep((step) => laterPrediction(known.predictions[step], fresh.predictions[step]));
  const takes = eachStep((step) =>
    fresh.selected[step] === null ? laterPrediction(known.takes[step], fresh.takes[step]) : fresh.takes[step],
  );
  return { ...fresh, predictions, takes };
}

type Change = {
  change: Parameters<KeyframeClient["changeProject"]>[1];
  /** The project that the change is based on. Without it the change is made whatever the project is now. */
  unchangedSince?: Pick<Project, "updatedAt">;
};

export function useChangeProject(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ change, unchangedSince }: Change) => keyframe.changeProject(projectId, change, { unchangedSince }),
    onSuccess: async (changed, { change }) => {
      // A read that began before the change would restore the old texts.
      await queries.cancelQueries({ queryKey: projectKeys.one(projectId) });
      queries.setQueryData<ProjectWithPredictions>(projectKeys.one(projectId), (project) => {
        const latest = Object.values(project?.predictions ?? {}).filter((one) => one !== null);
        return project && latest.reduce(withPrediction, { ...project, ...changed });
      });
      if (change.selected !== undefined) readTakesAgain(queries, projectId);
      editLists(queries, (projects) =>
        projects.map((project) => (project.projectId === projectId ? { ...project, ...changed } : project)),
      );
    },
    onError: async (error, { change }) => {
      // A take that was deleted elsewhere was selected.
      if (change.selected !== undefined && isGone(error)) readTakesAgain(queries, projectId);
      if (!isChangedElsewhere(error)) return;
      void queries.invalidateQueries({ queryKey: projectKeys.lists });
      await queries.refetchQueries({ queryKey: projectKeys.one(projectId) });
    },
  });
}

/** Another take stands for a step: what was made with the former one is outdated. */
export function readTakesAgain(queries: QueryClient, projectId: string): void {
  void queries.invalidateQueries({ queryKey: projectKeys.one(projectId) });
  void queries.invalidateQueries({ queryKey: projectKeys.predictions(projectId) });
  void queries.invalidateQueries({ queryKey: projectKeys.lists });
  void queries.invalidateQueries({ queryKey: filmKeys.all });
}

/** Updates the cached lists at once, then reads them and the films again. */
export function editLists(queries: QueryClient, edit: (projects: ListedProject[]) => ListedProject[]): void {
  editListed(queries, edit);
  void queries.invalidateQueries({ queryKey: projectKeys.lists });
  void queries.invalidateQueries({ queryKey: filmKeys.all });
}
