import { useWindowEvent } from "@mantine/hooks";
import { skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ProjectWithPredictions } from "../../../../client/index.ts";
import { projectKeys } from "../../projects/prediction-cache.ts";
import { isChangedElsewhere, useChangeProject } from "../../projects/project-queries.ts";

/** What a person edits in the studio. The title is changed by the project's menu. */
export type Texts = Pick<ProjectWithPredictions, "textPrompt" | "description">;

/** Unsaved texts, and what was saved when they were begun. */
type Draft = { texts: Texts; base: Texts };

/** The texts of a project. Unsaved ones survive leaving the page and are dropped at sign-out. */
export function useTexts(project: ProjectWithPredictions) {
  const queries = useQueryClient();
  const { projectId } = project;
  const saved = textsOf(project);
  const key = ["draft", projectId];
  const { data } = useQuery<Draft | null>({ queryKey: key, queryFn: skipToken, gcTime: Number.POSITIVE_INFINITY });
  const change = useChangeProject(projectId);
  const draft = data != null && !isSame(data.texts, saved) ? data : null;
  const write = (next: Draft | null) => queries.setQueryData<Draft | null>(key, next);

  const send = async ({ texts, base }: Draft, known: ProjectWithPredictions) => {
    try {
      await change.mutateAsync({ change: texts, unchangedSince: known });
    } catch (error) {
      const fresh = queries.getQueryData<ProjectWithPredictions>(projectKeys.one(projectId));
      const isOther = isChangedElsewhere(error) && fresh !== undefined && isSame(textsOf(fresh), base);
      if (!isOther) throw error;
      await change.mutateAsync({ change: texts, unchangedSince: fresh }); // another field changed, not the texts
    }
    // What was typed meanwhile is based on what is saved now.
    const typed = queries.getQueryData<Draft | null>(key);
    if (typed != null) write({ ...typed, base: texts });
  };

  useWindowEvent("beforeunload", (event) => {
    if (draft !== null) event.preventDefault();
  });

  return {
    texts: draft?.texts ?? saved,
    saved,
    isDirty: draft !== null,
    /** The saved texts were changed elsewhere while these were typed. */
    isConflict: draft !== null && !change.isPending && !isSame(draft.base, saved),
    isSaving: change.isPending,
    error: change.error,
    edit: (texts: Texts) => write({ texts, base: draft?.base ?? saved }),
    discard: () => {
      change.reset();
      write(null);
    },
    /** Does nothing without unsaved texts. Rejects when they cannot be saved. */
    save: async () => {
      if (draft === null) return;
      if (!isSame(draft.base, saved)) throw new Error("The text was changed elsewhere. Choose which text to keep.");
      await send(draft, project);
    },
    /** Replaces what was saved elsewhere. */
    saveOver: async () => {
      if (draft === null) return;
      write({ ...draft, base: saved });
      await send({ ...draft, base: saved }, project);
    },
  };
}

export type TextsState = ReturnType<typeof useTexts>;

const textsOf = ({ textPrompt, description }: Texts): Texts => ({ textPrompt, description });

const isSame = (one: Texts, other: Texts): boolean =>
  one.textPrompt === other.textPrompt && one.description === other.description;
