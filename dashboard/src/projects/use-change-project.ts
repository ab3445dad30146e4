import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Project, ProjectWithPredictions } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { editList } from "./edit-list.ts";
import { projectKeys } from "./project-keys.ts";

export type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

/** Saves the texts of a project. */
export function useChangeProject(projectId: string) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (texts: ProjectTexts) => keyframe.changeProject(projectId, texts),
    onSuccess: async (changed) => {
      // A read that began before the change would bring the old texts back.
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
