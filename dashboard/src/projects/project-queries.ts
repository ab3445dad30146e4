import { type InfiniteData, type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  type KeyframeClient,
  KeyframeError,
  type ListedProject,
  type Project,
  type ProjectPage,
  type ProjectWithPredictions,
} from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import {
  eachStep,
  laterPrediction,
  projectKeys,
  selectedOf,
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
      const fresh = steadyProject(await keyframe.readProject(projectId, { signal }));
      const known = queries.getQueryData<ProjectWithPredictions>(projectKeys.one(projectId));
      return known === undefined ? fresh : merge(known, fresh);
    },
    refetchInterval: ({ state }) => (isGone(state.error) ? false : LOOK_MS),
  });
}

/** Deleted, unknown, or another user's. */
export const isGone = (error: unknown): boolean => error instanceof KeyframeError && error.code === "not_found";

/** Fresh texts and selection; per step the later of the known and the read prediction. */
function merge(known: ProjectWithPredictions, fresh: ProjectWithPredictions): ProjectWithPredictions {
  const predictions = eachStep((step) => laterPrediction(known.predictions[step], fresh.predictions[step]));
  const takes = eachStep((step) =>
    selectedOf(fresh, step) === null ? laterPrediction(known.takes[step], fresh.takes[step]) : fresh.takes[step],
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
      if (change.selected !== undefined) void queries.invalidateQueries({ queryKey: projectKeys.one(projectId) });
      editLists(queries, (projects) =>
        projects.map((project) => (project.projectId === projectId ? { ...project, ...changed } : project)),
      );
    },
    onError: async (error) => {
      if (!isChangedElsewhere(error)) return;
      void queries.invalidateQueries({ queryKey: projectKeys.lists });
      await queries.refetchQueries({ queryKey: projectKeys.one(projectId) });
    },
  });
}

/** Somebody changed the project since it was read here. */
export const isChangedElsewhere = (error: unknown): boolean =>
  error instanceof KeyframeError && error.code === "precondition_failed";

/** Updates the cached lists at once, then reads them again. */
export function editLists(queries: QueryClient, edit: (projects: ListedProject[]) => ListedProject[]): void {
  queries.setQueriesData<InfiniteData<ProjectPage>>(
    { queryKey: projectKeys.lists },
    (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, projects: edit(page.projects) })) },
  );
  void queries.invalidateQueries({ queryKey: projectKeys.lists });
}
