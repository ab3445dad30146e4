import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyframeError } from "../../../client/index.ts";
import { useKeyframe } from "../app/services-context.ts";
import { editList } from "./edit-list.ts";

/** Deletes a project. That it is gone already is what was wanted: so ends a deletion whose answer was lost. */
export function useDeleteProject(onDeleted: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (projectId: string) => {
      await keyframe.deleteProject(projectId).catch((error: unknown) => {
        if (!(error instanceof KeyframeError) || error.code !== "not_found") throw error;
      });
    },
    onSuccess: (_none, projectId) => {
      editList(queries, (projects) => projects.filter((project) => project.projectId !== projectId));
      onDeleted(projectId);
    },
  });
}
