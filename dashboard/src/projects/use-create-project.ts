import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { randomKey } from "../../../client/random-key.ts";
import { useKeyframe } from "../app/services-context.ts";
import { editList } from "./edit-list.ts";
import type { ProjectTexts } from "./use-change-project.ts";

const NONE = { "first-frame": null, "last-frame": null, video: null };

/** Creates a project. Sent again after a lost answer, the same texts make no second one. */
export function useCreateProject(onCreated: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const sent = useRef<{ body: string; key: string } | null>(null);
  return useMutation({
    mutationFn: (texts: ProjectTexts) => {
      const body = JSON.stringify(texts);
      if (sent.current?.body !== body) sent.current = { body, key: randomKey() };
      return keyframe.createProject(texts, { idempotencyKey: sent.current.key });
    },
    onSuccess: (project) => {
      sent.current = null;
      editList(queries, (projects, isFirstPage) =>
        isFirstPage ? [{ ...project, predictions: NONE }, ...projects] : projects,
      );
      onCreated(project.projectId);
    },
  });
}
