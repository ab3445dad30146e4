import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyframeError, type Prediction } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { projectKeys } from "../projects/project-keys.ts";
import { storeRun } from "../projects/store-run.ts";

/** Cancels a run. That it ended a moment before is no failure: how it ended is shown instead. */
export function useCancelRun(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (run: Prediction) => {
      try {
        storeRun(queries, await keyframe.cancel(run));
      } catch (error) {
        if (!(error instanceof KeyframeError) || error.code !== "generation_ended") throw error;
        await queries.invalidateQueries({ queryKey: projectKeys.one(projectId) });
      }
    },
  });
}
