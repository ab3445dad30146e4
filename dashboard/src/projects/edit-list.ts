import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { ListedProject, ProjectPage } from "../../../client/index.ts";
import { projectKeys } from "./project-keys.ts";

/** Changes the list as far as it is known, so that what a person did is there at once; then it is read again. */
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
