import { useQueries, useQueryClient } from "@tanstack/react-query";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { runningOf } from "../projects/is-running.ts";
import { projectKeys } from "../projects/project-keys.ts";
import { storeRun } from "../projects/store-run.ts";

/**
 * Follows each run that has not ended, wherever it was started, and shows what becomes of it as it happens. A follower is a
 * query, so it ends with the page, starts again with it, and is repeated while the service is away.
 */
export function useWatchRuns(project: ProjectWithPredictions): void {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  useQueries({
    queries: runningOf(project).map(({ projectId, step, predictionId }) => ({
      queryKey: projectKeys.watch(predictionId),
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const onProgress = (run: Parameters<typeof storeRun>[1]) => storeRun(queries, run);
        await keyframe.waitFor({ projectId, step, predictionId }, { signal, onProgress });
        return null;
      },
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 0,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
    })),
  });
}
