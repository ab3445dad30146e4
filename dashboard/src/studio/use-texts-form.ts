import { useWindowEvent } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Project } from "../../../client/index.ts";
import type { ProjectTexts } from "../projects/use-change-project.ts";
import { useProjectForm } from "../projects/use-project-form.ts";

/**
 * The form of a project's texts. What is not saved waits for the person to come back to the page, and goes with their session,
 * as all that is read does; what changed elsewhere is taken up where they have not typed.
 */
export function useTextsForm({ projectId, title, textPrompt, description }: Project) {
  const queries = useQueryClient();
  const texts = { title, textPrompt, description };
  const draftKey = ["draft", projectId];
  const form = useProjectForm(queries.getQueryData<ProjectTexts>(draftKey) ?? texts);
  const saved = useRef(texts);
  const isDirty = !isSame(form.values, texts);

  // biome-ignore lint/correctness/useExhaustiveDependencies: only texts that changed are a reason
  useEffect(() => {
    if (isSame(form.values, saved.current)) form.setValues(texts);
    saved.current = texts;
  }, [title, textPrompt, description]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is made of the project
  useEffect(() => {
    queries.setQueryDefaults(["draft"], { gcTime: Number.POSITIVE_INFINITY });
    if (isDirty) queries.setQueryData(draftKey, form.values);
    else queries.removeQueries({ queryKey: draftKey });
  }, [isDirty, form.values, queries, projectId]);

  useWindowEvent("beforeunload", (event) => {
    if (isDirty) event.preventDefault();
  });

  const discard = () => {
    form.setValues(texts);
    form.clearErrors();
  };
  return { form, isDirty, discard };
}

const isSame = (one: ProjectTexts, other: ProjectTexts): boolean =>
  one.title === other.title && one.textPrompt === other.textPrompt && one.description === other.description;
