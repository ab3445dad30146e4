import { Button, Collapse, Group, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure, useId, useWindowEvent } from "@mantine/hooks";
import { IconCheck, IconChevronDown, IconPencil } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Project } from "../../../client/index.ts";
import { DescriptionField, PromptField, useProjectForm } from "../projects/project-fields.tsx";
import { type ProjectTexts, useChangeProject } from "../projects/project-queries.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";

export default function TextsPanel({ project }: { project: Project }) {
  const { form, isDirty, discard } = useTextsForm(project);
  const change = useChangeProject(project.projectId);
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  // An invalid field is never hidden.
  const isUnfolded = isOpen || form.errors.title !== undefined || form.errors.description !== undefined;
  return (
    <form noValidate onSubmit={form.onSubmit((texts) => change.mutate(texts))}>
      <Stack gap="sm">
        <PromptField form={form} rows={4} />
        <div>
          <Button
            variant="subtle"
            size="compact-sm"
            ml={-8}
            aria-expanded={isUnfolded}
            aria-controls={id}
            rightSection={<IconChevronDown size={16} aria-hidden />}
            onClick={toggle}
          >
            Title and description
          </Button>
          <Collapse expanded={isUnfolded} id={id}>
            <Stack gap="sm" pt="xs">
              <TextInput label="Title" {...form.getInputProps("title")} />
              <DescriptionField form={form} />
            </Stack>
          </Collapse>
        </div>
        <Group gap="sm">
          <BusyButton type="submit" size="sm" isBusy={change.isPending} isOff={!isDirty}>
            Save
          </BusyButton>
          {isDirty && (
            <Button size="sm" variant="default" onClick={discard}>
              Discard
            </Button>
          )}
          <Group gap={6} wrap="nowrap" role="status" flex={1} miw={180}>
            {isDirty ? <IconPencil size={16} aria-hidden /> : <IconCheck size={16} aria-hidden />}
            <Text size="sm" {...(isDirty ? {} : { c: "dimmed" })}>
              {isDirty ? "Not saved. " : "Saved"}
            </Text>
          </Group>
        </Group>
        {change.error !== null && <ErrorNotice title="Could not save" error={change.error} />}
      </Stack>
    </form>
  );
}

/**
 * The form of a project's texts. Unsaved text survives leaving the page and is dropped at sign-out. Changes made elsewhere
 * are taken over while the user has not typed.
 */
function useTextsForm({ projectId, title, textPrompt, description }: Project) {
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
