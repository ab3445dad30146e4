import { useInfiniteQuery } from "@tanstack/react-query";
import type { Step } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { projectKeys } from "../projects/project-keys.ts";
import { steadyRun } from "../projects/steady-output.ts";

const A_PAGE = 10;

/** Every run of a step, newest first, page by page. */
export function useRuns(projectId: string, step: Step, enabled: boolean) {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: projectKeys.runs(projectId, step),
    queryFn: async ({ pageParam: cursor, signal }) => {
      const page = await keyframe.listPredictions(projectId, { step, limit: A_PAGE, cursor }, { signal });
      return { ...page, predictions: page.predictions.map(steadyRun) };
    },
    initialPageParam: undefined as string | undefined, // the type of a cursor: the first page has none
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled,
  });
}
