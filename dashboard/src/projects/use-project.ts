import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyframeError, type ProjectWithPredictions } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { laterRun } from "./later-run.ts";
import { projectKeys } from "./project-keys.ts";
import { steadyProject } from "./steady-output.ts";

/** How soon what was started elsewhere is seen, while the page is visible. */
const LOOK_MS = 15_000;

/** One project with the latest run of each step. */
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

/** Deleted, or never there, or another person's. */
export const isGone = (error: unknown): boolean => error instanceof KeyframeError && error.code === "not_found";

/** The fresh texts, and of each step what is later. */
function merge({ predictions: known }: ProjectWithPredictions, fresh: ProjectWithPredictions): ProjectWithPredictions {
  const { predictions } = fresh;
  const latest = {
    "first-frame": laterRun(known["first-frame"], predictions["first-frame"]),
    "last-frame": laterRun(known["last-frame"], predictions["last-frame"]),
    video: laterRun(known.video, predictions.video),
  };
  return { ...fresh, predictions: latest };
}
