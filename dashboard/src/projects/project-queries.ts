import { type InfiniteData, type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  KeyframeError,
  type ListedProject,
  type Project,
  type ProjectPage,
  type ProjectWithPredictions,
} from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { laterPrediction, projectKeys, steadyProject } from "./prediction-cache.ts";

/** Shows predictions started elsewhere within this time. */
const LOOK_MS = 15_000;

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

/** Fresh texts; per step the later of the known and the read prediction. */
function merge({ predictions: known }: ProjectWithPredictions, fresh: ProjectWithPredictions): ProjectWithPredictions {
  const { predictions } = fresh;
  const latest = {
    "first-frame": laterPrediction(known["first-frame"], predictions["first-frame"]),
    "last-frame": laterPrediction(known["last-frame"], predictions["last-frame"]),
    video: laterPrediction(known.video, predictions.video),
  };
  return { ...fresh, predictions: latest };
}

export type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

export function useChangeProject(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (texts: ProjectTexts) => keyframe.changeProject(projectId, texts),
    onSuccess: async (changed) => {
      // A read that began before the change would restore the old texts.
      await queries.cancelQueries({ queryKey: projectKeys.one(projectId) });
      queries.setQueryData<ProjectWithPredictions>(
        projectKeys.one(projectId),
        (project) => project && { ...project, ...changed },
      );
      editList(queries, (projects) =>
        projects.map((project) => (project.projectId === projectId ? { ...project, ...changed } : project)),
      );
    },
  });
}

/** Updates the cached list at once, then reads it again. */
export function editList(
  queries: QueryClient,
  edit: (projects: ListedProject[], isFirstPage: boolean) => ListedProject[],
): void {
  queries.setQueryData<InfiniteData<ProjectPage>>(projectKeys.list, (list) => {
    const pages = list?.pages.map((page, at) => ({ ...page, projects: edit(page.projects, at === 0) }));
    return list && pages && { ...list, pages };
  });
  void queries.invalidateQueries({ queryKey: projectKeys.list });
}
