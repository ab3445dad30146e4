import { useInfiniteQuery } from "@tanstack/react-query";
import type { ProjectPage } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { runningOf } from "./is-running.ts";
import { projectKeys } from "./project-keys.ts";
import { steadyProject } from "./steady-output.ts";

const A_PAGE = 12;
/** For each page that is shown, since all of them are read again. */
const WHILE_RUNNING_MS = 3_000;
const OTHERWISE_MS = 60_000;

/** The person's projects, newest first, page by page; read again while something of theirs runs. */
export function useProjects() {
  const keyframe = useKeyframe();
  return useInfiniteQuery({
    queryKey: projectKeys.list,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const page = await keyframe.listProjects({ include: "predictions", limit: A_PAGE, cursor }, { signal });
      return { ...page, projects: page.projects.map(steadyProject) };
    },
    initialPageParam: undefined as string | undefined, // the type of a cursor: the first page has none
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) => pauseAfter(state.data?.pages ?? []),
  });
}

function pauseAfter(pages: ProjectPage[]): number {
  const isAnyRunning = pages.some(({ projects }) => projects.some((project) => runningOf(project).length > 0));
  return isAnyRunning ? WHILE_RUNNING_MS * pages.length : OTHERWISE_MS;
}
