import { useWindowEvent } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { IS_SHOWN } from "../queries/query-client.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useChangeProject } from "../queries/project-queries.ts";
import { isChangedElsewhere } from "../ui/errors.ts";
import { useDraft } from "../session/use-draft.ts";

/** The texts that a user edits on the page of a project. The project's menu changes the title. */
export type Texts = Pick<ProjectWithPredictions, "textPrompt" | "description">;

/** An unsaved text. `base`: the saved text when the edit began. `sent`: a text that may be saved although its answer was lost. */
type Draft = { field: keyof Texts; text: string; base: string; sent?: string | undefined };

const NO_DRAFTS: Draft[] = [];

export function useTexts(project: ProjectWithPredictions) {
  const queries = useQueryClient();
  const { projectId } = project;
  const [drafts, write] = useDraft(`texts ${projectId}`, NO_DRAFTS);
  const change = useChangeProject(projectId, IS_SHOWN); // “Save and generate” does not wait for the refetch
  const unsaved = drafts.filter(({ field, text }) => text !== project[field]);
  const conflict = unsaved.find((draft) => isReplaced(draft, project));

  // A saved text is no longer a draft: a later change elsewhere must replace it.
  useEffect(() => {
    if (unsaved.length < drafts.length) write(() => unsaved);
  });

  const send = async (sent: Draft[]) => {
    const texts = textsOf(sent);
    write((typed) => typed.map((draft) => ({ ...draft, sent: texts[draft.field] ?? draft.sent })));
    await change.mutateAsync({ change: texts, unchangedSince: project }).catch(async (error: unknown) => {
      const fresh = queries.getQueryData<ProjectWithPredictions>(queryKeys.project(projectId));
      if (!isChangedElsewhere(error) || fresh === undefined) throw error;
      // The answer to an earlier try was lost, but its save was made.
      if (sent.every(({ field, text }) => fresh[field] === text)) return change.reset();
      if (sent.some((draft) => isReplaced(draft, fresh))) throw error;
      await change.mutateAsync({ change: texts, unchangedSince: fresh }); // another field changed
    });
    // What was typed meanwhile is based on what is saved now.
    const isSaved = ({ field, text }: Draft) => text === texts[field];
    write((typed) =>
      typed.flatMap((draft) => (isSaved(draft) ? [] : { ...draft, base: texts[draft.field] ?? draft.base })),
    );
  };

  useWindowEvent("beforeunload", (event) => {
    if (unsaved.length > 0) event.preventDefault();
  });

  return {
    texts: { textPrompt: project.textPrompt, description: project.description, ...textsOf(unsaved) },
    isDirty: unsaved.length > 0,
    /** A text that was saved elsewhere while it was edited here. */
    conflict: conflict === undefined || change.isPending ? null : { ...conflict, saved: project[conflict.field] },
    isSaving: change.isPending,
    error: change.error,
    edit: (field: keyof Texts, text: string) => {
      const { base = project[field], sent } = drafts.find((draft) => draft.field === field) ?? {};
      write((all) => [...all.filter((draft) => draft.field !== field), { field, text, base, sent }]);
    },
    /** In a conflict, discards only the text in conflict. */
    discard: () => {
      change.reset();
      write((all) => (conflict === undefined ? NO_DRAFTS : all.filter(({ field }) => field !== conflict.field)));
    },
    /** Does nothing without unsaved texts. Rejects when they cannot be saved. */
    save: async () => {
      if (conflict !== undefined) throw new Error("The text was changed elsewhere. Choose which text to keep.");
      if (unsaved.length > 0) await send(unsaved);
    },
    /** Replaces what was saved elsewhere. */
    saveOver: async () => {
      const based = unsaved.map((draft) =>
        draft.field === conflict?.field ? { ...draft, base: project[draft.field] } : draft,
      );
      write(() => based);
      if (!based.some((draft) => isReplaced(draft, project))) await send(based);
    },
  };
}

/** Whether another text was saved elsewhere. */
const isReplaced = ({ field, base, sent }: Draft, now: Texts) => now[field] !== base && now[field] !== sent;

export type TextsState = ReturnType<typeof useTexts>;

const textsOf = (drafts: Draft[]): Partial<Texts> => Object.fromEntries(drafts.map(({ field, text }) => [field, text]));
